//! Every operation of the table, by every word, on whole tiles and on parts.

use crate::batch::{Batch, emitted};
use crate::bench::{Kernel, told};
use crate::calls::{OPERANDS, call};
use wsp_ascend::kernels::Chip;
use wsp_diag::Code;
use wsp_ir::TILE_OPS;

/// Operations of which no kernel is emitted, because nothing is written for them: this number only falls.
const NOT_EMITTED: usize = 0;

/// Operations that platforms have no instructions for: at most one on each.
const REFUSED: [&str; 1] = ["random"];

/// How far compositions are from the functions; what is not here is one instruction, or exact.
fn tolerance(word: &str) -> f32 {
    match word {
        "exp" | "exp2" | "log" | "log2" | "sigmoid" | "silu" | "rsqrt" | "sqrt" => 4e-7,
        "tanh" | "erf" => 6e-7,
        "sin" | "cos" | "gelu" | "gelu_tanh" => 1e-6,
        "sum" | "mean" | "matmul" => 1e-6,
        _ => 0.0,
    }
}

#[test]
fn every_operation_gives_what_a_plain_run_gives() {
    // The text for a3 is that for a2, which the next test shows.
    for chip in [Chip::A2, Chip::A5] {
        let mut batch = Batch::new(chip, "operations");
        for row in TILE_OPS.iter().filter(|row| row.form != "matmul") {
            for word in row.pto {
                let (call, valid) = call(row, word);
                let kernel = Kernel::new(&format!("{OPERANDS} {call} TSTORE(y, r, {{0, 0}});"));
                match emitted(&kernel, chip) {
                    Ok(_) => {
                        let words: Vec<[u32; 4]> = valid.iter().map(|rows| [2, 9, 0, *rows]).collect();
                        batch.add(word.name, &kernel, &words, tolerance(row.word()));
                    }
                    Err(found) => assert!(
                        found.iter().all(|found| [Code(1720), Code(1721)].contains(&found.code)),
                        "{} on {}: {}",
                        word.name,
                        chip.name(),
                        told(&found)
                    ),
                }
            }
        }
        batch.run();
    }
}

#[test]
fn both_platforms_of_one_generation_get_one_text() {
    for row in TILE_OPS.iter().filter(|row| row.form != "matmul") {
        for word in row.pto {
            let (call, _) = call(row, word);
            let kernel = Kernel::new(&format!("{OPERANDS} {call} TSTORE(y, r, {{0, 0}});"));
            let text = |chip: Chip| {
                let line = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
                emitted(&kernel, chip).map(|source| line(&source.text)).map_err(|found| found.len())
            };
            assert_eq!(text(Chip::A2), text(Chip::A3), "{}", word.name);
        }
    }
}

#[test]
fn what_is_refused_or_not_emitted_is_counted() {
    for chip in Chip::ALL {
        let (mut refused, mut lacking) = (Vec::new(), Vec::new());
        for row in TILE_OPS.iter().filter(|row| row.form != "matmul") {
            for word in row.pto {
                let (call, _) = call(row, word);
                let kernel = Kernel::new(&format!("{OPERANDS} {call} TSTORE(y, r, {{0, 0}});"));
                match emitted(&kernel, chip) {
                    Err(found) if found.iter().any(|found| found.code == Code(1720)) => {
                        refused.push(row.word())
                    }
                    Err(_) => lacking.push(row.word()),
                    Ok(_) => {}
                }
            }
        }
        assert_eq!(refused, REFUSED, "{}", chip.name());
        assert_eq!(lacking.len(), NOT_EMITTED, "{}: {lacking:?}", chip.name());
    }
}
