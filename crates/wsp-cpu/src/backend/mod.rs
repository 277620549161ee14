//! `cpu_sim` behind the seam of backends.

mod spaces;
mod unit;
mod workload;

use crate::codes;
use crate::tg::{TgKernels, codes as tg_codes};
use crate::workload::{KernelRegistry, codes as workload_codes};
use spaces::SpaceProgram;
use unit::UnitProgram;
use workload::TaskProgram;
use wsp_backend::codes::IN_USE;
use wsp_backend::{Backend, Program, RunError};
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_plan::target::CPU_SIM;
use wsp_plan::{PlanSource, ProgramKind, Target};

/// The backend `cpu_sim`: threads, real numbers, SIMD kernels. Its fields are what no other backend has.
#[derive(Clone, Debug, Default)]
pub struct CpuSimBackend {
    /// Functions for the kernels that a workload declares.
    pub kernels: KernelRegistry,
    /// Functions for entry symbols of task graphs, beside the kernels of their files.
    pub unit_kernels: TgKernels,
    /// How tile operations are computed. Workloads take `plain` and `auto` only.
    pub mode: Mode,
    /// What runs scalar code of programs of spaces.
    pub engine: Engine,
    /// Where machine code of scalar functions is kept, of programs of spaces and of workloads over kernels of a used file; each
    /// program has its own where it is none. That of kernels over views is where the registry keeps it.
    pub code: Option<CodeCache>,
}

impl Backend for CpuSimBackend {
    fn name(&self) -> &'static str {
        "cpu_sim"
    }

    fn targets(&self) -> &'static [&'static Target] {
        &[CPU_SIM]
    }

    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics> {
        self.refuse_options(plan.kind())?;
        Ok(match plan {
            PlanSource::Spaces(plan) => Box::new(SpaceProgram::new(plan.clone(), self)),
            PlanSource::Workload(plan) => Box::new(TaskProgram::new(plan, self)?),
            PlanSource::Unit(unit) => Box::new(UnitProgram::new(unit.clone(), self)?),
        })
    }
}

impl CpuSimBackend {
    /// Refuses what would be without effect on a kind of program.
    fn refuse_options(&self, kind: ProgramKind) -> Result<(), Diagnostic> {
        let refused = |name: &str, says: &str| {
            let message = format!("option `{name}` of `cpu_sim` {says} a {kind}");
            Err(Diagnostic::error(codes::BAD_OPTION, message).help("leave it out"))
        };
        if kind != ProgramKind::Spaces && self.engine != Engine::default() {
            return refused("engine", "has no meaning for");
        }
        if kind == ProgramKind::Unit && self.code.is_some() {
            return refused("code", "has no meaning for");
        }
        if kind == ProgramKind::Workload && !matches!(self.mode, Mode::Fast | Mode::Plain) {
            return refused("mode", "is `auto` or `plain` for");
        }
        Ok(())
    }
}

/// Why a run was not begun.
fn refused(found: Vec<Diagnostic>) -> RunError {
    let (is_cancelled, is_of_code) = (is_cancelled(&found), is_of_code(&found));
    let found = Diagnostics(found);
    match is_cancelled {
        true => RunError::Cancelled(found),
        false if is_of_code => RunError::Failed(found),
        false => RunError::Refused(found),
    }
}

/// Why a run that was begun gave nothing. What is found before its first task refuses it.
fn failed(found: Vec<Diagnostic>) -> RunError {
    let (is_cancelled, code) = (is_cancelled(&found), found.first().map(|first| first.code));
    let found = Diagnostics(found);
    match code {
        _ if is_cancelled => RunError::Cancelled(found),
        Some(tg_codes::STUCK) => RunError::Stuck(found),
        Some(IN_USE | workload_codes::BAD_OPTION | codes::BAD_OPTION) => RunError::Refused(found),
        _ => RunError::Failed(found),
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
