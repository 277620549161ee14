//! Declarations of variables, and what is known of those that are constant.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::builtins::{self, Builtin};
use super::codes;
use super::diags::Res;
use super::names::{Named, Symbol};
use super::types::Head;
use crate::ast::{self, ExprKind, Ident, Indirection};
use std::rc::Rc;
use wsp_core::LocalId;
use wsp_core::words::a;
use wsp_diag::Diagnostic;
use wsp_ir::{Block, Expr, ExprKind as Ir, LocalTy, ScalarTy, Stmt, StmtKind};

/// Largest expression over parameters that a constant variable stands for, in nodes.
const MAX_KNOWN: u32 = 64;

impl Sema<'_> {
    pub(super) fn declaration(&mut self, b: &mut Body, decl: &ast::Decl, out: &mut Block) -> Res<()> {
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
            Ir::SelectTier(set, _) => Some(Some(set)),
            Ir::Local(other) => b.tier_of.get(&other).copied(),
            _ => None,
        });
        if let Some(set) = set {
            let held = b.tier_of.entry(local).or_insert(set);
            *held = held.filter(|held| Some(*held) == set);
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
                let message = format!(
                    "the descriptor is {}",
                    a(&format!("`{}`", self.module.structs[of.index()].name))
                );
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
            | Ir::Chain(..)
            | Ir::Cast(_)
            | Ir::Select(..)
            | Ir::Math(..)
    );
    if fine {
        e.for_each_child_mut(&mut |child| fine = fine && expand(b, child, room));
    }
    fine
}
