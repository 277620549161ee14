//! What each operation becomes on each platform.
//!
//! The functions match every operation of the table of tile operations: an operation that is added there does not compile until it is
//! given calls, or a reason why there are none.

use super::memories::L1;
use super::ops::{compare, cube, elementwise, functions, largest, masks, moves, reductions, shapes};
use super::recipe::{Lack, Recipe};
use wsp_ir::{BinaryTileOp, ReduceOp, TileOp, UnaryTileOp};
use wsp_tile::{Op, Tile};

/// Adds the calls of an instruction.
///
/// # Errors
/// There are none.
pub(super) fn calls(r: &mut Recipe<'_>, op: &Op) -> Result<(), Lack> {
    match op {
        Op::Tile(op) => tile_op(r, op),
        Op::Move { dst, src } => cube::staged(r, dst, src),
        Op::Reduce { local, op, src } => reductions::to_scalar(r, *local, *op, src),
        Op::LoadScalar { .. } | Op::StoreScalar { .. } => Ok(()),
    }
}

fn tile_op(r: &mut Recipe<'_>, op: &TileOp<Tile>) -> Result<(), Lack> {
    match op {
        TileOp::Load { dst, tensor, at, .. } => moves::load(r, dst, *tensor, at),
        TileOp::Store { tensor, src, at, add, .. } => moves::store(r, *tensor, src, at, *add),
        TileOp::Fill { dst, .. } if r.program.buffer(dst.buffer).memory == L1 => cube::zero(r, dst),
        TileOp::Fill { dst, value, .. } => elementwise::fill(r, dst, value),
        TileOp::Unary { op, dst, src } => unary(r, *op, dst, src),
        TileOp::Binary { op, dst, a, b } => match op {
            BinaryTileOp::Add => elementwise::binary(r, "ADD", dst, a, b),
            BinaryTileOp::Sub => elementwise::binary(r, "SUB", dst, a, b),
            BinaryTileOp::Mul => elementwise::binary(r, "MUL", dst, a, b),
            BinaryTileOp::Div => elementwise::binary(r, "DIV", dst, a, b),
            BinaryTileOp::Max => elementwise::binary(r, "MAX", dst, a, b),
            BinaryTileOp::Min => elementwise::binary(r, "MIN", dst, a, b),
            BinaryTileOp::Eq => compare::binary(r, "EQ", dst, a, b),
            BinaryTileOp::Ne => compare::binary(r, "NE", dst, a, b),
            BinaryTileOp::Lt => compare::binary(r, "LT", dst, a, b),
            BinaryTileOp::Le => compare::binary(r, "LE", dst, a, b),
            BinaryTileOp::Gt => compare::binary(r, "GT", dst, a, b),
            BinaryTileOp::Ge => compare::binary(r, "GE", dst, a, b),
        },
        TileOp::Clamp { dst, src, low, high } => elementwise::clamp(r, dst, src, low, high),
        TileOp::Select { dst, mask, a, b } => compare::select(r, dst, mask, a, b),
        TileOp::RowReduce { op, dst, src } => match op {
            ReduceOp::Max => reductions::row(r, "TROWMAX", dst, src),
            ReduceOp::Min => reductions::row(r, "TROWMIN", dst, src),
            ReduceOp::Sum => reductions::row(r, "TROWSUM", dst, src),
            ReduceOp::Mean => reductions::row_mean(r, dst, src),
            ReduceOp::ArgMax => reductions::row_place(r, "TROWARGMAX", dst, src),
            ReduceOp::ArgMin => reductions::row_place(r, "TROWARGMIN", dst, src),
        },
        TileOp::ColReduce { op, dst, src } => match op {
            ReduceOp::Max => reductions::col(r, "TCOLMAX", dst, src),
            ReduceOp::Min => reductions::col(r, "TCOLMIN", dst, src),
            ReduceOp::Sum => reductions::col(r, "TCOLSUM", dst, src),
            ReduceOp::Mean => reductions::col_mean(r, dst, src),
            ReduceOp::ArgMax => reductions::col_place(r, "TCOLARGMAX", dst, src),
            ReduceOp::ArgMin => reductions::col_place(r, "TCOLARGMIN", dst, src),
        },
        TileOp::CumSum { dst, src } => shapes::cumsum(r, dst, src),
        TileOp::Gather { dst, src, indices, by_row } => shapes::gather(r, dst, src, indices, *by_row),
        TileOp::Reshape { dst, src, .. } => shapes::reshape(r, dst, src),
        TileOp::Random { .. } => Err(Lack::Refused(
            "the numbers of a seed are products of 64 bits; vector units multiply 32 bits to 32, and the random numbers of \
             their own are others",
        )),
        TileOp::MatMul { dst, a, b, accumulate, .. } => cube::product(r, dst, a, b, *accumulate),
        TileOp::Transpose { dst, src } => shapes::transpose(r, dst, src),
        TileOp::Mask { tile, rows, cols, value } => masks::ends(r, tile, rows.as_ref(), cols.as_ref(), value),
        TileOp::MaskCausal { tile, cols, value } => masks::causal(r, tile, cols, value),
        TileOp::MaskBand { tile, begin, end, group, value } => {
            masks::band(r, tile, [begin, end], group, value)
        }
        TileOp::Iota { dst, start, .. } => shapes::iota(r, dst, start),
        TileOp::Insert { dst, src, row, col } => shapes::insert(r, dst, src, row, col),
        TileOp::Extract { dst, src, row, col } => shapes::extract(r, dst, src, row, col),
        TileOp::TopK { values, indices, src, first } => largest::keep(r, values, indices, src, first),
    }
}

fn unary(r: &mut Recipe<'_>, op: UnaryTileOp, dst: &Tile, src: &Tile) -> Result<(), Lack> {
    match op {
        UnaryTileOp::Copy => elementwise::copy(r, dst, src),
        UnaryTileOp::Neg => elementwise::unary(r, "TNEG", dst, src),
        UnaryTileOp::Abs => elementwise::unary(r, "TABS", dst, src),
        UnaryTileOp::Exp => elementwise::unary(r, "TEXP", dst, src),
        UnaryTileOp::Exp2 => functions::exp2(r, dst, src),
        UnaryTileOp::Log => elementwise::unary(r, "TLOG", dst, src),
        UnaryTileOp::Log2 => functions::log2(r, dst, src),
        UnaryTileOp::Sqrt => elementwise::unary(r, "TSQRT", dst, src),
        UnaryTileOp::Rsqrt => elementwise::unary(r, "TRSQRT", dst, src),
        UnaryTileOp::Recip => functions::recip(r, dst, src),
        UnaryTileOp::Relu => elementwise::unary(r, "TRELU", dst, src),
        UnaryTileOp::Tanh => functions::tanh(r, dst, src),
        UnaryTileOp::Round => elementwise::whole(r, "CAST_RINT", dst, src),
        UnaryTileOp::Floor => elementwise::whole(r, "CAST_FLOOR", dst, src),
        UnaryTileOp::Ceil => elementwise::whole(r, "CAST_CEIL", dst, src),
        UnaryTileOp::Sin => functions::sin(r, dst, src),
        UnaryTileOp::Cos => functions::cos(r, dst, src),
        UnaryTileOp::Sigmoid => functions::sigmoid(r, dst, src),
        UnaryTileOp::Silu => functions::silu(r, dst, src),
        UnaryTileOp::Gelu => functions::gelu(r, dst, src),
        UnaryTileOp::GeluTanh => functions::gelu_tanh(r, dst, src),
        UnaryTileOp::Erf => functions::erf(r, dst, src),
    }
}

/// How far the composition of a function is from it at most, beside what the instructions themselves add; empty where it is one
/// instruction, or exact arithmetic around one.
pub fn bound(op: UnaryTileOp) -> &'static str {
    match op {
        UnaryTileOp::Exp2 => "max(abs(x), 1) · 2⁻²² of the result",
        UnaryTileOp::Log2 => "2⁻²² of the result",
        UnaryTileOp::Tanh => "3·10⁻⁷",
        UnaryTileOp::Sin | UnaryTileOp::Cos => "3·10⁻⁷ where abs(x) ≤ 10⁴",
        UnaryTileOp::Sigmoid => "2⁻²² of the result where x ≥ -87, else 10⁻³⁷",
        UnaryTileOp::Silu => "2⁻²¹ of the result where x ≥ -87, else 10⁻³⁶",
        UnaryTileOp::Gelu => "10⁻⁶",
        UnaryTileOp::GeluTanh => "10⁻⁶ and 2⁻²⁰ of the result",
        UnaryTileOp::Erf => "5·10⁻⁷",
        UnaryTileOp::Copy
        | UnaryTileOp::Neg
        | UnaryTileOp::Abs
        | UnaryTileOp::Exp
        | UnaryTileOp::Log
        | UnaryTileOp::Sqrt
        | UnaryTileOp::Rsqrt
        | UnaryTileOp::Recip
        | UnaryTileOp::Relu
        | UnaryTileOp::Round
        | UnaryTileOp::Floor
        | UnaryTileOp::Ceil => "",
    }
}
