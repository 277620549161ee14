//! Calls for a value, and operands that are not numbers: arrays, tensors, tiles.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::builtins::{self, Builtin, BuiltinFn, Where};
use super::codes;
use super::diags::{Reported, Res};
use super::names::{Named, Symbol, quoted, with_suggestion};
use super::tiles::{self, TileForm};
use super::types::element_scalar;
use crate::ast::{self, BinaryOp, ExprKind, Ident, TemplateArg};
use wsp_core::{CacheId, LocalId, TensorId};
use wsp_ir::diag::Diagnostic;
use wsp_ir::{
    ArrayRef, BinOp, Elem, Expr, ExprKind as Ir, KernelEntry, MathFn, MetaKind, ReduceOp, ScalarTy, Span,
    Storage,
};

impl Sema<'_> {
    /// The value of a call.
    pub(crate) fn call_value(
        &mut self,
        b: &mut Body,
        callee: &Ident,
        template_args: &[TemplateArg],
        args: &[ast::Expr],
        span: Span,
    ) -> Res<Expr> {
        let name = callee.as_str();
        if let Some(named) = self.lookup(name) {
            return match named.symbol {
                Symbol::Function(index) => self.helper_call(b, index, callee, template_args, args, span),
                Symbol::Poison => Err(Reported::earlier(&self.diags)),
                _ => Err(self.wrong_kind(callee, named, "a function")),
            };
        }
        if let Some(builtin) = builtins::find(name) {
            self.check_call(b, builtin, callee, args, span)?;
            return self.builtin_value(b, builtin, callee, args, span);
        }
        if let Some(row) = tiles::find(name) {
            return self.tile_value(b, row, callee, args, span);
        }
        Err(self.unknown_function(callee))
    }

    /// Reports a call of something that does not exist.
    pub(crate) fn unknown_function(&mut self, callee: &Ident) -> Reported {
        let name = callee.as_str();
        let own =
            self.names.iter().filter(|(_, n)| matches!(n.symbol, Symbol::Function(_))).map(|(n, _)| &**n);
        let near = self.suggest(name, builtins::names().chain(tiles::names()).chain(own));
        let d = Diagnostic::error(codes::UNKNOWN_FUNCTION, format!("unknown function `{name}`"))
            .at(callee.span, "not defined");
        self.fail(with_suggestion(d, near))
    }

    /// Checks place and number of arguments.
    pub(crate) fn check_call(
        &mut self,
        b: &Body,
        builtin: &BuiltinFn,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<()> {
        let allowed = match (builtin.place, b.kind) {
            (Where::Anywhere, _) | (_, BodyKind::Probe) => true,
            (_, BodyKind::Launch(_)) => false,
            (Where::Functions, _) => true,
            (Where::Generators, kind) => matches!(kind, BodyKind::Generator(_)),
            (Where::Kernels, kind) => kind == BodyKind::Kernel,
        };
        if !allowed {
            let needed = match builtin.place {
                Where::Generators => "only `PTO_DESCRIPTOR_GEN` has it",
                Where::Kernels => "only `PTO_KERNEL_IMPL` has it",
                Where::Anywhere | Where::Functions => "only function bodies have it",
            };
            return Err(self.not_here(callee, needed));
        }
        self.check_arity(callee, builtin.arity, args.len(), span)
    }

    /// Reports something that does exist, but elsewhere.
    pub(crate) fn not_here(&mut self, callee: &Ident, reason: &str) -> Reported {
        let message = format!("`{}` cannot be used here", callee.as_str());
        self.fail(Diagnostic::error(codes::NOT_HERE, message).at(callee.span, reason))
    }

    /// Checks the number of arguments.
    pub(crate) fn check_arity(
        &mut self,
        callee: &Ident,
        arity: (usize, usize),
        given: usize,
        span: Span,
    ) -> Res<()> {
        let (least, most) = arity;
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let needed = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let message =
            format!("`{}` takes {needed} argument{}", callee.as_str(), if needed == "1" { "" } else { "s" });
        Err(self.fail(Diagnostic::error(codes::ARGUMENT_COUNT, message).at(span, format!("{given} given"))))
    }

    fn builtin_value(
        &mut self,
        b: &mut Body,
        builtin: &BuiltinFn,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<Expr> {
        let u32 = |kind: Ir| Ok(Expr::new(kind, ScalarTy::U32, span));
        match builtin.does {
            Builtin::Binary(op) => {
                let (left, right) = (self.scalar(b, &args[0]), self.scalar(b, &args[1]));
                self.arithmetic(op, left?, right?, callee.as_str(), span)
            }
            Builtin::Math(f) => self.math(b, f, callee, &args[0], span),
            Builtin::BatchSize => self.batch_size(span),
            Builtin::GetParam => self.get_param(&args[0], span),
            Builtin::GetDim => self.get_dim(b, &args[0], span),
            Builtin::MaxBlocks => u32(Ir::MaxBlocks),
            Builtin::GetTile => {
                let axis = self.axis_argument(b, &args[0])?;
                let def = &self.module.axes[axis.index()];
                if def.tile.is_none() {
                    let d = Diagnostic::error(
                        codes::WRONG_AXIS_KIND,
                        format!("axis `{}` is not tiled", def.name),
                    )
                    .at(args[0].span, "has no tile")
                    .label(def.span, "declared here")
                    .help(format!("add `PTO_TILE({}, PTO_AUTO)` to the space", def.name));
                    return Err(self.fail(d));
                }
                u32(Ir::AxisTile(axis))
            }
            Builtin::ItemBegin => self.item(b, callee, &args[0], Ir::ItemBegin, span),
            Builtin::ItemEnd => self.item(b, callee, &args[0], Ir::ItemEnd, span),
            Builtin::ItemCount => self.item(b, callee, &args[0], Ir::ItemCount, span),
            Builtin::SelectTier => {
                let set = self.tier_set(&args[0])?;
                let value = self.scalar(b, &args[1])?;
                if value.ty.is_float() {
                    let d = Diagnostic::error(codes::TYPE_MISMATCH, "a tier is selected by an integer")
                        .at(args[1].span, format!("this is `{}`", value.ty.c_name()));
                    return Err(self.fail(d));
                }
                let value = self.convert(value, ScalarTy::U32)?;
                u32(Ir::SelectTier(set, Box::new(value)))
            }
            Builtin::AllocWs => self.alloc_ws(b, args, span),
            Builtin::BlockIdx => self.block_word(b, callee, KernelEntry::BLOCK_IDX, span),
            Builtin::BlockNum => self.block_word(b, callee, KernelEntry::BLOCK_NUM, span),
            Builtin::LoadScalar => {
                let tensor = self.element_tensor(b, &args[0])?;
                let index = self.full_index(b, tensor, &args[1])?;
                let ty = self.module.tensors[tensor.index()].elem.scalar();
                Ok(Expr::new(Ir::LoadScalar(tensor, index), ty, span))
            }
            Builtin::ValidRows => {
                let tile = self.tile(b, &args[0])?;
                u32(Ir::TileRows(tile))
            }
            Builtin::ValidCols => {
                let tile = self.tile(b, &args[0])?;
                u32(Ir::TileCols(tile))
            }
            Builtin::Accumulate => {
                let (array, _, count) = self.array_range(b, callee, &args[0], &args[1])?;
                let sum = Expr::new(Ir::ArraySum(array, Box::new(count)), ScalarTy::U64, span);
                let first = self.scalar(b, &args[2])?;
                match first.as_const_int() {
                    Some(0) => Ok(sum),
                    _ => self.arithmetic(BinOp::Add, sum, first, "+", span),
                }
            }
            Builtin::MaxElement => Err(self.fail(
                Diagnostic::error(codes::TYPE_MISMATCH, "`std::max_element` yields a pointer")
                    .at(span, "a number is needed here")
                    .help("write `*std::max_element(p, p + n)`"),
            )),
            Builtin::InputMeta | Builtin::InputLens => Err(self.mismatch(
                span,
                &format!("`{}`, an array,", callee.as_str()),
                "a number",
                Some("give it a name first: `auto lens = …;`".to_owned()),
            )),
            Builtin::GetDescriptor => Err(self.mismatch(
                span,
                "a descriptor",
                "a number",
                Some("name it first: `auto desc = …;`".to_owned()),
            )),
            Builtin::Marker => Err(self.not_here(callee, "it marks an argument of a tile operation")),
            Builtin::Emit
            | Builtin::ApplySchedule
            | Builtin::SetTile
            | Builtin::SetExtent
            | Builtin::Launch => Err(self.not_here(callee, "it is a statement, without a value")),
        }
    }

    fn math(&mut self, b: &mut Body, f: MathFn, callee: &Ident, arg: &ast::Expr, span: Span) -> Res<Expr> {
        let value = self.scalar(b, arg)?;
        let value = match value.ty.is_float() {
            true => value,
            // As in C++, `sqrt` of an integer is a double; the `PTO_` forms stay in single precision.
            false if callee.as_str().starts_with("PTO_") => self.convert(value, ScalarTy::F32)?,
            false => self.convert(value, ScalarTy::F64)?,
        };
        let ty = value.ty;
        Ok(Expr::new(Ir::Math(f, Box::new(value)), ty, span))
    }

    fn get_param(&mut self, arg: &ast::Expr, span: Span) -> Res<Expr> {
        let ident = self.name_argument(arg, "a parameter")?;
        if ident.as_str() == "PTO_SLOT_BYTES" {
            return self.global(self.slot_bytes, span);
        }
        let index =
            self.expect_symbol(&ident, "a parameter", codes::UNKNOWN_NAME, |symbol| match symbol {
                Symbol::Global(index) => Some(index),
                _ => None,
            })?;
        self.global(index, span)
    }

    fn get_dim(&mut self, b: &mut Body, arg: &ast::Expr, span: Span) -> Res<Expr> {
        let axis = self.axis_argument(b, arg)?;
        if self.is_dynamic(axis) {
            let def = &self.module.axes[axis.index()];
            let d = Diagnostic::error(
                codes::WRONG_AXIS_KIND,
                format!("the extent of `{}` is not known at launch", def.name),
            )
            .at(arg.span, "a dynamic axis")
            .label(def.span, "its end is `PTO_DYNAMIC`")
            .help("work it out from the array that decides it, for instance the lengths of the requests");
            return Err(self.fail(d));
        }
        Ok(Expr::new(Ir::AxisExtent(axis), ScalarTy::U32, span))
    }

    /// The axis that an argument names: of the generator's space, or anywhere the only one of that name.
    pub(crate) fn axis_argument(&mut self, b: &Body, arg: &ast::Expr) -> Res<wsp_core::AxisId> {
        let ident = self.name_argument(arg, "an axis")?;
        let space = match b.kind {
            BodyKind::Generator(space) => Some(space),
            _ => None,
        };
        self.axis_named(space, &ident)
    }

    /// `*std::max_element(p, p + n)`
    pub(crate) fn dereferenced(&mut self, b: &mut Body, operand: &ast::Expr, span: Span) -> Res<Expr> {
        if let ExprKind::Call { callee, args, .. } = &operand.kind
            && let Some(builtin) = builtins::find(callee.as_str())
            && builtin.does == Builtin::MaxElement
        {
            self.check_call(b, builtin, callee, args, span)?;
            let (array, ty, count) = self.array_range(b, callee, &args[0], &args[1])?;
            return Ok(Expr::new(Ir::ArrayMax(array, Box::new(count)), ty, span));
        }
        Err(self.fail(
            Diagnostic::error(codes::TYPE_MISMATCH, "`*` needs a pointer")
                .at(span, "only `*std::max_element(p, p + n)` has one")
                .help("take an element: `p[i]`"),
        ))
    }

    /// `(p, p + n)`: the array, the type of its elements, and `n`.
    fn array_range(
        &mut self,
        b: &mut Body,
        callee: &Ident,
        first: &ast::Expr,
        last: &ast::Expr,
    ) -> Res<(ArrayRef, ScalarTy, Expr)> {
        let (array, ty) = self.array(b, first)?;
        if let ExprKind::Binary(BinaryOp::Add, base, count) = &last.kind
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
            None => Err(self.unknown_tensor(ident.as_str(), ident.span)),
        }
    }

    /// A tensor that tiles and scalars of kernels can be read from and written to.
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
                .help("read integers as an array: `name[i]`");
                Err(self.fail(d))
            }
            _ => Ok(id),
        }
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

    /// A reduction as a value: `float m = TROWMAX(tile);`
    fn tile_value(
        &mut self,
        b: &mut Body,
        row: &tiles::TileRow,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<Expr> {
        self.check_tile_place(b, callee)?;
        let max = match row.form {
            TileForm::RowReduce(ReduceOp::Max) => true,
            TileForm::RowReduce(ReduceOp::Sum) => false,
            _ => return Err(self.not_here(callee, "it is a statement, without a value")),
        };
        self.check_arity(callee, (1, 1), args.len(), span)?;
        let tile = self.tile(b, &args[0])?;
        let rows = self.tile_ty(b, tile).rows.as_const_int();
        if rows.is_some_and(|rows| rows != 1) {
            let message = format!("`{}` has a value only for tiles of one row", callee.as_str());
            return Err(self.fail(
                Diagnostic::error(codes::NOT_ONE_ROW, message)
                    .at(args[0].span, format!("this tile has {} rows", rows.unwrap_or_default()))
                    .help(format!("reduce into a tile of one column: `{}(dst, src);`", callee.as_str())),
            ));
        }
        let kind = if max { Ir::TileMax(tile) } else { Ir::TileSum(tile) };
        Ok(Expr::new(kind, ScalarTy::F32, span))
    }
}
