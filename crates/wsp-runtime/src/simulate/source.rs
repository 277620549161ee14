//! The source of tasks: how far it is, and what of the window is in use.

use super::graph::Submission;
use crate::{RunConfig, Start, Window, WindowMode};

/// What the source has done so far.
pub(super) struct Source {
    pub(super) generation_cycles: u64,
    /// Most tasks between submission and release.
    pub(super) capacity: u32,
    pub(super) mode: WindowMode,
    pub(super) start: Start,
    /// The node to submit next.
    pub(super) next: u32,
    /// Tasks submitted.
    pub(super) tasks: u32,
    /// When the newest task was submitted.
    pub(super) clock: u64,
    /// When the next task is generated, if that is what the source waits for.
    pub(super) due: Option<u64>,
    /// Since when the source has waited for the window, if it does.
    pub(super) blocked_since: Option<u64>,
    /// When the newest wait for the window was over, and by which task's completion.
    pub(super) resumed: Option<(u64, u32)>,
    /// Tasks submitted and not released.
    pub(super) active: u32,
    /// The task with whose completion the window was last no longer full.
    pub(super) freed_by: u32,
}

impl Source {
    pub(super) fn new(submission: Submission, config: &RunConfig) -> Source {
        let (generation_cycles, window, start) = match submission {
            Submission::Streamed { generation_cycles } => (generation_cycles, config.window, config.start),
            Submission::Stored => (0, Window::stall(u32::MAX), Start::Immediate),
        };
        Source {
            generation_cycles,
            capacity: window.capacity,
            mode: window.mode,
            start,
            next: 0,
            tasks: 0,
            clock: 0,
            due: None,
            blocked_since: None,
            resumed: None,
            active: 0,
            freed_by: 0,
        }
    }

    pub(super) fn has_submitted(&self, node: u32) -> bool {
        node < self.next
    }

    /// Whether the source waits for the window.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    /// Tasks and barrier nodes submitted.
    pub(super) fn submitted(&self) -> u32 {
        self.next
    }

    /// A place in the window is released, with the completion of `task`.
    pub(super) fn leave(&mut self, task: u32) {
        if self.active >= self.capacity {
            self.freed_by = task;
        }
        self.active -= 1;
    }
}
