//! Products of matrices, and what leads to them.

use crate::kernels::memories::{L0C, L1, UB};
use crate::kernels::recipe::{Form, Lack, Recipe, input, number, out, text};
use crate::kernels::view::{CElem, FRACTAL, Layout, Valid, View, boxed, in_cube, padded};
use wsp_core::DType;
use wsp_tile::{BufferId, Op, Tile, TileProgram};

/// Tiles that lie otherwise than by rows: right operands whose rows and columns are exchanged, and fractals in UB.
#[derive(Default)]
pub(in crate::kernels) struct Turned {
    /// Those, and their copies in L1.
    turned: Vec<BufferId>,
    /// Those that are used as they lie.
    plain: Vec<BufferId>,
    /// Fractals in UB.
    boxed: Vec<BufferId>,
}

impl Turned {
    /// Those of a program.
    pub(in crate::kernels) fn of(program: &TileProgram) -> Turned {
        let mut found = Turned::default();
        program.instructions(&mut |instruction| {
            if let Op::Tile(wsp_ir::TileOp::MatMul { b, transpose_b, .. }) = &instruction.op {
                if *transpose_b { found.turned.push(b.buffer) } else { found.plain.push(b.buffer) }
            }
        });
        program.instructions(&mut |instruction| {
            if let Op::Move { dst, src } = &instruction.op {
                if found.turned.contains(&dst.buffer) {
                    found.turned.push(src.buffer);
                }
                if leaves_ub(program, dst, src) {
                    found.boxed.push(src.buffer);
                }
            }
        });
        found
    }

    /// Whether a buffer holds fractals in UB.
    pub(in crate::kernels) fn is_boxed(&self, id: BufferId) -> bool {
        self.boxed.contains(&id)
    }

    /// Whether a buffer is one of them.
    pub(in crate::kernels) fn contains(&self, id: BufferId) -> bool {
        self.turned.contains(&id)
    }

    /// Whether some buffer is used both ways.
    pub(in crate::kernels) fn both(&self) -> bool {
        self.plain.iter().any(|id| self.turned.contains(id))
    }
}

/// A tile around the matrix unit.
pub(in crate::kernels) fn tile(r: &Recipe<'_>, tile: &Tile) -> Result<View, Lack> {
    let elem = r.elem(tile)?;
    if !matches!(elem, CElem::F32 | CElem::F16 | CElem::Bf16) {
        return Err(Lack::NotYet("a product of integers"));
    }
    if r.program.buffer(tile.buffer).memory == L0C && elem != CElem::F32 {
        return Err(Lack::Refused("an accumulator has elements of `float`"));
    }
    Ok(in_cube(r.program, tile, elem, r.turned.contains(tile.buffer), r.scalars))
}

/// Whether a transfer is from UB to L1.
pub(in crate::kernels) fn leaves_ub(program: &TileProgram, dst: &Tile, src: &Tile) -> bool {
    (program.buffer(dst.buffer).memory, program.buffer(src.buffer).memory) == (L1, UB)
}

/// From L1 to an operand of the matrix unit; from UB to L1, and from an accumulator to UB.
pub(in crate::kernels) fn staged(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let (to, from) = if leaves_ub(r.program, dst, src) {
        let elem = r.elem(src)?;
        (boxed(r.program, dst.buffer, elem), boxed(r.program, src.buffer, elem))
    } else if r.program.buffer(dst.buffer).memory == UB {
        let mut from = tile(r, src)?;
        // A product packs an accumulator by the rows that it has; of rows that are known the transfer takes those that there is room for.
        if let Valid::Known(rows) = from.valid[0]
            && padded(rows, FRACTAL) < from.rows
        {
            from.valid[0] = Valid::Text(format!("{rows}u"));
        }
        (r.tile(dst)?, from)
    } else {
        (tile(r, dst)?, tile(r, src)?)
    };
    r.unary("TMOV", &to, &from);
    Ok(())
}

/// A tile as fractals in UB, where what is beside its valid part is 0: the matrix unit takes whole fractals.
pub(in crate::kernels) fn into_boxes(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let from = r.tile(src)?;
    if !matches!(from.elem, CElem::F32 | CElem::F16 | CElem::Bf16) {
        return Err(Lack::NotYet("a product of integers"));
    }
    let to = boxed(r.program, dst.buffer, from.elem);
    let full = [to.rows, to.cols].map(Valid::Known);
    if from.layout == Layout::Rows && (from.rows, from.cols) == (to.rows, to.cols) && from.valid == full {
        r.unary("TMOV", &to, &from);
        return Ok(());
    }
    // The bits of short elements are copied as those of whole numbers, for which there are all instructions.
    let bits = if from.elem == CElem::F32 { CElem::F32 } else { CElem::I16 };
    let whole = r.scratch(bits, to.rows, to.cols);
    let zero = if bits == CElem::F32 { number(0.0) } else { text("static_cast<int16_t>(0)") };
    r.call("TEXPANDS", [out(&whole), zero]);
    let part = whole.with_valid(from.valid[0].clone(), from.valid[1].clone());
    if from.is_column() {
        let floats = r.read(src, Form::Rows)?;
        if bits == CElem::F32 {
            r.copy(&part, &floats);
        } else {
            r.convert(&View { elem: from.elem, ..part }, &floats, "CAST_RINT");
        }
    } else if (from.rows, from.cols) == (part.rows, part.cols) {
        r.unary("TMOV", &part, &View { elem: bits, ..from.clone() });
    } else {
        let one = if bits == CElem::F32 { number(1.0) } else { text("static_cast<int16_t>(1)") };
        r.call("TMULS", [out(&part), input(&View { elem: bits, ..from.clone() }), one]);
    }
    r.unary("TMOV", &to, &View { elem: from.elem, ..whole });
    Ok(())
}

/// A product, or one that is added to what is there.
pub(in crate::kernels) fn product(
    r: &mut Recipe<'_>,
    dst: &Tile,
    a: &Tile,
    b: &Tile,
    accumulate: bool,
) -> Result<(), Lack> {
    if r.turned.both() {
        return Err(Lack::NotYet("a right operand that is used as it lies and transposed"));
    }
    let types = [a, b].map(|tile| r.program.buffer(tile.buffer).elem);
    if types[0] != types[1] || !matches!(types[0], DType::F32 | DType::F16 | DType::Bf16) {
        return Err(Lack::Refused(
            "the matrix unit multiplies elements of one type: float, half or bfloat16_t",
        ));
    }
    let (to, left, right) = (tile(r, dst)?, tile(r, a)?, tile(r, b)?);
    if accumulate {
        r.call("TMATMUL_ACC", [out(&to), input(&to), input(&left), input(&right)]);
    } else {
        r.call("TMATMUL", [out(&to), input(&left), input(&right)]);
    }
    Ok(())
}

/// All of a tile of L1 becomes 0.
pub(in crate::kernels) fn zero(r: &mut Recipe<'_>, dst: &Tile) -> Result<(), Lack> {
    debug_assert_eq!(r.program.buffer(dst.buffer).memory, L1);
    let to = tile(r, dst)?;
    let zero = if to.elem == CElem::F32 {
        "0.0f".to_owned()
    } else {
        format!("static_cast<{}>(0.0f)", to.elem.name())
    };
    r.call("TEXPANDS", [out(&to), text(zero)]);
    Ok(())
}
