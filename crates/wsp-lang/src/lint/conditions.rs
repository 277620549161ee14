//! Conditions that are always true or always false.
//!
//! A condition over a named constant, a parameter of a template or an argument of an inline function is a choice that the
//! program makes once, and no finding. `while (true)` is how a loop is written that `break` ends; see [`super::loops`].

use super::ranges::{Known, truth};
use super::{LintInput, codes};
use crate::ast::{self, Block, Expr, ExprKind, Item, SpaceMember, Stmt, StmtKind};
use crate::sema::walk::each_subexpr;
use std::rc::Rc;
use wsp_core::int::Range;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Const, ExprKind as Ir, Function, StmtKind as IrStmt, walk};
use wsp_ordered::{OrderedMap, OrderedSet};

/// The warnings of all functions, of items of spaces and of what a launch must fulfil.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let asked = Asked::of(program);
    let mut values: OrderedMap<Span, OrderedMap<bool, &'static str>> = OrderedMap::new();
    let mut undecided: OrderedSet<Span> = OrderedSet::new();
    for function in &program.module.functions {
        let known = known(function, &asked);
        let mut note = |condition: &wsp_ir::Expr| match truth(condition, &known) {
            Some((value, why)) => {
                values.entry(condition.span).or_default().insert(value, why);
            }
            None => {
                undecided.insert(condition.span);
            }
        };
        walk::stmts(&function.body, &mut |stmt| {
            if let IrStmt::If { cond, .. } | IrStmt::While { cond, .. } = &stmt.kind {
                note(cond);
            }
        });
        walk::each_expr(&function.body, &mut |e| {
            if let Ir::Select(cond, ..) = &e.kind {
                note(cond);
            }
        });
    }
    let module = program.module;
    let items = module.spaces.iter().flat_map(|space| &space.constraints);
    for cond in module.requirements.iter().map(|requirement| &requirement.cond).chain(items) {
        if let Some((value, why)) = truth(cond, &Known::new()) {
            values.entry(cond.span).or_default().insert(value, why);
        }
    }
    // The code of an inline function stands in every call: its condition is a finding when all agree.
    let same = values.into_iter().filter(|(span, found)| found.len() == 1 && !undecided.contains(span));
    let asked = same.filter(|(span, _)| asked.conditions.contains(span));
    asked
        .flat_map(|(span, found)| found.into_iter().map(move |(value, why)| finding(span, value, why)))
        .collect()
}

fn finding(span: Span, value: bool, why: &str) -> Diagnostic {
    let help = if value { "write what follows without it" } else { "remove it with what it guards" };
    Diagnostic::warning(codes::CONSTANT_CONDITION, format!("this condition is always {value}"))
        .at(span, why)
        .help(format!("compare with what was meant, or {help}"))
}

/// Variables that have one value or a counted range in all of a function.
fn known(function: &Function, asked: &Asked) -> Known {
    let mut known = Known::new();
    let mut assigned = OrderedSet::new();
    walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
        IrStmt::Assign { local, .. } => {
            assigned.insert(*local);
        }
        IrStmt::Let { local, init: Some(init) } if asked.literals.contains(&function.local(*local).span) => {
            let value = match init.kind {
                Ir::Const(Const::Int(v)) => Some(v),
                Ir::Const(Const::Bool(v)) => Some(v.into()),
                _ => None,
            };
            if let Some(v) = value {
                known.insert(*local, Range::new(v, v));
            }
        }
        IrStmt::For { var, start, end, .. } if asked.literals.contains(&function.local(*var).span) => {
            if let (Some(low), Some(end)) = (start.as_const_int(), end.as_const_int())
                && low < end
            {
                known.insert(*var, Range::new(low, end - 1));
            }
        }
        _ => {}
    });
    known.retain(|local, _| !assigned.contains(local));
    known
}

/// What the text says of conditions.
#[derive(Default)]
struct Asked {
    /// Conditions whose value is no choice that the program makes once.
    conditions: OrderedSet<Span>,
    /// Variables whose first value is a literal, and loop variables whose bounds are; not `const`.
    literals: OrderedSet<Span>,
    /// Names that stand for such choices.
    choices: OrderedSet<Rc<str>>,
}

impl Asked {
    fn of(program: &LintInput<'_>) -> Asked {
        let mut asked = Asked::default();
        for item in &program.tree.items {
            if let Item::Const(c) = item {
                asked.choices.insert(c.name.name.clone());
            }
        }
        for item in &program.tree.items {
            match item {
                Item::Generator(g) => asked.block(&g.body),
                Item::Kernel(k) => asked.block(&k.body),
                // What is copied for each call may be decided by what the call gives.
                Item::Function(f) if f.template.is_empty() && f.ret.name() != Some("void") => {
                    asked.block(&f.body)
                }
                Item::Require(r) => asked.condition(&r.cond),
                Item::Space(s) => {
                    for member in &s.members {
                        if let SpaceMember::Where(item) = member {
                            asked.condition(&item.cond);
                        }
                    }
                }
                _ => {}
            }
        }
        asked
    }

    fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
        crate::sema::walk::each_expr(block, &mut |e| {
            if let ExprKind::Ternary(cond, ..) = &e.kind {
                self.condition(cond);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Block(block) => block.stmts.iter().for_each(|stmt| self.stmt(stmt)),
            StmtKind::Decl(decl) => self.decl(decl),
            StmtKind::If { cond, then, otherwise } => {
                self.condition(cond);
                self.stmt(then);
                otherwise.iter().for_each(|stmt| self.stmt(stmt));
            }
            StmtKind::For { init, cond, body, .. } => {
                let bounded = cond.as_ref().is_some_and(|e| match &e.kind {
                    ExprKind::Binary(_, _, end) => is_literal(end),
                    _ => false,
                });
                if let Some(StmtKind::Decl(decl)) = init.as_ref().map(|stmt| &stmt.kind)
                    && bounded
                {
                    self.decl(decl);
                }
                if let Some(cond) = cond.as_ref().filter(|cond| !is_literal(cond)) {
                    self.condition(cond);
                }
                self.stmt(body);
            }
            StmtKind::While { cond, body } => {
                if !is_literal(cond) || matches!(cond.kind, ExprKind::Bool(false)) {
                    self.condition(cond);
                }
                self.stmt(body);
            }
            StmtKind::DoWhile { body, .. } => self.stmt(body),
            StmtKind::ForEach { var, start, end, body } => {
                if is_literal(start) && is_literal(end) {
                    self.literals.insert(var.span);
                }
                body.stmts.iter().for_each(|stmt| self.stmt(stmt));
            }
            StmtKind::ScheduledFor { body, .. } => body.stmts.iter().for_each(|stmt| self.stmt(stmt)),
            StmtKind::Empty
            | StmtKind::Assign { .. }
            | StmtKind::Expr(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => {}
        }
    }

    fn decl(&mut self, decl: &ast::Decl) {
        for var in &decl.vars {
            if decl.ty.is_const {
                self.choices.insert(var.name.name.clone());
            } else if var.init.as_ref().is_some_and(is_literal) {
                self.literals.insert(var.name.span);
            }
        }
    }

    fn condition(&mut self, cond: &Expr) {
        let mut chosen = false;
        each_subexpr(cond, &mut |e| match &e.kind {
            ExprKind::Name(name) => chosen |= self.choices.contains(name),
            // Sizes of types and of arrays differ from program to program.
            ExprKind::SizeOf(_) => chosen = true,
            _ => {}
        });
        if !chosen {
            self.conditions.insert(cond.span);
        }
    }
}

/// Whether an expression is a number or truth value as written.
fn is_literal(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Int(_) | ExprKind::Bool(_))
}
