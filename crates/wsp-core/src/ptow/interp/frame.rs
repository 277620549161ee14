//! Bodies under way.

use super::super::MAX_BODY_DEPTH;
use super::super::bounds::Bounds;
use super::super::dispatch::Stride;
use super::super::{Op, Word};
use super::own::{Deciding, Own};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// No instruction.
pub(super) const NO_WORD: u32 = u32::MAX;

/// What holds for the rest of a body: the instructions that say so, or [`NO_WORD`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Attrs {
    pub(super) filter: u32,
    pub(super) stream: u32,
    pub(super) priority: u32,
}

impl Attrs {
    pub(super) const NONE: Attrs = Attrs { filter: NO_WORD, stream: NO_WORD, priority: NO_WORD };
}

/// What a body belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `COND`: it runs once.
    Once,
    /// `LET`: it runs once, with a variable.
    Let,
    /// `COMBINE`: it is one of several.
    Combine,
    /// `SEQUENTIAL`: it is one of several steps.
    Sequential,
    /// `WHILE`.
    While,
    /// `PARALLEL_FOR` and `SELECT`.
    Loop,
    /// `FOR_EACH`.
    OrderedLoop,
    /// `PROCESS`: it is a process.
    Process,
    /// `SEND`: it runs once, with a slot.
    Send,
    /// `RECV`, `SELECT_CH` and `SELECT_ALL`: it runs once, with a slot.
    Receive,
}

impl Kind {
    /// What a body of an instruction is that is no step of an ordered scope.
    pub(super) fn of(word: &Word) -> Option<Kind> {
        Some(match Op::from_code(word.opcode)? {
            Op::Cond => Kind::Once,
            Op::Let => Kind::Let,
            Op::Combine => Kind::Combine,
            Op::ParallelFor | Op::Select => Kind::Loop,
            Op::Send => Kind::Send,
            Op::Recv | Op::SelectCh | Op::SelectAll => Kind::Receive,
            _ => return None,
        })
    }

    /// Whether its bodies have a variable.
    #[inline]
    pub(super) fn binds(self) -> bool {
        !matches!(self, Kind::Once | Kind::Combine | Kind::Sequential | Kind::Process)
    }

    /// Whether its bodies are the steps of an ordered scope.
    #[inline]
    pub(super) fn is_ordered(self) -> bool {
        matches!(self, Kind::OrderedLoop | Kind::Sequential | Kind::While)
    }
}

/// Which iterations of a loop are visited.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan<'a> {
    /// All.
    Walk,
    /// Those in which the rule finds an ordinal of this AICPU.
    Ordinals(Deciding<'a>),
    /// These, all of whose tasks belong to this AICPU.
    Stride(Stride),
}

/// A body under way, without what is known of its loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) kind: Kind,
    /// The instruction that it belongs to.
    pub(super) word: u32,
    /// Where it begins.
    pub(super) begin: u32,
    /// What holds outside.
    pub(super) attrs: Attrs,
    /// Which iteration, branch or round this is.
    pub(super) at: u64,
    /// How many there are; of a `WHILE`, at most. Bodies that run once have none.
    pub(super) trip: u64,
    /// Of an ordered scope: the ordinal where it begins, and whether the host has been told of it.
    pub(super) first: u64,
    pub(super) told: bool,
}

/// A body under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) body: Body,
    /// What is known of owners outside.
    pub(super) own: Own<'a>,
    /// Of a loop: its iterations.
    pub(super) bounds: Bounds,
    pub(super) plan: Plan<'a>,
}

/// The stack of bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames<'a> {
    frames: [Frame<'a>; MAX_BODY_DEPTH],
    height: usize,
}

impl<'a> Frames<'a> {
    pub(super) fn new() -> Frames<'a> {
        let body = Body {
            kind: Kind::Once,
            word: 0,
            begin: 0,
            attrs: Attrs::NONE,
            at: 0,
            trip: 0,
            first: 0,
            told: false,
        };
        let frame = Frame { body, own: Own::Test, bounds: Bounds::default(), plan: Plan::Walk };
        Frames { frames: [frame; MAX_BODY_DEPTH], height: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.height == 0
    }

    /// How many bodies are under way.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// The innermost body.
    #[inline]
    pub(super) fn top(&mut self) -> Option<&mut Frame<'a>> {
        self.frames.get_mut(self.height.wrapping_sub(1))
    }

    /// Adds a body; none when there are too many.
    #[inline]
    pub(super) fn push(&mut self, frame: Frame<'a>) -> Option<()> {
        *self.frames.get_mut(self.height)? = frame;
        self.height = self.height.wrapping_add(1);
        Some(())
    }

    /// Removes the innermost body.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.height = self.height.saturating_sub(1);
    }
}
