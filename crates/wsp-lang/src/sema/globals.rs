//! Launch-time scalars: `PTO_PARAM`, file-scope constants, extents that `PTO_SHAPE` names, scalars of the entry.
//!
//! Each is resolved when it is first needed, so that [`wsp_ir::Module::params`] ends up in an order in which every
//! parameter depends on earlier ones only.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::names::Symbol;
use crate::ast;
use std::rc::Rc;
use wsp_core::ParamId;
use wsp_core::words::a;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{BinOp, Elem, Expr, ExprKind, Param, ParamSource, Requirement, ScalarTy, ShapeOwner};

/// Bytes to which every field of a workspace slot, and the slot, is aligned.
pub(crate) const SLOT_ALIGN: u32 = 64;

/// A launch-time scalar of the file.
pub(crate) struct Global<'a> {
    /// Its name.
    pub(crate) name: Rc<str>,
    /// Where it is defined.
    pub(crate) span: Span,
    /// What defines it.
    pub(crate) decl: GlobalDecl<'a>,
    /// How far its resolution is.
    pub(crate) state: State,
}

/// What defines a launch-time scalar.
#[derive(Clone, Copy)]
pub(crate) enum GlobalDecl<'a> {
    /// `PTO_PARAM`
    Param(&'a ast::Param),
    /// `const T name = expr;`
    Const(&'a ast::Const),
    /// A lone name in a `PTO_SHAPE`.
    Shape(ShapeOwner, u32),
    /// A scalar that `PTO_LAUNCH` binds.
    Entry(ScalarTy),
    /// `PTO_SLOT_BYTES`
    SlotBytes,
}

/// How far the resolution of a launch-time scalar is.
#[derive(Clone)]
pub(crate) enum State {
    /// Not begun.
    Todo,
    /// Begun: to need it now is a cycle.
    Busy,
    /// The expression that stands for it: a literal or a parameter.
    Ready(Expr),
    /// Its definition is wrong; that has been reported.
    Failed,
}

impl<'a> Sema<'a> {
    /// Adds a launch-time scalar; the name is declared too.
    pub(crate) fn add_global(&mut self, ident: &ast::Ident, decl: GlobalDecl<'a>) {
        let index = self.globals.len();
        self.globals.push(Global { name: ident.name.clone(), span: ident.span, decl, state: State::Todo });
        self.declare(ident, Symbol::Global(index));
    }

    /// Resolves all: what the launch gives first, then the others in order of definition.
    pub(crate) fn resolve_globals(&mut self) {
        let given = |decl: &GlobalDecl<'_>| matches!(decl, GlobalDecl::Shape(..) | GlobalDecl::Entry(_));
        let (first, others): (Vec<usize>, Vec<usize>) =
            (0..self.globals.len()).partition(|index| given(&self.globals[*index].decl));
        for index in first.into_iter().chain(others) {
            // A file that does not use the size of its slots need not have one.
            if !matches!(self.globals[index].decl, GlobalDecl::SlotBytes) {
                let span = self.globals[index].span;
                // Failure is reported where it is found.
                let _ = self.global(index, span);
            }
        }
    }

    /// The expression that stands for a launch-time scalar where `span` uses it.
    pub(crate) fn global(&mut self, index: usize, span: Span) -> Res<Expr> {
        match &self.globals[index].state {
            State::Ready(e) => {
                let mut e = e.clone();
                e.span = span;
                return Ok(e);
            }
            State::Failed => return Err(Reported::earlier(&self.diags)),
            State::Busy => return Err(self.cycle(index, span)),
            State::Todo => {}
        }
        self.enter(span)?;
        self.globals[index].state = State::Busy;
        // Its value is kept for every use, also where this first one asks for none.
        let around = (self.unevaluated, self.perhaps);
        (self.unevaluated, self.perhaps) = (0, 0);
        let resolved = self.resolve(index);
        (self.unevaluated, self.perhaps) = around;
        self.leave();
        match resolved {
            Ok(mut e) => {
                self.globals[index].state = State::Ready(e.clone());
                e.span = span;
                Ok(e)
            }
            Err(reported) => {
                self.globals[index].state = State::Failed;
                Err(reported)
            }
        }
    }

    fn cycle(&mut self, index: usize, span: Span) -> Reported {
        let name = self.globals[index].name.clone();
        let defined = self.globals[index].span;
        self.fail(
            Diagnostic::error(codes::CYCLE, format!("the value of `{name}` depends on itself"))
                .at(span, "needed here")
                .label(defined, "while its own value is worked out"),
        )
    }

    fn resolve(&mut self, index: usize) -> Res<Expr> {
        let Global { name, span, decl, .. } = &self.globals[index];
        let (name, span, decl) = (name.to_string(), *span, *decl);
        match decl {
            GlobalDecl::Shape(of, dim) => {
                Ok(self.add_param(name, ScalarTy::U32, ParamSource::Shape { of, dim }, span))
            }
            GlobalDecl::Entry(ty) => Ok(self.add_param(name, ty, ParamSource::Entry, span)),
            GlobalDecl::Param(param) => {
                let ty = self.scalar_type(&param.ty)?;
                let mut b = Body::new(BodyKind::Launch("the default of a parameter"));
                let default = self.launch_value(&mut b, &param.default, ty, "the default of a parameter")?;
                Ok(self.add_param(name, ty, ParamSource::Set { default }, span))
            }
            GlobalDecl::Const(decl) => {
                let mut b = Body::new(BodyKind::Launch("a file-scope constant"));
                let value = match decl.ty.name() {
                    Some("auto") => self.launch_scalar(&mut b, &decl.value, "a file-scope constant")?,
                    _ => {
                        let ty = self.scalar_type(&decl.ty)?;
                        self.launch_value(&mut b, &decl.value, ty, "a file-scope constant")?
                    }
                };
                Ok(self.derived(name, value, span))
            }
            GlobalDecl::SlotBytes => {
                let value = self.slot_bytes(span)?;
                Ok(self.derived(name, value, span))
            }
        }
    }

    /// A literal stands for itself; anything else becomes a parameter.
    fn derived(&mut self, name: String, value: Expr, span: Span) -> Expr {
        match value.kind {
            ExprKind::Const(_) => value,
            _ => {
                let ty = value.ty;
                self.add_param(name, ty, ParamSource::Derived(value), span)
            }
        }
    }

    fn add_param(&mut self, name: String, ty: ScalarTy, source: ParamSource, span: Span) -> Expr {
        let id = ParamId(self.module.params.len() as u32);
        self.module.params.push(Param { name, ty, source, span });
        Expr::new(ExprKind::Param(id), ty, span)
    }

    /// Bytes of a workspace slot: its fields in declared order, each rounded up to [`SLOT_ALIGN`].
    fn slot_bytes(&mut self, span: Span) -> Res<Expr> {
        let fields = self.workspaces.clone();
        let mut sizes =
            fields.into_iter().map(|field| self.field_bytes(field)).collect::<Res<Vec<Expr>>>()?;
        // Added up in pairs: the sum of many fields is no deep tree.
        while sizes.len() > 1 {
            let mut pairs = Vec::new();
            let mut rest = sizes.into_iter();
            while let Some(first) = rest.next() {
                pairs.push(match rest.next() {
                    Some(second) => self.arithmetic(BinOp::Add, first, second, "+", span)?,
                    None => first,
                });
            }
            sizes = pairs;
        }
        Ok(sizes.pop().unwrap_or_else(|| Expr::u32(0, span)))
    }

    /// Bytes of a field of a workspace slot, rounded up to [`SLOT_ALIGN`].
    fn field_bytes(&mut self, field: &ast::Workspace) -> Res<Expr> {
        const WHAT: &str = "the size of a workspace";
        let mut b = Body::new(BodyKind::Launch(WHAT));
        let Elem::Fixed(dtype) = self.element_type(&mut b, &field.elem)? else {
            return Err(self.not_allowed(
                field.elem.span,
                "the elements of a workspace have a fixed size",
                "use `float`",
            ));
        };
        let mut elements: Option<Expr> = None;
        for dim in &field.dims {
            let extent = self.launch_value(&mut b, dim, ScalarTy::U32, WHAT)?;
            elements = Some(match elements {
                Some(before) if extent.as_const_int() == Some(1) => before,
                Some(before) => self.arithmetic(BinOp::Mul, before, extent, "*", field.span)?,
                None => extent,
            });
        }
        let number = |value: u32| Expr::u32(value, field.span);
        let elements = elements.unwrap_or_else(|| number(1));
        let size = u32::try_from(dtype.size()).expect("an element should have a few bytes");
        let bytes = self.arithmetic(BinOp::Mul, elements, number(size), "*", field.span)?;
        let units = self.arithmetic(BinOp::CeilDiv, bytes, number(SLOT_ALIGN), "PTO_CEIL_DIV", field.span)?;
        self.arithmetic(BinOp::Mul, units, number(SLOT_ALIGN), "*", field.span)
    }

    /// A scalar that is known at launch.
    pub(crate) fn launch_scalar(&mut self, b: &mut Body, e: &ast::Expr, what: &'static str) -> Res<Expr> {
        let before = std::mem::replace(&mut b.expand, true);
        let value = self.scalar(b, e);
        b.expand = before;
        let value = value?;
        self.check_launch_known(&value, what)?;
        Ok(value)
    }

    /// A scalar of type `ty` that is known at launch.
    pub(crate) fn launch_value(
        &mut self,
        b: &mut Body,
        e: &ast::Expr,
        ty: ScalarTy,
        what: &'static str,
    ) -> Res<Expr> {
        let value = self.launch_scalar(b, e, what)?;
        if ty.is_int() && value.ty.is_float() {
            return Err(self.fail(
                Diagnostic::error(codes::TYPE_MISMATCH, format!("{what} is a whole number"))
                    .at(value.span, format!("this is {}", a(&format!("`{}`", value.ty.c_name()))))
                    .help(format!("round it with a cast: `({})(…)`", ty.c_name())),
            ));
        }
        self.convert(value, ty)
    }

    fn check_launch_known(&mut self, value: &Expr, what: &'static str) -> Res<()> {
        let Some(span) = stranger(value, &|_| false) else { return Ok(()) };
        Err(self.fail(
            Diagnostic::error(codes::NOT_LAUNCH_KNOWN, format!("{what} must be known at launch"))
                .at(span, "known only while the program runs")
                .help("use literals, parameters, file-scope constants and `const` variables made of them"),
        ))
    }
}

/// The place of the first part of an expression that is neither made of literals and parameters nor `allowed`.
pub(crate) fn stranger(value: &Expr, allowed: &dyn Fn(&ExprKind) -> bool) -> Option<Span> {
    let mut found = None;
    value.any(&mut |e| {
        let known = matches!(
            e.kind,
            ExprKind::Const(_)
                | ExprKind::Param(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Chain(..)
                | ExprKind::Cast(_)
                | ExprKind::Select(..)
                | ExprKind::Math(..)
        );
        if !known && !allowed(&e.kind) {
            found = Some(e.span);
        }
        found.is_some()
    });
    found
}

impl Sema<'_> {
    /// Lowers every `PTO_REQUIRE`.
    pub(crate) fn lower_requirements(&mut self) {
        for at in 0..self.requires.len() {
            let decl = self.requires[at];
            let mut b = Body::new(BodyKind::Launch("a requirement"));
            let Ok(cond) = self.condition(&mut b, &decl.cond) else { continue };
            match stranger(&cond, &|_| false) {
                Some(span) => {
                    self.fail(
                        Diagnostic::error(
                            codes::NOT_LAUNCH_KNOWN,
                            "a requirement is made of parameters and literals",
                        )
                        .at(span, "this is something else"),
                    );
                }
                None => self.module.requirements.push(Requirement { cond, span: decl.span }),
            }
        }
    }
}
