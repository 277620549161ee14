//! Types and attributes as text, and numbers that are written as their bits.

use super::tree::{Attr, Dim, Shaped, Type};
use std::fmt::Write as _;

/// A type as it is written.
pub(crate) fn text(ty: &Type) -> String {
    let mut out = String::new();
    write_type(&mut out, ty);
    out
}

pub(super) fn write_type(out: &mut String, ty: &Type) {
    match ty {
        Type::Int(bits) => {
            let _ = write!(out, "i{bits}");
        }
        Type::Unsigned(bits) => {
            let _ = write!(out, "ui{bits}");
        }
        Type::Index => out.push_str("index"),
        Type::F32 => out.push_str("f32"),
        Type::Bf16 => out.push_str("bf16"),
        Type::F64 => out.push_str("f64"),
        Type::F16 => out.push_str("f16"),
        Type::MemRef(shaped) => write_shaped(out, "memref", shaped),
        Type::Vector(shaped) => write_shaped(out, "vector", shaped),
        Type::Tensor(shaped) => write_shaped(out, "tensor", shaped),
        Type::Function(inputs, outputs) => {
            write_types(out, inputs);
            out.push_str(" -> ");
            write_types(out, outputs);
        }
        Type::Fifo(inner) => wrap(out, "!aie.objectfifo<", inner),
        Type::Subview(inner) => wrap(out, "!aie.objectfifosubview<", inner),
    }
}

fn wrap(out: &mut String, open: &str, inner: &Type) {
    out.push_str(open);
    write_type(out, inner);
    out.push('>');
}

/// `(types)`
pub(super) fn write_types(out: &mut String, types: &[Type]) {
    out.push('(');
    comma(out, types, &mut |out, ty| write_type(out, ty));
    out.push(')');
}

fn write_shaped(out: &mut String, name: &str, shaped: &Shaped) {
    out.push_str(name);
    out.push('<');
    for extent in &shaped.shape {
        match extent {
            Some(extent) => {
                let _ = write!(out, "{extent}x");
            }
            None => out.push_str("?x"),
        }
    }
    write_type(out, &shaped.element);
    if !shaped.rest.is_empty() {
        let _ = write!(out, ", {}", shaped.rest);
    }
    out.push('>');
}

/// Items with commas between them.
pub(super) fn comma<T>(out: &mut String, items: &[T], write: &mut dyn FnMut(&mut String, &T)) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

/// `@name`
pub(super) fn write_symbol(out: &mut String, name: &str) {
    out.push('@');
    if is_bare(name) {
        out.push_str(name);
    } else {
        let _ = write!(out, "\"{name}\"");
    }
}

/// Whether a name needs no quotes.
fn is_bare(name: &str) -> bool {
    name.split('.').enumerate().all(|(i, part)| {
        let first_is_letter = part.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        let rest = part.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        rest && !part.is_empty() && (i > 0 || first_is_letter)
    })
}

pub(super) fn write_attr(out: &mut String, attr: &Attr) {
    match attr {
        Attr::Unit => out.push_str("unit"),
        Attr::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        Attr::Int(value, ty) => {
            let _ = write!(out, "{value} : ");
            write_type(out, ty);
        }
        Attr::Float(value, ty) => {
            write_float(out, *value, ty);
            out.push_str(" : ");
            write_type(out, ty);
        }
        Attr::Str(text) => {
            let _ = write!(out, "\"{text}\"");
        }
        Attr::Symbol(name) => write_symbol(out, name),
        Attr::Type(ty) => write_type(out, ty),
        Attr::Array(items) => {
            out.push('[');
            comma(out, items, &mut write_attr);
            out.push(']');
        }
        Attr::Dict(entries) => write_dict(out, entries),
        Attr::Dense(ty, values) => {
            out.push_str("array<");
            write_type(out, ty);
            out.push_str(if values.is_empty() { "" } else { ": " });
            comma(out, values, &mut |out, value| {
                let _ = write!(out, "{value}");
            });
            out.push('>');
        }
        Attr::Elements(value, ty) => {
            out.push_str("dense<");
            write_element(out, value);
            out.push_str("> : ");
            write_type(out, ty);
        }
        Attr::Dims(dims) => {
            out.push_str("#aie<bd_dim_layout_array");
            write_dims(out, dims);
            out.push('>');
        }
        Attr::DimsPer(all) => {
            out.push_str("#aie<bd_dim_layout_array_array[");
            comma(out, all, &mut |out, dims| write_dims(out, dims));
            out.push_str("]>");
        }
        Attr::Raw(text) => out.push_str(text),
    }
}

/// `{name = value, …}`
pub(super) fn write_dict(out: &mut String, entries: &[(String, Attr)]) {
    out.push('{');
    comma(out, entries, &mut |out, (name, value)| {
        if is_bare(name) {
            out.push_str(name);
        } else {
            let _ = write!(out, "\"{name}\"");
        }
        if *value != Attr::Unit {
            out.push_str(" = ");
            write_attr(out, value);
        }
    });
    out.push('}');
}

/// An element of a constant, whose type stands behind all of them.
fn write_element(out: &mut String, value: &Attr) {
    match value {
        Attr::Int(value, _) => {
            let _ = write!(out, "{value}");
        }
        Attr::Float(value, ty) => write_float(out, *value, ty),
        Attr::Array(items) => {
            out.push('[');
            comma(out, items, &mut write_element);
            out.push(']');
        }
        other => write_attr(out, other),
    }
}

/// `[<size = 4, stride = 1>]`
pub(super) fn write_dims(out: &mut String, dims: &[Dim]) {
    out.push('[');
    comma(out, dims, &mut |out, dim| {
        let _ = write!(out, "<size = {}, stride = {}>", dim.size, dim.stride);
    });
    out.push(']');
}

/// MLIR's numbers have a point; those that are no numbers are written by their bits.
fn write_float(out: &mut String, value: f64, ty: &Type) {
    if value.is_finite() {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if digits.contains('.') { "" } else { ".0" };
        let _ = write!(out, "{digits}{point}e{exponent}");
        return;
    }
    let single = (value as f32).to_bits();
    let _ = match ty {
        Type::F32 => write!(out, "0x{single:08X}"),
        Type::Bf16 => write!(out, "0x{:04X}", single >> 16),
        Type::F16 => {
            write!(out, "0x{:04X}", single >> 16 & 0x8000 | if value.is_nan() { 0x7e00 } else { 0x7c00 })
        }
        _ => write!(out, "0x{:016X}", value.to_bits()),
    };
}

/// Elements of a type of numbers: what is written as an integer is the bits of one.
pub(super) fn as_numbers(values: &mut Attr, element: &Type) {
    match values {
        Attr::Array(items) => items.iter_mut().for_each(|item| as_numbers(item, element)),
        Attr::Int(bits, _) => *values = Attr::Float(from_bits(*bits as u64, element), element.clone()),
        Attr::Float(_, ty) => *ty = element.clone(),
        _ => {}
    }
}

/// The number that bits stand for in a type.
pub(super) fn from_bits(bits: u64, ty: &Type) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        Type::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Type::F16 => f64::from(crate::number::f16_to_f32(bits as u16)),
        _ => f64::from_bits(bits),
    }
}
