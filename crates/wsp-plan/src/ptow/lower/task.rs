//! Task statements.

use super::super::codes;
use super::super::emit::BodyId;
use super::scope::{Binding, InlinedWorkload};
use super::{Lowering, OpenSite};
use wsp_core::ptow::{DIM_IMMEDIATE, DimKind, Op};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{
    Access, AccessMode, ArgValue, DimRange, IntExpr, IntExprKind, ParamKind, Signature, Task,
};

/// Parameters, accesses or `AFTER`s that a `TASK` can count.
const MAX_COUNT: usize = u8::MAX as usize;

impl<'m> Lowering<'m> {
    /// Writes a task: parameters and regions in the order of the arguments, then `AFTER`s.
    pub(super) fn task(&mut self, task: &'m Task, scope: &mut InlinedWorkload<'m>, body: BodyId, span: Span) {
        let after = if self.keeps_after { task.after.as_slice() } else { &[] };
        let scalars = || task.args.iter().filter(|arg| matches!(arg.value, ArgValue::Scalar(_))).count();
        let counts = [scalars(), task.args.len() - scalars(), after.len()];
        if let Some(count) = counts.into_iter().find(|count| *count > MAX_COUNT) {
            return self.report(too_many(span, count));
        }
        let label = task.label.filter(|_| self.keeps_after);
        let [params, regions, afters] = counts.map(|count| count as u32);
        let operands = (u32::from(task.kernel.0), params | regions << 8 | afters << 16);
        let place = self.instr(body, Op::Task, usize::from(label.is_some()), operands, span);
        if let Some(label) = label {
            self.ext(body, (scope.label(label), 0), span);
        }
        let statement = scope.statement();
        self.sites.push(OpenSite { place, statement, vars: self.vars.clone() });
        for (index, arg) in task.args.iter().enumerate() {
            match &arg.value {
                ArgValue::Scalar(expr) => self.param(expr, scope, body, span),
                ArgValue::Access(access) => {
                    self.access(access, self.mode(task, index), scope, (body, span));
                }
            }
        }
        self.exprs_at.used_by(place);
        for label in after {
            self.instr(body, Op::After, 0, (scope.label(*label), 0), span);
        }
    }

    fn param(&mut self, expr: &IntExpr, scope: &InlinedWorkload<'m>, body: BodyId, span: Span) {
        let binding = match &expr.kind {
            IntExprKind::Var(var) => Some(scope.binding(*var)),
            IntExprKind::Const(value) => Some(Binding::Const(*value)),
            _ => None,
        };
        match binding {
            Some(Binding::Depth(depth)) => self.instr(body, Op::ParamLoopvar, 0, (depth, 0), span),
            Some(Binding::Const(value)) if i32::try_from(value).is_ok() => {
                self.instr(body, Op::ParamConst, 0, (0, value as u32), span)
            }
            _ => {
                let expr = self.expr(expr, scope);
                self.instr(body, Op::ParamExpr, 0, (0, expr), span)
            }
        };
    }

    /// How a task uses an argument that is a region. Of a region that a library kernel is given nothing is known.
    fn mode(&self, task: &Task, index: usize) -> AccessMode {
        let declared: &[_] = match &self.module.kernels[task.kernel.index()].signature {
            Signature::Declared(params) => params,
            Signature::Library => &[],
        };
        match declared.get(index).map(|param| param.kind) {
            Some(ParamKind::Tensor(mode)) => mode,
            Some(ParamKind::Scalar) | None => AccessMode::InOut,
        }
    }

    fn access(
        &mut self,
        access: &'m Access,
        mode: AccessMode,
        scope: &InlinedWorkload<'m>,
        (body, span): (BodyId, Span),
    ) {
        let op = match mode {
            AccessMode::In => Op::IoInput,
            AccessMode::Out => Op::IoOutput,
            AccessMode::InOut => Op::IoInout,
        };
        let last = access.ranges.iter().rposition(|range| !matches!(range, DimRange::Whole));
        let ranges = access.ranges.get(..last.map_or(0, |last| last + 1)).unwrap_or_default();
        self.instr(body, op, ranges.len(), (access.tensor.0, 0), span);
        for range in ranges {
            let (kind, flags, operands) = match range {
                DimRange::Whole => (DimKind::Whole, 0, (0, 0)),
                DimRange::Index(index) => (DimKind::Index, 0, (self.expr(index, scope), 0)),
                DimRange::Range { lo, hi } => self.pair(DimKind::Range, lo, hi, scope),
                DimRange::Sized { lo, len } => self.pair(DimKind::Sized, lo, len, scope),
            };
            self.instr(body, Op::ExtWord, usize::from(kind as u8 | flags), operands, span);
        }
    }

    /// A dimension with two operands, the second in its word where 32 bits hold it.
    fn pair(
        &mut self,
        kind: DimKind,
        lo: &IntExpr,
        other: &IntExpr,
        scope: &InlinedWorkload<'m>,
    ) -> (DimKind, u8, (u32, u32)) {
        let lo = self.expr(lo, scope);
        let constant = match &other.kind {
            IntExprKind::Var(var) => match scope.binding(*var) {
                Binding::Const(value) => Some(value),
                _ => None,
            },
            _ => other.as_const(),
        };
        match constant.and_then(|value| i32::try_from(value).ok()) {
            Some(value) => (kind, DIM_IMMEDIATE, (lo, value as u32)),
            None => (kind, 0, (lo, self.expr(other, scope))),
        }
    }
}

fn too_many(span: Span, count: usize) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, "a task has too many arguments or dependences for a program")
        .at(span, format!("{count}; at most {MAX_COUNT} of each are allowed"))
}
