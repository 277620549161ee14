//! The development profile of the workspace's crates, beside crates of others as the release profile has them.

use crate::project::Project;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::path::PathBuf;

/// What the development profile of cargo says of a crate, where the project's says nothing.
const DEVELOPMENT: [(&str, &str); 5] = [
    ("opt-level", "0"),
    ("codegen-units", "16"),
    ("debug-assertions", "true"),
    ("overflow-checks", "true"),
    ("strip", "false"),
];

/// Writes a configuration of cargo with which the release profile compiles crates of the workspace as the development profile does.
pub(super) fn write(project: &Project) -> Result<PathBuf> {
    let manifest = project.root().join("Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).context("Cargo.toml cannot be read")?;
    let names = project.crates()?.into_iter().map(|(name, _)| name);
    let path = project.target().join("tests.toml");
    let text = text(&manifest, names)?;
    std::fs::create_dir_all(project.target())
        .and_then(|()| std::fs::write(&path, text))
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path)
}

/// The configuration for crates of these names.
fn text(manifest: &str, names: impl Iterator<Item = String>) -> Result<String> {
    for line in manifest.lines().filter(|line| line.contains("profile.dev.package")) {
        let name = line.strip_prefix("[profile.dev.package.").and_then(|rest| rest.strip_suffix(']'));
        let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        ensure!(
            name.is_some_and(|name| plain(name) || name == "\"*\""),
            "`{line}` of Cargo.toml is not read: write `[profile.dev.package.NAME]`, alone in its line"
        );
    }
    let mut text = String::new();
    for name in names {
        let own = of_crate(manifest, &name);
        for (key, _) in &own {
            ensure!(
                DEVELOPMENT.iter().any(|(known, _)| known == key),
                "[profile.dev.package.{name}] of Cargo.toml has `{key}`, which tests would be compiled without: add what cargo takes where it is \
                 not set to `DEVELOPMENT` in xtask/src/compile/profile.rs"
            );
        }
        let value = |key: &str| own.iter().find(|(own, _)| *own == key).map(|(_, value)| *value);
        let _ = writeln!(text, "[profile.release.package.{name}]");
        for (key, usual) in DEVELOPMENT {
            let _ = writeln!(text, "{key} = {}", value(key).unwrap_or(usual));
        }
    }
    Ok(text)
}

/// Keys and values of `[profile.dev.package.NAME]`.
fn of_crate<'m>(manifest: &'m str, name: &str) -> Vec<(&'m str, &'m str)> {
    let header = format!("[profile.dev.package.{name}]");
    let section = manifest.lines().skip_while(|line| *line != header).skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_compiled_as_the_development_profile_says() {
        let manifest = "[profile.dev.package.a]\nopt-level = 1\n# Why.\ndebug-assertions = false\n\n\
                        [profile.release.package.b]\nopt-level = \"z\"\n";
        let of = |name: &str| text(manifest, [name.to_owned()].into_iter()).unwrap();
        let wanted = |level: u8, assertions: bool| {
            format!(
                "opt-level = {level}\ncodegen-units = 16\ndebug-assertions = {assertions}\noverflow-checks = true\n\
                 strip = false\n"
            )
        };
        assert_eq!(of("a"), format!("[profile.release.package.a]\n{}", wanted(1, false)));
        assert_eq!(of("b"), format!("[profile.release.package.b]\n{}", wanted(0, true)));
    }

    #[test]
    fn headers_that_are_not_read_are_refused() {
        for line in [
            "[profile.dev.package.\"a\"]",
            "[profile.dev.package.a] # Why.",
            "profile.dev.package.a.opt-level = 1",
        ] {
            assert!(text(line, ["a".to_owned()].into_iter()).is_err(), "{line}");
        }
    }

    #[test]
    fn a_key_that_tests_would_be_compiled_without_is_refused() {
        let manifest = "[profile.dev.package.a]\nopt-level = 1\nincremental=false\n";
        let error = text(manifest, ["a".to_owned()].into_iter()).unwrap_err().to_string();
        assert!(error.starts_with("[profile.dev.package.a] of Cargo.toml has `incremental`"), "{error}");
    }
}
