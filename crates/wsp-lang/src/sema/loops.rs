//! Loops: counted ones are recognised, the others keep their condition.

use super::Sema;
use super::body::{Binding, Body, BodyKind, Loop};
use super::codes;
use super::consts::has_round;
use super::convert::{common_type, constant};
use super::diags::Res;
use super::types::Head;
use crate::ast::{self, AssignOp, BinOp, ExprKind, Ident, StmtKind as Ast};
use crate::lint::{leaves, returns};
use wsp_core::LocalId;
use wsp_core::words;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Block, Const, Expr, ExprKind as Ir, LocalTy, ScalarTy, Stmt, StmtKind};
use wsp_ordered::OrderedSet;

/// The parts of `for (init; cond; step) body`.
type ForParts<'a> = (Option<&'a ast::Stmt>, Option<&'a ast::Expr>, &'a [ast::Stmt], &'a ast::Stmt);

/// `for (T var = start; var < end; var += step)`, as far as the tree shows.
struct Counted<'a> {
    ty: &'a ast::Type,
    var: &'a Ident,
    start: &'a ast::Expr,
    end: &'a ast::Expr,
    step: &'a ast::Expr,
}

impl Sema<'_> {
    /// The body of a loop with the given index variables.
    pub(crate) fn loop_body(&mut self, b: &mut Body, vars: Vec<LocalId>, body: &ast::Stmt) -> Block {
        self.rounds(b, Loop { vars, scheduled: false }, |cx, b| cx.nested(b, body))
    }

    /// Lowers the body of a loop with `f`. What leaves a round leaves nothing behind the loop, but for a `return`.
    fn rounds(&mut self, b: &mut Body, of: Loop, f: impl FnOnce(&mut Self, &mut Body) -> Block) -> Block {
        let (unevaluated, perhaps) = (self.unevaluated, self.perhaps);
        b.loops.push(of);
        let body = f(self, b);
        b.loops.pop();
        self.unevaluated = unevaluated;
        self.perhaps = perhaps + u32::from(unevaluated == 0 && returns(&body));
        body
    }

    /// `for (init; cond; step) body`
    pub(crate) fn for_loop(
        &mut self,
        b: &mut Body,
        parts: ForParts<'_>,
        span: Span,
        out: &mut Block,
    ) -> Res<()> {
        b.push_scope();
        let done = match counted(parts) {
            Some(counted) => self.counted_loop(b, &counted, parts, span, out),
            None => {
                let first = out.len();
                if let Some(init) = parts.0 {
                    self.statements(b, std::slice::from_ref(init), out);
                }
                let vars = out[first..].iter().filter_map(|stmt| index(b, stmt)).collect();
                let asked = parts.1.is_none().then_some(true);
                let body = self.evaluated_where(asked, |cx| cx.loop_body(b, vars, parts.3));
                self.general_loop(b, parts, body, span, out)
            }
        };
        b.pop_scope();
        done
    }

    /// The loop in its general form; `init` has been lowered.
    fn general_loop(
        &mut self,
        b: &mut Body,
        (_, cond, step, _): ForParts<'_>,
        body: Block,
        span: Span,
        out: &mut Block,
    ) -> Res<()> {
        let cond = match cond {
            Some(cond) => self.condition(b, cond)?,
            None => constant(Const::Bool(true), ScalarTy::Bool, span),
        };
        let mut after = Block::new();
        self.statements(b, step, &mut after);
        out.push(Stmt { kind: StmtKind::While { cond, step: after, body }, span });
        Ok(())
    }

    fn counted_loop(
        &mut self,
        b: &mut Body,
        parts: &Counted<'_>,
        whole: ForParts<'_>,
        span: Span,
        out: &mut Block,
    ) -> Res<()> {
        let (start, ty) = match self.head(parts.ty)? {
            Head::Auto => {
                let start = self.scalar(b, parts.start)?;
                let ty = start.ty;
                (start, ty)
            }
            _ => {
                let ty = self.scalar_type(parts.ty)?;
                (self.scalar_as(b, parts.start, ty)?, ty)
            }
        };
        self.check_reserved(parts.var)?;
        let var = b.local(parts.var.as_str(), LocalTy::Scalar(ty), parts.var.span);
        self.bind(b, parts.var, Binding::Scalar { local: var, ty, fixed: None, known: None })?;
        let (end, step) = (self.scalar(b, parts.end), self.scalar(b, parts.step));
        let asked = end.as_ref().ok().and_then(|end| has_round(&start, end));
        let body = self.evaluated_where(asked, |cx| cx.loop_body(b, vec![var], whole.3));
        let (end, step) = (end?, step?);
        let assigned = assigned_in(&body);
        let steady = ty.is_int() && !assigned.contains(&var) && is_steady(&end, var, &assigned);
        let simple = matches!(step.kind, Ir::Const(_) | Ir::Param(_) | Ir::Local(_) | Ir::Field(..));
        let counts = simple && step.ty.is_int() && is_steady(&step, var, &assigned);
        let compared = if steady && counts { comparison(&start, &end, &step, ty, &body) } else { None };
        if let Some(compared) = compared {
            let start = match compared {
                Compared::AsItIs => start,
                Compared::Unsigned(wide) => {
                    let at = whole.1.map_or(span, compared_at);
                    self.unsigned_start(start, wide, parts, at)?
                }
            };
            let (end, step) = (self.convert(end, ty)?, self.convert(step, ty)?);
            out.push(Stmt { kind: StmtKind::For { var, start, end, step, body }, span });
            return Ok(());
        }
        out.push(Stmt { kind: StmtKind::Let { local: var, init: Some(start) }, span: parts.var.span });
        self.general_loop(b, whole, body, span, out)
    }

    /// The start of a loop whose variable, which has a sign, is converted to `wide`, which has none, where it is compared at `at`: one
    /// below 0 is the fault that it is there. Later values are larger.
    fn unsigned_start(&mut self, start: Expr, wide: ScalarTy, parts: &Counted<'_>, at: Span) -> Res<Expr> {
        let ty = start.ty;
        match start.as_const_int() {
            Some(value) if value < 0 => {
                let (var, name) = (parts.var.as_str(), wide.c_name());
                let message = format!("`{value}` does not fit `{name}`");
                let label = format!("`{var}` begins with {value}, and is converted to `{name}` here");
                Err(self.fail(
                    Diagnostic::error(codes::CONST_FAULT, message)
                        .at(at, label)
                        .note(format!(
                            "as in C a number with a sign that is compared with a `{name}` is converted to it; \
                             conversions are checked, they do not wrap"
                        ))
                        .help(format!("to compare with a sign, write `{var} < ({})(…)`", ty.c_name())),
                ))
            }
            _ if is_never_negative(&start) => Ok(start),
            _ => {
                let mut there = self.convert(start, wide)?;
                there.span = at;
                self.convert(there, ty)
            }
        }
    }

    /// `PTO_FOR_EACH(var, start, end) { … }`
    pub(crate) fn for_each(
        &mut self,
        b: &mut Body,
        name: &Ident,
        (start, end): (&ast::Expr, &ast::Expr),
        body: &ast::Block,
        span: Span,
        out: &mut Block,
    ) -> Res<()> {
        let start = self.scalar_as(b, start, ScalarTy::U32);
        let end = self.scalar_as(b, end, ScalarTy::U32);
        b.push_scope();
        let var = self.index_variable(b, name, "the variable of a loop");
        let of = Loop { vars: var.iter().copied().collect(), scheduled: false };
        let ends = start.as_ref().ok().zip(end.as_ref().ok());
        let asked = ends.and_then(|(start, end)| has_round(start, end));
        let body = self.evaluated_where(asked, |cx| cx.rounds(b, of, |cx, b| cx.block(b, body)));
        b.pop_scope();
        let (start, mut end, var) = (start?, end?, var?);
        if !is_steady(&end, var, &assigned_in(&body)) {
            // The bound is what it was when the loop began.
            let at = end.span;
            let fixed = b.local("end", LocalTy::Scalar(ScalarTy::U32), at);
            out.push(Stmt { kind: StmtKind::Let { local: fixed, init: Some(end) }, span: at });
            end = Expr::local(fixed, ScalarTy::U32, at);
        }
        let step = Expr::u32(1, span);
        out.push(Stmt { kind: StmtKind::For { var, start, end, step, body }, span });
        Ok(())
    }

    fn index_variable(&mut self, b: &mut Body, name: &Ident, fixed: &'static str) -> Res<LocalId> {
        self.check_reserved(name)?;
        let local = b.local(name.as_str(), LocalTy::Scalar(ScalarTy::U32), name.span);
        self.bind(b, name, Binding::Scalar { local, ty: ScalarTy::U32, fixed: Some(fixed), known: None })?;
        Ok(local)
    }

    /// `PTO_SCHEDULED_FOR(var, …) { … }`
    pub(crate) fn scheduled_for(
        &mut self,
        b: &mut Body,
        names: &[Ident],
        body: &ast::Block,
        span: Span,
    ) -> Res<StmtKind> {
        let space = match b.kind {
            BodyKind::Generator(space) => space,
            _ => {
                let form = Ident { name: "PTO_SCHEDULED_FOR".into(), span };
                return Err(self.not_here(&form, "only `PTO_DESCRIPTOR_GEN` iterates over a space"));
            }
        };
        if !b.loops.is_empty() {
            return Err(self.fail(
                Diagnostic::error(codes::NESTED_SCHEDULED_FOR, "`PTO_SCHEDULED_FOR` inside of a loop")
                    .at(span, "it would go over the whole space in every pass")
                    .help("write it outside of loops; use `PTO_FOR_EACH` for inner ones"),
            ));
        }
        let def = &self.module.spaces[space.index()];
        if def.axes.len() != names.len() {
            let axes: Vec<&str> =
                def.axes.iter().map(|a| self.module.axes[a.index()].name.as_str()).collect();
            let message = format!(
                "{} for {}",
                words::counted(names.len(), "variable"),
                words::counted(axes.len(), "axis")
            );
            let d = Diagnostic::error(codes::SCHEDULED_FOR_ARITY, message)
                .at(span, format!("space `{}` has the axes {}", def.name, super::names::quoted(&axes)))
                .label(def.span, "the space")
                .help("give one variable per axis, in the order of the space");
            return Err(self.fail(d));
        }
        b.push_scope();
        let vars: Res<Vec<LocalId>> =
            names.iter().map(|name| self.index_variable(b, name, "the variable of a loop")).collect();
        let of = Loop { vars: vars.as_ref().cloned().unwrap_or_default(), scheduled: true };
        let body = self.rounds(b, of, |cx, b| cx.block(b, body));
        b.pop_scope();
        Ok(StmtKind::ScheduledFor { vars: vars?, body })
    }
}

fn counted<'a>((init, cond, step, _): ForParts<'a>) -> Option<Counted<'a>> {
    let Ast::Decl(decl) = &init?.kind else { return None };
    let [var] = &decl.vars[..] else { return None };
    let ExprKind::Binary(BinOp::Lt, left, end) = &cond?.kind else { return None };
    let [step] = step else { return None };
    let Ast::Assign { target, op: AssignOp::Compound(BinOp::Add), value } = &step.kind else {
        return None;
    };
    let is_var = |e: &ast::Expr| matches!(&e.kind, ExprKind::Name(name) if *name == var.name.name);
    if decl.ty.is_const || !is_var(left) || !is_var(target) {
        return None;
    }
    Some(Counted { ty: &decl.ty, var: &var.name, start: var.init.as_ref()?, end, step: value })
}

/// The number that a statement declares or sets: an index of the loop it stands in front of.
fn index(b: &Body, stmt: &Stmt) -> Option<LocalId> {
    let (StmtKind::Let { local, .. } | StmtKind::Assign { local, .. }) = stmt.kind else { return None };
    matches!(&b.locals[local.index()].ty, LocalTy::Scalar(ty) if *ty != ScalarTy::Bool).then_some(local)
}

/// How the variable of a counted loop is compared with its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compared {
    /// As what it is, or in a type that holds all that it holds.
    AsItIs,
    /// It has a sign, and is converted to this type, which has none.
    Unsigned(ScalarTy),
}

/// How `var < end` and `var += step` of a loop that counts take its variable, a `ty`; none where they do not mean the same when `end` and
/// `step` are converted to `ty` first, so that the loop does not count.
fn comparison(start: &Expr, end: &Expr, step: &Expr, ty: ScalarTy, body: &Block) -> Option<Compared> {
    let loses_sign = |with: ScalarTy| is_signed(ty) && !is_signed(common_type(with, ty));
    let (common, compared, stepped) = (common_type(end.ty, ty), loses_sign(end.ty), loses_sign(step.ty));
    let converts = match end.as_const_int() {
        Some(value) => super::consts::cast(Const::Int(value), ty).is_ok(),
        // An end that the variable does not hold is a fault, to which a loop that is not left before comes too.
        None => common == ty || (compared && bits(end.ty) <= bits(ty) && !leaves(body)),
    };
    if !end.ty.is_int() || !converts {
        return None;
    }
    match (compared, stepped) {
        (true, _) => Some(Compared::Unsigned(common)),
        // The step is added after a pass, which may be the last.
        (false, true) => is_never_negative(start).then_some(Compared::AsItIs),
        (false, false) => Some(Compared::AsItIs),
    }
}

fn is_signed(ty: ScalarTy) -> bool {
    matches!(ty, ScalarTy::I32 | ScalarTy::I64)
}

fn bits(ty: ScalarTy) -> u32 {
    if matches!(ty, ScalarTy::I64 | ScalarTy::U64) { 64 } else { 32 }
}

/// Whether an expression is certainly a number from 0: a constant, or an unsigned number, converted or not.
fn is_never_negative(e: &Expr) -> bool {
    match &e.kind {
        _ if e.ty.is_int() && !is_signed(e.ty) => true,
        Ir::Const(Const::Int(value)) => *value >= 0,
        Ir::Cast(inner) => inner.ty.is_int() && is_never_negative(inner),
        _ => false,
    }
}

/// The place of the variable in `var < end`.
fn compared_at(cond: &ast::Expr) -> Span {
    match &cond.kind {
        ExprKind::Binary(_, left, _) => left.span,
        _ => cond.span,
    }
}

/// Whether an expression has the same value on every pass of a loop that assigns these variables.
fn is_steady(e: &Expr, var: LocalId, assigned: &OrderedSet<LocalId>) -> bool {
    !e.any(&mut |e| match e.kind {
        Ir::Local(local) => local == var || assigned.contains(&local),
        // A loop may change tiles, tensors, tile sizes and reservations.
        Ir::TileMax(_)
        | Ir::TileSum(_)
        | Ir::TileRows(_)
        | Ir::TileCols(_)
        | Ir::LoadScalar(..)
        | Ir::AxisTile(_)
        | Ir::AxisExtent(_)
        | Ir::AllocWs(_) => true,
        _ => false,
    })
}

/// The variables that a block gives values to.
fn assigned_in(block: &Block) -> OrderedSet<LocalId> {
    let mut found = OrderedSet::new();
    collect_assigned(block, &mut found);
    found
}

fn collect_assigned(block: &Block, found: &mut OrderedSet<LocalId>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Let { local, .. }
            | StmtKind::LetArray { local, .. }
            | StmtKind::Assign { local, .. } => {
                found.insert(*local);
            }
            StmtKind::If { then, otherwise, .. } => {
                collect_assigned(then, found);
                collect_assigned(otherwise, found);
            }
            StmtKind::For { var, body, .. } => {
                found.insert(*var);
                collect_assigned(body, found);
            }
            StmtKind::While { step, body, .. } => {
                collect_assigned(step, found);
                collect_assigned(body, found);
            }
            StmtKind::ScheduledFor { vars, body } => {
                found.extend(vars);
                collect_assigned(body, found);
            }
            _ => {}
        }
    }
}
