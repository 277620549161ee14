//! What callers and workers of a runtime share, and a worker's life.

use super::bodies::Bodies;
use super::config::{RuntimeConfig, Time, Tracing};
use super::failure::{Cause, Place};
use super::gang;
use super::launch::Job;
use super::pace::Pace;
use super::singles::{Singles, SinglesDone};
use super::state::State;
use super::virtual_time::VirtualTime;
use super::work::{Back, Blocks, Done, Portion, Ran, Seen, Start, Work, call, dispose};
use crate::clock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a caller that waits looks at its own cancel flag.
const LOOK_AT_FLAG: Duration = Duration::from_millis(20);

/// A runtime, as its callers and its workers see it.
pub(super) struct Shared<B: Bodies> {
    state: Mutex<State<B>>,
    /// There may be work.
    pub(super) work: Condvar,
    /// There may be an outcome, a saved checkpoint, or nothing that goes on.
    news: Condvar,
    pub(super) config: RuntimeConfig,
    start: Instant,
    /// In virtual time: what is under way. It is locked before the state.
    pub(super) virtual_time: Option<Mutex<VirtualTime<B>>>,
}

impl<B: Bodies> std::fmt::Debug for Shared<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<B: Bodies> Shared<B> {
    /// For a configuration that was checked.
    pub(super) fn new(config: RuntimeConfig) -> Shared<B> {
        let state = State::new(config.clone());
        let start = state.start;
        let (work, news) = (Condvar::new(), Condvar::new());
        let virtual_time =
            (config.time == Time::Virtual).then(|| Mutex::new(VirtualTime::new(config.threads)));
        Shared { state: Mutex::new(state), work, news, config, start, virtual_time }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<B>> {
        // Nothing inside the lock panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state from outside, and wakes a worker if there is something for it.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State<B>) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        state.may_go_on();
        self.wake(&mut state);
        result
    }

    /// Wakes the threads that should look again.
    fn wake(&self, state: &mut State<B>) {
        if state.turns.is_some() {
            // Each worker has turns of its own.
            if state.may_have_work() && !state.is_barred() {
                self.work.notify_all();
            }
        } else if state.idle > state.woken && state.may_have_work() {
            state.woken += 1;
            self.work.notify_one();
        }
        self.tell(state);
    }

    /// Wakes callers that wait for something that has come.
    fn tell(&self, state: &mut State<B>) {
        // In virtual time callers do the work.
        let is_callers = self.virtual_time.is_some() && state.may_have_work();
        if std::mem::take(&mut state.has_news) || is_callers {
            self.news.notify_all();
        }
    }

    /// Waits until something is there. If nothing can go on before it is, what waits fails, and then it is there.
    pub(super) fn wait_for<'g, T>(
        &'g self,
        mut guard: MutexGuard<'g, State<B>>,
        mut there: impl FnMut(&mut State<B>) -> Option<T>,
    ) -> (MutexGuard<'g, State<B>>, T) {
        loop {
            if let Some(result) = there(&mut guard) {
                return (guard, result);
            }
            if guard.is_cancelled() {
                guard.fail_all(|| Cause::Cancelled);
            } else if guard.is_still() && !guard.awaits_caller() {
                guard.fail_stuck();
            }
            self.wake(&mut guard);
            if let Some(time) = &self.virtual_time {
                drop(guard);
                let goes_on = self.advance(time);
                guard = self.lock();
                if goes_on || guard.may_have_work() {
                    continue;
                }
            }
            guard = match self.config.cancel {
                None => self.news.wait(guard).unwrap_or_else(PoisonError::into_inner),
                Some(_) => {
                    let waited = self.news.wait_timeout(guard, LOOK_AT_FLAG);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// A worker's life.
    pub(super) fn serve(&self, worker: u32) {
        let mut state = self.lock();
        loop {
            if state.is_cancelled() && !state.launches.is_empty() {
                state.fail_all(|| Cause::Cancelled);
            }
            let hands_out = state.turns.is_some() && !state.to_pump.is_empty();
            let Some(work) = state.pick(worker) else {
                if hands_out {
                    self.wake(&mut state);
                }
                self.tell(&mut state);
                if state.is_closed && state.launches.is_empty() {
                    self.work.notify_all();
                    return;
                }
                if state.busy == 0 {
                    self.news.notify_all();
                }
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                state.woken = state.woken.saturating_sub(1);
                continue;
            };
            state.busy += 1;
            self.wake(&mut state);
            drop(state);
            let pace = Pace::Measured((self.config.tracing == Tracing::On).then_some(self.start));
            let done = self.execute(worker, work, pace);
            state = self.lock();
            state.busy -= 1;
            // This worker looks next, and wakes another if there is more than it takes.
            state.finish(done);
            if state.turns.is_some() {
                state.may_go_on();
                state.pump_all();
                self.wake(&mut state);
            }
        }
    }

    /// Does a work.
    pub(super) fn execute(&self, worker: u32, work: Work<B>, pace: Pace) -> Done<B> {
        match work {
            Work::Begin(job) => {
                let began = call(|| Place::Begin, || job.bodies.begin());
                Done::Began(job, began.err())
            }
            Work::Save(job, checkpoint, state) => {
                let place = || Place::Checkpoint(checkpoint);
                let saved = call(place, || job.bodies.checkpoint(checkpoint, &state));
                Done::Saved(job, saved.err())
            }
            Work::End(launch, job, orphans) => {
                dispose(job);
                orphans.into_iter().for_each(dispose);
                Done::Ended(launch)
            }
            Work::Item(job, portion) => {
                let started = pace.start(None);
                self.pass_turn();
                let outcome = job.run_item(&portion.of);
                let finished = pace.end(started, || job.item_cycles(&portion.of));
                let mut blocks = Blocks::default();
                if outcome.is_ok() {
                    blocks.add(Ran { block: 0, worker, cores: portion.cores, started, finished }, pace);
                }
                Done::Portion(job, back(&portion, None, blocks), outcome.err())
            }
            Work::Blocks(job, portion, start) => {
                let prepared = match start {
                    Start::Prepared(prepared) => Ok(prepared),
                    Start::Resident(resident) => {
                        let prepared = job.prepare(&portion.of, resident);
                        prepared.inspect(|prepared| self.open(&portion, prepared))
                    }
                };
                let (prepared, blocks, failure) = match prepared {
                    Ok(prepared) => {
                        let (blocks, failure) = self.run_blocks(&job, &portion, &prepared, worker, pace);
                        (Some(prepared), blocks, failure)
                    }
                    Err(cause) => (None, Blocks::default(), Some(cause)),
                };
                Done::Portion(job, back(&portion, prepared, blocks), failure)
            }
            Work::Gang(job, members) => {
                let fail = |cause| self.change(|state| state.fail(job.launch, cause));
                let backs =
                    gang::run(&job, members, &gang::Told { fail: &fail, begin: &|| self.pass_turn() }, pace);
                Done::Gang(job, backs)
            }
            Work::Singles(job, singles) => {
                let (done, failure) = run_singles(&job, singles, worker);
                Done::Singles(job, done, failure)
            }
        }
    }

    /// What has its turn in an order of starts has started.
    fn pass_turn(&self) {
        if self.config.replay.is_some() {
            self.change(State::pass_turn);
        }
    }

    /// Lets other workers run blocks of a kernel that has been dispatched.
    fn open(&self, portion: &Portion, prepared: &Arc<B::Prepared>) {
        if portion.count < portion.of.blocks {
            self.change(|state| state.opened(portion.dispatch, prepared));
        }
    }

    fn run_blocks(
        &self,
        job: &Job<B>,
        portion: &Portion,
        prepared: &B::Prepared,
        worker: u32,
        pace: Pace,
    ) -> (Blocks, Option<Cause<B::Failure>>) {
        let mut blocks = Blocks::default();
        for block in portion.first..portion.first + portion.count {
            if job.stop.is_set() {
                return (blocks, Some(Cause::Cancelled));
            }
            let started = pace.start(blocks.ran.last().map(|ran| ran.finished));
            self.pass_turn();
            if let Err(cause) = job.run_block(&portion.of, prepared, block, worker, portion.cores) {
                return (blocks, Some(cause));
            }
            let cycles = || job.block_cycles(&portion.of, prepared, block, worker, portion.cores);
            let finished = pace.end(started, cycles);
            blocks.add(Ran { block, worker, cores: portion.cores, started, finished }, pace);
        }
        (blocks, None)
    }
}

/// Runs kernels of one block in their order, up to the first that fails or until the launch is to stop.
fn run_singles<B: Bodies>(
    job: &Job<B>,
    singles: Singles,
    worker: u32,
) -> (SinglesDone, Option<Cause<B::Failure>>) {
    let Singles { mut nodes, cores, iterations, is_timed } = singles;
    let start = is_timed.then(clock::now);
    let records = job.graph.image().nodes;
    let mut of = Seen { node: 0, item: 0, iterations, blocks: 1 };
    let mut failure = None;
    let mut run = |node: u32| {
        if job.stop.is_set() {
            return Err(Cause::Cancelled);
        }
        (of.node, of.item) = (node, records[node as usize].item);
        let prepared = job.prepare(&of, None)?;
        job.run_block(&of, &prepared, 0, worker, cores)
    };
    let ran = nodes.iter().position(|&node| run(node).map_err(|cause| failure = Some(cause)).is_err());
    nodes.truncate(ran.unwrap_or(nodes.len()));
    (SinglesDone { nodes, cores, nanos: start.map(clock::nanos_since) }, failure)
}

/// A portion with what became of it.
fn back<P>(portion: &Portion, prepared: Option<Arc<P>>, blocks: Blocks) -> Back<P> {
    let (cores, of_gang, workers) = (portion.cores, Vec::new(), Vec::new());
    Back { dispatch: portion.dispatch, prepared, cores, of_gang, workers, blocks }
}
