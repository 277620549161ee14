//! `THIRD_PARTY.md`: packages of others that `wsp` and the Python package hold as compiled code, with their licences.
//!
//! `cargo xtask licences` writes it from `cargo metadata` and the files of the packages; `cargo xtask tidy` compares it. Dependencies of
//! tests and builds, and macros, which run while something is compiled, are in no program. The page of reports has a file of its own.

use crate::project::Project;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The file, relative to the project.
pub(crate) const FILE: &str = "THIRD_PARTY.md";

/// What others get: the command line and the extension module of the Python package.
const PROGRAMS: [&str; 2] = ["wsp-cli", "wsp-py"];

/// Machines that programs are made for.
const MACHINES: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Licences of what is bundled into the page of reports.
const PAGE: &str = "crates/wsp-report/page/dist/LICENCES.txt";

const HEAD: &str = "# Software of others

`wsp` and the Python package hold the packages below as compiled code, the standard library of Rust (MIT or Apache-2.0) and, where they are linked
statically, musl (MIT) and libunwind of LLVM (Apache-2.0 WITH LLVM-exception). `cargo xtask licences` writes this page.

| package | version | licence | from |
|---|---|---|---|
";

/// Writes the file anew.
pub(crate) fn write(project: &Project) -> Result<bool> {
    std::fs::write(project.root().join(FILE), text(project)?).context("the licences cannot be written")?;
    Ok(true)
}

/// Why the file is not what it should be, if it is not.
///
/// # Errors
/// Cargo cannot tell of the packages.
pub(crate) fn fault(project: &Project) -> Result<Option<String>> {
    let found = std::fs::read_to_string(project.root().join(FILE)).unwrap_or_default();
    let is = found == text(project)?;
    Ok((!is).then(|| format!("{FILE}: is not what the packages say; `cargo xtask licences` writes it")))
}

/// What the file should say.
fn text(project: &Project) -> Result<String> {
    let machines = MACHINES.iter().flat_map(|machine| ["--filter-platform", machine]);
    let metadata = project.metadata(&machines.collect::<Vec<_>>())?;
    let mut text = HEAD.to_owned();
    let (mut texts, mut silent) = (BTreeMap::<String, Vec<&str>>::new(), BTreeSet::new());
    for package in held(&metadata)? {
        let word = |name: &str| package[name].as_str().unwrap_or("-");
        let cells = [word("name"), word("version"), word("license"), word("repository")];
        writeln!(text, "| {} |", cells.join(" | "))?;
        let licences = licences(&Path::new(word("manifest_path")).with_file_name(""))?;
        if licences.is_empty() {
            silent.insert(word("name"));
        }
        for licence in licences {
            let names = texts.entry(licence).or_default();
            // Of two versions the text is most often one.
            if names.last() != Some(&word("name")) {
                names.push(word("name"));
            }
        }
    }
    let silent: Vec<&str> = silent.into_iter().collect();
    writeln!(text, "\nPackages without a text of their own: {}.", silent.join(", "))?;
    let mut texts: Vec<(String, Vec<&str>)> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (licence, names) in texts {
        write!(text, "\n## {}\n\n```text\n{licence}\n```\n", names.join(", "))?;
    }
    let page = std::fs::read_to_string(project.root().join(PAGE)).with_context(|| PAGE)?;
    write!(text, "\n## The page of reports\n\n```text\n{}\n```\n", page.trim())?;
    Ok(text)
}

/// Packages of others that programs hold, by name and version.
fn held(metadata: &Value) -> Result<Vec<&Value>> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = metadata["packages"].as_array().context("cargo metadata should list packages")?;
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let mut nodes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let linked = list(&node["deps"]).into_iter().filter(is_linked);
        let ids = linked.filter_map(|dep| dep["pkg"].as_str().map(str::to_owned)).collect();
        nodes.insert(node["id"].as_str().unwrap_or_default(), ids);
    }
    let is_program =
        |package: &&Value| package["source"].is_null() && PROGRAMS.iter().any(|p| package["name"] == *p);
    let mut open: Vec<&str> = packages.iter().filter(is_program).filter_map(|p| p["id"].as_str()).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if by_id.get(id).is_some_and(|package| !is_macro(package)) && seen.insert(id) {
            open.extend(nodes.get(id).into_iter().flatten().map(String::as_str));
        }
    }
    let mut held: Vec<&Value> = seen.iter().filter_map(|id| by_id.get(id).copied()).collect();
    held.retain(|package| !package["source"].is_null());
    held.sort_by_key(|package| (package["name"].to_string(), package["version"].to_string()));
    ensure!(!held.is_empty(), "no package is held: {} have no dependencies", PROGRAMS.join(", "));
    Ok(held)
}

/// Whether a dependency is one of the code, and none of tests or of a build script alone.
fn is_linked(dependency: &Value) -> bool {
    dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

/// Whether a package is a macro, which the compiler runs.
fn is_macro(package: &Value) -> bool {
    let kinds = package["targets"].as_array().into_iter().flatten();
    kinds.flat_map(|target| target["kind"].as_array().into_iter().flatten()).any(|kind| kind == "proc-macro")
}

/// The licences that a package is used under: of several at choice the MIT one; all files of the package where none is that.
fn licences(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING"].iter().any(|word| name.starts_with(word));
        if is_licence && entry.file_type()?.is_file() {
            let lines = std::fs::read_to_string(entry.path())?;
            let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
            found.push((name, lines.join("\n").trim_matches('\n').to_owned()));
        }
    }
    found.sort();
    let mit: Vec<String> =
        found.iter().filter(|(name, _)| name.contains("MIT")).map(|(_, text)| text.clone()).collect();
    Ok(if mit.is_empty() { found.into_iter().map(|(_, text)| text).collect() } else { mit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_programs_hold_are_dependencies_of_dependencies_and_no_macros_or_tools() {
        let package = |name: &str, kind: &str, source: Option<&str>| json!({ "id": name, "name": name, "version": "1", "source": source, "targets": [{ "kind": [kind] }] });
        let dep = |name: &str, kind: Option<&str>| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("wsp-cli", "bin", None),
                package("wsp-core", "lib", None),
                package("held", "lib", Some("registry")),
                package("deeper", "lib", Some("registry")),
                package("macro", "proc-macro", Some("registry")),
                package("of-the-macro", "lib", Some("registry")),
                package("of-tests", "lib", Some("registry")),
                package("of-builds", "lib", Some("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "wsp-cli", "deps": [dep("wsp-core", None), dep("of-tests", Some("dev"))] },
                { "id": "wsp-core", "deps": [dep("held", None), dep("of-builds", Some("build"))] },
                { "id": "held", "deps": [dep("deeper", None), dep("macro", None)] },
                { "id": "macro", "deps": [dep("of-the-macro", None)] },
            ] },
        });
        let held = held(&metadata).expect("packages are held");
        let names: Vec<&str> = held.iter().filter_map(|package| package["name"].as_str()).collect();
        assert_eq!(names, ["deeper", "held"]);
        assert!(super::held(&json!({ "packages": [], "resolve": null })).is_err());
    }
}
