//! The walk over a kernel, as a task of it runs.

use super::frame::Frame;
use super::{Known, unknown};
use crate::target::model::Model;
use wsp_core::LocalId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    Arg, Block, Const, CostClass, Expr, ExprKind, Function, Module, ParamSource, ScalarTy, Stmt, StmtKind,
    UnOp,
};

/// Most statements of a task.
const MOST_STEPS: u32 = 1 << 20;

/// Most calls in calls.
const MOST_CALLS: u32 = 32;

pub(super) type Walked<T> = Result<T, Box<Diagnostic>>;

/// How a statement or block is left.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flow {
    Next,
    Break,
    Continue,
    /// With the value of a helper, where it is known.
    Return(Option<i128>),
}

/// One task.
pub(super) struct Walker<'a> {
    pub(super) model: &'a Model,
    pub(super) module: &'a Module,
    pub(super) known: &'a dyn Known,
    pub(super) cycles: f64,
    /// Operations and bytes on the way.
    pub(super) work: [f64; 2],
    /// Operators of the statement that is walked.
    operators: u32,
    steps: u32,
    calls: u32,
    /// Whether the function that is walked may have returned before the statement.
    may_have_returned: bool,
}

/// Cycles of a task, and its operations and bytes.
pub(super) fn cycles(
    model: &Model,
    module: &Module,
    function: &Function,
    known: &dyn Known,
) -> Walked<(f64, [f64; 2])> {
    let cycles = model.launch.kernel;
    let mut walker = Walker {
        model,
        module,
        known,
        cycles,
        work: [0.0; 2],
        operators: 0,
        steps: 0,
        calls: 0,
        may_have_returned: false,
    };
    walker.block(&function.body, &mut Frame::new(function))?;
    Ok((walker.cycles, walker.work))
}

impl<'a> Walker<'a> {
    fn block<'m>(&mut self, block: &'m Block, frame: &mut Frame<'m>) -> Walked<Flow> {
        for stmt in block {
            let flow = self.stmt(stmt, frame)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn stmt<'m>(&mut self, stmt: &'m Stmt, frame: &mut Frame<'m>) -> Walked<Flow> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            let message = format!("a task of more than {MOST_STEPS} statements");
            return Err(unknown(stmt.span, message));
        }
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                let value = init.as_ref().map_or(Ok(Some(0)), |init| self.scalar(init, frame))?;
                frame.declare(*local, value);
            }
            StmtKind::LetArray { local, array } => frame.name_array(*local, *array),
            StmtKind::Assign { local, value } => {
                let value = self.scalar(value, frame)?;
                frame.set(*local, value);
            }
            StmtKind::If { cond, then, otherwise } => return self.branch(cond, [then, otherwise], frame),
            StmtKind::For { var, start, end, step, body } => {
                return self.counted(*var, [start, end, step], body, frame);
            }
            StmtKind::While { cond, step, body } => return self.repeated(cond, step, body, frame),
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(Ok(None), |value| self.scalar(value, frame))?;
                return Ok(Flow::Return(value));
            }
            StmtKind::Tile(op) => self.tile(op, stmt.span, frame)?,
            StmtKind::StoreScalar { index, value, .. } => {
                self.operators += 1;
                index.iter().for_each(|index| self.count(index));
                self.scalar(value, frame)?;
            }
            // Kernels have no others.
            StmtKind::Emit { .. }
            | StmtKind::Fence
            | StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::SetTile { .. }
            | StmtKind::SetExtent { .. } => {}
        }
        Ok(Flow::Next)
    }

    /// The way that is taken; where that is not known the dearer of both, and then what is known on either.
    fn branch<'m>(
        &mut self,
        cond: &Expr,
        [then, otherwise]: [&'m Block; 2],
        frame: &mut Frame<'m>,
    ) -> Walked<Flow> {
        match self.scalar(cond, frame)? {
            Some(0) => return self.block(otherwise, frame),
            Some(_) => return self.block(then, frame),
            None => {}
        }
        let before = (self.cycles, self.work);
        let mut other = frame.clone();
        let flow = self.block(then, frame)?;
        let after = (self.cycles, self.work);
        (self.cycles, self.work) = before;
        let other_flow = self.block(otherwise, &mut other)?;
        if after.0 > self.cycles {
            (self.cycles, self.work) = after;
        }
        let returns = [flow, other_flow].map(|flow| matches!(flow, Flow::Return(_)));
        match returns {
            [true, false] => *frame = other,
            [false, true] => {}
            _ => frame.join(&other),
        }
        // What goes on is dearer than what ends here; what is returned after it need not be what the function gives.
        self.may_have_returned |= returns[0] != returns[1];
        Ok(match (flow, other_flow) {
            (Flow::Return(a), Flow::Return(b)) => Flow::Return(a.filter(|_| a == b)),
            (Flow::Next, _) | (_, Flow::Next) => Flow::Next,
            (Flow::Continue, _) | (_, Flow::Continue) => Flow::Continue,
            _ => Flow::Break,
        })
    }

    fn counted<'m>(
        &mut self,
        var: LocalId,
        [start, end, step]: [&'m Expr; 3],
        body: &'m Block,
        frame: &mut Frame<'m>,
    ) -> Walked<Flow> {
        let [first, last, by] =
            [self.scalar(start, frame)?, self.scalar(end, frame)?, self.scalar(step, frame)?];
        let (Some(mut at), Some(last), Some(by @ 1..)) = (first, last, by) else {
            return Err(endless(start.span.to(end.span)));
        };
        while at < last {
            frame.set(var, Some(at));
            // The comparison and the increment.
            self.operators += 2;
            self.pay_scalars(start.ty, start.span)?;
            match self.pass(body, frame, start.span)? {
                Flow::Break => break,
                flow @ Flow::Return(_) => return Ok(flow),
                Flow::Next | Flow::Continue => {}
            }
            at += by;
        }
        frame.set(var, None);
        Ok(Flow::Next)
    }

    fn repeated<'m>(
        &mut self,
        cond: &'m Expr,
        step: &'m Block,
        body: &'m Block,
        frame: &mut Frame<'m>,
    ) -> Walked<Flow> {
        loop {
            match self.scalar(cond, frame)? {
                None => return Err(endless(cond.span)),
                Some(0) => return Ok(Flow::Next),
                Some(_) => {}
            }
            match self.pass(body, frame, cond.span)? {
                Flow::Break => return Ok(Flow::Next),
                flow @ Flow::Return(_) => return Ok(flow),
                Flow::Next | Flow::Continue => {}
            }
            self.block(step, frame)?;
        }
    }

    /// One pass of a loop; one without statements is a step, too.
    fn pass<'m>(&mut self, body: &'m Block, frame: &mut Frame<'m>, span: Span) -> Walked<Flow> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(unknown(span, format!("a task of more than {MOST_STEPS} statements")));
        }
        self.block(body, frame)
    }

    /// The value of an expression, whose operators are paid for.
    fn scalar(&mut self, e: &Expr, frame: &mut Frame<'_>) -> Walked<Option<i128>> {
        self.count(e);
        self.reductions(e, frame)?;
        self.pay_scalars(e.ty, e.span)?;
        self.value(e, frame)
    }

    /// Counts the operators and accesses of an expression.
    fn count(&mut self, e: &Expr) {
        let more = match &e.kind {
            ExprKind::Chain(_, rest) => rest.len() as u32,
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Local(_) | ExprKind::Field(..) => 0,
            _ => 1,
        };
        self.operators = self.operators.saturating_add(more);
        e.for_each_child(&mut |child| self.count(child));
    }

    /// Pays for operators that were counted.
    fn pay_scalars(&mut self, ty: ScalarTy, span: Span) -> Walked<()> {
        let operators = std::mem::take(&mut self.operators);
        if operators == 0 {
            return Ok(());
        }
        let wide = matches!(ty, ScalarTy::I64 | ScalarTy::U64 | ScalarTy::F64);
        self.pay(CostClass::Scalars, f64::from(operators), if wide { 8 } else { 4 }, span)
    }

    /// Pays for values of whole tiles in an expression.
    fn reductions(&mut self, e: &Expr, frame: &Frame<'_>) -> Walked<()> {
        if let ExprKind::TileMax(tile) | ExprKind::TileSum(tile) = &e.kind {
            let width = self.width(*tile, frame, e.span)?;
            self.pay(CostClass::RowReduce, frame.shape(*tile).elements(), width, e.span)?;
        }
        let mut paid = Ok(());
        e.for_each_child(&mut |child| {
            if paid.is_ok() {
                paid = self.reductions(child, frame);
            }
        });
        paid
    }

    /// What an integer or truth value is, where that is known; the same as at run time.
    pub(super) fn value(&mut self, e: &Expr, frame: &Frame<'_>) -> Walked<Option<i128>> {
        if e.ty.is_float() {
            return Ok(None);
        }
        Ok(match &e.kind {
            ExprKind::Const(Const::Int(value)) => Some(*value),
            ExprKind::Const(Const::Bool(value)) => Some((*value).into()),
            ExprKind::Param(param) => match self.known.param(*param) {
                None => match &self.module.params[param.index()].source {
                    ParamSource::Set { default } | ParamSource::Derived(default) => {
                        self.value(default, frame)?
                    }
                    ParamSource::Shape { .. } | ParamSource::Entry => None,
                },
                value => value,
            },
            ExprKind::Local(local) => frame.scalar(*local),
            ExprKind::Field(_, field) => self.known.field(*field).map(i128::from),
            ExprKind::Unary(op, a) => {
                let value = self.value(a, frame)?;
                match op {
                    UnOp::Not => value.map(|value| (value == 0).into()),
                    UnOp::Neg => value.and_then(|value| e.ty.binary(wsp_ir::BinOp::Sub, 0, value).ok()),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let [x, y] = [self.value(a, frame)?, self.value(b, frame)?];
                binary(*op, a.ty, x, y)
            }
            ExprKind::Chain(first, rest) => {
                let mut value = self.value(first, frame)?;
                for (op, operand) in rest {
                    let next = self.value(operand, frame)?;
                    value = binary(*op, e.ty, value, next);
                }
                value
            }
            ExprKind::Cast(a) if e.ty == ScalarTy::Bool => {
                self.value(a, frame)?.map(|value| (value != 0).into())
            }
            ExprKind::Cast(a) => {
                let fits = |value: &i128| e.ty.range().is_some_and(|all| all.contains(*value));
                self.value(a, frame)?.filter(fits)
            }
            ExprKind::Select(cond, a, b) => match self.value(cond, frame)? {
                Some(0) => self.value(b, frame)?,
                Some(_) => self.value(a, frame)?,
                None => {
                    let [a, b] = [self.value(a, frame)?, self.value(b, frame)?];
                    a.filter(|_| a == b)
                }
            },
            ExprKind::Load(array, index) => {
                let index = self.value(index, frame)?.and_then(|index| u64::try_from(index).ok());
                let array = frame.array(*array);
                array.zip(index).and_then(|(array, index)| self.known.element(array, index))
            }
            ExprKind::TileRows(tile) => Some(frame.shape(*tile).rows.into()),
            ExprKind::TileCols(tile) => Some(frame.shape(*tile).cols.into()),
            ExprKind::Call(function, args) => {
                self.call(&self.module.functions[function.index()], args, frame)?
            }
            _ => None,
        })
    }

    fn call(&mut self, function: &'a Function, args: &[Arg], frame: &Frame<'_>) -> Walked<Option<i128>> {
        let mut inner = Frame::new(function);
        for (at, arg) in args.iter().enumerate() {
            let local = LocalId(at as u32);
            match arg {
                Arg::Scalar(e) => {
                    let value = self.value(e, frame)?;
                    inner.set(local, value);
                }
                Arg::Array(array) => {
                    if let Some(array) = frame.array(*array) {
                        inner.name_array(local, array);
                    }
                }
            }
        }
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Err(unknown(
                function.span,
                format!("`{}` is called in more than {MOST_CALLS} calls", function.name),
            ));
        }
        let outer = std::mem::take(&mut self.may_have_returned);
        let flow = self.block(&function.body, &mut inner)?;
        let may_have_returned = std::mem::replace(&mut self.may_have_returned, outer);
        self.calls -= 1;
        Ok(if let Flow::Return(value) = flow { value.filter(|_| !may_have_returned) } else { None })
    }
}

fn binary(op: wsp_ir::BinOp, ty: ScalarTy, a: Option<i128>, b: Option<i128>) -> Option<i128> {
    if op.is_logic() {
        // One operand may decide.
        let decides = i128::from(op == wsp_ir::BinOp::Or);
        return match (a, b) {
            (Some(a), _) if i128::from(a != 0) == decides => Some(decides),
            (_, Some(b)) if i128::from(b != 0) == decides => Some(decides),
            (Some(_), Some(_)) => Some(1 - decides),
            _ => None,
        };
    }
    let ty = if ty == ScalarTy::Bool { ScalarTy::I32 } else { ty };
    ty.binary(op, a?, b?).ok()
}

fn endless(span: Span) -> Box<Diagnostic> {
    unknown(span, "how often a loop runs is not known".to_owned())
}
