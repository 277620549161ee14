//! Calls for a value.

use super::Sema;
use super::body::{Body, BodyKind};
use super::builtins::{self, Builtin, BuiltinFn, Where};
use super::codes;
use super::diags::{Reported, Res};
use super::names::Symbol;
use super::suggest::{Use, has_value};
use super::tiles::{self, TileCall};
use crate::ast::{self, ExprKind, Ident, TemplateArg};
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{BinOp, Expr, ExprKind as Ir, KernelEntry, MathFn, ReduceOp, ScalarTy, TileOp, TileOpKind};

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
        if let Some(call) = tiles::find(name) {
            return self.tile_value(b, call, callee, args, span);
        }
        Err(self.unknown_function(b, callee, args, Use::Value))
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
        if !builtin.is_allowed(b.kind) {
            let needed = match builtin.place {
                Where::Generators => "only `PTO_DESCRIPTOR_GEN` has it",
                Where::Kernels => "only `PTO_KERNEL_IMPL` has it",
                Where::Anywhere | Where::Functions => "only function bodies have it",
            };
            return Err(self.not_here(callee, needed));
        }
        self.refuse_tiles(b, builtin, callee, args)?;
        self.check_arity(callee, builtin.arity, args.len(), span)
    }

    /// Refuses tiles where a function takes numbers, with what does the same with tiles.
    fn refuse_tiles(&mut self, b: &Body, builtin: &BuiltinFn, callee: &Ident, args: &[ast::Expr]) -> Res<()> {
        if !matches!(builtin.does, Builtin::Binary(_) | Builtin::Math(_)) {
            return Ok(());
        }
        let Some(tile) = args.iter().find(|arg| self.is_tile(b, arg)) else { return Ok(()) };
        let message = format!("`{}` is a function of numbers", callee.as_str());
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message).at(tile.span, "this is a tile");
        Err(self.fail(match Self::tile_twins(callee.as_str()) {
            Some(calls) => d.help(format!("of tiles it is the statement {calls}")),
            None => d.help("docs/reference/tiles.md lists the functions of tiles"),
        }))
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
        let needed = match most - least {
            0 => least.to_string(),
            1 => format!("{least} or {most}"),
            _ => format!("{least} to {most}"),
        };
        let message =
            format!("`{}` takes {needed} argument{}", callee.as_str(), if needed == "1" { "" } else { "s" });
        let d = Diagnostic::error(codes::ARGUMENT_COUNT, message).at(span, format!("{given} given"));
        Err(self.fail(match tiles::find(callee.as_str()) {
            Some(call) => d.help(format!("it is written `{}`", call.word.usage())),
            None => d,
        }))
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
            Builtin::GetParam => self.get_param(b, &args[0], span),
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
            Builtin::TierSlotBytes => self.tier_slot_bytes(b, args, span),
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

    fn get_param(&mut self, b: &Body, arg: &ast::Expr, span: Span) -> Res<Expr> {
        let ident = self.name_argument(arg, "a parameter")?;
        if ident.as_str() == "PTO_SLOT_BYTES" {
            return self.slot_distance(b, span);
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

    /// A reduction as a value: `float m = TROWMAX(tile);`
    fn tile_value(
        &mut self,
        b: &mut Body,
        call: TileCall,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<Expr> {
        self.check_tile_place(b, callee)?;
        let Some(row) = call.row.filter(|row| has_value(row)) else {
            let message = format!("`{}` cannot be used here", callee.as_str());
            let d = Diagnostic::error(codes::NOT_HERE, message);
            let d = d.at(callee.span, "it is a statement, without a value");
            return Err(self.fail(d.help(format!("it is written `{};`", call.word.usage()))));
        };
        self.check_arity(callee, (1, 1), args.len(), span)?;
        let tile = self.tile(b, &args[0])?;
        let rows = self.tile_ty(b, tile).rows.as_const_int();
        if rows.is_some_and(|rows| rows != 1) {
            let message = format!("`{}` has a value only for tiles of one row", callee.as_str());
            return Err(self.fail(
                Diagnostic::error(codes::NOT_ONE_ROW, message)
                    .at(args[0].span, format!("this tile has {}", counted(rows.unwrap_or_default(), "row")))
                    .help(format!("reduce into a tile of one column: `{}(dst, src);`", callee.as_str())),
            ));
        }
        let is_max = row.kind == TileOpKind::Reduce(ReduceOp::Max);
        let op = if is_max { ReduceOp::Max } else { ReduceOp::Sum };
        let named = (tile, args[0].span);
        self.check_elements(b, callee, &TileOp::RowReduce { op, dst: tile, src: tile }, &[named, named])?;
        let kind = if is_max { Ir::TileMax(tile) } else { Ir::TileSum(tile) };
        Ok(Expr::new(kind, self.tile_ty(b, tile).elem.operand(), span))
    }
}
