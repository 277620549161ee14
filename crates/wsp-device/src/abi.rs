//! The records and codes of the C ABI, as `wsp_ptow.h` has them.

use core::ffi::c_void;
use wsp_core::ptow::{PartitionParams, Word};
use wsp_core::{MAX_RANK, Region};

/// What a function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// All tasks have been handed over.
    Finished = 1,
    /// A budget is spent; there is more.
    Yielded = 2,
    /// A slot's value is needed; [`PtowReport::found`] is the slot.
    Waits = 3,
    /// A callback has asked for it.
    Stopped = 4,
    /// A pointer is null.
    Null = -1,
    /// A pointer is not aligned.
    Alignment = -2,
    /// The memory is too small.
    Memory = -3,
    /// The bytes are no program.
    Read = -4,
    /// The program breaks a rule.
    Verify = -5,
    /// Launch or configuration do not fit the program.
    Refused = -6,
    /// The program is at fault with this launch.
    Fault = -7,
    /// The handle is none that was opened, or it is running.
    Handle = -8,
    /// The mode is not known.
    Mode = -9,
}

/// A launch-time table.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowTable {
    /// Its elements.
    pub data: *const i64,
    /// How many there are.
    pub len: u64,
}

/// What a launch gives a program.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowLaunch {
    /// Launch-time values.
    pub values: *const i64,
    /// How many there are.
    pub num_values: u64,
    /// Launch-time tables.
    pub tables: *const PtowTable,
    /// How many there are.
    pub num_tables: u64,
    /// Extents of every tensor.
    pub extents: *const [u32; MAX_RANK],
    /// How many tensors there are.
    pub num_extents: u64,
}

/// A task. What the pointers name is gone when the callback returns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowTask {
    /// How many tasks were generated before it, whoever owns them.
    pub ordinal: u64,
    /// Parameters.
    pub params: *const i64,
    /// Regions.
    pub regions: *const Region,
    /// What it does to each region: 0 reads, 1 writes, 2 both.
    pub modes: *const u8,
    /// Ordinals of the tasks that it waits for.
    pub after: *const u64,
    /// Loop variables in scope, outermost first.
    pub vars: *const i64,
    /// Those of loops over axes among them.
    pub indices: *const i64,
    /// Its `TASK` instruction.
    pub site: u32,
    /// The label that names it from now on; all ones for none.
    pub label: u32,
    /// Its priority.
    pub priority: i32,
    /// Its stream; all ones for none.
    pub stream: u32,
    /// Its kernel.
    pub kernel: u16,
    /// Its pool: 0 vector, 1 cube, 255 any.
    pub pool: u8,
    /// How many parameters there are.
    pub num_params: u8,
    /// How many regions there are.
    pub num_regions: u8,
    /// How many tasks it waits for.
    pub num_after: u8,
    /// How many loop variables are in scope.
    pub num_vars: u8,
    /// How many of them are of loops over axes.
    pub num_indices: u8,
}

/// Takes a task; 0 when it is taken.
pub type TaskFn = extern "C" fn(user: *mut c_void, task: *const PtowTask) -> i32;
/// Takes a boundary of an ordered scope; 0 when it is taken.
pub type OrderedFn = extern "C" fn(user: *mut c_void, event: u32, ordinal: u64) -> i32;
/// Stores the value of a slot; 0 when it has.
pub type SlotFn = extern "C" fn(user: *mut c_void, slot: u32, ordinal: u64, value: *mut i64) -> i32;
/// Runs a descriptor generator and stores how many tasks it generated; 0 when it has, negative when there is none.
pub type PlanFn = extern "C" fn(user: *mut c_void, generator: u16, ordinal: u64, tasks: *mut u64) -> i32;

/// Who takes the tasks.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowHost {
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Never null.
    pub task: Option<TaskFn>,
    /// Null when boundaries do not matter.
    pub ordered: Option<OrderedFn>,
    /// Null when no slot ever has a value.
    pub slot: Option<SlotFn>,
    /// Null when there are no descriptor generators.
    pub plan: Option<PlanFn>,
}

/// An expression over axes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowKey {
    /// Its words.
    pub words: *const Word,
    /// How many there are; 0 for no expression.
    pub len: u64,
}

/// Which AICPU takes a task.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowPolicy {
    /// [`PolicyType`](wsp_core::ptow::PolicyType), or a pool.
    pub policy: u32,
    /// Of an affinity.
    pub depth: u32,
    /// Of a key or a hash.
    pub key: PtowKey,
}

/// What a schedule says of a program: [`Schedule`](wsp_core::ptow::schedule::Schedule).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PtowSchedule {
    /// Which AICPU takes a task.
    pub dispatch: PtowPolicy,
    /// Of a static partition.
    pub ranges: *const PartitionParams,
    /// How many there are.
    pub num_ranges: u64,
    /// Of a threshold.
    pub metric: PtowKey,
    /// Its bounds.
    pub bounds: *const i32,
    /// How many there are; 0 for no threshold.
    pub num_bounds: u64,
    /// One more than bounds; null for no threshold.
    pub levels: *const PtowPolicy,
    /// The stream of a task.
    pub stream_by: PtowKey,
    /// The priority of a task.
    pub priority: PtowKey,
    /// Streams; 0 for none.
    pub streams: u32,
}

/// What was wrong, as numbers; see the header for each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct PtowReport {
    /// What is wrong, by status.
    pub kind: u32,
    /// What `at` counts.
    pub place: u32,
    /// Where it is.
    pub at: u64,
    /// What was found there.
    pub found: i64,
    /// What was asked for.
    pub limit: i64,
    /// Of a fault: how many tasks were generated before, whoever owns them.
    pub ordinal: u64,
}

/// What a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct PtowWaits {
    /// 0 there is no such process, 1 for nothing, as it has ended, 2 to go on with its instruction, 3 that the token which
    /// the instruction has sent is taken.
    pub kind: u32,
    /// The instruction: a word of the program.
    pub word: u32,
}

/// What an interpreter has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct PtowStats {
    /// Tasks handed over.
    pub tasks: u64,
    /// Bodies entered, iterations, and skips.
    pub steps: u64,
    /// Ordered scopes entered.
    pub scopes: u64,
    /// Rounds of all `WHILE`s.
    pub while_rounds: u64,
    /// Tasks counted, whoever owns them.
    pub total_ordinals: u64,
}
