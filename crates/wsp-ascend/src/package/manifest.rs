//! What a package was made from, as JSON.

use super::number;
use crate::orchestration::{name_of_tensor, quoted};
use std::fmt::Write as _;
use wsp_backend::Package;
use wsp_core::{DType, TensorId};
use wsp_ir::{Const, Module};
use wsp_plan::Target;

/// The form of packages.
const VERSION: u32 = 1;

/// `manifest.json`.
pub(super) fn text(
    module: &Module,
    target: &Target,
    params: &[Option<Const>],
    elems: &[Option<DType>],
    package: &Package,
) -> String {
    let mut out = String::from("{\n");
    let entry = module.entry.as_ref().map_or("", |entry| entry.name.as_str());
    let _ = writeln!(out, "  \"package\": {VERSION},");
    let _ = writeln!(out, "  \"program\": {},", quoted(entry));
    let _ = writeln!(out, "  \"target\": {},", quoted(target.name));
    let _ = writeln!(out, "  \"made_by\": \"pto-wsp {}\",", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(out, "  \"for\": {{\"pto_isa\": \"1.0\", \"cann\": \"8.0\"}},");
    let set = module.params.iter().zip(params);
    let set: Vec<String> = set
        .filter_map(|(param, value)| Some(format!("{}: {}", quoted(&param.name), number((*value)?))))
        .collect();
    let _ = writeln!(out, "  \"parameters\": {{{}}},", set.join(", "));
    let elements = (0..module.tensors.len()).filter_map(|at| {
        let name = name_of_tensor(module, TensorId(at as u32))?;
        Some(format!("{}: {}", quoted(&name), quoted((*elems.get(at)?)?.name())))
    });
    let _ = writeln!(out, "  \"elements\": {{{}}},", elements.collect::<Vec<_>>().join(", "));
    let _ = writeln!(out, "  \"files\": {{");
    let mut key = Key::default();
    for (at, (path, bytes)) in package.files.iter().enumerate() {
        let mut own = Key::default();
        own.add(bytes);
        let path = path.display().to_string();
        key.add(path.as_bytes());
        key.add(&own.0.to_le_bytes());
        let comma = if at + 1 < package.files.len() { "," } else { "" };
        let _ = writeln!(out, "    {}: \"{:016x}\"{comma}", quoted(&path), own.0);
    }
    let _ = writeln!(out, "  }},\n  \"key\": \"{:016x}\"\n}}", key.0);
    out
}

/// The content key of a package: its last lines.
pub(super) fn key(package: &Package) -> String {
    let mut key = Key::default();
    for (path, bytes) in &package.files {
        key.add(path.display().to_string().as_bytes());
        key.add(bytes);
    }
    format!("{:016x}", key.0)
}

/// A content key: FNV-1a of 64 bits, with the length of each part.
struct Key(u64);

impl Default for Key {
    fn default() -> Key {
        Key(0xCBF2_9CE4_8422_2325)
    }
}

impl Key {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().copied().chain((bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}
