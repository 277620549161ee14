//! The tiles of one running function.

use super::buffer::Buffer;
use super::order::Order;
use super::stride::Stride;
use crate::memory::{Fault, MAX_INDICES, RowsView, Shape, prefetch_bytes};
use wsp_core::DType;
use wsp_core::limits::MAX_TILE_BYTES;
use wsp_simd::{Distance, Grid, Kernels, Mode, ROW_ALIGN, Rows, Walk};

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
    /// Words of operations on tiles of `f64` and integers, to be used again.
    pub(super) idle: Vec<Vec<u64>>,
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
    /// Runs that read their operands in turn with this one, and itself.
    pub(super) together: usize,
}

/// What was listed of a right operand.
#[derive(Clone, Copy)]
pub(super) struct Followed {
    pub(super) rows: usize,
    dtype: DType,
    distance: Distance,
}

/// Rows of a tile in an array that no operation has used yet.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) tile: usize,
    /// How many were asked for already, in the order in which a product visits them.
    asked: usize,
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
    /// The valid part of a tile of `f64` or integers, row by row: the bits of each element, of integers as slots have them. It has no
    /// `buffer` and never a `view`.
    pub(super) values: Vec<u64>,
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
    pub(super) array: usize,
    pub(super) index: [u32; MAX_INDICES],
    pub(super) dims: (Option<u8>, Option<u8>),
    pub(super) want: Shape,
}

impl Guess {
    pub(super) const NONE: Guess =
        Guess { array: 0, index: [0; MAX_INDICES], dims: (None, None), want: Shape::new(0, 0) };
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
            idle: Vec::new(),
            candidates: Vec::new(),
            found: RowsView::empty(),
            waiting: None,
            order: Order::default(),
            last_followed: None,
            together: 1,
        }
    }

    /// Adds an empty tile. Its memory is taken at the first write, rows of `f32` padded to 64 bytes.
    ///
    /// # Errors
    /// `TileTooLarge`.
    pub(crate) fn add(&mut self, capacity: Shape, elem: DType) -> Result<usize, Fault> {
        let row = match elem {
            _ if elem == DType::F64 || !elem.is_float() => u64::from(capacity.cols) * size_of::<u64>() as u64,
            _ => u64::from(capacity.cols).next_multiple_of(ROW_ALIGN as u64) * size_of::<f32>() as u64,
        };
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
            values: Vec::new(),
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
        self.together = 1;
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
        tile.values.clear();
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
            self.waiting = Some(Waiting { tile, asked: self.distance(view.row_bytes()).far });
        }
    }

    /// Asks for some of the rows that wait to be used: called by short operations, during which memory would be idle.
    #[inline]
    pub(super) fn ask_for_rows(&mut self) {
        if let Some(waiting) = self.waiting {
            self.ask_for_some(waiting);
        }
    }

    fn ask_for_some(&mut self, Waiting { tile, asked }: Waiting) {
        let view = &self.tiles[tile].view;
        let (starts, bytes) = (view.starts(), view.row_bytes());
        let walk = Walk::of(starts.len());
        let end = starts.len().min(asked + BURST_BYTES.div_ceil(bytes.max(1)));
        (asked..end).for_each(|position| prefetch_bytes(starts[walk.row(position)], bytes));
        self.waiting = Some(Waiting { tile, asked: end.max(asked) });
    }

    /// Lists the first `count` rows of a tile that is multiplied with now, in the order in which they are visited; and those that
    /// will be needed after them: of the tile that waits to be used, or else of what is likely to be loaded next.
    pub(super) fn follow(&mut self, id: usize, count: usize) -> Followed {
        let asked = self.waiting.filter(|waiting| waiting.tile == id).map_or(0, |waiting| waiting.asked);
        self.forget_waiting(id);
        let tile = &self.tiles[id];
        let (cols, dtype) =
            (tile.shape.cols as usize, if tile.in_place { tile.view.dtype } else { DType::F32 });
        let mut distance = self.distance(cols * dtype.size());
        // What was asked for need not be asked for again.
        distance.far = distance.far.max(asked);
        if tile.in_place {
            let next = match self.waiting {
                Some(waiting) => &self.tiles[waiting.tile].view,
                None => &self.tiles[tile.then.unwrap_or(id)].ahead,
            };
            let starts = tile.view.starts();
            self.order.list(&starts[..count.min(starts.len())], next.starts(), distance);
            if let Some(last) = self.last_followed.replace(id) {
                self.tiles[last].then = Some(id);
            }
        } else {
            let stride = stride_of(tile.capacity) * size_of::<f32>();
            self.order.list_run(tile.buffer.ptr().cast(), count, stride, distance);
        }
        debug_assert!(cols == 0 || self.order.starts().len() >= count + Rows::beyond(distance));
        Followed { rows: count, dtype, distance }
    }

    /// A part of the rows that [`Tiles::follow`] listed last.
    #[inline]
    pub(super) fn rows(&self, followed: Followed, part: (usize, usize)) -> Rows<'_> {
        let Followed { rows, dtype, distance } = followed;
        Rows { starts: self.order.starts(), rows, dtype, distance, part }
    }

    /// How far ahead of a row of so many bytes others are asked for.
    pub(super) fn distance(&self, bytes: usize) -> Distance {
        Distance::shared(bytes, self.together)
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
}

/// Floats between the rows of a tile's buffer.
pub(super) fn stride_of(capacity: Shape) -> usize {
    (capacity.cols as usize).next_multiple_of(ROW_ALIGN)
}
