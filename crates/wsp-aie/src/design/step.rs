//! What a runtime sequence does, step by step.

use super::read::direction;
use super::{Design, Fifo, Sequence};
use crate::codes;
use crate::device::{Direction, PACKETS};
use crate::mlir::{Attr, Op, Value};
use std::collections::BTreeSet;
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::OrderedMap;

/// A number of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// It is written.
    Fixed(i64),
    /// A launch decides it.
    Of(Value),
}

/// A transfer between the memory of the host and a fifo or a channel of a shim tile.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// The array of the host.
    pub array: Value,
    /// Where it begins, in elements.
    pub offset: Length,
    /// How often, the outermost first.
    pub sizes: Vec<Length>,
    /// How far apart, in elements.
    pub strides: Vec<Length>,
    /// How often the whole is done beside the first time.
    pub repeat: u8,
    /// The fifo or channel, by name.
    pub symbol: Option<String>,
    /// The channel, where it is not named: the value of its tile, the direction and the number.
    pub channel: Option<(Value, Direction, i64)>,
    /// The number of its descriptor, where that is fixed.
    pub id: Option<i64>,
    /// It says that its end can be waited for; a transfer into the memory of the host can be, whether it says so or not.
    pub token: bool,
    /// The value of a task, which is started by itself.
    pub task: Option<Value>,
    /// It is done behind the descriptor before it, which is of the same task.
    pub follows: bool,
    /// The number of the packets that it makes, where it makes packets.
    pub packet: Option<i64>,
    /// The elements that its descriptor tells beside sizes.
    pub len: Option<i64>,
    /// Where it is written.
    pub span: Span,
    /// Where its descriptor is written.
    pub descriptor: Span,
}

impl Move {
    /// How often a task is done.
    pub(crate) fn rounds(&self) -> u64 {
        u64::from(self.repeat) + 1
    }
}

/// A number that a core of a design reads: a word of a buffer of its tile.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// The buffer, by name.
    pub buffer: String,
    /// Which word, of 4 bytes.
    pub index: u64,
    /// What it becomes.
    pub value: Length,
    /// Where it is written.
    pub span: Span,
}

/// A step of a runtime sequence.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A transfer is described; one without a task is started too.
    Move(Move),
    /// A task is started.
    Start(Value, Span),
    /// The sequence waits for a task.
    Await(Value, Span),
    /// A task's descriptor is given back.
    Free(Value, Span),
    /// The sequence waits for the transfers of a fifo or channel.
    Wait(String, Span),
    /// A word of a buffer of a core is written.
    Parameter(Parameter),
    /// A number is made.
    Compute(Op),
    /// Steps are repeated.
    Loop(Box<Repeat>),
}

/// Steps of a sequence that are repeated.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// The number of the round: from the first bound, below the second, in steps of the third.
    pub round: Value,
    /// The bounds and the step.
    pub bounds: [Length; 3],
    /// What is repeated.
    pub body: Vec<Step>,
    /// Where it is written.
    pub span: Span,
}

impl Repeat {
    /// How many rounds there are, where the bounds are written.
    pub(crate) fn rounds(&self) -> Option<u64> {
        let [Length::Fixed(from), Length::Fixed(to), Length::Fixed(by)] = self.bounds else { return None };
        let (span, by) = (i128::from(to) - i128::from(from), u128::try_from(by).ok().filter(|by| *by > 0)?);
        u64::try_from(u128::try_from(span).unwrap_or(0).div_ceil(by)).ok()
    }
}

impl Step {
    /// How many steps it is with all rounds of loops, where the bounds of all are written.
    pub(crate) fn count(&self) -> Option<u64> {
        let Step::Loop(of) = self else { return Some(1) };
        let body: Option<Vec<u64>> = of.body.iter().map(Step::count).collect();
        let body = body?.into_iter().fold(1, u64::saturating_add);
        Some(of.rounds()?.saturating_mul(body))
    }

    /// Whether it or a step inside is such a step.
    pub fn has(&self, is: &dyn Fn(&Step) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |step| found |= is(step));
        found
    }

    /// Calls `f` with it and the steps inside.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Step)) {
        f(self);
        if let Step::Loop(of) = self {
            of.body.iter().for_each(|step| step.walk(f));
        }
    }
}

impl Design {
    /// Which way a transfer goes; none where nothing has the name that it gives.
    pub(crate) fn direction_of(&self, transfer: &Move) -> Option<Direction> {
        let Some(name) = &transfer.symbol else { return transfer.channel.map(|(_, direction, _)| direction) };
        let given = || self.allocations.iter().find(|given| given.name == *name);
        let fifo = self.fifo(name).and_then(Fifo::host_direction);
        fifo.or_else(|| given().map(|given| given.direction))
    }
}

/// The steps of a sequence.
///
/// # Errors
/// The first operation that has no place in a sequence, or lacks what it needs.
pub fn steps(sequence: &Sequence) -> Result<Vec<Step>, Diagnostic> {
    let mut known = OrderedMap::new();
    let mut see = |op: &Op| {
        let made = (op.name == "arith.constant").then(|| (op.find("value"), op.results.first()));
        if let Some((Some(Attr::Int(value, _)), Some(result))) = made {
            known.insert(*result, *value);
        }
    };
    sequence.body.iter().for_each(|op| op.walk(&mut see));
    all(&mut sequence.body.iter(), &known)
}

fn repeat(op: &Op, known: &Known) -> Result<Repeat, Diagnostic> {
    let length = |value: &Value| known.get(value).map_or(Length::Of(*value), |known| Length::Fixed(*known));
    let [from, to, by] = op.operands.as_slice() else {
        return fault(op, "has three bounds in a runtime sequence, and carries nothing");
    };
    let blocks = op.regions.first().map_or(&[][..], |region| &region.blocks);
    if blocks.len() > 1 {
        return fault(op, "has one block in a runtime sequence");
    }
    let block = blocks.first();
    let Some((block, round)) = block.and_then(|block| Some((block, block.args.first()?))) else {
        return fault(op, "has no body");
    };
    if known.get(by).is_none_or(|by| *by < 1) {
        return fault(op, "goes on in steps of a constant of at least 1");
    }
    let inner = block.ops.iter().filter(|op| op.name != "scf.yield");
    let body = all(&mut inner.into_iter(), known)?;
    Ok(Repeat { round: *round, bounds: [from, to, by].map(length), body, span: op.span })
}

/// The steps of operations: one of each, but for tasks, which have one for each of their descriptors.
fn all(ops: &mut dyn Iterator<Item = &Op>, known: &Known) -> Result<Vec<Step>, Diagnostic> {
    let mut steps = Vec::new();
    for op in ops {
        match op.name.as_str() {
            "aiex.dma_configure_task_for" | "aiex.dma_configure_task" => {
                steps.extend(task_of(op)?.into_iter().map(Step::Move));
            }
            _ => steps.push(step(op, known)?),
        }
    }
    Ok(steps)
}

/// The values of a sequence's constants.
type Known = OrderedMap<Value, i64>;

/// Refuses attributes that would be lost.
fn only(op: &Op, known: &[&str]) -> Result<(), Diagnostic> {
    match op.attrs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => fault(op, &format!("has `{name}`, which is not known here")),
        None => Ok(()),
    }
}

fn fault<T>(op: &Op, message: &str) -> Result<T, Diagnostic> {
    Err(Diagnostic::error(codes::ATTRIBUTE, format!("`{}` {message}", op.name)).at(op.span, ""))
}

fn step(op: &Op, known: &Known) -> Result<Step, Diagnostic> {
    let task = || op.operands.first().copied();
    match (op.name.as_str(), task()) {
        ("aiex.npu.dma_memcpy_nd", Some(array)) => memcpy(op, array, known).map(Step::Move),
        ("aiex.npu.dma_wait", _) => match op.find_name("symbol") {
            Some(name) => Ok(Step::Wait(name.to_owned(), op.span)),
            None => fault(op, "has no `symbol`"),
        },
        ("aiex.dma_start_task", Some(task)) => Ok(Step::Start(task, op.span)),
        ("aiex.dma_await_task", Some(task)) => Ok(Step::Await(task, op.span)),
        ("aiex.dma_free_task", Some(task)) => Ok(Step::Free(task, op.span)),
        ("aiex.npu.rtp_write", value) => parameter(op, value, known).map(Step::Parameter),
        ("scf.for", _) => repeat(op, known).map(|of| Step::Loop(Box::new(of))),
        (name, _) if name.starts_with("arith.") => Ok(Step::Compute(op.clone())),
        _ => fault(op, "has no place in a runtime sequence"),
    }
}

fn parameter(op: &Op, value: Option<Value>, known: &Known) -> Result<Parameter, Diagnostic> {
    only(op, &["buffer", "index", "value"])?;
    let Some(buffer) = op.find_name("buffer") else { return fault(op, "has no `buffer`") };
    let index = op.find_int("index").and_then(|index| u64::try_from(index).ok());
    let Some(index) = index else { return fault(op, "has an `index`, from 0 on") };
    let value = match (value, op.find_int("value")) {
        (Some(value), None) => known.get(&value).map_or(Length::Of(value), |known| Length::Fixed(*known)),
        (None, Some(value)) => Length::Fixed(value),
        _ => return fault(op, "has a `value`, or an operand"),
    };
    Ok(Parameter { buffer: buffer.to_owned(), index, value, span: op.span })
}

/// The offsets, sizes and strides of a transfer, four of each.
fn entries(op: &Op, known: &Known) -> Result<[Vec<Length>; 3], Diagnostic> {
    let mut given = op.operands.iter().skip(1);
    let mut lists = [Vec::new(), Vec::new(), Vec::new()];
    for (name, list) in ["static_offsets", "static_sizes", "static_strides"].into_iter().zip(&mut lists) {
        let Some(Attr::Dense(_, entries)) = op.find(name) else {
            return fault(op, &format!("has no `{name}`"));
        };
        for entry in entries {
            list.push(match (*entry == i64::MIN).then(|| given.next()) {
                Some(Some(value)) => {
                    known.get(value).map_or(Length::Of(*value), |known| Length::Fixed(*known))
                }
                Some(None) => return fault(op, "has fewer operands than entries that are operands"),
                None => Length::Fixed(*entry),
            });
        }
        if list.len() != 4 {
            return fault(op, "has four offsets, four sizes and four strides");
        }
    }
    Ok(lists)
}

/// Where a transfer begins, in elements: offsets count in the strides of their dimensions, that of the innermost in elements.
fn offset(op: &Op, offsets: &[Length], strides: &[Length]) -> Result<Length, Diagnostic> {
    let (outer, inner) = (&offsets[..3], offsets[3]);
    if outer.iter().all(|offset| *offset == Length::Fixed(0)) {
        return Ok(inner);
    }
    let Length::Fixed(mut total) = inner else {
        return fault(op, "has an inner offset that a launch decides beside outer ones");
    };
    for (offset, stride) in outer.iter().zip(strides) {
        let (Length::Fixed(offset), Length::Fixed(stride)) = (offset, stride) else {
            return fault(op, "has an outer offset that a launch decides; put all of it into the innermost");
        };
        match offset.checked_mul(*stride).and_then(|more| total.checked_add(more)) {
            Some(sum) => total = sum,
            None => return fault(op, "has an offset beyond 64 bits"),
        }
    }
    Ok(Length::Fixed(total))
}

fn memcpy(op: &Op, array: Value, known: &Known) -> Result<Move, Diagnostic> {
    only(
        op,
        &[
            "metadata",
            "id",
            "issue_token",
            "static_offsets",
            "static_sizes",
            "static_strides",
            "operandSegmentSizes",
            "packet",
            // It says how the memory of the host is read, and not what.
            "burst_length",
        ],
    )?;
    let [offsets, sizes, strides] = entries(op, known)?;
    let offset = offset(op, &offsets, &strides)?;
    let packet = packet(op)?;
    Ok(Move {
        array,
        offset,
        sizes,
        strides,
        repeat: 0,
        symbol: op.find_name("metadata").map(str::to_owned),
        channel: None,
        id: op.find_int("id"),
        token: op.is("issue_token"),
        task: None,
        follows: false,
        packet,
        len: None,
        span: op.span,
        descriptor: op.span,
    })
}

/// The number of the packets of a transfer or a descriptor; none where it makes none.
pub(crate) fn packet(op: &Op) -> Result<Option<i64>, Diagnostic> {
    let Some(attr) = op.find("packet") else { return Ok(None) };
    let field = |name: &str| {
        let Attr::Raw(text) = attr else { return None };
        let (_, rest) = text.split_once(name)?;
        rest.trim_start_matches([' ', '=']).split([',', '>', ' ']).next()
    };
    let number = |what: &str, text: &str, most: i64| {
        let value = text.parse().ok().filter(|value| (0..most).contains(value));
        value.ok_or_else(|| {
            let message = format!(
                "`{}` makes packets of {what} {text}, and {what}s are from 0 to {}",
                op.name,
                most - 1
            );
            Diagnostic::error(codes::PACKET, message).at(op.span, "")
        })
    };
    let Some(id) = field("pkt_id") else { return fault(op, "has a `packet` without `pkt_id`") };
    number("type", field("pkt_type").unwrap_or("0"), TYPES)?;
    number("number", id, PACKETS).map(Some)
}

/// Types that a packet's header holds.
const TYPES: i64 = 8;

/// The descriptors of a task, in their order. The last of them tells the end of the task.
fn task_of(op: &Op) -> Result<Vec<Move>, Diagnostic> {
    let blocks = op.regions.first().map_or(&[][..], |region| &region.blocks);
    let mut moves: Vec<Move> = Vec::new();
    let (mut next, mut seen) = (Some(0), BTreeSet::new());
    while let Some(at) = next {
        if at >= blocks.len() || !seen.insert(at) {
            return fault(op, "has descriptors that go on to one of them again, or to none");
        }
        let ops = || blocks[at].ops.iter();
        let [descriptor] = ops().filter(|op| op.name == "aie.dma_bd").collect::<Vec<_>>()[..] else {
            return fault(op, "has one `aie.dma_bd` in a block");
        };
        if let Some(other) =
            ops().find(|op| !["aie.dma_bd", "aie.next_bd", "aie.end"].contains(&op.name.as_str()))
        {
            return fault(other, "has no place in a task of a runtime sequence");
        }
        let follows = !moves.is_empty();
        moves.push(Move { follows, token: false, ..move_of(op, descriptor)? });
        let goes_on = ops().find(|op| op.name == "aie.next_bd");
        next = goes_on.map(|op| op.successors.first().map_or(usize::MAX, |block| *block as usize));
    }
    if moves.len() != blocks.len() {
        return fault(op, "has a descriptor that none goes on to");
    }
    if moves.len() > 1 && moves[0].repeat > 0 {
        return fault(op, "has one descriptor where it is repeated");
    }
    if let Some(last) = moves.last_mut() {
        last.token = op.is("issue_token");
    }
    Ok(moves)
}

/// A descriptor of a task.
fn move_of(op: &Op, descriptor: &Op) -> Result<Move, Diagnostic> {
    only(descriptor, &["offset", "len", "dimensions", "bd_id", "burst_length", "packet"])?;
    only(op, &["alloc", "direction", "channel", "issue_token", "repeat_count"])?;
    let (Some(array), Some(task)) = (descriptor.operands.first().copied(), op.results.first().copied())
    else {
        return fault(op, "has a buffer, and makes a task");
    };
    let (sizes, strides) = match descriptor.find("dimensions") {
        Some(Attr::Dims(dims)) => {
            let fixed = |value: u64| Length::Fixed(i64::try_from(value).unwrap_or(i64::MAX));
            (
                dims.iter().map(|dim| fixed(dim.size)).collect(),
                dims.iter().map(|dim| fixed(dim.stride)).collect(),
            )
        }
        _ => {
            let Some(len) = descriptor.find_int("len") else { return fault(descriptor, "has no `len`") };
            (vec![Length::Fixed(len)], vec![Length::Fixed(1)])
        }
    };
    let given = op.find_int("repeat_count").unwrap_or(0);
    let Ok(repeat) = u8::try_from(given) else {
        return fault(
            op,
            &format!("is repeated {given} times, and tasks are repeated 0 to {} times", u8::MAX),
        );
    };
    let channel = match (op.name.as_str(), op.operands.first()) {
        ("aiex.dma_configure_task", Some(tile)) => {
            let channel = op.find_int("channel").unwrap_or(0);
            Some((*tile, direction(op, "direction").map_err(|fault| *fault)?, channel))
        }
        _ => None,
    };
    Ok(Move {
        array,
        offset: Length::Fixed(descriptor.find_int("offset").unwrap_or(0)),
        sizes,
        strides,
        repeat,
        symbol: op.find_name("alloc").map(str::to_owned),
        channel,
        id: descriptor.find_int("bd_id"),
        token: op.is("issue_token"),
        task: Some(task),
        follows: false,
        packet: packet(descriptor)?,
        len: descriptor.find_int("len"),
        span: op.span,
        descriptor: descriptor.span,
    })
}
