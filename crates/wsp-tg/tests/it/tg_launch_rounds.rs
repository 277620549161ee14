//! Waits and signals in loops, unrolled and sequential ones in each other, against an oracle that lays the rounds out one by one and follows its own
//! edges.

use crate::randomised::{Numbers, cases};
use crate::tg_lint::{kernels, read};
use std::ops::Range;
use wsp_tg::{Checked, LintOptions, check};

/// Rows of the tensor, of 4 bytes each.
const ROWS: u64 = 12;

/// A row, by the rounds of the loops around it: its text, and its number.
#[derive(Clone, Copy, Debug)]
struct Row {
    form: u64,
    base: u64,
    /// The unrolled loops around it that it goes by.
    by: [usize; 2],
}

impl Row {
    fn of(self, i: u64, j: u64) -> u64 {
        let moved = match self.form {
            0 => 0,
            1 => i,
            2 => i % 2,
            3 => i / 2,
            4 => i.min(1),
            5 => i.max(1),
            6 => u64::from(i == 1),
            7 => (i + j) % 2,
            8 => 3 - i,
            _ => (i % 4) * 2,
        };
        self.base + moved
    }

    fn text(self) -> String {
        let [i, j] = self.by.map(|of| format!("i{of}"));
        let base = self.base;
        match self.form {
            0 => format!("4 * {base}"),
            1 => format!("4 * ({base} + {i})"),
            2 => format!("4 * ({base} + {i} % 2)"),
            3 => format!("4 * ({base} + {i} / 2)"),
            4 => format!("4 * ({base} + min({i}, 1))"),
            5 => format!("4 * ({base} + max({i}, 1))"),
            6 => format!("4 * ({base} + ({i} == 1))"),
            7 => format!("4 * ({base} + ({i} + {j}) % 2)"),
            8 => format!("4 * ({base} + 3 - {i})"),
            _ => format!("4 * ({base} + ({i} % 4) * 2)"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum When {
    Round(usize, u64),
    Scalar(u64),
    Iteration(u64),
}

#[derive(Debug)]
enum Item {
    /// What it reads and writes.
    Kernel(usize, Row, Row),
    Copy {
        from: u64,
        to: u64,
        rows: u64,
    },
    If(When, Vec<Item>, Vec<Item>),
    Loop(Loop, Vec<Item>),
}

/// A loop that has a number.
#[derive(Clone, Copy, Debug)]
struct Loop {
    of: usize,
    count: u64,
    is_sequential: bool,
}

/// A part of a level: a kernel, a copy, or a loop that runs round by round. Its begin and its end are points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    begin: usize,
    end: usize,
}

/// A kernel or a copy of one round.
struct Node {
    /// Decisions around it, each with the arm.
    arms: Vec<(usize, bool)>,
    kernel: Option<usize>,
    rounds: Vec<(usize, u64)>,
    touches: Vec<(Range<u64>, bool)>,
    runs: bool,
    /// Where it stands: the sequential loops around it, each with its round, from the outside in, and itself.
    parts: Vec<(Part, u64)>,
}

impl Node {
    /// Whether two are in the same round of all loops around both.
    fn is_in_round_of(&self, other: &Node) -> bool {
        let is_same =
            |(of, number): &(usize, u64)| other.rounds.iter().all(|(to, other)| of != to || number == other);
        self.rounds.iter().all(is_same)
    }
}

/// What a part of a level touches: rows, whether it writes them, and whether a copy does.
type Touches = Vec<(Range<u64>, bool, bool)>;

/// A graph with its rounds: points, and edges between them.
#[derive(Default)]
struct Rounds {
    /// Decisions so far, and those around what is laid out, each with the arm.
    decisions: usize,
    arms: Vec<(usize, bool)>,
    edges: Vec<Vec<usize>>,
    nodes: Vec<Node>,
    /// Parts of the graph's own level with the kernels that stand in them.
    tops: Vec<(Part, Vec<usize>)>,
}

impl Rounds {
    fn point(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    /// The parts of the innermost level around two nodes; none where rounds of a sequential loop order them anyway.
    fn parts_of(&self, first: usize, second: usize) -> Option<(Part, Part)> {
        let mut parts = self.nodes[first].parts.iter().zip(&self.nodes[second].parts);
        let ((a, _), (b, _)) = parts.find(|(a, b)| a != b)?;
        (a != b).then_some((*a, *b))
    }

    /// What a part touches; a loop as one range for all kernels in it that read, and so on.
    fn touches(&self, part: Part) -> Touches {
        let mut all = Touches::new();
        for node in self.nodes.iter().filter(|node| node.parts.iter().any(|(of, _)| *of == part)) {
            let is_whole = node.parts.last().is_some_and(|(of, _)| *of == part);
            for (rows, writes) in &node.touches {
                let is_copy = node.kernel.is_none();
                let of_kind =
                    all.iter_mut().find(|(_, also, of_copy)| (*also, *of_copy) == (*writes, is_copy));
                match of_kind.filter(|_| !is_whole) {
                    Some((hull, ..)) => *hull = hull.start.min(rows.start)..hull.end.max(rows.end),
                    None => all.push((rows.clone(), *writes, is_copy)),
                }
            }
        }
        all
    }

    /// Points that come behind one.
    fn behind(&self, point: usize) -> Vec<bool> {
        let (mut seen, mut open) = (vec![false; self.edges.len()], vec![point]);
        while let Some(point) = open.pop() {
            if !std::mem::replace(&mut seen[point], true) {
                open.extend(&self.edges[point]);
            }
        }
        seen
    }

    /// A point behind all rounds of a kernel: where the graph signals an event of it.
    fn signal(&mut self, kernel: usize) -> usize {
        let signal = self.point();
        let parts = self.tops.iter().filter(|(_, kernels)| kernels.contains(&kernel));
        parts.for_each(|(part, _)| self.edges[part.end].push(signal));
        signal
    }

    fn rounds_of(&self, kernel: usize) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.kernel == Some(kernel))
    }
}

/// A random graph `G`, which waits for what `H` signals or signals what it waits for.
struct Random {
    numbers: Numbers,
    items: Vec<Item>,
    depends: Vec<(usize, usize)>,
    kernels: usize,
    loops: usize,
    /// The kernel of `G` that waits or signals.
    event: usize,
    waits: bool,
    /// Rows that `H` touches.
    rows: Range<u64>,
    /// The iteration of `H`, if its first row goes by that.
    iteration: Option<u64>,
    scalar: u64,
    is_last: bool,
    /// Whether conditions name rounds of sequential loops.
    picks: bool,
}

impl Random {
    fn of(seed: u64, picks: bool) -> Random {
        let mut made = Random {
            picks,
            numbers: Numbers::of_seed(seed),
            items: Vec::new(),
            depends: Vec::new(),
            kernels: 0,
            loops: 0,
            event: 0,
            waits: false,
            rows: 0..0,
            iteration: None,
            scalar: 0,
            is_last: false,
        };
        while made.kernels == 0 {
            let items = made.body(&mut Vec::new());
            made.items.extend(items);
        }
        for second in 1..made.kernels {
            let first = made.numbers.below(second as u64) as usize;
            if made.numbers.below(3) == 0 {
                made.depends.push((first, second));
            }
        }
        made.event = made.numbers.below(made.kernels as u64) as usize;
        made.waits = made.numbers.below(3) > 0;
        let first = 1 + made.numbers.below(5);
        made.rows = first..first + 1 + made.numbers.below(2);
        made.scalar = made.numbers.below(2);
        made.is_last = made.numbers.below(2) == 0;
        made.iteration = Some(made.numbers.below(6)).filter(|iteration| *iteration < 3);
        made
    }

    fn row(&mut self, loops: &[Loop]) -> Row {
        let loops: Vec<usize> = loops.iter().filter(|of| !of.is_sequential).map(|of| of.of).collect();
        let form = if loops.is_empty() { 0 } else { self.numbers.below(10) };
        let mut by =
            || loops.get(self.numbers.below(loops.len().max(1) as u64) as usize).copied().unwrap_or(0);
        let by = [by(), by()];
        Row { form, base: self.numbers.below(4), by }
    }

    fn body(&mut self, loops: &mut Vec<Loop>) -> Vec<Item> {
        let mut items = Vec::new();
        for _ in 0..1 + self.numbers.below(3) {
            match self.numbers.below(9) {
                0..=3 => {
                    let kernel = self.kernels;
                    self.kernels += 1;
                    let (from, to) = (self.row(loops), self.row(loops));
                    items.push(Item::Kernel(kernel, from, to));
                }
                4..=5 => {
                    let (from, rows) = (self.numbers.below(4), 1 + self.numbers.below(3));
                    items.push(Item::Copy { from, to: from + rows + self.numbers.below(3), rows });
                }
                6 => {
                    let when = match self.numbers.below(4) {
                        0 => When::Scalar(self.numbers.below(2)),
                        1 => When::Iteration(self.numbers.below(2)),
                        _ => {
                            let named = loops.iter().filter(|of| self.picks || !of.is_sequential);
                            let named: Vec<usize> = named.map(|of| of.of).collect();
                            let drawn = self.numbers.below(named.len().max(1) as u64) as usize;
                            let round = self.numbers.below(2);
                            named.get(drawn).map_or(When::Scalar(round), |of| When::Round(*of, round))
                        }
                    };
                    let then = self.body(loops);
                    let otherwise = if self.numbers.below(3) == 0 { self.body(loops) } else { Vec::new() };
                    items.push(Item::If(when, then, otherwise));
                }
                _ if loops.len() < 3 => {
                    let count = 1 + self.numbers.below(if loops.len() < 2 { 4 } else { 2 });
                    let of = Loop { of: self.loops, count, is_sequential: self.numbers.below(2) == 0 };
                    self.loops += 1;
                    loops.push(of);
                    let body = self.body(loops);
                    loops.pop();
                    items.push(Item::Loop(of, body));
                }
                _ => {}
            }
        }
        items
    }

    /// The text of `G`, with what it says of events.
    fn graph(&self, events: &str) -> String {
        let bytes = 4 * ROWS;
        let mut text = format!("arg N: i64\nextern T: u8[{bytes}]\nTG_BEGIN(G)\n");
        write(&self.items, &mut text);
        self.depends.iter().for_each(|(a, b)| text += &format!("TG_DEPEND(K{a}, K{b}, DATA, T)\n"));
        text + events + "TG_END(G)\n"
    }

    fn text(&self) -> String {
        let [of_g, of_h] = if self.waits { ["WAIT", "SIGNAL"] } else { ["SIGNAL", "WAIT"] };
        let (event, rows) = (self.event, &self.rows);
        let mut text = self.graph(&format!("SY_{of_g}(E, K{event})\n"));
        let size = 4 * (rows.end - rows.start);
        let (first, launch) = match self.iteration {
            Some(iteration) => (
                format!("4 * ({} - {} + iteration % 2)", rows.start, iteration % 2),
                format!("TG_INVOKE(H, {iteration})\n"),
            ),
            None => ((4 * rows.start).to_string(), "TG_LAUNCH(H, 1)\n".to_owned()),
        };
        text += &format!("TG_BEGIN(H)\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, T, {first}, {size})\n");
        text += &format!("SY_{of_h}(E, A)\nTG_END(H)\n");
        match self.is_last {
            true => text + &launch + "TG_LAUNCH(G, 2)\n",
            false => text + "TG_LAUNCH(G, 2)\n" + &launch,
        }
    }

    /// `G` with its rounds.
    fn rounds(&self) -> Rounds {
        let mut made = Rounds::default();
        let level = [made.point(), made.point()];
        self.lay_out(&self.items, &mut Vec::new(), &[], (true, true), level, &mut made);
        for second in 1..made.nodes.len() {
            for first in 0..second {
                let Some((a, b)) = made.parts_of(first, second) else { continue };
                let (one, other) = (&made.nodes[first], &made.nodes[second]);
                let (is_same, ends) = (one.is_in_round_of(other), one.kernel.zip(other.kernel));
                let is_edge = |ends: (usize, usize)| is_same && self.depends.contains(&ends);
                let back = ends.is_some_and(|(a, b)| is_edge((b, a)));
                let touches = made.touches(b);
                let meets = |(rows, writes, is_copy): &(Range<u64>, bool, bool)| {
                    let mut touches = touches.iter();
                    touches.any(|(of, also, of_copy)| {
                        let is_ordered = *is_copy || *of_copy || !is_same;
                        is_ordered && (*writes || *also) && rows.start < of.end && of.start < rows.end
                    })
                };
                let in_other =
                    |(decision, is_then): &(usize, bool)| other.arms.contains(&(*decision, !is_then));
                let excludes = one.arms.iter().any(in_other);
                if ends.is_some_and(is_edge) || !excludes && made.touches(a).iter().any(meets) {
                    made.edges[a.end].push(b.begin);
                }
                if back {
                    made.edges[b.end].push(a.begin);
                }
            }
        }
        made
    }

    /// Whether a kernel or copy of `G` meets `H` in no order.
    fn races(&self) -> bool {
        let mut rounds = self.rounds();
        let (signal, event) = (rounds.signal(self.event), self.event);
        let own = |node: &Node| node.parts.last().map(|(part, _)| *part);
        let waits: Vec<Part> = rounds.rounds_of(event).filter(|node| node.runs).filter_map(own).collect();
        let behind: Vec<Vec<bool>> = waits.iter().map(|part| rounds.behind(part.begin)).collect();
        let is_ordered = |node: &Node| match (self.waits, own(node)) {
            (true, Some(part)) => behind.iter().any(|behind| behind[part.begin]),
            (false, Some(part)) => rounds.behind(part.end)[signal],
            _ => false,
        };
        let meets = |node: &Node| {
            node.touches.iter().any(|(rows, _)| rows.start < self.rows.end && self.rows.start < rows.end)
        };
        rounds.nodes.iter().any(|node| node.runs && meets(node) && !is_ordered(node))
    }

    /// `G` waits for what `H` signals behind a wait for what a kernel of `G` signals.
    fn text_of_pair(&self, signals: usize) -> String {
        let text = self.graph(&format!("SY_WAIT(E, K{})\nSY_SIGNAL(F, K{signals})\n", self.event));
        let text =
            text + "TG_BEGIN(H)\nTG_KERNEL(A, e, 1, AIV, 0)\nSY_WAIT(F, A)\nSY_SIGNAL(E, A)\nTG_END(H)\n";
        match self.is_last {
            true => text + "TG_LAUNCH(H, 1)\nTG_LAUNCH(G, 2)\n",
            false => text + "TG_LAUNCH(G, 2)\nTG_LAUNCH(H, 1)\n",
        }
    }

    /// Whether a kernel that waits comes before the signal of another, so that `G` and `H` wait for each other.
    fn hangs(&self, signals: usize) -> bool {
        let mut rounds = self.rounds();
        let signal = rounds.signal(signals);
        let mut waits = rounds.rounds_of(self.event).filter(|node| node.runs);
        waits.any(|node| node.parts.last().is_some_and(|(part, _)| rounds.behind(part.begin)[signal]))
    }

    /// Adds the kernels and copies of all rounds. Which are ruled out by numbers touch nothing, and those of arms that are not taken do not run.
    fn lay_out(
        &self,
        items: &[Item],
        rounds: &mut Vec<(usize, u64)>,
        around: &[(Part, u64)],
        (stands, runs): (bool, bool),
        [begin, end]: [usize; 2],
        made: &mut Rounds,
    ) {
        for item in items {
            let add = |part: Part, kernels: Vec<usize>, made: &mut Rounds| {
                made.edges[begin].push(part.begin);
                made.edges[part.end].push(end);
                if around.is_empty() {
                    made.tops.push((part, kernels));
                }
            };
            let mut node = |kernel: Option<usize>, touches: Vec<(Range<u64>, bool)>| {
                let part = Part { begin: made.point(), end: made.point() };
                made.edges[part.begin].push(part.end);
                add(part, kernel.into_iter().collect(), made);
                let touches = if stands { touches } else { Vec::new() };
                let parts = around.iter().copied().chain([(part, 0)]).collect();
                let rounds = rounds.clone();
                let arms = made.arms.clone();
                made.nodes.push(Node { arms, kernel, rounds, touches, runs: stands && runs, parts });
            };
            match item {
                Item::Kernel(kernel, from, to) => {
                    let number = |of: usize| rounds.iter().find(|(to, _)| of == *to).map_or(0, |(_, at)| *at);
                    let row = |row: &Row| {
                        let row = row.of(number(row.by[0]), number(row.by[1]));
                        row..row + 1
                    };
                    node(Some(*kernel), vec![(row(from), false), (row(to), true)]);
                }
                Item::Copy { from, to, rows } => {
                    node(None, vec![(*from..from + rows, false), (*to..to + rows, true)]);
                }
                Item::If(when, then, otherwise) => {
                    let (is_fixed, is_so) = match *when {
                        When::Round(of, round) => (!self.is_sequential(of), rounds.contains(&(of, round))),
                        When::Scalar(scalar) => (false, scalar == self.scalar),
                        When::Iteration(iteration) => (false, iteration == 0),
                    };
                    let decision = made.decisions;
                    made.decisions += 1;
                    for (items, is_so, is_then) in [(then, is_so, true), (otherwise, !is_so, false)] {
                        let goes = (stands && (is_so || !is_fixed), runs && (is_so || is_fixed));
                        made.arms.push((decision, is_then));
                        self.lay_out(items, rounds, around, goes, [begin, end], made);
                        made.arms.pop();
                    }
                }
                Item::Loop(Loop { of, count, is_sequential: false }, body) => {
                    for round in 0..*count {
                        rounds.push((*of, round));
                        self.lay_out(body, rounds, around, (stands, runs), [begin, end], made);
                        rounds.pop();
                    }
                }
                Item::Loop(Loop { of, count, .. }, body) => {
                    let part = Part { begin: made.point(), end: made.point() };
                    add(part, kernels_in(body), made);
                    let mut last = part.begin;
                    for round in 0..*count {
                        let next = made.point();
                        made.edges[last].push(next);
                        rounds.push((*of, round));
                        let around: Vec<(Part, u64)> =
                            around.iter().copied().chain([(part, round)]).collect();
                        self.lay_out(body, rounds, &around, (stands, runs), [last, next], made);
                        rounds.pop();
                        last = next;
                    }
                    made.edges[last].push(part.end);
                }
            }
        }
    }

    fn is_sequential(&self, of: usize) -> bool {
        let mut open: Vec<&Item> = self.items.iter().collect();
        while let Some(item) = open.pop() {
            match item {
                Item::Loop(found, _) if found.of == of => return found.is_sequential,
                Item::Loop(_, body) => open.extend(body),
                Item::If(_, then, otherwise) => open.extend(then.iter().chain(otherwise)),
                _ => {}
            }
        }
        false
    }
}

fn kernels_in(items: &[Item]) -> Vec<usize> {
    let of = |item: &Item| match item {
        Item::Kernel(kernel, ..) => vec![*kernel],
        Item::Copy { .. } => Vec::new(),
        Item::If(_, then, otherwise) => [kernels_in(then), kernels_in(otherwise)].concat(),
        Item::Loop(_, body) => kernels_in(body),
    };
    items.iter().flat_map(of).collect()
}

/// What is found, a line each.
fn told(checked: &Checked) -> String {
    checked.findings.iter().map(|found| format!("{} {}\n", found.code, found.message)).collect()
}

fn write(items: &[Item], text: &mut String) {
    for item in items {
        match item {
            Item::Kernel(kernel, from, to) => {
                let (from, to) = (from.text(), to.text());
                *text += &format!(
                    "TG_KERNEL(K{kernel}, f, 1, AIV, 0)\nMC_BIND(K{kernel}, 0, T, {from}, 4)\nMC_BIND(K{kernel}, 1, T, {to}, 4)\n"
                );
            }
            Item::Copy { from, to, rows } => {
                *text += &format!("MC_COPY(T, T, {}, {}, {})\n", 4 * rows, 4 * from, 4 * to);
            }
            Item::If(when, then, otherwise) => {
                let condition = match *when {
                    When::Round(of, round) => format!("i{of} == {round}"),
                    When::Scalar(scalar) => format!("N == {scalar}"),
                    When::Iteration(iteration) => format!("iteration == {iteration}"),
                };
                *text += &format!("CF_IF({condition})\n");
                write(then, text);
                if !otherwise.is_empty() {
                    *text += "CF_ELSE\n";
                    write(otherwise, text);
                }
                *text += "CF_ENDIF\n";
            }
            Item::Loop(Loop { of, count, is_sequential }, body) => {
                let how = if *is_sequential { ", SEQUENTIAL" } else { "" };
                *text += &format!("CF_LOOP({count}, i{of}{how})\n");
                write(body, text);
                *text += "CF_ENDLOOP\n";
            }
        }
    }
}

/// ISA-TG-24, ISA-SY-01, ISA-SY-02, ISA-CF-07: launches that a wait or a signal in some round orders are no race, and others are; whatever the bytes of
/// each round are.
#[test]
fn waits_and_signals_in_rounds_order_what_a_run_has_behind_and_before_them() {
    // Races that are told, and that are left to the run; what is none, and what only the run knows to be none.
    let mut seen = [0u64; 4];
    let all = cases(200);
    for seed in 0..all {
        let random = Random::of(seed, false);
        let text = random.text();
        let scalars = [Some(random.scalar as i64)];
        let checked: Checked = check(&read(&text).0, &kernels(), &LintOptions::default(), &scalars);
        if checked.findings.iter().any(|finding| finding.code.0 == 1500) {
            continue;
        }
        let is_told = checked.findings.iter().any(|finding| finding.code.0 == 1521);
        let is_left = !checked.launches.uses.is_empty();
        let races = random.races();
        let what = || format!("{seed}, N = {}\n{text}{}", random.scalar, told(&checked));
        assert!(!races || is_told || is_left, "a race is not told: {}", what());
        assert!(races || !is_told, "what is told is no race: {}", what());
        seen[if races { usize::from(!is_told) } else { 2 + usize::from(is_left) }] += 1;
    }
    println!("{all} cases: {seen:?}");
    assert!(seen[0] > all / 5 && seen[2] > all / 5, "{seen:?}");
}

/// ISA-SY-06, ISA-CF-07: a graph that waits in some round of its loops before it signals what the other graph waits for is told to hang, in every nest of
/// unrolled and sequential loops, and no other.
#[test]
fn waits_in_rounds_before_a_signal_are_told_to_hang_and_no_others() {
    let mut seen = [0u64; 2];
    let all = cases(200);
    for seed in 0..all {
        let mut random = Random::of(seed, true);
        let signals = random.numbers.below(random.kernels as u64) as usize;
        let text = random.text_of_pair(signals);
        let scalars = [Some(random.scalar as i64)];
        let checked: Checked = check(&read(&text).0, &kernels(), &LintOptions::default(), &scalars);
        let is_told = checked.findings.iter().any(|finding| [1500, 1515].contains(&finding.code.0));
        let hangs = random.hangs(signals);
        let what = || format!("{seed}, N = {}\n{text}{}", random.scalar, told(&checked));
        assert!(is_told || !hangs, "a hang is not told: {}", what());
        assert!(hangs || !is_told, "what is told does not hang: {}", what());
        seen[usize::from(hangs)] += 1;
    }
    println!("{all} cases: {seen:?}");
    assert!(seen.iter().all(|count| *count > all / 8), "{seen:?}");
}

/// ISA-TG-24, ISA-SY-01, ISA-SY-02: rounds are looked up with the bytes that a launch has by its iteration, of the kernel in a loop and of the other.
#[test]
fn bytes_by_the_iteration_choose_rounds_of_waits_and_signals() {
    let found = |text: &str| {
        let checked: Checked = check(&read(text).0, &kernels(), &LintOptions::default(), &[]);
        (checked.findings.iter().any(|finding| finding.code.0 == 1521), checked.launches.uses.is_empty())
    };
    let signals = "extern X: u8[4]\nextern T: u8[8]\nTG_BEGIN(G)\nCF_LOOP(2, i)\nTG_KERNEL(A, f, 1, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, T, 4 * i, 4)\nTG_KERNEL(C, f, 1, AIV, 0)\nMC_BIND(C, 0, X)\nMC_BIND(C, 1, T, 4 * ((i + 1) % 2), 4)\nSY_SIGNAL(E, C)\nCF_ENDLOOP\nTG_END(G)\nTG_BEGIN(H)\nTG_KERNEL(Q, r, 1, AIV, 0)\nMC_BIND(Q, 0, T, 4 * (iteration % 2), 4)\nSY_WAIT(E, Q)\nTG_END(H)\nTG_LAUNCH(G, 1)\nTG_INVOKE(H, 0)\n";
    assert_eq!(found(signals), (false, true));
    assert_eq!(found(&signals.replace("TG_INVOKE(H, 0)", "TG_INVOKE(H, 1)")), (true, true));
    let waits = "extern X: u8[4]\nextern T: u8[8]\nextern Y: u8[8]\nTG_BEGIN(G)\nTG_KERNEL(A, f, 1, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, T, 4 * ((iteration + 1) % 2), 4)\nSY_SIGNAL(E, A)\nTG_END(G)\nTG_BEGIN(H)\nCF_LOOP(2, i)\nTG_KERNEL(W, f, 1, AIV, 0)\nMC_BIND(W, 0, X)\nMC_BIND(W, 1, Y, 4 * ((i + 1) % 2), 4)\nSY_WAIT(E, W)\nTG_KERNEL(Q, f, 1, AIV, 0)\nMC_BIND(Q, 0, T, 4 * i, 4)\nMC_BIND(Q, 1, Y, 4 * i, 4)\nCF_ENDLOOP\nTG_END(H)\nTG_INVOKE(G, 0)\nTG_LAUNCH(H, 2)\n";
    assert_eq!(found(waits), (false, true));
    assert_eq!(found(&waits.replace("TG_INVOKE(G, 0)", "TG_INVOKE(G, 1)")), (true, true));
}

/// Findings of a unit of these codes, with their severities.
fn found(text: &str, codes: &[u16]) -> Vec<(u16, wsp_diag::Severity)> {
    let all = check(&read(text).0, &kernels(), &LintOptions::default(), &[]).findings;
    all.iter().map(|of| (of.code.0, of.severity)).filter(|(code, _)| codes.contains(code)).collect()
}

/// ISA-SY-02: rounds of a sequential loop come behind what an earlier round waits for; the round that waits, and those before, do not.
#[test]
fn rounds_behind_one_that_waits_are_in_order_with_what_was_waited_for() {
    let unit = |body: &str| {
        format!(
            "extern X: u8[64]\nTG_BEGIN(A)\nTG_KERNEL(K0, w, 1, AIV, 0)\nMC_BIND(K0, 0, X, 16, 16)\nSY_SIGNAL(E0, K0)\nTG_END(A)\nTG_BEGIN(B)\nCF_LOOP(3, i, SEQUENTIAL)\n{body}CF_ENDLOOP\nSY_WAIT(E0, K0)\nTG_END(B)\nTG_LAUNCH(A, 3)\nTG_LAUNCH(B, 1)\n"
        )
    };
    let kernel = |first: &str| format!("TG_KERNEL(K1, w, 1, AIV, 0)\nMC_BIND(K1, 0, X, {first}, 16)\n");
    let when = |condition: &str, what: &str| format!("CF_IF({condition})\n{what}CF_ENDIF\n");
    let waits = "TG_KERNEL(K0, e, 1, AIV, 0)\n";
    let races =
        |first: &str, second: &str| !found(&unit(&(first.to_owned() + second)), &[1521, 1522]).is_empty();
    assert!(!races(waits, &kernel("16 * i")));
    assert!(!races(waits, &when("i > 0", &kernel("16"))));
    assert!(!races(&when("i == 1", waits), &when("i == 2", &kernel("16"))));
    // The first round touches the bytes itself, and no earlier one waits.
    assert!(races(waits, &kernel("16")));
    assert!(races(waits, &kernel("16 - 8 * i")));
    assert!(races(&when("i == 1", waits), &when("i > 0", &kernel("16"))));
    assert!(races(&when("i == 2", waits), &when("i == 1", &kernel("16"))));
    // Whether a round waits is not known.
    let of_arg = |text: String| format!("arg a: i64\n{text}");
    let open = unit(&(when("i == a", waits) + &when("i == 2", &kernel("16"))));
    assert!(!found(&of_arg(open), &[1521, 1522]).is_empty());
}

/// ISA-SY-01, ISA-SY-02: kernels inside and outside of a loop wait for an event that a kernel in the loop signals: those inside for that of their round, those
/// outside for all rounds.
#[test]
fn an_event_of_a_loop_is_waited_for_inside_and_outside_of_it() {
    let unit = |mode: &str, more: &str| {
        let kernel = |name: &str| {
            let tensor = if name == "K0" { "V" } else { "X" };
            format!("TG_KERNEL({name}, w, 1, AIV, 0)\nMC_BIND({name}, 0, {tensor})\n")
        };
        format!(
            "extern X: u8[64]\nextern V: u8[64]\nTG_BEGIN(A)\n{}CF_LOOP(2, i{mode})\n{}{}CF_ENDLOOP\nSY_SIGNAL(E0, K2)\nSY_WAIT(E0, K0)\nSY_WAIT(E0, K1)\n{more}TG_END(A)\nTG_LAUNCH(A, 1)\n",
            kernel("K0"),
            kernel("K1"),
            kernel("K2")
        )
    };
    for mode in ["", ", SEQUENTIAL"] {
        let text = unit(mode, "");
        assert_eq!(found(&text, &[1500, 1501, 1530]), [], "{mode}");
        let plan = wsp_tg::elaborate(&read(&text).0, &kernels(), &Default::default());
        let plan = plan.unwrap_or_else(|found| panic!("{mode}: {found:?}"));
        let graph = &plan.graphs[0];
        let of = |name: &str| -> Vec<u32> {
            let kernels = (0..).zip(&graph.kernels);
            kernels
                .filter(|(at, _)| graph.kernel_name(*at).starts_with(name))
                .map(|(_, of)| of.node)
                .collect()
        };
        // Within a round the one that waits comes behind the one that signals.
        let pairs: Vec<(u32, u32)> = of("K2").into_iter().zip(of("K1")).collect();
        assert_eq!(pairs.len(), if mode.is_empty() { 2 } else { 1 });
        assert!(pairs.iter().all(|(signals, waits)| graph.succs_of(*signals).contains(waits)), "{mode}");
    }
    // Two kernels of one round that wait for each other are a cycle all the same.
    assert_eq!(found(&unit(", SEQUENTIAL", "SY_SIGNAL(E1, K1)\nSY_WAIT(E1, K2)\n"), &[1500]).len(), 1);
}

/// ISA-SY-06: what the host's conditions say of scalars decides in which rounds kernels wait, and with which iteration a graph is launched.
#[test]
fn what_waits_for_ever_goes_by_conditions_of_the_host_and_rounds_together() {
    use wsp_diag::Severity::{Error, Note};
    let unit = |condition: &str, host: &str| {
        format!(
            "extern L: i64[1]\narg a: i64\nTG_BEGIN(A)\nCF_LOOP(3, i, SEQUENTIAL)\nCF_IF({condition})\nTG_KERNEL(K0, e, 1, AIV, 0)\nSY_WAIT(E, K0)\nCF_ENDIF\nCF_ENDLOOP\nTG_END(A)\nTG_BEGIN(S)\nTG_KERNEL(K0, e, 1, AIV, 0)\nSY_SIGNAL(E, K0)\nTG_END(S)\n{host}TG_LAUNCH(S, 2)\n"
        )
    };
    let said = |condition: &str, host: &str| -> Vec<_> {
        found(&unit(condition, host), &[1515]).into_iter().map(|(_, severity)| severity).collect()
    };
    let launch = "TG_LAUNCH(A, 1)\nTG_SYNC(A)\n";
    let when = |condition: &str, what: &str| format!("CF_IF({condition})\n{what}CF_ENDIF\n");
    assert_eq!(said("i == a", &when("a == 1", launch)), [Note]);
    assert_eq!(said("i == a", &when("a == 3", launch)), []);
    assert_eq!(said("i + a == 3", &when("a == 3", launch)), [Note]);
    // The iteration follows from the host's condition, or is not known.
    assert_eq!(said("i == iteration", &when("a == 1", "TG_INVOKE(A, a)\nTG_SYNC(A)\n")), [Note]);
    assert_eq!(said("i == iteration", &when("a == 3", "TG_INVOKE(A, a)\nTG_SYNC(A)\n")), []);
    assert_eq!(said("i == iteration", "TG_INVOKE(A, load(L, 0, i64))\nTG_SYNC(A)\n"), [Note]);
    // Where every way hangs it is an error, whichever launch does.
    let each = format!(
        "CF_IF(a > 1)\nTG_INVOKE(A, 2)\nTG_SYNC(A)\nCF_ELSE\nCF_IF(a == 1)\n{launch}CF_ELSE\nTG_INVOKE(A, 1)\nTG_SYNC(A)\nCF_ENDIF\nCF_ENDIF\n"
    );
    assert_eq!(said("i == 1 || i == iteration", &each), [Error, Error, Error]);
    let each = format!("CF_IF(a == 1)\n{launch}CF_ELSE\nTG_INVOKE(A, 2)\nTG_SYNC(A)\nCF_ENDIF\n");
    assert_eq!(said("i == a || i == iteration - 1", &each), [Error, Error]);
    assert_eq!(said("i == a && iteration == 0 || i == iteration - 3", &each), [Note]);
}
