//! What tasks, barrier nodes and the source wait for.

use crate::infer::{Hazard, SlotTask};
use wsp_core::Region;

/// What made an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Hazard(Hazard),
    Explicit,
    Stream,
    Order,
}

/// A task or barrier node to wait for.
#[derive(Clone, Copy)]
pub(super) struct Pred {
    pub(super) access: SlotTask,
    pub(super) origin: Origin,
}

impl Pred {
    /// For a barrier node.
    pub(super) fn order(access: SlotTask) -> Pred {
        Pred { access, origin: Origin::Order }
    }
}

/// What the planner knows of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) point: SlotTask,
    pub(super) signalled: bool,
}

/// What the source waits for.
#[derive(Clone, Copy)]
pub(super) enum SourceWait<'r> {
    /// Room for a task.
    Window,
    /// The writers of a region.
    Writers(&'r Region),
    /// The end of all tasks.
    End,
}
