//! Roles and shapes of the operands of tile operations.

use super::Sema;
use super::body::Body;
use super::codes;
use super::diags::Res;
use super::types::role_name;
use crate::ast::{self, Ident};
use wsp_core::words::a;
use wsp_core::{DType, LocalId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Elem, Expr, Operand, Part, TileExtent, TileOp, TileRole, TileTy, TileUse, find_pto};

/// A tile of an operation.
#[derive(Clone, Copy)]
struct Named {
    tile: LocalId,
    used: TileUse,
    /// Where it is named.
    span: Span,
}

/// Whether two extents may turn out equal: constants are compared, other expressions must be the same one; a constant
/// and an expression are compared at launch.
pub(crate) fn may_agree(a: &Expr, b: &Expr) -> bool {
    match (a.as_const_int(), b.as_const_int()) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a == b,
        _ => true,
    }
}

/// Whether an extent may turn out to be 1.
fn may_be_one(e: &Expr) -> bool {
    e.as_const_int().is_none_or(|v| v == 1)
}

impl Sema<'_> {
    /// Checks the tiles of an operation: which differ, their roles and shapes. `spans` says where each is named.
    pub(super) fn check_tiles(
        &mut self,
        b: &Body,
        callee: &Ident,
        op: &TileOp,
        spans: &[Span],
        args: &[ast::Expr],
    ) -> Res<()> {
        let mut tiles = Vec::new();
        op.each(&mut |part| {
            if let Part::Tile(tile, used) = part {
                tiles.push(Named { tile: *tile, used, span: spans[tiles.len()] });
            }
        });
        self.check_elements(
            b,
            callee,
            op,
            &tiles.iter().map(|named| (named.tile, named.span)).collect::<Vec<_>>(),
        )?;
        match op {
            TileOp::Unary { .. } | TileOp::Clamp { .. } | TileOp::CumSum { .. } => {
                return self.same_shape(b, callee, &tiles);
            }
            TileOp::Select { b: right, .. } => {
                self.same_shape(b, callee, &tiles[..2])?;
                self.same_shape(b, callee, &[tiles[1], tiles[2]])?;
                let beside = [&tiles[..2], &tiles[3..]].concat();
                return self.check_right(b, callee, right, &beside);
            }
            TileOp::Binary { b: right, .. } => {
                self.same_shape(b, callee, &tiles[..2])?;
                return self.check_right(b, callee, right, &tiles);
            }
            _ => {}
        }
        for (at, second) in tiles.iter().enumerate() {
            for first in &tiles[..at] {
                if first.used.writes() || second.used.writes() {
                    self.check_apart(callee, first.tile, second.tile, second.span)?;
                }
            }
        }
        match op {
            TileOp::MatMul { transpose_b, .. } => self.check_matmul(b, callee, &tiles, args, *transpose_b),
            _ => {
                let lists: Vec<Named> =
                    tiles.iter().filter(|named| named.used == TileUse::Listed).copied().collect();
                self.same_shape(b, callee, &lists)?;
                self.check_result(b, callee, op, &tiles)?;
                lists.iter().try_for_each(|list| self.check_indices(b, callee, *list, "the lists"))?;
                match op {
                    TileOp::TopK { .. } => self.check_selected(b, callee, tiles[2]),
                    TileOp::Gather { by_row, .. } => {
                        self.check_indices(b, callee, tiles[2], "the indices")?;
                        self.check_gather(b, callee, &tiles, *by_row)
                    }
                    TileOp::RowReduce { op, .. } | TileOp::ColReduce { op, .. } if op.gives_places() => {
                        self.check_indices(b, callee, tiles[0], "the places")
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// Checks the shape of a result that does not have that of an operand.
    fn check_result(&mut self, b: &Body, callee: &Ident, op: &TileOp, tiles: &[Named]) -> Res<()> {
        let result = tiles.iter().find(|named| named.used.resizes());
        let read = || tiles.iter().filter(|named| named.used == TileUse::Read);
        // The last of several has the shape of the result.
        let source = if matches!(op, TileOp::Gather { .. }) { read().next_back() } else { read().next() };
        let (Some((rows, cols)), Some(result), Some(source)) = (op.gives(), result, source) else {
            return Ok(());
        };
        let to = self.tile_ty(b, result.tile);
        let agrees = |extent: &TileExtent<'_>, have: &Expr| match extent {
            TileExtent::Rows(tile) | TileExtent::Outer(tile, true) => {
                may_agree(have, &self.tile_ty(b, *tile).rows)
            }
            TileExtent::Cols(tile) | TileExtent::Outer(tile, false) => {
                may_agree(have, &self.tile_ty(b, *tile).cols)
            }
            TileExtent::One => may_be_one(have),
            TileExtent::Capacity | TileExtent::AtMost(_) | TileExtent::Exactly(_) => true,
        };
        if agrees(&rows, &to.rows) && agrees(&cols, &to.cols) {
            return Ok(());
        }
        let needed = match (rows, cols) {
            (TileExtent::Rows(_), TileExtent::One) => "one value per row",
            (TileExtent::One, TileExtent::Cols(_)) => "one value per column",
            (TileExtent::Cols(_), TileExtent::Rows(_)) => "rows and columns exchanged",
            (TileExtent::Rows(_), TileExtent::Capacity) => "one list per row",
            (TileExtent::Rows(_), TileExtent::Cols(_)) => "the shape of the indices",
            _ => "another shape",
        };
        let from = self.tile_ty(b, source.tile);
        let d = self.shape_error(callee, result.span, needed, [(&from, source.span), (&to, result.span)]);
        Err(self.fail(d))
    }

    /// Checks the second operand of an element-wise operation; its tiles are the result, the first operand and, where it is one,
    /// the second.
    fn check_right(&mut self, b: &Body, callee: &Ident, right: &Operand, tiles: &[Named]) -> Res<()> {
        let &[_, a, other] = tiles else { return Ok(()) };
        let (whole, part) = (self.tile_ty(b, a.tile), self.tile_ty(b, other.tile));
        let rows_agree = may_agree(&whole.rows, &part.rows);
        let cols_agree = may_agree(&whole.cols, &part.cols);
        let (fits, needed, spread) = match right {
            Operand::Column(_) => (rows_agree && may_be_one(&part.cols), "one value per row", None),
            Operand::Row(_) => (cols_agree && may_be_one(&part.rows), "one value per column", None),
            _ if rows_agree && part.cols.as_const_int() == Some(1) => {
                (cols_agree, "the same shape", Some("TROWEXPAND"))
            }
            _ if cols_agree && part.rows.as_const_int() == Some(1) => {
                (rows_agree, "the same shape", Some("TCOLEXPAND"))
            }
            _ => (rows_agree && cols_agree, "the same shape", None),
        };
        if fits {
            return Ok(());
        }
        let d = self.shape_error(callee, other.span, needed, [(&whole, a.span), (&part, other.span)]);
        let base = callee.as_str().strip_prefix('T').unwrap_or(callee.as_str());
        let spread = spread.map(|prefix| format!("{prefix}{base}")).filter(|name| find_pto(name).is_some());
        Err(self.fail(match spread {
            Some(name) => d.help(format!("to spread it over the tile, use `{name}`")),
            None => d,
        }))
    }

    /// Checks the elements of a tile that `what` goes to.
    fn check_indices(&mut self, b: &Body, callee: &Ident, to: Named, what: &str) -> Res<()> {
        match self.tile_ty(b, to.tile).elem {
            Elem::Fixed(DType::F32) => return Ok(()),
            Elem::Fixed(DType::F64) if to.used != TileUse::Listed => return Ok(()),
            elem if elem.is_integer() && to.used != TileUse::Listed => return Ok(()),
            _ => {}
        }
        let declared = b.locals[to.tile.index()].span;
        let message = format!("{what} of `{}` need `float` elements", callee.as_str());
        Err(self.fail(
            Diagnostic::error(codes::TYPE_MISMATCH, message)
                .at(to.span, "this tile")
                .label(declared, "declared here")
                .note("a narrower type does not hold every index, and would change the order of values"),
        ))
    }

    /// Checks the elements of what a selection takes in.
    fn check_selected(&mut self, b: &Body, callee: &Ident, from: Named) -> Res<()> {
        if self.tile_ty(b, from.tile).elem != Elem::Fixed(DType::F64) {
            return Ok(());
        }
        let message = format!("`{}` does not select among elements of `double`", callee.as_str());
        let declared = b.locals[from.tile.index()].span;
        Err(self.fail(
            Diagnostic::error(codes::TYPE_MISMATCH, message)
                .at(from.span, "this tile")
                .label(declared, "declared here")
                .help("round it to a tile of `float` first: `TCVT(rounded, tile);`"),
        ))
    }

    /// Checks that indices have the rows of what they take from, or its columns.
    fn check_gather(&mut self, b: &Body, callee: &Ident, tiles: &[Named], by_row: bool) -> Res<()> {
        let &[_, src, indices] = tiles else { return Ok(()) };
        let (from, at) = (self.tile_ty(b, src.tile), self.tile_ty(b, indices.tile));
        let (agree, needed) = match by_row {
            true => (may_agree(&from.cols, &at.cols), "as many columns"),
            false => (may_agree(&from.rows, &at.rows), "as many rows"),
        };
        if agree {
            return Ok(());
        }
        let d = self.shape_error(callee, indices.span, needed, [(&from, src.span), (&at, indices.span)]);
        Err(self.fail(d))
    }

    /// Checks the tiles of a product: the result, the left and the right operand.
    fn check_matmul(
        &mut self,
        b: &Body,
        callee: &Ident,
        tiles: &[Named],
        args: &[ast::Expr],
        transposed: bool,
    ) -> Res<()> {
        let &[dst, a, other] = tiles else { return Ok(()) };
        let roles = self.check_role(b, callee, other, "right", &[TileRole::Right, TileRole::Vec]);
        let left_roles = [TileRole::Left, TileRole::Vec, TileRole::Acc];
        let left = self.check_role(b, callee, a, "left", &left_roles);
        let result = self.check_role(b, callee, dst, "destination", &[TileRole::Acc, TileRole::Vec]);
        let shapes = self.check_product(b, callee, (dst.tile, a.tile, other.tile), args, transposed);
        roles.and(left).and(result).and(shapes)
    }

    fn check_role(
        &mut self,
        b: &Body,
        callee: &Ident,
        Named { tile, span, .. }: Named,
        side: &str,
        allowed: &[TileRole],
    ) -> Res<()> {
        let role = self.tile_ty(b, tile).role;
        if allowed.contains(&role) {
            return Ok(());
        }
        let local = &b.locals[tile.index()];
        let (name, declared) = (local.name.clone(), local.span);
        let side = if side == "destination" { side.to_owned() } else { format!("{side} operand") };
        let message =
            format!("{} cannot be the {side} of `{}`", a(&format!("`{}`", role_name(role))), callee.as_str());
        Err(self.fail(
            Diagnostic::error(codes::MATMUL_ROLE, message)
                .at(span, format!("the {side}"))
                .label(declared, "declared here")
                .help(format!("declare `{name}` as {}", a(&format!("`{}`", role_name(allowed[0]))))),
        ))
    }

    fn check_product(
        &mut self,
        b: &Body,
        callee: &Ident,
        (dst, a, other): (LocalId, LocalId, LocalId),
        args: &[ast::Expr],
        transposed: bool,
    ) -> Res<()> {
        let (to, left, right) = (self.tile_ty(b, dst), self.tile_ty(b, a), self.tile_ty(b, other));
        let (inner, outer) = if transposed { (&right.cols, &right.rows) } else { (&right.rows, &right.cols) };
        let agree = left.cols == *inner && to.cols == *outer;
        let other_way = left.cols == *outer && to.cols == *inner;
        if !agree && other_way {
            let (message, help) = if transposed {
                (
                    "the right operand is not to be transposed",
                    "write the tile without `PTO_TRANSPOSE`".to_owned(),
                )
            } else {
                let name = &b.locals[other.index()].name;
                ("the right operand must be transposed", format!("write `PTO_TRANSPOSE({name})`"))
            };
            let d = Diagnostic::error(codes::MISSING_TRANSPOSE, message)
                .at(args[2].span, format!("a tile of {}", self.shape_text(&right)))
                .label(args[1].span, format!("a tile of {}", self.shape_text(&left)))
                .note("columns of the left operand and rows of the right one are the inner dimension")
                .help(help);
            return Err(self.fail(d));
        }
        if may_agree(&left.cols, inner) && may_agree(&to.cols, outer) && may_agree(&to.rows, &left.rows) {
            return Ok(());
        }
        let needed = if may_agree(&left.cols, inner) {
            "rows of the left operand, columns of the right one"
        } else {
            "one inner dimension"
        };
        let d = self
            .shape_error(callee, args[2].span, needed, [(&left, args[1].span), (&right, args[2].span)])
            .label(args[0].span, format!("the result is {}", self.shape_text(&to)));
        Err(self.fail(d))
    }

    fn check_apart(&mut self, callee: &Ident, dst: LocalId, operand: LocalId, span: Span) -> Res<()> {
        if dst != operand {
            return Ok(());
        }
        let message = format!("`{}` cannot work in place", callee.as_str());
        Err(self.fail(
            Diagnostic::error(codes::TILE_OVERLAP, message)
                .at(span, "this is also the destination")
                .help("use another tile for the result"),
        ))
    }

    /// Checks that the first of some tiles may have the shape of the second.
    fn same_shape(&mut self, b: &Body, callee: &Ident, tiles: &[Named]) -> Res<()> {
        let &[dst, src] = tiles else { return Ok(()) };
        let (to, from) = (self.tile_ty(b, dst.tile), self.tile_ty(b, src.tile));
        if may_agree(&to.rows, &from.rows) && may_agree(&to.cols, &from.cols) {
            return Ok(());
        }
        let declared = b.locals[dst.tile.index()].span;
        let d = self.shape_error(callee, src.span, "the same shape", [(&to, declared), (&from, src.span)]);
        Err(self.fail(d))
    }

    fn shape_error(&self, callee: &Ident, at: Span, needed: &str, tiles: [(&TileTy, Span); 2]) -> Diagnostic {
        let message = format!("tile shapes do not fit `{}`", callee.as_str());
        let mut d = Diagnostic::error(codes::TILE_SHAPE, message).at(at, format!("{needed} is needed"));
        for (ty, span) in tiles {
            d = d.label(span, format!("{} is {}", role_name(ty.role), self.shape_text(ty)));
        }
        d
    }

    /// `rows × columns` of a tile type.
    pub(crate) fn shape_text(&self, ty: &TileTy) -> String {
        format!("{} × {}", self.extent_text(&ty.rows), self.extent_text(&ty.cols))
    }

    /// An extent as a reader would write it.
    fn extent_text(&self, e: &Expr) -> String {
        match &e.kind {
            wsp_ir::ExprKind::Const(value) => super::consts::text(*value),
            wsp_ir::ExprKind::Param(id) => self.module.params[id.index()].name.clone(),
            wsp_ir::ExprKind::Cast(inner) => self.extent_text(inner),
            _ => "(an expression)".to_owned(),
        }
    }
}
