//! Codes of the diagnostics of the binary form. `wsp explain` has their long form.

use wsp_ir::diag::Code;

/// Bytes that are no task graph, or of another version.
pub(super) const NOT_A_UNIT: Code = Code(1430);
/// A file that is damaged or cut off.
pub(super) const DAMAGED: Code = Code(1431);
/// A unit that the format cannot hold.
pub(super) const DOES_NOT_FIT: Code = Code(1432);
/// A unit that refers to what it does not have.
pub(super) const INCONSISTENT: Code = Code(1433);
