//! Emitted C++ and the headers of the host, compiled and run by clang.

use super::Outcome;
use crate::cross::works;
use crate::project::Project;
use crate::runners::{self, Tally};
use anyhow::Result;

/// The compiler.
const CLANG: &str = "clang++";

/// The tests that compile what is emitted, with clang as the compiler. The test command takes the one that it finds first.
pub(super) fn test(project: &Project, tally: &mut Tally) -> Result<Outcome> {
    if !works(CLANG) {
        return Ok(Outcome::Skipped(format!("{CLANG} is not installed: apt install clang")));
    }
    let mut command = project.cargo(&["test", "--profile", "deep", "--no-fail-fast"]);
    command.args(["--package", "wsp-ascend", "--tests"]).env("CXX", CLANG);
    runners::counted(command, runners::result_line, tally, &mut std::io::stdout()).map(Outcome::Ran)
}
