//! `cargo xtask bench sim`: how fast virtual time passes, what a trace takes, what tracing costs a run, and how well a run is predicted.
//!
//! The graphs are those of a LLaMA layer with dependences from boxes, on the 48 vector and 24 cube units of an Ascend 910B.

mod predict;
mod trace;

use crate::args::SimSection;
use crate::runtime::llama::{Kernel, LlamaTask, llama_flat, llama_table};
use crate::runtime::measure::{Moment, Span};
use crate::runtime::table::Target;
use crate::runtime::{Row, text};
use pto_wsp::codes;
use wsp_cli::commands::Session;
use wsp_core::{ExecPool, KernelId};
use wsp_diag::Diagnostic;
use wsp_runtime::simulate::{SimGraph, Simulation, Submission, simulate};
use wsp_runtime::{Deps, PoolSizes, Ready, RunConfig, TaskGraph, TaskSpec};

/// Simulated tasks that are asked for, in millions a second.
const MILLIONS: f64 = 5.0;
/// Units of an Ascend 910B.
const UNITS: (u32, u32) = (48, 24);

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Tokens of the LLaMA layer.
    pub(crate) seq: u32,
    /// Tasks of runs that are traced.
    pub(crate) tasks: u32,
    /// Measurements of which the median is taken, after one to warm up.
    pub(crate) rounds: u32,
    /// Runs of each program that is predicted.
    pub(crate) runs: u32,
}

impl Plan {
    /// As the targets say.
    pub(crate) fn usual(rounds: u32) -> Plan {
        Plan { seq: 16_384, tasks: 1_000_000, rounds, runs: 9 }
    }

    /// Tiny graphs: shows that everything runs, measures nothing.
    pub(crate) fn quick(rounds: u32) -> Plan {
        Plan { seq: 1024, tasks: 1000, rounds, runs: 1 }
    }
}

/// Measures a section.
///
/// # Errors
/// A run failed.
pub(crate) fn measure(
    session: &mut Session,
    section: SimSection,
    plan: &Plan,
    emit: &mut dyn FnMut(Row),
) -> Result<(), Vec<Diagnostic>> {
    let measured = match section {
        SimSection::Simulate => {
            let both = [("llama_table", true), ("llama_flat", false)];
            both.iter()
                .try_for_each(|(name, is_table)| simulated(name, &layer(plan.seq, *is_table)?, plan, emit))
        }
        SimSection::Trace => trace::rows(plan, emit),
        SimSection::Predict => return predict::rows(session, plan.runs, emit),
    };
    measured.map_err(|fault| {
        let message = format!("`cargo xtask bench sim`: {fault}");
        vec![Diagnostic::error(codes::CHECK_FAILED, message)]
    })
}

/// A layer with the costs of `examples/graphs`; in steps of 64 rows that read tables whole, or of 32 with the complete data flow.
fn layer(seq: u32, is_table: bool) -> Result<SimGraph, String> {
    let (mut graph, mut fault) = (TaskGraph::new(Deps::Overlap), None);
    let submit = |task: LlamaTask<'_>| {
        let (kernel, pool) = (KernelId(task.kernel as u16), pool(task.kernel));
        let spec = TaskSpec { kernel, pool, reads: task.reads, writes: task.writes, ..TaskSpec::default() };
        fault = graph.submit(spec).err().or(fault.take());
    };
    if is_table {
        llama_table(seq, submit)
    } else {
        llama_flat(seq, submit)
    }
    let cost = |_, kernel: KernelId, _: &[u32]| COSTS[usize::from(kernel.0)];
    match fault {
        Some(fault) => Err(text(fault)),
        None => SimGraph::from_task_graph(&graph, Submission::default(), cost).map_err(text),
    }
}

/// Costs of kernels, in their order.
const COSTS: [u64; 15] = [20, 50, 20, 10, 20, 20, 50, 20, 10, 20, 5, 50, 25, 50, 10];

fn pool(kernel: Kernel) -> ExecPool {
    match kernel {
        Kernel::tile_matmul | Kernel::tile_matmul_64 => ExecPool::Cube,
        _ => ExecPool::Vector,
    }
}

fn in_virtual_time(graph: &SimGraph) -> Result<Simulation, String> {
    let (vector, cube) = UNITS;
    let pools = PoolSizes::ByUnit { vector, cube };
    let config = RunConfig { threads: vector + cube, pools, ready: Ready::Fifo, ..RunConfig::default() };
    simulate(graph, &config).map_err(text)
}

/// Measures how fast virtual time passes.
fn simulated(name: &str, graph: &SimGraph, plan: &Plan, emit: &mut dyn FnMut(Row)) -> Result<(), String> {
    let mut spans = Vec::new();
    for round in 0..=plan.rounds {
        let start = Moment::now();
        let simulation = in_virtual_time(graph)?;
        let span = start.to(Moment::now());
        if round > 0 {
            spans.push(span);
        }
        std::hint::black_box(simulation);
    }
    let Span { wall, cpu } = Span::median(&spans);
    let millions = |ns: f64| graph.len() as f64 * 1e3 / ns;
    emit(Row {
        ours: millions(wall),
        cpu: Some(millions(cpu)),
        target: Some(Target::AtLeast(MILLIONS)),
        ..Row::plain(name, 1, "simulated M/s")
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layer_at_1k_takes_the_known_time() {
        let flat = layer(1024, false).unwrap();
        assert_eq!((flat.edge_count(), flat.span()), (10_848, Some(2760)));
        assert_eq!(in_virtual_time(&flat).unwrap().makespan, 3670);
    }
}
