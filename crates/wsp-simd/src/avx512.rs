//! AVX-512: 16 lanes, 32 registers, tails by mask.

use crate::kernels::{Grid, Kernels, Rhs, kernel_table};
use crate::operand::Rows;
use crate::vector::{Part, Simd};
use crate::{gemm_nn, gemm_nt, rows};
use core::arch::x86_64::*;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, ReduceOp, UnaryTileOp};

kernel_table!(Avx512(()), #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);

/// The CPU has AVX-512 F, BW, VL and DQ; only kernels that are compiled for it make one.
#[derive(Clone, Copy)]
pub(super) struct Avx512(pub(super) ());

/// Rounding of conversions: to nearest, ties to even, no exceptions.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

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

/// `a` plus itself with halves, quarters, pairs and neighbours swapped; every lane is the result.
macro_rules! fold_lanes {
    ($a:expr, $op:expr) => {{
        let a = $op($a, _mm512_shuffle_f32x4::<0x4E>($a, $a));
        let a = $op(a, _mm512_shuffle_f32x4::<0xB1>(a, a));
        let a = $op(a, _mm512_shuffle_ps::<0x4E>(a, a));
        _mm512_cvtss_f32($op(a, _mm512_shuffle_ps::<0xB1>(a, a)))
    }};
}

impl Simd for Avx512 {
    type F = __m512;
    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    const FUSED: bool = true;

    lanewise! {
        fn splat(x: f32) -> __m512 { _mm512_set1_ps(x) }
        fn add(a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        fn sub(a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
        fn mul(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fn div(a: __m512, b: __m512) -> __m512 { _mm512_div_ps(a, b) }
        fn fma(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
        // `max_ps` yields its second operand when either is NaN.
        fn maximum(a: __m512, b: __m512) -> __m512 {
            _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), a)
        }
        fn minimum(a: __m512, b: __m512) -> __m512 {
            _mm512_mask_mov_ps(_mm512_min_ps(a, b), _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), a)
        }
        fn neg(a: __m512) -> __m512 { _mm512_xor_ps(a, _mm512_set1_ps(-0.0)) }
        fn abs(a: __m512) -> __m512 { _mm512_andnot_ps(_mm512_set1_ps(-0.0), a) }
        fn sqrt(a: __m512) -> __m512 { _mm512_sqrt_ps(a) }
        fn round(a: __m512) -> __m512 { _mm512_roundscale_ps::<NEAREST>(a) }
        fn clamp(a: __m512, lo: f32, hi: f32) -> __m512 {
            _mm512_min_ps(_mm512_set1_ps(hi), _mm512_max_ps(_mm512_set1_ps(lo), a))
        }
        fn scale(p: __m512, n: __m512, x: __m512, flush: f32) -> __m512 {
            _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, _mm512_set1_ps(flush)), p, n)
        }
        fn select_le(a: __m512, b: __m512, x: __m512, y: __m512) -> __m512 {
            _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b), x)
        }
        fn keep_first(a: __m512, n: usize, fill: f32) -> __m512 {
            _mm512_mask_mov_ps(_mm512_set1_ps(fill), first16(n), a)
        }
        fn sum(a: __m512) -> f32 { fold_lanes!(a, _mm512_add_ps) }
        fn round_f16(a: __m512) -> __m512 { _mm512_cvtph_ps(_mm512_cvtps_ph::<NEAREST>(a)) }
        fn round_bf16(a: __m512) -> __m512 { _mm512_castsi512_ps(round_bf16_bits(a)) }
        fn order_bf16(a: [__m512; 2]) -> [__m512; 2] {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
            [_mm512_permutex2var_ps(a[0], even, a[1]), _mm512_permutex2var_ps(a[0], odd, a[1])]
        }
        fn unorder_bf16(a: [__m512; 2]) -> [__m512; 2] {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
            [_mm512_permutex2var_ps(a[0], low, a[1]), _mm512_permutex2var_ps(a[0], high, a[1])]
        }
    }

    #[inline(always)]
    fn max_lane(self, a: __m512) -> f32 {
        // SAFETY: the token proves the CPU features.
        unsafe { fold_lanes!(a, |a, b| self.maximum(a, b)) }
    }

    #[inline(always)]
    fn min_lane(self, a: __m512) -> f32 {
        // SAFETY: the token proves the CPU features.
        unsafe { fold_lanes!(a, |a, b| self.minimum(a, b)) }
    }

    #[inline(always)]
    fn sums8(self, a: [__m512; 8]) -> [f32; 8] {
        // SAFETY: the token proves the CPU features; the array has the 8 lanes stored.
        unsafe {
            let low = quarters(a[0], a[1], a[2], a[3]);
            let high = quarters(a[4], a[5], a[6], a[7]);
            // Chunk c: two lanes of a[c], two of a[4 + c].
            let halves = halves(low, high);
            let sums = _mm512_add_ps(
                _mm512_shuffle_ps::<0x88>(halves, halves),
                _mm512_shuffle_ps::<0xDD>(halves, halves),
            );
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
            let sums = _mm512_permutexvar_ps(order, sums);
            let mut out = [0.0; 8];
            _mm256_storeu_ps(out.as_mut_ptr(), _mm512_castps512_ps256(sums));
            out
        }
    }

    #[inline(always)]
    fn sums16(self, a: [__m512; 16]) -> [f32; 16] {
        // SAFETY: the token proves the CPU features; the array has the 16 lanes stored.
        unsafe {
            // Operands are taken four apart, so that the sums come out in order.
            let q0 = quarters(a[0], a[4], a[8], a[12]);
            let q1 = quarters(a[1], a[5], a[9], a[13]);
            let q2 = quarters(a[2], a[6], a[10], a[14]);
            let q3 = quarters(a[3], a[7], a[11], a[15]);
            let (low, high) = (halves(q0, q1), halves(q2, q3));
            let sums =
                _mm512_add_ps(_mm512_shuffle_ps::<0x88>(low, high), _mm512_shuffle_ps::<0xDD>(low, high));
            let mut out = [0.0; 16];
            _mm512_storeu_ps(out.as_mut_ptr(), sums);
            out
        }
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m512 {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm512_loadu_ps(p) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, a: __m512) {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm512_storeu_ps(p, a) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, p: *const u8) -> __m512 {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bf16(self, p: *const u8) -> __m512 {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits))
        }
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u8, a: __m512) {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<NEAREST>(a)) }
    }

    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u8, a: __m512) {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let bits = _mm512_srli_epi32::<16>(round_bf16_bits(a));
            _mm256_storeu_si256(p.cast(), _mm512_cvtepi32_epi16(bits));
        }
    }

    /// Even elements, then odd ones: one instruction each.
    #[inline(always)]
    unsafe fn load2_bf16(self, p: *const u8) -> [__m512; 2] {
        // SAFETY: the caller's promise and the token.
        unsafe {
            let pairs = _mm512_loadu_si512(p.cast());
            let even = _mm512_slli_epi32::<16>(pairs);
            let odd = _mm512_and_si512(pairs, _mm512_set1_epi32(0xFFFF_0000_u32 as i32));
            [_mm512_castsi512_ps(even), _mm512_castsi512_ps(odd)]
        }
    }

    #[inline(always)]
    unsafe fn part(self, p: *const u8, bytes: usize) -> Part {
        let mut part = Part([0; 128]);
        let mask = |n: usize| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
        // SAFETY: masked-off bytes are not accessed, the others are the caller's promise; the buffer has 128 bytes.
        unsafe {
            let to = part.0.as_mut_ptr();
            _mm512_store_si512(to.cast(), _mm512_maskz_loadu_epi8(mask(bytes), p.cast()));
            if bytes > 64 {
                let rest = _mm512_maskz_loadu_epi8(mask(bytes - 64), p.add(64).cast());
                _mm512_store_si512(to.add(64).cast(), rest);
            }
        }
        part
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

/// Lanes of each operand added at distance 8, then 4: chunk `i` of the result holds the four sums of operand `i`.
#[inline(always)]
unsafe fn quarters(a: __m512, b: __m512, c: __m512, d: __m512) -> __m512 {
    // SAFETY: called with the token at hand.
    unsafe {
        let ab = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b));
        let cd = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(c, d), _mm512_shuffle_f32x4::<0xEE>(c, d));
        _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(ab, cd), _mm512_shuffle_f32x4::<0xDD>(ab, cd))
    }
}

/// Lanes of each chunk added at distance 2: in every chunk two sums of `a`, then two of `b`.
#[inline(always)]
unsafe fn halves(a: __m512, b: __m512) -> __m512 {
    // SAFETY: called with the token at hand.
    unsafe { _mm512_add_ps(_mm512_shuffle_ps::<0x44>(a, b), _mm512_shuffle_ps::<0xEE>(a, b)) }
}

/// Bits of the nearest bfloat16 value in the upper half of each lane.
#[inline(always)]
unsafe fn round_bf16_bits(a: __m512) -> __m512i {
    // SAFETY: called with the token at hand.
    unsafe {
        let bits = _mm512_castps_si512(a);
        let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
        let rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
        let quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x0040_0000));
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a);
        _mm512_and_si512(
            _mm512_mask_mov_epi32(rounded, nan, quiet),
            _mm512_set1_epi32(0xFFFF_0000_u32 as i32),
        )
    }
}

/// A mask of the first `n` lanes.
#[inline(always)]
fn first16(n: usize) -> u16 {
    if n >= 16 { u16::MAX } else { (1 << n) - 1 }
}
