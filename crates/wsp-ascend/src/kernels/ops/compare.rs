//! Comparisons, and selection by a mask. A mask of the program has 0 and 1 as numbers; that of an instruction has bits.

use crate::kernels::recipe::{Form, Lack, Recipe, input, number, out, text};
use crate::kernels::view::View;
use wsp_ir::{Expr, Operand, ScalarTy};
use wsp_tile::Tile;

/// 1 where two operands compare, else 0.
pub(in crate::kernels) fn binary(
    r: &mut Recipe<'_>,
    mode: &str,
    dst: &Tile,
    a: &Tile,
    b: &Operand<Tile, Expr>,
) -> Result<(), Lack> {
    let form = form(r, dst, a, b);
    let a = r.read(a, form)?;
    let mask = r.mask(&a);
    let mode = text(format!("CmpMode::{mode}"));
    match second(r, &a, b, form)? {
        Second::Tile(b) => r.call("TCMP", [out(&mask), input(&a), input(&b), mode]),
        Second::Number(value) => r.call("TCMPS", [out(&mask), input(&a), text(value), mode]),
    }
    let to = r.write(dst, form)?;
    r.call("TEXPANDS", [out(&to.view), number(1.0)]);
    let view = to.view.clone();
    r.select_or_number(&view, &mask, &view, "0.0f");
    r.done(to);
    Ok(())
}

/// `a` where the mask is not 0, else `b`.
pub(in crate::kernels) fn select(
    r: &mut Recipe<'_>,
    dst: &Tile,
    mask: &Tile,
    a: &Tile,
    b: &Operand<Tile, Expr>,
) -> Result<(), Lack> {
    let form = match b {
        Operand::Tile(b) | Operand::Column(b) => r.form(&[dst, mask, a, b]),
        Operand::Row(_) => Form::Rows,
        Operand::Scalar(_) => r.form(&[dst, mask, a]),
    };
    let given = r.read(mask, form)?;
    let mask = r.mask(&given);
    r.call("TCMPS", [out(&mask), input(&given), number(0.0), text("CmpMode::NE")]);
    let a = r.read(a, form)?;
    let b = second(r, &a, b, form)?;
    let to = r.write(dst, form)?;
    match b {
        Second::Tile(b) => r.select(&to.view, &mask, &a, &b),
        Second::Number(value) => r.select_or_number(&to.view, &mask, &a, value),
    }
    r.done(to);
    Ok(())
}

fn form(r: &Recipe<'_>, dst: &Tile, a: &Tile, b: &Operand<Tile, Expr>) -> Form {
    match b {
        Operand::Tile(b) | Operand::Column(b) => r.form(&[dst, a, b]),
        Operand::Row(_) => Form::Rows,
        Operand::Scalar(_) => r.form(&[dst, a]),
    }
}

/// The second operand, with an element for each of the first.
enum Second {
    Tile(View),
    Number(String),
}

fn second(r: &mut Recipe<'_>, a: &View, b: &Operand<Tile, Expr>, form: Form) -> Result<Second, Lack> {
    Ok(match b {
        Operand::Scalar(value) => Second::Number(r.scalars.as_type(value, ScalarTy::F32)),
        Operand::Tile(b) => Second::Tile(r.read(b, form)?),
        Operand::Column(column) if form == Form::Flat => Second::Tile(r.read(column, form)?),
        Operand::Column(column) => {
            let column = super::reductions::packed_column(r, column)?;
            // Instructions on two tiles want one type, and a column has whole blocks of rows.
            let full = r.column_as_tile(&column, a.cols, &a.valid[1]);
            Second::Tile(View { rows: a.rows, ..full })
        }
        Operand::Row(row) => {
            let row = r.read(row, Form::Rows)?;
            Second::Tile(r.row_as_tile(&row, a))
        }
    })
}
