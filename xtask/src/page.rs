//! The page of `wsp report`: bundled from TypeScript with packages of npm, whose versions are locked, and tested in Node.
//!
//! What is bundled is committed, so that `cargo build` needs no npm. Packages are installed below `target`.

use crate::deep::Outcome;
use crate::project::{Project, files};
use crate::runners::{self, Tally};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The page's folder, relative to the project.
pub(crate) const FOLDER: &str = "crates/wsp-report/page";

/// What stands in the folder beside what is bundled and its tests.
const SOURCES: [&str; 5] = ["package.json", "package-lock.json", "tsconfig.json", "build.mjs", "src"];

/// Bundles the page anew; whether that could be done.
pub(crate) fn bundle(project: &Project) -> Result<bool> {
    if let Some(missing) = missing(&["node", "npm"]) {
        bail!("{missing}");
    }
    let made = made(project)?;
    let dist = project.root().join(FOLDER).join("dist");
    std::fs::create_dir_all(&dist)?;
    for (name, bytes) in made {
        std::fs::write(dist.join(&name), bytes).with_context(|| format!("{name} cannot be written"))?;
    }
    Ok(true)
}

/// What differs between the bundle that is committed and one that is made now; or why none could be made.
pub(crate) fn check(project: &Project) -> Result<std::result::Result<Vec<String>, String>> {
    if !project.root().join(FOLDER).is_dir() {
        return Ok(Ok(Vec::new()));
    }
    if let Some(missing) = missing(&["node", "npm"]) {
        return Ok(Err(missing));
    }
    let made = match made(project) {
        Ok(made) => made,
        Err(error) if error.is::<NoPackages>() => return Ok(Err(error.to_string())),
        Err(error) => return Err(error),
    };
    let mut faults = Vec::new();
    for (name, bytes) in made {
        // What is compressed depends on the version of zlib; a test holds it to what is not.
        if name.ends_with(".z") {
            continue;
        }
        let path = format!("{FOLDER}/dist/{name}");
        if std::fs::read(project.root().join(&path)).ok().as_deref() != Some(bytes.as_slice()) {
            faults.push(format!("{path}: is not what its sources give; `cargo xtask report` bundles them"));
        }
    }
    Ok(Ok(faults))
}

/// The tests of what needs no page, in Node's own runner.
pub(crate) fn test(project: &Project, tally: &mut Tally, output: &mut dyn Write) -> Result<Outcome> {
    if let Some(missing) = missing(&["node"]) {
        return Ok(Outcome::Skipped(missing));
    }
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=tap", "test/"]).current_dir(project.root().join(FOLDER));
    Ok(Outcome::Ran(runners::counted(command, count, tally, output)?))
}

/// The counts of the last lines of Node's runner, `# pass 3` and `# fail 1`.
pub(crate) fn count(line: &str) -> Option<Tally> {
    let number = |name: &str| line.strip_prefix(name)?.trim().parse().ok();
    let passed = number("# pass ").map(|passed| Tally { passed, failed: 0 });
    passed.or_else(|| number("# fail ").map(|failed| Tally { passed: 0, failed }))
}

/// Packages could not be installed.
#[derive(Debug)]
struct NoPackages;

impl std::fmt::Display for NoPackages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("`npm ci` could not install the packages of the page, which needs a network once")
    }
}

impl std::error::Error for NoPackages {}

/// Names and bytes of what is bundled.
fn made(project: &Project) -> Result<Vec<(String, Vec<u8>)>> {
    let work = prepared(project)?;
    let out = work.join("out");
    let status = Command::new("node")
        .args(["build.mjs", "out"])
        .current_dir(&work)
        .stdin(Stdio::null())
        .status()
        .context("node cannot be run")?;
    if !status.success() {
        bail!("the page could not be bundled");
    }
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, std::fs::read(&path)?))
    };
    files(&out, |_| true, |_| true)?.into_iter().map(read).collect()
}

/// A copy of the sources below `target`, with the packages that they need.
fn prepared(project: &Project) -> Result<PathBuf> {
    let (from, work) = (project.root().join(FOLDER), project.target().join("report"));
    std::fs::create_dir_all(&work)?;
    let _ = std::fs::remove_dir_all(work.join("out"));
    let _ = std::fs::remove_dir_all(work.join("src"));
    for source in SOURCES {
        copy(&from.join(source), &work.join(source))?;
    }
    let lock = std::fs::read(from.join("package-lock.json")).context("package-lock.json cannot be read")?;
    let stamp = work.join("installed.json");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(work);
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"]);
    let status =
        npm.current_dir(&work).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !status.context("npm cannot be run")?.success() {
        return Err(NoPackages.into());
    }
    std::fs::write(&stamp, lock)?;
    Ok(work)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    std::fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
    Ok(())
}

/// The first of these programs that is not there, as a reason.
pub(crate) fn missing(programs: &[&str]) -> Option<String> {
    let is_missing = |name: &&&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        !command.status().is_ok_and(|status| status.success())
    };
    programs.iter().find(is_missing).map(|name| format!("`{name}` is not installed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_node_are_counted() {
        assert_eq!(count("# pass 16"), Some(Tally { passed: 16, failed: 0 }));
        assert_eq!(count("# fail 2"), Some(Tally { passed: 0, failed: 2 }));
        for other in ["# tests 16", "ok 1 - # pass 3", "# pass many", ""] {
            assert_eq!(count(other), None, "{other}");
        }
    }
}
