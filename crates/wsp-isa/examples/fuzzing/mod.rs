//! What fuzzing programs share: options, the corpus, and the loop that keeps what leads to something not seen before.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Most inputs that further ones are made from.
pub(crate) const MAX_CORPUS: usize = 4096;
/// Failures after which a campaign ends.
const MOST_FAILURES: u64 = 100;

/// What the command line says.
pub(crate) struct Options {
    /// `--runs`.
    pub(crate) runs: u64,
    /// `--seed`.
    pub(crate) seed: u64,
    /// `--save`.
    pub(crate) save: Option<PathBuf>,
    /// `--corpus`.
    pub(crate) corpus: Option<PathBuf>,
    /// The folder of the one option that the program adds.
    pub(crate) further: Option<PathBuf>,
}

/// Reads the command line. `further` is an option of the program's own, with a folder.
pub(crate) fn options(further: Option<&str>) -> Result<Options, String> {
    let mut options = Options { runs: 100_000, seed: 1, save: None, corpus: None, further: None };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{name}` needs a number, not `{value}`"));
        match name.as_str() {
            "--runs" => options.runs = number()?,
            "--seed" => options.seed = number()?,
            "--save" => options.save = Some(PathBuf::from(&value)),
            "--corpus" => options.corpus = Some(PathBuf::from(&value)),
            other if Some(other) == further => options.further = Some(PathBuf::from(&value)),
            _ => {
                let own = further.map_or(String::new(), |name| format!(" {name} DIR"));
                return Err(format!("`{name}` is no option: --runs N --seed N --save DIR --corpus DIR{own}"));
            }
        }
    }
    Ok(options)
}

/// The files of a folder, in the order of their names; nothing without a folder.
pub(crate) fn read_folder(folder: Option<&Path>) -> Result<Vec<Vec<u8>>, String> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let read = || -> std::io::Result<Vec<Vec<u8>>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
        paths.sort();
        paths.iter().filter(|path| path.is_file()).map(std::fs::read).collect()
    };
    read().map_err(|fault| format!("{} cannot be read: {fault}", folder.display()))
}

/// How the program ends: well if nothing failed; `result` is how many inputs did, or why there were none.
pub(crate) fn conclude(result: Result<u64, String>) -> ExitCode {
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// What is fuzzed.
pub(crate) trait Target {
    /// Something that an input can lead to.
    type Feature: Ord;

    /// The input of a run.
    fn input(&self, seed: u64, run: u64) -> Vec<u8>;

    /// What an input leads to. Panics if something fails.
    fn exercise(input: &[u8]) -> BTreeSet<Self::Feature>;

    /// Takes note of what a run that did not fail led to.
    fn count(&mut self, _: &BTreeSet<Self::Feature>) {}

    /// Takes an input that led to something not seen before.
    fn keep(&mut self, input: Vec<u8>);

    /// The ending of the name of a file with this input.
    fn ending(input: &[u8]) -> &'static str;
}

/// Writes an input to a folder.
pub(crate) fn save<T: Target>(folder: &Path, input: &[u8], run: u64) {
    let file = folder.join(format!("{run:08}.{}", T::ending(input)));
    if let Err(fault) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, input)) {
        eprintln!("cannot write {}: {fault}", file.display());
    }
}

/// Runs all inputs and prints figures. Returns how many failed, and everything that inputs led to.
pub(crate) fn campaign<T: Target>(target: &mut T, options: &Options) -> (u64, BTreeSet<T::Feature>) {
    let mut seen = BTreeSet::new();
    let (mut failures, mut kept, mut total, mut slowest) = (0u64, 0u64, 0u64, (Duration::ZERO, 0));
    let start = Instant::now();
    for run in 0..options.runs {
        let input = target.input(options.seed, run);
        total += input.len() as u64;
        let before = Instant::now();
        match std::panic::catch_unwind(|| T::exercise(&input)) {
            Ok(features) => {
                target.count(&features);
                let known = seen.len();
                seen.extend(features);
                if seen.len() > known {
                    kept += 1;
                    if let Some(folder) = &options.save {
                        save::<T>(folder, &input, run);
                    }
                    target.keep(input);
                }
            }
            Err(_) => {
                failures += 1;
                eprintln!("run {run} fails, {} bytes", input.len());
                if let Some(folder) = &options.save {
                    save::<T>(&folder.join("failures"), &input, run);
                }
                if failures >= MOST_FAILURES {
                    eprintln!("too many failures");
                    break;
                }
            }
        }
        slowest = slowest.max((before.elapsed(), run));
        if (run + 1) % 1_000_000 == 0 {
            println!("{} runs, {} features, {:.0} s", run + 1, seen.len(), start.elapsed().as_secs_f64());
        }
    }
    println!(
        "{} runs, {failures} failures, {} features, {kept} inputs that lead to new ones, {} MB, {:.0} s; the slowest, run {}, took {:.3} s",
        options.runs,
        seen.len(),
        total >> 20,
        start.elapsed().as_secs_f64(),
        slowest.1,
        slowest.0.as_secs_f64()
    );
    (failures, seen)
}
