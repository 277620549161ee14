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

#[path = "../tests/fuzz/mod.rs"]
mod fuzz;

use fuzz::{Effort, Features, exercise};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wsp_isa::ptow::random::{Choices, bytes, mutate, valid_program};

/// Most inputs that further ones are made from.
const MAX_CORPUS: usize = 4096;

struct Options {
    runs: u64,
    seed: u64,
    save: Option<PathBuf>,
    corpus: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { runs: 100_000, seed: 1, save: None, corpus: None };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{name}` needs a number, not `{value}`"));
        match name.as_str() {
            "--runs" => options.runs = number()?,
            "--seed" => options.seed = number()?,
            "--save" => options.save = Some(PathBuf::from(&value)),
            "--corpus" => options.corpus = Some(PathBuf::from(&value)),
            _ => return Err(format!("`{name}` is no option: --runs N --seed N --save DIR --corpus DIR")),
        }
    }
    Ok(options)
}

/// The files of a folder, in the order of their names.
fn read_folder(folder: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(std::fs::read).collect()
}

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

fn save(folder: &Path, input: &[u8], run: u64) {
    let file = folder.join(format!("{run:08}.ptow"));
    if let Err(fault) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, input)) {
        eprintln!("cannot write {}: {fault}", file.display());
    }
}

fn main() -> std::process::ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return std::process::ExitCode::FAILURE;
        }
    };
    let mut corpus = match options.corpus.as_deref().map(read_folder).transpose() {
        Ok(corpus) => corpus.unwrap_or_default(),
        Err(fault) => {
            eprintln!("the corpus cannot be read: {fault}");
            return std::process::ExitCode::FAILURE;
        }
    };
    let mut seen = Features::new();
    let (mut failures, mut saved, mut slowest) = (0u64, 0u64, (Duration::ZERO, 0));
    let start = Instant::now();
    for run in 0..options.runs {
        let input = input(options.seed, run, &corpus);
        let before = Instant::now();
        match std::panic::catch_unwind(|| exercise(&input, Effort::Quick)) {
            Ok(features) => {
                let known = seen.len();
                seen.extend(features);
                if seen.len() > known {
                    saved += 1;
                    if let Some(folder) = &options.save {
                        save(folder, &input, run);
                    }
                    if corpus.len() < MAX_CORPUS {
                        corpus.push(input);
                    }
                }
            }
            Err(_) => {
                failures += 1;
                eprintln!("run {run} fails, {} bytes", input.len());
                if let Some(folder) = &options.save {
                    save(&folder.join("failures"), &input, run);
                }
                if failures >= 100 {
                    eprintln!("too many failures");
                    break;
                }
            }
        }
        slowest = slowest.max((before.elapsed(), run));
        if (run + 1) % 500_000 == 0 {
            println!("{} runs, {} features, {:.0} s", run + 1, seen.len(), start.elapsed().as_secs_f64());
        }
    }
    println!(
        "{} runs, {failures} failures, {} features, {saved} inputs that lead to new ones, {:.0} s; the slowest, run {}, took {:.3} s",
        options.runs,
        seen.len(),
        start.elapsed().as_secs_f64(),
        slowest.1,
        slowest.0.as_secs_f64()
    );
    for feature in &seen {
        println!("  {feature}");
    }
    if failures == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
