//! Codes of the assembler's diagnostics. `wsp explain` has their long form.

use wsp_ir::diag::Code;

/// The text has more bytes than a source may have.
pub(super) const SOURCE_TOO_LARGE: Code = Code(910);
/// More errors than are kept.
pub(super) const TOO_MANY_ERRORS: Code = Code(911);
/// A character, number or string that is none.
pub(super) const BAD_TOKEN: Code = Code(912);
/// No instruction or directive has this name.
pub(super) const UNKNOWN_WORD: Code = Code(913);
/// Nothing that can stand here has this name.
pub(super) const UNKNOWN_NAME: Code = Code(914);
/// A name or a directive that stands twice.
pub(super) const DECLARED_TWICE: Code = Code(915);
/// Some other token was needed.
pub(super) const EXPECTED: Code = Code(916);
/// A number that does not fit where it stands.
pub(super) const OUT_OF_RANGE: Code = Code(917);
/// Expressions inside each other beyond what is read.
pub(super) const TOO_DEEP: Code = Code(918);
/// The program breaks a rule of the format.
pub(super) const RULE_BROKEN: Code = Code(919);
/// The program is larger than the format allows.
pub(super) const PROGRAM_TOO_LARGE: Code = Code(920);
/// Bytes that are no program.
pub(super) const NOT_A_PROGRAM: Code = Code(921);
