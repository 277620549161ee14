//! The records and codes of the C ABI of graphs, as `wsp_tg.h` has them.

use core::ffi::c_void;

/// What a function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum GraphStatus {
    /// Done.
    Ok = 0,
    /// A pointer is null.
    Null = -1,
    /// A pointer is not aligned.
    Alignment = -2,
    /// The memory is too small.
    Memory = -3,
    /// The bytes are no image.
    Read = -4,
    /// A number in the image is wrong.
    Image = -5,
    /// The words are no state of the graph.
    State = -6,
    /// A condition could not be evaluated, or a loop has too many iterations.
    Fault = -7,
    /// The handle is none that was opened, or it is running.
    Handle = -8,
    /// The node or gang does not exist, or is complete.
    Node = -9,
}

/// What happens next: [`TgStep::kind`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum StepKind {
    /// A node can start.
    Run = 0,
    /// The members of a gang start together.
    Gang = 1,
    /// An event has fired.
    Signal = 2,
    /// Nothing can start before something is complete.
    Idle = 3,
    /// Everything is complete.
    Done = 4,
}

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct TgStep {
    /// [`StepKind`].
    pub kind: u32,
    /// The node or gang; 0 when there is none.
    pub at: u32,
    /// Of a node, its kind: [`NodeKind`](wsp_core::tg::image::NodeKind).
    pub node_kind: u32,
    /// Of a node, which of its kind.
    pub item: u32,
}

/// Stores the value of a condition; 0 when it has.
pub type EvalFn = extern "C" fn(
    user: *mut c_void,
    condition: u32,
    iterations: *const u32,
    loops: u64,
    value: *mut i64,
) -> i32;

/// Whoever knows the values of conditions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TgHost {
    /// Passed to the callback.
    pub user: *mut c_void,
    /// Null when the graph has no conditions.
    pub eval: Option<EvalFn>,
}

/// What was wrong, as numbers; see the header for each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct TgReport {
    /// What is wrong, by status.
    pub kind: u32,
    /// Where it is: a node, a loop, a list.
    pub at: u32,
    /// What was found there.
    pub found: i64,
    /// What was asked for.
    pub limit: i64,
}
