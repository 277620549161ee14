//! Every stored fuzz input of task graphs, and some made-up ones, through both readers. The example `fuzz_tg` does the same with
//! millions.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a test fails by panicking and reads its own files; the harness is shared with an example"
)]

use crate::choices::{Choices, bytes};
use crate::random_units::{Limits, valid_unit};
use crate::tg_fuzz::{
    BINARY_TAKEN, Effort, Features, TEXT_TAKEN, VALID, exercise, mutate_binary, mutate_text, seal,
};
use std::path::{Path, PathBuf};
use wsp_isa::tg::binary::encode;
use wsp_isa::tg::text::print;

/// Stored inputs, by name.
fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tg-corpus");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// ISA-IMP-07.
#[test]
fn the_corpus_is_replayed() {
    let corpus = corpus();
    let mut features = Features::new();
    for (path, input) in &corpus {
        let found = std::panic::catch_unwind(|| exercise(input, Effort::Full));
        features.extend(found.unwrap_or_else(|_| panic!("{} fails", path.display())));
    }
    let bytes: usize = corpus.iter().map(|(_, input)| input.len()).sum();
    assert!(
        (24..=200).contains(&corpus.len()) && bytes <= 300 << 10,
        "{} files, {bytes} bytes",
        corpus.len()
    );
    for expected in [BINARY_TAKEN, TEXT_TAKEN, VALID] {
        assert!(features.contains(&expected), "no input leads to {expected}");
    }
    for info in wsp_core::tg::OPS {
        assert!(features.contains(&crate::tg_fuzz::read_as_text(info.op)), "no text has {}", info.mnemonic);
        assert!(
            features.contains(&crate::tg_fuzz::read_as_bytes(info.op)),
            "no binary unit has {}",
            info.mnemonic
        );
    }
}

/// ISA-GEN-03: valid units are the same after the way through text and back through bytes.
#[test]
fn made_up_units_pass_through_both_forms() {
    for seed in 0..300 {
        let unit = valid_unit(&mut Choices::new(&bytes(seed, 900)), &Limits::text());
        for input in [encode(&unit).unwrap(), print(&unit).into_bytes()] {
            let features = exercise(&input, Effort::Full);
            assert!(features.contains(&VALID), "seed {seed}");
        }
    }
}

/// ISA-IMP-07.
#[test]
fn damaged_units_lead_to_no_panic() {
    let mut taken = 0;
    for seed in 0..4000u64 {
        let decisions = bytes(!seed, 700);
        let (make, damage) = decisions.split_at(500);
        let (mut make, mut damage) = (Choices::new(make), Choices::new(damage));
        let unit = if seed.is_multiple_of(4) {
            crate::tg_units::unit(&mut make)
        } else {
            valid_unit(&mut make, &Limits::text())
        };
        let input = if seed.is_multiple_of(2) {
            let mut text = print(&unit);
            let other = text.clone();
            mutate_text(&mut text, &other, &mut damage);
            text.into_bytes()
        } else {
            let mut input = encode(&unit).unwrap();
            mutate_binary(&mut input, &mut damage);
            seal(&mut input);
            input
        };
        let features = exercise(&input, Effort::Quick);
        taken += usize::from(features.contains(&BINARY_TAKEN) || features.contains(&TEXT_TAKEN));
    }
    assert!(taken > 400, "{taken} of 4000 were taken");
}
