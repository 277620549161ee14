//! Where the project is and how to run its tools.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The project.
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// The project that this program was built from.
    pub(crate) fn find() -> Result<Project> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().context("the machinery should lie in a folder of the project")?;
        Ok(Project { root: root.to_owned() })
    }

    /// The project in this folder.
    pub(crate) fn at(root: &Path) -> Project {
        Project { root: root.to_owned() }
    }

    /// The folder that holds `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo puts what it makes.
    pub(crate) fn target(&self) -> PathBuf {
        // Relative to where cargo runs.
        self.root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
    }

    /// Where the README's command puts `wsp`.
    pub(crate) fn program(&self) -> PathBuf {
        self.target().join("release").join(format!("wsp{}", std::env::consts::EXE_SUFFIX))
    }

    /// The crates of the workspace with their folders, by name.
    pub(crate) fn crates(&self) -> Result<Vec<(String, PathBuf)>> {
        Project::crates_among(&self.packages()?)
    }

    /// The crates of the workspace among packages, with their folders, by name.
    pub(crate) fn crates_among(packages: &[Value]) -> Result<Vec<(String, PathBuf)>> {
        let ours = packages.iter().filter(|package| package["source"].is_null());
        let mut crates = ours
            .map(|package| {
                let name = package["name"].as_str().context("a package should have a name")?;
                let manifest =
                    package["manifest_path"].as_str().context("a package should have a manifest")?;
                Ok((name.to_owned(), Path::new(manifest).with_file_name("")))
            })
            .collect::<Result<Vec<_>>>()?;
        crates.sort();
        Ok(crates)
    }

    /// What cargo knows of all packages. Fails when `Cargo.lock` does not fit the manifests.
    pub(crate) fn packages(&self) -> Result<Vec<Value>> {
        let metadata = self.metadata(&[])?;
        Ok(metadata["packages"].as_array().context("cargo metadata should list packages")?.clone())
    }

    /// What cargo tells of the workspace, with more options. Fails when `Cargo.lock` does not fit the manifests.
    pub(crate) fn metadata(&self, options: &[&str]) -> Result<Value> {
        let output = self.cargo(&["metadata", "--format-version", "1", "--locked"]).args(options).output()?;
        if !output.status.success() {
            bail!("cargo metadata --locked: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A cargo command, run at the root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.root);
        command
    }
}

/// The files of a folder and of those below it that `enters` holds for, of these what `keeps` holds for, sorted. Links are not
/// followed.
pub(crate) fn files(
    root: &Path,
    enters: impl Fn(&Path) -> bool,
    keeps: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() && enters(&path) {
                folders.push(path);
            } else if kind.is_file() && keeps(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
