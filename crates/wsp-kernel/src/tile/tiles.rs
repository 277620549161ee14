//! The tiles of one running function.

use super::buffer::Buffer;
use super::order::Order;
use super::stride::Stride;
use crate::memory::{Fault, MAX_INDICES, RowsView, Shape, TensorMem, prefetch_bytes};
use crate::simd::{Distance, Grid, Kernels, MOST_TOGETHER, Mode, ROW_ALIGN, Rows};
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
    /// Rows to ask memory for while something else is computed.
    pub(super) waiting: Option<Waiting>,
    /// The rows of the right operand of a matrix product.
    pub(super) order: Order,
    /// The last right operand that lay in an array, of this run or the one before.
    pub(super) last_followed: Option<usize>,
}

/// Rows of a tile in an array that no operation has used yet.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) tile: usize,
    /// The next of its rows.
    row: usize,
}

/// Rows of a tile from which on it is probably one of many along its tensor.
pub(super) const WORTH_LOOKING_AHEAD: u32 = 16;

/// What one operation asks for: what memory delivers in the time that a short one takes.
const BURST_BYTES: usize = 1024;

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
    pub(super) ahead: RowsView,
    /// The place that `ahead` was found for.
    pub(super) guess: Guess,
    /// Which tile in an array was multiplied with after this one, last time.
    pub(super) then: Option<usize>,
    /// Where runs load it first.
    pub(super) stride: Stride,
}

/// A place in an array, and how much was wanted of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Guess {
    /// Told apart by its address: good for as long as a run lasts, which never moves its arrays.
    pub(super) array: *const TensorMem,
    pub(super) index: [u32; MAX_INDICES],
    pub(super) dims: (Option<u8>, Option<u8>),
    pub(super) want: Shape,
}

// SAFETY: the address is compared, never followed.
unsafe impl Send for Guess {}

impl Guess {
    pub(super) const NONE: Guess = Guess {
        array: core::ptr::null(),
        index: [0; MAX_INDICES],
        dims: (None, None),
        want: Shape::new(0, 0),
    };
}

impl Tile {
    /// Forgets every address in an array.
    fn leave_array(&mut self) {
        self.in_place = false;
        self.view.clear();
        self.ahead.clear();
        self.guess = Guess::NONE;
    }
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
            waiting: None,
            order: Order::default(),
            last_followed: None,
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
            ahead: RowsView::empty(),
            guess: Guess::NONE,
            then: None,
            stride: Stride::default(),
        });
        Ok(self.tiles.len() - 1)
    }

    /// Makes every tile empty and forgets every address in an array. Ids stay valid.
    pub(crate) fn reset(&mut self) {
        self.found.clear();
        self.waiting = None;
        self.order.clear();
        for tile in 0..self.tiles.len() {
            self.clear(tile);
            self.tiles[tile].stride.begin();
        }
    }

    /// Makes one tile empty.
    pub(crate) fn clear(&mut self, id: usize) {
        let tile = &mut self.tiles[id];
        tile.shape = Shape::default();
        tile.leave_array();
        self.forget_waiting(id);
    }

    /// The valid part.
    #[inline]
    pub(crate) fn shape(&self, tile: usize) -> Shape {
        self.tiles[tile].shape
    }

    /// The capacity.
    #[cfg(test)]
    pub(super) fn capacity(&self, tile: usize) -> Shape {
        self.tiles[tile].capacity
    }

    /// A tile was loaded in place: its rows, but for the first, which whoever is used before asks for. Of a few rows, as a query
    /// has, there is nothing to ask for.
    pub(super) fn expect_use(&mut self, tile: usize) {
        let view = &self.tiles[tile].view;
        if view.rows >= WORTH_LOOKING_AHEAD {
            self.waiting = Some(Waiting { tile, row: Distance::of(view.row_bytes()).far });
        }
    }

    /// Asks for some of the rows that wait to be used: called by short operations, during which memory would be idle.
    #[inline]
    pub(super) fn ask_for_rows(&mut self) {
        if let Some(waiting) = self.waiting {
            self.ask_for_some(waiting);
        }
    }

    fn ask_for_some(&mut self, Waiting { tile, row }: Waiting) {
        let view = &self.tiles[tile].view;
        let bytes = view.row_bytes();
        let end = view.starts().len().min(row + BURST_BYTES.div_ceil(bytes.max(1)));
        if let Some(rows) = view.starts().get(row..end) {
            rows.iter().for_each(|start| prefetch_bytes(*start, bytes));
            self.waiting = Some(Waiting { tile, row: end });
        }
    }

    /// Lists the rows of a tile that is multiplied with now, and those that will be needed after them: of the tile that waits to be
    /// used, or else of what is likely to be loaded next.
    pub(super) fn follow(&mut self, id: usize) {
        self.forget_waiting(id);
        self.order.clear();
        let tile = &self.tiles[id];
        if !tile.in_place {
            let stride = stride_of(tile.capacity) * size_of::<f32>();
            self.order.push_run(tile.buffer.ptr().cast(), tile.shape.rows as usize, stride);
            self.order.end(Distance::of(tile.shape.cols as usize * size_of::<f32>()));
            return;
        }
        let distance = Distance::of(tile.view.row_bytes());
        self.order.push(tile.view.starts());
        let next = match self.waiting {
            Some(waiting) => &self.tiles[waiting.tile].view,
            None => &self.tiles[tile.then.unwrap_or(id)].ahead,
        };
        self.order.push(&next.starts()[..next.starts().len().min(distance.far)]);
        self.order.end(distance);
        if let Some(last) = self.last_followed.replace(id) {
            self.tiles[last].then = Some(id);
        }
    }

    /// Copies a tile that lies in an array into its own buffer.
    #[inline]
    pub(super) fn own(&mut self, id: usize) {
        if self.tiles[id].in_place {
            self.copy_view(id);
        }
    }

    fn copy_view(&mut self, id: usize) {
        let kernels = self.kernels;
        let tile = &mut self.tiles[id];
        let stride = stride_of(tile.capacity);
        let to = tile.buffer.reserve(stride * tile.capacity.rows as usize);
        for (r, &row) in tile.view.starts().iter().enumerate() {
            // SAFETY: a view has at most `capacity.rows` rows of at most `capacity.cols` contiguous elements of a type that
            // `widen` takes; the buffer has `stride` floats for each.
            unsafe { (kernels.widen)(to.add(r * stride), row, tile.view.dtype, tile.view.cols as usize) };
        }
        tile.leave_array();
        self.forget_waiting(id);
    }

    /// A tile is used now, or no longer lies in an array.
    pub(super) fn forget_waiting(&mut self, tile: usize) {
        self.waiting = self.waiting.filter(|waiting| waiting.tile != tile);
    }

    /// The valid part of a tile that lies in its own buffer.
    #[inline]
    pub(super) fn grid(&mut self, id: usize) -> Grid {
        let tile = &mut self.tiles[id];
        let stride = stride_of(tile.capacity);
        let ptr = tile.buffer.reserve(stride * tile.capacity.rows as usize);
        Grid { ptr, stride, rows: tile.shape.rows as usize, cols: tile.shape.cols as usize }
    }

    /// Whether a result fits a destination.
    #[inline]
    pub(super) fn check_fit(&self, dst: usize, need: Shape) -> Result<(), Fault> {
        let have = self.tiles[dst].capacity;
        if need.rows > have.rows || need.cols > have.cols {
            return Err(Fault::Capacity { have, need });
        }
        Ok(())
    }

    /// Makes a tile's own buffer its valid part, of a shape that fits; returns it for writing.
    #[inline]
    pub(super) fn begin(&mut self, dst: usize, shape: Shape) -> Grid {
        let tile = &mut self.tiles[dst];
        tile.shape = shape;
        if tile.in_place {
            tile.leave_array();
            self.forget_waiting(dst);
        }
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
    #[inline]
    pub(super) fn round(&mut self, dst: usize) {
        let elem = self.tiles[dst].elem;
        if elem.is_short_float() {
            let grid = self.grid(dst);
            // SAFETY: the grid is the tile's buffer.
            unsafe { (self.kernels.round)(grid, elem) };
        }
    }

    /// The rows that [`Tiles::follow`] listed.
    #[inline]
    pub(super) fn rows(&self, id: usize) -> Rows<'_> {
        let tile = &self.tiles[id];
        let dtype = if tile.in_place { tile.view.dtype } else { DType::F32 };
        let (rows, cols) = (tile.shape.rows as usize, tile.shape.cols as usize);
        let rows = Rows { starts: self.order.starts(), rows, cols, dtype };
        debug_assert!(cols == 0 || rows.starts.len() >= rows.rows + rows.distance().far + MOST_TOGETHER);
        rows
    }
}

/// Floats between the rows of a tile's buffer.
pub(super) fn stride_of(capacity: Shape) -> usize {
    (capacity.cols as usize).next_multiple_of(ROW_ALIGN)
}
