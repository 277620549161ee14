//! Every operation of the table, by every word, on whole tiles and on parts.

use super::bench::{COLS, Kernel, ROWS, element, told};
use super::core::{Array, run};
#[path = "../../../../wsp-tile/tests/it/calls.rs"]
mod calls;
use calls::{OPERANDS, call};
use wsp_aie::kernel::{Number, body};
use wsp_ir::TILE_OPS;

/// What a body leaves in `y`, or why there is none.
pub(crate) fn interpreted(kernel: &Kernel, words: [u32; 4]) -> Result<Vec<f32>, String> {
    let module = kernel.module();
    let id = module.function_named("k").expect("there is one");
    let body = body(module, id, kernel.known()).map_err(|found| told(&found))?;
    let array = |value: fn(usize) -> f32| Array {
        dims: vec![ROWS, COLS],
        size: 4,
        bytes: (0..ROWS * COLS).flat_map(|at| value(at).to_le_bytes()).collect(),
    };
    let mut arrays: Vec<Option<Array>> = module
        .tensors
        .iter()
        .map(|tensor| match tensor.name.as_str() {
            "x" => Some(array(element)),
            "y" => Some(array(|_| 0.0)),
            _ => None,
        })
        .collect();
    run(&body, &mut arrays, &|number| match number {
        Number::Field(at) => Some(i64::from(words[at as usize])),
        _ => None,
    })?;
    let y = module.tensor_named("y").expect("there is one");
    let bytes = arrays[y.index()].take().expect("it is there").bytes;
    Ok(bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
}

/// How far two numbers are apart, in units of the last place.
fn apart(a: f32, b: f32) -> u32 {
    let place = |x: f32| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i32::MIN - bits } else { bits }
    };
    if a == b || a.is_nan() && b.is_nan() { 0 } else { place(a).abs_diff(place(b)) }
}

/// How far a function is from a plain run at most, in units of the last place; 0 where the bits are the same.
fn tolerance(word: &str) -> u32 {
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
            for &rows in valid {
                let words = [2, 9, 0, rows];
                let have = match interpreted(&kernel, words) {
                    Ok(have) => have,
                    Err(why) => {
                        refused.push(word.name);
                        assert!(why.contains("has no body for a core"), "{why}");
                        break;
                    }
                };
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
