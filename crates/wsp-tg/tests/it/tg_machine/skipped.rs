//! Loops without rounds, and loops in arms that are never taken: the order through them, against an oracle that lays rounds out one by one.

use crate::randomised::{Numbers, cases};
use crate::tg_lint::{findings, kernels, read};
use std::collections::BTreeSet;
use wsp_tg::{ElaborateOptions, GraphPlan, elaborate};

#[derive(Clone, Copy, Debug)]
enum Count {
    Number(u64),
    /// The variable of a loop around it.
    Variable(usize),
    /// 1 less the variable.
    Rest(usize),
}

#[derive(Debug)]
enum Item {
    Kernel(usize),
    Loop {
        of: usize,
        count: Count,
        is_sequential: bool,
        body: Vec<Item>,
    },
    /// An arm, taken or not.
    Arm(bool, Vec<Item>),
}

/// A kernel in one round of the loops around it.
struct Instance {
    kernel: usize,
    /// Loops around it that are unrolled, with their rounds; one that is skipped has the number 0.
    rounds: Vec<(usize, u64)>,
    node: usize,
    runs: bool,
}

#[derive(Default)]
struct Random {
    text: String,
    kernels: usize,
    loops: usize,
    nodes: usize,
    instances: Vec<Instance>,
}

impl Random {
    /// Items of a level; loops that run round by round have kernels alone.
    fn items(&mut self, numbers: &mut Numbers, around: &mut Vec<usize>, is_sequential: bool) -> Vec<Item> {
        let count = 1 + numbers.below(3);
        let mut items = Vec::new();
        for _ in 0..count {
            match numbers.below(if is_sequential || around.len() > 2 { 1 } else { 6 }) {
                0..=2 => {
                    self.text += &format!("TG_KERNEL(K{}, e, 1, AIV, 0)\n", self.kernels);
                    items.push(Item::Kernel(self.kernels));
                    self.kernels += 1;
                }
                3..=4 => {
                    let outer = around.last().copied();
                    let count = match (numbers.below(5), outer) {
                        (0, _) => Count::Number(0),
                        (1..=2, Some(outer)) => Count::Variable(outer),
                        (3, Some(outer)) => Count::Rest(outer),
                        _ => Count::Number(2),
                    };
                    let rounds = match count {
                        Count::Number(rounds) => rounds.to_string(),
                        Count::Variable(of) => format!("i{of}"),
                        Count::Rest(of) => format!("1 - i{of}"),
                    };
                    let (of, is_sequential) = (self.loops, numbers.below(6) == 0);
                    self.loops += 1;
                    let mode = if is_sequential { ", SEQUENTIAL" } else { "" };
                    self.text += &format!("CF_LOOP({rounds}, i{of}{mode})\n");
                    around.push(of);
                    let body = self.items(numbers, around, is_sequential);
                    around.pop();
                    self.text += "CF_ENDLOOP\n";
                    items.push(Item::Loop { of, count, is_sequential, body });
                }
                _ => {
                    let is_taken = numbers.below(2) == 0;
                    self.text += &format!("CF_IF({})\n", u8::from(is_taken));
                    items.push(Item::Arm(is_taken, self.items(numbers, around, is_sequential)));
                    self.text += "CF_ENDIF\n";
                }
            }
        }
        items
    }

    fn node(&mut self) -> usize {
        self.nodes += 1;
        self.nodes - 1
    }

    /// Lays items out in a round of the loops around them; `inside` is the node of the loop that runs round by round around them.
    fn lay(&mut self, items: &[Item], rounds: &mut Vec<(usize, u64)>, inside: Option<usize>, runs: bool) {
        for item in items {
            match item {
                Item::Kernel(kernel) => {
                    let node = inside.unwrap_or_else(|| self.node());
                    let (kernel, rounds) = (*kernel, rounds.clone());
                    self.instances.push(Instance { kernel, rounds, node, runs });
                }
                Item::Arm(is_taken, body) => self.lay(body, rounds, inside, runs && *is_taken),
                Item::Loop { of, count, is_sequential, body } => {
                    let number = |of: usize| rounds.iter().find(|round| round.0 == of).map_or(0, |at| at.1);
                    let count = match *count {
                        Count::Number(count) => count,
                        Count::Variable(of) => number(of),
                        Count::Rest(of) => 1 - number(of),
                    };
                    let runs = runs && count > 0;
                    if *is_sequential {
                        let node = self.node();
                        self.lay(body, rounds, Some(node), runs);
                        continue;
                    }
                    for round in 0..if runs { count } else { 1 } {
                        rounds.push((*of, round));
                        self.lay(body, rounds, inside, runs);
                        rounds.pop();
                    }
                }
            }
        }
    }

    /// Whether a kernel stands in the same loop that runs round by round as one of another.
    fn shares(&self, of: &Instance, kernel: usize) -> bool {
        self.instances.iter().any(|other| other.kernel == kernel && other.node == of.node)
    }

    /// Of each node which others come behind it, where these edges are declared.
    fn behind(&self, edges: &[[usize; 2]]) -> Vec<BTreeSet<usize>> {
        let mut behind = vec![BTreeSet::new(); self.nodes];
        for [from, to] in edges {
            let of = |kernel: usize| self.instances.iter().filter(move |of| of.kernel == kernel);
            for (a, b) in of(*from).flat_map(|a| of(*to).map(move |b| (a, b))) {
                let is_one_round =
                    a.rounds.iter().all(|of| b.rounds.iter().all(|to| of.0 != to.0 || of.1 == to.1));
                if is_one_round && a.node != b.node {
                    behind[a.node].insert(b.node);
                }
            }
        }
        for middle in 0..self.nodes {
            let more = behind[middle].clone();
            for of in behind.iter_mut().filter(|of| of.contains(&middle)) {
                of.extend(&more);
            }
        }
        behind
    }
}

/// The node of a kernel among those of the graph itself: the outermost loop around it that runs round by round.
fn top(graph: &GraphPlan, mut node: u32) -> u32 {
    let of = |node: u32| {
        graph.records.loops.iter().find(|of| (of.body.first..of.body.first + of.body.len).contains(&node))
    };
    while let Some(outer) = of(node) {
        node = outer.node;
    }
    node
}

fn reached(graph: &GraphPlan, from: u32) -> BTreeSet<u32> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(node) = open.pop() {
        open.extend(graph.succs_of(node).iter().filter(|next| seen.insert(**next)));
    }
    seen
}

/// ISA-CF-02, ISA-CF-03: a loop without rounds is to the order one round that is skipped, and what has no order in a round gets none by it.
#[test]
fn an_order_through_loops_without_rounds_is_that_of_a_round_that_is_skipped() {
    let (mut cyclic, mut skipped) = (0, 0);
    for seed in 0..cases(600) {
        let mut numbers = Numbers::of_seed(seed);
        let mut random = Random::default();
        let items = random.items(&mut numbers, &mut Vec::new(), false);
        random.lay(&items, &mut Vec::new(), None, true);
        let mut edges = Vec::new();
        for (a, b) in (0..random.kernels).flat_map(|a| (0..random.kernels).map(move |b| (a, b))) {
            let of = if a < b { 3 } else { 12 };
            // The order within a loop that runs round by round is not looked at.
            let is_within = a > b && random.instances.iter().any(|of| of.kernel == a && random.shares(of, b));
            if a != b && numbers.below(of) == 0 && !is_within {
                edges.push([a, b]);
                random.text += &format!("TG_DEPEND(K{a}, K{b})\n");
            }
        }
        let text = format!("TG_BEGIN(G)\n{}TG_END(G)\n", random.text);
        let behind = random.behind(&edges);
        let plan = elaborate(&read(&text).0, &kernels(), &ElaborateOptions::default());
        let is_cyclic = behind.iter().enumerate().any(|(node, behind)| behind.contains(&node));
        assert_eq!(plan.is_err(), is_cyclic, "{seed}\n{text}");
        cyclic += usize::from(is_cyclic);
        let Ok(plan) = plan else { continue };
        let graph = &plan.graphs[0];
        let node_of = |of: &Instance| {
            let mut alike = graph.kernels.iter().filter(|kernel| {
                let numbers = graph.fixed_of(kernel.fixed).iter().map(|(_, number)| *number as u64);
                graph.defs[kernel.def as usize].name == format!("K{}", of.kernel)
                    && numbers.eq(of.rounds.iter().map(|round| round.1))
            });
            alike.next().map(|kernel| top(graph, kernel.node))
        };
        let nodes: Vec<Option<u32>> = random.instances.iter().map(node_of).collect();
        for (a, from) in random.instances.iter().zip(&nodes) {
            assert_eq!(a.runs, from.is_some(), "{seed}: K{} {:?}\n{text}", a.kernel, a.rounds);
            let Some(from) = *from else { continue };
            let found = reached(graph, from);
            for (b, to) in random.instances.iter().zip(&nodes) {
                let Some(to) = to.filter(|to| *to != from) else { continue };
                let is_behind = behind[a.node].contains(&b.node);
                let ends = [a, b].map(|of| format!("K{} {:?}", of.kernel, of.rounds));
                assert_eq!(found.contains(&to), is_behind, "{seed}: {ends:?}\n{text}");
            }
        }
        skipped += usize::from(nodes.contains(&None));
    }
    println!("{cyclic} cycles, {skipped} units with what is skipped");
    assert!(cyclic > 0 && skipped > 0);
}

/// ISA-SY-03: members of a gang that are skipped with their loop are complete one by one, so that what waits for one does not wait for the others.
#[test]
fn a_gang_in_a_loop_without_rounds_orders_nothing() {
    let unit = |count: &str, edges: &str| {
        let kernel =
            |name: &str, entry: &str, binds: &str| format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\n{binds}");
        let (a, b) = (kernel("A", "w", "MC_BIND(A, 0, T)\n"), kernel("B", "r", "MC_BIND(B, 0, T)\n"));
        let members = kernel("M", "e", "") + &kernel("N", "e", "");
        format!(
            "extern T: u8[64]\nTG_BEGIN(G)\nCF_LOOP(2, i)\n{a}CF_LOOP({count}, j)\n{members}CF_ENDLOOP\n{b}CF_ENDLOOP\nSY_BARRIER({{M, N}}, R)\n{edges}TG_END(G)\nTG_LAUNCH(G, default)\n"
        )
    };
    let races = |text: &str| findings(text).iter().filter(|found| found.code.0 == 1501).count();
    let (by_gang, through) =
        ("TG_DEPEND(A, M, DATA)\nTG_DEPEND(N, B, DATA)\n", "TG_DEPEND(A, M, DATA)\nTG_DEPEND(M, B, DATA)\n");
    assert_eq!(["i + 1", "2", "i", "0"].map(|count| races(&unit(count, by_gang))), [0, 0, 1, 1]);
    assert_eq!(["i + 1", "2", "i", "0"].map(|count| races(&unit(count, through))), [0; 4]);
}

/// A cycle of what never runs is reported at its graph.
#[test]
fn a_cycle_in_an_arm_that_is_never_taken_is_told_at_its_graph() {
    let text = "TG_BEGIN(H)\nTG_KERNEL(Z, e, 1, AIV, 0)\nTG_END(H)\nTG_BEGIN(G)\nCF_IF(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nCF_ENDIF\nTG_DEPEND(A, B)\nTG_DEPEND(B, A)\nTG_END(G)\n";
    let (mut module, _) = read(text);
    let found =
        |module: &_| elaborate(module, &kernels(), &ElaborateOptions::default()).expect_err("it is a cycle");
    let label = found(&module)[0].primary.as_ref().map(|label| label.span);
    assert_eq!(label, Some(module.spans[3]));
    module.spans.clear();
    assert!(found(&module)[0].notes.contains(&"it is instruction 3 of the unit".to_owned()));
}
