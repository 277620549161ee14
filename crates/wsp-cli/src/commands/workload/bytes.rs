//! The program of a workload, and the bytes of a launch: `wsp plan --bytes`, `wsp asm` and `wsp disasm` of `.wsp` files.

use super::arrays::{Given, Purpose, read};
use super::run::planned;
use super::source;
use super::{check_graph_memory, is_workload};
use crate::args::{AsmArgs, DataArgs, PlanArgs};
use crate::commands::options::{OF_WORKLOADS, refused};
use crate::commands::{Outcome, Session, named, refuse_machine_options};
use crate::engine::program;
use crate::report::TransferReport;
use pto_wsp::codes;
use std::path::Path;
use wsp_backend::GraphOptions;
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::tg::TgModule;
use wsp_ir::workload::WorkloadModule;
use wsp_kernel::{Engine, Mode};
use wsp_plan::ptow::lower;
use wsp_plan::target::CPU_SIM;

/// AICPUs that generate the tasks, unless `--aicpus` says it.
const AICPUS: u16 = 8;

/// Memory for a task of a unit: its regions, its instructions and their text or bytes.
const UNIT_BYTES: u64 = 1024;

/// Prints what a device would be given to generate the tasks of a workload, beside what a list of them would take.
pub(in crate::commands) fn bytes(session: &mut Session, args: &PlanArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let source = session.read_workload(&args.file, &[])?;
    refuse_machine_options(&args.launch, "has no meaning: no kernel runs").map_err(|fault| vec![fault])?;
    let set =
        named(&args.launch.set, "has no meaning for the bytes of a workload").map_err(|fault| vec![fault])?;
    let plan = source::plan(&source, args.launch.schedule.as_deref(), None, args.target.unwrap_or(CPU_SIM))?;
    session.warn(&plan.schedule.notes);
    let Given { args: of_run, sources, .. } = read(&source, &plan, &args.data, set, Purpose::Tasks)?;
    args.data.check_seed(&sources.made)?;
    let aicpus = args.aicpus.unwrap_or(AICPUS);
    let program = program(&plan.into(), Mode::default(), Engine::default(), None)?;
    let found = program.transfer(&of_run, aicpus, None)?;
    session.warn(&found.notes);
    let report = TransferReport { file: args.file.display().to_string(), sources, aicpus, found };
    session.print(|| report.text(), || report.json(), &[]);
    Ok(Outcome::Done)
}

/// The first kernel that the host runs, as a finding at its place.
pub(in crate::commands) fn host_kernel(
    module: &WorkloadModule,
    severity: Severity,
    why: &str,
) -> Option<Diagnostic> {
    let kernel = module.kernels.iter().find(|kernel| kernel.on_host)?;
    let message = format!("kernel `{}` runs on the host, and {why}", kernel.name);
    Some(Diagnostic::new(codes::HOST_KERNEL, severity, message).at(kernel.span, "declared here"))
}

/// Refuses kernels of the host where what is written is for cores alone.
pub(in crate::commands) fn refuse_host(module: &WorkloadModule, what: &str) -> Result<(), Vec<Diagnostic>> {
    match host_kernel(module, Severity::Error, &format!("{what} does not say so")) {
        Some(fault) => {
            Err(vec![fault.help("leave out `on host`, or write a package, which keeps it: `wsp emit`")])
        }
        None => Ok(()),
    }
}

/// The tasks of a workload as a unit of task graphs.
pub(in crate::commands) fn unit(session: &mut Session, args: &AsmArgs) -> Result<TgModule, Vec<Diagnostic>> {
    let source = session.read_workload(&args.file, &[])?;
    let (plan, set) = planned(&source, &args.set, args.schedule.as_deref(), None)?;
    session.warn(&plan.schedule.notes);
    let data = DataArgs {
        inputs: None,
        input: args.input.clone(),
        allow_unused: false,
        fill: Vec::new(),
        generate: None,
        seed: None,
        forms: false,
    };
    refuse_host(&source.module, "a task graph")?;
    check_graph_memory(&source, &set, UNIT_BYTES)?;
    let Given { args: of_run, .. } = read(&source, &plan, &data, set, Purpose::Tasks)?;
    let program = program(&plan.into(), Mode::default(), Engine::default(), None)?;
    Ok(program.unit(&of_run, &GraphOptions::default())?)
}

/// The program of a workload; none for files that are no workloads, which have no schedules to choose from.
pub(in crate::commands) fn program_bytes(
    session: &mut Session,
    path: &Path,
    schedule: Option<&str>,
) -> Result<Option<Vec<u8>>, Vec<Diagnostic>> {
    if is_workload(path) {
        let source = session.read_workload(path, &[])?;
        let plan = source::plan(&source, schedule, None, CPU_SIM)?;
        session.warn(&plan.schedule.notes);
        refuse_host(&source.module, "a program of AICPUs (`.ptow`)")?;
        let lowered = lower(&plan.module, &plan.schedule)?;
        session.warn(&lowered.notes);
        return Ok(Some(lowered.program.as_bytes().to_vec()));
    }
    match schedule {
        None => Ok(None),
        Some(_) => {
            Err(vec![refused("--schedule", OF_WORKLOADS).note("a program has been made for one schedule")])
        }
    }
}
