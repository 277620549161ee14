//! Going on from words that were saved: what they may be, and what of them is made anew.
//!
//! Counts must be those that follow from which nodes are complete; this is checked edge by edge. The queue and the gangs follow from the
//! counts and are made anew: whatever was handed out but is not complete is handed out again.

use super::Machine;
use super::state::{DONE, LEAVING, OPEN, Parts, RESTING, RUNNING};
use crate::tg::image::{Image, LevelRecord, LoopKind, NONE, NodeKind};
use crate::words::counted;

/// Why words are not a state of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StateFault {
    /// Their number is not that of this graph.
    Length {
        /// Words of this graph.
        expected: usize,
        /// Words given.
        found: usize,
    },
    /// They are of another graph, or of another form of this one.
    Graph {
        /// The fingerprint of this graph.
        expected: u32,
        /// The one found.
        found: u32,
    },
    /// The count of open edges of this node does not follow from what is complete.
    Count(u32),
    /// The number of open nodes is wrong.
    Open,
    /// This guard is neither on nor off.
    Guard(u32),
    /// This loop's state does not fit its nodes.
    Loop(u32),
    /// Some members of this gang are complete and some are not: it was saved while it ran.
    Gang(u32),
}

impl core::fmt::Display for StateFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            StateFault::Length { expected, found } => {
                write!(
                    f,
                    "the saved state has {found}, the graph has {expected}",
                    found = counted(found, "word")
                )
            }
            StateFault::Graph { expected, found } => {
                write!(f, "the saved state is of graph {found:08x}, this is {expected:08x}")
            }
            StateFault::Count(node) => {
                write!(f, "the saved state of node {node} contradicts its predecessors")
            }
            StateFault::Open => write!(f, "the saved number of open nodes is wrong"),
            StateFault::Guard(guard) => write!(f, "the saved guard {guard} is neither on nor off"),
            StateFault::Loop(at) => write!(f, "the saved state of loop {at} contradicts its nodes"),
            StateFault::Gang(gang) => write!(f, "gang {gang} was saved while it ran"),
        }
    }
}

impl core::error::Error for StateFault {}

impl<'i> Machine<'i> {
    /// Goes on from words of a checkpoint. Nodes that were handed out and not complete are handed out again.
    ///
    /// # Errors
    ///
    /// [`StateFault`] if they are not a state that a run of this graph can have; the words are then of no use.
    pub fn resume(image: &'i Image<'i>, state: &'i mut [u32]) -> Result<Machine<'i>, StateFault> {
        let (expected, found) = (image.state_words(), state.len());
        let parts = Parts::split(image, state).ok_or(StateFault::Length { expected, found })?;
        let mut machine = Machine { image, parts };
        let (expected, found) = (image.fingerprint, machine.parts.fingerprint());
        if expected != found {
            return Err(StateFault::Graph { expected, found });
        }
        machine.check_loops()?;
        machine.check_counts()?;
        machine.check_rest()?;
        machine.queue_again();
        Ok(machine)
    }

    /// A loop that runs has a node that is ready and not complete, and one that does not run has no open node.
    fn check_loops(&self) -> Result<(), StateFault> {
        let parts = &self.parts;
        for (at, record) in self.image.loops.iter().enumerate() {
            let (iteration, limit) = (parts.iterations[at], parts.limits[at]);
            let sound = match parts.phases[at] {
                RESTING => counts_of(parts, record.body).iter().all(|&count| count == DONE),
                RUNNING | LEAVING => {
                    let end = (record.body.first + record.body.len - 1) as usize;
                    let counted = record.kind == LoopKind::Count as u32;
                    let iterates = if counted {
                        iteration < limit && limit <= record.most
                    } else {
                        iteration < record.most
                    };
                    iterates && parts.counts[record.node as usize] == 0 && parts.counts[end] != DONE
                }
                _ => false,
            };
            if !sound {
                return Err(StateFault::Loop(at as u32));
            }
        }
        Ok(())
    }

    /// Takes from each count the edges whose source is open; what is left must be none. Then puts them back.
    fn check_counts(&mut self) -> Result<(), StateFault> {
        let open = self.parts.counts.iter().filter(|&&count| count != DONE).count();
        if open != self.parts.head[OPEN] as usize {
            return Err(StateFault::Open);
        }
        self.for_open_edges(|count| {
            let is_counted = *count != DONE && *count != 0;
            *count = count.wrapping_sub(u32::from(is_counted));
            is_counted
        })?;
        if let Some(node) = self.parts.counts.iter().position(|&count| count != 0 && count != DONE) {
            return Err(StateFault::Count(node as u32));
        }
        self.for_open_edges(|count| {
            *count += 1;
            true
        })
    }

    /// Calls `f` with the count of the target of every edge whose source is not complete; `false` is a fault of that node.
    fn for_open_edges(&mut self, f: impl Fn(&mut u32) -> bool) -> Result<(), StateFault> {
        for (node, record) in self.image.nodes.iter().enumerate() {
            if self.parts.counts[node] == DONE {
                continue;
            }
            for &to in &self.image.succs[record.first as usize..record.end as usize] {
                if !f(&mut self.parts.counts[to as usize]) {
                    return Err(StateFault::Count(to));
                }
            }
        }
        Ok(())
    }

    fn check_rest(&self) -> Result<(), StateFault> {
        if let Some(guard) = self.parts.guards.iter().position(|&guard| guard > 1) {
            return Err(StateFault::Guard(guard as u32));
        }
        for gang in 0..self.image.gangs.len() as u32 {
            let started = |&member: &u32| {
                let guard = self.image.nodes[member as usize].guard;
                self.is_complete(member) && (guard == NONE || self.parts.guards[guard as usize] != 0)
            };
            let open = self.gang(gang).count();
            if open > 0 && self.members(gang).iter().any(started) {
                return Err(StateFault::Gang(gang));
            }
        }
        Ok(())
    }

    /// Queues every node that is ready and not complete, except loops that run, and lets gangs gather again.
    fn queue_again(&mut self) {
        self.parts.empty_queue();
        for gang in 0..self.image.gangs.len() as u32 {
            self.parts.gangs[gang as usize] = self.gang(gang).count() as u32;
        }
        for (node, record) in self.image.nodes.iter().enumerate() {
            let runs =
                record.kind == NodeKind::Loop as u32 && self.parts.phases[record.item as usize] != RESTING;
            if self.parts.counts[node] == 0 && !runs {
                self.parts.push(node as u32);
            }
        }
    }
}

fn counts_of<'p>(parts: &'p Parts<'_>, level: LevelRecord) -> &'p [u32] {
    &parts.counts[level.first as usize..(level.first + level.len) as usize]
}
