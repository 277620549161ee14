//! What workers do outside of the lock, and what they bring back.

use super::bodies::{BlockCx, Bodies, NodeCx};
use super::config::Tracing;
use super::cores::Cores;
use super::failure::{Cause, Place};
use super::graph::Iterations;
use super::id::LaunchId;
use super::launch::{Job, Progress};
use super::pace::Pace;
use super::singles::{Singles, SinglesDone};
use super::state::{Resident, State};
use super::trace::BlockTrace;
use crate::shared::message;
use std::iter::once;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A node as its blocks see it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) node: u32,
    pub(crate) item: u32,
    pub(crate) iterations: Iterations,
    pub(crate) blocks: u32,
}

/// A share of a node.
#[derive(Debug)]
pub(crate) struct Portion {
    pub(crate) dispatch: u32,
    pub(crate) of: Seen,
    /// The first of its blocks, and how many.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) cores: Cores,
}

/// A kernel of a gang, with cores and a worker for each of its blocks.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) portion: Portion,
    pub(crate) cores: Vec<Cores>,
    pub(crate) workers: Vec<u32>,
}

/// How the blocks of a portion start.
pub(crate) enum Start<P> {
    /// The kernel is dispatched.
    Prepared(Arc<P>),
    /// It has to be, with what it left in an earlier launch.
    Resident(Option<Arc<P>>),
}

/// What a worker is to do.
pub(crate) enum Work<B: Bodies> {
    Begin(Arc<Job<B>>),
    Save(Arc<Job<B>>, u32, Vec<u32>),
    /// What is to be dropped.
    End(LaunchId, Option<Arc<Job<B>>>, Vec<Arc<B::Prepared>>),
    Item(Arc<Job<B>>, Portion),
    Blocks(Arc<Job<B>>, Portion, Start<B::Prepared>),
    Gang(Arc<Job<B>>, Vec<Member>),
    Singles(Arc<Job<B>>, Singles),
}

/// When a block ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) block: u32,
    pub(crate) worker: u32,
    pub(crate) cores: Cores,
    pub(crate) started: u64,
    pub(crate) finished: u64,
}

/// A portion that a worker brings back.
pub(crate) struct Back<P> {
    pub(crate) dispatch: u32,
    /// What the kernel was dispatched with, for those that stay resident.
    pub(crate) prepared: Option<Arc<P>>,
    /// Cores to be given back: those of a portion, and those of the blocks of a gang.
    pub(crate) cores: Cores,
    pub(crate) of_gang: Vec<Cores>,
    /// Workers beyond the threads to be given back.
    pub(crate) workers: Vec<u32>,
    pub(crate) blocks: Blocks,
}

/// Blocks that were complete.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// How many.
    pub(crate) done: u32,
    /// When each ran, where that is recorded.
    pub(crate) ran: Vec<Ran>,
}

impl Blocks {
    /// Adds one, with when it ran, if that is recorded.
    pub(crate) fn add(&mut self, ran: Ran, pace: Pace) {
        self.done += 1;
        if pace.records() {
            self.ran.push(ran);
        }
    }
}

/// What a worker brings back.
pub(crate) enum Done<B: Bodies> {
    Began(Arc<Job<B>>, Option<Cause<B::Failure>>),
    Saved(Arc<Job<B>>, Option<Cause<B::Failure>>),
    Ended(LaunchId),
    Portion(Arc<Job<B>>, Back<B::Prepared>, Option<Cause<B::Failure>>),
    /// Failures of a gang are told while it runs.
    Gang(Arc<Job<B>>, Vec<Back<B::Prepared>>),
    Singles(Arc<Job<B>>, SinglesDone, Option<Cause<B::Failure>>),
}

/// Calls a method of a launch's bodies, and tells how it failed if it did.
pub(crate) fn call<T, F>(
    place: impl FnOnce() -> Place,
    body: impl FnOnce() -> Result<T, F>,
) -> Result<T, Cause<F>> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err(Cause::Task { task: place(), failure }),
        Err(panic) => Err(Cause::Panic { task: place(), message: message(panic) }),
    }
}

/// Drops something of the caller's, which may panic.
pub(crate) fn dispose<T>(what: T) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(what)));
}

impl<B: Bodies> Job<B> {
    pub(crate) fn cx<'a>(&'a self, of: &'a Seen) -> NodeCx<'a> {
        NodeCx {
            launch: self.launch,
            graph: &self.graph,
            device: self.device,
            iteration: self.iteration,
            node: of.node,
            item: of.item,
            iterations: of.iterations.as_deref().unwrap_or_default(),
            stop: &self.stop,
        }
    }

    fn name(&self, of: &Seen) -> String {
        self.graph.node_name(of.node)
    }

    /// Dispatches a kernel.
    pub(crate) fn prepare(
        &self,
        of: &Seen,
        resident: Option<Arc<B::Prepared>>,
    ) -> Result<Arc<B::Prepared>, Cause<B::Failure>> {
        let place = || Place::Prepare { node: of.node, name: self.name(of) };
        call(place, || self.bodies.prepare(&self.cx(of), resident))
    }

    /// Runs a block.
    pub(crate) fn run_block(
        &self,
        of: &Seen,
        prepared: &B::Prepared,
        block: u32,
        worker: u32,
        cores: Cores,
    ) -> Result<(), Cause<B::Failure>> {
        let blocks = of.blocks;
        let place = || Place::Block { node: of.node, name: self.name(of), block, blocks };
        let cx = self.block_cx(of, block, worker, cores);
        call(place, || self.bodies.run_block(prepared, &cx))
    }

    fn block_cx<'a>(&'a self, of: &'a Seen, block: u32, worker: u32, cores: Cores) -> BlockCx<'a> {
        BlockCx { kernel: self.cx(of), block, blocks: of.blocks, worker, cores }
    }

    /// Cycles of a block.
    pub(crate) fn block_cycles(
        &self,
        of: &Seen,
        prepared: &B::Prepared,
        block: u32,
        worker: u32,
        cores: Cores,
    ) -> u64 {
        self.bodies.block_cycles(prepared, &self.block_cx(of, block, worker, cores))
    }

    /// Cycles of a copy or a release.
    pub(crate) fn item_cycles(&self, of: &Seen) -> u64 {
        self.bodies.item_cycles(&self.cx(of))
    }

    pub(crate) fn run_item(&self, of: &Seen) -> Result<(), Cause<B::Failure>> {
        let place = || Place::Item { node: of.node, name: self.name(of) };
        call(place, || self.bodies.run_item(&self.cx(of)))
    }
}

impl<B: Bodies> State<B> {
    /// The dispatch of a kernel is done: its blocks may run.
    pub(crate) fn opened(&mut self, number: u32, prepared: &Arc<B::Prepared>) {
        let dispatch = self.dispatch(number);
        dispatch.progress = Progress::Open(prepared.clone());
        let (id, class, is_left) = (dispatch.launch, dispatch.class, dispatch.next < dispatch.blocks);
        let Some(launch) = self.launches.get(&id) else { return };
        if is_left && launch.failure.is_none() {
            let (device, priority) = (launch.device as usize, self.priority(&launch.graph));
            self.devices[device].ready.push_active(priority, id, class, number);
        }
    }

    /// Takes back what a worker brings.
    pub(crate) fn finish(&mut self, done: Done<B>) {
        let (job, failure) = match done {
            Done::Ended(id) => return self.ended(id),
            Done::Began(job, failure) => {
                if failure.is_none() {
                    self.start_machine(job.launch);
                }
                (job, failure)
            }
            Done::Saved(job, failure) => {
                if failure.is_none() {
                    self.saved(job.launch);
                }
                (job, failure)
            }
            Done::Portion(job, back, failure) => {
                if let Some(cause) = failure {
                    self.fail(job.launch, cause);
                }
                self.take_back(job.launch, back);
                (job, None)
            }
            Done::Singles(job, done, failure) => {
                self.take_back_singles(job.launch, done);
                (job, failure)
            }
            Done::Gang(job, backs) => {
                backs.into_iter().for_each(|back| self.take_back(job.launch, back));
                (job, None)
            }
        };
        let id = job.launch;
        if let Some(cause) = failure {
            self.fail(id, cause);
        }
        let Some(launch) = self.launches.get_mut(&id) else { return };
        launch.busy -= 1;
        launch.lent.push(job);
        if launch.failure.is_some() {
            self.end_if_idle(id);
        } else {
            self.pump_later(id);
        }
    }

    fn take_back_singles(&mut self, id: LaunchId, mut done: SinglesDone) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        self.devices[launch.device as usize].cores.put(&done.cores);
        let kernels = done.nodes.len();
        launch.stats.add_kernels(kernels as u64);
        if let Some(nanos) = done.nanos {
            launch.spell.measured(nanos, kernels);
        }
        launch.graph.complete(&mut launch.words, &done.nodes);
        done.nodes.clear();
        launch.spare_nodes.push(done.nodes);
    }

    fn take_back(&mut self, id: LaunchId, back: Back<B::Prepared>) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        let device = &mut self.devices[launch.device as usize];
        once(&back.cores).chain(&back.of_gang).for_each(|cores| device.cores.put(cores));
        for worker in back.workers {
            self.extra[(worker - self.config.threads) as usize] = false;
        }
        launch.stats.blocks += u64::from(back.blocks.done);
        let has_failed = launch.failure.is_some();
        let dispatch = self.dispatch(back.dispatch);
        dispatch.running -= 1;
        dispatch.done += back.blocks.done;
        if let Some(held) = &mut dispatch.held {
            once(&back.cores).chain(&back.of_gang).for_each(|cores| add_disjoint(held, cores));
        }
        let (run, is_complete, is_idle) =
            (dispatch.run, dispatch.done == dispatch.blocks, dispatch.running == 0);
        if self.config.tracing == Tracing::On {
            self.trace.blocks.extend(back.blocks.ran.iter().map(|ran| BlockTrace {
                run,
                block: ran.block,
                worker: ran.worker,
                cores: ran.cores,
                started: ran.started,
                finished: ran.finished,
            }));
            if !back.blocks.ran.is_empty() {
                self.last_block = Some(self.trace.blocks.len() as u32 - 1);
            }
        }
        if is_complete {
            self.node_done(id, back.dispatch, back.prepared);
        } else if is_idle && has_failed {
            self.remove_dispatch(back.dispatch);
        }
    }

    fn node_done(&mut self, id: LaunchId, number: u32, prepared: Option<Arc<B::Prepared>>) {
        let Some(dispatch) = self.remove_dispatch(number) else { return };
        let Some(launch) = self.launches.get_mut(&id) else { return };
        launch.started -= 1;
        if dispatch.class == super::ready::Class::Item {
            launch.stats.items += 1;
            launch.stats.blocks -= 1;
        } else {
            launch.stats.kernels += 1;
            launch.stats.dispatches += u64::from(dispatch.home.is_none());
        }
        if let (Some(home), Some(prepared), true) = (dispatch.held, prepared, launch.failure.is_none()) {
            let (device, graph) = (launch.device as usize, launch.graph.clone());
            let duration = graph.kernels()[dispatch.item as usize].persistent.unwrap_or(0);
            let left = duration.checked_sub(1);
            let (kernel, home) = (dispatch.item, home.into());
            let graph = Arc::downgrade(&graph);
            self.devices[device].keep(Resident { graph, kernel, home, prepared, left, last: id });
        }
        self.complete(id, dispatch.node);
    }
}

/// Adds cores unless one of them is there.
fn add_disjoint(held: &mut Vec<Cores>, cores: &Cores) {
    let shares = |other: &Cores| {
        cores.aic().is_some() && cores.aic() == other.aic()
            || cores.aicpu().is_some() && cores.aicpu() == other.aicpu()
            || cores.aiv().iter().any(|core| other.aiv().contains(core))
    };
    if !held.iter().any(shares) {
        held.push(*cores);
    }
}
