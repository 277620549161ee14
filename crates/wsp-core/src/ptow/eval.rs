//! Expressions: what they compute, and what goes wrong when they do not.
//!
//! Arithmetic is of 64-bit integers, checked. Evaluation is total: whatever the words, the launch and the variables are, it
//! ends with a value or says why there is none.

use super::{Launch, MAX_EXPR_STACK, MAX_LOOP_DEPTH, Program, Word, X_LAST, XOPS, XOp};
use crate::SlotId;
use crate::int::{BinOp, Fault, Int as _, Stack};
use crate::words::counted;
use core::fmt;

/// What the names of an expression stand for.
pub trait Env {
    /// The variable of the enclosing loop at this depth.
    fn var(&self, depth: u16) -> i64;

    /// The position, in the table of columns, of the SELECT at this depth; of other loops the variable.
    fn pos(&self, depth: u16) -> i64;

    /// The variable of the innermost enclosing loop over this axis, 0 when there is none.
    fn axis(&self, axis: u16) -> i64;

    /// The value of a computed slot; none before it has one.
    fn slot(&mut self, slot: SlotId) -> Option<i64>;
}

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// It is at fault.
    Fault(ExprFault),
    /// It needs a slot that has no value yet; evaluated again, it may have one.
    Waits(SlotId),
}

/// An expression at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExprFault {
    /// What is wrong.
    pub kind: ExprFaultKind,
    /// The word at fault, an index into [`Program::exprs`].
    pub word: u32,
}

/// What is wrong with an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExprFaultKind {
    /// The result of an operation does not fit.
    Overflow {
        /// The operation.
        op: XOp,
        /// Its first operand.
        left: i64,
        /// Its second operand.
        right: i64,
    },
    /// The negation of the smallest integer.
    NegOverflow,
    /// Division by zero.
    DivisionByZero {
        /// The dividend.
        left: i64,
    },
    /// An index outside its table.
    TableIndex {
        /// The table, as the program counts them.
        table: u16,
        /// The index.
        index: i64,
        /// Elements of the table.
        len: u64,
    },
    /// The launch lacks a value or table that the word names, or the word is none of a verified program.
    Malformed,
}

impl fmt::Display for ExprFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expression word {}: ", self.word)?;
        match self.kind {
            ExprFaultKind::Overflow { op, left, right } => {
                write!(f, "`{}` of {left} and {right} does not fit into 64 bits", op.info().mnemonic)
            }
            ExprFaultKind::NegOverflow => write!(f, "`neg` of {} does not fit into 64 bits", i64::MIN),
            ExprFaultKind::DivisionByZero { left } => write!(f, "{left} is divided by 0"),
            ExprFaultKind::TableIndex { table, index, len } => {
                write!(
                    f,
                    "index {index} is outside table {table}, which has {len}",
                    len = counted(len, "element")
                )
            }
            ExprFaultKind::Malformed => {
                write!(f, "the launch does not give what it names; bind every value and table of the program")
            }
        }
    }
}

/// Loop variables and positions by depth: what closed bodies need to know of their surroundings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vars {
    /// Variables, outermost first.
    pub values: [i64; MAX_LOOP_DEPTH],
    /// Positions of SELECTs' entries; of other loops the variable.
    pub positions: [i64; MAX_LOOP_DEPTH],
}

impl Vars {
    /// Sets the variable at a depth, and its position. Depths past the limit are left out.
    #[inline]
    pub fn set(&mut self, depth: usize, value: i64, position: i64) {
        if let (Some(at), Some(pos)) = (self.values.get_mut(depth), self.positions.get_mut(depth)) {
            *at = value;
            *pos = position;
        }
    }
}

/// Variables without axes; slots have no value.
impl Env for Vars {
    #[inline]
    fn var(&self, depth: u16) -> i64 {
        self.values.get(usize::from(depth)).copied().unwrap_or(0)
    }

    #[inline]
    fn pos(&self, depth: u16) -> i64 {
        self.positions.get(usize::from(depth)).copied().unwrap_or(0)
    }

    fn axis(&self, _: u16) -> i64 {
        0
    }

    fn slot(&mut self, _: SlotId) -> Option<i64> {
        None
    }
}

/// The value of the expression whose first word is `expr`.
///
/// # Errors
/// When it is at fault, or needs a slot that has no value yet.
#[inline]
pub fn eval<E: Env>(program: &Program<'_>, launch: &Launch<'_>, expr: u32, env: &mut E) -> Result<i64, Halt> {
    match program.exprs.get(expr as usize..) {
        Some([word, ..]) if word.flags & X_LAST != 0 => {
            let op = XOp::from_code(word.opcode).ok_or_else(|| malformed(expr))?;
            leaf(launch, op, word, expr, env)
        }
        // Most others are of two names or numbers, and need no stack.
        Some([left, right, last, ..]) if last.flags & X_LAST != 0 => {
            match (plain(left), plain(right), XOp::from_code(last.opcode).and_then(XOp::operator)) {
                (Some(one), Some(other), Some(operator)) => {
                    let one = leaf(launch, one, left, expr, env)?;
                    let other = leaf(launch, other, right, expr.wrapping_add(1), env)?;
                    i64::binary(operator, one, other).map_err(|because| {
                        let op = XOp::from_code(last.opcode).unwrap_or(XOp::XAdd);
                        fault(kind(op, because, one, other), expr.wrapping_add(2))
                    })
                }
                _ => run(program, launch, expr, env),
            }
        }
        _ => run(program, launch, expr, env),
    }
}

/// The operation of a word that is not the last and has no operands.
#[inline]
fn plain(word: &Word) -> Option<XOp> {
    let op = XOp::from_code(word.opcode)?;
    (word.flags & X_LAST == 0 && op.operands() == 0 && op != XOp::XSkip).then_some(op)
}

/// An expression of several words.
fn run<E: Env>(program: &Program<'_>, launch: &Launch<'_>, expr: u32, env: &mut E) -> Result<i64, Halt> {
    let mut stack = Stack::<MAX_EXPR_STACK>::new();
    let mut at = expr;
    loop {
        let mut word = program.exprs.get(at as usize).ok_or_else(|| malformed(at))?;
        let op = XOp::from_code(word.opcode).ok_or_else(|| malformed(at))?;
        match op {
            XOp::XSkip => at = skip(at, word.operand2)?,
            XOp::XSkipZero => {
                if stack.pop().ok_or_else(|| malformed(at))? == 0 {
                    at = skip(at, word.operand2)?;
                }
            }
            XOp::XConst | XOp::XValue | XOp::XVar | XOp::XPos | XOp::XAxis | XOp::XLen | XOp::XSlot => {
                stack.push(leaf(launch, op, word, at, env)?).ok_or_else(|| malformed(at))?;
            }
            XOp::XHigh | XOp::XTable | XOp::XNeg | XOp::XNot => {
                let top = stack.top().ok_or_else(|| malformed(at))?;
                *top = unary(op, *top, word, launch).map_err(|kind| fault(kind, at))?;
            }
            // The most frequent ones on their own: the operation is then known where it is computed.
            XOp::XAdd => two(&mut stack, XOp::XAdd, at)?,
            XOp::XSub => two(&mut stack, XOp::XSub, at)?,
            XOp::XMul => two(&mut stack, XOp::XMul, at)?,
            XOp::XDiv | XOp::XRem | XOp::XCeilDiv | XOp::XMin | XOp::XMax => two(&mut stack, op, at)?,
            XOp::XEq | XOp::XNe | XOp::XLt | XOp::XLe | XOp::XGt | XOp::XGe => two(&mut stack, op, at)?,
        }
        if matches!(op, XOp::XSkip | XOp::XSkipZero) {
            word = program.exprs.get(at as usize).ok_or_else(|| malformed(at))?;
        }
        if word.flags & X_LAST != 0 {
            return stack.pop().ok_or_else(|| malformed(at));
        }
        at = at.wrapping_add(1);
    }
}

/// The last of the words that a skip goes past.
#[inline]
fn skip(at: u32, past: u32) -> Result<u32, Halt> {
    at.checked_add(past).ok_or_else(|| malformed(at))
}

/// What an operation without operands gives.
#[inline]
fn leaf<E: Env>(launch: &Launch<'_>, op: XOp, word: &Word, at: u32, env: &mut E) -> Result<i64, Halt> {
    let value = match op {
        XOp::XConst => Some(i64::from(word.operand2.cast_signed())),
        XOp::XValue => launch.values.get(word.operand2 as usize).copied(),
        XOp::XVar => Some(env.var(word.operand2 as u16)),
        XOp::XPos => Some(env.pos(word.operand2 as u16)),
        XOp::XAxis => Some(env.axis(word.operand2 as u16)),
        XOp::XLen => launch.tables.get(word.operand2 as usize).map(|table| table.len() as i64),
        XOp::XSlot => {
            let slot = SlotId(word.operand2);
            return env.slot(slot).ok_or(Halt::Waits(slot));
        }
        _ => None,
    };
    value.ok_or_else(|| malformed(at))
}

/// What an operation with one operand gives.
#[inline]
pub(super) fn unary(op: XOp, top: i64, word: &Word, launch: &Launch<'_>) -> Result<i64, ExprFaultKind> {
    match op {
        XOp::XHigh => {
            Ok(((u64::from(word.operand2) << 32) | (top.cast_unsigned() & 0xFFFF_FFFF)).cast_signed())
        }
        XOp::XNot => Ok(i64::from(top == 0)),
        XOp::XNeg => top.negated().map_err(|_| ExprFaultKind::NegOverflow),
        XOp::XTable => {
            let table = launch.tables.get(word.operand2 as usize).ok_or(ExprFaultKind::Malformed)?;
            let found = usize::try_from(top).ok().and_then(|index| table.get(index));
            let outside = ExprFaultKind::TableIndex {
                table: word.operand2 as u16,
                index: top,
                len: table.len() as u64,
            };
            found.copied().ok_or(outside)
        }
        _ => Err(ExprFaultKind::Malformed),
    }
}

/// Replaces the two on top by what an operation makes of them.
#[inline(always)]
fn two(stack: &mut Stack<MAX_EXPR_STACK>, op: XOp, at: u32) -> Result<(), Halt> {
    let found = op.operator().and_then(|operator| stack.binary(operator));
    found
        .ok_or_else(|| malformed(at))?
        .map_err(|(because, left, right)| fault(kind(op, because, left, right), at))
}

/// Why an operation has no result for these operands.
#[cold]
fn kind(op: XOp, fault: Fault, left: i64, right: i64) -> ExprFaultKind {
    match fault {
        Fault::DivisionByZero => ExprFaultKind::DivisionByZero { left },
        Fault::Overflow | Fault::ShiftRange => ExprFaultKind::Overflow { op, left, right },
    }
}

fn fault(kind: ExprFaultKind, word: u32) -> Halt {
    Halt::Fault(ExprFault { kind, word })
}

#[cold]
fn malformed(word: u32) -> Halt {
    fault(ExprFaultKind::Malformed, word)
}

impl XOp {
    /// The operator that makes one value of two, if it is one. Written out, so that an operation that is added does not compile
    /// before this file has been looked at.
    #[inline]
    pub const fn operator(self) -> Option<BinOp> {
        Some(match self {
            XOp::XAdd => BinOp::Add,
            XOp::XSub => BinOp::Sub,
            XOp::XMul => BinOp::Mul,
            XOp::XDiv => BinOp::Div,
            XOp::XRem => BinOp::Rem,
            XOp::XCeilDiv => BinOp::CeilDiv,
            XOp::XMin => BinOp::Min,
            XOp::XMax => BinOp::Max,
            XOp::XEq => BinOp::Eq,
            XOp::XNe => BinOp::Ne,
            XOp::XLt => BinOp::Lt,
            XOp::XLe => BinOp::Le,
            XOp::XGt => BinOp::Gt,
            XOp::XGe => BinOp::Ge,
            XOp::XConst
            | XOp::XValue
            | XOp::XVar
            | XOp::XPos
            | XOp::XAxis
            | XOp::XLen
            | XOp::XSlot
            | XOp::XSkip
            | XOp::XHigh
            | XOp::XTable
            | XOp::XNeg
            | XOp::XNot
            | XOp::XSkipZero => return None,
        })
    }

    /// Whether there are operands, or tables, for which the operation has no result.
    pub fn can_fail(self) -> bool {
        let operator_can = self.operator().is_some_and(BinOp::can_fail);
        operator_can || matches!(self, XOp::XTable | XOp::XNeg)
    }

    /// The operation of an operator; none for `&&` and `||`, which are skips, and for those of bits.
    pub fn of(operator: BinOp) -> Option<XOp> {
        XOPS.iter().map(|row| row.op).find(|op| op.operator() == Some(operator))
    }

    /// How many operands it takes.
    #[inline]
    pub(super) const fn operands(self) -> u8 {
        match self {
            XOp::XHigh | XOp::XTable | XOp::XNeg | XOp::XNot | XOp::XSkipZero => 1,
            op if op.operator().is_some() => 2,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_take_what_the_table_says() {
        for row in XOPS {
            assert_eq!(row.op.operands(), row.pops, "{}", row.mnemonic);
        }
    }

    #[test]
    fn operators_that_evaluate_both_sides_have_one_operation_each_but_those_of_bits() {
        for &operator in BinOp::ALL {
            let found = XOPS.iter().filter(|row| row.op.operator() == Some(operator)).count();
            let expected = usize::from(!operator.is_logic() && !operator.is_bitwise());
            assert_eq!((found, XOp::of(operator).iter().count()), (expected, expected), "{operator:?}");
        }
    }
}
