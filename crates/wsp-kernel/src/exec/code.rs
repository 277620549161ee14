//! The compiled form of a function: three-operand instructions over a flat file of 64-bit slots.
//!
//! Every variable, temporary and constant of a function has a slot of its frame. A frame starts as a copy of the
//! function's template, which holds the constants; so a constant costs no more than a variable.

use super::host::HintShape;
use super::tile_code::TileStep;
use crate::Trap;
use wsp_core::{AxisId, StructId, TierSetId};
use wsp_diag::Span;
use wsp_ir::{BinOp, MathFn, ScalarTy, UnOp};

/// An operation. `dst`, `a` and `b` are those of [`Inst`]: slots unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// `dst = a`
    Mov,
    AddU32,
    SubU32,
    MulU32,
    DivU32,
    RemU32,
    CeilDivU32,
    AddI32,
    SubI32,
    MulI32,
    AddU64,
    SubU64,
    MulU64,
    AddI64,
    SubI64,
    MulI64,
    AddF32,
    SubF32,
    MulF32,
    DivF32,
    AddF64,
    SubF64,
    MulF64,
    DivF64,
    /// Unsigned, of either width.
    MinU,
    MaxU,
    LtU,
    LeU,
    /// Signed, of either width.
    LtI,
    LeI,
    /// Integers and truth values of one type.
    EqInt,
    NeInt,
    /// Any other operator on operands of the instruction's type; the operator is in [`Origin`].
    Binary,
    Unary,
    Math,
    /// From the type in [`Origin`] to the instruction's.
    Cast,
    /// To instruction `b`.
    Jump,
    /// To instruction `b` when `a` is true.
    JumpIf,
    /// To instruction `b` when `a` is false.
    JumpIfNot,
    /// Backwards to instruction `b`: a step.
    Back,
    /// Stops unless `a`, of the instruction's type, is at least 1.
    CheckStep,
    /// `dst += slot[a + 1]`; to instruction `b` when still below `slot[a]`: a step. On unsigned or signed integers.
    NextU,
    NextI,
    /// `dst = array[a][b]` as the instruction's type.
    Load,
    /// Over the first `b` elements.
    ArrayMax,
    ArraySum,
    ArrayLen,
    /// `dst = ` call site number `a`
    Call,
    /// Leaves the function with `a`.
    Return,
    /// Threshold table number `b` applied to `a` of the instruction's type.
    Tier,
    /// Stops with trap number `a`.
    Stop,
    /// `dst = tile of axis number a`, from the environment or the host.
    AxisTile,
    HostAxisTile,
    HostAxisExtent,
    /// Sites number `a`.
    Emit,
    Fence,
    SetTile,
    SetExtentScalar,
    SetExtentArray,
    AllocWs,
    /// Tile instruction number `a`, then the `b` after it; a scalar result, of a single one only, goes to `dst`.
    Tile,
}

macro_rules! operators {
    ($($op:ident = $operator:ident $ty:ident;)*) => {
        impl Op {
            /// The instructions that are one operator on operands of one type.
            const OPERATORS: &[Op] = &[$(Op::$op),*];

            /// The operator and the type of the operands, if it is one of [`Op::OPERATORS`]. Where slots of several types are
            /// compared in one way, the type is the widest of them.
            pub(crate) const fn operator(self) -> Option<(BinOp, ScalarTy)> {
                match self {
                    $(Op::$op => Some((BinOp::$operator, ScalarTy::$ty)),)*
                    _ => None,
                }
            }
        }
    };
}

operators! {
    AddU32 = Add U32;
    SubU32 = Sub U32;
    MulU32 = Mul U32;
    DivU32 = Div U32;
    RemU32 = Rem U32;
    CeilDivU32 = CeilDiv U32;
    AddI32 = Add I32;
    SubI32 = Sub I32;
    MulI32 = Mul I32;
    AddU64 = Add U64;
    SubU64 = Sub U64;
    MulU64 = Mul U64;
    AddI64 = Add I64;
    SubI64 = Sub I64;
    MulI64 = Mul I64;
    AddF32 = Add F32;
    SubF32 = Sub F32;
    MulF32 = Mul F32;
    DivF32 = Div F32;
    AddF64 = Add F64;
    SubF64 = Sub F64;
    MulF64 = Mul F64;
    DivF64 = Div F64;
    MinU = Min U64;
    MaxU = Max U64;
    LtU = Lt U64;
    LeU = Le U64;
    LtI = Lt I64;
    LeI = Le I64;
    EqInt = Eq U64;
    NeInt = Ne U64;
}

impl Op {
    /// The instruction that is an operator on operands of a type, if there is one.
    pub(crate) fn of_operator(op: BinOp, ty: ScalarTy) -> Option<Op> {
        use ScalarTy::{Bool, I32, I64, U32, U64};
        let by_order = op.is_comparison() || matches!(op, BinOp::Min | BinOp::Max);
        let ty = match ty {
            // Slot forms of equal values are equal, whatever the sign.
            Bool | I32 | I64 if matches!(op, BinOp::Eq | BinOp::Ne) => U64,
            U32 if by_order => U64,
            I32 if by_order => I64,
            ty => ty,
        };
        Op::OPERATORS.iter().copied().find(|special| special.operator() == Some((op, ty)))
    }
}

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    /// Type of the operands where the operation does not say it.
    pub(crate) ty: ScalarTy,
    pub(crate) dst: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

/// What an instruction stands for in the source; read only when it stops the run, and by the slow path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) span: Span,
    pub(crate) what: What,
}

/// The part of an instruction that only its slow path needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Plain,
    Binary(BinOp),
    Unary(UnOp),
    Math(MathFn),
    /// The type converted from, or of an index.
    From(ScalarTy),
}

/// A call of a helper.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    /// Index in [`Program::funcs`].
    pub(crate) func: usize,
    /// Slots of the arguments, which become the callee's first slots.
    pub(crate) args: Vec<u32>,
}

/// An emission.
#[derive(Clone, Debug)]
pub(crate) struct EmitSite {
    pub(crate) descriptor: StructId,
    /// Slots of the fields, then of the hints' values.
    pub(crate) words: Vec<u32>,
    pub(crate) fields: usize,
    pub(crate) hints: HintShape,
}

/// A workspace allocation.
#[derive(Clone, Debug)]
pub(crate) struct WsSite {
    pub(crate) set: TierSetId,
    pub(crate) set_name: String,
    /// Bytes per slot of each tier.
    pub(crate) tier_bytes: Vec<u64>,
    pub(crate) tier: u32,
    pub(crate) key: Vec<u32>,
    pub(crate) count: u32,
    pub(crate) index: u32,
}

/// An axis with its name.
#[derive(Clone, Debug)]
pub(crate) struct AxisSite {
    pub(crate) axis: AxisId,
    pub(crate) name: String,
}

/// Tier conditions of the form `selector <= bound` with rising bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thresholds {
    /// Largest value of each tier but the default.
    pub(crate) bounds: Vec<i128>,
    /// Whether values above the last bound have a tier.
    pub(crate) default: bool,
}

impl Thresholds {
    /// The tier of a value.
    pub(crate) fn find(&self, value: i128) -> Option<u32> {
        let tier = self.bounds.partition_point(|bound| *bound < value);
        (tier < self.bounds.len() || self.default).then_some(tier as u32)
    }
}

/// A compiled function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    /// "kernel `name`", for notes.
    pub(crate) title: String,
    pub(crate) insts: Vec<Inst>,
    /// One per instruction.
    pub(crate) origins: Vec<Origin>,
    /// What a frame starts with.
    pub(crate) template: Vec<u64>,
    /// Descriptor fields in use, with their slots.
    pub(crate) fields: Vec<(u32, u32)>,
    /// Slots of the frame and of the deepest chain of calls below it.
    pub(crate) depth_slots: usize,
    pub(crate) calls: Vec<CallSite>,
    pub(crate) emits: Vec<EmitSite>,
    pub(crate) allocs: Vec<WsSite>,
    pub(crate) axes: Vec<AxisSite>,
    pub(crate) tiers: Vec<(Thresholds, String)>,
    pub(crate) traps: Vec<Trap>,
    pub(crate) tiles: Vec<TileStep>,
}

/// A compiled function with the helpers it calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledFunction {
    /// Callees before callers; the last one is the entry.
    pub(crate) funcs: Vec<Code>,
}

impl Code {
    /// The slots that an instruction reads; those of a tile instruction's steps are not among them.
    pub(crate) fn slots_read(&self, i: Inst) -> Vec<u32> {
        match i.op {
            Op::Jump
            | Op::Back
            | Op::Stop
            | Op::AxisTile
            | Op::HostAxisTile
            | Op::HostAxisExtent
            | Op::Fence
            | Op::Tile => Vec::new(),
            Op::Mov
            | Op::Unary
            | Op::Math
            | Op::Cast
            | Op::JumpIf
            | Op::JumpIfNot
            | Op::CheckStep
            | Op::ArrayLen
            | Op::Return
            | Op::Tier => vec![i.a],
            Op::SetTile | Op::SetExtentScalar | Op::SetExtentArray => vec![i.b],
            Op::NextU | Op::NextI => vec![i.dst, i.a, i.a + 1],
            Op::Call => self.calls[i.a as usize].args.clone(),
            Op::Emit => self.emits[i.a as usize].words.clone(),
            Op::AllocWs => {
                let site = &self.allocs[i.a as usize];
                let mut slots = vec![site.tier, site.count, site.index];
                slots.extend(&site.key);
                slots
            }
            Op::AddU32
            | Op::SubU32
            | Op::MulU32
            | Op::DivU32
            | Op::RemU32
            | Op::CeilDivU32
            | Op::AddI32
            | Op::SubI32
            | Op::MulI32
            | Op::AddU64
            | Op::SubU64
            | Op::MulU64
            | Op::AddI64
            | Op::SubI64
            | Op::MulI64
            | Op::AddF32
            | Op::SubF32
            | Op::MulF32
            | Op::DivF32
            | Op::AddF64
            | Op::SubF64
            | Op::MulF64
            | Op::DivF64
            | Op::MinU
            | Op::MaxU
            | Op::LtU
            | Op::LeU
            | Op::LtI
            | Op::LeI
            | Op::EqInt
            | Op::NeInt
            | Op::Binary
            | Op::Load
            | Op::ArrayMax
            | Op::ArraySum => vec![i.a, i.b],
        }
    }
}

impl CompiledFunction {
    pub(crate) fn entry(&self) -> &Code {
        self.funcs.last().expect("a program should have an entry")
    }
}
