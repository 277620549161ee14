//! Lists of the largest values of rows.
//!
//! What a list holds and what comes in are candidates, one in each row of transposed tiles, so that rows of the program are columns.
//! Each round takes the largest candidate of every column; of equal ones that with the lowest index, of those the first. It leaves
//! the smallest value and the largest index behind, so it is taken again by no column that has another.

use crate::kernels::recipe::{Lack, Recipe, input, number, out, text};
use crate::kernels::view::{CElem, Valid, View};
use wsp_ir::{Expr, ScalarTy};
use wsp_tile::Tile;

const SMALLEST: f64 = f64::NEG_INFINITY;
const LARGEST: f64 = f64::INFINITY;

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
    let held = list.valid[1].clone();
    let fresh = if src.is_column() { Valid::Known(1) } else { src.valid[1].clone() };
    let rows = src.valid[0].clone();
    let room = [values, indices].map(|tile| r.program.buffer(tile.buffer).cols);
    let room = room[0].min(room[1]);
    let (most_held, most_fresh) = (list_columns(&list), if src.is_column() { 1 } else { src.cols });
    let width = if src.is_column() { src.rows } else { src.rows.max(list.rows) };
    let count = Valid::Text(format!("({} + {})", held.text(), fresh.text()));
    let tile = |r: &mut Recipe<'_>| {
        r.scratch(CElem::F32, most_held + most_fresh, width).with_valid(count.clone(), rows.clone())
    };
    let [candidates, places, order, equal, chosen] = [(); 5].map(|()| tile(r));
    // What is held comes first.
    if held != Valid::Known(0) {
        r.when(format!("{} > 0u", held.text()), |r| {
            for (to, list) in [(&candidates, &list), (&places, &numbers)] {
                let list = list.with_valid(rows.clone(), held.clone());
                turned_into(r, to, "0u", most_held, &list);
            }
        });
    }
    turned_into(r, &candidates, &held.text(), most_fresh, &src);
    let first = r.scalars.as_type(first, ScalarTy::F32);
    r.looped("c", "0u", &fresh.text(), |r| {
        let row = from_row(&places, &format!("{} + c", held.text()), Valid::Known(1));
        r.call("TEXPANDS", [out(&row), text(format!("{first} + static_cast<float>(c)"))]);
    });
    r.looped("c", "0u", &count.text(), |r| {
        let row = from_row(&order, "c", Valid::Known(1));
        r.call("TEXPANDS", [out(&row), text("static_cast<float>(c)")]);
    });
    // NaN counts as the smallest value.
    let mask = r.mask(&candidates);
    r.call("TCMP", [out(&mask), input(&candidates), input(&candidates), text("CmpMode::EQ")]);
    r.select_or_number(&candidates, &mask, &candidates, crate::kernels::scalars::Scalars::float(SMALLEST));
    let row = |r: &mut Recipe<'_>| r.scratch(CElem::F32, 1, width).with_valid(Valid::Known(1), rows.clone());
    let [best, at, which] = [(); 3].map(|()| row(r));
    let results = [(); 2].map(|()| r.scratch(CElem::F32, room, width));
    let kept = format!("smaller({}, {room}u)", count.text());
    let tmp = [r.scratch(CElem::F32, 1, 16), r.scratch(CElem::F32, 1, 16)];
    let among = |r: &mut Recipe<'_>, what: &View, of: &View, row: &View| {
        // `equal` is a tile of numbers of which the least of each column is taken.
        r.unary("TCOLEXPAND", &chosen, row);
        r.call("TCMP", [out(&mask), input(what), input(&chosen), text("CmpMode::EQ")]);
        r.call("TSELS", [out(&equal), input(&mask), input(of), out(&tmp[0]), number(LARGEST)]);
    };
    r.looped("i", "0u", &kept, |r| {
        r.unary("TCOLMAX", &best, &candidates);
        among(r, &candidates, &places, &best);
        r.unary("TCOLMIN", &at, &equal);
        among(r, &equal, &order, &at);
        r.unary("TCOLMIN", &which, &equal);
        for (result, row) in results.iter().zip([&best, &at]) {
            let to = from_row(result, "i", Valid::Known(1)).with_valid(Valid::Known(1), rows.clone());
            r.copy(&to, row);
        }
        // All but the one that was taken stay as they are.
        r.unary("TCOLEXPAND", &chosen, &which);
        r.call("TCMP", [out(&mask), input(&order), input(&chosen), text("CmpMode::NE")]);
        r.call("TSELS", [out(&candidates), input(&mask), input(&candidates), out(&tmp[0]), number(SMALLEST)]);
        r.call("TSELS", [out(&places), input(&mask), input(&places), out(&tmp[1]), number(LARGEST)]);
    });
    for (to, result) in [&list, &numbers].into_iter().zip(&results) {
        let from = result.with_valid(Valid::Text(kept.clone()), rows.clone());
        if to.is_column() {
            let row = from.with_valid(Valid::Known(1), rows.clone());
            r.copy(&to.with_valid(rows.clone(), Valid::Known(1)).as_row(), &View { rows: 1, ..row });
        } else {
            let to = to.with_valid(rows.clone(), Valid::Text(kept.clone()));
            super::shapes::transposed(r, &to, &from);
        }
    }
    Ok(())
}

/// Columns that a list has room for.
fn list_columns(list: &View) -> u32 {
    if list.is_column() { 1 } else { list.cols }
}
