//! Which files name a backend beside the backend itself and the registry: each of them knows what the seam is to hide.
//!
//! No other crate names `wsp_cpu`. The command line and Python get backends of the registry; a file of theirs that names what `pto_wsp`
//! has of one backend stands in a list, with the reason.

use crate::rust::{Source, has_word};

/// The crates that may name all of it: the backend, and the one that has the registry.
const FREE: [&str; 2] = ["crates/wsp-cpu/", "crates/pto-wsp/"];

/// The backend.
const BACKEND: &str = "wsp_cpu";

/// The crates that users run, and what they would name of one backend.
const USERS: [&str; 2] = ["crates/wsp-cli/src/", "crates/wsp-py/src/"];
const OF_ONE: [&str; 4] = ["backend::cpu", "backend::npu", "pto_wsp::cpu", "CpuSimBackend"];

/// Files of those crates that do, each with the reason.
const ALLOWED: [(&str, &str); 2] = [
    ("crates/wsp-cli/src/engine/own.rs", "options that `cpu_sim` alone has, and its own part of outcomes"),
    (
        "crates/wsp-py/src/own.rs",
        "functions of the caller for kernels, and the backend's own part of outcomes",
    ),
];

/// The files that name a backend.
#[derive(Default, Debug)]
pub(super) struct Backends {
    naming: Vec<String>,
    using: Vec<String>,
}

impl Backends {
    /// Takes a file.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        if name.starts_with("crates/")
            && !FREE.iter().any(|free| name.starts_with(free))
            && has_word(text, BACKEND)
        {
            self.naming.push(name.to_owned());
        }
        if USERS.iter().any(|of| name.starts_with(of)) {
            let source = Source::new(name.to_owned(), text.to_owned());
            if OF_ONE.iter().any(|of| source.code.contains(of)) {
                self.using.push(name.to_owned());
            }
        }
    }

    /// A fault for each file that names a backend and may not, and for each that may and does not.
    pub(super) fn faults(&self) -> Vec<String> {
        let naming = self.naming.iter().map(|file| {
            format!("{file}: names `{BACKEND}`; use `wsp_backend`, or the registry of `pto_wsp`")
        });
        let may = |file: &String| ALLOWED.iter().any(|(allowed, _)| allowed == file);
        let using = self.using.iter().filter(|file| !may(file));
        let using =
            using.map(|file| format!("{file}: uses what one backend has; ask the registry of `pto_wsp`"));
        let gone = ALLOWED.iter().filter(|(allowed, _)| !self.using.iter().any(|file| file == allowed));
        let gone = gone.map(|(file, why)| format!("{file} ({why}): may name a backend, and names none"));
        naming.chain(using).chain(gone).collect()
    }

    /// How many files of the crates that users run name a backend.
    pub(super) fn summary(&self) -> String {
        let files = self.using.len();
        format!("{files} files of the command line and Python use what one backend has, each with a reason")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut backends = Backends::default();
        ALLOWED.iter().for_each(|(file, _)| backends.source(file, "use pto_wsp::backend::cpu::RunStats;"));
        files.iter().for_each(|(name, text)| backends.source(name, text));
        backends.faults()
    }

    #[test]
    fn a_crate_beside_the_backend_and_the_registry_that_names_it_is_found() {
        let faults = found(&[
            ("crates/wsp-cli/src/run.rs", "use wsp_cpu::Program;"),
            ("crates/wsp-cli/tests/it/run.rs", "let p: wsp_cpu::Program = make();"),
            ("crates/wsp-cli/src/other.rs", "use my_wsp_cpu::Program; use wsp_cpu_too::Program;"),
            ("crates/pto-wsp/src/lib.rs", "use wsp_cpu::Program;"),
            ("crates/wsp-cpu/tests/it/main.rs", "use wsp_cpu::Program;"),
            ("xtask/src/main.rs", "wsp_cpu"),
        ]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with("crates/wsp-cli/src/run.rs: names `wsp_cpu`"), "{faults:?}");
        assert!(faults[1].starts_with("crates/wsp-cli/tests/it/run.rs: names"), "{faults:?}");
    }

    #[test]
    fn a_file_of_the_command_line_or_of_python_that_uses_one_backend_is_found() {
        let faults = found(&[
            ("crates/wsp-cli/src/run.rs", "use pto_wsp::backend::cpu::Report;"),
            ("crates/wsp-py/src/run.rs", "use pto_wsp::cpu as one;"),
            ("crates/wsp-py/src/note.rs", "// As CpuSimBackend does."),
            ("crates/wsp-cli/tests/it/run.rs", "use pto_wsp::backend::cpu::Report;"),
            ("benches/src/run.rs", "use pto_wsp::backend::cpu::Report;"),
        ]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with("crates/wsp-cli/src/run.rs: uses what one backend has"), "{faults:?}");
        assert!(faults[1].starts_with("crates/wsp-py/src/run.rs: uses"), "{faults:?}");
    }

    #[test]
    fn a_file_that_may_and_does_not_is_found() {
        let faults = Backends::default().faults();
        assert_eq!(faults.len(), ALLOWED.len());
        assert!(faults[0].ends_with("may name a backend, and names none"), "{faults:?}");
    }
}
