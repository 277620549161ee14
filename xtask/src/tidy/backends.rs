//! Which files name a backend beside the backend itself and the registry: each of them knows what the seam is to hide.
//!
//! No other crate names `wsp_cpu`, but for tests that compare with its plain run and stand below the registry. The command line, Python and the benchmarks get backends of the registry; a file of theirs that names what
//! `pto_wsp` has of one backend, in the module of its name or by a `pub use` elsewhere, stands in a list, with the reason.

use crate::rust::{Source, has_word, is_of_name};

/// What may name all of it: the backend, the crate that has the registry, and the tests of a crate that the registry uses, whose oracle it is.
const FREE: [&str; 4] =
    ["crates/wsp-cpu/", "crates/pto-wsp/", "crates/wsp-tile/tests/", "crates/wsp-aie/tests/"];

/// The backend.
const BACKEND: &str = "wsp_cpu";

/// The public face.
const FACE: &str = "crates/pto-wsp/src/";

/// The crates that users run, and what they would name of one backend.
const USERS: [&str; 3] = ["crates/wsp-cli/src/", "crates/wsp-py/src/", "benches/src/"];
const OF_ONE: [&str; 4] = ["backend::cpu", "backend::npu", "pto_wsp::cpu", "CpuSimBackend"];

/// Files of those crates that do, each with the reason.
const ALLOWED: [(&str, &str); 12] = [
    ("crates/wsp-cli/src/engine/own.rs", "options that `cpu_sim` alone has, and its own part of outcomes"),
    (
        "crates/wsp-cli/src/commands/unit/kernels.rs",
        "signatures of kernels of files, without a plan; what is wrong with a file is said where the unit uses it",
    ),
    (
        "crates/wsp-py/src/own.rs",
        "functions of the caller for kernels, and the backend's own part of outcomes",
    ),
    ("crates/wsp-py/src/compile.rs", "functions of Python become kernels of a workload"),
    ("crates/wsp-py/src/kernels.rs", "the body of a declared kernel calls a function of Python"),
    ("crates/wsp-py/src/graphs.rs", "functions of Python become kernels of a unit"),
    ("crates/wsp-py/src/graphs/kernel.rs", "the body of a kernel of a unit calls a function of Python"),
    ("benches/src/isa/launch.rs", "measures sessions of task graphs, which are below the seam"),
    ("benches/src/isa/rerun.rs", "measures sessions of task graphs, with kernels that count"),
    ("benches/src/plan/mod.rs", "measures plans that the caller keeps and advances"),
    ("benches/src/plan/program.rs", "measures plans that the caller keeps and advances"),
    ("benches/src/runtime/execute.rs", "measures a workload of functions"),
];

/// The files that name a backend.
#[derive(Default, Debug)]
pub(super) struct Backends {
    naming: Vec<String>,
    /// Modules of the public face, and what they have of the backend.
    exported: Vec<(String, String)>,
    /// Files of users, and their statements with something of the public face.
    users: Vec<(String, Vec<String>)>,
}

impl Backends {
    /// Takes a file.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        if (name.starts_with("crates/") || name.starts_with("benches/"))
            && !FREE.iter().any(|free| name.starts_with(free))
            && has_word(text, BACKEND)
        {
            self.naming.push(name.to_owned());
        }
        let face = name.strip_prefix(FACE).and_then(|file| file.strip_suffix(".rs"));
        if face.is_none() && !USERS.iter().any(|of| name.starts_with(of)) {
            return;
        }
        let source = Source::new(name.to_owned(), text.to_owned());
        if let Some(module) = face {
            for statement in statements(&source.code, "pub use wsp_cpu::") {
                let names = statement.rsplit("::").next().unwrap_or_default().split(|c| !is_of_name(c));
                let names = names.filter(|name| !name.is_empty());
                self.exported.extend(names.map(|name| (module.to_owned(), name.to_owned())));
            }
        } else {
            let of_one = OF_ONE.iter().flat_map(|of| statements(&source.code, of));
            let found = of_one.chain(statements(&source.code, "pto_wsp::"));
            self.users.push((name.to_owned(), found.map(str::to_owned).collect()));
        }
    }

    /// Files of users that name what one backend has.
    fn using(&self) -> Vec<&String> {
        let of_one = |statement: &String| {
            OF_ONE.iter().any(|of| statement.starts_with(of))
                || self.exported.iter().any(|(module, name)| {
                    statement.starts_with("pto_wsp::")
                        && has_word(statement, module)
                        && has_word(statement, name)
                })
        };
        let users = self.users.iter().filter(|(_, statements)| statements.iter().any(of_one));
        users.map(|(file, _)| file).collect()
    }

    /// A fault for each file that names a backend and may not, and for each that may and does not.
    pub(super) fn faults(&self) -> Vec<String> {
        let naming = self.naming.iter().map(|file| {
            format!("{file}: names `{BACKEND}`; use `wsp_backend`, or the registry of `pto_wsp`")
        });
        let all = self.using();
        let may = |file: &String| ALLOWED.iter().any(|(allowed, _)| allowed == file);
        let using = all.iter().filter(|file| !may(file));
        let using =
            using.map(|file| format!("{file}: uses what one backend has; ask the registry of `pto_wsp`"));
        let gone = ALLOWED.iter().filter(|(allowed, _)| !all.iter().any(|file| file == allowed));
        let gone = gone.map(|(file, why)| format!("{file} ({why}): may name a backend, and names none"));
        naming.chain(using).chain(gone).collect()
    }

    /// How many files of the crates that users run name a backend.
    pub(super) fn summary(&self) -> String {
        let files = self.using().len();
        format!(
            "{files} files of the command line, Python and the benchmarks use what one backend has, each with a reason"
        )
    }
}

/// What begins like this in a text, each up to its semicolon.
fn statements<'t>(code: &'t str, begins: &str) -> impl Iterator<Item = &'t str> {
    let starts = code.match_indices(begins).map(|(at, _)| &code[at..]);
    starts.map(|rest| rest.split(';').next().unwrap_or(rest))
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
            ("crates/wsp-tile/tests/it/bench.rs", "use wsp_cpu::Program;"),
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
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].starts_with("crates/wsp-cli/src/run.rs: uses what one backend has"), "{faults:?}");
        assert!(faults[1].starts_with("crates/wsp-py/src/run.rs: uses"), "{faults:?}");
    }

    #[test]
    fn what_the_public_face_has_of_the_backend_elsewhere_is_found() {
        let face = "pub use wsp_cpu::tg::{TgCx, TgKernels};\npub use wsp_tg::lint;";
        let faults = found(&[
            ("crates/wsp-py/src/run.rs", "use pto_wsp::task_graph::{Instr, TgKernels};"),
            ("crates/wsp-cli/src/run.rs", "let all = pto_wsp::task_graph::TgKernels::new();"),
            ("crates/wsp-cli/src/fine.rs", "use pto_wsp::task_graph::{Instr, lint};\nstruct TgCx;"),
            ("crates/pto-wsp/src/task_graph.rs", face),
        ]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with("crates/wsp-py/src/run.rs: uses"), "{faults:?}");
        assert!(faults[1].starts_with("crates/wsp-cli/src/run.rs: uses"), "{faults:?}");
    }

    #[test]
    fn a_file_that_may_and_does_not_is_found() {
        let faults = Backends::default().faults();
        assert_eq!(faults.len(), ALLOWED.len());
        assert!(faults[0].ends_with("may name a backend, and names none"), "{faults:?}");
    }
}
