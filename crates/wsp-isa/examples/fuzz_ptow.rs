//! Fuzzes reader, text, verifier and interpreter of programs, on one thread.
//!
//! `cargo run --release -p wsp-isa --example fuzz_ptow -- --runs 10000000 --seed 1 --save DIR`
//!
//! Inputs are arbitrary bytes, made-up programs, and damaged ones, which come from made-up programs and from the corpus. They
//! follow from the seed and the corpus. An input that fails is saved to `DIR/failures`, one that leads to something not
//! seen before to `DIR`. Build it with overflow checks (`CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true`), so that an overflow
//! is a failure too.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a program of its own: it prints, and reads and writes files; the harness is shared with a test"
)]

#[path = "../tests/choices/mod.rs"]
mod choices;
#[path = "../tests/it/fuzz/mod.rs"]
mod fuzz;
mod fuzzing;
#[path = "../tests/random_programs/mod.rs"]
mod random_programs;

use choices::{Choices, bytes};
use fuzz::{Effort, Features, exercise};
use fuzzing::{MAX_CORPUS, Target, campaign, options, read_folder};
use random_programs::{mutate, valid_program};
use std::process::ExitCode;

/// Programs to damage.
struct Programs(Vec<Vec<u8>>);

/// The input of a run.
fn input(seed: u64, run: u64, corpus: &[Vec<u8>]) -> Vec<u8> {
    let decisions = bytes(seed.rotate_left(32) ^ run, 24 + (run % 23) as usize * 24);
    let mut choices = Choices::new(&decisions);
    let kind = choices.below(8);
    let stored = (kind >= 4).then(|| choices.below(corpus.len())).and_then(|index| corpus.get(index));
    let mut damage = Choices::new(&decisions[..decisions.len() / 2]);
    match (kind, stored) {
        (0, _) => decisions,
        (1 | 2, _) => valid_program(&mut choices),
        (_, Some(stored)) => {
            let mut input = stored.clone();
            mutate(&mut input, &mut choices);
            input
        }
        _ => {
            let mut input = valid_program(&mut choices);
            mutate(&mut input, &mut damage);
            input
        }
    }
}

impl Target for Programs {
    type Feature = String;

    fn input(&self, seed: u64, run: u64) -> Vec<u8> {
        input(seed, run, &self.0)
    }

    fn exercise(input: &[u8]) -> Features {
        exercise(input, Effort::Quick)
    }

    fn keep(&mut self, input: Vec<u8>) {
        if self.0.len() < MAX_CORPUS {
            self.0.push(input);
        }
    }

    fn ending(_: &[u8]) -> &'static str {
        "ptow"
    }
}

fn main() -> ExitCode {
    let run = |options| -> Result<u64, String> {
        let options: fuzzing::Options = options;
        let mut programs = Programs(read_folder(options.corpus.as_deref())?);
        let (failures, seen) = campaign(&mut programs, &options);
        for feature in &seen {
            println!("  {feature}");
        }
        Ok(failures)
    };
    fuzzing::conclude(options(None).and_then(run))
}
