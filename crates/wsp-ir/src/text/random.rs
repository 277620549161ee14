//! Values of every node type from a string of bytes, for the round-trip property.

use crate::{Const, EmitHints, Expr, Stmt};
use wsp_diag::Span;

/// Bytes that decide; when they run out every decision is the first, which ends all recursion.
pub(super) struct Bytes<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> Bytes<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Bytes<'b> {
        Bytes { bytes: bytes.iter() }
    }

    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }
}

/// Something that bytes decide.
pub(super) trait Random {
    fn random(bytes: &mut Bytes<'_>) -> Self;
}

impl Random for bool {
    fn random(bytes: &mut Bytes<'_>) -> bool {
        bytes.below(2) == 1
    }
}

impl Random for u8 {
    fn random(bytes: &mut Bytes<'_>) -> u8 {
        bytes.byte()
    }
}

impl Random for u32 {
    fn random(bytes: &mut Bytes<'_>) -> u32 {
        match bytes.below(4) {
            0 | 1 => u32::from(bytes.byte()) % 4,
            2 => u32::from(bytes.byte()),
            _ => bytes.word() as u32,
        }
    }
}

impl Random for String {
    fn random(bytes: &mut Bytes<'_>) -> String {
        const FIXED: [&str; 9] = [
            "",
            "q",
            "kv_cache.k",
            "none",
            "a \"b\" \\c",
            "two\nlines\t",
            "größe →",
            "\u{0}\u{7f}\u{85}\r",
            "x:u32",
        ];
        match bytes.below(FIXED.len() + 1) {
            i if i < FIXED.len() => FIXED[i].to_owned(),
            _ => {
                (0..bytes.below(5)).filter_map(|_| char::from_u32(bytes.word() as u32 % 0x11_0000)).collect()
            }
        }
    }
}

impl<T: Random> Random for Box<T> {
    fn random(bytes: &mut Bytes<'_>) -> Box<T> {
        Box::new(T::random(bytes))
    }
}

impl<T: Random> Random for Option<T> {
    fn random(bytes: &mut Bytes<'_>) -> Option<T> {
        (bytes.below(2) == 1).then(|| T::random(bytes))
    }
}

impl<T: Random> Random for Vec<T> {
    fn random(bytes: &mut Bytes<'_>) -> Vec<T> {
        (0..bytes.below(4)).map(|_| T::random(bytes)).collect()
    }
}

impl<A: Random, B: Random> Random for (A, B) {
    fn random(bytes: &mut Bytes<'_>) -> (A, B) {
        (A::random(bytes), B::random(bytes))
    }
}

impl Random for Const {
    fn random(bytes: &mut Bytes<'_>) -> Const {
        match bytes.below(4) {
            0 => Const::Int(i128::from(bytes.byte())),
            1 => Const::Int(i128::from(bytes.word() as i64) * i128::from(bytes.byte())),
            2 => Const::Float(f64::from_bits(bytes.word())),
            _ => Const::Bool(bool::random(bytes)),
        }
    }
}

impl Random for EmitHints {
    fn random(bytes: &mut Bytes<'_>) -> EmitHints {
        EmitHints {
            affinity: Random::random(bytes),
            prefetch: Random::random(bytes),
            priority: Random::random(bytes),
        }
    }
}

impl Random for Expr {
    fn random(bytes: &mut Bytes<'_>) -> Expr {
        Expr { kind: Random::random(bytes), ty: Random::random(bytes), span: Span::default() }
    }
}

impl Random for Stmt {
    fn random(bytes: &mut Bytes<'_>) -> Stmt {
        Stmt { kind: Random::random(bytes), span: Span::default() }
    }
}
