//! What tile operations take.

use super::frame::{Frame, Shape};
use super::unknown;
use super::walk::{Walked, Walker};
use wsp_core::{AccessKind, DType, LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    CostClass, Dim, Elem, Expr, LocalTy, Part, Place, Storage, TileExtent, TileOp, TileRole, TileTy, TileUse,
    TileWork, UnaryTileOp,
};

impl Walker<'_> {
    /// Pays for a tile operation, and gives its results their extents.
    pub(super) fn tile(&mut self, op: &TileOp, span: Span, frame: &mut Frame<'_>) -> Walked<()> {
        let sized: Vec<(LocalId, Shape)> =
            op.resizes().map(|tile| Ok((tile, self.result(op, tile, frame)?))).collect::<Walked<_>>()?;
        for (tile, shape) in sized {
            frame.resize(tile, shape);
        }
        if let Some((tensor, access)) = op.tensor() {
            return self.transfer(op, tensor, access, span, frame);
        }
        if let TileOp::Unary { op: UnaryTileOp::Copy, dst, src } = op {
            let [from, to] = [self.home(*src, span, frame)?, self.home(*dst, span, frame)?];
            if from != to {
                let bytes = frame.shape(*src).elements() * f64::from(self.width(*src, frame, span)?);
                return self.carry(from, to, |_, _| bytes, span);
            }
        }
        self.gather_tiles(op, span, frame)?;
        self.compute(op, span, frame)
    }

    /// The work itself.
    fn compute(&mut self, op: &TileOp, span: Span, frame: &Frame<'_>) -> Walked<()> {
        let class = op.cost_class();
        let (elements, tile) = match op.work() {
            TileWork::Each(tile) => (frame.shape(tile).elements(), tile),
            TileWork::Both(a, b) => (frame.shape(a).elements() + frame.shape(b).elements(), a),
            TileWork::Products(dst, a) => {
                let width = self.width(a, frame, span)?;
                let of = self.model.operation(class).map_or([1.0; 3], |of| of.block);
                let block = [of[0], of[1], of[2] / f64::from(width)];
                let extents = [frame.shape(dst).rows, frame.shape(dst).cols, frame.shape(a).cols];
                let up = |(extent, block): (u64, f64)| (extent as f64 / block).ceil() * block;
                (extents.into_iter().zip(block).map(up).product(), a)
            }
        };
        // A product is multiplied and added; what a block is filled up with is no work.
        self.work[0] += match op.work() {
            TileWork::Products(dst, a) => 2.0 * frame.shape(dst).elements() * frame.shape(a).cols as f64,
            TileWork::Each(_) | TileWork::Both(..) => elements,
        };
        let width = self.width(tile, frame, span)?;
        self.pay(class, elements, width, span)
    }

    /// Pays for so many elements of so many bytes.
    pub(super) fn pay(&mut self, class: CostClass, elements: f64, width: u32, span: Span) -> Walked<()> {
        let Some(operation) = self.model.operation(class) else {
            let message = format!("the model does not say what `{}` costs", class.word());
            let row = format!("give the model an `[[operation]]` with `class = \"{}\"`", class.word());
            return Err(Box::new(unknown(span, message).help(row)));
        };
        let Some(rate) = operation.rates[width.trailing_zeros().min(3) as usize] else {
            let message =
                format!("the model does not say what `{}` of elements of {width} bytes costs", class.word());
            let row = format!("give its `[[operation]]` of `{}` a `rate_{width}`", class.word());
            return Err(Box::new(unknown(span, message).help(row)));
        };
        self.cycles += operation.startup + elements / rate;
        Ok(())
    }

    /// Pays for a load or a store.
    fn transfer(
        &mut self,
        op: &TileOp,
        tensor: TensorId,
        access: AccessKind,
        span: Span,
        frame: &mut Frame<'_>,
    ) -> Walked<()> {
        let TileWork::Each(tile) = op.work() else { return Ok(()) };
        let elements = frame.shape(tile).elements();
        let there = elements * f64::from(width_of(self.dtype(Elem::Of(tensor), span)?));
        let here = elements * f64::from(self.width(tile, frame, span)?);
        self.work[1] += there;
        let Some(global) = self.model.global() else {
            return Err(unknown(span, "the model has no memory that holds tensors".to_owned()));
        };
        let mut home = self.home(tile, span, frame)?;
        // What cannot be brought home is worked on where operations on elements are.
        if access == AccessKind::Read
            && self.model.route(global, home).is_none()
            && let Some(vec) = self.model.home(TileRole::Vec)
        {
            home = vec;
            frame.put(tile, vec);
        }
        match access {
            AccessKind::Read => self.carry(global, home, |at, _| if at == 0 { there } else { here }, span),
            AccessKind::Write => {
                self.carry(home, global, |at, paths| if at + 1 == paths { there } else { here }, span)
            }
        }
    }

    /// Pays for tiles that are elsewhere than an operation needs them: they are brought, and results are brought back. A result that there is no way
    /// back for stays; a product is then added to it where it is.
    fn gather_tiles(&mut self, op: &TileOp, span: Span, frame: &mut Frame<'_>) -> Walked<()> {
        let roles: &[TileRole] = match op.cost_class() {
            CostClass::Products => &[TileRole::Acc, TileRole::Left, TileRole::Right],
            _ => &[TileRole::Vec],
        };
        let mut tiles = Vec::new();
        op.each(&mut |part| {
            if let Part::Tile(tile, used) = part {
                tiles.push((*tile, used));
            }
        });
        for (at, (tile, used)) in tiles.into_iter().enumerate() {
            let Some(needed) = self.model.home(roles[at.min(roles.len() - 1)]) else {
                return Err(unknown(span, "the model has no memory for a tile of this operation".to_owned()));
            };
            let home = self.home(tile, span, frame)?;
            let (elements, width) = (frame.shape(tile).elements(), self.width(tile, frame, span)?);
            let bytes = elements * f64::from(width);
            let is_sum = op.cost_class() == CostClass::Products && used == TileUse::Added;
            if used.reads() && is_sum && self.model.route(home, needed).is_none() {
                self.pay(CostClass::Elementwise, elements, width, span)?;
            } else if used.reads() {
                self.carry(home, needed, |_, _| bytes, span)?;
            }
            if used != TileUse::Read {
                match self.model.route(needed, home) {
                    Some(_) => self.carry(needed, home, |_, _| bytes, span)?,
                    None => frame.put(tile, needed),
                }
            }
        }
        Ok(())
    }

    /// Pays for the way between two memories; `bytes` gives those of each of its paths, by number of so many.
    fn carry(
        &mut self,
        from: usize,
        to: usize,
        bytes: impl Fn(usize, usize) -> f64,
        span: Span,
    ) -> Walked<()> {
        let Some(way) = self.model.route(from, to) else {
            let [from, to] = [from, to].map(|at| &self.model.memories[at].name);
            let message = format!("the model has no way from `{from}` to `{to}`");
            let row = format!("give it a `[[path]]` with `from = \"{from}\"` and `to = \"{to}\"`");
            return Err(Box::new(unknown(span, message).help(row)));
        };
        for (at, path) in way.iter().enumerate() {
            let seconds = path.rate(self.model.rates).seconds(bytes(at, way.len()));
            self.cycles += path.startup + self.model.cycles(seconds);
        }
        Ok(())
    }

    /// Valid rows and columns of a result.
    fn result(&mut self, op: &TileOp, dst: LocalId, frame: &Frame<'_>) -> Walked<Shape> {
        let all = self.capacity(dst, frame)?;
        let Some((rows, cols)) = op.gives() else { return Ok(all) };
        let mut shape =
            Shape { rows: self.extent(rows, all.rows, frame)?, cols: self.extent(cols, all.cols, frame)? };
        if let TileOp::Load { tensor, at, .. } = op {
            let left = |along: Option<u8>, walker: &mut Self| match along {
                Some(dim) => walker.left(*tensor, at, dim.into(), frame),
                None => Ok(1),
            };
            shape.rows = shape.rows.min(left(at.row_dim, self)?);
            shape.cols = shape.cols.min(left(at.col_dim, self)?);
        }
        Ok(shape)
    }

    fn extent(&mut self, extent: TileExtent<'_>, all: u64, frame: &Frame<'_>) -> Walked<u64> {
        Ok(match extent {
            TileExtent::Rows(tile) | TileExtent::Outer(tile, true) => frame.shape(tile).rows,
            TileExtent::Cols(tile) | TileExtent::Outer(tile, false) => frame.shape(tile).cols,
            TileExtent::One => 1,
            TileExtent::Capacity | TileExtent::AtMost(None) | TileExtent::Exactly(None) => all,
            TileExtent::AtMost(Some(asked)) | TileExtent::Exactly(Some(asked)) => {
                let asked = self.value(asked, frame)?.and_then(|asked| u64::try_from(asked).ok());
                asked.map_or(all, |asked| asked.min(all))
            }
        })
    }

    /// Elements of a tensor from a place on.
    fn left(&mut self, tensor: TensorId, at: &Place, dim: usize, frame: &Frame<'_>) -> Walked<u64> {
        let declared = &self.module.tensors[tensor.index()];
        // The first index of a workspace is a slot's offset, and none of its extents.
        let slot = usize::from(declared.storage == Storage::Workspace);
        let Some(extent) = dim.checked_sub(slot) else { return Ok(u64::MAX) };
        let extent = match self.known.extent(tensor, extent) {
            None => match declared.dims.get(extent) {
                Some(Dim::Expr(e)) => self.value(e, frame)?.and_then(|extent| u64::try_from(extent).ok()),
                _ => None,
            },
            extent => extent,
        };
        let start = at.index.get(dim).map_or(Ok(None), |index| self.value(index, frame))?;
        let start = start.and_then(|start| u64::try_from(start).ok()).unwrap_or(0);
        Ok(extent.map_or(u64::MAX, |extent| extent.saturating_sub(start)))
    }

    fn capacity(&mut self, tile: LocalId, frame: &Frame<'_>) -> Walked<Shape> {
        let local = frame.function.local(tile);
        let LocalTy::Tile(TileTy { rows, cols, .. }) = &local.ty else { return Ok(Shape::default()) };
        let mut known = |e: &Expr| {
            let value = self.value(e, frame)?.and_then(|value| u64::try_from(value).ok());
            value.ok_or_else(|| unknown(local.span, format!("the capacity of `{}` is not known", local.name)))
        };
        Ok(Shape { rows: known(rows)?, cols: known(cols)? })
    }

    /// The memory of a tile.
    fn home(&self, tile: LocalId, span: Span, frame: &Frame<'_>) -> Walked<usize> {
        let LocalTy::Tile(ty) = &frame.function.local(tile).ty else { return Ok(0) };
        if let Some(memory) = frame.place(tile) {
            return Ok(memory);
        }
        self.model.home(ty.role).ok_or_else(|| {
            let name = &frame.function.local(tile).name;
            unknown(span, format!("the model has no memory for tile `{name}`"))
        })
    }

    /// Bytes of an element of a tile.
    pub(super) fn width(&self, tile: LocalId, frame: &Frame<'_>, span: Span) -> Walked<u32> {
        let LocalTy::Tile(ty) = &frame.function.local(tile).ty else { return Ok(4) };
        Ok(width_of(self.dtype(ty.elem, span)?))
    }

    fn dtype(&self, elem: Elem, span: Span) -> Walked<DType> {
        let of = match elem {
            Elem::Fixed(dtype) => return Ok(dtype),
            Elem::Of(tensor) => tensor,
        };
        let tensor = &self.module.tensors[of.index()];
        match tensor.elem {
            Elem::Fixed(dtype) => Ok(dtype),
            Elem::Of(other) => {
                self.known.dtype(of).or_else(|| self.known.dtype(other)).ok_or_else(|| {
                    unknown(span, format!("the element type of `{}` is not known", tensor.name))
                })
            }
        }
    }
}

fn width_of(dtype: DType) -> u32 {
    dtype.size() as u32
}
