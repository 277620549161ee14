//! A C++ compiler, and where to work.
// Files are what the compiler takes.
#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler that `CXX` names, or the first of the usual ones.
pub(crate) fn compiler() -> OsString {
    if let Some(named) = std::env::var_os("CXX").filter(|name| !name.is_empty()) {
        return named;
    }
    let usual = ["c++", "g++", "clang++"].map(OsString::from);
    let runs =
        |name: &OsString| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    usual
        .into_iter()
        .find(runs)
        .expect("this test needs a C++ compiler: c++, g++ or clang++ on the path, or another that CXX names")
}

/// Where the header is.
pub(crate) fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// A folder of this test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

/// Runs a command, which must succeed; its standard output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).expect("the output is text")
}
