//! A schedule as settings of a run on AICPUs.

use super::super::codes;
use super::super::inputs::WorkloadOptions;
use super::super::settings::{Asked, bad_option, replay};
use wsp_core::limits;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::workload::{Ready, SchedulePolicy};
use wsp_plan::Support;
use wsp_plan::ptow::check_ranges;
use wsp_plan::workload::{LoweredSchedule, ScheduleLine};
use wsp_runtime::aicpu::{AfterEdges, AicpuConfig, Interleaving, ReadyOrder};
use wsp_runtime::worker_threads;

/// The settings of a run on `options.aicpus` AICPUs.
///
/// # Errors
/// The options contradict the schedule or are out of range; the schedule says what AICPUs cannot keep.
pub(crate) fn settings(
    schedule: &LoweredSchedule,
    options: &WorkloadOptions,
) -> Result<AicpuConfig, Vec<Diagnostic>> {
    check_aicpus(schedule, options.aicpus)?;
    let asked = Asked::of(schedule, options);
    config(&schedule.policy, options.aicpus, &asked).map_err(|fault| vec![fault])
}

/// The configuration of a run on so many AICPUs, of a workload or of spaces.
///
/// # Errors
/// What is asked contradicts the policy or is out of range.
pub(crate) fn config(
    policy: &SchedulePolicy,
    aicpus: u16,
    asked: &Asked<'_>,
) -> Result<AicpuConfig, Diagnostic> {
    if policy.grid.is_some() {
        let mut fault = bad_option("AICPUs do not support the grid of tiles of the schedule");
        if let Some(layout) = policy.layouts.iter().chain(&policy.relayouts).next() {
            fault = fault.at(layout.span, "lies on the grid");
        }
        return Err(fault
            .help("leave out `--aicpus`, or grid and layouts")
            .python("leave out `num_aicpus`, or grid and layouts"));
    }
    let config = AicpuConfig {
        threads: worker_threads(asked.threads),
        window: window(asked.window.or(policy.window.map(|window| window.capacity)), aicpus.into())?,
        window_mode: policy.window.map(|window| window.mode).unwrap_or_default(),
        pools: policy.pools,
        gates: policy.gates.clone(),
        ready: match policy.ready {
            Ready::Auto | Ready::Fifo | Ready::WorkSteal => ReadyOrder::Fifo,
            Ready::Priority => ReadyOrder::Priority,
        },
        start: policy.start,
        batch: policy.batch.unwrap_or(1),
        trace: asked.trace,
        after: if policy.deps.takes_edges() { AfterEdges::Kept } else { AfterEdges::Absent },
        interleaving: match asked.seed {
            0 => Interleaving::InTurn,
            seed => Interleaving::Random(seed),
        },
        replay: replay(asked)?,
        cancel: asked.cancel.cloned(),
        ..AicpuConfig::default()
    };
    config.validate(aicpus.into()).map_err(|fault| bad_option(&fault.to_string()))?;
    Ok(config)
}

/// Tasks that one AICPU may have in flight: its part of what the schedule or the options give to all.
fn window(all: Option<u32>, aicpus: u32) -> Result<u32, Diagnostic> {
    let Some(all) = all else { return Ok(limits::LOCAL_WINDOW_SIZE) };
    if all < aicpus {
        let fault = bad_option(&format!(
            "a window of {all} is too small for {aicpus} AICPUs: each needs room for a task"
        ));
        return Err(fault.help(format!("ask for a window of {aicpus} or more, or for fewer AICPUs")));
    }
    let each = all / aicpus;
    if each > limits::MAX_LOCAL_WINDOW {
        let most = limits::MAX_LOCAL_WINDOW;
        let fault = bad_option(&format!(
            "a window of {all} gives {aicpus} AICPUs {each} each, and one has at most {most}",
            each = counted(each, "task")
        ));
        let help = format!(
            "ask for a window of at most {}, or for more AICPUs",
            u64::from(most) * u64::from(aicpus)
        );
        return Err(fault.help(help));
    }
    Ok(each)
}

/// Whether AICPUs, so many, keep a schedule.
///
/// # Errors
/// Directives that the capability table refuses on AICPUs; fewer AICPUs than ranges of a static partition.
pub(crate) fn check_aicpus(schedule: &LoweredSchedule, aicpus: u16) -> Result<(), Vec<Diagnostic>> {
    let lines =
        schedule.lines.iter().map(ScheduleLine::on_aicpus).filter(|line| line.support == Support::Error);
    let refused = lines.map(|line| {
        let message = format!("AICPUs do not support `{}`", line.primitive);
        Diagnostic::error(codes::BAD_OPTION, message)
            .at(line.span, line.meaning)
            .help("leave out this part of the schedule, or `--aicpus`, `--expand bytecode` and `--bytes`: then the host generates the tasks")
            .python("leave out `num_aicpus`, or this part of the schedule")
    });
    let refused: Vec<Diagnostic> = refused.chain(check_ranges(schedule, aicpus).err()).collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}
