//! Operands that are not numbers: arrays, tensors, tiles.

use super::Sema;
use super::body::{Binding, Body};
use super::builtins::{self, Builtin};
use super::codes;
use super::diags::{Reported, Res};
use super::names::{Named, Symbol, quoted, with_suggestion};
use super::types::element_scalar;
use crate::ast::{self, BinOp, ExprKind, Ident};
use wsp_core::{CacheId, LocalId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{ArrayRef, Elem, Expr, MetaKind, ScalarTy, Storage};

impl Sema<'_> {
    /// `(p, p + n)`: the array, the type of its elements, and `n`.
    pub(super) fn array_range(
        &mut self,
        b: &mut Body,
        callee: &Ident,
        first: &ast::Expr,
        last: &ast::Expr,
    ) -> Res<(ArrayRef, ScalarTy, Expr)> {
        let (array, ty) = self.array(b, first)?;
        if let ExprKind::Binary(BinOp::Add, base, count) = &last.kind
            && base.kind == first.kind
        {
            let count = self.scalar_as(b, count, ScalarTy::U32)?;
            return Ok((array, ty, count));
        }
        let name = callee.as_str();
        Err(self.fail(
            Diagnostic::error(
                codes::BAD_ARGUMENT,
                format!("`{name}` is understood for the start of an array only"),
            )
            .at(last.span, "this must be the first argument plus a count")
            .help(format!("write `{name}(p, p + n)`")),
        ))
    }

    /// An operand that must be an integer array.
    pub(crate) fn array(&mut self, b: &mut Body, e: &ast::Expr) -> Res<(ArrayRef, ScalarTy)> {
        match &e.kind {
            ExprKind::Name(name) => match b.find(name) {
                Some(Binding::Array(array, ty)) => Ok((*array, *ty)),
                Some(Binding::Poison) => Err(Reported::earlier(&self.diags)),
                Some(_) => Err(self.mismatch(e.span, &format!("`{name}`"), "an array", None)),
                None => self.launch_array(b, &Ident { name: name.clone(), span: e.span }),
            },
            ExprKind::Call { callee, args, .. } => match builtins::find(callee.as_str()) {
                Some(builtin) if matches!(builtin.does, Builtin::InputMeta | Builtin::InputLens) => {
                    self.check_call(b, builtin, callee, args, e.span)?;
                    self.input_meta(args).map(|array| (array, ScalarTy::U32))
                }
                _ => Err(self.mismatch(e.span, "the result of a call", "an array", None)),
            },
            _ => Err(self.mismatch(e.span, "this", "an array", None)),
        }
    }

    fn launch_array(&mut self, b: &Body, ident: &Ident) -> Res<(ArrayRef, ScalarTy)> {
        let id = match self.lookup(ident.as_str()) {
            Some(Named { symbol: Symbol::Tensor(id), .. }) => id,
            Some(Named { symbol: Symbol::Poison, .. }) => return Err(Reported::earlier(&self.diags)),
            Some(named) => return Err(self.wrong_kind(ident, named, "an array")),
            None => {
                let near = self.nearest(ident.as_str(), |n| matches!(n.symbol, Symbol::Tensor(_)));
                let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown array `{}`", ident.as_str()))
                    .at(ident.span, "not defined");
                return Err(self.fail(with_suggestion(d, near)));
            }
        };
        self.check_given(b, id, ident.span)?;
        let rank =
            self.shapes.iter().find(|s| s.owner == wsp_ir::ShapeOwner::Tensor(id)).map(|s| s.decl.dims.len());
        let has_entry = self.entry.is_some();
        let tensor = &mut self.module.tensors[id.index()];
        if tensor.elem == Elem::Of(id) && !has_entry && tensor.storage == Storage::Launch && rank == Some(1) {
            // A library says nothing of element types; what is used as an array of integers is one.
            tensor.elem = Elem::Fixed(wsp_core::DType::U32);
        }
        let (elem, storage) = (tensor.elem, tensor.storage.clone());
        if let (Elem::Fixed(dtype), Storage::Launch, Some(1)) = (elem, storage, rank)
            && let Some(ty) = element_scalar(dtype)
        {
            self.note_integers(b, id, Some(ident.span), None)?;
            return Ok((ArrayRef::Tensor(id), ty));
        }
        let defined = self.module.tensors[id.index()].span;
        Err(self.fail(
            Diagnostic::error(
                codes::TYPE_MISMATCH,
                format!("tensor `{}` is no array of integers", ident.as_str()),
            )
            .at(ident.span, "an array is needed here")
            .label(defined, "defined here")
            .help("arrays of the launch have one dimension and are passed as `const uint32_t*`"),
        ))
    }

    fn input_meta(&mut self, args: &[ast::Expr]) -> Res<ArrayRef> {
        let cache = self.cache(&args[0])?;
        let Some(kind) = args.get(1) else { return Ok(ArrayRef::Meta(cache, MetaKind::Lengths)) };
        let ident = self.name_argument(kind, "a page-table array")?;
        match builtins::meta_kind(ident.as_str()) {
            Some(kind) => Ok(ArrayRef::Meta(cache, kind)),
            None => {
                let names: Vec<&str> = builtins::META_KINDS.iter().map(|(name, _)| *name).collect();
                let near = self.suggest(ident.as_str(), names.iter().copied());
                let d =
                    Diagnostic::error(codes::BAD_ARGUMENT, format!("a cache has no `{}`", ident.as_str()))
                        .at(ident.span, "unknown")
                        .note(format!("it has {}", quoted(&names)));
                Err(self.fail(with_suggestion(d, near)))
            }
        }
    }

    fn cache(&mut self, e: &ast::Expr) -> Res<CacheId> {
        let ident = self.name_argument(e, "a cache")?;
        self.expect_symbol(&ident, "a paged cache", codes::UNKNOWN_NAME, |symbol| match symbol {
            Symbol::Cache(id) => Some(id),
            _ => None,
        })
    }

    /// An operand that must be a tensor: a name, or `cache.k`.
    pub(crate) fn tensor(&mut self, b: &Body, e: &ast::Expr) -> Res<TensorId> {
        if let ExprKind::Member { base, field } = &e.kind {
            let id = self.cache(base)?;
            let cache = &self.module.caches[id.index()];
            return match field.as_str() {
                "k" => Ok(cache.keys),
                "v" => Ok(cache.values),
                _ => {
                    let message = format!("a cache has no `{}`", field.as_str());
                    Err(self.fail(
                        Diagnostic::error(codes::UNKNOWN_TENSOR, message).at(field.span, "unknown").help(
                            format!(
                                "write `{}.k` for the keys, `{}.v` for the values",
                                cache.name, cache.name
                            ),
                        ),
                    ))
                }
            };
        }
        let ident = self.name_argument(e, "a tensor")?;
        self.tensor_named(b, &ident)
    }

    /// The tensor with this name. Local names never mean tensors, so they do not hide one.
    pub(crate) fn tensor_named(&mut self, b: &Body, ident: &Ident) -> Res<TensorId> {
        match self.lookup(ident.as_str()) {
            Some(Named { symbol: Symbol::Tensor(id), .. }) => {
                self.check_given(b, id, ident.span).map(|()| id)
            }
            Some(Named { symbol: Symbol::Poison, .. }) => Err(Reported::earlier(&self.diags)),
            Some(named) => Err(self.wrong_kind(ident, named, "a tensor")),
            None => match b.find(ident.as_str()).map(Binding::describe) {
                Some(what) => {
                    let message = format!("`{}` is {what}, not a tensor", ident.as_str());
                    let d = Diagnostic::error(codes::WRONG_KIND, message);
                    Err(self.fail(d.at(ident.span, "a tensor is needed here")))
                }
                None => Err(self.unknown_tensor(ident.as_str(), ident.span)),
            },
        }
    }

    /// A tensor of which single elements can be loaded and stored outside of entries.
    pub(crate) fn float_tensor(&mut self, b: &Body, e: &ast::Expr) -> Res<TensorId> {
        let id = self.tensor(b, e)?;
        let tensor = &self.module.tensors[id.index()];
        match tensor.elem {
            Elem::Fixed(dtype) if !dtype.is_float() => {
                let d = Diagnostic::error(
                    codes::TYPE_MISMATCH,
                    format!("tensor `{}` holds `{dtype}`", tensor.name),
                )
                .at(e.span, "a tensor of floats is needed here")
                .help("read integers as an array, `name[i]`, or load them to a tile: `VecTile<int32_t, …>`");
                Err(self.fail(d))
            }
            _ => Ok(id),
        }
    }

    /// Single elements are `f32`: what an element of `f64` holds beyond it would be lost.
    pub(crate) fn no_doubles(&mut self, id: TensorId, at: Span) -> Res<TensorId> {
        let tensor = &self.module.tensors[id.index()];
        if tensor.elem != Elem::Fixed(wsp_core::DType::F64) {
            return Ok(id);
        }
        let message = format!("tensor `{}` holds `double`, and single elements are `float`", tensor.name);
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .at(at, "its elements do not fit here")
            .label(tensor.span, "defined here")
            .help("use a tile of one element, `VecTile<double, 1, 1>`, or declare the tensor with `float`");
        Err(self.fail(d))
    }

    /// An operand that must be a tile.
    pub(crate) fn tile(&mut self, b: &Body, e: &ast::Expr) -> Res<LocalId> {
        let ExprKind::Name(name) = &e.kind else {
            return Err(self.mismatch(e.span, "this", "a tile", None));
        };
        match b.find(name) {
            Some(Binding::Tile(local)) => Ok(*local),
            Some(Binding::Poison) => Err(Reported::earlier(&self.diags)),
            Some(_) => Err(self.mismatch(e.span, &format!("`{name}`"), "a tile", None)),
            None => match self.lookup(name) {
                Some(Named { symbol: Symbol::Poison, .. }) => Err(Reported::earlier(&self.diags)),
                Some(named) => {
                    let ident = Ident { name: name.clone(), span: e.span };
                    Err(self.wrong_kind(&ident, named, "a tile"))
                }
                None => {
                    let near = self.suggest(name, b.visible());
                    let d = Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown tile `{name}`"))
                        .at(e.span, "not defined");
                    Err(self.fail(with_suggestion(d, near)))
                }
            },
        }
    }
}
