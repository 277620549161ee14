//! The project's own machinery: `cargo xtask test` does all that a change must pass.
//!
//! * `test` checks format, lints and the project's own rules, runs every test, those of the Python package in an
//!   environment of their own included, and runs the README's first command. Its last line is `N passed, N failed`: tests,
//!   and every other check that failed.
//! * `python` installs the Python package and runs its tests only.
//! * `deep` runs what takes longer: the large versions of randomised tests, mutants, `cross`. Words behind it choose steps
//!   by name. What a missing tool keeps from running is skipped, printed with the reason, and never counted as passed.
//! * `cross` runs the tests of the kernels for AArch64, on another machine with QEMU; `test` does without.
//! * `tidy` checks the project's own rules only.
//! * `lines`, `cycles` and `times` measure the project itself: lines of code, files that use each other in cycles, processor time of a
//!   cold build. The first lines of their files say what counts.
//! * `bench NAME` builds the benchmarks and runs one; `bench --against BINARY` compares them with those of another build, row by row.
//! * `report` bundles the page that `wsp report` writes, with packages of npm.
//! * `bless` rewrites expected texts from what the code yields; read the difference before keeping it.
//!
//! Python packages that the tests need are installed below `target`. A tool that is missing is named, with the command that
//! gets it.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "machinery reads files, clocks and the environment")]

mod bench;
mod cmake;
mod compile;
mod cross;
mod cycles;
mod deep;
mod lines;
mod llvm;
mod page;
mod project;
mod python;
mod readme;
mod runners;
mod rust;
mod steps;
mod tidy;
mod times;

use anyhow::{Result, bail};
use project::Project;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(compiled) = times::wrap() {
        return compiled.unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        });
    }
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all went well.
fn run() -> Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let project = Project::find()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => steps::test(&project),
        ["python"] => steps::python(&project),
        ["deep", filters @ ..] => steps::deep(&project, filters),
        ["cross"] => steps::cross(&project),
        ["tidy"] => steps::tidy(&project),
        ["lines"] => lines::print(&project),
        ["cycles"] => cycles::print(&project),
        ["times", options @ ..] => times::print(&project, options),
        ["bench", words @ ..] => bench::run(&project, words),
        ["report"] => page::bundle(&project),
        ["bless"] => steps::bless(&project),
        _ => bail!(
            "usage: cargo xtask test | deep [STEP…] | python | cross | tidy | lines | cycles | times [OPTION…] | \
             bench NAME [OPTION…] | bench --against BINARY [NAME…] | report | bless"
        ),
    }
}
