//! Under which names a program wants its data.

use crate::codes;
use crate::reference::{PAGED_DECODE_ATTENTION, entry_cache, role};
use wsp_ir::diag::Diagnostic;
use wsp_ir::{EntryTy, Module};

/// Names of the host entry's parameters for decode attention data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    /// Queries.
    pub q: String,
    /// The paged cache: its arrays are `NAME.k`, `NAME.v`, `NAME.indptr`, `NAME.indices`, `NAME.last_page_len`.
    pub kv: String,
    /// Lengths, where the entry takes them.
    pub lens: Option<String>,
}

impl Names {
    /// What the program calls them, by the roles of its reference.
    ///
    /// # Errors
    /// When the program names no reference for which data can be made.
    pub fn of(module: &Module) -> Result<Names, Diagnostic> {
        let reference = module.references.iter().find(|r| r.name == PAGED_DECODE_ATTENTION);
        let (Some(entry), Some(reference)) = (&module.entry, reference) else {
            return Err(Diagnostic::error(codes::CANNOT_GENERATE, "data for this program cannot be made up")
                .note(format!(
                    "data are made for programs with a `PTO_REFERENCE({PAGED_DECODE_ATTENTION}, …)`"
                ))
                .help("give its arrays with `--inputs FILE.npz` or `--input NAME=FILE.npy`"));
        };
        let q = role(reference, "q")?.to_owned();
        let kv = entry_cache(module, role(reference, "kv")?)?.to_owned();
        let arrays: Vec<&str> = entry
            .params
            .iter()
            .filter(|p| matches!(p.ty, EntryTy::Array(_)))
            .map(|p| p.name.as_str())
            .collect();
        let named = reference.roles.iter().find(|(role, _)| role == "lens").map(|(_, name)| name.as_str());
        let lens = named.or(match arrays.as_slice() {
            [only] => Some(*only),
            many => many.iter().copied().find(|n| n.contains("len")),
        });
        Ok(Names { q, kv, lens: lens.map(str::to_owned) })
    }
}
