//! A product as loads of its operands, products of parts of them, and what brings the result to a vector core.

use super::super::memories::{L0A, L0B, L0C, memories};
use super::super::view::{FRACTAL, padded};
use super::{Pass, declare, place, shape, statement};
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{BinOp, Block, Const, Expr, ExprKind, LocalTy, Place, ScalarTy, StmtKind, TileOp, TileRole};

/// Where an operand is loaded from.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) tensor: TensorId,
    pub(super) at: Place,
    pub(super) rows: Option<Expr>,
    pub(super) cols: Option<Expr>,
}

impl Source {
    /// From some rows and columns on.
    pub(super) fn from(&self, [row, col]: [u32; 2]) -> Option<Source> {
        let mut source = self.clone();
        let parts = [(row, source.at.row_dim, &mut source.rows), (col, source.at.col_dim, &mut source.cols)];
        for (from, dim, count) in parts {
            if from == 0 {
                continue;
            }
            let index = source.at.index.get_mut(usize::from(dim?))?;
            let more = Expr { ty: index.ty, ..Expr::u32(from, index.span) };
            *index = Expr::binary(BinOp::Add, index.clone(), more);
            if let Some(count) = count {
                *count = rest(count.clone(), from);
            }
        }
        Some(source)
    }
}

impl Source {
    /// From a variable row (0) or column (1) on, of `end` in all.
    pub(super) fn advance(&mut self, dim: usize, from: &Expr, end: u32) -> Option<()> {
        let along = if dim == 0 { self.at.row_dim } else { self.at.col_dim };
        let index = self.at.index.get_mut(usize::from(along?))?;
        let more = match index.ty == from.ty {
            true => from.clone(),
            false => Expr::new(ExprKind::Cast(Box::new(from.clone())), index.ty, from.span),
        };
        *index = Expr::binary(BinOp::Add, index.clone(), more);
        let count = if dim == 0 { &mut self.rows } else { &mut self.cols };
        let most = Expr::u32(end, from.span);
        let size = match count.take() {
            Some(size) => Expr::binary(BinOp::Min, size, most),
            None => most,
        };
        let inside = Expr::binary(BinOp::Lt, from.clone(), size.clone());
        let left = Expr::binary(BinOp::Sub, size, from.clone());
        let nothing = Expr::u32(0, from.span);
        let kind = ExprKind::Select(Box::new(inside), Box::new(left), Box::new(nothing));
        *count = Some(Expr::new(kind, ScalarTy::U32, from.span));
        Some(())
    }
}

/// `from < size ? size - from : 0`
fn rest(size: Expr, from: u32) -> Expr {
    let span = size.span;
    let number = |n: u32| Expr { ty: size.ty, ..Expr::u32(n, span) };
    let inside = Expr::binary(BinOp::Lt, number(from), size.clone());
    let left = Expr::binary(BinOp::Sub, size.clone(), number(from));
    let ty = size.ty;
    Expr::new(ExprKind::Select(Box::new(inside), Box::new(left), Box::new(number(0))), ty, span)
}

/// A product of two tiles.
pub(super) struct Product {
    pub(super) dst: LocalId,
    pub(super) a: LocalId,
    pub(super) b: LocalId,
    pub(super) turned: bool,
    pub(super) adds: bool,
}

/// The parts of a product.
pub(super) struct Depths {
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) inner: u32,
    /// Of the inner dimension.
    pub(super) step: u32,
    /// Columns.
    pub(super) wide: u32,
    /// Whether they are added up where the result is to be.
    pub(super) own: bool,
}

impl Pass {
    /// Accumulators side by side as one tile of the vector core.
    pub(super) fn result(&mut self, parts: &[LocalId], dst: LocalId, out: &mut Block, span: Span) {
        if self.direct {
            return self.moved(parts, dst, out, span);
        }
        let Some((_, dims, _)) = shape(&self.function, dst) else { return };
        let tensor = self.tensor(dims, DType::F32);
        let mut col = 0;
        for part in parts {
            let store = TileOp::Store {
                tensor,
                src: *part,
                at: place(0, col, span),
                rows: None,
                cols: None,
                add: false,
            };
            out.push(statement(StmtKind::Tile(store), span));
            col += shape(&self.function, *part).map_or(0, |(_, [_, cols], _)| cols);
        }
        let extent = |kind: ExprKind| Expr::new(kind, ScalarTy::U32, span);
        let cols = parts.iter().map(|part| extent(ExprKind::TileCols(*part)));
        let load = TileOp::Load {
            dst,
            tensor,
            at: place(0, 0, span),
            rows: Some(extent(ExprKind::TileRows(parts[0]))),
            cols: cols.reduce(|a, b| Expr::binary(BinOp::Add, a, b)),
        };
        out.push(statement(StmtKind::Tile(load), span));
    }

    /// Where an operand comes from: its load, or a tensor to which it is stored here.
    fn source(&mut self, tile: LocalId, elem: DType, out: &mut Block, span: Span) -> Option<Source> {
        if let Some(source) = self.loads.get(&tile) {
            return source.clone();
        }
        let (_, dims, _) = shape(&self.function, tile)?;
        let tensor = self.tensor(dims, elem);
        let at = place(0, 0, span);
        let store = TileOp::Store { tensor, src: tile, at: at.clone(), rows: None, cols: None, add: false };
        out.push(statement(StmtKind::Tile(store), span));
        let extent = |kind: ExprKind| Some(Expr::new(kind, ScalarTy::U32, span));
        let (rows, cols) = (extent(ExprKind::TileRows(tile)), extent(ExprKind::TileCols(tile)));
        Some(Source { tensor, at, rows, cols })
    }

    /// The element type of a product: that of operands that are loaded, to which others are rounded.
    fn elem(&self, a: LocalId, b: LocalId) -> Option<DType> {
        let [x, y] = [a, b].map(|tile| shape(&self.function, tile).map(|(_, _, elem)| elem));
        let (x, y) = (x?, y?);
        match (self.loads.contains_key(&a), self.loads.contains_key(&b)) {
            _ if x == y => Some(x),
            (true, true) => None,
            (true, false) => Some(x),
            (false, true) => Some(y),
            (false, false) => Some(DType::F32),
        }
    }

    /// The statements of a product; none where it stays as it is.
    pub(super) fn product(&mut self, of: &Product, span: Span) -> Option<Block> {
        let loaded = |tile: LocalId| self.loads.contains_key(&tile);
        let both_loaded = loaded(of.a) && loaded(of.b);
        if !self.mixed && !both_loaded {
            return None;
        }
        let elem = self.elem(of.a, of.b)?;
        let (_, [rows, left_inner], _) = shape(&self.function, of.a)?;
        let (_, [b_rows, b_cols], _) = shape(&self.function, of.b)?;
        let (inner, cols) = if of.turned { (b_cols, b_rows) } else { (b_rows, b_cols) };
        let inner = inner.min(left_inner);
        let (role, ..) = shape(&self.function, of.dst)?;
        let own = role == TileRole::Acc;
        let table = memories(self.chip);
        let [for_left, for_right] =
            [L0A, L0B].map(|memory| table.memory(memory).capacity as u32 / elem.size() as u32);
        // Half of a memory, so that one part is brought while the other is used; all of it where that is not enough.
        let depth = |room: u32, outer: u32| (room / padded(outer, FRACTAL) / FRACTAL * FRACTAL).min(inner);
        let columns =
            (table.memory(L0C).capacity as u32 / 4 / padded(rows, FRACTAL) / FRACTAL * FRACTAL).max(FRACTAL);
        let wide = if own { cols } else { cols.min(for_right / 2 / FRACTAL).min(columns) };
        let step = depth(for_left / 2, rows).min(depth(for_right / 2, wide));
        let step = if step > 0 { step } else { depth(for_left, rows).min(depth(for_right, wide)) };
        let step = if step > 0 { step } else { inner };
        if self.direct {
            return self.direct(of, elem, &Depths { rows, cols, inner, step, wide, own }, span);
        }
        let mut out = Vec::new();
        let left = self.source(of.a, elem, &mut out, span)?;
        let right = self.source(of.b, elem, &mut out, span)?;
        let mut accs = Vec::new();
        for col in (0..cols).step_by(wide.max(1) as usize) {
            let wide = wide.min(cols - col);
            let acc = if own {
                of.dst
            } else {
                let acc = self.fresh("product", TileRole::Acc, [rows, wide], DType::F32, span);
                out.push(declare(acc, span));
                acc
            };
            let parts = inner.div_ceil(step.max(1));
            let deep = if parts > 1 { step } else { inner };
            let var =
                (parts > 1).then(|| self.function.add_local("depth", LocalTy::Scalar(ScalarTy::U32), span));
            let a = self.fresh("left", TileRole::Left, [rows, deep], elem, span);
            let dims = if of.turned { [wide, deep] } else { [deep, wide] };
            let b = self.fresh("right", TileRole::Right, dims, elem, span);
            let mut round = Vec::new();
            for (tile, source, dim) in [(a, &left, 1), (b, &right, usize::from(of.turned))] {
                let mut begin = [0, 0];
                if tile == b {
                    begin[1 - dim] = col;
                }
                let mut source = source.from(begin)?;
                if let Some(var) = var {
                    source.advance(dim, &Expr::local(var, ScalarTy::U32, span), inner)?;
                }
                let Source { tensor, at, rows, cols } = source;
                round.push(declare(tile, span));
                round.push(statement(
                    StmtKind::Tile(TileOp::Load { dst: tile, tensor, at, rows, cols }),
                    span,
                ));
            }
            let accumulate = parts > 1 || (own && of.adds);
            let product = TileOp::MatMul { dst: acc, a, b, transpose_b: of.turned, accumulate };
            round.push(statement(StmtKind::Tile(product), span));
            let Some(var) = var else {
                out.append(&mut round);
                accs.push(acc);
                continue;
            };
            if !(own && of.adds) {
                let value = Expr::new(ExprKind::Const(Const::Float(0.0)), ScalarTy::F32, span);
                let fill = TileOp::Fill { dst: acc, value, rows: None, cols: None };
                out.push(statement(StmtKind::Tile(fill), span));
            }
            let [start, end, step] = [0, inner, step].map(|n| Expr::u32(n, span));
            out.push(statement(StmtKind::For { var, start, end, step, body: round }, span));
            accs.push(acc);
        }
        if !own {
            self.result_of(of, &accs, &mut out, span);
        }
        Some(out)
    }
}
