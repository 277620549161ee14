//! Launches that wait for each other's events in turn, and for earlier launches of their own graph, against an oracle that binds each wait by itself.

use super::common::{all, each, inputs, kernels, signature, threads, unit, values};
use crate::randomised::{Numbers, cases};
use std::fmt::Write;
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions, TgKernels};
use wsp_diag::Diagnostic;

/// The kernels of all, and `twice`, which doubles in place: in another order than `inc` it gives other numbers.
fn with_twice() -> TgKernels {
    let mut kernels = kernels();
    let added = kernels.register("twice", signature(&[Direction::InOut]), |cx| each(cx, 0, 0, |x| 2 * x));
    added.expect("it is registered once");
    kernels
}

/// Runs a unit; gives `T`.
fn run(text: &str) -> Result<i64, Vec<Diagnostic>> {
    let options = SessionOptions { inputs: inputs(&[("T", &[1])]), ..threads(2) };
    let mut session = Session::new(&unit(text), &with_twice(), options)?;
    session.run()?;
    Ok(values(&session, "T")[0])
}

fn is_told(found: &[Diagnostic], code: u16) -> bool {
    found.iter().any(|found| found.code.0 == code)
}

/// A graph: kernels one after another, which double or add 1, and of each event which of them signals it, and which waits.
struct Graph {
    doubles: Vec<bool>,
    signals: [Option<usize>; EVENTS],
    waits: [Option<usize>; EVENTS],
    stream: u64,
}

const EVENTS: usize = 2;

struct Random {
    graphs: Vec<Graph>,
    launches: Vec<usize>,
}

impl Random {
    fn of(seed: u64) -> Random {
        let mut numbers = Numbers::of_seed(seed);
        let mut graph = || {
            let count = 1 + numbers.below(3);
            let doubles = (0..count).map(|_| numbers.below(2) == 0).collect();
            let mut uses =
                || [(); EVENTS].map(|()| (numbers.below(2) == 0).then(|| numbers.below(count) as usize));
            let (signals, waits) = (uses(), uses());
            Graph { doubles, signals, waits, stream: 1 + numbers.below(3) }
        };
        let mut graphs: Vec<Graph> = vec![graph(), graph(), graph()];
        // What is waited for is signalled somewhere.
        graphs[0].signals = [Some(0); EVENTS];
        let launches = (0..2 + numbers.below(4)).map(|_| numbers.below(3) as usize).collect();
        Random { graphs, launches }
    }

    fn text(&self) -> String {
        let mut text = "extern T: i64[1]\n".to_owned();
        for (at, graph) in self.graphs.iter().enumerate() {
            let _ = writeln!(text, "TG_BEGIN(G{at})");
            for (kernel, doubles) in graph.doubles.iter().enumerate() {
                let entry = if *doubles { "twice" } else { "inc" };
                let _ = writeln!(text, "TG_KERNEL(K{kernel}, {entry}, 1, AIV, 0)\nMC_BIND(K{kernel}, 0, T)");
                if let Some(before) = kernel.checked_sub(1) {
                    let _ = writeln!(text, "TG_DEPEND(K{before}, K{kernel}, DATA, T)");
                }
            }
            for event in 0..EVENTS {
                for (uses, what) in [(&graph.signals, "SIGNAL"), (&graph.waits, "WAIT")] {
                    uses[event].iter().for_each(|of| _ = writeln!(text, "SY_{what}(E{event}, K{of})"));
                }
            }
            let _ = writeln!(text, "TG_END(G{at})");
        }
        for graph in &self.launches {
            let _ = writeln!(text, "TG_LAUNCH(G{graph}, {})", self.graphs[*graph].stream);
        }
        text
    }

    /// Of each kernel of each launch those that come before it, itself if it waits for itself; `None` if a launch waits for what no launch signals.
    fn before(&self) -> Option<Vec<Vec<bool>>> {
        let of = |launch: usize| &self.graphs[self.launches[launch]];
        let first: Vec<usize> = (0..=self.launches.len())
            .map(|launch| (0..launch).map(|of_launch| of(of_launch).doubles.len()).sum())
            .collect();
        let count = first[self.launches.len()];
        let mut before = vec![vec![false; count]; count];
        for launch in 0..self.launches.len() {
            (first[launch] + 1..first[launch + 1]).for_each(|kernel| before[kernel][kernel - 1] = true);
            let earlier = (0..launch).rev().find(|earlier| of(*earlier).stream == of(launch).stream);
            earlier.into_iter().for_each(|earlier| before[first[launch]][first[earlier + 1] - 1] = true);
            for event in 0..EVENTS {
                let Some(waits) = of(launch).waits[event] else { continue };
                let signals = |by: &usize| of(*by).signals[event].is_some();
                // A wait behind the graph's own signal is for that.
                let by = match of(launch).signals[event] {
                    Some(signals) if signals < waits => launch,
                    _ => (0..launch)
                        .rev()
                        .find(signals)
                        .or_else(|| (launch..self.launches.len()).find(signals))?,
                };
                let signals = of(by).signals[event]?;
                before[first[launch] + waits][first[by] + signals] = true;
            }
        }
        for middle in 0..count {
            let through = before[middle].clone();
            for one in before.iter_mut().filter(|one| one[middle]) {
                one.iter_mut().zip(&through).for_each(|(one, also)| *one |= also);
            }
        }
        Some(before)
    }
}

/// ISA-SY-01, ISA-SY-02, ISA-SY-06: units whose launches wait in a cycle, or for what none signals, are refused, and no others are; those in which all is in
/// order give the numbers of that order.
#[test]
fn launches_wait_for_the_last_signal_before_them_and_only_cycles_of_launches_are_refused() {
    let mut seen = [0u64; 3];
    for seed in 0..cases(2000) {
        let random = Random::of(seed);
        let (text, before) = (random.text(), random.before());
        let found = run(&text);
        let what =
            || format!("{seed}\n{text}{}", found.as_ref().err().map_or(String::new(), |found| all(found)));
        let Some(before) = before.filter(|before| (0..before.len()).all(|of| !before[of][of])) else {
            assert!(found.as_ref().is_err_and(|found| is_told(found, 1515)), "it waits for ever: {}", what());
            seen[0] += 1;
            continue;
        };
        let count = before.len();
        let pairs = (0..count).flat_map(|one| (0..one).map(move |other| (one, other)));
        let is_ordered = pairs.into_iter().all(|(one, other)| before[one][other] || before[other][one]);
        if !is_ordered {
            let is_hang =
                |found: &Vec<Diagnostic>| [1500, 1515, 1555].iter().any(|code| is_told(found, *code));
            assert!(!found.as_ref().is_err_and(is_hang), "it does not wait for ever: {}", what());
            seen[1] += 1;
            continue;
        }
        let doubles: Vec<bool> =
            random.launches.iter().flat_map(|graph| random.graphs[*graph].doubles.iter().copied()).collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|of| before[*of].iter().filter(|before| **before).count());
        let expected = order.iter().fold(1, |value, of| if doubles[*of] { 2 * value } else { value + 1 });
        assert_eq!(found.as_ref().ok(), Some(&expected), "{}", what());
        seen[2] += 1;
    }
    assert!(seen.iter().all(|count| *count > cases(2000) / 20), "{seen:?}");
}

/// ISA-SY-02: two graphs in turn behind a first that waits for none, and one graph whose launches wait for those before them.
#[test]
fn launches_in_turn_run_one_after_another() {
    let graph = |name: &str, entry: &str, events: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(K, {entry}, 1, AIV, 0)\nMC_BIND(K, 0, T)\n{events}TG_END({name})\n"
        )
    };
    let first = graph("A", "inc", "SY_SIGNAL(E, K)\n");
    let text = ["extern T: i64[1]\n", &first].concat()
        + &graph("B", "twice", "SY_WAIT(E, K)\nSY_SIGNAL(F, K)\n")
        + &graph("C", "inc", "SY_WAIT(F, K)\nSY_SIGNAL(E, K)\n")
        + "TG_LAUNCH(A, 1)\n"
        + &"TG_LAUNCH(B, 2)\nTG_LAUNCH(C, 3)\n".repeat(3);
    assert_eq!(run(&text).unwrap_or_else(|found| panic!("{}", all(&found))), 23);
    let text = ["extern T: i64[1]\n", &first].concat()
        + &graph("B", "twice", "SY_SIGNAL(E, K)\nSY_WAIT(E, K)\n")
        + &graph("C", "inc", "SY_WAIT(E, K)\n")
        + "TG_LAUNCH(A, 1)\nTG_LAUNCH(B, 2)\nTG_LAUNCH(B, 2)\nTG_LAUNCH(C, 3)\n";
    assert_eq!(run(&text).unwrap_or_else(|found| panic!("{}", all(&found))), 9);
}
