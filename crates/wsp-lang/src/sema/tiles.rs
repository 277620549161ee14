//! The names of tile operations, for lowering, for reserved names and for suggestions.

use wsp_ir::{PtoWord, TILE_OPS, TileOpRow, find_pto};

/// A call by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileCall {
    /// Its name and arguments.
    pub(crate) word: &'static PtoWord,
    /// The tile operation; none of what stores a single element.
    pub(crate) row: Option<&'static TileOpRow>,
}

const STORE_SCALAR: PtoWord =
    PtoWord { name: "PTO_STORE_SCALAR", args: &["tensor", "value", "{index, …}"], flag: None };

/// The call with this name.
pub(crate) fn find(name: &str) -> Option<TileCall> {
    if name == STORE_SCALAR.name {
        return Some(TileCall { word: &STORE_SCALAR, row: None });
    }
    find_pto(name).map(|(row, word)| TileCall { word, row: Some(row) })
}

/// All such calls.
pub(crate) fn calls() -> impl Iterator<Item = TileCall> {
    let words =
        TILE_OPS.iter().flat_map(|row| row.pto.iter().map(move |word| TileCall { word, row: Some(row) }));
    words.chain([TileCall { word: &STORE_SCALAR, row: None }])
}
