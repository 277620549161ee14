//! Kernels for both kinds of cores, whose tasks exchange tiles through tensors, and products that are made in parts.

use crate::batch::{Batch, emitted};
use crate::bench::{Kernel, told};
use wsp_ascend::kernels::{Chip, emit_kernel};
use wsp_core::DType;
use wsp_diag::SourceMap;
use wsp_ir::into_verified;
use wsp_tile::Known;

/// Attention as decoding has it: a product, softmax as far as the keys have come, a product that is added to a scaled sum.
pub(crate) const ATTENTION: &str = "
    VecTile<float, 8, 32> q; AccTile<float, 8, 32> o; VecTile<float, 8, 1> m; VecTile<float, 8, 1> d;
    TLOAD(q, x, {desc.b, 0}, desc.c);
    TASSIGN(o, 0.0f, desc.c); TASSIGN(m, -INFINITY, desc.c); TASSIGN(d, 0.0f, desc.c);
    for (uint32_t pos = 0; pos < desc.a; pos += 16) {
        RightTile<float, 16, 32> k; RightTile<float, 16, 32> v;
        VecTile<float, 8, 16> p; VecTile<float, 8, 1> m_new; VecTile<float, 8, 1> t;
        TLOAD(k, x, {pos, 0}, desc.a - pos);
        TLOAD(v, x, {pos + 8, 0}, desc.a - pos);
        TMATMUL(p, q, PTO_TRANSPOSE(k));
        TMULS(p, p, 0.01f);
        TROWMAX(m_new, p);
        TMAX(m_new, m_new, m);
        TSUB(t, m, m_new);
        TEXP2(t, t);
        TROWEXPANDMUL(o, o, t);
        TMUL(d, d, t);
        TROWEXPANDSUB(p, p, m_new);
        TEXP2(p, p);
        TROWSUM(t, p);
        TADD(d, d, t);
        TMATMUL_ACC(o, p, v);
        TMOV(m, m_new);
    }
    TMAXS(d, d, FLT_MIN);
    TROWEXPANDDIV(o, o, d);
    TSTORE(y, o, {desc.b, 0});";

/// Two products in parts, an activation of the first, and a residual: accumulators that vector cores change afterwards.
pub(crate) const GATED: &str = "
    AccTile<float, 16, 16> gate; AccTile<float, 16, 16> up; VecTile<float, 16, 16> t; VecTile<float, 16, 16> residual;
    for (uint32_t p = 0; p < desc.a; p += 16) {
        LeftTile<float, 16, 16> a; RightTile<float, 16, 16> b; RightTile<float, 16, 16> c;
        TLOAD(a, x, {desc.b, p}, desc.c);
        TLOAD(b, x, {16, p});
        TLOAD(c, x, {40, p});
        if (p == 0) {
            TMATMUL(gate, a, PTO_TRANSPOSE(b)); TMATMUL(up, a, PTO_TRANSPOSE(c));
        } else {
            TMATMUL_ACC(gate, a, PTO_TRANSPOSE(b)); TMATMUL_ACC(up, a, PTO_TRANSPOSE(c));
        }
    }
    TMULS(gate, gate, 0.01f);
    TNEG(t, gate); TEXP(t, t); TADDS(t, t, 1.0f);
    TDIV(gate, gate, t);
    TMUL(gate, gate, up);
    TLOAD(residual, x, {desc.b, 0}, desc.c);
    TADD(gate, gate, residual);
    TSTORE(y, gate, {desc.b, 16});";

/// The largest scores of a query, whose list goes from task to task.
pub(crate) const LARGEST: &str = "
    VecTile<float, 4, 32> q; VecTile<float, 4, 1> w; VecTile<float, 1, 8> values; VecTile<float, 1, 8> numbers;
    TLOAD(q, x, {desc.b, 0}); TLOAD(w, x, {PTO_ROWS(desc.b), 5});
    for (uint32_t pos = 0; pos < desc.a; pos += 16) {
        RightTile<float, 16, 32> keys; VecTile<float, 4, 16> product; VecTile<float, 1, 16> score;
        TLOAD(keys, x, {pos, 0}, desc.a - pos);
        TMATMUL(product, q, PTO_TRANSPOSE(keys));
        TRELU(product, product);
        TROWEXPANDMUL(product, product, w);
        TCOLSUM(score, product);
        TTOPK(values, numbers, score, pos);
    }
    TSTORE(y, values, {0, 0});
    TSTORE(y, numbers, {1, 0});";

/// A product of tiles that a vector core has changed, one of which lies transposed.
pub(crate) const CHANGED: &str = "
    VecTile<float, 1, 32> v; TLOAD(v, x, {desc.b, 0});
    for (uint32_t r = desc.c; r < 64; r += 8 * desc.a) {
        VecTile<float, 8, 32> rows; VecTile<float, 1, 8> part;
        TLOAD(rows, x, {r, 0});
        TABS(rows, rows);
        TMATMUL(part, v, PTO_TRANSPOSE(rows));
        TSTORE(y, part, {r / 8, 8});
    }";

/// Operands that do not fit beside each other, so that the product is made in parts.
pub(crate) const DEEP: &str = "
    LeftTile<float, 64, 768> a; RightTile<float, 128, 768> b; AccTile<float, 64, 128> c;
    TLOAD(a, x, {0, 0}, desc.c, desc.a); TLOAD(b, x, {desc.b, 0}, 32);
    TMATMUL(c, a, PTO_TRANSPOSE(b));
    TSTORE(y, c, {0, 0});";

/// Partial results, each in an accumulator that is loaded.
pub(crate) const MERGED: &str = "
    AccTile<float, 8, 32> o; VecTile<float, 8, 1> m; TASSIGN(o, 0.0f); TASSIGN(m, -INFINITY);
    for (uint32_t c = 0; c < desc.a; ++c) {
        AccTile<float, 8, 32> part; VecTile<float, 8, 1> n;
        TLOAD(part, x, {c * 8, 0});
        TROWMAX(n, part);
        TMAX(m, m, n);
        TROWEXPANDMUL(part, part, m);
        TADD(o, o, part);
    }
    TSTORE(y, o, {desc.b, 0});";

/// Products that are not made in parts, since their second operand has three loads; the tiles do not fit beside each other, one after another they do.
pub(crate) const HELD: &str = "
    LeftTile<float, 16, 768> a; LeftTile<float, 16, 768> e; RightTile<float, 16, 768> b; AccTile<float, 16, 16> c;
    TLOAD(a, x, {0, 0}, desc.c, desc.a);
    if (desc.d == 0) { TLOAD(b, x, {desc.b, 0}); } else { TLOAD(b, x, {8, 0}); }
    TMATMUL(c, a, PTO_TRANSPOSE(b));
    TSTORE(y, c, {0, 0});
    TLOAD(e, x, {32, 0}, desc.c); TLOAD(b, x, {16, 0});
    TMATMUL(c, e, PTO_TRANSPOSE(b));
    TSTORE(y, c, {0, 16});";

/// Operands that the round before has loaded.
pub(crate) const BEHIND: &str = "
    VecTile<float, 8, 32> q; VecTile<float, 8, 16> p; RightTile<float, 16, 32> k;
    TLOAD(q, x, {desc.b, 0}); TABS(q, q);
    for (uint32_t pos = 0; pos <= desc.a; pos += 16) {
        if (pos > 0) {
            TMATMUL(p, q, PTO_TRANSPOSE(k));
            TSTORE(y, p, {pos - 16, 0});
        }
        TLOAD(k, x, {pos, 0}, desc.c);
    }";

/// Operands and results of one column, whose elements lie in a row or in a column of their tensors.
pub(crate) const NARROW: &str = "
    LeftTile<float, 16, 16> a; RightTile<float, 16, 1> b; AccTile<float, 16, 1> c;
    TLOAD(a, x, {desc.a, 0});
    if (desc.b == 0) { TLOAD(b, x, {PTO_ROWS(desc.c), 5}); } else { TLOAD(b, x, {desc.c, 5}); }
    TMATMUL(c, a, b);
    TSTORE(y, c, {desc.a, 9}); TSTORE(y, c, {PTO_ROWS(desc.a), 3});";

/// An outer product.
pub(crate) const OUTER: &str = "
    LeftTile<float, 16, 1> a; RightTile<float, 16, 1> b; AccTile<float, 16, 16> c;
    TLOAD(a, x, {PTO_ROWS(desc.a), 3}, desc.d); TLOAD(b, x, {desc.b, 5});
    TMATMUL(c, a, PTO_TRANSPOSE(b));
    TSTORE(y, c, {desc.c, 7});";

/// A product with one column that a vector core goes on with.
pub(crate) const COLUMN: &str = "
    LeftTile<float, 16, 16> a; RightTile<float, 16, 1> b; VecTile<float, 16, 1> v;
    TLOAD(a, x, {desc.a, 0}); TLOAD(b, x, {PTO_ROWS(desc.b), 5});
    TMATMUL(v, a, b);
    TADDS(v, v, 1.0f);
    TSTORE(y, v, {desc.c, 0});";

/// A sum that is kept in a tensor: the first product begins it, others are added to what is loaded.
pub(crate) const KEPT: &str = "
    LeftTile<float, 16, 16> a; RightTile<float, 16, 16> b; AccTile<float, 16, 16> sum;
    TLOAD(a, x, {desc.a, 0}, desc.c); TLOAD(b, x, {desc.b, 0});
    if (desc.d == 1) {
        TMATMUL(sum, a, PTO_TRANSPOSE(b));
    } else {
        TLOAD(sum, x, {desc.a, 16}, desc.c);
        TMATMUL_ACC(sum, a, PTO_TRANSPOSE(b));
    }
    TSTORE(y, sum, {desc.a, 3});";

/// What goes to slots of a workspace and comes back; the same without a workspace.
fn slots() -> [Kernel; 2] {
    let body = |between: &str| {
        format!(
            "VecTile<float, 8, 32> t; VecTile<float, 8, 1> r; VecTile<float, 8, 32> u; VecTile<float, 8, 1> s;
             TLOAD(t, x, {{desc.b, 0}}, desc.c); TROWMAX(r, t);
             {between}
             TROWEXPANDSUB(u, u, s);
             TSTORE(y, u, {{desc.b, 0}});"
        )
    };
    let before = "PTO_WORKSPACE(slot_t, float, 8, 32) PTO_WORKSPACE(slot_r, float, 8, 1)";
    let through = "uint32_t at = desc.a * PTO_SLOT_BYTES;
                   TSTORE(slot_t, t, {at}); TSTORE(slot_r, r, {at});
                   TLOAD(u, slot_t, {at}, desc.c); TLOAD(s, slot_r, {at}, desc.c);";
    [Kernel::with(before, &body(through)), Kernel::new(&body("TMOV(u, t); TMOV(s, r);"))]
}

#[test]
fn kernels_for_both_cores_give_what_a_plain_run_gives() {
    // The texts for a3 are those for a2.
    for chip in [Chip::A2, Chip::A5] {
        let mut batch = Batch::new(chip, "mixed");
        let rounds = [[0, 0, 8, 0], [16, 8, 8, 0], [53, 3, 5, 0], [56, 1, 1, 0]];
        // Sums of up to 56 weights in another order, and exponentials of a base that the cores do not have.
        batch.add("attention", &Kernel::new(ATTENTION), &rounds, 4e-6);
        batch.add("gated", &Kernel::new(GATED), &[[16, 0, 16, 0], [32, 3, 15, 0], [32, 40, 1, 0]], 1e-5);
        batch.add("largest", &Kernel::new(LARGEST), &[[16, 0, 0, 0], [61, 3, 0, 0], [5, 9, 0, 0]], 0.0);
        batch.add("changed", &Kernel::new(CHANGED), &[[1, 0, 0, 0], [2, 3, 8, 0], [3, 7, 56, 0]], 0.0);
        batch.add("deep", &Kernel::new(DEEP), &[[32, 0, 64, 0], [31, 5, 17, 0], [1, 32, 1, 0]], 0.0);
        batch.add("merged", &Kernel::new(MERGED), &[[0, 0, 0, 0], [1, 0, 0, 0], [8, 56, 0, 0]], 0.0);
        batch.add("held", &Kernel::new(HELD), &[[32, 0, 16, 0], [17, 5, 9, 1], [1, 0, 1, 1]], 0.0);
        batch.add("behind", &Kernel::new(BEHIND), &[[0, 0, 16, 0], [16, 5, 9, 0], [48, 56, 1, 0]], 0.0);
        batch.add("narrow", &Kernel::new(NARROW), &[[0, 0, 0, 0], [3, 1, 7, 0], [48, 1, 16, 0]], 0.0);
        batch.add("outer", &Kernel::new(OUTER), &[[0, 0, 0, 16], [3, 5, 7, 9], [48, 16, 30, 1]], 0.0);
        batch.add("column", &Kernel::new(COLUMN), &[[0, 0, 0, 0], [3, 5, 7, 0], [48, 16, 30, 0]], 0.0);
        batch.add("kept", &Kernel::new(KEPT), &[[0, 0, 16, 1], [3, 5, 16, 0], [40, 16, 7, 0]], 0.0);
        let [slots, plain] = slots();
        batch.add_as("slots", &slots, &plain, &[[0, 0, 8, 0], [3, 5, 7, 0], [9, 56, 1, 0]], 0.0);
        batch.run();
    }
}

#[test]
fn a_number_that_a_task_finds_is_not_handed_to_another() {
    let kernel = Kernel::new(
        "VecTile<float, 8, 32> q; RightTile<float, 16, 32> k; VecTile<float, 8, 16> p;
         uint32_t rows = (uint32_t)PTO_LOAD_SCALAR(x, {desc.b, 0});
         TLOAD(q, x, {0, 0}); TABS(q, q);
         TLOAD(k, x, {0, 0}, rows);
         TMATMUL(p, q, PTO_TRANSPOSE(k));
         TSTORE(y, p, {0, 0});",
    );
    let found = emitted(&kernel, Chip::A2).unwrap_err();
    assert!(told(&found).contains("WSP1722"), "{}", told(&found));
}

/// A caller makes the tensors: it has to know how large.
#[test]
fn the_header_says_how_large_each_exchanged_tensor_is() {
    for (body, some) in [(ATTENTION, "8 x 16 of float."), (GATED, "16 x 16 of float.")] {
        let kernel = emitted(&Kernel::new(body), Chip::A2).unwrap_or_else(|found| panic!("{}", told(&found)));
        let arguments = kernel.text.lines().find_map(|line| line.split_once("in their order: "));
        let (_, arguments) = arguments.expect("a header lists its arguments");
        let exchanged =
            arguments.trim_end_matches('.').split(", ").filter(|name| name.starts_with("exchange_"));
        let exchanged: Vec<&str> = exchanged.collect();
        assert!(exchanged.len() > 1, "{arguments}");
        for name in &exchanged {
            let begin = format!("// `{name}`: ");
            let line =
                kernel.text.lines().find_map(|line| line.strip_prefix(&begin)).expect("each has a line");
            assert!(line.split_once(" x ").is_some_and(|(rows, _)| rows.parse::<u32>().is_ok()), "{line}");
        }
        assert_eq!(kernel.text.matches("// `exchange_").count(), exchanged.len());
        assert!(kernel.text.contains(some), "{}", kernel.text);
    }
}

/// A function with parts for both kinds of cores is several tasks where they exchange tiles through global memory, and one where they
/// move them to each other.
#[test]
fn a_kernel_for_both_cores_is_one_task_where_they_move_tiles() {
    for (name, body) in [
        ("attention", ATTENTION),
        ("gated", GATED),
        ("largest", LARGEST),
        ("changed", CHANGED),
        ("column", COLUMN),
    ] {
        let tasks = |chip| {
            let kernel =
                emitted(&Kernel::new(body), chip).unwrap_or_else(|found| panic!("{name}: {}", told(&found)));
            (kernel.tasks.len(), kernel.text, kernel.notes)
        };
        let (apart, ..) = tasks(Chip::A2);
        let (one, text, notes) = tasks(Chip::A5);
        assert!(apart > 1 && one == 0, "{name}: {apart} and {one} tasks\n{}", told(&notes));
        assert!(text.contains("set_intra_block(") && !text.contains("exchange"), "{text}");
    }
}

#[test]
fn two_names_of_one_array_are_one_tensor() {
    let text = "
        PTO_SHAPE(x, 16, 16)
        PTO_SHAPE(y, 16, 16)
        PTO_SHAPE(z, 16, 16)
        PTO_SPACE(S) { PTO_AXIS(i, 0, 1) }
        struct D { uint32_t first; };
        PTO_KERNEL_IMPL(k) { auto desc = PTO_GET_DESCRIPTOR<D>();
            LeftTile<float, 16, 16> a; RightTile<float, 16, 16> w; AccTile<float, 16, 16> o; VecTile<float, 16, 16> v;
            TLOAD(a, x, {0, 0}); TLOAD(w, x, {0, 0}); TMATMUL(o, a, w); TSTORE(y, o, {0, 0});
            TLOAD(v, z, {0, 0}); TADDS(v, v, 1.0f); TSTORE(z, v, {0, 0}); }
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .first = i }); } }
        void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y, .z = y }); }";
    let (module, found) = wsp_lang::compile("kernel.pto", text, &mut SourceMap::default());
    let module = into_verified(module.unwrap_or_else(|| panic!("{}", told(&found)))).unwrap();
    let known = Known { params: &[], elems: &[Some(DType::F32); 3] };
    for chip in [Chip::A2, Chip::A5] {
        let made = emit_kernel(&module, module.function_named("k").unwrap(), known, chip);
        let made = made.unwrap_or_else(|found| panic!("{}", told(&found)));
        assert!(made.arguments.iter().map(|of| of.name.as_str()).eq(["x_gm", "y_gm"]));
        assert!(made.tasks.len() > 1, "one core stores to what the other loads");
    }
}
