//! Statements.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::builtins;
use super::codes;
use super::convert::constant;
use super::diags::{Reported, Res};
use super::names::{Named, Symbol};
use super::suggest::Use;
use super::tiles;
use crate::ast::{self, AssignOp, BinOp, ExprKind, StmtKind as Ast, UnaryOp};
use wsp_core::LocalId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Block, Const, Expr, LocalTy, ScalarTy, Stmt, StmtKind};

/// Where what tiles are computed with is listed.
const TILE_OPERATIONS: &str =
    "compute with tile operations, one call each: see \"Tile operations\" in docs/reference/pto.md";

impl Sema<'_> {
    /// The statements of a block, in a scope of their own.
    pub(crate) fn block(&mut self, b: &mut Body, block: &ast::Block) -> Block {
        b.push_scope();
        let mut out = Block::new();
        self.statements(b, &block.stmts, &mut out);
        b.pop_scope();
        out
    }

    /// The statements of a function. One that returns leaves no other function.
    pub(crate) fn function_body(&mut self, b: &mut Body, block: &ast::Block) -> Block {
        let around = (self.unevaluated, self.perhaps);
        let body = self.block(b, block);
        (self.unevaluated, self.perhaps) = around;
        body
    }

    /// Of what follows in the function or the round no value is asked for, or only by some runs.
    fn leaves(&mut self) {
        match (self.unevaluated, self.perhaps) {
            (0, 0) => self.unevaluated += 1,
            (0, _) => self.perhaps += 1,
            _ => {}
        }
    }

    /// Statements in the current scope.
    pub(crate) fn statements(&mut self, b: &mut Body, stmts: &[ast::Stmt], out: &mut Block) {
        for stmt in stmts {
            // A wrong statement is reported and left out; the next ones are looked at all the same.
            let _ = self.statement(b, stmt, out);
        }
    }

    /// One statement in a scope of its own, such as the body of an `if` without braces.
    pub(crate) fn nested(&mut self, b: &mut Body, stmt: &ast::Stmt) -> Block {
        b.push_scope();
        let mut out = Block::new();
        // As in `statements`.
        let _ = self.statement(b, stmt, &mut out);
        b.pop_scope();
        out
    }

    fn statement(&mut self, b: &mut Body, stmt: &ast::Stmt, out: &mut Block) -> Res<()> {
        if let Ast::Block(block) = &stmt.kind {
            // The body of the statement around it, which counts, or as deep as its own statements.
            out.extend(self.block(b, block));
            return Ok(());
        }
        self.enter(stmt.span)?;
        let done = self.statement_form(b, stmt, out);
        self.leave();
        done
    }

    fn statement_form(&mut self, b: &mut Body, stmt: &ast::Stmt, out: &mut Block) -> Res<()> {
        let span = stmt.span;
        let kind = match &stmt.kind {
            Ast::Empty | Ast::Block(_) => return Ok(()),
            Ast::Decl(decl) => return self.declaration(b, decl, out),
            Ast::Assign { target, op, value } => self.assignment(b, target, *op, value, span)?,
            Ast::Expr(e) => return self.expression_statement(b, e, out),
            Ast::If { cond, then, otherwise } => {
                let cond = self.condition(b, cond);
                let then = self.evaluated_if(&cond, true, |cx| cx.nested(b, then));
                let otherwise = match otherwise {
                    Some(otherwise) => self.evaluated_if(&cond, false, |cx| cx.nested(b, otherwise)),
                    None => Block::new(),
                };
                StmtKind::If { cond: cond?, then, otherwise }
            }
            Ast::For { init, cond, step, body } => {
                return self.for_loop(b, (init.as_deref(), cond.as_ref(), step, body), span, out);
            }
            Ast::While { cond, body } => {
                let cond = self.condition(b, cond);
                let body = self.evaluated_if(&cond, true, |cx| cx.loop_body(b, Vec::new(), body));
                StmtKind::While { cond: cond?, step: Block::new(), body }
            }
            Ast::DoWhile { body, cond } => return self.do_while(b, body, cond, span, out),
            Ast::ForEach { var, start, end, body } => {
                return self.for_each(b, var, (start, end), body, span, out);
            }
            Ast::ScheduledFor { vars, body } => self.scheduled_for(b, vars, body, span)?,
            Ast::Break | Ast::Continue => {
                if !b.in_loop() {
                    let word = if stmt.kind == Ast::Break { "break" } else { "continue" };
                    let d = Diagnostic::error(codes::OUTSIDE_LOOP, format!("`{word}` outside of a loop"));
                    return Err(self.fail(d.at(span, "no loop around this")));
                }
                self.leaves();
                if stmt.kind == Ast::Break { StmtKind::Break } else { StmtKind::Continue }
            }
            Ast::Return(value) => {
                let returned = self.return_statement(b, value.as_ref(), span)?;
                self.leaves();
                returned
            }
        };
        out.push(Stmt { kind, span });
        Ok(())
    }

    fn assignment(
        &mut self,
        b: &mut Body,
        target: &ast::Expr,
        op: AssignOp,
        value: &ast::Expr,
        span: Span,
    ) -> Res<StmtKind> {
        if let ExprKind::Name(name) = &target.kind
            && let Some(Binding::Tile(_)) = b.find(name)
        {
            let call = self.tile_call(b, target, op, value);
            return Err(self.not_a_variable(name, target.span, call));
        }
        let (local, ty) = self.assignable(b, target)?;
        let value = match op {
            AssignOp::Set => self.scalar_as(b, value, ty)?,
            AssignOp::Compound(op) => {
                let left = Expr::local(local, ty, target.span);
                let right = self.scalar(b, value)?;
                let result = match op {
                    BinOp::And | BinOp::Or => {
                        return Err(self.fail(
                            Diagnostic::error(codes::BAD_OPERANDS, "no such assignment").at(span, ""),
                        ));
                    }
                    _ => self.arithmetic(op, left, right, op.sign(), span)?,
                };
                self.convert(result, ty)?
            }
        };
        self.note_tier(b, local, Some(&value));
        Ok(StmtKind::Assign { local, value })
    }

    /// Reports an assignment to a tile, with the call that does what it says.
    fn not_a_variable(&mut self, name: &str, span: Span, call: Option<String>) -> Reported {
        let help = call.map_or(TILE_OPERATIONS.to_owned(), |call| format!("write `{call};`"));
        let d = Diagnostic::error(codes::NOT_ASSIGNABLE, format!("cannot assign to tile `{name}`"));
        self.fail(d.at(span, "read-only").help(help))
    }

    /// The one call that does what `tile = value;` or `tile += value;` says, where there is one.
    fn tile_call(&self, b: &Body, tile: &ast::Expr, op: AssignOp, value: &ast::Expr) -> Option<String> {
        let dst = self.operand(b, tile)?;
        let (op, left, right) = match (op, &value.kind) {
            (AssignOp::Compound(op), _) => (op, tile, value),
            (AssignOp::Set, ExprKind::Binary(op, left, right)) => (*op, &**left, &**right),
            (AssignOp::Set, _) => {
                let operation = if self.is_tile(b, value) { "TMOV" } else { "TASSIGN" };
                return Some(format!("{operation}({dst}, {})", self.operand(b, value)?));
            }
        };
        let operation = match op {
            BinOp::Add => "TADD",
            BinOp::Sub => "TSUB",
            BinOp::Mul => "TMUL",
            BinOp::Div => "TDIV",
            _ => return None,
        };
        let commutes = matches!(op, BinOp::Add | BinOp::Mul);
        let (form, first, second) = match (self.is_tile(b, left), self.is_tile(b, right)) {
            (true, true) => ("", left, right),
            (true, false) => ("S", left, right),
            (false, true) if commutes => ("S", right, left),
            _ => return None,
        };
        let (first, second) = (self.operand(b, first)?, self.operand(b, second)?);
        Some(format!("{operation}{form}({dst}, {first}, {second})"))
    }

    /// The text of a tile or a number, where it is a name or a literal.
    fn operand(&self, b: &Body, e: &ast::Expr) -> Option<String> {
        Some(match &e.kind {
            ExprKind::Int(int) => int.value.to_string(),
            ExprKind::Float(float) if float.single => format!("{:?}f", float.value as f32),
            ExprKind::Float(float) => format!("{:?}", float.value),
            ExprKind::Unary(UnaryOp::Neg, of) if matches!(of.kind, ExprKind::Int(_) | ExprKind::Float(_)) => {
                format!("-{}", self.operand(b, of)?)
            }
            ExprKind::Name(name) => match b.find(name) {
                Some(Binding::Tile(_) | Binding::Scalar { .. } | Binding::Literal(_)) => name.to_string(),
                Some(_) => return None,
                None => match self.lookup(name) {
                    Some(Named { symbol: Symbol::Global(_), .. }) => name.to_string(),
                    _ => return None,
                },
            },
            _ => return None,
        })
    }

    pub(crate) fn assignable(&mut self, b: &Body, target: &ast::Expr) -> Res<(LocalId, ScalarTy)> {
        let (what, help) = match &target.kind {
            ExprKind::Name(name) => match b.find(name) {
                Some(Binding::Scalar { local, ty, fixed: None, .. }) => return Ok((*local, *ty)),
                Some(Binding::Scalar { fixed: Some(why), .. }) => (format!("`{name}`: {why}"), None),
                Some(Binding::Poison) => return Err(Reported::earlier(&self.diags)),
                Some(Binding::Literal(_)) => (format!("`{name}`: it is a constant"), None),
                Some(Binding::Tile(_)) => (
                    format!("tile `{name}`"),
                    Some(format!("write `TMOV({name}, other);` or `TASSIGN({name}, 0.0f);`")),
                ),
                Some(Binding::Array(..)) => (format!("array `{name}`"), None),
                Some(Binding::Descriptor(..)) => (format!("descriptor `{name}`"), None),
                Some(Binding::Selector) => (format!("`{name}`"), None),
                None => match self.lookup(name) {
                    Some(named) => {
                        let help = format!("declare a variable: `uint32_t my_{name} = {name};`");
                        (format!("`{name}`, {} of the whole file", named.symbol.describe()), Some(help))
                    }
                    None if builtins::is_constant(name) => (format!("`{name}`"), None),
                    None => return Err(self.unknown_value(b, name, target.span)),
                },
            },
            ExprKind::Member { .. } => {
                ("a descriptor field".to_owned(), Some("copy it into a variable first".to_owned()))
            }
            ExprKind::Index { .. } => (
                "an array element".to_owned(),
                Some("arrays of the launch are read-only; kernels store to tensors".to_owned()),
            ),
            _ => ("this".to_owned(), None),
        };
        let d = Diagnostic::error(codes::NOT_ASSIGNABLE, format!("cannot assign to {what}"))
            .at(target.span, "read-only");
        Err(self.fail(match help {
            Some(help) => d.help(help),
            None => d,
        }))
    }

    fn expression_statement(&mut self, b: &mut Body, e: &ast::Expr, out: &mut Block) -> Res<()> {
        let ExprKind::Call { callee, template_args, args } = &e.kind else {
            let value = self.scalar(b, e)?;
            return self.discard(b, value, out);
        };
        let name = callee.as_str();
        if let Some(Named { symbol: Symbol::Function(index), .. }) = self.lookup(name)
            && self.is_inline(index)
        {
            return self.inline_call(b, index, callee, template_args, args, e.span, out);
        }
        let kind = match (tiles::find(name), builtins::find(name)) {
            (Some(call), _) => self.tile_statement(b, call, callee, args, e.span)?,
            (None, Some(builtin)) => match self.builtin_statement(b, builtin, callee, args, e.span)? {
                Some(kind) => kind,
                None => {
                    let value = self.scalar(b, e)?;
                    return self.discard(b, value, out);
                }
            },
            (None, None) if self.lookup(name).is_none() => {
                return Err(self.unknown_function(b, callee, args, Use::Statement));
            }
            (None, None) => {
                let value = self.scalar(b, e)?;
                return self.discard(b, value, out);
            }
        };
        out.push(Stmt { kind, span: e.span });
        Ok(())
    }

    /// Evaluates an expression whose value nobody wants: it may still stop the run.
    fn discard(&mut self, b: &mut Body, value: Expr, out: &mut Block) -> Res<()> {
        let span = value.span;
        let local = b.local("_", LocalTy::Scalar(value.ty), span);
        out.push(Stmt { kind: StmtKind::Let { local, init: Some(value) }, span });
        Ok(())
    }

    fn return_statement(&mut self, b: &mut Body, value: Option<&ast::Expr>, span: Span) -> Res<StmtKind> {
        if b.inlined {
            return Err(self.bad_return(
                span,
                "an inline function cannot return early",
                "its code becomes part of the caller; use `if` and `else`",
            ));
        }
        match (b.kind, value) {
            (BodyKind::Helper(ty), Some(value)) => Ok(StmtKind::Return(Some(self.scalar_as(b, value, ty)?))),
            (BodyKind::Helper(_), None) => {
                Err(self.bad_return(span, "a value must be returned", "write `return value;`"))
            }
            (_, None) => Ok(StmtKind::Return(None)),
            (_, Some(value)) => {
                Err(self.bad_return(value.span, "there is nobody to return a value to", "write `return;`"))
            }
        }
    }

    /// Reports a `return` that does not fit its function.
    pub(crate) fn bad_return(&mut self, span: Span, message: &str, help: &str) -> Reported {
        self.fail(Diagnostic::error(codes::BAD_RETURN, message).at(span, "here").help(help))
    }

    /// `do body while (cond);` as a loop whose first pass does not test.
    fn do_while(
        &mut self,
        b: &mut Body,
        body: &ast::Stmt,
        cond: &ast::Expr,
        span: Span,
        out: &mut Block,
    ) -> Res<()> {
        let body = self.loop_body(b, Vec::new(), body);
        let cond = self.condition(b, cond)?;
        let first = b.local("first", LocalTy::Scalar(ScalarTy::Bool), span);
        let truth = |value: bool| constant(Const::Bool(value), ScalarTy::Bool, span);
        out.push(Stmt { kind: StmtKind::Let { local: first, init: Some(truth(true)) }, span });
        let cond = Expr::binary(BinOp::Or, Expr::local(first, ScalarTy::Bool, span), cond);
        let step = vec![Stmt { kind: StmtKind::Assign { local: first, value: truth(false) }, span }];
        out.push(Stmt { kind: StmtKind::While { cond, step, body }, span });
        Ok(())
    }
}
