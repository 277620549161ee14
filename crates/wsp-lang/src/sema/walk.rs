//! Walking a syntax tree.

use crate::ast::{Block, Expr, ExprKind, Stmt, StmtKind, TemplateArg, TypeBase};

/// Calls `f` on every expression of a block, outer ones first.
pub(crate) fn each_expr<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Expr)) {
    for stmt in &block.stmts {
        in_stmt(stmt, f);
    }
}

/// Calls `f` on an expression and on every expression inside it.
pub(crate) fn each_subexpr<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Name(_)
        | ExprKind::SizeOf(_) => {}
        ExprKind::Unary(_, a) | ExprKind::Cast { expr: a, .. } | ExprKind::Member { base: a, .. } => {
            each_subexpr(a, f)
        }
        ExprKind::Binary(_, a, b) | ExprKind::Index { base: a, index: b } => {
            each_subexpr(a, f);
            each_subexpr(b, f);
        }
        ExprKind::Chain(first, rest) => {
            each_subexpr(first, f);
            rest.iter().for_each(|(_, operand)| each_subexpr(operand, f));
        }
        ExprKind::Ternary(a, b, c) => {
            for e in [a, b, c] {
                each_subexpr(e, f);
            }
        }
        ExprKind::Call { template_args, args, .. } => {
            for arg in template_args {
                if let TemplateArg::Expr(e) = arg {
                    each_subexpr(e, f);
                }
            }
            args.iter().for_each(|e| each_subexpr(e, f));
        }
        ExprKind::Braces(list) => list.iter().for_each(|e| each_subexpr(e, f)),
        ExprKind::Init { fields, .. } => {
            for field in fields {
                field.index.iter().for_each(|e| each_subexpr(e, f));
                each_subexpr(&field.value, f);
            }
        }
    }
}

fn in_stmt<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Empty | StmtKind::Break | StmtKind::Continue => {}
        StmtKind::Block(block) | StmtKind::ScheduledFor { body: block, .. } => each_expr(block, f),
        StmtKind::Decl(decl) => {
            if let TypeBase::DtypeOf(e) = &decl.ty.base {
                each_subexpr(e, f);
            }
            decl.vars.iter().filter_map(|v| v.init.as_ref()).for_each(|e| each_subexpr(e, f));
        }
        StmtKind::Assign { target, value, .. } => {
            each_subexpr(target, f);
            each_subexpr(value, f);
        }
        StmtKind::Expr(e) => each_subexpr(e, f),
        StmtKind::Return(e) => e.iter().for_each(|e| each_subexpr(e, f)),
        StmtKind::If { cond, then, otherwise } => {
            each_subexpr(cond, f);
            in_stmt(then, f);
            otherwise.iter().for_each(|s| in_stmt(s, f));
        }
        StmtKind::For { init, cond, step, body } => {
            init.iter().for_each(|s| in_stmt(s, f));
            cond.iter().for_each(|e| each_subexpr(e, f));
            step.iter().for_each(|s| in_stmt(s, f));
            in_stmt(body, f);
        }
        StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
            each_subexpr(cond, f);
            in_stmt(body, f);
        }
        StmtKind::ForEach { start, end, body, .. } => {
            each_subexpr(start, f);
            each_subexpr(end, f);
            each_expr(body, f);
        }
    }
}
