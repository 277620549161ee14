//! Launches: how they are asked for, and what is known of one while it lasts.

use super::bodies::{Bodies, StopFlag};
use super::config::CoreCounts;
use super::cores::{Allowed, Cores};
use super::events::Epochs;
use super::failure::LaunchFailure;
use super::graph::{Graph, Iterations, Partition};
use super::id::{LaunchId, StreamId};
use super::placement::Placement;
use super::ready::Class;
use super::singles::Spell;
use std::collections::VecDeque;
use std::sync::Arc;
use wsp_core::tg::CoreType;

/// How a graph is launched.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// On which stream, and so on which device.
    pub stream: StreamId,
    /// What `TG_INVOKE` gives, else 0.
    pub iteration: i64,
    /// Launches that must be complete before this one begins, beside those before it in its stream.
    pub after: Vec<LaunchId>,
    /// The partition of kernels that name none, for a runtime that honours partitions.
    pub partition: Option<Partition>,
    /// A saved state to go on from.
    pub state: Option<Vec<u32>>,
    /// Which epochs of events it has, if it was submitted before, in a run that is resumed.
    pub epochs: Option<Epochs>,
}

impl LaunchOptions {
    /// On a stream; nothing else.
    pub fn on(stream: StreamId) -> LaunchOptions {
        LaunchOptions { stream, iteration: 0, after: Vec::new(), partition: None, state: None, epochs: None }
    }
}

/// Counts of complete launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Launches.
    pub launches: u64,
    /// Kernels that ran, each as often as it ran.
    pub kernels: u64,
    /// Of these, how many were dispatched, and not resident from an earlier launch.
    pub dispatches: u64,
    /// Blocks that ran.
    pub blocks: u64,
    /// Copies and releases that were done.
    pub items: u64,
    /// Checkpoints that were saved.
    pub checkpoints: u64,
}

impl Stats {
    /// Adds kernels of one block that were dispatched and ran.
    pub(crate) fn add_kernels(&mut self, kernels: u64) {
        self.kernels += kernels;
        self.dispatches += kernels;
        self.blocks += kernels;
    }

    /// Adds the counts of other launches.
    pub fn add(&mut self, other: &Stats) {
        self.launches += other.launches;
        self.kernels += other.kernels;
        self.dispatches += other.dispatches;
        self.blocks += other.blocks;
        self.items += other.items;
        self.checkpoints += other.checkpoints;
    }
}

/// What a worker of a launch needs.
#[derive(Debug)]
pub(crate) struct Job<B> {
    pub(crate) launch: LaunchId,
    pub(crate) graph: Arc<Graph>,
    pub(crate) bodies: Arc<B>,
    pub(crate) device: u32,
    pub(crate) iteration: i64,
    pub(crate) stop: StopFlag,
}

/// Where a launch stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Others come first.
    Queued,
    /// [`Bodies::begin`] is due or running.
    Beginning,
    /// Its nodes run.
    Running,
    /// It is complete or has failed; what it holds is being released.
    Ending,
}

/// Why nothing more of a launch is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pause {
    /// The checkpoint to be saved.
    pub(crate) id: u32,
    /// Its node, if it stands in the graph.
    pub(crate) node: Option<u32>,
    /// Who waits for it.
    pub(crate) ticket: Option<u64>,
    /// Whether it is being saved.
    pub(crate) saving: bool,
}

/// A node that waits for something outside of its launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outside {
    /// An epoch of an event.
    Event {
        /// The number of the unit.
        event: u32,
        /// The epoch.
        epoch: u64,
    },
    /// A notification.
    Notification {
        /// The device that sends it.
        from: u32,
        /// Its number.
        id: u32,
    },
}

/// A launch that is not complete.
pub(crate) struct Launch<B: Bodies> {
    /// Until it ends.
    pub(crate) job: Option<Arc<Job<B>>>,
    /// What workers have brought back: the next get these, so that no two threads count the same pointer.
    pub(crate) lent: Vec<Arc<Job<B>>>,
    pub(crate) graph: Arc<Graph>,
    pub(crate) device: u32,
    pub(crate) iteration: i64,
    pub(crate) stream: u32,
    pub(crate) after: Vec<LaunchId>,
    pub(crate) stage: Stage,
    pub(crate) placement: Placement,
    /// Whether `words` is a saved state.
    pub(crate) resumes: bool,
    /// The state of the machine.
    pub(crate) words: Vec<u32>,
    /// Works of it that workers have.
    pub(crate) busy: u32,
    pub(crate) pause: Option<Pause>,
    /// Nodes of which a block was started and that are not complete.
    pub(crate) started: u32,
    /// Checkpoints asked for: the ticket of who waits, and the checkpoint.
    pub(crate) requests: VecDeque<(Option<u64>, u32)>,
    /// Nodes handed out before the pause and not started, as they stood in [`Ready`](super::ready::Ready).
    pub(crate) held: Vec<(Class, u32)>,
    /// Nodes that wait for something outside.
    pub(crate) outside: Vec<(u32, Outside)>,
    /// Events that it opened: with its own number, that of the unit, and the epoch.
    pub(crate) opened: Vec<(u32, u64)>,
    /// Events that it is bound to.
    pub(crate) bound: Vec<(u32, u64)>,
    pub(crate) failure: Option<Arc<LaunchFailure<B::Failure>>>,
    pub(crate) stats: Stats,
    pub(crate) spell: Spell,
    /// Lists of kernels of one block that workers have brought back, empty.
    pub(crate) spare_nodes: Vec<Vec<u32>>,
}

impl<B: Bodies> Launch<B> {
    /// What a worker needs, to be put into [`lent`](Self::lent) when it is done; none once the launch ends.
    pub(crate) fn lend(&mut self) -> Option<Arc<Job<B>>> {
        self.lent.pop().or_else(|| self.job.clone())
    }
}

/// How far a node that was handed out is.
pub(crate) enum Progress<P> {
    /// Not dispatched; with what it left in an earlier launch, if it stays resident.
    New(Option<Arc<P>>),
    /// A worker is dispatching it.
    Preparing,
    /// Blocks may run.
    Open(Arc<P>),
}

/// A node that was handed out and is not complete.
pub(crate) struct Dispatch<P> {
    pub(crate) launch: LaunchId,
    pub(crate) node: u32,
    pub(crate) item: u32,
    pub(crate) core_type: CoreType,
    /// Blocks; 1 for what is no kernel.
    pub(crate) blocks: u32,
    /// Blocks that were started: the first ones, but in an order of starts.
    pub(crate) next: u32,
    /// Blocks that are complete.
    pub(crate) done: u32,
    /// Workers that run blocks of it.
    pub(crate) running: u32,
    pub(crate) class: Class,
    pub(crate) allowed: Allowed,
    pub(crate) iterations: Iterations,
    pub(crate) progress: Progress<P>,
    /// Of a resident kernel: the cores of block `b % len`.
    pub(crate) home: Option<Arc<[Cores]>>,
    /// Of a kernel that becomes resident: cores that its blocks have held, none twice.
    pub(crate) held: Option<Vec<Cores>>,
    /// Its place in the trace.
    pub(crate) run: u32,
}

impl<P> Dispatch<P> {
    /// Notes that so many blocks start; whether others can start beside them. Blocks of a kernel wait until it is dispatched.
    pub(crate) fn start(&mut self, blocks: u32) -> bool {
        self.next += blocks;
        self.running += 1;
        self.next < self.blocks && matches!(self.progress, Progress::Open(_))
    }

    /// Blocks to give to one worker at once: few where workers share them, more where there are very many.
    pub(crate) fn portion(&self, threads: u32) -> u32 {
        let left = self.blocks - self.next;
        match self.allowed.pinned || self.home.is_some() {
            true => 1.min(left),
            false => (left / threads.saturating_mul(8).max(1)).clamp(1, 64).min(left),
        }
    }
}

/// The cores of a device as a list by type: of AIC, AIV and AICPU.
pub(crate) fn by_type(counts: &CoreCounts) -> [u32; 3] {
    [counts.aic, counts.aiv, counts.aicpu]
}
