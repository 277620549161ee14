//! Every operation of the table, by every word, on whole tiles and on parts.

use super::bench::{COLS, Kernel, told};
use super::drawn::{arrays, number};
use super::one_core::run;
#[path = "../../../../wsp-tile/tests/it/calls.rs"]
pub(crate) mod calls;
use calls::{OPERANDS, call};
use wsp_aie::kernel::{Body, body};
use wsp_ir::TILE_OPS;

/// The body of a kernel, or why there is none.
pub(crate) fn body_of(kernel: &Kernel) -> Result<Body, String> {
    let module = kernel.module();
    let id = module.function_named("k").expect("there is one");
    body(module, id, kernel.known()).map_err(|found| told(&found))
}

/// What a body leaves in `y`.
pub(crate) fn interpreted(kernel: &Kernel, body: &Body, words: [u32; 4]) -> Result<Vec<f32>, String> {
    let mut arrays = arrays(kernel);
    run(body, &mut arrays, &number(words))?;
    let y = kernel.module().tensor_named("y").expect("there is one");
    let bytes = arrays[y.index()].take().expect("it is there").bytes;
    Ok(bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
}

/// How far two numbers are apart, in units of the last place.
pub(crate) fn apart(a: f32, b: f32) -> u32 {
    let place = |x: f32| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i32::MIN - bits } else { bits }
    };
    if a == b || a.is_nan() && b.is_nan() { 0 } else { place(a).abs_diff(place(b)) }
}

/// How far a function is from a plain run at most, in units of the last place; 0 where the bits are the same.
pub(crate) fn tolerance(word: &str) -> u32 {
    match word {
        "TEXP2" | "TSIGMOID" | "TSILU" => 4,
        "TGELU_TANH" => 256,
        _ => 0,
    }
}

#[test]
fn every_operation_has_the_results_of_plain_runs() {
    let mut refused = Vec::new();
    for row in TILE_OPS {
        for word in row.pto {
            let (call, valid) = call(row, word);
            let kernel = Kernel::new(&format!("{OPERANDS} {call} TSTORE(y, r, {{0, 0}});"));
            let body = match body_of(&kernel) {
                Ok(body) => body,
                Err(why) => {
                    assert!(why.contains("has no body for a core"), "{why}");
                    refused.push(word.name);
                    continue;
                }
            };
            for &rows in valid {
                let words = [2, 9, 0, rows];
                let have = interpreted(&kernel, &body, words)
                    .unwrap_or_else(|fault| panic!("{}: {fault}", word.name));
                for (at, (have, want)) in have.iter().zip(&kernel.plain(words)).enumerate() {
                    assert!(
                        apart(*have, *want) <= tolerance(word.name),
                        "{} of {rows} rows: y[{}, {}] is {have} and should be {want}",
                        word.name,
                        at / COLS,
                        at % COLS
                    );
                }
            }
        }
    }
    assert_eq!(refused, ["TLOG", "TLOG2", "TSIN", "TCOS", "TGELU", "TERF", "TSTORE_ATOMIC_ADD"]);
}

/// Of numbers near zero the whole ones have their sign, which the infinity of a division by them has.
#[test]
fn whole_numbers_keep_the_sign_of_a_zero() {
    for (word, factor) in
        [("TROUND", "0.0"), ("TFLOOR", "0.0"), ("TCEIL", "0.0"), ("TROUND", "0.001"), ("TCEIL", "0.001")]
    {
        let call = format!("TMULS(t, t, {factor}f); {word}(t, t); TRECIP(t, t);");
        let kernel = Kernel::new(&format!(
            "VecTile<float, 8, 20> t; TLOAD(t, x, {{0, 0}}); {call} TSTORE(y, t, {{0, 0}});"
        ));
        let body = body_of(&kernel).unwrap_or_else(|why| panic!("{call}: {why}"));
        let have = interpreted(&kernel, &body, [0; 4]).unwrap_or_else(|fault| panic!("{call}: {fault}"));
        let want = kernel.plain([0; 4]);
        assert!(want.contains(&f32::NEG_INFINITY) && want.contains(&f32::INFINITY), "{call}: {want:?}");
        let differ = have.iter().zip(&want).position(|(a, b)| apart(*a, *b) > 0);
        assert!(differ.is_none(), "{call}: {differ:?}");
    }
}

/// Where the language lets a result be an operand.
#[test]
fn a_destination_may_be_an_operand() {
    for call in [
        "TCUMSUM(t, t);",
        "TMUL(t, t, t);",
        "TSUB(t, u, t);",
        "TCLAMP(t, t, -2.0f, 2.0f);",
        "TSEL(t, t, u, t);",
    ] {
        let tiles =
            "VecTile<float, 8, 20> t; VecTile<float, 8, 20> u; TLOAD(t, x, {0, 0}); TLOAD(u, x, {9, 3});";
        let kernel = Kernel::new(&format!("{tiles} {call} TSTORE(y, t, {{0, 0}});"));
        let body = body_of(&kernel).unwrap_or_else(|why| panic!("{call}: {why}"));
        let have = interpreted(&kernel, &body, [0; 4]).unwrap_or_else(|fault| panic!("{call}: {fault}"));
        let want = kernel.plain([0; 4]);
        let differ = have.iter().zip(&want).position(|(a, b)| apart(*a, *b) > 0);
        assert!(differ.is_none(), "{call}: {differ:?}");
    }
}
