//! What an instruction set offers.

/// The end of a row, padded with zeros to two of the widest vectors.
#[repr(align(64))]
pub(crate) struct Part(pub(crate) [u8; 128]);

/// A vector instruction set. A value proves that the CPU has it, so that arithmetic needs no further promise.
pub(crate) trait Simd: Copy {
    /// A vector of `f32`.
    type F: Copy;

    /// Lanes of a vector; divides [`crate::kernels::ROW_ALIGN`].
    const LANES: usize;
    /// Vector registers: 8, 16 or 32.
    const REGISTERS: usize;
    /// Whether [`Simd::fma`] rounds once.
    const FUSED: bool;

    fn splat(self, x: f32) -> Self::F;
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a · b + c`, rounded once where [`Simd::FUSED`] is true.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The larger; NaN when either is.
    fn maximum(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller; NaN when either is.
    fn minimum(self, a: Self::F, b: Self::F) -> Self::F;
    fn neg(self, a: Self::F) -> Self::F;
    fn abs(self, a: Self::F) -> Self::F;
    fn sqrt(self, a: Self::F) -> Self::F;
    /// To the nearest integer, ties to even.
    fn round(self, a: Self::F) -> Self::F;
    /// Within the bounds; NaN stays.
    fn clamp(self, a: Self::F, lo: f32, hi: f32) -> Self::F;
    /// `p · 2ⁿ` where `x >= flush` or `x` is NaN, else 0; `n` is an integer in -250..=250, and `|p| <= 2¹⁶` or NaN.
    fn scale(self, p: Self::F, n: Self::F, x: Self::F, flush: f32) -> Self::F;
    /// `x` where `a <= b`, else `y`: also where `a` or `b` is NaN.
    fn select_le(self, a: Self::F, b: Self::F, x: Self::F, y: Self::F) -> Self::F;
    /// The first `n` lanes of `a`, then `fill`.
    fn keep_first(self, a: Self::F, n: usize, fill: f32) -> Self::F;

    /// Lanes combined pairwise, at distance `LANES / 2`, …, 2, 1.
    fn sum(self, a: Self::F) -> f32;
    /// The largest lane; NaN when one is.
    fn max_lane(self, a: Self::F) -> f32;
    /// The smallest lane; NaN when one is.
    fn min_lane(self, a: Self::F) -> f32;
    /// [`Simd::sum`] of each, bit for bit.
    fn sums8(self, a: [Self::F; 8]) -> [f32; 8];
    /// [`Simd::sum`] of each, bit for bit.
    fn sums16(self, a: [Self::F; 16]) -> [f32; 16];

    /// To the nearest binary16 value, ties to even.
    fn round_f16(self, a: Self::F) -> Self::F;
    /// To the nearest bfloat16 value, ties to even.
    fn round_bf16(self, a: Self::F) -> Self::F;

    /// # Safety
    /// `p` is valid for a read of `LANES` floats.
    unsafe fn load(self, p: *const f32) -> Self::F;
    /// # Safety
    /// `p` is valid for a write of `LANES` floats.
    unsafe fn store(self, p: *mut f32, a: Self::F);
    /// `LANES` binary16 values.
    ///
    /// # Safety
    /// `p` is valid for a read of `2 · LANES` bytes.
    unsafe fn load_f16(self, p: *const u8) -> Self::F;
    /// `LANES` bfloat16 values.
    ///
    /// # Safety
    /// `p` is valid for a read of `2 · LANES` bytes.
    unsafe fn load_bf16(self, p: *const u8) -> Self::F;
    /// Rounds to binary16.
    ///
    /// # Safety
    /// `p` is valid for a write of `2 · LANES` bytes.
    unsafe fn store_f16(self, p: *mut u8, a: Self::F);
    /// Rounds to bfloat16.
    ///
    /// # Safety
    /// `p` is valid for a write of `2 · LANES` bytes.
    unsafe fn store_bf16(self, p: *mut u8, a: Self::F);

    /// `2 · LANES` bfloat16 values in whatever lane order is cheapest; [`Simd::order_bf16`] puts floats into that order.
    ///
    /// # Safety
    /// `p` is valid for a read of `4 · LANES` bytes.
    unsafe fn load2_bf16(self, p: *const u8) -> [Self::F; 2];
    /// From memory order to the order of [`Simd::load2_bf16`].
    fn order_bf16(self, a: [Self::F; 2]) -> [Self::F; 2];
    /// From the order of [`Simd::load2_bf16`] to memory order.
    fn unorder_bf16(self, a: [Self::F; 2]) -> [Self::F; 2];

    /// The first `bytes` bytes at `p`, then zeros.
    ///
    /// # Safety
    /// `p` is valid for a read of `bytes` bytes, and `bytes <= 128`.
    #[inline(always)]
    unsafe fn part(self, p: *const u8, bytes: usize) -> Part {
        let mut part = Part([0; 128]);
        // SAFETY: the caller's promise; the buffer has 128 bytes.
        unsafe { core::ptr::copy_nonoverlapping(p, part.0.as_mut_ptr(), bytes) };
        part
    }

    /// Asks for the cache line at `p`, which need not be valid, to be brought next to the core.
    fn prefetch(self, p: *const u8);
    /// As [`Simd::prefetch`], into the next larger cache: for what is needed later.
    fn prefetch_far(self, p: *const u8);
}
