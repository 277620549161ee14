//! Rules of the IR verifier: WSP0300-WSP0399.

use super::CodeInfo;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[];
