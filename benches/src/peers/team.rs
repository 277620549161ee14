//! All peers on one problem.

use super::process::{Form, Greeting, Process};
use super::{Fault, Place};
use crate::runtime::measure::Span;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How long a peer is left alone after its turn. Threads of libraries spin for a while when their work is done, those of OpenBLAS for
/// 2^26 cycles (`THREAD_TIMEOUT`), and would take the cores of whoever is next.
const WIND_DOWN: Duration = Duration::from_millis(100);

/// Names of the peers in the order of the table, and their programs.
pub(crate) const PEERS: [(&str, &str); 4] = [
    ("llama.cpp", "llama_cpp_peer.py"),
    ("onnxruntime", "onnxruntime_peer.py"),
    ("numpy", "numpy_peer.py"),
    ("torch", "torch_peer.py"),
];

/// A peer that is ready.
#[derive(Debug)]
struct Member {
    name: &'static str,
    process: Process,
    version: String,
    forms: Vec<Form>,
    spans: Vec<Vec<Span>>,
}

/// A form of a peer, measured.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measured {
    /// The form.
    pub(crate) form: Form,
    /// Median nanoseconds of a run.
    pub(crate) run: Span,
}

/// A peer, measured.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PeerTimes {
    /// Its name.
    pub(crate) name: &'static str,
    /// Of the library.
    pub(crate) version: String,
    /// Its forms.
    pub(crate) forms: Vec<Measured>,
}

/// The peers that are ready on one problem, and what the others lack.
#[derive(Debug, Default)]
pub(crate) struct Team {
    members: Vec<Member>,
    /// What is left out, and what to type.
    pub(crate) missing: Vec<String>,
}

impl Team {
    /// Starts all peers on the problem of `folder`, and waits until each is ready or says what it lacks.
    ///
    /// # Errors
    /// A peer failed.
    pub(crate) fn start(place: &Place, folder: &Path, threads: u32) -> Result<Team, Fault> {
        let mut team = Team::default();
        let mut started = Vec::new();
        for (name, program) in PEERS {
            let program = place.programs.join(program);
            if program.is_file() {
                started.push((name, Process::start(name, &place.python(), &program, folder, threads)?));
            } else {
                team.missing.push(format!("{name} is left out: there is no `{}`", program.display()));
            }
        }
        for (name, process) in started {
            match process.greeting()? {
                Greeting::Ready { version, forms } => {
                    let spans = vec![Vec::new(); forms.len()];
                    team.members.push(Member { name, process, version, forms, spans });
                }
                Greeting::Missing { what, install } => {
                    team.missing.push(format!("{name} is left out: it needs {what}; type `{install}`"));
                }
            }
        }
        Ok(team)
    }

    /// Has every form of every peer measured once.
    ///
    /// # Errors
    /// A peer failed.
    pub(crate) fn round(&mut self) -> Result<(), Fault> {
        for member in &mut self.members {
            for (form, spans) in member.spans.iter_mut().enumerate() {
                spans.push(member.process.measure(form)?);
            }
            thread::sleep(WIND_DOWN);
        }
        Ok(())
    }

    /// Medians over the rounds.
    pub(crate) fn results(&self) -> Vec<PeerTimes> {
        let measured =
            |(form, spans): (&Form, &Vec<Span>)| Measured { form: form.clone(), run: Span::median(spans) };
        let result = |member: &Member| PeerTimes {
            name: member.name,
            version: member.version.clone(),
            forms: member.forms.iter().zip(&member.spans).map(measured).collect(),
        };
        self.members.iter().map(result).collect()
    }
}
