//! Tile operations and their operands.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::place::Access;
use super::tile_shapes::{may_agree, may_be_one};
use super::tiles::{self, TileForm, TileRow};
use crate::ast::{self, ExprKind, Ident};
use wsp_core::{DType, LocalId};
use wsp_ir::diag::Diagnostic;
use wsp_ir::{BinaryTileOp, Elem, LocalTy, Operand, ScalarTy, Span, StmtKind, TileOp, TileRole, TileTy};

impl Sema<'_> {
    /// The type of a tile variable.
    pub(crate) fn tile_ty(&self, b: &Body, tile: LocalId) -> TileTy {
        match &b.locals[tile.index()].ty {
            LocalTy::Tile(ty) => ty.clone(),
            other => unreachable!("a tile binding names a tile, not {other:?}"),
        }
    }

    /// Tile operations are for kernels.
    pub(crate) fn check_tile_place(&mut self, b: &Body, callee: &Ident) -> Res<()> {
        match b.kind {
            BodyKind::Kernel | BodyKind::Probe => Ok(()),
            _ => {
                Err(self.not_here(callee, "only `PTO_KERNEL_IMPL` and inline functions it calls have tiles"))
            }
        }
    }

    /// A tile operation as a statement.
    pub(crate) fn tile_statement(
        &mut self,
        b: &mut Body,
        row: &TileRow,
        callee: &Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Res<StmtKind> {
        self.check_tile_place(b, callee)?;
        self.check_arity(callee, row.form.arity(), args.len(), span)?;
        let op = match row.form {
            TileForm::Load => self.load(b, args)?,
            TileForm::Store => self.store(b, callee, args)?,
            TileForm::Fill => {
                let (dst, value) = (self.tile(b, &args[0]), self.scalar_as(b, &args[1], ScalarTy::F32));
                let rows = args.get(2).map(|e| self.scalar_as(b, e, ScalarTy::U32)).transpose();
                let cols = args.get(3).map(|e| self.scalar_as(b, e, ScalarTy::U32)).transpose();
                TileOp::Fill { dst: dst?, value: value?, rows: rows?, cols: cols? }
            }
            TileForm::Unary(op) => {
                let (dst, src) = self.two_tiles(b, args)?;
                self.same_shape(b, callee, dst, src, args[1].span)?;
                TileOp::Unary { op, dst, src }
            }
            TileForm::Binary(op) | TileForm::Scalar(op) | TileForm::Column(op) | TileForm::Row(op) => {
                self.binary_op(b, row, op, callee, args)?
            }
            TileForm::RowReduce(_) | TileForm::ColReduce(_) => self.reduce(b, row.form, callee, args)?,
            TileForm::MatMul => self.matmul(b, callee, args, false)?,
            TileForm::MatMulAcc => self.matmul(b, callee, args, true)?,
            TileForm::Transpose => self.transpose(b, callee, args)?,
            TileForm::MaskCols | TileForm::MaskRows | TileForm::MaskCausal | TileForm::MaskBand => {
                self.mask(b, row.form, args)?
            }
            TileForm::Iota => self.iota(b, args)?,
            TileForm::Insert | TileForm::Extract => self.part(b, row.form, callee, args)?,
            TileForm::TopK => self.top_k(b, callee, args)?,
            TileForm::StoreScalar => {
                let tensor =
                    self.element_tensor(b, &args[0]).and_then(|id| self.check_stored(id, args[0].span));
                let ty =
                    tensor.as_ref().map_or(ScalarTy::F32, |id| self.module.tensors[id.index()].elem.scalar());
                let value = self.scalar_as(b, &args[1], ty);
                let tensor = tensor?;
                let index = self.full_index(b, tensor, &args[2])?;
                return Ok(StmtKind::StoreScalar { tensor, index, value: value? });
            }
        };
        Ok(StmtKind::Tile(op))
    }

    fn load(&mut self, b: &mut Body, args: &[ast::Expr]) -> Res<TileOp> {
        let (dst, tensor) = (self.tile(b, &args[0]), self.float_tensor(b, &args[1]));
        let rows = args.get(3).map(|e| self.scalar_as(b, e, ScalarTy::U32)).transpose();
        let cols = args.get(4).map(|e| self.scalar_as(b, e, ScalarTy::U32)).transpose();
        let (dst, tensor) = (dst?, tensor?);
        let at = self.place(b, tensor, dst, &args[2], Access::Load)?;
        Ok(TileOp::Load { dst, tensor, at, rows: rows?, cols: cols? })
    }

    fn store(&mut self, b: &mut Body, callee: &Ident, args: &[ast::Expr]) -> Res<TileOp> {
        let tensor = self.float_tensor(b, &args[0]);
        if let ExprKind::Braces(_) = args[1].kind {
            let message = format!("`{}` stores a tile", callee.as_str());
            return Err(self.fail(
                Diagnostic::error(codes::TYPE_MISMATCH, message)
                    .at(args[1].span, "this is a list of values")
                    .help("store each value by itself: `PTO_STORE_SCALAR(tensor, value, {…})`"),
            ));
        }
        let src = self.tile(b, &args[1]);
        let (tensor, src) = (tensor?, src?);
        let at = self.place(b, tensor, src, &args[2], Access::Store)?;
        Ok(TileOp::Store { tensor, src, at })
    }

    pub(super) fn two_tiles(&mut self, b: &Body, args: &[ast::Expr]) -> Res<(LocalId, LocalId)> {
        let (first, second) = (self.tile(b, &args[0]), self.tile(b, &args[1]));
        Ok((first?, second?))
    }

    pub(super) fn is_tile(&self, b: &Body, e: &ast::Expr) -> bool {
        matches!(&e.kind, ExprKind::Name(name) if matches!(b.find(name), Some(Binding::Tile(_))))
    }

    fn binary_op(
        &mut self,
        b: &mut Body,
        row: &TileRow,
        op: BinaryTileOp,
        callee: &Ident,
        args: &[ast::Expr],
    ) -> Res<TileOp> {
        let tiles = self.two_tiles(b, args);
        let scalar = match row.form {
            TileForm::Scalar(_) => true,
            TileForm::Binary(_) => !self.is_tile(b, &args[2]),
            _ => false,
        };
        if scalar {
            let value = self.scalar_as(b, &args[2], ScalarTy::F32);
            let (dst, a) = tiles?;
            self.same_shape(b, callee, dst, a, args[1].span)?;
            return Ok(TileOp::Binary { op, dst, a, b: Operand::Scalar(value?) });
        }
        let other = self.tile(b, &args[2]);
        let ((dst, a), other) = (tiles?, other?);
        self.same_shape(b, callee, dst, a, args[1].span)?;
        let (whole, part) = (self.tile_ty(b, a), self.tile_ty(b, other));
        let (fits, needed) = match row.form {
            TileForm::Column(_) => {
                (may_agree(&whole.rows, &part.rows) && may_be_one(&part.cols), "one value per row")
            }
            TileForm::Row(_) => {
                (may_agree(&whole.cols, &part.cols) && may_be_one(&part.rows), "one value per column")
            }
            _ => (may_agree(&whole.rows, &part.rows) && may_agree(&whole.cols, &part.cols), "the same shape"),
        };
        if !fits {
            let help = match row.form {
                TileForm::Binary(_)
                    if may_agree(&whole.rows, &part.rows) && part.cols.as_const_int() == Some(1) =>
                {
                    Some("TROWEXPAND")
                }
                TileForm::Binary(_)
                    if may_agree(&whole.cols, &part.cols) && part.rows.as_const_int() == Some(1) =>
                {
                    Some("TCOLEXPAND")
                }
                _ => None,
            };
            let d = self.shape_error(
                callee,
                args[2].span,
                needed,
                [(&whole, args[1].span), (&part, args[2].span)],
            );
            let base = callee.as_str().strip_prefix('T').unwrap_or(callee.as_str());
            let spread = help.map(|h| format!("{h}{base}")).filter(|name| tiles::find(name).is_some());
            return Err(self.fail(match spread {
                Some(name) => d.help(format!("to spread it over the tile, use `{name}`")),
                None => d,
            }));
        }
        let operand = match row.form {
            TileForm::Column(_) => Operand::Column(other),
            TileForm::Row(_) => Operand::Row(other),
            _ => Operand::Tile(other),
        };
        Ok(TileOp::Binary { op, dst, a, b: operand })
    }

    fn reduce(&mut self, b: &mut Body, form: TileForm, callee: &Ident, args: &[ast::Expr]) -> Res<TileOp> {
        let (dst, src) = self.two_tiles(b, args)?;
        self.check_apart(callee, dst, src, args[1].span)?;
        let (to, from) = (self.tile_ty(b, dst), self.tile_ty(b, src));
        let (fits, needed) = match form {
            TileForm::RowReduce(_) => {
                (may_agree(&to.rows, &from.rows) && may_be_one(&to.cols), "one value per row")
            }
            _ => (may_agree(&to.cols, &from.cols) && may_be_one(&to.rows), "one value per column"),
        };
        if !fits {
            let d =
                self.shape_error(callee, args[0].span, needed, [(&from, args[1].span), (&to, args[0].span)]);
            return Err(self.fail(d));
        }
        Ok(match form {
            TileForm::RowReduce(op) => TileOp::RowReduce { op, dst, src },
            TileForm::ColReduce(op) => TileOp::ColReduce { op, dst, src },
            other => unreachable!("{other:?} is no reduction"),
        })
    }

    fn transpose(&mut self, b: &mut Body, callee: &Ident, args: &[ast::Expr]) -> Res<TileOp> {
        let (dst, src) = self.two_tiles(b, args)?;
        self.check_apart(callee, dst, src, args[1].span)?;
        let (to, from) = (self.tile_ty(b, dst), self.tile_ty(b, src));
        if !(may_agree(&to.rows, &from.cols) && may_agree(&to.cols, &from.rows)) {
            let places = [(&from, args[1].span), (&to, args[0].span)];
            let d = self.shape_error(callee, args[0].span, "rows and columns exchanged", places);
            return Err(self.fail(d));
        }
        Ok(TileOp::Transpose { dst, src })
    }

    fn top_k(&mut self, b: &mut Body, callee: &Ident, args: &[ast::Expr]) -> Res<TileOp> {
        let tiles = self.two_tiles(b, args);
        let src = self.tile(b, &args[2]);
        let first = self.scalar_as(b, &args[3], ScalarTy::U32);
        let ((values, indices), src, first) = (tiles?, src?, first?);
        self.check_apart(callee, values, indices, args[1].span)?;
        self.check_apart(callee, values, src, args[2].span)?;
        self.check_apart(callee, indices, src, args[2].span)?;
        self.same_shape(b, callee, values, indices, args[1].span)?;
        let (to, from) = (self.tile_ty(b, values), self.tile_ty(b, src));
        if !may_agree(&to.rows, &from.rows) {
            let places = [(&from, args[2].span), (&to, args[0].span)];
            let d = self.shape_error(callee, args[0].span, "one list per row", places);
            return Err(self.fail(d));
        }
        for (tile, arg) in [(values, &args[0]), (indices, &args[1])] {
            if self.tile_ty(b, tile).elem != Elem::Fixed(DType::F32) {
                let declared = b.locals[tile.index()].span;
                let message = format!("the lists of `{}` need `float` elements", callee.as_str());
                return Err(self.fail(
                    Diagnostic::error(codes::TYPE_MISMATCH, message)
                        .at(arg.span, "this list")
                        .label(declared, "declared here")
                        .note(
                            "a narrower type does not hold every index, and would change the order of values",
                        ),
                ));
            }
        }
        Ok(TileOp::TopK { values, indices, src, first })
    }

    fn matmul(&mut self, b: &mut Body, callee: &Ident, args: &[ast::Expr], accumulate: bool) -> Res<TileOp> {
        let tiles = self.two_tiles(b, args);
        let (right, transposed) = match &args[2].kind {
            ExprKind::Call { callee: marker, args: inner, .. } if marker.as_str() == "PTO_TRANSPOSE" => {
                self.check_arity(marker, (1, 1), inner.len(), args[2].span)?;
                (&inner[0], true)
            }
            _ => (&args[2], false),
        };
        let other = self.tile(b, right);
        let ((dst, a), other) = (tiles?, other?);
        self.check_apart(callee, dst, a, args[1].span)?;
        self.check_apart(callee, dst, other, right.span)?;
        let roles = self.check_role(b, callee, other, right, "right", &[TileRole::Right, TileRole::Vec]);
        let left_roles = [TileRole::Left, TileRole::Vec, TileRole::Acc];
        let left = self.check_role(b, callee, a, &args[1], "left", &left_roles);
        let result =
            self.check_role(b, callee, dst, &args[0], "destination", &[TileRole::Acc, TileRole::Vec]);
        let shapes = self.check_product(b, callee, (dst, a, other), args, transposed);
        roles.and(left).and(result).and(shapes)?;
        Ok(TileOp::MatMul { dst, a, b: other, transpose_b: transposed, accumulate })
    }
}

impl Sema<'_> {
    /// Reports a place that a tile cannot have in a tensor.
    pub(crate) fn bad_place(&mut self, span: Span, message: String, label: &str, help: &str) -> Reported {
        self.fail(Diagnostic::error(codes::BAD_PLACE, message).at(span, label).help(help))
    }
}
