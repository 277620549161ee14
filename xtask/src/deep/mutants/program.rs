//! Test programs of the copy.

use super::copy::Copy;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A test program runs in this much memory, in KiB: a mutant may ask for any.
const MEMORY: u64 = 16 << 20;
/// How long to wait before looking again whether a program has ended.
const LOOK: Duration = Duration::from_millis(2);

/// A program with tests of a package.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Program {
    /// The folder of its package.
    folder: PathBuf,
    path: PathBuf,
}

/// What a compilation yields.
pub(super) enum Built {
    Programs(Vec<Program>),
    /// The errors: all that the compiler finds before it gives up.
    Faults(Vec<Fault>),
}

/// An error of the compiler.
pub(super) struct Fault {
    /// Files and lines that it is about.
    pub(super) places: Vec<(String, usize)>,
    /// Whether it says that bodies of one function differ in their types: each may be right alone, where the function hides its type.
    pub(super) is_of_switch: bool,
    pub(super) text: String,
}

/// Compiles the tests of packages.
pub(super) fn build(copy: &Copy, packages: &[&str]) -> Result<Built> {
    let mut command = copy.cargo(&["test", "--lib", "--tests", "--no-run", "--message-format", "json"]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    let output = command.stdin(Stdio::null()).output().context("cargo cannot be run")?;
    let messages = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{"));
    let messages = messages.map(serde_json::from_slice).collect::<Result<Vec<Value>, _>>()?;
    if output.status.success() {
        return Ok(Built::Programs(messages.iter().filter_map(program).collect()));
    }
    let faults: Vec<Fault> = messages.iter().filter_map(fault).collect();
    ensure!(!faults.is_empty(), "cargo: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Built::Faults(faults))
}

/// The test program that a message of cargo is about.
fn program(message: &Value) -> Option<Program> {
    let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(Program { folder: folder.to_owned(), path: PathBuf::from(path) })
}

/// The error that a message of cargo is about.
fn fault(message: &Value) -> Option<Fault> {
    let message = &message["message"];
    let spans = message["spans"].as_array().filter(|_| message["level"] == "error")?;
    let place = |span: &Value| {
        Some((span["file_name"].as_str()?.to_owned(), usize::try_from(span["line_start"].as_u64()?).ok()?))
    };
    let primary = spans.iter().filter(|span| span["is_primary"] == true);
    Some(Fault {
        places: primary.filter_map(place).collect(),
        is_of_switch: message["message"] == "`if` and `else` have incompatible types",
        text: message["rendered"].as_str().unwrap_or_default().to_owned(),
    })
}

impl Program {
    /// Whether it has the same tests: one that is built in other company may have another number in its name.
    pub(super) fn is(&self, other: &Program) -> bool {
        self.folder == other.folder && self.name() == other.name()
    }

    /// The name without that number.
    fn name(&self) -> Option<&str> {
        Some(self.path.file_name()?.to_str()?.rsplit_once('-')?.0)
    }

    pub(super) fn is_of(&self, package: &str) -> bool {
        self.folder.ends_with(package)
    }

    /// The names of its tests.
    pub(super) fn tests(&self) -> Result<Vec<String>> {
        let output = self.command(&["--list", "--format", "terse"]).stdin(Stdio::null()).output()?;
        let text = String::from_utf8(output.stdout).context("names of tests should be UTF-8")?;
        ensure!(output.status.success(), "{} lists no tests", self.path.display());
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs one test with a variable of the environment; its status, none when it does not end in time.
    pub(super) fn run(
        &self,
        test: &str,
        (name, value): (&str, &OsStr),
        limit: Duration,
    ) -> Result<Option<ExitStatus>> {
        let mut command = self.command(&["--exact", test]);
        run(command.env(name, value), limit)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"")]).arg(&self.path);
        command.args(arguments).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Runs a command without output until it ends or the time is over.
fn run(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    // A group of its own, so that what it started ends with it.
    let command = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?} cannot be run"))?;
    while start.elapsed() <= limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(LOOK);
    }
    kill(&child)?;
    child.wait()?;
    Ok(None)
}

fn kill(child: &Child) -> Result<()> {
    let group = i32::try_from(child.id()).context("a process should have a small number")?;
    killpg(Pid::from_raw(group), Signal::SIGKILL).context("the tests cannot be stopped")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_ends_with_its_status_or_at_its_limit() -> Result<()> {
        let script = |text: &str, limit| run(Command::new("sh").args(["-c", text]), limit);
        let long = Duration::from_secs(600);
        assert!(script("exit 0", long)?.is_some_and(|status| status.success()));
        assert!(script("exit 3", long)?.is_some_and(|status| status.code() == Some(3)));
        assert_eq!(script("sleep 900 & wait", Duration::ZERO)?, None);
        Ok(())
    }

    #[test]
    fn messages_of_cargo_are_test_programs_and_errors() {
        let message = json!({
            "manifest_path": "/p/crates/a/Cargo.toml", "executable": "/t/a-12", "profile": {"test": true},
        });
        let found = program(&message);
        assert_eq!(found, Some(Program { folder: "/p/crates/a".into(), path: "/t/a-12".into() }));
        assert!(found.is_some_and(|program| program.is_of("a") && !program.is_of("crates")));
        let named = |path: &str| Program { folder: "/p/crates/a".into(), path: path.into() };
        assert!(named("/t/a-12").is(&named("/t/a-34")) && !named("/t/a-12").is(&named("/t/b-12")));
        assert_eq!(program(&json!({"executable": "/t/a", "profile": {"test": false}})), None);
        let span =
            |line, is_primary| json!({"file_name": "a.rs", "line_start": line, "is_primary": is_primary});
        let message = |level| json!({"message": {"level": level, "spans": [span(3, false), span(7, true)]}});
        assert!(fault(&message("warning")).is_none());
        let found = fault(&message("error"));
        assert!(found.is_some_and(|found| found.places == [("a.rs".to_owned(), 7)] && !found.is_of_switch));
    }
}
