//! The guard form: a body that begins with `if (index >= count) continue;` says how far a dynamic axis runs.
//!
//! Skipping the items at or past `count` changes nothing when everything before the guard has no effect: declarations,
//! assignments to variables of the body, and branches made of them. `count` must not depend on the axis itself, nor on a
//! variable that the body changes from one item to the next.

use super::axes::{Extent, Item};
use crate::{fold, walk};
use wsp_core::{FuncId, LocalId};
use wsp_ir::{BinOp, Block, Expr, ExprKind, Function, Module, ScalarTy, Stmt, StmtKind, UnOp};
use wsp_ordered::OrderedSet;

/// A guard: where it stands in the body, the bound, and how to compute the bound elsewhere.
pub(super) struct Guard {
    /// Index of the statement in the body.
    pub(super) at: usize,
    /// The bound as the body computes it there, `u32`.
    pub(super) bound: Expr,
    /// The bound for other indices.
    pub(super) extent: Extent,
}

/// One step towards the guard.
enum Step<'a> {
    /// A statement without effect.
    Pure(&'a Stmt),
    /// Items for which this holds are skipped.
    Skip(Expr),
}

/// Looks for the guard of the dynamic axis at this position of the space.
pub(super) fn find(item: &Item<'_>, module: &Module, func: &mut Function, position: usize) -> Option<Guard> {
    let var = item.vars[position];
    let mut steps: Vec<Step<'_>> =
        item.constraints.iter().map(|c| Step::Skip(fold::not(c.clone()))).collect();
    for (at, stmt) in item.body.iter().enumerate() {
        if let StmtKind::If { cond, then, otherwise } = &stmt.kind {
            let skips = matches!(then.as_slice(), [Stmt { kind: StmtKind::Continue, .. }]);
            let last = at + 1 == item.body.len() && otherwise.is_empty();
            let bound = match (skips, last) {
                (true, _) => bound_of_skipped(cond, var),
                (false, true) => bound_of_kept(cond, var),
                _ => None,
            };
            if let Some(bound) = bound
                && is_pure(&bound, module)
                && let Some(extent) = slice(item, &steps, &bound, position, func)
            {
                return Some(Guard { at, bound, extent });
            }
            if skips && otherwise.is_empty() && is_pure(cond, module) {
                steps.push(Step::Skip(cond.clone()));
                continue;
            }
        }
        if !has_no_effect(stmt, item, module) {
            return None;
        }
        steps.push(Step::Pure(stmt));
    }
    None
}

/// The bound at and above which the condition holds for sure.
fn bound_of_skipped(cond: &Expr, var: LocalId) -> Option<Expr> {
    match &cond.kind {
        ExprKind::Unary(UnOp::Not, inner) => bound_of_kept(inner, var),
        ExprKind::Binary(BinOp::Or, first, _) => bound_of_skipped(first, var),
        ExprKind::Binary(BinOp::Ge, a, b) if is_index(a, var) => as_count(b),
        ExprKind::Binary(BinOp::Le, a, b) if is_index(b, var) => as_count(a),
        ExprKind::Binary(BinOp::Gt, a, b) if is_index(a, var) => as_count(b).map(one_more),
        ExprKind::Binary(BinOp::Lt, a, b) if is_index(b, var) => as_count(a).map(one_more),
        _ => None,
    }
}

/// The bound below which the index is for sure when the condition holds.
fn bound_of_kept(cond: &Expr, var: LocalId) -> Option<Expr> {
    match &cond.kind {
        ExprKind::Unary(UnOp::Not, inner) => bound_of_skipped(inner, var),
        ExprKind::Binary(BinOp::And, first, _) => bound_of_kept(first, var),
        ExprKind::Binary(op, ..) if op.is_comparison() => {
            let opposite = fold::not(cond.clone());
            // A comparison that cannot be turned round comes back as `!cond`.
            if matches!(opposite.kind, ExprKind::Unary(..)) { None } else { bound_of_skipped(&opposite, var) }
        }
        _ => None,
    }
}

/// The index itself, maybe as another integer type; conversions keep the value.
fn is_index(e: &Expr, var: LocalId) -> bool {
    match &e.kind {
        ExprKind::Local(l) => *l == var && e.ty == ScalarTy::U32,
        ExprKind::Cast(inner) => e.ty.is_int() && is_index(inner, var),
        _ => false,
    }
}

/// A bound of any integer type as `u32`, without a conversion that could stop the run.
fn as_count(e: &Expr) -> Option<Expr> {
    if !e.ty.is_int() {
        return None;
    }
    let all = e.ty.range()?;
    let mut bound = e.clone();
    if all.low < 0 {
        bound = fold::max(bound, fold::int(0, e.ty, e.span));
    }
    if all.high > i128::from(u32::MAX) {
        bound = fold::min(bound, fold::int(u32::MAX.into(), e.ty, e.span));
    }
    Some(fold::cast(bound, ScalarTy::U32))
}

fn one_more(e: Expr) -> Expr {
    let span = e.span;
    fold::add(fold::min(e, Expr::u32(u32::MAX - 1, span)), Expr::u32(1, span))
}

/// The steps that the bound needs, as statements that can be copied to where it is wanted.
fn slice(
    item: &Item<'_>,
    steps: &[Step<'_>],
    bound: &Expr,
    position: usize,
    func: &mut Function,
) -> Option<Extent> {
    let mut needed = OrderedSet::new();
    walk::reads(bound, &mut needed);
    let mut chosen = vec![false; steps.len()];
    close(steps, &mut needed, &mut chosen);
    let uses = item.axes_read(&needed);
    if uses.contains(&position) || !item.is_steady(&needed) {
        return None;
    }
    // An earlier `continue` may protect what follows (an index out of bounds); it is kept where it adds no dependence.
    for (i, step) in steps.iter().enumerate() {
        let Step::Skip(cond) = step else { continue };
        let (mut more, mut with) = (OrderedSet::new(), chosen.clone());
        walk::reads(cond, &mut more);
        close(&steps[..i], &mut more, &mut with[..i]);
        if item.axes_read(&more).is_subset(&uses) && item.is_steady(&more) {
            chosen = with;
            chosen[i] = true;
        }
    }
    let conditional =
        steps.iter().zip(&chosen).any(|(step, chosen)| *chosen && matches!(step, Step::Skip(_)));
    if !conditional {
        return Some(Extent {
            setup: assemble(steps, &chosen, Vec::new()),
            end: bound.clone(),
            uses,
            guard: Some(bound.span),
        });
    }
    let count = func.add_local("count", wsp_ir::LocalTy::Scalar(ScalarTy::U32), bound.span);
    let stmt = |kind| Stmt { kind, span: bound.span };
    let last = vec![stmt(StmtKind::Assign { local: count, value: bound.clone() })];
    let mut setup = vec![stmt(StmtKind::Let { local: count, init: Some(Expr::u32(0, bound.span)) })];
    setup.extend(assemble(steps, &chosen, last));
    Some(Extent { setup, end: Expr::local(count, ScalarTy::U32, bound.span), uses, guard: Some(bound.span) })
}

/// Adds the steps that write what is needed, and what they read.
fn close(steps: &[Step<'_>], needed: &mut OrderedSet<LocalId>, chosen: &mut [bool]) {
    for (step, chosen) in steps.iter().zip(chosen).rev() {
        let Step::Pure(stmt) = step else { continue };
        let (mut reads, mut writes) = (OrderedSet::new(), OrderedSet::new());
        reads_and_writes(stmt, &mut reads, &mut writes);
        if *chosen || !writes.is_disjoint(needed) {
            *chosen = true;
            needed.extend(reads);
        }
    }
}

/// The chosen steps in order, each skip around all that follows it, `last` innermost.
fn assemble(steps: &[Step<'_>], chosen: &[bool], last: Block) -> Block {
    let mut block = last;
    for (step, _) in steps.iter().zip(chosen).rev().filter(|(_, chosen)| **chosen) {
        match step {
            Step::Pure(stmt) => block.insert(0, (*stmt).clone()),
            Step::Skip(cond) => {
                let kind = StmtKind::If { cond: fold::not(cond.clone()), then: block, otherwise: Vec::new() };
                block = vec![Stmt { kind, span: cond.span }];
            }
        }
    }
    block
}

fn reads_and_writes(stmt: &Stmt, reads: &mut OrderedSet<LocalId>, writes: &mut OrderedSet<LocalId>) {
    walk::exprs(stmt, &mut |e| walk::reads(e, reads));
    match &stmt.kind {
        StmtKind::Let { local, .. } | StmtKind::Assign { local, .. } => {
            writes.insert(*local);
        }
        StmtKind::LetArray { local, array } => {
            writes.insert(*local);
            reads.extend(walk::array_local(array));
        }
        _ => {}
    }
    for block in walk::blocks(stmt) {
        block.iter().for_each(|inner| reads_and_writes(inner, reads, writes));
    }
}

/// Whether a statement only changes variables that the body declares.
fn has_no_effect(stmt: &Stmt, item: &Item<'_>, module: &Module) -> bool {
    let mut pure = true;
    walk::exprs(stmt, &mut |e| pure = pure && is_pure(e, module));
    pure && match &stmt.kind {
        StmtKind::Let { .. } | StmtKind::LetArray { .. } => true,
        StmtKind::Assign { local, .. } => item.declared.contains(local),
        StmtKind::If { then, otherwise, .. } => {
            then.iter().chain(otherwise).all(|inner| has_no_effect(inner, item, module))
        }
        _ => false,
    }
}

/// Whether evaluating an expression changes nothing.
fn is_pure(e: &Expr, module: &Module) -> bool {
    !e.any(&mut |e| match &e.kind {
        ExprKind::AllocWs(_) | ExprKind::LoadScalar(..) => true,
        // What an item holds follows from how far its axis runs, not the other way round.
        ExprKind::ItemBegin(_) | ExprKind::ItemEnd(_) | ExprKind::ItemCount(_) => true,
        ExprKind::Call(func, _) => !is_pure_helper(module, *func),
        _ => false,
    })
}

fn is_pure_helper(module: &Module, func: FuncId) -> bool {
    let mut called = OrderedSet::new();
    walk::callees(module, func, &mut called);
    called.iter().filter_map(|id| module.functions.get(id.index())).all(|function| {
        !walk::any_expr(&function.body, &mut |e| {
            matches!(e.kind, ExprKind::AllocWs(_) | ExprKind::LoadScalar(..))
        })
    })
}
