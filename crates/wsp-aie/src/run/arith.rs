//! What operators compute.

use super::code::{Binary, Scalar, Unary};
use crate::mlir::Op;
use crate::number::{f16_to_f32, round_bf16};
use wsp_core::int::{BinOp, Int};

/// An integer of so many bits, with its sign extended; of one bit 0 or 1.
pub(crate) fn wrap(value: i64, bits: u32) -> u64 {
    if bits == 1 {
        return (value & 1) as u64;
    }
    let unused = 64 - bits.min(64);
    (value << unused >> unused) as u64
}

/// The bits of an integer without its sign.
fn unsigned(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits.min(64)))
}

pub(super) fn to_f64(bits: u64, ty: Scalar) -> f64 {
    if ty == Scalar::F64 { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
}

/// The register of a number, rounded to its type.
pub(super) fn from_f64(value: f64, ty: Scalar) -> u64 {
    match ty {
        Scalar::F64 => value.to_bits(),
        _ => round(value as f32, ty),
    }
}

/// The register of a number that was computed in `f32`.
fn round(value: f32, ty: Scalar) -> u64 {
    let rounded = match ty {
        Scalar::Bf16 => round_bf16(value),
        Scalar::F16 => f16_to_f32(to_f16(value)),
        _ => value,
    };
    u64::from(rounded.to_bits())
}

/// The nearest binary16, ties to even.
fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    if value.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    if magnitude < 6.103_515_6e-5 {
        // Below the smallest normal number steps are all alike.
        return sign | (magnitude * 16_777_216.0).round_ties_even() as u16;
    }
    let rounded = (bits & 0x7fff_ffff) + 0xfff + (bits >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

/// The function of an operator that has a result for all values and is common.
pub(super) fn plain(op: Binary, ty: Scalar) -> Option<fn(u64, u64) -> u64> {
    let Binary::Plain(op) = op else { return None };
    Some(match (op, ty) {
        (BinOp::Add, Scalar::Int(32)) => |a, b| wrap((a as i64).wrapping_add(b as i64), 32),
        (BinOp::Sub, Scalar::Int(32)) => |a, b| wrap((a as i64).wrapping_sub(b as i64), 32),
        (BinOp::Mul, Scalar::Int(32)) => |a, b| wrap((a as i64).wrapping_mul(b as i64), 32),
        (BinOp::Add, Scalar::Int(64)) => |a, b| a.wrapping_add(b),
        (BinOp::Mul, Scalar::Int(64)) => |a, b| a.wrapping_mul(b),
        _ => return None,
    })
}

pub(super) fn number(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub(super) fn single(value: f32) -> u64 {
    u64::from(value.to_bits())
}

/// The operator of an operation on two values.
pub(super) fn binary_of(name: &str) -> Option<Binary> {
    Some(match name {
        "arith.addi" | "arith.addf" => Binary::Plain(BinOp::Add),
        "arith.subi" | "arith.subf" => Binary::Plain(BinOp::Sub),
        "arith.muli" | "arith.mulf" => Binary::Plain(BinOp::Mul),
        "arith.divsi" | "arith.divf" => Binary::Plain(BinOp::Div),
        "arith.divui" => Binary::Bare(BinOp::Div),
        "arith.remui" => Binary::Bare(BinOp::Rem),
        "arith.shrui" => Binary::Bare(BinOp::Shr),
        "arith.maxui" => Binary::Bare(BinOp::Max),
        "arith.minui" => Binary::Bare(BinOp::Min),
        "arith.ceildivsi" => Binary::Plain(BinOp::CeilDiv),
        "arith.remsi" => Binary::Plain(BinOp::Rem),
        "arith.andi" => Binary::Plain(BinOp::BitAnd),
        "arith.ori" => Binary::Plain(BinOp::BitOr),
        "arith.xori" => Binary::Plain(BinOp::BitXor),
        "arith.shli" => Binary::Plain(BinOp::Shl),
        "arith.shrsi" => Binary::Plain(BinOp::Shr),
        "arith.maxsi" | "arith.maximumf" => Binary::Plain(BinOp::Max),
        "arith.minsi" | "arith.minimumf" => Binary::Plain(BinOp::Min),
        "arith.maxnumf" => Binary::MaxNum,
        "arith.minnumf" => Binary::MinNum,
        _ => return None,
    })
}

/// What an operation makes of two integers of so many bits, with their signs extended; none where it makes none of them, or is another.
pub(crate) fn of_integers(op: &Op, bits: u32, given: &[i64]) -> Option<i64> {
    let operator = match op.name.as_str() {
        "arith.cmpi" => {
            let predicate = op.find_int("predicate").and_then(|of| u8::try_from(of).ok());
            Binary::Compare(predicate.filter(|of| *of < 10)?)
        }
        name => binary_of(name)?,
    };
    let [a, b] = given else { return None };
    binary(operator, Scalar::Int(bits), *a as u64, *b as u64).map(|made| made as i64)
}

/// What an operator makes of two registers; none for a division by 0 or a shift by the width or more.
pub(super) fn binary(op: Binary, ty: Scalar, a: u64, b: u64) -> Option<u64> {
    if let Binary::Compare(predicate) = op {
        return Some(u64::from(compare(predicate, ty, a, b)));
    }
    match ty {
        Scalar::Int(bits) => integer(op, bits, a as i64, b as i64),
        Scalar::F64 => Some(float(op, f64::from_bits(a), f64::from_bits(b)).to_bits()),
        _ => {
            let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let value = match op {
                Binary::Plain(BinOp::Add) => a + b,
                Binary::Plain(BinOp::Sub) => a - b,
                Binary::Plain(BinOp::Mul) => a * b,
                Binary::Plain(BinOp::Div) => a / b,
                Binary::Plain(BinOp::Max) if a > b => a,
                Binary::Plain(BinOp::Max) if b > a => b,
                Binary::Plain(BinOp::Min) if a < b => a,
                Binary::Plain(BinOp::Min) if b < a => b,
                _ => float(op, f64::from(a), f64::from(b)) as f32,
            };
            Some(round(value, ty))
        }
    }
}

fn integer(op: Binary, bits: u32, a: i64, b: i64) -> Option<u64> {
    let in_width = (0..i64::from(bits)).contains(&b);
    let value = match op {
        // These wrap, and what a width holds of a shift follows from 64 bits.
        Binary::Plain(BinOp::Add) => a.wrapping_add(b),
        Binary::Plain(BinOp::Sub) => a.wrapping_sub(b),
        Binary::Plain(BinOp::Mul) => a.wrapping_mul(b),
        Binary::Plain(BinOp::Shl) if in_width => a << b,
        Binary::Plain(BinOp::Shl | BinOp::Shr) if !in_width => return None,
        Binary::Plain(op) => i64::binary(op, a, b).ok()?,
        Binary::Bare(BinOp::Shr) if !in_width => return None,
        Binary::Bare(op) => u64::binary(op, unsigned(a as u64, bits), unsigned(b as u64, bits)).ok()? as i64,
        Binary::MaxNum => a.max(b),
        Binary::MinNum => a.min(b),
        Binary::Compare(_) => return None,
    };
    Some(wrap(value, bits))
}

fn float(op: Binary, a: f64, b: f64) -> f64 {
    let is_none = a.is_nan() || b.is_nan();
    let is_max = matches!(op, Binary::Plain(BinOp::Max) | Binary::MaxNum);
    match op {
        Binary::Plain(BinOp::Add) => a + b,
        Binary::Plain(BinOp::Sub) => a - b,
        Binary::Plain(BinOp::Mul) => a * b,
        Binary::Plain(BinOp::Div) => a / b,
        Binary::Plain(BinOp::Max | BinOp::Min) if is_none => f64::NAN,
        // Of the two zeros the one without sign is the larger.
        Binary::Plain(BinOp::Max | BinOp::Min) | Binary::MaxNum | Binary::MinNum if a == b => {
            let (a, b) = (a.to_bits(), b.to_bits());
            f64::from_bits(if is_max { a & b } else { a | b })
        }
        Binary::Plain(BinOp::Max) | Binary::MaxNum => a.max(b),
        Binary::Plain(BinOp::Min) | Binary::MinNum => a.min(b),
        _ => f64::NAN,
    }
}

/// Whether a comparison holds, by its number in the text.
fn compare(predicate: u8, ty: Scalar, a: u64, b: u64) -> bool {
    let Scalar::Int(bits) = ty else {
        let (a, b) = (to_f64(a, ty), to_f64(b, ty));
        let unordered = a.is_nan() || b.is_nan();
        return match predicate {
            0 => false,
            1 => a == b,
            2 => a > b,
            3 => a >= b,
            4 => a < b,
            5 => a <= b,
            6 => !unordered && a != b,
            7 => !unordered,
            8 => unordered || a == b,
            9 => unordered || a > b,
            10 => unordered || a >= b,
            11 => unordered || a < b,
            12 => unordered || a <= b,
            13 => a != b,
            14 => unordered,
            _ => true,
        };
    };
    let (signed_a, signed_b) = (a as i64, b as i64);
    let (a, b) = (unsigned(a, bits), unsigned(b, bits));
    match predicate {
        0 => a == b,
        1 => a != b,
        2 => signed_a < signed_b,
        3 => signed_a <= signed_b,
        4 => signed_a > signed_b,
        5 => signed_a >= signed_b,
        6 => a < b,
        7 => a <= b,
        8 => a > b,
        _ => a >= b,
    }
}

/// Functions of `f32` and shorter numbers are those of `f32`, as plain operations have them.
pub(super) fn unary(op: Unary, ty: Scalar, a: u64) -> u64 {
    macro_rules! of {
        ($value:expr) => {
            match op {
                Unary::Neg => -$value,
                Unary::Abs => $value.abs(),
                Unary::Exp => $value.exp(),
                Unary::Rsqrt => 1.0 / $value.sqrt(),
                Unary::Sqrt => $value.sqrt(),
                Unary::Tanh => $value.tanh(),
            }
        };
    }
    if ty == Scalar::F64 { of!(f64::from_bits(a)).to_bits() } else { round(of!(number(a)), ty) }
}

/// `a · b + c`, rounded once.
pub(super) fn fma(ty: Scalar, a: u64, b: u64, c: u64) -> u64 {
    if ty == Scalar::F64 {
        return f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits();
    }
    round(number(a).mul_add(number(b), number(c)), ty)
}

/// A value in another type.
pub(super) fn cast(to: Scalar, from: Scalar, unsigned_from: bool, a: u64) -> u64 {
    match (from, to) {
        (Scalar::Int(bits), Scalar::Int(to)) => {
            // Of one bit 1 stands for -1 where the sign counts, unless the result has one bit too.
            let value = match unsigned_from {
                true => unsigned(a, bits) as i64,
                false if bits == 1 => -((a & 1) as i64),
                false => a as i64,
            };
            wrap(value, to)
        }
        // Rounded once; one of 64 bits without sign may be beyond those with one.
        (Scalar::Int(bits), Scalar::F64) if unsigned_from => (unsigned(a, bits) as f64).to_bits(),
        (Scalar::Int(bits), _) if unsigned_from => round(unsigned(a, bits) as f32, to),
        (Scalar::Int(_), Scalar::F64) => (a as i64 as f64).to_bits(),
        (Scalar::Int(_), _) => round(a as i64 as f32, to),
        (_, Scalar::Int(bits)) => wrap(to_f64(a, from) as i64, bits),
        _ => from_f64(to_f64(a, from), to),
    }
}

/// The register of what lies in memory.
pub(super) fn load(ty: Scalar, bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let word = u64::from_le_bytes(word);
    match ty {
        Scalar::Int(bits) => wrap(word as i64, bits),
        Scalar::Bf16 => word << 16,
        Scalar::F16 => u64::from(f16_to_f32(word as u16).to_bits()),
        Scalar::F32 | Scalar::F64 => word,
    }
}

/// A register into memory.
pub(super) fn store(ty: Scalar, value: u64, bytes: &mut [u8]) {
    let word = match ty {
        Scalar::Bf16 => value >> 16,
        Scalar::F16 => u64::from(to_f16(f32::from_bits(value as u32))),
        _ => value,
    };
    let count = bytes.len().min(8);
    bytes[..count].copy_from_slice(&word.to_le_bytes()[..count]);
}
