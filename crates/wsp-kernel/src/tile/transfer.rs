//! Between tiles and arrays.

use super::Tiles;
use super::tiles::{Guess, WORTH_LOOKING_AHEAD};
use crate::memory::{Clip, Fault, Layout, MAX_INDICES, RowsView, Shape, TensorMem, Window};
use wsp_core::DType;
use wsp_simd::{Distance, read_f32, write_f32};

impl Tiles {
    /// `TLOAD`: at most `rows` by `cols`, where given.
    ///
    /// With `allow_view` the tile may stay in the array's memory until it is overwritten or reset: pass false when the running
    /// function also stores to the array.
    ///
    /// # Errors
    /// `NotFloat` for integers of another type than the tile's, and those of [`TensorMem::locate`].
    pub(crate) fn load(
        &mut self,
        dst: usize,
        mem: &TensorMem,
        at: Window<'_>,
        rows: Option<u32>,
        cols: Option<u32>,
        allow_view: bool,
    ) -> Result<(), Fault> {
        let dtype = mem.dtype();
        self.check_moves(dst, dtype)?;
        let capacity = self.tiles[dst].capacity;
        let want = Shape::new(
            rows.unwrap_or(u32::MAX).min(capacity.rows),
            cols.unwrap_or(u32::MAX).min(capacity.cols),
        );
        if self.is_wide(dst) {
            mem.locate(at, want, Clip::Clamp, &mut self.found)?;
            self.copy_in_wide(dst);
            return Ok(());
        }
        if allow_view && self.expects(dst, mem, at, want) {
            self.found.clear();
            core::mem::swap(&mut self.tiles[dst].ahead, &mut self.found);
            self.keep_in_place(dst);
            self.look_ahead(dst, mem, at, want);
            self.expect_use(dst);
            return Ok(());
        }
        mem.locate(at, want, Clip::Clamp, &mut self.found)?;
        let elem = self.tiles[dst].elem;
        let exact = dtype != DType::F64 && (dtype == elem || elem == DType::F32);
        if allow_view && self.views && exact && self.found.is_contiguous() {
            self.keep_in_place(dst);
            self.look_ahead(dst, mem, at, want);
            self.expect_use(dst);
        } else {
            self.copy_in(dst);
        }
        Ok(())
    }

    /// `TSTORE`: the valid part.
    ///
    /// # Errors
    /// Those of [`Tiles::locate_store`].
    #[cfg(test)]
    pub(super) fn store(&mut self, mem: &TensorMem, src: usize, at: Window<'_>) -> Result<(), Fault> {
        self.locate_store(mem, src, at)?;
        self.store_located(src, false);
        Ok(())
    }

    /// Real numbers are rounded on their way; integers are moved as they are.
    fn check_moves(&self, tile: usize, dtype: DType) -> Result<(), Fault> {
        let elem = self.tiles[tile].elem;
        let fits = elem == dtype || (elem.is_float() && dtype.is_float());
        if fits { Ok(()) } else { Err(Fault::NotFloat { dtype }) }
    }

    /// Finds the place of what is valid of a tile.
    ///
    /// # Errors
    /// `NotFloat` for integers of another type than the tile's, and those of [`TensorMem::locate`] with [`Clip::Strict`].
    pub(crate) fn locate_store(&mut self, mem: &TensorMem, src: usize, at: Window<'_>) -> Result<(), Fault> {
        self.check_moves(src, mem.dtype())?;
        let shape = self.tiles[src].shape;
        mem.locate(at, shape, Clip::Strict, &mut self.found)
    }

    /// Stores the valid part of a tile to the place found, or adds it to what is there.
    pub(crate) fn store_located(&mut self, src: usize, add: bool) {
        if add || self.is_wide(src) {
            self.copy_out_wide(src, add);
            return;
        }
        self.own(src);
        let (grid, dtype) = (self.grid(src), self.found.dtype);
        let narrow = self.found.is_contiguous() && dtype != DType::F64;
        for (r, &to) in self.found.starts().iter().enumerate() {
            let from = grid.row(r);
            if narrow {
                // SAFETY: `locate` checked `cols` contiguous elements at `to`; the grid has them too.
                unsafe { (self.kernels.narrow)(to, from, dtype, grid.cols) };
                continue;
            }
            for c in 0..grid.cols {
                // SAFETY: `locate` checked element `c` of the row; the grid has it too.
                unsafe { write_f32(to.wrapping_add(c * self.found.col_stride), dtype, *from.add(c)) };
            }
        }
    }

    /// The rows of the array to which a tile was just stored.
    pub(crate) fn stored(&self) -> &RowsView {
        &self.found
    }

    /// The rows of the array from which a tile was just loaded.
    pub(crate) fn loaded(&self, tile: usize) -> &RowsView {
        let of = &self.tiles[tile];
        if of.in_place { &of.view } else { &self.found }
    }

    /// The rows found become the tile.
    fn keep_in_place(&mut self, dst: usize) {
        let tile = &mut self.tiles[dst];
        core::mem::swap(&mut tile.view, &mut self.found);
        self.found.clear();
        tile.ahead.clear();
        tile.guess = Guess::NONE;
        tile.shape = Shape::new(tile.view.rows, tile.view.cols);
        tile.in_place = true;
    }

    /// Whether a load asks for what the last one of the same tile expected of it, so that its rows are known.
    fn expects(&self, dst: usize, mem: &TensorMem, at: Window<'_>, want: Shape) -> bool {
        let guess = &self.tiles[dst].guess;
        guess.array == core::ptr::from_ref(mem).addr()
            && guess.want == want
            && guess.dims == (at.row_dim, at.col_dim)
            && guess.index[..at.index.len().min(MAX_INDICES)] == *at.index
    }

    /// Finds the rows after a view, as many again, to be prefetched while the view is used: those of this run, or where it has no
    /// more, those with which the next run probably begins.
    fn look_ahead(&mut self, dst: usize, mem: &TensorMem, at: Window<'_>, want: Shape) {
        let mut guess = Guess {
            array: core::ptr::from_ref(mem).addr(),
            index: [0; MAX_INDICES],
            dims: (at.row_dim, at.col_dim),
            want,
        };
        let (Some(dim), Some(index)) = (at.row_dim, guess.index.get_mut(..at.index.len())) else { return };
        let alone = self.waiting.is_none();
        let tile = &mut self.tiles[dst];
        index.copy_from_slice(at.index);
        let Some(first) = index.get_mut(usize::from(dim)) else { return };
        let slots = dim == 0 && matches!(mem.layout(), Layout::Slots { .. });
        if slots || want.rows < WORTH_LOOKING_AHEAD {
            return;
        }
        tile.stride.observe(at.index);
        if tile.shape.rows == want.rows {
            *first = first.saturating_add(want.rows);
            let next = Window { index, ..at };
            // A guess: what cannot be located is not prefetched.
            let found = mem.locate(next, want, Clip::Clamp, &mut self.found);
            if found.is_ok() && !self.found.starts().is_empty() {
                core::mem::swap(&mut tile.ahead, &mut self.found);
                tile.guess = guess;
                self.found.clear();
                return;
            }
        }
        // What is loaded while another tile waits to be used is asked for while that one is.
        if let Some(next) = tile.stride.next().filter(|_| alone) {
            let next = Window { index: &next[..at.index.len()], ..at };
            let rows = Distance::shared(tile.view.row_bytes(), self.together).far as u32;
            let want = Shape::new(tile.capacity.rows.min(rows), want.cols);
            if mem.locate(next, want, Clip::Clamp, &mut self.found).is_ok() {
                core::mem::swap(&mut tile.ahead, &mut self.found);
            }
        }
        self.found.clear();
    }

    /// Copies the rows found into the tile's buffer.
    fn copy_in(&mut self, dst: usize) {
        let found = core::mem::take(&mut self.found);
        let grid = self.begin(dst, Shape::new(found.rows, found.cols));
        let widen = found.is_contiguous() && found.dtype != DType::F64;
        for (r, &from) in found.starts().iter().enumerate() {
            let to = grid.row(r);
            if widen {
                // SAFETY: `locate` checked `cols` contiguous elements at `from`; the grid has a padded row for them.
                unsafe { (self.kernels.widen)(to, from, found.dtype, grid.cols) };
                continue;
            }
            for c in 0..grid.cols {
                // SAFETY: `locate` checked element `c` of the row; the grid has it too.
                unsafe { *to.add(c) = read_f32(from.wrapping_add(c * found.col_stride), found.dtype) };
            }
        }
        self.found = found;
        self.round(dst);
    }
}
