//! Values of rows and of columns.

use crate::kernels::recipe::{Form, Lack, Recipe, Step, input, out, text};
use crate::kernels::view::{CElem, Valid, View, padded};
use wsp_core::LocalId;
use wsp_ir::ReduceOp;
use wsp_tile::Tile;

/// A column of `float` without gaps, in a view as instructions want it: of whole blocks of 32 bytes.
pub(in crate::kernels) fn packed_column(r: &mut Recipe<'_>, tile: &Tile) -> Result<View, Lack> {
    let view = r.floats(tile)?;
    if view.is_column() {
        return Ok(view);
    }
    if view.rows == 1 {
        let [rows, cols] = view.valid.clone();
        // One element: its row is a column of a whole block.
        return Ok(View {
            valid: [rows, cols],
            ..view.with_valid(Valid::Known(1), Valid::Known(1)).as_column()
        });
    }
    let column = r.scratch(CElem::F32, 1, view.rows).as_column();
    let column = column.with_valid(view.valid[0].clone(), Valid::Known(1));
    r.row_statistic("TROWMAX", &column, &view);
    Ok(column)
}

/// A column of a result: its own tile, or a scratch column that [`column_done`] rounds.
fn column_of(r: &mut Recipe<'_>, dst: &Tile) -> Result<(View, View), Lack> {
    let own = r.tile(dst)?;
    if !matches!(own.elem, CElem::F32 | CElem::F16 | CElem::Bf16) {
        return Err(Lack::NotYet("arithmetic on integers"));
    }
    if own.is_column() && own.elem == CElem::F32 {
        return Ok((own.clone(), own));
    }
    let rows = own.valid[0].clone();
    if own.rows == 1 && own.elem == CElem::F32 {
        let column = View { cols: padded(own.cols, 8), ..own.clone() }.as_column();
        return Ok((column.with_valid(Valid::Known(1), Valid::Known(1)), own));
    }
    let column = r.scratch(CElem::F32, 1, own.rows).as_column().with_valid(rows, Valid::Known(1));
    Ok((column, own))
}

fn column_done(r: &mut Recipe<'_>, column: &View, own: &View) {
    if column.slot == own.slot {
        return;
    }
    if own.is_column() || own.rows == 1 {
        r.convert(own, column, "CAST_RINT");
        return;
    }
    let [rows, cols] = own.valid.clone();
    let full = r.column_as_tile(column, own.cols, &cols).with_valid(rows, cols);
    if own.elem == CElem::F32 { r.copy(own, &full) } else { r.convert(own, &full, "CAST_RINT") }
}

/// One instruction for the values of rows.
pub(in crate::kernels) fn row(r: &mut Recipe<'_>, name: &str, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    row_then(r, name, dst, src, |_, _, _| ())
}

/// The mean of every row.
pub(in crate::kernels) fn row_mean(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    row_then(r, "TROWSUM", dst, src, |r, column, count| {
        let row = column.as_row();
        r.call("TDIVS", [out(&row), input(&row), text(count.float())]);
    })
}

fn row_then(
    r: &mut Recipe<'_>,
    name: &str,
    dst: &Tile,
    src: &Tile,
    then: impl FnOnce(&mut Recipe<'_>, &View, &Valid),
) -> Result<(), Lack> {
    let src = r.floats(src)?;
    let (column, own) = column_of(r, dst)?;
    if src.is_column() {
        // The value of one element is that element.
        r.copy(&column.as_row(), &src.as_row());
    } else {
        r.row_statistic(name, &column, &src);
    }
    then(r, &column, &src.valid[1]);
    column_done(r, &column, &own);
    Ok(())
}

/// Where every row has its largest or smallest element.
pub(in crate::kernels) fn row_place(
    r: &mut Recipe<'_>,
    name: &str,
    dst: &Tile,
    src: &Tile,
) -> Result<(), Lack> {
    let src = r.floats(src)?;
    let (column, own) = column_of(r, dst)?;
    if src.is_column() {
        r.call("TEXPANDS", [out(&column.as_row()), text("0.0f")]);
    } else {
        let places = r.like(&column, CElem::I32);
        r.row_statistic(name, &places, &src);
        r.convert(&column, &places, "CAST_RINT");
    }
    column_done(r, &column, &own);
    Ok(())
}

/// One instruction for the values of columns.
pub(in crate::kernels) fn col(r: &mut Recipe<'_>, name: &str, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let src = r.read(src, Form::Rows)?;
    let to = r.write(dst, Form::Rows)?;
    r.unary(name, &to.view, &src);
    r.done(to);
    Ok(())
}

/// The mean of every column.
pub(in crate::kernels) fn col_mean(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let src = r.read(src, Form::Rows)?;
    let to = r.write(dst, Form::Rows)?;
    r.unary("TCOLSUM", &to.view, &src);
    r.call("TDIVS", [out(&to.view), input(&to.view), text(src.valid[0].float())]);
    r.done(to);
    Ok(())
}

/// Where every column has its largest or smallest element.
pub(in crate::kernels) fn col_place(
    r: &mut Recipe<'_>,
    name: &str,
    dst: &Tile,
    src: &Tile,
) -> Result<(), Lack> {
    let src = r.read(src, Form::Rows)?;
    let to = r.write(dst, Form::Rows)?;
    let places = r.like(&to.view, CElem::I32);
    let tmp = r.like(&src, CElem::F32);
    r.call(name, [out(&places), input(&src), out(&tmp)]);
    r.convert(&to.view, &places, "CAST_RINT");
    r.done(to);
    Ok(())
}

/// The largest element or the sum of a tile of one row becomes a variable.
pub(in crate::kernels) fn to_scalar(
    r: &mut Recipe<'_>,
    local: LocalId,
    op: ReduceOp,
    src: &Tile,
) -> Result<(), Lack> {
    let name = match op {
        ReduceOp::Max => "TROWMAX",
        ReduceOp::Sum => "TROWSUM",
        _ => return Err(Lack::NotYet("a tile as this one number")),
    };
    let src = r.floats(src)?;
    let column = r.scratch(CElem::F32, 1, 8).as_column().with_valid(Valid::Known(1), Valid::Known(1));
    let row = if src.is_column() { src.with_valid(Valid::Known(1), Valid::Known(1)).as_row() } else { src };
    r.row_statistic(name, &column, &row);
    r.steps.push(Step::Read(r.scalars.local(local), column.as_row()));
    Ok(())
}
