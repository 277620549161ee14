//! What programs declare and nothing uses, in every language.

use super::{Code, Diagnostic};
use crate::Span;

/// A declaration that nothing uses.
pub const UNUSED_ITEM: Code = Code(261);

/// Something that is never used.
pub fn unused(code: Code, message: String, span: Span) -> Diagnostic {
    Diagnostic::warning(code, message).at(span, "never used")
}

/// A name that says that it is meant to be unused.
pub fn is_meant(name: &str) -> bool {
    name.starts_with('_')
}
