//! A graph as it is written: what it does in program order, nested as its control flow is, and what is said of its kernels.

use crate::plan::{EdgeKind, KernelDef};
use wsp_core::tg::{
    AffinityType, CheckpointNo, DeviceNo, Direction, EventNo, GraphNo, IterNo, LoopMode, NotifyNo, Scalar,
    TensorNo, TensorRef,
};

/// The body of the graph, outside of loops.
pub(super) const TOP: u32 = 0;

/// Something that the graph does.
#[derive(Clone, Copy, Debug)]
pub(super) enum WorkKind {
    /// Runs a kernel: a place in [`Source::defs`].
    Kernel(u32),
    Copy {
        copy: u32,
        src: TensorNo,
        dst: TensorNo,
        size: u64,
        src_offset: u64,
        dst_offset: u64,
    },
    Free(TensorNo),
    Notify {
        device: DeviceNo,
        notify: NotifyNo,
    },
    /// Waits for a notification, before what follows or only before a kernel.
    WaitNotify {
        device: DeviceNo,
        notify: NotifyNo,
        holds: Holds,
    },
    Checkpoint(CheckpointNo),
}

/// What a wait for a notification holds up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holds {
    Rest,
    One,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) kind: WorkKind,
    /// The loop that it stands in.
    pub(super) scope: u32,
    pub(super) instr: u32,
}

/// A loop, or the graph. The works in it, also those of loops in it, are `first..end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkScope {
    pub(super) parent: u32,
    pub(super) depth: u32,
    pub(super) first: u32,
    pub(super) end: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoopSort {
    Count(LoopMode, IterNo),
    While(u64),
}

#[derive(Clone, Debug)]
pub(super) struct LoopSource {
    pub(super) scope: u32,
    pub(super) sort: LoopSort,
    pub(super) condition: Scalar,
    pub(super) instr: u32,
    pub(super) body: Vec<Item>,
    /// Whether a `CF_BREAK` leaves it.
    pub(super) breaks: bool,
    /// Whether there is a checkpoint in it.
    pub(super) saves: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Work(u32),
    If { condition: Scalar, instr: u32, then: Vec<Item>, otherwise: Vec<Item> },
    Loop(LoopSource),
    Break { condition: Scalar, instr: u32 },
}

/// A binding as written.
#[derive(Clone, Copy, Debug)]
pub(super) struct BindSource {
    pub(super) arg: u32,
    pub(super) tensor: TensorRef,
    pub(super) offset: Scalar,
    pub(super) size: Scalar,
    pub(super) direction: Direction,
    pub(super) instr: u32,
}

#[derive(Clone, Debug)]
pub(super) struct DefSource {
    pub(super) def: KernelDef,
    pub(super) binds: Vec<BindSource>,
}

/// An edge between works, in every iteration of the loops around both.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclaredEdge {
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) kind: EdgeKind,
}

/// Works before `end` come before works from `start` on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct BarrierSource {
    pub(super) end: u32,
    pub(super) start: u32,
}

/// All works of an event that signal it come before those that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct EventSource {
    pub(super) event: EventNo,
    pub(super) signals: Vec<u32>,
    pub(super) waits: Vec<u32>,
    /// Works that wait for another launch, though the graph signals the event as well.
    pub(super) earlier: Vec<u32>,
}

/// Works that start together.
#[derive(Clone, Debug)]
pub(super) struct GangSource {
    pub(super) members: Vec<u32>,
}

/// Orders whose works have this loop as the innermost around all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeOrders {
    pub(super) edges: Vec<DeclaredEdge>,
    pub(super) soft: Vec<(u32, u32)>,
    pub(super) barriers: Vec<BarrierSource>,
    pub(super) events: Vec<EventSource>,
    pub(super) gangs: Vec<GangSource>,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) no: GraphNo,
    pub(super) items: Vec<Item>,
    pub(super) works: Vec<Work>,
    pub(super) scopes: Vec<WorkScope>,
    pub(super) orders: Vec<ScopeOrders>,
    /// Events of other graphs that works wait for.
    pub(super) foreign: Vec<EventSource>,
    /// Events that other graphs wait for.
    pub(super) told: Vec<EventSource>,
    pub(super) defs: Vec<DefSource>,
    pub(super) affinities: Vec<(AffinityType, Vec<u32>)>,
}

impl Source {
    /// The innermost loop around two.
    pub(super) fn around(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.scopes[a as usize].depth >= self.scopes[b as usize].depth {
                a = self.scopes[a as usize].parent;
            } else {
                b = self.scopes[b as usize].parent;
            }
        }
        a
    }

    pub(super) fn around_all(&self, works: impl Iterator<Item = u32>) -> u32 {
        let scopes = works.map(|work| self.works[work as usize].scope);
        scopes.reduce(|a, b| self.around(a, b)).unwrap_or(TOP)
    }
}
