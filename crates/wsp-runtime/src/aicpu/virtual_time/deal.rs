//! What AICPUs generate in virtual time: the tasks of a graph, each those that are its own.

use super::super::config::AicpuConfig;
use super::super::generator::{AicpuTask, Emit, Generator, Progress, Refused};
use crate::Gate;
use crate::simulate::{SimGraph, SimTaskSpec};
use std::convert::Infallible;
use wsp_core::TaskId;
use wsp_core::ptow::interp::Ordered;

/// Tasks and who has them.
#[derive(Clone, Copy, Debug)]
pub struct Dealt<'g> {
    /// Tasks with their costs and the edges between them. What its barrier nodes order is said by `scopes`.
    pub graph: &'g SimGraph,
    /// Boundaries of ordered scopes in elaboration order, each with the number of tasks before it.
    pub scopes: &'g [(u64, Ordered)],
    /// The AICPU of each task by its ordinal; tasks beyond are dealt in turn.
    pub owners: &'g [u16],
    /// How many there are.
    pub aicpus: u16,
}

/// The tasks as AICPUs walk through them.
pub(super) struct Program<'g> {
    pub(super) dealt: &'g Dealt<'g>,
    /// The node of each task.
    pub(super) nodes: Vec<TaskId>,
    /// Nodes before each node, those of node `i` from `offsets[i]` on; without those of streams, where gates keep their order.
    offsets: Vec<usize>,
    before: Vec<u32>,
    /// The ordinal of each task by its node.
    pub(super) ordinals: Vec<Option<u32>>,
}

impl<'g> Program<'g> {
    pub(super) fn new(dealt: &'g Dealt<'g>, config: &AicpuConfig) -> Program<'g> {
        let reduced = (Gate::stream_depth(&config.gates) > 1).then(|| dealt.graph.without_streams());
        let graph = reduced.as_ref().unwrap_or(dealt.graph);
        let mut offsets = vec![0; graph.len() + 1];
        graph.edges().for_each(|(_, after)| offsets[after as usize + 1] += 1);
        for at in 0..graph.len() {
            offsets[at + 1] += offsets[at];
        }
        let mut next = offsets.clone();
        let mut before = vec![0; graph.edge_count()];
        for (from, after) in graph.edges() {
            before[next[after as usize]] = from;
            next[after as usize] += 1;
        }
        let nodes: Vec<TaskId> =
            (0..graph.len() as u32).map(TaskId).filter(|id| graph.task(*id).is_some()).collect();
        let mut ordinals = vec![None; graph.len()];
        for (ordinal, node) in (0..).zip(&nodes) {
            ordinals[node.index()] = Some(ordinal);
        }
        Program { dealt, nodes, offsets, before, ordinals }
    }

    /// Nodes that a node waits for.
    pub(super) fn before(&self, node: usize) -> &[u32] {
        &self.before[self.offsets[node]..self.offsets[node + 1]]
    }

    pub(super) fn spec(&self, ordinal: u64) -> SimTaskSpec {
        let node = self.nodes.get(ordinal as usize);
        node.and_then(|node| self.dealt.graph.task(*node)).copied().unwrap_or_default()
    }

    pub(super) fn owner(&self, ordinal: u64) -> u16 {
        let in_turn = (ordinal % u64::from(self.dealt.aicpus)) as u16;
        self.dealt.owners.get(ordinal as usize).copied().unwrap_or(in_turn)
    }
}

/// The tasks of one AICPU. It knows which is its next, so that generation can take its time before that is handed over.
pub(super) struct Deal<'g> {
    program: &'g Program<'g>,
    own: u16,
    /// Its next task; as many as there are at the end.
    pub(super) next: u64,
    /// Boundaries of scopes that were handed over.
    scopes: usize,
    after: Vec<u64>,
}

impl<'g> Deal<'g> {
    pub(super) fn new(program: &'g Program<'g>, own: u16) -> Deal<'g> {
        let mut deal = Deal { program, own, next: 0, scopes: 0, after: Vec::new() };
        deal.find_own();
        deal
    }

    fn find_own(&mut self) {
        let tasks = self.program.nodes.len() as u64;
        let is_own = |ordinal: &u64| self.program.owner(*ordinal) == self.own;
        self.next = (self.next..tasks).find(is_own).unwrap_or(tasks);
    }

    /// Whether there is a task left.
    pub(super) fn has_next(&self) -> bool {
        self.next < self.program.nodes.len() as u64
    }

    /// Hands over the boundaries before the next task, and the task.
    fn hand_over(&mut self, out: &mut dyn Emit) -> Result<(), Refused> {
        while let Some(&(ordinal, scope)) = self.program.dealt.scopes.get(self.scopes)
            && (ordinal <= self.next)
        {
            match scope {
                Ordered::Begin => out.ordered_begin(ordinal),
                Ordered::Step => out.ordered_step(ordinal)?,
                Ordered::End => out.ordered_end(ordinal)?,
            }
            self.scopes += 1;
        }
        if !self.has_next() {
            return Ok(());
        }
        let node = self.program.nodes[self.next as usize].index();
        self.after.clear();
        let before = self.program.before(node).iter();
        self.after.extend(before.filter_map(|node| self.program.ordinals[*node as usize]).map(u64::from));
        let spec = self.program.spec(self.next);
        out.task(&AicpuTask {
            ordinal: self.next,
            kernel: spec.kernel,
            pool: spec.pool,
            stream: spec.stream,
            priority: spec.priority,
            after: &self.after,
            ..AicpuTask::default()
        })?;
        self.next += 1;
        self.find_own();
        Ok(())
    }
}

impl Generator for Deal<'_> {
    type Fault = Infallible;

    fn generate(&mut self, _: u32, out: &mut dyn Emit) -> Progress<Infallible> {
        let finishes = !self.has_next();
        // The runtime says what it refuses.
        let handed = self.hand_over(out);
        if finishes && handed.is_ok() { Progress::Finished } else { Progress::More }
    }

    fn watermark(&self) -> u64 {
        self.next
    }
}
