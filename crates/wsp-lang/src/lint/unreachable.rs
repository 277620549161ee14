//! Statements that no path reaches: those after `return`, `break` or `continue`, or after an `if` of which both branches end so.

use super::{LintInput, codes};
use crate::ast::{Block, Item, Stmt, StmtKind};
use wsp_diag::Diagnostic;

/// The warnings of all functions.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for item in &program.tree.items {
        match item {
            Item::Generator(g) => block(&g.body, &mut found),
            Item::Kernel(k) => block(&k.body, &mut found),
            Item::Function(f) => block(&f.body, &mut found),
            _ => {}
        }
    }
    found
}

/// The first statement of a block that is not reached, and those of the blocks in it.
fn block(block: &Block, found: &mut Vec<Diagnostic>) {
    let mut stmts = block.stmts.iter();
    for stmt in stmts.by_ref() {
        inside(stmt, found);
        if leaves(stmt) {
            let after = stmts.find(|stmt| stmt.kind != StmtKind::Empty);
            found.extend(after.map(|after| {
                Diagnostic::warning(codes::UNREACHABLE, "this is never reached")
                    .at(after.span, "no path comes here")
                    .label(stmt.span, "every path leaves here")
                    .help("remove it with what follows, or leave under a condition only")
            }));
            return;
        }
    }
}

fn inside(stmt: &Stmt, found: &mut Vec<Diagnostic>) {
    match &stmt.kind {
        StmtKind::Block(body) | StmtKind::ForEach { body, .. } | StmtKind::ScheduledFor { body, .. } => {
            block(body, found);
        }
        StmtKind::If { then, otherwise, .. } => {
            inside(then, found);
            otherwise.iter().for_each(|stmt| inside(stmt, found));
        }
        StmtKind::For { body, .. } | StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => {
            inside(body, found);
        }
        StmtKind::Empty
        | StmtKind::Decl(_)
        | StmtKind::Assign { .. }
        | StmtKind::Expr(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_) => {}
    }
}

/// Whether nothing after a statement is reached from it.
fn leaves(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => true,
        StmtKind::Block(block) => block.stmts.iter().any(leaves),
        StmtKind::If { then, otherwise, .. } => {
            leaves(then) && otherwise.as_ref().is_some_and(|stmt| leaves(stmt))
        }
        _ => false,
    }
}
