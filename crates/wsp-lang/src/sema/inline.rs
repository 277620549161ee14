//! Functions that return nothing: their code is copied to every call.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::functions::Role;
use super::tile_shapes::may_agree;
use super::types::{Head, role_name};
use super::walk;
use crate::ast::{self, ExprKind, Ident, Indirection, TemplateArg, TypeBase};
use wsp_core::words::a;
use wsp_core::{LocalId, StructId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::{ArrayRef, BinOp, Block, Expr, ExprKind as Ir, LocalTy, ScalarTy, Stmt, StmtKind};

/// What a caller passes for a parameter.
enum Passed {
    Tile(LocalId),
    Descriptor(LocalId, StructId),
    Array(ArrayRef, ScalarTy),
    Variable(LocalId, ScalarTy),
    Value(Expr),
}

impl Sema<'_> {
    /// Whether a function returns nothing and is copied to its calls.
    pub(crate) fn is_inline(&self, index: usize) -> bool {
        self.functions[index].role == Role::Inline
    }

    /// Copies the code of a function to a call.
    #[expect(clippy::too_many_arguments, reason = "these are the parts of one call")]
    pub(crate) fn inline_call(
        &mut self,
        b: &mut Body,
        index: usize,
        callee: &Ident,
        template_args: &[TemplateArg],
        args: &[ast::Expr],
        span: Span,
        out: &mut Block,
    ) -> Res<()> {
        let decl = self.functions[index].decl;
        self.functions[index].called = true;
        if self.functions[index].recursive {
            return Err(Reported::earlier(&self.diags));
        }
        let values = self.template_arguments(b, decl, callee, template_args)?;
        self.check_arity(callee, (decl.params.len(), decl.params.len()), args.len(), span)?;
        let passed: Vec<Res<Passed>> =
            decl.params.iter().zip(args).map(|(p, e)| self.passed(b, p, e)).collect();
        let passed = passed.into_iter().collect::<Res<Vec<Passed>>>()?;
        let before = b.enter_frame();
        self.calls.push(span);
        let bound = self.bind_call(b, decl, &values, passed, args, out);
        if bound.is_ok() {
            let body = self.function_body(b, &decl.body);
            out.extend(body);
        }
        self.calls.pop();
        b.leave_frame(before);
        bound
    }

    /// Reads an argument in the caller's scope.
    fn passed(&mut self, b: &mut Body, param: &ast::FnParam, e: &ast::Expr) -> Res<Passed> {
        let head = match &param.ty.base {
            TypeBase::Named(_) => self.head(&param.ty)?,
            TypeBase::DtypeOf(_) => return Err(self.bad_param(param)),
        };
        match (head, param.ty.indirection) {
            (Head::Tile(_), Indirection::Reference) => self.tile(b, e).map(Passed::Tile),
            (Head::Tile(_), _) => Err(self.fail(
                Diagnostic::error(codes::BAD_SIGNATURE, "tiles are passed by reference")
                    .at(param.span, "would be a copy")
                    .help(format!("write `& {}`", param.name.as_str())),
            )),
            (Head::Struct(of), _) => {
                let (local, ty) = self.descriptor(b, e)?;
                if ty != of {
                    let given = format!("`{}`", self.module.structs[ty.index()].name);
                    let message = format!("{} is passed", a(&given));
                    let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
                        .at(e.span, "another descriptor type is needed")
                        .label(param.span, "the parameter");
                    return Err(self.fail(d));
                }
                Ok(Passed::Descriptor(local, ty))
            }
            (Head::Scalar(_), Indirection::Pointer) => {
                let (array, elem) = self.array(b, e)?;
                self.check_element(&param.ty, elem)?;
                Ok(Passed::Array(array, elem))
            }
            (Head::Scalar(ty), Indirection::Reference) if !param.ty.is_const => {
                let (local, given) = self.assignable(b, e)?;
                if given != ty {
                    let message = format!("a reference to `{}` is passed", given.c_name());
                    let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
                        .at(e.span, format!("`{}` is needed", ty.c_name()))
                        .label(param.span, "the parameter");
                    return Err(self.fail(d));
                }
                Ok(Passed::Variable(local, ty))
            }
            (Head::Scalar(_) | Head::Element(_), _) => {
                let ty = self.scalar_type(&param.ty)?;
                self.scalar_as(b, e, ty).map(Passed::Value)
            }
            _ => Err(self.bad_param(param)),
        }
    }

    fn bad_param(&mut self, param: &ast::FnParam) -> Reported {
        self.fail(
            Diagnostic::error(codes::BAD_SIGNATURE, "a function cannot take this")
                .at(param.span, "not a type of parameters")
                .help("functions take numbers, integer arrays, `const T&` descriptors and tiles by reference; tensors are named directly"),
        )
    }

    fn bind_call(
        &mut self,
        b: &mut Body,
        decl: &ast::Function,
        values: &[Expr],
        passed: Vec<Passed>,
        args: &[ast::Expr],
        out: &mut Block,
    ) -> Res<()> {
        self.bind_template(b, decl, values)?;
        for ((param, passed), arg) in decl.params.iter().zip(passed).zip(args) {
            self.check_reserved(&param.name)?;
            let binding = match passed {
                Passed::Tile(local) => {
                    self.check_tile_param(b, param, local, arg.span)?;
                    Binding::Tile(local)
                }
                Passed::Descriptor(local, of) => Binding::Descriptor(local, of),
                Passed::Array(array, elem) => Binding::Array(array, elem),
                Passed::Variable(local, ty) => Binding::Scalar { local, ty, fixed: None, known: None },
                Passed::Value(value) => self.bind_value(b, param, value, out),
            };
            self.bind(b, &param.name, binding)?;
        }
        Ok(())
    }

    /// A number is copied into a variable of the callee, which may change it.
    fn bind_value(&mut self, b: &mut Body, param: &ast::FnParam, value: Expr, out: &mut Block) -> Binding {
        if param.ty.is_const && matches!(value.kind, Ir::Const(_)) {
            return Binding::Literal(value);
        }
        let known = if param.ty.is_const { self.known_value(b, &value) } else { None };
        let (ty, span) = (value.ty, value.span);
        let local = b.local(param.name.as_str(), LocalTy::Scalar(ty), param.name.span);
        self.note_tier(b, local, Some(&value));
        out.push(Stmt { kind: StmtKind::Let { local, init: Some(value) }, span });
        Binding::Scalar { local, ty, fixed: param.ty.is_const.then_some("it is `const`"), known }
    }

    fn check_tile_param(&mut self, b: &mut Body, param: &ast::FnParam, tile: LocalId, span: Span) -> Res<()> {
        let Head::Tile(role) = self.head(&param.ty)? else {
            unreachable!("only tile parameters take tiles");
        };
        let needed = self.tile_type(b, role, &param.ty)?;
        let given = self.tile_ty(b, tile);
        let fits = needed.role == given.role
            && needed.elem == given.elem
            && may_agree(&needed.rows, &given.rows)
            && may_agree(&needed.cols, &given.cols);
        if fits {
            return Ok(());
        }
        let text =
            |cx: &Self, ty: &wsp_ir::TileTy| format!("{} of {}", role_name(ty.role), cx.shape_text(ty));
        let why = if needed.elem == given.elem { String::new() } else { ", with other elements".to_owned() };
        let d = Diagnostic::error(codes::TYPE_MISMATCH, "a tile of another type is passed")
            .at(span, format!("{}{why}", a(&text(self, &given))))
            .label(param.span, format!("{} is needed", a(&text(self, &needed))));
        Err(self.fail(d))
    }

    /// Checks a function that nobody calls.
    pub(crate) fn probe(&mut self, decl: &ast::Function) {
        if let Some(launch) = self.misspelt_launch(decl) {
            self.unknown_launch(&launch);
            return;
        }
        let mut b = Body::new(BodyKind::Probe);
        let before = b.enter_frame();
        for param in &decl.params {
            let binding = self.probe_param(&mut b, param).unwrap_or(Binding::Poison);
            // Failure is reported where it is found.
            let _ = self.check_reserved(&param.name).and_then(|()| self.bind(&mut b, &param.name, binding));
        }
        self.function_body(&mut b, &decl.body);
        b.leave_frame(before);
    }

    /// What a function with parameters of a host entry calls in the place of `PTO_LAUNCH`.
    fn misspelt_launch(&self, decl: &ast::Function) -> Option<Ident> {
        let is_entry = |param: &ast::FnParam| matches!(param.ty.name(), Some("Tensor" | "PagedKVCache"));
        if !decl.params.iter().any(is_entry) {
            return None;
        }
        let mut found = None;
        walk::each_expr(&decl.body, &mut |e| {
            if let ExprKind::Call { callee, .. } = &e.kind
                && self.lookup(callee.as_str()).is_none()
                && did_you_mean(callee.as_str(), ["PTO_LAUNCH"]).is_some()
            {
                found = Some(callee.clone());
            }
        });
        found
    }

    fn probe_param(&mut self, b: &mut Body, param: &ast::FnParam) -> Res<Binding> {
        let name = param.name.as_str();
        let span = param.name.span;
        let fixed = param.ty.is_const.then_some("it is `const`");
        match (self.head(&param.ty)?, param.ty.indirection) {
            (Head::Tile(role), Indirection::Reference) => {
                let ty = self.tile_type(b, role, &param.ty)?;
                Ok(Binding::Tile(b.local(name, LocalTy::Tile(ty), span)))
            }
            (Head::Struct(of), _) => {
                Ok(Binding::Descriptor(b.local(name, LocalTy::Descriptor(of), span), of))
            }
            (Head::Scalar(elem), Indirection::Pointer) if elem.is_int() => {
                let local = b.local(name, LocalTy::Array(elem), span);
                Ok(Binding::Array(ArrayRef::Local(local), elem))
            }
            (Head::Scalar(_) | Head::Element(_), Indirection::None | Indirection::Reference) => {
                let ty = self.scalar_type(&param.ty)?;
                let local = b.local(name, LocalTy::Scalar(ty), span);
                Ok(Binding::Scalar { local, ty, fixed, known: None })
            }
            _ => Err(self.bad_param(param)),
        }
    }

    /// The third argument of `BinarySearchChunkSize(lens, batch, max_blocks)`: how many tasks there are per chunk, which
    /// is the product of the extents of the other axes. None when all arguments are there.
    pub(crate) fn search_heads(
        &mut self,
        b: &Body,
        decl: &ast::Function,
        given: usize,
        span: Span,
    ) -> Res<Option<Expr>> {
        let built_in = Some(decl.span.file) == self.built_in;
        let BodyKind::Generator(space) = b.kind else { return Ok(None) };
        if !built_in || given + 1 != decl.params.len() {
            return Ok(None);
        }
        let mut product = Expr::u32(1, span);
        for axis in self.module.spaces[space.index()].axes.clone().into_iter().skip(1) {
            if !self.is_dynamic(axis) {
                let extent = Expr::new(Ir::AxisExtent(axis), ScalarTy::U32, span);
                product = match product.as_const_int() {
                    Some(_) => extent,
                    None => self.arithmetic(BinOp::Mul, product, extent, "*", span)?,
                };
            }
        }
        Ok(Some(product))
    }
}
