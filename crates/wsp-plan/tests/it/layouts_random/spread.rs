//! Tensors on the tiles of a grid, and which tiles run a task.

use super::program::{Lies, Program, Tensor};

/// First indices and ends of a box.
pub(super) type Hull = [[usize; 2]; 2];

/// The boxes that a task touches, by tensor.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    pub(super) loaded: Vec<Option<Hull>>,
    pub(super) stored: Vec<Option<Hull>>,
}

impl Reach {
    pub(super) fn none(tensors: usize) -> Reach {
        Reach { loaded: vec![None; tensors], stored: vec![None; tensors] }
    }

    /// All of each tensor that is touched.
    pub(super) fn widened(&self, tensors: &[Tensor]) -> Reach {
        let all = |hulls: &[Option<Hull>]| {
            let hulls = hulls.iter().zip(tensors);
            hulls.map(|(hull, tensor)| hull.map(|_| [[0; 2], tensor.shape])).collect()
        };
        Reach { loaded: all(&self.loaded), stored: all(&self.stored) }
    }
}

pub(super) fn widen(hull: &mut Option<Hull>, [lo, hi]: Hull) {
    let old = hull.unwrap_or([lo, hi]);
    *hull =
        Some([[old[0][0].min(lo[0]), old[0][1].min(lo[1])], [old[1][0].max(hi[0]), old[1][1].max(hi[1])]]);
}

/// A tensor with the copy that each tile has of each element that it has.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    pub(super) shape: [usize; 2],
    pub(super) stored: Lies,
    pub(super) read: Lies,
    /// What tasks load is brought into another layout, or summed up.
    pub(super) moved: bool,
    /// Axes over whose tiles the value is the sum of the copies.
    pub(super) pending: [bool; 2],
    grid: [usize; 2],
    copies: Vec<u64>,
    /// Elements that have a value.
    known: Vec<bool>,
}

/// A value that no program computes.
pub(super) const JUNK: u64 = 0xdead_beef_0bad_f00d;

impl Spread {
    /// A tensor with its first values, which the first tile has where the tensor is a sum.
    pub(super) fn new(
        tensor: &Tensor,
        grid: [usize; 2],
        pending: [bool; 2],
        first: &dyn Fn([usize; 2]) -> u64,
    ) -> Spread {
        // An axis of one tile shards nothing.
        let several = |lies: Lies| lies.map(|axis| axis.filter(|axis| grid[*axis] > 1));
        let stored = several(tensor.stored.unwrap_or_default());
        let read = tensor.read.map_or(stored, several);
        let pending = [0, 1].map(|axis| pending[axis] && grid[axis] > 1);
        let mut made = Spread {
            shape: tensor.shape,
            stored,
            read,
            moved: tensor.read.is_some() && (read != stored || pending != [false; 2]),
            pending,
            grid,
            known: vec![!tensor.inner; tensor.shape[0] * tensor.shape[1]],
            copies: vec![0; tensor.shape[0] * tensor.shape[1] * grid[0] * grid[1]],
        };
        for row in 0..tensor.shape[0] {
            for column in 0..tensor.shape[1] {
                for tile in 0..grid[0] * grid[1] {
                    let place = [tile % grid[0], tile / grid[0]];
                    let has =
                        (0..2).all(|axis| !pending[axis] || place[axis] == 0 || stored.contains(&Some(axis)));
                    *made.copy([row, column], place) = if has { first([row, column]) } else { 0 };
                }
            }
        }
        made
    }

    /// Where a tile stores an element.
    pub(super) fn stored(&mut self, at: [usize; 2], tile: [usize; 2]) -> &mut u64 {
        self.known[at[0] * self.shape[1] + at[1]] = true;
        self.copy(at, tile)
    }

    /// Whether a box has values.
    pub(super) fn is_known(&self, [lo, hi]: Hull) -> bool {
        (lo[0]..hi[0]).all(|row| (lo[1]..hi[1]).all(|column| self.known[row * self.shape[1] + column]))
    }

    fn copy(&mut self, at: [usize; 2], tile: [usize; 2]) -> &mut u64 {
        let place = self.place(at, tile);
        &mut self.copies[place]
    }

    fn place(&self, [row, column]: [usize; 2], [x, y]: [usize; 2]) -> usize {
        ((row * self.shape[1] + column) * self.grid[1] + y) * self.grid[0] + x
    }

    /// How many indices of a dimension tiles along its axis have.
    pub(super) fn part(&self, lies: Lies, dim: usize) -> Option<(usize, usize)> {
        let axis = lies[dim]?;
        Some((axis, self.shape[dim].div_ceil(self.grid[axis])))
    }

    /// Where along an axis the tile is that has an index, in a layout that shards a dimension over it.
    pub(super) fn owner(&self, lies: Lies, axis: usize, at: [usize; 2]) -> Option<usize> {
        let dim = (0..2).find(|dim| lies[*dim] == Some(axis))?;
        Some(at[dim] / self.part(lies, dim)?.1)
    }

    /// The dimensions in which a box lies on several tiles.
    pub(super) fn across(&self, lies: Lies, hull: Option<Hull>) -> [bool; 2] {
        [0, 1].map(|dim| match (hull, self.part(lies, dim)) {
            (Some([lo, hi]), Some((_, part))) => lo[dim] / part != (hi[dim] - 1) / part,
            _ => false,
        })
    }

    /// What a tile has, where it has it.
    pub(super) fn local(&self, at: [usize; 2], tile: [usize; 2]) -> u64 {
        let tile = [0, 1].map(|axis| self.owner(self.stored, axis, at).unwrap_or(tile[axis]));
        self.copies[self.place(at, tile)]
    }

    /// The value, put together from the tiles.
    pub(super) fn value(&self, at: [usize; 2]) -> u64 {
        let along = |axis: usize, of: &dyn Fn(usize) -> u64| match self.owner(self.stored, axis, at) {
            Some(owner) => of(owner),
            None if self.pending[axis] => (0..self.grid[axis]).map(of).fold(0, u64::wrapping_add),
            None => {
                let first = of(0);
                if (1..self.grid[axis]).all(|other| of(other) == first) { first } else { JUNK }
            }
        };
        along(1, &|y| along(0, &|x| self.copies[self.place(at, [x, y])]))
    }

    pub(super) fn values(&self) -> Vec<u64> {
        let all = (0..self.shape[0]).flat_map(|row| (0..self.shape[1]).map(move |column| [row, column]));
        all.map(|at| self.value(at)).collect()
    }
}

/// The tiles that run a task.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    /// Axes all of whose tiles run it.
    pub(super) across: [bool; 2],
    /// Where the tile is along the others.
    pub(super) base: [usize; 2],
    /// Axes along which what the task touches says which tile it is for.
    pub(super) said: [bool; 2],
    /// Dimensions of each tensor that are loaded, or stored, across tiles.
    pub(super) loaded: Vec<[bool; 2]>,
    pub(super) stored: Vec<[bool; 2]>,
}

impl Sites {
    pub(super) fn of(tensors: &[Spread], reach: &Reach, task: usize, grid: [usize; 2]) -> Sites {
        let loads = || tensors.iter().zip(&reach.loaded).map(|(of, hull)| (of, of.read, *hull));
        let stores = || tensors.iter().zip(&reach.stored).map(|(of, hull)| (of, of.stored, *hull));
        let (mut across, mut said, mut base) = ([false; 2], [false; 2], [None; 2]);
        for (of, lies, hull) in stores().chain(loads()) {
            for dim in 0..2 {
                let (Some((axis, part)), Some([lo, _])) = (of.part(lies, dim), hull) else { continue };
                across[axis] |= of.across(lies, hull)[dim];
                said[axis] |= part < of.shape[dim];
                base[axis].get_or_insert(lo[dim] / part);
            }
        }
        Sites {
            across,
            base: [0, 1].map(|axis| base[axis].unwrap_or(task % grid[axis])),
            said,
            loaded: loads().map(|(of, lies, hull)| of.across(lies, hull)).collect(),
            stored: stores().map(|(of, lies, hull)| of.across(lies, hull)).collect(),
        }
    }
}

/// The tensors of a program with their first values.
pub(super) fn tensors(program: &Program, grid: [usize; 2], pending: &[[bool; 2]]) -> Vec<Spread> {
    let each = program.tensors.iter().zip(pending).enumerate();
    each.map(|(number, (tensor, pending))| {
        let first =
            |[row, column]: [usize; 2]| super::tiles::mixed((number * 1000 + row * 30 + column + 7) as u64);
        Spread::new(tensor, grid, *pending, &first)
    })
    .collect()
}
