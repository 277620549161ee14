//! The Python package: installed as users install it, into an environment of the project's own, and tested there.

use crate::project::Project;
use crate::runners::{self, Tally};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the tests need beside the package, relative to the project.
const REQUIREMENTS: &str = "python/requirements-test.txt";

/// What tests need that are skipped, with their reason, where it cannot be installed.
const OPTIONAL: &str = "python/requirements-optional.txt";

/// The same, without the packages that they ask for.
const ALONE: &str = "python/requirements-alone.txt";

/// Folders of Python files.
const PYTHON_FOLDERS: [&str; 4] = ["python", "examples/python", "benches/python", "benches/peers/decode"];

/// Programs that may be a Python; the first that is recent enough is taken.
const PYTHONS: [&str; 5] = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"];

/// Builds and installs the package, checks the form of its files and runs its tests; whether all went well.
pub(crate) fn test(
    project: &Project,
    environment: &Environment,
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<bool> {
    environment.install_package(project, output)?;
    let mut form = true;
    for check in [["check", "--quiet"], ["format", "--check"]] {
        let mut ruff = environment.python(project, &["-m", "ruff"]);
        ruff.args(check).args(PYTHON_FOLDERS);
        form &= runners::shown(ruff, output)?;
    }
    let mut pytest = environment.python(project, &["-m", "pytest"]);
    pytest.args(["-q", "-rs", "-p", "no:cacheprovider", "python/tests"]);
    Ok(runners::counted(pytest, runners::pytest_line, tally, output)? && form)
}

/// How many random programs [`random`] draws, how many arrays that do not fit, and five times how many programs of several stages.
const CASES: u32 = 100_000;

/// Files of tests that draw programs, arrays and batches.
const RANDOM: [&str; 3] = [
    "python/tests/test_random_programs.py",
    "python/tests/test_random_stages.py",
    "python/tests/test_serving.py",
];

/// Installs the package and runs its random tests with many cases; whether all passed.
pub(crate) fn random(project: &Project, tally: &mut Tally) -> Result<bool> {
    let output = &mut std::io::stdout();
    let environment = Environment::prepare(project, output)?;
    environment.install_package(project, output)?;
    let mut pytest = environment.python(project, &["-m", "pytest"]);
    pytest.args(["-q", "-rs", "-p", "no:cacheprovider", "--hypothesis-show-statistics"]).args(RANDOM);
    pytest.env("WSP_CASES", CASES.to_string()).env("WSP_DEEP", "1");
    runners::counted(pytest, runners::pytest_line, tally, output)
}

/// A virtual environment below `target`.
pub(crate) struct Environment {
    python: PathBuf,
}

impl Environment {
    /// The environment with everything that the tests need, made when it is not there.
    pub(crate) fn prepare(project: &Project, output: &mut dyn Write) -> Result<Environment> {
        let folder = project.target().join("python");
        let python = python_of(&folder);
        let read = |name: &str| {
            std::fs::read_to_string(project.root().join(name))
                .with_context(|| format!("{name} cannot be read"))
        };
        let (wanted, optional) = (read(REQUIREMENTS)?, read(OPTIONAL)? + &read(ALONE)?);
        let stamp = folder.join("installed.txt");
        let installed = std::fs::read_to_string(&stamp).unwrap_or_default();
        let environment = Environment { python };
        if installed == wanted.clone() + &optional {
            return Ok(environment);
        }
        if installed != wanted {
            Environment::make(project, &folder, output)?;
            std::fs::write(&stamp, &wanted).context("the environment cannot be written")?;
        }
        if environment.pip_installs(project, &["-r", OPTIONAL], output)?
            && environment.pip_installs(project, &["--no-deps", "-r", ALONE], output)?
        {
            std::fs::write(&stamp, wanted + &optional).context("the environment cannot be written")?;
        } else {
            writeln!(
                output,
                "not all packages of {OPTIONAL} and {ALONE} can be installed: tests that need them are skipped"
            )?;
        }
        Ok(environment)
    }

    /// Makes it anew, with what all tests need.
    fn make(project: &Project, folder: &Path, output: &mut dyn Write) -> Result<()> {
        let environment = Environment::empty(project, folder, output)?;
        if !environment.pip_installs(project, &["-r", REQUIREMENTS], output)? {
            bail!("the packages of {REQUIREMENTS} cannot be installed; they need the network once");
        }
        Ok(())
    }

    /// An environment of tools alone, made when it is not there; none where they cannot be installed.
    pub(crate) fn of_tools(
        project: &Project,
        folder: &Path,
        requirements: &str,
        output: &mut dyn Write,
    ) -> Result<Option<Environment>> {
        let wanted = std::fs::read_to_string(project.root().join(requirements))
            .with_context(|| requirements.to_owned())?;
        let stamp = folder.join("installed.txt");
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(Some(Environment { python: python_of(folder) }));
        }
        let environment = Environment::empty(project, folder, output)?;
        if !environment.pip_installs(project, &["-r", requirements], output)? {
            return Ok(None);
        }
        std::fs::write(&stamp, wanted).context("the environment cannot be written")?;
        Ok(Some(environment))
    }

    /// An environment with nothing in it.
    pub(crate) fn empty(project: &Project, folder: &Path, output: &mut dyn Write) -> Result<Environment> {
        let base = find_python()?;
        writeln!(output, "making {} with {base}", folder.display())?;
        let mut venv = Command::new(base);
        venv.args(["-m", "venv", "--clear"]).arg(folder).current_dir(project.root());
        if !runs(&mut venv, output)? {
            bail!(
                "{base} cannot make a virtual environment; Debian and Ubuntu have it in the package python3-venv"
            );
        }
        Ok(Environment { python: python_of(folder) })
    }

    /// Whether packages could be installed. Their modules are compiled when they are first imported: to compile all of them here takes ten processor
    /// seconds.
    pub(crate) fn pip_installs(
        &self,
        project: &Project,
        what: &[&str],
        output: &mut dyn Write,
    ) -> Result<bool> {
        let mut pip =
            self.python(project, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        runs(pip.arg("--no-compile").args(what), output)
    }

    /// Installs the package of this folder, with the build tool of the environment: no network.
    fn install_package(&self, project: &Project, output: &mut dyn Write) -> Result<()> {
        let mut pip =
            self.python(project, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.env("PATH", self.path()?).args(["--no-build-isolation", "--no-deps", "--force-reinstall", "."]);
        if !runs(&mut pip, output)? {
            bail!("`pip install .` failed");
        }
        Ok(())
    }

    /// Where programs are found by name: those of the environment first.
    fn path(&self) -> Result<OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tools = self.python.parent().map(Path::to_owned);
        Ok(std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)))?)
    }

    /// A program of the environment, run at the root; what it starts are programs of the environment.
    pub(crate) fn command(&self, project: &Project, name: &str) -> Result<Command> {
        let mut command = Command::new(self.tool(name));
        command.env("PATH", self.path()?).current_dir(project.root());
        Ok(command)
    }

    /// A program that a package of the environment has installed.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.python.with_file_name(name)
    }

    /// A command of the environment, run at the root.
    pub(crate) fn python(&self, project: &Project, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.python);
        command.args(arguments).current_dir(project.root());
        command
    }
}

/// The interpreter of an environment.
fn python_of(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// A Python from 3.10 on.
fn find_python() -> Result<&'static str> {
    let recent = "import sys; sys.exit(sys.version_info < (3, 10))";
    let works = |name: &&str| {
        let mut command = Command::new(name);
        command.args(["-c", recent]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    PYTHONS.into_iter().find(works).context(
        "Python 3.10 or later is missing; install it, for instance with `apt install python3 python3-venv`",
    )
}

/// Runs a command and writes what it said on either stream when it has ended, so that it stays with the step; whether it succeeded.
fn runs(command: &mut Command, output: &mut dyn Write) -> Result<bool> {
    let ended =
        command.stdin(Stdio::null()).output().with_context(|| format!("{command:?} cannot be run"))?;
    output.write_all(&ended.stdout)?;
    output.write_all(&ended.stderr)?;
    Ok(ended.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_of_a_command_go_to_the_output_of_its_step() {
        let (mut command, mut output) = (Command::new("sh"), Vec::new());
        let succeeded = runs(command.args(["-c", "echo out; echo err >&2; exit 1"]), &mut output);
        assert!(!succeeded.expect("the command can be run"));
        assert_eq!(output, b"out\nerr\n");
    }
}
