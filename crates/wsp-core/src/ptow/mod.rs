//! PTOW: workloads as bytecode, from which every AICPU generates its own tasks.
//!
//! A program is what [`Header`] describes: instructions, tables of axes, kernels and tensors, and a pool of expressions.
//! It holds no extent, address or length: what depends on a launch is a *value*, a *table* or an extent that is bound
//! when the program is launched ([`Launch`]), so that the same bytes serve every shape.
//!
//! # Bodies
//! The words of a program are *bodies* one behind the other. The outermost begins at word 0 and ends with `HALT`, every
//! other ends with `END`. An instruction that has a body names where it begins; when the body has ended, execution goes on
//! behind the instruction. A body stands behind the instruction that names it, begins where another has ended, and is
//! named once: so bodies nest, calls and jumps do not exist, and a scan from the first word to the last meets every
//! instruction before its body.
//!
//! # Loop variables
//! `PARALLEL_FOR`, `FOR_EACH`, `SELECT`, `LET`, `SEND`, `RECV`, `SELECT_CH` and `SELECT_ALL` give their body one more variable; `WHILE` gives it the number of the round,
//! from 0. Variables are named by depth, 0 for the outermost; at most [`MAX_LOOP_DEPTH`] are in scope.
//!
//! # Tasks and ordinals
//! Tasks are numbered in elaboration order over the whole program, whoever owns them: the *ordinal*. AICPUs that skip
//! what is not theirs count what they skip.
//!
//! # Processes
//! A `PROCESS` runs its bodies as coroutines. A turn ends when the process has sent a token, has to wait, or ends; then the
//! next process that has not ended goes on, in the order of the bodies, round and round. A process that waits tries again on
//! its next turn; when all have tried since any of them went on, none ever will, which is a fault. So the order of tasks
//! follows from the program alone.
//!
//! # Expressions
//! An expression is a row of postfix words that ends with the flag [`X_LAST`]. It is named by its first word, and needs at
//! most [`MAX_EXPR_STACK`] entries of a stack. [`XOp::XSkipZero`] and [`XOp::XSkip`] go forward within their expression only;
//! wherever two ways meet, the stack has one height.

pub mod affine;
pub mod bounds;
pub mod count;
pub mod dispatch;
mod dispatch_record;
pub mod eval;
pub mod interp;
mod op;
pub mod prefix;
mod read;
mod record;
pub mod schedule;
mod stats;
pub mod summary;
pub mod verify;
mod view;
mod xop;

pub use crate::limits::{
    MAX_BODY_DEPTH, MAX_EXPR_WORDS, MAX_LOOP_DEPTH, MAX_NAME_BYTES, MAX_PROCESS_DEPTH, MAX_THRESHOLDS,
    MAX_WORDS,
};
pub use dispatch_record::{DispatchConfig, POLICY_POOL, PartitionParams, PolicyType, ThresholdParams};
pub use op::{DIM_IMMEDIATE, DimKind, Ext, Group, OPS, Op, OpInfo, Operand};
pub use read::{ReadError, Section};
pub use record::{
    AxisDescriptor, AxisForm, Header, KernelDescriptor, MAGIC, PoolHeader, TensorDescriptor, VERSION, Word,
};
pub use stats::AicpuStats;
pub use verify::{Allowed, Place, Rule, Style, VerifyError, marks_needed};
pub use view::{Counts, Program, Verified};
pub use xop::{X_LAST, XOPS, XOp, XOpInfo};

/// Highest stack of an expression.
pub const MAX_EXPR_STACK: usize = 32;
/// Most AICPUs that tasks are shared among.
pub const MAX_AICPUS: u16 = crate::limits::MAX_RUN_AICPUS as u16;

/// What a launch gives a program.
///
/// Values, tables and extents are as many as the program names; a launch with fewer is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch<'a> {
    /// Launch-time values.
    pub values: &'a [i64],
    /// Launch-time tables.
    pub tables: &'a [&'a [i64]],
    /// Extents of every tensor, outermost first; those past its rank are 1.
    pub extents: &'a [[u32; crate::MAX_RANK]],
}
