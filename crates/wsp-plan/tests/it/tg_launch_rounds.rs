//! Waits and signals in loops that are unrolled, against an oracle that lays the rounds out one by one and follows its own edges.

use crate::randomised::{Numbers, cases};
use crate::tg_lint::{kernels, read};
use std::ops::Range;
use wsp_plan::tg::{Checked, LintOptions, check};

/// Rows of the tensor, of 4 bytes each.
const ROWS: u64 = 12;

/// A row, by the rounds of the loops around it: its text, and its number.
#[derive(Clone, Copy, Debug)]
struct Row {
    form: u64,
    base: u64,
    /// Which of the loops around it it goes by.
    by: usize,
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

    fn text(self, loops: &[usize]) -> String {
        let name = |at: usize| loops.get(at).map_or("0".to_owned(), |of| format!("i{of}"));
        let (i, j) = (name(self.by), name(0));
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
    Loop(usize, u64, Vec<Item>),
}

/// A kernel or a copy of one round.
struct Node {
    kernel: Option<usize>,
    rounds: Vec<(usize, u64)>,
    touches: Vec<(Range<u64>, bool)>,
    runs: bool,
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
}

impl Random {
    fn of(seed: u64) -> Random {
        let mut made = Random {
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

    fn row(&mut self, loops: &[usize]) -> Row {
        let form = if loops.is_empty() { 0 } else { self.numbers.below(10) };
        Row { form, base: self.numbers.below(4), by: self.numbers.below(loops.len().max(1) as u64) as usize }
    }

    fn body(&mut self, loops: &mut Vec<usize>) -> Vec<Item> {
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
                        _ if loops.is_empty() => When::Scalar(self.numbers.below(2)),
                        _ => When::Round(
                            loops[self.numbers.below(loops.len() as u64) as usize],
                            self.numbers.below(2),
                        ),
                    };
                    let then = self.body(loops);
                    let otherwise = if self.numbers.below(3) == 0 { self.body(loops) } else { Vec::new() };
                    items.push(Item::If(when, then, otherwise));
                }
                _ if loops.len() < 2 => {
                    let of = self.loops;
                    self.loops += 1;
                    loops.push(of);
                    let count = 1 + self.numbers.below(4);
                    let body = self.body(loops);
                    loops.pop();
                    items.push(Item::Loop(of, count, body));
                }
                _ => {}
            }
        }
        items
    }

    fn text(&self) -> String {
        let bytes = 4 * ROWS;
        let mut text = format!("arg N: i64\nextern T: u8[{bytes}]\nTG_BEGIN(G)\n");
        write(&self.items, &mut Vec::new(), &mut text);
        self.depends.iter().for_each(|(a, b)| text += &format!("TG_DEPEND(K{a}, K{b}, DATA, T)\n"));
        let [of_g, of_h] = if self.waits { ["WAIT", "SIGNAL"] } else { ["SIGNAL", "WAIT"] };
        let (event, rows) = (self.event, &self.rows);
        text += &format!("SY_{of_g}(E, K{event})\nTG_END(G)\n");
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

    /// Whether a kernel or copy of `G` meets `H` in no order.
    fn races(&self) -> bool {
        let mut nodes = Vec::new();
        self.lay_out(&self.items, &mut Vec::new(), (true, true), &mut nodes);
        let count = nodes.len();
        let mut before = vec![vec![false; count]; count];
        for (at, one) in nodes.iter().enumerate() {
            for (to, other) in nodes.iter().enumerate().skip(at + 1) {
                let same_rounds = |(of, number): &(usize, u64)| {
                    other.rounds.iter().all(|(to, other)| of != to || number == other)
                };
                let is_same = one.rounds.iter().all(same_rounds);
                let meets = one.touches.iter().any(|(a, writes)| {
                    other
                        .touches
                        .iter()
                        .any(|(b, also)| (*writes || *also) && a.start < b.end && b.start < a.end)
                });
                let is_copy = one.kernel.is_none() || other.kernel.is_none();
                before[at][to] |= meets && (is_copy || !is_same);
                let ends = one.kernel.zip(other.kernel);
                let is_edge = |ends: (usize, usize)| self.depends.contains(&ends);
                if is_same && let Some((a, b)) = ends {
                    before[at][to] |= is_edge((a, b));
                    before[to][at] |= is_edge((b, a));
                }
            }
        }
        for middle in 0..count {
            for one in 0..count {
                for other in 0..count {
                    before[one][other] |= before[one][middle] && before[middle][other];
                }
            }
        }
        let of_event = |at: &usize| nodes[*at].kernel == Some(self.event);
        let is_ordered = |at: usize| match self.waits {
            true => (0..count).filter(of_event).any(|of| nodes[of].runs && (of == at || before[of][at])),
            false => (0..count).filter(of_event).any(|of| of == at || before[at][of]),
        };
        let meets = |node: &Node| {
            node.touches.iter().any(|(rows, _)| rows.start < self.rows.end && self.rows.start < rows.end)
        };
        (0..count).any(|at| nodes[at].runs && meets(&nodes[at]) && !is_ordered(at))
    }

    /// Adds the kernels and copies of all rounds. Which are ruled out by numbers touch nothing, and those of arms that are not taken do not run.
    fn lay_out(
        &self,
        items: &[Item],
        rounds: &mut Vec<(usize, u64)>,
        (stands, runs): (bool, bool),
        nodes: &mut Vec<Node>,
    ) {
        for item in items {
            let mut add = |kernel: Option<usize>, touches: Vec<(Range<u64>, bool)>| {
                let touches = if stands { touches } else { Vec::new() };
                nodes.push(Node { kernel, rounds: rounds.clone(), touches, runs: stands && runs });
            };
            match item {
                Item::Kernel(kernel, from, to) => {
                    let number = |at: usize| rounds.get(at).map_or(0, |(_, number)| *number);
                    let row = |row: &Row| {
                        let row = row.of(number(row.by), number(0));
                        row..row + 1
                    };
                    add(Some(*kernel), vec![(row(from), false), (row(to), true)]);
                }
                Item::Copy { from, to, rows } => {
                    add(None, vec![(*from..from + rows, false), (*to..to + rows, true)]);
                }
                Item::If(when, then, otherwise) => {
                    let (is_fixed, is_so) = match *when {
                        When::Round(of, round) => (true, rounds.contains(&(of, round))),
                        When::Scalar(scalar) => (false, scalar == self.scalar),
                        When::Iteration(iteration) => (false, iteration == 0),
                    };
                    for (items, is_so) in [(then, is_so), (otherwise, !is_so)] {
                        let goes = (stands && (is_so || !is_fixed), runs && (is_so || is_fixed));
                        self.lay_out(items, rounds, goes, nodes);
                    }
                }
                Item::Loop(of, count, body) => {
                    for round in 0..*count {
                        rounds.push((*of, round));
                        self.lay_out(body, rounds, (stands, runs), nodes);
                        rounds.pop();
                    }
                }
            }
        }
    }
}

fn write(items: &[Item], loops: &mut Vec<usize>, text: &mut String) {
    for item in items {
        match item {
            Item::Kernel(kernel, from, to) => {
                let (from, to) = (from.text(loops), to.text(loops));
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
                write(then, loops, text);
                if !otherwise.is_empty() {
                    *text += "CF_ELSE\n";
                    write(otherwise, loops, text);
                }
                *text += "CF_ENDIF\n";
            }
            Item::Loop(of, count, body) => {
                *text += &format!("CF_LOOP({count}, i{of})\n");
                loops.push(*of);
                write(body, loops, text);
                loops.pop();
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
    for seed in 0..cases(600) {
        let random = Random::of(seed);
        let text = random.text();
        let scalars = [Some(random.scalar as i64)];
        let checked: Checked = check(&read(&text).0, &kernels(), &LintOptions::default(), &scalars);
        if checked.findings.iter().any(|finding| finding.code.0 == 1500) {
            continue;
        }
        let is_told = checked.findings.iter().any(|finding| finding.code.0 == 1521);
        let is_left = !checked.launches.uses.is_empty();
        let races = random.races();
        let what = || format!("{seed}, N = {}\n{text}{:#?}", random.scalar, checked.findings);
        assert!(!races || is_told || is_left, "a race is not told: {}", what());
        assert!(races || !is_told, "what is told is no race: {}", what());
        seen[if races { usize::from(!is_told) } else { 2 + usize::from(is_left) }] += 1;
    }
    println!("{seen:?}");
    assert!(seen[0] > cases(600) / 5 && seen[2] > cases(600) / 5, "{seen:?}");
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
