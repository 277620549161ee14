//! What tells the programs of traces apart.
//!
//! Two runs can be compared task by task when the same spaces, workloads, kernels and tensors gave their tasks. Schedules, and what kernels compute
//! and are said to cost, may differ: that is what is compared.

use wsp_ir::Module;
use wsp_ir::tg::TgModule;
use wsp_ir::workload::WorkloadModule;
use wsp_runtime::timeline::About;

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
