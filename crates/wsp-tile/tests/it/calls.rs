//! Kernels with one call of each operation of the table.

use wsp_ir::{PtoWord, TileOpRow};

/// Tiles that operands are taken from: `t` and `u` have `desc.d` valid rows, or all.
pub(crate) const OPERANDS: &str = "
    VecTile<float, 8, 16> t; VecTile<float, 8, 16> u; VecTile<float, 8, 1> column; VecTile<float, 1, 16> row;
    TLOAD(t, x, {desc.a, 0}, desc.d); TLOAD(u, x, {desc.b, 16}, desc.d);
    TROWMAX(column, u); TCOLMIN(row, u);";

/// A call of the operation with tile `r` as its result, and the valid rows that it is tried with; some need all 8.
pub(crate) fn call(row: &TileOpRow, word: &PtoWord) -> (String, &'static [u32]) {
    const PARTS: &[u32] = &[1, 3, 7, 8];
    const WHOLE: &[u32] = &[8];
    let name = word.name;
    let by_args = || {
        let args = word.args.iter().map(|arg| match *arg {
            "dst" => "r",
            "src" | "a" => "t",
            "b" => "u",
            "value" => "-1.5f",
            "low" => "-2.0f",
            "high" => "2.5f",
            "column" => "column",
            "row" => "row",
            other => panic!("`{name}` has an argument `{other}` that is not tried here"),
        });
        format!("{name}({});", args.collect::<Vec<_>>().join(", "))
    };
    let wide = "VecTile<float, 8, 16> r;";
    match row.form {
        "unary" | "binary" | "clamp" | "cumsum" => (format!("{wide} {}", by_args()), PARTS),
        "select" => (format!("{wide} VecTile<float, 8, 16> m; TCMP_GT(m, t, u); {name}(r, m, t, u);"), PARTS),
        "row_reduce" => (format!("VecTile<float, 8, 1> r; {}", by_args()), PARTS),
        "col_reduce" => (format!("VecTile<float, 1, 16> r; {}", by_args()), PARTS),
        "transpose" => (format!("VecTile<float, 16, 8> r; {}", by_args()), PARTS),
        "load" => (format!("{wide} {name}(r, x, {{desc.b, 3}}, desc.d, 9);"), PARTS),
        "store" => {
            let call = format!(
                "VecTile<float, 8, 16> r; TMOV(r, t); TSTORE(y, u, {{19, 7}}); {name}(y, r, {{20, 5}});"
            );
            (call, PARTS)
        }
        "fill" => (format!("{wide} {name}(r, 2.5f, desc.d, 5);"), PARTS),
        "iota" => (format!("{wide} {name}(r, -3, desc.d);"), PARTS),
        "random" => (format!("{wide} {name}(r, desc.a, desc.b, 100, desc.d);"), PARTS),
        "mask" | "mask_causal" => (format!("{wide} TMOV(r, t); {name}(r, 2, 9.5f);"), PARTS),
        "mask_band" => (format!("{wide} TMOV(r, t); {name}(r, -1, 3, 2, 9.5f);"), PARTS),
        "gather" => (format!("{wide} VecTile<float, 8, 16> at; TABS(at, t); {name}(r, u, at);"), WHOLE),
        "reshape" => (format!("VecTile<float, 16, 8> r; {name}(r, t);"), WHOLE),
        "insert" => (
            format!("{wide} VecTile<float, 2, 3> p; TASSIGN(p, 9.5f); TMOV(r, t); {name}(r, p, 1, 2);"),
            &[3, 8],
        ),
        "extract" => (format!("VecTile<float, 4, 8> r; {name}(r, t, 1, 2);"), &[2, 3, 8]),
        "top_k" => (
            format!(
                "VecTile<float, 8, 6> r; VecTile<float, 8, 6> places; {name}(r, places, t, 5); \
                 {name}(r, places, u, 21); TSTORE(y, places, {{16, 0}});"
            ),
            PARTS,
        ),
        "matmul" if word.flag == Some("accumulate") => (
            format!(
                "VecTile<float, 8, 8> r; VecTile<float, 8, 16> w; TLOAD(w, x, {{3, 0}}); \
                 TASSIGN(r, 1.0f, desc.d); {name}(r, t, PTO_TRANSPOSE(w));"
            ),
            PARTS,
        ),
        "matmul" => (
            format!(
                "VecTile<float, 8, 12> r; VecTile<float, 16, 12> w; TLOAD(w, x, {{3, 0}}); {name}(r, t, w);"
            ),
            PARTS,
        ),
        other => panic!("the form `{other}` is not tried here"),
    }
}
