//! `cargo xtask deep`: what takes longer than the test command.
//!
//! * the large versions of randomised tests: [`ROWS`] names each with its number of cases;
//! * tests of kernels for AArch64 ([`crate::cross`]);
//! * random programs of Python against NumPy ([`python`]);
//! * emitted C++ compiled by clang ([`clang`]);
//! * bodies of cores compiled by LLVM ([`crate::llvm`]), whose tools are unpacked first;
//! * mutants of our own code ([`mutants`]);
//! * a report of a million tasks in a browser without a window ([`report`]);
//! * the packages of our crates, each built from what it holds ([`packages`]);
//! * the documentation of all crates, where a warning is an error.
//!
//! What cannot be run for want of a tool is skipped: it is printed with the reason and never counted as passed.

mod clang;
mod mutants;
mod packages;
mod report;
mod rows;

use crate::cross;
use crate::llvm;
use crate::project::Project;
use crate::python;
use crate::runners::{self, Tally};
use anyhow::{Context, Result, bail};
use rows::{ROWS, Row};

/// How a step ended that could be run.
pub(crate) enum Outcome {
    /// It looked at all that it should, and this is whether all was well.
    Ran(bool),
    /// It looked at nothing, for this reason.
    Skipped(String),
}

/// One step: its heading and its work.
pub(crate) struct Step {
    /// The heading.
    pub(crate) name: String,
    /// What is done.
    work: Work,
}

/// What a step does.
enum Work {
    Row(&'static Row),
    Cross,
    Python,
    Clang,
    Llvm,
    Mutants,
    Packages,
    Report,
    Documentation,
}

impl Step {
    /// Does the work.
    pub(crate) fn run(&self, project: &Project, tally: &mut Tally) -> Result<Outcome> {
        match self.work {
            Work::Row(row) => cases(project, row, tally).map(Outcome::Ran),
            Work::Cross => match cross::missing_tools(project)? {
                missing if missing.is_empty() => cross::test(project, tally).map(Outcome::Ran),
                missing => Ok(Outcome::Skipped(missing.join("; "))),
            },
            Work::Python => python::random(project, tally).map(Outcome::Ran),
            Work::Clang => clang::test(project, tally),
            Work::Llvm => llvm::test(project, tally),
            Work::Mutants => mutants::test(project, tally),
            Work::Packages => packages::test(project),
            Work::Report => report::test(project, tally),
            Work::Documentation => documentation(project).map(Outcome::Ran),
        }
    }
}

/// The steps whose names contain one of the filters; all of them without a filter.
///
/// # Errors
/// When a filter is in no name.
pub(crate) fn steps(filters: &[&str]) -> Result<Vec<Step>> {
    let rows = ROWS.iter().map(|row| Step { name: row.name.to_owned(), work: Work::Row(row) });
    let others = [
        ("AArch64", Work::Cross),
        ("random programs of Python", Work::Python),
        ("emitted C++ compiled by clang", Work::Clang),
        ("bodies of cores by LLVM", Work::Llvm),
        ("mutants of our own code", Work::Mutants),
        ("packages of our crates", Work::Packages),
        ("a report of a million tasks in a browser", Work::Report),
        ("documentation without warnings", Work::Documentation),
    ];
    let others = others.into_iter().map(|(name, work)| Step { name: name.to_owned(), work });
    let mut all: Vec<Step> = rows.chain(others).collect();
    if let Some(filter) = filters.iter().find(|filter| !all.iter().any(|step| step.name.contains(**filter))) {
        let names: Vec<&str> = all.iter().map(|step| step.name.as_str()).collect();
        bail!("no step of `deep` is named `{filter}`; there are: {}", names.join(", "));
    }
    all.retain(|step| filters.is_empty() || filters.iter().any(|filter| step.name.contains(filter)));
    Ok(all)
}

/// Writes the documentation of all crates; whether there was no warning, such as a link that leads nowhere.
fn documentation(project: &Project) -> Result<bool> {
    let mut command = project.cargo(&["doc", "--workspace", "--no-deps", "--keep-going"]);
    let status = command.env("RUSTDOCFLAGS", "-D warnings").status().context("cargo doc")?;
    Ok(status.success())
}

/// The tests of a row with its number of cases; whether all passed, and at least one said that it ran so many.
fn cases(project: &Project, row: &Row, tally: &mut Tally) -> Result<bool> {
    let mut command = project.cargo(&["test", "--profile", "deep"]);
    command.args(row.cargo).args(["--", "--nocapture"]);
    if let Some(cases) = row.cases {
        command.env("WSP_CASES", cases.to_string());
    }
    let mut output = Shown::default();
    let passed = runners::counted(command, runners::result_line, tally, &mut output)?;
    if let Some(cases) = row.cases
        && !says(&output.text, cases)
    {
        bail!("no test said that it ran {cases} cases");
    }
    Ok(passed)
}

/// Whether a text has this number as a word, with or without commas between its thousands.
fn says(text: &str, number: u32) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == ','));
    words.map(|word| word.replace(',', "")).any(|word| word == number.to_string())
}

/// Standard output that is kept as well.
#[derive(Default)]
struct Shown {
    text: String,
}

impl std::io::Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.push_str(&String::from_utf8_lossy(bytes));
        std::io::stdout().write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stdout().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::files;

    #[test]
    fn a_number_of_cases_is_found_as_a_word() {
        assert!(says("ran 100000 cases", 100_000));
        assert!(says("ran 100,000 cases.", 100_000));
        assert!(!says("ran 1000000 cases, 10 skipped", 100_000));
        assert!(!says("", 100_000));
    }

    /// The value behind an option of `cargo test`.
    fn option<'a>(cargo: &[&'a str], name: &str) -> Option<&'a str> {
        cargo.iter().position(|word| *word == name).and_then(|at| cargo.get(at + 1)).copied()
    }

    #[test]
    fn rows_name_programs_and_tests_that_exist() {
        let project = Project::find().unwrap();
        let commands = ROWS.iter().map(|row| row.cargo).chain(cross::TESTS);
        for cargo in commands.filter(|cargo| cargo.contains(&"--test")) {
            let package = option(cargo, "--package").unwrap();
            let program = option(cargo, "--test").unwrap();
            let folder = project.root().join("crates").join(package).join("tests");
            let main = [format!("{program}.rs"), format!("{program}/main.rs")];
            assert!(
                main.iter().any(|file| folder.join(file).exists()),
                "`{cargo:?}` names no program of tests"
            );
            let filter = *cargo.last().unwrap();
            let names: Vec<&str> = filter.split("::").collect();
            let (last, modules) = names.split_last().unwrap();
            let sources =
                files(&folder, |_| true, |path| path.extension().is_some_and(|e| e == "rs")).unwrap();
            let text: String = sources.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
            let functions = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
            let found = functions.filter_map(|line| line.split('(').next()).any(|name| name.contains(last));
            assert!(found, "no test is named `{filter}`");
            for module in modules {
                assert!(
                    text.contains(&format!("mod {module};")),
                    "no module is named `{module}` in `{filter}`"
                );
            }
        }
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let names = |filters: &[&str]| {
            steps(filters).map(|steps| steps.into_iter().map(|step| step.name).collect::<Vec<String>>())
        };
        assert_eq!(names(&["AArch"]).ok(), Some(vec!["AArch64".to_owned()]));
        assert!(names(&[]).is_ok_and(|all| all.len() == ROWS.len() + 8));
        assert!(names(&["nothing of this name"]).is_err());
    }
}
