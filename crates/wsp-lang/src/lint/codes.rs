//! Diagnostic codes of warnings, WSP0260-WSP0279.

use wsp_ir::diag::Code;
pub(crate) use wsp_ir::diag::UNUSED_ITEM;

/// A variable of a function that is never read.
pub(crate) const UNUSED_VARIABLE: Code = Code(260);
/// A field of a descriptor that is set and that no kernel reads.
pub(crate) const UNUSED_FIELD: Code = Code(262);
/// A kernel or space that no launch reaches.
pub(crate) const NEVER_LAUNCHED: Code = Code(263);
/// A tile that is read before anything is in it.
pub(crate) const UNWRITTEN_TILE: Code = Code(264);
/// A tile that is stored and was never loaded or computed.
pub(crate) const UNWRITTEN_STORE: Code = Code(265);
/// A condition that is always true or always false.
pub(crate) const CONSTANT_CONDITION: Code = Code(266);
/// A loop that cannot end.
pub(crate) const ENDLESS_LOOP: Code = Code(267);
/// A tensor that no launched kernel writes.
pub(crate) const NEVER_WRITTEN: Code = Code(268);
/// A statement that no path reaches.
pub(crate) const UNREACHABLE: Code = Code(269);
