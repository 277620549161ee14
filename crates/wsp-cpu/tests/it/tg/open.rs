//! Kernels whose bytes are known only when the graph runs: declared scalars, the iteration, rounds of loops.

use super::common::{all, inputs, kernels, session, signature, threads, unit, values};
use crate::randomised::{Numbers, cases};
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions, TgKernels};

/// What a run of a text ends with: nothing, or what is wrong with it.
fn ended(text: &str, kernels: &TgKernels, options: SessionOptions) -> Result<(), String> {
    let mut session = Session::new(&unit(text), kernels, options).map_err(|faults| all(&faults))?;
    session.run().map(|_| ()).map_err(|faults| all(&faults))
}

fn with(scalars: &[(&str, i64)]) -> SessionOptions {
    let scalars = scalars.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    SessionOptions { scalars, inputs: inputs(&[("X", &[1; 8])]), ..threads(2) }
}

fn two(declared: &str, a: &str, b: &str, host: &str) -> String {
    format!(
        "{declared}\nextern X: i64[8]\nextern T: i64[8]\nextern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T, {a}, 8)\nTG_KERNEL(B, copy, 1, AIV, 0)\nMC_BIND(B, 0, T, {b}, 8)\nMC_BIND(B, 1, Y, 0, 8)\nTG_END(G)\n{host}\nTG_SYNC(G)\n"
    )
}

/// ISA-MC-03, ISA-TG-21: kernels meet, or do not, by the values that a run is given.
#[test]
fn bytes_by_declared_scalars_are_compared_when_the_run_begins() {
    let launch = "TG_LAUNCH(G, default)";
    for declared in ["arg N: i64 = 0\narg M: i64 = 0", "host N: i64 = 0\nhost M: i64 = 0"] {
        let text = two(declared, "N * 8", "M * 8", launch);
        let found = ended(&text, &kernels(), with(&[])).expect_err("both are bound to the first byte");
        assert!(found.contains("WSP1501") && found.contains("TG_DEPEND(A, B, DATA, T)"), "{found}");
        ended(&text, &kernels(), with(&[("N", 1)])).expect("they are apart");
        ended(&text.replace("TG_END", "TG_DEPEND(A, B, DATA, T)\nTG_END"), &kernels(), with(&[]))
            .expect("they are ordered");
    }
    // A scalar of the host may change between two launches.
    let text = two("host N: i64 = 0", "N * 8", "8", "").replace("TG_SYNC(G)\n", "");
    let mut session = session(&text, with(&[]));
    let graph = session.graph("G").expect("it is there");
    session.launch(graph, session.default_stream()).expect("they are apart");
    session.sync(graph).expect("it ends");
    session.set_scalar("N", 1).expect("it is the host's");
    let found = session.launch(graph, session.default_stream()).expect_err("they meet");
    assert!(format!("{found:?}").contains("in no order"), "{found:?}");
    assert_eq!(values(&session, "T"), [1, 0, 0, 0, 0, 0, 0, 0], "nothing of the second launch ran");
}

/// ISA-TG-27.
#[test]
fn bytes_by_the_iteration_are_compared_at_each_launch() {
    let text = two("", "iteration * 8", "24", "CF_LOOP(N, i)\nTG_INVOKE(G, i)\nCF_ENDLOOP");
    let text = format!("arg N: i64 = 3\n{text}");
    ended(&text, &kernels(), with(&[])).expect("no iteration meets it");
    let found = ended(&text, &kernels(), with(&[("N", 4)])).expect_err("iteration 3 does");
    assert!(found.contains("WSP1501") && found.contains("iteration 3"), "{found}");
}

/// A read that only `AFTER` orders is a warning, and no more.
#[test]
fn what_is_ordered_and_not_made_visible_is_a_warning_of_the_run() {
    let text = two("arg N: i64 = 0", "N * 8", "0", "TG_LAUNCH(G, default)")
        .replace("TG_END", "TG_DEPEND(A, B)\nTG_END");
    let told = |n: i64| {
        let text = text.replace("arg N", "host N");
        let mut session = session(&text, with(&[("N", n)]));
        let report = session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        report.notes.iter().any(|note| note.code.0 == 1503)
    };
    assert!(told(0) && !told(1));
}

/// A kernel of a random graph: what it does with `size` words from `first + n * N + i * i` on.
#[derive(Clone, Copy, Debug)]
struct Made {
    entry: &'static str,
    first: u64,
    by_scalar: u64,
    by_round: u64,
    size: u64,
}

/// A random graph. Kernels `inside` stand in a loop.
#[derive(Debug)]
struct Random {
    kernels: Vec<Made>,
    inside: std::ops::Range<usize>,
    /// The loop's count as it is written; it has `rounds` of them.
    count: &'static str,
    rounds: u64,
    scalar: u64,
    edges: Vec<(usize, usize)>,
}

impl Random {
    fn new(numbers: &mut Numbers) -> Random {
        let len = 2 + numbers.below(5) as usize;
        let first = numbers.below(len as u64) as usize;
        let inside = first..first + numbers.below((len - first) as u64 + 1) as usize;
        let (count, rounds) = match numbers.below(4) {
            0 => ("3", 3),
            1 => ("C", numbers.below(4)),
            2 => ("load(L, 0, i64)", numbers.below(4)),
            _ => ("2", 2),
        };
        let kernels = (0..len)
            .map(|at| Made {
                entry: ["look", "one", "inc"][numbers.below(3) as usize],
                first: numbers.below(8),
                by_scalar: numbers.below(2),
                by_round: if inside.contains(&at) { numbers.below(3) } else { 0 },
                size: 1 + numbers.below(2),
            })
            .collect();
        let edges = (0..numbers.below(2 * len as u64))
            .map(|_| (numbers.below(len as u64) as usize, numbers.below(len as u64) as usize))
            .filter(|(a, b)| a != b)
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        Random { kernels, inside, count, rounds, scalar: numbers.below(3), edges }
    }

    fn text(&self) -> String {
        let mut text =
            "arg C: i64 = 1\narg N: i64 = 0\nextern L: i64[1]\nextern T: i64[64]\nTG_BEGIN(G)\n".to_owned();
        for (at, kernel) in self.kernels.iter().enumerate() {
            if at == self.inside.start && !self.inside.is_empty() {
                text += &format!("CF_LOOP({}, i)\n", self.count);
            }
            let Made { entry, first, by_scalar, by_round, size } = *kernel;
            let round =
                if self.inside.contains(&at) { format!(" + {} * i", 8 * by_round) } else { String::new() };
            text += &format!(
                "TG_KERNEL(K{at}, {entry}, 1, AIV, 0)\nMC_BIND(K{at}, 0, T, {} + {} * N{round}, {})\n",
                8 * first,
                8 * by_scalar,
                8 * size
            );
            if at + 1 == self.inside.end && !self.inside.is_empty() {
                text += "CF_ENDLOOP\n";
            }
        }
        for (a, b) in &self.edges {
            text += &format!("TG_DEPEND(K{a}, K{b}, DATA)\n");
        }
        text + "TG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n"
    }

    /// Per pair of kernels whether the second comes behind the first. An edge across the border of a loop that is not unrolled holds for all of it.
    fn after(&self) -> Vec<Vec<bool>> {
        let len = self.kernels.len();
        let has_border = self.count.parse::<u64>().is_err();
        let mates = |kernel: usize, other: usize| match has_border
            && self.inside.contains(&kernel)
            && !self.inside.contains(&other)
        {
            true => self.inside.clone().collect(),
            false => vec![kernel],
        };
        let mut after = vec![vec![false; len]; len];
        for &(a, b) in &self.edges {
            for first in mates(a, b) {
                for second in mates(b, a) {
                    after[first][second] = true;
                }
            }
        }
        for middle in 0..len {
            for first in 0..len {
                for second in 0..len {
                    after[first][second] |= after[first][middle] && after[middle][second];
                }
            }
        }
        after
    }

    /// Words of a kernel in a round.
    fn words(&self, kernel: usize, round: u64) -> std::ops::Range<u64> {
        let Made { first, by_scalar, by_round, size, .. } = self.kernels[kernel];
        let begin = first + by_scalar * self.scalar + by_round * round;
        begin..begin + size
    }

    /// Whether two kernels touch the same words, one of them writes, and nothing orders them, if the loop has so many rounds.
    fn races(&self, rounds: u64) -> bool {
        let after = self.after();
        let rounds = |kernel: usize| if self.inside.contains(&kernel) { rounds } else { 1 };
        let race = |a: usize, b: usize| {
            let writes = [a, b].iter().any(|kernel| self.kernels[*kernel].entry != "look");
            let meets = (0..rounds(a)).any(|x| {
                (0..rounds(b)).any(|y| {
                    let both = self.inside.contains(&a) && self.inside.contains(&b);
                    let (p, q) = (self.words(a, x), self.words(b, y));
                    (!both || x == y) && p.start < q.end && q.start < p.end
                })
            });
            writes && meets && !after[a][b] && !after[b][a]
        };
        (0..self.kernels.len()).any(|a| (a + 1..self.kernels.len()).any(|b| race(a, b)))
    }
}

/// ISA-TG-21, ISA-MC-12: a run is refused exactly where two kernels meet in no order, whether the bytes are known before it or not.
#[test]
fn races_of_random_graphs_are_found_when_their_bytes_are_known() {
    let cases = cases(400);
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let mut kernels = kernels();
    kernels.register("look", signature(&[Direction::In]), |_| Ok(())).expect("it is registered once");
    let mut seen = [0u64; 2];
    for case in 0..cases {
        let random = Random::new(&mut numbers);
        let scalars = vec![("C".to_owned(), random.rounds as i64), ("N".to_owned(), random.scalar as i64)];
        let given = inputs(&[("L", &[random.rounds as i64]), ("T", &[0; 64])]);
        let options = SessionOptions { scalars, inputs: given, ..threads(2) };
        let text = random.text();
        // What would race in any round is refused also where the loop has none.
        let may = (0..=3).any(|rounds| random.races(rounds));
        match (ended(&text, &kernels, options), random.races(random.rounds)) {
            (Ok(()), false) => seen[0] += 1,
            (Err(found), races) if found.contains("WSP1501") && (races || (may && random.rounds == 0)) => {
                seen[1] += 1;
            }
            (found, races) => panic!("case {case}: races: {races}\n{text}{random:?}\n{found:?}"),
        }
    }
    println!("{cases} cases: {seen:?}");
    assert!(seen.iter().all(|seen| *seen > cases / 20), "{seen:?}");
}
