//! Runs every test and counts what the runners report.

use crate::compile::{self, Tests};
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Tests over all runners.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Tally {
    /// How many passed.
    pub(crate) passed: u64,
    /// How many failed.
    pub(crate) failed: u64,
}

impl Tally {
    fn add(&mut self, more: Tally) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// The tests that run the command line as users build it: package, and target.
const PROGRAM: (&str, &str) = ("wsp-cli", "it");

/// The tests that compile bodies of cores by LLVM's tools.
const BODIES: (&str, &str) = ("wsp-aie", "native");

/// What sets the bytes of the stack of each thread, here and in programs that tests start.
const STACK: &str = "RUST_MIN_STACK";

/// Bytes of the stack of each test's thread where what is tested has no optimisation, whose frames are larger: limits of depth are for threads of 2 MiB,
/// the default, in what users build.
const UNOPTIMISED: &str = "4194304";

/// Tests that were compiled without optimisation and with all assertions, which takes a quarter of the time, and the code in documentation; whether
/// all passed. Tests of the built program are left out: [`program`] runs them.
pub(crate) fn libraries(
    project: &Project,
    tests: &[Tests],
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<bool> {
    ensure!(!tests.is_empty(), "no tests were compiled");
    let mut passed = true;
    for test in tests.iter().filter(|test| !of_program(test) && !of_bodies(test)) {
        let deep = |command: &mut Command| {
            command.env(STACK, UNOPTIMISED);
        };
        passed &= ran(project, test, deep, tally, output)?;
    }
    let command = compile::tests(project, &["test", "--no-fail-fast", "--workspace", "--doc"])?;
    Ok(counted(command, result_line, tally, output)? && passed)
}

/// Whether these are the tests of the built program.
fn of_program(test: &Tests) -> bool {
    test.folder.ends_with(PROGRAM.0) && test.target == PROGRAM.1
}

/// Whether these are the tests of bodies of cores that LLVM compiles.
fn of_bodies(test: &Tests) -> bool {
    test.folder.ends_with(BODIES.0) && test.target == BODIES.1
}

/// Tests of bodies of cores that LLVM compiles; whether all passed.
pub(crate) fn bodies(
    project: &Project,
    tests: &[Tests],
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<bool> {
    let of_bodies = tests.iter().find(|test| of_bodies(test)).context("they were not compiled")?;
    ran(project, of_bodies, |_| {}, tally, output)
}

/// Runs one program of tests; whether all passed.
fn ran(
    project: &Project,
    Tests { folder, target, program }: &Tests,
    with: impl FnOnce(&mut Command),
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<bool> {
    let name = folder.strip_prefix(project.root()).unwrap_or(folder);
    writeln!(output, "\n{} {target}", name.display())?;
    let mut command = Command::new(program);
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    with(&mut command);
    let mut results = Vec::new();
    let mut passed = lines(command, |line| results.extend(result_line(line)), output)?;
    // A program may have no test.
    if results.is_empty() {
        writeln!(output, "error: the tests of {target} in {} ended without a result", name.display())?;
        tally.failed += 1;
        passed = false;
    }
    results.into_iter().for_each(|result| tally.add(result));
    Ok(passed)
}

/// Tests of the command line with the program that the README's command has built, and of the parser as users build it, which reads deep programs on the
/// stack that there is; whether all passed. With all assertions too they are a row of `cargo xtask deep`.
pub(crate) fn program(
    project: &Project,
    tests: &[Tests],
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<bool> {
    let of_program = tests.iter().find(|test| of_program(test)).context("they were not compiled")?;
    let program = project.program();
    ensure!(program.is_file(), "{} is not there: the README's command builds it", program.display());
    let users = |command: &mut Command| {
        // The program has the stack that it has with users.
        command.env("WSP_PROGRAM", &program).env_remove(STACK);
    };
    let passed = ran(project, of_program, users, tally, output)?;
    let parser = project.cargo(&["test", "--release", "--no-fail-fast", "--package=wsp-lang", "--test=it"]);
    Ok(counted(parser, result_line, tally, output)? && passed)
}

/// The models of all concurrent structures, run by loom, which replaces atomics and threads; whether all hold.
pub(crate) fn models(project: &Project, tally: &mut Tally, output: &mut dyn Write) -> Result<bool> {
    let mut command = project.cargo(&[
        "test",
        "-p",
        "wsp-core",
        "-p",
        "wsp-runtime",
        "--lib",
        "models::",
        "--",
        "--test-threads=1",
    ]);
    // A folder of its own: other flags would throw away what the other steps have built.
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", project.target().join("loom"));
    counted(command, result_line, tally, output)
}

/// Runs a command and writes what it prints as it goes; whether it succeeded.
pub(crate) fn shown(command: Command, output: &mut dyn Write) -> Result<bool> {
    lines(command, |_| {}, output)
}

/// Runs a test command, writes what it prints as it goes, and adds what `counts` finds in its lines; whether all tests passed, and there was one.
pub(crate) fn counted(
    command: Command,
    counts: impl Fn(&str) -> Option<Tally>,
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<bool> {
    let (mut found, told) = (Tally::default(), format!("{command:?}"));
    let mut passed =
        lines(command, |line| counts(line).into_iter().for_each(|more| found.add(more)), output)?;
    if found == Tally::default() {
        writeln!(output, "error: {told} ran no test")?;
        found.failed = 1;
        passed = false;
    }
    tally.add(found);
    Ok(passed)
}

/// Runs a command, writes what it prints as it goes, and calls `each` with every line; whether it succeeded.
fn lines(mut command: Command, mut each: impl FnMut(&str), shown: &mut dyn Write) -> Result<bool> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("{command:?} cannot be run"))?;
    let output = child.stdout.take().context("the output should be piped")?;
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        each(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(child.wait()?.success())
}

/// The counts of a line like `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
pub(crate) fn result_line(line: &str) -> Option<Tally> {
    let counts = line.trim().strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |name: &str| {
        let part = counts.split("; ").find_map(|part| part.strip_suffix(name))?;
        part.trim().parse().ok()
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")? })
}

/// The counts of the last line of pytest, like `2 failed, 98 passed, 1 skipped in 3.14s`. Errors of set-up are failures.
pub(crate) fn pytest_line(line: &str) -> Option<Tally> {
    let (counts, _) = line.trim().trim_matches('=').trim().rsplit_once(" in ")?;
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "passed" => tally.passed += number,
            "failed" | "error" | "errors" => tally.failed += number,
            _ => {}
        }
    }
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_counted() {
        let line = "test result: ok. 67 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.16s\n";
        assert_eq!(result_line(line), Some(Tally { passed: 67, failed: 0 }));
        let line = "test result: FAILED. 64 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.30s";
        assert_eq!(result_line(line), Some(Tally { passed: 64, failed: 3 }));
    }

    #[test]
    fn a_command_that_runs_no_test_has_not_passed() {
        let run = |lines: &str| {
            let (mut command, mut tally, mut output) = (Command::new("printf"), Tally::default(), Vec::new());
            command.arg(lines);
            let passed = counted(command, result_line, &mut tally, &mut output).unwrap();
            (passed, tally, String::from_utf8(output).unwrap())
        };
        let two = "test result: ok. 0 passed; 0 failed; 0 ignored\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert_eq!(run(two), (true, Tally { passed: 2, failed: 0 }, two.to_owned()));
        let none = "test result: ok. 0 passed; 0 failed; 9 filtered out\n";
        for lines in ["", "Compiling\n", none] {
            let (passed, tally, output) = run(lines);
            assert!(!passed && tally == Tally { passed: 0, failed: 1 }, "{lines}");
            assert!(output.starts_with(lines) && output.ends_with(" ran no test\n"), "{output}");
        }
    }

    #[test]
    fn the_last_line_of_pytest_is_counted() {
        let line = "2 failed, 98 passed, 1 skipped, 1 error in 3.14s (0:01:02)";
        assert_eq!(pytest_line(line), Some(Tally { passed: 98, failed: 3 }));
        assert_eq!(pytest_line("===== 5 passed in 0.02s ====="), Some(Tally { passed: 5, failed: 0 }));
        for other in ["....F.. [ 50%]", "made 5 things in 3 s", "", "3 in 4"] {
            assert_eq!(pytest_line(other), None, "{other}");
        }
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "",
            "test result:",
            "test result: ok. many passed; 0 failed;",
            "test a ... ok",
            "67 passed; 0 failed",
        ] {
            assert_eq!(result_line(line), None, "{line}");
        }
    }
}
