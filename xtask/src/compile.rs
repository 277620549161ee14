//! Compiles all that the workspace has, with lints.
//!
//! Clippy's driver is the compiler with lints. In the compiler's place it lints what `cargo test` compiles, which `cargo clippy` would
//! read once more. What users build is never compiled so: their programs and the package of Python have
//! folders of the release profile, which this module has no part in.

mod profile;

use crate::project::Project;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is compiled: libraries, programs, tests and examples.
const ALL: [&str; 7] = ["build", "--keep-going", "--workspace", "--lib", "--bins", "--tests", "--examples"];

/// Libraries and the program without the features of ours: crates that have none are those of [`ALL`].
const PLAIN: [&str; 6] =
    ["build", "--keep-going", "--package=wsp-cli", "--no-default-features", "--lib", "--bins"];

/// A cargo command that makes or runs tests: its compiler lints crates of the workspace and compiles them as the development profile has it. Crates of others
/// are those of what users build, which are made once for both; programs lie in a folder of their own.
///
/// # Errors
/// When the toolchain has no Clippy, and when the profile cannot be read or written.
pub(crate) fn tests(project: &Project, arguments: &[&str]) -> Result<Command> {
    let driver = driver()?;
    ensure!(driver.is_file(), "clippy is missing; get it with `rustup component add clippy`");
    let mut command = project.cargo(arguments);
    let target = project.target();
    command.env("RUSTC_WORKSPACE_WRAPPER", driver);
    command.arg("--release").arg("--config").arg(profile::write(project)?);
    command.env("CARGO_BUILD_BUILD_DIR", &target).env("CARGO_TARGET_DIR", target.join("tests"));
    Ok(command)
}

/// Clippy's driver, beside the compiler.
fn driver() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().context("rustc cannot be run")?;
    ensure!(output.status.success(), "`rustc --print sysroot` failed");
    let root = String::from_utf8(output.stdout).context("`rustc --print sysroot` writes no text")?;
    Ok([root.trim_end(), "bin", &format!("clippy-driver{}", std::env::consts::EXE_SUFFIX)].iter().collect())
}

/// A program of tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tests {
    /// The package's folder, in which its tests run.
    pub(crate) folder: PathBuf,
    /// What is tested: the name of the library, of the program, or of a file or folder of tests.
    pub(crate) target: String,
    /// The program.
    pub(crate) program: PathBuf,
}

/// Compiles everything and shows each finding once; whether there was none, and the programs of tests that were made.
pub(crate) fn all(project: &Project, shown: &mut dyn Write) -> Result<(bool, Vec<Tests>)> {
    let (mut findings, mut tests) = (Findings::default(), Vec::new());
    let mut compiled = true;
    for arguments in [&ALL[..], &PLAIN] {
        let mut command = self::tests(project, arguments)?;
        let child = command.arg("--message-format=json").stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("{command:?} cannot be run"))?;
        let output = child.stdout.take().context("the output should be piped")?;
        for line in BufReader::new(output).lines() {
            let Ok(said) = serde_json::from_str(&line?) else { continue };
            findings.add(&said, shown)?;
            tests.extend(program(&said));
        }
        compiled &= child.wait()?.success();
    }
    writeln!(shown, "{} programs of tests, {} findings", tests.len(), findings.shown.len())?;
    Ok((compiled && findings.shown.is_empty(), tests))
}

/// The program of tests that a message of cargo is about.
fn program(said: &Value) -> Option<Tests> {
    if said["reason"] != "compiler-artifact" || said["profile"]["test"] != true {
        return None;
    }
    Some(Tests {
        folder: Path::new(said["manifest_path"].as_str()?).parent()?.to_owned(),
        target: said["target"]["name"].as_str()?.to_owned(),
        program: said["executable"].as_str()?.into(),
    })
}

/// What the compiler said.
#[derive(Default)]
struct Findings {
    /// The texts that were shown: a library and its tests have most in common.
    shown: BTreeSet<String>,
}

impl Findings {
    /// Shows the finding that a message of cargo is about, if it is new.
    fn add(&mut self, said: &Value, output: &mut dyn Write) -> Result<()> {
        let word = |name: &str| said["message"][name].as_str().unwrap_or_default();
        let finding = said["reason"] == "compiler-message"
            && ["warning", "error"].iter().any(|level| word("level").starts_with(level));
        // As in "2 warnings emitted".
        let is_count = word("message").starts_with(|c: char| c.is_ascii_digit())
            && word("message").ends_with(" emitted");
        if finding && !is_count && self.shown.insert(word("rendered").to_owned()) {
            output.write_all(word("rendered").as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of these messages.
    fn shown(messages: &[Value]) -> Result<String> {
        let (mut findings, mut output) = (Findings::default(), Vec::new());
        for said in messages {
            findings.add(said, &mut output)?;
        }
        Ok(String::from_utf8(output)?)
    }

    fn message(level: &str, text: &str) -> Value {
        let message =
            serde_json::json!({ "level": level, "message": text, "rendered": format!("{level}: {text}\n") });
        serde_json::json!({ "reason": "compiler-message", "message": message })
    }

    #[test]
    fn each_warning_and_error_is_shown_once() -> Result<()> {
        let warning = message("warning", "unused x");
        let lines = [
            warning.clone(),
            message("warning", "1 warning emitted"),
            warning,
            message("error: internal compiler error", "broken"),
            message("note", "by the way"),
            serde_json::json!({ "reason": "compiler-artifact", "message": null }),
        ];
        assert_eq!(shown(&lines)?, "warning: unused x\nerror: internal compiler error: broken\n");
        Ok(())
    }

    #[test]
    fn programs_of_tests_are_found_among_what_is_made() {
        let made = |test: bool, executable: Value| {
            serde_json::json!({
                "reason": "compiler-artifact", "manifest_path": "/p/crates/a/Cargo.toml",
                "target": { "name": "it" }, "profile": { "test": test }, "executable": executable
            })
        };
        let tests =
            Tests { folder: "/p/crates/a".into(), target: "it".to_owned(), program: "/p/it-1".into() };
        assert_eq!(program(&made(true, "/p/it-1".into())), Some(tests));
        assert_eq!(program(&made(false, "/p/it-1".into())), None);
        assert_eq!(program(&made(true, Value::Null)), None);
        assert_eq!(program(&message("warning", "x")), None);
    }
}
