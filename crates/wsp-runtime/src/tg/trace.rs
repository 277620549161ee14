//! What a runtime records of its launches.

use super::cores::{Cores, Granted};
use super::id::LaunchId;

/// A launch that is complete or has failed. Times are nanoseconds since the runtime was made, or cycles of virtual time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchTrace {
    /// The launch.
    pub launch: LaunchId,
    /// The name of its graph.
    pub graph: String,
    /// The device.
    pub device: u32,
    /// The place of its stream.
    pub stream: u32,
    /// What `TG_INVOKE` gave, else 0.
    pub iteration: i64,
    /// When it was submitted.
    pub submitted: u64,
    /// When its turn came; 0 if it never did.
    pub began: u64,
    /// When it was complete, or when the last of it had finished after a failure.
    pub ended: u64,
    /// Whether it failed.
    pub has_failed: bool,
}

/// A kernel, copy or release that was handed out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunTrace {
    /// Its launch.
    pub launch: LaunchId,
    /// The device.
    pub device: u32,
    /// Its node.
    pub node: u32,
    /// Its name.
    pub name: String,
    /// Iterations of the graph's dynamic loops, by loop; only of those around the node do they mean anything.
    pub iterations: Vec<u32>,
    /// Most cores that it may hold at once.
    pub granted: Granted,
    /// Whether it was resident, so that it was not dispatched again.
    pub is_resident: bool,
    /// When it was ready.
    pub ready: u64,
    /// The block with whose end it became ready, by its place in [`Trace::blocks`]; none of what waited for no block, and in measured time
    /// the last that had ended where something else made it ready.
    pub released_by: Option<u32>,
}

/// A block that ran, or a copy or a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockTrace {
    /// The place of its node in [`Trace::runs`].
    pub run: u32,
    /// The block.
    pub block: u32,
    /// Who ran it.
    pub worker: u32,
    /// The cores that it held.
    pub cores: Cores,
    /// When it started.
    pub started: u64,
    /// When it had finished.
    pub finished: u64,
}

/// What was recorded since the last time that it was taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Workers of the runtime, without those of gangs.
    pub workers: u32,
    /// Launches in the order in which they ended.
    pub launches: Vec<LaunchTrace>,
    /// Nodes in the order in which they were ready.
    pub runs: Vec<RunTrace>,
    /// Blocks in the order in which they finished.
    pub blocks: Vec<BlockTrace>,
}

impl Trace {
    /// When the first block of a run started and its last had finished, by run; `None` of those without blocks.
    pub fn spans(&self) -> Vec<Option<(u64, u64)>> {
        let mut spans = vec![None; self.runs.len()];
        for block in &self.blocks {
            let Some(span) = spans.get_mut(block.run as usize) else { continue };
            let (start, end) = span.unwrap_or((u64::MAX, 0));
            *span = Some((start.min(block.started), end.max(block.finished)));
        }
        spans
    }
}
