//! Whether every crate that is published builds from its package alone.

use super::Outcome;
use crate::project::Project;
use anyhow::{Context, Result};
use serde_json::Value;

/// Makes the packages of all crates that may be published, and builds each from what it holds.
///
/// # Errors
/// The crates cannot be listed, or cargo cannot be started.
pub(super) fn test(project: &Project) -> Result<Outcome> {
    let listed = project.packages()?;
    let published: Vec<&str> =
        listed.iter().filter(|package| is_published(package)).filter_map(name).collect();
    let mut command = project.cargo(&["package", "--locked", "--allow-dirty"]);
    command.args(published.iter().flat_map(|name| ["--package", name]));
    let status = command.status().context("cargo package")?;
    println!("{} packages: {}", published.len(), published.join(", "));
    Ok(Outcome::Ran(status.success()))
}

/// One of ours, of which the list of registries is not empty.
fn is_published(package: &Value) -> bool {
    package["source"].is_null()
        && package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

fn name(package: &Value) -> Option<&str> {
    package["name"].as_str()
}
