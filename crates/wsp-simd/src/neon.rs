//! NEON: 4 lanes, 32 registers. Every AArch64 CPU has it.
#![allow(
    clippy::pointers_in_nomem_asm_block,
    reason = "a prefetch neither reads nor writes what a program can see"
)]

use crate::kernels::{Grid, Kernels, Rhs, kernel_table};
use crate::operand::Rows;
use crate::vector::Simd;
use crate::{gemm_nn, gemm_nt, rows};
use core::arch::aarch64::*;
use core::arch::asm;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

kernel_table!(Neon(()), #[target_feature(enable = "neon")]);

/// The CPU has NEON; only this module's kernels make one.
#[derive(Clone, Copy)]
struct Neon(());

/// Wraps intrinsics that only need the CPU feature.
macro_rules! lanewise {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty { $($body:tt)* })*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $ret {
            // SAFETY: the token proves the CPU feature.
            unsafe { $($body)* }
        }
    )*};
}

impl Simd for Neon {
    type F = float32x4_t;
    const LANES: usize = 4;
    const REGISTERS: usize = 32;
    const FUSED: bool = true;

    lanewise! {
        fn splat(x: f32) -> float32x4_t { vdupq_n_f32(x) }
        fn add(a: float32x4_t, b: float32x4_t) -> float32x4_t { vaddq_f32(a, b) }
        fn sub(a: float32x4_t, b: float32x4_t) -> float32x4_t { vsubq_f32(a, b) }
        fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t { vmulq_f32(a, b) }
        fn div(a: float32x4_t, b: float32x4_t) -> float32x4_t { vdivq_f32(a, b) }
        fn fma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t { vfmaq_f32(c, a, b) }
        // `FMAX` and `FMIN` yield NaN when either operand is; `FMAXNM` would drop it.
        fn maximum(a: float32x4_t, b: float32x4_t) -> float32x4_t { vmaxq_f32(a, b) }
        fn minimum(a: float32x4_t, b: float32x4_t) -> float32x4_t { vminq_f32(a, b) }
        fn neg(a: float32x4_t) -> float32x4_t { vnegq_f32(a) }
        fn abs(a: float32x4_t) -> float32x4_t { vabsq_f32(a) }
        fn sqrt(a: float32x4_t) -> float32x4_t { vsqrtq_f32(a) }
        fn round(a: float32x4_t) -> float32x4_t { vrndnq_f32(a) }
        fn clamp(a: float32x4_t, lo: f32, hi: f32) -> float32x4_t {
            vminq_f32(vmaxq_f32(a, vdupq_n_f32(lo)), vdupq_n_f32(hi))
        }
        // Two factors, since `2ⁿ` alone may not be representable.
        fn scale(p: float32x4_t, n: float32x4_t, x: float32x4_t, flush: f32) -> float32x4_t {
            {
                let n = vcvtnq_s32_f32(n);
                let half = vshrq_n_s32::<1>(n);
                let scaled = vmulq_f32(vmulq_f32(p, power(half)), power(vsubq_s32(n, half)));
                let below = vcltq_f32(x, vdupq_n_f32(flush));
                vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(scaled), below))
            }
        }
        fn select_le(a: float32x4_t, b: float32x4_t, x: float32x4_t, y: float32x4_t) -> float32x4_t {
            vbslq_f32(vcleq_f32(a, b), x, y)
        }
        fn keep_first(a: float32x4_t, n: usize, fill: f32) -> float32x4_t {
            vbslq_f32(first4(n), a, vdupq_n_f32(fill))
        }
        fn sum(a: float32x4_t) -> f32 { vpadds_f32(vadd_f32(vget_low_f32(a), vget_high_f32(a))) }
        fn max_lane(a: float32x4_t) -> f32 { vmaxvq_f32(a) }
        fn min_lane(a: float32x4_t) -> f32 { vminvq_f32(a) }
        fn round_f16(a: float32x4_t) -> float32x4_t { vcvt_f32_f16(vcvt_f16_f32(a)) }
        fn round_bf16(a: float32x4_t) -> float32x4_t { vreinterpretq_f32_u32(round_bf16_bits(a)) }
        fn order_bf16(a: [float32x4_t; 2]) -> [float32x4_t; 2] {
            [vuzp1q_f32(a[0], a[1]), vuzp2q_f32(a[0], a[1])]
        }
        fn unorder_bf16(a: [float32x4_t; 2]) -> [float32x4_t; 2] {
            [vzip1q_f32(a[0], a[1]), vzip2q_f32(a[0], a[1])]
        }
    }

    #[inline(always)]
    fn sums8(self, a: [float32x4_t; 8]) -> [f32; 8] {
        let mut out = [0.0; 8];
        // SAFETY: the token proves the CPU feature; the array has the 8 lanes stored.
        unsafe {
            vst1q_f32(out.as_mut_ptr(), sums4(a[0], a[1], a[2], a[3]));
            vst1q_f32(out.as_mut_ptr().add(4), sums4(a[4], a[5], a[6], a[7]));
        }
        out
    }

    #[inline(always)]
    fn sums16(self, a: [float32x4_t; 16]) -> [f32; 16] {
        let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = a;
        let mut out = [0.0; 16];
        out[..8].copy_from_slice(&self.sums8([a0, a1, a2, a3, a4, a5, a6, a7]));
        out[8..].copy_from_slice(&self.sums8([b0, b1, b2, b3, b4, b5, b6, b7]));
        out
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> float32x4_t {
        // SAFETY: the caller's promise and the token.
        unsafe { vld1q_f32(p) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, a: float32x4_t) {
        // SAFETY: the caller's promise and the token.
        unsafe { vst1q_f32(p, a) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, p: *const u8) -> float32x4_t {
        // SAFETY: the caller's promise and the token.
        unsafe { vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p))) }
    }

    #[inline(always)]
    unsafe fn load_bf16(self, p: *const u8) -> float32x4_t {
        // SAFETY: the caller's promise and the token.
        unsafe { vreinterpretq_f32_u32(vshlq_n_u32::<16>(vmovl_u16(vreinterpret_u16_u8(vld1_u8(p))))) }
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u8, a: float32x4_t) {
        // SAFETY: the caller's promise and the token.
        unsafe { vst1_u8(p, vreinterpret_u8_f16(vcvt_f16_f32(a))) }
    }

    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u8, a: float32x4_t) {
        // SAFETY: the caller's promise and the token.
        unsafe { vst1_u8(p, vreinterpret_u8_u16(vshrn_n_u32::<16>(round_bf16_bits(a)))) }
    }

    /// Even elements, then odd ones: one instruction each.
    #[inline(always)]
    unsafe fn load2_bf16(self, p: *const u8) -> [float32x4_t; 2] {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let pairs = vreinterpretq_u32_u8(vld1q_u8(p));
            let odd = vandq_u32(pairs, vdupq_n_u32(0xFFFF_0000));
            [vreinterpretq_f32_u32(vshlq_n_u32::<16>(pairs)), vreinterpretq_f32_u32(odd)]
        }
    }

    #[inline(always)]
    fn prefetch(self, p: *const u8) {
        // SAFETY: a prefetch never faults.
        unsafe { asm!("prfm pldl1keep, [{}]", in(reg) p, options(nomem, nostack, preserves_flags)) }
    }

    #[inline(always)]
    fn prefetch_far(self, p: *const u8) {
        // SAFETY: a prefetch never faults.
        unsafe { asm!("prfm pldl2keep, [{}]", in(reg) p, options(nomem, nostack, preserves_flags)) }
    }
}

/// The sum of each operand's lanes, added at distance 2, then 1.
#[inline(always)]
unsafe fn sums4(a: float32x4_t, b: float32x4_t, c: float32x4_t, d: float32x4_t) -> float32x4_t {
    // SAFETY: called with the token at hand.
    unsafe { vpaddq_f32(halves(a, b), halves(c, d)) }
}

/// Lanes of each operand added at distance 2: the low half holds the sums of `a`, the high half those of `b`.
#[inline(always)]
unsafe fn halves(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: called with the token at hand.
    unsafe {
        let (a, b) = (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
        vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(a, b)), vreinterpretq_f32_f64(vzip2q_f64(a, b)))
    }
}

/// `2ⁿ` for `n` in -126..=127.
#[inline(always)]
unsafe fn power(n: int32x4_t) -> float32x4_t {
    // SAFETY: called with the token at hand.
    unsafe { vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(n, vdupq_n_s32(127)))) }
}

/// Bits of the nearest bfloat16 value in the upper half of each lane.
#[inline(always)]
unsafe fn round_bf16_bits(a: float32x4_t) -> uint32x4_t {
    // SAFETY: called with the token at hand.
    unsafe {
        let bits = vreinterpretq_u32_f32(a);
        let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
        let rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF)));
        let quiet = vorrq_u32(bits, vdupq_n_u32(0x0040_0000));
        let number = vceqq_f32(a, a);
        vandq_u32(vbslq_u32(number, rounded, quiet), vdupq_n_u32(0xFFFF_0000))
    }
}

/// All bits of the first `n` lanes.
#[inline(always)]
unsafe fn first4(n: usize) -> uint32x4_t {
    // SAFETY: called with the token at hand; the array has the 4 lanes loaded.
    unsafe { vcltq_u32(vld1q_u32([0, 1, 2, 3].as_ptr()), vdupq_n_u32(n.min(4) as u32)) }
}
