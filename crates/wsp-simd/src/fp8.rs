//! 8-bit floats on every instruction set, by way of binary16: none has conversions of its own that are everywhere.

use crate::elem::Elem;
use crate::vector::Simd;
use wsp_core::fp8;

/// Most lanes of a vector.
const MOST: usize = 16;

/// OCP E4M3.
pub(crate) struct E4m3;
/// OCP E5M2.
pub(crate) struct E5m2;

impl Elem for E4m3 {
    const SIZE: usize = 1;

    #[inline(always)]
    unsafe fn load2<S: Simd>(s: S, p: *const u8) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { [load_e4m3(s, p), load_e4m3(s, p.add(S::LANES))] }
    }
}

impl Elem for E5m2 {
    const SIZE: usize = 1;

    #[inline(always)]
    unsafe fn load2<S: Simd>(s: S, p: *const u8) -> [S::F; 2] {
        // SAFETY: the caller's promise.
        unsafe { [load_e5m2(s, p), load_e5m2(s, p.add(S::LANES))] }
    }
}

/// `LANES` E4M3 values. Moved up by 7 bits a magnitude is a binary16 value 2⁸ times too small, also where it is subnormal.
///
/// # Safety
/// `p` is valid for a read of `LANES` bytes.
#[inline(always)]
pub(crate) unsafe fn load_e4m3<S: Simd>(s: S, p: *const u8) -> S::F {
    const NAN: u16 = 0x7e00;
    let mut halves = [0u16; MOST];
    for (i, half) in halves[..S::LANES].iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let byte = u16::from(unsafe { *p.add(i) });
        let magnitude = byte & 0x7f;
        *half = (byte & 0x80) << 8 | if magnitude == 0x7f { NAN } else { magnitude << 7 };
    }
    // SAFETY: the buffer has a vector of binary16 values.
    s.mul(unsafe { s.load_f16(halves.as_ptr().cast()) }, s.splat(256.0))
}

/// `LANES` E5M2 values: the upper halves of binary16 ones.
///
/// # Safety
/// `p` is valid for a read of `LANES` bytes.
#[inline(always)]
pub(crate) unsafe fn load_e5m2<S: Simd>(s: S, p: *const u8) -> S::F {
    let mut halves = [0u16; MOST];
    for (i, half) in halves[..S::LANES].iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *half = u16::from(unsafe { *p.add(i) }) << 8;
    }
    // SAFETY: the buffer has a vector of binary16 values.
    unsafe { s.load_f16(halves.as_ptr().cast()) }
}

/// The bytes nearest to the lanes, ties to even; those past `LANES` are 0.
#[inline(always)]
fn bytes<S: Simd>(s: S, a: S::F, encode: impl Fn(f32) -> u8) -> [u8; MOST] {
    let mut values = [0f32; MOST];
    // SAFETY: the buffer has room for the widest vector.
    unsafe { s.store(values.as_mut_ptr(), a) };
    let mut out = [0; MOST];
    for (byte, value) in out[..S::LANES].iter_mut().zip(values) {
        *byte = encode(value);
    }
    out
}

/// Rounds to E4M3.
///
/// # Safety
/// `p` is valid for a write of `LANES` bytes.
#[inline(always)]
pub(crate) unsafe fn store_e4m3<S: Simd>(s: S, p: *mut u8, a: S::F) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(bytes(s, a, fp8::e4m3_from_f32).as_ptr(), p, S::LANES) };
}

/// Rounds to E5M2.
///
/// # Safety
/// `p` is valid for a write of `LANES` bytes.
#[inline(always)]
pub(crate) unsafe fn store_e5m2<S: Simd>(s: S, p: *mut u8, a: S::F) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(bytes(s, a, fp8::e5m2_from_f32).as_ptr(), p, S::LANES) };
}

/// To the nearest E4M3 values.
#[inline(always)]
pub(crate) fn round_e4m3<S: Simd>(s: S, a: S::F) -> S::F {
    // SAFETY: the buffer has a byte for each lane.
    unsafe { load_e4m3(s, bytes(s, a, fp8::e4m3_from_f32).as_ptr()) }
}

/// To the nearest E5M2 values.
#[inline(always)]
pub(crate) fn round_e5m2<S: Simd>(s: S, a: S::F) -> S::F {
    // SAFETY: the buffer has a byte for each lane.
    unsafe { load_e5m2(s, bytes(s, a, fp8::e5m2_from_f32).as_ptr()) }
}
