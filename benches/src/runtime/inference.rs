//! Dependence inference on the tasks of a LLaMA layer: the tensor map alone, and the stored graph built from boxes.

use super::Plan;
use super::llama::{LlamaTask, llama_flat, llama_table};
use super::measure::{Moment, Span, median};
use super::ours::text;
use super::table::{Row, Target};
use wsp_core::KernelId;
use wsp_runtime::infer::{Accesses, Matching, RegionMap, TensorMap as _};
use wsp_runtime::{Deps, TaskGraph, TaskSpec};

/// What is asked of one access, in nanoseconds.
const ACCESS_NS: f64 = 5.0;
/// What is asked of the graph of `llama_table`, in tasks per millisecond.
const TABLE_RATE: f64 = 50_000.0;

/// A layer that emits its tasks.
trait Layer: Copy {
    fn emit(self, seq: u32, task: impl FnMut(LlamaTask<'_>));
}

#[derive(Clone, Copy)]
struct Table;

impl Layer for Table {
    #[inline(always)]
    fn emit(self, seq: u32, task: impl FnMut(LlamaTask<'_>)) {
        llama_table(seq, task);
    }
}

#[derive(Clone, Copy)]
struct Flat;

impl Layer for Flat {
    #[inline(always)]
    fn emit(self, seq: u32, task: impl FnMut(LlamaTask<'_>)) {
        llama_flat(seq, task);
    }
}

/// Measures both forms of the layer.
///
/// # Errors
/// A task was refused.
pub(super) fn rows(plan: &Plan, mut emit: impl FnMut(Row)) -> Result<(), String> {
    layer(plan, "llama_table", Table, Some(Target::AtLeast(TABLE_RATE)), &mut emit)?;
    layer(plan, "llama_flat", Flat, None, &mut emit)
}

fn layer(
    plan: &Plan,
    name: &str,
    layer: impl Layer,
    rate: Option<Target>,
    mut emit: impl FnMut(Row),
) -> Result<(), String> {
    let (mut map, mut graph) = (RegionMap::growing(Matching::Overlap), TaskGraph::new(Deps::Overlap));
    let (mut accesses, mut rates) = (Vec::new(), Vec::new());
    let mut edges = (0, 0);
    for repeat in 0..=plan.repeats * plan.rounds {
        let (alone, built) = (infer(&mut map, layer, plan.seq)?, build(&mut graph, layer, plan.seq)?);
        edges = (alone.edges, graph.edge_count());
        if repeat > 0 {
            accesses.push(alone.span.over(alone.accesses as f64));
            rates.push(f64::from(built.tasks) / (built.span.wall / 1e6));
        }
    }
    if edges.0 != edges.1 {
        return Err(format!("{name}: the map finds {} edges, the graph has {}", edges.0, edges.1));
    }
    let Span { wall, cpu } = Span::median(&accesses);
    let target = Some(Target::AtMost(ACCESS_NS));
    emit(Row { ours: wall, cpu: Some(cpu), target, ..Row::plain(name, 1, "map ns/access") });
    emit(Row { ours: median(rates), target: rate, ..Row::plain(name, 1, "graph tasks/ms") });
    Ok(())
}

/// What the tensor map alone took.
#[derive(Clone, Copy, Debug)]
struct Inferred {
    span: Span,
    accesses: u64,
    edges: u64,
}

/// Infers the edges of a layer with a map whose memory is warm; the loops that make up the boxes are included.
fn infer(map: &mut RegionMap<u32>, layer: impl Layer, seq: u32) -> Result<Inferred, String> {
    let (mut task, mut accesses, mut edges, mut fault) = (0, 0, 0, None);
    map.clear();
    let start = Moment::now();
    layer.emit(seq, |spec| {
        accesses += (spec.reads.len() + spec.writes.len()) as u64;
        let result = map.infer(task, Accesses::new(spec.reads, spec.writes), |_| true, |_, _| edges += 1);
        if let Err(error) = result {
            fault = Some(text(error));
        }
        task += 1;
    });
    let span = start.to(Moment::now());
    fault.map_or(Ok(Inferred { span, accesses, edges }), Err)
}

/// What a stored graph took.
#[derive(Clone, Copy, Debug)]
struct Built {
    span: Span,
    tasks: u32,
}

/// Builds the graph of a layer in warm memory.
fn build(graph: &mut TaskGraph, layer: impl Layer, seq: u32) -> Result<Built, String> {
    let (mut tasks, mut fault) = (0, None);
    graph.clear();
    let start = Moment::now();
    layer.emit(seq, |spec| {
        let LlamaTask { kernel, reads, writes } = spec;
        let spec = TaskSpec { kernel: KernelId(kernel as u16), reads, writes, ..TaskSpec::default() };
        if let Err(error) = graph.submit(spec) {
            fault = Some(text(error));
        }
        tasks += 1;
    });
    let span = start.to(Moment::now());
    fault.map_or(Ok(Built { span, tasks }), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hazards_are_those_of_the_reference() {
        let mut map = RegionMap::growing(Matching::Overlap);
        let mut edges = |table: bool, seq| {
            let found = if table { infer(&mut map, Table, seq) } else { infer(&mut map, Flat, seq) };
            found.unwrap().edges
        };
        assert_eq!(edges(true, 1024), 2368);
        assert_eq!(edges(false, 1024), 10_848);
        assert_eq!(edges(false, 2048), 42_176);
    }

    #[test]
    fn a_graph_has_the_edges_that_the_map_finds() {
        let mut rows_seen = Vec::new();
        let plan = Plan { seq: 1024, ..Plan::new(crate::runtime::Scale::Quick, 1, 1) };
        rows(&plan, |row| rows_seen.push(row.measure)).unwrap();
        assert_eq!(rows_seen.len(), 4);
    }
}
