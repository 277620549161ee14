//! Copies in loops that are unrolled: what is in order in every round, and what in some. The edges that a run adds are those of its plan.

use super::{findings, kernels, read};
use crate::randomised::{Numbers, cases};
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::tg::image::NONE;
use wsp_core::tg::{Direction, IterNo};
use wsp_diag::Severity;
use wsp_tg::plan::{BindItem, BindTensor, KernelItem};
use wsp_tg::{Checked, ElaborateOptions, GraphPlan, LintOptions, check, elaborate};

/// Rows of the tensor, of 4 bytes each.
const ROWS: u64 = 16;

struct Generator {
    numbers: Numbers,
    text: String,
    kernels: usize,
    loops: usize,
    copies: usize,
}

impl Generator {
    fn of(seed: u64) -> String {
        let mut generator = Generator {
            numbers: Numbers::of_seed(seed),
            text: String::new(),
            kernels: 0,
            loops: 0,
            copies: 0,
        };
        generator.text += &format!("arg C: i64\nextern T: u8[{}]\nTG_BEGIN(G)\n", 4 * ROWS);
        generator.body(&mut Vec::new(), &mut Vec::new());
        generator.text + "TG_END(G)\n"
    }

    fn below(&mut self, n: u64) -> u64 {
        self.numbers.below(n)
    }

    fn row(&mut self, loops: &[String]) -> String {
        let base = self.below(8);
        if loops.is_empty() || self.below(2) == 0 {
            return format!("{}", 4 * base);
        }
        let variable = &loops[self.below(loops.len() as u64) as usize];
        match self.below(5) {
            0 => format!("4 * ({} - {variable})", base + 2),
            1 => format!("4 * ({base} + 2 * {variable})"),
            2 => format!("4 * ({base} + {variable} % 2)"),
            _ => format!("4 * ({base} + {variable})"),
        }
    }

    fn body(&mut self, loops: &mut Vec<String>, before: &mut Vec<String>) {
        for _ in 0..1 + self.below(4) {
            match self.below(9) {
                0..=3 => {
                    let name = format!("K{}", self.kernels);
                    self.kernels += 1;
                    let (from, to) = (self.row(loops), self.row(loops));
                    let size = 4 * (1 + self.below(2));
                    self.text += &format!(
                        "TG_KERNEL({name}, f, 1, AIV, 0)\nMC_BIND({name}, 0, T, {from}, {size})\nMC_BIND({name}, 1, T, {to}, 4)\n"
                    );
                    for earlier in before.iter().rev().take(2) {
                        if self.numbers.below(2) == 0 {
                            self.text += &format!("TG_DEPEND({earlier}, {name}, DATA, T)\n");
                        }
                    }
                    before.push(name);
                }
                4..=5 => {
                    let (from, rows) = (self.below(5), 1 + self.below(2));
                    let to = from + rows + self.below(4);
                    self.text += &format!("MC_COPY(T, T, {}, {}, {})\n", 4 * rows, 4 * from, 4 * to);
                    before.push(format!("copy.{}", self.copies));
                    self.copies += 1;
                }
                6 if !loops.is_empty() => {
                    let variable = &loops[self.numbers.below(loops.len() as u64) as usize];
                    self.text += &format!("CF_IF({variable} == {})\n", self.numbers.below(2));
                    self.body(loops, before);
                    if self.below(3) == 0 {
                        self.text += "CF_ELSE\n";
                        self.body(loops, before);
                    }
                    self.text += "CF_ENDIF\n";
                }
                _ if loops.len() < 2 => {
                    let variable = format!("i{}", self.loops);
                    self.loops += 1;
                    let count = match self.below(6) {
                        0 => "C".to_owned(),
                        1 => loops.last().map_or("2".to_owned(), |outer| format!("{outer} + 1")),
                        2 => loops.last().map_or("3".to_owned(), |outer| outer.clone()),
                        _ => format!("{}", 2 + self.below(2)),
                    };
                    let mode = if self.below(6) == 0 { ", SEQUENTIAL" } else { "" };
                    self.text += &format!("CF_LOOP({count}, {variable}{mode})\n");
                    loops.push(variable.clone());
                    self.body(loops, before);
                    if self.below(4) == 0 {
                        let condition = ["C == 1".to_owned(), "0".to_owned(), format!("{variable} == C")];
                        let condition = &condition[self.below(3) as usize];
                        self.text += &format!("CF_BREAK({condition})\n");
                        self.body(loops, before);
                    }
                    loops.pop();
                    self.text += "CF_ENDLOOP\n";
                }
                _ => {}
            }
        }
    }
}

/// Nodes that come after a node in its level.
fn reached(graph: &GraphPlan, from: u32) -> BTreeSet<u32> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        let record = graph.records.nodes[node as usize];
        for &next in &graph.records.succs[record.first as usize..record.end as usize] {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// A node and the nodes of loops around it, the outermost first.
fn path(graph: &GraphPlan, node: u32) -> Vec<u32> {
    let mut path = vec![node];
    let around = |node: u32| {
        graph.records.loops.iter().find(|l| (l.body.first..l.body.first + l.body.len).contains(&node))
    };
    while let Some(outer) = around(path[path.len() - 1]) {
        path.push(outer.node);
    }
    path.reverse();
    path
}

/// Pairs of kernels, by name, of which a run may start two at the same time that touch the same bytes; and whether both run whatever
/// the values of conditions that only the run knows.
fn races(graph: &GraphPlan) -> BTreeMap<[String; 2], bool> {
    let mut found = BTreeMap::new();
    for (at, a) in graph.kernels.iter().enumerate() {
        for b in &graph.kernels[at + 1..] {
            if !meets(graph, a, b) {
                continue;
            }
            let (of_a, of_b) = (path(graph, a.node), path(graph, b.node));
            let Some(apart) = of_a.iter().zip(&of_b).position(|(a, b)| a != b) else { continue };
            let (x, y) = (of_a[apart], of_b[apart]);
            if !reached(graph, x).contains(&y) && !reached(graph, y).contains(&x) {
                let name = |kernel: &KernelItem| graph.defs[kernel.def as usize].name.clone();
                let mut names = [name(a), name(b)];
                names.sort();
                let is_sure = |node: &u32| graph.records.nodes[*node as usize].guard == NONE;
                *found.entry(names).or_default() |= of_a.iter().chain(&of_b).all(is_sure);
            }
        }
    }
    found
}

/// Whether two kernels touch the same bytes, where those are numbers in the plan, and one of them writes.
fn meets(graph: &GraphPlan, a: &KernelItem, b: &KernelItem) -> bool {
    let ranges = |kernel: &KernelItem| {
        let binds = graph.binds_of(kernel).iter();
        let range = |bind: &BindItem| {
            assert!(matches!(bind.tensor, BindTensor::One(_)));
            let (low, size) = (bind.offset.as_const()?, bind.size.as_const()?);
            Some((low, low + size, bind.direction != Direction::In))
        };
        binds.filter_map(range).collect::<Vec<_>>()
    };
    let others = ranges(b);
    ranges(a).iter().any(|x| others.iter().any(|y| x.0 < y.1 && y.0 < x.1 && (x.2 || y.2)))
}

/// Variables of the unrolled loops and the number of others around a kernel that runs, if its bytes are numbers in the plan.
fn around(graph: &GraphPlan, name: &str) -> Option<(Vec<IterNo>, usize)> {
    let kernel = graph.kernels.iter().find(|kernel| graph.defs[kernel.def as usize].name == name)?;
    let mut binds = graph.binds_of(kernel).iter();
    if binds.any(|bind| bind.offset.as_const().is_none()) {
        return None;
    }
    let fixed = graph.fixed_of(kernel.fixed);
    Some((fixed.iter().map(|(iter, _)| *iter).collect(), path(graph, kernel.node).len()))
}

/// ISA-TG-24: a kernel in a loop and one outside of it, with a copy of the loop between them in some round.
#[test]
fn a_copy_of_one_round_orders_kernels_on_both_sides_of_a_loop() {
    let kernel = |name: &str, bytes: &str| {
        format!("TG_KERNEL({name}, w, 1, AIV, 0)\nMC_BIND({name}, 0, T, {bytes}, 4)\n")
    };
    let copy = |rows: u32| format!("MC_COPY(T, Y, {}, 0, 0)\n", 4 * rows);
    let arm = |condition: &str, inner: &str| format!("CF_IF({condition})\n{inner}CF_ENDIF\n");
    let looped = |inner: &str| format!("CF_LOOP(3, i)\n{inner}CF_ENDLOOP\n");
    for (body, is_race) in [
        // Each round touches a row of its own, and all rows are copied in the last.
        (looped(&(kernel("A", "4 * i") + &arm("i == 2", &copy(3)))) + &kernel("B", "8"), false),
        (looped(&(kernel("A", "4 * i") + &arm("i == 1", &copy(3)))) + &kernel("B", "8"), true),
        (looped(&(kernel("A", "4 * i") + &copy(3))) + &kernel("B", "4"), false),
        // Rounds that write the same row are in order.
        (looped(&(kernel("A", "0") + &arm("i == 2", &copy(1)))) + &kernel("B", "0"), false),
        (looped(&(kernel("A", "0") + &arm("i == 1", &copy(1)))) + &kernel("B", "0"), true),
        (kernel("A", "0") + &looped(&(arm("i == 0", &copy(1)) + &kernel("B", "0"))), false),
        (kernel("A", "0") + &looped(&(arm("i == 1", &copy(1)) + &kernel("B", "0"))), true),
    ] {
        let text = format!("extern T: u8[64]\nextern Y: u8[64]\nTG_BEGIN(G)\n{body}TG_END(G)\n");
        let races = check(&read(&text).0, &kernels(), &LintOptions::default(), &[]);
        let races: Vec<_> = races.findings.iter().filter(|found| found.code.0 == 1501).collect();
        assert_eq!(!races.is_empty(), is_race, "{text}{races:#?}");
    }
}

/// ISA-MC-09, ISA-CF-07: what a run does not order is reported, and no pair in the same loops that it orders is an error. Of others later rounds may come
/// between the two, which is not looked for, and a loop that runs round by round is in order by all bytes between those of its copies.
#[test]
fn races_beside_copies_in_unrolled_loops_are_those_of_the_plan() {
    let (mut racy, mut fine) = (0, 0);
    for seed in 0..cases(400) {
        let text = Generator::of(seed);
        let module = read(&text).0;
        let Ok(plan) = elaborate(&module, &kernels(), &ElaborateOptions::default()) else { continue };
        let graph = &plan.graphs[0];
        let races = races(graph);
        let Checked { findings: found, open, .. } = check(&module, &kernels(), &LintOptions::default(), &[]);
        if found.iter().any(|finding| finding.code.0 == 1500) {
            continue;
        }
        let told: Vec<_> = found.iter().filter(|finding| finding.code.0 == 1501).collect();
        let is_left = open.iter().any(|pair| {
            let mut names = pair.ends.each_ref().map(|end| end.name.clone());
            names.sort();
            races.contains_key(&names)
        });
        let is_race = races.values().any(|is_sure| *is_sure);
        assert!(!is_race || is_left || !told.is_empty(), "{seed}: {races:?} is not told\n{text}");
        for finding in told {
            let mut names: Vec<String> =
                finding.message.split('`').skip(1).step_by(2).take(2).map(str::to_owned).collect();
            names.sort();
            let is_race = races.keys().any(|race| race[..] == names[..]);
            let around = [0, 1].map(|at| around(graph, &names[at]));
            let is_apart = around[0].is_none() || around[0] != around[1] || !graph.records.loops.is_empty();
            let is_fine = is_race || !finding.is_error() || is_apart;
            assert!(is_fine, "{seed}: {}, but {races:?}\n{text}", finding.message);
        }
        if races.is_empty() {
            fine += 1
        } else {
            racy += 1
        };
    }
    println!("{racy} with races, {fine} without");
    assert!(racy > 0 && fine > 0);
}

/// Kernels are in order by a copy in those rounds in which they touch its bytes.
#[test]
fn a_copy_orders_kernels_where_they_touch_its_bytes() {
    let kernel = |name: &str, from: &str, to: &str| {
        format!(
            "TG_KERNEL({name}, f, 1, AIV, 0)\nMC_BIND({name}, 0, T, {from}, 4)\nMC_BIND({name}, 1, T, {to}, 4)\n"
        )
    };
    let races = |body: &str| {
        let found = findings(&format!("arg C: i64\nextern T: u8[64]\nTG_BEGIN(G)\n{body}TG_END(G)\n"));
        found.iter().filter(|finding| finding.code.0 == 1501).count()
    };
    let copied = |from: &str, around: [&str; 2]| {
        let [open, close] = around;
        let (a, b) = (kernel("A", from, "4 + 4 * i"), kernel("B", "16", "4 + 4 * i"));
        races(&format!("CF_LOOP(2, i)\n{a}{open}MC_COPY(T, T, 4, 0, 16)\n{close}{b}CF_ENDLOOP\n"))
    };
    assert_eq!(copied("16", ["", ""]), 0);
    // In round 0 the first reads byte 24.
    assert_eq!(copied("24 - 8 * i", ["", ""]), 1);
    assert_eq!(copied("16", ["CF_IF(i == 1)\n", "CF_ENDIF\n"]), 1);
    assert_eq!(copied("16", ["CF_IF(C == 1)\n", "CF_ENDIF\n"]), 0);
    assert_eq!(copied("16", ["CF_LOOP(i, j)\n", "CF_ENDLOOP\n"]), 1);
    // Kernels around a loop are in order by what stands in one of its rounds, whichever that is.
    let through = |condition: [&str; 2]| {
        let copies =
            condition.map(|condition| format!("CF_IF({condition})\nMC_COPY(T, T, 4, 0, 16)\nCF_ENDIF\n"));
        let (a, b) = (kernel("A", "16", "4"), kernel("B", "16", "4"));
        let inner = format!(
            "{}TG_KERNEL(M, e, 1, AIV, 0)\nTG_DEPEND(copy.0, M)\nTG_DEPEND(M, copy.1)\n{}",
            copies[0], copies[1]
        );
        races(&format!("{a}CF_LOOP(3, i)\n{inner}CF_ENDLOOP\n{b}"))
    };
    assert_eq!(
        [through(["i == 0", "i == 0"]), through(["i == 1", "i == 9"]), through(["i < 0", "i < 0"])],
        [0, 0, 1]
    );
    // One round of a loop in order with a copy is not all of them.
    let (a, b) = (kernel("A", "0", "8 + 4 * i"), kernel("B", "8 + 4 * j", "40"));
    let text =
        format!("CF_LOOP(2, i)\n{a}CF_ENDLOOP\nCF_LOOP(C, j)\nMC_COPY(T, T, 4, 12, 20)\n{b}CF_ENDLOOP\n");
    let told = |text: &str| findings(text).iter().any(|finding| matches!(finding.code.0, 1501 | 1522));
    assert!(told(&format!("arg C: i64\nextern T: u8[64]\nTG_BEGIN(G)\n{text}TG_END(G)\n")));
    // A break that is never taken is no cut.
    let (a, b) = (kernel("A", "0", "8"), kernel("B", "0", "8"));
    let left = |condition: &str| {
        races(&format!("CF_LOOP(2, i)\nCF_LOOP(2, j)\n{a}CF_BREAK({condition})\n{b}CF_ENDLOOP\nCF_ENDLOOP\n"))
    };
    assert_eq!([left("0"), left("i == 1"), left("C")], [1, 1, 0]);
}

/// ISA-MC-09, ISA-CF-07: a copy is in order with a kernel in those rounds in which both touch the same bytes, and a cycle needs edges of one round.
#[test]
fn a_cycle_through_a_copy_needs_rounds_in_which_they_meet() {
    let kernel = |name: &str, bytes: &str| {
        format!("TG_KERNEL({name}, rw, 1, AIV, 0)\nMC_BIND({name}, 0, T, {bytes}, 16)\n")
    };
    let codes = |body: &str| -> Vec<u16> {
        let found = findings(&format!(
            "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\n{body}TG_END(G)\nTG_LAUNCH(G, default)\n"
        ));
        found.iter().map(|found| found.code.0).filter(|code| (1500..1530).contains(code)).collect()
    };
    // The copy reads the last 16 bytes: squares modulo 4 are 0 and 1.
    for (bytes, is_fine) in [("16 * (i * i % 4)", true), ("16 * (3 - i * i % 4)", false)] {
        let (copied, member) = (kernel("A", "32"), kernel("B", bytes));
        let gang = format!(
            "CF_LOOP(3, i)\n{copied}MC_COPY(T, U, 16, 32, 0)\nMC_COPY(U, T, 16, 0, 48)\n{member}CF_ENDLOOP\nSY_BARRIER({{A, B}}, R)\n"
        );
        let expected = if is_fine { vec![] } else { vec![1500] };
        assert_eq!(codes(&gang), expected, "{gang}");
        let event = format!(
            "{}CF_LOOP(2, i)\nMC_COPY(T, U, 16, 48, 0)\n{member}CF_ENDLOOP\nSY_SIGNAL(E, B)\nSY_WAIT(E, A)\n",
            kernel("A", "48")
        );
        assert_eq!(codes(&event), expected, "{event}");
    }
}

/// ISA-CF-02: bytes that are no multiples of variables are compared round by round.
#[test]
fn bytes_by_any_expression_of_rounds_are_compared() {
    let unit = |loops: &str, arm: [&str; 2], a: &str, b: &str| {
        let kernel = |name: &str, bytes: &str| {
            format!("TG_KERNEL({name}, rw, 1, AIV, 0)\nMC_BIND({name}, 0, T, {bytes}, 16)\n")
        };
        let [open, close] = arm;
        format!(
            "extern T: u8[64]\nTG_BEGIN(G)\nCF_LOOP({loops})\n{open}{}{close}{}CF_ENDLOOP\nTG_END(G)\nTG_LAUNCH(G, default)\n",
            kernel("A", a),
            kernel("B", b)
        )
    };
    let codes = |text: &str| {
        let found = findings(text);
        found.iter().map(|found| found.code.0).filter(|code| [1501, 1522].contains(code)).collect::<Vec<_>>()
    };
    for loops in ["4, i", "4, i, SEQUENTIAL"] {
        let always = ["", ""];
        assert_eq!(codes(&unit(loops, always, "16 * (i * i % 4)", "16 * (2 + i % 2)")), [0; 0]);
        assert_eq!(codes(&unit(loops, always, "16 * (i * i % 4)", "16 * (i / 3)")), [1501]);
        // They meet in round 2, in which the first is ruled out.
        for (condition, meets) in [("i * i == 1", false), ("i * i == 4", true)] {
            let arm = [format!("CF_IF({condition})\n"), "CF_ENDIF\n".to_owned()];
            let text = unit(loops, [&arm[0], &arm[1]], "16 * i", "32");
            assert_eq!(codes(&text), if meets { vec![1501] } else { vec![] }, "{text}");
        }
    }
    // They meet in round 1, which the loop does not come to, or only up to the break.
    for (before, behind, is_race) in [
        ("CF_BREAK(i > 0)\n", "", false),
        ("CF_BREAK(i > 1)\n", "", true),
        ("", "CF_BREAK(i == 0)\n", false),
        ("", "CF_BREAK(i == 1)\n", true),
        ("", "CF_BREAK(N)\n", true),
    ] {
        for b in ["16", "16 * (i * i % 4)"] {
            let a = if b == "16" { "16 * i" } else { "16" };
            let text = unit("4, i", [before, ""], a, b).replace("CF_ENDLOOP", &format!("{behind}CF_ENDLOOP"));
            assert_eq!(
                codes(&format!("arg N: i64\n{text}")),
                if is_race { vec![1501] } else { vec![] },
                "{text}"
            );
        }
    }
    // Too many rounds, and a count that is not known: that is left to the run.
    for loops in ["2048, i, SEQUENTIAL", "N, i"] {
        let text = unit(loops, ["", ""], "16 * (i * i % 4)", "16 * (2 + i % 2)");
        assert_eq!(codes(&format!("arg N: i64\n{text}")), [1522], "{loops}");
    }
}

/// ISA-MC-09, ISA-CF-02: rounds that touch the same bytes carry the order of a copy on.
#[test]
fn a_copy_of_one_round_orders_what_later_rounds_touch() {
    let unit = |body: &str| {
        format!(
            "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, T, 16, 16)\n{body}TG_END(G)\nTG_LAUNCH(G, default)\n"
        )
    };
    let is_race = |body: &str| findings(&unit(body)).iter().any(|found| found.code.0 == 1501);
    let user = "TG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, T)\n";
    let copy = |condition: &str, copy: &str| format!("CF_IF({condition})\n{copy}\nCF_ENDIF\n{user}");
    let (writes, reads) = ("MC_COPY(U, T, 16, 0, 16)", "MC_COPY(T, U, 16, 16, 0)");
    for (condition, is_fine) in [("i == 0", true), ("i == 1", false)] {
        assert_eq!(is_race(&format!("CF_LOOP(2, i)\n{}CF_ENDLOOP\n", copy(condition, writes))), !is_fine);
    }
    // To what is outside of it, a loop that runs round by round is one with its body, whichever round the copy stands in.
    for (mode, is_fine) in [("", false), (", SEQUENTIAL", true)] {
        let inner = format!("CF_LOOP(2, i)\n{}CF_ENDLOOP\n", copy("i > 0", reads));
        assert_eq!(is_race(&format!("CF_LOOP(1, j{mode})\n{inner}CF_ENDLOOP\n")), !is_fine, "{mode}");
    }
}

/// An order of more nodes than are looked at is not found out, and that is said.
#[test]
fn an_order_of_too_many_rounds_is_not_decided() {
    let told = |loops: usize| -> Vec<(u16, Severity)> {
        let looped = |name: &str| {
            format!(
                "CF_LOOP(1024, i{name})\nTG_KERNEL({name}, rw, 1, AIV, 0)\nMC_BIND({name}, 0, T)\nCF_ENDLOOP\n"
            )
        };
        let body: String = (0..loops).map(|at| looped(&format!("K{at}"))).collect();
        let text = format!("extern T: u8[64]\nTG_BEGIN(G)\n{body}TG_END(G)\nTG_LAUNCH(G, default)\n");
        let found = findings(&text).into_iter();
        let found = found.filter(|found| matches!(found.code.0, 1501 | 1519));
        found.map(|found| (found.code.0, found.severity)).collect()
    };
    assert_eq!(told(2), [(1501, Severity::Error)]);
}

/// Loops in each other of more rounds together than are laid out one by one run round by round.
#[test]
fn an_order_through_loops_in_each_other_is_found() {
    for loops in [1, 4] {
        let variables = ["i", "j", "k", "l"];
        let open: String = variables[..loops].iter().map(|of| format!("CF_LOOP(64, {of})\n")).collect();
        let sum = variables[..loops].join(" + ");
        let text = format!(
            "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\n{open}CF_IF({sum} >= 0)\nMC_COPY(T, U, 64)\nCF_ENDIF\nTG_KERNEL(B, g, 1, AIV, 0)\nMC_BIND(B, 0, T)\nMC_BIND(B, 1, U)\n{}TG_END(G)\nTG_LAUNCH(G, default)\n",
            "CF_ENDLOOP\n".repeat(loops)
        );
        assert!(!findings(&text).iter().any(|found| matches!(found.code.0, 1501 | 1519)), "{loops}");
    }
}

/// ISA-MC-09: no bytes are all to the end, in the rounds in which the size comes to 0.
#[test]
fn a_size_that_is_0_in_some_round_is_all_bytes_in_that_round() {
    let kernel = |name: &str, bytes: &str| {
        format!("TG_KERNEL({name}, rw, 1, AIV, 0)\nMC_BIND({name}, 0, T, {bytes})\n")
    };
    let codes = |text: String| -> Vec<u16> {
        let found = findings(&format!("extern T: u8[64]\n{text}")).into_iter().map(|found| found.code.0);
        found.filter(|code| [1501, 1521].contains(code)).collect()
    };
    for (size, code) in [("2 - i", 1501), ("3 - i", 0)] {
        let body = kernel("A", &format!("0, 16 * ({size})")) + &kernel("B", "48, 16");
        let text =
            format!("TG_BEGIN(G)\nCF_LOOP(3, i)\n{body}CF_ENDLOOP\nTG_END(G)\nTG_LAUNCH(G, default)\n");
        assert_eq!(codes(text).first().copied().unwrap_or(0), code, "{size}");
    }
    for (size, code) in [("i", 1521), ("1 + i", 0)] {
        let a = kernel("A", &format!("0, 16 * ({size})"));
        let text = format!(
            "TG_BEGIN(G)\nCF_LOOP(2, i)\n{a}CF_ENDLOOP\nTG_END(G)\nTG_BEGIN(H)\n{}TG_END(H)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n",
            kernel("B", "32, 16")
        );
        assert_eq!(codes(text).first().copied().unwrap_or(0), code, "{size}");
    }
}

/// ISA-CF-02: what is kept of the bytes of one access is not taken for those of another, in other rounds, with another condition or in a loop that both stand in.
#[test]
fn of_many_accesses_in_rounds_those_are_found_that_touch_the_same_bytes() {
    for (open, close, square) in
        [("", "", "j * j % 4"), ("CF_LOOP(2, o)\n", "CF_ENDLOOP\n", "(j * j + o * 4) % 4")]
    {
        let mut text = format!("extern T: u8[4096]\nTG_BEGIN(G)\n{open}");
        for kernel in 0..30 {
            // Squares modulo 4 are 0 and 1: of four lines each kernel has two, and the next one the others, but for 7, which has those of 18.
            let bytes = match kernel {
                7 => format!("4 * 9 + {square}"),
                even if even % 2 == 0 => format!("2 * {even} + {square}"),
                odd => format!("2 * {odd} + 1 - {square}"),
            };
            let [open, close] =
                if kernel % 2 == 0 { ["CF_LOOP(100, j, SEQUENTIAL)\n", ""] } else { ["", "CF_ENDLOOP\n"] };
            text += &format!(
                "{open}CF_IF(j * j % 5 != 2)\nTG_KERNEL(K{kernel}, rw, 1, AIV, 0)\nMC_BIND(K{kernel}, 0, T, 16 * ({bytes}), 16)\nCF_ENDIF\n{close}"
            );
        }
        let found = findings(&format!("{text}{close}TG_END(G)\n"));
        let said: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        let is_expected = matches!(said[..], [said] if said.contains("`K7`") && said.contains("`K18`"));
        assert!(is_expected, "{said:?}");
    }
}
