//! Faults of programs that run, in the words of their source.

use super::lower::BodyVar;
use super::{Lowered, codes, statements};
use crate::workload::eval::{self, FaultKind as ExprKind};
use crate::workload::{Bindings, LoweredSchedule, NoPlace, fault};
use wsp_core::ptow::bounds::BoundsHalt;
use wsp_core::ptow::eval::{ExprFault, ExprFaultKind, Halt};
use wsp_core::ptow::interp::{Fault, FaultKind};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{ArgValue, WorkloadModule};

impl Lowered {
    /// A fault of a launch of this program, as the user sees it. `indices` are those of the loops around the instruction at
    /// fault, outermost first.
    pub fn fault(
        &self,
        (module, bindings, schedule): (&WorkloadModule, &Bindings, &LoweredSchedule),
        found: &Fault,
        indices: &[i64],
    ) -> Diagnostic {
        let span = self.spans.get(found.word as usize).copied().unwrap_or_default();
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
            FaultKind::Bounds(_) | FaultKind::Generator { .. } | FaultKind::Structure => None,
        };
        self.located(diagnostic.unwrap_or_else(broken), (found.word, found.ordinal), indices)
    }

    /// Adds the loops around a word, with their indices, and how many tasks were generated before.
    pub(super) fn located(
        &self,
        diagnostic: Diagnostic,
        (word, ordinal): (u32, u64),
        indices: &[i64],
    ) -> Diagnostic {
        let loops = self.vars(word).iter().filter(|var| var.kind.is_index()).map(|var| &*var.name);
        fault::located(diagnostic, loops.zip(indices.iter().copied()), ordinal)
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
