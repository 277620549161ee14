//! Vector kernels of tile operations, behind one table of functions per instruction set.
//!
//! Internal to PTO-WSP; `wsp-kernel` calls what this crate has.
//!
//! * [`Simd`](vector::Simd) is what an instruction set offers; a value of an implementing type proves that the CPU has it.
//! * `gemm_nt`, `gemm_nn`, `math`, `rows` are written once, over that trait.
//! * [`Kernels`] is the table that a [`Level`] selects; `plain` fills one with loops over single elements, the oracle of the rest.
//!
//! **Accuracy.** `exp` and `exp2` are within 2 ulp, `-inf → 0`, `+inf → +inf`, NaN stays; results below 2⁻¹²⁶ are 0. Sums and
//! products add in a fixed order that depends on the number of elements and the level only: a dot product of `k` elements
//! runs as one fused multiply-add chain per lane, lanes are then added pairwise (distance 8, 4, 2, 1 for 16 lanes). Its error
//! is at most about `(k / lanes + log₂ lanes) · 2⁻²⁴ · Σ|aᵢbᵢ|`. Element-wise arithmetic is rounded once, as in IEEE 754. With
//! [`Level::Avx512Bf16`], the lanes of a dot product of two bfloat16 operands take neighbouring elements: the same bound.
#![allow(
    unsafe_code,
    reason = "intrinsics, and pointers to operands that may alias or lie in an array of the launch"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_bf16;
mod elem;
mod fp8;
mod gemm_nn;
mod gemm_nt;
mod kernels;
mod level;
mod math;
#[cfg(target_arch = "aarch64")]
mod neon;
mod operand;
mod plain;
mod portable;
mod rows;
mod scalar;
mod vector;

pub use kernels::{Grid, Kernels, MatMulNt, PACK_ALIGN, PACK_ROWS, ROW_ALIGN, Rhs};
pub use level::{Level, Mode};
pub use operand::{Distance, Rows, TURN, Walk};
pub use plain::{Real, reduce};
pub use scalar::{read_f32, read_f64, round_f64, round_to, write_f32, write_f64};
