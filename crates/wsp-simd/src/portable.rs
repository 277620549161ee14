//! What every CPU has: arrays of 8 floats, vectorised by the compiler.

use crate::kernels::{Grid, Kernels, Rhs, kernel_table};
use crate::operand::Rows;
use crate::vector::Simd;
use crate::{gemm_nn, gemm_nt, plain, rows};
use half::{bf16, f16};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

kernel_table!(Portable);

/// Needs nothing of the CPU.
#[derive(Clone, Copy)]
struct Portable;

type Lanes = [f32; 8];

#[inline(always)]
fn zip(a: Lanes, b: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    core::array::from_fn(|i| f(a[i], b[i]))
}

#[inline(always)]
fn fold(a: Lanes, f: impl Fn(f32, f32) -> f32) -> f32 {
    let four: [f32; 4] = core::array::from_fn(|i| f(a[i], a[i + 4]));
    f(f(four[0], four[2]), f(four[1], four[3]))
}

/// `2ⁿ` for `n` in -126..=127.
#[inline(always)]
fn power(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

impl Simd for Portable {
    type F = Lanes;
    const LANES: usize = 8;
    /// Each takes two of those that every CPU has.
    const REGISTERS: usize = if cfg!(target_arch = "aarch64") { 16 } else { 8 };
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

    #[inline(always)]
    fn splat(self, x: f32) -> Lanes {
        [x; 8]
    }

    #[inline(always)]
    fn add(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x + y)
    }

    #[inline(always)]
    fn sub(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x - y)
    }

    #[inline(always)]
    fn mul(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x * y)
    }

    #[inline(always)]
    fn div(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, |x, y| x / y)
    }

    /// Fused only where the architecture always has it: elsewhere it would be a library call per lane.
    #[inline(always)]
    fn fma(self, a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        if Self::FUSED {
            core::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
        } else {
            core::array::from_fn(|i| a[i] * b[i] + c[i])
        }
    }

    #[inline(always)]
    fn maximum(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, plain::maximum)
    }

    #[inline(always)]
    fn minimum(self, a: Lanes, b: Lanes) -> Lanes {
        zip(a, b, plain::minimum)
    }

    #[inline(always)]
    fn neg(self, a: Lanes) -> Lanes {
        a.map(|x| -x)
    }

    #[inline(always)]
    fn abs(self, a: Lanes) -> Lanes {
        a.map(f32::abs)
    }

    #[inline(always)]
    fn sqrt(self, a: Lanes) -> Lanes {
        a.map(f32::sqrt)
    }

    #[inline(always)]
    fn round(self, a: Lanes) -> Lanes {
        a.map(f32::round_ties_even)
    }

    #[inline(always)]
    fn clamp(self, a: Lanes, lo: f32, hi: f32) -> Lanes {
        a.map(|x| x.clamp(lo, hi))
    }

    #[inline(always)]
    fn scale(self, p: Lanes, n: Lanes, x: Lanes, flush: f32) -> Lanes {
        core::array::from_fn(|i| {
            // Two factors, since `2ⁿ` alone may not be representable.
            let exponent = n[i] as i32;
            let half = exponent >> 1;
            let scaled = p[i] * power(half) * power(exponent - half);
            if x[i] < flush { 0.0 } else { scaled }
        })
    }

    #[inline(always)]
    fn select_le(self, a: Lanes, b: Lanes, x: Lanes, y: Lanes) -> Lanes {
        core::array::from_fn(|i| if a[i] <= b[i] { x[i] } else { y[i] })
    }

    #[inline(always)]
    fn keep_first(self, a: Lanes, n: usize, fill: f32) -> Lanes {
        core::array::from_fn(|i| if i < n { a[i] } else { fill })
    }

    #[inline(always)]
    fn sum(self, a: Lanes) -> f32 {
        fold(a, |x, y| x + y)
    }

    #[inline(always)]
    fn max_lane(self, a: Lanes) -> f32 {
        fold(a, plain::maximum)
    }

    #[inline(always)]
    fn min_lane(self, a: Lanes) -> f32 {
        fold(a, plain::minimum)
    }

    #[inline(always)]
    fn sums8(self, a: [Lanes; 8]) -> [f32; 8] {
        a.map(|v| self.sum(v))
    }

    #[inline(always)]
    fn sums16(self, a: [Lanes; 16]) -> [f32; 16] {
        a.map(|v| self.sum(v))
    }

    #[inline(always)]
    fn round_f16(self, a: Lanes) -> Lanes {
        a.map(|x| f16::from_f32(x).to_f32())
    }

    #[inline(always)]
    fn round_bf16(self, a: Lanes) -> Lanes {
        a.map(|x| bf16::from_f32(x).to_f32())
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> Lanes {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<Lanes>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, a: Lanes) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<Lanes>().write_unaligned(a) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, p: *const u8) -> Lanes {
        // SAFETY: the caller's promise.
        let bits = unsafe { p.cast::<[u16; 8]>().read_unaligned() };
        bits.map(|b| f16::from_bits(b).to_f32())
    }

    #[inline(always)]
    unsafe fn load_bf16(self, p: *const u8) -> Lanes {
        // SAFETY: the caller's promise.
        let bits = unsafe { p.cast::<[u16; 8]>().read_unaligned() };
        bits.map(|b| f32::from_bits(u32::from(b) << 16))
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u8, a: Lanes) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[u16; 8]>().write_unaligned(a.map(|x| f16::from_f32(x).to_bits())) }
    }

    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u8, a: Lanes) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[u16; 8]>().write_unaligned(a.map(|x| bf16::from_f32(x).to_bits())) }
    }

    #[inline(always)]
    unsafe fn load2_bf16(self, p: *const u8) -> [Lanes; 2] {
        // SAFETY: the caller's promise.
        unsafe { [self.load_bf16(p), self.load_bf16(p.add(16))] }
    }

    #[inline(always)]
    fn order_bf16(self, a: [Lanes; 2]) -> [Lanes; 2] {
        a
    }

    #[inline(always)]
    fn unorder_bf16(self, a: [Lanes; 2]) -> [Lanes; 2] {
        a
    }

    #[inline(always)]
    fn prefetch(self, _: *const u8) {}

    #[inline(always)]
    fn prefetch_far(self, _: *const u8) {}
}
