//! Launches on different streams whose bytes are known only when they run, against an oracle that knows every order.

mod skips;

use super::common::{all, inputs, kernels, signature, threads, unit, values};
use std::fmt::Write;
use std::ops::Range;
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions, TgKernels};
use wsp_diag::{Diagnostic, Severity};

/// The kernels of all, and `look`, which reads.
pub(super) fn with_look() -> TgKernels {
    let mut kernels = kernels();
    kernels.register("look", signature(&[Direction::In]), |_| Ok(())).expect("it is registered once");
    kernels
}

pub(super) fn options(scalars: &[(&str, i64)], words: &[i64]) -> SessionOptions {
    let scalars = scalars.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    SessionOptions { scalars, inputs: inputs(&[("L", words), ("T", &[0; 64])]), ..threads(2) }
}

/// Graph `name` with one kernel `A` on some words of `T`; `rest` stands behind it.
pub(super) fn graph(name: &str, entry: &str, bytes: &str, rest: &str) -> String {
    format!(
        "TG_BEGIN({name})\nTG_KERNEL(A, {entry}, 1, AIV, 0)\nMC_BIND(A, 0, T, {bytes})\n{rest}TG_END({name})\n"
    )
}

/// A unit with the scalar `N` of the host.
pub(super) fn text(graphs: &[String], host: &str) -> String {
    let graphs = graphs.concat();
    format!("host N: i64 = 0\nextern L: i64[4]\nextern T: i64[64]\n{graphs}{host}")
}

/// What checks and a run say: warnings, or else what refuses it.
fn told(text: &str, options: SessionOptions) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut session = Session::new(&unit(text), &with_look(), options)?;
    let notes = session.run()?.notes;
    Ok(session.findings().iter().chain(&notes).cloned().collect())
}

pub(super) fn is_refused(text: &str, n: i64, words: &[i64]) -> bool {
    match told(text, options(&[("N", n)], words)) {
        Ok(_) => false,
        Err(found) if found.iter().any(|found| found.code.0 == 1521) => true,
        Err(found) => panic!("{text}\n{}", all(&found)),
    }
}

/// ISA-TG-25, A-08: bytes by scalars of the host, by the iteration, by memory, in loops of many rounds.
#[test]
fn launches_whose_bytes_a_run_knows_are_compared_by_it() {
    let both = "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n";
    let fixed = graph("J", "one", "16, 8", "");
    let by_scalar = text(&[graph("G", "one", "8 * N, 8", ""), fixed.clone()], both);
    assert_eq!([1, 2, 3].map(|n| is_refused(&by_scalar, n, &[0; 4])), [false, true, false]);
    let by_memory = text(
        &[graph("G", "inc", "8 * iteration, 8", ""), fixed.clone()],
        "TG_INVOKE(G, load(L, 0, i64))\nTG_LAUNCH(J, 2)\n",
    );
    assert_eq!([1, 2, 3].map(|n| is_refused(&by_memory, 0, &[n, 0, 0, 0])), [false, true, false]);
    let by_iteration = text(
        &[graph("G", "look", "8 * iteration, 8", ""), fixed.clone()],
        "TG_INVOKE(G, N)\nTG_LAUNCH(J, 2)\n",
    );
    assert_eq!([1, 2, 3].map(|n| is_refused(&by_iteration, n, &[0; 4])), [false, true, false]);
    // The round of a loop of the host that has more of them than the checker follows.
    let rounds = |more: &str| {
        let host = format!(
            "CF_LOOP(300, i)\nTG_INVOKE(G, i % 8)\nCF_IF(i == 257 + N)\nTG_LAUNCH(J, 2)\n{more}CF_ENDIF\nTG_SYNC(G)\nCF_ENDLOOP\n"
        );
        text(&[graph("G", "one", "8 * iteration, 8", ""), fixed.clone()], &host)
    };
    assert_eq!([0, 1, 2].map(|n| is_refused(&rounds("TG_SYNC(J)\n"), n, &[0; 4])), [false, true, false]);
    assert!(is_refused(&rounds(""), 0, &[0; 4]), "the launch of J is still in flight in a later round");
    // The round of a loop of the graph, and a copy.
    let inside = "CF_LOOP(load(L, 8, i64), i)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, T, 8 * i + 64, 8)\nCF_ENDLOOP\n";
    let copy = "TG_BEGIN(J)\nMC_COPY(L, T, 16, 0, 80)\nTG_END(J)\n".to_owned();
    let by_round = text(&[graph("G", "one", "0, 8", inside), copy], both);
    assert_eq!([2, 3].map(|n| is_refused(&by_round, 0, &[0, n, 0, 0])), [false, true]);
    // An arm that a run takes.
    let arm = "CF_IF(load(L, 8, i64))\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, T, 16, 8)\nCF_ENDIF\n";
    let by_arm = text(&[graph("G", "one", "0, 8", arm), fixed], both);
    assert_eq!([0, 1].map(|n| is_refused(&by_arm, 0, &[0, n, 0, 0])), [false, true]);
}

/// ISA-TG-26, ISA-SY-01, ISA-SY-02: whatever orders the launches is an order for a run as well.
#[test]
fn launches_that_something_orders_are_no_race_of_a_run() {
    let [g, j] = ["G", "J"].map(|name| graph(name, "inc", "8 * N, 8", ""));
    for host in [
        "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 1)\n",
        "TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\n",
        "TG_LAUNCH(G, 1)\nCF_IF(load(T, 504, i64) == 0)\nTG_LAUNCH(J, 2)\nCF_ENDIF\n",
        "CF_LOOP(400, i)\nTG_INVOKE(G, i)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\nTG_SYNC(J)\nCF_ENDLOOP\n",
    ] {
        assert!(!is_refused(&text(&[g.clone(), j.clone()], host), 3, &[0; 4]), "{host}");
    }
    // What the host reads it waits for, and for nothing else.
    let reads = "TG_LAUNCH(G, 1)\nCF_IF(load(L, 0, i64) == 0)\nTG_LAUNCH(J, 2)\nCF_ENDIF\n";
    assert!(is_refused(&text(&[g, j], reads), 3, &[0; 4]));
    let signals = graph("G", "inc", "8 * N, 8", "SY_SIGNAL(E, A)\n");
    let waits = graph("J", "inc", "8 * N, 8", "SY_WAIT(E, A)\n");
    for host in ["TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n", "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1)\n"] {
        assert!(!is_refused(&text(&[signals.clone(), waits.clone()], host), 3, &[0; 4]), "{host}");
    }
    // The next launch of G does not wait for J.
    let rounds = "CF_LOOP(300, i)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\nCF_ENDLOOP\n";
    assert!(is_refused(&text(&[signals, waits], rounds), 3, &[0; 4]));
}

/// ISA-TG-25: what the host does not load, as the left side of an operator goes, it does not wait for.
#[test]
fn what_the_host_does_not_load_orders_nothing_in_a_run() {
    let [g, j] = [("G", "8 * N, 8"), ("J", "24, 8")].map(|(name, bytes)| graph(name, "inc", bytes, ""));
    let host = |condition: &str| format!("TG_LAUNCH(G, 1)\nCF_IF({condition})\nCF_ENDIF\nTG_LAUNCH(J, 2)\n");
    let text = |condition: &str| text(&[g.clone(), j.clone()], &host(condition));
    let loads = "load(T, 504, i64) == 7";
    for (condition, refused) in [
        (format!("load(L, 0, i64) && {loads}"), [true, false]),
        (format!("load(L, 0, i64) || {loads}"), [false, true]),
        (format!("{loads} || load(L, 0, i64)"), [false, false]),
        (format!("load(L, 0, i64) + (load(L, 0, i64) && {loads})"), [true, false]),
    ] {
        let found = [0, 1].map(|first| is_refused(&text(&condition), 3, &[first, 0, 0, 0]));
        assert_eq!(found, refused, "{condition}");
    }
    // It goes on to what signals an event that the writer waits for.
    let waits = graph("G", "inc", "8, 8", "SY_WAIT(E, A)\n");
    let signals = graph("J", "look", "16, 8", "SY_SIGNAL(E, A)\n");
    for (first, ends) in [(0, true), (1, false)] {
        let text = super::launches::text(
            &[waits.clone(), signals.clone()],
            &host(&format!("load(L, 0, i64) && {loads}")),
        );
        let ran = told(&text, options(&[("N", 3)], &[first, 0, 0, 0]));
        assert_eq!(ran.is_ok(), ends, "{first}");
        assert!(ran.is_ok() || all(&ran.expect_err("it waits for ever")).contains("WSP1555"));
    }
}

/// A fault says which kernels of which launches on which streams meet where, and what to type.
#[test]
fn a_race_of_a_run_names_all_of_it() {
    let graphs = [graph("G", "one", "8 * N, 16", ""), graph("J", "inc", "8 * iteration, 8", "")];
    let text = text(&graphs, "TG_LAUNCH(G, 1)\nTG_INVOKE(J, 2)\nTG_SYNC(G)\n");
    let mut session =
        Session::new(&unit(&text), &with_look(), options(&[("N", 1)], &[0; 4])).expect("it may run");
    let found = session.run().expect_err("they meet");
    let said = all(&found);
    for part in [
        "launches of graphs `G` and `J` use `T` in no order",
        "`A` in launch 1, of graph `G` on stream 1, iteration 0",
        "`A` in launch 2, of graph `J` on stream default, iteration 2",
        "both touch bytes 16 to 24 of `T`",
        "`A` of the other writes it here",
        "`A` reads and writes it here",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let help = ["TG_SYNC(G)", "or an event: SY_SIGNAL(EVENT, A) in `G`, SY_WAIT(EVENT, A) in `J`"];
    assert_eq!((found[0].severity, &found[0].help[..]), (Severity::Error, &help.map(str::to_owned)[..]));
    assert!(values(&session, "T")[2] < 2, "the second did not begin");
}

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// What stands around a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Around {
    Nothing,
    /// A loop of so many rounds, which only memory says.
    Loop,
    /// An arm that is taken, or not, as memory says.
    Arm,
}

/// What a kernel does with words of `T`: `size` of them from the sum of `first` and what depends on values of the run.
#[derive(Clone, Copy, Debug)]
struct Made {
    entry: &'static str,
    first: u64,
    by_scalar: u64,
    by_iteration: u64,
    by_round: u64,
    size: u64,
    around: Around,
    /// A condition around it loads this word, so many words further with each iteration. It always holds.
    looks_at: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Launch(usize, u32),
    /// Of `N` and a number.
    Invoke(usize, u64),
    Sync(usize),
    /// As memory says, which the host reads when launches that may write `T` have ended.
    Read(usize),
    /// Rounds, as many as `N` says, that invoke a graph and launch another.
    Rounds(usize, usize, u32),
}

/// A random unit: graphs of kernels that run one after another, and a host.
#[derive(Debug)]
struct Random {
    graphs: Vec<Vec<Made>>,
    /// Graph and kernel that signal, and those that wait.
    events: Vec<[(usize, usize); 2]>,
    steps: Vec<Step>,
    scalar: u64,
    /// `L`: an iteration, rounds of loops, whether arms are taken.
    memory: [u64; 3],
}

/// What a host does, step by step.
enum Played {
    /// The graph, the stream, the iteration.
    Launch(usize, u32, u64),
    /// For the launches of these graphs.
    Wait(Vec<usize>),
}

/// A kernel or a condition of a launch, as the oracle sees it.
struct Node {
    launch: usize,
    graph: usize,
    writes: bool,
    words: Vec<Range<u64>>,
}

/// What edges say of all pairs of nodes.
fn closed(nodes: usize, edges: &[(usize, usize)]) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; nodes]; nodes];
    edges.iter().for_each(|&(one, other)| before[one][other] = true);
    for middle in 0..nodes {
        for one in 0..nodes {
            for other in 0..nodes {
                before[one][other] |= before[one][middle] && before[middle][other];
            }
        }
    }
    before
}

impl Random {
    fn new(numbers: &mut Numbers) -> Random {
        let mut graphs: Vec<Vec<Made>> = Vec::new();
        for _ in 0..3 {
            let kernel = |numbers: &mut Numbers| {
                let around = numbers.one_of(&[Around::Nothing, Around::Nothing, Around::Loop, Around::Arm]);
                Made {
                    entry: numbers.one_of(&["look", "one", "inc"]),
                    first: numbers.below(10),
                    by_scalar: numbers.below(2),
                    by_iteration: numbers.below(2),
                    by_round: if around == Around::Loop { numbers.below(3) } else { 0 },
                    size: 1 + numbers.below(2),
                    around,
                    looks_at: (numbers.below(4) == 0).then(|| (numbers.below(10), numbers.below(2))),
                }
            };
            graphs.push((0..1 + numbers.below(2)).map(|_| kernel(numbers)).collect());
        }
        let mut events = Vec::new();
        for _ in 0..numbers.below(3) {
            let ends = [(); 2].map(|()| {
                let graph = numbers.below(3) as usize;
                (graph, numbers.below(graphs[graph].len() as u64) as usize)
            });
            let is_plain = |(graph, kernel): (usize, usize)| graphs[graph][kernel].looks_at.is_none();
            if ends[0].0 != ends[1].0 && ends.into_iter().all(is_plain) {
                events.push(ends);
            }
        }
        let (mut steps, mut launched) = (Vec::new(), [false; 3]);
        for _ in 0..2 + numbers.below(6) {
            let graph = numbers.below(3) as usize;
            let stream = numbers.below(3) as u32;
            match numbers.below(12) {
                0..=2 if launched[graph] => steps.push(Step::Sync(graph)),
                3 => steps.push(Step::Read(graph)),
                4 => steps.push(Step::Rounds(graph, numbers.below(3) as usize, stream)),
                5 | 6 => steps.push(Step::Invoke(graph, numbers.below(3))),
                _ => steps.push(Step::Launch(graph, stream)),
            }
            launched[graph] |=
                matches!(steps.last(), Some(Step::Launch(..) | Step::Invoke(..) | Step::Read(_)));
        }
        let memory = [numbers.below(4), numbers.below(4), numbers.below(2)];
        Random { graphs, events, steps, scalar: numbers.below(4), memory }
    }

    fn text(&self) -> String {
        let mut made = String::new();
        for (graph, kernels) in self.graphs.iter().enumerate() {
            _ = writeln!(made, "TG_BEGIN({graph})");
            for (at, of) in kernels.iter().enumerate() {
                let (open, close) = match of.around {
                    Around::Nothing => ("", ""),
                    Around::Loop => ("CF_LOOP(load(L, 8, i64), i)\n", "CF_ENDLOOP\n"),
                    Around::Arm => ("CF_IF(load(L, 16, i64))\n", "CF_ENDIF\n"),
                };
                let mut offset = (8 * of.first).to_string();
                for (factor, value) in
                    [(of.by_scalar, "N"), (of.by_iteration, "iteration"), (of.by_round, "i")]
                {
                    if factor > 0 {
                        _ = write!(offset, " + {} * {value}", 8 * factor);
                    }
                }
                let (looks, looked) = match of.looks_at {
                    Some((word, 0)) => (format!("CF_IF(load(T, {}) >= 0)\n", 8 * word), "CF_ENDIF\n"),
                    Some((word, by)) => {
                        let offset = format!("{} + {} * iteration", 8 * word, 8 * by);
                        (format!("CF_IF(load(T, {offset}) >= 0)\n"), "CF_ENDIF\n")
                    }
                    None => (String::new(), ""),
                };
                _ = write!(
                    made,
                    "{looks}{open}TG_KERNEL({at}, {}, 1, AIV, 0)\nMC_BIND({at}, 0, T, {offset}, {})\n{close}{looked}",
                    of.entry,
                    8 * of.size
                );
            }
            for (event, ends) in self.events.iter().enumerate() {
                for ((of, kernel), what) in ends.iter().zip(["SIGNAL", "WAIT"]) {
                    if *of == graph {
                        _ = writeln!(made, "SY_{what}({event}, {kernel})");
                    }
                }
            }
            if kernels.len() == 2 {
                made += "TG_DEPEND(0, 1, DATA)\n";
            }
            _ = writeln!(made, "TG_END({graph})");
        }
        let mut host = String::new();
        for step in &self.steps {
            _ = match step {
                Step::Launch(graph, stream) => writeln!(host, "TG_LAUNCH({graph}, {stream})"),
                Step::Invoke(graph, of) => writeln!(host, "TG_INVOKE({graph}, N + {of})"),
                Step::Sync(graph) => writeln!(host, "TG_SYNC({graph})"),
                Step::Read(graph) => {
                    writeln!(host, "TG_INVOKE({graph}, load(L, 0, i64) + load(T, 504, i64))")
                }
                Step::Rounds(graph, other, stream) => {
                    writeln!(
                        host,
                        "CF_LOOP(N, k)\nTG_INVOKE({graph}, k)\nTG_LAUNCH({other}, {stream})\nCF_ENDLOOP"
                    )
                }
            };
        }
        text(&[made], &host)
    }

    fn played(&self) -> Vec<Played> {
        let mut played = Vec::new();
        for step in &self.steps {
            match *step {
                Step::Launch(graph, stream) => played.push(Played::Launch(graph, stream, 0)),
                Step::Invoke(graph, of) => played.push(Played::Launch(graph, 0, self.scalar + of)),
                Step::Sync(graph) => played.push(Played::Wait(vec![graph])),
                Step::Read(graph) => {
                    let writes = |of: &usize| self.graphs[*of].iter().any(|made| made.entry != "look");
                    let writers = (0..self.graphs.len()).filter(writes).collect();
                    played.extend([Played::Wait(writers), Played::Launch(graph, 0, self.memory[0])]);
                }
                Step::Rounds(graph, other, stream) => {
                    for round in 0..self.scalar {
                        let both = [(graph, 0, round), (other, stream, 0)];
                        played.extend(both.map(|(graph, on, round)| Played::Launch(graph, on, round)));
                    }
                }
            }
        }
        played
    }

    /// The words that a kernel touches, in all of its rounds.
    fn words(&self, made: &Made, iteration: u64) -> Vec<Range<u64>> {
        let rounds = match made.around {
            Around::Nothing => 1,
            Around::Loop => self.memory[1],
            Around::Arm => self.memory[2],
        };
        let begin = made.first + made.by_scalar * self.scalar + made.by_iteration * iteration;
        (0..rounds).map(|round| begin + made.by_round * round).map(|at| at..at + made.size).collect()
    }

    /// The kernels and conditions of all launches, and which come before which. None if something waits for ever; `simulated` has launches of one graph run one
    /// after another.
    fn order(&self, simulated: bool) -> Option<(Vec<Node>, Vec<Vec<bool>>)> {
        let (mut nodes, mut edges): (Vec<Node>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let mut launches: Vec<(usize, u32, Range<usize>)> = Vec::new();
        let mut waited: Vec<usize> = Vec::new();
        for step in self.played() {
            let (graph, stream, iteration) = match step {
                Played::Launch(graph, stream, iteration) => (graph, stream, iteration),
                Played::Wait(of) => {
                    let waits = launches.iter().filter(|launch| of.contains(&launch.0));
                    waited.extend(waits.flat_map(|launch| launch.2.clone()));
                    continue;
                }
            };
            let mine = nodes.len()..nodes.len() + self.graphs[graph].len();
            nodes.extend(self.graphs[graph].iter().map(|made| Node {
                launch: launches.len(),
                graph,
                writes: made.entry != "look",
                words: self.words(made, iteration),
            }));
            edges.extend(mine.clone().skip(1).map(|at| (at - 1, at)));
            for (at, made) in self.graphs[graph].iter().enumerate() {
                let Some((word, by_iteration)) = made.looks_at else { continue };
                let (kernel, condition) = (mine.start + at, nodes.len());
                let word = word + by_iteration * iteration;
                let words = std::iter::once(word..word + 1).collect();
                nodes.push(Node { launch: launches.len(), graph, writes: false, words });
                edges.push((condition, kernel));
                // It waits for a kernel before it in the graph only if that may write the word.
                let before = &self.graphs[graph][..at];
                let may_write = |of: &Made| {
                    let is_known = by_iteration + of.by_scalar + of.by_iteration + of.by_round == 0;
                    of.entry != "look" && (!is_known || (of.first..of.first + of.size).contains(&word))
                };
                edges.extend(
                    (0..at).filter(|of| may_write(&before[*of])).map(|of| (mine.start + of, condition)),
                );
            }
            let mine = mine.start..nodes.len();
            let serial = launches.iter().filter(|of| of.1 == stream || (simulated && of.0 == graph));
            for one in serial.flat_map(|launch| launch.2.clone()).chain(waited.iter().copied()) {
                edges.extend(mine.clone().map(|other| (one, other)));
            }
            launches.push((graph, stream, mine));
        }
        for [(signals, a), (waits, b)] in &self.events {
            let by: Vec<usize> = (0..launches.len()).filter(|at| launches[*at].0 == *signals).collect();
            let waiting = (0..launches.len()).filter(|at| launches[*at].0 == *waits);
            // A kernel that is skipped waits for nothing.
            for at in waiting.filter(|at| !nodes[launches[*at].2.start + b].words.is_empty()) {
                let bound = by.iter().rfind(|by| **by < at).or(by.first())?;
                edges.push((launches[*bound].2.start + a, launches[at].2.start + b));
            }
        }
        let before = closed(nodes.len(), &edges);
        (0..nodes.len()).all(|at| !before[at][at]).then_some((nodes, before))
    }

    /// Whether launches of different graphs meet in no order, and whether two of one graph do.
    fn races(&self) -> Option<[bool; 2]> {
        self.order(true)?;
        let (nodes, before) = self.order(false)?;
        let mut races = [false; 2];
        for (a, one) in nodes.iter().enumerate() {
            for (b, other) in nodes.iter().enumerate().skip(a + 1) {
                let meets =
                    one.words.iter().any(|p| other.words.iter().any(|q| p.start < q.end && q.start < p.end));
                let is_open = !before[a][b] && !before[b][a];
                if one.launch != other.launch && (one.writes || other.writes) && meets && is_open {
                    races[usize::from(one.graph == other.graph)] = true;
                }
            }
        }
        Some(races)
    }
}

/// ISA-TG-25, A-08: a run is refused exactly where launches meet in no order, whatever says which bytes they use.
#[allow(clippy::disallowed_methods, reason = "a longer run asks for more cases")]
#[test]
fn races_of_random_launches_are_found_when_their_bytes_are_known() {
    let cases = std::env::var("WSP_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(400u64);
    let mut numbers = Numbers(0x6a09_e667_f3bc_c909);
    let kernels = with_look();
    // Runs that end well, that end with a race, and that are refused before they begin.
    let mut seen = [0u64; 3];
    for case in 0..cases {
        let random = Random::new(&mut numbers);
        let Some([races, of_one_graph]) = random.races() else { continue };
        let text = random.text();
        let memory: Vec<i64> = random.memory.iter().map(|word| *word as i64).chain([0]).collect();
        let what = |found: &[Diagnostic]| format!("case {case}: {races}\n{text}{random:?}\n{}", all(found));
        let made = Session::new(&unit(&text), &kernels, options(&[("N", random.scalar as i64)], &memory));
        let mut session = match made {
            Ok(session) => session,
            // Whether events of a unit go in a cycle does not depend on which graphs are launched, and whether an event has a signal not on which kernels are
            // skipped.
            Err(found) if found.iter().any(|found| matches!(found.code.0, 1500 | 1515)) => continue,
            Err(found) => {
                // What is refused goes wrong on some way of the host, or in some round of a loop, if not here.
                let is_known = found.iter().any(|found| matches!(found.code.0, 1521 | 1551));
                let branches =
                    random.memory[1] == 0 || random.steps.iter().any(|of| matches!(of, Step::Rounds(..)));
                assert!(is_known && (races || branches), "{}", what(&found));
                seen[2] += 1;
                continue;
            }
        };
        match session.run() {
            Ok(report) => {
                assert!(!races, "{}", what(&[]));
                let all: Vec<Diagnostic> = session.findings().iter().chain(&report.notes).cloned().collect();
                let is_told = all.iter().any(|found| found.code.0 == 1521);
                assert!(is_told || !of_one_graph, "{}", what(&all));
                seen[0] += 1;
            }
            Err(found) => {
                assert!(races && found[0].code.0 == 1521, "{}", what(&found));
                seen[1] += 1;
            }
        }
    }
    println!("{cases} cases: {seen:?}");
    assert!(seen[..2].iter().all(|seen| *seen > cases / 20), "{seen:?}");
}
