//! Layouts: programs of which a tile array would give other values are refused.

use crate::layouts::{analysed, analysed_with, program};
use wsp_core::policy::MeshAxis;
use wsp_diag::SourceMap;
use wsp_plan::layout::check_shared;
use wsp_plan::{CompileOptions, lower};

const ROWS: &str = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE)";
const COLUMNS: &str = "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x))";
/// Rows of two tensors and of the result over one axis.
const ALONG: &str = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE) \
    PTO_LAYOUT(h, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(out, PTO_SHARD(x), PTO_REPLICATE)";
const SPLIT: &str = crate::layouts::SPLIT;
/// As [`SPLIT`], and the parts of `out` are added up.
const ADDED: &str = "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE) \
    PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE) PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)";
const SUM: &str = "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb);";
const EACH: &str = "for (uint32_t i = 0; i < 16; ++i)";

/// What is wrong, the layouts and the kernels.
const WRONG: &[(&str, &str, &[&str])] = &[
    // Copies through a tensor without a layout.
    ("a row of one tile in every copy", ROWS, &["@each { TLOAD(row, a, {i, 0}); TSTORE(h, row, {i, 0}); }"]),
    ("rows of tiles in every copy", ROWS, &["TLOAD(ta, a, {0, 0}); TSTORE(h, ta, {0, 0});"]),
    ("columns in every copy", COLUMNS, &["TLOAD(ta, a, {0, 0}); TEXP(p, ta); TSTORE(out, p, {0, 0});"]),
    (
        "a copy that is read as a whole",
        ALONG,
        &["TLOAD(ta, a, {0, 0}); TSTORE(n, ta, {0, 0});", "TLOAD(ta, n, {0, 0}); TCUMSUM(p, ta); TSTORE(out, p, {0, 0});"],
    ),
    (
        "the sum of a copy",
        ROWS,
        &["@each { TLOAD(row, a, {i, 0}); TSTORE(n, row, {i, 0}); }", "TLOAD(tn, n, {0, 0}); TCOLSUM(row, tn); TSTORE(out, row, {0, 0});"],
    ),
    // A pass of a loop loads what the one before it has stored.
    (
        "parts that the next pass loads",
        ADDED,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb); TLOAD(q, n, {0, 0});
            for (uint32_t i = 0; i < 2; ++i) { TLOAD(q, out, {0, 0}); TEXP(q, q); TSTORE(h, q, {0, 0}); TSTORE(out, p, {0, 0}); }"],
    ),
    // A relayout comes between tasks, of zeros too.
    (
        "zeros that are loaded before parts are added up",
        ADDED,
        &["@sum TSTORE(h, p, {0, 0});", "VecTile<float, 1, 16> z; TASSIGN(z, 0.0f); TSTORE(h, z, {0, 0}); TLOAD(p, h, {0, 0}); TSTORE(out, p, {0, 0});"],
    ),
    (
        "zeros that are loaded before other tasks leave parts",
        ADDED,
        &["VecTile<float, 1, 16> z; TASSIGN(z, 0.0f); TSTORE(h, z, {0, 0}); TLOAD(p, h, {0, 0}); TSTORE(out, p, {0, 0});", "@sum TSTORE(h, p, {0, 0});"],
    ),
    (
        "a zero that is loaded before parts are added up",
        ADDED,
        &["@sum TSTORE(h, p, {0, 0});", "PTO_STORE_SCALAR(h, 0.0f, {0, 0}); TLOAD(p, h, {0, 0}); TSTORE(out, p, {0, 0});"],
    ),
    (
        "an inner dimension over two axes",
        "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(y), PTO_REPLICATE) PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)",
        &["@sum TSTORE(h, p, {0, 0});"],
    ),
    // Other places of one tensor.
    (
        "two halves of rows",
        ALONG,
        &["VecTile<float, 8, 16> u; VecTile<float, 8, 16> v; TLOAD(u, a, {0, 0}); TLOAD(v, a, {8, 0}); TADD(u, u, v); TSTORE(out, u, {0, 0});"],
    ),
    (
        "two rows of other tiles",
        ALONG,
        &["VecTile<float, 1, 16> u; TLOAD(row, a, {0, 0}); TLOAD(u, a, {12, 0}); TADD(row, row, u); TSTORE(out, row, {0, 0});"],
    ),
    (
        "a shifted store",
        ALONG,
        &["VecTile<float, 8, 16> u; TLOAD(u, a, {0, 0}); TSTORE(out, u, {8, 0});"],
    ),
    (
        "a shifted operand",
        ALONG,
        &["VecTile<float, 8, 16> u; VecTile<float, 8, 16> v; TLOAD(u, a, {0, 0}); TLOAD(v, b, {4, 0}); TMUL(u, u, v); TSTORE(out, u, {0, 0});"],
    ),
    (
        "a product of shifted halves",
        "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_SHARD(x), PTO_REPLICATE) PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)",
        &["VecTile<float, 16, 8> u; VecTile<float, 8, 16> v; TLOAD(u, a, {0, 0}); TLOAD(v, b, {8, 0}); TMATMUL(p, u, v); TSTORE(out, p, {0, 0});"],
    ),
    // Indices of loops.
    (
        "the next row",
        ALONG,
        &["VecTile<float, 1, 16> u; for (uint32_t i = 0; i < 15; ++i) { TLOAD(row, a, {i, 0}); TLOAD(u, b, {i + 1, 0}); TADD(row, row, u); TSTORE(out, row, {i, 0}); }"],
    ),
    ("a store to the next row", ALONG, &["for (uint32_t i = 0; i < 15; ++i) { TLOAD(row, a, {i, 0}); TSTORE(out, row, {i + 1, 0}); }"]),
    ("a store from the other end", ALONG, &["@each { TLOAD(row, a, {i, 0}); TSTORE(out, row, {15 - i, 0}); }"]),
    ("twice the row", ALONG, &["for (uint32_t i = 0; i < 8; ++i) { TLOAD(row, a, {2 * i, 0}); TSTORE(out, row, {i, 0}); }"]),
    ("half the row", ALONG, &["@each { TLOAD(row, a, {i / 2, 0}); TSTORE(out, row, {i, 0}); }"]),
    ("the rest of the row", ALONG, &["@each { TLOAD(row, a, {i % 8, 0}); TSTORE(out, row, {i, 0}); }"]),
    (
        "the loop around",
        ALONG,
        &["VecTile<float, 1, 16> u; for (uint32_t j = 0; j < 4; ++j) { TLOAD(u, h, {j, 0}); for (uint32_t i = 0; i < 4; ++i) {
            TLOAD(row, a, {j * 4 + i, 0}); TADD(u, u, row); } TSTORE(out, u, {j, 0}); }"],
    ),
    (
        "a store along the loop around",
        ALONG,
        &["for (uint32_t j = 0; j < 4; ++j) { for (uint32_t i = 0; i < 4; ++i) { TLOAD(row, a, {i, 0}); TSTORE(out, row, {j, 0}); } }"],
    ),
    (
        "two loops",
        ALONG,
        &["VecTile<float, 1, 16> u; @each { TLOAD(row, a, {i, 0}); for (uint32_t j = 0; j < 16; ++j) { TLOAD(u, b, {j, 0}); TADD(u, u, row); TSTORE(out, u, {j, 0}); } }"],
    ),
    (
        "an index that the body changes",
        ALONG,
        &["uint32_t k = 0; @each { TLOAD(row, a, {k, 0}); k = k + 1; TSTORE(out, row, {k, 0}); }"],
    ),
    (
        "an index that a branch changes",
        ALONG,
        &["uint32_t k = 0; @each { TLOAD(row, a, {k, 0}); if (i > 3) { k = k + 1; } TSTORE(out, row, {k, 0}); }"],
    ),
    (
        "an index of the pass before",
        ALONG,
        &["VecTile<float, 1, 16> u; @each { TSTORE(out, u, {i, 0}); TLOAD(u, a, {i, 0}); }"],
    ),
    (
        "a value of the pass before",
        ALONG,
        &["VecTile<float, 1, 16> u; TASSIGN(u, 1.0f); @each { TLOAD(row, a, {i, 0}); TADD(row, row, u); TSTORE(out, row, {i, 0}); TMOV(u, row); }"],
    ),
    (
        "a last value after the loop",
        ALONG,
        &["@each { TLOAD(row, a, {i, 0}); } TSTORE(out, row, {15, 0});"],
    ),
    // Chunks across tiles.
    (
        "a maximum of a chunk across tiles",
        ALONG,
        &["VecTile<float, 6, 16> u; for (uint32_t i = 0; i < 12; i += 6) { TLOAD(u, a, {i, 0}); TCOLMAX(row, u); TSTORE(n, row, {0, 0}); }"],
    ),
    (
        "a store of chunks elsewhere",
        ALONG,
        &["VecTile<float, 4, 16> u; for (uint32_t i = 0; i < 16; i += 4) { TLOAD(u, a, {i, 0}); TSTORE(out, u, {12 - i, 0}); }"],
    ),
    (
        "a chunk that is not aligned",
        ALONG,
        &["VecTile<float, 4, 16> u; for (uint32_t i = 2; i < 14; i += 4) { TLOAD(u, a, {i, 0}); TCOLMAX(row, u); TSTORE(h, row, {i, 0}); }"],
    ),
    (
        "columns in the place of a row",
        ALONG,
        &["@each { TLOAD(row, a, {i, 0}); TTRANS(col, row); TSTORE(out, col, {PTO_ROWS(i), 0}); }"],
    ),
    // `break` and `continue`.
    (
        "parts where a loop is left",
        ADDED,
        &["TASSIGN(p, 0.0f); @each { TLOAD(ta, n, {0, 0}); if (i == 3) { break; } TLOAD(ta, a, {0, 0}); } TROWSUM(col, ta); TEXP(col, col); TSTORE(out, col, {0, 0});"],
    ),
    (
        "whole where a loop is left, parts else",
        ADDED,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); @each { TLOAD(p, n, {0, 0}); if (i == 3) { break; } TMATMUL(p, ta, tb); } TSTORE(out, p, {0, 0});"],
    ),
    (
        "parts in the next pass",
        ADDED,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TLOAD(p, n, {0, 0}); @each { TADD(q, p, p); TEXP(q, q); TMATMUL(p, ta, tb); if (i == 3) { continue; } TLOAD(p, n, {0, 0}); }
            TSTORE(out, q, {0, 0});"],
    ),
    (
        "a sum of rows that is left",
        ROWS,
        &["VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); @each { TLOAD(row, a, {i, 0}); TADD(s, s, row); if (i == 7) { break; } } TEXP(s, s); TSTORE(out, s, {0, 0});"],
    ),
    (
        "a row of the pass that continues",
        ALONG,
        &["@each { if (i > 0) { TSTORE(out, row, {i, 0}); } TLOAD(row, a, {i, 0}); if (i == 3) { continue; } TLOAD(row, n, {0, 0}); }"],
    ),
    // Whole values where others store parts.
    ("a whole value and parts", ADDED, &[SUM_OUT, "TLOAD(tn, n, {0, 0}); TSTORE(out, tn, {0, 0});"]),
    ("a number and parts", ADDED, &[SUM_OUT, "PTO_STORE_SCALAR(out, 1.0f, {0, 0});"]),
    ("parts and a whole row", ADDED, &["TLOAD(row, n, {0, 0}); TSTORE(out, row, {3, 0});", SUM_OUT]),
    (
        "whole values where the layout says parts",
        "PTO_LAYOUT(h, PTO_REPLICATE, PTO_REPLICATE) PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)",
        &["TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TSTORE(out, col, {0, 0}); TLOAD(tn, n, {0, 0}); TSTORE(out, tn, {0, 0});"],
    ),
    (
        "parts over two axes",
        "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(b, PTO_REPLICATE, PTO_SHARD(y)) PTO_RELAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)",
        &["TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TSTORE(out, col, {0, 0}); TLOAD(tb, b, {0, 0}); TROWSUM(col, tb); TSTORE(out, col, {0, 1});"],
    ),
    ("zeros and one", ADDED, &["TASSIGN(p, 0.0f); TSTORE(out, p, {0, 0});", "TASSIGN(p, 1.0f); TSTORE(out, p, {0, 0});", SUM_OUT]),
    // Gathers.
    (
        "columns by index along the sharded ones",
        COLUMNS,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TGATHER(p, ta, tn); TSTORE(out, p, {0, 0});"],
    ),
    (
        "rows by index along the sharded ones",
        ROWS,
        &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TGATHER_ROWS(p, ta, tn); TSTORE(out, p, {0, 0});"],
    ),
    (
        "rows of indices on other tiles",
        ALONG,
        &["VecTile<float, 8, 16> u; VecTile<float, 8, 16> v; VecTile<float, 8, 16> w; TLOAD(u, a, {0, 0}); TLOAD(v, b, {8, 0}); TGATHER(w, u, v); TSTORE(out, w, {0, 0});"],
    ),
    ("the other dimension, in every copy", ROWS, &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TGATHER(p, ta, tn); TSTORE(out, p, {0, 0});"]),
    // Integers.
    (
        "parts to integers",
        ADDED,
        &["VecTile<int32_t, 16, 16> z; @sum TCVT(z, p); TCVT(p, z); TSTORE(out, p, {0, 0});"],
    ),
    (
        "a row sum to integers",
        ADDED,
        &["VecTile<int32_t, 16, 1> z; TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TCVT(z, col); TCVT(col, z); TSTORE(out, col, {0, 0});"],
    ),
    (
        "integer parts divided",
        ADDED,
        &["VecTile<int32_t, 16, 16> z; VecTile<int32_t, 16, 1> s; TLOAD(ta, a, {0, 0}); TCVT(z, ta); TROWSUM(s, z); TDIVS(s, s, 2); TCVT(col, s); TSTORE(out, col, {0, 0});"],
    ),
    (
        "integer parts to floats",
        ADDED,
        &["VecTile<int32_t, 16, 16> z; VecTile<int32_t, 16, 1> s; TLOAD(ta, a, {0, 0}); TCVT(z, ta); TROWSUM(s, z); TCVT(col, s); TSTORE(out, col, {0, 0});"],
    ),
    // Numbers.
    ("the sum of a row of one tile", ROWS, &["float t = 0; @each { TLOAD(row, a, {i, 0}); t += TROWSUM(row); } TASSIGN(p, t); TSTORE(out, p, {0, 0});"]),
    ("the maximum of sharded columns", COLUMNS, &["TLOAD(row, a, {0, 0}); TASSIGN(p, TROWMAX(row)); TSTORE(out, p, {0, 0});"]),
    ("the sum of parts", ADDED, &["TLOAD(tb, b, {0, 0}); TCOLSUM(row, tb); TASSIGN(p, TROWSUM(row)); TSTORE(out, p, {0, 0});"]),
    ("an element of a sharded row", COLUMNS, &["TASSIGN(p, PTO_LOAD_SCALAR(a, {0, 7})); TSTORE(out, p, {0, 0});"]),
    ("a condition", ROWS, &["TASSIGN(p, 1.0f); if (PTO_LOAD_SCALAR(a, {7, 0}) > 0.0f) { TASSIGN(p, 2.0f); } TSTORE(out, p, {0, 0});"]),
    // Sums in the place of other things.
    ("a sum from a whole value on", ROWS, &["VecTile<float, 1, 16> s; TLOAD(s, n, {0, 0}); @each { TLOAD(row, a, {i, 0}); TADD(s, s, row); } TSTORE(out, s, {0, 0});"]),
    ("a sum that changes its sign", ROWS, &["VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); @each { TLOAD(row, a, {i, 0}); TSUB(s, row, s); } TSTORE(h, s, {0, 0});"]),
    ("a sum in another tile", ROWS, &["VecTile<float, 1, 16> s; VecTile<float, 1, 16> u; TASSIGN(s, 0.0f); @each { TLOAD(row, a, {i, 0}); TADD(u, s, row); TMOV(s, u); } TSTORE(h, s, {0, 0});"]),
    ("a largest row", ROWS, &["VecTile<float, 1, 16> s; TASSIGN(s, 0.0f); @each { TLOAD(row, a, {i, 0}); TMAX(s, s, row); } TSTORE(h, s, {0, 0});"]),
    ("a product of rows", ROWS, &["VecTile<float, 1, 16> s; TASSIGN(s, 1.0f); @each { TLOAD(row, a, {i, 0}); TMUL(s, s, row); } TSTORE(h, s, {0, 0});"]),
    ("parts and what is sharded", ALONG, &["VecTile<float, 1, 16> s; TLOAD(ta, a, {0, 0}); TCOLSUM(s, ta); TCOLEXPANDADD(ta, ta, s); TSTORE(out, ta, {0, 0});"]),
    ("parts times a row of one tile", ALONG, &["VecTile<float, 1, 16> s; TLOAD(ta, a, {0, 0}); TCOLSUM(s, ta); @each { TLOAD(row, b, {i, 0}); TMUL(row, row, s); TSTORE(out, row, {i, 0}); }"]),
    ("a sum where it is sharded", ALONG, &["TLOAD(ta, a, {0, 0}); TCOLSUM(row, ta); TSTORE(out, row, {0, 0});"]),
    // Both dimensions, and inner ones.
    (
        "rows and columns over one axis",
        "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(b, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(out, PTO_SHARD(x), PTO_REPLICATE)",
        &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TADD(p, ta, tb); TSTORE(out, p, {0, 0});"],
    ),
    ("inner and outer", ALONG, &["TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb); TSTORE(out, p, {0, 0});"]),
    ("a transposed square", ALONG, &["TLOAD(ta, a, {0, 0}); TMATMUL(p, ta, PTO_TRANSPOSE(ta)); TSTORE(out, p, {0, 0});"]),
    ("a transposed store", ALONG, &["TLOAD(ta, a, {0, 0}); TTRANS(p, ta); TSTORE(out, p, {0, 0});"]),
    ("an inserted tile", ALONG, &["TLOAD(ta, a, {0, 0}); TLOAD(tn, n, {0, 0}); TINSERT(tn, ta, 0, 0); TSTORE(out, tn, {0, 0});"]),
    ("an extracted tile", ALONG, &["VecTile<float, 8, 16> u; TLOAD(ta, a, {0, 0}); TEXTRACT(u, ta, 8, 0); TSTORE(out, u, {0, 0});"]),
    ("another shape", ALONG, &["VecTile<float, 8, 32> u; VecTile<float, 16, 16> v; TLOAD(ta, a, {0, 0}); TRESHAPE(u, ta); TRESHAPE(v, u); TSTORE(out, v, {0, 0});"]),
    ("sums along sharded columns", COLUMNS, &["TLOAD(ta, a, {0, 0}); TCUMSUM(p, ta); TSTORE(out, p, {0, 0});"]),
    ("a mean along sharded columns", ADDED, &["TLOAD(ta, a, {0, 0}); TROWMEAN(col, ta); TSTORE(out, col, {0, 0});"]),
    ("an index that is loaded", ALONG, &["@each { TLOAD(row, a, {(uint32_t)PTO_LOAD_SCALAR(n, {0, i}), 0}); TSTORE(out, row, {i, 0}); }"]),
    ("a task that loads what it stores, in another layout", "PTO_LAYOUT(h, PTO_SHARD(x), PTO_REPLICATE) PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)",
        &["TLOAD(tn, n, {0, 0}); TSTORE(h, tn, {0, 0}); TLOAD(p, h, {0, 0}); TSTORE(out, p, {0, 0});"]),
    ("another branch", ALONG, &["TLOAD(ta, a, {0, 0}); if (desc.i == 0) { TTRANS(p, ta); } else { TMOV(p, ta); } TSTORE(out, p, {0, 0});"]),
    ("one row or another", ALONG, &["VecTile<float, 1, 16> u; for (uint32_t i = 0; i < 15; ++i) { if (i > 3) { TLOAD(u, a, {i, 0}); } else { TLOAD(u, a, {i + 1, 0}); } TSTORE(out, u, {i, 0}); }"]),
];

const SUM_OUT: &str =
    "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb); TSTORE(out, p, {0, 0});";

#[test]
fn programs_that_a_tile_array_would_run_otherwise_are_refused() {
    let (mut accepted, mut others) = (Vec::new(), Vec::new());
    for (what, layouts, kernels) in WRONG {
        let written: Vec<String> =
            kernels.iter().map(|body| body.replace("@each", EACH).replace("@sum", SUM)).collect();
        let kernels: Vec<&str> = written.iter().map(String::as_str).collect();
        match analysed(&program(layouts, &kernels)) {
            Ok(()) => accepted.push(*what),
            Err(fault) if [430, 431].contains(&fault.code.0) => {
                assert!(fault.primary.is_some() && !fault.help.is_empty(), "{what}: {fault:#?}");
            }
            Err(fault) => others.push((*what, fault)),
        }
        // Without layouts there is nothing wrong.
        others.extend(analysed(&program("", &kernels)).err().map(|fault| (*what, fault)));
    }
    assert!(others.is_empty(), "{others:#?}");
    assert!(accepted.is_empty(), "{accepted:#?}");
    assert!(WRONG.len() >= 60, "{}", WRONG.len());
}

/// Layouts of a workload say `pending`, those of a `.pto` file do not.
#[test]
fn a_layout_that_says_pending_is_of_stores_that_leave_parts() {
    let of = |pending: &[MeshAxis], body: &str| {
        let layouts = format!(
            "{SPLIT} PTO_LAYOUT(h, PTO_REPLICATE, PTO_REPLICATE) PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)"
        );
        analysed_with(&program(&layouts, &[body]), 1, &|_, _| (0, 16), &|policy| {
            policy
                .layouts
                .iter_mut()
                .filter(|of| of.tensor == "h")
                .for_each(|of| of.pending = pending.to_vec());
        })
        .err()
        .map(|fault| fault.code.0)
    };
    let sum = format!("{SUM} TSTORE(h, p, {{0, 0}});");
    let whole = "TLOAD(tn, n, {0, 0}); TSTORE(h, tn, {0, 0});";
    let (x, y) = ([MeshAxis::X], [MeshAxis::Y]);
    assert_eq!([of(&[], &sum), of(&x, &sum), of(&x, "TASSIGN(p, 0.0f); TSTORE(h, p, {0, 0});")], [None; 3]);
    assert_eq!([of(&x, whole), of(&y, &sum), of(&y, whole)], [Some(431); 3]);
}

#[test]
fn tensors_that_are_one_array_have_one_layout() {
    let copy = "TLOAD(ta, a, {0, 0}); TSTORE(out, ta, {0, 0});";
    let shared = |layouts: &str| {
        let text = program(layouts, &[copy]).replace(".n = n", ".n = a");
        let (module, found) = wsp_lang::compile("test.pto", &text, &mut SourceMap::default());
        let module = module.unwrap_or_else(|| panic!("{found:#?}\n{text}"));
        let plan = lower(&module, &CompileOptions::default()).unwrap_or_else(|found| panic!("{found:#?}"));
        check_shared(&plan.policy, &plan)
    };
    let of_n = "PTO_LAYOUT(n, PTO_SHARD(x), PTO_REPLICATE)";
    for layouts in [ROWS, of_n, &format!("{COLUMNS} {of_n}"), "PTO_RELAYOUT(a, PTO_SHARD(x), PTO_REPLICATE)"]
    {
        let faults = shared(layouts);
        assert!(
            !faults.is_empty() && faults.iter().all(|fault| fault.code.0 == 431),
            "{layouts}: {faults:#?}"
        );
        assert!(faults[0].help[0].starts_with("write the same "), "{faults:#?}");
    }
    for layouts in ["", "PTO_LAYOUT(out, PTO_SHARD(x), PTO_REPLICATE)", &format!("{ROWS} {of_n}")] {
        assert_eq!(shared(layouts), [], "{layouts}");
    }
}
