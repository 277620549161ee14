//! Codes of the diagnostics of this text form. `wsp explain` has their long form.

use wsp_ir::diag::Code;

/// The text has more bytes than are read.
pub(super) const TOO_LARGE: Code = Code(1400);
/// More errors than are kept.
pub(super) const TOO_MANY_ERRORS: Code = Code(1401);
/// A character, number, string or comment that is none.
pub(super) const BAD_TOKEN: Code = Code(1402);
/// No statement begins with this word.
pub(super) const UNKNOWN_STATEMENT: Code = Code(1403);
/// Something else was needed.
pub(super) const EXPECTED: Code = Code(1404);
/// Operands that are missing, too many, unknown or given twice.
pub(super) const OPERANDS: Code = Code(1405);
/// A name that nothing defines.
pub(super) const UNKNOWN_NAME: Code = Code(1406);
/// A word that is none of the choices.
pub(super) const UNKNOWN_CHOICE: Code = Code(1407);
/// A number that does not fit where it stands.
pub(super) const OUT_OF_RANGE: Code = Code(1408);
/// An expression where a constant is needed.
pub(super) const NOT_CONSTANT: Code = Code(1409);
/// Constants whose value cannot be computed.
pub(super) const ARITHMETIC: Code = Code(1410);
/// An expression that is too large or nested too deeply.
pub(super) const TOO_DEEP: Code = Code(1411);
/// A name that is declared twice, or that cannot be declared.
pub(super) const DECLARED_TWICE: Code = Code(1412);
/// A tensor that nothing declares.
pub(super) const UNDECLARED_TENSOR: Code = Code(1413);
