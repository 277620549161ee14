//! What is said of frequent slips, with what is probably meant.

use wsp_diag::{SourceMap, render};

const PROGRAM: &str = "
PTO_SHAPE(x, rows, 64)
PTO_SHAPE(y, rows, 64)
PTO_PARAM(float, SCALE, 0.5f)
struct Row { uint32_t idx; };
PTO_SPACE(Rows) { PTO_AXIS(row, 0, rows) }
PTO_DESCRIPTOR_GEN(Rows) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .idx = r }); } }
PTO_KERNEL_IMPL(k) {
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 64> t;
    VecTile<float, 1, 64> s;
    TLOAD(t, x, {desc.idx});
    TSTORE(y, t, {desc.idx});
}
void f(Tensor x, Tensor<float> y) { PTO_LAUNCH(Rows, { .x = x, .y = y }); }
";

/// The first error of the program with one text in the place of another, and how many there are.
fn said(text: &str, with: &str) -> (String, usize) {
    let mut sources = SourceMap::default();
    let (_, found) = wsp_lang::compile("a.pto", &PROGRAM.replace(text, with), &mut sources);
    let errors: Vec<String> =
        found.iter().filter(|d| d.is_error()).map(|d| render(d, &sources, false)).collect();
    (errors.first().cloned().unwrap_or_default(), errors.len())
}

#[test]
fn what_is_meant_by_a_slip_is_named() {
    assert_eq!(said("", "").1, 0);
    for (text, with, part) in [
        ("GET_DESCRIPTOR", "GET_DESCRIPTER", "did you mean `PTO_GET_DESCRIPTOR`?"),
        ("PTO_LAUNCH", "PTO_LAUCH", "did you mean `PTO_LAUNCH`?"),
        ("<float, 1, 64> s", "<flaot, 1, 64> s", "did you mean `float`?"),
        (
            "TLOAD(t, x, {desc.idx});",
            "TLOAD(t, x);",
            "it is written `TLOAD(dst, tensor, {index, …}, [rows], [cols])`",
        ),
        ("TLOAD(t, x, {desc.idx});", "s = t @ t;", "`TMATMUL(product, a, b);`"),
        ("TLOAD(t, x, {desc.idx});", "printf(\"%f\", 1);", "store a tile to an output"),
    ] {
        let (first, errors) = said(text, with);
        assert!(first.contains(part), "{with}: {first}");
        assert!(errors <= 2, "{with}: {errors} errors");
    }
    assert_eq!(said("PTO_LAUNCH", "PTO_LAUCH").1, 1);
}

/// Where the call that does what is meant is known, it is written out and compiles.
#[test]
fn arithmetic_of_tiles_names_the_call_or_none() {
    let load = "TLOAD(t, x, {desc.idx});";
    let with = |statement: &str| {
        let names = "float by = 0.5f; VecTile<float, 1, 64> b; TASSIGN(b, by);";
        said(load, &format!("{load} TMOV(s, t); {names} {statement}"))
    };
    for (assignment, call) in [
        ("s = t * t;", "TMUL(s, t, t);"),
        ("s = t - b;", "TSUB(s, t, b);"),
        ("t = t * 2.0f;", "TMULS(t, t, 2.0f);"),
        ("t = t / 3;", "TDIVS(t, t, 3);"),
        ("t = t + -0.1f;", "TADDS(t, t, -0.1f);"),
        ("t = 2.0f + s;", "TADDS(t, s, 2.0f);"),
        ("t = t - by;", "TSUBS(t, t, by);"),
        ("t = t * SCALE;", "TMULS(t, t, SCALE);"),
        ("t += s;", "TADD(t, t, s);"),
        ("t *= by;", "TMULS(t, t, by);"),
        ("t = s;", "TMOV(t, s);"),
        ("t = by;", "TASSIGN(t, by);"),
    ] {
        assert_eq!(with(call), (String::new(), 0), "{call}");
        let (first, _) = with(assignment);
        assert!(first.contains(&format!("write `{call}`")), "{assignment}: {first}");
    }
    for assignment in
        ["t = 2.0f - t;", "t = 1.0f / t;", "t = t + s * 2.0f;", "t = t > s;", "t = t * (by + 1.0f);"]
    {
        let (first, _) = with(assignment);
        assert!(first.contains("`t`") && first.contains("\"Tile operations\""), "{assignment}: {first}");
        assert!(!first.contains("write `"), "{assignment}: {first}");
    }
}
