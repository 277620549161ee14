//! Element types of operands that are read in place.

use crate::vector::Simd;

/// An element type, loaded two vectors at a time in an order of lanes of its own.
pub(crate) trait Elem {
    /// Bytes per element.
    const SIZE: usize;

    /// `2 · LANES` elements.
    ///
    /// # Safety
    /// `p` is valid for a read of them.
    unsafe fn load2<S: Simd>(s: S, p: *const u8) -> [S::F; 2];

    /// From memory order to the order of [`Elem::load2`].
    #[inline(always)]
    fn order<S: Simd>(_: S, a: [S::F; 2]) -> [S::F; 2] {
        a
    }

    /// From the order of [`Elem::load2`] to memory order.
    #[inline(always)]
    fn unorder<S: Simd>(_: S, a: [S::F; 2]) -> [S::F; 2] {
        a
    }

    /// The first `n <= 2 · LANES` elements, then zeros, in the order of [`Elem::load2`].
    ///
    /// # Safety
    /// `p` is valid for a read of `n` elements.
    #[inline(always)]
    unsafe fn load2_part<S: Simd>(s: S, p: *const u8, n: usize) -> [S::F; 2] {
        // SAFETY: the caller's promise; two vectors of any element are at most 128 bytes, which a part has.
        unsafe {
            let part = s.part(p, n * Self::SIZE);
            Self::load2(s, part.0.as_ptr())
        }
    }
}

/// `f32`.
pub(crate) struct F32;
/// binary16.
pub(crate) struct F16;
/// bfloat16.
pub(crate) struct Bf16;

impl Elem for F32 {
    const SIZE: usize = 4;

    #[inline(always)]
    unsafe fn load2<S: Simd>(s: S, p: *const u8) -> [S::F; 2] {
        let p = p.cast::<f32>();
        // SAFETY: the caller's promise.
        unsafe { [s.load(p), s.load(p.add(S::LANES))] }
    }
}

impl Elem for F16 {
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load2<S: Simd>(s: S, p: *const u8) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { [s.load_f16(p), s.load_f16(p.add(2 * S::LANES))] }
    }
}

impl Elem for Bf16 {
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load2<S: Simd>(s: S, p: *const u8) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { s.load2_bf16(p) }
    }

    #[inline(always)]
    fn order<S: Simd>(s: S, a: [S::F; 2]) -> [S::F; 2] {
        s.order_bf16(a)
    }

    #[inline(always)]
    fn unorder<S: Simd>(s: S, a: [S::F; 2]) -> [S::F; 2] {
        s.unorder_bf16(a)
    }
}
