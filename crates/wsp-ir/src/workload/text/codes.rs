//! Codes of reading `.wsp` text. `wsp explain` has their long form.

use crate::diag::Code;

/// The file has more bytes than a source may have.
pub(super) const SOURCE_TOO_LARGE: Code = Code(700);
/// More errors than are kept.
pub(super) const TOO_MANY_ERRORS: Code = Code(701);
/// A character that starts no token.
pub(super) const STRAY_CHARACTER: Code = Code(702);
/// `/*` without `*/`.
pub(super) const UNTERMINATED_COMMENT: Code = Code(703);
/// A string without an end, or one where none can stand.
pub(super) const BAD_STRING: Code = Code(704);
/// A word that starts with a digit and is no integer.
pub(super) const MALFORMED_NUMBER: Code = Code(705);
/// An integer that does not fit what it is for.
pub(super) const NUMBER_OUT_OF_RANGE: Code = Code(706);
/// A name with characters outside ASCII.
pub(super) const NON_ASCII_NAME: Code = Code(707);
/// Some other token was needed.
pub(super) const EXPECTED_TOKEN: Code = Code(708);
/// A statement or item does not end.
pub(super) const EXPECTED_SEMICOLON: Code = Code(709);
/// `(`, `[` or `{` without its partner.
pub(super) const UNCLOSED: Code = Code(710);
/// `)`, `]` or `}` without its partner.
pub(super) const UNMATCHED_CLOSER: Code = Code(711);
/// An expression was needed.
pub(super) const EXPECTED_EXPRESSION: Code = Code(712);
/// A name was needed.
pub(super) const EXPECTED_NAME: Code = Code(713);
/// Something that cannot stand at file level.
pub(super) const EXPECTED_ITEM: Code = Code(714);
/// Something that is no statement.
pub(super) const EXPECTED_STATEMENT: Code = Code(715);
/// Statements or expressions nest too deeply.
pub(super) const NESTED_TOO_DEEPLY: Code = Code(716);
/// Written as in another language.
pub(super) const FOREIGN_SYNTAX: Code = Code(717);
/// A range without one of its ends, or an inclusive one.
pub(super) const BAD_RANGE: Code = Code(718);
/// `a < b < c`.
pub(super) const COMPARISON_CHAIN: Code = Code(719);
/// `else` without `if`.
pub(super) const LONE_ELSE: Code = Code(720);

/// Two declarations of one name.
pub(super) const DECLARED_TWICE: Code = Code(730);
/// A name that nothing declares.
pub(super) const UNDECLARED_NAME: Code = Code(731);
/// A name that stands for something else than is needed.
pub(super) const WRONG_KIND: Code = Code(732);
/// A kernel that nothing declares.
pub(super) const UNDECLARED_KERNEL: Code = Code(733);
/// A label that nothing before defines.
pub(super) const UNDECLARED_LABEL: Code = Code(734);
/// A schedule statement that does not exist.
pub(super) const UNKNOWN_DIRECTIVE: Code = Code(735);
/// A setting of `task_graph` that does not exist.
pub(super) const UNKNOWN_SETTING: Code = Code(736);
/// A word that is none of those which can stand here.
pub(super) const UNKNOWN_WORD: Code = Code(737);
/// A channel that nothing before declares.
pub(super) const UNDECLARED_CHANNEL: Code = Code(739);
/// Arguments of a form that takes others.
pub(super) const FORM_ARGUMENTS: Code = Code(738);
