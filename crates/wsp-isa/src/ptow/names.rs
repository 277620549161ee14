//! The names of a program: how they lie in its bytes.

use super::symbols::Kind;
use wsp_core::ptow::Program;

/// Of a kernel or tensor: it has no name.
pub(super) const NO_NAME: u16 = u16::MAX;

/// Names by kind and row. Values, tables and axes all have one, which may be empty.
pub(super) type Names = [Vec<Option<String>>; 5];

/// Names as bytes, and where those of kernels and tensors begin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Layout {
    pub(super) bytes: Vec<u8>,
    pub(super) kernels: Vec<u16>,
    pub(super) tensors: Vec<u16>,
}

/// How the names of a program are written in text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stored {
    /// There are none.
    None,
    /// With what they name; [`layout`] gives their bytes.
    Named(Names),
    /// As bytes, because [`layout`] gives others.
    Bytes,
}

/// Lays names out: kinds in the order of [`Kind::ALL`], rows in theirs, nothing shared. None when a name does not
/// begin within the first 65,535 bytes.
pub(super) fn layout(names: &Names) -> Option<Layout> {
    let mut laid = Layout::default();
    for (kind, rows) in Kind::ALL.into_iter().zip(names) {
        for name in rows {
            let start = laid.bytes.len();
            let referred = matches!(kind, Kind::Kernel | Kind::Tensor);
            if let Some(name) = name {
                laid.bytes.extend_from_slice(name.as_bytes());
                laid.bytes.push(0);
            } else if !referred {
                laid.bytes.push(0);
            }
            let at = match name {
                Some(_) if referred => u16::try_from(start).ok().filter(|&at| at != NO_NAME)?,
                _ => NO_NAME,
            };
            match kind {
                Kind::Kernel => laid.kernels.push(at),
                Kind::Tensor => laid.tensors.push(at),
                Kind::Value | Kind::Table | Kind::Axis => {}
            }
        }
    }
    Some(laid)
}

/// The names of a program.
pub(super) fn stored(program: &Program<'_>) -> Stored {
    let unnamed = program.kernels.iter().all(|k| k.name == NO_NAME)
        && program.tensors.iter().all(|t| t.name == NO_NAME);
    if program.names.is_empty() && unnamed {
        return Stored::None;
    }
    match read(program) {
        Some(names) => Stored::Named(names),
        None => Stored::Bytes,
    }
}

/// The names of a program whose bytes are those that [`layout`] gives.
fn read(program: &Program<'_>) -> Option<Names> {
    let mut rest = program.names;
    let mut take = |rows: usize| -> Option<Vec<Option<String>>> {
        let mut names = Vec::with_capacity(rows);
        for _ in 0..rows {
            let (name, after) = split(rest)?;
            rest = after;
            names.push(Some(name));
        }
        Some(names)
    };
    let values = take(usize::from(program.counts.values))?;
    let tables = take(usize::from(program.counts.tables))?;
    let axes = take(program.axes.len())?;
    // Names that share bytes are not laid out so; the budget keeps their copies from growing beyond the program.
    let mut budget = program.names.len();
    let mut referred = |at: u16| {
        if at == NO_NAME {
            return Some(None);
        }
        let (name, _) = split(program.names.get(usize::from(at)..)?)?;
        budget = budget.checked_sub(name.len() + 1)?;
        (!name.is_empty()).then_some(Some(name))
    };
    let kernels = program.kernels.iter().map(|k| referred(k.name)).collect::<Option<Vec<_>>>()?;
    let tensors = program.tensors.iter().map(|t| referred(t.name)).collect::<Option<Vec<_>>>()?;
    let names = [values, tables, axes, kernels, tensors];
    let laid = layout(&names)?;
    let same = laid.bytes == program.names
        && laid.kernels.iter().eq(program.kernels.iter().map(|k| &k.name))
        && laid.tensors.iter().eq(program.tensors.iter().map(|t| &t.name));
    same.then_some(names)
}

/// The first name of some bytes, and what follows it.
fn split(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.iter().position(|&b| b == 0)?;
    let name = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((name.to_owned(), bytes.get(end + 1..)?))
}
