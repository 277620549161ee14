//! Worker threads that outlive a run.
//!
//! # Protocol
//!
//! The caller is worker 0. To run a job it stores it, counts the other workers as running, advances the round, and wakes
//! them; each takes the job once per round, drops it when done, and counts itself off. The caller returns when all have.
//! Job, round and count change under one lock, so a worker that checks them there before it waits misses nothing. Both
//! sides first look at an atomic copy for a while without the lock, because runs of microseconds follow each other.

use crate::{StartError, clock};
use std::any::Any;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a thread looks before it waits: some wake-ups' worth.
const LOOKS_FOR: Duration = Duration::from_micros(50);
/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

/// Work for every worker of a team.
pub(crate) trait Job: Send + Sync {
    /// The share of worker `worker`.
    fn work(&self, worker: u32);
}

struct State<'j> {
    job: Option<Arc<dyn Job + 'j>>,
    round: u64,
    running: u32,
    closed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// A team of workers that wait for runs: see [`with_workers`].
pub struct Workers<'j> {
    threads: u32,
    state: Mutex<State<'j>>,
    started: Condvar,
    finished: Condvar,
    /// The round, and how many are running: copies to look at.
    round: AtomicU64,
    running: AtomicU64,
}

impl std::fmt::Debug for Workers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// Starts a team of `threads` workers, of which the calling thread is one, for the runs in `body`; see
/// [`TaskGraph::run_on`](crate::TaskGraph::run_on). Between runs they sleep.
///
/// Runners must outlive the team: make them before it.
///
/// # Errors
/// The system gives fewer threads.
pub fn with_workers<'j, T>(threads: u32, body: impl FnOnce(&Workers<'j>) -> T) -> Result<T, StartError> {
    let state = State { job: None, round: 0, running: 0, closed: false, panic: None };
    let workers = Workers {
        threads: threads.max(1),
        state: Mutex::new(state),
        started: Condvar::new(),
        finished: Condvar::new(),
        round: AtomicU64::new(0),
        running: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        let workers = &workers;
        // Also when the body panics: the scope waits for the workers.
        let _closer = Closer(workers);
        for index in 1..workers.threads {
            let named = thread::Builder::new().name(format!("wsp-worker-{index}"));
            named.spawn_scoped(scope, move || workers.serve(index)).map_err(|error| StartError::Threads {
                wanted: threads,
                started: index,
                reason: error.to_string(),
            })?;
        }
        Ok(body(workers))
    })
}

struct Closer<'w, 'j>(&'w Workers<'j>);

impl Drop for Closer<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        // Relaxed: the lock orders it for those who wait, and those who look then take the lock.
        self.0.round.fetch_add(1, Ordering::Relaxed);
        drop(state);
        self.0.started.notify_all();
    }
}

impl<'j> Workers<'j> {
    /// Workers of the team.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Runs a job on all workers and returns when all are done with it.
    pub(crate) fn run(&self, job: Arc<dyn Job + 'j>) {
        if self.threads > 1 {
            let mut state = self.lock();
            state.job = Some(job.clone());
            state.round += 1;
            state.running = self.threads - 1;
            self.running.store(u64::from(state.running), Ordering::Relaxed);
            self.round.store(state.round, Ordering::Relaxed);
            drop(state);
            self.started.notify_all();
        }
        let own = catch_unwind(AssertUnwindSafe(|| job.work(0)));
        drop(job);
        let theirs = self.join();
        if let Some(panic) = own.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    /// Waits for the others, and returns a panic of one of them.
    fn join(&self) -> Option<Box<dyn Any + Send>> {
        look_for(|| self.running.load(Ordering::Relaxed) == 0);
        let mut state = self.lock();
        while state.running > 0 {
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.job = None;
        state.panic.take()
    }

    /// Takes part in every job until the team is closed.
    fn serve(&self, index: u32) {
        let mut served = 0;
        loop {
            look_for(|| self.round.load(Ordering::Relaxed) != served);
            let mut state = self.lock();
            while state.round == served && !state.closed {
                state = self.started.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.round == served {
                return;
            }
            served = state.round;
            let job = state.job.clone();
            drop(state);
            // The job is dropped before the count, so that the caller has it to itself again.
            let result = catch_unwind(AssertUnwindSafe(|| job.into_iter().for_each(|job| job.work(index))));
            let mut state = self.lock();
            if let Err(panic) = result {
                state.panic = Some(panic);
            }
            state.running -= 1;
            self.running.store(u64::from(state.running), Ordering::Relaxed);
            if state.running == 0 {
                drop(state);
                self.finished.notify_one();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'j>> {
        // Nothing inside the lock panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for a while whether something has come true.
fn look_for(mut there: impl FnMut() -> bool) {
    let start = clock::now();
    loop {
        for _ in 0..LOOKS {
            if there() {
                return;
            }
            hint::spin_loop();
        }
        if clock::nanos_since(start) > LOOKS_FOR.as_nanos() as u64 {
            return;
        }
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    struct Count<'c>(&'c [AtomicU32]);

    impl Job for Count<'_> {
        fn work(&self, worker: u32) {
            self.0[worker as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn every_worker_takes_part_in_every_job_once() {
        let counts: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        with_workers(3, |workers| {
            for round in 1..=200 {
                let job = Arc::new(Count(&counts));
                workers.run(job.clone());
                assert!(Arc::into_inner(job).is_some(), "the job is the caller's again");
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
            }
        })
        .unwrap();
    }

    #[test]
    fn a_panic_of_a_worker_reaches_the_caller_and_the_team_stays_usable() {
        struct Breaks(u32);
        impl Job for Breaks {
            fn work(&self, worker: u32) {
                assert_ne!(worker, self.0, "broken");
            }
        }
        with_workers(2, |workers| {
            for breaks in [1, 0] {
                let caught = catch_unwind(AssertUnwindSafe(|| workers.run(Arc::new(Breaks(breaks)))));
                assert!(caught.is_err());
            }
            workers.run(Arc::new(Breaks(9)));
        })
        .unwrap();
    }
}
