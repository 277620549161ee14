//! Identifiers of the emitted code, made from the names that a program carries.

use wsp_core::ptow::Program;
use wsp_ordered::OrderedSet;

/// No name.
const NONE: u16 = u16::MAX;

/// Identifiers by table and row.
pub(super) struct Names {
    pub(super) values: Vec<String>,
    pub(super) tables: Vec<String>,
    pub(super) axes: Vec<String>,
    pub(super) kernels: Vec<String>,
    pub(super) tensors: Vec<String>,
    /// Names of axes as far as they are letters, digits and underscores; empty for none.
    pub(super) axis_stems: Vec<String>,
}

impl Names {
    pub(super) fn new(program: &Program<'_>) -> Names {
        let mut listed = program.names.split(|byte| *byte == 0).map(clean);
        let mut take =
            |count: usize| -> Vec<String> { (0..count).map(|_| listed.next().unwrap_or_default()).collect() };
        let values = take(usize::from(program.counts.values));
        let tables = take(usize::from(program.counts.tables));
        let axis_stems = take(program.axes.len());
        let kernels = program.kernels.iter().map(|kernel| named(program, kernel.name)).collect();
        let tensors = program.tensors.iter().map(|tensor| named(program, tensor.name)).collect();
        Names {
            values: identifiers("value", values),
            tables: identifiers("table", tables),
            axes: identifiers("axis", axis_stems.clone()),
            kernels: identifiers("kernel", kernels),
            tensors: identifiers("tensor", tensors),
            axis_stems,
        }
    }

    /// Every table's identifiers, in order.
    pub(super) fn tables_of_names(&self) -> [&[String]; 5] {
        [&self.values, &self.tables, &self.axes, &self.kernels, &self.tensors]
    }
}

/// The name that begins at a byte; empty for none.
fn named(program: &Program<'_>, at: u16) -> String {
    let from = program.names.get(usize::from(at)..).filter(|_| at != NONE);
    from.and_then(|bytes| bytes.split(|byte| *byte == 0).next()).map(clean).unwrap_or_default()
}

/// A name with nothing in it but letters, digits and underscores.
fn clean(name: &[u8]) -> String {
    let keep = |byte: &u8| if byte.is_ascii_alphanumeric() { char::from(*byte) } else { '_' };
    name.iter().map(keep).collect()
}

/// Identifiers, each once: the name behind a prefix, or the row's number.
fn identifiers(prefix: &str, names: Vec<String>) -> Vec<String> {
    let mut used = OrderedSet::new();
    let mut identifier = |(row, name): (usize, String)| {
        let mut identifier =
            if name.is_empty() { format!("{prefix}_{row}") } else { format!("{prefix}_{name}") };
        while !used.insert(identifier.clone()) {
            identifier.push_str(&format!("_{row}"));
        }
        identifier
    };
    names.into_iter().enumerate().map(&mut identifier).collect()
}

/// Whether text can name something in C++; keywords aside.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic())
        && chars.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
        && !text.contains("__")
}
