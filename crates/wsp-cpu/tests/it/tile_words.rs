//! Tile operations by their words in `.pto` files, each with what it should store.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::tiers::run;
use wsp_diag::{SourceMap, render_all};

/// The first four rows of `y` after a kernel that is given 4 × 8 tiles `x`, whose rows are -3 … 4, `row`, -0.5 … 6.5, and `t`.
fn stored(body: &str) -> Result<Vec<f32>, String> {
    let text = format!(
        "PTO_SHAPE(lens, n)
         PTO_SHAPE(y, n, 4, 8)
         PTO_TENSOR(kept, double, 1, 8)
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
         struct D {{ uint32_t i; }};
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 4, 8> x; VecTile<float, 1, 8> row; VecTile<float, 4, 8> t;
             TCI(x, -3); TCI(row, 0); TADDS(row, row, -0.5f); TASSIGN(t, 9.0f);
             {body}
             TSTORE(y, t, {{d.i, 0, 0}});
         }}
         PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i }}); }} }}
         void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
    );
    run(&text, &[1]).map_err(|found| render_all(&found, &SourceMap::default(), false))
}

/// A value for each row and column.
fn of(value: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    (0..32).map(|at| value(at / 8, at % 8)).collect()
}

#[test]
fn comparisons_choices_limits_and_sums_are_written_by_their_words() {
    let x = |c: usize| c as f32 - 3.0;
    let is = |holds: bool| if holds { 1.0 } else { 0.0 };
    for (body, want) in [
        ("TCMP_LT(t, x, t);", of(|_, _| 1.0)),
        ("TCOLEXPANDCMP_GE(t, x, row);", of(|_, _| 0.0)),
        ("TMULS(t, x, 2.0f); TCMP_GT(t, t, x);", of(|_, c| is(x(c) > 0.0))),
        ("TRELU(t, x); TCMP_EQ(t, t, x);", of(|_, c| is(x(c) >= 0.0))),
        ("TABS(t, x); TCMP_NE(t, t, x);", of(|_, c| is(x(c) < 0.0))),
        ("TASSIGN(t, 2.0f); TCMP_LE(t, x, t);", of(|_, c| is(x(c) <= 2.0))),
        (
            "VecTile<float, 4, 8> m; TRELU(m, x); TSEL(t, m, x, t);",
            of(|_, c| if x(c) > 0.0 { x(c) } else { 9.0 }),
        ),
        ("TCLAMP(t, x, -1.5f, 2.0f);", of(|_, c| x(c).clamp(-1.5, 2.0))),
        ("TCUMSUM(t, x);", of(|_, c| (0..=c).map(x).sum())),
        ("VecTile<float, 4, 1> m; TROWMEAN(m, x); TROWEXPANDADD(t, x, m);", of(|_, c| x(c) + 0.5)),
        ("VecTile<float, 4, 1> m; TROWARGMIN(m, x); TROWEXPANDADD(t, x, m);", of(|_, c| x(c))),
        ("TFLOOR(row, row); TCOLEXPANDADD(t, x, row);", of(|_, c| x(c) + c as f32 - 1.0)),
        ("TCEIL(row, row); TCOLEXPANDADD(t, x, row);", of(|_, c| x(c) + c as f32)),
    ] {
        assert_eq!(stored(body).unwrap_or_else(|found| panic!("{body}\n{found}")), want, "{body}");
    }
}

#[test]
fn elements_are_taken_by_index_and_row_by_row() {
    for (body, want) in [
        ("TADDS(x, x, 3.0f); TGATHER(t, x, x);", of(|_, c| c as f32)),
        ("VecTile<float, 4, 8> at; TABS(at, x); TGATHER(t, x, at);", of(|_, c| (c as f32 - 3.0).abs() - 3.0)),
        (
            "VecTile<float, 8, 4> s; TTRANS(s, x); VecTile<float, 3, 4> at; TASSIGN(at, 6.0f); \
             VecTile<float, 3, 4> g; TGATHER_ROWS(g, s, at); TINSERT(t, g, 1, 2);",
            of(|r, c| if r > 0 && (2..6).contains(&c) { 3.0 } else { 9.0 }),
        ),
        ("VecTile<float, 8, 4> s; TRESHAPE(s, x); TTRANS(t, s);", of(|r, c| (4 * c + r) as f32 % 8.0 - 3.0)),
    ] {
        assert_eq!(stored(body).unwrap_or_else(|found| panic!("{body}\n{found}")), want, "{body}");
    }
    let large = stored("VecTile<float, 8, 8> s; TRESHAPE(s, x, 2, 16);").unwrap_err();
    assert!(large.contains("error[WSP0612]: the result does not fit tile `s`"), "{large}");
    assert!(large.contains("need 2 x 16, have 8 x 8"), "{large}");
    let other = stored("VecTile<float, 4, 7> at; TASSIGN(at, 0.0f); TGATHER(t, x, at);").unwrap_err();
    assert!(other.contains("error[WSP0221]: tile shapes do not fit `TGATHER`"), "{other}");
    let wrong = stored("TGATHER(t, x, x);").unwrap_err();
    assert!(wrong.contains("error[WSP0617]: index -3 of `x` is no column of `x`"), "{wrong}");
    assert!(wrong.contains("columns are the whole numbers from 0 to 7"), "{wrong}");
    let many = stored("VecTile<float, 4, 8> s; TRESHAPE(s, x, 4, d.i + 7);").unwrap_err();
    assert!(
        many.contains("error[WSP0611]: the new shape, of `s`, has not as many elements as `x`"),
        "{many}"
    );
    assert!(many.contains("4 x 7 are 28, what is valid of the operand is 4 x 8, 32"), "{many}");
    let far =
        stored("TADDS(row, row, 4294967296.0f); VecTile<float, 1, 8> g; TGATHER(g, row, row);").unwrap_err();
    assert!(far.contains("index 4294967296 of `row` is no column of `row`"), "{far}");
}

#[test]
fn random_numbers_are_those_of_the_sequence() {
    // The upper 24 bits of the known answer of Philox-4x32-10 for a counter and a key of 0.
    let words = [0x6627_E8D5_u32, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8];
    let have = stored("TRANDOM(t, 0, 0, 8);").unwrap();
    for (have, word) in have.iter().zip(words) {
        assert_eq!(*have, (word >> 8) as f32 / 16_777_216.0);
    }
    let later = stored("TRANDOM(t, d.i, 3, 8);").unwrap();
    assert_eq!(later[..29], have[3..]);
    assert_ne!(stored("TRANDOM(t, 1, 0, 8);").unwrap(), have);
}

#[test]
fn a_number_is_double_where_any_tile_of_the_operation_is() {
    let zero = |body: &str| format!("VecTile<double, 4, 8> b; TASSIGN(b, 0.0); double m = 0.1; {body}");
    for (body, want) in [
        ("TASSIGN(x, 1.0f); TADDS(b, x, m); TSUBS(b, b, 1.0 + 0.1); TMULS(b, b, 1e15); TCVT(t, b);", 0.0),
        ("TASSIGN(x, 0.0f); TADDS(b, x, 1e300); TMULS(b, b, 1e-300); TCVT(t, b);", 1.0),
        ("TCLAMP(b, t, m, m); TSUBS(b, b, 0.1); TMULS(b, b, 1e15); TCVT(t, b);", 0.0),
        ("TASSIGN(x, 0.0f); TSEL(b, x, x, m); TSUBS(b, b, 0.1); TMULS(b, b, 1e15); TCVT(t, b);", 0.0),
        ("VecTile<double, 4, 8> e; TSEL(e, b, t, m); TSUBS(e, e, 0.1); TMULS(e, e, 1e15); TCVT(t, e);", 0.0),
        ("TASSIGN(x, 0.1f); TCMP_EQ(b, x, m); TCVT(t, b);", 0.0),
    ] {
        let body = zero(body);
        assert_eq!(
            stored(&body).unwrap_or_else(|found| panic!("{body}\n{found}")),
            of(|_, _| want),
            "{body}"
        );
    }
}

/// A body, and the value of `t` that it leaves in a row and column.
type Case<'a> = (&'a str, &'a dyn Fn(usize, usize) -> f64);

#[test]
fn tiles_of_double_keep_what_float_does_not_hold() {
    let x = |c: usize| c as f64 - 3.0;
    let wide = "VecTile<double, 4, 8> a; VecTile<double, 4, 8> b; TCVT(a, x);";
    let cases: [Case<'_>; 6] = [
        ("TADDS(b, a, 1e-12); TSUB(b, b, a); TMULS(b, b, 1e12); TCVT(t, b);", &|_, c| {
            ((x(c) + 1e-12) - x(c)) * 1e12
        }),
        ("TMULS(b, a, 0.1); TCMP_EQ(t, b, a);", &|_, c| if c == 3 { 1.0 } else { 0.0 }),
        ("float step = 1.0f; TADDS(b, a, step); TADDS(b, b, 1e9 + 0.25); TSUBS(b, b, 1e9); TCVT(t, b);", &|_, c| {
            x(c) + 1.25
        }),
        (
            "VecTile<double, 1, 8> r; TCVT(r, row); TADDS(r, r, 1e-10); double m = TROWMAX(r);
             TSUBS(r, r, m); TADDS(r, r, 7.0); TMULS(r, r, 1e9); TCOLEXPANDADD(t, x, r);",
            &|_, c| x(c) + ((c as f64 - 0.5 + 1e-10) - (6.5 + 1e-10) + 7.0) * 1e9,
        ),
        (
            "VecTile<double, 4, 4> p; TMATMUL(p, a, PTO_TRANSPOSE(x)); VecTile<double, 4, 1> s; TROWMAX(s, p);
             TROWEXPANDADD(t, x, s);",
            &|_, c| x(c) + 44.0,
        ),
        ("TASSIGN(b, 1.0 / 3.0); TMASK(b, 4, 2.0 / 3.0); TMULS(b, b, 3e8); TSUBS(b, b, 1e8); TCVT(t, b);", &|_, c| {
            if c < 4 { 1.0 / 3.0 * 3e8 - 1e8 } else { 2.0 / 3.0 * 3e8 - 1e8 }
        }),
    ];
    for (body, want) in cases {
        let have = stored(&format!("{wide} {body}")).unwrap_or_else(|found| panic!("{body}\n{found}"));
        assert_eq!(have, of(|r, c| want(r, c) as f32), "{body}");
    }
    let selected = stored(
        "VecTile<double, 4, 8> a; TCVT(a, x); VecTile<float, 4, 2> v; VecTile<float, 4, 2> i; TTOPK(v, i, a, 0);",
    );
    let found = selected.unwrap_err();
    assert!(found.contains("`TTOPK` does not select among elements of `double`"), "{found}");
    assert!(found.contains("TCVT(rounded, tile);"), "{found}");
}

#[test]
fn temporaries_of_double_keep_all_digits() {
    let body = "VecTile<double, 1, 8> a; TASSIGN(a, 1.0 + 1e-12); TSTORE(kept, a, {d.i, 0});
        TSTORE_ATOMIC_ADD(kept, a, {d.i, 0}); TLOAD(a, kept, {d.i, 0});
        TSUBS(a, a, 2.0); TMULS(a, a, 1e12); TCOLEXPANDADD(t, x, a);";
    let rest = ((1.0 + 1e-12) + (1.0 + 1e-12) - 2.0) * 1e12;
    assert_eq!(stored(body).unwrap(), of(|_, c| (c as f64 - 3.0 + rest) as f32));
    let narrow = stored("TLOAD(row, kept, {d.i, 0});").unwrap_err();
    assert!(
        narrow.contains("error[WSP0130]: tensor `kept` holds `double`, and tile `row` does not"),
        "{narrow}"
    );
    let single = stored("PTO_STORE_SCALAR(kept, 1.0f, {d.i, 0});").unwrap_err();
    assert!(
        single.contains("error[WSP0130]: tensor `kept` holds `double`, and single elements are `float`"),
        "{single}"
    );
}

#[test]
fn a_store_that_adds_adds_to_what_is_there() {
    let add = "TSTORE(y, t, {d.i, 0, 0}); TSTORE_ATOMIC_ADD(y, x, {d.i, 0, 0}); TSTORE_ATOMIC_ADD(y, row, {d.i, 2, 0}); TLOAD(t, y, {d.i});";
    let want = of(|r, c| 9.0 + c as f32 - 3.0 + if r == 2 { c as f32 - 0.5 } else { 0.0 });
    assert_eq!(stored(add).unwrap(), want);
    let past = stored("TSTORE(y, t, {d.i, 0, 0}); TSTORE_ATOMIC_ADD(y, t, {d.i, 1, 0});").unwrap_err();
    assert!(past.contains("error[WSP0610]: a store past the end of dimension 1 of `y`"), "{past}");
}
