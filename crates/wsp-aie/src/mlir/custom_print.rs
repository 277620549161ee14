//! Operations whose spelling is no line of words, printed.

use super::custom::DYNAMIC;
use super::print::{Printer, write_value};
use super::table::{self, Own, Version};
use super::tree::{Attr, Dim, Op, Region, Type, Value};
use super::types::{comma, write_attr, write_dims, write_symbol, write_type, write_types};
use std::fmt::Write as _;

/// Writes an operation behind its name.
pub(super) fn write(printer: &mut Printer<'_>, op: &Op, own: Own) {
    match own {
        Own::Module => {
            symbol(printer, op, " ", "sym_name");
            attrs(printer, op, " attributes ", &["sym_name"]);
            region(printer, op, 0);
        }
        Own::Fifo => fifo(printer, op),
        Own::Link => link(printer, op),
        Own::Descriptor => descriptor(printer, op),
        Own::Start => start(printer, op),
        Own::Sequence => {
            symbol(printer, op, " ", "sym_name");
            printer.out.push('(');
            let args = op
                .regions
                .first()
                .and_then(|region| region.blocks.first())
                .map_or(&[][..], |block| &block.args);
            printer.typed(args);
            printer.out.push(')');
            region(printer, op, 0);
        }
        Own::Transfer => transfer(printer, op),
        Own::Parameter => parameter(printer, op),
        Own::Constant => {
            printer.out.push(' ');
            if let Some(value) = op.find("value") {
                write_attr(&mut printer.out, value);
            }
        }
        Own::For => for_loop(printer, op),
        Own::If => if_else(printer, op),
        Own::Yield => {
            if !op.operands.is_empty() {
                printer.out.push(' ');
                printer.values(&op.operands);
                printer.out.push_str(" : ");
                let types: Vec<&Type> = op.operands.iter().map(|value| printer.module.ty(*value)).collect();
                comma(&mut printer.out, &types, &mut |out, ty| write_type(out, ty));
            }
        }
        Own::Func => func(printer, op),
        Own::Call => {
            symbol(printer, op, " ", "callee");
            printer.out.push('(');
            printer.values(&op.operands);
            printer.out.push_str(") : ");
            let types = |values: &[Value]| {
                values.iter().map(|value| printer.module.ty(*value).clone()).collect::<Vec<_>>()
            };
            let (given, made) = (types(&op.operands), types(&op.results));
            write_types(&mut printer.out, &given);
            printer.out.push_str(" -> ");
            printer.result_types(&made);
        }
    }
}

fn symbol(printer: &mut Printer<'_>, op: &Op, before: &str, name: &str) {
    if let Some(symbol) = op.find_name(name) {
        printer.out.push_str(before);
        write_symbol(&mut printer.out, symbol);
    }
}

fn attrs(printer: &mut Printer<'_>, op: &Op, before: &str, named: &[&str]) {
    if op.attrs.iter().any(|(name, _)| !named.contains(&name.as_str())) {
        printer.out.push_str(before);
        printer.other_attrs(op, named);
    }
}

fn region(printer: &mut Printer<'_>, op: &Op, at: usize) {
    printer.out.push(' ');
    printer.region(op.regions.get(at).unwrap_or(&Region::default()), false, None);
}

/// Writes a value of an operation that may have too few.
fn operand(printer: &mut Printer<'_>, op: &Op, at: usize) {
    printer.values(op.operands.get(at).map_or(&[], std::slice::from_ref));
}

fn fifo(printer: &mut Printer<'_>, op: &Op) {
    symbol(printer, op, " ", "sym_name");
    printer.out.push('(');
    operand(printer, op, 0);
    if let Some(Attr::Dims(dims)) =
        op.find("dimensionsToStream").filter(|dims| **dims != Attr::Dims(Vec::new()))
    {
        printer.out.push_str(" dimensionsToStream ");
        write_dims(&mut printer.out, dims);
    }
    printer.out.push_str(", {");
    let none = Vec::new();
    let per: &[Vec<Dim>] = match op.find("dimensionsFromStreamPerConsumer") {
        Some(Attr::DimsPer(per)) => per,
        _ => &none,
    };
    for (i, value) in op.operands.iter().skip(1).enumerate() {
        printer.out.push_str(if i > 0 { ", " } else { "" });
        write_value(&mut printer.out, printer.module, *value);
        if let Some(dims) = per.get(i).filter(|dims| !dims.is_empty()) {
            printer.out.push_str(" dimensionsFromStream ");
            write_dims(&mut printer.out, dims);
        }
    }
    printer.out.push_str("}, ");
    attr(printer, op, "elemNumber");
    printer.out.push(')');
    attrs(
        printer,
        op,
        " ",
        &[
            "sym_name",
            "elemNumber",
            "elemType",
            "dimensionsToStream",
            "dimensionsFromStreamPerConsumer",
            "initValues",
        ],
    );
    printer.out.push_str(" : ");
    attr(printer, op, "elemType");
    if op.find("initValues").is_some() {
        printer.out.push_str(" = ");
        attr(printer, op, "initValues");
    }
}

fn attr(printer: &mut Printer<'_>, op: &Op, name: &str) {
    if let Some(value) = op.find(name) {
        write_attr(&mut printer.out, value);
    }
}

fn link(printer: &mut Printer<'_>, op: &Op) {
    printer.out.push(' ');
    attr(printer, op, "fifoIns");
    printer.out.push_str(" -> ");
    attr(printer, op, "fifoOuts");
    printer.out.push('(');
    for (i, name) in ["src_offsets", "dst_offsets"].into_iter().enumerate() {
        printer.out.push_str(if i > 0 { " [" } else { "[" });
        if let Some(Attr::Array(offsets)) = op.find(name) {
            comma(&mut printer.out, offsets, &mut |out, offset| match offset {
                Attr::Int(value, _) => {
                    let _ = write!(out, "{value}");
                }
                other => write_attr(out, other),
            });
        }
        printer.out.push(']');
    }
    printer.out.push(')');
}

fn descriptor(printer: &mut Printer<'_>, op: &Op) {
    printer.out.push('(');
    operand(printer, op, 0);
    printer.out.push_str(" : ");
    if let Some(buffer) = op.operands.first() {
        printer.type_of(*buffer);
    }
    let dims = match op.find("dimensions") {
        Some(Attr::Dims(dims)) => Some(dims),
        _ => None,
    };
    let (offset, len) = (op.find_int("offset"), op.find_int("len"));
    match printer.version {
        Version::V2026_03 => {
            if offset.is_some() || len.is_some() || dims.is_some() {
                let _ = write!(printer.out, ", {}", offset.unwrap_or(0));
            }
            if let Some(len) = len {
                let _ = write!(printer.out, ", {len}");
            }
            if let Some(dims) = dims {
                printer.out.push_str(", ");
                write_dims(&mut printer.out, dims);
            }
        }
        Version::V2026_09 => {
            for (name, value) in [("offset", offset), ("len", len)] {
                if let Some(value) = value {
                    let _ = write!(printer.out, " {name} = {value}");
                }
            }
            if let Some(dims) = dims {
                for (name, of) in [("sizes", size as fn(&Dim) -> u64), ("strides", stride)] {
                    let _ = write!(printer.out, " {name} = [");
                    comma(&mut printer.out, dims, &mut |out, dim| {
                        let _ = write!(out, "{}", of(dim));
                    });
                    printer.out.push(']');
                }
            }
        }
    }
    printer.out.push(')');
    attrs(printer, op, " ", &["offset", "len", "dimensions"]);
}

fn size(dim: &Dim) -> u64 {
    dim.size
}

fn stride(dim: &Dim) -> u64 {
    dim.stride
}

fn start(printer: &mut Printer<'_>, op: &Op) {
    let direction =
        table::set("direction").iter().find(|(_, value)| Some(*value) == op.find_int("channel_dir"));
    let channel = op.find_int("channel_index").unwrap_or(0);
    let _ = write!(printer.out, "({}, {channel}", direction.map_or("?", |(word, _)| word));
    for block in &op.successors {
        let _ = write!(printer.out, ", ^bb{block}");
    }
    if let Some(count) = op.find_int("repeat_count") {
        let _ = write!(printer.out, ", repeat_count = {count}");
    }
    printer.out.push(')');
}

fn transfer(printer: &mut Printer<'_>, op: &Op) {
    printer.out.push('(');
    operand(printer, op, 0);
    let mut given = op.operands.iter().skip(1);
    for name in ["static_offsets", "static_sizes", "static_strides"] {
        let Some(Attr::Dense(_, entries)) = op.find(name) else { continue };
        printer.out.push('[');
        comma(&mut printer.out, entries, &mut |out, entry| match (*entry == DYNAMIC)
            .then(|| given.next())
            .flatten()
        {
            Some(value) => write_value(out, printer.module, *value),
            None => {
                let _ = write!(out, "{entry}");
            }
        });
        printer.out.push(']');
    }
    if let Some(Attr::Raw(packet)) = op.find("packet") {
        let _ =
            write!(printer.out, ", packet = {}", packet.strip_prefix("#aie.packet_info").unwrap_or(packet));
    }
    printer.out.push(')');
    attrs(
        printer,
        op,
        " ",
        &["static_offsets", "static_sizes", "static_strides", "operandSegmentSizes", "packet"],
    );
    printer.out.push_str(" : ");
    if let Some(array) = op.operands.first() {
        printer.type_of(*array);
    }
}

fn parameter(printer: &mut Printer<'_>, op: &Op) {
    symbol(printer, op, "(", "buffer");
    let _ = write!(printer.out, ", {}, ", op.find_int("index").unwrap_or(0));
    match op.operands.first() {
        Some(value) => {
            write_value(&mut printer.out, printer.module, *value);
            printer.out.push_str(") : ");
            printer.type_of(*value);
        }
        None => {
            let _ = write!(printer.out, "{})", op.find_int("value").unwrap_or(0));
        }
    }
    attrs(printer, op, " ", &["buffer", "index", "value"]);
}

fn for_loop(printer: &mut Printer<'_>, op: &Op) {
    let args: Vec<Value> = op
        .regions
        .first()
        .and_then(|region| region.blocks.first())
        .map_or(Vec::new(), |block| block.args.clone());
    printer.out.push(' ');
    printer.values(args.get(..1).unwrap_or(&[]));
    for (i, word) in [" = ", " to ", " step "].into_iter().enumerate() {
        printer.out.push_str(word);
        operand(printer, op, i);
    }
    if args.len() > 1 {
        printer.out.push_str(" iter_args(");
        for (i, arg) in args.iter().enumerate().skip(1) {
            printer.out.push_str(if i > 1 { ", " } else { "" });
            write_value(&mut printer.out, printer.module, *arg);
            printer.out.push_str(" = ");
            operand(printer, op, 2 + i);
        }
        printer.out.push_str(") -> ");
        let types: Vec<Type> = args[1..].iter().map(|arg| printer.module.ty(*arg).clone()).collect();
        write_types(&mut printer.out, &types);
    }
    if let Some(ty) = args.first().map(|arg| printer.module.ty(*arg)).filter(|ty| **ty != Type::Index) {
        printer.out.push_str(" : ");
        write_type(&mut printer.out, ty);
    }
    region(printer, op, 0);
}

fn if_else(printer: &mut Printer<'_>, op: &Op) {
    printer.out.push(' ');
    operand(printer, op, 0);
    if !op.results.is_empty() {
        printer.out.push_str(" -> ");
        let types: Vec<Type> = op.results.iter().map(|value| printer.module.ty(*value).clone()).collect();
        write_types(&mut printer.out, &types);
    }
    region(printer, op, 0);
    if op.regions.get(1).is_some_and(|region| !region.blocks.is_empty()) {
        printer.out.push_str(" else");
        region(printer, op, 1);
    }
}

fn func(printer: &mut Printer<'_>, op: &Op) {
    let visibility = op.find_name("sym_visibility").filter(|word| *word == "private");
    printer.out.push_str(if visibility.is_some() { " private" } else { "" });
    symbol(printer, op, " ", "sym_name");
    let none = (Vec::new(), Vec::new());
    let (inputs, outputs) = match op.find("function_type") {
        Some(Attr::Type(Type::Function(inputs, outputs))) => (inputs, outputs),
        _ => (&none.0, &none.1),
    };
    let body = op.regions.first().and_then(|region| region.blocks.first());
    match body {
        Some(block) => {
            printer.out.push('(');
            printer.typed(&block.args);
            printer.out.push(')');
        }
        None => write_types(&mut printer.out, inputs),
    }
    if !outputs.is_empty() {
        printer.out.push_str(" -> ");
        printer.result_types(outputs);
    }
    let named: &[&str] = &["sym_name", "function_type", "sym_visibility"];
    attrs(printer, op, " attributes ", if visibility.is_some() { named } else { &named[..2] });
    if body.is_some() {
        region(printer, op, 0);
    }
}
