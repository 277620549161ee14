//! Which files are changed, and what is run with them.

/// A file that is changed, the program that is run, and its arguments, one list per run: small data with every kind of edge.
pub(super) struct Target {
    pub(super) file: &'static str,
    pub(super) program: &'static str,
    pub(super) runs: &'static [&'static [&'static str]],
}

const fn target(
    file: &'static str,
    program: &'static str,
    runs: &'static [&'static [&'static str]],
) -> Target {
    Target { file, program, runs }
}

/// Requests with fewer tokens than a tile, as many, one more, several tiles, and none.
const LENGTHS: &str = "len=5/0/2600/256/257/64/129,heads=4/2,dim=16,page=16";
const CHUNKS: &[&[&str]] = &[
    &["--generate", LENGTHS, "--set", "chunk=64"],
    // No whole number of tiles.
    &["--generate", LENGTHS, "--set", "chunk=100"],
    &["--generate", LENGTHS, "--set", "chunk=4096"],
    &["--generate", LENGTHS, "--set", "chunk=4096", "--set", "sm_scale=60"],
    &["--generate", "dtype=bf16,len=5/0/300/64/129,heads=4/2,dim=16,page=16"],
];
const SHORT: &str = "len=5/0/300/64/129/66,heads=4/2,dim=16,page=16";
/// Several pieces in long requests, several tiles of keys in every piece, and no whole number of tiles.
const TILES: &str = "kv_tile=24";
const PIECES: &str = "max_blocks=8";
const REQUESTS: &[&[&str]] = &[&["--generate", SHORT, "--set", TILES, "--set", PIECES]];
/// The same with logits whose exponentials are too large for f32 unless they are relative to the largest.
const STEEP: &[&[&str]] = &[
    &["--generate", SHORT, "--set", TILES, "--set", PIECES],
    &["--generate", SHORT, "--set", TILES, "--set", PIECES, "--set", "sm_scale=60"],
];
/// Several queries per request, over a window.
const SPECULATIVE: &[&[&str]] =
    &[&["--generate", "rows=3,len=5/0/300/64/129/66,heads=4/2,dim=16,page=16", "--set", PIECES]];
const QUERIES: &[&[&str]] = &[&["--generate", LENGTHS]];
/// So many requests that they come in several groups.
const WITHOUT_PREFIX: &str = "prefix=0,len=5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300,heads=4/2,dim=16,page=16";
const WITH_PREFIX: &str = "prefix=112,len=5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300/64/129/5/0/300,heads=4/2,dim=16,page=16";
/// A prefix of which pieces are no whole number of tiles, and none.
const BATCH: &[&[&str]] = &[
    &["--generate", WITH_PREFIX, "--set", TILES, "--set", PIECES],
    &["--generate", WITHOUT_PREFIX, "--set", TILES, "--set", PIECES],
];
const LAYER: &[&[&str]] = &[
    // Products of several steps.
    &[
        "--set",
        "seq=194",
        "--set",
        "hidden=72",
        "--set",
        "heads=4",
        "--set",
        "kv_heads=2",
        "--set",
        "head_dim=18",
        "--set",
        "ffn=1100",
    ],
    // Logits whose exponentials are too large for f32 unless they are relative to the largest, and nearly no two alike.
    &[
        "--generate",
        "--input",
        "attn_norm=@norm.npy",
        "--set",
        "seq=194",
        "--set",
        "hidden=72",
        "--set",
        "heads=4",
        "--set",
        "kv_heads=2",
        "--set",
        "head_dim=18",
        "--set",
        "ffn=133",
    ],
    // Whole tiles of everything.
    &[
        "--set",
        "seq=64",
        "--set",
        "hidden=512",
        "--set",
        "heads=4",
        "--set",
        "kv_heads=2",
        "--set",
        "head_dim=128",
        "--set",
        "ffn=512",
    ],
];
const EXPERTS: &[&[&str]] = &[
    &["--set", "tokens=90", "--set", "hidden=72", "--set", "ffn=140", "--set", "experts=5"],
    // No expert without tokens.
    &[
        "--generate",
        "routes=5",
        "--set",
        "tokens=90",
        "--set",
        "hidden=72",
        "--set",
        "ffn=140",
        "--set",
        "experts=5",
    ],
    &["--set", "tokens=40", "--set", "hidden=1024", "--set", "ffn=512", "--set", "experts=3"],
];

pub(super) const TARGETS: &[Target] = &[
    target("decode_attention.pto", "decode_attention.pto", CHUNKS),
    target("decode_graph.pto", "decode_graph.pto", CHUNKS),
    target("row_softmax.pto", "row_softmax.pto", &[&["--input", "x=@x.npy"]]),
    target("attention/common.pto", "attention/decode.pto", STEEP),
    target("attention/split.pto", "attention/decode.pto", QUERIES),
    target("attention/one_query.pto", "attention/decode.pto", REQUESTS),
    target("attention/variant.pto", "attention/soft_cap.pto", REQUESTS),
    target("attention/alibi.pto", "attention/alibi.pto", REQUESTS),
    target("attention/soft_cap.pto", "attention/soft_cap.pto", REQUESTS),
    target("attention/sinks.pto", "attention/sinks.pto", REQUESTS),
    target("attention/sliding_window.pto", "attention/sliding_window.pto", REQUESTS),
    target("attention/rope.pto", "attention/rope.pto", REQUESTS),
    target("attention/rotary.pto", "attention/rope_speculative.pto", SPECULATIVE),
    target("attention/fp8.pto", "attention/fp8.pto", REQUESTS),
    target(
        "attention/mla.pto",
        "attention/mla.pto",
        &[&["--generate", "len=5/0/300/64/129", "--set", TILES, "--set", PIECES]],
    ),
    target("attention/cascade.pto", "attention/cascade.pto", BATCH),
    target("attention/speculative.pto", "attention/speculative.pto", REQUESTS),
    target("attention/extend.pto", "attention/extend.pto", QUERIES),
    target(
        "attention/merge_states.pto",
        "attention/merge_states.pto",
        &[&["--input", "v=@v.npy", "--input", "s=@s.npy"]],
    ),
    target("attention/prefill_decode.pto", "attention/prefill_decode.pto", REQUESTS),
    target("llama_layer/layer.pto", "llama_layer/layer.pto", LAYER),
    target("moe/moe.pto", "moe/moe.pto", EXPERTS),
    target(
        "ragged_prefill/prefill.pto",
        "ragged_prefill/prefill.pto",
        &[
            &["--generate", "len=1/0/130/65/300"],
            &["--generate", "len=1/0/130/65/300", "--set", "sm_scale=60"],
        ],
    ),
    target(
        "topk_indexer/indexer.pto",
        "topk_indexer/indexer.pto",
        &[&["--generate", "len=1/2048/2049/0/5000"]],
    ),
    target(
        "deepseek/indexer.pto",
        "deepseek_indexer.tg",
        &[&[], &["--generate", "--input", "INPUT_HIDDEN=@hidden.npy"]],
    ),
];
