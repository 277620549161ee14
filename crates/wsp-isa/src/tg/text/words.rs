//! Words that the text form gives a meaning, and what is an identifier.

use wsp_core::tg::ExprOp;

/// Words with a number of their own among identifiers: behind the mnemonics, in this order.
pub(super) const WORDS: [&str; 19] = [
    "use",
    "extern",
    "const",
    "arg",
    "host",
    "reference",
    "name",
    "copy",
    "iter",
    "event",
    "default",
    "min",
    "max",
    "load",
    "postfix",
    "iteration",
    "device",
    "devices",
    "in",
];

/// Words that begin a statement, other than mnemonics.
pub(super) const STATEMENTS: [&str; 7] = ["use", "extern", "const", "arg", "host", "reference", "name"];

/// Whether an expression that has this word as a name would mean something else.
pub(super) fn is_expression_word(text: &str) -> bool {
    matches!(text, "iteration" | "device" | "devices")
}

/// Whether a text can stand as a name.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && bytes.all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// How an operation of expressions is written between, before or around its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Between two operands; binds as strongly as the number says.
    Infix(u8, &'static str),
    /// Before its operand.
    Prefix(&'static str),
    /// As a function of two operands.
    Call(&'static str),
    /// Something else.
    Other,
}

/// How strongly the operators before an operand bind: more than those between operands.
pub(super) const PREFIX: u8 = 7;

/// How an operation is written.
pub(super) fn form(op: ExprOp) -> Form {
    match op {
        ExprOp::Or => Form::Infix(1, "||"),
        ExprOp::And => Form::Infix(2, "&&"),
        ExprOp::Eq => Form::Infix(3, "=="),
        ExprOp::Ne => Form::Infix(3, "!="),
        ExprOp::Lt => Form::Infix(4, "<"),
        ExprOp::Le => Form::Infix(4, "<="),
        ExprOp::Gt => Form::Infix(4, ">"),
        ExprOp::Ge => Form::Infix(4, ">="),
        ExprOp::Add => Form::Infix(5, "+"),
        ExprOp::Sub => Form::Infix(5, "-"),
        ExprOp::Mul => Form::Infix(6, "*"),
        ExprOp::Div => Form::Infix(6, "/"),
        ExprOp::Rem => Form::Infix(6, "%"),
        ExprOp::Neg => Form::Prefix("-"),
        ExprOp::Not => Form::Prefix("!"),
        ExprOp::Min => Form::Call("min"),
        ExprOp::Max => Form::Call("max"),
        ExprOp::End
        | ExprOp::Const(_)
        | ExprOp::Iter(_)
        | ExprOp::Arg(_)
        | ExprOp::Load(..)
        | ExprOp::Iteration
        | ExprOp::Device
        | ExprOp::Devices
        | ExprOp::SkipZero(_)
        | ExprOp::SkipNonZero(_) => Form::Other,
    }
}

/// Operations that take their operands from what stands before them, with the word that they are in `postfix(…)`.
pub(super) const OPERATORS: [(ExprOp, &str); 15] = [
    (ExprOp::Add, "add"),
    (ExprOp::Sub, "sub"),
    (ExprOp::Mul, "mul"),
    (ExprOp::Div, "div"),
    (ExprOp::Rem, "rem"),
    (ExprOp::Min, "min"),
    (ExprOp::Max, "max"),
    (ExprOp::Eq, "eq"),
    (ExprOp::Ne, "ne"),
    (ExprOp::Lt, "lt"),
    (ExprOp::Le, "le"),
    (ExprOp::Gt, "gt"),
    (ExprOp::Ge, "ge"),
    (ExprOp::And, "and"),
    (ExprOp::Or, "or"),
];

/// Operations of one operand, as in [`OPERATORS`].
pub(super) const PREFIX_OPERATORS: [(ExprOp, &str); 2] = [(ExprOp::Not, "not"), (ExprOp::Neg, "neg")];

/// A skip of so many operations.
type Skip = fn(u32) -> ExprOp;

/// Skips, with the word that each is in `postfix(…)`.
pub(super) const SKIPS: [(Skip, &str); 2] = [(ExprOp::SkipZero, "skipz"), (ExprOp::SkipNonZero, "skipnz")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_words_of_letters_digits_and_underscores() {
        for good in ["a", "_", "Q_TENSOR", "x1"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "1x", "a-b", "a b", "é", "a.b"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }

    #[test]
    fn statements_are_words() {
        assert!(STATEMENTS.iter().all(|word| WORDS.contains(word)));
    }
}
