//! What a run or a plan came to, as data, text and JSON.

mod aicpus;
mod balance;
mod channels;
mod data;
mod findings;
mod graph;
mod json;
mod lines;
mod plan;
mod sim;
mod text;
pub(crate) mod trace;
mod transfer;
mod unit;
mod unit_graph;
mod units;
pub(crate) mod waits;
mod workload;

pub use balance::{longest_over_mean, planned_balance};
pub use channels::Channels;
pub use data::{DataSummary, Sources};
pub use findings::Findings;
pub use graph::GraphReport;
pub use plan::{Descriptor, DescriptorType, PlanReport};
pub(crate) use sim::SimReport;
pub use transfer::TransferReport;
pub use unit::{UnitReport, UnitStats};
pub use unit_graph::UnitGraphReport;
pub use units::bytes;
pub use workload::{Check, Difference, RunTime, WorkloadReport};

use pto_wsp::cache::CacheUse;
use std::time::Duration;
use wsp_backend::AicpuOutcome;

/// Tasks of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskGroup {
    /// Type of the descriptors.
    pub descriptor: String,
    /// What runs.
    pub kernel: String,
    /// Its place in its tier set; none for a kernel that takes its descriptor type alone, such as a merge.
    pub tier: Option<u32>,
    /// How many.
    pub tasks: u64,
}

/// Counts and times of one run, as the backend gives them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunStats {
    /// Worker threads.
    pub threads: u32,
    /// Cores of the machine model.
    pub max_blocks: u32,
    /// The schedule that was applied.
    pub schedule: Option<String>,
    /// What was done with each of its statements.
    pub schedule_lines: Vec<String>,
    /// Tasks by tile, where it has a grid.
    pub grid: Vec<String>,
    /// Elements per tile of each tiled axis.
    pub tiles: Vec<(String, u64)>,
    /// Tasks by kernel, in the order of the program.
    pub tasks: Vec<TaskGroup>,
    /// Workspace slots handed out.
    pub workspace_slots: u64,
    /// Bytes of workspace.
    pub workspace_bytes: u64,
    /// Cost of each task that a tier runs, in any one unit.
    pub costs: Vec<u64>,
    /// From source text to a plan: parse, verify, lower, bind.
    pub compile: Duration,
    /// How long the generators took.
    pub plan: Duration,
    /// From the start of `execute` to the start of the first task.
    pub first_task: Duration,
    /// From the start of the generators to the end of the last task.
    pub run: Duration,
    /// What all threads computed in that time.
    pub run_computed: Duration,
    /// How long each worker ran kernels.
    pub worker_busy: Vec<Duration>,
    /// What became of the schedule's wishes, and what the task graph did.
    pub graph: GraphStats,
    /// What AICPUs did, where some generated the tasks.
    pub aicpus: Option<Box<AicpuOutcome>>,
}

/// Statistics of the task graph; all but the hazards depend on timing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphStats {
    /// Edges from a write to a later read; like the next two, only to tasks that were unfinished.
    pub raw: u64,
    /// Edges from a read to a later write.
    pub war: u64,
    /// Edges between writes.
    pub waw: u64,
    /// Edges of fences, ordered loops and events.
    pub fence: u64,
    /// Edges that a workload states with `after`.
    pub explicit: u64,
    /// Edges from a task to the next of its stream.
    pub stream: u64,
    /// Most tasks in flight.
    pub max_in_flight: u32,
    /// Times the generator waited for the window.
    pub window_stalls: u64,
    /// Tasks that were complete when the generator returned.
    pub overlapped: u64,
    /// Tasks that workers took from others.
    pub steals: u64,
    /// Tasks that ran on the core or group that the schedule asked for.
    pub affinity_hits: u64,
    /// Tasks that ran elsewhere.
    pub affinity_misses: u64,
    /// Prefetches that were issued.
    pub prefetch_issued: u64,
    /// Prefetches that came too late.
    pub prefetch_missed: u64,
}

impl GraphStats {
    /// Whether the run counted: what runs elsewhere, as a package does, says none of this.
    pub fn is_counted(&self) -> bool {
        self.max_in_flight > 0 || self.edges() > 0
    }

    /// All edges.
    pub fn edges(&self) -> u64 {
        self.raw + self.war + self.waw + self.fence + self.explicit + self.stream
    }
}

impl RunStats {
    /// Tasks that tiers run.
    pub fn chunks(&self) -> u64 {
        self.tasks.iter().filter(|g| g.tier.is_some()).map(|g| g.tasks).sum()
    }

    /// All other tasks of a program with tiers.
    pub fn merges(&self) -> u64 {
        if self.tasks.iter().all(|g| g.tier.is_none()) {
            return 0;
        }
        self.tasks.iter().filter(|g| g.tier.is_none()).map(|g| g.tasks).sum()
    }
}

/// Everything that `wsp run` prints.
#[derive(Clone, PartialEq, Debug)]
pub struct RunReport {
    /// The program's file.
    pub program: String,
    /// Names of arrays that were made up.
    pub made: Vec<String>,
    /// Whether none was given.
    pub all_made: bool,
    /// The seed of made-up data.
    pub seed: Option<u64>,
    /// What the data amount to; none for programs without a paged cache.
    pub data: Option<DataSummary>,
    /// Arrays of a program without a paged cache, such as `x f32[256, 512]`.
    pub inputs: Vec<String>,
    /// Counts and times.
    pub stats: RunStats,
    /// Outputs against their reference.
    pub check: Check,
    /// What else was found.
    pub findings: Findings,
    /// What a cache had of it, where one was asked for.
    pub cache: Option<CacheUse>,
}

impl RunReport {
    /// Bytes of keys and values read per second, in units of 10^9.
    pub fn kv_gb_per_s(&self) -> Option<f64> {
        let seconds = self.stats.run.as_secs_f64();
        self.data.as_ref().filter(|_| seconds > 0.0).map(|d| d.kv_bytes as f64 / seconds / 1e9)
    }

    /// Largest load over mean load when the chunks are dealt to the blocks of the machine model.
    pub fn planned_balance(&self) -> Option<f64> {
        planned_balance(&self.stats.costs, self.stats.max_blocks)
    }

    /// Largest busy time over mean busy time of the workers.
    pub fn measured_balance(&self) -> Option<f64> {
        longest_over_mean(self.stats.worker_busy.iter().map(Duration::as_secs_f64))
    }
}

/// The summary of a run of any kind of file.
pub trait Summary {
    /// For people.
    fn text(&self) -> String;

    /// For machines.
    fn json(&self) -> serde_json::Value;

    /// What was found in what it wrote.
    fn findings(&self) -> &Findings;
}

impl Summary for RunReport {
    fn text(&self) -> String {
        text::run(self)
    }

    fn json(&self) -> serde_json::Value {
        json::run(self)
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }
}

#[cfg(test)]
pub(crate) fn sample() -> RunReport {
    use wsp_check::reference::{Against, Comparison, Tolerance, Worst};
    let group = |descriptor: &str, kernel: &str, tier: Option<u32>, tasks: u64| TaskGroup {
        descriptor: descriptor.to_owned(),
        kernel: kernel.to_owned(),
        tier,
        tasks,
    };
    RunReport {
        program: "examples/decode_attention.pto".to_owned(),
        made: vec!["q".to_owned(), "kv".to_owned()],
        all_made: true,
        seed: Some(1),
        inputs: Vec::new(),
        data: Some(DataSummary { sequences: 32, tokens: 41_230, longest: 16_384, kv_bytes: 42_219_520 }),
        stats: RunStats {
            threads: 2,
            max_blocks: 72,
            schedule: Some("DecodeSchedule".to_owned()),
            schedule_lines: vec!["PTO_AFFINITY(batch, PTO_CORE_GROUP): enforced".to_owned()],
            grid: Vec::new(),
            tiles: vec![("kv_chunk".to_owned(), 2731)],
            tasks: vec![
                group("DecodeDescriptor", "decode_kernel_2k", Some(0), 60),
                group("DecodeDescriptor", "decode_kernel_8k", Some(1), 0),
                group("DecodeDescriptor", "decode_kernel_64k", Some(2), 12),
                group("MergeDescriptor", "merge_partial_outputs", None, 2),
            ],
            workspace_slots: 12,
            workspace_bytes: 26_112,
            costs: vec![10; 72],
            compile: Duration::from_micros(2310),
            plan: Duration::from_micros(140),
            first_task: Duration::from_micros(412),
            run: Duration::from_micros(14_200),
            run_computed: Duration::from_micros(27_100),
            worker_busy: vec![Duration::from_millis(14), Duration::from_millis(13)],
            aicpus: None,
            graph: GraphStats {
                raw: 12,
                affinity_hits: 72,
                prefetch_issued: 60,
                prefetch_missed: 8,
                overlapped: 3,
                ..GraphStats::default()
            },
        },
        check: Check::Close(vec![Comparison {
            name: "output".to_owned(),
            elements: 32_768,
            max_abs: 2.4e-5,
            max_ratio: 0.023,
            outside: 0,
            nans: 0,
            wrong_nans: 0,
            against: Against::Reference("paged_decode_attention".to_owned()),
            worst: Some(Worst { index: vec![3, 1, 0, 9], actual: 0.5, expected: 0.500_024 }),
            tolerance: Tolerance { abs: 1e-3, rel: 1e-3 },
        }]),
        findings: Findings::default(),
        cache: None,
    }
}
