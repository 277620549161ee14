//! How many files name a backend beside the backend itself and the registry: each of them knows what the seam is to hide.
//!
//! The number may only fall. A file that is taken off the list lowers [`NAMING`] in the same commit.

use crate::rust::has_word;

/// Files that name `wsp_cpu`, tests included.
const NAMING: usize = 0;

/// The crates that may: the backend, and the one that has the registry.
const FREE: [&str; 2] = ["crates/wsp-cpu/", "crates/pto-wsp/"];

/// The backend.
const BACKEND: &str = "wsp_cpu";

/// The files that name a backend.
#[derive(Default, Debug)]
pub(super) struct Backends {
    files: Vec<String>,
}

impl Backends {
    /// Takes a file.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        if name.starts_with("crates/")
            && !FREE.iter().any(|free| name.starts_with(free))
            && has_word(text, BACKEND)
        {
            self.files.push(name.to_owned());
        }
    }

    /// A fault when there are more of them than the number says, or fewer.
    pub(super) fn faults(&self) -> Vec<String> {
        self.faults_of(NAMING)
    }

    fn faults_of(&self, naming: usize) -> Vec<String> {
        let found = self.files.len();
        if found > naming {
            let files = self.files.join(", ");
            let what = format!("{found} files name `{BACKEND}`, and {naming} did");
            return vec![format!("{what}; use `wsp_backend` or `pto_wsp::backend`: {files}")];
        }
        if found < naming {
            let file = file!();
            return vec![format!("{file}: {found} files name `{BACKEND}`, and the number says {naming}")];
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(naming: usize) -> Vec<String> {
        let mut backends = Backends::default();
        for (name, text) in [
            ("crates/wsp-cli/src/run.rs", "use wsp_cpu::Program;"),
            ("crates/wsp-cli/tests/it/run.rs", "let p: wsp_cpu::Program = make();"),
            ("crates/wsp-cli/src/other.rs", "use my_wsp_cpu::Program; use wsp_cpu_too::Program;"),
            ("crates/pto-wsp/src/lib.rs", "use wsp_cpu::Program;"),
            ("crates/wsp-cpu/tests/it/main.rs", "use wsp_cpu::Program;"),
            ("xtask/src/main.rs", "wsp_cpu"),
        ] {
            backends.source(name, text);
        }
        backends.faults_of(naming)
    }

    #[test]
    fn files_that_name_the_backend_are_counted_and_the_number_may_only_fall() {
        assert!(found(2).is_empty());
        let more = found(1);
        assert!(more[0].starts_with("2 files name `wsp_cpu`, and 1 did"), "{more:?}");
        assert!(more[0].ends_with("crates/wsp-cli/src/run.rs, crates/wsp-cli/tests/it/run.rs"), "{more:?}");
        assert!(found(3)[0].contains("the number says 3"));
    }
}
