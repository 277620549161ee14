//! Several runs of one kernel, taken together.
//!
//! Scalar code of each run comes first and records its tile operations ([`super::recording`]). Then the operations of all
//! runs are done side by side: the first of each run, the second of each, and so on. Where a run fails in any way it is begun
//! anew, by itself, so that it ends as if it had always been alone.

use super::kernel::{KernelCode, Scratch, find_set};
use super::recording::{Recorder, Recording, Script};
use super::tile_code::TileStep;
use super::tile_run::{TileRun, TileSet};
use super::vm::Buffers;
use crate::tile::{MatMul, Tiles, multiply_together};
use crate::{Env, Trap};

const MOST: usize = KernelCode::MOST_TOGETHER;

/// What one of the runs needs to itself.
#[derive(Debug, Default)]
pub(crate) struct Member {
    /// By kernel, most recently used last.
    sets: Vec<TileSet>,
    recording: Recording,
}

/// Members, as bits.
type Some16 = u16;

fn each(some: Some16) -> impl Iterator<Item = usize> {
    (0..MOST).filter(move |m| some >> m & 1 == 1)
}

impl KernelCode {
    /// Runs that are taken together at most.
    pub const MOST_TOGETHER: usize = 16;

    /// Whether it is worth while to run it on several descriptors [together](Self::run_together) that differ in what rows lie side
    /// by side for: then memory is read in order.
    pub fn gains_together(&self, env: &Env) -> bool {
        self.mode.reads_in_place()
            && env.loads_in_place
            && self.script.as_ref().is_some_and(|script| script.gains(env))
    }

    /// Runs the kernel on several descriptors, of which none touches what another stores. Each has the outcome, bit for bit, that
    /// [`KernelCode::run`] has; outcomes come in the order of the descriptors.
    pub fn run_together(
        &self,
        scratch: &mut Scratch,
        env: &Env,
        descriptors: &[&[u32]],
        outcome: &mut dyn FnMut(Result<(), Trap>),
    ) {
        for chunk in descriptors.chunks(MOST) {
            let done = match &self.script {
                Some(script) if chunk.len() > 1 && env.loads_in_place => {
                    self.run_some(script, scratch, env, chunk)
                }
                _ => 0,
            };
            for (m, descriptor) in chunk.iter().enumerate() {
                let alone = done >> m & 1 == 0;
                outcome(if alone { self.run(scratch, env, descriptor) } else { Ok(()) });
            }
        }
    }

    /// Runs what can be recorded; yields the members that have succeeded.
    fn run_some(&self, script: &Script, scratch: &mut Scratch, env: &Env, descriptors: &[&[u32]]) -> Some16 {
        let Scratch { slots, buffers, members, .. } = scratch;
        if members.len() < descriptors.len() {
            members.resize_with(descriptors.len(), Member::default);
        }
        let guard = ResetMembers { members: &mut members[..descriptors.len()], key: self.key };
        let mut recorded: Some16 = 0;
        for (m, (member, descriptor)) in guard.members.iter_mut().zip(descriptors).enumerate() {
            let ready = self.record(script, (&mut *slots, &mut *buffers), member, env, descriptor);
            recorded |= Some16::from(ready) << m;
        }
        let mut done = 0;
        while recorded != 0 {
            let first = recorded.trailing_zeros() as usize;
            let like = |m: &usize| guard.members[*m].recording.is_like(&guard.members[first].recording);
            let alike = each(recorded).filter(like).fold(0, |some, m| some | 1 << m);
            recorded &= !alike;
            done |= Replay { kernel: self, script, env, going: alike }.run(guard.members, first);
        }
        done
    }

    fn record(
        &self,
        script: &Script,
        (slots, buffers): (&mut Vec<u64>, &mut Buffers),
        member: &mut Member,
        env: &Env,
        descriptor: &[u32],
    ) -> bool {
        let Member { sets, recording } = member;
        recording.clear();
        let Ok(set) = find_set(sets, self) else { return false };
        let recorder = Recorder { script, recording };
        self.run_on(slots, buffers, set, Some(recorder), env, descriptor).is_ok()
    }
}

/// Forgets views of arrays when the runs end, however they end: the arrays may go away then.
struct ResetMembers<'s> {
    members: &'s mut [Member],
    key: u64,
}

impl Drop for ResetMembers<'_> {
    fn drop(&mut self) {
        let sets = self.members.iter_mut().filter_map(|member| member.sets.last_mut());
        sets.filter(|set| set.key == self.key).for_each(|set| set.tiles.reset());
    }
}

/// Runs of the same operations.
struct Replay<'k> {
    kernel: &'k KernelCode,
    script: &'k Script,
    env: &'k Env,
    /// Those that have not failed.
    going: Some16,
}

impl Replay<'_> {
    /// Yields the members that came to the end.
    fn run(mut self, members: &mut [Member], first: usize) -> Some16 {
        let (script, runs) = (self.script, self.going.count_ones() as usize);
        for m in each(self.going) {
            members[m].sets.last_mut().into_iter().for_each(|set| set.tiles.take_turns(runs));
        }
        for at in 0..members[first].recording.len() {
            // Each of them, begun anew, sees for itself that it is to stop.
            if self.env.cancelled() || self.env.poll.as_ref().is_some_and(|poll| poll.stops()) {
                return 0;
            }
            let (step, _) = members[first].recording.get(script, at);
            match step.product() {
                Some(product) => self.multiply_each(members, at, product, step),
                None => each(self.going).for_each(|m| self.step(members, m, at)),
            }
        }
        self.going
    }

    /// A product of each member, in turns of those whose right operands lie side by side.
    fn multiply_each(&mut self, members: &mut [Member], at: usize, product: MatMul, step: &TileStep) {
        let mut left = self.going;
        while left != 0 {
            let some = side_by_side(members, left, product);
            left &= !some;
            if some.is_power_of_two() {
                self.step(members, some.trailing_zeros() as usize, at);
            } else {
                self.multiply(members, some, product, step);
            }
        }
    }

    /// A product of some members, in turns.
    fn multiply(&mut self, members: &mut [Member], some: Some16, product: MatMul, step: &TileStep) {
        let mut sets: Vec<(usize, &mut TileSet)> = Vec::with_capacity(members.len());
        for (m, member) in members.iter_mut().enumerate().filter(|(m, _)| some >> m & 1 == 1) {
            match member.sets.last_mut().filter(|set| set.written.has(step)) {
                Some(set) => sets.push((m, set)),
                None => self.going &= !(1 << m),
            }
        }
        let numbers: Vec<usize> = sets.iter().map(|(m, _)| *m).collect();
        let mut tiles: Vec<&mut Tiles> = Vec::with_capacity(sets.len());
        for (_, set) in &mut sets {
            set.written.note(step);
            tiles.push(&mut set.tiles);
        }
        multiply_together(&mut tiles, product, |run, result| {
            self.going &= !(Some16::from(result.is_err()) << numbers[run]);
        });
    }

    /// One operation of one member.
    fn step(&mut self, members: &mut [Member], m: usize, at: usize) {
        let Member { sets, recording } = &mut members[m];
        let Some(set) = sets.last_mut() else { return };
        let (step, words) = recording.get(self.script, at);
        let KernelCode { tiles: decls, tensor_names, .. } = self.kernel;
        let mut run = TileRun { set, decls, tensor_names, recorder: None };
        if run.execute(step, self.env, words).is_err() {
            self.going &= !(1 << m);
        }
    }
}

/// The first of some members, and those after it whose right operands each lie beside that of the one before.
fn side_by_side(members: &[Member], some: Some16, product: MatMul) -> Some16 {
    let tiles = |m: usize| members[m].sets.last().map(|set| &set.tiles);
    let mut last = some.trailing_zeros() as usize;
    let mut found = 1 << last;
    for m in each(some).skip(1) {
        match (tiles(last), tiles(m)) {
            (Some(before), Some(own)) if own.stands_beside(before, product) => found |= 1 << m,
            _ => break,
        }
        last = m;
    }
    found
}
