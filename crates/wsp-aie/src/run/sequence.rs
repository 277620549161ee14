//! The host: a runtime sequence, step by step.

use super::net::{Net, StreamEnd, Task};
use super::{Failure, arith, not_run};
use crate::codes;
use crate::design::{Buffer, Design, Length, Move, Parameter, Repeat, Step};
use crate::device::{Direction, QUEUE, Tile};
use crate::mlir::{Attr, Op, Type, Value};
use crate::unwaited::Unwaited;
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::OrderedMap;

/// A sequence that runs.
#[derive(Debug, Default)]
pub(super) struct Running {
    steps: Vec<Step>,
    at: usize,
    /// Arrays: the buffer, and the bytes of an element.
    pub(super) arrays: OrderedMap<Value, (usize, u64)>,
    pub(super) numbers: OrderedMap<Value, i64>,
    tasks: OrderedMap<Value, (Vec<Move>, Vec<usize>)>,
    /// Rounds of loops so far.
    rounds: u64,
    /// Whether each transfer that was started is done.
    done: Vec<bool>,
    /// Transfers into the memory of the host, by their stream and its end.
    unwaited: Unwaited<(usize, usize)>,
}

/// What the host waits for: a stream, and whether it is for room in its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HostWait {
    /// The end of a transfer.
    End(usize),
    /// Room in the queue of a channel.
    Queue(usize),
}

const MOST_BYTES: u64 = 1 << 36;
/// Most rounds of the loops of a launch.
const MOST_ROUNDS: u64 = 1 << 20;

fn fault<T>(message: String, span: Span) -> Result<T, Failure> {
    Err(Failure::Fault(Diagnostic::error(codes::TRANSFER, message).at(span, "")))
}

/// What a step is of: a fifo or channel by name, or a channel by its place.
#[derive(Clone, Copy)]
enum Of<'a> {
    Name(&'a str),
    Channel(Tile, Direction, i64),
}

/// The stream and the end at the host that a step is of.
fn host_end(net: &Net, of: Of<'_>) -> Option<(usize, usize)> {
    net.streams.iter().enumerate().find_map(|(at, stream)| {
        let mut ends = std::iter::once(&stream.from).chain(&stream.to);
        let is = |end: &StreamEnd| match (end, of) {
            (StreamEnd::Host { symbol, .. }, Of::Name(name)) => symbol == name,
            (StreamEnd::Host { channel, .. }, Of::Channel(tile, direction, number)) => {
                *channel == Some((tile, direction, number))
            }
            _ => false,
        };
        ends.position(is).map(|end| (at, end))
    })
}

fn end_mut(net: &mut Net, (stream, end): (usize, usize)) -> &mut StreamEnd {
    let stream = &mut net.streams[stream];
    if end == 0 { &mut stream.from } else { &mut stream.to[end - 1] }
}

/// The host's end that a step is of, which has to be there.
fn needed(net: &Net, of: Of<'_>, span: Span) -> Result<(usize, usize), Failure> {
    host_end(net, of).ok_or_else(|| {
        let message = match of {
            Of::Name(name) => format!("no stream of `@{name}` begins or ends at the host"),
            Of::Channel(tile, _, channel) => {
                format!("no stream begins or ends at channel {channel} of tile {tile}")
            }
        };
        Failure::Fault(Diagnostic::error(codes::SYMBOL, message).at(span, ""))
    })
}

/// What a transfer is of.
fn of_move<'a>(design: &Design, transfer: &'a Move) -> Option<Of<'a>> {
    if let Some(name) = &transfer.symbol {
        return Some(Of::Name(name));
    }
    let (value, direction, channel) = transfer.channel?;
    let tile = design.tiles.iter().find(|used| used.value == value)?.tile;
    Some(Of::Channel(tile, direction, channel))
}

impl Running {
    pub(super) fn new(steps: Vec<Step>) -> Running {
        Running { steps, ..Running::default() }
    }

    /// Whether all steps are taken.
    pub(super) fn is_over(&self) -> bool {
        self.at == self.steps.len()
    }

    /// Whether all transfers are done.
    pub(super) fn all_done(&self) -> bool {
        self.done.iter().all(|done| *done)
    }

    /// Refuses an end before all that the host reads then is there.
    pub(super) fn waited(&self, design: &Design, name: Option<&str>) -> Result<(), Failure> {
        let Some(left) = self.unwaited.left().first() else { return Ok(()) };
        let first = || design.sequences.first().map(|sequence| sequence.name.as_str());
        Err(Failure::Fault(left.diagnostic(&design.module, name.or_else(first).unwrap_or(""))))
    }

    /// Whether a step that is left starts a transfer of a stream's end.
    pub(super) fn will_start(&self, design: &Design, net: &Net, at: (usize, usize)) -> bool {
        let is = |transfer: &Move| of_move(design, transfer).and_then(|of| host_end(net, of)) == Some(at);
        let mut found = false;
        let mut see = |step: &Step| {
            found |= match step {
                Step::Move(transfer) => is(transfer),
                Step::Start(task, _) => self.tasks.get(task).is_some_and(|(task, _)| task.iter().any(is)),
                _ => false,
            };
        };
        self.steps[self.at..].iter().for_each(|step| step.walk(&mut see));
        found
    }

    /// Transfers that ended.
    pub(super) fn finished(&mut self, numbers: &[usize]) {
        for number in numbers {
            if let Some(done) = self.done.get_mut(*number) {
                *done = true;
            }
        }
    }

    /// Takes steps until one waits, and whether one was taken.
    pub(super) fn go(
        &mut self,
        design: &Design,
        net: &mut Net,
        memory: &mut [Vec<u8>],
    ) -> Result<bool, Failure> {
        let mut moved = false;
        while let Some(step) = self.steps.get(self.at).cloned() {
            if let Step::Loop(of) = step {
                self.round(*of)?;
                moved = true;
                continue;
            }
            if let Step::Parameter(word) = &step {
                self.write(design, word, memory)?;
            } else if !self.step(design, net, &step)? {
                break;
            }
            self.at += 1;
            moved = true;
        }
        Ok(moved)
    }

    fn step(&mut self, design: &Design, net: &mut Net, step: &Step) -> Result<bool, Failure> {
        match step {
            Step::Move(transfer) => match transfer.task {
                Some(task) => {
                    let (of, numbers) = self.tasks.entry(task).or_default();
                    of.retain(|_| transfer.follows);
                    of.push(transfer.clone());
                    numbers.clear();
                    Ok(true)
                }
                None => Ok(!self.start(design, net, std::slice::from_ref(transfer))?.is_empty()),
            },
            Step::Start(task, span) => {
                let Some((transfers, _)) = self.tasks.get(task).cloned() else {
                    return fault("a task that was not described is started".to_owned(), *span);
                };
                let started = self.start(design, net, &transfers)?;
                let is_started = !started.is_empty();
                if let Some((_, numbers)) = self.tasks.get_mut(task) {
                    numbers.extend(started);
                }
                Ok(is_started)
            }
            Step::Await(task, span) => match self.tasks.get(task) {
                Some((transfers, numbers)) if !numbers.is_empty() => {
                    let is_done = numbers.iter().all(|number| self.done[*number]);
                    if is_done {
                        self.unwaited.await_task(*task);
                        let of = transfers.first().and_then(|first| of_move(design, first));
                        if let Some(at) = of.and_then(|of| host_end(net, of))
                            && let StreamEnd::Host { ended, .. } = end_mut(net, at)
                        {
                            ended.retain(|number| !numbers.contains(number));
                        }
                        if let Some(order) = &mut net.order {
                            numbers.iter().for_each(|number| order.waited(*number));
                        }
                    }
                    Ok(is_done)
                }
                _ => fault("a task that was not started is awaited".to_owned(), *span),
            },
            Step::Free(..) => Ok(true),
            Step::Wait(name, span) => {
                let at = needed(net, Of::Name(name), *span)?;
                let StreamEnd::Host { ended, .. } = end_mut(net, at) else { return Ok(false) };
                let Some(number) = ended.pop_front() else { return Ok(false) };
                self.unwaited.wait(&at);
                if let Some(order) = &mut net.order {
                    order.waited(number);
                }
                Ok(true)
            }
            Step::Compute(op) => {
                self.compute(design, op)?;
                Ok(true)
            }
            Step::Parameter(_) | Step::Loop(_) => Ok(true),
        }
    }

    /// Puts the next round of a loop, and what is left of the loop, in its place.
    fn round(&mut self, mut of: Repeat) -> Result<(), Failure> {
        let mut bounds = [0; 3];
        for (bound, length) in bounds.iter_mut().zip(of.bounds) {
            *bound = self.length(length, of.span)?;
        }
        let [at, end, step] = bounds;
        // What is done is not kept: a loop may have any number of rounds.
        self.steps.drain(..self.at);
        self.at = 0;
        if at >= end {
            self.steps.remove(0);
            return Ok(());
        }
        self.rounds += 1;
        if self.rounds > MOST_ROUNDS {
            return fault(format!("loops of a sequence with more than {MOST_ROUNDS} rounds"), of.span);
        }
        self.numbers.insert(of.round, at);
        of.bounds = [Length::Fixed(at.saturating_add(step)), Length::Fixed(end), Length::Fixed(step)];
        let body = of.body.clone();
        self.steps.splice(..1, body.into_iter().chain([Step::Loop(Box::new(of))]));
        Ok(())
    }

    /// Writes a word of a buffer, which has no bytes where a run goes without data.
    fn write(&self, design: &Design, word: &Parameter, memory: &mut [Vec<u8>]) -> Result<(), Failure> {
        let named = |buffer: &Buffer| buffer.name.as_ref() == Some(&word.buffer);
        let value = self.length(word.value, word.span)? as i32;
        let Some(at) = design.buffers.iter().position(named) else {
            return fault(format!("no buffer is `@{}`", word.buffer), word.span);
        };
        let bytes = &mut memory[at];
        let begin = usize::try_from(word.index).ok().and_then(|index| index.checked_mul(4));
        let has_none = bytes.is_empty();
        match begin.and_then(|begin| bytes.get_mut(begin..)?.get_mut(..4)) {
            Some(place) => place.copy_from_slice(&value.to_le_bytes()),
            None if has_none => {}
            None => return fault(format!("buffer `@{}` has no word {}", word.buffer, word.index), word.span),
        }
        Ok(())
    }

    /// The stream that the current step waits for.
    pub(super) fn waits(&self, design: &Design, net: &Net) -> Option<HostWait> {
        let of = |transfer: &Move| host_end(net, of_move(design, transfer)?).map(|(stream, _)| stream);
        match self.steps.get(self.at)? {
            Step::Wait(name, _) => host_end(net, Of::Name(name)).map(|(stream, _)| HostWait::End(stream)),
            Step::Move(transfer) => of(transfer).map(HostWait::Queue),
            Step::Start(task, _) => of(self.tasks.get(task)?.0.first()?).map(HostWait::Queue),
            Step::Await(task, _) => of(self.tasks.get(task)?.0.first()?).map(HostWait::End),
            _ => None,
        }
    }

    fn length(&self, length: Length, span: Span) -> Result<i64, Failure> {
        match length {
            Length::Fixed(value) => Ok(value),
            Length::Of(value) => match self.numbers.get(&value) {
                Some(number) => Ok(*number),
                None => fault("a length that the launch does not give".to_owned(), span),
            },
        }
    }

    /// Puts transfers, which go on one behind the other, into their channel's queue; their numbers, and none where that is full.
    fn start(&mut self, design: &Design, net: &mut Net, transfers: &[Move]) -> Result<Vec<usize>, Failure> {
        let mut numbers = Vec::new();
        for transfer in transfers {
            match self.start_one(design, net, transfer)? {
                Some(number) => numbers.push(number),
                None => break,
            }
        }
        Ok(numbers)
    }

    /// One that follows another finds room.
    fn start_one(
        &mut self,
        design: &Design,
        net: &mut Net,
        transfer: &Move,
    ) -> Result<Option<usize>, Failure> {
        let span = transfer.span;
        let Some(of) = of_move(design, transfer) else {
            return fault("a transfer of no channel".to_owned(), span);
        };
        let at = needed(net, of, span)?;
        let packets = net.streams[at.0].packets.map(|packets| design.packets[packets].id);
        if at.1 == 0 && packets != transfer.packet {
            return fault("a transfer whose packets have another number than its stream".to_owned(), span);
        }
        let number = self.done.len();
        let mut task = self.task(transfer, number)?;
        task.after = net.order.as_ref().map_or_else(Vec::new, |order| order.of_host());
        // What goes into the memory of the host always tells its end.
        task.token |= at.1 > 0 && transfer.task.is_none();
        let StreamEnd::Host { queue, .. } = end_mut(net, at) else { return Ok(None) };
        let waiting = queue.iter().skip(1).filter(|task| !task.follows).count();
        if waiting >= QUEUE && !transfer.follows {
            return Ok(None);
        }
        let token = task.token;
        queue.push_back(task);
        self.done.push(false);
        if at.1 > 0 {
            self.unwaited.start(at, transfer.clone(), token);
        }
        Ok(Some(number))
    }

    fn task(&self, transfer: &Move, number: usize) -> Result<Task, Failure> {
        let span = transfer.span;
        let Some((array, element)) = self.arrays.get(&transfer.array).copied() else {
            return fault("a transfer is of an array that the launch is given".to_owned(), span);
        };
        let mut dims = Vec::new();
        for (size, stride) in transfer.sizes.iter().zip(&transfer.strides) {
            let (size, stride) = (self.length(*size, span)?, self.length(*stride, span)?);
            let bytes = stride.checked_mul(element as i64).filter(|bytes| bytes.unsigned_abs() < 1 << 40);
            match (u64::try_from(size), bytes) {
                (Ok(size), Some(bytes)) if size > 0 => dims.push((size, bytes)),
                _ => return fault(format!("a transfer of size {size} and stride {stride}"), span),
            }
        }
        // The outermost of four iterates: a round each, which a task repeats as often as it says.
        let iteration = if dims.len() == 4 { dims.remove(0) } else { (1, 0) };
        let rounds = if transfer.task.is_some() { transfer.rounds() } else { iteration.0 };
        let round = dims.iter().try_fold(element, |bytes, (size, _)| bytes.checked_mul(*size));
        let round = round.filter(|bytes| bytes.checked_mul(rounds).is_some_and(|all| all <= MOST_BYTES));
        let offset = self.length(transfer.offset, span)?.checked_mul(element as i64);
        match (round, offset) {
            (Some(round_bytes), Some(offset)) if offset >= 0 => Ok(Task {
                array,
                offset,
                rounds,
                iteration,
                dims,
                element,
                round_bytes,
                done: 0,
                follows: transfer.follows,
                token: transfer.token,
                number,
                after: Vec::new(),
            }),
            _ => fault(format!("a transfer of more than {MOST_BYTES} bytes, or from before its array"), span),
        }
    }

    /// Numbers that are made from others.
    fn compute(&mut self, design: &Design, op: &Op) -> Result<(), Failure> {
        let bits = match op.results.first().map(|result| design.module.ty(*result)) {
            Some(Type::Int(bits) | Type::Unsigned(bits)) => *bits,
            _ => 64,
        };
        let given: Vec<i64> =
            op.operands.iter().filter_map(|value| self.numbers.get(value).copied()).collect();
        let made = match op.name.as_str() {
            "arith.constant" => match op.find("value") {
                Some(Attr::Int(value, _)) => Some(*value),
                _ => None,
            },
            "arith.index_cast" | "arith.extsi" => given.first().map(|value| arith::wrap(*value, bits) as i64),
            name if arith::binary_of(name).is_none() => {
                return Err(Failure::Fault(*not_run(
                    &format!("`{}` in a runtime sequence", op.name),
                    op.span,
                )));
            }
            _ => arith::of_integers(op, bits, &given),
        };
        match (made, op.results.first()) {
            (Some(made), Some(result)) => {
                self.numbers.insert(*result, made);
                Ok(())
            }
            _ => {
                let given: Vec<String> = given.iter().map(i64::to_string).collect();
                fault(format!("`{}` makes no number of {}", op.name, given.join(" and ")), op.span)
            }
        }
    }
}
