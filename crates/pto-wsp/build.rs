//! Says what this build is made of, for what is kept by one build and read by no other ([`cache`](../src/cache/mod.rs)): the compiler, its
//! settings, the versions of libraries and the text of every crate of the project. Folders and times do not matter.

#![allow(clippy::disallowed_methods, reason = "the environment and files say what a build script builds")]

use std::env::{var, var_os};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings of the compiler, as Cargo tells them.
const SETTINGS: [&str; 6] =
    ["TARGET", "PROFILE", "OPT_LEVEL", "DEBUG", "CARGO_CFG_TARGET_FEATURE", "CARGO_ENCODED_RUSTFLAGS"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = DefaultHasher::new();
    let rustc = var_os("RUSTC").and_then(|rustc| Command::new(rustc).arg("-vV").output().ok());
    hash.write(&rustc.map(|told| told.stdout).unwrap_or_default());
    for name in SETTINGS {
        hash.write(var(name).unwrap_or_default().as_bytes());
        hash.write_u8(0);
    }
    let here = PathBuf::from(var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    // A crate from a registry stands alone: its version, which the program adds, says what it is made of.
    if let Some(crates) = here.parent().filter(|folder| folder.join("wsp-kernel").is_dir()) {
        let mut sources = vec![crates.join("../Cargo.lock"), crates.join("../Cargo.toml")];
        for folder in listed(crates) {
            let sources_at = folder.join("src");
            println!("cargo::rerun-if-changed={}", sources_at.display());
            find(&sources_at, &mut sources);
        }
        for source in sources.iter().filter(|source| source.is_file()) {
            println!("cargo::rerun-if-changed={}", source.display());
            let name = source.strip_prefix(crates).unwrap_or(source);
            hash.write(name.to_string_lossy().as_bytes());
            hash.write_u8(0);
            hash.write(&std::fs::read(source).unwrap_or_default());
        }
    }
    println!("cargo::rustc-env=WSP_BUILD={:016x}", hash.finish());
}

/// What a folder has, in the order of names.
fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The files of a folder and of those within.
fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in listed(folder) {
        match path.is_dir() {
            true => find(&path, found),
            false => found.push(path),
        }
    }
}
