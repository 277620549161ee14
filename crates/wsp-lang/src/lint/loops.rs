//! Loops that cannot end: what the loop does to what the condition reads leaves the condition true, and no `break` or `return` leaves them.

use super::ranges::{Known, range, truth};
use super::{LintInput, codes};
use wsp_core::LocalId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{BinOp, Block, Const, Expr, ExprKind, StmtKind, walk};
use wsp_ordered::OrderedSet;

/// The warnings of all functions.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for function in &program.module.functions {
        walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::While { cond, step, body } if !leaves(body) => {
                found.extend(endless(cond, step, body, stmt.span));
            }
            StmtKind::For { step, start, end, .. } if step.as_const_int() == Some(0) && start != end => {
                let d = Diagnostic::warning(codes::ENDLESS_LOOP, "this loop never advances");
                found.push(d.at(step.span, "adds 0").help("add 1 or more in each pass"));
            }
            _ => {}
        });
    }
    found
}

fn endless(cond: &Expr, step: &Block, body: &Block, span: Span) -> Option<Diagnostic> {
    let warning = |message: &str| Diagnostic::warning(codes::ENDLESS_LOOP, message);
    let help = "change in the body what the condition reads, or leave it with `break;`";
    let cond = tested(cond, step);
    match cond.kind {
        ExprKind::Const(Const::Bool(true)) => {
            Some(warning("this loop has no end").at(span, "no `break` or `return` leaves it").help(help))
        }
        ExprKind::Const(_) => None,
        _ if steady(cond, step, body) => {
            let d = warning("this loop has no end once it is entered");
            Some(d.at(cond.span, "nothing that the loop changes makes this false").help(help))
        }
        _ => None,
    }
}

/// The condition behind the first pass: `do body while (cond);` tests a variable beside it, which is true in the first pass.
fn tested<'a>(cond: &'a Expr, step: &Block) -> &'a Expr {
    match (&cond.kind, &step[..]) {
        (ExprKind::Binary(BinOp::Or, first, rest), [stmt]) => match (&first.kind, &stmt.kind) {
            (ExprKind::Local(first), StmtKind::Assign { local, value })
                if first == local && value.kind == ExprKind::Const(Const::Bool(false)) =>
            {
                rest
            }
            _ => cond,
        },
        _ => cond,
    }
}

/// Whether a condition that holds in one pass holds in the next.
fn steady(cond: &Expr, step: &Block, body: &Block) -> bool {
    let mut changed: OrderedSet<LocalId> = OrderedSet::new();
    for block in [step, body] {
        walk::stmts(block, &mut |stmt| match &stmt.kind {
            StmtKind::Assign { local, value } if keeps(*local, value) || holds(cond, *local, value) => {}
            StmtKind::Assign { local, .. }
            | StmtKind::Let { local, .. }
            | StmtKind::LetArray { local, .. }
            | StmtKind::For { var: local, .. } => {
                changed.insert(*local);
            }
            _ => {}
        });
    }
    let mut steady = true;
    walk::each_subexpr(cond, &mut |e| match &e.kind {
        ExprKind::Local(local) => steady &= !changed.contains(local),
        // A loop may change tiles, tensors, tile sizes and reservations.
        ExprKind::TileMax(_)
        | ExprKind::TileSum(_)
        | ExprKind::TileRows(_)
        | ExprKind::TileCols(_)
        | ExprKind::LoadScalar(..)
        | ExprKind::AxisTile(_)
        | ExprKind::AxisExtent(_)
        | ExprKind::AllocWs(_) => steady = false,
        _ => {}
    });
    steady
}

/// Whether an expression is the value of a variable: `n * 1`.
fn keeps(local: LocalId, e: &Expr) -> bool {
    let is = |e: &Expr, value: i128| e.as_const_int() == Some(value);
    match &e.kind {
        ExprKind::Local(other) => *other == local,
        ExprKind::Binary(op, a, b) => match op {
            BinOp::Add | BinOp::BitOr | BinOp::BitXor => {
                (keeps(local, a) && is(b, 0)) || (is(a, 0) && keeps(local, b))
            }
            BinOp::Mul => (keeps(local, a) && is(b, 1)) || (is(a, 1) && keeps(local, b)),
            BinOp::Sub | BinOp::Shl | BinOp::Shr => keeps(local, a) && is(b, 0),
            BinOp::Div => keeps(local, a) && is(b, 1),
            BinOp::BitAnd | BinOp::Min | BinOp::Max => keeps(local, a) && keeps(local, b),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a condition holds when a variable has a value of an expression, whatever others have: `n < 8` after `n = n % 8`.
fn holds(cond: &Expr, local: LocalId, value: &Expr) -> bool {
    let values = range(value, &Known::new());
    values.is_some_and(|values| truth(cond, &Known::from([(local, values)])).is_some_and(|(truth, _)| truth))
}

/// Whether a `break` of this loop or a `return` stands in its body.
pub(crate) fn leaves(body: &Block) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Return(_) => true,
        StmtKind::If { then, otherwise, .. } => leaves(then) || leaves(otherwise),
        // A `break` in there is of that loop.
        StmtKind::For { body, .. } | StmtKind::While { body, .. } | StmtKind::ScheduledFor { body, .. } => {
            returns(body)
        }
        _ => false,
    })
}

/// Whether a `return` stands in a block.
pub(crate) fn returns(body: &Block) -> bool {
    let mut found = false;
    walk::stmts(body, &mut |stmt| found |= matches!(stmt.kind, StmtKind::Return(_)));
    found
}
