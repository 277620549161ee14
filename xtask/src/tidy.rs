//! The project's own rules, in plain Rust.
//!
//! * every Rust and Python file says at its top what it is for;
//! * a crate uses only crates above it in the architecture's table ([`layers`]);
//! * only what users build has features that are on by default ([`features`]);
//! * tests of the parser have dependencies with the features that the command line's have ([`unified`]);
//! * every dependency has a licence of the allow list ([`licence`]);
//! * `THIRD_PARTY.md` has the packages of others that programs hold, with their licences ([`third_party`]);
//! * no file names a place of one machine ([`paths`]);
//! * no two crates have enums that say the same ([`twins`]);
//! * one crate has a lexer ([`lexers`]);
//! * the backend and the registry name a backend, of the command line and Python only files of a list ([`backends`]);
//! * at most three files compute integer operators, and one enum lists them ([`evaluators`]);
//! * the codes of all crates are joined in one place ([`catalogues`]);
//! * ends of ranges are computed from operators in one place ([`intervals`]);
//! * hang reports, failures of runs, ready queues and task loops become fewer ([`engines`]);
//! * few files of a crate use each other in cycles ([`cycles`]);
//! * memory of tasks is shared by one type ([`shared`]), and held by three ([`memory`]);
//! * what is compiled once for each instruction set has no closures ([`vectors`]);
//! * every machine model is one that a test simulates or costs with ([`models`]);
//! * every row of the conformance pages that holds, in full or in part, has a test ([`conformance`]);
//! * the page of reports is what its sources give, where npm is there ([`page`]);
//! * pages that say how to add something name files and tests that exist ([`howto`]);
//! * `Cargo.lock` is there and fits the manifests.

mod backends;
mod catalogues;
mod conformance;
mod engines;
mod evaluators;
mod features;
mod howto;
mod intervals;
mod layers;
mod lexers;
mod licence;
mod memory;
mod models;
mod paths;
mod shared;
mod twins;
mod unified;
mod vectors;

use crate::cycles;
use crate::page;
use crate::project::{Project, files};
use crate::third_party;
use anyhow::Result;
use std::path::Path;

/// Folders that hold no source of the project.
const SKIPPED: [&str; 3] = ["target", ".git", ".venv"];

/// Files that are looked at for paths, by extension.
const TEXT: [&str; 13] =
    ["rs", "py", "pyi", "toml", "md", "pto", "wsp", "tg", "json", "yml", "yaml", "sh", "lock"];

/// Where functions are generic over the instruction set.
const KERNELS: &str = "crates/wsp-simd/src";

/// What was found.
pub(crate) struct Findings {
    /// What breaks a rule, a line each, in a stable order.
    pub(crate) faults: Vec<String>,
    /// How many rows of the conformance pages hold, and how many are not examined; which types hold memory of tasks; which files use one
    /// backend.
    pub(crate) summary: Vec<String>,
}

/// Checks every rule.
pub(crate) fn check(project: &Project) -> Result<Findings> {
    let mut faults = Vec::new();
    let mut conformance = conformance::Conformance::default();
    let mut twins = twins::Twins::default();
    let mut evaluators = evaluators::Evaluators::default();
    let mut catalogues = catalogues::Catalogues::default();
    let mut intervals = intervals::Intervals::default();
    let mut engines = engines::Engines::default();
    let mut lexers = lexers::Lexers::default();
    let mut backends = backends::Backends::default();
    let mut shared = shared::Shared::default();
    let mut memory = memory::Memory::default();
    let mut howto = howto::HowTo::default();
    let mut models = models::Models::default();
    let mut vectors = false;
    for path in files(project.root(), is_own, is_text)? {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = path.strip_prefix(project.root()).unwrap_or(&path).display().to_string();
        models.file(&name, &text);
        match path.extension().and_then(|e| e.to_str()) {
            Some("md") if name.starts_with(conformance::FOLDER) => conformance.page(&name, &text),
            Some("md") if name.starts_with(howto::FOLDER) => howto.page(&name, &text),
            Some("rs" | "py") => {
                conformance.source(&name, &text);
                howto.source(&text);
            }
            _ => {}
        }
        if name.ends_with(".rs") {
            twins.source(&name, &text);
            evaluators.source(&name, &text);
            catalogues.source(&name, &text);
            intervals.source(&name, &text);
            engines.source(&name, &text);
            lexers.source(&name, &text);
            backends.source(&name, &text);
            shared.source(&name, &text);
            memory.source(&name, &text);
        }
        let opening = match path.extension().and_then(|e| e.to_str()) {
            Some("rs") => Some("//!"),
            Some("py" | "pyi") => Some("\"\"\""),
            _ => None,
        };
        if let Some(opening) = opening.filter(|opening| !has_header(&text, opening)) {
            faults.push(format!("{name}:1: begins without `{opening}` docs that say what the file is for"));
        }
        faults.extend(
            paths::find(&text)
                .into_iter()
                .map(|(line, found)| format!("{name}:{line}: names a place of one machine, `{found}…`")),
        );
        if name.starts_with(KERNELS) {
            vectors |= vectors::applies(&text);
            let used = vectors::find(&text).into_iter();
            faults.extend(used.map(|(line, what)| {
                format!(
                    "{name}:{line}: {what} in a file with functions for any instruction set; write a loop"
                )
            }));
        }
    }
    if !vectors {
        faults
            .push(format!("{KERNELS}: no file has functions `<S: Simd>`, so the rule of closures sees none"));
    }
    faults.extend(conformance.faults());
    faults.extend(howto.faults(project.root()));
    faults.extend(twins.faults());
    faults.extend(evaluators.faults());
    faults.extend(catalogues.faults());
    faults.extend(intervals.faults());
    faults.extend(engines.faults());
    faults.extend(lexers.faults());
    faults.extend(backends.faults());
    faults.extend(shared.faults());
    faults.extend(memory.faults());
    faults.extend(models.faults());
    let mut summary = vec![conformance.summary(), memory.summary(), backends.summary()];
    match page::check(project)? {
        Ok(found) => faults.extend(found),
        Err(why) => {
            summary.push(format!("skipped: whether the page of reports is what its sources give: {why}"))
        }
    }
    if !project.root().join("Cargo.lock").is_file() {
        faults.push("Cargo.lock is missing; `cargo generate-lockfile` makes it".to_owned());
        return Ok(Findings { faults, summary });
    }
    let packages = project.packages()?;
    faults.extend(cycles::faults(&Project::crates_among(&packages)?)?);
    faults.extend(features::check(&packages));
    faults.extend(layers::check(&packages));
    faults.extend(licence::check(&packages));
    // A workspace without programs holds nothing of others and shares nothing with them.
    if packages.iter().any(|package| package["name"] == "wsp-cli") {
        faults.extend(third_party::fault(project)?);
        faults.extend(unified::check(project)?);
    }
    Ok(Findings { faults, summary })
}

/// Whether the first line with text begins so; above a Python file's there may be the line that names its interpreter.
fn has_header(text: &str, opening: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("#!/"));
    lines.next().is_some_and(|line| line.starts_with(opening))
}

/// Whether a folder may hold files of the project: a virtual environment of Python has another's, whatever its name.
fn is_own(folder: &Path) -> bool {
    let skipped = |name| SKIPPED.iter().any(|skipped| name == *skipped);
    !folder.file_name().is_some_and(skipped) && !folder.join("pyvenv.cfg").is_file()
}

/// Whether a file is text that is looked at.
fn is_text(file: &Path) -> bool {
    file.extension().and_then(|e| e.to_str()).is_none_or(|e| TEXT.contains(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_the_first_line_with_text() {
        let rust = |text: &str| has_header(text, "//!");
        assert!(rust("//! What it is for.\n"));
        assert!(rust("\n//! What it is for.\n"));
        assert!(!rust("use std::fs;\n//! Too late.\n"));
        assert!(!rust("/// Not of the file.\nfn f() {}\n"));
        assert!(!rust(""));
        assert!(has_header("#!/usr/bin/env python3\n\"\"\"What it is for.\"\"\"\n", "\"\"\""));
        assert!(!has_header("# What it is for.\nimport os\n", "\"\"\""));
    }

    #[test]
    fn files_in_cycles_are_among_what_is_checked() {
        let root = std::env::temp_dir().join(format!("wsp-tidy-{}", std::process::id()));
        std::fs::create_dir_all(root.join("src")).expect("a folder is made");
        let package = "[package]\nname = \"ring\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
        let lock = "version = 4\n\n[[package]]\nname = \"ring\"\nversion = \"0.0.0\"\n";
        let write =
            |name: &str, text: &str| std::fs::write(root.join(name), text).expect("a file is written");
        write("Cargo.toml", package);
        write("Cargo.lock", lock);
        write("src/lib.rs", "//! Files each of which uses the next one.\n");
        for at in 0..9 {
            write(&format!("src/f{at}.rs"), &format!("//! One.\nuse crate::f{};\n", (at + 1) % 9));
        }
        let found = check(&Project::at(&root));
        std::fs::remove_dir_all(&root).expect("the folder is removed");
        let faults = found.expect("the project is read").faults;
        let told = |text: &str| faults.iter().any(|fault| fault.contains(text));
        assert!(told("9 files of ring use each other in cycles, at most 8 may"), "{faults:#?}");
        assert!(told("there is no crate `wsp-kernel` any more"), "{faults:#?}");
    }
}
