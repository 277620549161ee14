//! Runs tests on a mutant.

use super::mutant::Mutant;
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How a run of tests ended.
#[derive(PartialEq, Debug)]
pub(super) enum End {
    Passed,
    /// This test failed, or the run itself.
    Failed(String),
    TimedOut,
    /// The code does not compile.
    Unbuilt,
}

/// Tests of packages that pass on the code as it is.
pub(super) struct Tests<'a> {
    project: &'a Project,
    packages: &'a [&'a str],
    /// What a run may take.
    limit: Duration,
}

impl<'a> Tests<'a> {
    /// Builds and runs them without a mutant.
    pub(super) fn of(project: &'a Project, packages: &'a [&'a str]) -> Result<Tests<'a>> {
        let mut tests = Tests { project, packages, limit: Duration::from_hours(1) };
        ensure!(tests.build()?, "the tests of {packages:?} do not compile without a mutant");
        let start = Instant::now();
        let end = tests.run()?;
        ensure!(end == End::Passed, "the tests of {packages:?} do not pass without a mutant: {end:?}");
        // Enough for other work of the machine: a mutant that is slow is not one that hangs.
        tests.limit = start.elapsed() * 5 + Duration::from_secs(60);
        Ok(tests)
    }

    /// Runs them on a mutant.
    pub(super) fn meet(&self, mutant: &Mutant) -> Result<End> {
        let source = mutant.source()?;
        let _restored = Changed::new(mutant, source)?;
        if self.build()? { self.run() } else { Ok(End::Unbuilt) }
    }

    /// Whether they compile.
    fn build(&self) -> Result<bool> {
        let mut command = self.command();
        command.args(["--no-run", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.status().context("cargo cannot be run")?.success())
    }

    fn run(&self) -> Result<End> {
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        run(command, self.limit)
    }

    fn command(&self) -> Command {
        let mut command = self.project.cargo(&["test", "--lib", "--tests"]);
        command.args(self.packages.iter().flat_map(|package| ["--package", package])).stdin(Stdio::null());
        command
    }
}

/// Runs a test command until it ends, a test fails or the time is over.
fn run(mut command: Command, limit: Duration) -> Result<End> {
    // A group of its own, so that the test programs end with cargo.
    let mut child = command.process_group(0).spawn().context("cargo cannot be run")?;
    let output = child.stdout.take().context("the output should be piped")?;
    let (sender, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let failed = BufReader::new(output).lines().map_while(Result::ok).find_map(|line| failed_test(&line));
        // The receiver is gone only when the time is over.
        let _ = sender.send(failed);
    });
    let end = match lines.recv_timeout(limit) {
        Ok(Some(test)) => Some(End::Failed(test)),
        Ok(None) => None,
        Err(RecvTimeoutError::Timeout) => Some(End::TimedOut),
        Err(RecvTimeoutError::Disconnected) => Some(End::Failed("the end of its output".to_owned())),
    };
    if end.is_some() {
        kill(&child)?;
    }
    let status = child.wait().context("cargo should end")?;
    reader.join().ok().context("the output should be read")?;
    Ok(end.unwrap_or(if status.success() { End::Passed } else { End::Failed(status.to_string()) }))
}

/// Ends cargo and the test programs that it started.
fn kill(child: &Child) -> Result<()> {
    let group = i32::try_from(child.id()).context("a process should have a small number")?;
    killpg(Pid::from_raw(group), Signal::SIGKILL).context("the tests cannot be stopped")
}

/// The test that a line like `test a::b ... FAILED` names.
fn failed_test(line: &str) -> Option<String> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.to_owned())
}

/// A file with a change in it, which is undone at the end.
struct Changed<'a> {
    mutant: &'a Mutant,
    source: String,
}

impl Changed<'_> {
    fn new(mutant: &Mutant, source: String) -> Result<Changed<'_>> {
        let changed = mutant.applied(&source)?;
        let restored = Changed { mutant, source };
        std::fs::write(mutant.path(), changed)
            .with_context(|| format!("{} cannot be written", mutant.file))?;
        Ok(restored)
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(self.mutant.path(), &self.source) {
            eprintln!("error: {} keeps its mutant: {error}; `git restore` undoes it", self.mutant.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str, limit: Duration) -> Result<End> {
        let mut command = Command::new("sh");
        command.args(["-c", text]).stdout(Stdio::piped());
        run(command, limit)
    }

    #[test]
    fn a_run_ends_at_the_first_failure_and_at_its_limit() -> Result<()> {
        let long = Duration::from_secs(600);
        assert_eq!(script("echo 'test a ... ok'", long)?, End::Passed);
        assert_eq!(script("echo 'test a::b ... FAILED'; sleep 900", long)?, End::Failed("a::b".to_owned()));
        assert_eq!(script("exit 3", long)?, End::Failed("exit status: 3".to_owned()));
        assert_eq!(script("sleep 900 & wait", Duration::ZERO)?, End::TimedOut);
        Ok(())
    }
}
