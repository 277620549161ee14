//! From a module to a plan: graphs become nodes and edges that a machine runs, statements of the host a list with jumps.
//!
//! * Loops whose count is known and small are unrolled, unless they are `SEQUENTIAL` or left by a `CF_BREAK`: iterations are then ordered only where
//!   they touch the same bytes. Every other loop is one node to what is around it, and a body that is armed for each iteration.
//! * Edges that a program declares hold within one iteration of the loops around both ends. An edge into or out of a loop is one to or
//!   from all of its iterations.
//! * Arms of a `CF_IF` and what follows a `CF_BREAK` are nodes with guards. Arms that a constant rules out keep their place in
//!   the order, so that what waits for them does not start early.
//! * Copies, releases and conditions are ordered by the bytes they touch, in program order. Kernels among themselves are not: edges between
//!   them are the program's.

mod attributes;
mod body;
pub(crate) mod codes;
mod emit;
mod faults;
mod flows;
mod fuse;
mod host;
mod layout;
mod orders;
mod ranges;
mod reader;
mod scalars;
mod source;
mod unit;

use super::plan::{ElaborateOptions, GraphPlan, UnitPlan};
use emit::{Collected, Emit};
use faults::Faults;
use ranges::RangeMap;
use source::{Item, Source, TOP, WorkKind};
use std::collections::HashMap;
use unit::Unit;
use wsp_core::tg::{ExprOp, GraphNo, Instr, Scalar};
use wsp_diag::Diagnostic;
use wsp_ir::tg::{Namespace, Signatures, TgModule};

/// Plans a unit that `wsp_ir::tg::verify` finds no error in. Directions of arguments come from the signatures of kernels; where neither they nor the
/// bindings say one, an argument counts as read and written.
///
/// # Errors
///
/// Cycles of instructions that wait for each other, graphs with too many nodes, gangs across loops, constants that have no value; and,
/// for a module that was not verified, whatever is missing in it.
pub fn elaborate(
    module: &TgModule,
    signatures: &Signatures,
    options: &ElaborateOptions,
) -> Result<UnitPlan, Vec<Diagnostic>> {
    let mut faults = Faults::default();
    let mut unit = Unit::new(module, &mut faults);
    faults.check()?;
    let spans = unit.graphs.clone();
    let sources: Vec<Source> =
        spans.iter().map(|span| reader::read(&unit, span, signatures, &mut faults)).collect();
    faults.check()?;
    let mut places: HashMap<GraphNo, u32> = HashMap::new();
    let mut graphs = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        places.entry(source.no).or_insert(at as u32);
        let parts = [Part { source, moved: HashMap::new() }];
        graphs.push(graph(&unit, source.no, &parts, *options, &mut faults));
    }
    fused(&mut unit, &sources, &mut places, &mut graphs, *options, &mut faults);
    let host = host::read(&unit, &places, &mut faults);
    faults.check()?;
    Ok(UnitPlan {
        graphs,
        host: host.ops,
        host_loops: host.loops,
        exprs: host.exprs,
        events: unit.plan_events(),
        partitions: unit.plan_partitions(),
        args: unit.plan_args(),
        tensors: unit.tensors,
    })
}

/// A graph that another is made of.
struct Part<'s> {
    source: &'s Source,
    /// Where its own tensors stand in the other.
    moved: HashMap<u32, u32>,
}

/// Plans a graph of one or more parts. Parts are ordered where they touch the same bytes.
fn graph(
    unit: &Unit<'_>,
    no: GraphNo,
    parts: &[Part<'_>],
    options: ElaborateOptions,
    faults: &mut Faults,
) -> GraphPlan {
    let mut emit = Emit::new(unit, options, faults);
    let (mut past, mut first_defs) = (RangeMap::default(), Vec::new());
    for part in parts {
        emit.open(part.source, part.moved.clone());
        emit.track(part.source);
        first_defs.push(emit.first_def);
        if parts.len() > 1 {
            emit.collectors.push(Collected::default());
        }
        emit.copy_of(part.source, TOP, &part.source.items);
        if let Some(collected) = emit.collectors.pop() {
            emit.carry(&mut past, &collected, None, |_| true);
        }
    }
    if parts.len() > 1 {
        fuse::batches(&mut emit, &first_defs);
    }
    if emit.full {
        let instr = parts.first().and_then(|part| unit.graphs.iter().find(|span| span.no == part.source.no));
        emit.faults.nodes(unit.module, instr.map_or(0, |span| span.begin as usize), options.most_nodes);
        return GraphPlan::default();
    }
    emit.plan.no = no;
    emit.plan.name = unit.module.name(Namespace::Graph, GraphNo(0), no.0);
    layout::finish(emit)
}

/// Plans the graphs that `TG_FUSE` makes. Fused graphs can be fused again.
fn fused(
    unit: &mut Unit<'_>,
    sources: &[Source],
    places: &mut HashMap<GraphNo, u32>,
    graphs: &mut Vec<GraphPlan>,
    options: ElaborateOptions,
    faults: &mut Faults,
) {
    let mut parts_of: HashMap<GraphNo, Vec<usize>> =
        sources.iter().enumerate().map(|(at, source)| (source.no, vec![at])).collect();
    for (at, instr) in unit.module.instrs.iter().enumerate() {
        let Instr::TgFuse { graph1, graph2, fused_graph } = *instr else { continue };
        let (Some(first), Some(second)) = (parts_of.get(&graph1), parts_of.get(&graph2)) else {
            faults.unverified(unit.module, at, "fuses a graph that the unit does not define");
            continue;
        };
        let parts: Vec<usize> = first.iter().chain(second).copied().collect();
        let place = graphs.len() as u32;
        let moved: Vec<Part<'_>> = parts
            .iter()
            .map(|&part| Part { source: &sources[part], moved: unit.adopt(sources[part].no, place) })
            .collect();
        graphs.push(graph(unit, fused_graph, &moved, options, faults));
        places.entry(fused_graph).or_insert(place);
        parts_of.insert(fused_graph, parts);
    }
}

impl Emit<'_, '_> {
    /// Finds the tensors of a graph that somebody but kernels touches.
    fn track(&mut self, source: &Source) {
        let mut tensors = Vec::new();
        for work in &source.works {
            match work.kind {
                WorkKind::Copy { src, dst, .. } => tensors.extend([src, dst]),
                WorkKind::Free(tensor) => tensors.push(tensor),
                _ => {}
            }
        }
        let mut conditions = Vec::new();
        conditions_of(&source.items, &mut conditions);
        for condition in conditions {
            for op in self.unit.module.scalar(condition) {
                if let ExprOp::Load(tensor, _) = op {
                    tensors.push(*tensor);
                }
            }
        }
        let places = tensors.into_iter().filter_map(|no| self.around.tensor(self.unit, no));
        self.tracked.extend(places);
    }
}

fn conditions_of(items: &[Item], conditions: &mut Vec<Scalar>) {
    for item in items {
        match item {
            Item::Work(_) => {}
            Item::If { condition, then, otherwise, .. } => {
                conditions.push(*condition);
                conditions_of(then, conditions);
                conditions_of(otherwise, conditions);
            }
            Item::Loop(body) => {
                conditions.push(body.condition);
                conditions_of(&body.body, conditions);
            }
            Item::Break { condition, .. } => conditions.push(*condition),
        }
    }
}
