//! What modules say, and not where: for tests that compare those of different texts.

use std::fmt::Debug;

/// All of a module, or of a part of one, but its source positions, each of which `Debug` writes as `Span { … }`.
pub(crate) fn said(part: &impl Debug) -> String {
    let text = format!("{part:?}");
    let mut pieces = text.split("Span {");
    let first = pieces.next().into_iter();
    first.chain(pieces.filter_map(|piece| piece.split_once('}')).map(|(_, rest)| rest)).collect()
}
