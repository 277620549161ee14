//! What workers and callers share, under one lock: launches, what of them is ready, and who waits for what.
//!
//! # Protocol
//!
//! All of [`State`] changes under its lock only, and no code of the caller runs while it is held but [`Bodies::eval`].
//! A worker takes a [`Work`](super::work::Work), lets go of the lock, does it, takes the lock again and brings back a
//! [`Done`](super::work::Done). So everything that a body wrote before its node completed is seen by whoever starts after it: both
//! hold the lock in between.
//!
//! A worker waits only after it looked for work and found none, under the lock. Work appears where the lock is held: when a
//! launch, a signal or a priority comes from outside, which wakes one worker; and when a worker brings something back, after
//! which that worker looks itself. A worker that finds work and sees that there is more wakes another before it goes. So
//! while there is work that could be started, some worker is awake that will look for it.
//!
//! A launch is `Queued` until it is the first of its stream and those it comes after are complete; `Beginning` until
//! [`Bodies::begin`] is done; `Running` until its machine is done or it fails; and `Ending` from the moment when no worker is
//! busy with it, until a worker has dropped what it holds. Then its outcome is there to be asked for.

use super::bodies::Bodies;
use super::config::{RuntimeConfig, Signals, Time, Tracing};
use super::cores::{Cores, DeviceCores};
use super::events::{Events, LaunchEvent, LaunchEvents, Notifications, SavedEvent};
use super::failure::{Cause, LaunchFailure, LaunchFault, Refused};
use super::graph::Graph;
use super::id::LaunchId;
use super::launch::{Dispatch, Launch, Outside, Stage, Stats};
use super::order::Turns;
use super::ready::{Class, Ready};
use super::streams::Streams;
use super::trace::{LaunchTrace, Trace};
use crate::clock;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// How a launch ended.
pub(crate) struct Outcome<F> {
    pub(crate) graph: u64,
    pub(crate) stream: u32,
    pub(crate) result: Result<Stats, Arc<LaunchFailure<F>>>,
}

/// A launch that failed, and what others may wait for that it did not do.
pub(crate) struct Failed<F> {
    pub(crate) failure: Arc<LaunchFailure<F>>,
    /// The number of its graph, and the graph, which it does not keep.
    pub(crate) key: u64,
    pub(crate) graph: Weak<Graph>,
    pub(crate) device: u32,
    /// Events that it opened and did not signal, with their epochs.
    pub(crate) events: Vec<(u32, u64)>,
}

/// Something to do for a launch as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chore {
    Begin(LaunchId),
    Save(LaunchId),
    End(LaunchId),
}

/// A gang all of whose kernels are ready.
#[derive(Clone, Debug)]
pub(crate) struct Gang {
    pub(crate) launch: LaunchId,
    pub(crate) priority: i8,
    /// The dispatches of its kernels.
    pub(crate) members: Vec<u32>,
}

/// A kernel that stays on its cores between launches.
pub(crate) struct Resident<P> {
    /// Gone when the graph is.
    pub(crate) graph: Weak<Graph>,
    pub(crate) kernel: u32,
    pub(crate) home: Arc<[Cores]>,
    pub(crate) prepared: Arc<P>,
    /// Launches that it stays for beside the one that used it last; `None` is for ever.
    pub(crate) left: Option<u32>,
    /// The launch that used it last.
    pub(crate) last: LaunchId,
}

/// A simulated device.
pub(crate) struct Device<P> {
    pub(crate) cores: DeviceCores,
    pub(crate) ready: Ready,
    /// By priority, the highest first, then by age.
    pub(crate) gangs: Vec<Gang>,
    pub(crate) residents: Vec<Resident<P>>,
}

impl<P> Device<P> {
    /// Keeps a kernel on its cores, unless another launch of the graph has done so meanwhile.
    pub(crate) fn keep(&mut self, resident: Resident<P>) {
        let is_same = |other: &Resident<P>| {
            other.kernel == resident.kernel && Weak::ptr_eq(&other.graph, &resident.graph)
        };
        if !self.residents.iter().any(is_same) {
            self.cores.reserve(&resident.home);
            self.residents.push(resident);
        }
    }
}

/// See the module.
pub(crate) struct State<B: Bodies> {
    pub(crate) config: RuntimeConfig,
    pub(crate) streams: Streams<B::Failure>,
    /// Launches that are not complete.
    pub(crate) launches: OrderedMap<LaunchId, Launch<B>>,
    /// Outcomes that nobody has asked for.
    pub(crate) outcomes: OrderedMap<LaunchId, Outcome<B::Failure>>,
    pub(crate) devices: Vec<Device<B::Prepared>>,
    /// The device that is asked first for the next work.
    pub(crate) turn: usize,
    pub(crate) dispatches: Vec<Option<Dispatch<B::Prepared>>>,
    pub(crate) unused: Vec<u32>,
    pub(crate) chores: VecDeque<Chore>,
    /// Launches whose machines may have something to hand out.
    pub(crate) to_pump: Vec<LaunchId>,
    pub(crate) events: Events,
    pub(crate) notifications: Notifications,
    /// Launches that failed, of which others may wait for something.
    pub(crate) failed: Vec<Failed<B::Failure>>,
    /// By graph.
    pub(crate) priorities: OrderedMap<u64, i8>,
    /// Graphs that were ever launched.
    pub(crate) launched: OrderedSet<u64>,
    pub(crate) next_launch: u64,
    pub(crate) next_ticket: u64,
    /// Checkpoints that are saved and that somebody waits for.
    pub(crate) saved: OrderedSet<u64>,
    /// Works that workers have.
    pub(crate) busy: u32,
    /// Workers that wait.
    pub(crate) idle: u32,
    /// Of these, how many were woken and have not looked yet, or fewer.
    pub(crate) woken: u32,
    /// Which numbers of workers beyond the threads are taken.
    pub(crate) extra: Vec<bool>,
    /// Whether an outcome or a saved checkpoint came since callers were last woken.
    pub(crate) has_news: bool,
    pub(crate) is_closed: bool,
    pub(crate) trace: Trace,
    /// When the runtime was made, and each launch submitted and begun, if they are recorded.
    pub(crate) start: Instant,
    pub(crate) times: OrderedMap<LaunchId, (u64, u64)>,
    /// The cycle of virtual time.
    pub(crate) cycle: u64,
    /// Whose turn it is in an order of starts, until something fails.
    pub(crate) turns: Option<Turns>,
    /// What is drawn next in virtual time, where something is drawn.
    pub(crate) draws: Option<u64>,
    /// In virtual time the block that ended last, by its place in the trace.
    pub(crate) last_block: Option<u32>,
}

impl<B: Bodies> State<B> {
    pub(crate) fn new(config: RuntimeConfig) -> State<B> {
        let device = |_| Device {
            cores: DeviceCores::new(config.cores),
            ready: Ready::default(),
            gangs: Vec::new(),
            residents: Vec::new(),
        };
        State {
            streams: Streams::new(config.devices),
            devices: (0..config.devices).map(device).collect(),
            turns: config.replay.clone().map(Turns::new),
            draws: config.seed,
            config,
            launches: OrderedMap::new(),
            outcomes: OrderedMap::new(),
            turn: 0,
            dispatches: Vec::new(),
            unused: Vec::new(),
            chores: VecDeque::new(),
            to_pump: Vec::new(),
            events: Events::default(),
            notifications: Notifications::default(),
            failed: Vec::new(),
            priorities: OrderedMap::new(),
            launched: OrderedSet::new(),
            next_launch: 1,
            next_ticket: 1,
            saved: OrderedSet::new(),
            busy: 0,
            idle: 0,
            woken: 0,
            extra: Vec::new(),
            has_news: false,
            is_closed: false,
            trace: Trace::default(),
            start: clock::now(),
            times: OrderedMap::new(),
            cycle: 0,
            last_block: None,
        }
    }

    /// Nanoseconds since the runtime was made, or 0 where nothing is recorded; in virtual time the cycle.
    pub(crate) fn now(&self) -> u64 {
        match (self.config.time, self.config.tracing) {
            (Time::Virtual, _) => self.cycle,
            (Time::Measured, Tracing::On) => clock::nanos_since(self.start),
            (Time::Measured, Tracing::Off) => 0,
        }
    }

    /// Whether there may be something that a worker could start.
    pub(crate) fn may_have_work(&self) -> bool {
        !self.chores.is_empty()
            || !self.to_pump.is_empty()
            || self.devices.iter().any(|device| !device.ready.is_empty() || !device.gangs.is_empty())
    }

    /// Whether nothing is running and nothing could be started: then only a call from outside can change anything.
    pub(crate) fn is_still(&self) -> bool {
        self.busy == 0 && (!self.may_have_work() || self.is_barred())
    }

    /// Whether the caller's flag is set.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.config.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The dispatch with this number.
    pub(crate) fn dispatch(&mut self, number: u32) -> &mut Dispatch<B::Prepared> {
        self.dispatches[number as usize]
            .as_mut()
            .expect("a dispatch should be there until its node is complete")
    }

    pub(crate) fn add_dispatch(&mut self, dispatch: Dispatch<B::Prepared>) -> u32 {
        if let Some(number) = self.unused.pop() {
            self.dispatches[number as usize] = Some(dispatch);
            return number;
        }
        self.dispatches.push(Some(dispatch));
        (self.dispatches.len() - 1) as u32
    }

    pub(crate) fn remove_dispatch(&mut self, number: u32) -> Option<Dispatch<B::Prepared>> {
        let removed = self.dispatches[number as usize].take();
        if removed.is_some() {
            self.unused.push(number);
        }
        removed
    }

    pub(crate) fn priority(&self, graph: &Graph) -> i8 {
        self.priorities.get(&graph.key()).copied().unwrap_or(0)
    }

    /// Begins launches whose turn it is.
    pub(crate) fn begin_ready(&mut self) {
        for id in self.streams.first() {
            let Some(launch) = self.launches.get(&id) else { continue };
            let waits = launch.after.iter().any(|after| self.launches.contains_key(after));
            if launch.stage == Stage::Queued && launch.failure.is_none() && !waits {
                self.set_stage(id, Stage::Beginning);
                self.chores.push_back(Chore::Begin(id));
            }
        }
    }

    fn set_stage(&mut self, id: LaunchId, stage: Stage) {
        if let Some(launch) = self.launches.get_mut(&id) {
            launch.stage = stage;
        }
    }

    /// Ends a launch once no worker is busy with it.
    pub(crate) fn end_if_idle(&mut self, id: LaunchId) {
        let Some(launch) = self.launches.get(&id) else { return };
        if launch.busy == 0 && launch.stage != Stage::Ending {
            self.set_stage(id, Stage::Ending);
            self.chores.push_back(Chore::End(id));
        }
    }

    /// Records why a launch fails, and drops what of it has not started.
    pub(crate) fn fail(&mut self, id: LaunchId, cause: Cause<B::Failure>) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        if launch.failure.is_some() || launch.stage == Stage::Ending {
            return;
        }
        let Some(job) = &launch.job else { return };
        job.stop.launch.store(true, Ordering::Relaxed);
        let (graph, iteration) = (job.graph.name().to_owned(), job.iteration);
        let failure = Arc::new(LaunchFailure { launch: id, graph, iteration, cause });
        launch.failure = Some(failure.clone());
        launch.outside.clear();
        launch.requests.clear();
        let mut dropped = std::mem::take(&mut launch.held);
        if launch.pause.is_some_and(|pause| !pause.saving) {
            launch.pause = None;
        }
        let device = &mut self.devices[launch.device as usize];
        dropped.extend(device.ready.remove(id));
        device.gangs.retain(|gang| {
            if gang.launch == id {
                dropped.extend(gang.members.iter().map(|&member| (Class::Placed, member)));
            }
            gang.launch != id
        });
        for (class, number) in dropped {
            if matches!(class, Class::Single(_)) {
                continue;
            }
            // Whoever runs blocks of it removes it when it brings them back.
            if self.dispatch(number).running == 0 {
                self.remove_dispatch(number);
            }
        }
        self.events.forget(id);
        self.notifications.forget(id);
        self.chores.retain(|chore| !matches!(*chore, Chore::Begin(of) | Chore::Save(of) if of == id));
        self.end_if_idle(id);
        if self.turns.take().is_some() {
            // Blocks of the others have started in an order that goes on in no other way.
            self.fail_all(|| Cause::Source(LaunchFault::After(failure.clone())));
        }
    }

    /// Whether a launch waits for an event that another thread may signal.
    pub(crate) fn awaits_caller(&self) -> bool {
        let awaits = |launch: &Launch<B>| {
            launch.outside.iter().any(|&(_, outside)| match outside {
                Outside::Event { event, epoch } => {
                    self.events.opener((launch.device, event), epoch).is_none()
                }
                Outside::Notification { .. } => false,
            })
        };
        self.config.signals == Signals::Anyone && self.launches.values().any(awaits)
    }

    /// The launches that are known, of a graph or a stream.
    pub(crate) fn ids(&self, is_asked: impl Fn(u64, u32) -> bool) -> Vec<LaunchId> {
        let running = self.launches.iter().map(|(&id, launch)| (id, launch.graph.key(), launch.stream));
        let ended = self.outcomes.iter().map(|(&id, outcome)| (id, outcome.graph, outcome.stream));
        let asked = running.chain(ended).filter(|&(_, graph, stream)| is_asked(graph, stream));
        let mut ids: Vec<LaunchId> = asked.map(|(id, ..)| id).collect();
        ids.sort_unstable();
        ids
    }

    /// What is known of the events of a device, and of the events of launches of it.
    pub(crate) fn events_of(
        &self,
        device: u32,
        launches: &[LaunchId],
    ) -> (Vec<SavedEvent>, Vec<LaunchEvents>) {
        let seen = |of: &[(u32, u64)]| {
            let one = |&(event, epoch): &(u32, u64)| {
                let fired = self.events.has_fired((device, event), epoch);
                LaunchEvent { event, epoch, fired }
            };
            of.iter().map(one).collect()
        };
        let of_launch = |id: &LaunchId| {
            let launch = self.launches.get(id);
            launch.map_or_else(LaunchEvents::default, |launch| LaunchEvents {
                waits: seen(&launch.bound),
                signals: seen(&launch.opened),
            })
        };
        (self.events.saved(device), launches.iter().map(of_launch).collect())
    }

    /// Whether a launch has failed, as long as its outcome has not been asked for.
    pub(crate) fn has_failed(&self, id: LaunchId) -> bool {
        self.launches.get(&id).is_some_and(|launch| launch.failure.is_some())
            || self.outcomes.get(&id).is_some_and(|outcome| outcome.result.is_err())
    }

    /// Asks for a checkpoint of a launch; one that is complete has none.
    pub(crate) fn request(
        &mut self,
        id: LaunchId,
        checkpoint: u32,
        ticket: Option<u64>,
    ) -> Result<(), Refused> {
        self.knows(id)?;
        if let Some(launch) = self.launches.get_mut(&id)
            && launch.failure.is_none()
        {
            launch.requests.push_back((ticket, checkpoint));
            self.to_pump.push(id);
            self.pump_all();
        }
        Ok(())
    }

    /// Fails every launch.
    pub(crate) fn fail_all(&mut self, cause: impl Fn() -> Cause<B::Failure>) {
        let all: Vec<LaunchId> = self.launches.keys().copied().collect();
        all.into_iter().for_each(|id| self.fail(id, cause()));
    }

    /// What a launch held has been dropped: its outcome becomes known, and others may begin.
    pub(crate) fn ended(&mut self, id: LaunchId) {
        let Some(launch) = self.launches.remove(&id) else { return };
        self.record_end(id, &launch);
        self.note_end(&launch);
        for &(event, epoch) in &launch.bound {
            self.events.unbind((launch.device, event), epoch);
        }
        let stream = self.streams.at(launch.stream);
        let at = stream.queue.iter().position(|&queued| queued == id).unwrap_or(0);
        stream.queue.remove(at);
        let graph = launch.graph.key();
        let result = match launch.failure {
            Some(failure) => {
                let behind: OrderedSet<LaunchId> = stream.queue.range(at..).copied().collect();
                stream.failure = Some(failure.clone());
                let comes_after = |(&other, launch): (&LaunchId, &Launch<B>)| {
                    (behind.contains(&other) || launch.after.contains(&id)).then_some(other)
                };
                let after: Vec<LaunchId> = self.launches.iter().filter_map(comes_after).collect();
                after
                    .into_iter()
                    .for_each(|other| self.fail(other, Cause::Source(LaunchFault::After(failure.clone()))));
                Err(failure)
            }
            None => Ok(Stats { launches: 1, ..launch.stats }),
        };
        if self.launches.is_empty() && result.is_err() {
            self.notifications.clear();
        }
        self.outcomes.insert(id, Outcome { graph, stream: launch.stream, result });
        self.has_news = true;
        self.begin_ready();
    }

    fn record_end(&mut self, id: LaunchId, launch: &Launch<B>) {
        let Some((submitted, began)) = self.times.remove(&id) else { return };
        let ended = LaunchTrace {
            launch: id,
            graph: launch.graph.name().to_owned(),
            device: launch.device,
            stream: launch.stream,
            iteration: launch.iteration,
            submitted,
            began,
            ended: self.now(),
            has_failed: launch.failure.is_some(),
        };
        self.trace.launches.push(ended);
    }

    /// Sets the priority of a graph's launches, those that are there and those to come.
    pub(crate) fn set_priority(&mut self, graph: &Graph, priority: i8) {
        self.priorities.insert(graph.key(), priority);
        let of_graph = |(&id, launch): (&LaunchId, &Launch<B>)| {
            (launch.graph.key() == graph.key()).then_some((id, launch.device))
        };
        let launches: Vec<(LaunchId, u32)> = self.launches.iter().filter_map(of_graph).collect();
        for (id, device) in launches {
            for (class, number) in self.devices[device as usize].ready.remove(id) {
                let is_started = !matches!(class, Class::Single(_)) && self.dispatch(number).next > 0;
                let ready = &mut self.devices[device as usize].ready;
                match is_started {
                    true => ready.push_active(priority, id, class, number),
                    false => ready.push(priority, id, class, number),
                }
            }
            let gangs = &mut self.devices[device as usize].gangs;
            gangs.iter_mut().filter(|gang| gang.launch == id).for_each(|gang| gang.priority = priority);
            gangs.arrange_by_key(|gang| std::cmp::Reverse(gang.priority));
        }
    }

    /// Frees cores of resident kernels whose graphs are gone.
    pub(crate) fn drop_orphans(&mut self) -> Vec<Arc<B::Prepared>> {
        let mut dropped = Vec::new();
        for device in &mut self.devices {
            let Device { cores, residents, .. } = device;
            residents.retain(|resident| {
                let stays = resident.graph.strong_count() > 0 && resident.left != Some(0);
                if !stays {
                    cores.unreserve(&resident.home);
                    dropped.push(resident.prepared.clone());
                }
                stays
            });
        }
        dropped
    }

    /// The outcome of a launch that is complete, which is then forgotten.
    pub(crate) fn take_outcome(&mut self, id: LaunchId) -> Option<Outcome<B::Failure>> {
        self.outcomes.remove(&id)
    }

    /// Whether the launch was submitted and its outcome not asked for.
    pub(crate) fn knows(&self, id: LaunchId) -> Result<(), Refused> {
        let known = self.launches.contains_key(&id) || self.outcomes.contains_key(&id);
        if known { Ok(()) } else { Err(Refused::NoLaunch(id)) }
    }
}
