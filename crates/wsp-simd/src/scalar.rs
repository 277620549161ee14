//! Elements of arrays as `f32` and `f64`, one at a time.

use half::{bf16, f16};
use wsp_core::{DType, fp8};

/// The `f32` nearest to the element at `ptr`; 0 for an integer type.
///
/// # Safety
/// `ptr` is valid for a read of one element of type `dtype`; it need not be aligned.
#[inline]
pub unsafe fn read_f32(ptr: *const u8, dtype: DType) -> f32 {
    // SAFETY: the caller's promise, for the size that `dtype` says.
    unsafe {
        match dtype {
            DType::F32 => ptr.cast::<f32>().read_unaligned(),
            DType::F64 => ptr.cast::<f64>().read_unaligned() as f32,
            DType::F16 => f16::from_bits(ptr.cast::<u16>().read_unaligned()).to_f32(),
            DType::Bf16 => bf16::from_bits(ptr.cast::<u16>().read_unaligned()).to_f32(),
            DType::F8E4m3 => fp8::e4m3_to_f32(ptr.read()),
            DType::F8E5m2 => fp8::e5m2_to_f32(ptr.read()),
            _ => 0.0,
        }
    }
}

/// Writes an `f32`, rounded to the element type (nearest, ties to even); nothing for an integer type.
///
/// # Safety
/// `ptr` is valid for a write of one element of type `dtype`; it need not be aligned.
#[inline]
pub unsafe fn write_f32(ptr: *mut u8, dtype: DType, value: f32) {
    // SAFETY: the caller's promise, for the size that `dtype` says.
    unsafe {
        match dtype {
            DType::F32 => ptr.cast::<f32>().write_unaligned(value),
            DType::F64 => ptr.cast::<f64>().write_unaligned(f64::from(value)),
            DType::F16 => ptr.cast::<u16>().write_unaligned(f16::from_f32(value).to_bits()),
            DType::Bf16 => ptr.cast::<u16>().write_unaligned(bf16::from_f32(value).to_bits()),
            DType::F8E4m3 => ptr.write(fp8::e4m3_from_f32(value)),
            DType::F8E5m2 => ptr.write(fp8::e5m2_from_f32(value)),
            _ => {}
        }
    }
}

/// The element at `ptr`, exactly; 0 for an integer type.
///
/// # Safety
/// `ptr` is valid for a read of one element of type `dtype`; it need not be aligned.
pub unsafe fn read_f64(ptr: *const u8, dtype: DType) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::F64 => ptr.cast::<f64>().read_unaligned(),
            _ => f64::from(read_f32(ptr, dtype)),
        }
    }
}

/// Writes an `f64`, rounded once to the element type (nearest, ties to even); nothing for an integer type.
///
/// # Safety
/// `ptr` is valid for a write of one element of type `dtype`; it need not be aligned.
pub unsafe fn write_f64(ptr: *mut u8, dtype: DType, value: f64) {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::F64 => ptr.cast::<f64>().write_unaligned(value),
            _ => write_f32(ptr, dtype, round_f64(dtype, value)),
        }
    }
}

/// The value rounded once to an element type that `f32` holds (nearest, ties to even).
pub fn round_f64(dtype: DType, value: f64) -> f32 {
    if dtype.is_short_float() { round_to(dtype, to_odd(value)) } else { value as f32 }
}

/// The value where `f32` has it, else that of its two neighbours whose last bit is 1: to a type of at least two significant bits less it is
/// rounded as the value itself would be (S. Boldo and G. Melquiond, "Emulation of FMA and Correctly Rounded Sums: Proved Algorithms Using
/// Rounding to Odd", 2008).
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    if back == value || value.is_nan() {
        return near;
    }
    // Neighbours of one sign have neighbouring bits, infinity included.
    let toward_zero = near.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(toward_zero | 1)
}

/// The value rounded to an element type (nearest, ties to even).
#[inline]
pub fn round_to(dtype: DType, value: f32) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(value).to_f32(),
        DType::Bf16 => bf16::from_f32(value).to_f32(),
        DType::F8E4m3 => fp8::e4m3_to_f32(fp8::e4m3_from_f32(value)),
        DType::F8E5m2 => fp8::e5m2_to_f32(fp8::e5m2_from_f32(value)),
        _ => value,
    }
}
