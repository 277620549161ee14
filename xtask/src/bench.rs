//! `cargo xtask bench NAME [OPTION…]`: builds the benchmarks and runs one with these options.
//!
//! `cargo xtask bench --against BINARY [NAME…]`: the benchmarks of this build and of another one, in turn. The other one is a program of
//! benchmarks as this one is, or an older `wsp` that has them as its command `bench`: the exit status of `BINARY bench decode --help` and of
//! `BINARY decode --help` says which.
//!
//! `cargo xtask bench emit [--json]`: what packages for Ascend cost ([`emit`]).
//!
//! Each benchmark is run nine times with each binary, one right after the other, so that a machine that is slower for a
//! while is so for both; every other time the other one begins. Of each row the table has the medians of both, and the median of the nine
//! ratios with the interval that contains the true one in 96 of 100 cases: the second smallest and the second largest ratio. A ratio says
//! how much more ours takes: where a measurement is a rate, it is theirs over ours. A row is slower when its ratio is above 1.05 and
//! its interval above 1, and then the command fails.
//!
//! Only what this program measures is looked at: not calls from Python. Rows that one binary lacks are printed and compared with nothing.

mod emit;
mod measurements;

use crate::project::Project;
use crate::readme;
use anyhow::{Context, Result, bail, ensure};
use measurements::{Better, KINDS, Kind, Measurement};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs of each binary.
const ROUNDS: usize = 9;
/// How many ratios lie outside of the interval on each side.
const OUTSIDE: usize = 1;
/// The largest ratio that is not slower.
const MOST: f64 = 1.05;
/// How it is called.
const USAGE: &str = "usage: cargo xtask bench aie | decode | plan | runtime | generate | isa | sim [OPTION…]\n       \
                     cargo xtask bench emit [--json]\n       \
                     cargo xtask bench --against BINARY [aie | decode | plan | runtime | generate | isa | sim …]";

/// A program that measures.
struct Benchmarks {
    path: PathBuf,
    /// What stands before the name of a benchmark.
    command: &'static [&'static str],
}

impl Benchmarks {
    /// The program of a path, which is asked what it takes.
    fn at(path: PathBuf) -> Result<Benchmarks> {
        let takes = |words: &[&str]| {
            let asked = Command::new(&path).args(words).stdin(Stdio::null()).output();
            Ok(asked.with_context(|| format!("{} cannot be run", path.display()))?.status.success())
        };
        let command = command(takes)?;
        let command = command.with_context(|| {
            format!(
                "{} has no benchmarks: give a `wsp-bench`, or a `wsp` with the command `bench`",
                path.display()
            )
        })?;
        Ok(Benchmarks { path, command })
    }
}

/// What stands before the name of a benchmark in a program that takes these words or does not; none where it has no benchmarks.
fn command(takes: impl Fn(&[&str]) -> Result<bool>) -> Result<Option<&'static [&'static str]>> {
    Ok(match () {
        () if takes(&["bench", "decode", "--help"])? => Some(&["bench"]),
        () if takes(&["decode", "--help"])? => Some(&[]),
        () => None,
    })
}

/// Measurements of one row, run by run.
#[derive(Default)]
struct Row {
    better: Better,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

/// Runs a benchmark, or compares; whether all went well.
pub(crate) fn run(project: &Project, words: &[&str]) -> Result<bool> {
    match words {
        ["--against", binary, names @ ..] => compare(project, binary, names),
        ["emit", words @ ..] => emit::run(project, words),
        [] | ["--against"] => bail!(USAGE),
        _ => Ok(Command::new(built(project)?).args(words).status()?.success()),
    }
}

/// Measures and prints the table; whether no row is slower.
fn compare(project: &Project, binary: &str, names: &[&str]) -> Result<bool> {
    let known = |name: &&str| KINDS.iter().any(|kind| kind.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        bail!("there is no benchmark `{unknown}`\n{USAGE}");
    }
    let theirs = std::path::absolute(binary)?;
    ensure!(theirs.is_file(), "{} is no file", theirs.display());
    let theirs = Benchmarks::at(theirs)?;
    let ours = Benchmarks { path: built(project)?, command: &[] };
    println!("ours {}, theirs {}; {ROUNDS} runs of each in turn", ours.path.display(), theirs.path.display());
    print!("{}", heading());
    let mut slower = 0;
    for kind in KINDS.iter().filter(|kind| names.is_empty() || names.contains(&kind.name)) {
        for (name, row) in measure(kind, [&ours, &theirs], project.root())? {
            let (line, is_slower) = line(kind.name, &name, &row);
            print!("{line}");
            slower += usize::from(is_slower);
        }
    }
    println!("{slower} rows are slower");
    Ok(slower == 0)
}

/// Builds the benchmarks with the options of the README's first command, and finds the program.
fn built(project: &Project) -> Result<PathBuf> {
    let text =
        std::fs::read_to_string(project.root().join("README.md")).context("README.md cannot be read")?;
    let run = readme::first_run(&text).context("README.md shows no `cargo run …` in a `sh` block")?;
    let mut cargo =
        project.cargo(&["build", "--package", "wsp-bench", "--message-format", "json-render-diagnostics"]);
    let output =
        cargo.args(readme::build_options(run)).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the build failed");
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo does not say where `wsp-bench` is")
}

/// The program `wsp-bench` in cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let all = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = all.filter(|message| message["target"]["name"] == "wsp-bench");
    programs.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// All runs of one benchmark: ours, then theirs, then theirs, then ours, and so on.
fn measure(kind: &Kind, programs: [&Benchmarks; 2], folder: &Path) -> Result<BTreeMap<String, Row>> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for round in 0..ROUNDS {
        for turn in 0..2 {
            let whose = (round + turn) % 2;
            eprint!("\r{} {} of {ROUNDS} ", kind.name, round + 1);
            for Measurement { name, better, value } in
                kind.measurements(&once(kind, programs[whose], folder)?)?
            {
                let row = rows.entry(name).or_default();
                row.better = better;
                if whose == 0 { &mut row.ours } else { &mut row.theirs }.push(value);
            }
        }
    }
    eprint!("\r");
    Ok(rows)
}

/// What one run of a benchmark writes.
fn once(kind: &Kind, program: &Benchmarks, folder: &Path) -> Result<Value> {
    let file = std::env::temp_dir().join(format!("wsp-bench-{}.json", std::process::id()));
    let mut command = Command::new(&program.path);
    command.args(program.command).arg(kind.name).args(kind.arguments);
    command.arg("--json").arg(&file).current_dir(folder);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("{command:?} cannot be run"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = std::fs::read_to_string(&file).context("the benchmark wrote no figures")?;
    std::fs::remove_file(&file)?;
    serde_json::from_str(&text).with_context(|| format!("{command:?} wrote no JSON"))
}

/// How much more ours takes, run by run, in order.
fn ratios(row: &Row) -> Vec<f64> {
    let of = |(ours, theirs): (&f64, &f64)| match row.better {
        _ if ours == theirs => 1.0,
        Better::Less => ours / theirs,
        Better::More => theirs / ours,
    };
    let mut all: Vec<f64> = row.ours.iter().zip(&row.theirs).map(of).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn heading() -> String {
    format!("{:<62}{:>11}{:>11}{:>7}  {}\n", "", "ours", "theirs", "ratio", "interval")
}

/// The line of a row, and whether it is slower.
fn line(kind: &str, name: &str, row: &Row) -> (String, bool) {
    let mut text = format!("{:<62}", format!("{kind} {name}"));
    let ratios = ratios(row);
    if ratios.len() < ROUNDS {
        let of = |measurements: &[f64]| format!("{} of {ROUNDS}", measurements.len());
        let _ = writeln!(text, "{:>11}{:>11}  runs have it: not compared", of(&row.ours), of(&row.theirs));
        return (text, false);
    }
    let (low, middle, high) = (ratios[OUTSIDE], median(&ratios), ratios[ratios.len() - 1 - OUTSIDE]);
    let is_slower = middle > MOST && low > 1.0;
    let verdict = match is_slower {
        true => "  slower",
        false if high < 1.0 => "  faster",
        false => "",
    };
    let (ours, theirs) = (median(&row.ours), median(&row.theirs));
    let _ = writeln!(text, "{ours:>11.3}{theirs:>11.3}{middle:>7.3}  {low:.3} to {high:.3}{verdict}");
    (text, is_slower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(better: Better, ours: [f64; ROUNDS], theirs: [f64; ROUNDS]) -> Row {
        Row { better, ours: ours.into(), theirs: theirs.into() }
    }

    #[test]
    fn a_row_has_the_median_ratio_and_its_interval() {
        let theirs = [10.0, 20.0, 10.0, 10.0, 40.0, 10.0, 10.0, 10.0, 10.0];
        let ours = [11.0, 22.0, 12.0, 11.0, 44.0, 9.0, 11.0, 10.5, 30.0];
        let (text, is_slower) = line("isa", "load", &row(Better::Less, ours, theirs));
        assert!(is_slower && text.starts_with("isa load  "), "{text}");
        assert!(text.ends_with("     11.000     10.000  1.100  1.050 to 1.200  slower\n"), "{text}");
        let (text, is_slower) = line("isa", "load", &row(Better::Less, theirs, ours));
        assert!(!is_slower && text.ends_with("  0.909  0.833 to 0.952  faster\n"), "{text}");
    }

    #[test]
    fn of_a_rate_less_is_slower() {
        let (fast, slow) = ([4.0; ROUNDS], [2.0; ROUNDS]);
        assert!(line("isa", "M/s", &row(Better::More, slow, fast)).1);
        assert!(!line("isa", "M/s", &row(Better::More, fast, slow)).1);
        assert_eq!(ratios(&row(Better::Less, [0.0; ROUNDS], [0.0; ROUNDS])), [1.0; ROUNDS]);
    }

    #[test]
    fn an_interval_with_1_in_it_is_not_slower() {
        let ours = [9.0, 9.0, 9.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        let (text, is_slower) = line("plan", "x", &row(Better::Less, ours, [10.0; ROUNDS]));
        assert!(!is_slower && text.ends_with("  2.000  0.900 to 2.000\n"), "{text}");
    }

    #[test]
    fn a_row_of_one_binary_is_compared_with_nothing() {
        let row = Row { ours: vec![1.0; ROUNDS], ..Row::default() };
        let (text, is_slower) = line("isa", "new", &row);
        assert!(
            !is_slower && text.ends_with("     9 of 9     0 of 9  runs have it: not compared\n"),
            "{text}"
        );
    }

    #[test]
    fn benchmarks_are_a_program_or_a_command_of_another() {
        let of = |known: &[&str]| command(|words| Ok(words == known)).unwrap();
        assert_eq!(of(&["bench", "decode", "--help"]), Some(&["bench"][..]));
        assert_eq!(of(&["decode", "--help"]), Some(&[][..]));
        assert_eq!(of(&["plan", "--help"]), None);
        assert!(command(|_| bail!("no program")).is_err());
    }

    #[test]
    fn the_program_is_where_cargo_says() {
        let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"wsp_cli\"},\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"wsp-bench\"},\"executable\":\"/t/wsp-bench\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/wsp-bench")));
        assert_eq!(executable("{}\n"), None);
    }
}
