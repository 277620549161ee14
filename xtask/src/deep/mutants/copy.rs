//! A copy of the project in which mutants are made: the user's files stay as they are.

use super::mutant::Mutant;
use super::program::Fault;
use super::switches::{Blamed, Numbered, Switched};
use crate::project::{Project, files};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate that says which mutant is on.
const SWITCH: [(&str, &str); 2] = [
    ("crates/wsp-switch/src/lib.rs", include_str!("switch.rs")),
    ("crates/wsp-switch/Cargo.toml", "[package]\nname = \"wsp-switch\"\nedition = \"2024\"\n"),
];
/// How a package gets that crate.
const SWITCHED: &str = "\n[dependencies.wsp-switch]\npath = \"../wsp-switch\"\n";

/// The copy. It stays where it is, so that a later run compiles what has changed only.
pub(super) struct Copy {
    root: PathBuf,
    /// Where the project's own builds are: dependencies need no others.
    target: PathBuf,
    /// The project's files, by their names.
    files: BTreeMap<PathBuf, Vec<u8>>,
    switched: BTreeMap<String, Switched>,
}

impl Copy {
    /// Copies the project, whose packages of these names get switches.
    pub(super) fn new(project: &Project, packages: &BTreeSet<&str>) -> Result<Copy> {
        let mut files = known(project.root())?;
        for package in packages {
            let manifest = PathBuf::from(format!("crates/{package}/Cargo.toml"));
            let text =
                files.get_mut(&manifest).with_context(|| format!("{} is missing", manifest.display()))?;
            text.extend(SWITCHED.as_bytes());
        }
        files.extend(SWITCH.map(|(name, text)| (PathBuf::from(name), text.into())));
        let target = project.target();
        let copy = Copy { root: target.join("mutants"), target, files, switched: BTreeMap::new() };
        copy.remove_others()?;
        copy.files.iter().try_for_each(|(name, contents)| copy.write(name, contents))?;
        Ok(copy)
    }

    /// Makes these mutants, each behind a switch, and no others.
    pub(super) fn switch(&mut self, mutants: &[Numbered]) -> Result<()> {
        let mut by_file: BTreeMap<&str, Vec<Numbered>> = BTreeMap::new();
        for (number, mutant) in mutants {
            by_file.entry(&mutant.file).or_default().push((*number, mutant));
        }
        for name in self.switched.keys().filter(|name| !by_file.contains_key(name.as_str())) {
            self.write(Path::new(name), self.source(name)?.as_bytes())?;
        }
        self.switched.clear();
        for (name, mutants) in by_file {
            let switched = Switched::new(self.source(name)?, &mutants)?;
            self.write(Path::new(name), switched.text.as_bytes())?;
            self.switched.insert(name.to_owned(), switched);
        }
        Ok(())
    }

    /// Makes this mutant and no other.
    pub(super) fn change(&mut self, mutant: &Mutant) -> Result<()> {
        self.switch(&[])?;
        let changed = mutant.applied(self.source(&mutant.file)?)?;
        self.write(Path::new(&mutant.file), changed.as_bytes())?;
        // The next change writes the file again.
        self.switched.insert(mutant.file.clone(), Switched::default());
        Ok(())
    }

    /// What an error of the compiler is of.
    pub(super) fn blamed<'a>(&'a self, fault: &'a Fault) -> impl Iterator<Item = Blamed<'a>> {
        fault.places.iter().filter_map(|(file, line)| {
            let switched = self.switched.get(file)?;
            if fault.is_of_switch { switched.function(*line) } else { switched.blamed(*line) }
        })
    }

    /// A cargo command, run in the copy.
    pub(super) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Project::at(&self.root).cargo(arguments);
        command.env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// A file beside the copy.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.target.join(name)
    }

    fn source(&self, name: &str) -> Result<&str> {
        let contents = self.files.get(Path::new(name)).with_context(|| format!("{name} is missing"))?;
        std::str::from_utf8(contents).with_context(|| format!("{name} is no text"))
    }

    /// Writes a file when its contents differ: cargo goes by the time when it was written.
    fn write(&self, name: &Path, contents: &[u8]) -> Result<()> {
        let path = self.root.join(name);
        if std::fs::read(&path).is_ok_and(|there| there == contents) {
            return Ok(());
        }
        let folder = path.parent().context("a file should lie in a folder")?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, contents))
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Removes files of a former copy that are not in this one: cargo would compile them as tests.
    fn remove_others(&self) -> Result<()> {
        std::fs::create_dir_all(&self.root)?;
        for path in files(&self.root, |_| true, |_| true)? {
            if !self.files.contains_key(path.strip_prefix(&self.root)?) {
                std::fs::remove_file(&path)
                    .with_context(|| format!("{} cannot be removed", path.display()))?;
            }
        }
        Ok(())
    }
}

/// The files below a folder that git knows or would add, with their contents.
fn known(root: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = command.output().context("git cannot be run")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("names of files should be UTF-8")?;
    let names = names.split_terminator('\0').map(PathBuf::from);
    // What is deleted and not yet committed is a name without a file.
    Ok(names
        .filter_map(|name| Some((std::fs::read(root.join(&name)).ok()?, name)))
        .map(|(c, n)| (n, c))
        .collect())
}
