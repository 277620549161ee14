//! Expressions: what is known is folded, calls become statements.

use super::{Specialiser, assigned_once, when};
use crate::{codes, eval};
use wsp_core::{FuncId, LocalId};
use wsp_ir::{Arg, BinOp, Block, Const, Expr, ExprKind, LocalTy, ScalarTy, Stmt, StmtKind};

fn known(e: &Expr) -> Option<Const> {
    match e.kind {
        ExprKind::Const(value) => Some(value),
        _ => None,
    }
}

impl Specialiser<'_> {
    /// The expression with what is known folded. Statements that it needs go to `before`.
    pub(super) fn expr(&mut self, e: &Expr, before: &mut Block) -> Expr {
        let constant = |value| Expr::new(ExprKind::Const(value), e.ty, e.span);
        match &e.kind {
            ExprKind::Param(id) => {
                self.params.get(id.index()).copied().flatten().map_or_else(|| e.clone(), constant)
            }
            ExprKind::Local(local) => match self.constants.get(local) {
                Some(value) => constant(*value),
                None => Expr::new(ExprKind::Local(self.renamed(*local)), e.ty, e.span),
            },
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => self.logic(e, *op, a, b, before),
            ExprKind::Select(cond, a, b) => self.select(e, (cond, a, b), before),
            ExprKind::Call(function, args) => self.call(e, *function, args, before),
            ExprKind::TileMax(_) | ExprKind::TileSum(_) | ExprKind::LoadScalar(..) => {
                let value = self.operands(e, before);
                let local = self.fresh("value", e.ty, e.span);
                before.push(Stmt { kind: StmtKind::Assign { local, value }, span: e.span });
                Expr::local(local, e.ty, e.span)
            }
            _ => {
                let folded = self.operands(e, before);
                match step(&folded) {
                    Some(value) => constant(value),
                    None => folded,
                }
            }
        }
    }

    /// The same expression on folded operands.
    fn operands(&mut self, e: &Expr, before: &mut Block) -> Expr {
        let mut copy = e.clone();
        copy.for_each_child_mut(&mut |child| *child = self.expr(child, before));
        match &mut copy.kind {
            ExprKind::Load(array, _)
            | ExprKind::ArrayMax(array, _)
            | ExprKind::ArraySum(array, _)
            | ExprKind::ArrayLen(array) => *array = self.array(*array),
            _ => {}
        }
        copy
    }

    /// The right side is evaluated only where the left one does not decide.
    fn logic(&mut self, e: &Expr, op: BinOp, a: &Expr, b: &Expr, before: &mut Block) -> Expr {
        let a = self.expr(a, before);
        if let Some(Const::Bool(left)) = known(&a) {
            return if left == (op == BinOp::And) { self.expr(b, before) } else { a };
        }
        let mut needed = Vec::new();
        let b = self.expr(b, &mut needed);
        if needed.is_empty() {
            return Expr::binary(op, a, b);
        }
        let local = self.fresh("both", ScalarTy::Bool, e.span);
        let result = Expr::local(local, ScalarTy::Bool, e.span);
        before.push(Stmt { kind: StmtKind::Assign { local, value: a }, span: e.span });
        needed.push(Stmt { kind: StmtKind::Assign { local, value: b }, span: e.span });
        let (then, otherwise) = if op == BinOp::And { (needed, Vec::new()) } else { (Vec::new(), needed) };
        before.push(when(result.clone(), then, otherwise, e.span));
        result
    }

    fn select(&mut self, e: &Expr, (cond, a, b): (&Expr, &Expr, &Expr), before: &mut Block) -> Expr {
        let cond = self.expr(cond, before);
        if let Some(Const::Bool(holds)) = known(&cond) {
            return self.expr(if holds { a } else { b }, before);
        }
        let (mut then, mut otherwise) = (Vec::new(), Vec::new());
        let (a, b) = (self.expr(a, &mut then), self.expr(b, &mut otherwise));
        if then.is_empty() && otherwise.is_empty() {
            let kind = ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b));
            return Expr::new(kind, e.ty, e.span);
        }
        let local = self.fresh("chosen", e.ty, e.span);
        then.push(Stmt { kind: StmtKind::Assign { local, value: a }, span: e.span });
        otherwise.push(Stmt { kind: StmtKind::Assign { local, value: b }, span: e.span });
        before.push(when(cond, then, otherwise, e.span));
        Expr::local(local, e.ty, e.span)
    }

    /// A helper's statements in place of its call; its variables are new ones at each call.
    fn call(&mut self, e: &Expr, id: FuncId, args: &[Arg], before: &mut Block) -> Expr {
        let function = &self.module.functions[id.index()];
        let mut values = Vec::new();
        for arg in args {
            values.push(match arg {
                Arg::Scalar(value) => Arg::Scalar(self.expr(value, before)),
                Arg::Array(array) => Arg::Array(self.array(*array)),
            });
        }
        let renamed: Vec<LocalId> = function
            .locals
            .iter()
            .map(|local| self.out.add_local(local.name.clone(), local.ty.clone(), local.span))
            .collect();
        let once = assigned_once(function);
        let mut constants = wsp_ordered::OrderedMap::new();
        for (at, value) in values.into_iter().enumerate() {
            let kind = match value {
                Arg::Scalar(value) => {
                    if let (Some(value), true) = (known(&value), once[at]) {
                        constants.insert(LocalId(at as u32), value);
                    }
                    StmtKind::Let { local: renamed[at], init: Some(value) }
                }
                Arg::Array(array) => StmtKind::LetArray { local: renamed[at], array },
            };
            before.push(Stmt { kind, span: e.span });
        }
        if function.locals.iter().any(|local| matches!(local.ty, LocalTy::Tile(_))) {
            let message = format!("`{}` has tiles and is no kernel", function.name);
            self.report(codes::NOT_SUPPORTED, e.span, message, "move the tiles to the kernel");
        }
        let result = self.fresh("result", e.ty, e.span);
        let outer = (self.renamed.replace(renamed), std::mem::replace(&mut self.once, once));
        let outer_constants = std::mem::replace(&mut self.constants, constants);
        let body = function.body.clone();
        self.function_body(&body, Some(result), before);
        (self.renamed, self.once) = outer;
        self.constants = outer_constants;
        Expr::local(result, e.ty, e.span)
    }
}

/// The value of an operator on known operands. One that has no value is left for the run to stop at.
fn step(e: &Expr) -> Option<Const> {
    match &e.kind {
        ExprKind::Unary(op, a) => eval::unary(*op, a.ty, known(a)?).ok(),
        ExprKind::Binary(op, a, b) => eval::binary(*op, a.ty, known(a)?, known(b)?).ok(),
        ExprKind::Chain(first, rest) => rest.iter().try_fold(known(first)?, |value, (op, operand)| {
            eval::binary(*op, first.ty, value, known(operand)?).ok()
        }),
        ExprKind::Cast(a) => eval::cast(e.ty, known(a)?).ok(),
        ExprKind::Math(f, a) => eval::math(*f, a.ty, known(a)?).ok(),
        _ => None,
    }
}
