//! Expressions as C++: postfix words become one expression where they can, a function with labels where they cannot.
//!
//! Every value is an `Int` of the support header, which carries its fault with it. So operands need no order, and a
//! choice may evaluate both sides, unless one waits for a slot.

use super::names::Names;
use super::summary::Leaves;
use super::tree::Loop;
use crate::writer::Writer;
use std::fmt::Write;
use wsp_core::ptow::{Program, Word, X_LAST, XOp};
use wsp_ordered::OrderedSet;

/// Deepest nesting of an expression that is written as one.
const MAX_NESTING: usize = 24;

/// The names of a loop variable.
#[derive(Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Of a `SELECT`, the position of its entry.
    pub(super) position: Option<String>,
    /// Whether it is the index of a loop over an axis.
    pub(super) is_index: bool,
}

impl Variable {
    /// The variable of a loop at a depth.
    pub(super) fn of_loop(names: &Names, loop_: &Loop, depth: usize) -> Variable {
        let stem = names.axis_stems.get(usize::from(loop_.axis)).filter(|stem| !stem.is_empty());
        let stem = stem.map_or_else(String::new, |stem| format!("_{stem}"));
        let position = loop_.is_sparse().then(|| format!("p{depth}{stem}"));
        Variable { name: format!("v{depth}{stem}"), position, is_index: true }
    }

    /// The variable of a `LET` at a depth.
    pub(super) fn of_let(depth: usize) -> Variable {
        Variable { name: format!("v{depth}"), position: None, is_index: false }
    }

    /// The number of the round of a `WHILE` at a depth.
    pub(super) fn of_rounds(depth: usize) -> Variable {
        Variable { name: format!("v{depth}_round"), position: None, is_index: false }
    }
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) names: &'a Names,
    /// Variables in scope, outermost first.
    pub(super) variables: &'a [Variable],
}

impl Place<'_> {
    /// The name of the variable at a depth.
    pub(super) fn variable(&self, depth: usize) -> &str {
        self.variables.get(depth).map_or("0", |variable| &variable.name)
    }

    fn position(&self, depth: usize) -> &str {
        let position = self.variables.get(depth).and_then(|variable| variable.position.as_deref());
        position.unwrap_or_else(|| self.variable(depth))
    }
}

/// The words of an expression, the last included.
pub(super) fn words<'a>(program: &Program<'a>, expr: u32) -> &'a [Word] {
    let tail = program.exprs.get(expr as usize..).unwrap_or(&[]);
    let last = tail.iter().position(|word| word.flags & X_LAST != 0);
    tail.get(..last.map_or(0, |last| last + 1)).unwrap_or(&[])
}

/// An expression under way: its text, and how deep it nests.
#[derive(Clone)]
struct Text {
    text: String,
    nesting: usize,
}

/// The expression as one of C++; none when it has to be a function.
pub(super) fn inline(place: Place<'_>, expr: u32) -> Option<String> {
    let words = words(place.program, expr);
    let skips = words.iter().any(is_skip);
    if skips && Leaves::of(place.program, expr).slots {
        return None;
    }
    let mut stack = straight(place, words, expr)?;
    let only = stack.pop().filter(|_| stack.is_empty())?;
    (only.nesting <= MAX_NESTING).then_some(only.text)
}

fn is_skip(word: &Word) -> bool {
    matches!(XOp::from_code(word.opcode), Some(XOp::XSkip | XOp::XSkipZero))
}

/// The stack that words leave, of which `first` is the first; none where skips are more than choices between two values.
fn straight(place: Place<'_>, words: &[Word], first: u32) -> Option<Vec<Text>> {
    let mut stack: Vec<Text> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        match XOp::from_code(word.opcode)? {
            XOp::XSkip => return None,
            XOp::XSkipZero => {
                let condition = stack.pop()?;
                let (then, otherwise, end) = choice(place, (words, first), at, word.operand2 as usize)?;
                at = end;
                let nesting = 1 + condition.nesting.max(then.nesting).max(otherwise.nesting);
                let text = format!("choose({}, {}, {})", condition.text, then.text, otherwise.text);
                stack.push(Text { text, nesting });
            }
            op => match op.info().pops {
                0 => stack.push(Text { text: leaf(place, op, word), nesting: 0 }),
                1 => {
                    let operand = stack.pop()?;
                    let text = match at.checked_sub(2).and_then(|before| wide(op, words.get(before)?, word)) {
                        Some(constant) => constant,
                        None => unary(place, op, word, &operand.text),
                    };
                    let text = placed(op, first + at as u32 - 1, text);
                    stack.push(Text { text, nesting: operand.nesting + 1 });
                }
                _ => {
                    let right = stack.pop()?;
                    let left = stack.pop()?;
                    let nesting = 1 + left.nesting.max(right.nesting);
                    let text = placed(op, first + at as u32 - 1, binary(op, &left, &right));
                    stack.push(Text { text, nesting });
                }
            },
        }
    }
    Some(stack)
}

/// The two sides of a choice whose first begins at a word and is `skip` words long, and where both end.
fn choice(
    place: Place<'_>,
    (words, begin): (&[Word], u32),
    first: usize,
    skip: usize,
) -> Option<(Text, Text, usize)> {
    let other = first.checked_add(skip)?;
    let leave = other.checked_sub(1).filter(|leave| *leave >= first)?;
    let jump = words.get(leave).filter(|word| XOp::from_code(word.opcode) == Some(XOp::XSkip))?;
    let end = other.checked_add(jump.operand2 as usize)?;
    let single = |from: usize, to: usize| {
        let mut stack = straight(place, words.get(from..to)?, begin + from as u32)?;
        stack.pop().filter(|_| stack.is_empty())
    };
    Some((single(first, leave)?, single(other, end)?, end))
}

/// An operation that may fail, with the word that it is of.
fn placed(op: XOp, word: u32, text: String) -> String {
    if op.can_fail() { format!("at({word}, {text})") } else { text }
}

fn leaf(place: Place<'_>, op: XOp, word: &Word) -> String {
    let index = word.operand2 as usize;
    let named = |names: &[String]| names.get(index).cloned().unwrap_or_else(|| index.to_string());
    match op {
        XOp::XConst => format!("Int({})", word.operand2.cast_signed()),
        XOp::XValue => format!("Int(s.value({}))", named(&place.names.values)),
        XOp::XVar => format!("Int({})", place.variable(index)),
        XOp::XPos => format!("Int({})", place.position(index)),
        XOp::XAxis => format!("Int(s.axis[{}])", named(&place.names.axes)),
        XOp::XLen => format!("Int(s.length({}))", named(&place.names.tables)),
        _ => format!("s.slot({index})"),
    }
}

/// A constant of more than 32 bits: `before` gives its lower half, `word` its upper.
fn wide(op: XOp, before: &Word, word: &Word) -> Option<String> {
    let lower = XOp::from_code(before.opcode).filter(|before| *before == XOp::XConst && op == XOp::XHigh);
    let value = lower.map(|_| (u64::from(word.operand2) << 32 | u64::from(before.operand2)).cast_signed())?;
    Some(if value == i64::MIN { "Int(INT64_MIN)".to_owned() } else { format!("Int(INT64_C({value}))") })
}

fn unary(place: Place<'_>, op: XOp, word: &Word, operand: &str) -> String {
    match op {
        XOp::XHigh => format!("high({operand}, {}u)", word.operand2),
        XOp::XNeg => format!("(-{operand})"),
        XOp::XNot => format!("(!{operand})"),
        _ => {
            let table = place.names.tables.get(word.operand2 as usize);
            let table = table.cloned().unwrap_or_else(|| word.operand2.to_string());
            format!("s.element({table}, {operand})")
        }
    }
}

fn binary(op: XOp, left: &Text, right: &Text) -> String {
    let (left, right) = (&left.text, &right.text);
    let sign = match op {
        XOp::XAdd => "+",
        XOp::XSub => "-",
        XOp::XMul => "*",
        XOp::XDiv => "/",
        XOp::XRem => "%",
        XOp::XEq => "==",
        XOp::XNe => "!=",
        XOp::XLt => "<",
        XOp::XLe => "<=",
        XOp::XGt => ">",
        XOp::XGe => ">=",
        XOp::XCeilDiv => return format!("ceil_div({left}, {right})"),
        XOp::XMin => return format!("smaller({left}, {right})"),
        _ => return format!("larger({left}, {right})"),
    };
    format!("({left} {sign} {right})")
}

/// Definition of the function of an expression, by its first word. Its parameters are the variables that it names, by depth:
/// see [`call`].
pub(super) fn function(program: &Program<'_>, names: &Names, expr: u32) -> String {
    let variables: Vec<Variable> = (0..u32::BITS)
        .map(|depth| Variable { position: Some(format!("p{depth}")), ..Variable::of_let(depth as usize) })
        .collect();
    let place = Place { program, names, variables: &variables };
    let words = words(program, expr);
    let mut writer = Writer::default();
    let parameters = arguments(place, expr).iter().fold(String::new(), |mut text, name| {
        let _ = write!(text, ", std::int64_t {name}");
        text
    });
    writer.open(format!("static Int expr_{expr}(const State& s{parameters}) {{"));
    writer.line("static_cast<void>(s);");
    let heights = heights(words);
    let most = heights.iter().copied().max().unwrap_or(1).max(1);
    for entry in 0..most {
        writer.line(format!("Int t{entry}(0);"));
    }
    let targets = targets(words);
    for (at, word) in words.iter().enumerate() {
        if targets.contains(&at) {
            writer.line(format!("at_{at}:"));
        }
        step(place, &mut writer, (at, expr), word, heights.get(at).copied().unwrap_or(0));
    }
    if targets.contains(&words.len()) {
        writer.line(format!("at_{}:", words.len()));
    }
    writer.line("return t0;");
    writer.close("}");
    writer.finish()
}

/// A call of the function of an expression.
pub(super) fn call(place: Place<'_>, expr: u32) -> String {
    let arguments = arguments(place, expr);
    let arguments = arguments.iter().fold(String::new(), |mut text, name| {
        let _ = write!(text, ", {name}");
        text
    });
    format!("expr_{expr}(s{arguments})")
}

/// Names of the variables and positions that an expression names, in a fixed order.
fn arguments(place: Place<'_>, expr: u32) -> Vec<String> {
    let named: OrderedSet<(usize, bool)> = words(place.program, expr)
        .iter()
        .filter_map(|word| match XOp::from_code(word.opcode)? {
            XOp::XVar => Some((word.operand2 as usize, false)),
            XOp::XPos => Some((word.operand2 as usize, true)),
            _ => None,
        })
        .collect();
    let name = |(depth, position): (usize, bool)| {
        if position { place.position(depth).to_owned() } else { place.variable(depth).to_owned() }
    };
    named.into_iter().map(name).collect()
}

/// The height of the stack before each word, and behind the last.
fn heights(words: &[Word]) -> Vec<usize> {
    let mut heights = vec![0; words.len() + 1];
    for (at, word) in words.iter().enumerate() {
        let Some(op) = XOp::from_code(word.opcode) else { continue };
        let info = op.info();
        let after = (heights[at] + usize::from(info.pushes)).saturating_sub(usize::from(info.pops));
        if op != XOp::XSkip {
            heights[at + 1] = after;
        }
        if is_skip(word)
            && let Some(there) = heights.get_mut((at + 1).saturating_add(word.operand2 as usize))
        {
            *there = after;
        }
    }
    heights
}

/// Words that skips lead to.
fn targets(words: &[Word]) -> OrderedSet<usize> {
    let skips = words.iter().enumerate().filter(|(_, word)| is_skip(word));
    skips.map(|(at, word)| (at + 1).saturating_add(word.operand2 as usize)).collect()
}

/// One word of a function, of an expression that begins at `first`; `height` entries are on the stack before.
fn step(place: Place<'_>, writer: &mut Writer, (at, first): (usize, u32), word: &Word, height: usize) {
    let Some(op) = XOp::from_code(word.opcode) else { return };
    let entry = |below: usize| format!("t{}", height.saturating_sub(below));
    let target = (at + 1).saturating_add(word.operand2 as usize);
    match op {
        XOp::XSkip => writer.line(format!("goto at_{target};")),
        XOp::XSkipZero => {
            let top = entry(1);
            writer.line(format!("if (!{top}.ok()) return {top};"));
            writer.line(format!("if ({top}.value == 0) goto at_{target};"));
        }
        _ => {
            let text = |below: usize| Text { text: entry(below), nesting: 0 };
            let (to, value) = match op.info().pops {
                0 => (entry(0), leaf(place, op, word)),
                1 => (entry(1), unary(place, op, word, &entry(1))),
                _ => (entry(2), binary(op, &text(2), &text(1))),
            };
            writer.line(format!("{to} = {};", placed(op, first + at as u32, value)));
        }
    }
}

/// Whether an expression grows evenly with the index of an axis, whatever else it names.
pub(super) fn is_even_in(program: &Program<'_>, expr: u32, axis: u16) -> bool {
    // Of each value on the stack: whether it names the axis.
    let mut stack: Vec<bool> = Vec::new();
    for word in words(program, expr) {
        let Some(op) = XOp::from_code(word.opcode) else { return false };
        let even = match (op, op.info().pops) {
            (XOp::XSkip | XOp::XSkipZero, _) => return false,
            (XOp::XAxis, _) => word.operand2 == u32::from(axis),
            (_, 0) => false,
            (XOp::XNeg, _) => stack.pop() == Some(true),
            (_, 1) => match stack.pop() {
                Some(false) => false,
                _ => return false,
            },
            _ => {
                let pair = (stack.pop().unwrap_or(false), stack.pop().unwrap_or(false));
                match (op, pair) {
                    (XOp::XAdd | XOp::XSub, (right, left)) => right || left,
                    (XOp::XMul, (right, left)) if !(right && left) => right || left,
                    (_, (false, false)) => false,
                    _ => return false,
                }
            }
        };
        stack.push(even);
    }
    stack.len() == 1
}
