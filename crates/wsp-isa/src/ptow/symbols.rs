//! What has a name in text: values, tables, axes, kernels and tensors.

use super::names::Names;
use std::collections::HashMap;

/// What has names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Launch-time values.
    Value,
    /// Launch-time tables.
    Table,
    /// Axes.
    Axis,
    /// Kernels.
    Kernel,
    /// Tensors.
    Tensor,
}

impl Kind {
    /// All, in the order of the names of a program.
    pub(super) const ALL: [Kind; 5] = [Kind::Value, Kind::Table, Kind::Axis, Kind::Kernel, Kind::Tensor];

    /// As the directive that declares one, and as people call it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Kind::Value => "value",
            Kind::Table => "table",
            Kind::Axis => "axis",
            Kind::Kernel => "kernel",
            Kind::Tensor => "tensor",
        }
    }

    /// What the symbol of one without a usable name begins with; its number follows.
    const fn prefix(self) -> &'static str {
        match self {
            Kind::Value => "v",
            Kind::Table => "t",
            Kind::Axis => "a",
            Kind::Kernel => "k",
            Kind::Tensor => "x",
        }
    }
}

/// Words of expressions, which symbols cannot be.
const RESERVED: [&str; 9] = ["min", "max", "ceildiv", "axis", "pos", "slot", "len", "of", "row"];

/// Most letters of a symbol, so that naming a row often does not make a text much longer than its program.
const MAX_SYMBOL: usize = 64;

/// The symbol of a row without a usable name.
pub(super) fn default_symbol(kind: Kind, index: usize) -> String {
    format!("{}{index}", kind.prefix())
}

/// The depth that a loop variable's name, such as `i2`, says.
pub(super) fn variable(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('i')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// Why a name cannot be a symbol of row `index`; none when it can.
pub(super) fn unusable(kind: Kind, index: usize, name: &str) -> Option<&'static str> {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic());
    if !first || !chars.all(|c| c == '_' || c.is_ascii_alphanumeric()) {
        return Some("names are letters, digits and `_`");
    }
    if name.len() > MAX_SYMBOL {
        return Some("symbols have at most 64 letters");
    }
    if RESERVED.contains(&name) {
        return Some("it is a word of expressions");
    }
    if variable(name).is_some() {
        return Some("it is the name of a loop variable");
    }
    let digits = name.strip_prefix(kind.prefix()).unwrap_or("");
    let numbered = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (numbered && name != default_symbol(kind, index)).then_some("it is the symbol of another row")
}

/// The symbols of one kind, by row, for names as a program holds them: the name where it can be a symbol and no earlier row
/// has it, else one made of the row's number.
pub(super) fn symbols(kind: Kind, names: &[Option<String>]) -> Vec<String> {
    let mut taken = wsp_ordered::OrderedSet::new();
    let mut symbol = |(index, name): (usize, &Option<String>)| match name {
        Some(name) if unusable(kind, index, name).is_none() && taken.insert(name.clone()) => name.clone(),
        _ => default_symbol(kind, index),
    };
    names.iter().enumerate().map(&mut symbol).collect()
}

/// The symbols of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    rows: [Vec<String>; 5],
    index: [HashMap<String, u32>; 5],
}

impl Symbols {
    /// The symbols for names as a program holds them.
    pub(super) fn of(names: &Names) -> Symbols {
        let mut found = Symbols::default();
        for (kind, names) in Kind::ALL.into_iter().zip(names) {
            for symbol in symbols(kind, names) {
                found.add(kind, &symbol);
            }
        }
        found
    }

    /// Adds a row. Returns the row that has the symbol already, if any.
    pub(super) fn add(&mut self, kind: Kind, symbol: &str) -> Option<u32> {
        let row = self.rows[kind as usize].len() as u32;
        self.rows[kind as usize].push(symbol.to_owned());
        let earlier = self.index[kind as usize].get(symbol).copied();
        self.index[kind as usize].entry(symbol.to_owned()).or_insert(row);
        earlier
    }

    /// How many rows there are.
    pub(super) fn len(&self, kind: Kind) -> usize {
        self.rows[kind as usize].len()
    }

    /// The symbol of a row.
    pub(super) fn symbol(&self, kind: Kind, row: u32) -> Option<&str> {
        self.rows[kind as usize].get(row as usize).map(String::as_str)
    }

    /// The row of a symbol.
    pub(super) fn row(&self, kind: Kind, symbol: &str) -> Option<u32> {
        self.index[kind as usize].get(symbol).copied()
    }

    /// All symbols of one kind, by row.
    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.rows[kind as usize].iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_symbols_are_replaced_by_numbered_ones() {
        let names = ["batch", "batch", "i3", "min", "über", "", "v1", "v7"].map(|name| Some(name.to_owned()));
        assert_eq!(symbols(Kind::Value, &names), ["batch", "v1", "v2", "v3", "v4", "v5", "v6", "v7"]);
        assert_eq!(symbols(Kind::Kernel, &[None, Some("v7".to_owned())]), ["k0", "v7"]);
    }

    #[test]
    fn variables_are_named_by_depth() {
        assert_eq!(variable("i0"), Some(0));
        assert_eq!(variable("i15"), Some(15));
        for name in ["i", "i01", "j0", "i-1", "i99999999999", "i1x"] {
            assert_eq!(variable(name), None, "{name}");
        }
    }
}
