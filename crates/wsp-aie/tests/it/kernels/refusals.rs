//! What has no body, and what bodies take.

use super::bench::{Kernel, told};
use super::operations::body_of;
use wsp_aie::kernel::{Number, body};
use wsp_core::DType;
use wsp_diag::SourceMap;
use wsp_ir::{Const, into_verified};
use wsp_tile::Known;

/// The first line of why a kernel has no body.
fn refused(body: &str) -> String {
    let found = body_of(&Kernel::new(body)).map(|body| format!("{body:?}")).expect_err("it has no body");
    found.lines().next().unwrap_or("").to_owned()
}

#[test]
fn what_has_no_body_is_refused_by_its_name() {
    let tiles = "VecTile<float, 8, 16> t; VecTile<half, 8, 16> h;";
    for (body, want) in [
        (
            "TLOAD(h, x, {0, 0}); TMOV(t, h); TSTORE(y, t, {0, 0});",
            "error[WSP1872]: `h`, a tile of `f16`, has no body for a core",
        ),
        (
            "TLOAD(t, x, {0, 0}); TLOG(t, t); TSTORE(y, t, {0, 0});",
            "error[WSP1872]: `log` has no body for a core",
        ),
        (
            "for (uint32_t i = 0; i < desc.a; i += 1) { TLOAD(t, x, {i, 0}); TSTORE(y, t, {0, 0}); }",
            "error[WSP1872]: a box of `x` whose size a launch decides has no body for a core",
        ),
        (
            "TLOAD(t, x, {0, 0}); TSTORE(y, t, {desc.a, 0}); TSTORE(y, t, {desc.b, 0});",
            "error[WSP1872]: a tensor that is written in places whose distance a launch decides has no body for a core",
        ),
        (
            "TLOAD(t, x, {0, 0}); uint32_t n = desc.a; while (n > 1) { TADD(t, t, t); n = n / 2; } TSTORE(y, t, {0, 0});",
            "error[WSP1872]: a loop that a condition ends has no body for a core",
        ),
        (
            "TLOAD(t, x, {0, 0}); TSTORE_ATOMIC_ADD(y, t, {0, 0});",
            "error[WSP1872]: an addition to what a tensor holds has no body for a core",
        ),
    ] {
        let tiles = if body.contains("h,") { tiles } else { "VecTile<float, 8, 16> t;" };
        assert_eq!(refused(&format!("{tiles} {body}")), want);
    }
}

#[test]
fn a_program_that_no_core_holds_is_refused_with_its_size() {
    let many = "TADD(t, t, t); TMULS(t, t, 0.5f); ".repeat(150);
    let told =
        refused(&format!("VecTile<float, 8, 16> t; TLOAD(t, x, {{0, 0}}); {many} TSTORE(y, t, {{0, 0}});"));
    let rest = told.strip_prefix("error[WSP1851]: the program of `k` is about ").expect("it is too large");
    let (bytes, rest) = rest.split_once(' ').expect("a number");
    assert!(bytes.parse::<u64>().is_ok_and(|bytes| bytes > 16384), "{told}");
    assert_eq!(rest, "bytes, and a core has 16384");
}

/// Kernels of three stages, whose rows are words of the descriptor.
#[test]
fn operands_are_boxes_and_whole_tiles_lie_in_them() {
    const SOFTMAX: &str = include_str!("../../../../../examples/pipelines/softmax.pto");
    let (module, found) = wsp_lang::compile("softmax.pto", SOFTMAX, &mut SourceMap::default());
    let module = into_verified(module.unwrap_or_else(|| panic!("{}", told(&found)))).expect("it is verified");
    let cols = |name: &str| (name == "cols").then_some(Const::Int(64));
    let params: Vec<Option<Const>> = module.params.iter().map(|param| cols(&param.name)).collect();
    let elems = vec![Some(DType::F32); module.tensors.len()];
    let made = |name: &str| {
        let id = module.function_named(name).expect("there is one");
        body(&module, id, Known { params: &params, elems: &elems })
            .unwrap_or_else(|found| panic!("{}", told(&found)))
    };
    let powers = made("take_powers");
    let operands: Vec<(&str, String, bool)> = powers
        .operands
        .iter()
        .map(|operand| {
            let shape: Vec<String> =
                operand.ty.shaped().expect("a memory").shape.iter().flatten().map(u64::to_string).collect();
            (module.tensors[operand.tensor.index()].name.as_str(), shape.join("x"), operand.writes)
        })
        .collect();
    let want = [
        ("loaded", "16x64".to_owned(), false),
        ("powers", "16x64".to_owned(), true),
        ("sums", "16".to_owned(), true),
    ];
    assert_eq!(operands, want);
    // 16 · from, rows of a ring.
    assert_eq!(powers.operands[0].origin[0].terms, [(Number::Field(0), 16)]);
    let numbers: Vec<Number> = powers.numbers.iter().map(|(number, _)| *number).collect();
    // Rows end where the ring ends, or by count.
    assert_eq!(numbers, [Number::Field(0), Number::Field(2)]);
    // The tile is loaded and changed: it lies where it is stored, and so do the sums.
    assert_eq!((powers.locals.len(), made("divide_rows").locals.len()), (0, 0));
    // One transfer is left of two.
    let (load, text) = (made("load_rows"), |name: &str| format!("{:?}", made(name)));
    assert_eq!((load.operands.len(), load.locals.len()), (2, 0));
    assert!(text("load_rows").contains("vector.load"), "rows of 64 go by vectors");
}
