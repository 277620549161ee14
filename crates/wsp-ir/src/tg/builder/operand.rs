//! What can be given as an operand.

use super::expr::{ArgRef, Expr, Table};
use super::{Namespace, TgBuilder};
use wsp_core::tg::*;

/// What can be given where an operand of type `T` is wanted.
pub trait IntoOperand<T> {
    /// The operand. Names get their numbers; lists and expressions go into the unit.
    fn into_operand(self, builder: &mut TgBuilder) -> T;
}

macro_rules! numbers {
    ($($ty:ident $method:ident $space:ident;)*) => {$(
        impl IntoOperand<$ty> for $ty {
            fn into_operand(self, builder: &mut TgBuilder) -> $ty {
                builder.given(Namespace::$space, self.0);
                self
            }
        }

        impl IntoOperand<$ty> for u32 {
            fn into_operand(self, builder: &mut TgBuilder) -> $ty {
                $ty(self).into_operand(builder)
            }
        }

        impl IntoOperand<$ty> for &str {
            fn into_operand(self, builder: &mut TgBuilder) -> $ty {
                builder.$method(self)
            }
        }
    )*};
}

numbers! {
    GraphNo graph Graph;
    KernelNo kernel Kernel;
    TensorNo tensor Tensor;
    EventNo event Event;
    BarrierNo barrier Barrier;
    NotifyNo notify Notify;
    PartitionNo partition Partition;
    IterNo iter Iter;
    StreamNo stream Stream;
    CheckpointNo checkpoint Checkpoint;
}

macro_rules! plain {
    ($($ty:ident)*) => {$(
        impl IntoOperand<$ty> for $ty {
            fn into_operand(self, _: &mut TgBuilder) -> $ty {
                self
            }
        }
    )*};
}

plain! {
    DeviceNo NodeNo Symbol KernelSet Scalar TensorRef u32 u64 i8 CoreType DependencyType MemLocation FenceScope
    AffinityType LoopMode Direction
}

impl IntoOperand<DeviceNo> for u32 {
    fn into_operand(self, _: &mut TgBuilder) -> DeviceNo {
        DeviceNo(self)
    }
}

impl IntoOperand<NodeNo> for KernelNo {
    fn into_operand(self, builder: &mut TgBuilder) -> NodeNo {
        <KernelNo as IntoOperand<KernelNo>>::into_operand(self, builder).into()
    }
}

impl IntoOperand<NodeNo> for &str {
    fn into_operand(self, builder: &mut TgBuilder) -> NodeNo {
        builder.kernel(self).into()
    }
}

impl IntoOperand<Symbol> for &str {
    fn into_operand(self, builder: &mut TgBuilder) -> Symbol {
        builder.unit.strings.intern(self)
    }
}

impl IntoOperand<KernelSet> for &[KernelNo] {
    fn into_operand(self, builder: &mut TgBuilder) -> KernelSet {
        let first = builder.unit.sets.kernels.len() as u32;
        builder.unit.sets.kernels.extend_from_slice(self);
        KernelSet { first, len: self.len() as u32 }
    }
}

impl<T: IntoOperand<KernelNo>, const N: usize> IntoOperand<KernelSet> for [T; N] {
    fn into_operand(self, builder: &mut TgBuilder) -> KernelSet {
        let kernels: Vec<KernelNo> = self.into_iter().map(|kernel| kernel.into_operand(builder)).collect();
        kernels[..].into_operand(builder)
    }
}

impl IntoOperand<TensorRef> for TensorNo {
    fn into_operand(self, builder: &mut TgBuilder) -> TensorRef {
        TensorRef::Tensor(<TensorNo as IntoOperand<TensorNo>>::into_operand(self, builder))
    }
}

impl IntoOperand<TensorRef> for &str {
    fn into_operand(self, builder: &mut TgBuilder) -> TensorRef {
        TensorRef::Tensor(builder.tensor(self))
    }
}

impl IntoOperand<TensorRef> for Table {
    fn into_operand(self, builder: &mut TgBuilder) -> TensorRef {
        let first = builder.unit.sets.tensors.len() as u32;
        let len = self.tensors.len() as u32;
        builder.unit.sets.tensors.extend(self.tensors);
        TensorRef::Table { first, len, index: self.index.store(&mut builder.unit) }
    }
}

impl IntoOperand<Scalar> for i64 {
    fn into_operand(self, _: &mut TgBuilder) -> Scalar {
        Scalar::Const(self)
    }
}

impl IntoOperand<Scalar> for ArgRef {
    fn into_operand(self, builder: &mut TgBuilder) -> Scalar {
        Expr::from(self).into_operand(builder)
    }
}

impl IntoOperand<Scalar> for Expr {
    fn into_operand(self, builder: &mut TgBuilder) -> Scalar {
        match self.as_const() {
            Some(value) => Scalar::Const(value),
            None => Scalar::Expr(self.store(&mut builder.unit)),
        }
    }
}
