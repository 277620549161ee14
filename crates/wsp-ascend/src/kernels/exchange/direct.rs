//! Products whose operands and results move between the cores themselves.

use super::product::{Depths, Product, Source};
use super::{Pass, declare, shape, statement};
use wsp_core::{DType, LocalId};
use wsp_diag::Span;
use wsp_ir::{
    BinOp, BinaryTileOp, Block, Const, Expr, ExprKind, LocalTy, Operand, ScalarTy, StmtKind, TileOp,
    TileRole, UnaryTileOp,
};

/// Where an operand comes from.
enum From {
    /// A load.
    Load(Source),
    /// A tile of the vector core.
    Tile(LocalId),
}

/// Where a part of an operand begins.
#[derive(Clone, Copy)]
struct Part<'e> {
    /// The row and the column.
    begin: [u32; 2],
    /// The inner dimension of the product among those of the operand, and how far along it the part begins, of `end` in all.
    along: usize,
    at: Option<&'e Expr>,
    end: u32,
}

fn zero(dst: LocalId, rows: Option<Expr>, cols: Option<Expr>, span: Span) -> TileOp {
    let value = Expr::new(ExprKind::Const(Const::Float(0.0)), ScalarTy::F32, span);
    TileOp::Fill { dst, value, rows, cols }
}

impl Pass {
    /// Accumulators side by side as one tile of the vector core, without a tensor between.
    pub(super) fn moved(&mut self, parts: &[LocalId], dst: LocalId, out: &mut Block, span: Span) {
        let copy = |dst: LocalId, src: LocalId| {
            statement(StmtKind::Tile(TileOp::Unary { op: UnaryTileOp::Copy, dst, src }), span)
        };
        if let [one] = parts {
            out.push(copy(dst, *one));
            return;
        }
        let extent = |kind: ExprKind| Expr::new(kind, ScalarTy::U32, span);
        let cols = parts.iter().map(|part| extent(ExprKind::TileCols(*part)));
        let cols = cols.reduce(|a, b| Expr::binary(BinOp::Add, a, b));
        let fill = zero(dst, Some(extent(ExprKind::TileRows(parts[0]))), cols, span);
        out.push(statement(StmtKind::Tile(fill), span));
        let mut col = 0;
        for part in parts {
            let own = self.fresh_like(*part, TileRole::Vec, span);
            out.extend([declare(own, span), copy(own, *part)]);
            let insert = TileOp::Insert { dst, src: own, row: Expr::u32(0, span), col: Expr::u32(col, span) };
            out.push(statement(StmtKind::Tile(insert), span));
            col += shape(&self.function, *part).map_or(0, |(_, [_, cols], _)| cols);
        }
    }

    /// The statements of a product: a move of each operand that is no load, and of the result. Where it does not fit, it is made
    /// in parts along the inner dimension.
    pub(super) fn direct(&mut self, of: &Product, elem: DType, depths: &Depths, span: Span) -> Option<Block> {
        let Depths { rows, cols, inner, step, wide, own } = *depths;
        let from = |tile: LocalId| match self.loads.get(&tile) {
            Some(source) => source.clone().map(From::Load),
            None => Some(From::Tile(tile)),
        };
        let operands = [from(of.a)?, from(of.b)?];
        let (mut out, mut accs) = (Vec::new(), Vec::new());
        for col in (0..cols).step_by(wide.max(1) as usize) {
            let wide = wide.min(cols - col);
            let acc = if own {
                of.dst
            } else {
                self.fresh("product", TileRole::Acc, [rows, wide], DType::F32, span)
            };
            if !own {
                out.push(declare(acc, span));
            }
            let deep = step.min(inner);
            let (mut round, mut at) = (Vec::new(), None);
            let parts = inner.div_ceil(step.max(1));
            let var = (parts > 1).then(|| {
                let var = self.function.add_local("part", LocalTy::Scalar(ScalarTy::U32), span);
                // Parts begin at multiples of their depth: the vector unit sees that they begin with a block.
                let number = Expr::local(var, ScalarTy::U32, span);
                at = Some(Expr::binary(BinOp::Mul, number, Expr::u32(step, span)));
                var
            });
            let right = if of.turned { [wide, deep] } else { [deep, wide] };
            let begin = if of.turned { [col, 0] } else { [0, col] };
            let a = self.fresh("left", TileRole::Left, [rows, deep], elem, span);
            let b = self.fresh("right", TileRole::Right, right, elem, span);
            let of_a = Part { begin: [0, 0], along: 1, at: at.as_ref(), end: inner };
            let of_b = Part { begin, along: usize::from(of.turned), ..of_a };
            for (tile, from, part) in [(a, &operands[0], of_a), (b, &operands[1], of_b)] {
                round.push(declare(tile, span));
                self.part(tile, from, &part, &mut round, span)?;
            }
            let accumulate = parts > 1 || (own && of.adds);
            let product = TileOp::MatMul { dst: acc, a, b, transpose_b: of.turned, accumulate };
            round.push(statement(StmtKind::Tile(product), span));
            match var {
                None => out.append(&mut round),
                Some(var) => {
                    if !(own && of.adds) {
                        out.push(statement(StmtKind::Tile(zero(acc, None, None, span)), span));
                    }
                    let [start, end, step] = [0, parts, 1].map(|n| Expr::u32(n, span));
                    out.push(statement(StmtKind::For { var, start, end, step, body: round }, span));
                }
            }
            accs.push(acc);
        }
        if own {
            return Some(out);
        }
        self.result_of(of, &accs, &mut out, span);
        Some(out)
    }

    /// A part of an operand. No transfer brings pages to L1: a vector core loads them.
    fn part(&mut self, dst: LocalId, from: &From, of: &Part<'_>, out: &mut Block, span: Span) -> Option<()> {
        let mut push = |op: TileOp| out.push(statement(StmtKind::Tile(op), span));
        match from {
            From::Load(source) => {
                let mut source = source.from(of.begin)?;
                if let Some(at) = of.at {
                    source.advance(of.along, at, of.end)?;
                }
                let Source { tensor, at, rows, cols } = source;
                if self.cache(tensor).is_none() {
                    push(TileOp::Load { dst, tensor, at, rows, cols });
                    return Some(());
                }
                let src = self.fresh_like(dst, TileRole::Vec, span);
                push(TileOp::Load { dst: src, tensor, at, rows, cols });
                push(TileOp::Unary { op: UnaryTileOp::Copy, dst, src });
                out.insert(out.len() - 2, declare(src, span));
            }
            From::Tile(src) => {
                let src = *src;
                let dims = |tile: LocalId| shape(&self.function, tile).map(|(_, dims, _)| dims);
                if dims(dst) == dims(src) {
                    push(TileOp::Unary { op: UnaryTileOp::Copy, dst, src });
                    return Some(());
                }
                let mut begin = of.begin.map(|n| Expr::u32(n, span));
                if let Some(at) = of.at {
                    begin[of.along] = at.clone();
                }
                let [row, col] = begin;
                push(TileOp::Extract { dst, src, row, col });
            }
        }
        Some(())
    }

    /// What brings a result to the vector core, and adds it there where the product does.
    pub(super) fn result_of(&mut self, of: &Product, accs: &[LocalId], out: &mut Block, span: Span) {
        let dst = if of.adds {
            let sum = self.fresh_like(of.dst, TileRole::Vec, span);
            out.push(declare(sum, span));
            sum
        } else {
            of.dst
        };
        self.result(accs, dst, out, span);
        if of.adds {
            let add = TileOp::Binary { op: BinaryTileOp::Add, dst: of.dst, a: of.dst, b: Operand::Tile(dst) };
            out.push(statement(StmtKind::Tile(add), span));
        }
    }
}
