//! Operations on elements by themselves.

use crate::kernels::recipe::{Form, Lack, Recipe, input, out, text};
use crate::kernels::view::CElem;
use wsp_ir::{Expr, Operand, ScalarTy};
use wsp_tile::Tile;

/// One instruction.
pub(in crate::kernels) fn unary(r: &mut Recipe<'_>, name: &str, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let form = r.form(&[dst, src]);
    let src = r.read(src, form)?;
    let to = r.write(dst, form)?;
    r.unary(name, &to.view, &src);
    r.done(to);
    Ok(())
}

/// The same values, rounded to the element type of the destination.
pub(in crate::kernels) fn copy(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    if r.turned.is_boxed(dst.buffer) {
        return super::cube::into_boxes(r, dst, src);
    }
    let form = r.form(&[dst, src]);
    let (own, from) = (r.tile(dst)?, r.tile(src)?);
    let plain = form == Form::Flat || !(own.is_column() || from.is_column());
    if plain && own.elem != from.elem && converts(own.elem, from.elem) {
        let mode = if own.elem == CElem::F32 && from.elem != CElem::I32 { "CAST_NONE" } else { "CAST_RINT" };
        r.convert(&own, &from, mode);
        return Ok(());
    }
    if own.is_column() && form == Form::Rows && own.elem == CElem::F32 && from.elem == CElem::F32 {
        // The largest of one element.
        r.row_statistic("TROWMAX", &own, &from);
        return Ok(());
    }
    let is_real = |elem| matches!(elem, CElem::F32 | CElem::F16 | CElem::Bf16);
    let all_real = is_real(own.elem) && is_real(from.elem);
    if !plain && !all_real {
        return Err(Lack::NotYet("a column of whole numbers whose elements are apart in its tensor"));
    }
    let to = r.write(dst, form)?;
    let src = r.read(src, form)?;
    r.copy(&to.view, &src);
    r.done(to);
    Ok(())
}

/// Whether one conversion leads from one type to another.
fn converts(to: CElem, from: CElem) -> bool {
    matches!(
        (to, from),
        (CElem::F32, CElem::F16 | CElem::Bf16 | CElem::I32) | (CElem::F16 | CElem::Bf16, CElem::F32)
    )
}

/// A whole number near each element.
pub(in crate::kernels) fn whole(r: &mut Recipe<'_>, mode: &str, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let form = r.form(&[dst, src]);
    let src = r.read(src, form)?;
    let to = r.write(dst, form)?;
    r.convert(&to.view, &src, mode);
    r.done(to);
    Ok(())
}

/// Every element becomes a value.
pub(in crate::kernels) fn fill(r: &mut Recipe<'_>, dst: &Tile, value: &Expr) -> Result<(), Lack> {
    let form = r.form(&[dst]);
    let to = r.write(dst, form)?;
    let value = r.scalars.as_type(value, ScalarTy::F32);
    r.call("TEXPANDS", [out(&to.view), text(value)]);
    r.done(to);
    Ok(())
}

/// `min(max(x, low), high)`
pub(in crate::kernels) fn clamp(
    r: &mut Recipe<'_>,
    dst: &Tile,
    src: &Tile,
    low: &Expr,
    high: &Expr,
) -> Result<(), Lack> {
    let form = r.form(&[dst, src]);
    let src = r.read(src, form)?;
    let to = r.write(dst, form)?;
    let [low, high] = [low, high].map(|value| r.scalars.as_type(value, ScalarTy::F32));
    r.call("TMAXS", [out(&to.view), input(&src), text(low)]);
    r.call("TMINS", [out(&to.view), input(&to.view), text(high)]);
    r.done(to);
    Ok(())
}

/// Arithmetic of two operands; `word` is what the names of its instructions end with.
pub(in crate::kernels) fn binary(
    r: &mut Recipe<'_>,
    word: &str,
    dst: &Tile,
    a: &Tile,
    b: &Operand<Tile, Expr>,
) -> Result<(), Lack> {
    match b {
        Operand::Tile(b) => {
            let form = r.form(&[dst, a, b]);
            let [a, b] = [r.read(a, form)?, r.read(b, form)?];
            let to = r.write(dst, form)?;
            r.binary(&format!("T{word}"), &to.view, &a, &b);
            r.done(to);
        }
        Operand::Scalar(value) => {
            let form = r.form(&[dst, a]);
            let a = r.read(a, form)?;
            let to = r.write(dst, form)?;
            let value = r.scalars.as_type(value, ScalarTy::F32);
            r.call(format!("T{word}S"), [out(&to.view), input(&a), text(value)]);
            r.done(to);
        }
        Operand::Column(column) => {
            let form = r.form(&[dst, a, column]);
            let a = r.read(a, form)?;
            if form == Form::Flat {
                let column = r.read(column, form)?;
                let to = r.write(dst, form)?;
                r.binary(&format!("T{word}"), &to.view, &a, &column);
                r.done(to);
                return Ok(());
            }
            let column = super::reductions::packed_column(r, column)?;
            let to = r.write(dst, form)?;
            let column = r.apart(column, &to.view);
            r.with_column(&format!("TROWEXPAND{word}"), &to.view, &a, &column);
            r.done(to);
        }
        Operand::Row(row) => {
            let form = Form::Rows;
            let a = r.read(a, form)?;
            let row = r.read(row, form)?;
            let to = r.write(dst, form)?;
            let row = r.apart(row, &to.view);
            r.binary(&format!("TCOLEXPAND{word}"), &to.view, &a, &row);
            r.done(to);
        }
    }
    Ok(())
}
