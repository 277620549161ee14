//! Statistics and traces of a run on AICPUs.

use crate::KernelStats;
use wsp_core::KernelId;
use wsp_core::ptow::AicpuStats;

/// Statistics of a run. Times are nanoseconds since the run's start. Statistics that depend on timing differ from run to run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AicpuRunStats {
    /// Tasks generated; all of them ran.
    pub tasks: u64,
    /// One entry per AICPU.
    pub aicpus: Vec<AicpuStats>,
    /// One entry per core: vector cores first, when they are told apart.
    pub cores: Vec<CoreStats>,
    /// One entry per kernel id, up to the largest that ran.
    pub kernels: Vec<KernelStats>,
    /// When the first task started; nothing if there was none.
    pub first_task_ns: Option<u64>,
    /// When the last generator had finished.
    pub generation_ns: u64,
    /// Tasks that were complete when the last generator had finished.
    pub overlapped: u64,
    /// When the last task was complete.
    pub wall_ns: u64,
    /// 1 if tasks had to start before [`Start`](crate::Start) would have let them.
    pub forced_starts: u64,
    /// With [`WindowMode::Benchmark`](crate::WindowMode::Benchmark), one entry per time that a generator had to wait for a
    /// place in the window, by AICPU.
    pub stalls: Vec<WindowStall>,
    /// With [`TracePolicy::Measured`](crate::TracePolicy::Measured), one entry per task in the order of ordinals.
    pub trace: Vec<AicpuTrace>,
}

impl AicpuRunStats {
    /// Sums of one number over all AICPUs.
    pub fn total(&self, number: impl Fn(&AicpuStats) -> u64) -> u64 {
        self.aicpus.iter().map(number).sum()
    }
}

/// One core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreStats {
    /// Tasks that it ran.
    pub tasks: u64,
    /// Time in tasks, if they were timed.
    pub busy_ns: Option<u64>,
}

/// A generator waited for a place in the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowStall {
    /// The AICPU.
    pub aicpu: u32,
    /// How far it had generated.
    pub watermark: u64,
    /// How long it waited.
    pub waited_ns: u64,
}

/// The life of one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AicpuTrace {
    /// Its number in elaboration order.
    pub ordinal: u64,
    /// Its kernel.
    pub kernel: KernelId,
    /// The AICPU that generated it.
    pub aicpu: u32,
    /// The core that ran it.
    pub core: u32,
    /// When it was generated.
    pub generated_ns: u64,
    /// When it waited for nothing any more.
    pub ready_ns: u64,
    /// When its kernel started.
    pub started_ns: u64,
    /// When its kernel returned.
    pub finished_ns: u64,
}
