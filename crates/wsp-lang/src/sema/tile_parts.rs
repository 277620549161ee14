//! Tile operations on parts of tiles: masks, positions, inserts and extracts.

use super::Sema;
use super::body::Body;
use super::diags::Res;
use super::tiles::TileForm;
use crate::ast::{self, Ident};
use wsp_ir::{ScalarTy, TileOp};

impl Sema<'_> {
    /// `TMASK`, `TMASK_ROWS`, `TMASK_CAUSAL`, `TMASK_BAND`; the value comes last.
    pub(super) fn mask(&mut self, b: &mut Body, form: TileForm, args: &[ast::Expr]) -> Res<TileOp> {
        let bound = match form {
            TileForm::MaskCols | TileForm::MaskRows => ScalarTy::U32,
            _ => ScalarTy::I32,
        };
        let tile = self.tile(b, &args[0]);
        let first = self.scalar_as(b, &args[1], bound);
        let more = match form {
            TileForm::MaskBand => {
                let end = self.scalar_as(b, &args[2], ScalarTy::I32);
                Some((end, self.scalar_as(b, &args[3], ScalarTy::U32)))
            }
            _ => None,
        };
        let value = self.scalar_as(b, &args[args.len() - 1], ScalarTy::F32);
        let (tile, first, value) = (tile?, first?, value?);
        Ok(match (form, more) {
            (_, Some((end, group))) => {
                TileOp::MaskBand { tile, begin: first, end: end?, group: group?, value }
            }
            (TileForm::MaskRows, _) => TileOp::Mask { tile, rows: Some(first), cols: None, value },
            (TileForm::MaskCols, _) => TileOp::Mask { tile, rows: None, cols: Some(first), value },
            _ => TileOp::MaskCausal { tile, cols: first, value },
        })
    }

    /// `TCI(dst, start[, cols])`.
    pub(super) fn iota(&mut self, b: &mut Body, args: &[ast::Expr]) -> Res<TileOp> {
        let (dst, start) = (self.tile(b, &args[0]), self.scalar_as(b, &args[1], ScalarTy::I32));
        let cols = args.get(2).map(|e| self.scalar_as(b, e, ScalarTy::U32)).transpose();
        Ok(TileOp::Iota { dst: dst?, start: start?, cols: cols? })
    }

    /// `TINSERT` and `TEXTRACT(dst, src, row, col)`.
    pub(super) fn part(
        &mut self,
        b: &mut Body,
        form: TileForm,
        callee: &Ident,
        args: &[ast::Expr],
    ) -> Res<TileOp> {
        let tiles = self.two_tiles(b, args);
        let row = self.scalar_as(b, &args[2], ScalarTy::U32);
        let col = self.scalar_as(b, &args[3], ScalarTy::U32);
        let ((dst, src), row, col) = (tiles?, row?, col?);
        self.check_apart(callee, dst, src, args[1].span)?;
        Ok(match form {
            TileForm::Insert => TileOp::Insert { dst, src, row, col },
            _ => TileOp::Extract { dst, src, row, col },
        })
    }
}
