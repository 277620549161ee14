//! What tells the programs of traces apart.
//!
//! Two runs can be compared task by task when the same spaces, workloads, kernels and tensors gave their tasks. Schedules, and what kernels compute
//! and are said to cost, may differ: that is what is compared.

use std::sync::Arc;
use wsp_backend::Starts;
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_ir::tg::TgModule;
use wsp_ir::workload::WorkloadModule;
use wsp_runtime::timeline::{About, Timeline};

/// The key of a `.pto` program: of the names of its spaces, axes, tensors, descriptors, kernels and generators.
pub fn key_of_program(module: &Module) -> u64 {
    let Module { spaces, axes, tensors, structs, functions, caches, .. } = module;
    let mut names: Vec<&str> = spaces.iter().map(|of| of.name.as_str()).collect();
    names.extend(axes.iter().map(|of| of.name.as_str()));
    names.extend(tensors.iter().map(|of| of.name.as_str()));
    names.extend(caches.iter().map(|of| of.name.as_str()));
    names.extend(structs.iter().map(|of| of.name.as_str()));
    names.extend(functions.iter().map(|of| of.name.as_str()));
    About::key_of(&names.join(" "))
}

/// The key of a workload.
pub fn key_of_workload(module: &WorkloadModule) -> u64 {
    let mut module = module.clone();
    module.schedules.clear();
    module.kernels.iter_mut().for_each(|kernel| kernel.cost = None);
    About::key_of(&wsp_ir::workload::text::print(&module))
}

/// The key of a task graph.
pub fn key_of_unit(module: &TgModule) -> u64 {
    About::key_of(&wsp_isa::tg::text::print(module))
}

/// The workers of a trace: its rows up to those of a launch and of AICPUs, which run no tasks.
fn workers(trace: &Timeline) -> u32 {
    let used = trace.tasks.iter().filter_map(|task| task.row()).max().map_or(0, |row| row + 1);
    let of_others = trace.spans.iter().map(|span| span.row).filter(|row| *row >= used).min();
    of_others.unwrap_or(trace.rows.len() as u32)
}

/// The order of starts of a recorded run.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The key of its program, where the trace has it.
    pub key: Option<u64>,
    /// When and where its tasks started.
    pub starts: Arc<Starts>,
}

impl Recorded {
    /// The order of starts in the bytes of a trace file, which is called `name` in messages.
    ///
    /// # Errors
    /// As [`wsp_report::read`].
    pub fn read(name: &str, bytes: &[u8]) -> Result<Recorded, Diagnostic> {
        let trace: Timeline = wsp_report::read(name, bytes)?;
        let workers = trace.about.workers.unwrap_or_else(|| workers(&trace));
        let (tasks, blocks) = trace.starts();
        Ok(Recorded {
            key: trace.about.key,
            starts: Arc::new(Starts { workers, kernels: trace.kernels, tasks, blocks }),
        })
    }

    /// Refuses an order for a program with another key.
    ///
    /// # Errors
    /// It is one of another program.
    pub fn check(&self, name: &str, program: &str, key: u64) -> Result<(), Diagnostic> {
        let Some(recorded) = self.key.filter(|recorded| *recorded != key) else { return Ok(()) };
        let message = format!("`{name}` is a trace of another program than `{program}`");
        Err(Diagnostic::error(wsp_report::OTHER_PROGRAM, message)
            .note(format!("it is of program {}, and this is {}", About::shown(recorded), About::shown(key)))
            .help("record one of this program: `--trace t.pftrace`"))
    }
}
