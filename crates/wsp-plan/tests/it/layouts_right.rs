//! Layouts: programs of which a tile array gives the values are accepted.

use crate::layouts::{analysed, analysed_by, program};

const ALONG: &str = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE) \
    PTO_LAYOUT(h, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(out, PTO_SHARD(x), PTO_REPLICATE)";
const COLUMNS: &str = "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_REPLICATE, PTO_SHARD(x)) \
    PTO_LAYOUT(h, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(out, PTO_REPLICATE, PTO_SHARD(x))";
/// The inner dimension of a product over `x`, whose parts are added up.
const ADDED: &str = "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE) \
    PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE) PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)";
const BOTH: &str = "PTO_LAYOUT(a, PTO_SHARD(y), PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(y), PTO_SHARD(x)) \
    PTO_LAYOUT(out, PTO_SHARD(y), PTO_SHARD(x))";
const EACH: &str = "for (uint32_t i = 0; i < 16; ++i)";
const FOURS: &str = "for (uint32_t i = 0; i < 16; i += 4)";
const SUM: &str = "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb);";
const SCALE: &str = "TMUL(q, ta, ta); TROWSUM(col, q); TMULS(col, col, 0.0625f); TADDS(col, col, 0.00001f); TRSQRT(col, col);";
const SOFTMAX: &str =
    "TROWMAX(col, ta); TROWEXPANDSUB(p, ta, col); TEXP(p, p); TROWSUM(col, p); TROWEXPANDDIV(p, p, col);";

/// What is right, the layouts and the kernels.
const RIGHT: &[(&str, &str, &[&str])] = &[
    (
        "rows of which the number is known in one load only",
        ALONG,
        &[
            "TLOAD(ta, a, {0, 0}); uint32_t rows = desc.i + 16; TLOAD(tb, a, {0, 0}, rows, 16); TMUL(p, ta, tb); TSTORE(h, p, {0, 0});",
        ],
    ),
    ("a copy of rows", ALONG, &["TLOAD(ta, a, {0, 0}); TSTORE(out, ta, {0, 0});"]),
    ("a function of columns", COLUMNS, &["TLOAD(ta, a, {0, 0}); TEXP(p, ta); TSTORE(out, p, {0, 0});"]),
    (
        "blocks over both axes",
        BOTH,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TADD(p, ta, tb); TSTORE(out, p, {0, 0});"],
    ),
    ("what is replicated, into parts", ALONG, &["TLOAD(tn, n, {0, 0}); TSTORE(out, tn, {0, 0});"]),
    (
        "rows and what is replicated",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TMAX(p, ta, tn); TSTORE(out, p, {0, 0});"],
    ),
    (
        "sums of rows that are whole",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TROWEXPANDMUL(p, ta, col); TSTORE(out, p, {0, 0});"],
    ),
    (
        "sums of columns that are whole",
        COLUMNS,
        &["TLOAD(ta, a, {0, 0}); TCOLMAX(row, ta); TCOLEXPANDSUB(p, ta, row); TSTORE(out, p, {0, 0});"],
    ),
    (
        "the norm of rows",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); @scale TROWEXPANDMUL(p, ta, col); TSTORE(out, p, {0, 0});"],
    ),
    (
        "a norm with weights of every tile",
        ALONG,
        &[
            "TLOAD(ta, a, {0, 0}); @scale TROWEXPANDMUL(p, ta, col); TLOAD(row, n, {0, 0}); TCOLEXPANDMUL(p, p, row); TSTORE(out, p, {0, 0});",
        ],
    ),
    (
        "a softmax along the dimension that is whole",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); @softmax TSTORE(out, p, {0, 0});"],
    ),
    ("running sums of rows", ALONG, &["TLOAD(ta, a, {0, 0}); TCUMSUM(p, ta); TSTORE(out, p, {0, 0});"]),
    (
        "columns by index",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TGATHER(p, ta, tn); TSTORE(out, p, {0, 0});"],
    ),
    (
        "indices by rows",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TGATHER(p, tn, ta); TSTORE(out, p, {0, 0});"],
    ),
    ("a mask", ALONG, &["TLOAD(ta, a, {0, 0}); TMASK_CAUSAL(ta, 1, 0.0f); TSTORE(out, ta, {0, 0});"]),
    (
        "a selection",
        ALONG,
        &[
            "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TLOAD(tn, n, {0, 0}); TSEL(p, ta, tb, tn); TSTORE(out, p, {0, 0});",
        ],
    ),
    (
        "a transposition",
        "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(out, PTO_REPLICATE, PTO_SHARD(x))",
        &["TLOAD(ta, a, {0, 0}); TTRANS(p, ta); TSTORE(out, p, {0, 0});"],
    ),
    (
        "halves of rows",
        ALONG,
        &[
            "VecTile<float, 8, 16> u; VecTile<float, 8, 16> v; TLOAD(u, a, {8, 0}); TLOAD(v, b, {8, 0}); TADD(u, u, v); TSTORE(out, u, {8, 0});",
        ],
    ),
    // Products.
    (
        "rows of a product",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TMATMUL(p, ta, tn); TSTORE(out, p, {0, 0});"],
    ),
    (
        "columns of a product",
        COLUMNS,
        &["TLOAD(tb, b, {0, 0}); TLOAD(tn, n, {0, 0}); TMATMUL(p, tn, tb); TSTORE(out, p, {0, 0});"],
    ),
    (
        "rows and columns of a product over two axes",
        "PTO_LAYOUT(a, PTO_SHARD(y), PTO_REPLICATE) PTO_LAYOUT(b, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(out, PTO_SHARD(y), PTO_SHARD(x))",
        &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb); TSTORE(out, p, {0, 0});"],
    ),
    ("a product that is split", ADDED, &["@sum TSTORE(out, p, {0, 0});"]),
    (
        "a product that is split, and read",
        ADDED,
        &[
            "@sum TSTORE(h, p, {0, 0});",
            "TLOAD(ta, h, {0, 0}); @softmax TSTORE(out, p, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(q, tb, p); ",
        ],
    ),
    (
        "the right operand is split only",
        ADDED,
        &["TLOAD(tn, n, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, tn, tb); TSTORE(out, p, {0, 0});"],
    ),
    (
        "parts of parts",
        ADDED,
        &[
            "@sum TNEG(q, p); TMULS(q, q, 2.0f); TADD(p, p, q); TTRANS(q, p); TDIVS(q, q, 3.0f); TSTORE(out, q, {0, 0});",
        ],
    ),
    ("rows of parts", ADDED, &["@sum TROWSUM(col, p); TSTORE(out, col, {0, 0});"]),
    (
        "parts times what is whole",
        ADDED,
        &["@sum TLOAD(tn, n, {0, 0}); TMUL(p, p, tn); TSTORE(out, p, {0, 0});"],
    ),
    (
        "products that are added up",
        ADDED,
        &[
            "TASSIGN(p, 0.0f); TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); for (uint32_t i = 0; i < 3; ++i) { TMATMUL_ACC(p, ta, tb); } TSTORE(out, p, {0, 0});",
        ],
    ),
    (
        "narrower parts",
        ADDED,
        &["VecTile<half, 16, 16> z; @sum TCVT(z, p); TCVT(p, z); TSTORE(out, p, {0, 0});"],
    ),
    (
        "a sum over two axes",
        "PTO_LAYOUT(a, PTO_SHARD(y), PTO_SHARD(x)) PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)",
        &[
            "TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TTRANS(row, col); VecTile<float, 1, 1> s; TROWSUM(s, row); TSTORE(out, s, {0, 0});",
        ],
    ),
    // Tile by tile.
    (
        "rows one by one",
        ALONG,
        &["@each { TLOAD(row, a, {i, 0}); TEXP(row, row); TSTORE(out, row, {i, 0}); }"],
    ),
    (
        "rows of two tensors",
        ALONG,
        &[
            "VecTile<float, 1, 16> u; @each { TLOAD(row, a, {i, 0}); TLOAD(u, b, {i, 0}); TMAX(row, row, u); TSTORE(out, row, {i, 0}); }",
        ],
    ),
    (
        "a row and its sum",
        ALONG,
        &[
            "VecTile<float, 1, 1> s; @each { TLOAD(row, a, {i, 0}); TROWSUM(s, row); TROWEXPANDDIV(row, row, s); TSTORE(out, row, {i, 0}); }",
        ],
    ),
    (
        "rows that are scanned",
        ALONG,
        &["@each { TLOAD(row, a, {i, 0}); TCUMSUM(row, row); TSTORE(out, row, {i, 0}); }"],
    ),
    ("rows back and forth", ALONG, &["@each { TLOAD(row, a, {15 - i, 0}); TSTORE(out, row, {15 - i, 0}); }"]),
    (
        "every other row",
        ALONG,
        &[
            "for (uint32_t i = 0; i < 8; ++i) { TLOAD(row, a, {2 * i + 1, 0}); TSTORE(out, row, {1 + i * 2, 0}); }",
        ],
    ),
    (
        "an index in a variable",
        ALONG,
        &[
            "for (uint32_t j = 0; j < 4; ++j) { for (uint32_t i = 0; i < 4; ++i) { uint32_t r = j * 4 + i; TLOAD(row, a, {r, 0}); TSTORE(out, row, {i + 4 * j, 0}); } }",
        ],
    ),
    (
        "a loop that counts by itself",
        ALONG,
        &[
            "uint32_t k = 0; while (k < 16) { TLOAD(row, a, {k, 0}); TNEG(row, row); TSTORE(out, row, {k, 0}); k = k + 1; }",
        ],
    ),
    (
        "the row of a task",
        ALONG,
        &["TLOAD(row, a, {desc.i, 0}); TEXP(row, row); TSTORE(out, row, {desc.i, 0});"],
    ),
    (
        "chunks of one tile",
        ALONG,
        &[
            "VecTile<float, 4, 16> u; @fours { TLOAD(u, a, {i, 0}); TCOLMAX(row, u); TCOLEXPANDSUB(u, u, row); TSTORE(out, u, {i, 0}); }",
        ],
    ),
    (
        "chunks by number",
        ALONG,
        &[
            "VecTile<float, 2, 16> u; for (uint32_t i = 0; i < 8; ++i) { TLOAD(u, a, {2 * i, 0}); TCOLSUM(row, u); TCOLEXPANDADD(u, u, row); TSTORE(out, u, {i * 2, 0}); }",
        ],
    ),
    (
        "chunks across tiles",
        ALONG,
        &[
            "VecTile<float, 6, 16> u; VecTile<float, 6, 16> v; for (uint32_t i = 0; i < 12; i += 6) { TLOAD(u, a, {i, 0}); TLOAD(v, b, {i, 0}); TMUL(u, u, v); TSTORE(out, u, {i, 0}); }",
        ],
    ),
    (
        "rows that a branch leaves out",
        ALONG,
        &[
            "@each { if (i % 3 == 0) { continue; } TLOAD(row, a, {i, 0}); if (i == 10) { break; } TSTORE(out, row, {i, 0}); }",
        ],
    ),
    (
        "what is whole, or a row",
        ALONG,
        &[
            "@each { if (i > 3) { TLOAD(row, a, {i, 0}); } else { TLOAD(row, n, {i, 0}); } TSTORE(out, row, {i, 0}); }",
        ],
    ),
    // What loops add up.
    (
        "the sum of rows",
        ADDED,
        &[
            "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); @each { TLOAD(row, b, {i, 0}); TADD(s, s, row); } TSTORE(out, s, {0, 0});",
        ],
    ),
    (
        "the sum of squares",
        ADDED,
        &[
            "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); @each { TLOAD(row, b, {i, 0}); TMUL(row, row, row); TADD(s, row, s); } TMULS(s, s, 0.5f); TSTORE(out, s, {0, 0});",
        ],
    ),
    (
        "the sum of some rows",
        ADDED,
        &[
            "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); @each { if (i == 12) { break; } TLOAD(row, b, {i, 0}); TSUB(s, s, row); } TSTORE(out, s, {0, 0});",
        ],
    ),
    (
        "products of chunks",
        ADDED,
        &[
            "VecTile<float, 16, 4> u; VecTile<float, 4, 16> v; TASSIGN(p, 0.0f); @fours { TLOAD(u, a, {0, i}); TLOAD(v, b, {i, 0}); TMATMUL_ACC(p, u, v); } TSTORE(out, p, {0, 0});",
        ],
    ),
    (
        "products of chunks across tiles",
        ADDED,
        &[
            "VecTile<float, 16, 8> u; VecTile<float, 8, 16> v; TASSIGN(p, 0.0f); for (uint32_t i = 0; i < 16; i += 8) { TLOAD(u, a, {0, i}); TLOAD(v, b, {i, 0}); TMATMUL_ACC(p, u, v); } TSTORE(out, p, {0, 0});",
        ],
    ),
    (
        "sums of sums",
        ADDED,
        &[
            "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); for (uint32_t j = 0; j < 3; ++j) { @each { TLOAD(row, b, {i, 0}); TADD(s, s, row); } } TSTORE(out, s, {0, 0});",
        ],
    ),
    (
        "rows that are added to a tensor",
        ADDED,
        &["@each { TLOAD(row, b, {i, 0}); TSTORE_ATOMIC_ADD(out, row, {0, 0}); }"],
    ),
    (
        "a sum of one row in its place",
        ALONG,
        &[
            "VecTile<float, 1, 16> s; @each { TLOAD(row, a, {i, 0}); TLOAD(s, b, {i, 0}); for (uint32_t j = 0; j < 3; ++j) { TADD(s, s, row); } TSTORE(out, s, {i, 0}); }",
        ],
    ),
    // Kernels after each other.
    (
        "two steps along rows",
        ALONG,
        &[
            "TLOAD(ta, a, {0, 0}); TEXP(p, ta); TSTORE(h, p, {0, 0});",
            "TLOAD(ta, h, {0, 0}); @softmax TSTORE(out, p, {0, 0});",
        ],
    ),
    (
        "rows, then all",
        "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(h, PTO_SHARD(x), PTO_REPLICATE) PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)",
        &[
            "TLOAD(ta, a, {0, 0}); TEXP(p, ta); TSTORE(h, p, {0, 0});",
            "TLOAD(p, h, {0, 0}); TCOLSUM(row, p); TSTORE(out, row, {0, 0});",
        ],
    ),
    (
        "a layer with two products",
        "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(h, PTO_REPLICATE, PTO_SHARD(x)) PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)",
        &[
            "TLOAD(tn, n, {0, 0}); TLOAD(ta, a, {0, 0}); TMATMUL(p, tn, ta); TSILU(p, p); TSTORE(h, p, {0, 0});",
            "TLOAD(p, h, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(q, p, tb); TSTORE(out, q, {0, 0});",
        ],
    ),
    (
        "a row that the task has stored itself",
        ALONG,
        &[
            "@each { TLOAD(row, a, {i, 0}); TSTORE(h, row, {i, 0}); TLOAD(row, h, {i, 0}); TSTORE(out, row, {i, 0}); }",
        ],
    ),
];

fn written(kernels: &[&str]) -> Vec<String> {
    let one = |body: &&str| {
        let names =
            [("@each", EACH), ("@fours", FOURS), ("@sum", SUM), ("@scale", SCALE), ("@softmax", SOFTMAX)];
        names.iter().fold((*body).to_owned(), |body, (name, text)| body.replace(name, text))
    };
    kernels.iter().map(one).collect()
}

#[test]
fn programs_that_a_tile_array_runs_as_they_are_written_are_accepted() {
    let mut refused = Vec::new();
    for (what, layouts, kernels) in RIGHT {
        let written = written(kernels);
        let kernels: Vec<&str> = written.iter().map(String::as_str).collect();
        refused.extend(analysed(&program(layouts, &kernels)).err().map(|fault| (*what, fault)));
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(RIGHT.len() >= 40, "{}", RIGHT.len());
}

/// Tasks of which each is for one tile.
#[test]
fn what_lies_within_one_tile_may_be_anything() {
    let parts = |_: &str, task: u32| (4 * task, 4 * task + 4);
    let body = "TLOAD(ta, a, {0, 0}); TCUMSUM(p, ta); TCOLMAX(row, p); TCOLEXPANDSUB(p, p, row); TSTORE(out, p, {0, 0});";
    for layouts in [ALONG, COLUMNS] {
        let text = program(layouts, &[body]);
        analysed_by(&text, 4, &parts).unwrap_or_else(|fault| panic!("{fault:#?}\n{text}"));
        analysed(&text).expect_err(&text);
    }
}

#[test]
fn loops_in_loops_are_followed_in_few_passes() {
    // In passes that double with each loop, 2 to the power of 40.
    let depth = 40;
    let mut body = "TADD(s, s, row);".to_owned();
    for at in 0..depth {
        body = format!(
            "uint32_t n{at} = 0; for (uint32_t i{at} = 0; i{at} < 2; ++i{at}) {{ {body} n{at} = n{at} + 1; }}"
        );
    }
    let kernel = format!(
        "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); TLOAD(row, n, {{0, 0}}); {body} TSTORE(out, s, {{0, 0}});"
    );
    let found = analysed(&program("PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE)", &[&kernel]));
    assert!(found.is_ok(), "{found:?}");
}
