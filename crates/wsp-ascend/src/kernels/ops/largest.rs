//! Lists of the largest values of rows.
//!
//! What a list holds and what comes in are candidates. Those of several lists are one in each row of transposed tiles, so that rows of the
//! program are columns; those of one list lie one after another. Each round takes the largest candidate of every list; of equal ones that
//! with the lowest index, of those the first. It leaves the smallest value and the largest index behind, so it is taken again by no list
//! that has another.

use crate::kernels::recipe::{Lack, ROWS_OF_COLUMN, Recipe, input, number, out, text};
use crate::kernels::view::{CElem, Valid, View, padded};
use wsp_ir::{Expr, ScalarTy};
use wsp_tile::Tile;

const SMALLEST: f64 = f64::NEG_INFINITY;
const LARGEST: f64 = f64::INFINITY;

/// Columns of the rows in which the candidates of one list are seen: what an instruction works on at once.
const LANES: u32 = 64;

/// The rows of a transposed tile from a row on.
fn from_row(view: &View, row: &str, rows: Valid) -> View {
    let bytes = view.cols * view.elem.size();
    View {
        rows: 1,
        valid: [rows, view.valid[1].clone()],
        offset: Some(format!("({row}) * {bytes}u")),
        ..view.clone()
    }
}

/// As many rows of a tile from a row on as another has columns, with its elements.
fn turned_into(r: &mut Recipe<'_>, to: &View, row: &str, room: u32, src: &View) {
    let part = from_row(to, row, src.valid[1].clone());
    if src.is_column() {
        let part = part.with_valid(Valid::Known(1), src.valid[0].clone());
        r.copy(&part, &src.as_row());
    } else {
        super::shapes::transposed(r, &View { rows: room, ..part }, src);
    }
}

/// Lists and what comes in, as views of the program's tiles.
struct Lists {
    values: View,
    indices: View,
    src: View,
    /// The index of the first element that comes in, a `float`.
    first: String,
}

impl Lists {
    /// Elements that a row holds: none where there are no rows.
    fn held(&self) -> Valid {
        let [rows, cols] = &self.values.valid;
        match rows {
            Valid::Known(0) => Valid::Known(0),
            Valid::Text(rows) if *cols != Valid::Known(0) => {
                Valid::Text(format!("({rows} > 0u ? {} : 0u)", cols.text()))
            }
            _ => cols.clone(),
        }
    }

    /// Elements of a row that come in.
    fn fresh(&self) -> Valid {
        if self.src.is_column() { Valid::Known(1) } else { self.src.valid[1].clone() }
    }

    /// Rows of the program: lists.
    fn rows(&self) -> Valid {
        self.src.valid[0].clone()
    }

    /// Elements of rows, at most: those of lists, and those that come in.
    fn most(&self) -> [u32; 2] {
        [&self.values, &self.src].map(|view| if view.is_column() { 1 } else { view.cols })
    }

    /// Steps that lists need where they hold something.
    fn when_held<'a>(&self, r: &mut Recipe<'a>, steps: impl FnOnce(&mut Recipe<'a>)) {
        if self.held() != Valid::Known(0) {
            r.when(format!("{} > 0u", self.held().text()), steps);
        }
    }
}

/// Candidates as instructions on elements see them.
struct Candidates {
    values: View,
    /// Their indices.
    places: View,
    /// Which is the first, the second, …
    order: View,
    /// Whether they lie one after another, seen as rows of [`LANES`]: there is one list.
    folded: bool,
}

impl Candidates {
    /// As instructions on columns see one of the tiles.
    fn columns(&self, tile: &View) -> View {
        if !self.folded {
            return tile.clone();
        }
        let rows = tile.cols / LANES;
        View { rows, cols: LANES, valid: [Valid::Known(rows), Valid::Known(LANES)], ..tile.clone() }
    }

    /// `row` becomes the largest or smallest of the candidates of each list.
    fn extreme(&self, r: &mut Recipe<'_>, what: &str, row: &View, tile: &View) {
        r.unary(&format!("TCOL{what}"), row, &self.columns(tile));
        if self.folded {
            let column = r.scratch(CElem::F32, 1, ROWS_OF_COLUMN).as_column();
            let column = column.with_valid(Valid::Known(1), Valid::Known(1));
            r.row_statistic(&format!("TROW{what}"), &column, row);
            let full = r.column_as_tile(&column, LANES, &Valid::Known(LANES));
            r.copy(row, &View { rows: 1, ..full });
        }
    }

    /// A tile of candidates of which each list has its number of `row`.
    fn spread(&self, r: &mut Recipe<'_>, tile: &View, row: &View) {
        r.unary("TCOLEXPAND", &self.columns(tile), row);
    }

    /// The candidates of several lists: each list is a column of transposed tiles.
    fn turned(r: &mut Recipe<'_>, of: &Lists, width: u32) -> Candidates {
        let [most_held, most_fresh] = of.most();
        let (held, fresh, rows) = (of.held(), of.fresh(), of.rows());
        let count = Valid::Text(format!("({} + {})", held.text(), fresh.text()));
        let [values, places, order] = [(); 3].map(|()| {
            r.scratch(CElem::F32, most_held + most_fresh, width).with_valid(count.clone(), rows.clone())
        });
        // What is held comes first.
        of.when_held(r, |r| {
            for (to, list) in [(&values, &of.values), (&places, &of.indices)] {
                let list = list.with_valid(rows.clone(), held.clone());
                turned_into(r, to, "0u", most_held, &list);
            }
        });
        turned_into(r, &values, &held.text(), most_fresh, &of.src);
        r.looped("c", "0u", &fresh.text(), |r| {
            let row = from_row(&places, &format!("{} + c", held.text()), Valid::Known(1));
            r.call("TEXPANDS", [out(&row), text(format!("{} + static_cast<float>(c)", of.first))]);
        });
        r.looped("c", "0u", &count.text(), |r| {
            let row = from_row(&order, "c", Valid::Known(1));
            r.call("TEXPANDS", [out(&row), text("static_cast<float>(c)")]);
        });
        Candidates { values, places, order, folded: false }
    }

    /// The candidates of one list: what is held, then what comes in, each from a block of 32 bytes on. Places between them are the
    /// last to be taken.
    fn folded(r: &mut Recipe<'_>, of: &Lists) -> Candidates {
        let block = CElem::F32.per_block();
        let [most_held, most_fresh] = of.most().map(|most| padded(most, block));
        let room = padded(most_held + most_fresh, LANES);
        let order = r.counting_row(room);
        let [values, places] = [(); 2].map(|()| r.scratch(CElem::F32, 1, room));
        for (tile, last) in [(&values, SMALLEST), (&places, LARGEST)] {
            r.call("TEXPANDS", [out(tile), number(last)]);
        }
        let part = |tile: &View, from: u32, cols: u32, valid: Valid| View {
            cols,
            valid: [of.rows(), valid],
            offset: (from > 0).then(|| format!("{}u", from * CElem::F32.size())),
            ..tile.clone()
        };
        of.when_held(r, |r| {
            for (to, list) in [(&values, &of.values), (&places, &of.indices)] {
                let list = list.with_valid(of.rows(), of.held());
                r.copy(&part(to, 0, most_held, of.held()), &list);
            }
        });
        let src = of.src.with_valid(of.rows(), of.fresh());
        r.copy(&part(&values, most_held, most_fresh, of.fresh()), &src);
        let numbers = part(&order, 0, most_fresh, of.fresh());
        let fresh = part(&places, most_held, most_fresh, of.fresh());
        r.call("TADDS", [out(&fresh), input(&numbers), text(of.first.clone())]);
        Candidates { values, places, order, folded: true }
    }
}

/// Keeps the largest of what lists hold and of what a tile has.
pub(in crate::kernels) fn keep(
    r: &mut Recipe<'_>,
    values: &Tile,
    indices: &Tile,
    src: &Tile,
    first: &Expr,
) -> Result<(), Lack> {
    let [list, numbers] = [values, indices].map(|tile| r.tile(tile));
    let (list, numbers) = (list?, numbers?);
    if list.elem != CElem::F32 || numbers.elem != CElem::F32 {
        return Err(Lack::NotYet("a list of largest values that are no `float`"));
    }
    let src = r.floats(src)?;
    let first = r.scalars.as_type(first, ScalarTy::F32);
    let room = [values, indices].map(|tile| r.program.buffer(tile.buffer).cols);
    let room = room[0].min(room[1]);
    let of = Lists { values: list, indices: numbers, src, first };
    let one = of.src.rows == 1 && of.values.rows == 1 && of.indices.rows == 1;
    let height = if of.src.is_column() { of.src.rows } else { of.src.rows.max(of.values.rows) };
    let (candidates, width, rows) = if one {
        (Candidates::folded(r, &of), LANES, Valid::Known(LANES))
    } else {
        (Candidates::turned(r, &of, height), height, of.rows())
    };
    let Candidates { values, places, order, .. } = &candidates;
    let [equal, chosen] = [(); 2].map(|()| r.like(values, CElem::F32));
    // NaN counts as the smallest value.
    let mask = r.mask(values);
    r.call("TCMP", [out(&mask), input(values), input(values), text("CmpMode::EQ")]);
    r.select_or_number(values, &mask, values, crate::kernels::scalars::Scalars::float(SMALLEST));
    let row = |r: &mut Recipe<'_>| r.scratch(CElem::F32, 1, width).with_valid(Valid::Known(1), rows.clone());
    let [best, at, which] = [(); 3].map(|()| row(r));
    let results = [(); 2].map(|()| r.scratch(CElem::F32, room, height));
    let kept = format!("smaller({} + {}, {room}u)", of.held().text(), of.fresh().text());
    let tmp = [r.scratch(CElem::F32, 1, 16), r.scratch(CElem::F32, 1, 16)];
    let among = |r: &mut Recipe<'_>, what: &View, numbers: &View, row: &View| {
        // `equal` is a tile of numbers of which the least of each list is taken.
        candidates.spread(r, &chosen, row);
        r.call("TCMP", [out(&mask), input(what), input(&chosen), text("CmpMode::EQ")]);
        r.call("TSELS", [out(&equal), input(&mask), input(numbers), out(&tmp[0]), number(LARGEST)]);
    };
    r.looped("i", "0u", &kept, |r| {
        candidates.extreme(r, "MAX", &best, values);
        among(r, values, places, &best);
        candidates.extreme(r, "MIN", &at, &equal);
        among(r, &equal, order, &at);
        candidates.extreme(r, "MIN", &which, &equal);
        for (result, row) in results.iter().zip([&best, &at]) {
            let to = from_row(result, "i", Valid::Known(1)).with_valid(Valid::Known(1), of.rows());
            r.copy(&to, &row.with_valid(Valid::Known(1), of.rows()));
        }
        // All but the one that was taken stay as they are.
        candidates.spread(r, &chosen, &which);
        r.call("TCMP", [out(&mask), input(order), input(&chosen), text("CmpMode::NE")]);
        r.call("TSELS", [out(values), input(&mask), input(values), out(&tmp[0]), number(SMALLEST)]);
        r.call("TSELS", [out(places), input(&mask), input(places), out(&tmp[1]), number(LARGEST)]);
    });
    for (to, result) in [&of.values, &of.indices].into_iter().zip(&results) {
        let from = result.with_valid(Valid::Text(kept.clone()), of.rows());
        if to.is_column() {
            let row = from.with_valid(Valid::Known(1), of.rows());
            r.copy(&to.with_valid(of.rows(), Valid::Known(1)).as_row(), &View { rows: 1, ..row });
        } else {
            let to = to.with_valid(of.rows(), Valid::Text(kept.clone()));
            super::shapes::transposed(r, &to, &from);
        }
    }
    Ok(())
}
