//! Lowering, schedules and capabilities: WSP0400-WSP0499.

use super::CodeInfo;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[];
