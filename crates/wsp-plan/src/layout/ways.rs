//! How a task reaches the tensors of its kernel.

use super::{AXES, AxisSet};
use wsp_core::TensorId;
use wsp_core::limits::MAX_RANK;
use wsp_core::policy::LayoutDim;

/// A tensor as one task reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Seen {
    /// The axes of dimensions that the task reaches across tiles.
    pub(super) dims: [LayoutDim; MAX_RANK],
    /// Of these dimensions: the index that a kernel counts as 0, where they end, and how many indices a tile has.
    pub(super) first: [u32; MAX_RANK],
    pub(super) end: [u32; MAX_RANK],
    pub(super) part: [u32; MAX_RANK],
    /// The dimensions of the tensor itself that are reached across tiles.
    pub(super) across: [LayoutDim; MAX_RANK],
    /// The axes of dimensions of which the task reaches the part of one tile.
    pub(super) within: AxisSet,
    /// Where it is read: its pending sums.
    pub(super) pending: AxisSet,
    /// Where it is read: whether a relayout brings it there from where it is stored.
    pub(super) is_moved: bool,
    /// The task does not reach it at all.
    pub(super) nowhere: bool,
    /// The axes over which other tasks reach other parts of it, on other tiles.
    pub(super) parts: AxisSet,
}

impl Seen {
    /// Axes that it is reached across.
    pub(super) fn axes(&self) -> AxisSet {
        self.dims.iter().filter_map(|dim| dim.axis()).collect()
    }
}

/// How a task reaches each of the tensors of its kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Ways(pub(super) Vec<Way>);

/// Where a task loads and where it stores a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Way {
    /// Its name in the kernel: a view of it may have another.
    pub(super) name: TensorId,
    pub(super) tensor: TensorId,
    pub(super) loaded: Option<Seen>,
    pub(super) stored: Option<Seen>,
}

impl Ways {
    fn of(&self, name: TensorId) -> Option<&Way> {
        self.0.iter().find(|way| way.name == name)
    }

    /// The tensor that a name of the kernel stands for.
    pub(super) fn tensor(&self, name: TensorId) -> TensorId {
        self.of(name).map_or(name, |way| way.tensor)
    }

    /// Counts dimensions along each axis from the first part of all that is reached: tasks that reach later parts in the same way are alike.
    pub(super) fn count_from_first_part(&mut self) {
        for axis in AXES {
            let mut reached: Vec<(&mut u32, &mut u32, u32)> = Vec::new();
            for seen in self.0.iter_mut().flat_map(|way| [&mut way.loaded, &mut way.stored]).flatten() {
                let dims = seen.dims.iter().zip(&seen.part).zip(seen.first.iter_mut().zip(&mut seen.end));
                let over = dims.filter(|((dim, _), _)| dim.axis() == Some(axis));
                reached.extend(over.map(|((_, part), (first, end))| (first, end, *part)));
            }
            let Some(first) = reached.iter().map(|(first, ..)| **first).min() else { continue };
            let Some(parts) = reached.iter().try_fold(1u32, |all, (.., part)| least_multiple(all, *part))
            else {
                continue;
            };
            let before = first - first % parts;
            for (first, end, _) in reached {
                (*first, *end) = (*first - before, *end - before);
            }
        }
    }

    /// How a tensor is loaded; none where nothing is said of it.
    pub(super) fn loaded(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.loaded
    }

    /// How a tensor is stored; none where nothing is said of it.
    pub(super) fn stored(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.stored
    }

    /// The axes along which the tile of the task follows from the parts that it reaches, and which it does not reach across.
    pub(super) fn along(&self) -> AxisSet {
        let seen = || self.0.iter().flat_map(|way| [way.loaded, way.stored]).flatten();
        let parts = seen().fold(AxisSet::default(), |all, seen| all.with(seen.parts));
        parts.without(seen().fold(AxisSet::default(), |all, seen| all.with(seen.axes())))
    }

    /// Whether both names stand for one tensor.
    pub(super) fn same(&self, a: TensorId, b: TensorId) -> bool {
        self.tensor(a) == self.tensor(b)
    }
}

/// The least common multiple, of numbers from 1 on; none above 32 bits.
fn least_multiple(a: u32, b: u32) -> Option<u32> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}
