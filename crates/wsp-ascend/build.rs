//! Packs the headers that travel with emitted files: a program that has `wsp-ascend` in it holds them compressed, in a fifth of their size.

#![allow(clippy::disallowed_methods, reason = "the environment and files say what a build script packs")]

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::BTreeMap;
use std::env::var_os;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Folders with headers: one is included by its path within a folder.
const FOLDERS: [&str; 4] = ["include", "host/include", "host/src", "../wsp-device/include"];

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let here = PathBuf::from(var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut headers = BTreeMap::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        find(&here.join(folder), "", &mut headers)?;
    }
    let mut all = String::new();
    for (path, text) in &headers {
        all += &format!("{path}\0{text}\0");
    }
    // The length first: what unpacks it takes memory once.
    let mut packed = ZlibEncoder::new((all.len() as u64).to_le_bytes().to_vec(), Compression::best());
    packed.write_all(all.as_bytes())?;
    let to = PathBuf::from(var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(to.join("headers.z"), packed.finish()?)
}

/// Files below a folder, by their paths in it.
fn find(folder: &Path, before: &str, found: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            find(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.insert(name, std::fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}
