//! A package for Ascend as its page says that it is built: by cmake, in an empty folder, without `wsp`.

use crate::deep::Outcome;
use crate::project::Project;
use crate::python::Environment;
use crate::runners::{self, Tally};
use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release of cmake that is installed where there is none.
const RELEASE: &str = "cmake==4.4.5";

/// Makes the inputs, runs the three lines of the page, and compares what they write with a softmax of numpy.
const SCRIPT: &str = r#"
import os, subprocess, sys, tempfile
import numpy as np
cmake, package = sys.argv[1:]
os.chdir(tempfile.mkdtemp(dir=os.path.dirname(package)))
x = np.random.default_rng(1).standard_normal((70, 256)).astype(np.float32)
np.savez("x.npz", x=x)
for line in (
    [cmake, "-S", package, "-B", package + "/b", "-DPTO_HOST=ON"],
    [cmake, "--build", package + "/b"],
    [package + "/b/run", "--inputs", "x.npz", "--outputs", "y.npz"],
):
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
(y,) = np.load("y.npz").values()
e = np.exp(x - x.max(1, keepdims=True), dtype=np.float64)
error = np.abs(y - e / e.sum(1, keepdims=True)).max()
assert error <= 1e-6, error
print(f"largest error {error:.1e}")
"#;

/// Builds and runs a package; skipped where there is no cmake and none can be had.
pub(crate) fn test(
    project: &Project,
    environment: &Environment,
    tally: &mut Tally,
    output: &mut dyn Write,
) -> Result<Outcome> {
    let Some(cmake) = found(project, environment)? else {
        return Ok(Outcome::Skipped(format!(
            "cmake is missing, and {RELEASE} cannot be installed without a network"
        )));
    };
    let folder = project.target().join("tmp").join("cmake");
    // What an earlier run left is in the way.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let package = folder.join("F");
    let mut emit = Command::new(project.program());
    emit.current_dir(project.root()).args(["emit", "examples/row_softmax.pto", "--target", "ascend_910b"]);
    emit.args(["--set", "cols=256", "--generate", "cols=256", "-o"]).arg(&package).stdout(Stdio::null());
    let mut script = environment.python(project, &["-c", SCRIPT]);
    script.arg(&cmake).arg(&package);
    let passed = runners::shown(emit, output)? && runners::shown(script, output)?;
    tally.passed += u64::from(passed);
    Ok(Outcome::Ran(passed))
}

/// The cmake of `PATH`, or else that of the environment, where it is installed if it is not there.
fn found(project: &Project, environment: &Environment) -> Result<Option<PathBuf>> {
    let runs = |path: &Path| {
        let mut command = Command::new(path);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let own = environment.tool("cmake");
    if let Some(found) = [PathBuf::from("cmake"), own.clone()].into_iter().find(|path| runs(path)) {
        return Ok(Some(found));
    }
    let mut pip = environment.python(project, &["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", RELEASE]);
    let installed = pip.stdin(Stdio::null()).status().context("pip cannot be run")?.success();
    Ok(Some(own).filter(|own| installed && runs(own)))
}
