//! One peer as a process: a line in, a line out, and an end whenever it is wanted.

use super::Fault;
use crate::runtime::measure::Span;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use wsp_cli::interrupt::{self, Leftover};

/// A peer that says nothing for so long has failed.
const PATIENCE: Duration = Duration::from_secs(600);
/// Lines of standard error that a message shows.
const SHOWN: usize = 6;
/// Variables by which libraries are told how many threads they may start.
const THREADS: [&str; 3] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];

/// A way in which a peer computes the problem.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Form {
    /// What it is, in a few words.
    pub(crate) name: String,
    /// The largest error against f64, relative to the larger of 1 and the value; none if something was not finite.
    pub(crate) error: Option<f64>,
}

/// What a peer says first.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Greeting {
    /// It is ready, and these are its forms.
    Ready {
        /// Of the library.
        version: String,
        /// At least one.
        forms: Vec<Form>,
    },
    /// It lacks something.
    Missing {
        /// What.
        what: String,
        /// What to type.
        install: String,
    },
}

/// A running peer; it is ended with all that it started when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    name: &'static str,
    child: Child,
    input: ChildStdin,
    lines: Receiver<std::io::Result<String>>,
    said: PathBuf,
    /// A signal that ends us ends it too.
    _group: Leftover,
}

impl Process {
    /// Starts a program on the problem of `folder`, in a process group of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(
        name: &'static str,
        python: &Path,
        program: &Path,
        folder: &Path,
        threads: u32,
    ) -> Result<Process, Fault> {
        let failed = |what: String| Fault { what: format!("{name}: {what}"), said: String::new() };
        let said = folder.join(format!("{name}.log"));
        let log = File::create(&said).map_err(|f| failed(format!("`{}`: {f}", said.display())))?;
        let mut command = Command::new(python);
        command.arg(program).arg(folder).arg(threads.to_string());
        command.envs(THREADS.map(|variable| (variable, threads.to_string())));
        // The programs lie in the source tree, which stays as it is.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let started = interrupt::start(&mut command);
        let (mut child, group) = started.map_err(|f| failed(format!("`{}`: {f}", python.display())))?;
        let input = child.stdin.take().expect("standard input should be a pipe");
        let output = child.stdout.take().expect("standard output should be a pipe");
        let (send, lines) = channel();
        std::thread::spawn(move || BufReader::new(output).lines().try_for_each(|line| send.send(line)));
        Ok(Process { name, child, input, lines, said, _group: group })
    }

    /// Waits for what it says first.
    ///
    /// # Errors
    /// It ended or said something else.
    pub(super) fn greeting(&self) -> Result<Greeting, Fault> {
        let line = self.line()?;
        greeting(&line).ok_or_else(|| self.strange(&line))
    }

    /// Has it measure one of its forms once.
    ///
    /// # Errors
    /// It ended or said something else.
    pub(super) fn measure(&mut self, form: usize) -> Result<Span, Fault> {
        if writeln!(self.input, "{form}").and_then(|()| self.input.flush()).is_err() {
            return Err(self.failed("it ended before it was told to"));
        }
        let line = self.line()?;
        span(&line).ok_or_else(|| self.strange(&line))
    }

    fn line(&self) -> Result<String, Fault> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(fault)) => Err(self.failed(&format!("what it says cannot be read: {fault}"))),
            Err(RecvTimeoutError::Timeout) => {
                Err(self.failed(&format!("it has said nothing for {} seconds", PATIENCE.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.failed("it ended before it was told to")),
        }
    }

    fn strange(&self, line: &str) -> Fault {
        let shown: String = line.chars().take(200).collect();
        self.failed(&format!("it printed `{shown}`, which is not the line that was expected"))
    }

    fn failed(&self, what: &str) -> Fault {
        let said = std::fs::read(&self.said).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        let said = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
        Fault { what: format!("{}: {what}", self.name), said }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // It fails where the peer has ended already.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn greeting(line: &str) -> Option<Greeting> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |value: &Value, name: &str| Some(value[name].as_str()?.to_owned());
    if value.get("missing").is_some() {
        return Some(Greeting::Missing { what: text(&value, "missing")?, install: text(&value, "install")? });
    }
    let form = |form: &Value| Some(Form { name: text(form, "name")?, error: form["error"].as_f64() });
    let forms: Vec<Form> = value["forms"].as_array()?.iter().map(form).collect::<Option<_>>()?;
    (!forms.is_empty()).then_some(Greeting::Ready { version: text(&value, "version")?, forms })
}

fn span(line: &str) -> Option<Span> {
    let value: Value = serde_json::from_str(line).ok()?;
    let figure = |name: &str| value[name].as_f64().filter(|ms| *ms >= 0.0).map(|ms| ms * 1e6);
    Some(Span { wall: figure("wall_ms").filter(|ns| *ns > 0.0)?, cpu: figure("cpu_ms")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_peer_are_read() {
        assert_eq!(
            greeting(
                r#"{"version":"1.2","forms":[{"name":"f32","error":1e-7},{"name":"f16","error":null}]}"#
            ),
            Some(Greeting::Ready {
                version: "1.2".to_owned(),
                forms: vec![
                    Form { name: "f32".to_owned(), error: Some(1e-7) },
                    Form { name: "f16".to_owned(), error: None },
                ],
            })
        );
        assert_eq!(
            greeting(r#"{"missing":"numpy","install":"pip install numpy"}"#),
            Some(Greeting::Missing { what: "numpy".to_owned(), install: "pip install numpy".to_owned() })
        );
        assert_eq!(span(r#"{"wall_ms":2.0,"cpu_ms":0}"#), Some(Span { wall: 2e6, cpu: 0.0 }));
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "",
            "ready",
            "{}",
            r#"{"version":"1","forms":[]}"#,
            r#"{"missing":"numpy"}"#,
            r#"{"forms":[{"name":"f32"}]}"#,
        ] {
            assert_eq!(greeting(line), None, "{line}");
        }
        for line in [
            "",
            "{}",
            r#"{"wall_ms":0,"cpu_ms":1}"#,
            r#"{"wall_ms":-1,"cpu_ms":1}"#,
            r#"{"wall_ms":"2","cpu_ms":1}"#,
        ] {
            assert_eq!(span(line), None, "{line}");
        }
    }
}
