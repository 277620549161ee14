//! The words of the language.

use crate::workload::{Dependences, GateScope, Ready, Trace, Unit, WindowMode};

/// Words that cannot be names.
pub(crate) const RESERVED: &[&str] = &[
    "axis",
    "combine",
    "call",
    "else",
    "for",
    "if",
    "in",
    "kernel",
    "let",
    "parallel",
    "param",
    "schedule",
    "select",
    "sequential",
    "slot",
    "table",
    "tensor",
    "use",
    "while",
    "workload",
];

/// Words that start an item and nothing else; an item ends where the next of them stands. `let` also starts a statement.
pub(super) const ITEMS: &[&str] =
    &["use", "param", "table", "axis", "tensor", "slot", "kernel", "workload", "schedule"];

/// Words that start a statement and nothing else.
pub(super) const STATEMENTS: &[&str] =
    &["let", "parallel", "for", "select", "if", "else", "while", "combine", "sequential", "call"];

/// Words that start a statement where no `(` follows, and are names elsewhere.
pub(super) const PIPELINE_STATEMENTS: &[&str] = &["channel", "pipeline", "send", "consume"];

/// The functions of expressions.
pub(super) const FUNCTIONS: &[&str] = &["min", "max", "ceildiv", "len"];

/// Spellings of a value; the first of several is the one that is printed.
pub(super) type Words<T> = &'static [(&'static str, T)];

pub(super) const UNITS: Words<Unit> = &[("vector", Unit::Vector), ("cube", Unit::Cube), ("any", Unit::Any)];

pub(super) const DEPENDENCES: Words<Dependences> = &[
    ("exact", Dependences::Exact),
    ("infer_tensor_map_exact", Dependences::Exact),
    ("overlap", Dependences::Overlap),
    ("infer_bytes_overlap", Dependences::Overlap),
    ("explicit", Dependences::Explicit),
    ("hybrid", Dependences::Hybrid),
];

pub(super) const WINDOW_MODES: Words<WindowMode> =
    &[("stall", WindowMode::Stall), ("abort", WindowMode::Abort), ("benchmark", WindowMode::Benchmark)];

pub(super) const READY: Words<Ready> = &[
    ("auto", Ready::Auto),
    ("fifo", Ready::Fifo),
    ("work_steal", Ready::WorkSteal),
    ("priority", Ready::Priority),
];

pub(super) const TRACES: Words<Trace> =
    &[("none", Trace::None), ("measured", Trace::Measured), ("cycles", Trace::Cycles)];

pub(super) const GATE_SCOPES: Words<GateScope> =
    &[("global", GateScope::Global), ("per_stream", GateScope::PerStream), ("per_pool", GateScope::PerPool)];

/// The spelling of a value that is printed.
pub(super) fn spelling<T: PartialEq>(words: Words<T>, value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

/// Whether a text can be a name: a letter or `_`, then letters, digits and `_`, ASCII only, and no keyword.
pub fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    starts && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) && !RESERVED.contains(&text)
}
