//! Operations on tile variables, each of which every tile has for itself.

use super::program::{Fit, Fold, Map, Meet};

/// An element on a tile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Cell {
    Has(u64),
    /// Other tiles have it: they have other rows ([`ROWS`]) or columns ([`COLUMNS`]), or the tile has none of the variable (0).
    Gone(u8),
}

pub(super) const ROWS: u8 = 1;
pub(super) const COLUMNS: u8 = 2;

/// A tile variable on all tiles of a task.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Axes along which tiles have parts of a sum.
    pub(super) parts: [bool; 2],
    /// All tiles have the same, and another statement may have given them parts: tiles may count as having a part of it each.
    pub(super) free: bool,
    /// Tile by tile, row by row.
    pub(super) cells: Vec<Cell>,
}

impl Var {
    pub(super) fn at(&self, tile: usize, row: usize, column: usize) -> Cell {
        self.cells[(tile * self.rows + row) * self.columns + column]
    }

    fn of(
        tiles: &Tiles,
        [rows, columns]: [usize; 2],
        cell: &mut dyn FnMut(usize, usize, usize) -> Cell,
    ) -> Var {
        let mut cells = Vec::with_capacity(tiles.count() * rows * columns);
        for tile in 0..tiles.count() {
            for row in 0..rows {
                cells.extend((0..columns).map(|column| cell(tile, row, column)));
            }
        }
        Var { rows, columns, parts: [false; 2], free: false, cells }
    }
}

/// The tiles that run a task, by their places along the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles(pub(super) [usize; 2]);

/// A value that depends on all bits of another one.
pub(super) fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(0x9e37_79b9);
    value ^ (value >> 32)
}

impl Tiles {
    pub(super) fn count(&self) -> usize {
        self.0[0] * self.0[1]
    }

    pub(super) fn place(&self, tile: usize) -> [usize; 2] {
        [tile % self.0[0], tile / self.0[0]]
    }

    /// The tiles that differ from this one along an axis only, and itself.
    pub(super) fn along(&self, tile: usize, axis: usize) -> Vec<usize> {
        let place = self.place(tile);
        let other = |at: usize| if axis == 0 { place[1] * self.0[0] + at } else { at * self.0[0] + place[0] };
        (0..self.0[axis]).map(other).collect()
    }

    /// The same on all tiles.
    pub(super) fn all(&self, shape: [usize; 2], cell: &dyn Fn(usize, usize) -> u64) -> Var {
        Var::of(self, shape, &mut |_, row, column| Cell::Has(cell(row, column)))
    }

    pub(super) fn each(&self, shape: [usize; 2], cell: &mut dyn FnMut(usize, usize, usize) -> Cell) -> Var {
        Var::of(self, shape, cell)
    }

    /// Element by element. Where a tile lacks an operand, what `kept` has there stays; none if shapes differ.
    fn elements(
        &self,
        operands: &[(&Var, Fit)],
        kept: Option<&Var>,
        result: &dyn Fn(&[u64]) -> u64,
    ) -> Option<Var> {
        let (rows, columns) = (operands[0].0.rows, operands[0].0.columns);
        for (var, fit) in operands {
            let fits = match fit {
                Fit::Same => (var.rows, var.columns) == (rows, columns),
                Fit::Column => (var.rows, var.columns) == (rows, 1),
                Fit::Row => (var.rows, var.columns) == (1, columns),
            };
            if !fits {
                return None;
            }
        }
        let mut values = Vec::new();
        let mut made = Var::of(self, [rows, columns], &mut |tile, row, column| {
            values.clear();
            let mut gone = None;
            for (var, fit) in operands {
                let cell = match fit {
                    Fit::Same => var.at(tile, row, column),
                    Fit::Column => var.at(tile, row, 0),
                    Fit::Row => var.at(tile, 0, column),
                };
                match cell {
                    Cell::Has(value) => values.push(value),
                    Cell::Gone(why) => gone = Some(gone.unwrap_or(0) | why),
                }
            }
            gone.map_or_else(|| Cell::Has(result(&values)), Cell::Gone)
        });
        operands.iter().for_each(|(var, _)| join(&mut made.parts, var.parts));
        if let Some(old) = kept {
            self.keep(&mut made, old);
        }
        Some(made)
    }

    /// A tile that does not take part in an addition to zeros or to parts of a sum keeps its part.
    fn keep(&self, made: &mut Var, old: &Var) {
        if (made.rows, made.columns) != (old.rows, old.columns) {
            return;
        }
        let zero = old.cells.iter().all(|cell| *cell == Cell::Has(0));
        let elements = made.rows * made.columns;
        let run: Vec<bool> = made.cells.iter().map(|cell| matches!(cell, Cell::Has(_))).collect();
        for at in 0..made.cells.len() {
            if made.cells[at] != Cell::Gone(0) || !matches!(old.cells[at], Cell::Has(_)) {
                continue;
            }
            let (tile, element) = (at / elements, at % elements);
            let mut why =
                [0, 1].map(|axis| self.along(tile, axis).iter().any(|other| run[other * elements + element]));
            if why == [false; 2] {
                why = [true; 2];
            }
            if (0..2).all(|axis| !why[axis] || zero || old.parts[axis]) {
                made.cells[at] = old.cells[at];
                join(&mut made.parts, why);
            }
        }
    }

    /// Whether all tiles have the same.
    pub(super) fn is_uniform(&self, var: &Var) -> bool {
        let elements = var.rows * var.columns;
        let mut cells = var.cells.iter().enumerate();
        var.parts == [false; 2]
            && cells.all(|(at, cell)| matches!(cell, Cell::Has(_)) && *cell == var.cells[at % elements])
    }

    /// A value that all tiles have as parts of itself: the first tiles along these axes have it.
    pub(super) fn split(&self, var: &Var, axes: [bool; 2]) -> Var {
        let mut made = var.clone();
        let elements = var.rows * var.columns;
        for (at, cell) in made.cells.iter_mut().enumerate() {
            let place = self.place(at / elements);
            if (0..2).any(|axis| axes[axis] && place[axis] > 0) {
                *cell = Cell::Has(0);
            }
        }
        join(&mut made.parts, axes);
        made
    }

    /// Axes along which some tiles have none of a variable.
    fn owned(&self, var: &Var) -> [bool; 2] {
        let elements = var.rows * var.columns;
        let gone = |at: usize| var.cells[at] == Cell::Gone(0);
        [0, 1].map(|axis| {
            let other = |at: usize, tile: usize| tile * elements + at % elements;
            (0..var.cells.len()).any(|at| {
                self.along(at / elements, axis).iter().any(|tile| gone(at) != gone(other(at, *tile)))
            })
        })
    }

    /// Axes along which tiles have other rows, or other columns.
    fn differs(&self, var: &Var, what: u8) -> [bool; 2] {
        let elements = var.rows * var.columns;
        let gone = |at: usize| matches!(var.cells[at], Cell::Gone(why) if why & what != 0);
        [0, 1].map(|axis| {
            (0..var.cells.len()).any(|at| {
                let first = self.along(at / elements, axis)[0];
                gone(at) != gone(first * elements + at % elements)
            })
        })
    }

    pub(super) fn map(&self, map: Map, src: &Var, number: u64) -> Var {
        let f: &dyn Fn(&[u64]) -> u64 = match map {
            Map::Mov => &|of| of[0],
            Map::Neg => &|of| of[0].wrapping_neg(),
            Map::Exp => &|of| mixed(of[0]),
            Map::Abs => &|of| if of[0] == 0 { 0 } else { mixed(of[0] ^ 0x55) },
            Map::Clamp => &|of| mixed(of[0] ^ 0xaa),
            Map::Scale => &|of| of[0].wrapping_mul(3),
            Map::Shift => &|of| of[0].wrapping_add(5),
            // The inverse of 3: dividing by it is exact.
            Map::Divide => &|of| of[0].wrapping_mul(0xaaaa_aaaa_aaaa_aaab),
            Map::ScaleBy => &move |of| of[0].wrapping_mul(number),
            Map::Cumsum => return self.cumsum(src),
            Map::Trans => {
                let turn = |cell| match cell {
                    Cell::Gone(why) => Cell::Gone((why >> 1) | ((why & 1) << 1)),
                    has @ Cell::Has(_) => has,
                };
                let shape = [src.columns, src.rows];
                let turned = Var::of(self, shape, &mut |tile, row, column| turn(src.at(tile, column, row)));
                return Var { parts: src.parts, ..turned };
            }
        };
        self.elements(&[(src, Fit::Same)], None, f).expect("one shape")
    }

    pub(super) fn select(&self, mask: &Var, a: &Var, b: &Var) -> Option<Var> {
        let operands = [(mask, Fit::Same), (a, Fit::Same), (b, Fit::Same)];
        self.elements(&operands, None, &|of| if of[0] & 1 != 0 { of[1] } else { of[2] })
    }

    /// Places count on at the first element behind the last one.
    pub(super) fn gather(&self, src: &Var, places: &Var, over_rows: bool) -> Option<Var> {
        let (of, as_many) = match over_rows {
            true => (src.rows, src.columns == places.columns),
            false => (src.columns, src.rows == places.rows),
        };
        if !as_many {
            return None;
        }
        let mut made = Var::of(self, [places.rows, places.columns], &mut |tile, row, column| {
            let Cell::Has(place) = places.at(tile, row, column) else { return places.at(tile, row, column) };
            let place = (place % of as u64) as usize;
            if over_rows { src.at(tile, place, column) } else { src.at(tile, row, place) }
        });
        made.parts = src.parts;
        join(&mut made.parts, places.parts);
        Some(made)
    }

    fn cumsum(&self, src: &Var) -> Var {
        let made = Var::of(self, [src.rows, src.columns], &mut |tile, row, column| {
            let before = (0..=column).map(|at| src.at(tile, row, at));
            let has = before.filter_map(|cell| if let Cell::Has(value) = cell { Some(value) } else { None });
            match src.at(tile, row, column) {
                Cell::Has(_) => Cell::Has(has.fold(0, u64::wrapping_add)),
                gone => gone,
            }
        });
        Var { parts: src.parts, ..made }
    }

    /// A meeting; `first` and `second` say that the operand is the destination.
    pub(super) fn meet(
        &self,
        meet: Meet,
        fit: Fit,
        (a, first): (&Var, bool),
        (b, second): (&Var, bool),
    ) -> Option<Var> {
        let f: &dyn Fn(&[u64]) -> u64 = match meet {
            Meet::Add => &|of| of[0].wrapping_add(of[1]),
            Meet::Sub => &|of| of[0].wrapping_sub(of[1]),
            Meet::Mul => &|of| of[0].wrapping_mul(of[1]),
            Meet::Max => &|of| of[0].max(of[1]),
            Meet::Min => &|of| of[0].min(of[1]),
            Meet::Less => &|of| u64::from(of[0] < of[1]),
        };
        // What is free is added to parts as one of them.
        let sum = matches!(meet, Meet::Add | Meet::Sub);
        let parted =
            |var: &Var, other: &Var| if sum && var.free { self.split(var, other.parts) } else { var.clone() };
        let (a, b) = (&parted(a, b), &parted(b, a));
        let kept = match meet {
            Meet::Add if first => Some(a),
            Meet::Add if second => Some(b),
            Meet::Sub if first => Some(a),
            _ => None,
        };
        self.elements(&[(a, Fit::Same), (b, fit)], kept, f)
    }

    /// Each tile goes over what it has of a row, or of a column.
    pub(super) fn fold(&self, fold: Fold, over_rows: bool, src: &Var) -> Var {
        let (lanes, length) = if over_rows { (src.columns, src.rows) } else { (src.rows, src.columns) };
        let (lane_gone, part_gone) = if over_rows { (COLUMNS, ROWS) } else { (ROWS, COLUMNS) };
        let shape = if over_rows { [1, lanes] } else { [lanes, 1] };
        let made = Var::of(self, shape, &mut |tile, row, column| {
            let (mut sum, mut most, mut gone) = (0u64, None, None);
            for at in 0..length {
                let cell = if over_rows { src.at(tile, at, column) } else { src.at(tile, row, at) };
                match cell {
                    Cell::Has(value) => {
                        sum = sum.wrapping_add(value);
                        if most.is_none_or(|(best, _)| best < value) {
                            most = Some((value, at as u64));
                        }
                    }
                    Cell::Gone(why) if why == part_gone => {}
                    Cell::Gone(why) => gone = Some(gone.unwrap_or(0) | (why & lane_gone)),
                }
            }
            let (best, place) = most.unwrap_or_default();
            gone.map_or(Cell::Has([sum, best, place][fold as usize]), Cell::Gone)
        });
        let mut parts = src.parts;
        join(&mut parts, self.differs(src, part_gone));
        Var { parts, ..made }
    }

    /// A product, or one that is added to `acc`; none if shapes differ.
    pub(super) fn product(&self, a: &Var, b: &Var, turned: bool, acc: Option<&Var>) -> Option<Var> {
        let (inner, columns) = if turned { (b.columns, b.rows) } else { (b.rows, b.columns) };
        if a.columns != inner || acc.is_some_and(|acc| (acc.rows, acc.columns) != (a.rows, columns)) {
            return None;
        }
        let (b_outer, b_inner) = if turned { (ROWS, COLUMNS) } else { (COLUMNS, ROWS) };
        let inner_parts = || {
            let mut axes = self.differs(a, COLUMNS);
            for more in [self.differs(b, b_inner), self.owned(a), self.owned(b)] {
                join(&mut axes, more);
            }
            axes
        };
        let whole = acc.filter(|acc| acc.free).map(|acc| self.split(acc, inner_parts()));
        let acc = whole.as_ref().or(acc);
        let mut made = Var::of(self, [a.rows, columns], &mut |tile, row, column| {
            let (mut sum, mut gone) = (0u64, None);
            for at in 0..inner {
                let right = if turned { b.at(tile, column, at) } else { b.at(tile, at, column) };
                match (a.at(tile, row, at), right) {
                    (Cell::Has(a), Cell::Has(b)) => sum = sum.wrapping_add(a.wrapping_mul(b)),
                    (left, right) => {
                        let why = |cell, outer, inner, result| match cell {
                            Cell::Gone(why) if why & outer != 0 => Some(result),
                            Cell::Gone(why) if why == inner => None,
                            Cell::Gone(_) => Some(0),
                            Cell::Has(_) => None,
                        };
                        let both = [why(left, ROWS, COLUMNS, ROWS), why(right, b_outer, b_inner, COLUMNS)];
                        both.into_iter().flatten().for_each(|why| gone = Some(gone.unwrap_or(0) | why));
                    }
                }
            }
            match acc.map(|acc| acc.at(tile, row, column)) {
                Some(Cell::Has(value)) => sum = sum.wrapping_add(value),
                Some(Cell::Gone(why)) => gone = Some(gone.unwrap_or(0) | why),
                None => {}
            }
            gone.map_or(Cell::Has(sum), Cell::Gone)
        });
        [a.parts, b.parts, self.differs(a, COLUMNS), self.differs(b, b_inner)]
            .into_iter()
            .chain(acc.map(|acc| acc.parts))
            .for_each(|parts| join(&mut made.parts, parts));
        if let Some(acc) = acc {
            self.keep(&mut made, acc);
        }
        Some(made)
    }

    /// What a variable has from a place on, at most so many rows and columns.
    pub(super) fn extract(&self, src: &Var, [row, column]: [usize; 2], most: [usize; 2]) -> Option<Var> {
        let (rows, columns) = (src.rows.checked_sub(row)?, src.columns.checked_sub(column)?);
        let shape = [rows.min(most[0]), columns.min(most[1])];
        let made = Var::of(self, shape, &mut |tile, r, c| src.at(tile, row + r, column + c));
        (shape[0] > 0 && shape[1] > 0).then_some(Var { parts: src.parts, ..made })
    }

    /// A variable with another one in it from a place on.
    pub(super) fn insert(&self, old: &Var, src: &Var, [row, column]: [usize; 2]) -> Option<Var> {
        if row + src.rows > old.rows || column + src.columns > old.columns {
            return None;
        }
        let mut made = Var::of(self, [old.rows, old.columns], &mut |tile, r, c| {
            let inside = r.checked_sub(row).zip(c.checked_sub(column));
            let inside = inside.filter(|(r, c)| *r < src.rows && *c < src.columns);
            inside.map_or_else(|| old.at(tile, r, c), |(r, c)| src.at(tile, r, c))
        });
        made.parts = old.parts;
        join(&mut made.parts, src.parts);
        Some(made)
    }
}

fn join(parts: &mut [bool; 2], more: [bool; 2]) {
    (0..2).for_each(|axis| parts[axis] |= more[axis]);
}
