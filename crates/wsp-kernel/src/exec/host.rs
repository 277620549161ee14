//! What a generator asks of the machine that runs it.

use super::flat::FlatBuffer;
use crate::Trap;
use wsp_core::{AxisId, StructId, TierSetId};
use wsp_ir::AffinityPolicy;

/// Where a generator's effects go. Traps that a host returns are given the position of the statement when their span is
/// the default one.
pub trait GeneratorHost {
    /// One task: a value per field of the descriptor type.
    ///
    /// # Errors
    /// When the host cannot take it.
    fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), Trap>;

    /// Where descriptors go that need nothing but to be kept: an engine may put them there without [`GeneratorHost::emit`],
    /// which does the same. Other hosts have none.
    fn flat(&mut self) -> Option<&mut FlatBuffer> {
        None
    }

    /// Tasks emitted from here on start when all those before are complete.
    fn fence(&mut self);

    /// A workspace slot, as an offset in bytes. What [`GeneratorHost::flat`] gives stays where it is meanwhile: an engine may be writing to it.
    ///
    /// # Errors
    /// When workspace or the range of offsets is exhausted.
    fn alloc_ws(&mut self, request: &WsRequest<'_>) -> Result<u32, Trap>;

    /// Whether the slots of a key lie side by side, and where they lie as long as the run lasts: slot `i` is `i · slot_bytes`
    /// behind slot 0. Then an engine need not ask again for slots of a key, tier and count that it has asked for.
    fn remembers_slots(&self) -> bool {
        false
    }

    /// `PTO_SET_TILE`; the size is at least 1.
    ///
    /// # Errors
    /// When the host cannot take it.
    fn set_tile(&mut self, axis: AxisId, size: u32) -> Result<(), Trap>;

    /// `PTO_SET_EXTENT`.
    ///
    /// # Errors
    /// When the host cannot take it.
    fn set_extent(&mut self, axis: AxisId, extent: Extent<'_>) -> Result<(), Trap>;

    /// The tile of an axis: as set, fixed, or chosen automatically now.
    ///
    /// # Errors
    /// When no tile can be given.
    fn axis_tile(&mut self, axis: AxisId) -> Result<u32, Trap>;

    /// The extent of an axis that is not in [`crate::Env::axis_extents`].
    ///
    /// # Errors
    /// When it is not known.
    fn axis_extent(&mut self, axis: AxisId) -> Result<u32, Trap>;

    /// Asked every few thousand steps; true stops the generator.
    fn cancelled(&self) -> bool;
}

/// Element extents of a dynamic axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent<'a> {
    /// The same for every outer index.
    Scalar(u32),
    /// One per value of the space's first axis.
    PerOuter(&'a [u32]),
}

/// One evaluation of `PTO_ALLOC_WS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WsRequest<'a> {
    /// The tier set whose workspace sizes apply. Every site that names the same set shares one table of keys.
    pub set: TierSetId,
    /// Index of the tier.
    pub tier: u32,
    /// Bytes per slot of that tier.
    pub slot_bytes: u64,
    /// Identity of the reservation.
    pub key: &'a [u32],
    /// Slots reserved for the key.
    pub count: u32,
    /// Slot asked for; below `count`.
    pub index: u32,
}

/// What the schedule says of one emitted task.
#[derive(Clone, Copy, Debug)]
pub struct Hints<'a> {
    pub(crate) shape: &'a HintShape,
    /// Values of the affinities, then value and rest of each prefetch, the priority last.
    pub(crate) words: &'a [u32],
}

/// A prefetch hint with its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefetchValue<'a> {
    /// Index on the axis.
    pub value: u32,
    /// Iterations ahead.
    pub depth: u32,
    /// Indices on the other axes.
    pub rest: &'a [u32],
}

/// The part of a task's hints that is the same for every task of one site.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HintShape {
    pub(crate) affinity: Vec<AffinityPolicy>,
    /// Depth and number of other axes.
    pub(crate) prefetch: Vec<(u32, u32)>,
    /// Whether there is a priority.
    pub(crate) priority: bool,
}

impl HintShape {
    /// Words that a task's hints take.
    pub(crate) fn words(&self) -> usize {
        let prefetch = self.prefetch.iter().map(|(_, rest)| 1 + *rest as usize).sum::<usize>();
        self.affinity.len() + prefetch + usize::from(self.priority)
    }
}

impl<'a> Hints<'a> {
    /// No hints.
    pub const NONE: Hints<'static> = Hints {
        shape: &HintShape { affinity: Vec::new(), prefetch: Vec::new(), priority: false },
        words: &[],
    };

    /// Placement: policy, and the value whose equals belong together.
    pub fn affinity(self) -> impl ExactSizeIterator<Item = (AffinityPolicy, u32)> + 'a {
        self.shape.affinity.iter().copied().zip(self.words.iter().copied())
    }

    /// Of the ready tasks that with the larger one starts first.
    pub fn priority(self) -> Option<u32> {
        self.words.last().copied().filter(|_| self.shape.priority)
    }

    /// Look-ahead.
    pub fn prefetch(self) -> impl Iterator<Item = PrefetchValue<'a>> {
        let mut words = &self.words[self.shape.affinity.len()..];
        self.shape.prefetch.iter().map(move |&(depth, count)| {
            let (own, others) = words.split_at(1 + count as usize);
            words = others;
            PrefetchValue { value: own[0], depth, rest: &own[1..] }
        })
    }
}
