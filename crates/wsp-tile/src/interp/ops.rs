//! What each operation computes. All operands are read before a result is written, so operations work in place.

use super::Fault;
use super::lists::take_in;
use super::machine::Machine;
use super::matrix::Matrix;
use super::memory::rounded;
use super::random;
use crate::{Op, Tile, codes};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Const, Expr, Operand, Place, ReduceOp, TileOp};

/// Indices of a selection from here on are not all exact in `f32`.
const INDEX_LIMIT: u64 = 1 << 24;

impl Machine<'_, '_> {
    pub(super) fn compute(&mut self, op: &Op, id: u32) -> Result<(), Fault> {
        match op {
            Op::Tile(op) => self.tile_op(op, id),
            Op::Move { dst, src } => {
                let value = self.matrix(src)?;
                self.result(dst, value, id)
            }
            Op::Reduce { local, op, src } => {
                let value = self.matrix(src)?;
                value.fits(1, value.cols, "a tile that becomes one value")?;
                let value = reduced(*op, value.row(0));
                self.set(*local, Const::Float(f64::from(value)));
                Ok(())
            }
            Op::LoadScalar { local, tensor, index } => {
                let at = self.element(*tensor, index)?;
                let data = self.tensor(*tensor)?;
                let value = f64::from(data.values[at]);
                let value =
                    if data.dtype.is_float() { Const::Float(value) } else { Const::Int(value as i128) };
                self.set(*local, value);
                Ok(())
            }
            Op::StoreScalar { tensor, index, value } => {
                let at = self.element(*tensor, index)?;
                let value = match self.value(value)? {
                    Const::Float(x) => x as f32,
                    Const::Int(n) if n.unsigned_abs() <= 1 << 24 => n as f32,
                    other => {
                        return Err(Fault::new(codes::NOT_SUPPORTED, format!("{other:?} is no `float`")));
                    }
                };
                self.store(*tensor, at, value)
            }
        }
    }

    fn store(&mut self, tensor: wsp_core::TensorId, at: usize, value: f32) -> Result<(), Fault> {
        let dtype = self.tensor(tensor)?.dtype;
        let value = if dtype.is_float() { rounded(dtype, value) } else { value };
        if let Some(Some(data)) = self.world.tensors.get_mut(tensor.index()) {
            data.values[at] = value;
        }
        Ok(())
    }

    /// An element and a value, added in `f64`, as what is rounded once to the elements of the tensor.
    fn sum(&self, tensor: wsp_core::TensorId, at: usize, value: f32) -> Result<f32, Fault> {
        let data = self.tensor(tensor)?;
        let sum = f64::from(data.values[at]) + f64::from(value);
        Ok(if data.dtype == DType::F32 { sum as f32 } else { to_odd(sum) })
    }

    /// A result of the extents that its tile has in the instruction.
    fn result(&mut self, dst: &Tile, result: Matrix, id: u32) -> Result<(), Fault> {
        let [rows, cols] = self.extents(dst)?;
        result.fits(rows, cols, "a result")?;
        self.put(dst, &result, id)
    }

    /// The second operand of an element-wise operation, for every element of a tile of `rows × cols`.
    fn second(&mut self, b: &Operand<Tile, Expr>, rows: u32, cols: u32) -> Result<Matrix, Fault> {
        Ok(match b {
            Operand::Tile(tile) => {
                let value = self.matrix(tile)?;
                value.fits(rows, cols, "the second operand")?;
                value
            }
            Operand::Column(tile) => {
                let column = self.matrix(tile)?;
                column.fits(rows, 1, "the column of an operation")?;
                Matrix::of(rows, cols, |r, _| column.get(r, 0))
            }
            Operand::Row(tile) => {
                let row = self.matrix(tile)?;
                row.fits(1, cols, "the row of an operation")?;
                Matrix::of(rows, cols, |_, c| row.get(0, c))
            }
            Operand::Scalar(value) => {
                let value = self.real(value)?;
                Matrix::of(rows, cols, |_, _| value)
            }
        })
    }

    fn tile_op(&mut self, op: &TileOp<Tile>, id: u32) -> Result<(), Fault> {
        match op {
            TileOp::Load { dst, tensor, at, .. } => {
                let [rows, cols] = self.extents(dst)?;
                let value = Matrix::try_of(rows, cols, |r, c| {
                    let at = self.tensor_element(*tensor, at, r, c)?;
                    Ok(self.tensor(*tensor)?.values[at])
                })?;
                self.put(dst, &value, id)
            }
            TileOp::Store { tensor, src, at, rows, cols, add } => {
                self.store_tile((*tensor, at), src, [rows, cols], *add)
            }
            TileOp::Fill { dst, value, .. } => {
                let [rows, cols] = self.extents(dst)?;
                let value = self.real(value)?;
                self.put(dst, &Matrix::of(rows, cols, |_, _| value), id)
            }
            TileOp::Iota { dst, start, .. } => {
                let [rows, cols] = self.extents(dst)?;
                let start = self.whole(start)?;
                self.put(dst, &Matrix::of(rows, cols, |_, c| (start + i128::from(c)) as f32), id)
            }
            TileOp::Random { dst, seed, first, pitch, .. } => {
                let [rows, cols] = self.extents(dst)?;
                let [seed, first, pitch] = [self.count(seed)?, self.count(first)?, self.count(pitch)?];
                let place = |r, c| u64::from(first) + u64::from(r) * u64::from(pitch) + u64::from(c);
                self.put(dst, &Matrix::of(rows, cols, |r, c| random::number(seed, place(r, c))), id)
            }
            TileOp::Unary { op, dst, src } => {
                let (value, plain) = (self.matrix(src)?, op.plain());
                self.result(dst, Matrix::of(value.rows, value.cols, |r, c| plain(value.get(r, c))), id)
            }
            TileOp::Binary { op, dst, a, b } => {
                let a = self.matrix(a)?;
                let (b, plain) = (self.second(b, a.rows, a.cols)?, op.plain());
                self.result(dst, Matrix::of(a.rows, a.cols, |r, c| plain(a.get(r, c), b.get(r, c))), id)
            }
            TileOp::Clamp { dst, src, low, high } => {
                let (value, low, high) = (self.matrix(src)?, self.real(low)?, self.real(high)?);
                let [most, least] = [BinaryTileOp::Min, BinaryTileOp::Max].map(BinaryTileOp::plain);
                let clamped = |x| most(least(x, low), high);
                self.result(dst, Matrix::of(value.rows, value.cols, |r, c| clamped(value.get(r, c))), id)
            }
            TileOp::Select { dst, mask, a, b } => {
                let (mask, a) = (self.matrix(mask)?, self.matrix(a)?);
                a.fits(mask.rows, mask.cols, "what is taken where the mask holds")?;
                let b = self.second(b, mask.rows, mask.cols)?;
                let pick = |r, c| if mask.get(r, c) != 0.0 { a.get(r, c) } else { b.get(r, c) };
                self.result(dst, Matrix::of(mask.rows, mask.cols, pick), id)
            }
            TileOp::RowReduce { op, dst, src } => {
                let value = self.matrix(src)?;
                self.result(dst, Matrix::of(value.rows, 1, |r, _| reduced(*op, value.row(r))), id)
            }
            TileOp::ColReduce { op, dst, src } => {
                let value = self.matrix(src)?;
                self.result(dst, Matrix::of(1, value.cols, |_, c| reduced(*op, value.col(c))), id)
            }
            TileOp::CumSum { dst, src } => {
                let value = self.matrix(src)?;
                let sums = |r, c| value.row(r).take(c as usize + 1).fold(0.0, |sum, x| sum + x);
                self.result(dst, Matrix::of(value.rows, value.cols, sums), id)
            }
            TileOp::Transpose { dst, src } => {
                let value = self.matrix(src)?;
                self.result(dst, Matrix::of(value.cols, value.rows, |r, c| value.get(c, r)), id)
            }
            TileOp::MatMul { dst, a, b, transpose_b, accumulate } => {
                let (a, b) = (self.matrix(a)?, self.matrix(b)?);
                let right = |k, c| if *transpose_b { b.get(c, k) } else { b.get(k, c) };
                let (inner, cols) = if *transpose_b { (b.cols, b.rows) } else { (b.rows, b.cols) };
                a.fits(a.rows, inner, "the left operand of a product")?;
                let before = if *accumulate { Some(self.matrix(dst)?) } else { None };
                if let Some(before) = &before {
                    before.fits(a.rows, cols, "what a product is added to")?;
                }
                let product = |r, c| (0..inner).fold(0.0f32, |sum, k| sum + a.get(r, k) * right(k, c));
                let old = |r, c| before.as_ref().map_or(0.0, |before| before.get(r, c));
                self.result(dst, Matrix::of(a.rows, cols, |r, c| old(r, c) + product(r, c)), id)
            }
            TileOp::Gather { dst, src, indices, by_row } => self.gather([dst, src, indices], *by_row, id),
            TileOp::Reshape { dst, src, .. } => {
                let (value, [rows, cols]) = (self.matrix(src)?, self.extents(dst)?);
                if u64::from(rows) * u64::from(cols) != value.all().len() as u64 {
                    let have = value.all().len();
                    return Err(Fault::new(
                        codes::STOPPED,
                        format!("{have} elements do not make {rows} x {cols}"),
                    ));
                }
                let at = |r, c| value.all()[r as usize * cols as usize + c as usize];
                self.put(dst, &Matrix::of(rows, cols, at), id)
            }
            TileOp::Mask { .. } | TileOp::MaskCausal { .. } | TileOp::MaskBand { .. } => self.mask(op, id),
            TileOp::Insert { dst, src, row, col } => {
                let (have, part) = (self.matrix(dst)?, self.matrix(src)?);
                let (row, col) = (self.count(row)?, self.count(col)?);
                let ends = [u64::from(row) + u64::from(part.rows), u64::from(col) + u64::from(part.cols)];
                if ends[0] > u64::from(have.rows) || ends[1] > u64::from(have.cols) {
                    let message =
                        format!("a part ends at {ends:?} of a tile of {} x {}", have.rows, have.cols);
                    return Err(Fault::new(codes::STOPPED, message));
                }
                let inside = |at: u32, from: u32, size: u32| at >= from && at - from < size;
                let pick = |r, c| match inside(r, row, part.rows) && inside(c, col, part.cols) {
                    true => part.get(r - row, c - col),
                    false => have.get(r, c),
                };
                self.put(dst, &Matrix::of(have.rows, have.cols, pick), id)
            }
            TileOp::Extract { dst, src, row, col } => {
                let (value, [rows, cols]) = (self.matrix(src)?, self.extents(dst)?);
                let (row, col) = (self.count(row)?, self.count(col)?);
                let rest = [value.rows.saturating_sub(row), value.cols.saturating_sub(col)];
                let room = self.room(dst);
                if [rows, cols] != [rest[0].min(room[0]), rest[1].min(room[1])] {
                    let message =
                        format!("{rows} x {cols} are taken where {rest:?} are, with room for {room:?}");
                    return Err(Fault::new(codes::STOPPED, message));
                }
                self.put(dst, &Matrix::of(rows, cols, |r, c| value.get(r + row, c + col)), id)
            }
            TileOp::TopK { values, indices, src, first } => self.top_k([values, indices], src, first, id),
        }
    }

    fn store_tile(
        &mut self,
        (tensor, at): (wsp_core::TensorId, &Place),
        src: &Tile,
        most: [&Option<Expr>; 2],
        add: bool,
    ) -> Result<(), Fault> {
        let value = self.matrix(src)?;
        for (have, most) in [value.rows, value.cols].into_iter().zip(most) {
            if let Some(most) = most
                && have > self.count(most)?
            {
                return Err(Fault::new(
                    codes::BOUNDS,
                    format!("{have} rows or columns are stored past the end of a slice"),
                ));
            }
        }
        for (r, c) in (0..value.rows).flat_map(|r| (0..value.cols).map(move |c| (r, c))) {
            let at = self.tensor_element(tensor, at, r, c)?;
            let value = if add { self.sum(tensor, at, value.get(r, c))? } else { value.get(r, c) };
            self.store(tensor, at, value)?;
        }
        Ok(())
    }

    fn gather(&mut self, [dst, src, indices]: [&Tile; 3], by_row: bool, id: u32) -> Result<(), Fault> {
        let (value, indices) = (self.matrix(src)?, self.matrix(indices)?);
        let extent = if by_row { value.rows } else { value.cols };
        let (rows, cols) = if by_row { (indices.rows, value.cols) } else { (value.rows, indices.cols) };
        indices.fits(rows, cols, "the tile of indices")?;
        let taken = Matrix::try_of(rows, cols, |r, c| {
            let index = indices.get(r, c);
            if index < 0.0 || index.fract() != 0.0 || f64::from(index) >= f64::from(extent) || index.is_nan()
            {
                return Err(Fault::new(codes::STOPPED, format!("index {index} is no place among {extent}")));
            }
            Ok(if by_row { value.get(index as u32, c) } else { value.get(r, index as u32) })
        })?;
        self.result(dst, taken, id)
    }

    fn mask(&mut self, op: &TileOp<Tile>, id: u32) -> Result<(), Fault> {
        let (tile, kept, value): (_, Box<dyn Fn(u32, u32) -> bool>, _) = match op {
            TileOp::Mask { tile, rows, cols, value } => {
                let ends = [rows, cols].map(|end| end.as_ref().map(|end| self.count(end)).transpose());
                let [rows, cols] = ends;
                let [rows, cols] = [rows?.unwrap_or(u32::MAX), cols?.unwrap_or(u32::MAX)];
                (tile, Box::new(move |r, c| r < rows && c < cols), value)
            }
            TileOp::MaskCausal { tile, cols, value } => {
                let cols = self.whole(cols)?;
                (tile, Box::new(move |r, c| i128::from(c) < cols + i128::from(r)), value)
            }
            TileOp::MaskBand { tile, begin, end, group, value } => {
                let (begin, end, group) = (self.whole(begin)?, self.whole(end)?, self.count(group)?.max(1));
                let within = move |r: u32, c: u32| {
                    let column = i128::from(c) - i128::from(r / group);
                    begin <= column && column < end
                };
                (tile, Box::new(within), value)
            }
            _ => return Ok(()),
        };
        let (have, value) = (self.matrix(tile)?, self.real(value)?);
        let pick = |r, c| if kept(r, c) { have.get(r, c) } else { value };
        self.put(tile, &Matrix::of(have.rows, have.cols, pick), id)
    }

    fn top_k(&mut self, lists: [&Tile; 2], src: &Tile, first: &Expr, id: u32) -> Result<(), Fault> {
        let (value, first) = (self.matrix(src)?, self.count(first)?);
        let [held, kept] = self.listed(lists, src)?;
        for list in lists {
            let (rows, cols) = (self.extent(list.rows)?, self.extent(list.cols)?);
            if (rows > 0 && cols != held) || (held > 0 && rows != value.rows) {
                let message = format!("lists hold {rows} x {cols} and {} x {held} are needed", value.rows);
                return Err(Fault::new(codes::STOPPED, message));
            }
        }
        let last = u64::from(first) + u64::from(value.cols);
        if last > INDEX_LIMIT {
            return Err(Fault::new(codes::STOPPED, format!("index {} is not exact in `float`", last - 1)));
        }
        let before = [self.part(lists[0], value.rows, held)?, self.part(lists[1], value.rows, held)?];
        let after = take_in([&before[0], &before[1]], &value, first, kept);
        lists.into_iter().zip(&after).try_for_each(|(list, after)| self.put(list, after, id))
    }

    /// The value of a count.
    fn count(&self, e: &Expr) -> Result<u32, Fault> {
        let value = self.whole(e)?;
        u32::try_from(value)
            .map_err(|_| Fault::new(codes::STOPPED, format!("{value} is no `uint32_t`")).at(e.span))
    }
}

fn reduced(op: ReduceOp, values: impl Iterator<Item = f32>) -> f32 {
    let best = |values: &mut dyn Iterator<Item = f32>, better: fn(f32, f32) -> bool| {
        let mut found: Option<(usize, f32)> = None;
        for (at, x) in values.enumerate() {
            if found.is_none_or(|(_, best)| !best.is_nan() && (x.is_nan() || better(x, best))) {
                found = Some((at, x));
            }
        }
        found
    };
    let values: Vec<f32> = values.collect();
    let count = values.len() as f32;
    let mut values = values.into_iter();
    match op {
        ReduceOp::Sum => values.fold(0.0, |sum, x| sum + x),
        ReduceOp::Mean => values.fold(0.0, |sum, x| sum + x) / count,
        ReduceOp::Max => best(&mut values, |x, y| x > y).map_or(op.neutral(), |(_, x)| x),
        ReduceOp::Min => best(&mut values, |x, y| x < y).map_or(op.neutral(), |(_, x)| x),
        ReduceOp::ArgMax => best(&mut values, |x, y| x > y).map_or(op.neutral(), |(at, _)| at as f32),
        ReduceOp::ArgMin => best(&mut values, |x, y| x < y).map_or(op.neutral(), |(at, _)| at as f32),
    }
}

/// The `f32` next to `x` towards 0, with its last bit set where that is not exact, so that rounding it to fewer bits is rounding `x`
/// (round to odd: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let wide = f64::from(near);
    if wide == x || !near.is_finite() {
        return near;
    }
    let below = if wide.abs() > x.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(below | 1)
}
