//! From the machines of launches to ready nodes, and back: what a launch hands out, and what becomes complete.

use super::bodies::Bodies;
use super::config::{Time, Tracing};
use super::cores::Granted;
use super::events::Waiter;
use super::failure::{Cause, LaunchFault, Place};
use super::graph::{Graph, Iterations, Role};
use super::id::LaunchId;
use super::launch::{Dispatch, Job, Outside, Pause, Progress, Stage};
use super::placement::granted;
use super::ready::Class;
use super::singles;
use super::state::{Chore, Gang, State};
use super::submit::gang_cores;
use super::trace::RunTrace;
use crate::shared::message;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::tg::CoreType;
use wsp_core::tg::machine::{Fault, Scalars, Step};

/// Conditions of a launch, evaluated by its bodies.
struct Conditions<'b, B> {
    bodies: &'b B,
    /// A loop in which no kernel runs comes back here only.
    cancel: Option<&'b AtomicBool>,
}

impl<B: Bodies> Scalars for Conditions<'_, B> {
    type Fault = Cause<B::Failure>;

    fn eval(&mut self, condition: u32, iterations: &[u32]) -> Result<i64, Self::Fault> {
        self.round()?;
        let place = Place::Condition(condition);
        match catch_unwind(AssertUnwindSafe(|| self.bodies.eval(condition, iterations))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(Cause::Task { task: place, failure }),
            Err(panic) => Err(Cause::Panic { task: place, message: message(panic) }),
        }
    }

    fn round(&mut self) -> Result<(), Self::Fault> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(Cause::Cancelled),
            _ => Ok(()),
        }
    }
}

impl<B: Bodies> State<B> {
    /// Starts the machine of a launch that has begun.
    pub(crate) fn start_machine(&mut self, id: LaunchId) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        launch.stage = Stage::Running;
        if launch.resumes {
            // The state was checked when the launch was submitted, and nothing has changed it since.
            let _ = launch.graph.resume(&mut launch.words);
        } else {
            launch.words = launch.graph.start();
        }
        self.to_pump.push(id);
    }

    /// Lets every machine that may have something hand it out.
    pub(crate) fn pump_all(&mut self) {
        while let Some(id) = self.to_pump.pop() {
            self.pump(id);
        }
    }

    fn pump(&mut self, id: LaunchId) {
        while let Some(launch) = self.launches.get_mut(&id) {
            if launch.stage != Stage::Running || launch.failure.is_some() {
                return;
            }
            if launch.pause.is_none()
                && let Some((ticket, checkpoint)) = launch.requests.pop_front()
            {
                launch.pause = Some(Pause { id: checkpoint, node: None, ticket, saving: false });
                self.hold(id);
                continue;
            }
            if launch.pause.is_some() {
                return self.save_if_still(id);
            }
            let Some(job) = launch.lend() else { return };
            let goes_on = self.step(id, &job);
            if let Some(launch) = self.launches.get_mut(&id) {
                launch.lent.push(job);
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Does what the machine of a launch says next; whether it may say more.
    fn step(&mut self, id: LaunchId, job: &Job<B>) -> bool {
        let Some(launch) = self.launches.get_mut(&id) else { return false };
        let cancel = self.config.cancel.as_deref();
        let mut conditions = Conditions { bodies: &*job.bodies, cancel };
        match job.graph.next(&mut launch.words, &mut conditions) {
            Ok(Step::Run(node)) => self.hand_out(id, job, node),
            Ok(Step::Gang(gang)) => self.hand_out_gang(id, job, gang),
            Ok(Step::Signal(node)) => self.signalled(id, job.graph.signal_of(node)),
            Ok(Step::Idle) => return false,
            Ok(Step::Done) => {
                self.end_if_idle(id);
                return false;
            }
            Err(Fault::Condition(cause)) => self.fail(id, cause),
            Err(Fault::Endless { in_loop, most, value }) => {
                self.fail(id, Cause::Source(LaunchFault::Endless { in_loop, most, value }));
            }
            Err(Fault::Count { in_loop, most, value }) => {
                self.fail(id, Cause::Source(LaunchFault::Count { in_loop, most, value }));
            }
        }
        true
    }

    fn hand_out(&mut self, id: LaunchId, job: &Job<B>, node: u32) {
        let (device, devices) = (job.device, self.config.devices);
        let waiter = Waiter { launch: id, node };
        match job.graph.role(node) {
            Role::Kernel(kernel) if self.is_single(id, job, kernel) => {
                let class = Class::Single(job.graph.kernels()[kernel as usize].core_type);
                let priority = self.priority(&job.graph);
                self.devices[device as usize].ready.push(priority, id, class, node);
            }
            Role::Kernel(kernel) => {
                let dispatch = self.dispatch_of(id, job, node, kernel);
                self.push_ready(id, job, dispatch);
            }
            Role::Copy(item) | Role::Free(item) => {
                let dispatch = self.item_of(id, job, node, item);
                self.push_ready(id, job, dispatch);
            }
            Role::Notify(to, notification) => {
                // Alone, or to a device that does not exist, a notification reaches nobody.
                if devices > 1 && to < devices {
                    let released = self.notifications.notify((device, to, notification));
                    released.into_iter().for_each(|waiter| self.release(waiter));
                }
                self.complete(id, node);
            }
            Role::WaitNotify(from, notification) => {
                let expects = devices > 1 && from < devices;
                if !expects || self.notifications.wait((from, device, notification), waiter) {
                    self.complete(id, node);
                } else {
                    self.waits_outside(id, node, Outside::Notification { from, id: notification });
                }
            }
            Role::WaitEvent(event) => self.wait_for_event(waiter, device, event),
            Role::Checkpoint(checkpoint) => {
                if let Some(launch) = self.launches.get_mut(&id) {
                    let (node, ticket) = (Some(node), None);
                    launch.pause = Some(Pause { id: checkpoint, node, ticket, saving: false });
                }
                self.hold(id);
            }
        }
    }

    /// Whether a worker may take a kernel together with others.
    fn is_single(&self, id: LaunchId, job: &Job<B>, kernel: u32) -> bool {
        self.config.tracing == Tracing::Off
            && self.config.replay.is_none()
            && self.config.time == Time::Measured
            && singles::is_single(&job.graph.kernels()[kernel as usize])
            && self.launches.get(&id).is_some_and(|launch| launch.placement.is_uniform())
    }

    fn wait_for_event(&mut self, waiter: Waiter, device: u32, event: u32) {
        let Some(launch) = self.launches.get(&waiter.launch) else { return };
        let epoch = launch.bound.iter().find(|(bound, _)| *bound == event).map_or(0, |(_, epoch)| *epoch);
        if self.events.wait((device, event), epoch, waiter) {
            self.complete(waiter.launch, waiter.node);
        } else {
            self.waits_outside(waiter.launch, waiter.node, Outside::Event { event, epoch });
        }
    }

    fn waits_outside(&mut self, id: LaunchId, node: u32, outside: Outside) {
        if let Some(launch) = self.launches.get_mut(&id) {
            launch.outside.push((node, outside));
        }
    }

    /// What a node waited for has come.
    pub(crate) fn release(&mut self, waiter: Waiter) {
        if let Some(launch) = self.launches.get_mut(&waiter.launch) {
            launch.outside.retain(|(node, _)| *node != waiter.node);
        }
        self.complete(waiter.launch, waiter.node);
    }

    /// A launch has fired an event.
    fn signalled(&mut self, id: LaunchId, event: u32) {
        let Some(launch) = self.launches.get(&id) else { return };
        let device = launch.device;
        let epoch = launch.opened.iter().find(|(opened, _)| *opened == event).map(|(_, epoch)| *epoch);
        let released = epoch.map(|epoch| self.events.fire((device, event), epoch));
        released.into_iter().flatten().for_each(|waiter| self.release(waiter));
    }

    /// Tells the machine of a launch that a node is complete.
    pub(crate) fn complete(&mut self, id: LaunchId, node: u32) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        launch.graph.complete(&mut launch.words, &[node]);
        self.pump_later(id);
    }

    /// The machine of a launch may have something to hand out.
    pub(crate) fn pump_later(&mut self, id: LaunchId) {
        if self.to_pump.last() != Some(&id) {
            self.to_pump.push(id);
        }
    }

    fn push_ready(&mut self, id: LaunchId, job: &Job<B>, dispatch: Dispatch<B::Prepared>) {
        let (class, priority) = (dispatch.class, self.priority(&job.graph));
        let number = self.add_dispatch(dispatch);
        self.devices[job.device as usize].ready.push(priority, id, class, number);
    }

    /// A kernel that was handed out.
    fn dispatch_of(&mut self, id: LaunchId, job: &Job<B>, node: u32, kernel: u32) -> Dispatch<B::Prepared> {
        let info = &job.graph.kernels()[kernel as usize];
        let (core_type, blocks) = (info.core_type, info.blocks);
        let placement = self.launches.get(&id).map(|launch| &launch.placement);
        let is_uniform = placement.is_none_or(|placement| placement.is_uniform());
        let allowed = placement.map(|placement| placement.of(kernel));
        let allowed = allowed.unwrap_or_else(|| super::cores::Allowed::anywhere(&self.config.cores));
        let resident = self.resident(id, job, kernel);
        let class = match is_uniform && resident.is_none() {
            true => Class::Uniform(core_type as u8),
            false => Class::Placed,
        };
        let (home, prepared) = resident.unzip();
        let is_kept = info.persistent.is_some() && home.is_none() && !job.graph.is_in_gang(kernel);
        let granted = granted(info, &allowed, &self.config.cores);
        let iterations = self.iterations(id);
        let run = self.record_run(
            job,
            node,
            &info.name,
            iterations.as_deref().unwrap_or_default(),
            granted,
            home.is_some(),
        );
        Dispatch {
            launch: id,
            node,
            item: kernel,
            core_type,
            blocks,
            next: 0,
            done: 0,
            running: 0,
            class,
            allowed,
            iterations,
            progress: Progress::New(prepared),
            home,
            held: is_kept.then(Vec::new),
            run,
        }
    }

    /// The cores of a kernel that is resident, and what it was dispatched with.
    #[allow(clippy::type_complexity, reason = "a pair used once")]
    fn resident(
        &mut self,
        id: LaunchId,
        job: &Job<B>,
        kernel: u32,
    ) -> Option<(Arc<[super::cores::Cores]>, Arc<B::Prepared>)> {
        let info = &job.graph.kernels()[kernel as usize];
        if info.persistent.is_none() || job.graph.is_in_gang(kernel) {
            return None;
        }
        let residents = &mut self.devices[job.device as usize].residents;
        let resident = residents.iter_mut().find(|resident| {
            resident.kernel == kernel && std::ptr::eq(resident.graph.as_ptr(), Arc::as_ptr(&job.graph))
        })?;
        if resident.last != id {
            if resident.left == Some(0) {
                return None;
            }
            resident.left = resident.left.map(|left| left - 1);
            resident.last = id;
        }
        Some((resident.home.clone(), resident.prepared.clone()))
    }

    /// A copy or release that was handed out.
    fn item_of(&mut self, id: LaunchId, job: &Job<B>, node: u32, item: u32) -> Dispatch<B::Prepared> {
        let iterations = self.iterations(id);
        let name = job.graph.node_name(node);
        let run = self.record_run(
            job,
            node,
            &name,
            iterations.as_deref().unwrap_or_default(),
            Granted::default(),
            false,
        );
        Dispatch {
            launch: id,
            node,
            item,
            core_type: CoreType::Aicpu,
            blocks: 1,
            next: 0,
            done: 0,
            running: 0,
            class: Class::Item,
            allowed: super::cores::Allowed::anywhere(&self.config.cores),
            iterations,
            progress: Progress::New(None),
            home: None,
            held: None,
            run,
        }
    }

    fn iterations(&mut self, id: LaunchId) -> Iterations {
        let launch = self.launches.get_mut(&id)?;
        launch.graph.iterations(&mut launch.words)
    }

    fn record_run(
        &mut self,
        job: &Job<B>,
        node: u32,
        name: &str,
        iterations: &[u32],
        granted: Granted,
        is_resident: bool,
    ) -> u32 {
        if self.config.tracing == Tracing::Off {
            return 0;
        }
        let (launch, device, ready) = (job.launch, job.device, self.now());
        let (name, iterations, released_by) = (name.to_owned(), iterations.to_vec(), self.last_block);
        self.trace.runs.push(RunTrace {
            launch,
            device,
            node,
            name,
            iterations,
            granted,
            is_resident,
            ready,
            released_by,
        });
        (self.trace.runs.len() - 1) as u32
    }

    fn hand_out_gang(&mut self, id: LaunchId, job: &Job<B>, gang: u32) {
        let priority = self.priority(&job.graph);
        let Some(launch) = self.launches.get_mut(&id) else { return };
        let nodes = job.graph.gang_nodes(&mut launch.words, gang);
        let mut members = Vec::new();
        for node in nodes {
            let Role::Kernel(kernel) = job.graph.role(node) else { continue };
            let mut dispatch = self.dispatch_of(id, job, node, kernel);
            dispatch.allowed = gang_cores(dispatch.allowed);
            members.push(self.add_dispatch(dispatch));
        }
        let gangs = &mut self.devices[job.device as usize].gangs;
        let at = gangs.partition_point(|gang| gang.priority >= priority);
        gangs.insert(at, Gang { launch: id, priority, members });
    }

    /// Takes what of a launch is ready and not started out of the queues, until its state is saved.
    fn hold(&mut self, id: LaunchId) {
        let Some(launch) = self.launches.get(&id) else { return };
        let (device, priority) = (launch.device as usize, self.priority(&launch.graph));
        let mut held = Vec::new();
        // In an order of starts its turns say what starts before the state is saved.
        if self.turns.is_some() {
            return;
        }
        for (class, number) in self.devices[device].ready.remove(id) {
            if !matches!(class, Class::Single(_)) && self.dispatch(number).next > 0 {
                // What has started finishes: nothing else could be told from a state between two nodes.
                self.devices[device].ready.push_active(priority, id, class, number);
            } else {
                held.push((class, number));
            }
        }
        if let Some(launch) = self.launches.get_mut(&id) {
            launch.held = held;
        }
    }

    /// Saves the state of a paused launch once nothing of it is half done.
    fn save_if_still(&mut self, id: LaunchId) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        if let Some(pause) = &mut launch.pause
            && !pause.saving
            && launch.busy == 0
            && launch.started == 0
        {
            pause.saving = true;
            if let Some(node) = pause.node.take() {
                // The state to go on from has the checkpoint behind it.
                launch.graph.complete(&mut launch.words, &[node]);
            }
            self.chores.push_back(Chore::Save(id));
        }
    }

    /// A checkpoint is saved: the launch goes on.
    pub(crate) fn saved(&mut self, id: LaunchId) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        let pause = launch.pause.take();
        launch.stats.checkpoints += 1;
        let held = std::mem::take(&mut launch.held);
        let (device, graph) = (launch.device as usize, launch.graph.clone());
        let priority = self.priority(&graph);
        for (class, number) in held {
            self.devices[device].ready.push(priority, id, class, number);
        }
        if let Some(ticket) = pause.and_then(|pause| pause.ticket) {
            self.saved.insert(ticket);
            self.has_news = true;
        }
        self.to_pump.push(id);
    }
}

/// Whether a graph can be left to one thread: see [`InlineExecutor`](super::InlineExecutor).
pub(crate) fn waits_for_others(graph: &Graph) -> bool {
    !graph.foreign_events().is_empty() || graph.has_notifications()
}
