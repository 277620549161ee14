//! C++ that includes the headers.

use crate::toolchain::{compiler, instructions, write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wsp_ascend::host::FILES;

/// The platforms.
pub(crate) const PLATFORMS: [&str; 3] = ["a2", "a3", "a5"];

/// A folder with the headers, and a file.
pub(crate) fn folder(name: &str, file: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host").join(name);
    for (path, text) in FILES {
        write(&folder.join("include").join(path), text);
    }
    write(&folder.join(file), text);
    folder
}

/// What the compiler says of a file in a folder.
pub(crate) fn compile(folder: &Path, platform: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(compiler());
    command.current_dir(folder).args(["-std=c++17", "-Iinclude", &format!("-DPTO_PLATFORM={platform}")]);
    command.args(arguments).output().expect("the compiler runs")
}

/// Whether the compiler stops after some errors, and names what it compiles behind them.
pub(crate) fn is_clang() -> bool {
    let output = Command::new(compiler()).arg("--version").output().expect("the compiler runs");
    String::from_utf8_lossy(&output.stdout).contains("clang")
}

/// Strings that stand behind one of these words in the headers: a text of several literals is one string.
pub(crate) fn literals(behind: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, text) in FILES {
        for word in behind {
            for (at, _) in text.match_indices(word) {
                found.extend(literal(&text[at + word.len()..]));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The first string of a call, up to the end of the statement.
fn literal(text: &str) -> Option<String> {
    let statement = text.split(';').next()?;
    let mut parts = statement.split('"').skip(1);
    let mut joined = parts.next()?.to_owned();
    while let (Some(between), Some(next)) = (parts.next(), parts.next()) {
        if !between.trim().is_empty() {
            break;
        }
        joined += next;
    }
    Some(joined)
}

/// Compiles a file of a folder without a warning.
pub(crate) fn build(folder: &Path, platform: &str, optimised: &str, file: &str) -> PathBuf {
    let program = format!("program-{platform}");
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
    let object = instructions(platform).display().to_string();
    let output = compile(
        folder,
        platform,
        &[&warnings[..], &[optimised, "-DWSP_ONE_FILE", "-o", &program, file, &object]].concat(),
    );
    let errors = String::from_utf8_lossy(&output.stderr);
    let shown: String = errors.chars().take(6000).collect();
    assert!(output.status.success(), "on {platform}, in {}:\n{shown}", folder.display());
    folder.join(program)
}

/// The files below a folder, by their paths in it.
fn files(folder: &Path, before: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let name = format!("{before}{}", entry.file_name().display());
        match entry.path().is_dir() {
            true => files(&entry.path(), &format!("{name}/"), found),
            false => found.push(name),
        }
    }
}

#[test]
fn all_headers_are_given() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("host/include"), "", &mut found);
    let mut given: Vec<&str> = FILES.paths().to_vec();
    found.sort();
    given.sort_unstable();
    assert_eq!(found, given);
}
