//! Tiles and the operations on them.
//!
//! [`Tiles`] owns the tiles of one running function and offers one method per [`wsp_ir::TileOp`]; the semantics are those of
//! the doc comments there. Values are `f32`, in tiles of `f64` `f64`; a destination of a narrower type holds values that are exact in that type
//! (rounded to nearest, ties to even). `max` and `min` yield NaN when an operand is NaN.
//!
//! A tile loaded from memory may stay there (a *view*): matrix products read it in place, page by page, and everything else
//! copies it first. The result of an operation does not depend on how memory cuts rows into runs or on how many rows are
//! multiplied together. (A `bfloat16` operand that is transposed and read in place is added up in another order of lanes than
//! its copy, within the same error bound; which of the two happens follows from the function and the layout alone.)
#![allow(
    unsafe_code,
    reason = "buffers of tiles, by pointers since operands may be the same tile, for the SIMD kernels and for loops over elements"
)]

mod buffer;
mod elementwise;
mod matmul;
mod order;
mod places;
mod random;
mod reduce;
mod stride;
mod tiles;
mod together;
mod top_k;
mod transfer;
mod wide;

#[cfg(test)]
mod tests;

pub(crate) use matmul::MatMul;
pub(crate) use random::Sequence;
pub(crate) use tiles::Tiles;
pub(crate) use together::multiply_together;
pub(crate) use top_k::TopK;
