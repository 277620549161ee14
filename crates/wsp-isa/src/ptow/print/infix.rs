//! Expressions as people write them.
//!
//! The words are run on a stack of texts. What this cannot express (skips that are no `? :`, operands that name nothing)
//! has no infix form, and neither has what would not read as the same words: the caller checks that.

use super::Printer;
use crate::ptow::operators::{AND, ATOM, CHOOSE, Form, OR, PREFIX, form};
use wsp_core::ptow::{MAX_EXPR_WORDS, Operand, Word, XOp};

/// An operand's text.
#[derive(Clone, Debug)]
struct Entry {
    text: String,
    binds: u8,
    is: Is,
}

/// What `&&` and `||` need to know of their parts.
#[derive(Clone, Debug)]
enum Is {
    /// An integer.
    Number(i64),
    /// The result of `x != 0`.
    NotZero(Box<Entry>),
    /// Something else.
    Other,
}

impl Entry {
    fn atom(text: String) -> Entry {
        Entry { text, binds: ATOM, is: Is::Other }
    }

    /// The text as an operand of something that binds with `binds`.
    fn within(&self, binds: u8) -> String {
        if self.binds < binds { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// The infix form of the words of one expression.
pub(super) fn infix(printer: &Printer<'_>, words: &[Word]) -> Option<String> {
    if words.len() > MAX_EXPR_WORDS {
        return None;
    }
    Some(value(printer, words)?.text)
}

/// The one value that these words leave on the stack.
fn value(printer: &Printer<'_>, words: &[Word]) -> Option<Entry> {
    let mut stack = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let op = XOp::from_code(word.opcode)?;
        at += 1;
        match op {
            XOp::XSkipZero => {
                // `condition skipz then-part skip else-part`
                let condition: Entry = stack.pop()?;
                let otherwise = at.checked_add(word.operand2 as usize)?;
                let (skip, then) = words.get(at..otherwise)?.split_last()?;
                let end = otherwise.checked_add(skip.operand2 as usize)?;
                if XOp::from_code(skip.opcode) != Some(XOp::XSkip) {
                    return None;
                }
                let (then, otherwise) = (value(printer, then)?, value(printer, words.get(otherwise..end)?)?);
                stack.push(choose(condition, then, otherwise));
                at = end;
            }
            XOp::XSkip => return None,
            XOp::XConst => {
                let high = words.get(at).filter(|next| next.opcode == XOp::XHigh.code());
                at += usize::from(high.is_some());
                stack.push(number(match high {
                    Some(high) => (i64::from(high.operand2 as i32) << 32) | i64::from(word.operand2),
                    None => i64::from(word.operand2 as i32),
                }));
            }
            op => {
                let entry = operation(printer, op, word.operand2, &mut stack)?;
                stack.push(entry);
            }
        }
    }
    let entry = stack.pop()?;
    stack.is_empty().then_some(entry)
}

fn number(value: i64) -> Entry {
    let binds = if value < 0 { PREFIX } else { ATOM };
    Entry { text: value.to_string(), binds, is: Is::Number(value) }
}

fn choose(condition: Entry, then: Entry, otherwise: Entry) -> Entry {
    let entry = |text, binds| Entry { text, binds, is: Is::Other };
    match (&then.is, &otherwise.is) {
        (Is::NotZero(then), Is::Number(0)) => {
            entry(format!("{} && {}", condition.within(AND), then.within(AND + 1)), AND)
        }
        (Is::Number(1), Is::NotZero(otherwise)) => {
            entry(format!("{} || {}", condition.within(OR), otherwise.within(OR + 1)), OR)
        }
        _ => {
            let condition = condition.within(CHOOSE + 1);
            entry(format!("{condition} ? {} : {}", then.within(CHOOSE), otherwise.within(CHOOSE)), CHOOSE)
        }
    }
}

/// An operation that is no skip and no integer.
fn operation(printer: &Printer<'_>, op: XOp, operand: u32, stack: &mut Vec<Entry>) -> Option<Entry> {
    let name = |kind| printer.named(kind, operand);
    Some(match form(op) {
        Form::Infix(binds, sign) => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            let text = format!("{} {sign} {}", left.within(binds), right.within(binds + 1));
            let against_zero = op == XOp::XNe && matches!(right.is, Is::Number(0));
            let is = if against_zero { Is::NotZero(Box::new(left)) } else { Is::Other };
            Entry { text, binds, is }
        }
        Form::Call => {
            let (right, left) = (stack.pop()?, stack.pop()?);
            Entry::atom(format!("{}({}, {})", op.info().mnemonic, left.text, right.text))
        }
        Form::Prefix(sign) => {
            let inner = stack.pop()?;
            // A sign before a number would be part of the number.
            let inner = if matches!(inner.is, Is::Number(_)) {
                format!("({})", inner.text)
            } else {
                inner.within(PREFIX)
            };
            Entry { text: format!("{sign}{inner}"), binds: PREFIX, is: Is::Other }
        }
        Form::Own => Entry::atom(match op {
            XOp::XValue => name(Operand::Value)?,
            XOp::XVar => name(Operand::Depth)?,
            XOp::XPos => format!("pos({})", name(Operand::Depth)?),
            XOp::XAxis => format!("axis({})", name(Operand::Axis)?),
            XOp::XLen => format!("len({})", name(Operand::Table)?),
            XOp::XSlot => format!("slot({operand})"),
            XOp::XTable => format!("{}[{}]", name(Operand::Table)?, stack.pop()?.text),
            _ => return None,
        }),
    })
}
