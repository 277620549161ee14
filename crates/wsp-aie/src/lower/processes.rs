//! Which process of a pipeline each task is of.

use super::refused;
use wsp_core::KernelId;
use wsp_diag::Diagnostic;
use wsp_ir::workload::{self, Block, NodeKind, WorkloadModule};
use wsp_ordered::OrderedMap;
use wsp_plan::workload::WorkloadPlan;

/// A workload in which each process has kernels of its own, by number: tasks tell by theirs which process they are of.
pub(crate) fn by_process(plan: &WorkloadPlan) -> WorkloadPlan {
    let mut plan = plan.clone();
    let Some(library) = &mut plan.library else { return plan };
    let kernels = &mut plan.module.kernels;
    for workload in &mut plan.module.workloads {
        each_process(&mut workload.body, &mut |body| {
            let mut own: OrderedMap<usize, KernelId> = OrderedMap::new();
            each_task(body, &mut |task| {
                task.kernel = *own.entry(task.kernel.index()).or_insert_with(|| {
                    kernels.push(kernels[task.kernel.index()].clone());
                    library.functions.push(library.functions[task.kernel.index()]);
                    KernelId(kernels.len() as u16 - 1)
                });
            });
        });
    }
    plan
}

fn each_process(block: &mut Block, visit: &mut dyn FnMut(&mut Block)) {
    for node in block {
        if let NodeKind::Pipeline { processes } = &mut node.kind {
            processes.iter_mut().for_each(|process| visit(&mut process.body));
        } else {
            node.kind.bodies_mut().into_iter().for_each(|body| each_process(body, visit));
        }
    }
}

fn each_task(block: &mut Block, visit: &mut dyn FnMut(&mut workload::Task)) {
    for node in block {
        if let NodeKind::Task(task) = &mut node.kind {
            visit(task);
        }
        node.kind.bodies_mut().into_iter().for_each(|body| each_task(body, visit));
    }
}

/// Names of the processes of all pipelines.
pub(super) fn processes(module: &WorkloadModule) -> Vec<String> {
    let mut names = Vec::new();
    for workload in &module.workloads {
        wsp_ir::workload::each_node(&workload.body, &mut |node| {
            if let NodeKind::Pipeline { processes } = &node.kind {
                names.extend(processes.iter().map(|process| process.name.clone()));
            }
        });
    }
    names
}

/// The process that calls each kernel.
pub(super) fn stages(module: &WorkloadModule, names: &[String]) -> Result<Vec<Option<u32>>, Diagnostic> {
    let mut stages: Vec<Option<u32>> = vec![None; module.kernels.len()];
    let mut at = 0u32;
    let mut fault = None;
    for workload in &module.workloads {
        wsp_ir::workload::each_node(&workload.body, &mut |node| {
            let NodeKind::Pipeline { processes } = &node.kind else { return };
            for process in processes {
                for kernel in called(module, &process.body) {
                    let of = &mut stages[kernel];
                    if let Some(other) = of.filter(|other| *other != at) {
                        let name = &module.kernels[kernel].name;
                        let message = format!(
                            "kernel `{name}` is called in the processes `{}` and `{}`, which are two cores",
                            names[other as usize], process.name
                        );
                        fault.get_or_insert_with(|| {
                            refused(message)
                                .at(process.span, "here again")
                                .help("write a kernel for each of the processes")
                        });
                    }
                    *of = Some(at);
                }
                at += 1;
            }
        });
    }
    fault.map_or(Ok(stages), Err)
}

/// Kernels that a block calls, with the workloads in it.
fn called(module: &WorkloadModule, block: &Block) -> Vec<usize> {
    let mut found = Vec::new();
    let mut inner = Vec::new();
    wsp_ir::workload::each_node(block, &mut |node| match &node.kind {
        NodeKind::Task(task) => found.push(task.kernel.index()),
        NodeKind::Call { workload, .. } => inner.push(workload.index()),
        _ => {}
    });
    // A call names an earlier workload, so that this ends.
    for workload in inner {
        found.extend(called(module, &module.workloads[workload].body));
    }
    found
}
