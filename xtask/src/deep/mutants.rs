//! Mutants of our own code: an operator, a result or an arm is changed, and the tests must fail.
//!
//! `cargo-mutants` lists thousands of changes, so some are drawn. They are made in a copy of the project ([`copy`]) and compiled
//! together: an environment variable switches one of them on ([`switches`]). A mutant that does not compile behind a switch, in
//! a `const fn` for example, is compiled alone. Each meets the tests of its own package that reach its function, the shortest
//! first and each in a process of its own, up to the first that fails ([`trial`]); one that they miss meets the differential
//! tests of other packages as well.
//!
//! A mutant that all miss is a gap in the tests, or it changes nothing that can be seen: [`explained`] says which do.

mod copy;
mod explained;
mod mutant;
mod program;
mod switches;
mod trial;

use super::Outcome;
use crate::project::Project;
use crate::runners::Tally;
use anyhow::{Context, Result, ensure};
use copy::Copy;
use explained::EXPLAINED;
use mutant::Mutant;
use program::{Built, Program};
use std::collections::BTreeSet;
use std::process::Stdio;
use switches::Blamed;
use trial::{End, Test};

/// How many are drawn when the environment variable `WSP_CASES` says nothing.
const DRAWN: usize = 300;
/// What the draw starts from.
const SEED: u64 = 17;
/// The smallest part that must be caught, of 100.
const LEAST: usize = 95;
/// What a user types to get the tool.
const GET: &str = "`cargo install --locked cargo-mutants` gets it";

/// Code that is mutated, and the tests that each mutant meets.
struct Area {
    package: &'static str,
    /// Files, as the tool's patterns.
    files: &'static [&'static str],
    /// Packages that compare what this one does with something else: their tests are run when its own miss a mutant.
    others: &'static [&'static str],
}

const AREAS: [Area; 5] = [
    Area {
        package: "wsp-kernel",
        files: &["crates/wsp-kernel/src/exec/compile/**/*.rs"],
        others: &["wsp-cpu"],
    },
    Area {
        package: "wsp-core",
        files: &["crates/wsp-core/src/ptow/**/*.rs"],
        others: &["wsp-plan", "wsp-cpu"],
    },
    Area { package: "wsp-core", files: &["crates/wsp-core/src/tg/**/*.rs"], others: &["wsp-isa", "wsp-tg"] },
    Area {
        package: "wsp-runtime",
        files: &[
            "crates/wsp-runtime/src/gates.rs",
            "crates/wsp-runtime/src/ready.rs",
            "crates/wsp-runtime/src/stream/**/*.rs",
            "crates/wsp-runtime/src/infer/**/*.rs",
        ],
        others: &["wsp-cpu"],
    },
    Area { package: "wsp-cpu", files: &["crates/wsp-cpu/src/tg/**/*.rs"], others: &[] },
];

/// What became of the mutants.
#[derive(Default)]
struct Found {
    /// A test failed, or did not end in its time.
    caught: usize,
    explained: usize,
    missed: usize,
    /// Mutants that do not compile: they say nothing of the tests.
    unviable: usize,
}

/// Draws the mutants and runs the tests on each; whether enough were found.
pub(super) fn test(project: &Project, tally: &mut Tally) -> Result<Outcome> {
    if !installed(project) {
        return Ok(Outcome::Skipped(format!("cargo-mutants is missing; {GET}")));
    }
    let mut all = Vec::new();
    for area in &AREAS {
        let own = list(project, area)?;
        ensure!(!own.is_empty(), "no mutant of {} is found: its files have other names", area.package);
        all.extend(own.into_iter().map(|mutant| (area, mutant)));
    }
    explained::check(EXPLAINED, all.iter().map(|(_, mutant)| mutant))?;
    let total = all.len();
    let mut chosen = draw(all, wanted()?, SEED);
    println!("{} of {total} mutants, seed {SEED}", chosen.len());
    again(&mut chosen)?;
    let mut found = Found::default();
    run(project, &chosen, &mut found)?;
    report(&found, chosen.len(), tally)
}

/// Keeps only those that an earlier run missed, when `WSP_AGAIN` names the file with its output.
fn again(chosen: &mut Vec<(&Area, Mutant)>) -> Result<()> {
    let Some(path) = std::env::var_os("WSP_AGAIN") else { return Ok(()) };
    let output =
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let missed: BTreeSet<&str> = output.lines().filter_map(|line| line.strip_prefix("missed: ")).collect();
    chosen.retain(|(_, mutant)| missed.contains(mutant.to_string().as_str()));
    println!("{} of them were missed", chosen.len());
    Ok(())
}

/// How many are asked for.
fn wanted() -> Result<usize> {
    let Ok(text) = std::env::var("WSP_CASES") else { return Ok(DRAWN) };
    text.parse().with_context(|| format!("WSP_CASES={text} is not a number of mutants"))
}

/// Prints the counts; whether enough were caught, and each of the others is explained.
fn report(found: &Found, chosen: usize, tally: &mut Tally) -> Result<Outcome> {
    let Found { caught, explained, missed, unviable } = *found;
    let viable = caught + explained + missed;
    println!(
        "{caught} of {viable} mutants caught, {explained} explained, {missed} missed, {unviable} did not compile"
    );
    ensure!(viable + unviable == chosen, "{chosen} mutants were chosen, others were run");
    tally.passed += caught as u64;
    tally.failed += missed as u64;
    Ok(Outcome::Ran(missed == 0 && viable > 0 && caught * 100 >= viable * LEAST))
}

fn installed(project: &Project) -> bool {
    let mut command = project.cargo(&["mutants", "--version"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// All mutants of an area.
fn list(project: &Project, area: &Area) -> Result<Vec<Mutant>> {
    let mut command = project.cargo(&["mutants", "--package", area.package, "--list", "--json"]);
    for pattern in area.files {
        command.args(["--file", pattern]);
    }
    let output = command.stdin(Stdio::null()).output().context("cargo-mutants cannot be run")?;
    let fault = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "cargo-mutants lists no mutants of {}: {fault}", area.package);
    mutant::read(project.root(), &output.stdout)
}

/// Makes the mutants and tests them: first those that are compiled together.
fn run(project: &Project, chosen: &[(&Area, Mutant)], found: &mut Found) -> Result<()> {
    let mutated: BTreeSet<&str> = chosen.iter().map(|(area, _)| area.package).collect();
    let others = chosen.iter().flat_map(|(area, _)| area.others).copied();
    let packages: BTreeSet<&str> = mutated.iter().copied().chain(others).collect();
    let mut copy = Copy::new(project, &mutated)?;
    let Together { programs, switched, unbuilt } = together(&mut copy, chosen, &Vec::from_iter(packages))?;
    println!("{} mutants are compiled together", switched.len());
    unbuilt.iter().for_each(|number| count(&chosen[*number].1, &End::Unbuilt, found));
    let tests = trial::tests(&programs, &copy.beside("mutants-reached"))?;
    println!("{} tests pass without a mutant", tests.len());
    let mut left = Vec::new();
    for number in &switched {
        let (area, mutant) = &chosen[*number];
        let own = tests.iter().filter(|test| test.is_of(&[area.package]) && test.reaches(*number));
        match trial::meet(&programs, own, *number)? {
            End::Passed => left.push(*number),
            end => count(mutant, &end, found),
        }
    }
    for number in left {
        let (area, mutant) = &chosen[number];
        let others = tests.iter().filter(|test| test.is_of(area.others) && test.reaches(number));
        count(mutant, &trial::meet(&programs, others, number)?, found);
    }
    let is_left = |number: &usize| !switched.contains(number) && !unbuilt.contains(number);
    for number in (0..chosen.len()).filter(is_left) {
        let (area, mutant) = &chosen[number];
        copy.change(mutant)?;
        let end = match alone(&copy, &tests, number, &[area.package])? {
            End::Passed => alone(&copy, &tests, number, area.others)?,
            end => end,
        };
        count(mutant, &end, found);
    }
    Ok(())
}

/// What is compiled together.
struct Together {
    programs: Vec<Program>,
    switched: BTreeSet<usize>,
    /// Mutants that do not compile.
    unbuilt: BTreeSet<usize>,
}

/// Compiles as many of the mutants together as can be.
fn together(copy: &mut Copy, chosen: &[(&Area, Mutant)], packages: &[&str]) -> Result<Together> {
    let mut switched =
        BTreeSet::from_iter((0..chosen.len()).filter(|number| chosen[*number].1.has_function()));
    let mut unbuilt = BTreeSet::new();
    loop {
        let numbered: Vec<_> = switched.iter().map(|number| (*number, &chosen[*number].1)).collect();
        copy.switch(&numbered)?;
        let faults = match program::build(copy, packages)? {
            Built::Programs(programs) => return Ok(Together { programs, switched, unbuilt }),
            Built::Faults(faults) => faults,
        };
        let before = switched.len();
        for blamed in faults.iter().flat_map(|fault| copy.blamed(fault)) {
            match blamed {
                Blamed::Mutant(number) => {
                    switched.remove(&number);
                    unbuilt.insert(number);
                }
                Blamed::Function(numbers) => switched.retain(|number| !numbers.contains(number)),
            }
        }
        ensure!(switched.len() < before, "no mutant is to blame for an error: {}", faults[0].text);
    }
}

/// Tests the one mutant that is made.
fn alone(copy: &Copy, tests: &[Test], number: usize, packages: &[&str]) -> Result<End> {
    if packages.is_empty() {
        return Ok(End::Passed);
    }
    match program::build(copy, packages)? {
        Built::Programs(programs) => {
            trial::meet(&programs, tests.iter().filter(|test| test.is_of(packages)), number)
        }
        Built::Faults(_) => Ok(End::Unbuilt),
    }
}

/// Counts and prints how a mutant ended.
fn count(mutant: &Mutant, end: &End, found: &mut Found) {
    match end {
        End::Failed(test) => {
            println!("caught: {mutant} by {test}");
            found.caught += 1;
        }
        End::TimedOut(test) => {
            println!("caught: {mutant} by the time limit of {test}");
            found.caught += 1;
        }
        End::Unbuilt => {
            println!("does not compile: {mutant}");
            found.unviable += 1;
        }
        End::Passed => match EXPLAINED.iter().find(|entry| entry.is(mutant)) {
            Some(entry) => {
                println!("explained: {mutant}: {}", entry.reason);
                found.explained += 1;
            }
            None => {
                println!("missed: {mutant}");
                found.missed += 1;
            }
        },
    }
}

/// `count` of the mutants, or all of them when there are no more: those whose texts have the smallest hashes. A change of
/// other code leaves the draw alone.
fn draw<T>(mut all: Vec<(T, Mutant)>, count: usize, seed: u64) -> Vec<(T, Mutant)> {
    all.sort_by_cached_key(|(_, mutant)| hash(&mutant.to_string(), seed));
    all.truncate(count);
    all
}

/// FNV-1a, and the mixing of `SplitMix64` behind it: texts that differ in one place get unrelated numbers.
fn hash(text: &str, seed: u64) -> u64 {
    let step = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let state = text.bytes().fold(0xCBF2_9CE4_8422_2325 ^ seed, step);
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutants(numbers: std::ops::Range<usize>) -> Vec<(usize, Mutant)> {
        numbers.map(|n| (n % 4, Mutant::named("a.rs", &format!("replace {n}"), "a - b"))).collect()
    }

    fn names(drawn: &[(usize, Mutant)]) -> Vec<String> {
        drawn.iter().map(|(_, mutant)| mutant.to_string()).collect()
    }

    #[test]
    fn a_draw_is_repeated_by_its_seed_and_other_mutants_move_it_little() {
        let drawn = names(&draw(mutants(0..5000), 300, 17));
        assert_eq!(drawn.len(), 300);
        assert_eq!(drawn, names(&draw(mutants(0..5000).into_iter().rev().collect(), 300, 17)));
        assert_ne!(drawn, names(&draw(mutants(0..5000), 300, 18)));
        let more = names(&draw(mutants(0..5100), 300, 17));
        assert!(drawn.iter().filter(|name| !more.contains(name)).count() < 20);
        assert_eq!(draw(mutants(0..3), 10, 1).len(), 3);
    }

    #[test]
    fn outcomes_are_counted_and_one_that_is_missed_or_too_many_that_are_explained_fail() -> Result<()> {
        let mut tally = Tally::default();
        let mut enough = |caught, explained, missed, chosen| {
            let found = Found { caught, explained, missed, unviable: 1 };
            report(&found, chosen, &mut tally).map(|outcome| matches!(outcome, Outcome::Ran(true)))
        };
        assert!(enough(95, 5, 0, 101)?);
        assert!(!enough(94, 6, 0, 101)?);
        assert!(!enough(99, 0, 1, 101)?);
        assert!(!enough(0, 0, 0, 1)?);
        assert!(enough(95, 5, 0, 300).is_err());
        assert_eq!(tally, Tally { passed: 288, failed: 1 });
        Ok(())
    }
}
