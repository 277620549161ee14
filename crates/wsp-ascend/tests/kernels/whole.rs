//! Whole kernels: normalisation, softmax, products.

use crate::batch::Batch;
use crate::bench::Kernel;
use wsp_ascend::kernels::Chip;

/// Each row divided by the root of its mean square, times a row of factors.
const RMSNORM: &str = "
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

/// The exponential of each row less its maximum, divided by their sum.
const SOFTMAX: &str = "
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
const PRODUCT: &str = "
    LeftTile<float, 16, 16> a; RightTile<float, 16, 32> b; AccTile<float, 16, 32> c;
    TASSIGN(c, 0.0f, desc.c);
    for (uint32_t i = 0; i < desc.a; i += 1) {
        TLOAD(a, x, {desc.b, 0}, desc.c, desc.d);
        TLOAD(b, x, {i * 16, 0});
        TMATMUL_ACC(c, a, b);
    }
    TSTORE(y, c, {desc.b, 0});";

#[test]
fn whole_kernels_give_what_a_plain_run_gives() {
    for chip in Chip::ALL {
        let mut batch = Batch::new(chip, "whole");
        // Sums of 32 squares in another order, a division and a root: 4 roundings of 2⁻²⁴ each.
        batch.add("rmsnorm", &Kernel::new(RMSNORM), &[[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 0]], 1e-6);
        batch.add(
            "softmax",
            &Kernel::new(SOFTMAX),
            &[[0, 0, 16, 32], [1, 0, 1, 1], [2, 3, 15, 17], [3, 1, 16, 16], [4, 0, 16, 32]],
            1e-6,
        );
        batch.add("product", &Kernel::new(PRODUCT), &[[1, 0, 16, 16], [2, 3, 15, 1], [4, 48, 1, 15], [0, 5, 16, 16]], 1e-6);
        batch.run();
    }
}
