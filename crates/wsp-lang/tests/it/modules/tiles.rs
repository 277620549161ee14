//! Modules that tiles, their places and their operations become.

use super::*;

#[track_caller]
fn place(tensor: &str, tile: &str, list: &str) -> (Option<u8>, Option<u8>) {
    let program = format!("{tensor} PTO_KERNEL_IMPL(k) {{ {tile} a; TLOAD(a, t, {list}); }}");
    let module = compile(&program);
    match &function(&module, "k").body[1].kind {
        StmtKind::Tile(TileOp::Load { at, .. }) => (at.row_dim, at.col_dim),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tiles_lie_where_the_index_list_says() {
    let four = "PTO_TENSOR(t, float, 8, 6, 1, 64)";
    assert_eq!(
        place(four, "VecTile<float, 4, 64>", "{0, 2, 0}"),
        (Some(1), Some(3)),
        "1 is no dimension for rows"
    );
    assert_eq!(place(four, "VecTile<float, 4, 64>", "{PTO_ROWS(0), 2, 0}"), (Some(0), Some(3)));
    assert_eq!(
        place(four, "VecTile<float, 4, 64>", "{0}"),
        (Some(1), Some(3)),
        "the last open dimension above 1"
    );
    assert_eq!(place(four, "VecTile<float, 4, 64>", "{}"), (Some(1), Some(3)));
    let two = "PTO_TENSOR(t, float, 8, 6)";
    assert_eq!(place(two, "VecTile<float, 4, 1>", "{0, PTO_ROWS(2)}"), (Some(1), None));
    assert_eq!(place(two, "VecTile<float, 4, 1>", "{0, 2}"), (Some(1), None));
    assert_eq!(place(two, "VecTile<float, 4, 3>", "{2, 3}"), (Some(0), Some(1)), "a block of a matrix");
    assert_eq!(place(two, "VecTile<float, 1, 6>", "{2}"), (Some(0), Some(1)));
    let slots = "PTO_WORKSPACE(t, float, 4, 8)";
    assert_eq!(place(slots, "VecTile<float, 4, 8>", "{64}"), (Some(1), Some(2)));
    assert_eq!(place("PTO_WORKSPACE(t, float, 1, 8)", "VecTile<float, 1, 8>", "{64}"), (None, Some(2)));
    assert_eq!(place("PTO_WORKSPACE(t, float, 4)", "VecTile<float, 1, 4>", "{64}"), (None, Some(1)));
}

#[test]
fn slots_hold_their_fields_at_multiples_of_64_bytes() {
    let module = compile(
        "PTO_WORKSPACE(a, float, 3, 5) PTO_WORKSPACE(b, half, 33) const uint32_t s = PTO_SLOT_BYTES; PTO_PARAM(uint32_t, p, s)",
    );
    let ParamSource::Set { default } = &module.params[0].source else { panic!("a parameter") };
    assert_eq!(default.as_const_int(), Some(64 + 128));
    assert_eq!(module.tensors[0].rank(), 3);
}

#[test]
fn constant_variables_may_size_tiles() {
    let module = compile(
        "PTO_PARAM(uint32_t, g, 4) PTO_KERNEL_IMPL(k) { const uint32_t rows = g * 2; constexpr uint32_t cols = 16; VecTile<float, rows, cols> a; }",
    );
    let kernel = function(&module, "k");
    let LocalTy::Tile(ty) = &kernel.locals[1].ty else { panic!("a tile") };
    assert_eq!((text(&ty.rows), text(&ty.cols)), ("(p0 * 2)".to_owned(), "16".to_owned()));
}

#[test]
fn tile_operations_take_tiles_columns_rows_and_numbers() {
    let module = compile(
        "PTO_KERNEL_IMPL(k) {
             VecTile<half, 4, 8> a; VecTile<half, 4, 8> b; VecTile<float, 4, 1> c; VecTile<float, 1, 8> r;
             TADD(a, a, b); TADD(a, a, 2); TROWEXPANDMUL(a, a, c); TCOLEXPANDSUB(a, a, r); TMAXS(a, a, -1.5);
         }",
    );
    let operands: Vec<String> = function(&module, "k")
        .body
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Tile(TileOp::Binary { b: Operand::Scalar(e), .. }) => {
                Some(format!("{} {}", e.ty.name(), text(e)))
            }
            StmtKind::Tile(TileOp::Binary { b, .. }) => Some(format!("{b:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        operands,
        ["Tile(LocalId(1))", "f32 2.0", "Column(LocalId(2))", "Row(LocalId(3))", "f32 -1.5"]
    );
}

#[test]
fn matrix_products_know_whether_the_right_side_is_transposed() {
    let module = compile(
        "PTO_PARAM(uint32_t, d, 64) PTO_KERNEL_IMPL(k) {
             VecTile<float, 4, d> q; RightTile<half, 32, d> kt; RightTile<half, 32, d> v; VecTile<float, 4, 32> s; AccTile<float, 4, d> o;
             TMATMUL(s, q, PTO_TRANSPOSE(kt)); TMATMUL_ACC(o, s, v);
         }",
    );
    let kinds: Vec<(bool, bool)> = function(&module, "k")
        .body
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Tile(TileOp::MatMul { transpose_b, accumulate, .. }) => {
                Some((*transpose_b, *accumulate))
            }
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [(true, false), (false, true)]);
}

#[test]
fn the_tiers_of_the_decode_example_differ_in_their_tile_only() {
    let module = compile(EXAMPLE);
    for (name, size) in [
        ("decode_kernel_2k", 256),
        ("decode_kernel_8k", 512),
        ("decode_kernel_64k", 1024),
        ("decode_kernel_128k", 1024),
    ] {
        let kernel = function(&module, name);
        assert_eq!((kernel.params, kernel.locals[0].name.as_str()), (1, "desc"));
        let step = kernel.body.iter().find_map(|s| match &s.kind {
            StmtKind::For { step, end, .. } => Some((step.as_const_int(), text(end))),
            _ => None,
        });
        assert_eq!(step, Some((Some(size), "v0.5".to_owned())));
        let keys = kernel.locals.iter().find(|l| l.name == "k_tile").expect("the keys");
        let LocalTy::Tile(ty) = &keys.ty else { panic!("a tile") };
        assert_eq!((ty.role, ty.rows.as_const_int()), (TileRole::Right, Some(size)));
        assert_eq!(ty.elem, Elem::Of(module.tensor_named("k_cache").expect("declared")));
    }
}

#[test]
fn selections_and_causal_masks_take_tiles_and_numbers() {
    let module = compile(
        "struct D { uint32_t first; };
         PTO_KERNEL_IMPL(k) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 2, 8> scores;
             VecTile<float, 2, 4> values;
             VecTile<float, 2, 4> indices;
             TASSIGN(scores, (float)cos(0.0));
             TMASK_CAUSAL(scores, 1 - (int32_t)d.first, -INFINITY);
             TTOPK(values, indices, scores, d.first);
         }",
    );
    let body = &function(&module, "k").body;
    let ops: Vec<&TileOp> = (body.iter())
        .filter_map(|s| if let StmtKind::Tile(op) = &s.kind { Some(op) } else { None })
        .collect();
    let [TileOp::Fill { .. }, TileOp::MaskCausal { cols, .. }, TileOp::TopK { values, indices, src, first }] =
        ops[..]
    else {
        panic!("{ops:?}")
    };
    assert_eq!((cols.ty, first.ty), (ScalarTy::I32, ScalarTy::U32));
    let names = [src, values, indices].map(|id| function(&module, "k").local(*id).name.as_str());
    assert_eq!(names, ["scores", "values", "indices"]);
}
