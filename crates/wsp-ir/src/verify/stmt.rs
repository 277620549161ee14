//! Statements: WSP0315 to WSP0323.

use super::expr::ExprPlace;
use super::{Checker, rule};
use crate::{
    AxisEnd, Block, Consumer, Elem, EmitHints, Expr, ExtentSource, FuncKind, LocalTy, ScalarTy, Stmt,
    StmtKind,
};
use wsp_core::words::counted;
use wsp_core::{AxisId, LocalId, StructId};
use wsp_diag::Span;

/// The innermost loop around a statement.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Flow {
    NoLoop,
    Loop,
    Scheduled,
}

impl<'m> Checker<'m> {
    pub(super) fn block(&mut self, block: &'m Block, flow: Flow) {
        block.iter().for_each(|stmt| self.stmt(stmt, flow));
    }

    fn stmt(&mut self, stmt: &'m Stmt, flow: Flow) {
        let span = stmt.span;
        if !self.function_kind_allows(stmt) {
            return;
        }
        match &stmt.kind {
            StmtKind::Let { local, init } => self.declare(*local, init.as_ref(), span),
            StmtKind::LetArray { local, array } => {
                let elem = self.array(*array, span);
                if let Some(ty) = self.local_ty(*local, span) {
                    let fits = elem.is_none_or(|elem| *ty == LocalTy::Array(elem));
                    self.require(fits, rule::VARIABLE, span, || {
                        "the variable is no array of this type".into()
                    });
                }
            }
            StmtKind::Assign { local, value } => self.assign(*local, value, span),
            StmtKind::If { cond, then, otherwise } => {
                self.condition(cond, ExprPlace::Body);
                self.block(then, flow);
                self.block(otherwise, flow);
            }
            StmtKind::For { var, start, end, step, body } => {
                self.counted(*var, &[start, end, step], span);
                self.loop_body(&[*var], body, Flow::Loop, span);
            }
            StmtKind::While { cond, step, body } => {
                self.condition(cond, ExprPlace::Body);
                self.block(step, Flow::NoLoop);
                self.block(body, Flow::Loop);
            }
            StmtKind::Break => self.require(flow == Flow::Loop, rule::JUMP, span, || match flow {
                Flow::Scheduled => {
                    "`break` would leave a `PTO_SCHEDULED_FOR`, whose order is the schedule's; write `if (…) continue;`".into()
                }
                Flow::NoLoop | Flow::Loop => "`break` stands in no loop".into(),
            }),
            StmtKind::Continue => {
                self.require(flow != Flow::NoLoop, rule::JUMP, span, || {
                    "`continue` stands in no loop".into()
                });
            }
            StmtKind::Return(value) => self.returned(value.as_ref(), span),
            StmtKind::Emit { descriptor, fields, hints } => self.emit(*descriptor, fields, hints, span),
            StmtKind::Fence => {}
            StmtKind::ScheduledFor { vars, body } => self.scheduled_for(vars, body, flow, span),
            StmtKind::ApplySchedule(id) => {
                self.lookup(&self.module.schedules, id.index(), "schedule", span);
            }
            StmtKind::SetTile { axis, size } => {
                self.typed(size, ScalarTy::U32, rule::OPERAND, "a tile size");
                self.own_axis(*axis, span);
                self.axis(*axis, span, |a| a.tile.is_some(), "is not tiled");
            }
            StmtKind::SetExtent { axis, extent, last } => {
                if let Some(last) = last {
                    self.launch_int(last, "the number of last elements");
                    self.require(last.ty == ScalarTy::U32, rule::OPERAND, last.span, || {
                        format!("the number of last elements must be `u32`, not `{}`", last.ty.name())
                    });
                }
                match extent {
                    ExtentSource::Scalar(value) => {
                        self.typed(value, ScalarTy::U32, rule::OPERAND, "an extent")
                    }
                    ExtentSource::PerOuter(array) => {
                        self.array(*array, span);
                    }
                }
                self.own_axis(*axis, span);
                self.axis(*axis, span, |a| a.end == AxisEnd::Dynamic, "is not dynamic");
            }
            StmtKind::Tile(op) => self.tile_op(op, span),
            StmtKind::StoreScalar { tensor, index, value } => {
                index.iter().for_each(|e| self.expr(e, ExprPlace::Body));
                let Some(elem) = self.element(*tensor, index, span) else { return };
                let narrow = matches!(elem, Elem::Fixed(dtype) if !dtype.is_float() && dtype.size() < 4);
                self.require(!narrow, rule::TILE, span, || "integers of less than 32 bits are not stored".into());
                self.typed(value, elem.scalar(), rule::OPERAND, "the value stored");
            }
        }
    }

    /// Whether the current function is of a kind that has such statements; reports when not.
    fn function_kind_allows(&mut self, stmt: &Stmt) -> bool {
        let kind = self.function.map(|f| f.kind);
        let (allowed, code, place) = match &stmt.kind {
            StmtKind::Emit { .. }
            | StmtKind::Fence
            | StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::SetTile { .. }
            | StmtKind::SetExtent { .. } => {
                (matches!(kind, Some(FuncKind::Generator { .. })), rule::GENERATOR_ONLY, "generators")
            }
            StmtKind::Tile(_) | StmtKind::StoreScalar { .. } => {
                (matches!(kind, Some(FuncKind::Kernel { .. })), rule::KERNEL_ONLY, "kernels")
            }
            StmtKind::Let { .. }
            | StmtKind::LetArray { .. }
            | StmtKind::Assign { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::While { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => (true, rule::KERNEL_ONLY, ""),
        };
        let head = crate::text::stmt_head(&stmt.kind);
        self.require(allowed, code, stmt.span, || format!("`{head}` stands in {place} only"));
        allowed
    }

    fn declare(&mut self, local: LocalId, init: Option<&'m Expr>, span: Span) {
        self.unchanged(local, span);
        match self.local_ty(local, span) {
            Some(LocalTy::Scalar(ty)) => {
                if let Some(init) = init {
                    self.typed(init, *ty, rule::VARIABLE, "the first value");
                }
            }
            Some(LocalTy::Tile(_)) => {
                self.require(init.is_none(), rule::VARIABLE, span, || "a tile has no first value".into());
            }
            Some(LocalTy::Array(_) | LocalTy::Descriptor(_)) => {
                self.report(rule::VARIABLE, span, "only scalars and tiles are declared like this");
            }
            None => {}
        }
    }

    fn assign(&mut self, local: LocalId, value: &'m Expr, span: Span) {
        self.unchanged(local, span);
        match self.local_ty(local, span) {
            Some(LocalTy::Scalar(ty)) => self.typed(value, *ty, rule::VARIABLE, "the value"),
            Some(LocalTy::Tile(_) | LocalTy::Array(_) | LocalTy::Descriptor(_)) => {
                self.report(rule::VARIABLE, span, "only a scalar variable can be assigned");
            }
            None => {}
        }
    }

    /// The variable of a loop around may not change.
    fn unchanged(&mut self, local: LocalId, span: Span) {
        let frozen = self.frozen.contains(&local);
        self.require(!frozen, rule::LOOP_VARIABLE, span, || {
            "the variable of a loop changes inside it".into()
        });
    }

    fn counted(&mut self, var: LocalId, bounds: &[&'m Expr], span: Span) {
        match self.local_ty(var, span) {
            Some(LocalTy::Scalar(ty)) if ty.is_int() => {
                bounds.iter().for_each(|e| self.typed(e, *ty, rule::LOOP_VARIABLE, "a bound or step"));
            }
            Some(_) => self.report(rule::LOOP_VARIABLE, span, "a loop variable must be an integer"),
            None => {}
        }
    }

    fn loop_body(&mut self, vars: &[LocalId], body: &'m Block, flow: Flow, span: Span) {
        vars.iter().for_each(|var| self.unchanged(*var, span));
        let outer = self.frozen.len();
        self.frozen.extend_from_slice(vars);
        self.block(body, flow);
        self.frozen.truncate(outer);
    }

    fn returned(&mut self, value: Option<&'m Expr>, span: Span) {
        let ret = self.function.and_then(|f| f.ret);
        match (value, ret) {
            (Some(value), Some(ret)) => self.typed(value, ret, rule::RETURN, "the result"),
            (None, None) => {}
            (Some(_), None) => self.report(rule::RETURN, span, "the function yields nothing"),
            (None, Some(ret)) => {
                self.report(rule::RETURN, span, format!("the function yields `{}`", ret.name()))
            }
        }
    }

    fn emit(&mut self, descriptor: StructId, fields: &'m [Expr], hints: &'m EmitHints, span: Span) {
        for value in fields {
            self.typed(value, ScalarTy::U32, rule::EMIT, "a descriptor field");
        }
        let EmitHints { affinity, prefetch, priority } = hints;
        for value in affinity.iter().map(|(_, value)| value) {
            self.typed(value, ScalarTy::U32, rule::EMIT, "a placement value");
        }
        for value in prefetch.iter().flat_map(|p| p.rest.iter().chain([&p.value])) {
            self.typed(value, ScalarTy::U32, rule::EMIT, "a prefetch index");
        }
        if let Some(value) = priority {
            self.typed(value, ScalarTy::U32, rule::EMIT, "a priority");
        }
        let Some(def) = self.lookup(&self.module.structs, descriptor.index(), "descriptor type", span) else {
            return;
        };
        let (name, need, have) = (&def.name, def.fields.len(), fields.len());
        self.require(need == have, rule::EMIT, span, || {
            format!("`{name}` has {need} and is given {have}", need = counted(need, "field"))
        });
        self.require(def.consumer != Consumer::None, rule::EMIT, span, || format!("nobody takes a `{name}`"));
    }

    fn scheduled_for(&mut self, vars: &'m [LocalId], body: &'m Block, flow: Flow, span: Span) {
        let once = !std::mem::replace(&mut self.scheduled, true);
        self.require(once, rule::SCHEDULED_FOR, span, || {
            "a generator has one `PTO_SCHEDULED_FOR` at most".into()
        });
        self.require(flow == Flow::NoLoop, rule::SCHEDULED_FOR, span, || {
            "`PTO_SCHEDULED_FOR` stands in a loop".into()
        });
        if let Some(FuncKind::Generator { space }) = self.function.map(|f| f.kind)
            && let Some(space) = self.module.spaces.get(space.index())
        {
            let (need, have, name) = (space.axes.len(), vars.len(), &space.name);
            self.require(need == have, rule::SCHEDULED_FOR, span, || {
                format!(
                    "`{name}` has {need} and the loop {have}",
                    need = counted(need, "axis"),
                    have = counted(have, "variable")
                )
            });
        }
        for (i, var) in vars.iter().enumerate() {
            let ty = self.local_ty(*var, span);
            let fits = ty.is_none_or(|ty| *ty == LocalTy::Scalar(ScalarTy::U32)) && !vars[..i].contains(var);
            self.require(fits, rule::SCHEDULED_FOR, span, || {
                "its variables must be `u32`, each another".into()
            });
        }
        self.in_items = true;
        self.loop_body(vars, body, Flow::Scheduled, span);
        self.in_items = false;
    }

    /// The axis is one of the generator's space.
    pub(super) fn own_axis(&mut self, axis: AxisId, span: Span) {
        if let Some(FuncKind::Generator { space }) = self.function.map(|f| f.kind)
            && let Some(space) = self.module.spaces.get(space.index())
        {
            let name = &space.name;
            self.require(space.axes.contains(&axis), rule::AXIS, span, || {
                format!("the axis is none of `{name}`")
            });
        }
    }
}
