//! The distinct regions in use, as places: finding one by equality, and those that overlap it.

mod settle;

use super::grid::{Axes, Bounds, Grid, Tiling, cell_at};
use super::index::{RegionIndex, Side};
use super::table::RegionTable;
use super::{Capacity, MapError, NIL, Store};
use rustc_hash::FxHashMap;
use wsp_core::{MAX_RANK, Region, TensorId};

/// Tensors with smaller ids are found without hashing, in a map that never allocates and in one that does.
const DIRECT: usize = 1 << 12;
const DIRECT_GROWN: usize = 1 << 18;
/// Regions off a tensor's grid at which another grid is first considered.
const REGRID_AT: u32 = 32;
/// Cells that any grid may have, however few regions the tensor has.
const CELLS_AT_LEAST: usize = 4096;
/// Cells that a grid may have per region of its tensor.
const CELLS_PER_REGION: usize = 16;
/// Most places of a map: links keep two bits beside a place.
pub(super) const MAX_PLACES: u32 = 1 << 30;

/// One distinct region.
#[derive(Clone, Copy, Debug)]
struct Place {
    region: Region,
    tensor: u32,
    /// The tensor's next place.
    next: u32,
    standing: Standing,
    /// Which side it is on, once it is published.
    side: Option<Side>,
}

impl Place {
    fn bounds(&self) -> Bounds {
        Bounds::of(&self.region)
    }
}

/// How a place is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// The number is free.
    Vacant,
    /// Through the grid of its tensor.
    OnGrid,
    /// Through the table.
    OffGrid,
}

/// What finding a region of a tensor takes, beside its [`Axes`].
#[derive(Clone, Copy, Debug)]
struct Finder {
    tensor: u32,
    /// First cell of its grid.
    start: u32,
    axis_count: u32,
}

impl Finder {
    /// Finds no tensor, and the cell that is always empty.
    const NONE: Finder = Finder { tensor: NIL, start: 0, axis_count: 0 };
}

/// What else is known of a tensor.
#[derive(Debug)]
struct Tensor {
    id: TensorId,
    grid: Option<Grid>,
    /// Registered with its tiles, which stay.
    registered: bool,
    /// First of its places, and how many there are.
    places: u32,
    count: u32,
    off_grid: u32,
    /// Regions off the grid at which another is considered.
    regrid_at: u32,
    /// First of its classes in the index.
    classes: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Geometry {
    places: Vec<Place>,
    vacant: Vec<u32>,
    tensors: Vec<Tensor>,
    /// Per tensor.
    axes: Vec<Axes>,
    /// Place or [`NIL`] per cell of every grid; the first belongs to none and stays empty.
    cells: Vec<u32>,
    direct: Vec<Finder>,
    sparse: FxHashMap<TensorId, Finder>,
    table: RegionTable,
    index: RegionIndex,
    /// The most of each; [`MAX_PLACES`] regions if the map grows.
    limit: Capacity,
    cell_limit: usize,
    grows: bool,
}

impl Geometry {
    pub(super) fn growing() -> Geometry {
        let limit =
            Capacity { tensors: NIL, regions: MAX_PLACES, readers: NIL, overlaps: NIL, accesses: NIL };
        Geometry::sized(0, 0, 1, limit, MAX_PLACES as usize)
    }

    pub(super) fn fixed(capacity: Capacity) -> Geometry {
        let regions = capacity.regions as usize;
        let cells = 1 + CELLS_PER_REGION * regions;
        Geometry::sized(regions, capacity.tensors as usize, cells, capacity, cells)
    }

    fn sized(regions: usize, tensors: usize, cells: usize, limit: Capacity, cell_limit: usize) -> Geometry {
        let mut store = Vec::with_capacity(cells);
        store.push(NIL);
        Geometry {
            places: Vec::with_capacity(regions),
            vacant: Vec::with_capacity(regions),
            tensors: Vec::with_capacity(tensors),
            axes: Vec::with_capacity(tensors),
            cells: store,
            direct: vec![Finder::NONE; DIRECT],
            sparse: FxHashMap::with_capacity_and_hasher(tensors, Default::default()),
            table: RegionTable::new(regions),
            index: RegionIndex::new(2 * regions),
            grows: limit.regions == MAX_PLACES,
            limit,
            cell_limit,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
            + self.vacant.capacity() * size_of::<u32>()
            + self.tensors.capacity() * (size_of::<Tensor>())
            + self.axes.capacity() * size_of::<Axes>()
            + self.cells.capacity() * size_of::<u32>()
            + self.direct.capacity() * size_of::<Finder>()
            + self.sparse.capacity() * size_of::<(TensorId, Finder)>()
            + self.table.bytes()
            + self.index.bytes()
    }

    /// Numbers given to places so far, vacant ones included.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Numbers that are free again.
    pub(super) fn vacant(&self) -> usize {
        self.vacant.len()
    }

    /// The region of a place.
    pub(super) fn region(&self, place: u32) -> Region {
        self.places[place as usize].region
    }

    pub(super) fn covers(&self, place: u32, other: u32) -> bool {
        self.places[place as usize].region.covers(&self.places[other as usize].region)
    }

    /// The place of a region, if it has one, and its side, if it is published.
    #[inline(always)]
    pub(super) fn find(&self, region: &Region) -> Option<(u32, Option<Side>)> {
        let finder = match self.direct.get(region.tensor.index()) {
            Some(finder) => finder,
            None => self.sparse.get(&region.tensor)?,
        };
        let mut cell = finder.start;
        if finder.axis_count > 0 {
            cell += cell_at(&self.axes[finder.tensor as usize], finder.axis_count, &region.lo);
        }
        let place = self.cells[cell as usize];
        match self.places.get(place as usize) {
            Some(owner) if owner.region == *region => Some((place, owner.side)),
            _ => self.find_off_grid(finder.tensor, region),
        }
    }

    #[inline(never)]
    fn find_off_grid(&self, tensor: u32, region: &Region) -> Option<(u32, Option<Side>)> {
        if self.tensors.get(tensor as usize)?.off_grid == 0 || region.is_empty() {
            return None;
        }
        let bounds = Bounds::of(region);
        let place =
            self.table.find(tensor, &bounds, |place| self.places[place as usize].region == *region)?;
        Some((place, self.places[place as usize].side))
    }

    fn tensor(&self, id: TensorId) -> Option<u32> {
        let finder = self.direct.get(id.index()).or_else(|| self.sparse.get(&id))?;
        (finder.tensor != NIL).then_some(finder.tensor)
    }

    fn set_finder(&mut self, tensor: u32, grid: Option<&Grid>) {
        let (axes, axis_count) = grid.map_or_else(Default::default, Grid::axes);
        self.axes[tensor as usize] = axes;
        let id = self.tensors[tensor as usize].id;
        let finder = Finder { tensor, start: grid.map_or(0, Grid::start), axis_count };
        match self.direct.get_mut(id.index()) {
            Some(direct) => *direct = finder,
            None => {
                self.sparse.insert(id, finder);
            }
        }
    }

    fn tensor_or_insert(&mut self, id: TensorId) -> Result<u32, MapError> {
        if let Some(tensor) = self.tensor(id) {
            return Ok(tensor);
        }
        if self.tensors.len() >= self.limit.tensors as usize {
            return Err(MapError::Full { store: Store::Tensors, capacity: self.limit.tensors });
        }
        let tensor = self.tensors.len() as u32;
        self.tensors.push(Tensor {
            id,
            grid: None,
            registered: false,
            places: NIL,
            count: 0,
            off_grid: 0,
            regrid_at: REGRID_AT,
            classes: NIL,
        });
        self.axes.push(Axes::default());
        if self.grows && (self.direct.len()..DIRECT_GROWN).contains(&id.index()) {
            self.direct.resize((id.index() + 1).next_power_of_two(), Finder::NONE);
        }
        self.set_finder(tensor, None);
        Ok(tensor)
    }

    /// Gives a region that is not empty and has none a place.
    pub(super) fn create(&mut self, region: &Region) -> Result<u32, MapError> {
        let tensor = self.tensor_or_insert(region.tensor)?;
        let place = self.take_place(tensor, region)?;
        let bounds = self.places[place as usize].bounds();
        if self.tensors[tensor as usize].grid.is_none() {
            self.set_grid(tensor, Tiling::of_region(&bounds), [0; MAX_RANK]);
        }
        self.settle(tensor, place);
        if self.tensors[tensor as usize].off_grid >= self.tensors[tensor as usize].regrid_at {
            self.reconsider_grid(tensor, place);
        }
        Ok(place)
    }

    fn take_place(&mut self, tensor: u32, region: &Region) -> Result<u32, MapError> {
        let next = self.tensors[tensor as usize].places;
        let taken = Place { region: *region, tensor, next, standing: Standing::OffGrid, side: None };
        let place = match self.vacant.pop() {
            Some(place) => {
                self.places[place as usize] = taken;
                place
            }
            None if self.places.len() >= self.limit.regions as usize => {
                return Err(MapError::Full { store: Store::Regions, capacity: self.limit.regions });
            }
            None => {
                self.places.push(taken);
                self.places.len() as u32 - 1
            }
        };
        self.tensors[tensor as usize].places = place;
        self.tensors[tensor as usize].count += 1;
        Ok(place)
    }

    /// Lets later lookups find a place on this side.
    pub(super) fn publish(&mut self, place: u32, side: Side) {
        let published = &mut self.places[place as usize];
        published.side = Some(side);
        if published.standing == Standing::OffGrid {
            let tensor = &mut self.tensors[published.tensor as usize];
            tensor.classes = self.index.insert(tensor.classes, side, place, &published.bounds());
        }
    }

    /// Shows the other published places of a side that overlap a place, some perhaps twice.
    pub(super) fn overlapping(&self, place: u32, side: Side, mut show: impl FnMut(u32)) {
        let about = &self.places[place as usize];
        self.overlapping_bounds(about.tensor, &about.bounds(), side, about.standing, |other| {
            if other != place {
                show(other);
            }
        });
    }

    /// Shows the published places of a side that overlap a region that is not empty, some perhaps twice.
    pub(super) fn overlapping_region(&self, region: &Region, side: Side, show: impl FnMut(u32)) {
        if let Some(tensor) = self.tensor(region.tensor) {
            self.overlapping_bounds(tensor, &Bounds::of(region), side, Standing::OffGrid, show);
        }
    }

    /// If the region itself stands on the grid, the others there are disjoint.
    fn overlapping_bounds(
        &self,
        tensor: u32,
        bounds: &Bounds,
        side: Side,
        own: Standing,
        mut show: impl FnMut(u32),
    ) {
        let mut offer = |place: u32, standing: Standing| {
            if let Some(other) = self.places.get(place as usize)
                && other.standing == standing
                && other.side == Some(side)
                && other.bounds().overlaps(bounds)
            {
                show(place);
            }
        };
        let tensor = &self.tensors[tensor as usize];
        if tensor.off_grid > 0 {
            self.index.near(tensor.classes, side, bounds, |place| offer(place, Standing::OffGrid));
        }
        if let Some(grid) = &tensor.grid
            && own != Standing::OnGrid
        {
            grid.cells_near(bounds, |cell| offer(self.cells[cell], Standing::OnGrid));
        }
    }

    /// Frees the places for which `keep` is false; tiles of registered tensors have to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.table.clear();
        self.index.clear();
        for tensor in &mut self.tensors {
            (tensor.places, tensor.count, tensor.off_grid, tensor.classes) = (NIL, 0, 0, NIL);
        }
        for place in 0..self.places.len() as u32 {
            let Place { tensor, standing, region, .. } = self.places[place as usize];
            if standing == Standing::OnGrid
                && !keep(place)
                && let Some(grid) = &self.tensors[tensor as usize].grid
                && let Some(tile) = grid.tiling.tile_of(&Bounds::of(&region))
            {
                self.cells[grid.cell_of(&tile)] = NIL;
            }
        }
        for place in 0..self.places.len() as u32 {
            let Place { tensor, standing, .. } = self.places[place as usize];
            if standing == Standing::Vacant {
                continue;
            }
            if !keep(place) {
                self.places[place as usize].standing = Standing::Vacant;
                self.vacant.push(place);
                continue;
            }
            self.places[place as usize].next =
                std::mem::replace(&mut self.tensors[tensor as usize].places, place);
            self.tensors[tensor as usize].count += 1;
            if standing == Standing::OffGrid {
                self.settle(tensor, place);
            }
        }
        for tensor in &mut self.tensors {
            tensor.regrid_at = tensor.regrid_at.max(tensor.off_grid.saturating_mul(2));
        }
    }

    /// Registers a tensor that has no place, with all its tiles as places in a row, the last dimension fastest.
    /// Returns the first.
    pub(super) fn register(
        &mut self,
        id: TensorId,
        tiling: Tiling,
        bits: [u8; MAX_RANK],
        tiles: impl ExactSizeIterator<Item = Bounds>,
    ) -> Result<Option<u32>, MapError> {
        let tensor = self.tensor_or_insert(id)?;
        if self.tensors[tensor as usize].count > 0 {
            return Ok(None);
        }
        let full = MapError::Full { store: Store::Regions, capacity: self.limit.regions };
        let (first, start) = (self.places.len(), self.cells.len());
        let cells = Grid::cells(&bits).filter(|cells| start + cells <= NIL as usize).ok_or(full)?;
        if first + tiles.len() > self.limit.regions as usize {
            return Err(full);
        }
        let grid = Grid::new(tiling, bits, start as u32);
        self.cells.resize(start + cells, NIL);
        self.cell_limit = self.cell_limit.saturating_add(cells);
        self.set_finder(tensor, Some(&grid));
        let known = &mut self.tensors[tensor as usize];
        (known.grid, known.registered) = (Some(grid), true);
        for bounds in tiles {
            let place = self.places.len() as u32;
            if let Some(tile) = tiling.tile_of(&bounds) {
                self.cells[grid.cell_of(&tile)] = place;
            }
            let next = std::mem::replace(&mut self.tensors[tensor as usize].places, place);
            self.tensors[tensor as usize].count += 1;
            let region = Region { tensor: id, lo: bounds.lo, hi: bounds.hi };
            self.places.push(Place { region, tensor, next, standing: Standing::OnGrid, side: None });
        }
        Ok(Some(first as u32))
    }
}
