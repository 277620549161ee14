//! Fuzzes the readers of task graphs, text and bytes, with the verifier and the way through the other form, on one thread.
//!
//! `cargo run --release -p wsp-isa --example fuzz_tg -- --runs 10000000 --seed 1 --corpus testdata/tg-corpus --save DIR`
//!
//! Inputs are arbitrary bytes, made-up units as bytes and as text, and damaged ones, which come from made-up units and from the
//! corpus. They follow from the seed and the corpus. An input that fails is saved to `DIR/failures`, one that leads to
//! something not seen before to `DIR`. Build it with overflow checks (`CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true`), so that an
//! overflow is a failure too.
//!
//! `--corpus FROM --reduce TO` only copies inputs, small ones first, that lead to something which those before do not.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a program of its own: it prints, and reads and writes files; the harness is shared with a test"
)]

#[path = "../tests/choices/mod.rs"]
mod choices;
mod fuzzing;
#[path = "../tests/random_programs/mod.rs"]
mod random_programs;
#[path = "../tests/random_units/mod.rs"]
mod random_units;
#[path = "../tests/it/tg_fuzz/mod.rs"]
mod tg_fuzz;
#[path = "../tests/it/tg_units/mod.rs"]
mod tg_units;

use choices::{Choices, bytes};
use fuzzing::{MAX_CORPUS, Options, Target, campaign, options, read_folder, save};
use random_units::{Limits, valid_unit};
use std::path::Path;
use std::process::ExitCode;
use tg_fuzz::{
    BINARY_TAKEN, Effort, Features, TEXT_TAKEN, VALID, exercise, mutate_binary, mutate_text, seal,
};
use wsp_isa::tg::binary::encode;
use wsp_isa::tg::text::print;

/// Made-up units to damage.
const MADE: u64 = 64;
/// Inputs longer than this are not kept, so that all stay quick.
const MAX_KEPT: usize = 8192;

/// Inputs to damage, as bytes and as text.
#[derive(Default)]
struct Pool {
    binary: Vec<Vec<u8>>,
    text: Vec<String>,
    counts: Counts,
}

/// Inputs that were taken as bytes, as text, and those without an error.
#[derive(Default)]
struct Counts {
    binary: u64,
    text: u64,
    valid: u64,
}

impl Pool {
    fn add(&mut self, input: Vec<u8>) {
        if self.binary.len() + self.text.len() >= MAX_CORPUS || input.len() > MAX_KEPT {
            return;
        }
        match String::from_utf8(input) {
            Ok(text) if !text.starts_with("GOTP") => self.text.push(text),
            Ok(text) => self.binary.push(text.into_bytes()),
            Err(error) => self.binary.push(error.into_bytes()),
        }
    }

    fn made_up(seed: u64) -> Result<Pool, String> {
        let mut pool = Pool::default();
        for at in 0..MADE {
            let decisions = bytes(seed ^ at << 20, 400 + 20 * at as usize);
            let any = tg_units::unit(&mut Choices::new(&decisions));
            let valid = valid_unit(&mut Choices::new(&decisions), &Limits::text());
            for unit in [&any, &valid, &valid] {
                pool.add(encode(unit).map_err(|error| error.message)?);
                pool.add(print(unit).into_bytes());
            }
        }
        Ok(pool)
    }
}

impl Target for Pool {
    type Feature = u32;

    fn input(&self, seed: u64, run: u64) -> Vec<u8> {
        let decisions = bytes(seed.rotate_left(32) ^ run, 160);
        let mut choices = Choices::new(&decisions);
        match choices.below(16) {
            0 => decisions,
            1..8 => {
                let mut text = choices.pick(&self.text).cloned().unwrap_or_default();
                let other = choices.pick(&self.text).map_or("", String::as_str);
                mutate_text(&mut text, other, &mut choices);
                text.into_bytes()
            }
            kind => {
                let mut input = choices.pick(&self.binary).cloned().unwrap_or_default();
                mutate_binary(&mut input, &mut choices);
                if kind != 8 {
                    seal(&mut input);
                }
                input
            }
        }
    }

    fn exercise(input: &[u8]) -> Features {
        exercise(input, Effort::Quick)
    }

    fn count(&mut self, features: &Features) {
        self.counts.binary += u64::from(features.contains(&BINARY_TAKEN));
        self.counts.text += u64::from(features.contains(&TEXT_TAKEN));
        self.counts.valid += u64::from(features.contains(&VALID));
    }

    fn keep(&mut self, input: Vec<u8>) {
        self.add(input);
    }

    fn ending(input: &[u8]) -> &'static str {
        if std::str::from_utf8(input).is_ok() { "tg" } else { "ptog" }
    }
}

/// Copies the inputs that are needed to lead to everything that all lead to.
fn reduce(from: &Path, to: &Path) -> Result<u64, String> {
    let mut inputs = read_folder(Some(from))?;
    inputs.sort_by_key(Vec::len);
    let mut seen = Features::new();
    for (at, input) in (0..).zip(&inputs) {
        let known = seen.len();
        seen.extend(exercise(input, Effort::Full));
        if seen.len() > known {
            save::<Pool>(to, input, at);
        }
    }
    Ok(0)
}

fn main() -> ExitCode {
    let run = |options: Options| match (&options.corpus, &options.further) {
        (Some(from), Some(to)) => reduce(from, to),
        (None, Some(_)) => Err("`--reduce` needs `--corpus`".to_owned()),
        _ => fuzz(&options),
    };
    fuzzing::conclude(options(Some("--reduce")).and_then(run))
}

/// How many inputs fail.
fn fuzz(options: &Options) -> Result<u64, String> {
    let mut pool = Pool::made_up(options.seed)?;
    for input in read_folder(options.corpus.as_deref())? {
        pool.add(input);
    }
    let (failures, _) = campaign(&mut pool, options);
    let Counts { binary, text, valid } = pool.counts;
    println!("taken as bytes {binary}, as text {text}; without an error {valid}");
    Ok(failures)
}
