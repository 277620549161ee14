//! The tiles of one running function.

use super::buffer::Buffer;
use crate::memory::{Fault, RowsView, Segment, Shape};
use crate::simd::{Grid, Kernels, Mode, ROW_ALIGN, Rows};
use wsp_core::DType;
use wsp_core::limits::MAX_TILE_BYTES;

/// The tiles of one running function, addressed by the ids that [`Tiles::add`] gives out: 0, 1, 2, ….
///
/// Methods panic on an id that was not given out. After a fault, valid parts are as before.
/// Buffers outlive [`Tiles::reset`], so that a worker uses the same memory for all its tasks.
pub(crate) struct Tiles {
    pub(super) tiles: Vec<Tile>,
    pub(super) kernels: &'static Kernels,
    /// Whether a load may leave a tile in the array's memory.
    pub(super) views: bool,
    /// Where a result goes when its destination is an operand; then the buffers change places.
    pub(super) spare: Buffer,
    /// Packed operands of a matrix product, a copied row.
    pub(super) scratch: Buffer,
    /// Candidates of a selection.
    pub(super) candidates: Vec<(f32, i32)>,
    /// Where a load finds its rows, before the destination is touched.
    pub(super) found: RowsView,
}

/// One tile.
pub(super) struct Tile {
    pub(super) capacity: Shape,
    pub(super) shape: Shape,
    pub(super) elem: DType,
    /// Whether the valid part is `view` rather than `buffer`.
    pub(super) in_place: bool,
    /// Rows of [`stride_of`] floats; no memory before the first write.
    pub(super) buffer: Buffer,
    /// Rows in an array; contiguous columns of a type that is exact in `elem`.
    pub(super) view: RowsView,
    /// The rows after those of `view`, which the next load probably wants.
    pub(super) ahead: Vec<Segment>,
}

impl Tiles {
    /// No tiles.
    pub(crate) fn new(mode: Mode) -> Tiles {
        Tiles::with_kernels(mode.kernels(), mode.reads_in_place())
    }

    /// No tiles; `views` says whether loads may leave them in place.
    pub(super) fn with_kernels(kernels: &'static Kernels, views: bool) -> Tiles {
        Tiles {
            tiles: Vec::new(),
            kernels,
            views,
            spare: Buffer::new(),
            scratch: Buffer::new(),
            candidates: Vec::new(),
            found: RowsView::empty(),
        }
    }

    /// Adds an empty tile. Its memory is taken at the first write, rows padded to 64 bytes.
    ///
    /// # Errors
    /// `TileTooLarge`, and `NotFloat` for an integer element type.
    pub(crate) fn add(&mut self, capacity: Shape, elem: DType) -> Result<usize, Fault> {
        if !elem.is_float() {
            return Err(Fault::NotFloat { dtype: elem });
        }
        let row = u64::from(capacity.cols).next_multiple_of(ROW_ALIGN as u64) * size_of::<f32>() as u64;
        let bytes = row.saturating_mul(u64::from(capacity.rows));
        if bytes > MAX_TILE_BYTES {
            return Err(Fault::TileTooLarge { shape: capacity, bytes });
        }
        self.tiles.push(Tile {
            capacity,
            shape: Shape::default(),
            elem,
            in_place: false,
            buffer: Buffer::new(),
            view: RowsView::empty(),
            ahead: Vec::new(),
        });
        Ok(self.tiles.len() - 1)
    }

    /// Makes every tile empty and forgets every address in an array. Ids stay valid.
    pub(crate) fn reset(&mut self) {
        self.found.clear();
        for tile in 0..self.tiles.len() {
            self.clear(tile);
        }
    }

    /// Makes one tile empty.
    pub(crate) fn clear(&mut self, tile: usize) {
        let tile = &mut self.tiles[tile];
        tile.shape = Shape::default();
        tile.in_place = false;
        tile.view.clear();
        tile.ahead.clear();
    }

    /// The valid part.
    pub(crate) fn shape(&self, tile: usize) -> Shape {
        self.tiles[tile].shape
    }

    /// The capacity.
    #[cfg(test)]
    pub(super) fn capacity(&self, tile: usize) -> Shape {
        self.tiles[tile].capacity
    }

    /// Copies a tile that lies in an array into its own buffer.
    pub(super) fn own(&mut self, id: usize) {
        let kernels = self.kernels;
        let tile = &mut self.tiles[id];
        if !tile.in_place {
            return;
        }
        let stride = stride_of(tile.capacity);
        let to = tile.buffer.reserve(stride * tile.capacity.rows as usize);
        for (r, row) in tile.view.row_ptrs().enumerate() {
            // SAFETY: a view has at most `capacity.rows` rows of at most `capacity.cols` contiguous elements of a type that
            // `widen` takes; the buffer has `stride` floats for each.
            unsafe { (kernels.widen)(to.add(r * stride), row, tile.view.dtype, tile.view.cols as usize) };
        }
        tile.in_place = false;
        tile.view.clear();
        tile.ahead.clear();
    }

    /// The valid part of a tile that lies in its own buffer.
    pub(super) fn grid(&mut self, id: usize) -> Grid {
        let tile = &mut self.tiles[id];
        let stride = stride_of(tile.capacity);
        let ptr = tile.buffer.reserve(stride * tile.capacity.rows as usize);
        Grid { ptr, stride, rows: tile.shape.rows as usize, cols: tile.shape.cols as usize }
    }

    /// Whether a result fits a destination.
    pub(super) fn check_fit(&self, dst: usize, need: Shape) -> Result<(), Fault> {
        let have = self.tiles[dst].capacity;
        if need.rows > have.rows || need.cols > have.cols {
            return Err(Fault::Capacity { have, need });
        }
        Ok(())
    }

    /// Makes a tile's own buffer its valid part, of a shape that fits; returns it for writing.
    pub(super) fn begin(&mut self, dst: usize, shape: Shape) -> Grid {
        let tile = &mut self.tiles[dst];
        tile.shape = shape;
        tile.in_place = false;
        tile.view.clear();
        tile.ahead.clear();
        self.grid(dst)
    }

    /// As [`Tiles::begin`], in a buffer that no tile lies in; [`Tiles::swap_spare`] makes it the tile's.
    pub(super) fn spare_grid(&mut self, dst: usize, shape: Shape) -> Grid {
        let capacity = self.tiles[dst].capacity;
        let stride = stride_of(capacity);
        let ptr = self.spare.reserve(stride * capacity.rows as usize);
        Grid { ptr, stride, rows: shape.rows as usize, cols: shape.cols as usize }
    }

    /// The spare buffer becomes the tile's.
    pub(super) fn swap_spare(&mut self, dst: usize, shape: Shape) {
        core::mem::swap(&mut self.tiles[dst].buffer, &mut self.spare);
        self.begin(dst, shape);
    }

    /// Rounds a result to the element type of its tile.
    pub(super) fn round(&mut self, dst: usize) {
        let elem = self.tiles[dst].elem;
        if matches!(elem, DType::F16 | DType::Bf16) {
            let grid = self.grid(dst);
            // SAFETY: the grid is the tile's buffer.
            unsafe { (self.kernels.round)(grid, elem) };
        }
    }

    /// The rows of a tile, wherever they lie.
    pub(super) fn rows<'a>(&'a self, id: usize, own: &'a mut [Segment; 1]) -> Rows<'a> {
        let tile = &self.tiles[id];
        let (rows, cols) = (tile.shape.rows as usize, tile.shape.cols as usize);
        if tile.in_place {
            return Rows { runs: &tile.view.segments, ahead: &tile.ahead, cols, dtype: tile.view.dtype };
        }
        let stride = stride_of(tile.capacity) * size_of::<f32>();
        own[0] = Segment { ptr: tile.buffer.ptr().cast(), rows, stride };
        Rows { runs: own, ahead: &[], cols, dtype: DType::F32 }
    }
}

/// Floats between the rows of a tile's buffer.
pub(super) fn stride_of(capacity: Shape) -> usize {
    (capacity.cols as usize).next_multiple_of(ROW_ALIGN)
}
