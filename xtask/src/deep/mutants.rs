//! Mutants of our own code: `cargo-mutants` changes an operator, a result or an arm, and the tests must fail.
//!
//! There are thousands of them, so some are drawn by a fixed seed, and each meets the tests of its own crate and the
//! differential tests only.

use super::Outcome;
use crate::project::Project;
use crate::runners::Tally;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many are drawn when the environment variable `WSP_CASES` says nothing.
const DRAWN: usize = 300;
/// What the draw starts from.
const SEED: u64 = 17;
/// The smallest part that must be found, of 100.
const LEAST: usize = 95;
/// What a user types to get the tool.
const GET: &str = "`cargo install --locked cargo-mutants` gets it";

/// Code that is mutated, and the tests that each mutant meets.
struct Area {
    package: &'static str,
    /// Files, as the tool's patterns.
    files: &'static [&'static str],
    /// Packages whose tests are run: its own, and those that compare what it does with something else.
    tests: &'static [&'static str],
}

const AREAS: [Area; 4] = [
    Area {
        package: "wsp-kernel",
        files: &["crates/wsp-kernel/src/exec/compile/**/*.rs"],
        tests: &["wsp-kernel", "wsp-cpu"],
    },
    Area {
        package: "wsp-runtime",
        files: &[
            "crates/wsp-runtime/src/gates*.rs",
            "crates/wsp-runtime/src/gates/**/*.rs",
            "crates/wsp-runtime/src/ready*.rs",
            "crates/wsp-runtime/src/ready/**/*.rs",
            "crates/wsp-runtime/src/stream*.rs",
            "crates/wsp-runtime/src/stream/**/*.rs",
            "crates/wsp-runtime/src/infer*.rs",
            "crates/wsp-runtime/src/infer/**/*.rs",
        ],
        tests: &["wsp-runtime", "wsp-cpu"],
    },
    Area {
        package: "wsp-core",
        files: &["crates/wsp-core/src/ptow/**/*.rs", "crates/wsp-core/src/tg/**/*.rs"],
        tests: &["wsp-core", "wsp-plan", "wsp-isa"],
    },
    Area { package: "wsp-cpu", files: &["crates/wsp-cpu/src/tg/**/*.rs"], tests: &["wsp-cpu"] },
];

/// What became of the mutants.
#[derive(Default)]
struct Found {
    caught: usize,
    missed: Vec<String>,
    /// Mutants that do not compile: they say nothing of the tests.
    unviable: usize,
}

/// Draws the mutants and runs the tests on each; whether enough were found.
pub(super) fn test(project: &Project, tally: &mut Tally) -> Result<Outcome> {
    if !installed(project) {
        return Ok(Outcome::Skipped(format!("cargo-mutants is missing; {GET}")));
    }
    let all: Vec<Vec<String>> = AREAS.iter().map(|area| list(project, area)).collect::<Result<_>>()?;
    for (area, names) in AREAS.iter().zip(&all) {
        ensure!(!names.is_empty(), "no mutant of {} is found: its files have other names", area.package);
    }
    let total: usize = all.iter().map(Vec::len).sum();
    let wanted = std::env::var("WSP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(DRAWN);
    let chosen = draw(total, wanted, SEED);
    println!("{} of {total} mutants, seed {SEED}", chosen.len());
    let mut found = Found::default();
    let mut first = 0;
    for (area, names) in AREAS.iter().zip(&all) {
        let own = chosen.iter().filter_map(|n| n.checked_sub(first).and_then(|n| names.get(n)));
        let own: Vec<&str> = own.map(String::as_str).collect();
        first += names.len();
        if !own.is_empty() {
            run(project, area, &own, &mut found)?;
        }
    }
    report(&found, chosen.len(), tally)
}

/// Prints the counts and what was missed; whether enough were found.
fn report(found: &Found, chosen: usize, tally: &mut Tally) -> Result<Outcome> {
    let viable = found.caught + found.missed.len();
    for name in &found.missed {
        println!("missed: {name}");
    }
    println!(
        "{} of {viable} mutants caught, {} missed, {} did not compile",
        found.caught,
        found.missed.len(),
        found.unviable
    );
    ensure!(viable + found.unviable == chosen, "{chosen} mutants were chosen, others were run");
    tally.passed += found.caught as u64;
    tally.failed += found.missed.len() as u64;
    // The missed ones up to the bound are listed to be looked at; they count as failed, and the step does not.
    let enough = found.caught * 100 >= viable * LEAST;
    if enough {
        tally.failed -= found.missed.len() as u64;
    }
    Ok(Outcome::Ran(enough))
}

fn installed(project: &Project) -> bool {
    let mut command = project.cargo(&["mutants", "--version"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The names of all mutants of an area, as the tool's `--re` compares them.
fn list(project: &Project, area: &Area) -> Result<Vec<String>> {
    let mut command = mutants(project, area);
    command.args(["--list", "--json"]);
    let output = command.output().context("cargo-mutants cannot be run")?;
    let fault = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "cargo-mutants lists no mutants of {}: {fault}", area.package);
    let list: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let name = |mutant: &Value| mutant["name"].as_str().map(str::to_owned);
    list.iter().map(|mutant| name(mutant).context("a mutant should have a name")).collect()
}

/// Runs the tests on the mutants with these names.
fn run(project: &Project, area: &Area, names: &[&str], found: &mut Found) -> Result<()> {
    let folder = project.root().join("target").join("mutants").join(area.package);
    std::fs::create_dir_all(&folder)?;
    let alternatives: Vec<String> = names.iter().map(|name| format!("^{}$", escaped(name))).collect();
    let mut command = mutants(project, area);
    // The tests of the area only, in the profile of the test command; a mutant that hangs is stopped.
    command.args(["--re", &alternatives.join("|"), "--no-shuffle", "--timeout-multiplier", "5"]);
    for package in area.tests {
        command.args(["--test-package", package]);
    }
    command.arg("--output").arg(&folder).args(["--", "--lib", "--tests"]);
    println!("$ {} of {}", names.len(), area.package);
    let status = command.stdin(Stdio::null()).status().context("cargo-mutants cannot be run")?;
    // 0: all caught; 2: some missed; 3: some timed out. Others say that nothing was tested.
    let ran = matches!(status.code(), Some(0 | 2 | 3));
    ensure!(ran, "cargo-mutants ended with {status}: the tests fail without a mutant, or it cannot build");
    outcomes(&folder.join("mutants.out").join("outcomes.json"), names, found)
}

/// A command of the tool for the files of an area.
fn mutants(project: &Project, area: &Area) -> Command {
    let mut command = project.cargo(&["mutants", "--package", area.package]);
    for pattern in area.files {
        command.args(["--file", pattern]);
    }
    command
}

/// Adds what the tool wrote down of the mutants with these names: it also runs some that no pattern leaves out.
fn outcomes(path: &Path, names: &[&str], found: &mut Found) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let all: Value = serde_json::from_str(&text)?;
    let list = all["outcomes"].as_array().context("outcomes.json should list outcomes")?;
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in list {
        let mutant = &outcome["scenario"]["Mutant"];
        if mutant.is_null() {
            continue;
        }
        let name = mutant["name"].as_str().unwrap_or("a mutant without a name");
        if !names.contains(&name) {
            continue;
        }
        let summary = outcome["summary"].as_str().unwrap_or("no summary");
        *kinds.entry(summary).or_default() += 1;
        match summary {
            "CaughtMutant" | "Timeout" => found.caught += 1,
            "Unviable" => found.unviable += 1,
            _ => found.missed.push(format!("{name} ({summary})")),
        }
    }
    println!("{kinds:?}");
    Ok(())
}

/// A name as a regular expression that matches it alone.
fn escaped(name: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$#&-~".contains(c);
    name.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// `count` different numbers below `total` in ascending order, or all of them when there are no more; the same for the same
/// seed.
fn draw(total: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut next = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut numbers: Vec<usize> = (0..total).collect();
    for place in 0..count.min(total) {
        let left = (total - place) as u64;
        numbers.swap(place, place + (next() % left) as usize);
    }
    numbers.truncate(count);
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_has_different_numbers_and_is_repeated_by_its_seed() {
        let drawn = draw(5000, 300, 17);
        assert_eq!(drawn, draw(5000, 300, 17));
        assert_ne!(drawn, draw(5000, 300, 18));
        assert_eq!(drawn.len(), 300);
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn.iter().all(|n| *n < 5000));
        assert_eq!(draw(3, 10, 1), [0, 1, 2]);
    }

    #[test]
    fn names_match_themselves_only() {
        assert_eq!(escaped("src/a.rs:1:2: replace + with -"), r"src/a\.rs:1:2: replace \+ with \-");
    }

    #[test]
    fn outcomes_are_counted_and_fewer_than_the_bound_fail() -> Result<()> {
        let mut tally = Tally::default();
        let found = |caught, missed: usize| Found {
            caught,
            missed: (0..missed).map(|n| format!("mutant {n}")).collect(),
            unviable: 1,
        };
        let enough = |found: &Found, chosen, tally: &mut Tally| {
            report(found, chosen, tally).map(|outcome| matches!(outcome, Outcome::Ran(true)))
        };
        assert!(enough(&found(95, 5), 101, &mut tally)?);
        assert_eq!(tally, Tally { passed: 95, failed: 0 });
        assert!(!enough(&found(94, 6), 101, &mut tally)?);
        assert_eq!(tally.failed, 6);
        assert!(report(&found(95, 5), 300, &mut tally).is_err());
        Ok(())
    }
}
