//! The printer.

use super::custom_print;
use super::table::{self, Row, Spelling, Version};
use super::tree::{Attr, Module, Op, Region, Type, Value};
use super::types::{comma, write_attr, write_dict, write_symbol, write_type, write_types};
use std::fmt::Write as _;

/// Which spelling is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Operations of `aie` and `aiex` in the generic one, all others in their own: what MLIR's tools read that do not know these dialects.
    #[default]
    Mixed,
    /// All operations in their own.
    Pretty,
}

/// A module as text.
pub fn print(module: &Module, form: Form, version: Version) -> String {
    let mut printer = Printer { out: String::new(), module, form, version, level: 0 };
    printer.out.push_str("module {\n");
    printer.ops(&module.ops);
    printer.out.push_str("}\n");
    printer.out
}

/// A text that is being written.
pub(super) struct Printer<'m> {
    pub(super) out: String,
    pub(super) module: &'m Module,
    pub(super) version: Version,
    form: Form,
    level: usize,
}

/// The attribute of a sequence that takes a length: the lengths that it is for, from the first to the last.
pub(crate) const LENGTH_RANGE: &str = "length_range";

impl Printer<'_> {
    fn ops(&mut self, ops: &[Op]) {
        self.level += 1;
        for op in ops {
            self.line();
            self.op(op);
            self.out.push('\n');
        }
        self.level -= 1;
    }

    fn line(&mut self) {
        for _ in 0..self.level {
            self.out.push_str("  ");
        }
    }

    fn op(&mut self, op: &Op) {
        let results = op.results.clone();
        comma(&mut self.out, &results, &mut |out, value| write_value(out, self.module, *value));
        if !op.results.is_empty() {
            self.out.push_str(" = ");
        }
        let row = table::find(&op.name);
        let is_array = op.name.starts_with("aie");
        match row {
            // Their own form of a sequence has no room for it.
            Some(row) if op.find(LENGTH_RANGE).is_none() && (!is_array || self.form == Form::Pretty) => {
                self.pretty(op, row);
            }
            _ => self.generic(op, row),
        }
    }

    fn generic(&mut self, op: &Op, row: Option<&Row>) {
        let _ = write!(self.out, "\"{}\"(", op.name);
        self.values(&op.operands);
        self.out.push(')');
        if !op.successors.is_empty() {
            self.out.push('[');
            comma(&mut self.out, &op.successors, &mut |out, block| {
                let _ = write!(out, "^bb{block}");
            });
            self.out.push(']');
        }
        // What the operation itself does not know stands behind its regions.
        let (others, own): (Vec<_>, Vec<_>) =
            op.attrs.iter().cloned().partition(|(name, _)| name == LENGTH_RANGE);
        if !own.is_empty() {
            self.out.push_str(" <");
            write_dict(&mut self.out, &own);
            self.out.push('>');
        }
        if !op.regions.is_empty() {
            self.out.push_str(" (");
            for (i, region) in op.regions.iter().enumerate() {
                self.out.push_str(if i > 0 { ", " } else { "" });
                self.region(region, true, row.and_then(Row::left_out));
            }
            self.out.push(')');
        }
        if !others.is_empty() {
            self.out.push(' ');
            write_dict(&mut self.out, &others);
        }
        self.out.push_str(" : ");
        let types =
            |values: &[Value]| values.iter().map(|value| self.module.ty(*value).clone()).collect::<Vec<_>>();
        let (given, made) = (types(&op.operands), types(&op.results));
        write_types(&mut self.out, &given);
        self.out.push_str(" -> ");
        self.result_types(&made);
    }

    /// One type, or several in parentheses.
    pub(super) fn result_types(&mut self, types: &[Type]) {
        match types {
            [one] if !matches!(one, Type::Function(..)) => write_type(&mut self.out, one),
            _ => write_types(&mut self.out, types),
        }
    }

    /// `%a, %b`
    pub(super) fn values(&mut self, values: &[Value]) {
        comma(&mut self.out, values, &mut |out, value| write_value(out, self.module, *value));
    }

    /// The type of a value.
    pub(super) fn type_of(&mut self, value: Value) {
        write_type(&mut self.out, self.module.ty(value));
    }

    /// `%a: type, …`
    pub(super) fn typed(&mut self, values: &[Value]) {
        comma(&mut self.out, values, &mut |out, value| {
            write_value(out, self.module, *value);
            out.push_str(": ");
            write_type(out, self.module.ty(*value));
        });
    }

    /// `{ … }`; the first block's values are written where `args` says so, and its end where there is one.
    pub(super) fn region(&mut self, region: &Region, args: bool, ends: Option<&str>) {
        if region.blocks.is_empty() {
            self.out.push_str("{\n");
            self.line();
            self.out.push('}');
            return;
        }
        self.out.push_str("{\n");
        for (i, block) in region.blocks.iter().enumerate() {
            let has_args = args && !block.args.is_empty();
            // Values that stand before the region make its first block without a name.
            let is_made = i == 0 && !args && !block.args.is_empty();
            if (region.blocks.len() > 1 && !is_made) || has_args {
                self.line();
                let _ = write!(self.out, "^bb{i}");
                if i > 0 && !block.args.is_empty() || has_args {
                    self.out.push('(');
                    self.typed(&block.args);
                    self.out.push(')');
                }
                self.out.push_str(":\n");
            }
            self.ops(&block.ops);
            let is_ended = block.ops.last().is_some_and(|last| table::is_terminator(&last.name));
            if let Some(ends) = ends.filter(|_| !is_ended) {
                self.ops(&[Op::new(ends)]);
            }
        }
        self.line();
        self.out.push('}');
    }

    fn pretty(&mut self, op: &Op, row: &Row) {
        self.out.push_str(if op.name == "builtin.module" { "module" } else { &op.name });
        match row.spelling {
            Spelling::Words(words) => self.words(op, words),
            Spelling::Own(own) => custom_print::write(self, op, own),
        }
    }

    fn words(&mut self, op: &Op, words: &str) {
        let mut operands = op.operands.iter();
        let named: Vec<&str> =
            words.split_ascii_whitespace().filter_map(attribute).map(|(_, name)| name).collect();
        let mut tight = op.name.starts_with("aie.packet_");
        for word in words.split_ascii_whitespace() {
            let optional_is_missing =
                word.starts_with('?') && attribute(word).is_none_or(|(_, name)| op.find(name).is_none());
            let is_scalar = |value: &Value| !matches!(self.module.ty(*value), Type::Vector(_));
            if optional_is_missing
                || word == "v0" && op.operands.first().is_none_or(is_scalar)
                || word == "{}" && op.attrs.iter().all(|(name, _)| named.contains(&name.as_str()))
            {
                continue;
            }
            let closes = matches!(word, ")" | "]" | "," | ">") || word.starts_with("?$");
            let opens = matches!(word, "(" | "[");
            if !tight && !closes && !opens {
                self.out.push(' ');
            }
            tight = matches!(word, "(" | "[" | "<");
            match word {
                "%" => self.values(operands.next().map_or(&[], std::slice::from_ref)),
                "%*" => self.values(operands.as_slice()),
                "^" => {
                    let _ = write!(self.out, "^bb{}", op.successors.first().copied().unwrap_or(0));
                }
                "<>" => self.region(op.regions.first().unwrap_or(&Region::default()), false, None),
                "[<>]" => {
                    self.out.push('[');
                    for (i, region) in op.regions.iter().enumerate() {
                        self.out.push_str(if i > 0 { ", " } else { "" });
                        self.region(region, false, None);
                    }
                    self.out.push(']');
                }
                "{}" => self.other_attrs(op, &named),
                "v0" => {
                    self.type_at(&op.operands, 0);
                    self.out.push(',');
                }
                "t0" | "tt" => self.type_at(&op.operands, 0),
                "t1" => self.type_at(&op.operands, 1),
                "r" => self.type_at(&op.results, 0),
                _ => self.word(op, word),
            }
        }
    }

    fn type_at(&mut self, values: &[Value], at: usize) {
        if let Some(value) = values.get(at) {
            self.type_of(*value);
        }
    }

    fn word(&mut self, op: &Op, word: &str) {
        let Some((kind, name)) = attribute(word) else {
            self.out.push_str(word);
            return;
        };
        if word.starts_with("?$") {
            self.out.push_str(", ");
        }
        match (kind, op.find(name)) {
            (Kind::Int, Some(Attr::Int(value, _))) => {
                let _ = write!(self.out, "{value}");
            }
            (Kind::Symbol, Some(Attr::Symbol(symbol) | Attr::Str(symbol))) => {
                write_symbol(&mut self.out, symbol)
            }
            (Kind::Set(set), Some(Attr::Int(value, _))) => {
                let word = table::set(set).iter().find(|(_, number)| number == value);
                self.out.push_str(word.map_or("?", |(word, _)| word));
            }
            (_, Some(other)) => write_attr(&mut self.out, other),
            (_, None) => self.out.push('?'),
        }
    }

    /// ` {…}` of the attributes that the spelling does not name.
    pub(super) fn other_attrs(&mut self, op: &Op, named: &[&str]) {
        let others: Vec<(String, Attr)> =
            op.attrs.iter().filter(|(name, _)| !named.contains(&name.as_str())).cloned().collect();
        if !others.is_empty() {
            write_dict(&mut self.out, &others);
        }
    }
}

/// What kind of attribute a word of a form names.
enum Kind<'w> {
    Int,
    Symbol,
    Set(&'w str),
}

fn attribute(word: &str) -> Option<(Kind<'_>, &str)> {
    let word = word.strip_prefix('?').unwrap_or(word);
    if let Some(rest) = word.strip_prefix('&') {
        let (set, name) = rest.split_once(':')?;
        return Some((Kind::Set(set), name));
    }
    if let Some(name) = word.strip_prefix('$') {
        return Some((Kind::Int, name));
    }
    word.strip_prefix(['@', '!']).map(|name| (Kind::Symbol, name))
}

/// `%name`
pub(super) fn write_value(out: &mut String, module: &Module, value: Value) {
    out.push('%');
    out.push_str(module.name(value));
}
