//! What the host launches, waits for, fuses, saves and restores.

use super::rule::{self, Placed as _};
use super::scalar::Source;
use super::{Checker, Report as _, listed};
use crate::tg::Namespace;
use crate::tg::outline::{BlockId, Outline};
use rustc_hash::FxHashSet;
use wsp_core::tg::{CheckpointNo, GraphNo, Instr, PartitionNo, Scalar};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ordered::Arrange;

/// What the rules of the host remember.
pub(super) struct Seen {
    /// Per graph, whether a launch of it stands before.
    launched: Vec<bool>,
    /// Launches in program order: graph, instruction, block.
    launches: Vec<(u32, u32, BlockId)>,
    /// Waits in loops for graphs not launched so far.
    early: Vec<(u32, u32)>,
    checkpoints: Vec<(GraphNo, CheckpointNo)>,
    restores: Vec<(GraphNo, CheckpointNo, u32)>,
    /// Per graph the types of cores of kernels without a partition, a bit each, once asked for.
    core_types: Vec<Option<u8>>,
}

impl Seen {
    pub(super) fn new(outline: &Outline) -> Seen {
        Seen {
            launched: vec![false; outline.graphs.len()],
            launches: Vec::new(),
            early: Vec::new(),
            checkpoints: Vec::new(),
            restores: Vec::new(),
            core_types: vec![None; outline.graphs.len()],
        }
    }
}

impl Checker<'_> {
    pub(super) fn host(&mut self, instr: &Instr) {
        match *instr {
            Instr::TgLaunch { graph_id, stream: _, partition } => {
                let Some(graph) = self.launch(graph_id) else { return };
                if partition != PartitionNo::NONE {
                    let core_types = self.core_types(graph);
                    let what = format!("graph `{}`", self.graph_name(graph_id));
                    self.cores_of(partition, core_types, &what);
                }
            }
            Instr::TgInvoke { graph_id, iteration } => {
                self.launch(graph_id);
                self.iteration(iteration);
            }
            Instr::TgSync { graph_id } => self.wait(graph_id),
            Instr::TgSetPriority { graph_id, priority: _ } => {
                self.complete_graph(graph_id);
            }
            Instr::TgFuse { graph1, graph2, fused_graph: _ } => self.fuse(graph1, graph2),
            Instr::TgCheckpoint { graph_id, checkpoint_id } => self.checkpoint(graph_id, checkpoint_id),
            Instr::TgRestore { graph_id, checkpoint_id } => {
                self.launch(graph_id);
                self.host.restores.push((graph_id, checkpoint_id, self.at));
            }
            _ => {}
        }
    }

    /// The graph of this number, with a fault if it is not complete before this instruction.
    fn complete_graph(&mut self, no: GraphNo) -> Option<u32> {
        let name = self.graph_name(no);
        let Some(graph) = self.outline.graph(no) else {
            let known: Vec<String> =
                self.outline.graphs.iter().take(1000).map(|graph| self.graph_name(graph.no)).collect();
            let help = match did_you_mean(&name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "define it: TG_BEGIN … TG_END".to_owned(),
                None => format!("define it with TG_BEGIN and TG_END; the unit has {}", listed(&known)),
            };
            let message = format!("there is no graph `{name}`");
            self.fault(rule::UNKNOWN_GRAPH, message, "not defined in this unit").help(help).report(self);
            return None;
        };
        let def = &self.outline.graphs[graph as usize];
        let complete = if def.parts.is_some() { def.at < self.at } else { def.end < self.at };
        if !complete {
            self.fault(rule::UNKNOWN_GRAPH, format!("graph `{name}` is not complete here"), "")
                .and(self.module, def.at, "it is defined here")
                .help(format!("move this behind the definition of `{name}`"))
                .report(self);
            return None;
        }
        Some(graph)
    }

    fn launch(&mut self, no: GraphNo) -> Option<u32> {
        let graph = self.complete_graph(no)?;
        self.host.launched[graph as usize] = true;
        self.host.launches.push((graph, self.at, self.block));
        Some(graph)
    }

    fn iteration(&mut self, iteration: Scalar) {
        self.scalar(iteration, self.block, Source::Data);
        let outside = |value: &i64| u32::try_from(*value).is_err();
        if let Some(value) = iteration.as_const().filter(outside) {
            self.fault(rule::COUNT, format!("iteration {value} is out of range"), "")
                .help(format!("number iterations from 0 to {}", u32::MAX))
                .report(self);
        }
    }

    fn wait(&mut self, no: GraphNo) {
        let Some(graph) = self.complete_graph(no) else { return };
        if self.host.launched[graph as usize] {
            return;
        }
        if self.outline.blocks.innermost_loop(self.block).is_some() {
            // A launch further down in the loop comes before the wait of the next round.
            return self.host.early.push((graph, self.at));
        }
        self.never_launched(graph, self.at);
    }

    fn never_launched(&mut self, graph: u32, at: u32) {
        let name = self.graph_name(self.outline.graphs[graph as usize].no);
        Diagnostic::error(rule::NEVER_LAUNCHED, format!("graph `{name}` was never launched"))
            .on(self.module, at, "waits for launches before it, and there is none")
            .help(format!("launch it first: TG_LAUNCH({name}, default)"))
            .report(self);
    }

    /// What waited in loops for a later launch did so in vain once the outermost loop ends.
    pub(super) fn host_block_ends(&mut self) {
        if self.graph.is_some() || self.host.early.is_empty() {
            return;
        }
        if self.outline.blocks.innermost_loop(self.block).is_none() {
            for (graph, at) in std::mem::take(&mut self.host.early) {
                if !self.host.launched[graph as usize] {
                    self.never_launched(graph, at);
                }
            }
        }
    }

    fn fuse(&mut self, first: GraphNo, second: GraphNo) {
        if first == second {
            let name = self.graph_name(first);
            return self
                .fault(rule::FUSE, format!("graph `{name}` is fused with itself"), "")
                .help("name two graphs; launch one graph twice to run it twice")
                .report(self);
        }
        self.complete_graph(first);
        self.complete_graph(second);
    }

    /// Types of cores that kernels of a graph need which have no partition, a bit each.
    fn core_types(&mut self, graph: u32) -> u8 {
        if let Some(known) = self.host.core_types[graph as usize] {
            return known;
        }
        let mut types = 0;
        for leaf in self.leaves(graph) {
            let kernels = self.outline.graphs[leaf as usize].kernels.clone();
            for kernel in &self.outline.kernels[kernels.start as usize..kernels.end as usize] {
                if kernel.partition == PartitionNo::NONE {
                    types |= 1 << kernel.core_type as u8;
                }
            }
        }
        self.host.core_types[graph as usize] = Some(types);
        types
    }

    /// The graph, or those of which it is made, each once.
    fn leaves(&self, graph: u32) -> Vec<u32> {
        let mut seen = FxHashSet::from_iter([graph]);
        let mut open = vec![graph];
        let mut leaves = Vec::new();
        while let Some(next) = open.pop() {
            let Some((first, second)) = self.outline.graphs[next as usize].parts else {
                leaves.push(next);
                continue;
            };
            for part in [first, second].into_iter().filter_map(|part| self.outline.graph(part)) {
                if seen.insert(part) {
                    open.push(part);
                }
            }
        }
        leaves
    }

    fn checkpoint(&mut self, no: GraphNo, checkpoint: CheckpointNo) {
        match self.graph {
            Some(_) if no != self.graph_no() => {
                let (name, open) = (self.graph_name(no), self.graph_name(self.graph_no()));
                return self
                    .fault(rule::CHECKPOINT, format!("a checkpoint of graph `{name}` in graph `{open}`"), "")
                    .help(format!("write TG_CHECKPOINT({open}, …), or move it to the host"))
                    .report(self);
            }
            Some(_) => {}
            None => {
                if self.complete_graph(no).is_none() {
                    return;
                }
            }
        }
        self.host.checkpoints.push((no, checkpoint));
    }

    /// Checks that what is restored is a checkpoint of its graph, and that no graph is launched after the host released
    /// what it uses.
    pub(super) fn restores(&mut self) {
        self.host.checkpoints.arrange();
        for (no, checkpoint, at) in std::mem::take(&mut self.host.restores) {
            let Some(graph) = self.outline.graph(no) else { continue };
            let leaves = self.leaves(graph);
            let mut graphs =
                leaves.iter().map(|&leaf| self.outline.graphs[leaf as usize].no).chain(std::iter::once(no));
            if graphs.any(|graph| self.host.checkpoints.binary_search(&(graph, checkpoint)).is_ok()) {
                continue;
            }
            let name = self.graph_name(no);
            let number = self.module.name(Namespace::Checkpoint, GraphNo(0), checkpoint.0);
            Diagnostic::error(rule::CHECKPOINT, format!("graph `{name}` has no checkpoint `{number}`"))
                .on(self.module, at, "nothing saves it")
                .help(format!("save it: TG_CHECKPOINT({name}, {number})"))
                .report(self);
        }
        self.launches_after_free();
    }

    fn launches_after_free(&mut self) {
        let mut users = std::mem::take(&mut self.memory.users_of_freed);
        users.arrange();
        users.dedup();
        for (graph, tensor) in users {
            let no = self.outline.tensors[tensor as usize].no;
            let Some(&free) = self.outline.frees.iter().find(|free| free.tensor == no) else { continue };
            let blocks = &self.outline.blocks;
            let mut launches = self.host.launches.iter();
            let late = launches
                .find(|(launched, at, block)| {
                    *launched == graph && *at > free.at && !blocks.exclude(*block, free.block)
                })
                .copied();
            if let Some((_, at, _)) = late {
                let (name, graph) =
                    (self.tensor_name(no), self.graph_name(self.outline.graphs[graph as usize].no));
                Diagnostic::error(
                    rule::AFTER_FREE,
                    format!("graph `{graph}` uses tensor `{name}` after it was released"),
                )
                .on(self.module, at, "launched here")
                .and(self.module, free.at, "released here")
                .help(format!("move MC_FREE({name}) behind the last launch that uses it, and its TG_SYNC"))
                .report(self);
            }
        }
    }
}
