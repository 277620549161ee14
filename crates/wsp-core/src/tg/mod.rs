//! The task-graph instruction set: kernels, dependences, memory, control flow, cores and synchronisation at device level.
//!
//! [`for_each_tg_op!`](crate::for_each_tg_op) is its one table; operations, their operands, text, binary form, builder, reference page and the tests
//! of all of them come from it. Instructions stand in a program in the order in which they were written; some of them
//! (fences, copies, releases, barriers of dependences, control flow) take their meaning from that order.

pub mod crc;
mod eval;
pub mod image;
pub mod image_file;
pub mod machine;
mod number;
mod op;
mod operand;
pub mod read;
mod scalar;
mod shape;
pub mod wire;

pub use crate::limits::{
    MAX_BLOCK_DIM, MAX_CONTROL_DEPTH, MAX_EXPR_OPS, MAX_GRAPH_ID, MAX_WHILE_ITERATIONS, UNROLL_LIMIT,
};
pub use eval::{ConstEnv, Env, EvalFault, MAX_EXPR_STACK, binary, eval};
pub use number::{
    BarrierNo, CheckpointNo, DeviceNo, EventNo, GraphNo, IterNo, KernelNo, NodeNo, NotifyNo, PartitionNo,
    StreamNo, Symbol, TensorNo,
};
pub use op::{Instr, InstrScope, OPS, Op, OpInfo, OperandInfo, Platform, Support};
pub use operand::{
    AffinityType, CoreType, DependencyType, Direction, FenceScope, KernelSet, LoopMode, MemLocation,
    OperandKind, OperandType, TensorRef,
};
pub use scalar::{ExprId, ExprOp, Scalar, ScalarType};
pub use shape::{Shape, ShapeFault};

/// Alignment of an allocation that asks for none, in bytes.
pub const DEFAULT_ALIGNMENT: u32 = 512;
/// Revision of the instruction set, as document 000 counts it: major and minor.
pub const ISA_REVISION: (u16, u16) = (0, 1);
