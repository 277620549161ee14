//! Roles and shapes of the operands of tile operations.

use super::Sema;
use super::body::Body;
use super::codes;
use super::diags::Res;
use super::types::role_name;
use crate::ast::{self, Ident};
use wsp_core::LocalId;
use wsp_ir::diag::Diagnostic;
use wsp_ir::{Expr, Span, TileRole, TileTy};

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
pub(super) fn may_be_one(e: &Expr) -> bool {
    e.as_const_int().is_none_or(|v| v == 1)
}

impl Sema<'_> {
    pub(super) fn check_role(
        &mut self,
        b: &Body,
        callee: &Ident,
        tile: LocalId,
        e: &ast::Expr,
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
        let message = format!("a `{}` cannot be the {side} of `{}`", role_name(role), callee.as_str());
        Err(self.fail(
            Diagnostic::error(codes::MATMUL_ROLE, message)
                .at(e.span, format!("the {side}"))
                .label(declared, "declared here")
                .help(format!("declare `{name}` as a `{}`", role_name(allowed[0]))),
        ))
    }

    pub(super) fn check_product(
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

    pub(super) fn check_apart(
        &mut self,
        callee: &Ident,
        dst: LocalId,
        operand: LocalId,
        span: Span,
    ) -> Res<()> {
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

    pub(super) fn same_shape(
        &mut self,
        b: &Body,
        callee: &Ident,
        dst: LocalId,
        src: LocalId,
        span: Span,
    ) -> Res<()> {
        let (to, from) = (self.tile_ty(b, dst), self.tile_ty(b, src));
        if may_agree(&to.rows, &from.rows) && may_agree(&to.cols, &from.cols) {
            return Ok(());
        }
        let declared = b.locals[dst.index()].span;
        let d = self.shape_error(callee, span, "the same shape", [(&to, declared), (&from, span)]);
        Err(self.fail(d))
    }

    pub(super) fn shape_error(
        &self,
        callee: &Ident,
        at: Span,
        needed: &str,
        tiles: [(&TileTy, Span); 2],
    ) -> Diagnostic {
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
