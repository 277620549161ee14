//! What stands on one way of the host.

use super::Steps;
use super::conditions::{Condition, Forms, Known};
use std::collections::{HashMap, HashSet};
use wsp_core::tg::{CheckpointNo, StreamNo};
use wsp_ordered::OrderedMap;

/// A launch on a way.
#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub(super) graph: u32,
    pub(super) stream: StreamNo,
    /// The instruction.
    pub(super) at: u32,
    /// The iteration, if it is known.
    pub(super) iteration: Option<i64>,
    /// Whether it is not known because it is another one in each round of a loop of the host, or may be.
    pub(super) by_rounds: bool,
    /// The instruction of its graph that it goes on from: what stands before was complete when it was saved.
    pub(super) from: u32,
    /// Whether it goes on from a checkpoint.
    pub(super) is_restored: bool,
    /// The launch before it on its stream.
    pub(super) before: Option<usize>,
    /// How many waits of the host come before it.
    pub(super) waits: usize,
    /// The wait of the host that it is over behind.
    pub(super) over: Option<usize>,
    /// The last loop before it that is taken to run no round.
    pub(super) skipped: Option<u32>,
}

/// A tensor that the host releases or restores.
#[derive(Clone, Copy)]
pub(super) struct Free {
    pub(super) tensor: u32,
    pub(super) at: u32,
    /// How many launches and waits of the host come before it.
    pub(super) launches: usize,
    pub(super) waits: usize,
}

/// What stands on one way.
#[derive(Clone, Default)]
pub(super) struct Way {
    pub(super) launches: Vec<Launch>,
    pub(super) frees: Vec<Free>,
    /// Waits of the host, by instruction.
    pub(super) waits: Vec<u32>,
    /// Whether it goes to the end of the host.
    pub(super) is_whole: bool,
    /// Waits of the host for a graph, and whether it was launched before; restores, and whether the checkpoint was saved.
    pub(super) needs: OrderedMap<u32, bool>,
    /// The last launch on each stream.
    pub(super) last: HashMap<StreamNo, usize>,
    /// Graphs that were launched, or of which it was noted that they were not: the run ends there.
    pub(super) launched: HashSet<u32>,
    /// Checkpoints that the host saved, and whether the graph was in flight.
    pub(super) saved: HashMap<(u32, CheckpointNo), bool>,
    pub(super) skipped: Option<u32>,
    /// What the decisions on it leave open.
    pub(super) known: Known,
}

impl Way {
    /// What its decisions leave open.
    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    /// Whether conditions may go so on it, all of them.
    pub(super) fn allows(&self, forms: &Forms, conditions: &[(Condition, bool)], steps: &mut Steps) -> bool {
        self.known.allows(forms, conditions, steps)
    }

    /// Launches of a graph.
    pub(super) fn of(&self, graph: u32) -> impl DoubleEndedIterator<Item = &Launch> {
        self.launches.iter().filter(move |launch| launch.graph == graph)
    }

    /// Notes whether a statement has what it needs.
    pub(super) fn needs(&mut self, at: u32, is_met: bool) {
        *self.needs.entry(at).or_insert(true) &= is_met;
    }

    pub(super) fn free(&mut self, tensor: u32, at: u32) {
        let (launches, waits) = (self.launches.len(), self.waits.len());
        self.frees.push(Free { tensor, at, launches, waits });
    }

    pub(super) fn wait(&mut self, at: u32, is_waited_for: impl Fn(&Launch) -> bool) {
        let wait = self.waits.len();
        let flying = self.launches.iter_mut().filter(|launch| launch.over.is_none() && is_waited_for(launch));
        flying.for_each(|launch| launch.over = Some(wait));
        self.waits.push(at);
    }
}
