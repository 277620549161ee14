//! The words of the language.

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
pub(super) const PIPELINE_STATEMENTS: &[&str] = &["channel", "pipeline", "send", "consume", "close"];

/// The functions of expressions.
pub(super) const FUNCTIONS: &[&str] = &["min", "max", "ceildiv", "len"];

/// Spellings of a value.
pub(super) type Words<T> = &'static [(&'static str, T)];

/// Whether a text can be a name: a letter or `_`, then letters, digits and `_`, ASCII only, and no keyword.
pub fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    starts && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) && !RESERVED.contains(&text)
}
