//! A schedule as settings of the runtime.

use super::codes;
use super::inputs::WorkloadOptions;
use crate::tiles::Tiles;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::codes::NOT_REPLAYED;
use wsp_backend::{Recording, Starts, WindowOverflow};
use wsp_core::limits;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::verify::COST;
use wsp_ir::workload::{Deps, PoolSizes, Ready, SchedulePolicy, Trace, Window};
use wsp_kernel::Trap;
use wsp_plan::workload::{LoweredSchedule, Placement};
use wsp_runtime::{Affinity, Replay, Report, RunConfig, StartError, Stopped, TracePolicy};

/// What the regions of tasks must be for the dependences of a run to be all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RegionRule {
    /// Anything.
    Any,
    /// Equal or disjoint.
    EqualOrDisjoint,
}

/// How a run goes.
#[derive(Clone, Debug)]
pub(crate) struct RunSettings {
    pub(crate) config: RunConfig,
    pub(crate) regions: RegionRule,
    /// The grid that tasks are placed on; none where the schedule has none, and until a launch has bound its tensors.
    pub(crate) tiles: Option<Arc<Tiles>>,
}

/// The settings of a run.
///
/// # Errors
/// The options contradict the schedule or are out of range.
pub(crate) fn run_settings(
    schedule: &LoweredSchedule,
    options: &WorkloadOptions,
) -> Result<RunSettings, Diagnostic> {
    if options.sequential {
        let config = one_by_one(options.cancel.as_ref());
        return Ok(RunSettings { config, regions: RegionRule::Any, tiles: None });
    }
    let config = config(&schedule.policy, &Asked::of(schedule, options))?;
    let config = config.settled().map_err(|fault| bad_option(&fault.to_string()))?.into_owned();
    let exact = schedule.policy.deps == Deps::Exact;
    let regions = if exact { RegionRule::EqualOrDisjoint } else { RegionRule::Any };
    Ok(RunSettings { config, regions, tiles: None })
}

/// One task after another, each submitted when the one before is complete.
pub(crate) fn one_by_one(cancel: Option<&Arc<AtomicBool>>) -> RunConfig {
    RunConfig {
        threads: 1,
        window: Window::stall(1),
        ready: Ready::Fifo,
        deps: Deps::Overlap,
        trace: TracePolicy::Totals,
        cancel: cancel.cloned(),
        ..RunConfig::default()
    }
}

/// What is asked of a run beside its schedule.
pub(crate) struct Asked<'o> {
    pub(crate) threads: u32,
    pub(crate) window: Option<u32>,
    pub(crate) seed: u64,
    pub(crate) replay: Option<&'o Arc<Starts>>,
    pub(crate) trace: TracePolicy,
    pub(crate) cancel: Option<&'o Arc<AtomicBool>>,
}

impl<'o> Asked<'o> {
    /// What the options of a workload's run ask for.
    pub(super) fn of(schedule: &LoweredSchedule, options: &'o WorkloadOptions) -> Asked<'o> {
        Asked {
            threads: match options.threads {
                0 => schedule.policy.workers.unwrap_or(0),
                threads => threads,
            },
            window: options.window,
            seed: options.seed,
            replay: options.replay.as_ref(),
            trace: trace(schedule, options),
            cancel: options.cancel.as_ref(),
        }
    }
}

/// The order of starts that is asked for.
///
/// # Errors
/// More workers or tasks than a run can have.
pub(crate) fn replay(asked: &Asked<'_>) -> Result<Option<Arc<Replay>>, Diagnostic> {
    let order = asked.replay.map(|of| Replay::new(of.workers, &of.kernels, &of.tasks).map(Arc::new));
    order.transpose().map_err(|fault| bad_option(&fault.to_string()))
}

/// The configuration of a run on threads, of a workload or of spaces.
///
/// # Errors
/// Another number of threads than the pools have.
pub(crate) fn config(policy: &SchedulePolicy, asked: &Asked<'_>) -> Result<RunConfig, Diagnostic> {
    // One thread is of no kind, and keeps to an order of workers of two.
    let alone = asked.replay.is_some() && asked.threads == 1;
    let pools = if alone { PoolSizes::Shared } else { policy.pools };
    Ok(RunConfig {
        threads: threads(pools, asked.threads)?,
        window: Window {
            capacity: asked.window.or(policy.window.map(|w| w.capacity)).unwrap_or(limits::TASK_WINDOW),
            mode: policy.window.map(|window| window.mode).unwrap_or_default(),
        },
        ready: policy.ready,
        pools,
        gates: policy.gates.clone(),
        batch: policy.batch.unwrap_or(1),
        start: policy.start,
        deps: deps(policy.deps),
        trace: asked.trace,
        cores_per_group: policy.core_groups.unwrap_or(limits::CORES_PER_GROUP),
        seed: asked.seed,
        replay: replay(asked)?,
        cancel: asked.cancel.cloned(),
    })
}

/// What is measured.
fn trace(schedule: &LoweredSchedule, options: &WorkloadOptions) -> TracePolicy {
    if options.trace || schedule.policy.trace == Trace::Measured {
        TracePolicy::Measured
    } else {
        TracePolicy::Totals
    }
}

/// An option that cannot be used.
pub(crate) fn bad_option(what: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_OPTION, what)
}

/// Refuses what would be without effect on a list of tasks.
pub(crate) fn refuse_for_graph(options: &WorkloadOptions) -> Result<(), Diagnostic> {
    refuse_for_simulation(options)?;
    let given = [
        ("aicpus", options.aicpus != 0),
        ("threads", options.threads != 0),
        ("window", options.window.is_some()),
        ("seed", options.seed != 0),
        ("trace", options.trace),
        ("recording", options.recording != Recording::Off),
        ("whole_outs", options.whole_outs),
    ];
    refuse(&given, "a list of tasks, which says nothing of how they run")
}

/// Refuses what would be without effect on a simulation.
pub(crate) fn refuse_for_simulation(options: &WorkloadOptions) -> Result<(), Diagnostic> {
    refuse(
        &[
            ("sequential", options.sequential),
            ("plain", options.plain),
            ("poll", options.poll.is_some()),
            ("payload", options.payload.is_some()),
            ("replay", options.replay.is_some()),
        ],
        "what is listed or simulated: no kernel runs",
    )
}

/// Refuses what runs of declared kernels cannot keep.
pub(crate) fn refuse_for_declared(options: &WorkloadOptions) -> Result<(), Diagnostic> {
    if options.plain {
        return Err(bad_option("`plain` chooses tile operations, but no kernel comes from a used file")
            .help("leave it out"));
    }
    if options.poll.is_some() && options.aicpus != 0 && !options.sequential {
        return Err(bad_option("AICPUs run on threads of their own, where no poll is asked")
            .help("set `cancel` from another thread"));
    }
    Ok(())
}

fn refuse(given: &[(&str, bool)], where_: &str) -> Result<(), Diagnostic> {
    let Some((name, _)) = given.iter().find(|(_, given)| *given) else { return Ok(()) };
    Err(bad_option(&format!("option `{name}` has no meaning for {where_}")).help("leave it out"))
}

/// The warnings among the findings on a schedule.
///
/// # Errors
/// The errors among them, if there are any.
pub(crate) fn checked(found: Vec<Diagnostic>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let (faults, notes): (Vec<_>, Vec<_>) = found.into_iter().partition(Diagnostic::is_error);
    if faults.is_empty() { Ok(notes) } else { Err(faults) }
}

/// How the runtime finds dependences.
///
/// Between regions that are equal or disjoint, which a run under `exact` checks, overlap and equality are the same.
pub(crate) fn deps(deps: Deps) -> Deps {
    if deps == Deps::Exact { Deps::Overlap } else { deps }
}

/// A task found the window full.
pub(crate) fn overflow(message: String, figures: WindowOverflow) -> Diagnostic {
    let fault = Diagnostic::error(codes::WINDOW_OVERFLOW, message)
        .help("write `task_window(n, stall)`, or a larger `n`")
        .python("write `.task_graph(window=TaskWindow(n))`, or a larger `n`");
    figures.in_figures(fault)
}

/// The runtime took no more tasks. A run that is stopping says why itself.
pub(crate) fn stopped(reason: &Stopped) -> Diagnostic {
    match reason {
        Stopped::WindowOverflow { capacity, active, task } => {
            let (capacity, active, task) = (u64::from(*capacity), u64::from(*active), u64::from(task.0));
            overflow(reason.to_string(), WindowOverflow { capacity, active, task })
        }
        Stopped::Stopping => cancelled(),
        Stopped::RegionsNotKept => Diagnostic::error(codes::SLOT_IN_GRAPH, reason.to_string())
            .help("write `task_graph(deps = hybrid)`: a condition that reads a slot waits for the tasks that write it")
            .python("write `.task_graph(deps=Deps.hybrid())`: a condition that reads a slot waits for the tasks that write it"),
        Stopped::TooManyTasks | Stopped::TooManyEdges | Stopped::Map(_) => {
            Diagnostic::error(codes::TOO_MANY_TASKS, reason.to_string())
                .help("set smaller parameters")
                .python("give smaller sizes")
        }
        Stopped::TooLong(_) => Diagnostic::error(COST, reason.to_string()),
        Stopped::NotReplayed { .. } => not_replayed(reason.to_string()),
        // Expansion names earlier tasks only, and descriptors that are too long were refused.
        Stopped::PayloadTooLong { .. }
        | Stopped::UnknownTask(_)
        | Stopped::UnknownEvent(_)
        | Stopped::SignalledTwice(_)
        | Stopped::EdgeNotTaken
        | Stopped::NoOrderedScope => Trap::internal(reason.to_string(), Span::default()).into(),
    }
}

/// What helps where it is one of other tasks.
pub(crate) const SAME_TASKS: &str =
    "record one with the same program, arguments and schedule: `--trace t.pftrace`";

/// The order of starts is one of other tasks.
pub(crate) fn not_replayed(message: String) -> Diagnostic {
    Diagnostic::error(NOT_REPLAYED, message)
        .help(SAME_TASKS)
        .python("record one with the same program, arguments and schedule: `program.trace(\"t.pftrace\")` after a profiled run")
}

/// The task that an order of starts of AICPUs has next cannot start.
pub(crate) fn next_not_started(task: u32) -> Diagnostic {
    not_replayed(format!(
        "in the order of starts task {task} is next, and cannot start then: it is one of other AICPUs, of another program, or of other arguments"
    ))
}

/// The run was cancelled.
pub(crate) fn cancelled() -> Diagnostic {
    Diagnostic::error(crate::codes::STOPPED, "the run was cancelled")
}

/// The run cannot go on. Tasks wait for earlier ones only, every pool has workers and every gate lets a task through, so
/// that no workload comes to this.
pub(crate) fn stuck(report: &Report) -> Diagnostic {
    Trap::internal(report.to_string(), Span::default()).into()
}

/// The run could not start.
pub(crate) fn not_started(fault: &StartError) -> Diagnostic {
    if let StartError::Config(fault) = fault
        && fault.is_of_other_tasks()
    {
        return not_replayed(fault.to_string());
    }
    Diagnostic::error(codes::BAD_OPTION, fault.to_string())
        .help("ask for other numbers with `--threads N` or in the schedule")
        .python("ask for other numbers with `num_threads=N` or in the schedule")
}

fn threads(pools: PoolSizes, asked: u32) -> Result<u32, Diagnostic> {
    let PoolSizes::ByUnit { vector, cube } = pools else {
        return Ok(asked);
    };
    let wanted = vector.saturating_add(cube);
    if asked != 0 && asked != wanted {
        let message =
            format!("{}, but the schedule's pools have {vector} + {cube} workers", counted(asked, "thread"));
        return Err(Diagnostic::error(codes::BAD_OPTION, message)
            .help(format!("leave out `--threads`, or ask for {wanted}"))
            .python(format!("leave out `num_threads`, or ask for {wanted}")));
    }
    Ok(asked)
}

/// Where a task would best run, which is for a tile where there is a grid.
pub(crate) fn affinity(place: &Placement, tile: Option<u32>, workers: u32) -> Affinity {
    if let Some(tile) = tile {
        return Affinity::Local(tile.into());
    }
    let worker = place.dispatch.and_then(|dispatched| dispatched.worker(workers));
    worker.map_or(Affinity::Any, |worker| Affinity::Local(worker.into()))
}
