//! What operands of task-graph instructions are.

use super::number::{
    BarrierNo, CheckpointNo, DeviceNo, EventNo, GraphNo, IterNo, KernelNo, NodeNo, NotifyNo, PartitionNo,
    StreamNo, Symbol, TensorNo,
};
use super::scalar::{ExprId, Scalar};

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[doc = $vdoc:literal])* $variant:ident $text:ident = $code:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[doc = $vdoc])* $variant = $code,)* }

        impl Default for $name {
            /// The first.
            fn default() -> Self {
                Self::ALL[0].0
            }
        }

        impl $name {
            /// Every choice with its name in text and its meaning, by number.
            pub const ALL: &[(Self, &str, &str)] =
                &[$((Self::$variant, stringify!($text), concat!($($vdoc),*)),)*];

            /// Its name in text.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($text),)* }
            }

            /// The choice with this number.
            pub const fn from_code(code: u32) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    )*};
}

choices! {
    /// The cores that run a kernel.
    CoreType {
        /// Cube cores only.
        Aic AIC = 0,
        /// Vector cores only.
        Aiv AIV = 1,
        /// One cube core and its vector cores together.
        AicAiv AIC_AIV = 2,
        /// A thread of the AICPU.
        Aicpu AICPU = 3,
    }
    /// What an edge between two kernels means.
    DependencyType {
        /// The second starts after the first has completed; says nothing of what it sees.
        After AFTER = 0,
        /// As `AFTER`, and the second sees the tensor as the first left it; for tensor 0, all that the first wrote.
        Data DATA = 1,
        /// Every kernel defined up to the first completes before any defined from the second on starts.
        Barrier BARRIER = 2,
        /// A hint that the two share data; orders nothing.
        Soft SOFT = 3,
    }
    /// Where an allocation would best lie.
    MemLocation {
        /// Global memory.
        Gm GM = 0,
        /// Kept in the L2 cache: a hint.
        L2 L2 = 1,
        /// High-bandwidth memory where there is some: a hint.
        Hbm HBM = 2,
        /// Seen by all kernels of all graphs, and by all simulated devices.
        Shared SHARED = 3,
    }
    /// How far a fence makes writes visible.
    FenceScope {
        /// All cores of the device.
        Device DEVICE = 0,
        /// Also behind the L2 cache, which is flushed.
        L2 L2 = 1,
        /// Everybody.
        Gm GM = 2,
    }
    /// How kernels of a set would best share cores.
    AffinityType {
        /// On the same cores.
        Colocate COLOCATE = 0,
        /// On different cores.
        Separate SEPARATE = 1,
        /// On cores that share a part of the L2 cache.
        L2Share L2_SHARE = 2,
    }
    /// How iterations of a loop follow each other.
    LoopMode {
        /// As their data allows: in any order where tensors do not conflict.
        Auto AUTO = 0,
        /// Each after the one before is complete.
        Sequential SEQUENTIAL = 1,
    }
    /// What a kernel does with an argument.
    Direction {
        /// As the kernel's signature says; of a kernel without one, reads and writes.
        Auto AUTO = 0,
        /// Reads.
        In IN = 1,
        /// Writes all of it.
        Out OUT = 2,
        /// Reads and writes, or writes a part.
        InOut INOUT = 3,
    }
}

/// Kernels named by one instruction: a run of the unit's list of sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KernelSet {
    /// The first.
    pub first: u32,
    /// How many.
    pub len: u32,
}

/// The tensor of a binding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorRef {
    /// Always this one.
    Tensor(TensorNo),
    /// One of several, as in double buffering.
    Table {
        /// The first in the unit's list of tensors of tables.
        first: u32,
        /// How many.
        len: u32,
        /// Which of them, from 0.
        index: ExprId,
    },
}

/// What an operand is, for whoever handles operands by the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// A [`GraphNo`].
    Graph,
    /// A [`KernelNo`].
    Kernel,
    /// A [`NodeNo`].
    Node,
    /// A [`TensorNo`].
    Tensor,
    /// A [`TensorRef`].
    TensorRef,
    /// An [`EventNo`].
    Event,
    /// A [`BarrierNo`].
    Barrier,
    /// A [`NotifyNo`].
    Notify,
    /// A [`DeviceNo`].
    Device,
    /// A [`PartitionNo`].
    Partition,
    /// An [`IterNo`].
    Iter,
    /// A [`StreamNo`].
    Stream,
    /// A [`CheckpointNo`].
    Checkpoint,
    /// A [`Symbol`].
    Symbol,
    /// A [`KernelSet`].
    KernelSet,
    /// A [`Scalar`].
    Scalar,
    /// A `u32`.
    U32,
    /// A `u64`.
    U64,
    /// An `i8`.
    I8,
    /// A [`CoreType`].
    CoreType,
    /// A [`DependencyType`].
    DependencyType,
    /// A [`MemLocation`].
    MemLocation,
    /// A [`FenceScope`].
    FenceScope,
    /// An [`AffinityType`].
    AffinityType,
    /// A [`LoopMode`].
    LoopMode,
    /// A [`Direction`].
    Direction,
}

/// A type of operands.
pub trait OperandType: Copy {
    /// What it is by the table.
    const KIND: OperandKind;
}

macro_rules! kinds {
    ($($ty:ty: $kind:ident),* $(,)?) => {$(
        impl OperandType for $ty {
            const KIND: OperandKind = OperandKind::$kind;
        }
    )*};
}

kinds! {
    GraphNo: Graph, KernelNo: Kernel, NodeNo: Node, TensorNo: Tensor, TensorRef: TensorRef, EventNo: Event,
    BarrierNo: Barrier, NotifyNo: Notify, DeviceNo: Device, PartitionNo: Partition, IterNo: Iter,
    StreamNo: Stream, CheckpointNo: Checkpoint, Symbol: Symbol, KernelSet: KernelSet, Scalar: Scalar,
    u32: U32, u64: U64, i8: I8, CoreType: CoreType, DependencyType: DependencyType,
    MemLocation: MemLocation, FenceScope: FenceScope, AffinityType: AffinityType, LoopMode: LoopMode,
    Direction: Direction,
}
