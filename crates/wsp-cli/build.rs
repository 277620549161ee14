//! Asks the linker for what makes `wsp` smaller, where it can: `--icf=all` of lld makes one of functions whose code is the same, 0.2 to 0.5 MB;
//! `-z pack-relative-relocs` writes addresses that the loader moves as bits, 0.8 MB. Which linker and which loader there are depends on target
//! and settings, so an empty program is linked and run to find out; one for another machine is left as it is.

#![allow(clippy::disallowed_methods, reason = "cargo tells a build script by the environment what it builds")]

use std::env::{var, var_os};
use std::path::Path;
use std::process::Command;

/// Options of the linker. Nothing here compares addresses of functions.
const OPTIONS: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if var("PROFILE").as_deref() != Ok("release") || var("TARGET") != var("HOST") {
        return;
    }
    for option in OPTIONS {
        if runs(option).unwrap_or(false) {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
}

/// Whether a program that is linked with the option runs; none where that cannot be tried.
fn runs(option: &str) -> Option<bool> {
    let folder = var_os("OUT_DIR")?;
    std::fs::write(Path::new(&folder).join("empty.rs"), "fn main() {}").ok()?;
    let mut rustc = Command::new(var_os("RUSTC")?);
    rustc.current_dir(&folder).args(["empty.rs", "-o", "empty", "--target", &var("TARGET").ok()?]);
    rustc.args(["-C", &format!("link-arg={option}")]);
    if let Ok(linker) = var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    let linked = rustc.output().ok()?.status.success();
    Some(linked && Command::new(Path::new(&folder).join("empty")).status().ok()?.success())
}
