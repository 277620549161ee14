//! Tasks of one LLaMA-7B layer slice as plain loops: what dependence inference is measured on.
//!
//! Two forms of the same layer: [`llama_table`] has 64-row steps and few accesses per task, and reads caches and states
//! as whole 128x128 tables; [`llama_flat`] has 32-row steps and the complete data flow.

use wsp_core::{Region, TensorId};

/// Columns of every tile.
const COLUMNS: u32 = 128;
/// Rows of a tile.
const ROWS: u32 = 32;
/// Rows from one tile of [`llama_table`] to the next.
const TABLE_STEP: u32 = 64;
/// Rows of a table that is read whole.
const TABLE_ROWS: u32 = 128;

/// One task, with the boxes in the order of its arguments: first those read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LlamaTask<'a> {
    /// The kernel.
    pub(crate) kernel: Kernel,
    /// Boxes read.
    pub(crate) reads: &'a [Region],
    /// Boxes written.
    pub(crate) writes: &'a [Region],
}

/// An enum whose variants are named as in the layer, and the list of their names.
macro_rules! named {
    ($(#[$doc:meta])* $Enum:ident, $NAMES:ident: $($name:ident)*) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "named as in the layer")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum $Enum { $($name),* }

        #[cfg(test)]
        const $NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

named! {
    /// Tensors of the layer.
    Tensor, TENSORS: input temp_norm all_q_tiles all_k_tiles all_v_tiles all_q_rope all_k_rope all_attn_out temp_scores
    temp_attn_weights all_hidden temp_gate temp_up temp_swiglu temp_mlp_out output
    attn_norm_weights mlp_norm_weights wq wk wv wo w_gate w_up w_down cos_cache all_m_vec all_l_vec
    const_zeros_large temp_scale
}

named! {
    /// Kernels of the layer.
    Kernel, KERNELS: rmsnorm_tile tile_matmul rope_tile residual_add_tile swiglu_tile
    rmsnorm_tile_64 tile_matmul_64 rope_tile_64 residual_add_tile_64 swiglu_tile_64
    flash_attn_init_state flash_attn_score_block flash_attn_softmax_update flash_attn_output_update flash_attn_normalize
}

use Kernel::*;
use Tensor::*;

#[inline(always)]
fn rows(tensor: Tensor, first: u32, count: u32) -> Region {
    Region {
        tensor: TensorId(tensor as u32),
        lo: [first, 0, 0, 0, 0, 0],
        hi: [first + count, COLUMNS, 1, 1, 1, 1],
    }
}

/// The 32-row tile that begins at row `first`.
#[inline(always)]
fn tile(tensor: Tensor, first: u32) -> Region {
    rows(tensor, first, ROWS)
}

/// The first 128 rows.
#[inline(always)]
fn table(tensor: Tensor) -> Region {
    rows(tensor, 0, TABLE_ROWS)
}

/// Emits 16 M + 3 M^2 tasks, M = `seq` / 64.
#[inline(always)]
pub(crate) fn llama_table(seq: u32, mut emit: impl FnMut(LlamaTask<'_>)) {
    let starts = || (0..seq / TABLE_STEP).map(|m| m * TABLE_STEP);
    let mut task =
        |kernel, reads: &[Region], write: Region| emit(LlamaTask { kernel, reads, writes: &[write] });
    for r in starts() {
        task(rmsnorm_tile_64, &[tile(input, r), table(attn_norm_weights)], tile(temp_norm, r));
        task(tile_matmul_64, &[tile(temp_norm, r), table(wq)], tile(all_q_tiles, r));
        task(tile_matmul_64, &[tile(temp_norm, r), table(wk)], tile(all_k_tiles, r));
        task(tile_matmul_64, &[tile(temp_norm, r), table(wv)], tile(all_v_tiles, r));
        task(rope_tile_64, &[tile(all_q_tiles, r), table(cos_cache)], tile(all_q_rope, r));
        task(rope_tile_64, &[tile(all_k_tiles, r), table(cos_cache)], tile(all_k_rope, r));
    }
    for q in starts() {
        task(flash_attn_init_state, &[tile(const_zeros_large, q)], tile(all_attn_out, q));
        for kv in starts() {
            task(flash_attn_score_block, &[tile(all_q_rope, q), tile(all_k_rope, kv)], tile(temp_scores, q));
            let weights = tile(temp_attn_weights, q);
            task(flash_attn_softmax_update, &[tile(temp_scores, q), table(all_m_vec)], weights);
            let out = tile(all_attn_out, q);
            task(flash_attn_output_update, &[out, tile(all_v_tiles, kv)], out);
        }
        let out = tile(all_attn_out, q);
        task(flash_attn_normalize, &[out, table(all_l_vec)], out);
    }
    for r in starts() {
        task(tile_matmul_64, &[tile(all_attn_out, r), table(wo)], tile(temp_norm, r));
        task(residual_add_tile_64, &[tile(temp_norm, r), table(input)], tile(all_hidden, r));
        task(rmsnorm_tile_64, &[tile(all_hidden, r), table(mlp_norm_weights)], tile(temp_norm, r));
        task(tile_matmul_64, &[tile(temp_norm, r), table(w_gate)], tile(temp_gate, r));
        task(tile_matmul_64, &[tile(temp_norm, r), table(w_up)], tile(temp_up, r));
        task(swiglu_tile_64, &[tile(temp_gate, r), table(temp_up)], tile(temp_swiglu, r));
        task(tile_matmul_64, &[tile(temp_swiglu, r), table(w_down)], tile(temp_mlp_out, r));
        task(residual_add_tile_64, &[tile(temp_mlp_out, r), table(all_hidden)], tile(output, r));
    }
}

/// Emits 16 K + 3 K^2 tasks, K = `seq` / 32.
#[inline(always)]
pub(crate) fn llama_flat(seq: u32, mut emit: impl FnMut(LlamaTask<'_>)) {
    let starts = || (0..seq / ROWS).map(|k| k * ROWS);
    let mut task = |kernel, reads: &[Region], writes: &[Region]| emit(LlamaTask { kernel, reads, writes });
    for r in starts() {
        task(rmsnorm_tile, &[tile(input, r)], &[tile(temp_norm, r)]);
        for to in [all_q_tiles, all_k_tiles, all_v_tiles] {
            task(tile_matmul, &[tile(temp_norm, r)], &[tile(to, r)]);
        }
        task(rope_tile, &[tile(all_q_tiles, r)], &[tile(all_q_rope, r)]);
        task(rope_tile, &[tile(all_k_tiles, r)], &[tile(all_k_rope, r)]);
    }
    for q in starts() {
        let state = [tile(all_attn_out, q), tile(all_l_vec, q), tile(all_m_vec, q)];
        task(flash_attn_init_state, &[], &state);
        for kv in starts() {
            flat_step(&mut task, q, kv);
        }
        task(flash_attn_normalize, &state[..2], &state[..1]);
    }
    for r in starts() {
        task(tile_matmul, &[tile(all_attn_out, r)], &[tile(temp_norm, r)]);
        task(residual_add_tile, &[tile(temp_norm, r), tile(input, r)], &[tile(all_hidden, r)]);
        task(rmsnorm_tile, &[tile(all_hidden, r)], &[tile(temp_norm, r)]);
        task(tile_matmul, &[tile(temp_norm, r)], &[tile(temp_gate, r)]);
        task(tile_matmul, &[tile(temp_norm, r)], &[tile(temp_up, r)]);
        task(swiglu_tile, &[tile(temp_gate, r), tile(temp_up, r)], &[tile(temp_swiglu, r)]);
        task(tile_matmul, &[tile(temp_swiglu, r)], &[tile(temp_mlp_out, r)]);
        task(residual_add_tile, &[tile(temp_mlp_out, r), tile(all_hidden, r)], &[tile(output, r)]);
    }
}

/// The three tasks of one tile of keys and values of [`llama_flat`].
#[inline(always)]
fn flat_step(task: &mut impl FnMut(Kernel, &[Region], &[Region]), q: u32, kv: u32) {
    let (scores, weights, scale) = (tile(temp_scores, q), tile(temp_attn_weights, q), tile(temp_scale, q));
    let (m, l, out) = (tile(all_m_vec, q), tile(all_l_vec, q), tile(all_attn_out, q));
    task(flash_attn_score_block, &[tile(all_q_rope, q), tile(all_k_rope, kv)], &[scores]);
    task(flash_attn_softmax_update, &[scores, m, l], &[m, l, weights, scale]);
    task(flash_attn_output_update, &[out, weights, tile(all_v_tiles, kv), scale], &[out]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read as _;
    use std::path::Path;

    /// Lines of a reference graph's file, without the heading.
    fn lines(name: &str) -> Vec<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/graphs").join(name);
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    }

    /// Compares what `emit` emits with a reference graph whose row offsets count `unit` rows.
    fn compare(name: &str, unit: u32, emit: impl FnOnce(&mut dyn FnMut(LlamaTask<'_>))) {
        let (mut kernels, mut args) = (Vec::new(), Vec::new());
        emit(&mut |task: LlamaTask<'_>| {
            let id = kernels.len();
            kernels.push(format!("{id},{}", KERNELS[task.kernel as usize]));
            let regions = task.reads.iter().map(|r| ("in", r)).chain(task.writes.iter().map(|w| ("out", w)));
            args.extend(regions.enumerate().map(|(arg, (dir, r))| {
                let tensor = TENSORS[r.tensor.0 as usize];
                let (rows, columns) = (r.hi[0] - r.lo[0], r.hi[1] - r.lo[1]);
                format!("{id},{arg},{dir},{tensor},{},{},{rows},{columns}", r.lo[0] / unit, r.lo[1])
            }));
        });
        let expected: Vec<String> = lines(&format!("{name}.tasks.csv.gz"))
            .iter()
            .map(|line| line.rsplit_once(',').unwrap().0.to_owned())
            .collect();
        assert!(kernels == expected, "{name}: kernels differ");
        for (own, theirs) in args.iter().zip(&lines(&format!("{name}.args.csv.gz"))) {
            assert_eq!(own, theirs, "{name}");
        }
    }

    #[test]
    fn the_loops_give_the_reference_graphs() {
        compare("llama_table_1K", 1, |emit| llama_table(1024, emit));
        compare("llama_flat_1K", 32, |emit| llama_flat(1024, emit));
    }

    #[test]
    fn tasks_are_as_many_as_the_formulas_say() {
        let (mut table, mut flat) = (0, 0);
        llama_table(16_384, |_| table += 1);
        llama_flat(2048, |_| flat += 1);
        assert_eq!((table, flat), (200_704, 16 * 64 + 3 * 64 * 64));
    }
}
