//! What a launch does when its nodes run: the caller's side of the runtime.

use super::cores::Cores;
use super::graph::Graph;
use super::id::LaunchId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The work of a launch: kernels, copies, releases, conditions, saved states.
///
/// A method that panics fails the launch as one that returns an error does. [`Bodies::eval`] is called while the runtime is
/// locked: it must be short, and must not call the runtime. All others may take as long as they like; none of
/// them may wait for launches of the same runtime, which may need the thread that waits.
///
/// The runtime drops its `Arc` before it tells anybody that the launch is complete: memory of a launch is free by then.
pub trait Bodies: Send + Sync + 'static {
    /// Why something failed.
    type Failure: Send + Sync + 'static;
    /// What a dispatched kernel needs for its blocks.
    type Prepared: Send + Sync + 'static;

    /// Called when it is the launch's turn, before all else.
    ///
    /// # Errors
    /// The launch fails.
    fn begin(&self) -> Result<(), Self::Failure> {
        Ok(())
    }

    /// Dispatches a kernel: called once before its blocks. `resident` is what an earlier launch of the graph got for a kernel
    /// that stays resident; what of it still holds need not be done again.
    ///
    /// # Errors
    /// The launch fails.
    fn prepare(
        &self,
        cx: &NodeCx<'_>,
        resident: Option<Arc<Self::Prepared>>,
    ) -> Result<Arc<Self::Prepared>, Self::Failure>;

    /// Runs a block of a kernel.
    ///
    /// # Errors
    /// The launch fails.
    fn run_block(&self, prepared: &Self::Prepared, cx: &BlockCx<'_>) -> Result<(), Self::Failure>;

    /// Does a copy or a release.
    ///
    /// # Errors
    /// The launch fails.
    fn run_item(&self, cx: &NodeCx<'_>) -> Result<(), Self::Failure>;

    /// Cycles that a block takes in virtual time.
    fn block_cycles(&self, _prepared: &Self::Prepared, _cx: &BlockCx<'_>) -> u64 {
        1
    }

    /// Cycles that a copy or a release takes in virtual time.
    fn item_cycles(&self, _cx: &NodeCx<'_>) -> u64 {
        1
    }

    /// The value of a condition or of a loop's count. `iterations` are those of the graph's dynamic loops, by loop.
    ///
    /// # Errors
    /// The launch fails.
    fn eval(&self, condition: u32, iterations: &[u32]) -> Result<i64, Self::Failure>;

    /// Saves the state of the launch as checkpoint `id`. Nothing of the launch runs meanwhile. `state` is what
    /// [`LaunchOptions::state`](super::LaunchOptions::state) takes.
    ///
    /// # Errors
    /// The launch fails.
    fn checkpoint(&self, id: u32, state: &[u32]) -> Result<(), Self::Failure>;
}

/// Whether a launch should still go on.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    pub(crate) launch: Arc<AtomicBool>,
    pub(crate) all: Option<Arc<AtomicBool>>,
}

impl StopFlag {
    /// Whether the launch has failed or was cancelled, so that what still runs of it is for nothing.
    pub fn is_set(&self) -> bool {
        // Relaxed: it only matters that it is seen soon.
        let set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        set(&self.launch) || self.all.as_ref().is_some_and(set)
    }
}

/// A node of a launch.
#[derive(Clone, Copy, Debug)]
pub struct NodeCx<'a> {
    /// The launch.
    pub launch: LaunchId,
    /// Its graph.
    pub graph: &'a Graph,
    /// The device.
    pub device: u32,
    /// What `TG_INVOKE` gave, else 0.
    pub iteration: i64,
    /// The node.
    pub node: u32,
    /// Which kernel, copy, release or checkpoint of the graph it is.
    pub item: u32,
    /// Iterations of the graph's dynamic loops, by loop; only of those around the node do they mean anything.
    pub iterations: &'a [u32],
    /// Whether to give up.
    pub stop: &'a StopFlag,
}

/// A block of a kernel of a launch.
#[derive(Clone, Copy, Debug)]
pub struct BlockCx<'a> {
    /// The kernel.
    pub kernel: NodeCx<'a>,
    /// The block, from 0.
    pub block: u32,
    /// Blocks of the kernel.
    pub blocks: u32,
    /// Who runs it: no two blocks at the same time have the same. Blocks of gangs may have numbers beyond the runtime's threads.
    pub worker: u32,
    /// The cores that it holds.
    pub cores: Cores,
}
