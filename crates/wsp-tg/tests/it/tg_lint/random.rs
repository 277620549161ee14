//! Random graphs against an oracle that looks at all pairs.

use super::{findings, findings_with, repaired};
use proptest::prelude::*;

/// A random graph: kernels with a use of one of three tensors each, and edges forward.
#[derive(Clone, Debug)]
struct Random {
    /// Tensor, first byte, bytes, direction.
    uses: Vec<(usize, u32, u32, usize)>,
    /// From, to, whether it is a `DATA` edge.
    edges: Vec<(usize, usize, bool)>,
}

fn random() -> impl Strategy<Value = Random> {
    (2usize..14).prop_flat_map(|kernels| {
        let uses = proptest::collection::vec((0usize..3, 0u32..6, 1u32..4, 0usize..3), kernels);
        let edges = proptest::collection::vec((0..kernels, 0..kernels, any::<bool>()), 0..kernels * 2);
        (uses, edges).prop_map(|(uses, edges)| {
            let edges = edges.into_iter().filter(|(a, b, _)| a != b);
            Random { uses, edges: edges.map(|(a, b, data)| (a.min(b), a.max(b), data)).collect() }
        })
    })
}

impl Random {
    fn text(&self) -> String {
        let mut text = "extern T0: u8[16]\nextern T1: u8[16]\nextern T2: u8[16]\nTG_BEGIN(G)\n".to_owned();
        for (at, (tensor, low, size, entry)) in self.uses.iter().enumerate() {
            let entry = ["r", "w", "rw"][*entry];
            text += &format!(
                "TG_KERNEL(K{at}, {entry}, 1, AIV, 0)\nMC_BIND(K{at}, 0, T{tensor}, {low}, {size})\n"
            );
        }
        for (from, to, data) in &self.edges {
            let kind = if *data { "DATA" } else { "AFTER" };
            text += &format!("TG_DEPEND(K{from}, K{to}, {kind})\n");
        }
        text + "TG_END(G)\n"
    }

    /// Per pair of kernels whether the second comes after the first.
    fn after(&self) -> Vec<Vec<bool>> {
        let count = self.uses.len();
        let mut after = vec![vec![false; count]; count];
        for (from, to, _) in &self.edges {
            after[*from][*to] = true;
        }
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    after[from][to] |= after[from][middle] && after[middle][to];
                }
            }
        }
        after
    }

    fn meet(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.uses[a], self.uses[b]);
        x.0 == y.0 && x.1 < y.1 + y.2 && y.1 < x.1 + x.2
    }

    fn writes(&self, kernel: usize) -> bool {
        self.uses[kernel].3 != 0
    }
}

proptest! {
    /// ISA-TG-21, ISA-MC-12: a race is reported exactly when some pair is in no order, and then the proposed edges end all of them.
    #[test]
    fn races_of_random_graphs_are_those_of_all_pairs(graph in random()) {
        let (after, count) = (graph.after(), graph.uses.len());
        let race = (0..count).any(|a| (a + 1..count).any(|b| {
            graph.meet(a, b) && (graph.writes(a) || graph.writes(b)) && !after[a][b]
        }));
        let found = findings(&graph.text());
        prop_assert_eq!(found.iter().any(|finding| finding.code.0 == 1501), race);
        for finding in found.iter().filter(|finding| finding.code.0 == 1501) {
            // Every reported pair is one.
            let names: Vec<usize> = finding.message.split('`').skip(1).step_by(2).take(2)
                .map(|name| name[1..].parse().expect("a kernel's name should be K and a number")).collect();
            prop_assert!(graph.meet(names[0], names[1]) && !after[names[0]][names[1]], "{}", finding.message);
        }
        let mut text = graph.text();
        for _ in 0..20 {
            let found = findings(&text);
            if found.is_empty() {
                break;
            }
            text = repaired(&text, &found);
        }
        prop_assert!(findings(&text).is_empty(), "{}", text);
    }

    /// ISA-EM-04: of tensors with one writer, exactly those readers are told that no `DATA` edge of it leads to.
    #[test]
    fn visibility_in_random_graphs_is_that_of_the_rule(mut graph in random()) {
        let mut has_writer = [false; 3];
        for kernel in &mut graph.uses {
            let first = !std::mem::replace(&mut has_writer[kernel.0], true);
            kernel.3 = usize::from(first);
        }
        let (after, count) = (graph.after(), graph.uses.len());
        let mut expected = Vec::new();
        for writer in (0..count).filter(|kernel| graph.writes(*kernel)) {
            let reads = |reader: &usize| graph.meet(writer, *reader) && after[writer][*reader];
            let readers = (writer + 1..count).filter(reads);
            expected.extend(readers.map(|reader| (writer, reader)).filter(|&(writer, reader)| {
                !graph.edges.iter().any(|(from, to, data)| {
                    *data && *from == writer && (*to == reader || after[*to][reader])
                })
            }));
        }
        let mut told: Vec<(usize, usize)> = findings(&graph.text())
            .iter()
            .filter(|finding| matches!(finding.code.0, 1502 | 1503))
            .map(|finding| {
                let edge = finding.help[0].strip_prefix("TG_DEPEND(K").expect("an edge should be proposed");
                let mut ends = edge.split([',', ')']);
                let mut next = || ends.next().unwrap_or("").trim().trim_start_matches('K').parse::<usize>();
                (next().expect("a kernel"), next().expect("a kernel"))
            })
            .collect();
        told.sort_unstable();
        prop_assert_eq!(told, expected);
    }
}

/// A binding in loops: rounds of each loop and bytes from one to the next, the first byte of the first rounds, bytes.
#[derive(Clone, Debug)]
struct InLoops {
    loops: Vec<(i64, i64)>,
    begin: i64,
    size: i64,
}

fn in_loops() -> impl Strategy<Value = InLoops> {
    let loops = proptest::collection::vec((1i64..5, -4i64..5), 0..3);
    (loops, 0i64..40, 1i64..12).prop_map(|(loops, begin, size)| InLoops { loops, begin, size })
}

impl InLoops {
    /// First bytes in all rounds.
    fn begins(&self) -> Vec<i64> {
        self.loops.iter().fold(vec![self.begin], |begins, &(rounds, step)| {
            begins.iter().flat_map(|begin| (0..rounds).map(move |round| begin + round * step)).collect()
        })
    }

    fn meets(&self, other: &InLoops) -> bool {
        let (mine, others) = (self.begins(), other.begins());
        mine.iter().any(|a| others.iter().any(|b| *a < b + other.size && *b < a + self.size))
    }

    /// Moved up by so much that no round of it begins before byte 0.
    fn lifted(mut self) -> InLoops {
        self.begin += self.begins().into_iter().min().map_or(0, |least| (-least).max(0));
        self
    }

    fn text(&self, kernel: &str) -> String {
        let variable = |at: usize| format!("{}{at}", kernel.to_lowercase());
        let mut text: String = self
            .loops
            .iter()
            .enumerate()
            .map(|(at, loop_)| format!("CF_LOOP({}, {})\n", loop_.0, variable(at)))
            .collect();
        let terms: String = self
            .loops
            .iter()
            .enumerate()
            .map(|(at, loop_)| format!(" + {} * ({})", variable(at), loop_.1))
            .collect();
        text += &format!(
            "TG_KERNEL({kernel}, w, 1, AIV, 0)\nMC_BIND({kernel}, 0, T, {}{terms}, {})\n",
            self.begin, self.size
        );
        text + &"CF_ENDLOOP\n".repeat(self.loops.len())
    }
}

proptest! {
    /// ISA-MC-12: two kernels in loops of their own race if their bytes meet in some rounds. With one loop of several rounds that is known
    /// exactly; with more, what is not known is said.
    #[test]
    fn races_of_kernels_in_loops_are_those_of_all_rounds(a in in_loops(), b in in_loops()) {
        let (a, b) = (a.lifted(), b.lifted());
        let found = findings(&format!("extern T: u8[256]\nTG_BEGIN(G)\n{}{}TG_END(G)\n", a.text("A"), b.text("B")));
        let has = |code: u16| found.iter().any(|finding| finding.code.0 == code);
        let moving = a.loops.iter().chain(&b.loops).filter(|(rounds, step)| *rounds > 1 && *step != 0).count();
        match a.meets(&b) {
            true => prop_assert!(has(1501) || moving > 1 && (has(1519) || has(1522)), "{found:?}"),
            false => prop_assert!(!has(1501), "{found:?}"),
        }
    }

    /// ISA-MC-09: copies are in program order with whoever uses their bytes; other kernels are not by that.
    #[test]
    fn copies_in_random_graphs_are_in_program_order(
        steps in proptest::collection::vec((any::<bool>(), 0usize..3, 0usize..3, 0u32..6, 1u32..4), 2..12)
    ) {
        let mut text = "extern T0: u8[16]\nextern T1: u8[16]\nextern T2: u8[16]\nTG_BEGIN(G)\n".to_owned();
        // Of each step the tensors, bytes and whether it writes.
        let mut uses: Vec<Vec<(usize, u32, bool)>> = Vec::new();
        for (at, &(copies, from, to, low, _)) in steps.iter().enumerate() {
            if copies && from != to {
                text += &format!("MC_COPY(T{from}, T{to}, 4, {low}, {low})\n");
                uses.push(vec![(from, low, false), (to, low, true)]);
            } else {
                text += &format!("TG_KERNEL(K{at}, w, 1, AIV, 0)\nMC_BIND(K{at}, 0, T{to}, {low}, 4)\n");
                uses.push(vec![(to, low, true)]);
            }
        }
        let meet = |a: usize, b: usize| uses[a].iter().any(|x| uses[b].iter().any(|y| {
            x.0 == y.0 && (x.2 || y.2) && x.1 < y.1 + 4 && y.1 < x.1 + 4
        }));
        let is_copy = |at: usize| uses[at].len() == 2;
        let count = uses.len();
        let ordered = |a: usize, b: usize| a < b && (is_copy(a) || is_copy(b)) && meet(a, b);
        let mut after: Vec<Vec<bool>> =
            (0..count).map(|a| (0..count).map(|b| ordered(a, b)).collect()).collect();
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    after[from][to] |= after[from][middle] && after[middle][to];
                }
            }
        }
        let race = (0..count).any(|a| (a + 1..count).any(|b| meet(a, b) && !after[a][b]));
        let found = findings(&(text + "TG_END(G)\n"));
        prop_assert_eq!(found.iter().any(|finding| finding.code.0 == 1501), race, "{:?}", found);
    }
}

/// Conditions of two declared scalars, and of memory.
const CONDITIONS: [&str; 8] = ["n", "m", "n == 1", "n > 1", "n == m", "1", "0", "load(L, 0, i64)"];
/// The one of memory, which may have another value each time.
const LOADS: usize = 7;

/// Arms, each in the one before: its condition, and whether it is the one of `CF_IF`.
type Nested = Vec<(usize, bool)>;

fn nested() -> impl Strategy<Value = Nested> {
    proptest::collection::vec((0..CONDITIONS.len(), any::<bool>()), 0..3)
}

fn in_arms(arms: &Nested, body: &str) -> String {
    arms.iter().rev().fold(body.to_owned(), |body, &(condition, is_then)| {
        let otherwise = if is_then { "" } else { "CF_ELSE\n" };
        format!("CF_IF({})\n{otherwise}{body}CF_ENDIF\n", CONDITIONS[condition])
    })
}

/// Whether arms run, which memory may decide.
fn arms_run(arms: &Nested, [n, m]: [i64; 2], load: impl Fn(bool) -> bool) -> bool {
    arms.iter().all(|&(condition, is_then)| match condition {
        LOADS => load(is_then),
        _ => is_then == [n != 0, m != 0, n == 1, n > 1, n == m, true, false][condition],
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
    /// ISA-SY-03: a writer and a reader that only a gang in arms orders are a race where for some values the reader runs and the gang may not.
    #[test]
    fn races_behind_gangs_in_arms_are_those_of_some_values(
        gang in nested(),
        reader in nested(),
        scalars in [proptest::option::of(0i64..4), proptest::option::of(0i64..4)],
    ) {
        let body = "TG_KERNEL(W, e, 1, AIV, 0)\nTG_KERNEL(S, e, 1, AIV, 0)\nTG_DEPEND(P, W)\nSY_BARRIER({W, S}, R)\n";
        let user = "TG_KERNEL(Q, r, 1, AIV, 0)\nMC_BIND(Q, 0, T)\nTG_DEPEND(S, Q)\n";
        let text = format!(
            "arg n: i64\narg m: i64\nextern T: u8[64]\nextern L: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(P, w, 1, AIV, 0)\nMC_BIND(P, 0, T)\n{}{}TG_END(G)\nTG_LAUNCH(G, default)\n",
            in_arms(&gang, body), in_arms(&reader, user)
        );
        let values = |known: Option<i64>| known.map_or((0..4).collect::<Vec<i64>>(), |known| vec![known]);
        let race = values(scalars[0]).into_iter().any(|n| values(scalars[1]).into_iter().any(|m| {
            arms_run(&reader, [n, m], |_| true) && !arms_run(&gang, [n, m], |_| false)
        }));
        let found = findings_with(&text, &scalars).iter().any(|found| matches!(found.code.0, 1501 | 1522));
        prop_assert!(found || !race, "a race is missed: {}", text);
        if scalars.iter().all(Option::is_some) {
            prop_assert_eq!(found, race, "{}", text);
        }
    }
}
