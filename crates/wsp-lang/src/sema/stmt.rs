//! Statements.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::builtins::{self, Builtin};
use super::codes;
use super::convert::constant;
use super::diags::{Reported, Res};
use super::names::{Named, Symbol};
use super::tiles;
use super::types::Head;
use crate::ast::{self, AssignOp, BinaryOp, ExprKind, Ident, Indirection, StmtKind as Ast};
use std::rc::Rc;
use wsp_core::LocalId;
use wsp_ir::diag::Diagnostic;
use wsp_ir::{BinOp, Block, Const, Expr, ExprKind as Ir, LocalTy, ScalarTy, Span, Stmt, StmtKind};

/// Largest expression over parameters that a constant variable stands for, in nodes.
const MAX_KNOWN: u32 = 64;

impl Sema<'_> {
    /// The statements of a block, in a scope of their own.
    pub(crate) fn block(&mut self, b: &mut Body, block: &ast::Block) -> Block {
        b.push_scope();
        let mut out = Block::new();
        self.statements(b, &block.stmts, &mut out);
        b.pop_scope();
        out
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
        self.enter(stmt.span)?;
        let done = self.statement_form(b, stmt, out);
        self.leave();
        done
    }

    fn statement_form(&mut self, b: &mut Body, stmt: &ast::Stmt, out: &mut Block) -> Res<()> {
        let span = stmt.span;
        let kind = match &stmt.kind {
            Ast::Empty => return Ok(()),
            Ast::Block(block) => {
                out.extend(self.block(b, block));
                return Ok(());
            }
            Ast::Decl(decl) => return self.declaration(b, decl, out),
            Ast::Assign { target, op, value } => self.assignment(b, target, *op, value, span)?,
            Ast::Expr(e) => return self.expression_statement(b, e, out),
            Ast::If { cond, then, otherwise } => {
                let cond = self.condition(b, cond);
                let then = self.nested(b, then);
                let otherwise = otherwise.as_ref().map_or_else(Block::new, |s| self.nested(b, s));
                StmtKind::If { cond: cond?, then, otherwise }
            }
            Ast::For { init, cond, step, body } => {
                return self.for_loop(b, (init.as_deref(), cond.as_ref(), step, body), span, out);
            }
            Ast::While { cond, body } => {
                let cond = self.condition(b, cond);
                let body = self.loop_body(b, Vec::new(), body);
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
                if stmt.kind == Ast::Break { StmtKind::Break } else { StmtKind::Continue }
            }
            Ast::Return(value) => self.return_statement(b, value.as_ref(), span)?,
        };
        out.push(Stmt { kind, span });
        Ok(())
    }

    fn declaration(&mut self, b: &mut Body, decl: &ast::Decl, out: &mut Block) -> Res<()> {
        let head = self.declared_head(b, &decl.ty);
        let mut done = Ok(());
        for var in &decl.vars {
            let lowered = match head {
                Ok(head) => self.declare_variable(b, head, &decl.ty, var, out),
                Err(reported) => Err(reported),
            };
            if let Err(reported) = lowered {
                // The name exists all the same: its uses are not wrong as well.
                let _ = b.bind(&var.name.name, Binding::Poison, var.name.span);
                done = Err(reported);
            }
        }
        done
    }

    fn declared_head(&mut self, b: &Body, ty: &ast::Type) -> Res<Head> {
        let head = self.head(ty)?;
        match head {
            Head::Void | Head::Tensor | Head::Cache => Err(self.not_allowed(
                ty.span,
                "a variable cannot have this type",
                "use a number, an array or a tile",
            )),
            Head::Tile(_) if !matches!(b.kind, BodyKind::Kernel | BodyKind::Probe) => {
                Err(self.not_allowed(ty.span, "tiles are for kernels", "move this into `PTO_KERNEL_IMPL`"))
            }
            _ => Ok(head),
        }
    }

    fn declare_variable(
        &mut self,
        b: &mut Body,
        head: Head,
        ty: &ast::Type,
        var: &ast::Declarator,
        out: &mut Block,
    ) -> Res<()> {
        self.check_reserved(&var.name)?;
        let span = var.name.span;
        if let Head::Tile(role) = head {
            let tile = self.tile_type(b, role, ty)?;
            if let Some(init) = &var.init {
                let d = Diagnostic::error(codes::TYPE_MISMATCH, "a tile has no first value")
                    .at(init.span, "not allowed")
                    .help("fill it: `TASSIGN(tile, 0.0f);`");
                return Err(self.fail(d));
            }
            let local = b.local(var.name.as_str(), LocalTy::Tile(tile), span);
            out.push(Stmt { kind: StmtKind::Let { local, init: None }, span });
            return self.bind(b, &var.name, Binding::Tile(local));
        }
        let is_array = ty.indirection == Indirection::Pointer;
        match &var.init {
            Some(init) if is_array => self.declare_array(b, ty, &var.name, init, out),
            None if is_array => Err(self.not_allowed(
                span,
                "an array needs a value",
                "for instance `= PTO_GET_INPUT_LENS(cache)`",
            )),
            Some(init) if self.names_descriptor(b, init) => {
                self.declare_descriptor(b, head, ty, &var.name, init)
            }
            Some(init) if head == Head::Auto && self.is_array(b, init) => {
                self.declare_array(b, ty, &var.name, init, out)
            }
            init => self.declare_scalar(b, head, ty, &var.name, init.as_ref(), out),
        }
    }

    fn declare_scalar(
        &mut self,
        b: &mut Body,
        head: Head,
        ty: &ast::Type,
        name: &Ident,
        init: Option<&ast::Expr>,
        out: &mut Block,
    ) -> Res<()> {
        if let Head::Struct(_) = head {
            let help =
                "fields are set where the descriptor is emitted: `PTO_EMIT_DESCRIPTOR(T{.field = value})`";
            return Err(self.not_allowed(ty.span, "descriptors are not variables", help));
        }
        let value = match (init, head) {
            (Some(init), Head::Auto) => {
                let value = self.scalar(b, init)?;
                Some(value)
            }
            (Some(init), _) => {
                let scalar = self.scalar_type(ty)?;
                Some(self.scalar_as(b, init, scalar)?)
            }
            (None, Head::Auto) => {
                return Err(self.not_allowed(name.span, "`auto` needs a value", "write the type, or `= …`"));
            }
            (None, _) => None,
        };
        let scalar = match &value {
            Some(value) => value.ty,
            None => self.scalar_type(ty)?,
        };
        let known = match &value {
            Some(value) if ty.is_const => self.known_value(b, value),
            _ => None,
        };
        if let Some(literal) = known.as_ref().filter(|e| matches!(e.kind, Ir::Const(_))) {
            return self.bind(b, name, Binding::Literal((**literal).clone()));
        }
        let local = b.local(name.as_str(), LocalTy::Scalar(scalar), name.span);
        self.note_tier(b, local, value.as_ref());
        let fixed = ty.is_const.then_some("it is `const`");
        out.push(Stmt { kind: StmtKind::Let { local, init: value }, span: name.span });
        self.bind(b, name, Binding::Scalar { local, ty: scalar, fixed, known })
    }

    /// The value of a constant variable over literals and parameters, if it has one of sensible size.
    pub(crate) fn known_value(&self, b: &Body, value: &Expr) -> Option<Rc<Expr>> {
        let mut expanded = value.clone();
        let mut room = MAX_KNOWN.checked_sub(size(value))?;
        expand(b, &mut expanded, &mut room).then(|| Rc::new(expanded))
    }

    /// Remembers from which set a variable holds a tier.
    pub(crate) fn note_tier(&mut self, b: &mut Body, local: LocalId, value: Option<&Expr>) {
        let set = value.and_then(|value| match value.kind {
            Ir::SelectTier(set, _) => Some(set),
            Ir::Local(other) => b.tier_of.get(&other).copied(),
            _ => None,
        });
        if let Some(set) = set {
            b.tier_of.insert(local, set);
        }
    }

    pub(crate) fn is_array(&self, b: &Body, e: &ast::Expr) -> bool {
        match &e.kind {
            ExprKind::Name(name) => match b.find(name) {
                Some(binding) => matches!(binding, Binding::Array(..)),
                None => matches!(self.lookup(name), Some(Named { symbol: Symbol::Tensor(_), .. })),
            },
            ExprKind::Call { callee, .. } => builtins::find(callee.as_str())
                .is_some_and(|f| matches!(f.does, Builtin::InputMeta | Builtin::InputLens)),
            _ => false,
        }
    }

    fn declare_array(
        &mut self,
        b: &mut Body,
        ty: &ast::Type,
        name: &Ident,
        init: &ast::Expr,
        out: &mut Block,
    ) -> Res<()> {
        let (array, elem) = self.array(b, init)?;
        if ty.name() != Some("auto") {
            self.check_element(ty, elem)?;
        }
        let local = b.local(name.as_str(), LocalTy::Array(elem), name.span);
        out.push(Stmt { kind: StmtKind::LetArray { local, array }, span: name.span });
        self.bind(b, name, Binding::Array(wsp_ir::ArrayRef::Local(local), elem))
    }

    /// Checks that a pointer type fits the elements of an array.
    pub(crate) fn check_element(&mut self, ty: &ast::Type, elem: ScalarTy) -> Res<()> {
        if self.head(ty)? == Head::Scalar(elem) {
            return Ok(());
        }
        let message = format!("an array of `{}` under another type", elem.c_name());
        Err(self.fail(
            Diagnostic::error(codes::TYPE_MISMATCH, message)
                .at(ty.span, "the elements have another type")
                .help(format!("write `const {}*`", elem.c_name())),
        ))
    }

    fn names_descriptor(&self, b: &Body, e: &ast::Expr) -> bool {
        match &e.kind {
            ExprKind::Call { callee, .. } => callee.as_str() == "PTO_GET_DESCRIPTOR",
            ExprKind::Name(name) => matches!(b.find(name), Some(Binding::Descriptor(..))),
            _ => false,
        }
    }

    fn declare_descriptor(
        &mut self,
        b: &mut Body,
        head: Head,
        ty: &ast::Type,
        name: &Ident,
        init: &ast::Expr,
    ) -> Res<()> {
        let (local, of) = self.descriptor(b, init)?;
        match head {
            Head::Auto => {}
            Head::Struct(id) if id == of => {}
            _ => {
                let message = format!("the descriptor is a `{}`", self.module.structs[of.index()].name);
                let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
                    .at(ty.span, "another type")
                    .help("write `auto`");
                return Err(self.fail(d));
            }
        }
        if !b.inlined {
            b.locals[local.index()].name = name.name.to_string();
        }
        self.bind(b, name, Binding::Descriptor(local, of))
    }

    /// Gives a name its meaning in the innermost scope.
    pub(crate) fn bind(&mut self, b: &mut Body, name: &Ident, binding: Binding) -> Res<()> {
        b.bind(&name.name, binding, name.span)
            .map_err(|earlier| self.redefined(name.as_str(), name.span, earlier))
    }

    fn assignment(
        &mut self,
        b: &mut Body,
        target: &ast::Expr,
        op: AssignOp,
        value: &ast::Expr,
        span: Span,
    ) -> Res<StmtKind> {
        let (local, ty) = self.assignable(b, target)?;
        let value = match op {
            AssignOp::Set => self.scalar_as(b, value, ty)?,
            AssignOp::Compound(op) => {
                let left = Expr::local(local, ty, target.span);
                let right = self.scalar(b, value)?;
                let result = match op {
                    BinaryOp::And | BinaryOp::Or => {
                        return Err(self.fail(
                            Diagnostic::error(codes::BAD_OPERANDS, "no such assignment").at(span, ""),
                        ));
                    }
                    _ => self.arithmetic(super::expr::ir_op(op), left, right, op.symbol(), span)?,
                };
                self.convert(result, ty)?
            }
        };
        self.note_tier(b, local, Some(&value));
        Ok(StmtKind::Assign { local, value })
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
            (Some(row), _) => self.tile_statement(b, row, callee, args, e.span)?,
            (None, Some(builtin)) => match self.builtin_statement(b, builtin, callee, args, e.span)? {
                Some(kind) => kind,
                None => {
                    let value = self.scalar(b, e)?;
                    return self.discard(b, value, out);
                }
            },
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

/// Nodes of an expression; more than enough when there are too many.
fn size(e: &Expr) -> u32 {
    let mut nodes = 0;
    e.any(&mut |_| {
        nodes += 1;
        nodes > MAX_KNOWN
    });
    nodes
}

/// Replaces variables by what they are known to be; whether only literals and parameters are left. `room` is how many
/// nodes the expression may grow by.
fn expand(b: &Body, e: &mut Expr, room: &mut u32) -> bool {
    if let Ir::Local(local) = e.kind {
        let Some(known) = b.known(local) else { return false };
        let Some(left) = room.checked_sub(size(known)) else { return false };
        *room = left;
        *e = (**known).clone();
        return true;
    }
    let mut fine = matches!(
        e.kind,
        Ir::Const(_)
            | Ir::Param(_)
            | Ir::Unary(..)
            | Ir::Binary(..)
            | Ir::Cast(_)
            | Ir::Select(..)
            | Ir::Math(..)
    );
    if fine {
        e.for_each_child_mut(|child| fine = fine && expand(b, child, room));
    }
    fine
}
