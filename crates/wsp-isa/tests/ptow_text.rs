//! Programs as text: both directions, on programs of every kind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use expect_test::expect;
use proptest::prelude::*;
use wsp_core::ptow::{Program, Verified, marks_needed};
use wsp_ir::SourceMap;
use wsp_ir::diag::render_all;
use wsp_isa::ptow::random::{Choices, bytes, mutate, valid_program};
use wsp_isa::ptow::{AlignedBytes, assemble, disassemble, encode};

fn encoded(text: &str) -> Vec<u8> {
    let mut sources = SourceMap::default();
    encode("a.ptows", text, &mut sources)
        .unwrap_or_else(|found| panic!("{}", render_all(&found, &sources, false)))
}

/// What is wrong with a text.
fn faults(text: &str) -> String {
    let mut sources = SourceMap::default();
    match assemble("a.ptows", text, &mut sources) {
        Ok(_) => "nothing".to_owned(),
        Err(found) => render_all(&found, &sources, false),
    }
}

fn verified(program: &[u8]) -> Result<(), String> {
    let aligned = AlignedBytes::copy(program);
    let program = Program::read(aligned.as_bytes()).map_err(|e| e.to_string())?;
    let mut marks = vec![0; marks_needed(&program)];
    Verified::new(program, &mut marks).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn made_up_programs_keep_every_rule_and_survive_the_round_trip() {
    for seed in 0..4000 {
        let decisions = bytes(seed, 16 + (seed as usize % 64) * 16);
        let program = valid_program(&mut Choices::new(&decisions));
        if let Err(error) = verified(&program) {
            panic!("seed {seed}: {error}\n{}", disassemble(&program).unwrap());
        }
        let text = disassemble(&program).unwrap();
        assert_eq!(encoded(&text), program, "seed {seed}\n{text}");
        assert!(!text.contains(".word") && !text.contains(".expr"), "seed {seed}\n{text}");
    }
}

#[test]
fn damaged_programs_survive_the_round_trip() {
    let mut read = 0;
    for seed in 0..8000 {
        let decisions = bytes(seed, 400);
        let (make, damage) = decisions.split_at(320);
        let mut program = valid_program(&mut Choices::new(make));
        mutate(&mut program, &mut Choices::new(damage));
        if let Ok(text) = disassemble(&program) {
            read += 1;
            assert_eq!(encoded(&text), program, "seed {seed}\n{text}");
        }
    }
    assert!(read > 2000, "{read} of 8000 could be read");
}
