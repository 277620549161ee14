//! What tells the programs of traces apart.
//!
//! Two runs can be compared task by task when the same spaces, workloads, kernels and tensors gave their tasks. Schedules, and what kernels compute
//! and are said to cost, may differ: that is what is compared.

use wsp_ir::tg::TgModule;
use wsp_ir::workload::WorkloadModule;
use wsp_ir::{FuncKind, Module};
use wsp_runtime::timeline::About;

/// The key of a `.pto` program.
pub fn key_of_program(module: &Module) -> u64 {
    let mut module = module.clone();
    for schedule in &mut module.schedules {
        schedule.axes.clear();
        schedule.launch.clear();
    }
    for function in &mut module.functions {
        if matches!(function.kind, FuncKind::Kernel { .. }) {
            function.body.clear();
            function.locals.truncate(function.params as usize);
        }
    }
    About::key_of(&wsp_ir::text::print(&module))
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
