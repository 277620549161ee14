//! Tests of the copy, each run as a process of its own on a mutant.

use super::program::Program;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a test may take without a mutant.
const LONGEST: Duration = Duration::from_hours(1);
/// What a test may take on a mutant: so many times what it takes without, and this.
const LONGER: (u32, Duration) = (10, Duration::from_secs(20));

/// How the tests ended on a mutant.
#[derive(PartialEq, Debug)]
pub(super) enum End {
    Passed,
    /// This test failed.
    Failed(String),
    /// This test did not end in its time.
    TimedOut(String),
    /// The mutant does not compile.
    Unbuilt,
}

/// A test that passes without a mutant.
pub(super) struct Test {
    program: Program,
    name: String,
    /// What it takes.
    time: Duration,
    /// The switches that it comes by.
    reached: BTreeSet<usize>,
}

/// Runs all tests of the programs without a mutant. The shortest come first. A file is written for each, and removed.
pub(super) fn tests(programs: &[Program], file: &Path) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for program in programs {
        for name in program.tests()? {
            let start = Instant::now();
            let status = program.run(&name, ("WSP_REACHED", file.as_os_str()), LONGEST)?;
            let time = start.elapsed();
            ensure!(
                status.is_some_and(|status| status.success()),
                "`{name}` of {program} does not pass without a mutant: {status:?}"
            );
            tests.push(Test { program: program.clone(), name, time, reached: reached(file)? });
        }
    }
    tests.sort_by_key(|test| test.time);
    Ok(tests)
}

/// The numbers in a file, which is removed. No file is written where no switch is reached.
fn reached(file: &Path) -> Result<BTreeSet<usize>> {
    if !file.exists() {
        return Ok(BTreeSet::new());
    }
    let text = std::fs::read_to_string(file)?;
    std::fs::remove_file(file)?;
    text.lines().map(|line| line.parse().with_context(|| format!("{line} should be a number"))).collect()
}

impl Test {
    pub(super) fn is_of(&self, packages: &[&str]) -> bool {
        packages.iter().any(|package| self.program.is_of(package))
    }

    /// Whether it comes by this switch: otherwise its mutant changes nothing.
    pub(super) fn reaches(&self, number: usize) -> bool {
        self.reached.contains(&number)
    }

    fn run(&self, program: &Program, number: usize) -> Result<End> {
        let (times, more) = LONGER;
        let number = number.to_string();
        let limit = self.time * times + more;
        let status = program.run(&self.name, ("WSP_MUTANT", OsStr::new(&number)), limit)?;
        Ok(match status {
            None => End::TimedOut(self.name.clone()),
            Some(status) if status.success() => End::Passed,
            Some(_) => End::Failed(self.name.clone()),
        })
    }
}

/// Runs tests of the programs on a mutant until one does not pass.
pub(super) fn meet<'a>(
    programs: &[Program],
    tests: impl Iterator<Item = &'a Test>,
    number: usize,
) -> Result<End> {
    for test in tests {
        let program = programs.iter().find(|program| program.is(&test.program));
        let program = program.with_context(|| format!("{} is not there", test.program))?;
        let end = test.run(program, number)?;
        if end != End::Passed {
            return Ok(end);
        }
    }
    Ok(End::Passed)
}
