//! Expressions of every operation.

use super::Choices;
use wsp_core::ptow::{AxisForm, Counts, Operand, Word, X_LAST, XOPS, XOp, XOpInfo};

/// Words after which only the simplest operands follow; far below the limit of an expression.
const MAX_WORDS: usize = 48;
/// Operations inside each other.
const MAX_NESTING: u32 = 5;

/// What an expression may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    /// Variables, of which the bits of `selects` are those of SELECTs.
    Body { vars: u8, selects: u16 },
    /// Indices of axes.
    Axes,
    /// Values and tables.
    Launch,
}

/// What there is to name.
pub(super) struct Names<'n> {
    pub(super) counts: Counts,
    pub(super) axes: &'n [AxisForm],
}

/// An expression; its last word is marked.
pub(super) fn expression(choices: &mut Choices<'_>, names: &Names<'_>, over: Over) -> Vec<Word> {
    let mut words = Vec::new();
    build(choices, names, over, MAX_NESTING, &mut words);
    if let Some(last) = words.last_mut() {
        last.flags = X_LAST;
    }
    words
}

/// The words of an integer: one, or two when it needs more than 32 bits.
fn constant(value: i64) -> impl Iterator<Item = Word> {
    let high = i32::try_from(value).is_err().then(|| word(XOp::XHigh, (value >> 32) as u32));
    [word(XOp::XConst, value as u32)].into_iter().chain(high)
}

fn word(op: XOp, operand2: u32) -> Word {
    Word { opcode: op.code(), operand2, ..Word::default() }
}

fn build(choices: &mut Choices<'_>, names: &Names<'_>, over: Over, nesting: u32, words: &mut Vec<Word>) {
    let simple = nesting == 0 || words.len() > MAX_WORDS || choices.once_in(3);
    let row = if simple { None } else { choices.pick(XOPS) };
    let Some(row) = row.filter(|_| !choices.is_spent()) else {
        return leaf(choices, names, over, words);
    };
    let inner = nesting.saturating_sub(1);
    match row.op {
        XOp::XHigh => words.extend(constant(choices.wide() as i64)),
        XOp::XSkip => {
            build(choices, names, over, inner, words);
            words.push(word(XOp::XSkip, 0));
        }
        XOp::XSkipZero if choices.once_in(3) => {
            build(choices, names, over, inner, words);
            build(choices, names, over, inner, words);
            words.extend([word(XOp::XSkipZero, 1), word(XOp::XNeg, 0)]);
        }
        XOp::XSkipZero => choose(choices, names, over, inner, words),
        _ if row.pops == 0 => leaf_of(choices, names, over, row, words),
        _ => {
            let Some(operand) = operand(choices, names, over, row.operand) else {
                return leaf(choices, names, over, words);
            };
            for _ in 0..row.pops {
                build(choices, names, over, inner, words);
            }
            words.push(word(row.op, operand));
        }
    }
}

/// One part or the other, sometimes as `&&` and `||` are written.
fn choose(choices: &mut Choices<'_>, names: &Names<'_>, over: Over, nesting: u32, words: &mut Vec<Word>) {
    build(choices, names, over, nesting, words);
    let (mut then, mut otherwise) = (Vec::new(), Vec::new());
    let not_zero = [word(XOp::XConst, 0), word(XOp::XNe, 0)];
    match choices.below(3) {
        1 => {
            build(choices, names, over, nesting, &mut then);
            then.extend(not_zero);
            otherwise.push(word(XOp::XConst, 0));
        }
        2 => {
            then.push(word(XOp::XConst, 1));
            build(choices, names, over, nesting, &mut otherwise);
            otherwise.extend(not_zero);
        }
        _ => {
            build(choices, names, over, nesting, &mut then);
            build(choices, names, over, nesting, &mut otherwise);
        }
    }
    words.push(word(XOp::XSkipZero, then.len() as u32 + 1));
    words.extend(then);
    words.push(word(XOp::XSkip, otherwise.len() as u32));
    words.extend(otherwise);
}

/// A leaf of any kind, or a number.
fn leaf(choices: &mut Choices<'_>, names: &Names<'_>, over: Over, words: &mut Vec<Word>) {
    let leaves: Vec<&XOpInfo> =
        XOPS.iter().filter(|row| row.pops == 0 && row.pushes == 1 && row.op != XOp::XConst).collect();
    match choices.pick(&leaves) {
        Some(row) if !choices.is_spent() && !choices.once_in(3) => leaf_of(choices, names, over, row, words),
        _ => words.push(word(XOp::XConst, choices.below(9) as u32)),
    }
}

fn leaf_of(choices: &mut Choices<'_>, names: &Names<'_>, over: Over, row: &XOpInfo, words: &mut Vec<Word>) {
    let known = match (row.op, over) {
        (XOp::XVar | XOp::XPos | XOp::XSlot, Over::Body { .. }) | (XOp::XAxis, Over::Axes) => true,
        (XOp::XVar | XOp::XPos | XOp::XSlot | XOp::XAxis, _) => false,
        _ => true,
    };
    let operand = match row.op {
        XOp::XPos => {
            let selects = if let Over::Body { selects, .. } = over { selects } else { 0 };
            (0..16)
                .filter(|depth| selects >> depth & 1 == 1)
                .nth(choices.below(selects.count_ones() as usize))
        }
        _ => operand(choices, names, over, row.operand),
    };
    match operand.filter(|_| known) {
        Some(operand) => words.push(word(row.op, operand)),
        None => words.push(word(XOp::XConst, choices.byte() as i8 as u32)),
    }
}

/// An operand of an expression word; none when there is nothing to name.
fn operand(choices: &mut Choices<'_>, names: &Names<'_>, over: Over, kind: Operand) -> Option<u32> {
    let mut row = |count: u16| (count > 0).then(|| choices.below(usize::from(count)) as u32);
    match kind {
        Operand::None => Some(0),
        Operand::Value => row(names.counts.values),
        Operand::Table => row(names.counts.tables),
        Operand::Slot => row(names.counts.slots),
        Operand::Depth => match over {
            Over::Body { vars, .. } => row(u16::from(vars)),
            Over::Axes | Over::Launch => None,
        },
        Operand::Axis => {
            let known: Vec<u32> = (0u32..)
                .zip(names.axes)
                .filter(|(_, form)| **form != AxisForm::Range)
                .map(|(row, _)| row)
                .collect();
            choices.pick(&known).copied()
        }
        Operand::Imm => Some(choices.byte() as i8 as u32),
        _ => Some(0),
    }
}
