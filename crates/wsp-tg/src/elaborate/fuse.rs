//! Batches of a fused graph: kernels that are alike and do not depend on each other become one dispatch.
//!
//! Two kernels are alike if entry, core type, blocks, partition and requests are equal. They are put together if they come from different graphs, are
//! as far from the start of the graph (so that no batch can come before itself), stand outside of control flow and gangs, and neither
//! writes bytes that the other touches.

use super::emit::Emit;
use super::ranges::Bytes;
use std::collections::HashMap;
use wsp_core::AccessKind;
use wsp_core::tg::image::{NONE, NodeKind};
use wsp_core::tg::{CoreType, Direction, PartitionNo};

/// What batches have in common, and how far from the start they are.
type Alike = (u32, String, u32, CoreType, PartitionNo, Option<[u32; 3]>, Option<u32>);

/// A batch so far.
struct Batch {
    /// The kernel that leads it.
    kernel: u32,
    /// Graphs of its members: places of their first definitions.
    graphs: Vec<u32>,
    touches: Vec<(Bytes, AccessKind)>,
}

/// Puts kernels of the graphs together whose definitions begin at these places.
pub(super) fn batches(emit: &mut Emit<'_, '_>, first_defs: &[u32]) {
    let depths = depths(emit);
    let mut known: HashMap<Alike, Vec<Batch>> = HashMap::new();
    for kernel in 0..emit.plan.kernels.len() as u32 {
        let item = &emit.plan.kernels[kernel as usize];
        let draft = emit.nodes[item.node as usize];
        let gated = draft.gate != NONE || draft.guard != NONE || draft.gang != NONE || draft.level != 0;
        let Some(depth) = depths[item.node as usize].filter(|_| !gated && draft.kind == NodeKind::Kernel)
        else {
            continue;
        };
        let def = &emit.plan.defs[item.def as usize];
        let graph = first_defs.partition_point(|&first| first <= item.def) as u32;
        let alike = (
            depth,
            def.entry.clone(),
            def.block_dim,
            def.core_type,
            def.partition,
            def.request,
            def.persistent,
        );
        let touches = touches(emit, kernel);
        let batches = known.entry(alike).or_default();
        let fits = |batch: &&mut Batch| !batch.graphs.contains(&graph) && disjoint(&batch.touches, &touches);
        if let Some(batch) = batches.iter_mut().find(fits) {
            let (leader, node) = (batch.kernel as usize, item.node as usize);
            batch.graphs.push(graph);
            batch.touches.extend(touches);
            let at = emit.plan.kernels[leader].node;
            emit.nodes[node].merged = at;
            emit.plan.kernels[leader].batch.push(kernel);
            emit.plan.kernels[kernel as usize].node = at;
        } else {
            batches.push(Batch { kernel, graphs: vec![graph], touches });
        }
    }
}

/// How many edges the longest way from the start to each node has; none of nodes behind a cycle.
fn depths(emit: &Emit<'_, '_>) -> Vec<Option<u32>> {
    let gates = emit.nodes.iter().enumerate().filter(|(_, draft)| draft.gate != NONE);
    let mut edges: Vec<(u32, u32)> = emit.edges.iter().map(|&(from, to, _)| (from, to)).collect();
    edges.extend(gates.map(|(node, draft)| (draft.gate, node as u32)));
    edges.sort_unstable();
    let mut open = vec![0u32; emit.nodes.len()];
    edges.iter().for_each(|&(_, to)| open[to as usize] += 1);
    let mut longest = vec![0u32; open.len()];
    let mut depths = vec![None; open.len()];
    let mut ready: Vec<u32> = (0..open.len() as u32).filter(|&node| open[node as usize] == 0).collect();
    while let Some(node) = ready.pop() {
        depths[node as usize] = Some(longest[node as usize]);
        let first = edges.partition_point(|&(from, _)| from < node);
        for &(_, to) in edges[first..].iter().take_while(|&&(from, _)| from == node) {
            longest[to as usize] = longest[to as usize].max(longest[node as usize] + 1);
            open[to as usize] -= 1;
            if open[to as usize] == 0 {
                ready.push(to);
            }
        }
    }
    depths
}

fn touches(emit: &Emit<'_, '_>, kernel: u32) -> Vec<(Bytes, AccessKind)> {
    let mut touches = Vec::new();
    for bind in emit.plan.binds_of(&emit.plan.kernels[kernel as usize]) {
        let mode = if bind.direction == Direction::In { AccessKind::Read } else { AccessKind::Write };
        for &tensor in emit.plan.tensors_of(&bind.tensor) {
            touches.push((emit.bytes(tensor, bind.offset, bind.size), mode));
        }
        for scalar in [bind.offset, bind.size] {
            emit.pool.reads(scalar, |bytes| touches.push((bytes, AccessKind::Read)));
        }
    }
    touches
}

fn disjoint(a: &[(Bytes, AccessKind)], b: &[(Bytes, AccessKind)]) -> bool {
    let clash = |x: &(Bytes, AccessKind), y: &(Bytes, AccessKind)| {
        let overlap = x.0.tensor == y.0.tensor && x.0.first < y.0.end && y.0.first < x.0.end;
        overlap && (x.1 == AccessKind::Write || y.1 == AccessKind::Write)
    };
    !a.iter().any(|x| b.iter().any(|y| clash(x, y)))
}
