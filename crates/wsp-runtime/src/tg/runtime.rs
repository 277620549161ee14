//! A runtime: what a caller can ask of it.

use super::bodies::Bodies;
use super::config::{RuntimeConfig, Time};
use super::events::{LaunchEvents, SavedEvent};
use super::failure::{Cause, Refused, SyncError};
use super::graph::Graph;
use super::id::{LaunchId, StreamId};
use super::launch::{LaunchOptions, Stats};
use super::order::Unreplayed;
use super::shared::Shared;
use super::state::{Outcome, State};
use super::trace::Trace;
use super::work::dispose;
use crate::team::Team;
use crate::{StartError, worker_threads};
use crossbeam_utils::sync::WaitGroup;
use std::mem;
use std::process;
use std::sync::{Arc, MutexGuard, Weak};

/// Runs graphs on simulated devices, whose kernels run on worker threads that it has to itself, or in virtual time ([`Time`](super::Time)).
///
/// Submitting does not wait. Launches of one stream run one after the other, those of different streams side by side.
/// When a launch fails, what of it runs finishes, what has not started is dropped, and launches that come after it, in its
/// stream or by [`LaunchOptions::after`], fail as well, until a call has returned the failure. The runtime can then be
/// used as before.
///
/// Dropping it cancels what has not started and waits for what has. In the child of a fork its calls are refused ([`Refused::Forked`]).
#[derive(Debug)]
pub struct Runtime<B: Bodies> {
    shared: Arc<Shared<B>>,
    /// Dropped after the workers have returned.
    _team: Option<Team>,
    /// Each worker has a part of it until it returns.
    working: WaitGroup,
    /// The process that has the workers; none in virtual time.
    process: Option<u32>,
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
    /// Sets the workers to work.
    ///
    /// # Errors
    /// The configuration is refused, or the system gives fewer threads.
    pub fn new(config: RuntimeConfig) -> Result<Runtime<B>, StartError> {
        config.check().map_err(StartError::Config)?;
        let threads = match &config.replay {
            Some(replay) if config.threads == 0 => replay.workers(),
            _ => worker_threads(config.threads),
        };
        let config = RuntimeConfig { threads, ..config };
        let shared = Arc::new(Shared::new(config));
        let working = WaitGroup::new();
        if shared.config.time == Time::Virtual {
            return Ok(Runtime { shared, _team: None, working, process: None });
        }
        let team = Team::take(shared.config.threads, 0)?;
        for worker in 0..shared.config.threads {
            let (shared, working) = (shared.clone(), working.clone());
            // A worker does not panic: what bodies do is caught.
            team.spawn(move || {
                shared.serve(worker);
                drop((shared, working));
            });
        }
        Ok(Runtime { shared, _team: Some(team), working, process: Some(process::id()) })
    }

    /// The state. In the child of a fork it is refused: the workers are in the parent, and a lock may be as the parent held it.
    fn lock(&self) -> Result<MutexGuard<'_, State<B>>, Refused> {
        match self.is_here() {
            true => Ok(self.shared.lock()),
            false => Err(Refused::Forked),
        }
    }

    /// Changes the state, as [`lock`](Self::lock) gives it.
    fn change<T>(&self, change: impl FnOnce(&mut State<B>) -> T) -> Result<T, Refused> {
        match self.is_here() {
            true => Ok(self.shared.change(change)),
            false => Err(Refused::Forked),
        }
    }

    fn is_here(&self) -> bool {
        is_here(self.process)
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
        self.lock()?.streams.default_of(device)
    }

    /// Makes a stream.
    ///
    /// # Errors
    /// There is no such device.
    pub fn create_stream(&self, device: u32) -> Result<StreamId, Refused> {
        self.lock()?.streams.create(device)
    }

    /// Ends a stream: nothing more can be launched on it. What was launched goes on.
    ///
    /// # Errors
    /// There is no such stream, or it is a default stream.
    pub fn destroy_stream(&self, stream: StreamId) -> Result<(), Refused> {
        self.lock()?.streams.destroy(stream)
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
        self.change(|state| state.submit(graph, bodies, options))?
    }

    /// Waits until a launch is complete, and returns its counts.
    ///
    /// # Errors
    /// It failed, or there is no launch with this number whose outcome has not been returned.
    pub fn sync(&self, launch: LaunchId) -> Result<Stats, SyncError<B::Failure>> {
        self.lock()?.knows(launch)?;
        self.sync_these(vec![launch])
    }

    /// Waits until every launch of the graph so far is complete, and returns the counts of those not returned before.
    ///
    /// # Errors
    /// One of them failed, or the graph was never launched.
    pub fn sync_graph(&self, graph: &Graph) -> Result<Stats, SyncError<B::Failure>> {
        let state = self.lock()?;
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
        let state = self.lock()?;
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
        let ids = self.lock()?.ids(|_, _| true);
        self.sync_these(ids)
    }

    /// Takes the outcomes of all launches that have ended well: which, in order, and their counts. Those that failed are left to be waited for.
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn take_complete(&self) -> Result<(Vec<LaunchId>, Stats), Refused> {
        let (mut complete, mut stats) = (Vec::new(), Stats::default());
        self.lock()?.outcomes.retain(|id, outcome| {
            let Ok(counts) = &outcome.result else { return true };
            stats.add(counts);
            complete.push(*id);
            false
        });
        Ok((complete, stats))
    }

    /// Waits until one of the launches has ended, well or not, and returns the first of them that has.
    ///
    /// # Errors
    /// The list is empty or names a launch whose outcome was returned.
    pub fn wait_any(&self, launches: &[LaunchId]) -> Result<LaunchId, Refused> {
        let state = self.lock()?;
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
        let state = self.lock()?;
        state.knows(launch)?;
        Ok(!state.launches.contains_key(&launch))
    }

    /// Signals an event that no graph signals, on every device: launches that wait for it, and those to come, go on.
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn signal(&self, event: u32) -> Result<(), Refused> {
        self.change(|state| {
            for device in 0..state.config.devices {
                let released = state.events.signal((device, event));
                released.into_iter().for_each(|waiter| state.release(waiter));
            }
            state.pump_all();
        })
    }

    /// What reads the events of this runtime, also from bodies of its launches.
    pub fn events(&self) -> EventsOf {
        let shared = Arc::downgrade(&self.shared);
        EventsOf { shared, process: self.process }
    }

    /// Replaces what is known of the events of a device, of which no launch may be in flight.
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn restore_events(&self, device: u32, saved: &[SavedEvent]) -> Result<(), Refused> {
        self.change(|state| state.events.restore(device, saved))
    }

    /// Sets the priority of a graph: of ready kernels, those of the graph with the highest go first. It starts at 0.
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn set_priority(&self, graph: &Graph, priority: i8) -> Result<(), Refused> {
        self.change(|state| state.set_priority(graph, priority))
    }

    /// Asks for the state of a launch to be saved, between two of its nodes, as soon as what runs of it has finished.
    ///
    /// # Errors
    /// There is no launch with this number whose outcome has not been returned.
    pub fn request_checkpoint(&self, launch: LaunchId, checkpoint: u32) -> Result<(), Refused> {
        self.change(|state| state.request(launch, checkpoint, None))?
    }

    /// As [`Runtime::request_checkpoint`], and waits for it.
    ///
    /// # Errors
    /// The launch fails first, or there is no launch with this number whose outcome has not been returned.
    pub fn checkpoint(&self, launch: LaunchId, checkpoint: u32) -> Result<Saved, SyncError<B::Failure>> {
        let ticket = self.change(|state| {
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            state.request(launch, checkpoint, Some(ticket)).map(|()| ticket)
        })??;
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
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn cancel(&self) -> Result<(), Refused> {
        self.change(|state| state.fail_all(|| Cause::Cancelled))
    }

    /// What of the order of starts has not run, once all launches are complete.
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn left_to_replay(&self) -> Result<Option<Unreplayed>, Refused> {
        Ok(self.lock()?.left_to_replay())
    }

    /// What was recorded since this was last called. Launches that are not complete should be waited for first: what of
    /// them finishes later belongs to nodes that have been taken.
    ///
    /// # Errors
    /// In the child of a fork.
    pub fn take_trace(&self) -> Result<Trace, Refused> {
        let mut state = self.lock()?;
        state.last_block = None;
        let workers = state.config.threads;
        Ok(Trace { workers, ..mem::take(&mut state.trace) })
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

/// Whether the workers of a runtime are in this process; none has them in virtual time.
fn is_here(process: Option<u32>) -> bool {
    process.is_none_or(|process| process == process::id())
}

/// What is known of launches, whatever their bodies are.
trait Known: Send + Sync {
    /// The first of these launches that has failed.
    fn failed(&self, launches: &[LaunchId]) -> Option<LaunchId>;

    /// Events of a device, and those of each of these launches.
    fn events(&self, device: u32, launches: &[LaunchId]) -> (Vec<SavedEvent>, Vec<LaunchEvents>);
}

impl<B: Bodies> Known for Shared<B> {
    fn failed(&self, launches: &[LaunchId]) -> Option<LaunchId> {
        let state = self.lock();
        launches.iter().copied().find(|id| state.has_failed(*id))
    }

    fn events(&self, device: u32, launches: &[LaunchId]) -> (Vec<SavedEvent>, Vec<LaunchEvents>) {
        self.lock().events_of(device, launches)
    }
}

/// Reads events and failures of a runtime, as long as there is one in this process.
#[derive(Debug)]
pub struct EventsOf {
    shared: Weak<dyn Known>,
    process: Option<u32>,
}

impl EventsOf {
    fn here(&self) -> Option<Arc<dyn Known>> {
        self.shared.upgrade().filter(|_| is_here(self.process))
    }

    /// The first of these launches that has failed, or is failing, and whose outcome has not been returned. Not to be called by
    /// [`Bodies::eval`].
    pub fn failed(&self, launches: &[LaunchId]) -> Option<LaunchId> {
        self.here()?.failed(launches)
    }

    /// What is known of the events of a device, and for each of these launches of it its own events; of a launch that is complete
    /// none. Nothing if the runtime is gone. Not to be called by [`Bodies::eval`].
    pub fn saved(&self, device: u32, launches: &[LaunchId]) -> Option<(Vec<SavedEvent>, Vec<LaunchEvents>)> {
        self.here().map(|known| known.events(device, launches))
    }
}

impl<B: Bodies> Drop for Runtime<B> {
    fn drop(&mut self) {
        // In the child of a fork nothing is left to end, and locks are as the parent held them.
        if !self.is_here() {
            return;
        }
        self.shared.change(|state| {
            state.is_closed = true;
            state.fail_all(|| Cause::Cancelled);
        });
        self.shared.work.notify_all();
        mem::take(&mut self.working).wait();
        self.shared.finish_virtual();
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
