//! Products of matrices, and what leads to them.

use crate::kernels::memories::{L0C, L1};
use crate::kernels::recipe::{Lack, Recipe, input, out, text};
use crate::kernels::view::{CElem, View, in_cube};
use wsp_core::DType;
use wsp_tile::{BufferId, Op, Tile, TileProgram};

/// Right operands that lie in global memory with rows and columns exchanged.
#[derive(Default)]
pub(in crate::kernels) struct Turned {
    /// Those, and their copies in L1.
    turned: Vec<BufferId>,
    /// Those that are used as they lie.
    plain: Vec<BufferId>,
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
            if let Op::Move { dst, src } = &instruction.op
                && found.turned.contains(&dst.buffer)
            {
                found.turned.push(src.buffer);
            }
        });
        found
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

/// From L1 to an operand of the matrix unit.
pub(in crate::kernels) fn staged(r: &mut Recipe<'_>, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    let (to, from) = (tile(r, dst)?, tile(r, src)?);
    r.unary("TMOV", &to, &from);
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
