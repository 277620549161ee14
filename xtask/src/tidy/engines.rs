//! How many of each part there are that decides what runs next, and says why nothing does: each is one more place where runs can differ.
//!
//! * A hang report is a type that lists who waits for whom. The goal is 1, which is reached.
//! * A failure is an enum that has `Stuck(…)` for a run that cannot go on. The goal is 1, which is reached.
//! * A ready queue is a type whose name says so. The goal is 2.
//! * A task loop takes tasks or blocks that are ready, one after another, and runs them; it is known by a call. The goal is 5: workers, one thread, virtual
//!   time, AICPUs, devices.

use super::twins::{bodies, variants};
use crate::rust::{Source, has_word};

/// Most hang reports, failures and ready queues.
const MOST: [(Part, usize); 3] = [(Part::HangReport, 1), (Part::Failure, 1), (Part::ReadyQueue, 7)];

/// What a caller of the runtime implements: a place for a ready queue, and none.
const OF_CALLERS: &str = "crates/wsp-runtime/src/graph/exchange.rs ReadyQueue";

/// Files with a task loop, and the call that it is known by. No other file has one of these calls.
const LOOPS: [(&str, &str); 9] = [
    ("crates/wsp-runtime/src/worker.rs", "runner.run("),
    ("crates/wsp-runtime/src/graph/solo.rs", "runner.run("),
    ("crates/wsp-runtime/src/aicpu/cores.rs", "runner.run("),
    ("crates/wsp-runtime/src/simulate/engine.rs", "self.complete_ended("),
    ("crates/wsp-runtime/src/tg/shared.rs", "state.pick("),
    ("crates/wsp-runtime/src/tg/virtual_time.rs", "state.pick("),
    ("crates/wsp-runtime/src/tg/inline.rs", "machine.next(bodies)"),
    ("crates/wsp-cpu/src/workload/submit.rs", "TaskSink for Sequential"),
    ("crates/wsp-device/src/graph/run.rs", "machine.next(&mut"),
];

/// What is counted by types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    HangReport,
    Failure,
    ReadyQueue,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::HangReport => "hang reports",
            Part::Failure => "failures of runs",
            Part::ReadyQueue => "ready queues",
        }
    }
}

/// What was found.
#[derive(Default, Debug)]
pub(super) struct Engines {
    types: Vec<(Part, String)>,
    loops: Vec<(String, &'static str)>,
}

impl Engines {
    /// Takes a file; tests have engines of their own, which they compare with.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let folders = ["crates/wsp-runtime/src/", "crates/wsp-cpu/src/", "crates/wsp-device/src/"];
        if !folders.iter().any(|folder| name.starts_with(folder)) || name.contains("/tests") {
            return;
        }
        let source = Source::new(name.to_owned(), text.to_owned());
        let calls = LOOPS.iter().map(|(_, call)| *call);
        let mut found: Vec<&str> = calls.filter(|call| source.code.contains(call)).collect();
        found.dedup();
        self.loops.extend(found.into_iter().map(|call| (name.to_owned(), call)));
        if !name.starts_with(folders[0]) {
            return;
        }
        let mut add = |part, title: &str| {
            let of = format!("{name} {title}");
            if of != OF_CALLERS {
                self.types.push((part, of));
            }
        };
        for (title, body) in bodies(&source.code, "struct") {
            if body.contains("waits: Vec<(") && has_word(body, "cycle") {
                add(Part::HangReport, title);
            }
            if ["Ready", "Ranked"].iter().any(|word| title.starts_with(word)) || title.ends_with("Queues") {
                add(Part::ReadyQueue, title);
            }
        }
        bodies(&source.code, "trait")
            .filter(|(title, _)| title.starts_with("Ready"))
            .for_each(|(title, _)| add(Part::ReadyQueue, title));
        let fails = |body: &str| variants(body).get("Stuck").is_some_and(|carried| !carried.is_empty());
        bodies(&source.code, "enum")
            .filter(|(_, body)| fails(body))
            .for_each(|(title, _)| add(Part::Failure, title));
    }

    /// A fault for each part of which there are too many, and for task loops that are not listed or not there.
    pub(super) fn faults(&self) -> Vec<String> {
        let many = MOST.into_iter().filter_map(|(part, most)| {
            let found: Vec<&str> =
                self.types.iter().filter(|(of, _)| *of == part).map(|(_, title)| title.as_str()).collect();
            let message = || {
                let (count, name) = (found.len(), part.name());
                format!("{count} {name}, at most {most} may be; use one that is there: {}", found.join(", "))
            };
            (found.len() > most).then(message)
        });
        let listed = |name: &str, call: &str| LOOPS.contains(&(name, call));
        let others = self.loops.iter().filter(|(name, call)| !listed(name, call));
        let others = others.map(|(name, call)| {
            format!("{name}: has a task loop of its own (`{call}`); drive one of those that `xtask/src/tidy/engines.rs` lists")
        });
        let is_there =
            |&&(file, call): &&(&str, &str)| self.loops.iter().any(|(name, of)| name == file && *of == call);
        let gone = LOOPS.iter().filter(|of| !is_there(of));
        let gone = gone.map(|(name, call)| {
            format!("{name}: has no task loop (`{call}`) any more; take it off the list in `xtask/src/tidy/engines.rs`")
        });
        many.chain(others).chain(gone).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every listed loop, and these files beside them.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut engines = Engines::default();
        for (name, call) in LOOPS {
            engines.source(name, &format!("fn f() {{ {call}); }}\n"));
        }
        files.iter().for_each(|(name, text)| engines.source(name, text));
        engines.faults()
    }

    const REPORT: &str =
        "pub struct Report {\n    pub waits: Vec<(Party, Vec<Party>)>,\n    pub cycle: Vec<Party>,\n}\n";

    #[test]
    fn a_second_report_is_a_fault() {
        assert_eq!(found(&[("crates/wsp-runtime/src/report.rs", REPORT)]), Vec::<String>::new());
        let two =
            [("crates/wsp-runtime/src/report.rs", REPORT), ("crates/wsp-runtime/src/tg/hang.rs", REPORT)];
        let faults = found(&two);
        assert!(faults[0].starts_with("2 hang reports, at most 1 may be"), "{faults:?}");
        assert!(found(&[("crates/wsp-runtime/src/aicpu/tests/mod.rs", REPORT), two[0]]).is_empty());
    }

    #[test]
    fn failures_and_ready_queues_are_counted_by_what_they_have_and_are_called() {
        let failure = "pub enum Cause {\n    Cancelled,\n    Stuck(Report),\n}\n";
        let number = "enum Stop {\n    Cancelled = 1,\n    Stuck = 2,\n}\n";
        let at = |n: usize| format!("crates/wsp-runtime/src/f{n}.rs");
        let names: Vec<String> = (0..9).map(at).collect();
        let files =
            |text, count| names.iter().take(count).map(|name| (name.as_str(), text)).collect::<Vec<_>>();
        assert!(found(&files(failure, 1)).is_empty() && found(&files(number, 9)).is_empty());
        assert!(found(&files(failure, 2))[0].starts_with("2 failures of runs"));
        assert!(
            found(&files("struct ReadyTasks {\n    list: u32,\n}\n", 9))[0].starts_with("9 ready queues")
        );
    }

    #[test]
    fn a_loop_that_is_new_and_one_that_is_gone_are_told() {
        let new =
            found(&[("crates/wsp-cpu/src/other.rs", "fn f() { self.runner.run(0, id, kernel, payload) }\n")]);
        assert!(
            new.len() == 1 && new[0].starts_with("crates/wsp-cpu/src/other.rs: has a task loop of its own"),
            "{new:?}"
        );
        assert!(
            Engines::default().faults()[0].ends_with("take it off the list in `xtask/src/tidy/engines.rs`")
        );
    }
}
