//! What a run of a workload gives.

use wsp_backend::{AicpuOutcome, Bodies, GridStats, KernelStats, Unwritten};
use wsp_diag::Diagnostic;
use wsp_plan::Arrays;
use wsp_plan::workload::{ChannelUse, ScheduleLine};

/// What a run computed, and how.
#[derive(Clone, Debug)]
pub struct WorkloadOutcome {
    /// Tensors that tasks may write, by name.
    pub outputs: Arrays,
    /// Elements of tensors that tasks may write and none has stored; empty where the run does not record what is stored. A kernel
    /// of the caller that takes a region as memory ([`KernelCx::view`](super::KernelCx::view)) counts as storing all of it.
    pub unwritten: Vec<Unwritten>,
    /// What ran.
    pub bodies: Bodies,
    /// Worker threads; 0 for a sequential run, which has none.
    pub threads: u32,
    /// Tasks per kernel.
    pub kernels: Vec<KernelStats>,
    /// Values of the workload's parameters.
    pub params: Vec<(String, i64)>,
    /// Values of all parameters of the used file.
    pub library_params: Vec<(String, wsp_kernel::Value)>,
    /// What the target does with each directive of the schedule.
    pub schedule: Vec<ScheduleLine>,
    /// From the start of generation to the end of the last task, in nanoseconds.
    pub run_ns: u64,
    /// The runtime's own statistics; of a sequential run only the number of tasks.
    pub runtime: wsp_runtime::Stats,
    /// What AICPUs did, where they generated the tasks.
    pub aicpus: Option<AicpuOutcome>,
    /// What went through the channels of its pipelines, in nanoseconds; empty where the run recorded no times.
    pub channels: Vec<ChannelUse>,
    /// What the tiles of the schedule's grid have had; none of a sequential run of declared kernels.
    pub grid: Option<GridStats>,
    /// Warnings.
    pub notes: Vec<Diagnostic>,
}
