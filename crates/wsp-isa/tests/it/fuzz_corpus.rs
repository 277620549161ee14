//! Every stored fuzz input, and some made-up ones, through reader, text, verifier and interpreter. The example `fuzz_ptow`
//! does the same with millions.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a test fails by panicking and reads its own files; the harness is shared with an example"
)]

use crate::choices::{Choices, bytes};
use crate::fuzz::{Effort, exercise};
use crate::random_programs::{mutate, valid_program};
use std::path::{Path, PathBuf};

/// Stored inputs, by name.
fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ptow-corpus");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "ptow")).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn the_corpus_is_replayed() {
    let corpus = corpus();
    let mut features = crate::fuzz::Features::new();
    for (path, input) in &corpus {
        let found = std::panic::catch_unwind(|| exercise(input, Effort::Full));
        features.extend(found.unwrap_or_else(|_| panic!("{} fails", path.display())));
    }
    let bytes: usize = corpus.iter().map(|(_, input)| input.len()).sum();
    assert!(
        !corpus.is_empty() && corpus.len() <= 200 && bytes <= 200 << 10,
        "{} files, {bytes} bytes",
        corpus.len()
    );
    for expected in [
        "friendly Naive Finished",
        "friendly Skip Finished",
        "document",
        "friendly Naive fault Deadlock",
        "workload",
        "no workload",
    ] {
        assert!(features.contains(expected), "no input leads to: {expected}");
    }
    for rule in wsp_core::ptow::Rule::ALL.iter().filter(|rule| rule.id() != "V00") {
        assert!(features.contains(&format!("verify {}", rule.id())), "no input breaks {}", rule.id());
    }
}

#[test]
fn made_up_programs_run_alike_in_both_modes() {
    let mut finished = 0;
    for seed in 0..1500u64 {
        let program = valid_program(&mut Choices::new(&bytes(seed, 600)));
        finished += usize::from(exercise(&program, Effort::Quick).contains("friendly Skip Finished"));
    }
    assert!(finished > 300, "{finished} of 1500 programs ran to their end");
}

#[test]
fn damaged_programs_lead_to_no_panic() {
    for seed in 0..4000u64 {
        let decisions = bytes(!seed, 400);
        let (make, damage) = decisions.split_at(320);
        let mut program = valid_program(&mut Choices::new(make));
        mutate(&mut program, &mut Choices::new(damage));
        exercise(&program, Effort::Quick);
    }
}
