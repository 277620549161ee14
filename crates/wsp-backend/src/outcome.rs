//! What a run gives.

use crate::checkpoint::CheckpointKey;
use std::any::Any;
use std::time::Duration;
use wsp_core::ptow::AicpuStats;
use wsp_core::tg::MemLocation;
use wsp_diag::Diagnostic;
use wsp_plan::ptow::Transfer;
use wsp_plan::workload::ChannelUse;
use wsp_plan::{Arrays, ParamValue};

/// What a run computed, and how. It may have more fields one day.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Arrays that tasks wrote, by name, without those of the caller.
    pub outputs: Arrays,
    /// Elements of what tasks may write that none has stored; empty where that is not recorded.
    pub unwritten: Vec<Unwritten>,
    /// How it ran.
    pub stats: Stats,
    /// Warnings and notes of the run; those of lowering are the plan's.
    pub notes: Vec<Diagnostic>,
    /// Of a run of a workload.
    pub workload: WorkloadResult,
    /// Of a run of a task graph.
    pub unit: UnitResult,
    /// What the backend tells beside, in a type of its own.
    pub own: Box<dyn Any + Send>,
}

impl Outcome {
    /// What a run computed, and how it ran; nothing else.
    pub fn new(outputs: Arrays, stats: Stats) -> Outcome {
        Outcome {
            outputs,
            unwritten: Vec::new(),
            stats,
            notes: Vec::new(),
            workload: WorkloadResult::default(),
            unit: UnitResult::default(),
            own: Box::new(()),
        }
    }
}

/// What a run of a workload gives beside arrays and statistics. It may have more fields one day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WorkloadResult {
    /// What ran in the tasks; none where no kernel ran.
    pub bodies: Option<Bodies>,
    /// What AICPUs did, where they generated the tasks.
    pub aicpus: Option<AicpuOutcome>,
    /// What went through the channels of its pipelines, in nanoseconds since the start of the run; empty where the run recorded no times
    /// ([`RunOptions::trace`](crate::RunOptions::trace)).
    pub channels: Vec<ChannelUse>,
}

/// What ran in the tasks of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bodies {
    /// The kernels of a used file.
    Library,
    /// Functions that the backend was given.
    Registered,
    /// Nothing but mixing what is read into what is written: the kernels are only declared.
    Mixing,
    /// Functions for some kernels, mixing for the others.
    Mixed,
}

/// What AICPUs did in a run. It may have more fields one day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct AicpuOutcome {
    /// One entry per AICPU.
    pub aicpus: Vec<AicpuStats>,
    /// Cores that ran the tasks.
    pub cores: u32,
    /// Bytes that the AICPUs were given; none where the host has made a list.
    pub transfer: Option<Transfer>,
}

/// What a run of a task graph gives beside arrays and statistics. It may have more fields one day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct UnitResult {
    /// The checkpoint that the run went on from, if it did.
    pub resumed: Option<CheckpointKey>,
    /// External events that were signalled, by name: by the caller, and before the checkpoint was saved that the run went on from.
    pub signalled: Vec<String>,
    /// Names of the caller's arrays that the unit writes where they lie.
    pub written: Vec<String>,
    /// Most memory in use, by device. Memory that all devices share counts for the first.
    pub peak: Vec<Peak>,
}

/// Bytes by place of memory: `GM`, `L2`, `HBM`, `SHARED`, by their numbers.
pub type BytesByLocation = [u64; MemLocation::ALL.len()];

/// What a device held at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// By place of memory; these need not have been reached at the same time.
    pub by_location: BytesByLocation,
    /// In all.
    pub total: u64,
}

/// How a program ran. It may have more fields one day.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks that ran; of a task graph kernels, each as often as it ran.
    pub tasks: u64,
    /// Streams that the program names; at least 1.
    pub streams: u32,
    /// Threads that ran tasks.
    pub executors: u32,
    /// From the plan to code, with what was compiled for the arguments.
    pub compile: Duration,
    /// From the start of the run to the end of its last task.
    pub run: Duration,
    /// Tasks by kernel, in the order of the program; empty where a kernel is not counted by itself.
    pub kernels: Vec<KernelStats>,
    /// Values of parameters.
    pub params: Vec<(String, ParamValue)>,
    /// What the tiles of the schedule's grid have had; none where it has none, and of a sequential run of declared kernels.
    pub grid: Option<GridStats>,
}

/// Most tiles whose tasks are printed one by one.
const MOST_TILES_LISTED: usize = 256;

/// Tasks by tile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GridStats {
    /// Tiles of a row.
    pub x: u32,
    /// Rows.
    pub y: u32,
    /// Tasks of each tile, row by row.
    pub tasks: Vec<u64>,
    /// What each relayout of the schedule does, a line for each.
    pub moves: Vec<String>,
}

impl GridStats {
    /// A line for each row of tiles, of many one for all, and one for each relayout.
    pub fn lines(&self) -> Vec<String> {
        if self.tasks.len() > MOST_TILES_LISTED {
            let some = self.tasks.iter().filter(|tasks| **tasks > 0).count();
            let most = self.tasks.iter().max().copied().unwrap_or(0);
            let all = format!("{} × {} tiles: {some} have tasks, at most {most}", self.x, self.y);
            return std::iter::once(all).chain(self.moves.iter().cloned()).collect();
        }
        let row = |(y, tasks): (usize, &[u64])| {
            let tasks: Vec<String> = tasks.iter().map(u64::to_string).collect();
            format!("tiles (0, {y}) to ({}, {y}): tasks {}", self.x.saturating_sub(1), tasks.join(", "))
        };
        let rows = self.tasks.chunks(self.x.max(1) as usize).enumerate().map(row);
        rows.chain(self.moves.iter().cloned()).collect()
    }
}

impl Stats {
    /// How long the run took, in milliseconds.
    pub fn elapsed_ms(&self) -> f64 {
        self.run.as_secs_f64() * 1e3
    }
}

/// Tasks of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelStats {
    /// The kernel.
    pub name: String,
    /// Tasks that ran.
    pub tasks: u64,
    /// Time in the kernel, over all workers, in nanoseconds. Without a trace a worker's time between two tasks that follow each other at once
    /// counts for the second.
    pub busy_ns: u64,
}

/// What a run would do. It may have more fields one day.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// Tasks by kernel, in the order of the program; of a task graph nodes by name, as its file has them.
    pub kernels: Vec<(String, u64)>,
    /// What the target does with each statement of the schedule.
    pub schedule: Vec<String>,
    /// What would run them, as [`Program::implementation`](crate::Program::implementation) has it.
    pub implementation: Vec<(&'static str, String)>,
    /// What the tiles of the schedule's grid would have.
    pub grid: Option<GridStats>,
    /// Warnings and notes of the arguments; those of lowering are the plan's.
    pub notes: Vec<Diagnostic>,
    /// What the backend tells beside, in a type of its own.
    pub own: Box<dyn Any + Send>,
}

impl Explanation {
    /// What would run, tasks by kernel; nothing else.
    pub fn new(kernels: Vec<(String, u64)>) -> Explanation {
        Explanation {
            kernels,
            schedule: Vec::new(),
            implementation: Vec::new(),
            grid: None,
            notes: Vec::new(),
            own: Box::new(()),
        }
    }
}

/// Elements of an output that no task has stored, of a run that records what is stored ([`Recording`](crate::Recording)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritten {
    /// The output.
    pub tensor: String,
    /// Whether some task has loaded each of them, which makes them inputs; else none has loaded any. Where tasks have stored none of the
    /// output, all of its elements count as not loaded.
    pub loaded: bool,
    /// How many elements were never stored; at least 1.
    pub elements: u64,
    /// How many it has.
    pub of: u64,
    /// Index of the first, in row-major order.
    pub first: Vec<u64>,
    /// Whether the launch was given the array that these elements still hold the values of.
    pub given: bool,
}

/// The index of the element with this number, in row-major order, of an array with these extents. An extent of 0 counts as 1.
pub fn unravel(mut at: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (index, extent) in index.iter_mut().zip(shape).rev() {
        *index = at % extent.max(&1);
        at /= extent.max(&1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tiles_are_listed_row_by_row_and_many_are_counted() {
        let moves = vec!["relayout(y): all-gather over x".to_owned()];
        let few = GridStats { x: 2, y: 2, tasks: vec![3, 0, 1, 2], moves };
        assert_eq!(
            few.lines(),
            [
                "tiles (0, 0) to (1, 0): tasks 3, 0",
                "tiles (0, 1) to (1, 1): tasks 1, 2",
                "relayout(y): all-gather over x"
            ]
        );
        let mut tasks = vec![0; 300];
        (tasks[7], tasks[299]) = (2, 5);
        let many = GridStats { x: 300, y: 1, tasks, moves: Vec::new() };
        assert_eq!(many.lines(), ["300 × 1 tiles: 2 have tasks, at most 5"]);
    }
}
