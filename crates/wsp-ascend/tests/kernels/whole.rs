//! Whole kernels: normalisation, softmax, products.

use crate::batch::{Batch, emitted};
use crate::bench::Kernel;
use crate::mixed::CHANGED;
use expect_test::expect_file;
use wsp_ascend::kernels::Chip;

/// Each row divided by the root of its mean square, times a row of factors.
pub(crate) const RMSNORM: &str = "
    VecTile<float, 16, 32> t; VecTile<float, 16, 32> square; VecTile<float, 16, 1> mean; VecTile<float, 1, 32> gamma;
    TLOAD(gamma, x, {63, 0});
    for (uint32_t i = 0; i < desc.a; i += 1) {
        TLOAD(t, x, {i * 16, 0});
        TMUL(square, t, t);
        TROWSUM(mean, square);
        TMULS(mean, mean, 0.03125f);
        TADDS(mean, mean, 0.00001f);
        TSQRT(mean, mean);
        TROWEXPANDDIV(t, t, mean);
        TCOLEXPANDMUL(t, t, gamma);
        TSTORE(y, t, {i * 16, 0});
    }";

/// The same for one row at a time, of elements of 16 bits as well; a row without columns has no mean.
pub(crate) const ONE_ROW: &str = "
    VecTile<float, 1, 32> t; VecTile<float, 1, 32> square; VecTile<float, 1, 1> mean; VecTile<half, 1, 32> h; VecTile<half, 1, 1> most; VecTile<float, 1, 1> at;
    for (uint32_t i = 0; i < desc.a; i += 1) {
        TLOAD(t, x, {i, desc.b}, desc.c, desc.d);
        if (PTO_VALID_COLS(t) > 0) {
            TMUL(square, t, t);
            TROWMEAN(mean, square);
            TADDS(mean, mean, 0.00001f);
            TRSQRT(mean, mean);
            TCVT(h, t);
            TROWMAX(most, h);
            TROWARGMIN(at, t);
            TROWEXPANDMUL(t, t, mean);
            TSTORE(y, t, {i, 0});
            TSTORE(y, most, {i + 16, 0});
            TSTORE(y, at, {i + 32, 0});
            float sum = TROWSUM(square);
            PTO_STORE_SCALAR(y, sum, {i + 48, 0});
        }
    }";

/// The exponential of each row less its maximum, divided by their sum.
pub(crate) const SOFTMAX: &str = "
    VecTile<float, 16, 32> t; VecTile<float, 16, 1> r;
    for (uint32_t i = 0; i < desc.a; i += 1) {
        TLOAD(t, x, {i * 16 + desc.b, 0}, desc.c, desc.d);
        TROWMAX(r, t);
        TROWEXPANDSUB(t, t, r);
        TEXP(t, t);
        TROWSUM(r, t);
        TROWEXPANDDIV(t, t, r);
        TSTORE(y, t, {i * 16 + desc.b, 0});
    }";

/// A product whose terms come in parts.
pub(crate) const PRODUCT: &str = "
    LeftTile<float, 16, 16> a; RightTile<float, 16, 32> b; AccTile<float, 16, 32> c;
    TASSIGN(c, 0.0f, desc.c);
    for (uint32_t i = 0; i < desc.a; i += 1) {
        TLOAD(a, x, {desc.b, 0}, desc.c, desc.d);
        TLOAD(b, x, {i * 16, 0});
        TMATMUL_ACC(c, a, b);
    }
    TSTORE(y, c, {desc.b, 0});";

/// Products with a right operand that is transposed on its way, and one of many rows.
pub(crate) const TURNED: &str = "
    LeftTile<float, 16, 32> a; RightTile<float, 32, 32> b; AccTile<float, 16, 32> c;
    LeftTile<float, 64, 32> l; RightTile<float, 32, 16> r; AccTile<float, 64, 16> d;
    TLOAD(l, x, {0, 0}); TLOAD(r, x, {desc.b, 3});
    TMATMUL(d, l, r);
    TSTORE(y, d, {0, 16});
    TLOAD(a, x, {desc.b, 0}, desc.c); TLOAD(b, x, {20, 0}, desc.d);
    TMATMUL(c, a, PTO_TRANSPOSE(b));
    TSTORE(y, c, {0, 0});";

/// Tiles of short elements, which transfers do not convert.
pub(crate) const SHORT: &str = "
    VecTile<half, 16, 32> h; VecTile<bfloat16_t, 16, 32> b; VecTile<float, 16, 32> t; VecTile<half, 16, 1> r;
    TLOAD(h, x, {desc.a, 0}, desc.c);
    TLOAD(b, x, {desc.b, 0}, desc.c);
    TMULS(h, h, 0.1f);
    TADD(t, h, b);
    TROWMAX(r, h);
    TROWEXPANDSUB(h, t, r);
    TSTORE(y, h, {0, 0});
    TSTORE(y, r, {16, 5});
    TSTORE(y, b, {32, 0});";

/// Columns whose elements lie apart in their tensor.
pub(crate) const COLUMNS: &str = "
    VecTile<float, 16, 1> c; VecTile<float, 16, 1> d; VecTile<float, 16, 8> t;
    TLOAD(c, x, {PTO_ROWS(desc.a), 3}, desc.c);
    TLOAD(d, x, {PTO_ROWS(desc.b), 7}, desc.c);
    TMUL(c, c, d);
    TEXP(d, d);
    TLOAD(t, x, {desc.b, 8}, desc.c, 8);
    TROWEXPANDMUL(t, t, c);
    TADDS(c, c, 0.5f);
    TSTORE(y, c, {PTO_ROWS(desc.a), 30});
    TSTORE(y, d, {desc.b, 9});
    TSTORE(y, t, {desc.a, 0});";

/// Single elements, and a loop whose end its body decides.
pub(crate) const SCALARS: &str = "
    VecTile<float, 1, 32> t;
    uint32_t i = 0;
    float sum = 0.0f;
    while (i < desc.a && sum < 20.0f) {
        float e = PTO_LOAD_SCALAR(x, {i, desc.b});
        sum = sum + (e < 0.0f ? -e : e);
        TLOAD(t, x, {i, 0});
        TADDS(t, t, sum);
        TSTORE(y, t, {i, 0});
        i += 1;
    }
    PTO_STORE_SCALAR(y, sum, {63, 31});";

/// A variable with the name and the number of a counter of rounds, and tiles that take turns.
pub(crate) const ROUND: &str = "
    uint32_t round = 0;
    VecTile<float, 8, 32> t;
    for (uint32_t i = 0; i < desc.a; i += 1) {
        for (uint32_t j = 0; j < desc.b; j += 1) {
            TLOAD(t, x, {(i + j) * 8, 0});
            TADDS(t, t, 1.0f);
            TSTORE(y, t, {(i + j) * 8, 0});
            round += 1;
        }
    }
    PTO_STORE_SCALAR(y, 1.0f * round, {63, 31});";

/// Operations whose operands are one tile.
pub(crate) const ITSELF: &str = "
    VecTile<float, 16, 32> t; VecTile<float, 1, 32> r; VecTile<float, 1, 1> e;
    TLOAD(t, x, {desc.a, 0}, desc.c, desc.d); TMOV(t, t);
    TLOAD(r, x, {desc.b, 0}, 1, desc.d); TCOLEXPANDADD(r, r, r);
    TLOAD(e, x, {desc.b, 9}); TROWEXPANDMUL(e, e, e); TCOLEXPANDSUB(e, e, e);
    TCOLEXPANDMUL(t, t, r);
    TSTORE(y, t, {0, 0}); TSTORE(y, r, {32, 0}); TSTORE(y, e, {40, 0});";

/// A list of the largest of rows of 64, among which are equal ones; with `c` also infinities, or numbers that are none.
pub(crate) const ONE_LIST: &str = "
    VecTile<float, 1, 20> values; VecTile<float, 1, 20> numbers;
    for (uint32_t r = 0; r < desc.a; r += 1) {
        VecTile<float, 1, 32> part; VecTile<float, 1, 64> piece; VecTile<float, 1, 64> big;
        TASSIGN(piece, 0.5f);
        TLOAD(part, x, {r * 2 + desc.b, 0}); TINSERT(piece, part, 0, 0);
        TLOAD(part, x, {r * 2 + desc.b + 1, 0}, 1, desc.d); TINSERT(piece, part, 0, 32);
        if (desc.c > 0) {
            TMULS(big, piece, 3e38f);
            if (desc.c == 1) { TMOV(piece, big); } else { TSUB(big, big, big); TADD(piece, piece, big); }
        }
        TTOPK(values, numbers, piece, r * 64);
    }
    TSTORE(y, values, {0, 0});
    TSTORE(y, numbers, {1, 0});";

/// Lists that keep elements as small as what fills places without one.
pub(crate) const LEAST: &str = "
    VecTile<float, 1, 20> values; VecTile<float, 1, 20> numbers;
    for (uint32_t r = 0; r < desc.a; r += 1) {
        VecTile<float, 1, 32> part; VecTile<float, 1, 64> piece;
        TASSIGN(piece, -INFINITY);
        TLOAD(part, x, {r * 2 + desc.b + 1, 0}, 1, desc.d); TINSERT(piece, part, 0, 32);
        TTOPK(values, numbers, piece, r * 64);
    }
    TSTORE(y, values, {0, 0});
    TSTORE(y, numbers, {1, 0});";

/// Lists of one row and of four, to which a tile without rows may come first.
pub(crate) const ROWLESS: &str = "
    VecTile<float, 1, 3> values; VecTile<float, 1, 3> numbers; VecTile<float, 1, 8> t;
    VecTile<float, 4, 3> more; VecTile<float, 4, 3> of_more; VecTile<float, 4, 8> u;
    TLOAD(t, x, {desc.b, 0}, desc.a); TTOPK(values, numbers, t, 0);
    TLOAD(u, x, {desc.b, 8}, desc.c); TTOPK(more, of_more, u, 0);
    TLOAD(t, x, {desc.b + 1, 0}); TTOPK(values, numbers, t, 8);
    TLOAD(u, x, {desc.b + 4, 8}); TTOPK(more, of_more, u, 8);
    TSTORE(y, values, {0, 0}); TSTORE(y, numbers, {0, 8});
    TSTORE(y, more, {4, 0}); TSTORE(y, of_more, {4, 8});";

/// Lists without rows, of whose columns a kernel may ask, and that no selection has made.
pub(crate) const EMPTY_LISTS: &str = "
    VecTile<float, 1, 3> v; VecTile<float, 1, 3> n; VecTile<float, 1, 8> p; VecTile<float, 1, 3> s;
    VecTile<float, 2, 3> w; VecTile<float, 2, 3> o; VecTile<float, 2, 2> q;
    TLOAD(p, x, {2, 0}, desc.d); TTOPK(v, n, p, 0);
    PTO_STORE_SCALAR(y, PTO_VALID_COLS(v) + 0.5f, {1, 0});
    TCOLSUM(s, v); TSTORE(y, s, {2, 0});
    TLOAD(v, x, {desc.b, 0}, desc.d); TLOAD(n, x, {desc.b + 1, 0}, desc.d);
    TLOAD(p, x, {desc.b + 2, 0}); TTOPK(v, n, p, 7);
    TSTORE(y, v, {4, 0}); TSTORE(y, n, {5, 0});
    TLOAD(w, x, {desc.b, 0}, desc.d * 2); TASSIGN(o, 3.0f, desc.d * 2);
    TLOAD(q, x, {desc.b + 4, 0}); TTOPK(w, o, q, 9);
    TSTORE(y, w, {8, 0}); TSTORE(y, o, {10, 0});";

/// A list that is shorter than what comes in, which may be nothing.
pub(crate) const SHORT_LIST: &str = "
    VecTile<float, 1, 3> values; VecTile<float, 1, 3> numbers;
    for (uint32_t r = 0; r < desc.a; r += 1) {
        VecTile<float, 1, 5> piece;
        TLOAD(piece, x, {r, desc.b}, desc.c, desc.d);
        TTOPK(values, numbers, piece, r * 5);
    }
    TSTORE(y, values, {desc.b, 4});
    TSTORE(y, numbers, {desc.b, 24});";

/// Parts of tiles that begin with a block of 32 bytes, at rows that a launch chooses; also in short elements, and of columns.
pub(crate) const PARTS: &str = "
    VecTile<float, 24, 32> t; VecTile<float, 8, 16> part; VecTile<half, 24, 32> h; VecTile<half, 8, 16> half_part;
    VecTile<float, 24, 1> c; VecTile<float, 8, 1> column;
    TLOAD(t, x, {0, 0}); TLOAD(h, x, {8, 0}); TLOAD(c, x, {PTO_ROWS(3), 7});
    TLOAD(part, x, {30, 4}, desc.c, desc.d); TLOAD(half_part, x, {33, 2}, desc.c, desc.d); TLOAD(column, x, {PTO_ROWS(40), 1}, desc.c);
    TINSERT(t, part, desc.a, 8);
    TINSERT(h, half_part, desc.a, 16);
    TINSERT(h, part, desc.a, 0);
    TINSERT(c, column, desc.a, 0);
    TINSERT(t, column, desc.a, 24);
    TSTORE(y, t, {0, 0}); TSTORE(y, h, {24, 0}); TSTORE(y, c, {PTO_ROWS(32), 31});
    TEXTRACT(part, t, desc.b, 16); TEXTRACT(half_part, h, desc.b, 0); TEXTRACT(column, c, desc.b, 0);
    TSTORE(y, part, {50, 0}); TSTORE(y, half_part, {50, 16}); TSTORE(y, column, {PTO_ROWS(40), 31});
    TEXTRACT(column, t, desc.b, 8);
    TSTORE(y, column, {PTO_ROWS(48), 31});";

/// Tiles that are loaded on some ways only: on the others they are empty, and so is what follows from them.
pub(crate) const UNSET: &str = "
    VecTile<float, 2, 3> v; VecTile<float, 2, 3> w; VecTile<float, 2, 3> zeros;
    if (desc.a > 0) { TLOAD(v, x, {1, 0}); }
    if (PTO_VALID_COLS(v) > 0) { TSTORE(y, v, {0, 0}); }
    for (uint32_t i = 0; i < desc.b; i += 1) { TLOAD(w, x, {i, 3}, 2, 2); }
    uint32_t cols = PTO_VALID_COLS(w);
    if (cols > 0) { TSTORE(y, w, {8, cols}); TEXP(w, w); TSTORE(y, w, {12, 0}); }
    if (desc.c > 0) { TASSIGN(zeros, 0.5f); }
    if (PTO_VALID_ROWS(zeros) > 1) { TSTORE(y, zeros, {20, 0}); }";

/// Candidates that no round loads make no list.
pub(crate) const UNSET_LIST: &str = "
    VecTile<float, 1, 8> t; VecTile<float, 1, 4> values; VecTile<float, 1, 4> numbers;
    for (uint32_t i = 0; i < desc.a; i += 1) { TLOAD(t, x, {i, 0}, 1, 2); }
    if (PTO_VALID_COLS(t) > 0) { TTOPK(values, numbers, t, 0); TSTORE(y, values, {0, 0}); TSTORE(y, numbers, {1, 0}); }";

/// Functions far from 0.
fn far(word: &str, factor: &str) -> String {
    format!(
        "VecTile<float, 64, 32> t; TLOAD(t, x, {{0, 0}}); TMULS(t, t, {factor}); {word}(t, t); TSTORE(y, t, {{0, 0}});"
    )
}

#[test]
fn whole_kernels_give_what_a_plain_run_gives() {
    // The texts for a3 are those for a2.
    for chip in [Chip::A2, Chip::A5] {
        let mut batch = Batch::new(chip, "whole");
        // Sums of 32 squares in another order, a division and a root: 4 roundings of 2⁻²⁴ each.
        batch.add(
            "rmsnorm",
            &Kernel::new(RMSNORM),
            &[[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0]],
            1e-6,
        );
        batch.add(
            "one row",
            &Kernel::new(ONE_ROW),
            &[[0, 0, 1, 32], [1, 0, 1, 32], [3, 3, 1, 17], [16, 31, 1, 1], [2, 5, 0, 8], [2, 5, 1, 0]],
            1e-6,
        );
        batch.add(
            "softmax",
            &Kernel::new(SOFTMAX),
            &[[0, 0, 16, 32], [1, 0, 1, 1], [2, 3, 15, 17], [3, 1, 16, 16], [4, 0, 16, 32]],
            1e-6,
        );
        batch.add(
            "product",
            &Kernel::new(PRODUCT),
            &[[1, 0, 16, 16], [2, 3, 15, 1], [4, 48, 1, 15], [0, 5, 16, 16]],
            1e-6,
        );
        batch.add("turned", &Kernel::new(TURNED), &[[0, 0, 16, 32], [0, 3, 15, 17], [0, 32, 1, 1]], 0.0);
        batch.add("short", &Kernel::new(SHORT), &[[0, 8, 16, 0], [3, 1, 5, 0], [48, 0, 1, 0]], 0.0);
        batch.add("columns", &Kernel::new(COLUMNS), &[[0, 8, 16, 0], [3, 1, 5, 0], [48, 0, 1, 0]], 1e-6);
        batch.add("round", &Kernel::new(ROUND), &[[0, 0, 0, 0], [1, 2, 0, 0], [3, 4, 0, 0]], 0.0);
        batch.add("scalars", &Kernel::new(SCALARS), &[[0, 0, 0, 0], [1, 3, 0, 0], [40, 5, 0, 0]], 0.0);
        batch.add("itself", &Kernel::new(ITSELF), &[[0, 8, 16, 32], [3, 1, 15, 17], [48, 0, 1, 1]], 0.0);
        let rounds = [[1, 0, 0, 32], [2, 3, 1, 1], [3, 1, 2, 17], [9, 5, 0, 32], [9, 0, 1, 7], [9, 2, 2, 0]];
        batch.add("one list", &Kernel::new(ONE_LIST), &rounds, 0.0);
        let rounds = [[1, 9, 1, 1], [2, 3, 1, 2], [7, 1, 1, 5], [3, 2, 1, 0], [3, 2, 0, 5]];
        batch.add("short list", &Kernel::new(SHORT_LIST), &rounds, 0.0);
        batch.add("least", &Kernel::new(LEAST), &[[1, 0, 0, 3], [2, 3, 0, 2], [3, 1, 0, 17]], 0.0);
        batch.add(
            "rowless",
            &Kernel::new(ROWLESS),
            &[[0, 1, 0, 0], [1, 2, 4, 0], [0, 9, 4, 0], [1, 5, 0, 0]],
            0.0,
        );
        batch.add("empty lists", &Kernel::new(EMPTY_LISTS), &[[0, 4, 0, 0], [0, 11, 0, 0]], 0.0);
        let ways = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [1, 1, 1, 0]];
        batch.add("unset", &Kernel::new(UNSET), &ways, 1e-6);
        batch.add("unset list", &Kernel::new(UNSET_LIST), &[[0, 0, 0, 0], [1, 0, 0, 0], [3, 0, 0, 0]], 0.0);
        let places = [[0, 0, 8, 16], [16, 16, 8, 16], [3, 20, 5, 9], [17, 1, 1, 1], [9, 13, 8, 8]];
        batch.add("parts", &Kernel::new(PARTS), &places, 0.0);
        batch.run();
    }
}

/// Either side of a comparison may be at fault, so that the host computes one after the other.
#[test]
fn a_condition_compares_quotients() {
    let compared = "VecTile<float, 8, 32> t; TLOAD(t, x, {0, 0});
        if (10 / desc.a < 20 / desc.a) { TADDS(t, t, 2.0f); } else { TADDS(t, t, 1.0f); } TSTORE(y, t, {0, 0});";
    let mut batch = Batch::new(Chip::A2, "conditions");
    batch.add("quotients", &Kernel::new(compared), &[[1, 0, 0, 0], [30, 0, 0, 0]], 0.0);
    batch.run();
}

#[test]
fn functions_keep_their_bounds_far_from_0() {
    let mut batch = Batch::new(Chip::A2, "far");
    for word in ["TSIN", "TCOS", "TTANH", "TSIGMOID", "TSILU", "TGELU", "TGELU_TANH", "TERF"] {
        for factor in ["0.001f", "7.31f", "1000.7f"] {
            batch.add(&format!("{word} of {factor}"), &Kernel::new(&far(word, factor)), &[[0; 4]], 6e-7);
        }
    }
    batch.run();
}

#[test]
fn texts_are_as_they_are_kept() {
    let text = |body: &str, chip: Chip| emitted(&Kernel::new(body), chip).unwrap().text;
    expect_file!["../golden/kernel_rmsnorm_a2.cpp"].assert_eq(&text(RMSNORM, Chip::A2));
    expect_file!["../golden/kernel_product_a5.cpp"].assert_eq(&text(PRODUCT, Chip::A5));
    expect_file!["../golden/kernel_mixed_a5.cpp"].assert_eq(&text(CHANGED, Chip::A5));
}
