//! How operations of expressions are written between or around their operands.

use wsp_core::ptow::XOp;

/// The form of an operation in text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `a op b`: how strongly it binds, and its sign.
    Infix(u8, &'static str),
    /// `name(a, b)`: its name is the mnemonic.
    Call,
    /// `op a`.
    Prefix(&'static str),
    /// Stands for itself or has a form of its own.
    Own,
}

/// How strongly `? :` binds.
pub(super) const CHOOSE: u8 = 1;
/// How strongly `||` binds.
pub(super) const OR: u8 = 2;
/// How strongly `&&` binds.
pub(super) const AND: u8 = 3;
/// How strongly a sign before its operand binds.
pub(super) const PREFIX: u8 = 8;
/// How strongly names, numbers and calls bind.
pub(super) const ATOM: u8 = 9;

/// The form of an operation.
pub(super) const fn form(op: XOp) -> Form {
    match op {
        XOp::XEq => Form::Infix(4, "=="),
        XOp::XNe => Form::Infix(4, "!="),
        XOp::XLt => Form::Infix(5, "<"),
        XOp::XLe => Form::Infix(5, "<="),
        XOp::XGt => Form::Infix(5, ">"),
        XOp::XGe => Form::Infix(5, ">="),
        XOp::XAdd => Form::Infix(6, "+"),
        XOp::XSub => Form::Infix(6, "-"),
        XOp::XMul => Form::Infix(7, "*"),
        XOp::XDiv => Form::Infix(7, "/"),
        XOp::XRem => Form::Infix(7, "%"),
        XOp::XMin | XOp::XMax | XOp::XCeilDiv => Form::Call,
        XOp::XNeg => Form::Prefix("-"),
        XOp::XNot => Form::Prefix("!"),
        XOp::XConst
        | XOp::XHigh
        | XOp::XValue
        | XOp::XVar
        | XOp::XPos
        | XOp::XAxis
        | XOp::XTable
        | XOp::XLen
        | XOp::XSlot
        | XOp::XSkipZero
        | XOp::XSkip => Form::Own,
    }
}

/// The words of an integer: one, or two when it needs more than 32 bits.
pub(super) fn constant(value: i64) -> impl Iterator<Item = wsp_core::ptow::Word> {
    let word = |op: XOp, operand2| wsp_core::ptow::Word { opcode: op.code(), operand2, ..Default::default() };
    let fits = i32::try_from(value).is_ok();
    let high = (!fits).then(|| word(XOp::XHigh, (value >> 32) as u32));
    [word(XOp::XConst, value as u32)].into_iter().chain(high)
}
