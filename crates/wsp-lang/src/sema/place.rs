//! Index lists: where a tile or scalar lies in a tensor.
//!
//! A list may be shorter than the tensor has dimensions; what is missing is 0. Tile columns run along the last
//! dimension when the list leaves it open. Tile rows run along the dimension whose index is marked `PTO_ROWS`, else along
//! the positions of a paged cache, else along the last open dimension that is not 1, else along the last indexed one that
//! is not 1.

use super::Sema;
use super::body::Body;
use super::codes;
use super::diags::Res;
use crate::ast::{self, ExprKind};
use wsp_core::words::counted;
use wsp_core::{LocalId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{Dim, Expr, Place, ScalarTy, Storage};

/// Which way a tile goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TileDirection {
    /// From the tensor.
    Load,
    /// To the tensor.
    Store,
}

/// An index list as written.
struct Indices {
    /// One index per dimension that the list names.
    given: Vec<Expr>,
    /// The one marked `PTO_ROWS`.
    marked: Option<usize>,
}

impl Sema<'_> {
    /// The place of a tile in a tensor.
    pub(crate) fn place(
        &mut self,
        b: &mut Body,
        tensor: TensorId,
        tile: LocalId,
        list: &ast::Expr,
        access: TileDirection,
    ) -> Res<Place> {
        let Indices { mut given, marked } = self.index_list(b, tensor, list, true)?;
        let rank = self.module.tensors[tensor.index()].rank();
        let named = given.len();
        let ty = self.tile_ty(b, tile);
        let last = rank - 1;
        let col_dim = if named < rank {
            Some(last)
        } else if marked == Some(last) || ty.cols.as_const_int() == Some(1) {
            None
        } else {
            Some(last)
        };
        let row_dim = match marked {
            Some(at) => Some(at),
            None => self.default_row_dim(tensor, named, col_dim),
        };
        let verb = if access == TileDirection::Load { "loaded from" } else { "stored to" };
        if col_dim.is_none() && ty.cols.as_const_int().is_some_and(|c| c != 1) {
            let message = format!("a tile of {} cannot be {verb} one column", self.shape_text(&ty));
            return Err(self.bad_place(
                list.span,
                message,
                "every dimension has an index, and rows follow the last one",
                "mark another index with `PTO_ROWS`, or leave the last index out",
            ));
        }
        if row_dim.is_none() && ty.rows.as_const_int().is_some_and(|r| r != 1) {
            let message = format!("a tile of {} cannot be {verb} one row", self.shape_text(&ty));
            return Err(self.bad_place(
                list.span,
                message,
                "no dimension is left for the rows of the tile",
                "mark the index that rows follow with `PTO_ROWS(…)`",
            ));
        }
        given.resize_with(rank, || Expr::u32(0, list.span));
        let small = |d: usize| u8::try_from(d).expect("the rank limit keeps dimensions small");
        Ok(Place { index: given, row_dim: row_dim.map(small), col_dim: col_dim.map(small) })
    }

    /// The index of one element.
    pub(crate) fn full_index(&mut self, b: &mut Body, tensor: TensorId, list: &ast::Expr) -> Res<Vec<Expr>> {
        let mut given = self.index_list(b, tensor, list, false)?.given;
        given.resize_with(self.module.tensors[tensor.index()].rank(), || Expr::u32(0, list.span));
        Ok(given)
    }

    fn default_row_dim(&self, tensor: TensorId, named: usize, col_dim: Option<usize>) -> Option<usize> {
        let tensor = &self.module.tensors[tensor.index()];
        if matches!(tensor.storage, Storage::CacheKeys(_) | Storage::CacheValues(_)) {
            return Some(1);
        }
        let slot = usize::from(tensor.storage == Storage::Workspace);
        // Rows never run over the slots of a workspace.
        let wide = |at: usize| {
            at >= slot && !matches!(&tensor.dims[at - slot], Dim::Expr(e) if e.as_const_int() == Some(1))
        };
        let end = col_dim.unwrap_or(tensor.rank());
        (named.min(end)..end)
            .rev()
            .find(|at| wide(*at))
            .or_else(|| (0..named.min(end)).rev().find(|at| wide(*at)))
    }

    fn index_list(
        &mut self,
        b: &mut Body,
        tensor: TensorId,
        list: &ast::Expr,
        may_mark: bool,
    ) -> Res<Indices> {
        let ExprKind::Braces(items) = &list.kind else {
            return Err(self.fail(
                Diagnostic::error(codes::BAD_ARGUMENT, "an index list is needed")
                    .at(list.span, "not a list")
                    .help("write the indices in braces: `{i, j}`"),
            ));
        };
        let def = &self.module.tensors[tensor.index()];
        if def.dims.is_empty() {
            // Its shape is wrong, and that has been reported.
            return Err(super::diags::Reported::earlier(&self.diags));
        }
        let rank = def.rank();
        if items.len() > rank {
            let slot =
                if def.storage == Storage::Workspace { ", the workspace offset among them" } else { "" };
            let message = format!("too many indices for `{}`", def.name);
            let d = Diagnostic::error(codes::TOO_MANY_INDICES, message)
                .at(list.span, format!("{}", counted(items.len(), "index")))
                .label(def.span, format!("it has {rank}{slot}", rank = counted(rank, "dimension")));
            return Err(self.fail(d));
        }
        let mut indices = Indices { given: Vec::new(), marked: None };
        let mut wrong = None;
        for (at, item) in items.iter().enumerate() {
            let item = match &item.kind {
                ExprKind::Call { callee, args, .. } if may_mark && callee.as_str() == "PTO_ROWS" => {
                    self.check_arity(callee, (1, 1), args.len(), item.span)?;
                    if indices.marked.is_some() {
                        return Err(self.bad_place(
                            item.span,
                            "two indices are marked `PTO_ROWS`".to_owned(),
                            "the second one",
                            "rows of a tile follow one dimension",
                        ));
                    }
                    indices.marked = Some(at);
                    &args[0]
                }
                _ => item,
            };
            match self.scalar_as(b, item, ScalarTy::U32) {
                Ok(index) => indices.given.push(index),
                Err(reported) => wrong = Some(reported),
            }
        }
        match wrong {
            Some(reported) => Err(reported),
            None => Ok(indices),
        }
    }
}
