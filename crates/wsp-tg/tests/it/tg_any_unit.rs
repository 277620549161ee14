//! Whatever stands in a unit: rules, checker and platforms answer, and none of them stops.

use crate::random_units::{Choices, Limits, bytes, valid_unit};
use crate::randomised::cases;
use proptest::prelude::*;
use wsp_core::tg::{
    AffinityType, BarrierNo, CheckpointNo, CoreType, DependencyType, DeviceNo, Direction, EventNo, ExprId,
    ExprOp, FenceScope, GraphNo, Instr, IterNo, KernelNo, KernelSet, LoopMode, MemLocation, NodeNo, NotifyNo,
    OPS, Op, PartitionNo, Platform, Scalar, ScalarType, StreamNo, Symbol, TensorNo, TensorRef,
};
use wsp_ir::tg::{Signatures, TgModule, verify};
use wsp_tg::matrix::{UnitTarget, diagnose};
use wsp_tg::{LintOptions, lint};

/// Numbers, one after the other, and then zeros.
struct Numbers<'a>(std::slice::Iter<'a, u16>);

impl Numbers<'_> {
    /// A number that is mostly small.
    fn next(&mut self) -> u64 {
        let raw = u64::from(self.0.next().copied().unwrap_or(0));
        match raw % 32 {
            0 => u64::from(u32::MAX),
            1 => i64::MAX as u64,
            2 => u64::MAX,
            3 => 1 << (raw >> 10),
            _ => raw >> 13,
        }
    }
}

/// An operand out of numbers.
trait Operand: Sized {
    fn operand(numbers: &mut Numbers<'_>) -> Self;
}

macro_rules! newtypes {
    ($($ty:ident),*) => {$(
        impl Operand for $ty {
            fn operand(numbers: &mut Numbers<'_>) -> Self {
                $ty(numbers.next() as u32)
            }
        }
    )*};
}

newtypes!(
    GraphNo,
    KernelNo,
    TensorNo,
    EventNo,
    BarrierNo,
    NotifyNo,
    DeviceNo,
    PartitionNo,
    IterNo,
    StreamNo,
    CheckpointNo,
    NodeNo,
    Symbol,
    ExprId
);

macro_rules! integers {
    ($($ty:ident),*) => {$(
        impl Operand for $ty {
            fn operand(numbers: &mut Numbers<'_>) -> Self {
                numbers.next() as $ty
            }
        }
    )*};
}

integers!(u32, u64, i64, i8);

macro_rules! choices {
    ($($ty:ident),*) => {$(
        impl Operand for $ty {
            fn operand(numbers: &mut Numbers<'_>) -> Self {
                $ty::ALL[numbers.next() as usize % $ty::ALL.len()].0
            }
        }
    )*};
}

choices!(CoreType, DependencyType, MemLocation, FenceScope, AffinityType, LoopMode, Direction, ScalarType);

impl Operand for KernelSet {
    fn operand(numbers: &mut Numbers<'_>) -> Self {
        KernelSet { first: u32::operand(numbers), len: u32::operand(numbers) }
    }
}

impl Operand for TensorRef {
    fn operand(numbers: &mut Numbers<'_>) -> Self {
        match numbers.next() % 3 {
            0 => TensorRef::Table {
                first: u32::operand(numbers),
                len: u32::operand(numbers),
                index: ExprId::operand(numbers),
            },
            _ => TensorRef::Tensor(TensorNo::operand(numbers)),
        }
    }
}

impl Operand for Scalar {
    fn operand(numbers: &mut Numbers<'_>) -> Self {
        match numbers.next() % 2 {
            0 => Scalar::Const(i64::operand(numbers)),
            _ => Scalar::Expr(ExprId::operand(numbers)),
        }
    }
}

fn expression(numbers: &mut Numbers<'_>) -> ExprOp {
    match numbers.next() % 16 {
        12 => ExprOp::SkipZero(u32::operand(numbers)),
        13 => ExprOp::SkipNonZero(u32::operand(numbers)),
        14 => ExprOp::And,
        15 => ExprOp::Or,
        0 => ExprOp::Const(i64::operand(numbers)),
        1 => ExprOp::Iter(IterNo::operand(numbers)),
        2 => ExprOp::Arg(u32::operand(numbers)),
        3 => ExprOp::Load(TensorNo::operand(numbers), ScalarType::operand(numbers)),
        4 => ExprOp::Iteration,
        5 => ExprOp::Add,
        6 => ExprOp::Mul,
        7 => ExprOp::Sub,
        8 => ExprOp::Neg,
        9 => ExprOp::Iter(IterNo(0)),
        _ => ExprOp::End,
    }
}

macro_rules! make {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        fn instr(op: Op, numbers: &mut Numbers<'_>) -> Instr {
            let _ = &numbers;
            match op {
                $(Op::$name => Instr::$name { $($operand: <$ty as Operand>::operand(numbers)),* },)*
            }
        }
    };
}

wsp_core::for_each_tg_op!(make);

/// A unit out of numbers: half of its instructions are the common ones, and it stands in a graph for the most part.
fn unit(numbers: &[u16]) -> TgModule {
    let mut numbers = Numbers(numbers.iter());
    let mut module = TgModule::default();
    module.strings.intern("a");
    for _ in 0..24 {
        module.exprs.push(expression(&mut numbers));
    }
    module.sets.kernels = (0..6).map(|_| KernelNo::operand(&mut numbers)).collect();
    module.sets.tensors = (0..6).map(|_| TensorNo::operand(&mut numbers)).collect();
    module.instrs.push(Instr::TgBegin { graph_id: GraphNo(0) });
    let common = [Op::TgKernel, Op::TgDepend, Op::McBind, Op::McAlloc, Op::McCopy, Op::CfLoop, Op::CfIf];
    while numbers.0.len() > 0 {
        let pick = usize::from(numbers.0.next().copied().unwrap_or(0));
        let op = if pick % 2 == 0 { common[pick / 2 % common.len()] } else { OPS[pick / 2 % OPS.len()].op };
        module.instrs.push(instr(op, &mut numbers));
        if matches!(op, Op::CfLoop | Op::CfIf) {
            let end = if op == Op::CfIf { Instr::CfEndif {} } else { Instr::CfEndloop {} };
            module.instrs.push(instr(Op::TgKernel, &mut numbers));
            module.instrs.push(instr(Op::McBind, &mut numbers));
            module.instrs.push(end);
        }
    }
    module.instrs.push(Instr::TgEnd { graph_id: GraphNo(0) });
    module
}

/// Random units that keep the rules.
fn valid(count: u64, limits: &Limits) -> impl Iterator<Item = TgModule> {
    (0..count).map(|seed| valid_unit(&mut Choices::new(&bytes(seed, 600)), limits))
}

/// ISA-TG-24: units whose kernels are ordered and see what they read.
#[test]
fn units_that_can_be_run_have_no_errors_and_nothing_unseen() {
    for module in valid(cases(150), &Limits::run()) {
        let found = lint(&module, &Signatures::new(), &LintOptions::default());
        let bad: Vec<&str> = found
            .iter()
            .filter(|finding| finding.is_error() || matches!(finding.code.0, 1500..=1503))
            .map(|finding| finding.message.as_str())
            .collect();
        assert!(bad.is_empty(), "{bad:?}\n{}", wsp_isa::tg::text::print(&module));
    }
}

#[test]
fn the_checker_answers_on_random_units() {
    let all = cases(150);
    for module in valid(all, &Limits::text()) {
        assert!(verify(&module).is_empty());
        lint(&module, &Signatures::new(), &LintOptions::default());
    }
    println!("{all} cases");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// ISA-IMP-07: units that no text gives, too.
    #[test]
    fn no_unit_stops_the_rules_or_the_checker(numbers in proptest::collection::vec(any::<u16>(), 60..300)) {
        let module = unit(&numbers);
        verify(&module);
        lint(&module, &Signatures::new(), &LintOptions::default());
        for platform in [Platform::A2, Platform::A3, Platform::A5, Platform::Cpu] {
            diagnose(&module, &UnitTarget::of(platform));
        }
    }
}
