//! Variables of functions that are never read. Parameters are part of an interface, which others may share, and need no use; nor
//! does the index of a loop that counts.
//!
//! Assigning is no use, nor is what an assignment or a tile operation reads of the variable that it writes:
//! `x = x + 1;` and `TADD(t, t, u);` do not use `x` and `t`.

use super::{LintInput, codes, is_meant};
use crate::ast::{
    AssignOp, Block, Decl, Expr, ExprKind, FnParam, Ident, Item, Stmt, StmtKind, TemplateArg, Type, TypeBase,
};
use crate::sema::tiles;
use crate::sema::walk::{each_expr, each_subexpr};
use std::rc::Rc;
use wsp_diag::{Diagnostic, Span};

/// The warnings of all functions.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let mut scopes = Scopes::default();
    for item in &program.tree.items {
        match item {
            Item::Generator(g) => scopes.function(&[], &g.body),
            // Parameters of an entry are what a task graph binds.
            Item::Kernel(k) => scopes.function(&[], &k.body),
            Item::Function(f) if program.is_entry(f) => {}
            Item::Function(f) => {
                scopes.open.push(scopes.vars.len());
                for param in &f.params {
                    scopes.type_(&param.ty);
                }
                scopes.type_(&f.ret);
                scopes.function(&f.params, &f.body);
                scopes.close();
            }
            _ => {}
        }
    }
    scopes.found
}

/// A variable in scope.
struct Var {
    name: Rc<str>,
    span: Span,
    what: &'static str,
    /// Its value is read somewhere.
    read: bool,
    /// Something is written to it after its declaration.
    written: bool,
}

#[derive(Default)]
struct Scopes {
    vars: Vec<Var>,
    /// Where in `vars` each open scope begins.
    open: Vec<usize>,
    found: Vec<Diagnostic>,
}

impl Scopes {
    fn function(&mut self, params: &[FnParam], body: &Block) {
        self.open.push(self.vars.len());
        for param in params {
            self.declare(&param.name, "parameter");
            self.mark(&param.name.name);
        }
        self.block(body);
        self.close();
    }

    fn declare(&mut self, name: &Ident, what: &'static str) {
        let var = Var { name: name.name.clone(), span: name.span, what, read: false, written: false };
        self.vars.push(var);
    }

    /// Ends the innermost scope.
    fn close(&mut self) {
        let first = self.open.pop().unwrap_or_default();
        for var in self.vars.drain(first..) {
            if var.read || is_meant(&var.name) {
                continue;
            }
            let (code, what) = (codes::UNUSED_VARIABLE, var.what);
            let found = Diagnostic::warning(code, format!("{what} `{}` is never read", var.name));
            let label = if var.written { "only written" } else { "never used" };
            let help = format!("remove it, or name it `_{}` if it is meant to be unused", var.name);
            self.found.push(found.at(var.span, label).help(help));
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut Var> {
        self.vars.iter_mut().rev().find(|var| &*var.name == name)
    }

    fn block(&mut self, block: &Block) {
        self.open.push(self.vars.len());
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
        self.close();
    }

    /// A statement in a scope of its own.
    fn nested(&mut self, stmt: &Stmt) {
        self.open.push(self.vars.len());
        self.stmt(stmt);
        self.close();
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Block(block) => self.block(block),
            StmtKind::Decl(decl) => self.decl(decl),
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value),
            StmtKind::Expr(e) => self.expression(e),
            StmtKind::If { cond, then, otherwise } => {
                self.read(cond, None);
                self.nested(then);
                otherwise.iter().for_each(|s| self.nested(s));
            }
            StmtKind::For { init, cond, step, body } => {
                self.open.push(self.vars.len());
                init.iter().for_each(|s| self.stmt(s));
                cond.iter().for_each(|e| self.read(e, None));
                step.iter().for_each(|s| self.stmt(s));
                self.nested(body);
                self.close();
            }
            StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
                self.read(cond, None);
                self.nested(body);
            }
            StmtKind::ForEach { var, start, end, body } => {
                self.read(start, None);
                self.read(end, None);
                // A loop may just count.
                self.indices(std::slice::from_ref(var), body, true);
            }
            StmtKind::ScheduledFor { vars, body } => {
                // These are of the current item, whatever its indices are called.
                let by_item = asks_for_item(body);
                self.indices(vars, body, by_item);
            }
            StmtKind::Return(value) => value.iter().for_each(|e| self.read(e, None)),
        }
    }

    fn indices(&mut self, vars: &[Ident], body: &Block, used: bool) {
        self.open.push(self.vars.len());
        for var in vars {
            self.declare(var, "index");
            if used {
                self.mark(&var.name);
            }
        }
        self.block(body);
        self.close();
    }

    fn decl(&mut self, decl: &Decl) {
        self.type_(&decl.ty);
        for var in &decl.vars {
            var.init.iter().for_each(|e| self.read(e, None));
            self.declare(&var.name, "variable");
            // Asking for the descriptor says which one the kernel takes.
            if var.init.as_ref().is_some_and(is_descriptor) {
                self.mark(&var.name.name);
            }
        }
    }

    fn assign(&mut self, target: &Expr, _: AssignOp, value: &Expr) {
        let own = target.as_name();
        match &own {
            Some(name) => {
                if let Some(var) = self.find(&name.name) {
                    var.written = true;
                }
            }
            None => self.read(target, None),
        }
        self.read(value, own.as_ref().map(Ident::as_str));
    }

    /// A statement that is an expression: a tile operation writes its first arguments.
    fn expression(&mut self, e: &Expr) {
        let ExprKind::Call { callee, args, .. } = &e.kind else { return self.read(e, None) };
        let Some(call) = tiles::find(callee.as_str()) else { return self.read(e, None) };
        // Stores have no result, and a selection goes on from the values and indices that are there.
        let results = usize::from(matches!(call.word.args, ["dst" | "tile", ..]));
        let (written, read) = args.split_at(results.min(args.len()));
        let own = written.first().and_then(Expr::as_name);
        for target in written {
            match target.as_name().and_then(|name| self.find(&name.name)) {
                Some(var) => var.written = true,
                None => self.read(target, None),
            }
        }
        read.iter().for_each(|arg| self.read(arg, own.as_ref().map(Ident::as_str)));
    }

    /// Marks what an expression reads, but for `own`, which its value is assigned to.
    fn read(&mut self, e: &Expr, own: Option<&str>) {
        each_subexpr(e, &mut |e| match &e.kind {
            ExprKind::Name(name) if own != Some(&**name) => self.mark(name),
            ExprKind::Call { template_args, .. } => self.arguments(template_args),
            ExprKind::Cast { ty, .. } | ExprKind::SizeOf(ty) => self.type_(ty),
            _ => {}
        });
    }

    fn mark(&mut self, name: &str) {
        if let Some(var) = self.find(name) {
            var.read = true;
        }
    }

    /// Marks what a type mentions.
    fn type_(&mut self, ty: &Type) {
        match &ty.base {
            TypeBase::Named(name) => self.mark(&name.name),
            TypeBase::DtypeOf(e) => self.read(e, None),
        }
        self.arguments(&ty.args);
    }

    fn arguments(&mut self, args: &[TemplateArg]) {
        for arg in args {
            match arg {
                TemplateArg::Type(ty) => self.type_(ty),
                TemplateArg::Expr(e) => self.read(e, None),
            }
        }
    }
}

/// `PTO_GET_DESCRIPTOR<T>()`
fn is_descriptor(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Call { callee, .. } if callee.as_str() == "PTO_GET_DESCRIPTOR")
}

/// Whether a body asks for elements of the current item: `PTO_ITEM_BEGIN(axis)` and the like.
fn asks_for_item(body: &Block) -> bool {
    let mut found = false;
    each_expr(body, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Call { callee, .. } if callee.as_str().starts_with("PTO_ITEM_"));
    });
    found
}
