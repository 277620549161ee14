//! The walk over a kernel.

use super::interval::{self, Interval, Ranges};
use super::path;
use super::record::Reach;
use super::state::{Shape, State, Value};
use super::sym;
use super::{KernelAccess, slot_layout};
use crate::{fold, walk};
use wsp_core::{AccessKind, FuncId, LocalId};
use wsp_ir::{
    BinOp, Block, Expr, ExprKind, FuncKind, Function, LocalTy, Module, ScalarTy, Stmt, StmtKind, UnOp,
};
use wsp_ordered::OrderedSet;

/// What a task of a kernel may touch; empty for other functions.
pub fn summarise(module: &Module, kernel: FuncId) -> Vec<KernelAccess> {
    let Some(func) = module.functions.get(kernel.index()) else { return Vec::new() };
    if !matches!(func.kind, FuncKind::Kernel { .. }) {
        return Vec::new();
    }
    let slot_bytes = slot_layout(module).total;
    let mut walker = Walker { module, func, slot_bytes, ranges: Ranges::default(), accesses: Vec::new() };
    let mut state = State::entry(func);
    walker.block(&func.body, &mut state);
    walker.accesses
}

/// One walk.
pub(super) struct Walker<'a> {
    pub(super) module: &'a Module,
    pub(super) func: &'a Function,
    /// Bytes of a workspace slot.
    pub(super) slot_bytes: Expr,
    /// Loops around.
    pub(super) ranges: Ranges,
    pub(super) accesses: Vec<KernelAccess>,
}

impl Walker<'_> {
    fn block(&mut self, block: &Block, state: &mut State) {
        for stmt in block {
            if state.dead {
                return;
            }
            self.stmt(stmt, state);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, state: &mut State) {
        walk::exprs(stmt, &mut |e| self.loads(e, state));
        match &stmt.kind {
            StmtKind::Let { local, init } => self.declare(*local, init.as_ref(), state),
            StmtKind::Assign { local, value } => state.scalars[local.index()] = self.eval(value, state),
            StmtKind::If { cond, then, otherwise } => {
                let mut other = state.clone();
                path::assume(self, state, cond, true);
                path::assume(self, &mut other, cond, false);
                self.block(then, state);
                self.block(otherwise, &mut other);
                *state = state.clone().meet(other, self.func);
            }
            StmtKind::For { var, start, end, body, .. } => self.counted(*var, (start, end), body, state),
            StmtKind::While { cond, step, body } => self.repeated(cond, step, body, state),
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => state.dead = true,
            StmtKind::Tile(op) => self.tile(op, state),
            StmtKind::StoreScalar { tensor, index, .. } => {
                self.record(state, *tensor, AccessKind::Write, index, &Reach { dims: &[] });
            }
            // Kernels have no others, and those touch no tensor.
            StmtKind::LetArray { .. }
            | StmtKind::Emit { .. }
            | StmtKind::Fence
            | StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::SetTile { .. }
            | StmtKind::SetExtent { .. } => {}
        }
    }

    fn declare(&mut self, local: LocalId, init: Option<&Expr>, state: &mut State) {
        match &self.func.local(local).ty {
            LocalTy::Scalar(ty) => {
                state.scalars[local.index()] = match init {
                    Some(e) => self.eval(e, state),
                    None if ty.is_int() => Value::exact(fold::int(0, *ty, self.func.local(local).span)),
                    None => Value::unknown(*ty),
                };
            }
            LocalTy::Tile(_) => state.shapes[local.index()] = Some(Shape::empty()),
            LocalTy::Array(_) | LocalTy::Descriptor(_) => {}
        }
    }

    fn counted(&mut self, var: LocalId, (start, end): (&Expr, &Expr), body: &Block, state: &mut State) {
        let (first, last) = (self.eval(start, state), self.eval(end, state));
        let mut inside = state.clone();
        inside.forget(self.func, body);
        if let (Some(a), Some(b)) = (first.as_exact(), last.as_exact()) {
            let some_pass = fold::binary(BinOp::Lt, a.clone(), b.clone());
            if !self.ranges.occur_in(&some_pass) {
                path::push(&mut inside, some_pass);
            }
        }
        let (first, last) = (self.without_loops(&first), self.without_loops(&last));
        let below = last.high.map(|e| sym::sub(e.clone(), fold::int(1, e.ty, e.span)));
        let range = interval::small(Interval {
            low: interval::low_or_zero(&first, start),
            high: below,
            nonneg: first.nonneg,
        });
        self.ranges.enter(var, range);
        inside.scalars[var.index()] = Value::Exact(Expr::local(var, start.ty, start.span));
        self.block(body, &mut inside);
        self.ranges.leave(var);
        state.forget(self.func, body);
        state.scalars[var.index()] = Value::unknown(start.ty);
    }

    fn repeated(&mut self, cond: &Expr, step: &Block, body: &Block, state: &mut State) {
        state.forget(self.func, body);
        state.forget(self.func, step);
        let mut inside = state.clone();
        // Evaluated before each pass: the first time with what was known before, then with what passes leave.
        self.loads(cond, &inside);
        path::assume(self, &mut inside, cond, true);
        self.block(body, &mut inside);
        let mut after = state.clone();
        self.block(step, &mut after);
    }

    /// Bounds without loop variables.
    fn without_loops(&self, value: &Value) -> Interval {
        match value {
            Value::Exact(e) => self.ranges.interval(e),
            Value::Within(i) => {
                let low = i.low.clone().and_then(|e| self.ranges.low(e));
                let high = i.high.clone().and_then(|e| self.ranges.high(e));
                interval::small(Interval { low, high, nonneg: i.nonneg })
            }
        }
    }

    /// What is known of an expression's value.
    pub(super) fn eval(&self, e: &Expr, state: &State) -> Value {
        if e.ty.is_float() {
            return Value::unknown(e.ty);
        }
        match &e.kind {
            ExprKind::Const(_) | ExprKind::Param(_) => Value::Exact(e.clone()),
            ExprKind::Field(local, _) if *local == LocalId(0) => Value::Exact(e.clone()),
            ExprKind::Local(local) => {
                state.scalars.get(local.index()).cloned().unwrap_or_else(|| Value::unknown(e.ty))
            }
            ExprKind::Unary(op, a) => match (op, self.eval(a, state)) {
                (UnOp::Not, Value::Exact(a)) => Value::exact(fold::not(a)),
                (op, Value::Exact(a)) => {
                    Value::exact(Expr::new(ExprKind::Unary(*op, Box::new(a)), e.ty, e.span))
                }
                _ => Value::unknown(e.ty),
            },
            ExprKind::Binary(op, a, b) => self.binary(*op, self.eval(a, state), self.eval(b, state), e),
            ExprKind::Chain(first, rest) => {
                rest.iter().fold(self.eval(first, state), |left, (op, operand)| {
                    self.binary(*op, left, self.eval(operand, state), e)
                })
            }
            ExprKind::Cast(a) => match self.eval(a, state) {
                Value::Exact(a) if !a.ty.is_float() => Value::exact(fold::cast(a, e.ty)),
                value => Value::Within(interval::cast(&self.as_interval(&value), a.ty, e.ty)),
            },
            ExprKind::Select(c, a, b) => self.select([c, a, b].map(|x| self.eval(x, state)), e),
            ExprKind::TileRows(tile) => below(self.shape(state, *tile).rows),
            ExprKind::TileCols(tile) => below(self.shape(state, *tile).cols),
            _ => Value::unknown(e.ty),
        }
    }

    fn binary(&self, op: BinOp, a: Value, b: Value, like: &Expr) -> Value {
        match (a, b) {
            (Value::Exact(a), Value::Exact(b)) => Value::exact(sym::binary(op, a, b)),
            (a, b) if like.ty.is_int() => {
                Value::Within(interval::combine(op, &self.as_interval(&a), &self.as_interval(&b), like))
            }
            _ => Value::unknown(like.ty),
        }
    }

    fn select(&self, [c, a, b]: [Value; 3], like: &Expr) -> Value {
        match (c, a, b) {
            (Value::Exact(c), a, b) if fold::as_bool(&c).is_some() => {
                if fold::as_bool(&c) == Some(true) {
                    a
                } else {
                    b
                }
            }
            (Value::Exact(c), Value::Exact(a), Value::Exact(b)) => {
                let kind = ExprKind::Select(Box::new(c), Box::new(a), Box::new(b));
                Value::exact(Expr::new(kind, like.ty, like.span))
            }
            (_, a, b) => Value::Within(interval::join(&self.as_interval(&a), &self.as_interval(&b))),
        }
    }

    /// Bounds that may have loop variables in them.
    fn as_interval(&self, value: &Value) -> Interval {
        match value {
            Value::Exact(e) => Interval::point(e.clone(), self.ranges.nonneg(e)),
            Value::Within(interval) => interval.clone(),
        }
    }

    /// Notes the tensor elements that an expression reads.
    fn loads(&mut self, e: &Expr, state: &State) {
        match &e.kind {
            ExprKind::LoadScalar(tensor, index) => {
                self.record(state, *tensor, AccessKind::Read, index, &Reach { dims: &[] });
            }
            ExprKind::Call(func, _) => self.helper(*func, state),
            _ => {}
        }
        e.for_each_child(&mut |child| self.loads(child, state));
    }

    /// A helper's arguments are not followed: a tensor it touches counts as touched everywhere.
    fn helper(&mut self, func: FuncId, state: &State) {
        let mut called = OrderedSet::new();
        walk::callees(self.module, func, &mut called);
        for id in called {
            let Some(function) = self.module.functions.get(id.index()) else { continue };
            let mut touched = OrderedSet::new();
            walk::tensors(&function.body, &mut |tensor, written| {
                touched.insert((tensor, written));
            });
            for (tensor, written) in touched {
                let mode = if written { AccessKind::Write } else { AccessKind::Read };
                self.record_all(state, tensor, mode);
            }
        }
    }
}

/// From 0 up to a bound.
fn below(bound: Expr) -> Value {
    let zero = fold::int(0, ScalarTy::U32, bound.span);
    Value::Within(interval::small(Interval { low: Some(zero), high: Some(bound), nonneg: true }))
}
