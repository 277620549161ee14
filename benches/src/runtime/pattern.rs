//! The graphs that every program of `cargo xtask bench runtime` builds: the definitions of `benches/peers/README.md`.
//!
//! Uses only the standard library: the rayon peer compiles this file too.

/// Multiplier of the linear congruential generator.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
/// Increment of the linear congruential generator.
const INCREMENT: u64 = 1_442_695_040_888_963_407;
/// Seed of [`random_layered`].
const LAYERED_SEED: u64 = 1;
/// Seed of [`task_bench`].
const TASK_BENCH_SEED: u64 = 2;
/// Layers of [`random_layered`], unless it has fewer tasks.
const LAYERS: u32 = 100;
/// Most draws of one task of [`random_layered`].
const DRAWS: u32 = 7;

/// The most predecessors that a task of these graphs has.
pub(crate) const MAX_PREDECESSORS: usize = DRAWS as usize;

/// The seven Task Bench patterns.
pub(crate) const TASK_BENCH: [&str; 7] =
    ["trivial", "no_comm", "stencil_1d", "fft", "tree", "random_nearest", "spread"];

/// A graph whose tasks are numbered in an order that its edges respect.
pub(crate) trait Pattern: Sync {
    /// How many tasks it has.
    fn tasks(&self) -> u32;

    /// Tells which tasks, all smaller, `task` waits for.
    fn predecessors(&self, task: u32, found: impl FnMut(u32));
}

/// No edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Independent(pub(crate) u32);

impl Pattern for Independent {
    fn tasks(&self) -> u32 {
        self.0
    }

    fn predecessors(&self, _: u32, _: impl FnMut(u32)) {}
}

/// Task i waits for task i - 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain(pub(crate) u32);

impl Pattern for Chain {
    fn tasks(&self) -> u32 {
        self.0
    }

    fn predecessors(&self, task: u32, mut found: impl FnMut(u32)) {
        if task > 0 {
            found(task - 1);
        }
    }
}

/// Task (row, column) of a square waits for those above it and left of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wavefront {
    side: u32,
}

impl Wavefront {
    /// The largest square of at most `size` tasks.
    pub(crate) fn new(size: u32) -> Wavefront {
        Wavefront { side: size.isqrt() }
    }
}

impl Pattern for Wavefront {
    fn tasks(&self) -> u32 {
        self.side * self.side
    }

    fn predecessors(&self, task: u32, mut found: impl FnMut(u32)) {
        if task >= self.side {
            found(task - self.side);
        }
        if !task.is_multiple_of(self.side) {
            found(task - 1);
        }
    }
}

/// Predecessors written out: those of task i are `list[first[i]..first[i + 1]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listed {
    first: Vec<u32>,
    list: Vec<u32>,
}

impl Listed {
    fn new() -> Listed {
        Listed { first: vec![0], list: Vec::new() }
    }

    /// A graph with the tasks and edges of `pattern`.
    pub(crate) fn of(pattern: &impl Pattern) -> Listed {
        let mut graph = Listed::new();
        for task in 0..pattern.tasks() {
            pattern.predecessors(task, |p| graph.add(p));
            graph.close();
        }
        graph
    }

    /// Adds a predecessor of the task being listed, unless it has it already.
    fn add(&mut self, predecessor: u32) {
        let begin = self.first.last().map_or(0, |&at| at as usize);
        if !self.list[begin..].contains(&predecessor) {
            self.list.push(predecessor);
        }
    }

    /// Ends the list of the present task.
    fn close(&mut self) {
        self.first.push(u32::try_from(self.list.len()).expect("a graph should have fewer than 2^32 edges"));
    }
}

impl Pattern for Listed {
    fn tasks(&self) -> u32 {
        u32::try_from(self.first.len() - 1).expect("a graph should have fewer than 2^32 tasks")
    }

    fn predecessors(&self, task: u32, found: impl FnMut(u32)) {
        let range = self.first[task as usize] as usize..self.first[task as usize + 1] as usize;
        self.list[range].iter().copied().for_each(found);
    }
}

/// How many edges a graph has.
pub(crate) fn edges(pattern: &impl Pattern) -> u64 {
    let mut edges = 0;
    for task in 0..pattern.tasks() {
        pattern.predecessors(task, |_| edges += 1);
    }
    edges
}

struct Lcg(u64);

impl Lcg {
    /// A number below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let draw = (self.0 >> 33) % u64::from(bound);
        u32::try_from(draw).expect("a remainder should be below its modulus")
    }
}

/// Layers of `max(1, size / 100)` tasks; a task has 1 to 7 draws from the layer before it.
pub(crate) fn random_layered(size: u32) -> Listed {
    let (mut graph, mut lcg) = (Listed::new(), Lcg(LAYERED_SEED));
    let width = (size / LAYERS).max(1);
    for task in 0..size {
        let layer = task / width;
        if layer > 0 {
            for _ in 0..1 + lcg.below(DRAWS) {
                graph.add((layer - 1) * width + lcg.below(width));
            }
        }
        graph.close();
    }
    graph
}

/// Points of step `step` of a Task Bench pattern.
fn points(pattern: &str, width: u32, step: u32) -> u32 {
    if pattern == "tree" && step < 31 { width.min(1 << step) } else { width }
}

/// One of the patterns of [`TASK_BENCH`], with `width` points and `steps` steps.
pub(crate) fn task_bench(pattern: &str, width: u32, steps: u32) -> Listed {
    let (mut graph, mut lcg) = (Listed::new(), Lcg(TASK_BENCH_SEED));
    let mut before = 0;
    for step in 0..steps {
        let here = graph.tasks();
        let (narrow, wide) = (points(pattern, width, step.saturating_sub(1)), points(pattern, width, step));
        for point in 0..wide {
            bench_predecessors(pattern, width, step, narrow < wide, point, &mut lcg, |other| {
                if step > 0 && (0..i64::from(width)).contains(&other) {
                    graph.add(before + u32::try_from(other).expect("a point should be below the width"));
                }
            });
            graph.close();
        }
        before = here;
    }
    graph
}

/// The points of the step before that a point of a Task Bench pattern waits for; those out of range do not count.
fn bench_predecessors(
    pattern: &str,
    width: u32,
    step: u32,
    widens: bool,
    point: u32,
    lcg: &mut Lcg,
    mut add: impl FnMut(i64),
) {
    let p = i64::from(point);
    match pattern {
        "no_comm" => add(p),
        "stencil_1d" => (p - 1..=p + 1).for_each(add),
        "fft" => {
            let levels = width.next_power_of_two().trailing_zeros();
            let reach = if step > 0 && levels > 0 { 1i64 << ((step - 1) % levels) } else { 0 };
            [p - reach, p, p + reach].into_iter().for_each(add);
        }
        "tree" => add(if widens { p / 2 } else { p }),
        "random_nearest" => {
            for other in p - 1..=p + 1 {
                if lcg.below(4) == 0 || other == p {
                    add(other);
                }
            }
        }
        "spread" => {
            for k in 0..3 {
                let shift = if k > 0 { step % 3 } else { 0 };
                add(i64::from((point + k * width / 3 + shift) % width));
            }
        }
        _ => {}
    }
}

/// What a task computes in a checked run: a function of its number and of what its predecessors computed.
pub(crate) fn order_value(pattern: &impl Pattern, task: u32, value: impl Fn(u32) -> u64) -> u64 {
    let mut own = (u64::from(task) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    pattern.predecessors(task, |p| {
        own = (own ^ value(p).rotate_left(7)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    });
    own
}

/// One number for all values of a checked run.
pub(crate) fn checksum(values: impl Iterator<Item = u64>) -> u64 {
    let weigh = |(i, value): (u64, u64)| value.wrapping_mul(2 * i + 1);
    (0..).zip(values).map(weigh).fold(0, u64::wrapping_add)
}

/// The values of all tasks, computed in the order of their numbers.
pub(crate) fn sequential(pattern: &impl Pattern) -> Vec<u64> {
    let mut values = vec![0; pattern.tasks() as usize];
    for task in 0..pattern.tasks() {
        values[task as usize] = order_value(pattern, task, |p| values[p as usize]);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(pattern: &impl Pattern) -> Vec<Vec<u32>> {
        let list = |task| {
            let mut found = Vec::new();
            pattern.predecessors(task, |p| found.push(p));
            found
        };
        (0..pattern.tasks()).map(list).collect()
    }

    #[test]
    fn edges_point_forward_and_are_distinct() {
        let layered = random_layered(3000);
        for (task, list) in (0u32..).zip(lists(&layered)) {
            assert!(list.len() <= MAX_PREDECESSORS && (task < 30) == list.is_empty());
            assert!(list.iter().all(|&p| p / 30 + 1 == task / 30), "{task}: {list:?}");
            assert!((1..list.len()).all(|i| !list[..i].contains(&list[i])));
        }
        for pattern in TASK_BENCH {
            for (task, list) in (0u32..).zip(lists(&task_bench(pattern, 16, 40))) {
                assert!(list.iter().all(|&p| p < task) && list.len() <= 3, "{pattern} {task}: {list:?}");
            }
        }
    }

    #[test]
    fn small_graphs_are_as_defined() {
        assert_eq!(lists(&Wavefront::new(11)), lists(&Wavefront { side: 3 }));
        assert_eq!(lists(&Wavefront::new(4)), [vec![], vec![0], vec![0], vec![1, 2]]);
        assert_eq!(lists(&Chain(3)), [vec![], vec![0], vec![1]]);
        assert_eq!(edges(&Independent(5)), 0);
        assert_eq!(lists(&task_bench("stencil_1d", 3, 2))[3..], [vec![0, 1], vec![0, 1, 2], vec![1, 2]]);
        assert_eq!(lists(&task_bench("tree", 4, 4)).len(), 1 + 2 + 4 + 4);
        assert_eq!(
            lists(&task_bench("tree", 4, 4))[3..],
            [vec![1], vec![1], vec![2], vec![2], vec![3], vec![4], vec![5], vec![6]]
        );
        assert_eq!(lists(&task_bench("fft", 4, 3))[8..], [vec![4, 6], vec![5, 7], vec![4, 6], vec![5, 7]]);
        assert_eq!(
            lists(&task_bench("spread", 4, 2))[4..],
            [vec![0, 2, 3], vec![1, 3, 0], vec![2, 0, 1], vec![3, 1, 2]]
        );
    }

    #[test]
    fn a_checksum_sees_a_task_that_ran_too_early() {
        let right = sequential(&Chain(4));
        let mut wrong = right.clone();
        wrong[2] = order_value(&Chain(4), 2, |_| 0);
        assert_ne!(checksum(right.into_iter()), checksum(wrong.into_iter()));
    }
}
