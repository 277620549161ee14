//! Elements in other places.

use crate::kernels::recipe::{Form, Lack, Recipe, input, number, out, text};
use crate::kernels::view::{CElem, FRACTAL, Valid, View, padded};
use wsp_ir::{BinOp, Expr, ExprKind, ScalarTy};
use wsp_tile::Tile;

/// `dst[i, j] = src[j, i]` of rows.
pub(super) fn transposed(r: &mut Recipe<'_>, dst: &View, src: &View) {
    let tmp = r.scratch(src.elem, src.cols, padded(src.rows, FRACTAL));
    let tmp = tmp.with_valid(src.valid[1].clone(), src.valid[0].clone());
    r.call("TTRANS", [out(dst), input(src), out(&tmp)]);
}

/// Rows and columns exchanged.
pub(in crate::kernels) fn transpose(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let from = r.floats(src)?;
    let own = r.tile(dst)?;
    let lies_flat = |view: &View| view.is_column() || view.rows == 1;
    if lies_flat(&from) && lies_flat(&own) {
        let to = r.write(dst, Form::Flat)?;
        let valid = to.view.valid.clone();
        let from = from.as_row().with_valid(valid[0].clone(), valid[1].clone());
        r.copy(&to.view, &from);
        r.done(to);
        return Ok(());
    }
    let from = r.read(src, Form::Rows)?;
    let to = r.write(dst, Form::Rows)?;
    if to.view.slot == from.slot {
        let whole = r.scratch(CElem::F32, from.cols, from.rows);
        let whole = whole.with_valid(from.valid[1].clone(), from.valid[0].clone());
        transposed(r, &whole, &from);
        r.copy(&to.view, &whole);
    } else {
        transposed(r, &to.view, &from);
    }
    r.done(to);
    Ok(())
}

/// Sums from the first element of each row on, in the order of the elements: row by row of the transposed tile.
pub(in crate::kernels) fn cumsum(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    if r.tile(src)?.is_column() {
        return super::elementwise::copy(r, dst, src);
    }
    let from = r.read(src, Form::Rows)?;
    let turned = r.scratch(CElem::F32, from.cols, from.rows);
    let [rows, cols] = from.valid.clone();
    let turned = turned.with_valid(cols.clone(), rows.clone());
    transposed(r, &turned, &from);
    let row_bytes = turned.cols * CElem::F32.size();
    let at = |place: &str| View {
        rows: 1,
        valid: [Valid::Known(1), rows.clone()],
        offset: Some(format!("{place} * {row_bytes}u")),
        ..turned.clone()
    };
    let (before, here) = (at("(c - 1u)"), at("c"));
    r.looped("c", "1u", &cols.text(), |r| r.binary("TADD", &here, &before, &here));
    let to = r.write(dst, Form::Rows)?;
    transposed(r, &to.view, &turned);
    r.done(to);
    Ok(())
}

/// Numbers of columns, from a number on.
pub(in crate::kernels) fn iota(r: &mut Recipe<'_>, dst: &Tile, start: &Expr) -> Result<(), Lack> {
    let form = r.form(&[dst]);
    let to = r.write(dst, form)?;
    if form == Form::Flat {
        let start = r.scalars.as_type(start, ScalarTy::F32);
        r.call("TEXPANDS", [out(&to.view), text(start)]);
    } else {
        let row = r.scratch(CElem::I32, 1, to.view.cols);
        let start = r.scalars.expr(start);
        r.call(format!("TCI<{}, int32_t, 0>", row.c_type()), [out(&row), text(start)]);
        let cols = to.view.valid[1].clone();
        let row = row.with_valid(Valid::Known(1), cols.clone());
        if to.view.rows == 1 {
            r.convert(&to.view, &row, "CAST_RINT");
        } else {
            let floats = r.scratch(CElem::F32, 1, to.view.cols).with_valid(Valid::Known(1), cols);
            r.convert(&floats, &row, "CAST_RINT");
            r.unary("TCOLEXPAND", &to.view, &floats);
        }
    }
    r.done(to);
    Ok(())
}

/// Places in the storage of a tile, one per element of a result: those of elements that are not valid are 0, where there surely is an
/// element.
struct Places {
    /// All of them.
    whole: View,
    /// Those of valid elements.
    valid: View,
}

fn places(r: &mut Recipe<'_>, like: &View) -> Places {
    let whole = r.scratch(CElem::F32, like.rows, like.cols);
    r.call("TEXPANDS", [out(&whole), number(0.0)]);
    let valid = whole.with_valid(like.valid[0].clone(), like.valid[1].clone());
    Places { whole, valid }
}

impl Places {
    /// Adds to each place the number of its column.
    fn add_columns(&self, r: &mut Recipe<'_>, from: &str) {
        let row = r.counting_row(self.valid.cols).with_valid(Valid::Known(1), self.valid.valid[1].clone());
        r.call("TADDS", [out(&row), input(&row), text(from)]);
        r.binary("TCOLEXPANDADD", &self.valid, &self.valid, &row);
    }

    /// Adds to each place `(from + row) · factor`.
    fn add_rows(&self, r: &mut Recipe<'_>, from: &str, factor: &str) {
        let column = r.counting_row(self.valid.rows).as_column();
        let column = column.with_valid(self.valid.valid[0].clone(), Valid::Known(1));
        let row = column.as_row();
        r.call("TADDS", [out(&row), input(&row), text(from)]);
        r.call("TMULS", [out(&row), input(&row), text(factor)]);
        r.with_column("TROWEXPANDADD", &self.valid, &self.valid, &column);
    }

    /// The elements of `src` at these places.
    fn taken(&self, r: &mut Recipe<'_>, src: &View) -> View {
        let numbers = r.like(&self.whole, CElem::I32);
        r.convert(&numbers, &self.whole, "CAST_RINT");
        let tmp = r.like(&self.whole, CElem::I32);
        let found = r.like(&self.whole, CElem::F32);
        let whole = src.with_valid(Valid::Known(src.rows), Valid::Known(src.cols));
        r.call("TGATHER", [out(&found), input(&whole), input(&numbers), out(&tmp)]);
        let [rows, cols] = self.valid.valid.clone();
        found.with_valid(rows, cols)
    }
}

/// A number of `float` for a count.
fn float(n: u32) -> String {
    crate::kernels::scalars::Scalars::float(f64::from(n))
}

/// Elements of the same row, or of the same column, by their number there.
pub(in crate::kernels) fn gather(
    r: &mut Recipe<'_>,
    dst: &Tile,
    src: &Tile,
    indices: &Tile,
    by_row: bool,
) -> Result<(), Lack> {
    let from = r.read(src, Form::Rows)?;
    let indices = r.read(indices, Form::Rows)?;
    let places = places(r, &indices);
    r.copy(&places.valid, &indices);
    if by_row {
        r.with_number("TMULS", &places.valid, &places.valid, f64::from(from.cols));
        places.add_columns(r, "0.0f");
    } else {
        places.add_rows(r, "0.0f", &float(from.cols));
    }
    let found = places.taken(r, &from);
    let to = r.write(dst, Form::Rows)?;
    r.copy(&to.view, &found);
    r.done(to);
    Ok(())
}

/// The same elements, row by row, in other rows: element k of the result is in row k / n of a source of n columns.
pub(in crate::kernels) fn reshape(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let form = if r.tile(dst)?.is_column() { Form::Flat } else { Form::Rows };
    let from = r.floats(src)?.as_row();
    let own = r.tile(dst)?.as_row();
    let places = places(r, &own);
    places.add_columns(r, "0.0f");
    if own.rows > 1 {
        places.add_rows(r, "0.0f", &own.valid[1].float());
    }
    if from.rows > 1 && from.valid[1] != Valid::Known(from.cols) {
        let quotient = r.like(&places.valid, CElem::F32);
        let cols = from.valid[1].float();
        r.call("TDIVS", [out(&quotient), input(&places.valid), text(cols.clone())]);
        r.whole_part(&quotient);
        let gap = format!("{} - {cols}", float(from.cols));
        r.call("TMULS", [out(&quotient), input(&quotient), text(gap)]);
        r.binary("TADD", &places.valid, &places.valid, &quotient);
    }
    let found = places.taken(r, &from);
    let to = r.write(dst, form)?;
    r.copy(&to.view, &found);
    r.done(to);
    Ok(())
}

/// The part of a tile from a row and a column on, with the rows and the valid extents of another: a view of the same bytes, where it
/// begins with a block of 32.
fn part(r: &mut Recipe<'_>, whole: &View, other: &View, row: &Expr, col: &Expr) -> Option<View> {
    if row.ty != ScalarTy::U32 || col.ty != ScalarTy::U32 || !is_multiple(col, whole.elem.per_block()) {
        return None;
    }
    // The view that begins in the last row, at its last block.
    r.with_room(whole, whole.rows + other.rows);
    let (row, size) = (r.scalars.expr(row), whole.elem.size());
    let col = match col.as_const_int() {
        Some(n) => format!("{}u", n * i128::from(size)),
        None => format!("{} * {size}u", r.scalars.expr(col)),
    };
    Some(View {
        rows: other.rows,
        valid: other.valid.clone(),
        offset: Some(format!("{row} * {}u + {col}", whole.cols * size)),
        ..whole.clone()
    })
}

/// Whether a number is a multiple of another, by the way that it is put together.
fn is_multiple(e: &Expr, of: u32) -> bool {
    match &e.kind {
        ExprKind::Binary(BinOp::Mul, a, b) => is_multiple(a, of) || is_multiple(b, of),
        _ => e.as_const_int().is_some_and(|n| n % i128::from(of) == 0),
    }
}

/// What a tile has from a row and a column on.
pub(in crate::kernels) fn extract(
    r: &mut Recipe<'_>,
    dst: &Tile,
    src: &Tile,
    row: &Expr,
    col: &Expr,
) -> Result<(), Lack> {
    let from = r.read(src, Form::Rows)?;
    let to = r.write(dst, Form::Rows)?;
    if let Some(part) = part(r, &from, &to.view, row, col) {
        r.copy(&to.view, &part);
        r.done(to);
        return Ok(());
    }
    let [row, col] = [row, col].map(|e| r.scalars.as_type(e, ScalarTy::F32));
    let places = places(r, &to.view);
    places.add_columns(r, &col);
    places.add_rows(r, &row, &float(from.cols));
    let found = places.taken(r, &from);
    r.copy(&to.view, &found);
    r.done(to);
    Ok(())
}

/// What is valid of one tile in place of a part of another.
pub(in crate::kernels) fn insert(
    r: &mut Recipe<'_>,
    dst: &Tile,
    src: &Tile,
    row: &Expr,
    col: &Expr,
) -> Result<(), Lack> {
    let from = r.read(src, Form::Rows)?;
    let old = r.read(dst, Form::Rows)?;
    if let Some(part) = part(r, &old, &from, row, col) {
        // What would lie outside is left out.
        let starts = [row, col].map(|e| r.scalars.expr(e));
        let fits = [0, 1].map(|dim| {
            let (own, start) = (&old.valid[dim], &starts[dim]);
            (
                format!("{start} < {}", own.text()),
                format!("smaller({}, minus({}, {start}))", from.valid[dim].text(), own.text()),
            )
        });
        let [(some_rows, rows), (some_cols, cols)] = fits;
        let valid = [rows, cols].map(Valid::Text);
        let [from, part] = [&from, &part].map(|view| View { valid: valid.clone(), ..view.clone() });
        r.when(format!("{some_rows} && {some_cols}"), |r| r.copy(&part, &from));
        let to = r.write(dst, Form::Rows)?;
        r.copy(&to.view, &old);
        r.done(to);
        return Ok(());
    }
    let [row, col] = [row, col].map(|e| format!("-{}", r.scalars.as_type(e, ScalarTy::F32)));
    // Places are below 0 of elements that stay.
    let places = places(r, &old);
    let offsets = [(true, &col, 1), (false, &row, 0)].map(|(of_columns, start, dim)| {
        let own = Places { whole: places.whole.clone(), valid: r.like(&places.valid, CElem::F32) };
        r.call("TEXPANDS", [out(&own.valid), number(0.0)]);
        if of_columns {
            own.add_columns(r, start)
        } else {
            own.add_rows(r, start, "1.0f")
        }
        (own.valid, from.valid[dim].float())
    });
    let [(columns, _), (rows, _)] = &offsets;
    r.with_number("TMULS", &places.valid, rows, f64::from(from.cols));
    r.binary("TADD", &places.valid, &places.valid, columns);
    for (numbers, end) in &offsets {
        for (mode, bound) in [("GE", "0.0f"), ("LT", end.as_str())] {
            let mask = r.mask(numbers);
            r.call("TCMPS", [out(&mask), input(numbers), text(bound), text(format!("CmpMode::{mode}"))]);
            r.select_or_number(&places.valid, &mask, &places.valid, "-1.0f");
        }
    }
    let mask = r.mask(&places.valid);
    r.call("TCMPS", [out(&mask), input(&places.valid), number(0.0), text("CmpMode::GE")]);
    r.with_number("TMAXS", &places.valid, &places.valid, 0.0);
    let found = places.taken(r, &from);
    let to = r.write(dst, Form::Rows)?;
    r.select(&to.view, &mask, &found, &old);
    r.done(to);
    Ok(())
}
