//! The simulation against a list scheduler that shares no code with it, start for start, worker for worker.

use crate::infer_reference::{GRAPHS, edges, lines, tasks};
use crate::randomised::{Numbers, cases};
use std::collections::BTreeSet;
use wsp_core::{ExecPool, TaskId};
use wsp_runtime::infer::{Matching, RegionMap};
use wsp_runtime::simulate::{SimGraph, SimGraphBuilder, SimTaskSpec, Submission, simulate};
use wsp_runtime::{PoolSizes, Ready, RunConfig, Window};

/// Tasks, and pairs of which the second waits for the first, a smaller one.
struct Work {
    tasks: Vec<SimTaskSpec>,
    edges: Vec<(u32, u32)>,
    /// Cycles between the submissions of two tasks, and before the first.
    generation: u64,
}

/// How a list scheduler runs them.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// Vector workers, which have the first numbers, and cube workers; or as many that run everything.
    vector: usize,
    cube: usize,
    is_shared: bool,
    /// Most tasks that are submitted and not complete.
    window: usize,
    by_priority: bool,
}

/// When each task starts, and where: what becomes ready in a cycle queues by id, and goes to the idle worker of the smallest number that may run it.
fn list_schedule(work: &Work, machine: Machine) -> Vec<(u64, u32)> {
    let n = work.tasks.len();
    let (mut open, mut after) = (vec![0; n], vec![Vec::new(); n]);
    for &(a, b) in &work.edges {
        open[b as usize] += 1;
        after[a as usize].push(b as usize);
    }
    let mut begun = vec![(0, 0); n];
    let (mut now, mut newest, mut submitted, mut done) = (0, 0, 0, 0);
    let (mut queue, mut running) = (Vec::new(), BTreeSet::<(u64, usize, usize)>::new());
    let mut is_idle = vec![true; machine.vector + machine.cube];
    let kind = |task: usize| if machine.is_shared { ExecPool::Any } else { work.tasks[task].pool };
    loop {
        let mut arrived = Vec::new();
        while let Some(&(end, task, worker)) = running.first().filter(|first| first.0 == now) {
            running.remove(&(end, task, worker));
            is_idle[worker] = true;
            done += 1;
            for &next in &after[task] {
                open[next] -= 1;
                arrived.extend((open[next] == 0 && next < submitted).then_some(next));
            }
        }
        while submitted < n && submitted - done < machine.window && newest + work.generation <= now {
            arrived.extend((open[submitted] == 0).then_some(submitted));
            (newest, submitted) = (now, submitted + 1);
        }
        arrived.sort_unstable();
        queue.extend(arrived);
        // What any worker may run comes after what fewer may, or by priority of equal ones.
        let rank = |task: usize| if machine.by_priority { -work.tasks[task].priority } else { 0 };
        let mut turns = queue.clone();
        turns.sort_by_key(|task| (rank(*task), kind(*task) == ExecPool::Any));
        for task in turns {
            let fitting = match kind(task) {
                ExecPool::Vector => 0..machine.vector,
                ExecPool::Cube => machine.vector..is_idle.len(),
                ExecPool::Any => 0..is_idle.len(),
            };
            if let Some(worker) = fitting.into_iter().find(|worker| is_idle[*worker]) {
                is_idle[worker] = false;
                begun[task] = (now, worker as u32);
                running.insert((now + work.tasks[task].cost, task, worker));
                queue.retain(|other| *other != task);
            }
        }
        let generated = newest + work.generation;
        let is_due = submitted < n && submitted - done < machine.window && generated > now;
        let ended = running.first().map(|first| first.0);
        match [ended, is_due.then_some(generated)].into_iter().flatten().min() {
            Some(next) => now = next,
            None => return begun,
        }
    }
}

/// The same by the simulation, and when it is over.
fn simulated(work: &Work, machine: Machine) -> (Vec<(u64, u32)>, u64) {
    let mut builder = SimGraphBuilder::new();
    builder.submission(Submission::Streamed { generation_cycles: work.generation });
    for &task in &work.tasks {
        builder.task(task).expect("there should be room");
    }
    for &(before, after) in &work.edges {
        builder.depend(TaskId(before), TaskId(after)).expect("the edge should name tasks");
    }
    let (vector, cube) = (machine.vector as u32, machine.cube as u32);
    let config = RunConfig {
        threads: vector + cube,
        pools: if machine.is_shared { PoolSizes::Shared } else { PoolSizes::ByUnit { vector, cube } },
        window: Window::stall(machine.window as u32),
        ready: if machine.by_priority { Ready::Priority } else { Ready::Fifo },
        ..RunConfig::default()
    };
    let simulation = simulate(&builder.build(), &config).expect("it should run");
    let begun =
        |task: &wsp_runtime::simulate::SimTask| (task.start, task.worker.expect("it should have run"));
    (simulation.tasks.iter().map(begun).collect(), simulation.makespan)
}

/// Asserts that the two agree; when all is over.
#[track_caller]
fn check(work: &Work, machine: Machine, what: &str) -> u64 {
    let expected = list_schedule(work, machine);
    let (found, makespan) = simulated(work, machine);
    assert_eq!(found, expected, "{what}: {machine:?}");
    let ends = expected.iter().zip(&work.tasks).map(|((start, _), task)| start + task.cost);
    assert_eq!(makespan, ends.max().unwrap_or(0), "{what}: {machine:?}");
    makespan
}

/// The tasks of a reference graph, with the costs that its example says; edges as they were recorded, or complete.
fn reference(graph: &str, row: u32, is_complete: bool) -> Work {
    let example = EXAMPLES.iter().find(|name| graph.starts_with(**name)).expect("it has an example");
    let costs = costs(example);
    let task = |line: Vec<String>| {
        let cost = costs.iter().find(|(kernel, _)| *kernel == line[1]).expect("its kernel has a cost").1;
        let pool = if line[2] == "1" { ExecPool::Cube } else { ExecPool::Vector };
        SimTaskSpec { cost, pool, ..SimTaskSpec::default() }
    };
    let matching = if is_complete { Matching::Overlap } else { Matching::EqualRaw };
    let edges = edges(&mut RegionMap::growing(matching), &tasks(graph, row));
    Work {
        tasks: lines(&format!("{graph}.tasks.csv.gz")).into_iter().map(task).collect(),
        edges: edges.into_iter().map(|(before, after, _)| (before, after)).collect(),
        generation: 0,
    }
}

/// The examples whose graphs they are.
const EXAMPLES: [&str; 5] = ["bgemm_loops", "bgemm_tree", "llama_flat", "llama_table", "softmax"];

/// What kernels of an example are said to cost.
#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn costs(example: &str) -> Vec<(String, u64)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graphs");
    let text = std::fs::read_to_string(folder.join(format!("{example}.wsp"))).expect("the example is there");
    let kernels = text.split("\nkernel ").skip(1);
    let cost = |text: &str| {
        let (name, rest) = text.split_once('(').expect("it has parameters");
        let cost =
            rest.split_once(" cost ").and_then(|(_, rest)| rest.split_once(';')).expect("it has a cost");
        (name.to_owned(), cost.0.parse().expect("a number"))
    };
    kernels.map(cost).collect()
}

const EQUAL: Machine = Machine { vector: 48, cube: 24, is_shared: true, window: 1 << 20, by_priority: false };
const BY_UNIT: Machine = Machine { is_shared: false, ..EQUAL };

#[test]
fn reference_graphs_take_what_a_list_scheduler_gives_them() {
    for graph in GRAPHS {
        for is_complete in [false, true] {
            let work = reference(graph, 1, is_complete);
            for machine in [EQUAL, BY_UNIT] {
                for (window, by_priority) in [(1 << 20, false), (64, false), (7, false), (1 << 20, true)] {
                    check(&work, Machine { window, by_priority, ..machine }, graph);
                }
            }
        }
    }
}

#[test]
fn llama_at_1k_takes_the_known_times() {
    for (is_complete, edges, span, equal, by_unit) in
        [(true, 10_848, 2760, 2810, 3670), (false, 9760, 1985, 2680, 3325)]
    {
        let work = reference("llama_flat_1K", 32, is_complete);
        let pairs = work.edges.iter().map(|&(before, after)| (TaskId(before), TaskId(after)));
        let graph = SimGraph::new(work.tasks.iter().copied(), pairs).expect("it is a graph");
        assert_eq!((graph.edge_count(), graph.span()), (edges, Some(span)));
        let times = [EQUAL, BY_UNIT].map(|machine| check(&work, machine, "llama"));
        assert_eq!(times, [equal, by_unit]);
    }
}

fn random(numbers: &mut Numbers) -> (Work, Machine) {
    let n = 1 + numbers.below(40);
    let costs = [2, 4, 30][numbers.below(3) as usize];
    let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
    let tasks = (0..n).map(|_| SimTaskSpec {
        cost: numbers.below(costs),
        pool: pools[numbers.below(3) as usize],
        priority: numbers.below(5) as i32 - 2,
        ..SimTaskSpec::default()
    });
    let tasks = tasks.collect();
    let pairs: Vec<(u32, u32)> =
        (0..numbers.below(2 * n)).map(|_| (numbers.below(n) as u32, numbers.below(n) as u32)).collect();
    let edges = pairs.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
    let generation = if numbers.below(3) == 0 { 1 + numbers.below(6) } else { 0 };
    let machine = Machine {
        vector: 1 + numbers.below(4) as usize,
        cube: 1 + numbers.below(3) as usize,
        is_shared: numbers.below(3) == 0,
        window: 1 + numbers.below(30) as usize,
        by_priority: numbers.below(3) == 0,
    };
    (Work { tasks, edges, generation }, machine)
}

#[test]
fn random_graphs_take_what_a_list_scheduler_gives_them() {
    for seed in 0..cases(10_000) {
        let (work, machine) = random(&mut Numbers::of_seed(seed));
        check(&work, machine, &format!("seed {seed}"));
    }
}
