//! The tasks of a program and the edges between them, as data.

use crate::options::SpaceOptions;
use crate::outcome::GridStats;
use crate::starts::Starts;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::policy::Deps;
use wsp_core::{BlockStart, ExecPool, Region, Started, WhyLate};
use wsp_diag::Diagnostic;
use wsp_ir::workload::AccessMode;
use wsp_plan::cost::Work;
use wsp_plan::workload::ChannelUse;

/// A kernel of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphKernel {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub unit: ExecPool,
}

/// An access of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphAccess {
    /// The task.
    pub task: u32,
    /// Its number among the task's accesses.
    pub arg: u32,
    /// What the task does with the region.
    pub mode: AccessMode,
    /// The region; its tensor is an index into [`GraphListing::tensors`].
    pub region: Region,
}

/// Two tasks that touch the same elements and that the graph's edges do not order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedHazard {
    /// The task that comes first in elaboration order.
    pub earlier: u32,
    /// The other.
    pub later: u32,
}

/// The tasks of a program and the edges between them; of a task graph its nodes, those of all graphs in order. It may have more fields one day.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GraphListing {
    /// Kernels; the last is that of barrier nodes.
    pub kernels: Vec<GraphKernel>,
    /// Index of the kernel of each task, by id.
    pub tasks: Vec<u32>,
    /// `(earlier, later)`, by the later task, in the order in which they were found.
    pub edges: Vec<(u32, u32)>,
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// Accesses of all tasks, when asked for.
    pub accesses: Vec<GraphAccess>,
    /// The first hazards that the edges do not order, at most [`MOST_LISTED`].
    pub missed: Vec<MissedHazard>,
    /// All of them.
    pub missed_count: u64,
    /// What all tasks of each kernel work, by kernel, where it is known: on a machine, of kernels that cost what their operations take.
    pub work: Vec<Option<Work>>,
    /// Coordinates of the tasks, when asked for.
    pub coordinates: Coordinates,
    /// The number of the tile that each task is for, row by row, barrier nodes left out; none where the schedule has no grid.
    pub tiles: Vec<u32>,
    /// Tasks by tile; none where the schedule has no grid, and in virtual time.
    pub grid: Option<GridStats>,
}

/// Which of its kernel's tasks each one is: the coordinates that a call in Python gives, else the indices of the loops around it, outermost first.
/// Barrier nodes have none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coordinates {
    /// Where in [`values`](Self::values) the coordinates of each task end, by id.
    pub ends: Vec<u32>,
    /// All coordinates, one task after another.
    pub values: Vec<i64>,
}

impl Coordinates {
    /// Those of a task; empty where they are not known.
    pub fn of(&self, task: usize) -> &[i64] {
        let Some(&end) = self.ends.get(task) else { return &[] };
        let begin = task.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[begin as usize..end as usize]
    }
}

/// Most hazards that a listing names.
pub const MOST_LISTED: usize = 16;

/// The name of the kernel of barrier nodes: where a step of an ordered loop ends and the next may begin.
pub const BARRIER_NODE: &str = "@order";

/// What a listing holds besides tasks and edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Detail {
    /// The list of accesses.
    pub accesses: bool,
    /// Hazards that the edges do not order.
    pub missed: bool,
    /// Coordinates of tasks.
    pub coordinates: bool,
}

/// What a graph is asked for.
#[derive(Clone, Debug, Default)]
pub struct GraphOptions {
    /// Other dependences than those of the schedule.
    pub deps: Option<Deps>,
    /// What it holds besides tasks and edges.
    pub detail: Detail,
    /// Of a program of spaces: how its arrays lie.
    pub spaces: SpaceOptions,
    /// Stops the listing when it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
}

/// A program in virtual time: every task has taken what its kernel costs. It may have more fields one day.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Simulated {
    /// Its tasks and edges; ids are those of the simulation. Of a task graph the tasks are blocks, copies and releases, and the edge to a task is from
    /// the block with whose end it became ready.
    pub listing: GraphListing,
    /// The cycle in which the last task ended.
    pub makespan: u64,
    /// What became of each task, by id.
    pub tasks: Vec<SimulatedTask>,
    /// Of a unit of task graphs where in it each task stands; else empty.
    pub blocks: Vec<BlockStart>,
    /// Cycles in which each worker ran tasks.
    pub busy: Vec<u64>,
    /// Most tasks in flight at once.
    pub max_in_flight: u32,
    /// How often submission waited for the window.
    pub window_stalls: u64,
    /// What AICPUs did, where tasks were theirs.
    pub aicpus: Option<SimulatedAicpus>,
    /// What went through the channels of its pipelines, in cycles.
    pub channels: Vec<ChannelUse>,
    /// What the target does with each statement of the schedule.
    pub schedule: Vec<String>,
    /// Warnings.
    pub notes: Vec<Diagnostic>,
}

impl Simulated {
    /// When and where its tasks started.
    pub fn starts(&self) -> Starts {
        let of = |(task, kernel): (&SimulatedTask, &u32)| {
            let (started, ended) = (task.start, task.end);
            Some(Started { started, ended, worker: task.worker?, kernel: *kernel })
        };
        Starts {
            workers: self.busy.len() as u32,
            kernels: self.listing.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
            tasks: self.tasks.iter().zip(&self.listing.tasks).filter_map(of).collect(),
            blocks: self.blocks.clone(),
        }
    }
}

/// A task in virtual time, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimulatedTask {
    /// The worker that ran it; none for a barrier node.
    pub worker: Option<u32>,
    /// When it was submitted.
    pub submitted: u64,
    /// When nothing kept it from running any more.
    pub ready: u64,
    /// When it started.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What its start waited for last.
    pub cause: WhyLate,
}

/// AICPUs in virtual time, in cycles. They may have more fields one day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SimulatedAicpus {
    /// Until the run was launched.
    pub launch: u64,
    /// From then on until the program, or the list of tasks, was on the device. Then AICPUs begin.
    pub transfer: u64,
    /// Bytes of that.
    pub bytes: u64,
    /// Each AICPU.
    pub each: Vec<SimulatedAicpu>,
}

/// An AICPU in virtual time, in cycles. It may have more fields one day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SimulatedAicpu {
    /// Tasks that it generated and handed out.
    pub tasks: u64,
    /// How long it did what: a word for the work, and cycles.
    pub busy: Vec<(&'static str, u64)>,
    /// What it did from when to when; work of one kind without a pause is one entry.
    pub spans: Vec<(&'static str, u64, u64)>,
}

impl SimulatedAicpus {
    /// What to show beside the workers: names, and what took time from when to when. First the launch, then each AICPU.
    pub fn rows(&self) -> impl Iterator<Item = (String, Vec<(&'static str, u64, u64)>)> + '_ {
        let launched = self.launch;
        let launch = vec![("launch", 0, launched), ("transfer", launched, launched + self.transfer)];
        let each = self.each.iter().enumerate();
        let each = each.map(|(at, aicpu)| (format!("AICPU {at}"), aicpu.spans.clone()));
        [("launch".to_owned(), launch)].into_iter().chain(each)
    }
}
