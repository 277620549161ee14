//! Every kernel table against single-element loops in `f64`.

mod ahead;
mod alias;
mod elementwise;
mod functions;
mod matmul;
mod parts;
mod places;
mod reduce;
mod select;
mod together;
mod transfer;
mod wide;

use super::Tiles;
use crate::memory::{Layout, Shape, TensorMem, Window};
use wsp_core::DType;
use wsp_memory::Bytes;
use wsp_simd::{Level, Mode, round_to, write_f32};

/// Columns around every vector width, and those of usual heads.
pub(super) const COLS: [u32; 12] = [0, 1, 7, 15, 16, 17, 64, 80, 96, 128, 130, 512];

/// Tiles with the kernels of every level this machine has, and the plain ones.
pub(super) fn all_kernels() -> Vec<(&'static str, Tiles)> {
    let levels = [
        ("portable", Level::Portable),
        ("avx2", Level::Avx2),
        ("avx512", Level::Avx512),
        ("avx512_bf16", Level::Avx512Bf16),
        ("neon", Level::Neon),
    ];
    let mut all = vec![("plain", Tiles::new(Mode::Plain))];
    for (name, level) in levels.into_iter().filter(|(_, level)| level.is_available()) {
        all.push((name, Tiles::with_kernels(level.kernels(), true)));
    }
    all
}

/// Reproducible numbers.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 24) as u32
    }

    /// Below `n`.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.bits() % n
    }

    /// In -2..2, exact in every float type when `elem` says so.
    pub(super) fn value(&mut self, elem: DType) -> f32 {
        round_to(elem, (self.bits() % 4001) as f32 / 1000.0 - 2.0)
    }

    pub(super) fn values(&mut self, n: usize, elem: DType) -> Vec<f32> {
        (0..n).map(|_| self.value(elem)).collect()
    }
}

/// A matrix of the test.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) shape: Shape,
    pub(super) values: Vec<f32>,
}

impl Matrix {
    pub(super) fn random(random: &mut Random, rows: u32, cols: u32, elem: DType) -> Matrix {
        Matrix { shape: Shape::new(rows, cols), values: random.values((rows * cols) as usize, elem) }
    }

    pub(super) fn at(&self, r: usize, c: usize) -> f32 {
        self.values[r * self.shape.cols as usize + c]
    }
}

/// A tile with these values, everything around them NaN.
pub(super) fn put(tiles: &mut Tiles, matrix: &Matrix, elem: DType) -> usize {
    let Shape { rows, cols } = matrix.shape;
    let id = tiles.add(Shape::new(rows + 2, cols + 3), elem).unwrap();
    tiles.fill(id, f32::NAN, None, None);
    set(tiles, id, matrix);
    id
}

/// Makes these values the valid part of a tile, everything around them NaN.
pub(super) fn set(tiles: &mut Tiles, id: usize, matrix: &Matrix) {
    let capacity = tiles.capacity(id);
    let grid = tiles.begin(id, matrix.shape);
    for r in 0..capacity.rows as usize {
        for c in 0..grid.stride {
            let valid = r < grid.rows && c < grid.cols;
            // SAFETY: the buffer has `capacity.rows` rows of `stride` floats.
            unsafe { *grid.row(r).add(c) = if valid { matrix.at(r, c) } else { f32::NAN } };
        }
    }
}

/// An empty tile of a capacity that is full of NaN.
pub(super) fn empty_tile(tiles: &mut Tiles, rows: u32, cols: u32, elem: DType) -> usize {
    let id = tiles.add(Shape::new(rows, cols), elem).unwrap();
    set(tiles, id, &Matrix { shape: Shape::new(0, 0), values: Vec::new() });
    id
}

/// The valid part of a tile, as `f32`.
pub(super) fn get(tiles: &mut Tiles, id: usize) -> Matrix {
    if tiles.is_wide(id) {
        let values = tiles.tiles[id].values.iter().map(|x| f64::from_bits(*x) as f32).collect();
        return Matrix { shape: tiles.shape(id), values };
    }
    tiles.own(id);
    let grid = tiles.grid(id);
    let mut values = Vec::new();
    for r in 0..grid.rows {
        for c in 0..grid.cols {
            // SAFETY: within the valid part.
            values.push(unsafe { *grid.row(r).add(c) });
        }
    }
    Matrix { shape: tiles.shape(id), values }
}

pub(super) fn bits(matrix: &Matrix) -> Vec<u32> {
    matrix.values.iter().map(|x| x.to_bits()).collect()
}

/// Asserts that two matrices agree within a distance per element.
pub(super) fn assert_close(have: &Matrix, want: &[f64], tolerance: impl Fn(usize) -> f64, what: &str) {
    assert_eq!(have.values.len(), want.len(), "{what}");
    for (i, (&h, &w)) in have.values.iter().zip(want).enumerate() {
        let close =
            (f64::from(h) - w).abs() <= tolerance(i) || (h.is_nan() && w.is_nan()) || f64::from(h) == w;
        assert!(close, "{what}: element {i} of {}: {h:e}, should be {w:e} ± {:e}", have.shape, tolerance(i));
    }
}

/// An array of the test.
pub(super) struct Array {
    pub(super) bytes: Vec<u8>,
    pub(super) dtype: DType,
}

impl Array {
    /// `n` elements, all NaN bits.
    pub(super) fn poisoned(n: usize, dtype: DType) -> Array {
        Array { bytes: vec![0xFF; n * dtype.size()], dtype }
    }

    pub(super) fn set(&mut self, element: usize, value: f32) {
        let at = element * self.dtype.size();
        // SAFETY: the slice has the element's bytes.
        unsafe { write_f32(self.bytes[at..at + self.dtype.size()].as_mut_ptr(), self.dtype, value) };
    }

    pub(super) fn mem(&mut self, layout: Layout) -> TensorMem {
        // SAFETY: the tests keep the array longer than the tensor and its tiles, on one thread.
        let bytes = unsafe { Bytes::new(self.bytes.as_mut_ptr(), self.bytes.len()) };
        TensorMem::new(bytes, self.dtype, layout)
    }
}

/// Rows along dimension `rows`, columns along dimension `cols`.
pub(super) fn window(index: &[u32], rows: u8, cols: u8) -> Window<'_> {
    Window { index, row_dim: Some(rows), col_dim: Some(cols) }
}

/// A row-major array of a matrix.
pub(super) fn array_of(matrix: &Matrix, dtype: DType) -> (Array, Layout) {
    let Shape { rows, cols } = matrix.shape;
    let mut array = Array::poisoned(matrix.values.len(), dtype);
    for (i, &v) in matrix.values.iter().enumerate() {
        array.set(i, v);
    }
    (array, Layout::Strided { dims: vec![rows, cols], strides: vec![u64::from(cols), 1] })
}
