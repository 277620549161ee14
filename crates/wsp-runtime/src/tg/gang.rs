//! Gangs: all blocks of all kernels at the same time.
//!
//! A gang gets a thread for each of its blocks, beside the workers, for as long as it lasts: its blocks may wait for each other,
//! whatever else runs. The blocks wait at a gate until every thread is there; if the system gives too few, none of them runs.

use super::bodies::Bodies;
use super::failure::Cause;
use super::launch::Job;
use super::work::{Back, Done, Member, Ran};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Where threads wait until all are there, or until it is known that some are not coming.
#[derive(Default)]
struct Gate {
    opens: Mutex<Option<Opening>>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Go,
    GiveUp,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Option<Opening>> {
        self.opens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, opening: Opening) {
        *self.lock() = Some(opening);
        self.changed.notify_all();
    }

    fn wait(&self) -> Opening {
        let mut opens = self.lock();
        loop {
            match *opens {
                Some(opening) => return opening,
                None => opens = self.changed.wait(opens).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Dispatches the kernels of a gang and runs all their blocks. `fail` is told of failures; `now` tells the time.
pub(crate) fn run<B: Bodies>(
    job: &Job<B>,
    members: Vec<Member>,
    fail: &(dyn Fn(Cause<B::Failure>) + Sync),
    now: &(dyn Fn() -> u64 + Sync),
) -> Done<B> {
    let prepared: Result<Vec<_>, _> =
        members.iter().map(|member| job.prepare(&member.portion, None)).collect();
    let ran = match prepared {
        Ok(prepared) => run_blocks(job, &members, &prepared, fail, now),
        Err(cause) => {
            fail(cause);
            members.iter().map(|_| Vec::new()).collect()
        }
    };
    let backs = members.into_iter().zip(ran).map(|(member, ran)| Back {
        dispatch: member.portion.dispatch,
        prepared: None,
        cores: member.cores,
        workers: member.workers,
        done: ran.len() as u32,
        ran,
    });
    Done::Portions(job.launch, backs.collect(), None)
}

/// Runs the blocks, and returns which ran, by member.
fn run_blocks<B: Bodies>(
    job: &Job<B>,
    members: &[Member],
    prepared: &[Arc<B::Prepared>],
    fail: &(dyn Fn(Cause<B::Failure>) + Sync),
    now: &(dyn Fn() -> u64 + Sync),
) -> Vec<Vec<Ran>> {
    let gate = Gate::default();
    let ran: Mutex<Vec<Vec<Ran>>> = Mutex::new(members.iter().map(|_| Vec::new()).collect());
    let wanted: u32 = members.iter().map(|member| member.cores.len() as u32).sum();
    // None begins before all are awake, so that a trace shows them together.
    let all_awake = Barrier::new(wanted as usize);
    let one = |at: usize, block: u32| {
        if gate.wait() == Opening::GiveUp {
            return;
        }
        let member = &members[at];
        let (worker, cores) = (member.workers[block as usize], member.cores[block as usize]);
        let started_ns = now();
        all_awake.wait();
        let outcome = job.run_block(&member.portion, &prepared[at], block, worker, cores);
        let finished_ns = now();
        match outcome {
            Ok(()) => lock(&ran)[at].push(Ran { block, worker, cores, started_ns, finished_ns }),
            Err(cause) => fail(cause),
        }
    };
    let one = &one;
    thread::scope(|scope| {
        for (at, member) in members.iter().enumerate() {
            for (block, worker) in (0..).zip(&member.workers) {
                let named = thread::Builder::new().name(format!("wsp-gang-{worker}"));
                if let Err(error) = named.spawn_scoped(scope, move || one(at, block)) {
                    fail(Cause::Threads { wanted, reason: error.to_string() });
                    return gate.open(Opening::GiveUp);
                }
            }
        }
        gate.open(Opening::Go);
    });
    ran.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
