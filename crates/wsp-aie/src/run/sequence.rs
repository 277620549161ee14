//! The host: a runtime sequence, step by step.

use super::net::{Net, StreamEnd, Task};
use super::{Failure, arith, code, not_run};
use crate::codes;
use crate::design::{Design, Length, Move, Step};
use crate::device::QUEUE;
use crate::mlir::{Attr, Op, Value};
use wsp_core::int::BinOp;
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
    tasks: OrderedMap<Value, (Move, Vec<usize>)>,
    /// Whether each transfer that was started is done.
    done: Vec<bool>,
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

fn fault<T>(message: String, span: Span) -> Result<T, Failure> {
    Err(Failure::Fault(Diagnostic::error(codes::TRANSFER, message).at(span, "")))
}

/// The stream of a fifo that ends or begins at the host.
fn stream_of(design: &Design, net: &Net, name: &str, span: Span) -> Result<usize, Failure> {
    let is_host = |end: &StreamEnd| matches!(end, StreamEnd::Host { .. });
    let found = net.streams.iter().position(|stream| {
        design.fifos[stream.fifo].name == name && (is_host(&stream.from) || stream.to.iter().any(is_host))
    });
    match found {
        Some(stream) => Ok(stream),
        None if design.allocations.iter().any(|given| given.name == name) => {
            Err(Failure::Fault(*not_run("a channel of a shim tile without a fifo", span)))
        }
        None => Err(Failure::Fault(
            Diagnostic::error(codes::SYMBOL, format!("no fifo `@{name}` begins or ends on a shim tile"))
                .at(span, ""),
        )),
    }
}

/// The host's end of a stream.
fn host_end(net: &mut Net, stream: usize) -> Option<&mut StreamEnd> {
    let stream = &mut net.streams[stream];
    std::iter::once(&mut stream.from).chain(&mut stream.to).find(|end| matches!(end, StreamEnd::Host { .. }))
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

    /// Whether a step that is left starts a transfer of a fifo.
    pub(super) fn will_start(&self, name: &str) -> bool {
        self.steps[self.at..].iter().any(|step| match step {
            Step::Move(transfer) => transfer.symbol.as_deref() == Some(name),
            Step::Start(task, _) => {
                self.tasks.get(task).is_some_and(|(task, _)| task.symbol.as_deref() == Some(name))
            }
            _ => false,
        })
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
    pub(super) fn go(&mut self, design: &Design, net: &mut Net) -> Result<bool, Failure> {
        let before = self.at;
        while let Some(step) = self.steps.get(self.at).cloned() {
            if !self.step(design, net, &step)? {
                break;
            }
            self.at += 1;
        }
        Ok(self.at > before)
    }

    fn step(&mut self, design: &Design, net: &mut Net, step: &Step) -> Result<bool, Failure> {
        match step {
            Step::Move(transfer) => match transfer.task {
                Some(task) => {
                    self.tasks.insert(task, (transfer.clone(), Vec::new()));
                    Ok(true)
                }
                None => Ok(self.start(design, net, transfer)?.is_some()),
            },
            Step::Start(task, span) => {
                let Some((transfer, _)) = self.tasks.get(task).cloned() else {
                    return fault("a task that was not described is started".to_owned(), *span);
                };
                let Some(number) = self.start(design, net, &transfer)? else { return Ok(false) };
                if let Some((_, numbers)) = self.tasks.get_mut(task) {
                    numbers.push(number);
                }
                Ok(true)
            }
            Step::Await(task, span) => match self.tasks.get(task) {
                Some((_, numbers)) if !numbers.is_empty() => {
                    Ok(numbers.iter().all(|number| self.done[*number]))
                }
                _ => fault("a task that was not started is awaited".to_owned(), *span),
            },
            Step::Free(..) => Ok(true),
            Step::Wait(name, span) => {
                let stream = stream_of(design, net, name, *span)?;
                match host_end(net, stream) {
                    Some(StreamEnd::Host { finished, waited, .. }) if *waited < *finished => {
                        *waited += 1;
                        Ok(true)
                    }
                    _ => Ok(false),
                }
            }
            Step::Compute(op) => {
                self.compute(op)?;
                Ok(true)
            }
        }
    }

    /// The stream that the current step waits for.
    pub(super) fn waits(&self, design: &Design, net: &Net) -> Option<HostWait> {
        let of = |name: &Option<String>, span| stream_of(design, net, name.as_deref()?, span).ok();
        match self.steps.get(self.at)? {
            Step::Wait(name, span) => of(&Some(name.clone()), *span).map(HostWait::End),
            Step::Move(transfer) => of(&transfer.symbol, transfer.span).map(HostWait::Queue),
            Step::Start(task, span) => of(&self.tasks.get(task)?.0.symbol, *span).map(HostWait::Queue),
            Step::Await(task, span) => of(&self.tasks.get(task)?.0.symbol, *span).map(HostWait::End),
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

    /// Puts a transfer into its channel's queue; none where that is full.
    fn start(&mut self, design: &Design, net: &mut Net, transfer: &Move) -> Result<Option<usize>, Failure> {
        let span = transfer.span;
        let Some(name) = &transfer.symbol else {
            return Err(Failure::Fault(*not_run("a transfer of a channel without a fifo", span)));
        };
        if transfer.packet.is_some() {
            return Err(Failure::Fault(*not_run("a transfer in packets", span)));
        }
        let stream = stream_of(design, net, name, span)?;
        let number = self.done.len();
        let task = self.task(transfer, number)?;
        let Some(StreamEnd::Host { queue, .. }) = host_end(net, stream) else { return Ok(None) };
        if queue.len() > QUEUE {
            return Ok(None);
        }
        queue.push_back(task);
        self.done.push(false);
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
        let rounds = if transfer.task.is_some() { transfer.repeat.unsigned_abs() + 1 } else { iteration.0 };
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
                token: transfer.token,
                number,
            }),
            _ => fault(format!("a transfer of more than {MOST_BYTES} bytes, or from before its array"), span),
        }
    }

    /// Numbers that are made from others.
    fn compute(&mut self, op: &Op) -> Result<(), Failure> {
        let given: Vec<i64> =
            op.operands.iter().filter_map(|value| self.numbers.get(value).copied()).collect();
        let binary = |binary| match given.as_slice() {
            [a, b] => {
                arith::binary(binary, code::Scalar::Int(64), *a as u64, *b as u64).map(|value| value as i64)
            }
            _ => None,
        };
        let made = match op.name.as_str() {
            "arith.constant" => match op.find("value") {
                Some(Attr::Int(value, _)) => Some(*value),
                _ => None,
            },
            "arith.addi" => binary(code::Binary::Plain(BinOp::Add)),
            "arith.subi" => binary(code::Binary::Plain(BinOp::Sub)),
            "arith.muli" => binary(code::Binary::Plain(BinOp::Mul)),
            "arith.divsi" => binary(code::Binary::Plain(BinOp::Div)),
            "arith.ceildivsi" => binary(code::Binary::Plain(BinOp::CeilDiv)),
            "arith.remsi" => binary(code::Binary::Plain(BinOp::Rem)),
            "arith.maxsi" => binary(code::Binary::Plain(BinOp::Max)),
            "arith.minsi" => binary(code::Binary::Plain(BinOp::Min)),
            "arith.index_cast" | "arith.extsi" => given.first().copied(),
            _ => {
                return Err(Failure::Fault(*not_run(
                    &format!("`{}` in a runtime sequence", op.name),
                    op.span,
                )));
            }
        };
        match (made, op.results.first()) {
            (Some(made), Some(result)) => {
                self.numbers.insert(*result, made);
                Ok(())
            }
            _ => fault(format!("`{}` makes no number of these operands", op.name), op.span),
        }
    }
}
