//! The LLaMA layer of `examples/llama_layer` by a builder, with heads and hidden columns over a grid of 4 × 2 tiles: the bits are those without.

use pto_wsp::workload::build::{Expr, Int};
use pto_wsp::workload::{LayoutDim, MeshAxis, ModuleBuilder, WorkloadModule, range_step};
use pto_wsp::{Args, Array, Program, RunOptions, Source};

const KERNELS: &str = include_str!("../../../../examples/llama_layer/layer.pto");
/// Sizes: tokens past a block, heads that divide among four tiles and those of keys among two, and a feed-forward of a shorter last block.
const SEQ: u64 = 70;
const HIDDEN: u64 = 128;
const HEADS: u64 = 8;
const FFN: u64 = 172;
const KV_COLS: u64 = HIDDEN / 4;

fn module() -> WorkloadModule {
    let mut m = ModuleBuilder::new();
    m.use_file("layer.pto");
    let [seq, hidden, heads, ffn, q_cols, kv_cols] =
        ["seq", "hidden", "heads", "ffn", "Q_COLS", "KV_COLS"].map(|name| m.required(name));
    let block = m.dense("block", seq.ceil_div(64));
    let head = m.dense("head", heads);
    let by_rows = ["rope_table", "rmsnorm_attn", "rope", "rmsnorm_ffn"];
    let [table, norm, rope, norm_middle] = by_rows.map(|name| m.library_kernel(name).finish());
    let by_blocks = ["project_q", "project_k", "project_v", "project_out", "gate_up", "project_down"];
    let [project_q, project_k, project_v, out, gate_up, down] =
        by_blocks.map(|name| m.library_kernel(name).finish());
    let attention = m.library_kernel("attention").finish();
    m.workload("main", |w| {
        w.parallel_for("i", block, |w, i| {
            let rows = || range_step(64 * i, (i * 64 + 64).min(seq), 32);
            w.parallel_for("r", rows(), |w, r| {
                w.task(table).field("first", r);
                w.task(norm).field("first", r);
            });
            for (cols, kernels) in [(q_cols, &[project_q][..]), (kv_cols, &[project_k, project_v])] {
                w.parallel_for("c", range_step(0, cols, 128), |w, c| {
                    for kernel in kernels {
                        w.task(*kernel).field("row", 64 * i).field("col", c);
                    }
                });
            }
            w.parallel_for("r", rows(), |w, r| {
                w.task(rope).field("first", r);
            });
            w.parallel_for("h", head, |w, h| {
                w.task(attention).field("row", 64 * i).field("head", h);
            });
            for (cols, kernel) in [(hidden, out), (ffn, gate_up), (hidden, down)] {
                if kernel == gate_up {
                    w.parallel_for("r", rows(), |w, r| {
                        w.task(norm_middle).field("first", r);
                    });
                }
                w.parallel_for("c", range_step(0, Expr::from(cols), 128), |w, c| {
                    w.task(kernel).field("row", 64 * i).field("col", c);
                });
            }
        });
    });
    m.schedule_named("sharded", |s| {
        let [whole, x, y] =
            [LayoutDim::Replicate, LayoutDim::Shard(MeshAxis::X), LayoutDim::Shard(MeshAxis::Y)];
        s.spatial_map(4, 2);
        for (tensor, along) in
            [("wq", x), ("wk", y), ("wv", y), ("wo", y), ("w_gate", x), ("w_up", x), ("w_down", y)]
        {
            s.layout(tensor, &[along, whole]);
        }
        for (tensor, along) in
            [("q", x), ("k", y), ("v", y), ("attended", x), ("middle", y), ("gated", x), ("y", y)]
        {
            s.layout(tensor, &[whole, along]);
        }
        for tensor in ["attended", "middle", "gated"] {
            s.relayout(tensor, &[whole, whole]);
        }
    });
    m.finish().unwrap_or_else(|faults| panic!("{faults}")).into_inner()
}

/// Numbers from -1/8 to 1/8.
fn array(dims: &[u64], step: u64) -> Array {
    let count: u64 = dims.iter().product();
    let numbers: Vec<f32> = (0..count).map(|at| (at * step % 1013) as f32 / 4052.0 - 0.125).collect();
    Array::of(dims, &numbers).expect("as many numbers as elements")
}

fn args() -> Args {
    let shapes: [(&str, &[u64]); 10] = [
        ("x", &[SEQ, HIDDEN]),
        ("attn_norm", &[HIDDEN]),
        ("wq", &[HIDDEN, HIDDEN]),
        ("wk", &[KV_COLS, HIDDEN]),
        ("wv", &[KV_COLS, HIDDEN]),
        ("wo", &[HIDDEN, HIDDEN]),
        ("ffn_norm", &[HIDDEN]),
        ("w_gate", &[FFN, HIDDEN]),
        ("w_up", &[FFN, HIDDEN]),
        ("w_down", &[HIDDEN, FFN]),
    ];
    let sizes = [("seq", SEQ), ("hidden", HIDDEN), ("heads", HEADS), ("ffn", FFN)];
    let args = sizes.into_iter().fold(Args::new(), |args, (name, size)| args.with(name, size as i64));
    let arrays = shapes.into_iter().zip([7919, 6007, 5003, 4001, 3001, 2003, 7001, 6011, 5009, 4003]);
    arrays.fold(args, |args, ((name, dims), step)| args.with(name, array(dims, step)))
}

#[test]
fn a_sharded_layer_by_a_builder_has_the_bits_of_one_without() {
    let source = || Source::workload(module()).file("layer.pto", KERNELS);
    let run = |program: &Program, threads| {
        let options = RunOptions { threads, ..RunOptions::default() };
        program.execute(args(), options).unwrap_or_else(|error| panic!("{error}"))
    };
    let whole = source().compile().unwrap_or_else(|error| panic!("{error}"));
    let bits = run(&whole, 1).outputs["y"].bytes().to_vec();
    assert!(bits.iter().any(|byte| *byte != 0));
    let sharded = source().schedule("sharded").compile().unwrap_or_else(|error| panic!("{error}"));
    for threads in [1, 3, 8] {
        let outcome = run(&sharded, threads);
        assert!(outcome.outputs["y"].bytes() == bits, "{threads} threads");
        let grid = outcome.stats.grid.expect("the schedule has a grid");
        assert!(
            grid.lines().iter().any(|line| line.starts_with("tiles (0, 0) to (3, 0): tasks ")),
            "{:?}",
            grid.lines()
        );
    }
}
