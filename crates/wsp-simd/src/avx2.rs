//! AVX2 with FMA and F16C: 8 lanes, 16 registers.

use crate::kernels::{Grid, Kernels, Rhs, kernel_table};
use crate::operand::Rows;
use crate::vector::Simd;
use crate::{gemm_nn, gemm_nt, rows};
use core::arch::x86_64::*;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

kernel_table!(Avx2(()), #[target_feature(enable = "avx2,fma,f16c")]);

/// The CPU has AVX2, FMA and F16C; only this module's kernels make one.
#[derive(Clone, Copy)]
struct Avx2(());

/// Wraps intrinsics that only need the CPU feature.
macro_rules! lanewise {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty { $($body:tt)* })*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $ret {
            // SAFETY: the token proves the CPU features.
            unsafe { $($body)* }
        }
    )*};
}

/// `a` combined with itself with halves, pairs and neighbours swapped; every lane is the result.
macro_rules! fold_lanes {
    ($a:expr, $op:expr) => {{
        let a = $op($a, _mm256_permute2f128_ps::<0x01>($a, $a));
        let a = $op(a, _mm256_shuffle_ps::<0x4E>(a, a));
        _mm256_cvtss_f32($op(a, _mm256_shuffle_ps::<0xB1>(a, a)))
    }};
}

impl Simd for Avx2 {
    type F = __m256;
    const LANES: usize = 8;
    const REGISTERS: usize = 16;
    const FUSED: bool = true;

    lanewise! {
        fn splat(x: f32) -> __m256 { _mm256_set1_ps(x) }
        fn add(a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
        fn sub(a: __m256, b: __m256) -> __m256 { _mm256_sub_ps(a, b) }
        fn mul(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
        fn div(a: __m256, b: __m256) -> __m256 { _mm256_div_ps(a, b) }
        fn fma(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }
        // `max_ps` yields its second operand when either is NaN.
        fn maximum(a: __m256, b: __m256) -> __m256 {
            _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a))
        }
        fn minimum(a: __m256, b: __m256) -> __m256 {
            _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a))
        }
        fn neg(a: __m256) -> __m256 { _mm256_xor_ps(a, _mm256_set1_ps(-0.0)) }
        fn abs(a: __m256) -> __m256 { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
        fn sqrt(a: __m256) -> __m256 { _mm256_sqrt_ps(a) }
        fn round(a: __m256) -> __m256 { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
        fn clamp(a: __m256, lo: f32, hi: f32) -> __m256 {
            _mm256_min_ps(_mm256_set1_ps(hi), _mm256_max_ps(_mm256_set1_ps(lo), a))
        }
        // Two factors, since `2ⁿ` alone may not be representable.
        fn scale(p: __m256, n: __m256, x: __m256, flush: f32) -> __m256 {
            {
                let n = _mm256_cvtps_epi32(n);
                let half = _mm256_srai_epi32::<1>(n);
                let scaled = _mm256_mul_ps(_mm256_mul_ps(p, power(half)), power(_mm256_sub_epi32(n, half)));
                _mm256_and_ps(scaled, _mm256_cmp_ps::<_CMP_NLT_UQ>(x, _mm256_set1_ps(flush)))
            }
        }
        fn select_le(a: __m256, b: __m256, x: __m256, y: __m256) -> __m256 {
            _mm256_blendv_ps(y, x, _mm256_cmp_ps::<_CMP_LE_OQ>(a, b))
        }
        fn keep_first(a: __m256, n: usize, fill: f32) -> __m256 {
            _mm256_blendv_ps(_mm256_set1_ps(fill), a, _mm256_castsi256_ps(first8(n)))
        }
        fn sum(a: __m256) -> f32 { fold_lanes!(a, _mm256_add_ps) }
        fn max_lane(a: __m256) -> f32 { fold_lanes!(a, |a, b| Avx2(()).maximum(a, b)) }
        fn min_lane(a: __m256) -> f32 { fold_lanes!(a, |a, b| Avx2(()).minimum(a, b)) }
        fn round_f16(a: __m256) -> __m256 {
            _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a))
        }
        fn round_bf16(a: __m256) -> __m256 { _mm256_castsi256_ps(round_bf16_bits(a)) }
        fn order_bf16(a: [__m256; 2]) -> [__m256; 2] {
            {
                // Per 128 bits first, then the halves of both operands are put side by side.
                let even = _mm256_shuffle_ps::<0x88>(a[0], a[1]);
                let odd = _mm256_shuffle_ps::<0xDD>(a[0], a[1]);
                [middle_swapped(even), middle_swapped(odd)]
            }
        }
        fn unorder_bf16(a: [__m256; 2]) -> [__m256; 2] {
            {
                let low = _mm256_unpacklo_ps(a[0], a[1]);
                let high = _mm256_unpackhi_ps(a[0], a[1]);
                [_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high)]
            }
        }
    }

    #[inline(always)]
    fn sums8(self, a: [__m256; 8]) -> [f32; 8] {
        // SAFETY: the token proves the CPU features; the array has the 8 lanes stored.
        unsafe {
            // Chunk c of `halves(x, y)` holds four sums of operand c; operands are ordered so that sums come out in order.
            let low = pairs(halves(a[0], a[4]), halves(a[1], a[5]));
            let high = pairs(halves(a[2], a[6]), halves(a[3], a[7]));
            let sums =
                _mm256_add_ps(_mm256_shuffle_ps::<0x88>(low, high), _mm256_shuffle_ps::<0xDD>(low, high));
            let mut out = [0.0; 8];
            _mm256_storeu_ps(out.as_mut_ptr(), sums);
            out
        }
    }

    #[inline(always)]
    fn sums16(self, a: [__m256; 16]) -> [f32; 16] {
        let [a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7] = a;
        let mut out = [0.0; 16];
        out[..8].copy_from_slice(&self.sums8([a0, a1, a2, a3, a4, a5, a6, a7]));
        out[8..].copy_from_slice(&self.sums8([b0, b1, b2, b3, b4, b5, b6, b7]));
        out
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m256 {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm256_loadu_ps(p) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, a: __m256) {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm256_storeu_ps(p, a) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, p: *const u8) -> __m256 {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bf16(self, p: *const u8) -> __m256 {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
        }
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u8, a: __m256) {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a)) }
    }

    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u8, a: __m256) {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let bits = _mm256_srli_epi32::<16>(round_bf16_bits(a));
            let packed = _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256::<1>(bits));
            _mm_storeu_si128(p.cast(), packed);
        }
    }

    /// Even elements, then odd ones: one instruction each.
    #[inline(always)]
    unsafe fn load2_bf16(self, p: *const u8) -> [__m256; 2] {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let pairs = _mm256_loadu_si256(p.cast());
            let even = _mm256_slli_epi32::<16>(pairs);
            let odd = _mm256_and_si256(pairs, _mm256_set1_epi32(0xFFFF_0000_u32 as i32));
            [_mm256_castsi256_ps(even), _mm256_castsi256_ps(odd)]
        }
    }

    #[inline(always)]
    fn prefetch(self, p: *const u8) {
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
    }

    #[inline(always)]
    fn prefetch_far(self, p: *const u8) {
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
}

/// Lanes of each operand added at distance 4: the low half holds the sums of `a`, the high half those of `b`.
#[inline(always)]
unsafe fn halves(a: __m256, b: __m256) -> __m256 {
    // SAFETY: called with the token at hand.
    unsafe { _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b)) }
}

/// Lanes of each half added at distance 2: in every half two sums of `a`, then two of `b`.
#[inline(always)]
unsafe fn pairs(a: __m256, b: __m256) -> __m256 {
    // SAFETY: called with the token at hand.
    unsafe { _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b)) }
}

/// The middle pairs of lanes swapped.
#[inline(always)]
unsafe fn middle_swapped(a: __m256) -> __m256 {
    // SAFETY: called with the token at hand.
    unsafe { _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(a))) }
}

/// `2ⁿ` for `n` in -126..=127.
#[inline(always)]
unsafe fn power(n: __m256i) -> __m256 {
    // SAFETY: called with the token at hand.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127)))) }
}

/// Bits of the nearest bfloat16 value in the upper half of each lane.
#[inline(always)]
unsafe fn round_bf16_bits(a: __m256) -> __m256i {
    // SAFETY: called with the token at hand.
    unsafe {
        let bits = _mm256_castps_si256(a);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
        let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
        let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
        _mm256_and_si256(_mm256_blendv_epi8(rounded, quiet, nan), _mm256_set1_epi32(0xFFFF_0000_u32 as i32))
    }
}

/// All bits of the first `n` lanes.
#[inline(always)]
unsafe fn first8(n: usize) -> __m256i {
    // SAFETY: called with the token at hand.
    unsafe {
        let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n.min(8) as i32), lane)
    }
}
