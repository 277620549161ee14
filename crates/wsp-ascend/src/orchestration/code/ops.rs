//! Operations and types of the code of generators, by their numbers in the header.

use wsp_ir::{BinOp, Const, MathFn, ScalarTy};

macro_rules! ops {
    ($($name:ident = $text:literal,)*) => {
        /// An operation, by its place among those of the header.
        #[derive(Clone, Copy)]
        #[repr(u8)]
        pub(super) enum Op { $($name,)* }

        /// Their names in the header.
        #[cfg(test)]
        const OPS: &[&str] = &[$($text,)*];
    };
}

ops! {
    Halt = "halt",
    Constant = "constant",
    Parameter = "parameter",
    Local = "local",
    Set = "set",
    Not = "no",
    Neg = "neg",
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    Div = "div",
    Rem = "rem",
    CeilDiv = "ceil_div",
    Min = "min",
    Max = "max",
    Shl = "shl",
    Shr = "shr",
    BitAnd = "bit_and",
    BitOr = "bit_or",
    BitXor = "bit_xor",
    Lt = "lt",
    Le = "le",
    Gt = "gt",
    Ge = "ge",
    Eq = "eq",
    Ne = "ne",
    Cast = "cast",
    Math = "math",
    Load = "load",
    ArrayMax = "array_max",
    ArraySum = "array_sum",
    ArrayLen = "array_len",
    Jump = "jump",
    JumpZero = "jump_zero",
    Step = "step",
    AtLeast1 = "at_least_1",
    Advance = "advance",
    Call = "call",
    Result = "result",
    Leave = "leave",
    NoTier = "no_tier",
    Alloc = "alloc",
    MaxBlocks = "max_blocks",
    AxisExtent = "axis_extent",
    AxisTile = "axis_tile",
    SetTile = "set_tile",
    SetExtent = "set_extent",
    SetExtents = "set_extents",
    Enter = "enter",
    Emit = "emit",
    Fence = "fence",
}

/// The number of a type in the header.
pub(super) fn code_of(ty: ScalarTy) -> u32 {
    match ty {
        ScalarTy::Bool => 0,
        ScalarTy::I32 => 1,
        ScalarTy::U32 => 2,
        ScalarTy::I64 => 3,
        ScalarTy::U64 => 4,
        ScalarTy::F32 => 5,
        ScalarTy::F64 => 6,
    }
}

/// A number as the bits of a value.
pub(super) fn bits_of(value: Const, ty: ScalarTy) -> u64 {
    match value {
        Const::Bool(value) => value.into(),
        Const::Int(value) if ty.is_float() => real(value as f64, ty),
        // The lower bits of the two's complement.
        Const::Int(value) => value as u64,
        Const::Float(value) => real(value, ty),
    }
}

fn real(value: f64, ty: ScalarTy) -> u64 {
    if ty == ScalarTy::F32 { (value as f32).to_bits().into() } else { value.to_bits() }
}

/// The number of a function of one real number.
pub(super) fn number_of(f: MathFn) -> u32 {
    match f {
        MathFn::Exp => 0,
        MathFn::Exp2 => 1,
        MathFn::Log => 2,
        MathFn::Log2 => 3,
        MathFn::Sqrt => 4,
        MathFn::Abs => 5,
        MathFn::Sin => 6,
        MathFn::Cos => 7,
    }
}

/// That of an operator of two operands; those that join truth values are jumps.
pub(super) fn op_of(op: BinOp) -> Op {
    match op {
        BinOp::Add => Op::Add,
        BinOp::Sub => Op::Sub,
        BinOp::Mul => Op::Mul,
        BinOp::Div => Op::Div,
        BinOp::Rem => Op::Rem,
        BinOp::Lt => Op::Lt,
        BinOp::Le => Op::Le,
        BinOp::Gt => Op::Gt,
        BinOp::Ge => Op::Ge,
        BinOp::Eq | BinOp::And | BinOp::Or => Op::Eq,
        BinOp::Ne => Op::Ne,
        BinOp::BitAnd => Op::BitAnd,
        BinOp::BitOr => Op::BitOr,
        BinOp::BitXor => Op::BitXor,
        BinOp::Shl => Op::Shl,
        BinOp::Shr => Op::Shr,
        BinOp::Min => Op::Min,
        BinOp::Max => Op::Max,
        BinOp::CeilDiv => Op::CeilDiv,
    }
}

#[cfg(test)]
mod tests {
    use super::OPS;

    /// The header lists the same operations in the same order.
    #[test]
    fn operations_are_those_of_the_header() {
        let header = include_str!("../../../include/pto/wsp/backend/npu/generator_code.hpp");
        let (_, from) = header.split_once("enum class Op : std::uint8_t {").unwrap();
        let (list, _) = from.split_once("};").unwrap();
        let names: Vec<&str> =
            list.lines().filter_map(|line| line.trim().split_once(',')).map(|(name, _)| name).collect();
        assert_eq!(names.split_last(), Some((&"count", OPS)));
    }
}
