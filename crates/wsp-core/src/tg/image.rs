//! A graph as the [machine](super::machine) runs it: plain records of fixed layout, which nothing changes while it runs.
//!
//! Nodes stand in *levels*: those of the graph itself first, then those of the body of each loop that runs at run time, each level in one
//! run of numbers. An edge joins nodes of one level. The body of a loop ends with its [`NodeKind::LoopEnd`], which comes after
//! everything in it; to the level around it the loop is the one node [`NodeKind::Loop`].

use super::crc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// No guard, no gang, no loop.
pub const NONE: u32 = u32::MAX;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u32)]
pub enum NodeKind {
    /// Runs a kernel.
    Kernel = 0,
    /// Copies bytes between tensors.
    Copy = 1,
    /// Releases a tensor.
    Free = 2,
    /// Notifies another device.
    Notify = 3,
    /// Waits for a notification of another device.
    WaitNotify = 4,
    /// Waits for an event that another graph, or whoever runs the unit, signals.
    WaitEvent = 5,
    /// Saves the state of the graph.
    Checkpoint = 6,
    /// Tells other graphs that an event has fired.
    Signal = 7,
    /// Does nothing: a point that orders what is before it and what is after it.
    Join = 8,
    /// Evaluates the condition of a `CF_IF` and sets the guards of its arms.
    Decide = 9,
    /// Evaluates the condition of a `CF_BREAK` and sets the guards of what follows.
    Break = 10,
    /// A loop: starts its iterations, and is complete when they are.
    Loop = 11,
    /// The end of a loop's body: starts the next iteration, or completes the loop.
    LoopEnd = 12,
}

impl NodeKind {
    /// Every kind, by code.
    pub const ALL: [NodeKind; 13] = [
        NodeKind::Kernel,
        NodeKind::Copy,
        NodeKind::Free,
        NodeKind::Notify,
        NodeKind::WaitNotify,
        NodeKind::WaitEvent,
        NodeKind::Checkpoint,
        NodeKind::Signal,
        NodeKind::Join,
        NodeKind::Decide,
        NodeKind::Break,
        NodeKind::Loop,
        NodeKind::LoopEnd,
    ];

    /// The kind with this code.
    pub const fn from_code(code: u32) -> Option<NodeKind> {
        if (code as usize) < NodeKind::ALL.len() { Some(NodeKind::ALL[code as usize]) } else { None }
    }

    /// Whether [`Machine::next`](super::machine::Machine::next) hands such a node out to be done by somebody else.
    pub const fn is_handed_out(self) -> bool {
        self as u32 <= NodeKind::Checkpoint as u32
    }
}

/// A node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct NodeRecord {
    /// [`NodeKind`].
    pub kind: u32,
    /// Which of its kind: a place in the list of kernels, copies, … of the plan; in [`Image::decisions`] of a `Decide` and a `Break`, in
    /// [`Image::loops`] of a `Loop` and a `LoopEnd`.
    pub item: u32,
    /// The guard that must be on for it to run, or [`NONE`].
    pub guard: u32,
    /// The gang with which it starts, or [`NONE`].
    pub gang: u32,
    /// Where its successors begin in [`Image::succs`].
    pub first: u32,
    /// Where they end.
    pub end: u32,
}

/// A bit of [`GuardRecord::when`]: the node that decides is skipped itself.
pub const WHEN_SKIPPED: u32 = 1;
/// A bit of [`GuardRecord::when`]: the condition is 0.
pub const WHEN_ZERO: u32 = 2;
/// A bit of [`GuardRecord::when`]: the condition is not 0.
pub const WHEN_NONZERO: u32 = 4;

/// A guard: on while nodes that have it are to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GuardRecord {
    /// The guard that must be on as well, or [`NONE`].
    pub parent: u32,
    /// Outcomes of the node that decides which turn it on: bits `WHEN_…`.
    pub when: u32,
}

/// A decision: of a `CF_IF` or a `CF_BREAK`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct DecisionRecord {
    /// The condition, a place in the plan's list of conditions.
    pub condition: u32,
    /// Its first guard in [`Image::guards`].
    pub first: u32,
    /// How many guards it sets.
    pub len: u32,
    /// The loop that it leaves if the condition is not 0, or [`NONE`].
    pub leaves: u32,
}

/// A level: the graph itself, or the body of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct LevelRecord {
    /// Its first node.
    pub first: u32,
    /// How many nodes it has.
    pub len: u32,
    /// Its first gang.
    pub first_gang: u32,
    /// How many gangs it has.
    pub gangs: u32,
}

/// How often a loop runs its body: [`LoopRecord::kind`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum LoopKind {
    /// As often as its condition says when the loop starts.
    Count = 0,
    /// As long as its condition, looked at before each iteration, is not 0.
    While = 1,
}

/// A loop that runs at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct LoopRecord {
    /// Its node in the level around it.
    pub node: u32,
    /// [`LoopKind`].
    pub kind: u32,
    /// Its count or condition, a place in the plan's list of conditions.
    pub condition: u32,
    /// Most iterations; one more is a fault.
    pub most: u32,
    /// Its body, whose last node is its [`NodeKind::LoopEnd`].
    pub body: LevelRecord,
}

/// A gang: nodes that start together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GangRecord {
    /// The first member in [`Image::members`].
    pub first: u32,
    /// How many members it has.
    pub len: u32,
}

/// A graph: records and lists that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// Nodes, level by level.
    pub nodes: &'a [NodeRecord],
    /// Of each node, how many edges lead to it.
    pub needs: &'a [u32],
    /// Successors of nodes.
    pub succs: &'a [u32],
    /// Guards; those of one decision stand together.
    pub guards: &'a [GuardRecord],
    /// Decisions.
    pub decisions: &'a [DecisionRecord],
    /// Loops.
    pub loops: &'a [LoopRecord],
    /// Gangs; those of one level stand together.
    pub gangs: &'a [GangRecord],
    /// Members of gangs; those of one gang increase.
    pub members: &'a [u32],
    /// The nodes and gangs of the graph itself, outside of loops.
    pub top: LevelRecord,
    /// What [`fingerprint_of`](Image::fingerprint_of) gives, counted once. States of one graph are refused for another.
    pub fingerprint: u32,
}

/// What is wrong with an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFault {
    /// A list is longer than numbers of its entries can be.
    TooLong,
    /// The buffer for the check, or the list of needs, has not a word for each node.
    Words,
    /// A node has a number out of its list: of its kind, its guard, its gang, its item or its successors.
    Node(u32),
    /// An edge leads from this node out of its level or to itself.
    Edge(u32),
    /// The count of edges that lead to this node is wrong.
    Need(u32),
    /// A decision has a number out of its list.
    Decision(u32),
    /// A guard belongs to a parent that does not come before it.
    Guard(u32),
    /// A loop's body, end or kind is wrong.
    Loop(u32),
    /// A gang's members are wrong.
    Gang(u32),
    /// Levels overlap or leave nodes out.
    Levels,
}

impl Image<'_> {
    /// A number that tells graphs apart: a checksum of all records.
    pub fn fingerprint_of(&self) -> u32 {
        let parts: [&[u8]; 9] = [
            self.nodes.as_bytes(),
            self.needs.as_bytes(),
            self.succs.as_bytes(),
            self.guards.as_bytes(),
            self.decisions.as_bytes(),
            self.loops.as_bytes(),
            self.gangs.as_bytes(),
            self.members.as_bytes(),
            self.top.as_bytes(),
        ];
        parts.iter().fold(0, |sum: u32, part| sum.rotate_left(5) ^ crc::crc32(part))
    }

    /// Checks every number in it, so that no run of it can go out of bounds. `scratch` has a word for each node, of any value.
    ///
    /// # Errors
    ///
    /// The first fault. Whether edges form cycles is not looked at: a run of such a graph ends with nodes that wait.
    pub fn check(&self, scratch: &mut [u32]) -> Result<(), ImageFault> {
        check::check(self, scratch)
    }
}

#[path = "image_check.rs"]
mod check;
