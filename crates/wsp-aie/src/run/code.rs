//! What cores run: instructions over registers, made once from the operations of a body.
//!
//! A register holds an integer with its sign extended to 64 bits (`i1` as 0 or 1), a number as the bits of its `f32` (of `f64` its own), or the number of
//! a buffer. A vector has as many registers as lanes.

use super::bytes::Touch;
use crate::mlir::Type;
use wsp_core::int::BinOp;
use wsp_diag::Span;

/// The first register of a value.
pub(super) type Reg = u32;

/// How a value lies in memory and in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    /// Integers of so many bits, `index` of 64.
    Int(u32),
    F32,
    Bf16,
    F16,
    F64,
}

impl Scalar {
    /// How scalars of a type lie.
    pub(super) fn of(ty: &Type) -> Option<Scalar> {
        Some(match ty.scalar() {
            Type::Int(bits) => Scalar::Int(*bits),
            Type::Index => Scalar::Int(64),
            Type::F32 => Scalar::F32,
            Type::Bf16 => Scalar::Bf16,
            Type::F16 => Scalar::F16,
            Type::F64 => Scalar::F64,
            _ => return None,
        })
    }

    /// Bytes in memory.
    pub(super) fn bytes(self) -> usize {
        match self {
            Scalar::Int(bits) => (bits as usize).div_ceil(8),
            Scalar::Bf16 | Scalar::F16 => 2,
            Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }

    pub(super) fn is_float(self) -> bool {
        !matches!(self, Scalar::Int(_))
    }
}

/// An operator on two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    /// One of integers or of numbers. Of numbers the larger and the smaller are none where one of the two is none.
    Plain(BinOp),
    /// One of integers without sign.
    Bare(BinOp),
    /// The larger or smaller of numbers; one that is none loses.
    MaxNum,
    MinNum,
    /// A comparison, by its number in the text.
    Compare(u8),
}

/// An operator on one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Neg,
    Abs,
    Exp,
    Rsqrt,
    Sqrt,
    Tanh,
}

/// One index of an access: its register, the extent, and how far apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    pub(super) reg: Reg,
    pub(super) extent: u64,
    pub(super) stride: u64,
}

/// Registers with a type: `lanes` of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) reg: Reg,
    pub(super) lanes: u32,
    pub(super) ty: Scalar,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) enum Inst {
    /// Fixed values.
    Fixed {
        to: Reg,
        values: Box<[u64]>,
    },
    /// Copies values.
    Copy {
        to: Reg,
        from: Reg,
        lanes: u32,
    },
    /// One value into all lanes.
    Splat {
        to: Reg,
        from: Reg,
        lanes: u32,
    },
    Binary {
        op: Binary,
        to: Reg,
        a: Lanes,
        b: Reg,
    },
    Unary {
        op: Unary,
        to: Reg,
        a: Lanes,
    },
    /// `a · b + c`, rounded once.
    Fma {
        to: Reg,
        a: Lanes,
        b: Reg,
        c: Reg,
    },
    /// `a` where the condition holds, else `b`. The condition has one lane or as many.
    Select {
        to: Reg,
        condition: Lanes,
        a: Lanes,
        b: Reg,
    },
    /// A value of another type; `unsigned` of an integer without sign.
    Cast {
        to: Lanes,
        from: Lanes,
        unsigned: bool,
    },
    /// The bits of a value as one of another type.
    Bits {
        to: Lanes,
        from: Lanes,
    },
    /// All lanes by an operator.
    Reduce {
        op: Binary,
        to: Reg,
        a: Lanes,
    },
    Load {
        to: Lanes,
        memory: Reg,
        index: Box<[Index]>,
    },
    Store {
        from: Lanes,
        memory: Reg,
        index: Box<[Index]>,
    },
    /// Memory of the core, as many bytes.
    Alloc {
        to: Reg,
        bytes: u64,
    },
    CopyMemory {
        from: Reg,
        to: Reg,
    },
    /// A buffer of the design.
    Buffer {
        to: Reg,
        buffer: usize,
    },
    /// Uses a buffer that others use too: a use of the code, so many bytes further for each of these registers.
    Touch {
        touch: usize,
        factors: Box<[(Reg, i64)]>,
    },
    Jump(u32),
    /// Goes on elsewhere where the value is 0.
    Unless {
        condition: Reg,
        target: u32,
    },
    /// Goes on elsewhere where the loop is over before it begins.
    Enter {
        i: Reg,
        low: Reg,
        high: Reg,
        step: Reg,
        target: u32,
    },
    /// The next round of a loop.
    Next {
        i: Reg,
        step: Reg,
        high: Reg,
        body: u32,
    },
    /// Holds so many objects of an end of a fifo, and makes the number of the first.
    Acquire {
        to: Reg,
        end: usize,
        count: u32,
    },
    /// An object of an acquisition, by the number of its first; `view` is the place among the code's views.
    Access {
        to: Reg,
        first: Reg,
        end: usize,
        index: u32,
        view: usize,
    },
    Release {
        end: usize,
        count: u32,
    },
    /// Waits for a lock to have a value, at least or exactly, and takes it away; or adds to it.
    Lock {
        lock: usize,
        action: i64,
        value: i64,
    },
    Call {
        kernel: usize,
        args: Box<[CallArg]>,
        results: Box<[Lanes]>,
    },
    End,
}

/// What a kernel is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallArg {
    Memory(Reg),
    Number(Lanes),
}

/// The code of a core.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) insts: Vec<Inst>,
    /// Where each instruction is written.
    pub(super) spans: Vec<Span>,
    pub(super) registers: u32,
    /// How many instructions make an object of a fifo.
    pub(super) views: usize,
    /// Uses of buffers that others use too.
    pub(super) touches: Vec<Touch>,
}

impl Code {
    /// The locks that it releases.
    pub(super) fn released(&self) -> Vec<usize> {
        let lock = |inst: &Inst| match inst {
            Inst::Lock { lock, action: 1, .. } => Some(*lock),
            _ => None,
        };
        self.insts.iter().filter_map(lock).collect()
    }
}

/// An object that is accessed: the register that has its buffer, the end of its fifo, and its number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) reg: Reg,
    pub(super) end: usize,
    pub(super) object: u64,
}

impl View {
    /// Before it is an object.
    pub(super) const NONE: View = View { reg: 0, end: usize::MAX, object: 0 };
}
