//! Where the project is and how to run its tools.

use anyhow::{Context, Result};
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

    /// The folder that holds `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A cargo command, run at the root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.root);
        command
    }
}
