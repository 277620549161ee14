//! The steps of each command, with headings and times.

use crate::cross;
use crate::deep::{self, Outcome};
use crate::project::Project;
use crate::python;
use crate::readme;
use crate::runners::{self, Tally};
use crate::tidy;
use anyhow::{Context, Result};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What the steps of a command yielded.
#[derive(Default)]
struct Run {
    tally: Tally,
    failed: Vec<String>,
    /// Names of steps that looked at nothing, and why.
    skipped: Vec<(String, String)>,
}

impl Run {
    /// Runs one step under a heading. A step that cannot be run counts as failed, with the reason.
    fn step(&mut self, name: &str, work: impl FnOnce(&mut Tally) -> Result<bool>) {
        self.step_or_skip(name, |tally| work(tally).map(Outcome::Ran));
    }

    /// Runs one step that may have to be skipped.
    fn step_or_skip(&mut self, name: &str, work: impl FnOnce(&mut Tally) -> Result<Outcome>) {
        println!("\n==> {name}");
        let start = Instant::now();
        let failed_before = self.tally.failed;
        let outcome = work(&mut self.tally);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(error) = &outcome {
            println!("error: {error:#}");
        }
        match outcome {
            Ok(Outcome::Ran(true)) => return println!("    {name}: ok, {seconds:.1} s"),
            Ok(Outcome::Skipped(why)) => {
                println!("    {name}: SKIPPED: {why}");
                return self.skipped.push((name.to_owned(), why));
            }
            Ok(Outcome::Ran(false)) | Err(_) => {}
        }
        println!("    {name}: FAILED, {seconds:.1} s");
        self.failed.push(name.to_owned());
        if self.tally.failed == failed_before {
            self.tally.failed += 1;
        }
    }

    /// Prints what failed and the counts; whether all went well.
    fn finish(self) -> bool {
        println!();
        for name in &self.failed {
            println!("failed: {name}");
        }
        for (name, why) in &self.skipped {
            println!("skipped: {name}: {why}");
        }
        if !self.skipped.is_empty() {
            println!("{} steps were skipped: nothing is known of what they check", self.skipped.len());
        }
        println!("{} passed, {} failed", self.tally.passed, self.tally.failed);
        self.failed.is_empty() && self.tally.failed == 0
    }
}

/// A step that ran beside others, with what it printed and how long it took.
struct Beside {
    outcome: Result<bool>,
    output: Vec<u8>,
    tally: Tally,
    seconds: f64,
}

impl Beside {
    fn run(work: impl FnOnce(&mut Tally, &mut dyn Write) -> Result<bool>) -> Beside {
        let start = Instant::now();
        let (mut tally, mut output) = (Tally::default(), Vec::new());
        let outcome = work(&mut tally, &mut output);
        Beside { outcome, output, tally, seconds: start.elapsed().as_secs_f64() }
    }

    /// Prints what was printed, and adds the tests.
    fn show(self, tally: &mut Tally) -> Result<bool> {
        std::io::stdout().write_all(&self.output)?;
        println!("    (beside the steps above, {:.1} s)", self.seconds);
        tally.passed += self.tally.passed;
        tally.failed += self.tally.failed;
        self.outcome
    }
}

/// `cargo xtask test`
pub(crate) fn test(project: &Project) -> Result<bool> {
    let mut run = Run::default();
    run.step("format", |_| format_check(project));
    run.step("clippy", |_| clippy(project));
    run.step("tidy", |_| tidy_check(project));
    run.step("tests", |tally| runners::all(project, tally));
    // Loom runs on one thread and builds in a folder of its own, so the other core does what is left.
    std::thread::scope(|scope| {
        let models = scope.spawn(|| Beside::run(|tally, output| runners::models(project, tally, output)));
        run.step("README command", |_| readme_command(project));
        run.step("Python package", |tally| python::test(project, tally));
        match models.join() {
            Ok(models) => run.step("loom models", |tally| models.show(tally)),
            Err(_) => run.step("loom models", |_| anyhow::bail!("the thread that ran them panicked")),
        }
    });
    Ok(run.finish())
}

/// `cargo xtask deep`: the steps whose names contain one of the filters; all without filters. Of steps that all had to be
/// skipped nothing is known, so the command fails.
pub(crate) fn deep(project: &Project, filters: &[&str]) -> Result<bool> {
    let steps = deep::steps(filters)?;
    let mut run = Run::default();
    for step in &steps {
        run.step_or_skip(&step.name, |tally| step.run(project, tally));
    }
    let any = run.skipped.len() < steps.len();
    Ok(run.finish() && any)
}

/// `cargo xtask python`
pub(crate) fn python(project: &Project) -> Result<bool> {
    let mut run = Run::default();
    run.step("Python package", |tally| python::test(project, tally));
    Ok(run.finish())
}

/// `cargo xtask cross`
pub(crate) fn cross(project: &Project) -> Result<bool> {
    let mut run = Run::default();
    run.step("AArch64", |tally| cross::test(project, tally));
    Ok(run.finish())
}

/// `cargo xtask tidy`
pub(crate) fn tidy(project: &Project) -> Result<bool> {
    tidy_check(project)
}

/// `cargo xtask bless`
pub(crate) fn bless(project: &Project) -> Result<bool> {
    let mut command = project.cargo(&["test", "--workspace", "--no-fail-fast"]);
    let tested = succeeds(command.env("UPDATE_EXPECT", "1"))?;
    Ok(succeeds(&mut project.cargo(&["fmt", "--all"]))? && tested)
}

fn format_check(project: &Project) -> Result<bool> {
    need(project, &["fmt", "--version"], "rustfmt")?;
    succeeds(&mut project.cargo(&["fmt", "--all", "--check"]))
}

fn clippy(project: &Project) -> Result<bool> {
    need(project, &["clippy", "--version"], "clippy")?;
    let mut clean = true;
    // Libraries by themselves are without the features that the programs of the workspace ask for.
    for what in [&["--workspace", "--all-targets"][..], &["--package", "pto-wsp"]] {
        let mut command = project.cargo(&["clippy", "--quiet"]);
        command.args(what).args(["--", "-D", "warnings"]);
        clean &= succeeds(&mut command)?;
    }
    Ok(clean)
}

fn tidy_check(project: &Project) -> Result<bool> {
    let found = tidy::check(project)?;
    for fault in &found.faults {
        println!("{fault}");
    }
    for line in &found.summary {
        println!("{line}");
    }
    Ok(found.faults.is_empty())
}

fn readme_command(project: &Project) -> Result<bool> {
    let path = project.root().join("README.md");
    let text = std::fs::read_to_string(path).context("README.md cannot be read")?;
    let line = readme::first_run(&text).context("README.md shows no `cargo run …` in a `sh` block")?;
    println!("$ {line}");
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    succeeds(&mut project.cargo(&arguments))
}

/// Runs a command with the terminal's output; whether it succeeded.
fn succeeds(command: &mut Command) -> Result<bool> {
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("{command:?} cannot be run"))?;
    Ok(status.success())
}

/// Reports a component of the toolchain that is missing.
fn need(project: &Project, arguments: &[&str], component: &str) -> Result<()> {
    let output = project.cargo(arguments).output().context("cargo cannot be run")?;
    anyhow::ensure!(
        output.status.success(),
        "{component} is missing; get it with `rustup component add {component}`"
    );
    Ok(())
}
