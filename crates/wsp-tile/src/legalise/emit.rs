//! Operations as instructions: extents, guards, transfers.

use super::extents::result;
use super::route::{Hindrance, Operand, choose, route};
use super::{Legaliser, rest_of_tensor};
use crate::display::tile_words;
use crate::{Compute, Extent, Instruction, Node, Op, Side, Tile, UnitId, codes};
use wsp_core::int::Range;
use wsp_core::{LocalId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    BinOp, Const, Expr, ExprKind, LocalTy, Part, Place, ReduceOp, ScalarTy, TileMap, TileOp, TileUse,
    UnaryTileOp,
};
use wsp_ordered::OrderedSet;

/// Gives operands of an operation their buffers and extents.
struct Operands<'l, 'a> {
    of: &'l Legaliser<'a>,
}

impl<'o> TileMap<'o, LocalId, Expr, Place, Tile, Expr, Place> for Operands<'_, '_> {
    type Error = std::convert::Infallible;

    fn tile(&mut self, tile: &'o LocalId) -> Result<Tile, Self::Error> {
        Ok(self.of.tile(*tile))
    }

    fn number(&mut self, number: &'o Expr, _: ScalarTy) -> Result<Expr, Self::Error> {
        Ok(self.of.expr(number))
    }

    fn place(&mut self, _: TensorId, place: &'o Place) -> Result<Place, Self::Error> {
        let index = place.index.iter().map(|e| self.of.expr(e)).collect();
        Ok(Place { index, ..place.clone() })
    }
}

impl Legaliser<'_> {
    pub(super) fn tile_op(&mut self, op: &TileOp, span: Span, out: &mut Vec<Node>) {
        // Extents of operands as they are before; those of results as they will be.
        let mut given = Vec::new();
        let begin = out.len();
        let is_list = matches!(op, TileOp::TopK { .. });
        let resized: Vec<LocalId> = op.resizes().collect();
        let reads: Vec<LocalId> = op.reads().collect();
        for &tile in &resized {
            let (module, known) = (self.module, self.known);
            let left = |op: &TileOp| rest_of_tensor(module, known, op);
            let values = result(op, tile, &self.ranges, &left);
            let [rows, cols] = values;
            let keep = is_list || reads.contains(&tile);
            let extents =
                [(0, rows), (1, cols)].map(|(dim, value)| self.new_extent(tile, dim, &value, keep, out));
            given.push((tile, extents));
        }
        // An operation on a list that has no elements yet is not skipped.
        let implied = if is_list { OrderedSet::new() } else { above_zero_with_results(&out[begin..]) };
        let Ok(mut mapped) = op.map(&mut Operands { of: self });
        let mut which = Vec::new();
        op.each(&mut |part| {
            if let Part::Tile(tile, used) = part {
                // A list's extents in the instruction are those that it has before: what is held follows from them.
                which.push((*tile, used.resizes() && used != TileUse::Listed));
            }
        });
        let mut at = 0;
        mapped.each_mut(&mut |part| {
            if let Part::Tile(tile, _) = part {
                let (local, resizes) = which[at];
                at += 1;
                if let (true, Some((_, [rows, cols]))) = (resizes, given.iter().find(|(of, _)| *of == local))
                {
                    (tile.rows, tile.cols) = (*rows, *cols);
                }
            }
        });
        drop_counts(&mut mapped);
        self.inner_extent(&mut mapped, span, out);
        let mut body = Vec::new();
        self.placed(&mapped, span, &mut body);
        let (mut all, by_operands) = guards(&mapped, &implied);
        let otherwise =
            if by_operands.is_empty() { Vec::new() } else { self.of_nothing(&mapped, &all, span) };
        all.extend(by_operands);
        self.guarded(&all, body, otherwise, span, out);
        for (tile, extents) in given {
            let range = |extent: Extent| Range::new(extent.low().into(), extent.high().into());
            self.ranges.now.insert(tile, extents.map(range));
            for (dim, extent) in extents.into_iter().enumerate() {
                let own = self.tiles[&tile].extents[dim];
                if let (Extent::Value { local, .. }, true) = (own, value_of(own) != value_of(extent)) {
                    out.push(Node::Set { local, value: self.value(extent, span) });
                }
            }
        }
    }

    /// The extent of a result: a number, or a variable that gets its value now. The tile's own variable keeps its value where the
    /// operation still needs it.
    fn new_extent(
        &mut self,
        tile: LocalId,
        dim: usize,
        value: &Expr,
        keep: bool,
        out: &mut Vec<Node>,
    ) -> Extent {
        let own = self.tiles[&tile].extents[dim];
        let range = self.ranges.expr(value);
        let Extent::Value { local, .. } = own else { return own };
        if let Some(n) = range.value() {
            return Extent::Known(n as u32);
        }
        let value = self.expr(value);
        if value.kind == ExprKind::Local(local) {
            return own;
        }
        let local = if keep { self.fresh("extent", ScalarTy::U32, value.span) } else { local };
        let high = (range.high as u32).min(self.ranges.capacity(tile)[dim]);
        out.push(Node::Set { local, value });
        Extent::Value { local, low: range.low as u32, high }
    }

    /// The inner dimension of a product is the smaller of the two.
    fn inner_extent(&mut self, op: &mut TileOp<Tile>, span: Span, out: &mut Vec<Node>) {
        let TileOp::MatMul { a, b, transpose_b, .. } = op else { return };
        let other = if *transpose_b { b.cols } else { b.rows };
        if a.cols == other {
            return;
        }
        let inner = match (a.cols, other) {
            (Extent::Known(x), Extent::Known(y)) => Extent::Known(x.min(y)),
            (x, y) => {
                let local = self.fresh("inner", ScalarTy::U32, span);
                let value = Expr::binary(BinOp::Min, self.value(x, span), self.value(y, span));
                out.push(Node::Set { local, value });
                Extent::Value { local, low: x.low().min(y.low()), high: x.high().min(y.high()) }
            }
        };
        a.cols = inner;
        *(if *transpose_b { &mut b.cols } else { &mut b.rows }) = inner;
    }

    fn guarded(
        &self,
        guards: &[Extent],
        mut body: Vec<Node>,
        mut otherwise: Vec<Node>,
        span: Span,
        out: &mut Vec<Node>,
    ) {
        if guards.contains(&Extent::Known(0)) {
            // No run has elements here.
            out.append(&mut otherwise);
            return;
        }
        let tests = guards
            .iter()
            .map(|extent| Expr::binary(BinOp::Gt, self.value(*extent, span), Expr::u32(0, span)));
        match tests.reduce(|a, b| Expr::binary(BinOp::And, a, b)) {
            Some(cond) => out.push(Node::If { cond, then: body, otherwise }),
            None => out.append(&mut body),
        }
    }

    /// What an operation on nothing leaves in results that have elements: the neutral element, or 0. What it changes in place stays.
    fn of_nothing(&mut self, op: &TileOp<Tile>, results: &[Extent], span: Span) -> Vec<Node> {
        let value = match op {
            TileOp::RowReduce { op, .. } | TileOp::ColReduce { op, .. } => op.neutral(),
            _ => 0.0,
        };
        let (mut new, mut read) = (Vec::new(), Vec::new());
        op.each(&mut |part| match part {
            Part::Tile(tile, TileUse::Written) => new.push(*tile),
            Part::Tile(tile, used) if used.reads() => read.push(tile.buffer),
            _ => {}
        });
        let mut out = Vec::new();
        for dst in new.into_iter().filter(|dst| !read.contains(&dst.buffer)) {
            let body = self.filled(dst, value, span);
            self.guarded(results, body, Vec::new(), span, &mut out);
        }
        out
    }

    /// The instructions that fill a tile.
    fn filled(&mut self, dst: Tile, value: f32, span: Span) -> Vec<Node> {
        let fill = TileOp::Fill {
            dst,
            value: Expr::new(ExprKind::Const(Const::Float(f64::from(value))), ScalarTy::F32, span),
            rows: None,
            cols: None,
        };
        let (mut body, before) = (Vec::new(), self.found.len());
        self.placed(&fill, span, &mut body);
        if self.found.len() > before {
            self.found.truncate(before);
            let name = &self.program.buffer(dst.buffer).name;
            let message = format!(
                "`{name}` may be a result of nothing, and no unit of `{}` fills it",
                self.memories.name
            );
            self.found.push(
                Diagnostic::error(codes::EMPTY_RESULT, message)
                    .at(span, "an operand may have no elements here")
                    .help("give the extent a lower bound of 1"),
            );
        }
        body
    }

    /// The instructions of an operation, in the memories of the rule that needs the fewest transfers.
    fn placed(&mut self, op: &TileOp<Tile>, span: Span, out: &mut Vec<Node>) {
        match op {
            TileOp::Load { dst, .. } => {
                let to = Side::Memory(self.program.buffer(dst.buffer).memory);
                let Some(way) = self.way(Side::Global, to, &tile_words(op), span) else { return };
                let mut op = op.clone();
                if let TileOp::Load { dst, .. } = &mut op {
                    let target = *dst;
                    let first = self.through(&way[1..], target, span);
                    *dst = first[0];
                    self.transfer(Op::Tile(op), Side::Global, way[1], span, out);
                    self.chain(&way[1..], &first, span, out);
                }
            }
            TileOp::Store { src, .. } => {
                let from = Side::Memory(self.program.buffer(src.buffer).memory);
                let Some(way) = self.way(from, Side::Global, &tile_words(op), span) else { return };
                let inner = &way[..way.len() - 1];
                let stops = self.stops(inner, *src, span);
                self.chain(inner, &stops, span, out);
                let mut op = op.clone();
                if let (TileOp::Store { src, .. }, Some(last)) = (&mut op, stops.last()) {
                    *src = *last;
                }
                self.transfer(Op::Tile(op), inner[inner.len() - 1], Side::Global, span, out);
            }
            _ => self.computed(op, span, out),
        }
    }

    /// A copy between memories that transfers alone can make.
    fn moved(&mut self, op: &TileOp<Tile>, span: Span, out: &mut Vec<Node>) -> bool {
        let TileOp::Unary { op: UnaryTileOp::Copy, dst, src } = op else { return false };
        let [to, from] = [dst, src].map(|tile| self.program.buffer(tile.buffer));
        let (from_side, to_side) = (Side::Memory(from.memory), Side::Memory(to.memory));
        if from.elem != to.elem || from_side == to_side {
            return false;
        }
        let Some(way) = route(self.memories, from_side, to_side) else { return false };
        let mut stops = self.through(&way, *dst, span);
        stops[0] = *src;
        self.chain(&way, &stops, span, out);
        true
    }

    fn computed(&mut self, op: &TileOp<Tile>, span: Span, out: &mut Vec<Node>) {
        if self.moved(op, span, out) {
            return;
        }
        let mut tiles = Vec::new();
        op.each(&mut |part| {
            if let Part::Tile(tile, used) = part {
                tiles.push((*tile, used));
            }
        });
        let Some(rule) = self.rule(&tile_words(op), &tiles, span) else { return };
        let mut placed: Vec<Tile> = Vec::new();
        let mut back = Vec::new();
        for (at, (tile, used)) in tiles.iter().enumerate() {
            let home = Side::Memory(self.program.buffer(tile.buffer).memory);
            let want = Side::Memory(rule.memory_of(at));
            let mut here = *tile;
            if home != want {
                if reads(*used) {
                    let Some(way) = self.way(home, want, &tile_words(op), span) else { return };
                    let stops = self.stops(&way, *tile, span);
                    self.chain(&way, &stops, span, out);
                    here = stops.last().copied().unwrap_or(*tile);
                }
                if used.writes() {
                    let Some(way) = self.way(want, home, &tile_words(op), span) else { return };
                    if !reads(*used) {
                        here = self.through(&way, *tile, span)[0];
                    }
                    let mut stops = self.through(&way, *tile, span);
                    stops[0] = here;
                    back.push((way, stops));
                }
            }
            placed.push(here);
        }
        let mut op = op.clone();
        let mut at = 0;
        op.each_mut(&mut |part| {
            if let Part::Tile(tile, _) = part {
                tile.buffer = placed[at].buffer;
                at += 1;
            }
        });
        self.push(Op::Tile(op), rule.unit, rule.then, span, out);
        for (way, stops) in back {
            self.chain(&way, &stops, span, out);
        }
    }

    fn rule(&mut self, words: &str, tiles: &[(Tile, TileUse)], span: Span) -> Option<Compute> {
        let elems: Vec<_> = tiles.iter().map(|(tile, _)| self.program.buffer(tile.buffer).elem).collect();
        let fits = |rule: &Compute| rule.does(words, &elems);
        let operands: Vec<Operand> = tiles
            .iter()
            .map(|(tile, used)| Operand {
                home: self.program.buffer(tile.buffer).memory,
                reads: reads(*used),
                writes: used.writes(),
            })
            .collect();
        match choose(self.memories, fits, &operands) {
            Ok(rule) => Some(rule.clone()),
            Err(Hindrance::NoUnit) => {
                let types: Vec<&str> = elems.iter().map(|elem| elem.name()).collect();
                let message =
                    format!("no unit of `{}` does `{words}` on {}", self.memories.name, types.join(", "));
                self.found.push(
                    Diagnostic::error(codes::NO_UNIT, message)
                        .at(span, "")
                        .help("use other operations that give the same, or another element type"),
                );
                None
            }
            Err(Hindrance::NoWay(from, to)) => {
                self.no_way(from, to, words, span);
                None
            }
        }
    }

    fn way(&mut self, from: Side, to: Side, words: &str, span: Span) -> Option<Vec<Side>> {
        let found = route(self.memories, from, to);
        if found.is_none() {
            self.no_way(from, to, words, span);
        }
        found
    }

    fn no_way(&mut self, from: Side, to: Side, words: &str, span: Span) {
        let [from, to] = [from, to].map(|side| self.memories.side_name(side));
        let message = format!("no unit of `{}` moves a tile from {from} to {to}", self.memories.name);
        self.found.push(
            Diagnostic::error(codes::NO_MOVE, message)
                .at(span, format!("`{words}` needs it there"))
                .help("split the kernel in two that exchange the tile through a tensor"),
        );
    }

    /// Tiles on a way of memories, the first of which is the tile itself; the others are new.
    fn stops(&mut self, way: &[Side], tile: Tile, span: Span) -> Vec<Tile> {
        let mut stops = vec![tile];
        stops.extend(way[1..].iter().map(|side| self.copy_in(*side, tile, span)));
        stops
    }

    /// Tiles on a way of memories, the last of which is the tile itself; the others are new.
    fn through(&mut self, way: &[Side], tile: Tile, span: Span) -> Vec<Tile> {
        let mut stops: Vec<Tile> =
            way[..way.len() - 1].iter().map(|side| self.copy_in(*side, tile, span)).collect();
        stops.push(tile);
        stops
    }

    fn copy_in(&mut self, side: Side, tile: Tile, span: Span) -> Tile {
        let Side::Memory(memory) = side else { return tile };
        let of = self.program.buffer(tile.buffer).clone();
        let name = format!("{}_{}", of.name, self.memories.memory(memory).name.to_lowercase());
        let buffer = self.add_buffer(&name, of.elem, [of.rows, of.cols], memory, span);
        Tile { buffer, ..tile }
    }

    /// Transfers from each stop to the next.
    fn chain(&mut self, way: &[Side], stops: &[Tile], span: Span, out: &mut Vec<Node>) {
        for (sides, tiles) in way.windows(2).zip(stops.windows(2)) {
            self.transfer(Op::Move { dst: tiles[1], src: tiles[0] }, sides[0], sides[1], span, out);
        }
    }

    fn transfer(&mut self, op: Op, from: Side, to: Side, span: Span, out: &mut Vec<Node>) {
        if let Some(unit) = self.memories.mover(from, to) {
            self.push(op, unit, None, span, out);
        }
    }

    fn push(&mut self, op: Op, unit: UnitId, then: Option<UnitId>, span: Span, out: &mut Vec<Node>) {
        out.push(Node::Run(Instruction { id: 0, op, unit, then, scratch: Vec::new(), span }));
    }

    /// A scalar variable gets a value: of a tile, of a tensor, or of other scalars.
    pub(super) fn assign(&mut self, local: LocalId, value: &Expr, span: Span, out: &mut Vec<Node>) {
        match &value.kind {
            ExprKind::TileMax(tile) => self.reduce(local, ReduceOp::Max, *tile, span, out),
            ExprKind::TileSum(tile) => self.reduce(local, ReduceOp::Sum, *tile, span, out),
            ExprKind::LoadScalar(tensor, index) => {
                let index = index.iter().map(|e| self.expr(e)).collect();
                let op = Op::LoadScalar { local, tensor: *tensor, index };
                self.push(op, self.memories.scalar, None, span, out);
            }
            _ => {
                let value = self.expr(value);
                debug_assert!(!matches!(self.program.locals[local.index()].ty, LocalTy::Tile(_)));
                out.push(Node::Set { local, value });
            }
        }
    }

    fn reduce(&mut self, local: LocalId, op: ReduceOp, tile: LocalId, span: Span, out: &mut Vec<Node>) {
        let src = self.tile(tile);
        let op = Op::Reduce { local, op, src };
        let Some(rule) = self.rule(&op.words(), &[(src, TileUse::Read)], span) else { return };
        let home = Side::Memory(self.program.buffer(src.buffer).memory);
        let Some(way) = self.way(home, Side::Memory(rule.memory_of(0)), &op.words(), span) else { return };
        let stops = self.stops(&way, src, span);
        let mut body = Vec::new();
        self.chain(&way, &stops, span, &mut body);
        let Op::Reduce { op: which, .. } = op else { return };
        let here = stops.last().copied().unwrap_or(src);
        self.push(Op::Reduce { local, op: which, src: here }, rule.unit, rule.then, span, &mut body);
        let neutral = Const::Float(f64::from(which.neutral()));
        let nothing = Node::Set { local, value: Expr::new(ExprKind::Const(neutral), ScalarTy::F32, span) };
        let guards: Vec<Extent> = [src.rows, src.cols].into_iter().filter(|e| e.low() == 0).collect();
        self.guarded(&guards, body, vec![nothing], span, out);
    }

    pub(super) fn store_scalar(
        &mut self,
        tensor: TensorId,
        index: &[Expr],
        value: &Expr,
        span: Span,
        out: &mut Vec<Node>,
    ) {
        let index = index.iter().map(|e| self.expr(e)).collect();
        let op = Op::StoreScalar { tensor, index, value: self.expr(value) };
        self.push(op, self.memories.scalar, None, span, out);
    }
}

/// Whether an operation needs what the tile holds before. A list of largest values is changed in place.
fn reads(used: TileUse) -> bool {
    used.reads() || used == TileUse::Listed
}

/// The extents of the destination say what its counts said.
fn drop_counts(op: &mut TileOp<Tile>) {
    match op {
        TileOp::Load { rows, cols, .. }
        | TileOp::Fill { rows, cols, .. }
        | TileOp::Random { rows, cols, .. }
        | TileOp::Reshape { rows, cols, .. } => (*rows, *cols) = (None, None),
        TileOp::Iota { cols, .. } => *cols = None,
        _ => {}
    }
}

/// Extents that may be 0, so that the operation is skipped: those of results, and those of operands that may be 0 where no result's is.
/// `implied` are variables that are above 0 where those of results are.
fn guards(op: &TileOp<Tile>, implied: &OrderedSet<LocalId>) -> (Vec<Extent>, Vec<Extent>) {
    let (mut results, mut operands): (Vec<Extent>, Vec<Extent>) = (Vec::new(), Vec::new());
    let add = |to: &mut Vec<Extent>, tile: &Tile, known: &[Extent]| {
        for extent in [tile.rows, tile.cols] {
            let have = |other: &Extent| value_of(*other) == value_of(extent);
            if extent.low() == 0 && !known.iter().chain(&*to).any(have) {
                to.push(extent);
            }
        }
    };
    op.each(&mut |part| match part {
        // A list may be empty before.
        Part::Tile(tile, used) if used.writes() && used != TileUse::Listed => add(&mut results, tile, &[]),
        _ => {}
    });
    op.each(&mut |part| {
        if let Part::Tile(tile, TileUse::Read) = part {
            add(&mut operands, tile, &results);
        }
    });
    operands.retain(|extent| extent.local().is_none_or(|local| !implied.contains(&local)));
    (results, operands)
}

/// Variables that are above 0 where the results' extents that these nodes set are: those that extents are, are the smaller of, or are a rest of.
fn above_zero_with_results(nodes: &[Node]) -> OrderedSet<LocalId> {
    fn of(value: &Expr, found: &mut OrderedSet<LocalId>) {
        match &value.kind {
            ExprKind::Local(local) => {
                found.insert(*local);
            }
            ExprKind::Binary(BinOp::Min, a, b) => [a, b].into_iter().for_each(|e| of(e, found)),
            // What is left of a number from another on, neither of which is below 0.
            ExprKind::Select(inside, _, otherwise) if otherwise.as_const_int() == Some(0) => {
                if let ExprKind::Binary(BinOp::Lt, from, size) = &inside.kind
                    && from.ty == ScalarTy::U32
                {
                    of(size, found);
                }
            }
            _ => {}
        }
    }
    let mut found = OrderedSet::new();
    for node in nodes {
        if let Node::Set { value, .. } = node {
            of(value, &mut found);
        }
    }
    found
}

fn value_of(extent: Extent) -> Result<u32, LocalId> {
    match extent {
        Extent::Known(n) => Ok(n),
        Extent::Value { local, .. } => Err(local),
    }
}
