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
mod op;
mod operand;
pub mod read;
mod scalar;
mod shape;
pub mod wire;

pub use eval::{ConstEnv, Env, EvalFault, MAX_EXPR_STACK, binary, eval};
pub use op::{Instr, InstrScope, OPS, Op, OpInfo, OperandInfo, Platform, Support};
pub use operand::{
    AffinityType, BarrierNo, CheckpointNo, CoreType, DependencyType, DeviceNo, Direction, EventNo,
    FenceScope, GraphNo, IterNo, KernelNo, KernelSet, LoopMode, MemLocation, NodeNo, NotifyNo, OperandKind,
    OperandType, PartitionNo, StreamNo, Symbol, TensorNo, TensorRef,
};
pub use scalar::{ExprId, ExprOp, Scalar, ScalarType};
pub use shape::{Shape, ShapeFault};

/// Largest number of a graph.
pub const MAX_GRAPH_ID: u32 = 65_535;
/// Most blocks of one kernel.
pub const MAX_BLOCK_DIM: u32 = 65_535;
/// Alignment of an allocation that asks for none, in bytes.
pub const DEFAULT_ALIGNMENT: u32 = 512;
/// Static loops of at most so many iterations are unrolled.
pub const UNROLL_LIMIT: u64 = 1024;
/// Rounds after which a `CF_WHILE` that says nothing else is taken to run for ever.
pub const MAX_WHILE_ITERATIONS: u64 = 1 << 31;
/// Most operations of an expression.
pub const MAX_EXPR_OPS: usize = 1 << 15;
/// Deepest nesting of control flow.
pub const MAX_CONTROL_DEPTH: u32 = 64;
/// Revision of the instruction set, as document 000 counts it: major and minor.
pub const ISA_REVISION: (u16, u16) = (0, 1);
