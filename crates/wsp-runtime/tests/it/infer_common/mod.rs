//! Task graphs that tests and measurements of the inference share: their accesses by formula.
#![allow(dead_code, reason = "each user takes its part")]

use wsp_core::{Region, TensorId};

/// Something that a task does with a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TileAccess {
    /// Tensor, from 0.
    pub(crate) tensor: u32,
    /// First row.
    pub(crate) row: u32,
    /// Rows.
    pub(crate) rows: u32,
    /// Columns, from 0.
    pub(crate) cols: u32,
}

impl TileAccess {
    /// The access as a region.
    pub(crate) fn region(self) -> Region {
        let mut region = Region { tensor: TensorId(self.tensor), lo: [0; 6], hi: [1; 6] };
        region.lo[0] = self.row;
        region.hi[0] = self.row + self.rows;
        region.hi[1] = self.cols;
        region
    }
}

fn tile(tensor: u32, row: u32) -> TileAccess {
    TileAccess { tensor, row, rows: 32, cols: 128 }
}

fn whole(tensor: u32) -> TileAccess {
    TileAccess { tensor, row: 0, rows: 128, cols: 128 }
}

/// Tensors of the two LLaMA graphs.
pub(crate) mod llama {
    #![allow(missing_docs, reason = "names as in the reference files")]
    pub(crate) const NAMES: [&str; 28] = [
        "input",
        "attn_norm_weights",
        "temp_norm",
        "wq",
        "wk",
        "wv",
        "all_q_tiles",
        "all_k_tiles",
        "all_v_tiles",
        "cos_cache",
        "all_q_rope",
        "all_k_rope",
        "const_zeros_large",
        "all_attn_out",
        "temp_scores",
        "all_m_vec",
        "temp_attn_weights",
        "all_l_vec",
        "wo",
        "all_hidden",
        "mlp_norm_weights",
        "w_gate",
        "w_up",
        "temp_gate",
        "temp_up",
        "temp_swiglu",
        "w_down",
        "temp_mlp_out",
    ];
    pub(crate) const OUTPUT: u32 = 28;
    pub(crate) const TEMP_SCALE: u32 = 29;
    pub(crate) const TENSORS: u32 = 30;

    /// The name of a tensor.
    pub(crate) fn name(tensor: u32) -> &'static str {
        match tensor {
            OUTPUT => "output",
            TEMP_SCALE => "temp_scale",
            _ => NAMES[tensor as usize],
        }
    }
}

/// The accesses of one layer slice over `seq` tokens, in tiles of 32 rows that begin every 64: 16M + 3M² tasks with
/// M = seq / 64. Shows reads and writes of each task.
pub(crate) fn llama_table(seq: u32, mut task: impl FnMut(&[TileAccess], &[TileAccess])) {
    let rows = || (0..seq / 64).map(|i| 64 * i);
    for row in rows() {
        task(&[tile(0, row), whole(1)], &[tile(2, row)]);
        for (weight, out) in [(3, 6), (4, 7), (5, 8)] {
            task(&[tile(2, row), whole(weight)], &[tile(out, row)]);
        }
        task(&[tile(6, row), whole(9)], &[tile(10, row)]);
        task(&[tile(7, row), whole(9)], &[tile(11, row)]);
    }
    for row in rows() {
        task(&[tile(12, row)], &[tile(13, row)]);
        for column in rows() {
            task(&[tile(10, row), tile(11, column)], &[tile(14, row)]);
            task(&[tile(14, row), whole(15)], &[tile(16, row)]);
            task(&[tile(13, row), tile(8, column)], &[tile(13, row)]);
        }
        task(&[tile(13, row), whole(17)], &[tile(13, row)]);
    }
    for row in rows() {
        task(&[tile(13, row), whole(18)], &[tile(2, row)]);
        task(&[tile(2, row), whole(0)], &[tile(19, row)]);
        task(&[tile(19, row), whole(20)], &[tile(2, row)]);
        task(&[tile(2, row), whole(21)], &[tile(23, row)]);
        task(&[tile(2, row), whole(22)], &[tile(24, row)]);
        task(&[tile(23, row), whole(24)], &[tile(25, row)]);
        task(&[tile(25, row), whole(26)], &[tile(27, row)]);
        task(&[tile(27, row), whole(19)], &[tile(28, row)]);
    }
}

/// The same with complete data flow, in tiles of 32 rows: 16K + 3K² tasks with K = seq / 32.
pub(crate) fn llama_flat(seq: u32, mut task: impl FnMut(&[TileAccess], &[TileAccess])) {
    let rows = || (0..seq / 32).map(|i| 32 * i);
    for row in rows() {
        task(&[tile(0, row)], &[tile(2, row)]);
        for out in [6, 7, 8] {
            task(&[tile(2, row)], &[tile(out, row)]);
        }
        task(&[tile(6, row)], &[tile(10, row)]);
        task(&[tile(7, row)], &[tile(11, row)]);
    }
    for row in rows() {
        let [out, l, m, scores, weights, scale] = [13, 17, 15, 14, 16, 29].map(|tensor| tile(tensor, row));
        task(&[], &[out, l, m]);
        for column in rows() {
            task(&[tile(10, row), tile(11, column)], &[scores]);
            task(&[scores, m, l], &[m, l, weights, scale]);
            task(&[out, weights, tile(8, column), scale], &[out]);
        }
        task(&[out, l], &[out]);
    }
    for row in rows() {
        task(&[tile(13, row)], &[tile(2, row)]);
        task(&[tile(2, row), tile(0, row)], &[tile(19, row)]);
        task(&[tile(19, row)], &[tile(2, row)]);
        task(&[tile(2, row)], &[tile(23, row)]);
        task(&[tile(2, row)], &[tile(24, row)]);
        task(&[tile(23, row), tile(24, row)], &[tile(25, row)]);
        task(&[tile(25, row)], &[tile(27, row)]);
        task(&[tile(27, row), tile(19, row)], &[tile(28, row)]);
    }
}

/// A batch of products of n x n x n tiles as nested loops; every product goes to a tensor of its own if `ring` is `None`,
/// else to the tiles of one in turn.
pub(crate) fn bgemm_loops(
    batch: u32,
    n: u32,
    ring: Option<u32>,
    mut task: impl FnMut(&[TileAccess], &[TileAccess]),
) {
    let (a, b, c, mut product) = (0, 1, 2, 0);
    for base in (0..batch).map(|i| i * n * n) {
        for (k, i, j) in (0..n).flat_map(|k| (0..n).flat_map(move |i| (0..n).map(move |j| (k, i, j)))) {
            let p = match ring {
                None => tile(3 + product, 0),
                Some(ring) => tile(3, 32 * (product % ring)),
            };
            let sum = tile(c, 32 * (base + i * n + j));
            task(&[tile(a, 32 * (base + i * n + k)), tile(b, 32 * (base + k * n + j))], &[p]);
            task(&[sum, p], &[sum]);
            product += 1;
        }
    }
}
