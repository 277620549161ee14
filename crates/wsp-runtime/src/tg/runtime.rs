//! A runtime: its worker threads, and what a caller can ask of it.

use super::bodies::Bodies;
use super::config::{RuntimeConfig, Tracing};
use super::events::{LaunchEvents, SavedEvent};
use super::failure::{Cause, Place, Refused, SyncError};
use super::gang;
use super::graph::Graph;
use super::launch::{Job, LaunchId, LaunchOptions, Stats, StreamId};
use super::state::{Outcome, State};
use super::trace::Trace;
use super::work::{Back, Done, Portion, Ran, Start, Work, call, dispose};
use crate::{StartError, clock};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a caller that waits looks at its own cancel flag.
const LOOK_AT_FLAG: Duration = Duration::from_millis(20);

struct Shared<B: Bodies> {
    state: Mutex<State<B>>,
    /// There may be work.
    work: Condvar,
    /// There may be an outcome, a saved checkpoint, or nothing that goes on.
    news: Condvar,
    config: RuntimeConfig,
    start: Instant,
}

/// Runs graphs on simulated devices, whose kernels run on worker threads of its own.
///
/// Submitting does not wait. Launches of one stream run one after the other, those of different streams side by side.
/// When a launch fails, what of it runs finishes, what has not started is dropped, and launches that come after it, in its
/// stream or by [`LaunchOptions::after`], fail as well, until a call has returned the failure. The runtime can then be
/// used as before.
///
/// Dropping it cancels what has not started and waits for what has.
#[derive(Debug)]
pub struct Runtime<B: Bodies> {
    shared: Arc<Shared<B>>,
    threads: Vec<JoinHandle<()>>,
}

impl<B: Bodies> std::fmt::Debug for Shared<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}

/// What came of a checkpoint that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// It was saved.
    Yes,
    /// The launch was complete first.
    AlreadyComplete,
}

impl<B: Bodies> Runtime<B> {
    /// Starts the workers.
    ///
    /// # Errors
    /// The configuration is refused, or the system gives fewer threads.
    pub fn new(config: RuntimeConfig) -> Result<Runtime<B>, StartError> {
        config.check().map_err(StartError::Config)?;
        let state = State::new(config.clone());
        let start = state.start;
        let (work, news) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { state: Mutex::new(state), work, news, config, start });
        let wanted = shared.config.threads;
        let mut runtime = Runtime { shared, threads: Vec::new() };
        for worker in 0..wanted {
            let shared = runtime.shared.clone();
            let named = thread::Builder::new().name(format!("wsp-tg-{worker}"));
            let started = named.spawn(move || shared.serve(worker)).map_err(|error| {
                let reason = error.to_string();
                StartError::Threads { wanted, started: worker, reason }
            })?;
            runtime.threads.push(started);
        }
        Ok(runtime)
    }

    /// How it was set up.
    pub fn config(&self) -> &RuntimeConfig {
        &self.shared.config
    }

    /// The stream that a device has from the beginning.
    ///
    /// # Errors
    /// There is no such device.
    pub fn default_stream(&self, device: u32) -> Result<StreamId, Refused> {
        self.shared.lock().streams.default_of(device)
    }

    /// Makes a stream.
    ///
    /// # Errors
    /// There is no such device.
    pub fn create_stream(&self, device: u32) -> Result<StreamId, Refused> {
        self.shared.lock().streams.create(device)
    }

    /// Ends a stream: nothing more can be launched on it. What was launched goes on.
    ///
    /// # Errors
    /// There is no such stream, or it is a default stream.
    pub fn destroy_stream(&self, stream: StreamId) -> Result<(), Refused> {
        self.shared.lock().streams.destroy(stream)
    }

    /// Submits a launch and does not wait.
    ///
    /// # Errors
    /// The stream does not exist, a kernel or a gang can never have the cores that it needs, or a saved state does not fit.
    pub fn launch(
        &self,
        graph: &Arc<Graph>,
        bodies: Arc<B>,
        options: LaunchOptions,
    ) -> Result<LaunchId, Refused> {
        self.shared.change(|state| state.submit(graph, bodies, options))
    }

    /// Waits until a launch is complete, and returns its counts.
    ///
    /// # Errors
    /// It failed, or there is no launch with this number whose outcome has not been returned.
    pub fn sync(&self, launch: LaunchId) -> Result<Stats, SyncError<B::Failure>> {
        self.shared.lock().knows(launch)?;
        self.sync_these(vec![launch])
    }

    /// Waits until every launch of the graph so far is complete, and returns the counts of those not returned before.
    ///
    /// # Errors
    /// One of them failed, or the graph was never launched.
    pub fn sync_graph(&self, graph: &Graph) -> Result<Stats, SyncError<B::Failure>> {
        let state = self.shared.lock();
        if !state.launched.contains(&graph.key()) {
            return Err(Refused::NeverLaunched { graph: graph.name().to_owned() }.into());
        }
        let ids = state.ids(|of, _| of == graph.key());
        drop(state);
        self.sync_these(ids)
    }

    /// Waits until every launch of a stream so far is complete, and returns the counts of those not returned before.
    ///
    /// # Errors
    /// One of them failed, or there is no such stream.
    pub fn sync_stream(&self, stream: StreamId) -> Result<Stats, SyncError<B::Failure>> {
        let state = self.shared.lock();
        state.streams.check(stream)?;
        let ids = state.ids(|_, of| of == stream.index);
        drop(state);
        self.sync_these(ids)
    }

    /// Waits until every launch so far is complete, and returns the counts of those not returned before.
    ///
    /// # Errors
    /// One of them failed.
    pub fn sync_all(&self) -> Result<Stats, SyncError<B::Failure>> {
        let ids = self.shared.lock().ids(|_, _| true);
        self.sync_these(ids)
    }

    /// Waits until one of the launches has ended, well or not, and returns the first of them that has.
    ///
    /// # Errors
    /// The list is empty or names a launch whose outcome was returned.
    pub fn wait_any(&self, launches: &[LaunchId]) -> Result<LaunchId, Refused> {
        let state = self.shared.lock();
        launches.first().ok_or(Refused::NoLaunch(LaunchId(0)))?;
        launches.iter().try_for_each(|&id| state.knows(id))?;
        let ended =
            |state: &mut State<B>| launches.iter().copied().find(|id| !state.launches.contains_key(id));
        Ok(self.shared.wait_for(state, ended).1)
    }

    /// Whether a launch has ended, well or not.
    ///
    /// # Errors
    /// There is no launch with this number whose outcome has not been returned.
    pub fn has_ended(&self, launch: LaunchId) -> Result<bool, Refused> {
        let state = self.shared.lock();
        state.knows(launch)?;
        Ok(!state.launches.contains_key(&launch))
    }

    /// Signals an event that no graph signals, on every device: launches that wait for it, and those to come, go on.
    pub fn signal(&self, event: u32) {
        self.shared.change(|state| {
            for device in 0..state.config.devices {
                let released = state.events.signal((device, event));
                released.into_iter().for_each(|waiter| state.release(waiter));
            }
            state.pump_all();
        });
    }

    /// What reads the events of this runtime, also from bodies of its launches.
    pub fn events(&self) -> EventsOf<B> {
        EventsOf { shared: Arc::downgrade(&self.shared) }
    }

    /// Replaces what is known of the events of a device, of which no launch may be in flight.
    pub fn restore_events(&self, device: u32, saved: &[SavedEvent]) {
        self.shared.change(|state| state.events.restore(device, saved));
    }

    /// Sets the priority of a graph: of ready kernels, those of the graph with the highest go first. It starts at 0.
    pub fn set_priority(&self, graph: &Graph, priority: i8) {
        self.shared.change(|state| state.set_priority(graph, priority));
    }

    /// Asks for the state of a launch to be saved, between two of its nodes, as soon as what runs of it has finished.
    ///
    /// # Errors
    /// There is no launch with this number whose outcome has not been returned.
    pub fn request_checkpoint(&self, launch: LaunchId, checkpoint: u32) -> Result<(), Refused> {
        self.shared.change(|state| state.request(launch, checkpoint, None))
    }

    /// As [`Runtime::request_checkpoint`], and waits for it.
    ///
    /// # Errors
    /// The launch fails first, or there is no launch with this number whose outcome has not been returned.
    pub fn checkpoint(&self, launch: LaunchId, checkpoint: u32) -> Result<Saved, SyncError<B::Failure>> {
        let ticket = self.shared.change(|state| {
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            state.request(launch, checkpoint, Some(ticket)).map(|()| ticket)
        })?;
        let (mut state, ()) = self.shared.wait_for(self.shared.lock(), |state| {
            (state.saved.contains(&ticket) || !state.launches.contains_key(&launch)).then_some(())
        });
        if state.saved.remove(&ticket) {
            return Ok(Saved::Yes);
        }
        match state.outcomes.get(&launch).map(|outcome| outcome.result.clone()) {
            Some(Err(_)) => {
                drop(state);
                self.sync(launch).map(|_| Saved::AlreadyComplete)
            }
            _ => Ok(Saved::AlreadyComplete),
        }
    }

    /// Cancels every launch that is not complete: what runs finishes, the rest is not started.
    pub fn cancel(&self) {
        self.shared.change(|state| state.fail_all(|| Cause::Cancelled));
    }

    /// What was recorded since this was last called. Launches that are not complete should be waited for first: what of
    /// them finishes later belongs to nodes that have been taken.
    pub fn take_trace(&self) -> Trace {
        std::mem::take(&mut self.shared.lock().trace)
    }

    /// Waits for launches, and returns the sum of their counts, or the failure of the first that failed.
    fn sync_these(&self, ids: Vec<LaunchId>) -> Result<Stats, SyncError<B::Failure>> {
        let mut state = self.shared.lock();
        let mut stats = Stats::default();
        let mut failure = None;
        for id in ids {
            let ended = |state: &mut State<B>| match state.launches.contains_key(&id) {
                true => None,
                // Nothing, if another thread has asked for it meanwhile.
                false => Some(state.take_outcome(id)),
            };
            let (held, outcome) = self.shared.wait_for(state, ended);
            state = held;
            match outcome.map(|outcome: Outcome<B::Failure>| outcome.result) {
                Some(Ok(counts)) => stats.add(&counts),
                Some(Err(failed)) => {
                    state.streams.told(&failed);
                    failure.get_or_insert(failed);
                }
                None => {}
            }
        }
        match failure {
            Some(failure) => Err(SyncError::Failed(failure)),
            None => Ok(stats),
        }
    }
}

/// Reads events and failures of a runtime, as long as there is one.
#[derive(Debug)]
pub struct EventsOf<B: Bodies> {
    shared: Weak<Shared<B>>,
}

impl<B: Bodies> EventsOf<B> {
    /// The first of these launches that has failed, or is failing, and whose outcome has not been returned. Not to be called by
    /// [`Bodies::eval`].
    pub fn failed(&self, launches: &[LaunchId]) -> Option<LaunchId> {
        let shared = self.shared.upgrade()?;
        let state = shared.lock();
        launches.iter().copied().find(|id| state.has_failed(*id))
    }

    /// What is known of the events of a device, and for each of these launches of it its own events; of a launch that is complete
    /// none. Nothing if the runtime is gone. Not to be called by [`Bodies::eval`].
    pub fn saved(&self, device: u32, launches: &[LaunchId]) -> Option<(Vec<SavedEvent>, Vec<LaunchEvents>)> {
        self.shared.upgrade().map(|shared| shared.lock().events_of(device, launches))
    }
}

impl<B: Bodies> Drop for Runtime<B> {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.is_closed = true;
            state.fail_all(|| Cause::Cancelled);
        });
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A worker does not panic: what bodies do is caught.
            let _ = thread.join();
        }
        let residents = self.shared.change(|state| {
            state
                .devices
                .iter_mut()
                .flat_map(|device| std::mem::take(&mut device.residents))
                .collect::<Vec<_>>()
        });
        residents.into_iter().for_each(dispose);
    }
}

impl<B: Bodies> Shared<B> {
    fn lock(&self) -> MutexGuard<'_, State<B>> {
        // Nothing inside the lock panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state from outside, and wakes a worker if there is something for it.
    fn change<T>(&self, change: impl FnOnce(&mut State<B>) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        self.wake(&mut state);
        result
    }

    /// Wakes whoever should look again.
    fn wake(&self, state: &mut State<B>) {
        if state.idle > 0 && state.may_have_work() {
            self.work.notify_one();
        }
        if std::mem::take(&mut state.has_news) {
            self.news.notify_all();
        }
    }

    /// Waits until something is there. If nothing can go on before it is, what waits fails, and then it is there.
    fn wait_for<'g, T>(
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
    fn serve(&self, worker: u32) {
        let mut state = self.lock();
        loop {
            if state.is_cancelled() && !state.launches.is_empty() {
                state.fail_all(|| Cause::Cancelled);
            }
            let Some(work) = state.pick() else {
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
                continue;
            };
            state.busy += 1;
            self.wake(&mut state);
            drop(state);
            let done = self.execute(worker, work);
            state = self.lock();
            state.busy -= 1;
            state.finish(done);
            self.wake(&mut state);
        }
    }

    /// Does a work.
    fn execute(&self, worker: u32, work: Work<B>) -> Done<B> {
        match work {
            Work::Begin(job) => {
                let began = call(|| Place::Begin, || job.bodies.begin());
                Done::Began(job.launch, began.err())
            }
            Work::Save(job, checkpoint, state) => {
                let place = || Place::Checkpoint(checkpoint);
                let saved = call(place, || job.bodies.checkpoint(checkpoint, &state));
                Done::Saved(job.launch, saved.err())
            }
            Work::End(launch, job, orphans) => {
                dispose(job);
                orphans.into_iter().for_each(dispose);
                Done::Ended(launch)
            }
            Work::Item(job, portion) => {
                let started_ns = self.now();
                let outcome = job.run_item(&portion);
                let ran = Ran { block: 0, worker, cores: portion.cores, started_ns, finished_ns: self.now() };
                let (ran, failure) = match outcome {
                    Ok(()) => (vec![ran], None),
                    Err(cause) => (Vec::new(), Some(cause)),
                };
                Done::Portions(job.launch, vec![back(&portion, None, ran)], failure)
            }
            Work::Blocks(job, portion, start) => {
                let prepared = match start {
                    Start::Prepared(prepared) => Ok(prepared),
                    Start::Resident(resident) => {
                        let prepared = job.prepare(&portion, resident);
                        prepared.inspect(|prepared| self.open(&portion, prepared))
                    }
                };
                let (prepared, ran, failure) = match prepared {
                    Ok(prepared) => {
                        let (ran, failure) = self.run_blocks(&job, &portion, &prepared, worker);
                        (Some(prepared), ran, failure)
                    }
                    Err(cause) => (None, Vec::new(), Some(cause)),
                };
                Done::Portions(job.launch, vec![back(&portion, prepared, ran)], failure)
            }
            Work::Gang(job, members) => {
                // At once, and not when all are back: the others may wait for the one that failed.
                let fail = |cause| self.change(|state| state.fail(job.launch, cause));
                gang::run(&job, members, &fail, &|| self.now())
            }
        }
    }

    /// Lets other workers run blocks of a kernel that has been dispatched.
    fn open(&self, portion: &Portion, prepared: &Arc<B::Prepared>) {
        if portion.first + portion.count < portion.blocks {
            self.change(|state| state.opened(portion.dispatch, prepared));
        }
    }

    fn run_blocks(
        &self,
        job: &Job<B>,
        portion: &Portion,
        prepared: &B::Prepared,
        worker: u32,
    ) -> (Vec<Ran>, Option<Cause<B::Failure>>) {
        let mut ran = Vec::with_capacity(portion.count as usize);
        for block in portion.first..portion.first + portion.count {
            if job.stop.is_set() {
                return (ran, Some(Cause::Cancelled));
            }
            let started_ns = self.now();
            if let Err(cause) = job.run_block(portion, prepared, block, worker, portion.cores) {
                return (ran, Some(cause));
            }
            let finished_ns = self.now();
            ran.push(Ran { block, worker, cores: portion.cores, started_ns, finished_ns });
        }
        (ran, None)
    }

    fn now(&self) -> u64 {
        match self.config.tracing {
            Tracing::On => clock::nanos_since(self.start),
            Tracing::Off => 0,
        }
    }
}

/// A portion with what became of it.
fn back<P>(portion: &Portion, prepared: Option<Arc<P>>, ran: Vec<Ran>) -> Back<P> {
    let (done, cores) = (ran.len() as u32, vec![portion.cores]);
    Back { dispatch: portion.dispatch, prepared, cores, workers: Vec::new(), done, ran }
}
