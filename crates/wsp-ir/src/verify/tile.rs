//! Tile operations: WSP0324 to WSP0326.

use super::expr::ExprPlace;
use super::{Checker, rule};
use crate::{Elem, LocalTy, Part, Place, ScalarTy, TileOp, TileTy, check_elements};
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::Span;

impl<'m> Checker<'m> {
    /// The type of a tile variable.
    pub(super) fn tile(&mut self, id: LocalId, span: Span) -> Option<&'m TileTy> {
        match self.local_ty(id, span)? {
            LocalTy::Tile(ty) => Some(ty),
            LocalTy::Scalar(_) | LocalTy::Array(_) | LocalTy::Descriptor(_) => {
                self.report(rule::TILE, span, "the variable is no tile");
                None
            }
        }
    }

    pub(super) fn tile_op(&mut self, op: &'m TileOp, span: Span) {
        let (mut tiles, mut ty, mut accessed) = (Vec::new(), None::<&TileTy>, None);
        let (mut numbers, mut elems, mut double) = (Vec::new(), Vec::new(), false);
        op.each(&mut |part| match part {
            Part::Tile(tile, _) => {
                ty = self.tile(*tile, span);
                elems.push(ty.and_then(|ty| fixed(ty.elem)));
                double |= ty.is_some_and(|ty| ty.elem.operand() == ScalarTy::F64);
                tiles.push(*tile);
            }
            Part::Number(number, need, what) => {
                let whole = ty.filter(|ty| ty.elem.is_integer()).map(|ty| ty.elem.operand());
                let need = if need == ScalarTy::F32 { whole.unwrap_or(need) } else { need };
                numbers.push((number, need, what));
            }
            Part::Tensor(tensor, _) => accessed = Some(*tensor),
            Part::Place(at) => {
                if let Some(tensor) = accessed {
                    self.place(ty, tensor, at, span);
                }
            }
        });
        for (number, need, what) in numbers {
            let need = if need == ScalarTy::F32 && double { ScalarTy::F64 } else { need };
            self.typed(number, need, rule::TILE_SCALAR, what);
        }
        if let Err(fault) = check_elements(op, &elems) {
            self.report(rule::TILE, span, format!("elements of `{}`: {fault:?}", op.word()));
        }
        if let Some(why) = op.apart() {
            let distinct = (1..tiles.len()).all(|i| !tiles[..i].contains(&tiles[i]));
            self.require(distinct, rule::TILE, span, || why.into());
        }
    }

    fn place(&mut self, tile: Option<&TileTy>, tensor: TensorId, at: &'m Place, span: Span) {
        at.index.iter().for_each(|e| self.expr(e, ExprPlace::Body));
        let Some(tensor) = self.used_tensor(tensor, span) else { return };
        let moves = tile.is_none_or(|tile| {
            tile.elem == tensor.elem || !(tile.elem.is_integer() || tensor.elem.is_integer())
        });
        self.require(moves, rule::TILE, span, || {
            format!("`{}` does not have the elements of the tile", tensor.name)
        });
        self.indices(tensor, &at.index, span);
        let (rank, name) = (tensor.rank(), &tensor.name);
        for dim in [at.row_dim, at.col_dim].into_iter().flatten() {
            self.require(usize::from(dim) < rank, rule::PLACE, span, || {
                format!("dimension {dim} of `{name}` does not exist; there are {rank}")
            });
        }
        let differ = at.row_dim.is_none() || at.row_dim != at.col_dim;
        self.require(differ, rule::PLACE, span, || "rows and columns follow the same dimension".into());
        let Some(tile) = tile else { return };
        for (dim, extent, what) in [(at.row_dim, &tile.rows, "row"), (at.col_dim, &tile.cols, "column")] {
            let extent = extent.as_const_int().unwrap_or(1);
            self.require(dim.is_some() || extent == 1, rule::PLACE, span, || {
                format!("the tile has {extent} {what}s and no dimension of `{name}` to follow")
            });
        }
    }
}

/// The element type that is known from the source.
fn fixed(elem: Elem) -> Option<DType> {
    match elem {
        Elem::Fixed(dtype) => Some(dtype),
        Elem::Of(_) => None,
    }
}
