//! Arms of different conditions that exclude each other, against an oracle that tries the values: which order bytes make, and what the checker reports of the rest.

use crate::randomised::{Numbers, cases};
use crate::tg_lint::{kernels, read};
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;
use wsp_tg::{ElaborateOptions, GraphPlan, LintOptions, check, elaborate};

/// Rows of the tensor, of 4 bytes each.
const ROWS: u64 = 6;
/// Conditions on a scalar `N` from 0 to 3, and where they hold.
const CONDITIONS: [(&str, [bool; 4]); 8] = [
    ("N == 1", [false, true, false, false]),
    ("N == 2", [false, false, true, false]),
    ("N > 1", [false, false, true, true]),
    ("N <= 1", [true, true, false, false]),
    ("N", [false, true, true, true]),
    ("N != 2", [true, true, false, true]),
    ("N > 1 && N != 3", [false, false, true, false]),
    ("load(P, 4) == 7", [true; 4]),
];

/// A kernel or a copy: the rows that it reads and writes, and the values with which it runs.
struct Node {
    name: String,
    reads: [u64; 2],
    writes: [u64; 2],
    runs: [bool; 4],
}

impl Node {
    fn meets(&self, other: &Node) -> bool {
        let meet = |a: [u64; 2], b: [u64; 2]| a[0] < b[1] && b[0] < a[1];
        meet(self.writes, other.writes) || meet(self.writes, other.reads) || meet(self.reads, other.writes)
    }

    fn is_copy(&self) -> bool {
        self.name.starts_with("copy")
    }
}

#[derive(Default)]
struct Random {
    text: String,
    nodes: Vec<Node>,
    copies: usize,
}

impl Random {
    fn items(&mut self, numbers: &mut Numbers, depth: u64, runs: [bool; 4]) {
        for _ in 0..1 + numbers.below(3) {
            match numbers.below(8) {
                0..=1 => {
                    let name = format!("K{}", self.nodes.len());
                    let [from, to] = [numbers.below(ROWS), numbers.below(ROWS)];
                    self.text += &format!(
                        "TG_KERNEL({name}, f, 1, AIV, 0)\nMC_BIND({name}, 0, T, {}, 4)\nMC_BIND({name}, 1, T, {}, 4)\n",
                        4 * from,
                        4 * to
                    );
                    for earlier in self.nodes.iter().rev().take(3) {
                        if numbers.below(4) == 0 {
                            self.text += &format!("TG_DEPEND({}, {name})\n", earlier.name);
                        }
                    }
                    let [reads, writes] = [from, to].map(|row| [row, row + 1]);
                    self.nodes.push(Node { name, reads, writes, runs });
                }
                2..=3 => {
                    let (rows, from) = (1 + numbers.below(2), numbers.below(2));
                    let to = from + rows + numbers.below(2);
                    self.text += &format!("MC_COPY(T, T, {}, {}, {})\n", 4 * rows, 4 * from, 4 * to);
                    let name = format!("copy.{}", self.copies);
                    self.copies += 1;
                    let [reads, writes] = [from, to].map(|row| [row, row + rows]);
                    self.nodes.push(Node { name, reads, writes, runs });
                }
                _ if depth < 2 => {
                    let (condition, holds) = CONDITIONS[numbers.below(CONDITIONS.len() as u64) as usize];
                    let both = |is: bool| std::array::from_fn(|n| runs[n] && holds[n] == is);
                    self.text += &format!("CF_IF({condition})\n");
                    self.items(numbers, depth + 1, both(true));
                    if numbers.below(3) == 0 {
                        self.text += "CF_ELSE\n";
                        self.items(numbers, depth + 1, both(false));
                    }
                    self.text += "CF_ENDIF\n";
                }
                _ => {}
            }
        }
    }
}

/// Nodes that come behind a node.
fn reached(graph: &GraphPlan, from: u32) -> BTreeSet<u32> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        open.extend(graph.succs_of(node).iter().filter(|next| seen.insert(**next)));
    }
    seen
}

/// Nodes of a kernel or copy, by round of the loop around it.
fn nodes_of(graph: &GraphPlan, of: &Node) -> Vec<u32> {
    let kernels = graph.kernels.iter().filter(|kernel| graph.defs[kernel.def as usize].name == of.name);
    let copies = graph.copies.iter().filter(|copy| format!("copy.{}", copy.copy) == of.name);
    kernels.map(|kernel| kernel.node).chain(copies.map(|copy| copy.node)).collect()
}

/// Pairs of kernels that are told to be in no order.
fn told(found: &[Diagnostic]) -> BTreeSet<[String; 2]> {
    let races = found.iter().filter(|finding| finding.code.0 == 1501);
    let names = races.map(|finding| {
        let mut names = finding.message.split('`').skip(1).step_by(2).take(2).map(str::to_owned);
        let mut names = [(); 2].map(|()| names.next().expect("it names two kernels"));
        names.sort();
        names
    });
    names.collect()
}

/// ISA-CF-01, ISA-MC-09: whatever the value, copies are in program order with what runs beside them and touches their bytes, and kernels that nothing orders are told.
#[test]
fn arms_that_exclude_each_other_are_in_no_order_by_bytes_and_others_are() {
    let (mut racy, mut free) = (0, 0);
    let all = cases(200);
    for seed in 0..all {
        let mut numbers = Numbers::of_seed(seed);
        let mut random = Random::default();
        random.items(&mut numbers, 0, [true; 4]);
        random.items(&mut numbers, 0, [true; 4]);
        let (open, close) = [("", ""), ("CF_LOOP(2, i)\n", "CF_ENDLOOP\n")][numbers.below(2) as usize];
        let text = format!(
            "arg N: u8\nextern P: i32[4]\nextern T: u8[{}]\nTG_BEGIN(G)\n{open}{}{close}TG_END(G)\n",
            4 * ROWS,
            random.text
        );
        let module = read(&text).0;
        let plan = elaborate(&module, &kernels(), &ElaborateOptions::default()).expect("edges lead on");
        let graph = &plan.graphs[0];
        let nodes: Vec<Vec<u32>> = random.nodes.iter().map(|of| nodes_of(graph, of)).collect();
        let behind: Vec<Vec<BTreeSet<u32>>> =
            nodes.iter().map(|of| of.iter().map(|node| reached(graph, *node)).collect()).collect();
        let any = check(&module, &kernels(), &LintOptions::default(), &[]);
        for n in 0..4 {
            let mut races = BTreeSet::new();
            for (at, a) in random.nodes.iter().enumerate() {
                for (to, b) in random.nodes.iter().enumerate().skip(at + 1) {
                    if !(a.runs[n] && b.runs[n] && a.meets(b)) {
                        continue;
                    }
                    let is_ordered = behind[at].iter().zip(&nodes[to]).all(|(behind, b)| behind.contains(b));
                    assert!(
                        is_ordered || !(a.is_copy() || b.is_copy()),
                        "{seed}: {}, {}\n{text}",
                        a.name,
                        b.name
                    );
                    let is_behind = behind[to].iter().zip(&nodes[at]).all(|(behind, a)| behind.contains(a));
                    if !is_ordered && !is_behind {
                        let mut names = [a.name.clone(), b.name.clone()];
                        names.sort();
                        races.insert(names);
                    }
                }
            }
            let found = check(&module, &kernels(), &LintOptions::default(), &[Some(n as i64)]).findings;
            let found = told(&found);
            let is_told = found.is_subset(&races) && found.is_empty() == races.is_empty();
            // What memory decides is open.
            assert!(is_told || text.contains("load"), "{seed}, N = {n}: {found:?}, but {races:?}\n{text}");
            let is_told = races.is_empty() || !found.is_empty();
            assert!(
                is_told && (races.is_empty() || !told(&any.findings).is_empty()),
                "{seed}: {races:?}\n{text}"
            );
            racy += usize::from(!races.is_empty());
        }
        let apart = |a: &Node, b: &Node| (0..4).all(|n| !(a.runs[n] && b.runs[n]));
        free += usize::from(random.nodes.iter().enumerate().any(|(at, a)| {
            let mut others = random.nodes.iter().enumerate().skip(at + 1);
            others.any(|(to, b)| {
                let is_free = behind[at].iter().zip(&nodes[to]).all(|(behind, b)| !behind.contains(b));
                (a.is_copy() || b.is_copy()) && a.meets(b) && apart(a, b) && is_free
            })
        }));
    }
    println!("{all} cases: {racy} races, {free} units with arms in no order");
    assert!(racy > 0 && free > 0);
}

/// ISA-CF-01: an order by bytes between arms of which a launch runs at most one closes no cycle; one between others does.
#[test]
fn a_cycle_needs_arms_that_run_in_one_launch() {
    let codes = |first: &str, second: &str| -> Vec<u16> {
        let kernel = |name: &str, tensor: &str| {
            format!("TG_KERNEL({name}, w, 1, AIV, 0)\nMC_BIND({name}, 0, {tensor})\n")
        };
        let text = format!(
            "arg N: i64\nhost H: i64\nextern P: i32[4]\nextern Y: u8[16]\nextern Z: u8[16]\nTG_BEGIN(G)\nCF_IF({first})\n{}CF_ENDIF\nCF_IF({second})\nMC_COPY(Y, Z, 16)\nCF_ENDIF\n{}TG_DEPEND(B, A)\nTG_END(G)\n",
            kernel("A", "Z"),
            kernel("B", "Y")
        );
        let module = read(&text).0;
        let found = check(&module, &kernels(), &LintOptions::default(), &[]).findings;
        let laid = elaborate(&module, &kernels(), &ElaborateOptions::default()).err().unwrap_or_default();
        let all = found.iter().chain(&laid).map(|found| found.code.0);
        all.filter(|code| [1500, 1530].contains(code)).collect()
    };
    for (first, second) in [
        ("N == 1", "N == 2"),
        ("N > 3", "N <= 3"),
        ("N < 3", "2 * N > 5 && H == 0"),
        ("H == 1", "H == 2"),
        ("iteration == 0", "iteration > 0"),
        ("device == 0", "device != 0"),
        ("load(P) > 1", "load(P) < 1"),
        ("load(P, 4) == 1", "load(P, 4) == 2"),
    ] {
        assert_eq!(codes(first, second), [0; 0], "{first}, {second}");
    }
    for (first, second) in [
        ("N == 1", "N < 2"),
        ("N > 3", "H <= 3"),
        ("iteration == 0", "N > 0"),
        ("load(P) == 1", "load(P, 4) == 2"),
        ("load(Y, 0, i32) == 1", "load(Y, 0, i32) == 2"),
    ] {
        assert_eq!(codes(first, second), [1500, 1530], "{first}, {second}");
    }
}

/// ISA-FE-04: what stands in one arm is in program order, also in an arm that no launch runs.
#[test]
fn copies_in_an_arm_that_never_runs_are_in_order() {
    let arms = [
        ("CF_IF(load(L, 0, i64) == 1)\nCF_IF(load(L, 0, i64) == 2)", "CF_ENDIF\nCF_ENDIF"),
        (
            "CF_IF(load(L, 0, i64) == 1)\nMC_COPY(X, Z, 16)\nCF_ELSE\nCF_IF(load(L, 0, i64) == 1)",
            "CF_ENDIF\nCF_ENDIF",
        ),
        ("CF_IF(N == 1)\nCF_IF(N == 2)", "CF_ENDIF\nCF_ENDIF"),
    ];
    for (opens, closes) in arms {
        let text = format!(
            "arg N: i64\nextern L: i64[4]\nextern X: u8[16]\nextern Y: u8[16]\nextern Z: u8[16]\nTG_BEGIN(G)\nMC_COPY(X, Y, 16)\n{opens}\nMC_COPY(X, Y, 16)\nMC_COPY(Y, Z, 16)\n{closes}\nTG_END(G)\n"
        );
        let module = read(&text).0;
        let found = check(&module, &kernels(), &LintOptions::default(), &[]).findings;
        assert!(found.iter().all(|found| found.code.0 != 1501), "{opens}: {found:?}");
        assert!(elaborate(&module, &kernels(), &ElaborateOptions::default()).is_ok(), "{opens}");
    }
}

/// ISA-FE-04: copies in arms that exclude each other meet in no launch, whatever the arms load.
#[test]
fn copies_in_arms_that_exclude_each_other_are_no_race() {
    let codes = |first: &str, second: &str| -> Vec<u16> {
        let text = format!(
            "extern L: i64[4]\nextern X: u8[16]\nextern Z: u8[16]\nTG_BEGIN(G)\nCF_IF({first})\nMC_COPY(X, Z, 16)\nCF_ENDIF\n{second}\nMC_COPY(X, Z, 8)\nCF_ENDIF\nTG_END(G)\n"
        );
        let module = read(&text).0;
        let found = check(&module, &kernels(), &LintOptions::default(), &[]).findings;
        found.iter().map(|found| found.code.0).filter(|code| *code == 1501).collect()
    };
    for second in
        ["CF_IF(load(L, 0, i64) != 1)", "CF_IF(load(L, 0, i64) == 1)\nCF_ELSE", "CF_IF(load(L, 0, i64) == 2)"]
    {
        assert_eq!(codes("load(L, 0, i64) == 1", second), [0; 0], "{second}");
    }
}
