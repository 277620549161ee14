//! How a task reaches the tensors of its kernel.

use super::kernel::{Reached, Seen};
use super::{AXES, AxisSet};
use wsp_core::TensorId;

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
}

/// The least common multiple, of numbers from 1 on; none above 32 bits.
fn least_multiple(a: u32, b: u32) -> Option<u32> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

impl Reached for Ways {
    fn loaded(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.loaded
    }

    fn stored(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.stored
    }

    fn along(&self) -> AxisSet {
        let seen = || self.0.iter().flat_map(|way| [way.loaded, way.stored]).flatten();
        let parts = seen().fold(AxisSet::default(), |all, seen| all.with(seen.parts));
        parts.without(seen().fold(AxisSet::default(), |all, seen| all.with(seen.axes())))
    }

    fn same(&self, a: TensorId, b: TensorId) -> bool {
        self.tensor(a) == self.tensor(b)
    }
}
