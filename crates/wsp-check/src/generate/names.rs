//! Under which names a program wants its data.

use crate::reference::{MLA_DECODE, PAGED_DECODE_ATTENTION, entry_cache, role};
use pto_wsp::codes;
use wsp_diag::Diagnostic;
use wsp_ir::{EntryTy, Module, Reference};

/// Names of the host entry's parameters for decode attention data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Queries.
    pub q: String,
    /// The paged cache: its arrays are `NAME.k`, `NAME.v`, `NAME.indptr`, `NAME.indices`, `NAME.last_page_len`.
    pub kv: String,
    /// Lengths, where the entry takes them.
    pub lens: Option<String>,
    /// A cache of what stands before the tokens of every request.
    pub prefix: Option<String>,
    /// Where the packed queries of each request begin.
    pub q_indptr: Option<String>,
    /// A slope for each query head.
    pub slopes: Option<String>,
    /// The logit of a sink for each query head.
    pub sinks: Option<String>,
}

impl Names {
    /// What the program calls them, by the roles of its reference.
    ///
    /// # Errors
    /// When the program names no reference for which data can be made.
    pub fn of(module: &Module) -> Result<Names, Diagnostic> {
        let (Some(entry), Some(reference)) = (&module.entry, decode_reference(module)) else {
            return Err(Diagnostic::error(codes::CANNOT_GENERATE, "data for this program cannot be made up")
                .note(format!(
                    "data are made for programs with a `PTO_REFERENCE({PAGED_DECODE_ATTENTION}, …)`"
                ))
                .help("give its arrays with `--inputs FILE.npz` or `--input NAME=FILE.npy`"));
        };
        let named = |what: &str| role(reference, what).ok().map(str::to_owned);
        let prefix = match role(reference, "prefix") {
            Ok(name) => Some(entry_cache(module, name)?.to_owned()),
            Err(_) => None,
        };
        // Arrays of integers that play no other role.
        let plays = |name: &str| module.references.iter().flat_map(|r| &r.roles).any(|(_, n)| n == name);
        let arrays: Vec<&str> = entry
            .params
            .iter()
            .filter(|p| matches!(p.ty, EntryTy::Array(_)) && !plays(&p.name))
            .map(|p| p.name.as_str())
            .collect();
        let lens = named("lens").or_else(|| {
            let only = match arrays.as_slice() {
                [only] => Some(*only),
                many => many.iter().copied().find(|n| n.contains("len")),
            };
            only.map(str::to_owned)
        });
        Ok(Names {
            q: role(reference, "q")?.to_owned(),
            kv: entry_cache(module, role(reference, "kv")?)?.to_owned(),
            lens,
            prefix,
            q_indptr: named("q_indptr"),
            slopes: named("alibi"),
            sinks: named("sinks"),
        })
    }
}

/// The reference of a program that says which of its parameters are the data of decode attention.
pub(super) fn decode_reference(module: &Module) -> Option<&Reference> {
    module.references.iter().find(|r| [PAGED_DECODE_ATTENTION, MLA_DECODE].contains(&r.name.as_str()))
}
