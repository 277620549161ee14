//! What a restore of a graph does: the host writes what the graph writes, and the launch that was saved goes on, on its stream.

use super::super::Cx;
use super::choices::Choices;
use super::parts;
use super::way::Way;
use std::collections::HashMap;
use std::rc::Rc;
use wsp_core::tg::{CheckpointNo, Instr, StreamNo};
use wsp_ir::tg::outline::BlockKind;
use wsp_ordered::Arrange;

/// How a launch goes on.
pub(super) struct Goes {
    pub(super) stream: StreamNo,
    /// The iteration, if it is known.
    pub(super) iteration: Option<i64>,
    /// Whether that is another one in each round of a loop of the host, or may be.
    pub(super) by_rounds: bool,
    /// The instruction of its graph that it goes on from.
    pub(super) from: u32,
    /// Whether it goes on from a checkpoint.
    pub(super) is_restored: bool,
}

/// What is known of the graphs of a unit.
pub(super) struct Restores {
    /// The graphs that each is made of.
    parts: Vec<Vec<u32>>,
    /// The first instruction that saves a checkpoint in a graph, by graph and checkpoint.
    places: HashMap<(u32, CheckpointNo), u32>,
    /// Tensors that each graph writes, without those that it is made of.
    writes: Vec<Vec<u32>>,
    /// Tensors that graphs write, of those that were asked for.
    written: HashMap<u32, Rc<[u32]>>,
}

impl Restores {
    pub(super) fn new(cx: &Cx<'_>) -> Restores {
        let (mut places, mut graph) = (HashMap::new(), None);
        for (instr, at) in cx.module.instrs.iter().zip(0..) {
            match *instr {
                Instr::TgBegin { graph_id } => graph = cx.outline.graph(graph_id),
                Instr::TgEnd { .. } => graph = None,
                Instr::TgCheckpoint { checkpoint_id, .. } => {
                    if let Some(graph) = graph {
                        places.entry((graph, checkpoint_id)).or_insert(at);
                    }
                }
                _ => {}
            }
        }
        let mut writes = vec![Vec::new(); cx.outline.graphs.len()];
        for access in cx.accesses.list.iter().filter(|access| access.writes()) {
            writes[access.graph as usize].push(access.tensor);
        }
        Restores { parts: parts(cx), places, writes, written: HashMap::new() }
    }

    /// The first instruction in a graph, or in one that it is made of, that saves a checkpoint.
    pub(super) fn place(&self, graph: u32, checkpoint: CheckpointNo) -> Option<u32> {
        let parts = self.parts[graph as usize].iter();
        parts.filter_map(|part| self.places.get(&(*part, checkpoint))).min().copied()
    }

    /// Tensors that a graph writes, rising.
    pub(super) fn written(&mut self, graph: u32) -> Rc<[u32]> {
        let written = || {
            let parts = self.parts[graph as usize].iter();
            let mut tensors: Vec<u32> =
                parts.flat_map(|part| self.writes[*part as usize].iter().copied()).collect();
            tensors.arrange();
            tensors.dedup();
            tensors.into()
        };
        Rc::clone(self.written.entry(graph).or_insert_with(written))
    }

    /// The launch of a graph that goes on from a checkpoint which stands at `place`, or which the host saved: the last on one of the
    /// streams that the graph was launched on.
    pub(super) fn goes_on(
        &self,
        cx: &Cx<'_>,
        way: &Way,
        (graph, place): (u32, Option<u32>),
        choices: &mut Choices,
    ) -> Option<Goes> {
        let mut streams: Vec<StreamNo> = Vec::new();
        for launch in way.of(graph).rev() {
            if !streams.contains(&launch.stream) {
                streams.push(launch.stream);
            }
        }
        let last = streams.len().checked_sub(1)?;
        let stream = streams[(0..last).find(|_| !choices.take()).unwrap_or(last)];
        let blocks = &cx.outline.blocks;
        let around = place.map(|at| (at, blocks.around(at)));
        // Every launch saves what stands in no block of its graph.
        let is_plain = around.is_some_and(|(_, block)| blocks.get(block).kind == BlockKind::Graph);
        // Rounds to come run what stands before as well, and a graph of several may have it in any of them.
        let in_loop = |block| blocks.outwards(block).any(|(_, around)| around.kind.is_loop());
        let is_one = self.parts[graph as usize].len() == 1;
        let from = around.filter(|(_, block)| is_one && !in_loop(*block)).map_or(0, |(at, _)| at);
        let mut iterations =
            way.of(graph).filter(|launch| launch.stream == stream).map(|launch| launch.iteration);
        let newest = iterations.next_back().flatten();
        let iteration = newest.filter(|_| is_plain || iterations.all(|of| of == newest));
        Some(Goes { stream, iteration, by_rounds: iteration.is_none(), from, is_restored: true })
    }
}
