//! The tools of MLIR and LLVM, unpacked from Debian's packages below `target/tools` without root, and the tests that compile bodies of cores and sequences with them.

use crate::cross::works;
use crate::deep::Outcome;
use crate::project::Project;
use crate::runners::{self, Tally};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages; what they need comes with them, the C library included, so that they run on other systems than Debian's.
const PACKAGES: [&str; 2] = ["mlir-22-tools", "llvm-22"];

/// Where they come from.
const SOURCE: &str = "deb http://deb.debian.org/debian trixie main\n";

/// What is to be had by it.
const SIZE: &str = "120 MB to load, 590 MB unpacked";

/// Kernels of the large run, which has all designs of the examples too.
const KERNELS: &str = "200";

/// The folder of the tools.
fn folder(project: &Project) -> PathBuf {
    project.root().join("target/tools/llvm-22")
}

/// Why bodies are not compiled, where they are not.
pub(crate) fn missing(project: &Project) -> Option<String> {
    let here = folder(project).join("root").is_dir();
    (!here).then(|| {
        format!("LLVM's tools are not below target/tools: `cargo xtask deep LLVM` unpacks them ({SIZE})")
    })
}

/// Unpacks the tools where they are not yet, and runs the tests.
pub(crate) fn test(project: &Project, tally: &mut Tally) -> Result<Outcome> {
    if missing(project).is_some() {
        if let Some(tool) = ["apt-get", "dpkg-deb"].into_iter().find(|tool| !works(tool)) {
            return Ok(Outcome::Skipped(format!("{tool} is missing, which unpacks LLVM's tools ({SIZE})")));
        }
        if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
            return Ok(Outcome::Skipped("LLVM's tools are unpacked for Linux on x86-64".to_owned()));
        }
        unpack(&folder(project))?;
    }
    let mut command =
        project.cargo(&["test", "--profile", "deep", "--package", "wsp-aie", "--test", "native"]);
    command.args(["--", "--nocapture"]).env("WSP_CASES", KERNELS);
    runners::counted(command, runners::result_line, tally, &mut std::io::stdout()).map(Outcome::Ran)
}

/// Loads the packages with an `apt-get` that knows no packages of this system, and unpacks them.
fn unpack(folder: &Path) -> Result<()> {
    let (apt, root) = (folder.join("apt"), folder.join("unpacked"));
    for below in ["lists/partial", "archives/partial"] {
        let path = apt.join(below);
        fs::create_dir_all(&path).with_context(|| format!("{} cannot be made", path.display()))?;
    }
    fs::write(apt.join("sources.list"), SOURCE)?;
    fs::write(apt.join("status"), "")?;
    let at = |option: &str, below: &str| format!("{option}={}", apt.join(below).display());
    let options = [
        at("Dir::State", ""),
        at("Dir::State::lists", "lists"),
        at("Dir::State::status", "status"),
        at("Dir::Cache", ""),
        at("Dir::Cache::archives", "archives"),
        at("Dir::Etc::sourcelist", "sources.list"),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        "APT::Architecture=amd64".to_owned(),
    ];
    let get = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        options.iter().for_each(|option| {
            command.arg("-o").arg(option);
        });
        succeeds(command.args(words))
    };
    get(&["-qq", "update"])?;
    get(&[&["-qq", "-y", "--no-install-recommends", "--download-only", "install"], PACKAGES.as_slice()]
        .concat())?;
    for entry in fs::read_dir(apt.join("archives"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            succeeds(Command::new("dpkg-deb").arg("-x").arg(path).arg(&root))?;
        }
    }
    fs::remove_dir_all(&apt)?;
    Ok(fs::rename(root, folder.join("root"))?)
}

fn succeeds(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be run"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
