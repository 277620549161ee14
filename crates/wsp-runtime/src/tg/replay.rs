//! Orders of starts that launches keep to, block by block.
//!
//! As with [tasks](crate::Replay): a worker takes the block whose turn it is, if it is one of its own, and the turn is passed on when the block has
//! started. A block is known by its device, the place of its launch among those of the device, its node and its number; where a loop runs a node
//! again, its turns follow each other. Blocks of a gang start together, at the turn of the first of them.
//!
//! # Why such a run ends
//!
//! Where the order is that of a run of the same unit, all blocks of which something had to be over before a block started, be it an edge, cores, a
//! checkpoint or a statement of the host, had started before it. So when its turn comes they have started, and they end. Of a launch that is to be saved everything
//! is over that started before, since what starts is what the turns say, and nothing is held back. An order of something else is noticed: no worker is
//! busy then, and none can take what has the turn.

use super::bodies::Bodies;
use super::id::LaunchId;
use super::order::Unreplayed;
use super::pick::take_cores;
use super::ready::Offer;
use super::state::{Device, State};
use super::work::Work;
use wsp_core::BlockStart;

impl<B: Bodies> State<B> {
    /// Takes what has the turn, if it is the worker's and can start now.
    pub(super) fn pick_in_turn(&mut self, worker: u32) -> Option<Work<B>> {
        let threads = self.config.threads;
        let turns = self.turns.as_mut().filter(|turns| !turns.is_taken)?;
        let Some((block, kernel, of, launch)) = turns.turn() else {
            turns.is_barred = true;
            return None;
        };
        // Blocks of gangs have threads of their own.
        if threads > 1 && of < threads && of != worker {
            return None;
        }
        let work = launch.and_then(|launch| self.start_in_turn(launch, block, kernel));
        if let Some(turns) = &mut self.turns {
            (turns.is_taken, turns.is_barred) = (work.is_some(), work.is_none());
        }
        work
    }

    fn start_in_turn(&mut self, id: LaunchId, block: BlockStart, kernel: u32) -> Option<Work<B>> {
        let launch = self.launches.get(&id)?;
        let is_named = launch.graph.image().nodes.len() > block.node as usize
            && self.turns.as_ref()?.replay.name(kernel) == launch.graph.node_name(block.node);
        if !is_named || launch.pause.is_some_and(|pause| pause.saving) {
            return None;
        }
        let State { devices, dispatches, turns, .. } = self;
        let device = block.device as usize;
        let Device { cores, ready, gangs, .. } = devices.get_mut(device)?;
        let of = |number: u32| dispatches[number as usize].as_ref();
        let has = |number: &u32| of(*number).is_some_and(|member| member.node == block.node);
        let gang = gangs.iter().position(|gang| gang.launch == id && gang.members.iter().any(has));
        if let Some(at) = gang {
            let members = gangs[at].members.iter().filter_map(|&number| of(number));
            let all = members.flat_map(|member| (0..member.blocks).map(|number| (member.node, number)));
            let all: Vec<(u32, u32)> = all.collect();
            let work = self.pick_gang(device, at)?;
            let early = all.into_iter().map(|(node, number)| BlockStart { node, block: number, ..block });
            self.turns.as_mut()?.early.extend(early.filter(|early| *early != block));
            return Some(work);
        }
        let started = &mut turns.as_mut()?.blocks;
        let (number, held) = ready.offer_of(id, |number| {
            let Some(dispatch) = dispatches[number as usize].as_mut() else { return Offer::Blocked };
            let others = started.get(&number);
            if dispatch.node != block.node
                || block.block >= dispatch.blocks
                || others.is_some_and(|others| others.contains(&block.block))
            {
                return Offer::Blocked;
            }
            let Some(held) = take_cores(cores, dispatch, block.block) else { return Offer::Blocked };
            let is_open = dispatch.start(1);
            match dispatch.next < dispatch.blocks {
                true => drop(started.entry(number).or_default().insert(block.block)),
                false => drop(started.remove(&number)),
            }
            if is_open { Offer::TakenInPart((number, held)) } else { Offer::Taken((number, held)) }
        })?;
        self.portion(number, held, block.block, 1)
    }

    /// What had the turn has started.
    pub(super) fn pass_turn(&mut self) {
        let Some(turns) = &mut self.turns else { return };
        turns.is_taken = false;
        turns.next += 1;
        while turns.turn().is_some_and(|(block, ..)| turns.early.remove(&block)) {
            turns.next += 1;
        }
    }

    /// Something changed: what could not start may start now.
    pub(super) fn may_go_on(&mut self) {
        if let Some(turns) = &mut self.turns {
            turns.is_barred = false;
        }
    }

    /// Whether what has the turn can start only when something changes.
    pub(super) fn is_barred(&self) -> bool {
        let is_barred = self.turns.as_ref().is_some_and(|turns| turns.is_barred);
        is_barred && self.chores.is_empty() && self.to_pump.is_empty()
    }

    /// How the order of starts differs from what can start, where something can.
    pub(super) fn unreplayed(&self) -> Option<Unreplayed> {
        let turns = self.turns.as_ref().filter(|_| self.may_have_work())?;
        let next = turns.turn().map(|turn| turns.named(turn));
        Some(Unreplayed { next, ..turns.counts() })
    }

    /// What of the order of starts has not run.
    pub(super) fn left_to_replay(&self) -> Option<Unreplayed> {
        let turns = self.turns.as_ref()?;
        let next = turns.named(turns.turn()?);
        Some(Unreplayed { next: Some(next), ..turns.counts() })
    }
}
