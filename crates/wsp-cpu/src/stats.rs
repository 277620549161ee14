//! What a launch reports.

use crate::sizes::PlannedDescriptor;
use wsp_backend::{AicpuOutcome, GridStats, KernelStats, Unwritten};
use wsp_plan::Arrays;

/// Descriptors of one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptorStats {
    /// The type.
    pub name: String,
    /// How many were emitted.
    pub count: u64,
    /// Bytes of one.
    pub bytes: u32,
}

/// The tile of an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TileStats {
    /// The axis.
    pub axis: String,
    /// Elements per tile.
    pub size: u32,
}

/// Times of a launch in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Checking and binding the arrays.
    pub bind: u64,
    /// Compiling kernels and generators for these arrays.
    pub compile: u64,
    /// The sizing run of the generators.
    pub sizing: u64,
    /// Allocating outputs and workspace.
    pub allocate: u64,
    /// From the start of generation to the last task's end.
    pub run: u64,
    /// What all threads of the process computed in that time.
    pub run_computed: u64,
}

/// What a launch computed, and how.
#[derive(Debug)]
pub struct Outcome {
    /// Arrays that kernels stored to, by the names of the entry's parameters.
    pub outputs: Arrays,
    /// Elements of outputs that were never stored; empty where the launch does not record what is stored.
    pub unwritten: Vec<Unwritten>,
    /// How.
    pub stats: RunStats,
    /// What AICPUs did, where some generated the tasks.
    pub aicpus: Option<AicpuOutcome>,
    /// Warnings.
    pub notes: Vec<wsp_diag::Diagnostic>,
}

/// How a launch ran.
#[derive(Debug)]
pub struct RunStats {
    /// Worker threads.
    pub threads: u32,
    /// Tasks per kernel.
    pub kernels: Vec<KernelStats>,
    /// Descriptors per type.
    pub descriptors: Vec<DescriptorStats>,
    /// Tiles that the generator set or that were chosen automatically.
    pub tiles: Vec<TileStats>,
    /// Value of every parameter.
    pub params: Vec<(String, wsp_kernel::Value)>,
    /// Bytes of workspace, known before the run.
    pub workspace_bytes: u64,
    /// Slots of workspace.
    pub workspace_slots: u64,
    /// Times.
    pub times: Times,
    /// The task graph's own statistics.
    pub runtime: wsp_runtime::Stats,
    /// What the tiles of the schedule's grid have had.
    pub grid: Option<GridStats>,
}

/// What a launch would do, without running it.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// Names of the stages.
    pub stages: Vec<String>,
    /// Every descriptor in issue order.
    pub list: Vec<PlannedDescriptor>,
    /// Descriptors per type.
    pub descriptors: Vec<DescriptorStats>,
    /// Tiles.
    pub tiles: Vec<TileStats>,
    /// Bytes of workspace.
    pub workspace_bytes: u64,
    /// Slots of workspace.
    pub workspace_slots: u64,
    /// What the tiles of the schedule's grid would have.
    pub grid: Option<GridStats>,
    /// Time of the sizing run in nanoseconds.
    pub sizing_ns: u64,
    /// Warnings.
    pub notes: Vec<wsp_diag::Diagnostic>,
}

/// Tasks of the kernels with these names, which are numbered as here.
pub(crate) fn kernel_stats<'n>(
    names: impl Iterator<Item = &'n str>,
    runtime: &wsp_runtime::Stats,
) -> Vec<KernelStats> {
    let stats = runtime.kernels.iter().map(Some).chain(std::iter::repeat(None));
    let named = names.zip(stats).map(|(name, stats)| KernelStats {
        name: name.to_owned(),
        tasks: stats.map_or(0, |k| k.tasks),
        busy_ns: stats.and_then(|k| k.busy_ns).unwrap_or(0),
    });
    named.collect()
}
