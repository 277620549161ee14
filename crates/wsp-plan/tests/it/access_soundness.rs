//! Random kernels: whatever element a run touches lies in a region of the summary.

use crate::support::build::*;
use crate::support::machine::{Event, Machine};
use crate::support::random::Random;
use wsp_core::*;
use wsp_ir::*;
use wsp_plan::{Bound, KernelAccess, slot_layout, summarise};

/// Tensor 0: `[12, 9]`; tensor 1: `[5, 7, 11]`; tensor 2: workspace `[4, 3]` per slot.
const SHAPES: [&[u32]; 3] = [&[12, 9], &[5, 7, 11], &[4096, 4, 3]];

struct Maker {
    r: Random,
    func: Function,
    scalars: Vec<LocalId>,
    fixed: Vec<LocalId>,
    tiles: Vec<LocalId>,
    in_loop: bool,
    /// Operators of sums and products make chains.
    chains: bool,
}

impl Maker {
    fn new(seed: u64, chains: bool) -> Maker {
        let mut func = function("k", FuncKind::Kernel { descriptor: Some(StructId(0)) });
        func.add_local("desc", LocalTy::Descriptor(StructId(0)), sp());
        Maker {
            r: Random::new(seed),
            func,
            scalars: vec![],
            fixed: vec![],
            tiles: vec![],
            in_loop: false,
            chains,
        }
    }

    fn expr(&mut self, depth: u32) -> Expr {
        let made = self.tree(depth);
        if self.chains { chained(made) } else { made }
    }

    fn tree(&mut self, depth: u32) -> Expr {
        if depth == 0 || self.r.one_in(4) {
            let readable: Vec<LocalId> = self.scalars.iter().chain(&self.fixed).copied().collect();
            return match self.r.below(6) {
                0 | 1 => field(self.r.below(4)),
                2 => param(self.r.below(2)),
                3 | 4 if !readable.is_empty() => v(*self.r.pick(&readable)),
                _ => n(self.r.below(9)),
            };
        }
        let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
        match self.r.below(16) {
            0..=3 => op(BinOp::Add, a, b),
            4 | 5 => op(BinOp::Sub, a, b),
            6 => op(BinOp::Mul, a, n(self.r.below(4))),
            7 => op(BinOp::Div, a, b),
            8 => op(BinOp::CeilDiv, a, n(1 + self.r.below(3))),
            9 => op(BinOp::Rem, a, n(1 + self.r.below(6))),
            10 | 11 => op(BinOp::Min, a, b),
            12 => op(BinOp::Max, a, b),
            13 => {
                let c = self.cond(1);
                Expr::new(ExprKind::Select(Box::new(c), Box::new(a), Box::new(b)), ScalarTy::U32, sp())
            }
            14 => {
                let ty = *self.r.pick(&[ScalarTy::I32, ScalarTy::U64, ScalarTy::I64]);
                let kind = *self.r.pick(&[
                    BinOp::Add,
                    BinOp::Sub,
                    BinOp::Min,
                    BinOp::Mul,
                    BinOp::Shr,
                    BinOp::BitAnd,
                ]);
                cast(op(kind, cast(a, ty), cast(b, ty)), ScalarTy::U32)
            }
            _ if !self.tiles.is_empty() => {
                let tile = *self.r.pick(&self.tiles);
                let kind = if self.r.one_in(2) { ExprKind::TileRows(tile) } else { ExprKind::TileCols(tile) };
                Expr::new(kind, ScalarTy::U32, sp())
            }
            _ => a,
        }
    }

    fn cond(&mut self, depth: u32) -> Expr {
        let (a, b) = (self.expr(depth), self.expr(depth));
        let ops = [BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge, BinOp::Eq, BinOp::Ne];
        let one = op(*self.r.pick(&ops), a, b);
        match self.r.below(6) {
            0 if depth > 0 => op(BinOp::And, one, self.cond(depth - 1)),
            1 if depth > 0 => op(BinOp::Or, one, self.cond(depth - 1)),
            2 => not(one),
            _ => one,
        }
    }

    fn index(&mut self, extent: u32) -> Expr {
        let e = self.expr(2);
        match self.r.below(4) {
            0 => op(BinOp::Rem, e, n(extent)),
            1 => op(BinOp::Min, e, n(extent - 1)),
            _ => e,
        }
    }

    fn place(&mut self) -> (TensorId, Place) {
        let tensor = self.r.below(3);
        let mut index: Vec<Expr> = SHAPES[tensor as usize].iter().map(|extent| self.index(*extent)).collect();
        let dims = match tensor {
            0 => *self.r.pick(&[(Some(0), Some(1)), (Some(1), None), (None, Some(1)), (None, None)]),
            1 => *self.r.pick(&[(Some(1), Some(2)), (Some(0), Some(2)), (Some(1), None)]),
            _ => {
                let slot = self.expr(1);
                index = vec![op(BinOp::Mul, slot, n(64)), n(0), n(0)];
                (Some(1), Some(2))
            }
        };
        (TensorId(tensor), Place { index, row_dim: dims.0, col_dim: dims.1 })
    }

    fn tile(&mut self) -> LocalId {
        let side = |m: &mut Maker| if m.r.one_in(3) { param(2) } else { n(1 + m.r.below(4)) };
        let ty =
            TileTy { role: TileRole::Vec, elem: Elem::Fixed(DType::F32), rows: side(self), cols: side(self) };
        self.func.add_local("t", LocalTy::Tile(ty), sp())
    }

    fn block(&mut self, depth: u32) -> Block {
        let (scalars, fixed, tiles) = (self.scalars.len(), self.fixed.len(), self.tiles.len());
        let mut block = Vec::new();
        for _ in 0..2 + self.r.below(4) {
            self.stmt(depth, &mut block);
        }
        self.scalars.truncate(scalars);
        self.fixed.truncate(fixed);
        self.tiles.truncate(tiles);
        block
    }

    fn stmt(&mut self, depth: u32, out: &mut Block) {
        match self.r.below(if depth == 0 { 9 } else { 14 }) {
            0 | 1 => {
                let e = self.expr(2);
                let local = scalar(&mut self.func, "x");
                out.push(set(local, e));
                self.scalars.push(local);
            }
            2 if !self.scalars.is_empty() => {
                let e = self.expr(2);
                let local = *self.r.pick(&self.scalars);
                out.push(assign(local, e));
            }
            3..=5 => {
                let tile = if self.tiles.is_empty() || self.r.one_in(2) {
                    let tile = self.tile();
                    out.push(s(StmtKind::Let { local: tile, init: None }));
                    tile
                } else {
                    *self.r.pick(&self.tiles)
                };
                let (tensor, at) = self.place();
                let limit = |m: &mut Maker| if m.r.one_in(2) { Some(m.expr(2)) } else { None };
                let (rows, cols) = (limit(self), limit(self));
                out.push(s(StmtKind::Tile(TileOp::Load { dst: tile, tensor, at, rows, cols })));
                self.tiles.push(tile);
            }
            6 if !self.tiles.is_empty() => {
                let src = *self.r.pick(&self.tiles);
                let (tensor, at) = self.place();
                let add = self.r.one_in(3);
                out.push(s(StmtKind::Tile(TileOp::Store { tensor, src, at, rows: None, cols: None, add })));
            }
            7 => {
                let (tensor, at) = self.place();
                out.push(s(StmtKind::StoreScalar { tensor, index: at.index, value: float(1.0) }));
            }
            8 if !self.tiles.is_empty() => {
                let (dst, src) = (self.tile(), *self.r.pick(&self.tiles));
                let other = *self.r.pick(&self.tiles);
                out.push(s(StmtKind::Let { local: dst, init: None }));
                out.push(s(StmtKind::Tile(match self.r.below(5) {
                    0 => TileOp::Unary { op: UnaryTileOp::Copy, dst, src },
                    1 => TileOp::RowReduce { op: ReduceOp::Sum, dst, src },
                    2 => TileOp::Transpose { dst, src },
                    3 => TileOp::MatMul { dst, a: src, b: other, transpose_b: true, accumulate: false },
                    _ => TileOp::Fill { dst, value: float(0.0), rows: None, cols: None },
                })));
                self.tiles.push(dst);
            }
            9 | 10 => {
                let cond = self.cond(2);
                let (then, otherwise) = (self.block(depth - 1), self.block(depth - 1));
                out.push(when(cond, then, otherwise));
            }
            11 | 12 => {
                let (start, end) = (self.expr(1), self.expr(2));
                let var = scalar(&mut self.func, "i");
                let outer = std::mem::replace(&mut self.in_loop, true);
                self.fixed.push(var);
                let body = self.block(depth - 1);
                self.fixed.pop();
                self.in_loop = outer;
                out.push(s(StmtKind::For { var, start, end, step: n(1 + self.r.below(3)), body }));
            }
            13 => {
                let counter = scalar(&mut self.func, "w");
                out.push(set(counter, n(0)));
                self.scalars.push(counter);
                let outer = std::mem::replace(&mut self.in_loop, true);
                let mut body = self.block(depth - 1);
                self.in_loop = outer;
                body.push(s(StmtKind::Continue));
                let step = vec![assign(counter, op(BinOp::Add, v(counter), n(1)))];
                out.push(s(StmtKind::While { cond: op(BinOp::Lt, v(counter), n(3)), step, body }));
            }
            _ => {
                let cond = self.cond(1);
                let leave = match (self.in_loop, self.r.below(3)) {
                    (true, 0) => StmtKind::Break,
                    (true, 1) => StmtKind::Continue,
                    _ => StmtKind::Return(None),
                };
                out.push(when(cond, vec![s(leave)], vec![]));
            }
        }
    }
}

/// The expression whose last operator, of a sum or a product, is in a chain.
fn chained(e: Expr) -> Expr {
    let kind = match e.kind {
        ExprKind::Binary(op, a, b) if op.goes_on_from(op) => match a.kind {
            ExprKind::Chain(first, mut rest) if op.goes_on_from(rest[0].0) && first.ty == e.ty => {
                rest.push((op, *b));
                ExprKind::Chain(first, rest)
            }
            kind => ExprKind::Chain(Box::new(Expr { kind, ..*a }), vec![(op, *b)]),
        },
        kind => kind,
    };
    Expr { kind, ..e }
}

fn module(seed: u64, chains: bool) -> Module {
    let mut maker = Maker::new(seed, chains);
    let body = maker.block(3);
    maker.func.body = body;
    let dims = |shape: &[u32]| shape.iter().map(|d| Dim::Expr(n(*d))).collect();
    Module {
        params: (0..3).map(|i| u32_param(&format!("p{i}"))).collect(),
        tensors: vec![
            tensor("a", DType::F32, dims(SHAPES[0]), Storage::Launch),
            tensor("b", DType::F32, dims(SHAPES[1]), Storage::Temporary),
            tensor("w", DType::F32, dims(&SHAPES[2][1..]), Storage::Workspace),
        ],
        functions: vec![maker.func],
        ..Module::default()
    }
}

/// Whether the element lies in the region, evaluated as the summary's documentation says.
fn holds(machine: &mut Machine<'_>, access: &KernelAccess, index: &[u32], slot: u32) -> bool {
    let shape = &SHAPES[access.tensor.index()];
    access.bounds.iter().enumerate().all(|(dim, bound)| match bound {
        Bound::All => true,
        Bound::Range { lo, hi } => {
            let (Ok(lo), Ok(hi)) = (machine.u32(lo), machine.u32(hi)) else { return true };
            // A touched slot is touched in all its bytes.
            let end =
                if access.tensor == TensorId(2) && dim == 0 { index[dim] + slot } else { index[dim] + 1 };
            let hi = if dim == 0 && access.tensor == TensorId(2) { hi } else { hi.min(shape[dim]) };
            lo <= index[dim] && end <= hi
        }
    })
}

#[test]
fn chains_have_the_regions_of_nested_operators() {
    let mut chains = 0;
    for seed in 0..1000 {
        let [nested, chained] = [false, true].map(|chains| module(seed, chains));
        chains += usize::from(nested != chained);
        assert_eq!(summarise(&nested, FuncId(0)), summarise(&chained, FuncId(0)), "seed {seed}");
    }
    assert!(chains > 500, "{chains} kernels have chains");
}

#[test]
fn every_touched_element_lies_in_a_region() {
    let (mut touched, mut tight, mut regions) = (0u32, 0u32, 0u32);
    for seed in 0..2500 {
        let module = module(seed, seed % 2 == 1);
        let accesses = summarise(&module, FuncId(0));
        regions += accesses.len() as u32;
        let ranges = accesses.iter().filter(|a| a.bounds.iter().all(|b| matches!(b, Bound::Range { .. })));
        tight += ranges.count() as u32;
        let mut r = Random::new(seed + 1_000_000);
        for _ in 0..6 {
            let mut machine = Machine::new(&module);
            machine.budget = 400;
            machine.params = (0..3).map(|_| 1 + r.below(4)).collect();
            machine.fields = (0..4).map(|_| r.below(7)).collect();
            machine.shapes = (0..3).map(|i| (TensorId(i), SHAPES[i as usize].to_vec())).collect();
            // A kernel that stops half-way has touched what it touched.
            let _ = machine.run(FuncId(0));
            let slot = machine.u32(&slot_layout(&module).total).expect("the slot size should have a value");
            for event in std::mem::take(&mut machine.events) {
                let Event::Touch { tensor, written, index } = event else { continue };
                touched += 1;
                let mode = if written { AccessKind::Write } else { AccessKind::Read };
                let inside = accesses.iter().filter(|a| a.tensor == tensor && a.mode == mode).any(|a| {
                    let happens = a.guard.as_ref().is_none_or(|g| machine.eval(g) != Ok(0));
                    happens && holds(&mut machine, a, &index, slot)
                });
                assert!(
                    inside,
                    "seed {seed}: {tensor:?}{index:?} {mode:?} with fields {:?} params {:?}\n{accesses:#?}",
                    machine.fields, machine.params
                );
            }
        }
    }
    println!("{touched} elements, {tight} of {regions} regions bounded");
    assert!(touched > 30_000, "only {touched} elements touched: the kernels say little");
    assert!(tight * 2 > regions, "{tight} of {regions} regions are bounded in every dimension");
}
