//! Operands that lie in pages of a cache: a vector core brings them together, some rows at a time, for the loads of a cube core.

use super::product::Source;
use super::{Pass, declare, place, shape, statement, tensor};
use crate::kernels::paged;
use wsp_core::{CacheId, LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    ArrayRef, BinOp, Block, Dim, Expr, ExprKind, Function, LocalTy, MetaKind, ScalarTy, StmtKind, TileOp,
    TileRole, Verified, walk,
};

/// Bytes of the rows that are brought together at a time.
const BLOCK: u32 = 16 * 1024;

/// Rows of a transfer at most.
const MOST_ROWS: u32 = 1024;

/// Whether a function loads from paged caches.
pub(super) fn loads(module: &Verified, function: &Function) -> bool {
    let mut found = false;
    walk::stmts(&function.body, &mut |stmt| {
        if let StmtKind::Tile(TileOp::Load { tensor, .. }) = &stmt.kind {
            found |= paged::cache(&module.tensors[tensor.index()]).is_some();
        }
    });
    found
}

impl Pass {
    /// An operand that a load from a cache fills, as one in a tensor that the statements which are added fill. None where it has no shape.
    pub(super) fn gathered(
        &mut self,
        operand: LocalId,
        source: &Source,
        cache: CacheId,
        out: &mut Block,
        span: Span,
    ) -> Option<Source> {
        let (_, [rows, cols], elem) = shape(&self.function, operand)?;
        let [Some(high), Some(wide)] =
            [(rows, 0), (cols, 1)].map(|(most, dim)| self.extent(source, dim, most, cache, span))
        else {
            return None;
        };
        let [high, wide] = [high, wide].map(|e| self.keep(&e, out));
        let to = TensorId(self.module.tensors.len() as u32);
        self.module.tensors.push(tensor(to, [rows, cols], elem));
        let block = (BLOCK / cols.saturating_mul(elem.size() as u32).max(1)).clamp(1, rows.min(MOST_ROWS));
        let part = self.fresh("gathered", TileRole::Vec, [block, cols], elem, span);
        let var = self.function.add_local("row", LocalTy::Scalar(ScalarTy::U32), span);
        let row = Expr::local(var, ScalarTy::U32, span);
        let mut from = Source { rows: Some(high.clone()), cols: Some(wide.clone()), ..source.clone() };
        let mut at = place(0, 0, span);
        if block < rows {
            from.advance(0, &row, rows)?;
            at.index[0] = row;
        }
        let Source { tensor: of, at: first, rows: count, cols: across } = from;
        let load = TileOp::Load { dst: part, tensor: of, at: first, rows: count, cols: across };
        let store = TileOp::Store { tensor: to, src: part, at, rows: None, cols: None, add: false };
        let mut body = vec![declare(part, span)];
        body.extend([load, store].map(|op| statement(StmtKind::Tile(op), span)));
        if block < rows {
            let [start, step] = [0, block].map(|n| Expr::u32(n, span));
            body = vec![statement(StmtKind::For { var, start, end: high.clone(), step, body }, span)];
        }
        out.append(&mut body);
        Some(Source { tensor: to, at: place(0, 0, span), rows: Some(high), cols: Some(wide) })
    }

    /// Rows (0) or columns (1) that a load from a cache gives a tile with so many.
    fn extent(&self, source: &Source, dim: usize, most: u32, cache: CacheId, span: Span) -> Option<Expr> {
        let (along, count) = match dim {
            0 => (source.at.row_dim, &source.rows),
            _ => (source.at.col_dim, &source.cols),
        };
        let as_u32 = |e: &Expr| match e.ty {
            ScalarTy::U32 => e.clone(),
            _ => Expr::new(ExprKind::Cast(Box::new(e.clone())), ScalarTy::U32, e.span),
        };
        let least = |a: Expr, b: Expr| Expr::binary(BinOp::Min, a, b);
        let Some(along) = along.map(usize::from) else { return Some(Expr::u32(1, span)) };
        let size = match self.module.tensors[source.tensor.index()].dims.get(along)? {
            Dim::Expr(size) => as_u32(size),
            Dim::Dynamic => {
                let lengths = ArrayRef::Meta(cache, MetaKind::Lengths);
                let request = source.at.index.first()?.clone();
                Expr::new(ExprKind::Load(lengths, Box::new(request)), ScalarTy::U32, span)
            }
            Dim::Axis(axis) => Expr::new(ExprKind::AxisExtent(*axis), ScalarTy::U32, span),
        };
        let from = as_u32(source.at.index.get(along)?);
        let inside = Expr::binary(BinOp::Lt, from.clone(), size.clone());
        let left = Expr::binary(BinOp::Sub, size, from);
        let kind = ExprKind::Select(Box::new(inside), Box::new(left), Box::new(Expr::u32(0, span)));
        let left = least(Expr::u32(most, span), Expr::new(kind, ScalarTy::U32, span));
        Some(count.iter().fold(left, |all, count| least(all, as_u32(count))))
    }
}
