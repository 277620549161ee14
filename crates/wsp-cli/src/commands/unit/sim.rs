//! `wsp sim` of a unit: its kernels run, on copies of its tensors, and blocks take what a machine model says.

use super::Kind;
use super::run::{Ready, prepare, refuse_options};
use crate::args::{Format, LaunchArgs, RunArgs, SimArgs, UnitArgs};
use crate::commands::Session;
use crate::commands::outputs::Outputs;
use crate::engine::{self, TasksOutcome};
use crate::report::Sources;
use pto_wsp::trace::key_of_unit;
use wsp_backend::{RunOptions, UnitOptions};
use wsp_diag::Diagnostic;
use wsp_plan::PlanSource;
use wsp_plan::target::model::Model;

/// Simulates a unit: what became of its blocks, the key of its traces, where its arrays come from, and what is to be written.
pub(in crate::commands) fn sim(
    session: &mut Session,
    args: &SimArgs,
    kind: Kind,
    machine: &Model,
) -> Result<(TasksOutcome, u64, Sources, Outputs), Vec<Diagnostic>> {
    let of_run = of_run(args);
    refuse_options(&of_run).map_err(|fault| vec![fault])?;
    let (ready, outputs) = prepare(session, &of_run, kind)?;
    let Ready { unit, args: given, options, machine: (mode, engine), sources, .. } = ready;
    let key = key_of_unit(&unit.module);
    // Cores and workers are those of the machine, and checkpoints are kept for as long as it takes.
    let of_unit = UnitOptions { cores: None, checkpoints: None, ..options.unit };
    let options = RunOptions { threads: 0, trace: false, unit: of_unit, ..options };
    let program = engine::program(&PlanSource::Unit(unit), mode, engine, None)?;
    session.terminal.progress("simulating");
    let outcome = engine::simulate_tasks(&*program, &given, &options, Some(machine))?;
    Ok((outcome, key, sources, outputs))
}

/// The options of a run that are the same.
fn of_run(args: &SimArgs) -> RunArgs {
    let launch = LaunchArgs { set: args.set.clone(), schedule: None, isa: None, engine: None };
    RunArgs {
        file: args.file.clone(),
        data: args.data.clone(),
        launch,
        outputs: None,
        target: None,
        threads: None,
        check: false,
        reference: None,
        no_check: true,
        strict: false,
        allow_unwritten: Vec::new(),
        stats: Format::Text,
        cache: None,
        aicpus: None,
        expand: None,
        phases: false,
        replay: None,
        trace: args.trace.clone(),
        trace_edges: args.trace_edges,
        unit: UnitArgs { kernels: args.kernels.clone(), ..UnitArgs::default() },
    }
}
