//! What a task is, and who runs it.

use crate::infer::{Accesses, TileRef};
use wsp_core::{EventId, ExecPool, KernelId, Region, StreamId, TaskId};

/// Where a task would best run. A preference: an idle worker takes what it can get.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Affinity {
    /// Anywhere.
    #[default]
    Any,
    /// On the core group `key % groups`; workers of other groups take it only when they find nothing else.
    Group(u64),
    /// On the worker `key % threads`; others take it only after they found nothing else for a while.
    Local(u64),
    /// On the workers in turn.
    Spread,
}

/// A task to submit. Ids of tasks and events are those of the same run or graph.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskSpec<'a> {
    /// The kernel, as the runner numbers them.
    pub kernel: KernelId,
    /// The descriptor: at most [`MAX_PAYLOAD_WORDS`](wsp_core::limits::MAX_PAYLOAD_WORDS) words.
    pub payload: &'a [u32],
    /// Regions the task may load from. Regions of tensors that no task writes can be left out.
    pub reads: &'a [Region],
    /// Regions the task may store to.
    pub writes: &'a [Region],
    /// Tiles the task may load from, of tensors registered with the graph or run ([`TaskGraph::tiled`](crate::TaskGraph::tiled),
    /// [`Submitter::tiled`](crate::Submitter::tiled)). A tile means its region, and is found faster.
    pub tile_reads: &'a [TileRef],
    /// Tiles the task may store to.
    pub tile_writes: &'a [TileRef],
    /// Where it would best run. Keys count the workers of the task's pool when pools are by unit; a task for any unit is
    /// then open to all workers.
    pub affinity: Affinity,
    /// The execution units that may run it.
    pub pool: ExecPool,
    /// Starts only when the task submitted before it on the same stream is complete; where a gate per stream
    /// ([`GateScope::PerStream`](crate::GateScope::PerStream)) has room for several, when the one before has started and there is
    /// room.
    pub stream: Option<StreamId>,
    /// Under [`Ready::Priority`](crate::Ready::Priority) the larger goes first; a property of the task that
    /// other policies do not ask for.
    pub priority: i32,
    /// Tasks that must be complete before it starts.
    pub after: &'a [TaskId],
    /// Events that must have happened before it starts.
    pub waits: &'a [EventId],
    /// The event that happens when it is complete. Every event has exactly one such task.
    pub signals: Option<EventId>,
}

impl<'a> TaskSpec<'a> {
    /// All regions and tiles.
    #[inline(always)]
    pub(crate) fn accesses(&self) -> Accesses<'a> {
        let TaskSpec { reads, writes, tile_reads, tile_writes, .. } = *self;
        Accesses { reads, writes, tile_reads, tile_writes }
    }

    /// Whether there is a region or a tile.
    #[inline(always)]
    pub(crate) fn has_accesses(&self) -> bool {
        let TaskSpec { reads, writes, tile_reads, tile_writes, .. } = self;
        !(reads.is_empty() && writes.is_empty() && tile_reads.is_empty() && tile_writes.is_empty())
    }

    /// Whether nothing but regions and `after` orders it, and it may run anywhere.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.affinity == Affinity::Any
            && self.pool == ExecPool::Any
            && self.priority == 0
            && self.stream.is_none()
            && self.waits.is_empty()
            && self.signals.is_none()
    }
}

/// Runs tasks. Shared by all workers.
pub trait TaskRunner: Sync {
    /// Why a task failed.
    type Failure: Send;

    /// Runs a task on worker `worker` (below the number of threads). Tasks that are ordered never run at the same time,
    /// and what the earlier one wrote is visible to the later.
    ///
    /// # Errors
    /// The run stops: see [`Failure`](crate::Failure). A panic does the same.
    fn run(
        &self,
        worker: usize,
        task: TaskId,
        kernel: KernelId,
        payload: &[u32],
    ) -> Result<(), Self::Failure>;

    /// How many tasks of a kernel a worker may take at once, to run them [together](Self::run_together): 1 when nothing is gained.
    fn takes_together(&self, kernel: KernelId) -> usize {
        let _ = kernel;
        1
    }

    /// Whether a task may be taken together with the one before it, of the same kernel.
    fn are_mates(&self, kernel: KernelId, before: &[u32], payload: &[u32]) -> bool {
        let _ = (kernel, before, payload);
        false
    }

    /// Runs several tasks of one kernel, of which each is the mate of the one before it. As [`TaskRunner::run`] for each of
    /// them; `outcome` takes how each went, in their order. After a panic the first of them counts as the task that panicked.
    fn run_together(
        &self,
        worker: usize,
        kernel: KernelId,
        tasks: &[(TaskId, &[u32])],
        outcome: &mut dyn FnMut(Result<(), Self::Failure>),
    ) {
        tasks.iter().for_each(|(task, payload)| outcome(self.run(worker, *task, kernel, payload)));
    }

    /// Brings near what a task with this kernel and payload will read. Must not change any data: the task may be running
    /// on another worker at the same time.
    fn prefetch(&self, worker: usize, kernel: KernelId, payload: &[u32]) {
        let _ = (worker, kernel, payload);
    }
}
