//! Syntax, names and types of .pto source: WSP0001-WSP0299.

use super::CodeInfo;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[];
