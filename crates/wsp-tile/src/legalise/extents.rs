//! Between which numbers scalar variables and the valid rows and columns of tiles lie, over the whole function.

use wsp_core::LocalId;
use wsp_core::int::Range;
use wsp_ir::{
    BinOp, Block, Const, Expr, ExprKind, Function, LocalTy, ScalarTy, Stmt, StmtKind, TileExtent, TileOp,
    walk,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Rounds after which what still grows is taken to be anything.
const ROUNDS: usize = 5;

/// What is known of a function's values.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    scalars: OrderedMap<LocalId, Range>,
    /// Rows and columns of tiles.
    tiles: OrderedMap<LocalId, [Option<Range>; 2]>,
    capacity: OrderedMap<LocalId, [u32; 2]>,
    /// Tiles that count as empty from where they are declared on: lists of largest values, and those whose valid part is asked for.
    pub(super) empty_first: OrderedSet<LocalId>,
    /// Rows and columns of tiles at the statement that is translated, where more is known of them there.
    pub(super) now: OrderedMap<LocalId, [Range; 2]>,
}

/// Rows and columns that remain in a tensor from where an operation starts.
pub(super) type Left<'a> = &'a dyn Fn(&TileOp) -> [Option<Expr>; 2];

impl Ranges {
    pub(super) fn of(function: &Function, left: Left<'_>) -> Ranges {
        let mut ranges = Ranges::default();
        for (i, local) in function.locals.iter().enumerate() {
            if let LocalTy::Tile(ty) = &local.ty {
                let size = |e: &Expr| e.as_const_int().and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
                ranges.capacity.insert(LocalId(i as u32), [size(&ty.rows), size(&ty.cols)]);
            }
        }
        walk::stmts(&function.body, &mut |stmt| {
            if let StmtKind::Tile(TileOp::TopK { values, indices, .. }) = &stmt.kind {
                ranges.empty_first.extend([*values, *indices]);
            }
        });
        walk::each_expr(&function.body, &mut |e| {
            if let ExprKind::TileRows(tile) | ExprKind::TileCols(tile) = e.kind {
                ranges.empty_first.insert(tile);
            }
        });
        for round in 0.. {
            let mut changed = false;
            ranges.block(&function.body, function, left, round >= ROUNDS, &mut changed);
            if !changed {
                return ranges;
            }
        }
        ranges
    }

    /// Rows (0) or columns (1) of a tile.
    pub(super) fn extent(&self, tile: LocalId, dim: usize) -> Range {
        if let Some(now) = self.now.get(&tile) {
            return now[dim];
        }
        let all = Range::new(0, i128::from(self.capacity[&tile][dim]));
        self.tiles.get(&tile).and_then(|found| found[dim]).unwrap_or(all)
    }

    pub(super) fn capacity(&self, tile: LocalId) -> [u32; 2] {
        self.capacity[&tile]
    }

    /// Forgets what is known of the tiles that a loop's body resizes.
    pub(super) fn forget_written(&mut self, body: &Block) {
        let now = &mut self.now;
        walk::stmts(body, &mut |stmt| match &stmt.kind {
            StmtKind::Tile(op) => op.resizes().for_each(|tile| {
                now.remove(&tile);
            }),
            StmtKind::Let { local, .. } => {
                now.remove(local);
            }
            _ => {}
        });
    }

    /// What is known where two ways meet: after the one that was translated last, and after the other.
    pub(super) fn meet_ways(&mut self, other: &OrderedMap<LocalId, [Range; 2]>) {
        self.now.retain(|tile, _| other.contains_key(tile));
        for (tile, [rows, cols]) in &mut self.now {
            let [other_rows, other_cols] = other[tile];
            (*rows, *cols) = (rows.join(other_rows), cols.join(other_cols));
        }
    }

    /// Between which numbers an integer expression lies.
    pub(super) fn expr(&self, e: &Expr) -> Range {
        let all = e.ty.range().unwrap_or(Range::new(0, 1));
        let found = match &e.kind {
            ExprKind::Const(Const::Int(n)) => Some(Range::point(*n)),
            ExprKind::Local(local) => self.scalars.get(local).copied(),
            ExprKind::Binary(op, a, b) if a.ty.is_int() => Range::binary(*op, self.expr(a), self.expr(b)),
            ExprKind::Cast(a) if a.ty.is_int() => Some(self.expr(a)),
            // `a < b ? b - a : 0`, as the rest of a dimension is written: the difference counts where it is above 0 only.
            ExprKind::Select(cond, a, b) => {
                let (a_range, b_range) = (self.expr(a), self.expr(b));
                match &cond.kind {
                    ExprKind::Binary(op, x, y) if x.ty.is_int() => {
                        match Range::compare(*op, self.expr(x), self.expr(y)) {
                            Some(true) => Some(a_range),
                            Some(false) => Some(b_range),
                            None => Some(a_range.join(b_range)),
                        }
                    }
                    _ => Some(a_range.join(b_range)),
                }
            }
            ExprKind::TileRows(tile) => Some(self.extent(*tile, 0)),
            ExprKind::TileCols(tile) => Some(self.extent(*tile, 1)),
            _ => None,
        };
        found.and_then(|found| found.meet(all)).unwrap_or(all)
    }

    fn block(&mut self, block: &Block, f: &Function, left: Left<'_>, widen: bool, changed: &mut bool) {
        for stmt in block {
            self.stmt(stmt, f, left, widen, changed);
            walk::blocks(stmt).for_each(|inner| self.block(inner, f, left, widen, changed));
        }
    }

    fn stmt(&mut self, stmt: &Stmt, f: &Function, left: Left<'_>, widen: bool, changed: &mut bool) {
        match &stmt.kind {
            StmtKind::Let { local, init } => match (&f.local(*local).ty, init) {
                (LocalTy::Scalar(ty), Some(value)) if ty.is_int() => {
                    let range = self.expr(value);
                    self.scalar(*local, *ty, range, widen, changed);
                }
                (LocalTy::Scalar(ty), None) if ty.is_int() => {
                    self.scalar(*local, *ty, Range::point(0), widen, changed);
                }
                (LocalTy::Tile(_), _) if self.empty_first.contains(local) => {
                    self.resize(*local, [Range::point(0); 2], widen, changed);
                }
                _ => {}
            },
            StmtKind::Assign { local, value } if value.ty.is_int() => {
                let range = self.expr(value);
                self.scalar(*local, value.ty, range, widen, changed);
            }
            StmtKind::For { var, start, end, step, .. } => {
                let range = self.rounds(start, end, step);
                self.scalar(*var, start.ty, range, widen, changed);
            }
            StmtKind::Tile(op) => self.tile(op, left, widen, changed),
            _ => {}
        }
    }

    /// The values of a loop's variable.
    fn rounds(&self, start: &Expr, end: &Expr, step: &Expr) -> Range {
        let (first, end) = (self.expr(start), self.expr(end));
        let mut last = end.high - 1;
        if let (Some(from), Some(to), Some(step)) = (first.value(), end.value(), step.as_const_int())
            && step > 0
            && to > from
        {
            last = from + (to - 1 - from) / step * step;
        }
        Range::new(first.low, last.max(first.low))
    }

    fn scalar(&mut self, local: LocalId, ty: ScalarTy, range: Range, widen: bool, changed: &mut bool) {
        let before = self.scalars.get(&local).copied();
        let mut after = before.map_or(range, |before| before.join(range));
        if before != Some(after) {
            if let (true, Some(all)) = (widen, ty.range()) {
                after = all;
            }
            *changed |= before != Some(after);
            self.scalars.insert(local, after);
        }
    }

    fn tile(&mut self, op: &TileOp, left: Left<'_>, widen: bool, changed: &mut bool) {
        for tile in op.resizes() {
            let given = self.given(op, tile, left);
            self.resize(tile, given, widen, changed);
        }
    }

    fn resize(&mut self, tile: LocalId, given: [Range; 2], widen: bool, changed: &mut bool) {
        for (dim, given) in given.into_iter().enumerate() {
            let before = self.tiles.get(&tile).and_then(|found| found[dim]);
            let mut after = before.map_or(given, |before| before.join(given));
            if before != Some(after) {
                if widen {
                    after = Range::new(0, i128::from(self.capacity[&tile][dim]));
                }
                *changed |= before != Some(after);
                self.tiles.entry(tile).or_default()[dim] = Some(after);
            }
        }
    }

    /// Rows and columns that an operation gives a tile.
    fn given(&self, op: &TileOp, tile: LocalId, left: Left<'_>) -> [Range; 2] {
        let values = result(op, tile, self, left);
        let capacity = self.capacity[&tile];
        [0, 1].map(|dim| {
            let all = Range::new(0, i128::from(capacity[dim]));
            self.expr(&values[dim]).meet(all).unwrap_or(all)
        })
    }
}

/// Rows and columns of a result, as expressions over those of the operands.
pub(super) fn result(op: &TileOp, tile: LocalId, ranges: &Ranges, left: Left<'_>) -> [Expr; 2] {
    let span = wsp_diag::Span::default();
    let capacity = ranges.capacity(tile);
    let number = |n: u32| Expr::u32(n, span);
    let extent = |tile: LocalId, dim: usize| {
        let range = ranges.extent(tile, dim);
        match range.value() {
            Some(n) => number(n as u32),
            None if dim == 0 => Expr::new(ExprKind::TileRows(tile), ScalarTy::U32, span),
            None => Expr::new(ExprKind::TileCols(tile), ScalarTy::U32, span),
        }
    };
    let least = |a: Expr, b: Expr| Expr::binary(BinOp::Min, a, b);
    let rest = left(op);
    let of = |dim: usize, given: TileExtent<'_>| match given {
        TileExtent::Rows(of) => extent(of, 0),
        TileExtent::Cols(of) => extent(of, 1),
        TileExtent::Outer(of, transposed) => extent(of, usize::from(!transposed)),
        TileExtent::One => number(1),
        TileExtent::AtMost(count) => {
            let mut size = number(capacity[dim]);
            if let Some(count) = count {
                size = least(size, count.clone());
            }
            match &rest[dim] {
                Some(rest) => least(size, rest.clone()),
                None => size,
            }
        }
        TileExtent::Exactly(count) => count.cloned().unwrap_or_else(|| number(capacity[dim])),
        TileExtent::Capacity => match op {
            TileOp::Extract { src, row, col, .. } => {
                let from = if dim == 0 { row } else { col };
                least(number(capacity[dim]), remaining(extent(*src, dim), from.clone()))
            }
            TileOp::TopK { src, values, indices, .. } => {
                let room = ranges.capacity(*values)[dim].min(ranges.capacity(*indices)[dim]);
                let (mut held, rows) = (extent(*values, dim), extent(*values, 0));
                if dim == 1 && ranges.expr(&rows).low <= 0 {
                    // A list without rows holds nothing.
                    let some = Expr::binary(BinOp::Gt, rows, number(0));
                    let kind = ExprKind::Select(Box::new(some), Box::new(held), Box::new(number(0)));
                    held = Expr::new(kind, ScalarTy::U32, span);
                }
                least(number(room), Expr::binary(BinOp::Add, held, extent(*src, dim)))
            }
            _ => number(capacity[dim]),
        },
    };
    match op.gives() {
        Some((rows, cols)) => [of(0, rows), of(1, cols)],
        None => [extent(tile, 0), extent(tile, 1)],
    }
}

/// `from < size ? size - from : 0`
pub(super) fn remaining(size: Expr, from: Expr) -> Expr {
    let (ty, span) = (size.ty, size.span);
    if from.as_const_int() == Some(0) {
        return size;
    }
    let inside = Expr::binary(BinOp::Lt, from.clone(), size.clone());
    let rest = Expr::binary(BinOp::Sub, size, from);
    let nothing = Expr::new(ExprKind::Const(Const::Int(0)), ty, span);
    Expr::new(ExprKind::Select(Box::new(inside), Box::new(rest), Box::new(nothing)), ty, span)
}
