//! Units for tests of the binary form: consistent, in that what they refer to is there, but not valid.
//!
//! Instructions come from the table, with operands of any value, so that what is added there is tested too.

use crate::choices::Choices;
use wsp_core::DType;
use wsp_core::for_each_tg_op;
use wsp_core::tg::{
    AffinityType, BarrierNo, CheckpointNo, CoreType, DependencyType, DeviceNo, Direction, EventNo, ExprId,
    ExprOp, FenceScope, GraphNo, Instr, IterNo, KernelNo, KernelSet, LoopMode, MemLocation, NodeNo, NotifyNo,
    PartitionNo, Scalar, ScalarType, StreamNo, Symbol, TensorNo, TensorRef,
};
use wsp_diag::{FileId, Span};
use wsp_ir::tg::{ArgDecl, ArgSource, ExternTensor, Namespace, RefValue, Reference, SetPool, TgModule, Use};

/// What instructions may refer to.
#[derive(Clone, Copy)]
struct Have {
    strings: u32,
    exprs: u32,
    kernels: u32,
    tensors: u32,
}

/// A number: small, at a limit, or any.
fn number(choices: &mut Choices<'_>) -> u32 {
    match choices.below(8) {
        0 => u32::MAX,
        1 => choices.wide() as u32,
        2 => 1 << 31,
        _ => choices.below(12) as u32,
    }
}

fn wide(choices: &mut Choices<'_>) -> u64 {
    if choices.once_in(4) { choices.wide() } else { u64::from(number(choices)) }
}

/// A run in a list of `count`.
fn run(choices: &mut Choices<'_>, count: u32) -> (u32, u32) {
    let first = choices.below(count as usize + 1) as u32;
    (first, choices.below((count - first) as usize + 1) as u32)
}

trait Made: Copy {
    fn made(choices: &mut Choices<'_>, have: Have) -> Self;
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Made for $ty {
            fn made(choices: &mut Choices<'_>, _: Have) -> Self {
                $ty(number(choices))
            }
        }
    )*};
}

numbers! { GraphNo KernelNo NodeNo TensorNo EventNo BarrierNo NotifyNo DeviceNo IterNo StreamNo CheckpointNo }

macro_rules! choices {
    ($($ty:ident)*) => {$(
        impl Made for $ty {
            fn made(choices: &mut Choices<'_>, _: Have) -> Self {
                $ty::ALL[choices.below($ty::ALL.len())].0
            }
        }
    )*};
}

choices! { CoreType DependencyType MemLocation FenceScope AffinityType LoopMode Direction }

impl Made for PartitionNo {
    /// Up to what the row of a kernel can hold.
    fn made(choices: &mut Choices<'_>, _: Have) -> Self {
        match choices.below(3) {
            0 => PartitionNo::NONE,
            1 => PartitionNo(65_534),
            _ => PartitionNo(choices.below(4) as u32),
        }
    }
}

impl Made for u32 {
    fn made(choices: &mut Choices<'_>, _: Have) -> Self {
        number(choices)
    }
}

impl Made for u64 {
    fn made(choices: &mut Choices<'_>, _: Have) -> Self {
        wide(choices)
    }
}

impl Made for i8 {
    fn made(choices: &mut Choices<'_>, _: Have) -> Self {
        choices.byte() as i8
    }
}

impl Made for Symbol {
    fn made(choices: &mut Choices<'_>, have: Have) -> Self {
        Symbol(choices.below(have.strings as usize) as u32)
    }
}

impl Made for Scalar {
    fn made(choices: &mut Choices<'_>, have: Have) -> Self {
        if choices.once_in(2) {
            Scalar::Expr(ExprId(choices.below(have.exprs as usize) as u32))
        } else {
            Scalar::Const(wide(choices) as i64)
        }
    }
}

impl Made for KernelSet {
    fn made(choices: &mut Choices<'_>, have: Have) -> Self {
        let (first, len) = run(choices, have.kernels);
        KernelSet { first, len }
    }
}

impl Made for TensorRef {
    fn made(choices: &mut Choices<'_>, have: Have) -> Self {
        if choices.once_in(3) {
            let (first, len) = run(choices, have.tensors);
            let index = ExprId(choices.below(have.exprs as usize) as u32);
            TensorRef::Table { first, len, index }
        } else {
            TensorRef::Tensor(TensorNo(number(choices)))
        }
    }
}

macro_rules! makers {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        /// Makers of every instruction, in the order of the table.
        const MAKERS: &[fn(&mut Choices<'_>, Have) -> Instr] = &[$(|_choices, _have| Instr::$name {
            $($operand: <$ty as Made>::made(_choices, _have)),*
        },)*];
    };
}

for_each_tg_op!(makers);

fn span(choices: &mut Choices<'_>) -> Span {
    Span::new(FileId(choices.below(3) as u32), number(choices), number(choices))
}

/// A unit with at least one of every instruction, and some more.
pub(crate) fn unit(choices: &mut Choices<'_>) -> TgModule {
    let mut unit = TgModule::default();
    for at in 0..2 + choices.below(6) {
        let word = ["", "a", "kernel_entry", "größe", "x y\n\"z\"", "量"][choices.below(6)];
        unit.strings.intern(&format!("{word}{at}"));
    }
    unit.strings.intern("");
    unit.sets = SetPool {
        kernels: (0..choices.below(5)).map(|_| KernelNo(number(choices))).collect(),
        tensors: (0..choices.below(5)).map(|_| TensorNo(number(choices))).collect(),
    };
    declarations(choices, &mut unit);
    expressions(choices, &mut unit);
    let have = Have {
        strings: unit.strings.len() as u32,
        exprs: unit.exprs.len() as u32,
        kernels: unit.sets.kernels.len() as u32,
        tensors: unit.sets.tensors.len() as u32,
    };
    for maker in MAKERS {
        unit.instrs.push(maker(choices, have));
    }
    for _ in 0..choices.below(20) {
        let maker = choices.pick(MAKERS).expect("there are instructions");
        unit.instrs.push(maker(choices, have));
    }
    if choices.once_in(2) {
        unit.spans = unit.instrs.iter().map(|_| span(choices)).collect();
    }
    for _ in 0..choices.below(6) {
        let space = Namespace::ALL[choices.below(Namespace::ALL.len())];
        let name = Symbol(choices.below(unit.strings.len()) as u32);
        unit.names.set(space, GraphNo(number(choices)), number(choices), name);
    }
    unit
}

fn expressions(choices: &mut Choices<'_>, unit: &mut TgModule) {
    for _ in 0..1 + choices.below(4) {
        let len = choices.below(6);
        for at in 0..len {
            let ty = ScalarType::ALL[choices.below(ScalarType::ALL.len())].0;
            let op = match choices.below(27) {
                // Skips lead up to the end of their expression.
                25 => ExprOp::SkipZero(choices.below(len - at) as u32),
                26 => ExprOp::SkipNonZero(choices.below(len - at) as u32),
                0 => ExprOp::Const(wide(choices) as i64),
                1 => ExprOp::Iter(IterNo(number(choices))),
                2 if !unit.args.is_empty() => ExprOp::Arg(choices.below(unit.args.len()) as u32),
                2 | 3 => ExprOp::Load(TensorNo(number(choices)), ty),
                plain => ExprOp::PLAIN[(plain - 4) % ExprOp::PLAIN.len()],
            };
            unit.exprs.push(op);
        }
        unit.exprs.push(ExprOp::End);
    }
}

fn declarations(choices: &mut Choices<'_>, unit: &mut TgModule) {
    let strings = unit.strings.len();
    let symbol = |choices: &mut Choices<'_>| Symbol(choices.below(strings) as u32);
    for _ in 0..choices.below(3) {
        let file = Use { path: symbol(choices), span: span(choices) };
        unit.uses.push(file);
    }
    for _ in 0..choices.below(4) {
        let dtype = choices.once_in(2).then(|| DType::ALL[choices.below(DType::ALL.len())]);
        let shape = (0..choices.below(4)).map(|_| wide(choices)).collect();
        let tensor = TensorNo(number(choices));
        unit.externs.push(ExternTensor { tensor, dtype, shape, span: span(choices) });
    }
    for _ in 0..choices.below(3) {
        unit.extern_events.push((EventNo(number(choices)), span(choices)));
    }
    for _ in 0..choices.below(4) {
        unit.args.push(ArgDecl {
            name: symbol(choices),
            source: if choices.once_in(2) { ArgSource::Host } else { ArgSource::Launch },
            ty: ScalarType::ALL[choices.below(ScalarType::ALL.len())].0,
            default: choices.once_in(2).then(|| wide(choices) as i64),
            span: span(choices),
        });
    }
    for _ in 0..choices.below(3) {
        let name = symbol(choices);
        let mut bindings = Vec::new();
        for _ in 0..choices.below(4) {
            let value = match choices.below(3) {
                0 => RefValue::Const(wide(choices) as i64),
                1 if !unit.args.is_empty() => RefValue::Arg(choices.below(unit.args.len()) as u32),
                _ => RefValue::Tensor(TensorNo(number(choices))),
            };
            bindings.push((symbol(choices), value));
        }
        unit.references.push(Reference { name, bindings, span: span(choices) });
    }
}
