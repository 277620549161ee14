//! A design as files.
//!
//! | file | what it is |
//! |---|---|
//! | `design.mlir` | the design, with operations of `aie` and `aiex` in their generic spelling |
//! | `manifest.json` | what it was made from, and the arrays of its sequences |

use super::text;
use crate::lower::Lowered;
use std::fmt::Write as _;
use wsp_backend::{ContentKey, Emitted, MANIFEST, Package, signed};
use wsp_diag::{Diagnostics, Severity};
use wsp_plan::Target;

/// The form of packages.
const VERSION: u32 = 1;
/// The file of the design.
pub(super) const DESIGN: &str = "design.mlir";

/// # Errors
/// What the checker finds in the text.
pub(super) fn emit(lowered: &Lowered, target: &Target) -> Result<Emitted, Diagnostics> {
    let text = text::text(lowered);
    let (_, found) = text::checked_text(lowered, &text)?;
    let mut package = Package::default();
    let manifest = manifest(lowered, target, &text);
    package.files.push((DESIGN.into(), text.into_bytes()));
    package.files.push((MANIFEST.into(), manifest.into_bytes()));
    let notes = found.into_iter().filter(|found| found.severity != Severity::Error).collect();
    Ok(Emitted { package, notes })
}

fn manifest(lowered: &Lowered, target: &Target, text: &str) -> String {
    let mut out = String::from("{\n");
    let _ = writeln!(out, "  \"package\": {VERSION},");
    let _ = writeln!(out, "  \"target\": \"{}\",", target.name);
    let _ = writeln!(out, "  \"device\": \"{}\",", lowered.design.device.name);
    let _ = writeln!(out, "  \"made_by\": \"pto-wsp {}\",", env!("CARGO_PKG_VERSION"));
    if lowered.launches.iter().any(|launch| launch.range.is_some()) {
        out += "  \"spelling\": \"2026_09\",\n";
    }
    let _ = writeln!(out, "  \"sequences\": [");
    for (at, launch) in lowered.launches.iter().enumerate() {
        let _ = writeln!(out, "    {{\"name\": \"{}\", \"arrays\": [", launch.sequence);
        for (at, array) in launch.arrays.iter().enumerate() {
            let comma = if at + 1 < launch.arrays.len() { "," } else { "" };
            let _ = writeln!(
                out,
                "      {{\"name\": \"{}\", \"type\": \"{}\", \"shape\": {:?}, \"read\": {}, \"written\": {}}}{comma}",
                array.name,
                array.dtype.name(),
                array.shape,
                array.read,
                array.written
            );
        }
        let range = launch.range.as_ref().map_or_else(String::new, |range| {
            format!(
                ", \"length\": {{\"name\": \"{}\", \"from\": {}, \"to\": {}}}",
                range.name, range.from, range.to
            )
        });
        let _ = writeln!(out, "    ]{range}}}{}", if at + 1 < lowered.launches.len() { "," } else { "" });
    }
    let _ = writeln!(out, "  ],\n  \"files\": {{");
    let _ = writeln!(out, "    \"{DESIGN}\": \"{}\"\n  }},", ContentKey::of(text.as_bytes()));
    signed(out)
}
