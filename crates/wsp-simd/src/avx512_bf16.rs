//! AVX-512 with dot products of bfloat16: as [`crate::avx512`], but for products of two bfloat16 operands.
//!
//! `vdpbf16ps` adds the products of two neighbouring elements to a lane: `acc + a₁b₁`, then `+ a₀b₀`, each rounded once, with
//! denormal operands and results as 0 (Intel 64 Architectures Software Developer's Manual, VDPBF16PS).

use crate::avx512::{Avx512, TABLE};
use crate::gemm_nt::{Dot, Product};
use crate::kernels::{Grid, Kernels};
use crate::operand::Rows;
use crate::vector::Simd;
use core::arch::x86_64::*;
use wsp_core::DType;

pub(crate) static KERNELS: Kernels = Kernels { matmul_nt, ..TABLE };

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma,f16c")]
unsafe fn matmul_nt(
    c: Grid,
    a: Grid,
    a_type: DType,
    b: Rows<'_>,
    inner: usize,
    accumulate: bool,
    scratch: *mut f32,
) {
    // SAFETY: the table is used only where the CPU has the features; the rest is the caller's contract.
    unsafe {
        if (a_type, b.dtype) == (DType::Bf16, DType::Bf16) {
            Product { c, a, b, inner, accumulate, scratch }.run::<Avx512, Pairs>(Avx512(()));
        } else {
            (TABLE.matmul_nt)(c, a, a_type, b, inner, accumulate, scratch);
        }
    }
}

/// Neighbouring elements are multiplied as they are.
struct Pairs;

impl Dot<Avx512> for Pairs {
    type Left = __m512i;
    type Right = __m512i;
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn pack(s: Avx512, [first, second]: [__m512; 2], packed: *mut f32) {
        // SAFETY: the caller's promise: 128 bytes, of which 64 are used. What is stored is exact in the type.
        unsafe {
            s.store_bf16(packed.cast(), first);
            s.store_bf16(packed.add(8).cast(), second);
        }
    }

    #[inline(always)]
    unsafe fn left(_: Avx512, packed: *const f32) -> __m512i {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm512_loadu_si512(packed.cast()) }
    }

    #[inline(always)]
    unsafe fn right(_: Avx512, p: *const u8) -> __m512i {
        // SAFETY: the caller's promise and the token.
        unsafe { _mm512_loadu_si512(p.cast()) }
    }

    #[inline(always)]
    fn add(_: Avx512, acc: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: this module's kernel runs only where the CPU has the dot product.
        unsafe { _mm512_dpbf16_ps(acc, pairs(a), pairs(b)) }
    }
}

/// The same bits as pairs of bfloat16.
#[inline(always)]
fn pairs(bits: __m512i) -> __m512bh {
    // SAFETY: both are 64 bytes that may hold anything.
    unsafe { core::mem::transmute::<__m512i, __m512bh>(bits) }
}
