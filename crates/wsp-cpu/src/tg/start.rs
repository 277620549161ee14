//! What a launch of a session is asked for, and the memory that launches get.

use super::host::HostState;
use super::instance::Instance;
use std::sync::Arc;
use wsp_core::tg::{PartitionNo, StreamNo};
use wsp_runtime::tg::{Epochs, LaunchId};

/// Memory for the launches of a graph on one stream.
#[derive(Debug)]
pub(super) struct Pooled {
    pub(super) device: u32,
    pub(super) stream: u32,
    pub(super) instance: Arc<Instance>,
    pub(super) last: Option<LaunchId>,
}

impl Pooled {
    /// Whether it is that of a stream.
    pub(super) fn is_of(&self, device: u32, stream: StreamNo) -> bool {
        self.device == device && self.stream == stream.0
    }
}

/// How a graph is launched.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) graph: usize,
    pub(super) device: u32,
    pub(super) stream: StreamNo,
    pub(super) iteration: i64,
    pub(super) partition: PartitionNo,
    /// A saved state to go on from.
    pub(super) state: Option<Vec<u32>>,
    /// Which epochs of events it has, if it is one of a checkpoint.
    pub(super) epochs: Option<Epochs>,
    /// Values of declared scalars; those of this moment if it is not one of a checkpoint.
    pub(super) scalars: Option<Vec<i64>>,
    /// Whether it is the first of those that a run which is being resumed owes.
    pub(super) owed: bool,
    /// Where the host stands behind the launch.
    pub(super) behind: Option<HostState>,
}

impl Start {
    /// A launch on the default stream of a device.
    pub(super) fn of(graph: usize, device: u32) -> Start {
        Start {
            graph,
            device,
            stream: StreamNo(0),
            iteration: 0,
            partition: PartitionNo::NONE,
            state: None,
            epochs: None,
            scalars: None,
            owed: false,
            behind: None,
        }
    }
}
