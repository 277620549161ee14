//! Gangs: all blocks of all kernels at the same time.
//!
//! A gang gets a thread for each of its blocks, beside the workers, for as long as it lasts: its blocks may wait for each other,
//! whatever else runs. If the system gives too few threads, none of them runs.

use super::bodies::Bodies;
use super::cores::Cores;
use super::failure::Cause;
use super::launch::Job;
use super::pace::Pace;
use super::work::{Back, Blocks, Member, Ran};
use crate::team::Team;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use wsp_ordered::Arrange;

/// Where a gang reports to while it runs.
pub(crate) struct Told<'t, F> {
    /// Of each failure, at once: the others may wait for what failed.
    pub(crate) fail: &'t (dyn Fn(Cause<F>) + Sync),
    /// That all blocks have begun.
    pub(crate) begin: &'t (dyn Fn() + Sync),
}

/// Dispatches the kernels of a gang and runs all their blocks; what is to be given back.
pub(crate) fn run<B: Bodies>(
    job: &Job<B>,
    members: Vec<Member>,
    told: &Told<'_, B::Failure>,
    pace: Pace,
) -> Vec<Back<B::Prepared>> {
    let prepared: Result<Vec<_>, _> =
        members.iter().map(|member| job.prepare(&member.portion.of, None)).collect();
    let ran = match prepared {
        Ok(prepared) => run_blocks(job, &members, &prepared, told, pace),
        Err(cause) => {
            (told.fail)(cause);
            members.iter().map(|_| Vec::new()).collect()
        }
    };
    let backs = members.into_iter().zip(ran).map(|(member, ran)| Back {
        dispatch: member.portion.dispatch,
        prepared: None,
        cores: Cores::NONE,
        of_gang: member.cores,
        workers: member.workers,
        blocks: Blocks { done: ran.len() as u32, ran },
    });
    backs.collect()
}

/// Runs the blocks, and returns which ran, by member.
fn run_blocks<B: Bodies>(
    job: &Job<B>,
    members: &[Member],
    prepared: &[Arc<B::Prepared>],
    told: &Told<'_, B::Failure>,
    pace: Pace,
) -> Vec<Vec<Ran>> {
    let ran: Mutex<Vec<Vec<Ran>>> = Mutex::new(members.iter().map(|_| Vec::new()).collect());
    let wanted: u32 = members.iter().map(|member| member.cores.len() as u32).sum();
    // None begins before all are awake, so that a trace shows them together.
    let all_awake = Barrier::new(wanted as usize);
    let one = |(at, block): (usize, u32)| {
        let member = &members[at];
        let (worker, cores) = (member.workers[block as usize], member.cores[block as usize]);
        let started = pace.start(None);
        if all_awake.wait().is_leader() {
            (told.begin)();
        }
        let outcome = job.run_block(&member.portion.of, &prepared[at], block, worker, cores);
        let cycles = || job.block_cycles(&member.portion.of, &prepared[at], block, worker, cores);
        let finished = pace.end(started, cycles);
        match outcome {
            Ok(()) => lock(&ran)[at].push(Ran { block, worker, cores, started, finished }),
            Err(cause) => (told.fail)(cause),
        }
    };
    let blocks = members
        .iter()
        .enumerate()
        .flat_map(|(at, member)| (0..member.workers.len() as u32).map(move |block| (at, block)));
    let run = Team::take(wanted, 0).and_then(|team| team.each(blocks.collect(), one, || ()));
    if let Err(error) = run {
        (told.fail)(Cause::Start(error));
    }
    let mut ran = ran.into_inner().unwrap_or_else(PoisonError::into_inner);
    ran.iter_mut().for_each(|ran| ran.arrange_by_key(|ran| ran.block));
    ran
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
