//! Virtual time: threads that wait for launches do the work of all workers, and a clock of cycles says when each has done it.
//!
//! What is started, where, and in which order is what [`State::pick`] says, as for worker threads: with one worker blocks run in the order of a
//! run on one thread, and bodies run when their blocks start. Statements of callers, dispatches, the beginning and the end of a launch and
//! saved states take no time. Everything that ends in a cycle is complete before the next is started, in the order in which it was started; idle
//! workers start work by their numbers, or as a seed has it.

use super::bodies::Bodies;
use super::failure::{Cause, LaunchFault};
use super::pace::Pace;
use super::shared::Shared;
use super::state::State;
use super::work::{Done, Work};
use crate::random;
use std::slice::from_ref;
use std::sync::{Mutex, PoisonError};
use wsp_ordered::{OrderedMap, OrderedSet};

/// What is under way.
pub(super) struct VirtualTime<B: Bodies> {
    /// Workers that do nothing.
    idle: OrderedSet<u32>,
    /// What workers bring back, by the cycle in which it ends, and then in the order in which it was started.
    ends: OrderedMap<(u64, u64), (u32, Done<B>)>,
    /// Works that were started.
    started: u64,
}

impl<B: Bodies> VirtualTime<B> {
    pub(super) fn new(workers: u32) -> VirtualTime<B> {
        VirtualTime { idle: (0..workers).collect(), ends: OrderedMap::new(), started: 0 }
    }
}

impl<B: Bodies> Shared<B> {
    /// Starts the next work, or moves time to the next end; whether there was either. Not to be called with the state locked.
    pub(super) fn advance(&self, time: &Mutex<VirtualTime<B>>) -> bool {
        // What bodies do is caught.
        let mut time = time.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        if let Some(worker) = state.next_idle(&time.idle)
            && let Some(work) = state.pick(worker)
        {
            state.busy += 1;
            let start = state.cycle;
            drop(state);
            let takes_none = matches!(work, Work::Begin(_) | Work::Save(..) | Work::End(..));
            let done = self.execute(worker, work, Pace::Virtual(start));
            if takes_none {
                take_back(&mut self.lock(), done);
                return true;
            }
            time.idle.remove(&worker);
            let number = time.started;
            time.started += 1;
            time.ends.insert((end_of(&done).unwrap_or(start), number), (worker, done));
            return true;
        }
        let Some((&(now, _), _)) = time.ends.first_key_value() else { return false };
        state.cycle = now;
        while time.ends.first_key_value().is_some_and(|(&(end, _), _)| end == now) {
            let Some((_, (worker, done))) = time.ends.pop_first() else { break };
            time.idle.insert(worker);
            take_back(&mut state, done);
        }
        true
    }

    /// Does what is left of launches that were cancelled, in virtual time.
    pub(super) fn finish_virtual(&self) {
        if let Some(time) = &self.virtual_time {
            while self.advance(time) {}
        }
    }
}

impl<B: Bodies> State<B> {
    /// The idle worker that looks for work next: the first, or one that is drawn, together with whose turn it is among what is ready.
    fn next_idle(&mut self, idle: &OrderedSet<u32>) -> Option<u32> {
        let Some(draws) = &mut self.draws else { return idle.first().copied() };
        let mut draw = |of: usize| random::next(draws) as usize % of.max(1);
        self.devices.iter_mut().for_each(|device| device.ready.draw(&mut draw));
        idle.iter().nth(draw(idle.len())).copied()
    }
}

/// Takes back what a worker brings, and lets machines hand out what it released.
fn take_back<B: Bodies>(state: &mut State<B>, done: Done<B>) {
    state.busy -= 1;
    if let (Some(u64::MAX), Done::Portion(job, ..) | Done::Gang(job, _)) = (end_of(&done), &done) {
        state.fail(job.launch, Cause::Source(LaunchFault::TooLong));
    }
    state.finish(done);
    state.pump_all();
}

/// When the last block of what is brought back ended.
fn end_of<B: Bodies>(done: &Done<B>) -> Option<u64> {
    let backs = match done {
        Done::Portion(_, back, _) => from_ref(back),
        Done::Gang(_, backs) => backs,
        // In virtual time each kernel has a dispatch.
        Done::Began(..) | Done::Saved(..) | Done::Ended(_) | Done::Singles(..) => return None,
    };
    backs.iter().flat_map(|back| &back.blocks.ran).map(|ran| ran.finished).max()
}
