//! Which places of a tensor are on its grid, and which grid it has.

use super::super::NIL;
use super::super::grid::{Grid, Tiling, move_owners};
use super::{CELLS_AT_LEAST, CELLS_PER_REGION, Geometry, REGRID_AT, Standing};
use wsp_core::MAX_RANK;

impl Geometry {
    /// Puts a place on the grid, or else into the table.
    pub(super) fn settle(&mut self, tensor: u32, place: u32) {
        if self.settle_on_grid(tensor, place) {
            self.places[place as usize].standing = Standing::OnGrid;
        } else {
            self.settle_off_grid(tensor, place);
        }
    }

    fn settle_off_grid(&mut self, tensor: u32, place: u32) {
        let settled = &self.places[place as usize];
        let (bounds, side) = (settled.bounds(), settled.side);
        self.places[place as usize].standing = Standing::OffGrid;
        let places = &self.places;
        self.table.insert(tensor, &bounds, place, |other| {
            let other = &places[other as usize];
            (other.tensor, other.bounds())
        });
        let tensor = &mut self.tensors[tensor as usize];
        tensor.off_grid += 1;
        if let Some(side) = side {
            tensor.classes = self.index.insert(tensor.classes, side, place, &bounds);
        }
    }

    fn settle_on_grid(&mut self, tensor: u32, place: u32) -> bool {
        let Some(grid) = self.tensors[tensor as usize].grid else { return false };
        let Some(tile) = grid.tiling.tile_of(&self.places[place as usize].bounds()) else { return false };
        let mut cell = grid.cell_of(&tile);
        let owner = self.cells[cell];
        if owner != NIL {
            let theirs = grid.tiling.tile_of(&self.places[owner as usize].bounds());
            let Some(theirs) = theirs.filter(|theirs| *theirs != tile) else { return false };
            if !self.enlarge_grid(tensor, grid.bits_to_part(&tile, &theirs)) {
                return false;
            }
            cell = self.tensors[tensor as usize].grid.map_or(0, |grid| grid.cell_of(&tile));
        }
        self.cells[cell] = place;
        true
    }

    /// Gives the tensor's grid more cells, if it may have so many.
    fn enlarge_grid(&mut self, tensor: u32, bits: [u8; MAX_RANK]) -> bool {
        let Some(from) = self.tensors[tensor as usize].grid else { return false };
        if self.tensors[tensor as usize].registered || !self.set_grid(tensor, from.tiling, bits) {
            return false;
        }
        let to = self.tensors[tensor as usize].grid.unwrap_or(from);
        let places = &self.places;
        move_owners(&mut self.cells, &from, &to, |place| to.tiling.tile_of(&places[place as usize].bounds()));
        true
    }

    /// Replaces the tensor's grid by an empty one, if there may be so many cells.
    pub(super) fn set_grid(&mut self, tensor: u32, tiling: Tiling, bits: [u8; MAX_RANK]) -> bool {
        let most = CELLS_AT_LEAST.max(CELLS_PER_REGION * self.tensors[tensor as usize].count as usize);
        match Grid::cells(&bits) {
            Some(cells) if cells <= most && self.cells.len() + cells <= self.cell_limit => {
                let grid = Grid::new(tiling, bits, self.cells.len() as u32);
                self.cells.resize(self.cells.len() + cells, NIL);
                self.set_finder(tensor, Some(&grid));
                self.tensors[tensor as usize].grid = Some(grid);
                true
            }
            _ => false,
        }
    }

    /// When many regions are off the grid: changes to the tiling that one of them suggests if that holds more regions, or
    /// to more cells if the tiling is the same.
    pub(super) fn reconsider_grid(&mut self, tensor: u32, place: u32) {
        let known = &mut self.tensors[tensor as usize];
        known.regrid_at = known.off_grid.saturating_mul(2);
        if known.registered || !self.grows {
            return;
        }
        let (present, on_grid) =
            (known.grid.map(|grid| grid.tiling), (known.count - known.off_grid) as usize);
        let places = self.places_of(tensor);
        let bounds = |place: &u32| self.places[*place as usize].bounds();
        let like = bounds(&place);
        let alike =
            places.iter().map(bounds).filter(|b| (0..MAX_RANK).all(|d| b.extent(d) == like.extent(d)));
        let tiling = Tiling::of_region(&like).widened(alike);
        let mut tiles: Vec<[u32; MAX_RANK]> =
            places.iter().filter_map(|place| tiling.tile_of(&bounds(place))).collect();
        tiles.sort_unstable();
        tiles.dedup();
        let better = if present == Some(tiling) { on_grid + 1 } else { 2 * on_grid };
        if tiles.len() >= better && self.set_grid(tensor, tiling, [0; MAX_RANK]) {
            self.resettle(tensor, &places);
        }
    }

    /// Settles the places of a tensor anew, on an empty grid. What the table and the index still hold of places now on
    /// the grid does no harm.
    fn resettle(&mut self, tensor: u32, places: &[u32]) {
        self.tensors[tensor as usize].off_grid = 0;
        for &place in places {
            let before = self.places[place as usize].standing;
            if self.settle_on_grid(tensor, place) {
                self.places[place as usize].standing = Standing::OnGrid;
            } else if before == Standing::OnGrid {
                self.settle_off_grid(tensor, place);
            } else {
                self.tensors[tensor as usize].off_grid += 1;
            }
        }
        let known = &mut self.tensors[tensor as usize];
        known.regrid_at = known.off_grid.saturating_mul(2).max(REGRID_AT);
    }

    /// The places of a tensor, oldest first.
    fn places_of(&self, tensor: u32) -> Vec<u32> {
        let mut at = self.tensors[tensor as usize].places;
        let next = || {
            let place = at;
            at = self.places.get(place as usize)?.next;
            Some(place)
        };
        let mut places: Vec<u32> = std::iter::from_fn(next).collect();
        places.reverse();
        places
    }
}
