//! Virtual time on AICPUs: what a machine says of them and of launches, and what they did.

use crate::codes::{BAD_OPTION, LARGE_FIGURE, NO_AICPUS};
use std::convert::Infallible;
use wsp_backend::{SimulatedAicpu, SimulatedAicpus};
use wsp_core::ptow::interp::Ordered;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_plan::target::model::{Aicpu, Launch, Model};
use wsp_runtime::aicpu::{self, AicpuConfig, AicpuCosts, AicpuWork, Dealt, Interleaving, SimAicpu};
use wsp_runtime::simulate::{SimGraph, Simulation, simulate};
use wsp_runtime::{Failure, RunConfig, Stopped};

/// Who has which task.
#[derive(Debug, Default)]
pub(crate) struct Dealing {
    /// The AICPU of each task; those that are not here are dealt in turn.
    pub(crate) owners: Vec<u16>,
    /// Boundaries of ordered scopes, each with the number of tasks before it.
    pub(crate) scopes: Vec<(u64, Ordered)>,
}

/// Who hands out tasks in virtual time.
pub(crate) enum Way {
    /// The host, in no time.
    Host(RunConfig),
    /// AICPUs.
    Aicpus(Box<OnAicpus>),
}

/// AICPUs, with what they and the launch take.
pub(crate) struct OnAicpus {
    count: u16,
    config: AicpuConfig,
    costs: AicpuCosts,
    launch: u64,
    transfer: u64,
    bytes: u64,
}

impl OnAicpus {
    /// So many of them, of a machine; without one they take no time. `bytes` are brought to the device.
    ///
    /// # Errors
    /// The machine has no AICPUs or fewer; a figure of 2^62 cycles or more.
    pub(crate) fn new(
        count: u16,
        config: AicpuConfig,
        machine: Option<&Model>,
        bytes: u64,
    ) -> Result<OnAicpus, Vec<Diagnostic>> {
        if config.interleaving != Interleaving::InTurn {
            let fault =
                Diagnostic::error(BAD_OPTION, "option `seed` has no meaning for AICPUs in virtual time");
            return Err(vec![fault.note("nothing is drawn there").help("leave it out")]);
        }
        let Some(machine) = machine else {
            // As many cores as in a run.
            let config = AicpuConfig { threads: config.threads.max(count.into()), ..config };
            let costs = AicpuCosts::default();
            return Ok(OnAicpus { count, config, costs, launch: 0, transfer: 0, bytes });
        };
        let aicpu = of(machine, count).map_err(|fault| vec![fault])?;
        let (costs, [launch, transfer]) = figures(machine, &aicpu, bytes).map_err(|fault| vec![fault])?;
        Ok(OnAicpus { count, config, costs, launch, transfer, bytes })
    }
}

/// The figures of AICPUs of a machine that has so many.
fn of(machine: &Model, count: u16) -> Result<Aicpu, Diagnostic> {
    let name = &machine.name;
    let fewer = |help: &str| help.to_owned() + "another model: docs/reference/models.md";
    let Some(aicpu) = machine.aicpu else {
        let message = format!("machine model `{name}` has no AICPUs");
        return Err(Diagnostic::error(NO_AICPUS, message)
            .note("what they take stands in the table `[aicpu]` of a model")
            .help(fewer("leave out `--aicpus`, or take "))
            .python("leave out `aicpus`, or take another model"));
    };
    if u32::from(count) > aicpu.threads {
        let threads = aicpu.threads;
        let has = counted(threads, "AICPU thread");
        let message = format!("{}, but machine model `{name}` has {has}", counted(count, "AICPU"));
        return Err(Diagnostic::error(NO_AICPUS, message)
            .help(fewer(&format!("write `--aicpus {threads}` or fewer, or take ")))
            .python(format!("write `aicpus={threads}` or fewer, or take another model")));
    }
    Ok(aicpu)
}

/// Costs in cycles, of which the last two are those of the launch and of bringing so many bytes to the device.
fn figures(machine: &Model, aicpu: &Aicpu, bytes: u64) -> Result<(AicpuCosts, [u64; 2]), Diagnostic> {
    let Launch { run, transfer, first, task, kernel: _ } = machine.launch;
    let whole = |what: &str, seconds: f64| {
        let cycles = machine.cycles(seconds).round();
        if cycles < (1u64 << 62) as f64 {
            return Ok(cycles as u64);
        }
        let message = format!("`{what}` takes {cycles:.3e} cycles");
        let fault = Diagnostic::error(LARGE_FIGURE, message);
        Err(fault
            .note(format!("of machine model `{}`; at most 2^62 are possible", machine.name))
            .help("correct the figure in the model, times are in seconds and rates in bytes a second"))
    };
    let launch = [whole("launch.run", run)?, whole("launch.transfer", bytes as f64 / transfer)?];
    let costs = AicpuCosts {
        begin: launch[0] + launch[1],
        generation: whole("aicpu.generation", aicpu.generation)?,
        poll: whole("aicpu.poll", aicpu.poll)?,
        retire: whole("aicpu.retire", aicpu.retire)?,
        dispatch: whole("aicpu.dispatch", aicpu.dispatch)?,
        start: whole("aicpu.start", aicpu.start)?,
        completion: whole("aicpu.completion", aicpu.completion)?,
        notice: whole("aicpu.notice", aicpu.notice)?,
        task: whole("launch.task", task)?,
        first: whole("launch.first", first)?,
    };
    Ok((costs, launch))
}

impl Way {
    /// Runs a graph in virtual time.
    ///
    /// # Errors
    /// As [`simulate`] and [`aicpu::simulate`].
    pub(crate) fn run(
        &self,
        graph: &SimGraph,
        dealing: &Dealing,
    ) -> Result<(Simulation, Option<SimulatedAicpus>), Failure<Infallible, Stopped>> {
        let on = match self {
            Way::Host(config) => return Ok((simulate(graph, config)?, None)),
            Way::Aicpus(on) => on,
        };
        let dealt = Dealt { graph, scopes: &dealing.scopes, owners: &dealing.owners, aicpus: on.count };
        let found = aicpu::simulate(&dealt, &on.config, &on.costs)?;
        let mut aicpus = SimulatedAicpus::default();
        (aicpus.launch, aicpus.transfer, aicpus.bytes) = (on.launch, on.transfer, on.bytes);
        aicpus.each = found.aicpus.into_iter().map(told).collect();
        Ok((found.simulation, Some(aicpus)))
    }
}

/// What an AICPU did, as the seam has it.
fn told(aicpu: SimAicpu) -> SimulatedAicpu {
    let mut told = SimulatedAicpu::default();
    told.tasks = aicpu.tasks;
    told.busy = AicpuWork::ALL.map(AicpuWork::word).into_iter().zip(aicpu.busy).collect();
    told.spans = aicpu.spans.into_iter().map(|(work, begin, end)| (work.word(), begin, end)).collect();
    told
}
