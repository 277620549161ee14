//! Faults while generators and kernels run: WSP0600-WSP0699.

use super::CodeInfo;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[];
