//! AICPUs in virtual time: without costs they are the plain graph's schedule, and each cost has the effect that a computation by hand predicts.

use crate::randomised::{Numbers, cases};
use wsp_core::ptow::interp::Ordered;
use wsp_core::{ExecPool, KernelId, StreamId, TaskId};
use wsp_runtime::aicpu::{self, AicpuConfig, AicpuCosts, Dealt, ReadyOrder, SimAicpus};
use wsp_runtime::simulate::{SimGraph, SimGraphBuilder, SimTaskSpec, Simulation, WhyLate, simulate};
use wsp_runtime::{Failure, Gate, GateScope, PoolSizes, Ready, RunConfig, Start, Stopped, Window};

fn on(
    graph: &SimGraph,
    scopes: &[(u64, Ordered)],
    aicpus: u16,
    config: &AicpuConfig,
    costs: AicpuCosts,
) -> SimAicpus {
    let dealt = Dealt { graph, scopes, owners: &[], aicpus };
    aicpu::simulate(&dealt, config, &costs).unwrap_or_else(|failure| panic!("{failure}"))
}

/// When each node starts and ends.
fn times(simulation: &Simulation) -> Vec<(u64, u64)> {
    simulation.tasks.iter().map(|task| (task.start, task.end)).collect()
}

/// A random graph with its ordered scopes, which have edges through barrier nodes.
fn graph(random: &mut Numbers, tasks: u64, has_kinds: bool) -> (SimGraph, Vec<(u64, Ordered)>) {
    let (mut builder, mut scopes) = (SimGraphBuilder::new(), Vec::new());
    let mut all: Vec<TaskId> = Vec::new();
    let (mut point, mut since): (Option<TaskId>, Vec<TaskId>) = (None, Vec::new());
    scopes.push((0, Ordered::Begin));
    for ordinal in 0..tasks {
        if random.below(12) == 0 && !since.is_empty() {
            let node = builder.barrier_node().expect("the graph should take it");
            since
                .drain(..)
                .chain(point)
                .for_each(|before| builder.depend(before, node).expect("the graph should take it"));
            point = Some(node);
            scopes.push((ordinal, Ordered::Step));
        }
        let pool = [ExecPool::Vector, ExecPool::Cube][random.below(2) as usize];
        let task = builder.task(SimTaskSpec {
            cost: 1 + random.below(9),
            kernel: KernelId(random.below(3) as u16),
            pool: if has_kinds { pool } else { ExecPool::Any },
            stream: (random.below(6) == 0).then(|| StreamId(random.below(2) as u16)),
            priority: random.below(5) as i32,
            ..SimTaskSpec::default()
        });
        let task = task.expect("the graph should take it");
        point.into_iter().for_each(|point| builder.depend(point, task).expect("the graph should take it"));
        let mut before: Vec<TaskId> = Vec::new();
        for _ in 0..random.below(3).min(all.len() as u64) {
            before.push(all[all.len() - 1 - random.below((all.len() as u64).min(8)) as usize]);
        }
        before.sort_unstable();
        before.dedup();
        before.into_iter().for_each(|before| builder.depend(before, task).expect("the graph should take it"));
        all.push(task);
        since.push(task);
    }
    scopes.push((tasks, Ordered::End));
    (builder.build(), scopes)
}

/// The same settings for both.
fn settings(random: &mut Numbers) -> (RunConfig, AicpuConfig) {
    let priority = random.below(2) == 0;
    let pools = match random.below(2) {
        0 => PoolSizes::Shared,
        _ => PoolSizes::ByUnit { vector: 1 + random.below(4) as u32, cube: 1 + random.below(3) as u32 },
    };
    let threads = match pools {
        PoolSizes::Shared => 1 + random.below(5) as u32,
        PoolSizes::ByUnit { vector, cube } => vector + cube,
    };
    let capacity = 1 + random.below(40) as u32;
    let start = match random.below(4) {
        0 => Start::Threshold(1 + random.below(30) as u32),
        1 => Start::AfterOrchestration,
        _ => Start::Immediate,
    };
    let gates = match random.below(4) {
        // Of a gate over both kinds of cores AICPUs give permits to vector cores first.
        0 if pools == PoolSizes::Shared => {
            vec![Gate { scope: GateScope::Global, capacity: 1 + random.below(4) as u32 }]
        }
        1 => vec![Gate { scope: GateScope::PerPool, capacity: 1 + random.below(2) as u32 }],
        _ => Vec::new(),
    };
    let plain = RunConfig {
        threads,
        pools,
        gates: gates.clone(),
        window: Window::stall(capacity),
        ready: if priority { Ready::Priority } else { Ready::Fifo },
        start,
        ..RunConfig::default()
    };
    let ready = if priority { ReadyOrder::Priority } else { ReadyOrder::Fifo };
    (plain, AicpuConfig { threads, pools, window: capacity, gates, ready, start, ..AicpuConfig::default() })
}

#[test]
fn without_costs_one_aicpu_is_the_plain_graph_cycle_for_cycle() {
    for seed in 0..cases(500) {
        let mut random = Numbers::of_seed(seed);
        let (plain, config) = settings(&mut random);
        let tasks = 1 + random.below(60);
        let (graph, scopes) = graph(&mut random, tasks, plain.pools != PoolSizes::Shared);
        let expected = simulate(&graph, &plain).unwrap();
        let found = on(&graph, &scopes, 1, &config, AicpuCosts::default());
        assert_eq!(times(&found.simulation), times(&expected), "seed {seed}: {config:?}");
        assert_eq!(found.simulation.makespan, expected.makespan);
        assert_eq!(found.aicpus[0].busy, [0; 4]);
    }
}

/// A list scheduler of its own: each AICPU has a queue and a part of the cores, `core` those with `core % aicpus` its number. In a cycle AICPUs go by
/// their numbers, so that a task becomes ready first by ends that smaller ones noticed, then by those of its own, then by those of each larger one.
fn listed(costs: &[u64], before: &[Vec<usize>], aicpus: usize, cores: usize) -> Vec<u64> {
    let (mut now, mut starts, mut ends) = (0, vec![None; costs.len()], vec![u64::MAX; costs.len()]);
    let mut busy: Vec<Option<usize>> = vec![None; cores];
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); aicpus];
    let mut is_queued = vec![false; costs.len()];
    while starts.iter().any(Option::is_none) {
        for core in &mut busy {
            core.take_if(|task| ends[*task] <= now);
        }
        let mut ready: Vec<(usize, usize)> = Vec::new();
        for task in (0..costs.len()).filter(|&task| !is_queued[task]) {
            if before[task].iter().all(|&before| ends[before] <= now) {
                let turn = |before: &usize| match (before % aicpus, task % aicpus) {
                    (from, own) if from > own => 1 + from,
                    (from, own) => usize::from(from == own),
                };
                let last = before[task].iter().filter(|&&before| ends[before] == now).map(turn).max();
                ready.push((last.unwrap_or(0), task));
            }
        }
        ready.sort_unstable();
        for (_, task) in ready {
            is_queued[task] = true;
            queues[task % aicpus].push(task);
        }
        for core in 0..cores {
            if busy[core].is_none() && !queues[core % aicpus].is_empty() {
                let task = queues[core % aicpus].remove(0);
                (busy[core], starts[task], ends[task]) = (Some(task), Some(now), now + costs[task]);
            }
        }
        now = busy.iter().flatten().map(|task| ends[*task]).min().unwrap_or(now);
    }
    starts.into_iter().flatten().collect()
}

#[test]
fn without_costs_several_aicpus_are_a_list_scheduler_with_a_part_of_the_cores_each() {
    for seed in 0..cases(300) {
        let mut random = Numbers::of_seed(seed);
        let (tasks, aicpus) = (1 + random.below(50) as usize, 2 + random.below(3) as usize);
        let cores = aicpus + random.below(6) as usize;
        let costs: Vec<u64> = (0..tasks).map(|_| 1 + random.below(9)).collect();
        let mut before: Vec<Vec<usize>> = Vec::new();
        for task in 0..tasks {
            let mut own: Vec<usize> = (0..random.below(3))
                .filter(|_| task > 0)
                .map(|_| random.below(task as u64) as usize)
                .collect();
            own.sort_unstable();
            own.dedup();
            before.push(own);
        }
        let specs = costs.iter().map(|&cost| SimTaskSpec { cost, ..SimTaskSpec::default() });
        let edges = before.iter().enumerate().flat_map(|(task, own)| {
            own.iter().map(move |&before| (TaskId(before as u32), TaskId(task as u32)))
        });
        let graph = SimGraph::new(specs, edges).unwrap();
        let config = AicpuConfig { threads: cores as u32, ..AicpuConfig::default() };
        let found = on(&graph, &[], aicpus as u16, &config, AicpuCosts::default());
        let starts: Vec<u64> = found.simulation.tasks.iter().map(|task| task.start).collect();
        assert_eq!(
            starts,
            listed(&costs, &before, aicpus, cores),
            "seed {seed}: {aicpus} on {cores}: {before:?}"
        );
        assert_eq!(found, on(&graph, &[], aicpus as u16, &config, AicpuCosts::default()));
    }
}

/// Two tasks of 100 cycles, one after the other.
fn chain() -> SimGraph {
    let task = SimTaskSpec { cost: 100, ..SimTaskSpec::default() };
    SimGraph::new([task; 2], [(TaskId(0), TaskId(1))]).expect("the graph should take it")
}

/// All different, so that none stands for another.
const COSTS: AicpuCosts = AicpuCosts {
    begin: 10_000,
    generation: 20,
    poll: 1,
    retire: 50,
    dispatch: 300,
    start: 2000,
    completion: 400_000,
    notice: 6_000_000,
    task: 70_000_000,
    first: 800_000_000,
};

#[test]
fn every_cost_counts_as_often_as_by_hand() {
    let config = AicpuConfig { threads: 1, ..AicpuConfig::default() };
    // One AICPU and one core. It generates task 0, hands it out, generates task 1, looks, retires, hands out.
    let by_hand = |c: &AicpuCosts| {
        let first = c.begin + c.generation + c.dispatch + c.start + c.task + c.first;
        first + 100 + c.completion + c.poll + c.retire + c.dispatch + c.start + c.task + 100
    };
    let makespan =
        |aicpus: u16, costs: AicpuCosts| on(&chain(), &[], aicpus, &config, costs).simulation.makespan;
    assert_eq!(makespan(1, COSTS), by_hand(&COSTS));
    // Two AICPUs at one core: the notice of the end comes to the other.
    assert_eq!(makespan(2, COSTS), by_hand(&COSTS) + COSTS.notice);
    type Figure = fn(&mut AicpuCosts) -> &mut u64;
    let figures: [(Figure, u64); 10] = [
        (|costs| &mut costs.begin, 1),
        (|costs| &mut costs.generation, 1),
        (|costs| &mut costs.poll, 1),
        (|costs| &mut costs.retire, 1),
        (|costs| &mut costs.dispatch, 2),
        (|costs| &mut costs.start, 2),
        (|costs| &mut costs.completion, 1),
        (|costs| &mut costs.notice, 1),
        (|costs| &mut costs.task, 2),
        (|costs| &mut costs.first, 1),
    ];
    for (at, (figure, times)) in figures.into_iter().enumerate() {
        let mut twice = COSTS;
        let added = *figure(&mut twice);
        *figure(&mut twice) *= 2;
        assert_eq!(makespan(2, twice), makespan(2, COSTS) + times * added, "figure {at}");
    }
}

#[test]
fn work_of_an_aicpu_delays_what_it_does_next() {
    // Three tasks that nothing orders, on three cores of one AICPU: each is handed out before the next is generated.
    let task = SimTaskSpec { cost: 1000, ..SimTaskSpec::default() };
    let graph = SimGraph::new([task; 3], []).unwrap();
    let config = AicpuConfig { threads: 3, ..AicpuConfig::default() };
    let costs = AicpuCosts { generation: 7, dispatch: 5, poll: 2, retire: 11, ..AicpuCosts::default() };
    let found = on(&graph, &[], 1, &config, costs);
    assert_eq!(times(&found.simulation), [(12, 1012), (24, 1024), (36, 1036)]);
    // The first look finds one core of three, which takes until 1012 + 3 * 2 + 11; the next finds that of 1024 alone, and then that of 1036.
    assert_eq!(found.aicpus[0].busy, [21, 6 + 4 + 2, 33, 15]);
    let last = found.aicpus[0].spans.last().copied();
    assert_eq!(last.map(|(_, begin, end)| (begin, end)), Some((1046, 1057)));
    // Two tasks that end in one cycle are found in one look each, and retired together.
    let pair = SimGraph::new([task; 2], []).unwrap();
    let found = on(&pair, &[], 1, &config, AicpuCosts { poll: 2, retire: 11, ..AicpuCosts::default() });
    assert_eq!(found.aicpus[0].busy, [0, 4, 22, 0]);
}

#[test]
fn causes_are_those_that_a_hand_finds() {
    let config = AicpuConfig { threads: 1, window: 2, ..AicpuConfig::default() };
    let costs = AicpuCosts { generation: 10, retire: 1, ..AicpuCosts::default() };
    let task = SimTaskSpec { cost: 100, ..SimTaskSpec::default() };
    let graph = SimGraph::new([task; 4], [(TaskId(2), TaskId(3))]).unwrap();
    let causes = |found: &SimAicpus| found.simulation.tasks.iter().map(|task| task.cause).collect::<Vec<_>>();
    assert_eq!(
        causes(&on(&graph, &[], 1, &config, costs)),
        [
            WhyLate::Generation { resumed_by: None },
            WhyLate::Worker { busy_with: TaskId(0) },
            // Its place in the window was free at 111, it was generated at 121, and the core at 212.
            WhyLate::Worker { busy_with: TaskId(1) },
            WhyLate::Predecessor(TaskId(2)),
        ]
    );
    let config = AicpuConfig { threads: 2, window: 1, ..config };
    assert_eq!(causes(&on(&graph, &[], 1, &config, costs))[1], WhyLate::Window { held_by: TaskId(0) });
    let gates = vec![Gate { scope: GateScope::Global, capacity: 1 }];
    let config = AicpuConfig { threads: 2, window: 8, gates, ..config };
    assert_eq!(causes(&on(&graph, &[], 1, &config, costs))[1], WhyLate::Gate { held_by: TaskId(0) });
    // What comes before is known when the other AICPU has generated it, too.
    let graph = SimGraph::new([task; 4], [(TaskId(0), TaskId(3))]).unwrap();
    let dealt = Dealt { graph: &graph, scopes: &[], owners: &[0, 1, 1, 0], aicpus: 2 };
    let config = AicpuConfig { threads: 4, ..AicpuConfig::default() };
    let found =
        aicpu::simulate(&dealt, &config, &AicpuCosts { generation: 300, ..AicpuCosts::default() }).unwrap();
    let last = found.simulation.tasks[3];
    assert_eq!((last.submitted, last.ready), (600, 600));
    assert_eq!(last.cause, WhyLate::Generation { resumed_by: None });
    let costs = AicpuCosts { generation: 300, notice: 40, ..AicpuCosts::default() };
    assert_eq!(aicpu::simulate(&dealt, &config, &costs).unwrap().simulation.tasks[3].ready, 640);
}

#[test]
fn what_cannot_be_is_refused() {
    let long = SimTaskSpec { cost: u64::MAX - 5, ..SimTaskSpec::default() };
    let graph = SimGraph::new([long; 2], [(TaskId(0), TaskId(1))]).unwrap();
    let dealt = Dealt { graph: &graph, scopes: &[], owners: &[], aicpus: 1 };
    let fails =
        |config: &AicpuConfig, costs: &AicpuCosts| aicpu::simulate(&dealt, config, costs).unwrap_err();
    let config = AicpuConfig::default();
    let too_long = |task| Failure::Source(Stopped::TooLong(TaskId(task)));
    assert_eq!(fails(&config, &AicpuCosts::default()), too_long(1));
    assert_eq!(fails(&config, &AicpuCosts { task: 6, ..AicpuCosts::default() }), too_long(0));
    let abort = AicpuConfig { window: 1, window_mode: wsp_runtime::WindowMode::Abort, ..config.clone() };
    let overflow = Stopped::WindowOverflow { capacity: 1, active: 1, task: TaskId(1) };
    assert_eq!(fails(&abort, &AicpuCosts::default()), Failure::Source(overflow));
    assert!(matches!(fails(&AicpuConfig { window: 0, ..config }, &AicpuCosts::default()), Failure::Start(_)));
}
