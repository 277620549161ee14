//! What a package was made from, as JSON.

use super::number;
use crate::orchestration::name_of_tensor;
use serde_json::Value;
use std::fmt::Write as _;
use wsp_backend::{ContentKey, Package, signed};
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
    let _ = writeln!(out, "  \"program\": {},", json(entry));
    let _ = writeln!(out, "  \"target\": {},", json(target.name));
    let _ = writeln!(out, "  \"made_by\": \"pto-wsp {}\",", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(out, "  \"for\": {{\"pto_isa\": \"1.0\", \"cann\": \"8.0\"}},");
    let set = module.params.iter().zip(params);
    let set: Vec<String> = set
        .filter_map(|(param, value)| Some(format!("{}: {}", json(&param.name), number((*value)?))))
        .collect();
    let _ = writeln!(out, "  \"parameters\": {{{}}},", set.join(", "));
    let elements = (0..module.tensors.len()).filter_map(|at| {
        let name = name_of_tensor(module, TensorId(at as u32))?;
        Some(format!("{}: {}", json(&name), json((*elems.get(at)?)?.name())))
    });
    let _ = writeln!(out, "  \"elements\": {{{}}},", elements.collect::<Vec<_>>().join(", "));
    let _ = writeln!(out, "  \"files\": {{");
    for (at, (path, bytes)) in package.files.iter().enumerate() {
        let own = ContentKey::of(bytes);
        let path = path.display().to_string();
        let comma = if at + 1 < package.files.len() { "," } else { "" };
        let _ = writeln!(out, "    {}: \"{own}\"{comma}", json(&path));
    }
    out.push_str("  },\n");
    signed(out)
}

/// A text as JSON has it.
fn json(text: &str) -> String {
    Value::from(text).to_string()
}

/// The content key of a package: its last lines.
pub(super) fn key(package: &Package) -> String {
    let mut key = ContentKey::default();
    for (path, bytes) in &package.files {
        key.add(path.display().to_string().as_bytes());
        key.add(bytes);
    }
    key.to_string()
}
