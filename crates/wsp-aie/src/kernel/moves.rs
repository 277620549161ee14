//! Elements at other places.

use super::elements::{EQUAL, GREATER, LESS};
use super::grids::Grid;
use super::writer::{Kind, Writer};
use crate::mlir::{Type, Value};
use wsp_ir::{Expr, TileOp};
use wsp_tile::Tile;

impl Writer<'_> {
    pub(super) fn moved(&mut self, op: &TileOp<Tile>) {
        match op {
            TileOp::Transpose { dst, src } => {
                let from = self.tile(src);
                self.taken(dst, src, &mut |writer, r, c| writer.load(&from, c, r));
            }
            TileOp::Reshape { dst, src, .. } => {
                let (from, rows_of, cols_of) = (self.tile(src), self.extent(src.cols), self.extent(dst.cols));
                self.taken(dst, src, &mut |writer, r, c| {
                    let first = writer.same("arith.muli", &[r, cols_of]);
                    let at = writer.plus(first, c);
                    let (row, col) = (
                        writer.same("arith.divui", &[at, rows_of]),
                        writer.same("arith.remui", &[at, rows_of]),
                    );
                    writer.load(&from, row, col)
                });
            }
            TileOp::Gather { dst, src, indices, by_row } => {
                let (from, places, kind) = (self.tile(src), self.tile(indices), self.kind(indices));
                self.apart(dst, &[src.buffer, indices.buffer], &mut |writer, to| {
                    writer.singly(dst, &mut |writer, r, c| {
                        let mut place = writer.load(&places, r, c);
                        if kind == Kind::Real {
                            place = writer.op("arith.fptosi", &[place], Type::Int(32));
                        }
                        let place = writer.op("arith.index_cast", &[place], Type::Index);
                        let value =
                            if *by_row { writer.load(&from, place, c) } else { writer.load(&from, r, place) };
                        writer.store(to, r, c, value);
                    });
                });
            }
            TileOp::Insert { dst, src, row, col } => {
                let (from, to, row, col) = (self.tile(src), self.tile(dst), self.at(row), self.at(col));
                self.copied(src, (&from, None), (&to, Some([row, col])));
            }
            TileOp::Extract { dst, src, row, col } => {
                let (from, to, row, col) = (self.tile(src), self.tile(dst), self.at(row), self.at(col));
                self.copied(dst, (&from, Some([row, col])), (&to, None));
            }
            TileOp::Random { .. } => self.random(op),
            TileOp::TopK { values, indices, src, first } => self.largest([values, indices], src, first),
            _ => self.reduced(op),
        }
    }

    /// A transfer from or to an operand.
    pub(super) fn transfer(&mut self, tile: &Tile, instruction: u32, brings: bool) {
        let (inside, outside) = (self.tile(tile), self.site(instruction));
        if self.is_home(tile.buffer, instruction) {
            return;
        }
        let (from, to) = if brings { (&outside, &inside) } else { (&inside, &outside) };
        self.copied(tile, (from, None), (to, None));
    }

    /// As many elements as a tile has, from one place to another.
    fn copied(&mut self, tile: &Tile, from: (&Grid, Option<[Value; 2]>), to: (&Grid, Option<[Value; 2]>)) {
        self.all((tile.rows, tile.cols), &[from.0, to.0], &mut |writer, r, c| {
            let place = |writer: &mut Self, past: Option<[Value; 2]>| match past {
                Some([row, col]) => (writer.plus(row, r), writer.plus(col, c)),
                None => (r, c),
            };
            let (row, col) = place(writer, from.1);
            let value = writer.load(from.0, row, col);
            let value = writer.moved_as(value, from.0.elem, to.0.elem);
            let (row, col) = place(writer, to.1);
            writer.store(to.0, row, col, value);
        });
    }

    /// Each element of a result from one of a tile, which may be the result.
    fn taken(&mut self, dst: &Tile, src: &Tile, element: &mut dyn FnMut(&mut Self, Value, Value) -> Value) {
        self.apart(dst, &[src.buffer], &mut |writer, to| {
            writer.singly(dst, &mut |writer, r, c| {
                let value = element(writer, r, c);
                writer.store(to, r, c, value);
            });
        });
    }

    fn at(&mut self, e: &Expr) -> Value {
        if let Some(n) = e.as_const_int() {
            return self.index(n as i64);
        }
        let value = self.scalar(e);
        self.op("arith.index_cast", &[value], Type::Index)
    }

    /// The largest elements of each row: insertion, first of what the lists hold, which need not be in order, then of the row.
    fn largest(&mut self, lists: [&Tile; 2], src: &Tile, first: &Expr) {
        let (values, places, from) = (self.tile(lists[0]), self.tile(lists[1]), self.tile(src));
        let room = lists.map(|list| self.program.buffer(list.buffer).cols).into_iter().min().unwrap_or(0);
        let first = self.scalar(first);
        // A list without rows holds nothing.
        let (rows, cols) = (self.extent(lists[0].rows), self.extent(lists[0].cols));
        let (zero, room) = (self.index(0), self.index(i64::from(room)));
        let (none, any) = (self.index(0), self.compare([0, 1], Kind::Int(64), rows, zero));
        let held = self.select(any, cols, none);
        let (rows, width) = (self.extent(src.rows), self.extent(src.cols));
        self.each(rows, &[], &mut |writer, r, _| {
            writer.each(held, &[], &mut |writer, at, _| {
                let entry = [writer.load(&values, r, at), writer.load(&places, r, at)];
                writer.insert_entry([&values, &places], r, at, entry, at);
                Vec::new()
            });
            writer.each(width, &[held], &mut |writer, c, have| {
                let value = writer.load(&from, r, c);
                let (least, is_none) = (writer.real(f64::NEG_INFINITY), writer.is_no_number(value));
                let value = writer.select(is_none, least, value);
                let column = writer.whole(c);
                let place = writer.same("arith.addi", &[first, column]);
                let place = writer.op("arith.sitofp", &[place], Type::F32);
                writer.insert_entry([&values, &places], r, have[0], [value, place], room);
                let one = writer.index(1);
                let more = writer.same("arith.addi", &[have[0], one]);
                vec![writer.same("arith.minsi", &[more, room])]
            });
            Vec::new()
        });
    }

    /// Puts an entry into the first `have` entries of a row, which are in order, and what is left behind them if they are fewer than `room`, or at `room` itself.
    fn insert_entry(&mut self, lists: [&Grid; 2], r: Value, have: Value, entry: [Value; 2], room: Value) {
        let left = self.each(have, &entry, &mut |writer, at, entry| {
            let other = lists.map(|list| writer.load(list, r, at));
            let larger = writer.compare(GREATER, Kind::Real, entry[0], other[0]);
            let equal = writer.compare(EQUAL, Kind::Real, entry[0], other[0]);
            let earlier = writer.compare(LESS, Kind::Real, entry[1], other[1]);
            let tie = writer.same("arith.andi", &[equal, earlier]);
            let wins = writer.same("arith.ori", &[larger, tie]);
            for i in 0..2 {
                let kept = writer.select(wins, entry[i], other[i]);
                writer.store(lists[i], r, at, kept);
            }
            [0, 1].map(|i| writer.select(wins, other[i], entry[i])).to_vec()
        });
        if have == room {
            for i in 0..2 {
                self.store(lists[i], r, have, left[i]);
            }
            return;
        }
        let is_room = self.compare([0, 2], Kind::Int(64), have, room);
        self.ways(
            is_room,
            &mut |writer| {
                for i in 0..2 {
                    writer.store(lists[i], r, have, left[i]);
                }
                Vec::new()
            },
            &mut |_| Vec::new(),
        );
    }
}
