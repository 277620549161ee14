//! Arrays, parameters and binding at launch: WSP0500-WSP0599.

use super::CodeInfo;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[];
