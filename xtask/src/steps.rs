//! The steps of each command, with headings and times.

use crate::cmake;
use crate::compile::{self, Tests};
use crate::cross;
use crate::deep::{self, Outcome};
use crate::dist;
use crate::llvm;
use crate::page;
use crate::project::Project;
use crate::python::{self, Environment};
use crate::readme;
use crate::runners::{self, Tally};
use crate::tidy;
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

/// What the steps of a command yielded.
struct Run<W> {
    /// Where headings and what steps print go.
    output: W,
    tally: Tally,
    failed: Vec<String>,
    /// Names of steps that looked at nothing, and why.
    skipped: Vec<(String, String)>,
}

impl<W: Write> Run<W> {
    fn new(output: W) -> Run<W> {
        Run { output, tally: Tally::default(), failed: Vec::new(), skipped: Vec::new() }
    }

    /// Runs one step under a heading. A step that cannot be run counts as failed, with the reason.
    fn step(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Tally, &mut dyn Write) -> Result<bool>,
    ) -> Result<()> {
        self.step_or_skip(name, |tally, output| work(tally, output).map(Outcome::Ran))
    }

    /// Runs one step that may have to be skipped.
    fn step_or_skip(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Tally, &mut dyn Write) -> Result<Outcome>,
    ) -> Result<()> {
        writeln!(self.output, "\n==> {name}")?;
        let start = Instant::now();
        let failed_before = self.tally.failed;
        let outcome = work(&mut self.tally, &mut self.output);
        let seconds = start.elapsed().as_secs_f64();
        let how = match outcome {
            Ok(Outcome::Ran(true)) => format!("ok, {seconds:.1} s"),
            Ok(Outcome::Skipped(why)) => {
                self.skipped.push((name.to_owned(), why.clone()));
                format!("SKIPPED: {why}")
            }
            not => {
                if let Err(error) = not {
                    writeln!(self.output, "error: {error:#}")?;
                }
                self.failed.push(name.to_owned());
                self.tally.failed += u64::from(self.tally.failed == failed_before);
                format!("FAILED, {seconds:.1} s")
            }
        };
        Ok(writeln!(self.output, "    {name}: {how}")?)
    }

    /// Adds what another run yielded.
    fn add<V>(&mut self, other: Run<V>) {
        self.tally.passed += other.tally.passed;
        self.tally.failed += other.tally.failed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// Prints what failed and the counts; whether all went well.
    fn finish(mut self) -> Result<bool> {
        let output = &mut self.output;
        writeln!(output)?;
        for name in &self.failed {
            writeln!(output, "failed: {name}")?;
        }
        for (name, why) in &self.skipped {
            writeln!(output, "skipped: {name}: {why}")?;
        }
        if !self.skipped.is_empty() {
            let count = self.skipped.len();
            writeln!(output, "{count} steps were skipped: nothing is known of what they check")?;
        }
        writeln!(output, "{} passed, {} failed", self.tally.passed, self.tally.failed)?;
        Ok(self.failed.is_empty() && self.tally.failed == 0)
    }
}

impl Run<Vec<u8>> {
    /// Shows what was printed: of steps that run beside others, each when it has ended.
    fn show(&mut self) -> Result<()> {
        Ok(std::io::stdout().write_all(&std::mem::take(&mut self.output))?)
    }
}

/// `cargo xtask test`
pub(crate) fn test(project: &Project) -> Result<bool> {
    let mut run = Run::new(std::io::stdout());
    // The steps of each thread wait for one test or one crate at times: side by side they use the cores that there are.
    let environment = std::thread::scope(|scope| {
        let texts = scope.spawn(|| of_texts(project));
        run.step("README command", |_, output| readme_command(project, output))?;
        let texts =
            texts.join().map_err(|_| anyhow::anyhow!("the thread that reads what is written panicked"));
        let (mut texts, environment) = texts??;
        // Not before: its lines would stand among those of the README's command, which are shown as it goes.
        texts.show()?;
        run.add(texts);
        anyhow::Ok(environment)
    })?;
    std::thread::scope(|scope| {
        let (compiled, wanted) = mpsc::channel();
        let users = scope.spawn(|| as_users_build(project, environment, wanted));
        let mut tests = Vec::new();
        run.step("lints", |_, output| {
            let clean;
            (clean, tests) = compile::all(project, output)?;
            Ok(clean)
        })?;
        // The other thread ends without them only where it could not write.
        let _ = compiled.send(tests.clone());
        run.step("tests", |tally, output| runners::libraries(project, &tests, tally, output))?;
        run.step_or_skip("bodies of cores by LLVM", |tally, output| match llvm::missing(project) {
            Some(why) => Ok(Outcome::Skipped(why)),
            None => runners::bodies(project, &tests, tally, output).map(Outcome::Ran),
        })?;
        let users =
            users.join().map_err(|_| anyhow::anyhow!("the thread that tests what users build panicked"));
        run.add(users??);
        anyhow::Ok(())
    })?;
    run.finish()
}

/// The steps that need nothing of what is built; then the environment of the Python package, or what kept it from being made, which that step reports.
fn of_texts(project: &Project) -> Result<(Run<Vec<u8>>, Result<Environment>)> {
    let mut run = Run::new(Vec::new());
    run.step("format", |_, output| format_check(project, output))?;
    run.step("tidy", |_, output| tidy_check(project, output))?;
    run.step_or_skip("page of reports", |tally, output| page::test(project, tally, output))?;
    let environment = Environment::prepare(project, &mut run.output);
    Ok((run, environment))
}

/// The steps that take what users build, and the models; the tests of the program come by the channel when they are compiled.
fn as_users_build(
    project: &Project,
    environment: Result<Environment>,
    tests: mpsc::Receiver<Vec<Tests>>,
) -> Result<Run<Vec<u8>>> {
    let mut run = Run::new(Vec::new());
    of_environment(&mut run, project, environment)?;
    run.show()?;
    run.step("tests of the program", |tally, output| {
        runners::program(project, &tests.recv().unwrap_or_default(), tally, output)
    })?;
    run.show()?;
    // The steps of this thread end before those of the libraries.
    run.step("loom models", |tally, output| runners::models(project, tally, output))?;
    run.show()?;
    Ok(run)
}

/// The steps that need the environment of the Python package. Where there is none both fail, the first with the reason.
fn of_environment(run: &mut Run<Vec<u8>>, project: &Project, environment: Result<Environment>) -> Result<()> {
    let (environment, fault) =
        environment.map_or_else(|fault| (None, Some(fault)), |made| (Some(made), None));
    run.step("Python package", |tally, output| match (&environment, fault) {
        (Some(environment), _) => python::test(project, environment, tally, output),
        (None, fault) => Err(fault.context("a failure should have its reason")?),
    })?;
    run.show()?;
    run.step_or_skip("package by cmake", |tally, output| match &environment {
        Some(environment) => cmake::test(project, environment, tally, output),
        None => bail!("there is no environment, as the step of the Python package says"),
    })
}

/// `cargo xtask deep`: the steps whose names contain one of the filters; all without filters. Of steps that all had to be
/// skipped nothing is known, so the command fails.
pub(crate) fn deep(project: &Project, filters: &[&str]) -> Result<bool> {
    let steps = deep::steps(filters)?;
    let mut run = Run::new(std::io::stdout());
    for step in &steps {
        run.step_or_skip(&step.name, |tally, _| step.run(project, tally))?;
    }
    let any = run.skipped.len() < steps.len();
    Ok(run.finish()? && any)
}

/// `cargo xtask dist`: the steps whose names contain one of the filters; all without filters. The command fails when all had to be skipped.
pub(crate) fn dist(project: &Project, filters: &[&str]) -> Result<bool> {
    let steps = dist::steps(filters)?;
    let mut run = Run::new(std::io::stdout());
    for step in &steps {
        run.step_or_skip(&step.name, |_, _| step.run(project))?;
    }
    let any = run.skipped.len() < steps.len();
    Ok(run.finish()? && any)
}

/// `cargo xtask python`
pub(crate) fn python(project: &Project) -> Result<bool> {
    let mut run = Run::new(std::io::stdout());
    run.step("Python package", |tally, output| {
        let environment = Environment::prepare(project, output)?;
        python::test(project, &environment, tally, output)
    })?;
    run.finish()
}

/// `cargo xtask cross`
pub(crate) fn cross(project: &Project) -> Result<bool> {
    let mut run = Run::new(std::io::stdout());
    run.step("AArch64", |tally, _| cross::test(project, tally))?;
    run.finish()
}

/// `cargo xtask tidy`
pub(crate) fn tidy(project: &Project) -> Result<bool> {
    tidy_check(project, &mut std::io::stdout())
}

/// `cargo xtask bless`
pub(crate) fn bless(project: &Project) -> Result<bool> {
    let mut command = project.cargo(&["test", "--workspace", "--no-fail-fast"]);
    let tested = succeeds(command.env("UPDATE_EXPECT", "1"))?;
    Ok(succeeds(&mut project.cargo(&["fmt", "--all"]))? && tested)
}

fn format_check(project: &Project, output: &mut dyn Write) -> Result<bool> {
    need(project, &["fmt", "--version"], "rustfmt")?;
    runners::shown(project.cargo(&["fmt", "--all", "--check"]), output)
}

fn tidy_check(project: &Project, output: &mut dyn Write) -> Result<bool> {
    let found = tidy::check(project)?;
    for line in found.faults.iter().chain(&found.summary) {
        writeln!(output, "{line}")?;
    }
    Ok(found.faults.is_empty())
}

fn readme_command(project: &Project, output: &mut dyn Write) -> Result<bool> {
    let path = project.root().join("README.md");
    let text = std::fs::read_to_string(path).context("README.md cannot be read")?;
    let line = readme::first_run(&text).context("README.md shows no `cargo run …` in a `sh` block")?;
    // Where the command fails, or builds in another folder, no earlier program takes the place of this one in tests.
    match std::fs::remove_file(project.program()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} cannot be removed", project.program().display()));
        }
        _ => {}
    }
    writeln!(output, "$ {line}")?;
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    runners::shown(project.cargo(&arguments), output)
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
