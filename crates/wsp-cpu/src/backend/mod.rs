//! `cpu_sim` behind the seam of backends.

mod spaces;
mod unit;
mod workload;

use crate::codes;
use crate::defaults::check_defaults;
use crate::tg::{TgKernels, check_unit, codes as tg_codes};
use crate::workload::{KernelRegistry, codes as workload_codes};
use spaces::SpaceProgram;
pub(crate) use spaces::param_value;
use std::borrow::Cow;
use std::sync::Arc;
use unit::UnitProgram;
use workload::TaskProgram;
use wsp_backend::codes::IN_USE;
use wsp_backend::{
    Args, Backend, GraphListing, Program, RunError, RunOptions, Simulated, SimulatedAicpus, SimulatedTask,
    StartOrder, WindowOverflow,
};
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::Module;
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_plan::target::CPU_SIM;
use wsp_plan::{PlanSource, ProgramKind, Target, UnitSource};
use wsp_runtime::simulate::{SimTask, Simulation};
use wsp_tg::LintOptions;

/// The backend `cpu_sim`: threads, real numbers, SIMD kernels. Its fields are what no other backend has.
#[derive(Clone, Debug, Default)]
pub struct CpuSimBackend {
    /// Functions for the kernels that a workload declares.
    pub kernels: KernelRegistry,
    /// Functions for entry symbols of task graphs, beside the kernels of their files.
    pub unit_kernels: TgKernels,
    /// How tile operations of kernels of files are computed.
    pub mode: Mode,
    /// What runs scalar code of generators and of kernels of files.
    pub engine: Engine,
    /// Where machine code of scalar functions is kept, of generators and of kernels of files; each program has its own where it is none.
    /// That of kernels over views is where the registry keeps it.
    pub code: Option<CodeCache>,
}

impl Backend for CpuSimBackend {
    fn name(&self) -> &'static str {
        "cpu_sim"
    }

    fn targets(&self) -> &'static [&'static Target] {
        &[CPU_SIM]
    }

    fn check_defaults(&self, module: &Module) -> Result<(), Diagnostics> {
        Ok(check_defaults(module)?)
    }

    fn check_unit(&self, unit: &UnitSource, options: &LintOptions) -> Vec<Diagnostic> {
        match unit::kernels(unit, self) {
            Ok(kernels) => check_unit(&unit.module, &kernels, options),
            Err(faults) => faults,
        }
    }

    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics> {
        self.refuse_options(plan)?;
        Ok(match plan {
            PlanSource::Spaces(plan) => Box::new(SpaceProgram::new(plan.clone(), self)),
            PlanSource::Workload(plan) => Box::new(TaskProgram::new(plan, self)?),
            PlanSource::Unit(unit) => Box::new(UnitProgram::new(unit.clone(), self)?),
        })
    }
}

impl CpuSimBackend {
    /// Whether arrays and values are what a program takes: names, element types, dimensions, tables. Nothing is generated and nothing runs.
    ///
    /// # Errors
    /// As [`Program::prepare`] reports what is wrong with them.
    pub fn fits(&self, plan: &PlanSource, args: &Args, options: &RunOptions) -> Result<(), RunError> {
        match plan {
            PlanSource::Spaces(plan) => SpaceProgram::new(plan.clone(), self).fits(args, options),
            PlanSource::Workload(plan) => TaskProgram::new(plan, self).map_err(refused)?.fits(args, options),
            PlanSource::Unit(unit) => {
                UnitProgram::new(unit.clone(), self).map_err(refused)?.fits(args, options)
            }
        }
    }

    /// Refuses what would be without effect on a kind of program.
    fn refuse_options(&self, plan: &PlanSource) -> Result<(), Diagnostic> {
        let kind = plan.kind();
        let refused = |name: &str, of: &str| {
            let message = format!("option `{name}` of `cpu_sim` has no meaning for a {kind}{of}");
            Err(Diagnostic::error(codes::BAD_OPTION, message).help("leave it out"))
        };
        let has_files = match plan {
            PlanSource::Spaces(_) => true,
            PlanSource::Workload(plan) => plan.library.is_some(),
            PlanSource::Unit(unit) => !unit.files.is_empty(),
        };
        if !has_files && self.engine != Engine::default() {
            return refused("engine", " without kernels of a file");
        }
        // A run of declared kernels refuses plain operations itself, as its own option.
        let is_of_run = kind == ProgramKind::Workload && self.mode == Mode::Plain;
        if !has_files && self.mode != Mode::default() && !is_of_run {
            return refused("mode", " without kernels of a file");
        }
        if !has_files && kind == ProgramKind::Unit && self.code.is_some() {
            return refused("code", " without kernels of a file");
        }
        Ok(())
    }
}

/// What runs kernels of files, as [`wsp_backend::Program::implementation`] tells it.
fn runs_kernels(mode: Mode, engine: Engine) -> [(&'static str, String); 2] {
    let is_native = engine != Engine::Interpreter && Engine::Native.is_available();
    let engine = match is_native {
        true => "native: scalar code that runs long is compiled for this machine",
        false => "interpreter",
    };
    [("engine", engine.to_owned()), ("tile ops", mode.name().to_owned())]
}

/// Refuses options that are given and have no meaning for this.
fn refuse(what: &str, options: &[(&str, bool)]) -> Result<(), RunError> {
    let given = options.iter().filter(|(_, given)| *given);
    let refused = given.map(|(name, _)| {
        Diagnostic::error(codes::BAD_OPTION, format!("option `{name}` has no meaning for {what}"))
            .help("leave it out")
    });
    let refused: Vec<Diagnostic> = refused.collect();
    if refused.is_empty() { Ok(()) } else { Err(RunError::Refused(refused.into())) }
}

/// Options with an order of starts that is one of a run: that of a seed is what the tasks do in virtual time.
///
/// # Errors
/// A seed for AICPUs, which draw nothing in virtual time; what refuses virtual time.
fn ordered<'o>(
    program: &dyn Program,
    args: &Args,
    options: &'o RunOptions,
) -> Result<Cow<'o, RunOptions>, RunError> {
    let Some(order) = &options.replay else { return Ok(Cow::Borrowed(options)) };
    let StartOrder::Seed(seed) = *order else { return Ok(Cow::Borrowed(options)) };
    if options.workload.aicpus != 0 {
        let message = "option `replay` takes no seed for a run on AICPUs: nothing is drawn for them";
        let help = "record a run on AICPUs, and give its trace: `--trace FILE` and then `--replay FILE`";
        let python = "give the path of a trace of a run on as many AICPUs: `replay=\"t.pftrace\"`";
        let fault = Diagnostic::error(codes::BAD_OPTION, message).help(help).python(python);
        return Err(RunError::Refused(fault.into()));
    }
    let in_virtual_time = RunOptions {
        threads: options.threads,
        seed,
        window: options.window,
        cancel: options.cancel.clone(),
        spaces: options.spaces.clone(),
        ..RunOptions::default()
    };
    let starts = program.simulate(args, &in_virtual_time)?.starts();
    Ok(Cow::Owned(RunOptions { replay: Some(StartOrder::Of(Arc::new(starts))), ..options.clone() }))
}

/// What happened in virtual time, as the seam has it.
fn in_virtual_time(
    listing: GraphListing,
    simulation: &Simulation,
    aicpus: Option<SimulatedAicpus>,
    schedule: Vec<String>,
    notes: Vec<Diagnostic>,
) -> Simulated {
    let task = |of: &SimTask| {
        let SimTask { worker, submitted, ready, start, end, cause } = *of;
        SimulatedTask { worker, submitted, ready, start, end, cause }
    };
    let mut simulated = Simulated::default();
    simulated.listing = listing;
    simulated.makespan = simulation.makespan;
    simulated.tasks = simulation.tasks.iter().map(task).collect();
    simulated.busy = simulation.workers.iter().map(|worker| worker.busy).collect();
    simulated.max_in_flight = simulation.max_in_flight;
    simulated.window_stalls = simulation.window_stalls;
    simulated.aicpus = aicpus;
    (simulated.schedule, simulated.notes) = (schedule, notes);
    simulated
}

/// Why a run was not begun.
fn refused(found: Vec<Diagnostic>) -> RunError {
    let (is_cancelled, is_of_code) = (is_cancelled(&found), is_of_code(&found));
    let found = match overflowed(found) {
        Ok(error) => return error,
        Err(found) => Diagnostics(found),
    };
    match is_cancelled {
        true => RunError::Cancelled(found),
        false if is_of_code => RunError::Failed(found),
        false => RunError::Refused(found),
    }
}

/// Why a run that was begun gave nothing. What is found before its first task refuses it.
fn failed(found: Vec<Diagnostic>) -> RunError {
    let (is_cancelled, code) = (is_cancelled(&found), found.first().map(|first| first.code));
    let found = match overflowed(found) {
        Ok(error) => return error,
        Err(found) => Diagnostics(found),
    };
    match code {
        _ if is_cancelled => RunError::Cancelled(found),
        Some(tg_codes::STUCK) => RunError::Stuck(found),
        Some(IN_USE | workload_codes::BAD_OPTION | codes::BAD_OPTION) => RunError::Refused(found),
        _ => RunError::Failed(found),
    }
}

/// That the window overflowed, with the figures; the findings where it did not.
fn overflowed(found: Vec<Diagnostic>) -> Result<RunError, Vec<Diagnostic>> {
    let first = found.first().filter(|first| first.code == workload_codes::WINDOW_OVERFLOW);
    match first.and_then(WindowOverflow::of) {
        Some(overflow) => Ok(RunError::Overflow(overflow, found.into())),
        None => Err(found),
    }
}

/// Whether code of the program failed: generators run when a launch is prepared.
fn is_of_code(found: &[Diagnostic]) -> bool {
    let traps = || wsp_kernel::CODES.iter().flat_map(|codes| codes.iter());
    found.first().is_some_and(|first| traps().any(|trap| trap.code == first.code))
}

fn is_cancelled(found: &[Diagnostic]) -> bool {
    let cancelled = [codes::STOPPED, codes::FUNCTION_STOPPED, tg_codes::CANCELLED];
    found.first().is_some_and(|first| cancelled.contains(&first.code))
}
