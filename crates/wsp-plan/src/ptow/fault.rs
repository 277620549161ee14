//! Faults of programs that run, in the words of their source.

use super::lower::BodyVar;
use super::{Lowered, codes, statements};
use crate::workload::deadlock::{self, Deadlock, Full, Waiting, Want};
use crate::workload::eval::{self, FaultKind as ExprKind};
use crate::workload::{Bindings, LoweredSchedule, NoPlace, fault};
use wsp_core::ptow::bounds::BoundsHalt;
use wsp_core::ptow::eval::{ExprFault, ExprFaultKind, Halt};
use wsp_core::ptow::interp::{Channel, Fault, FaultKind, Interpreter, Waits};
use wsp_core::ptow::{Op, Word};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{ArgValue, StatementKind, WorkloadModule};

/// A fault of a program, and what its interpreter knows of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The fault.
    pub fault: Fault,
    /// The indices of the loops around the instruction at fault, outermost first.
    indices: Vec<i64>,
    /// Where no process can go on: what each waits for, with the indices of the loops in it.
    waiting: Vec<(Waits, Vec<i64>)>,
    channels: Vec<Channel>,
    /// The `PROCESS` under way.
    processes: u32,
}

impl Found {
    /// A fault that an interpreter has just met.
    pub fn new(fault: Fault, interpreter: &Interpreter<'_>) -> Found {
        let indices = interpreter.indices().to_vec();
        let processes = interpreter.processes();
        let mut found = Found { fault, indices, waiting: Vec::new(), channels: Vec::new(), processes };
        if fault.kind == FaultKind::Deadlock {
            found.waiting = interpreter.waiting().map(|(waits, loops)| (waits, loops.collect())).collect();
            found.channels = interpreter.channels().to_vec();
        }
        found
    }
}

impl Lowered {
    /// A fault of a launch of this program, as the user sees it.
    pub fn fault(
        &self,
        (module, bindings, schedule): (&WorkloadModule, &Bindings, &LoweredSchedule),
        all: &Found,
    ) -> Diagnostic {
        let found = &all.fault;
        let span = self.span(found.word);
        let broken = || {
            Diagnostic::error(codes::BROKEN, format!("generating tasks went wrong: {}", found.kind))
                .at(span, "here")
        };
        let diagnostic = match found.kind {
            FaultKind::Expr(fault) | FaultKind::Bounds(BoundsHalt::Expr(Halt::Fault(fault))) => {
                self.expression(found.word, &fault).map(|fault| fault.diagnostic(module, &bindings.values))
            }
            FaultKind::Outside { access, dim, lo, hi, .. } => {
                self.outside(module, bindings, (found.word, access), (dim, lo, hi))
            }
            FaultKind::Bounds(BoundsHalt::Step(value)) => {
                self.places.last(found.word).map(|span| fault::step(value, span))
            }
            FaultKind::Bounds(BoundsHalt::Row { row, rows }) => self.row(module, found.word, (row, rows)),
            FaultKind::Bounds(BoundsHalt::Iterations(trip)) => {
                self.variable(found.word).map(|var| fault::iterations(trip, var.span))
            }
            FaultKind::Rounds { max } => Some(fault::rounds(max, span)),
            FaultKind::Steps => Some(fault::too_many_steps()),
            FaultKind::Priority { value } => {
                let key = schedule.policy.priority.as_ref();
                key.map(|key| fault::no_place(&NoPlace::Priority { value, span: key.span }, span))
            }
            FaultKind::PastPartition { end } => Some(fault::no_place(&NoPlace::PastPartition { end }, span)),
            FaultKind::Deadlock => self.deadlock(all).map(|found| deadlock::diagnostic(&found)),
            FaultKind::Closed { closed } => self.closed(all, closed),
            FaultKind::Bounds(_)
            | FaultKind::Generator { .. }
            | FaultKind::Depth { .. }
            | FaultKind::Structure => None,
        };
        self.located(diagnostic.unwrap_or_else(broken), (found.word, found.ordinal), &all.indices)
    }

    /// Adds the loops around a word, with their indices, and how many tasks were generated before.
    pub(super) fn located(
        &self,
        diagnostic: Diagnostic,
        (word, ordinal): (u32, u64),
        indices: &[i64],
    ) -> Diagnostic {
        fault::located(diagnostic, self.loops(word).zip(indices.iter().copied()), Some(ordinal))
    }

    /// The names of the loops around a word, outermost first.
    fn loops(&self, word: u32) -> impl Iterator<Item = &str> {
        self.vars(word).iter().filter(|var| var.kind.is_index()).map(|var| &*var.name)
    }

    /// Who waits for what where no process can go on.
    fn deadlock<'n>(&'n self, found: &'n Found) -> Option<Deadlock<'n>> {
        let word = found.fault.word;
        let pipeline = self.pipelines.iter().find(|pipeline| pipeline.word == word)?;
        let mut deadlock = Deadlock { span: self.span(word), waiting: Vec::new(), ended: Vec::new() };
        let around = self.loops(word).count();
        for (process, (waits, indices)) in pipeline.processes.iter().zip(&found.waiting) {
            let (want, at) = match *waits {
                Waits::Ended => {
                    deadlock.ended.push(process);
                    continue;
                }
                Waits::Taken(at) => (Want::Taken, at),
                Waits::For(at) => (self.wants(at)?, at),
            };
            let channels = self.channels(at)?.into_iter().filter_map(|(number, span)| {
                let channel = found.channels.get(usize::from(number))?;
                let open = want.sends() || channel.closed().is_none();
                let of = pipeline.channels.get(usize::from(number))?;
                let sending = channel.is_sending();
                // The slots of a send under way are freed behind it.
                let other = of.ends[if sending { 0 } else { usize::from(want.sends()) }];
                let other = other.and_then(|process| pipeline.processes.get(process)).map(|name| &**name);
                let (held, depth) = (channel.held(), channel.depth());
                let (channel, sends, closes) = (&of.declared, of.sends, of.closes);
                open.then_some((Full { channel, held, depth, other, sending, sends, closes }, span))
            });
            let (channels, spans): (Vec<_>, Vec<_>) = channels.unzip();
            deadlock.waiting.push(Waiting {
                process,
                want,
                span: *spans.first()?,
                channels,
                loops: self.loops(at).skip(around).zip(indices.iter().copied()).collect(),
            });
        }
        Some(deadlock)
    }

    /// What is done with a channel that is closed.
    fn closed(&self, found: &Found, by: u32) -> Option<Diagnostic> {
        let words = self.program.verified().program().words;
        let done = match Op::from_code(words.get(found.fault.word as usize)?.opcode)? {
            Op::Send => StatementKind::Send,
            Op::Close => StatementKind::Close,
            _ => StatementKind::Consume,
        };
        let pipeline = self.pipelines.iter().find(|pipeline| pipeline.word == found.processes)?;
        let channel = pipeline.channels.get(usize::from(words.get(by as usize)?.operand1))?;
        Some(deadlock::closed(done, &channel.declared, self.span(found.fault.word), self.span(by)))
    }

    /// What an instruction that does not go on waits for.
    fn wants(&self, at: u32) -> Option<Want> {
        let opcode = self.program.verified().program().words.get(at as usize)?.opcode;
        Some(match Op::from_code(opcode)? {
            Op::Send => Want::Slot,
            Op::SelectAll => Want::Rest,
            _ => Want::Token,
        })
    }

    /// The channels that an instruction names, and where.
    fn channels(&self, at: u32) -> Option<Vec<(u16, Span)>> {
        let words = self.program.verified().program().words;
        let (word, exts) = words.get(at as usize..)?.split_first()?;
        let arms = exts.get(..usize::from(word.flags))?;
        let of = |word: &Word, at: u32| (word.operand1, self.span(at));
        Some(match arms {
            [] => vec![of(word, at)],
            arms => (at + 1..).zip(arms).map(|(at, arm)| of(arm, at)).collect(),
        })
    }

    /// The statement of a word.
    fn span(&self, word: u32) -> Span {
        self.spans.get(word as usize).copied().unwrap_or_default()
    }

    /// An expression at fault, as the source has it; none where the launch lacks what it names.
    fn expression(&self, instruction: u32, found: &ExprFault) -> Option<eval::Fault> {
        let kind = match found.kind {
            ExprFaultKind::Overflow { op, left, right } => {
                ExprKind::Overflow { op: op.operator()?, left, right }
            }
            ExprFaultKind::NegOverflow => ExprKind::NegOverflow,
            ExprFaultKind::DivisionByZero { left } => ExprKind::DivisionByZero { left },
            ExprFaultKind::TableIndex { table, index, .. } => {
                ExprKind::TableIndex { table: *self.tables.get(usize::from(table))?, index }
            }
            ExprFaultKind::Malformed => return None,
        };
        let span = self.places.operation(instruction, found.word)?;
        Some(eval::Fault { span, kind })
    }

    /// An access of a task that does not lie within its tensor.
    fn outside(
        &self,
        module: &WorkloadModule,
        bindings: &Bindings,
        (word, access): (u32, u8),
        bounds: (u8, i64, i64),
    ) -> Option<Diagnostic> {
        let statement = self.site(word)?.statement;
        let task = statements(module).get(statement as usize)?.task;
        let mut regions = task.args.iter().enumerate().filter_map(|(index, arg)| match &arg.value {
            ArgValue::Access(access) => Some((index, access)),
            ArgValue::Scalar(_) => None,
        });
        let (arg, region) = regions.nth(usize::from(access))?;
        Some(fault::outside(module, bindings, (task.kernel, arg), region, bounds))
    }

    /// A loop over a row that its axis does not have.
    fn row(&self, module: &WorkloadModule, word: u32, row: (i64, u64)) -> Option<Diagnostic> {
        let program = self.program.verified();
        let instruction = program.program().words.get(word as usize)?;
        let axis = (*self.axes.get(usize::from(instruction.operand1))?)?;
        let span: Span = self.places.last(word)?;
        Some(fault::row(module, axis, row, span))
    }

    /// The variable of a loop.
    fn variable(&self, word: u32) -> Option<&BodyVar> {
        let program = self.program.verified();
        let body = program.program().words.get(word as usize)?.operand2;
        self.vars(body).last()
    }
}
