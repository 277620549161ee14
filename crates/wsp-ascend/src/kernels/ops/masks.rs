//! Elements that become a value by their place.

use crate::kernels::recipe::{Lack, Recipe, input, out, text};
use crate::kernels::view::{CElem, Valid, View};
use wsp_ir::{Expr, ScalarTy};
use wsp_tile::Tile;

/// A tile that is changed, as rows of `float`; its own view, and whether its rows are columns.
struct Changed {
    view: View,
    own: View,
    turned: bool,
}

fn begin(r: &mut Recipe<'_>, tile: &Tile) -> Result<Changed, Lack> {
    let own = r.tile(tile)?;
    let view = r.floats(tile)?;
    let turned = own.is_column();
    Ok(Changed { view: view.as_row(), own: own.as_row(), turned })
}

fn end(r: &mut Recipe<'_>, changed: &Changed) {
    if changed.own.elem != CElem::F32 {
        r.convert(&changed.own, &changed.view, "CAST_RINT");
    }
}

/// Keeps elements whose number compares with a bound; the others become the value.
fn keep(r: &mut Recipe<'_>, tile: &View, numbers: &View, (mode, bound): (&str, &str), value: &str) {
    let mask = r.mask(tile);
    r.call("TCMPS", [out(&mask), input(numbers), text(bound), text(format!("CmpMode::{mode}"))]);
    r.select_or_number(tile, &mask, tile, value);
}

/// A value of a tile's own kind of numbers.
fn float(r: &Recipe<'_>, e: &Expr) -> String {
    r.scalars.as_type(e, ScalarTy::F32)
}

/// The number of each element's column.
fn columns(r: &mut Recipe<'_>, like: &View) -> View {
    let row = r.counting_row(like.cols).with_valid(Valid::Known(1), like.valid[1].clone());
    r.row_as_tile(&row, like)
}

/// The numbers of rows, as a column.
fn rows(r: &mut Recipe<'_>, like: &View) -> View {
    r.counting_row(like.rows).as_column().with_valid(like.valid[0].clone(), Valid::Known(1))
}

/// Elements from a row or a column on.
pub(in crate::kernels) fn ends(
    r: &mut Recipe<'_>,
    tile: &Tile,
    last_row: Option<&Expr>,
    last_col: Option<&Expr>,
    value: &Expr,
) -> Result<(), Lack> {
    let changed = begin(r, tile)?;
    let value = float(r, value);
    let (last_row, last_col) = if changed.turned { (last_col, last_row) } else { (last_row, last_col) };
    if let Some(bound) = last_col {
        let numbers = columns(r, &changed.view);
        let bound = float(r, bound);
        keep(r, &changed.view, &numbers, ("LT", &bound), &value);
    }
    if let Some(bound) = last_row {
        let numbers = rows(r, &changed.view);
        let cols = changed.view.valid[1].clone();
        let numbers = r.column_as_tile(&numbers, changed.view.cols, &cols);
        let bound = float(r, bound);
        keep(r, &changed.view, &numbers, ("LT", &bound), &value);
    }
    end(r, &changed);
    Ok(())
}

/// The number of each element's column, less that of its row, which is first divided by `group` where there is one.
fn differences(r: &mut Recipe<'_>, changed: &Changed, group: Option<&str>) -> View {
    let like = &changed.view;
    let numbers = columns(r, like);
    if changed.turned {
        // A column of the program as a row: the numbers are those of rows, and all columns are 0.
        if let Some(group) = group {
            divided(r, &numbers, group);
        }
        r.with_number("TMULS", &numbers, &numbers, -1.0);
        return numbers;
    }
    if like.rows > 1 {
        let row = rows(r, like);
        if let Some(group) = group {
            divided(r, &row.as_row(), group);
        }
        r.with_column("TROWEXPANDSUB", &numbers, &numbers, &row);
    }
    numbers
}

/// Whole parts of quotients: the quotient of whole numbers below 2²⁴ does not reach the next one by rounding.
fn divided(r: &mut Recipe<'_>, numbers: &View, by: &str) {
    r.call("TDIVS", [out(numbers), input(numbers), text(by)]);
    r.whole_part(numbers);
}

/// Elements from a column on that moves by 1 with every row.
pub(in crate::kernels) fn causal(
    r: &mut Recipe<'_>,
    tile: &Tile,
    cols: &Expr,
    value: &Expr,
) -> Result<(), Lack> {
    let changed = begin(r, tile)?;
    let numbers = differences(r, &changed, None);
    let (cols, value) = (float(r, cols), float(r, value));
    keep(r, &changed.view, &numbers, ("LT", &cols), &value);
    end(r, &changed);
    Ok(())
}

/// Elements outside of a band that moves by 1 with every `group` rows.
pub(in crate::kernels) fn band(
    r: &mut Recipe<'_>,
    tile: &Tile,
    [first, last]: [&Expr; 2],
    group: &Expr,
    value: &Expr,
) -> Result<(), Lack> {
    let changed = begin(r, tile)?;
    let group = format!("static_cast<float>(larger({}, 1u))", r.scalars.expr(group));
    let numbers = differences(r, &changed, Some(&group));
    let [first, last, value] = [first, last, value].map(|e| float(r, e));
    keep(r, &changed.view, &numbers, ("GE", &first), &value);
    keep(r, &changed.view, &numbers, ("LT", &last), &value);
    end(r, &changed);
    Ok(())
}
