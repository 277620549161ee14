//! What `cpu_sim` alone is given and tells: the only file of this crate that names a backend.
//!
//! Tile operations, the engine of scalar code and kept machine code are its options. What it tells beside what every backend does comes as a
//! value of its own type, and here becomes part of the reports. The value of another backend changes nothing in them.

use super::outcome::RunOutcome;
use crate::report::{Descriptor, GraphStats, PlanReport, RunStats, RunTime};
use pto_wsp::backend::cpu::{self, CpuSimBackend, Report, WorkloadOutcome};
use pto_wsp::registry_with;
use std::any::Any;
use std::time::Duration;
use wsp_backend::{GridStats, Registry};
use wsp_ir::{Consumer, Module};
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_plan::ParamValue;
use wsp_runtime::tg::{Stats, Trace};
use wsp_runtime::timeline::{Heading, Timeline};

/// The backends, `cpu_sim` with these options.
pub(super) fn registry(mode: Mode, engine: Engine, code: Option<CodeCache>) -> Registry {
    registry_with(CpuSimBackend { mode, engine, code, ..CpuSimBackend::default() })
}

/// What `wsp plan` prints, with descriptors and sizes.
pub(super) fn plan_report(own: Box<dyn Any + Send>, module: &Module, common: PlanReport) -> PlanReport {
    let Ok(plan) = own.downcast::<cpu::PlanReport>() else { return common };
    PlanReport {
        descriptors: plan.list.iter().map(|item| descriptor(module, item)).collect(),
        tiles: plan.tiles.iter().map(|t| (t.axis.clone(), u64::from(t.size))).collect(),
        workspace_slots: plan.workspace_slots,
        workspace_bytes: plan.workspace_bytes,
        plan: Duration::from_nanos(plan.sizing_ns),
        ..common
    }
}

/// Counts and times of a launch, and when and where tasks of these kernels ran; `lowering` is nanoseconds.
pub(super) fn run_stats(
    own: Box<dyn Any + Send>,
    common: RunStats,
    kernels: Vec<String>,
    lowering: u64,
) -> (RunStats, Timeline) {
    let heading = Heading { program: String::new(), workers: common.threads, kernels };
    match own.downcast::<cpu::RunStats>() {
        Ok(own) => (with_own(common, &own, lowering), measured(heading, &own.runtime)),
        Err(_) => (common, Timeline::empty(heading)),
    }
}

/// A run of a workload with what the backend tells beside.
pub(super) fn run_of_workload(
    own: Box<dyn Any + Send>,
    params: Vec<(String, ParamValue)>,
    common: RunOutcome,
) -> RunOutcome {
    let Ok(own) = own.downcast::<WorkloadOutcome>() else {
        let whole = |(name, value): &(String, ParamValue)| match value {
            ParamValue::Int(value) => Some((name.clone(), i64::try_from(*value).ok()?)),
            ParamValue::Bool(_) | ParamValue::Float(_) => None,
        };
        return RunOutcome {
            params: params.iter().filter_map(whole).collect(),
            library_params: params,
            ..common
        };
    };
    let runtime = &own.runtime;
    let time = match common.time {
        RunTime::Measured { run, aicpus, .. } => RunTime::Measured {
            threads: own.threads,
            run,
            first_task: runtime.first_start_ns.map(Duration::from_nanos),
            busy: runtime.workers.iter().filter_map(|w| w.busy_ns).map(Duration::from_nanos).collect(),
            graph: graph_stats(runtime),
            aicpus,
        },
        cycles @ RunTime::Cycles { .. } => cycles,
    };
    let names = common.kernels.iter().map(|(name, _)| name.clone()).collect();
    let heading = Heading { program: String::new(), workers: own.threads, kernels: names };
    let of_library = |(name, _): &(String, ParamValue)| own.library_params.iter().any(|(of, _)| of == name);
    RunOutcome {
        library_params: params.into_iter().filter(of_library).collect(),
        schedule_lines: own.schedule.iter().map(ToString::to_string).collect(),
        grid: own.grid.iter().flat_map(GridStats::lines).collect(),
        timeline: measured(heading, runtime),
        params: own.params,
        time,
        ..common
    }
}

/// Counts of a run of a task graph, its copies where they are counted, and when its blocks ran; a package is one launch, and counts no copies.
pub(crate) fn run_of_unit(
    own: Box<dyn Any + Send>,
    common: &wsp_backend::Stats,
) -> (Stats, Option<u64>, Trace) {
    match own.downcast::<Report>() {
        Ok(report) => (report.stats, Some(report.stats.items), report.trace.unwrap_or_default()),
        Err(_) => {
            let (kernels, blocks) = (common.tasks, common.kernels.iter().map(|kernel| kernel.tasks).sum());
            let one = Stats { launches: 1, kernels, dispatches: kernels, blocks, ..Stats::default() };
            (one, None, Trace::default())
        }
    }
}

/// Counts and times with what `cpu_sim` tells beside; `lowering` is nanoseconds.
fn with_own(common: RunStats, own: &cpu::RunStats, lowering: u64) -> RunStats {
    let times = own.times;
    let before = lowering + times.bind + times.compile + times.sizing + times.allocate;
    let busy = own.runtime.workers.iter().map(|w| Duration::from_nanos(w.busy_ns.unwrap_or(0)));
    RunStats {
        tiles: own.tiles.iter().map(|t| (t.axis.clone(), u64::from(t.size))).collect(),
        workspace_slots: own.workspace_slots,
        workspace_bytes: own.workspace_bytes,
        compile: common.compile + Duration::from_nanos(times.bind),
        plan: Duration::from_nanos(times.sizing),
        first_task: Duration::from_nanos(before + own.runtime.first_start_ns.unwrap_or(0)),
        run_computed: Duration::from_nanos(times.run_computed),
        graph: graph_stats(&own.runtime),
        worker_busy: busy.collect(),
        ..common
    }
}

/// When and where the tasks of a run ran.
fn measured(heading: Heading, runtime: &wsp_runtime::Stats) -> Timeline {
    Timeline::measured(heading, &runtime.trace, &runtime.facts)
}

fn graph_stats(runtime: &wsp_runtime::Stats) -> GraphStats {
    GraphStats {
        raw: runtime.edges.raw,
        war: runtime.edges.war,
        waw: runtime.edges.waw,
        fence: runtime.edges.fence,
        explicit: runtime.edges.explicit,
        stream: runtime.edges.stream,
        max_in_flight: runtime.max_in_flight,
        window_stalls: runtime.window_stalls,
        overlapped: runtime.overlapped,
        steals: runtime.workers.iter().map(|w| w.steals).sum(),
        affinity_hits: runtime.affinity.hits,
        affinity_misses: runtime.affinity.misses,
        prefetch_issued: runtime.prefetch.issued,
        prefetch_missed: runtime.prefetch.missed,
    }
}

fn descriptor(module: &Module, item: &cpu::PlannedDescriptor) -> Descriptor {
    let tier = match module.structs[item.descriptor.index()].consumer {
        Consumer::Tiers { field, .. } => item.words.get(field as usize).copied(),
        Consumer::Kernel(_) | Consumer::None => None,
    };
    Descriptor {
        ty: item.descriptor.index(),
        kernel: item.kernel.clone(),
        tier,
        cost: item.cost,
        words: item.words.clone(),
    }
}
