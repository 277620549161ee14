//! What holds for the simulation of any workload under any configuration.

use proptest::prelude::*;
use std::collections::VecDeque;
use wsp_core::{ExecPool, StreamId, TaskId};
use wsp_runtime::simulate::{
    SimGraph, SimGraphBuilder, SimTask, SimTaskSpec, Simulation, Submission, WhyLate, simulate,
};
use wsp_runtime::{
    Affinity, Failure, Gate, GateScope, PoolSizes, Ready, RunConfig, Start, Window, WindowMode,
};

/// A workload: tasks, edges to later tasks, cycles of generation.
#[derive(Clone, Debug)]
struct Workload {
    tasks: Vec<SimTaskSpec>,
    edges: Vec<(u32, u32)>,
    generation_cycles: u64,
}

impl Workload {
    fn graph(&self) -> SimGraph {
        let mut builder = SimGraphBuilder::new();
        builder.submission(Submission::Streamed { generation_cycles: self.generation_cycles });
        for &task in &self.tasks {
            builder.task(task).expect("there should be room for a few tasks");
        }
        for &(before, after) in &self.edges {
            builder.depend(TaskId(before), TaskId(after)).expect("the edges should name tasks");
        }
        builder.build()
    }
}

fn pool() -> impl Strategy<Value = ExecPool> {
    prop_oneof![Just(ExecPool::Vector), Just(ExecPool::Cube), Just(ExecPool::Any)]
}

fn affinity() -> impl Strategy<Value = Affinity> {
    prop_oneof![
        3 => Just(Affinity::Any),
        1 => any::<u64>().prop_map(Affinity::Group),
        1 => any::<u64>().prop_map(Affinity::Local),
        1 => Just(Affinity::Spread),
    ]
}

fn task(costs: std::ops::Range<u64>) -> impl Strategy<Value = SimTaskSpec> {
    let stream = prop_oneof![3 => Just(None), 1 => (0_u16..3).prop_map(|stream| Some(StreamId(stream)))];
    (costs, pool(), stream, -2..3, affinity()).prop_map(|(cost, pool, stream, priority, affinity)| {
        SimTaskSpec { cost, pool, stream, priority, affinity, ..SimTaskSpec::default() }
    })
}

fn workload(costs: std::ops::Range<u64>) -> impl Strategy<Value = Workload> {
    prop::collection::vec(task(costs), 1..60).prop_flat_map(|tasks| {
        let n = tasks.len() as u32;
        let edges = prop::collection::vec((0..n, 0..n), 0..80);
        let ordered = edges.prop_map(|edges| {
            let pairs = edges.into_iter().filter(|(a, b)| a != b);
            pairs.map(|(a, b)| (a.min(b), a.max(b))).collect()
        });
        (Just(tasks), ordered, prop_oneof![2 => Just(0), 1 => 1_u64..9])
            .prop_map(|(tasks, edges, generation_cycles)| Workload { tasks, edges, generation_cycles })
    })
}

fn gates() -> impl Strategy<Value = Vec<Gate>> {
    let scope = prop_oneof![Just(GateScope::Global), Just(GateScope::PerStream), Just(GateScope::PerPool)];
    prop::collection::vec((scope, 1_u32..5).prop_map(|(scope, capacity)| Gate { scope, capacity }), 0..3)
}

fn config() -> impl Strategy<Value = RunConfig> {
    let ready =
        prop_oneof![Just(Ready::Auto), Just(Ready::Fifo), Just(Ready::WorkSteal), Just(Ready::Priority)];
    let start = prop_oneof![
        Just(Start::Immediate),
        Just(Start::AfterOrchestration),
        (1_u32..70).prop_map(Start::Threshold)
    ];
    let mode = prop_oneof![Just(WindowMode::Stall), Just(WindowMode::Benchmark)];
    let machine = (1_u32..7, 1_u32..4, any::<bool>());
    (machine, 1_u32..40, mode, ready, start, gates(), 1_u32..6, any::<u64>()).prop_map(
        |((threads, cores_per_group, by_unit), capacity, mode, ready, start, gates, batch, seed)| {
            let pools = if by_unit && threads > 1 {
                PoolSizes::ByUnit { vector: threads / 2, cube: threads - threads / 2 }
            } else {
                PoolSizes::Shared
            };
            let window = Window { capacity, mode };
            RunConfig {
                threads,
                cores_per_group,
                window,
                ready,
                start,
                gates,
                batch,
                seed,
                pools,
                ..RunConfig::default()
            }
        },
    )
}

/// A configuration in which nothing but the number of workers holds a ready task back.
fn free() -> impl Strategy<Value = RunConfig> {
    config().prop_map(|config| RunConfig {
        window: Window::default(),
        start: Start::Immediate,
        gates: Vec::new(),
        batch: 1,
        ..config
    })
}

/// Tasks of one stream that may be in flight.
fn stream_depth(config: &RunConfig) -> usize {
    let per_stream = config.gates.iter().filter(|gate| gate.scope == GateScope::PerStream);
    per_stream.map(|gate| gate.capacity as usize).min().unwrap_or(1)
}

fn run(workload: &Workload, config: &RunConfig) -> Simulation {
    simulate(&workload.graph(), config).expect("edges to later tasks should close no cycle")
}

/// Workers that may run a task.
fn eligible(config: &RunConfig, pool: ExecPool) -> std::ops::Range<u32> {
    match (config.pools, pool) {
        (PoolSizes::ByUnit { vector, .. }, ExecPool::Vector) => 0..vector,
        (PoolSizes::ByUnit { vector, .. }, ExecPool::Cube) => vector..config.threads,
        _ => 0..config.threads,
    }
}

/// Most of some spans that share a cycle.
fn most_at_once(spans: impl Iterator<Item = (u64, u64)> + Clone) -> usize {
    let at = |cycle: u64| spans.clone().filter(|&(from, to)| from <= cycle && cycle < to).count();
    spans.clone().map(|(from, _)| at(from)).max().unwrap_or(0)
}

/// Cycles of a worker's tasks within a span.
fn busy_within(tasks: &[SimTask], worker: u32, span: (u64, u64)) -> u64 {
    let mine = tasks.iter().filter(|task| task.worker == Some(worker));
    mine.map(|task| task.end.min(span.1).saturating_sub(task.start.max(span.0))).sum()
}

/// A run tick by tick: FIFO, workers alike, a window, nothing else. Costs are at least 1.
fn tick_by_tick(workload: &Workload, workers: usize, window: usize) -> Vec<u64> {
    let n = workload.tasks.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); n];
    for &(a, b) in &workload.edges {
        before[b as usize].push(a as usize);
    }
    for (i, task) in workload.tasks.iter().enumerate() {
        let same = |other: &SimTaskSpec| task.stream.is_some() && other.stream == task.stream;
        before[i].extend(workload.tasks[..i].iter().rposition(same));
    }
    let mut ends: Vec<Option<u64>> = vec![None; n];
    let mut queue: VecDeque<usize> = VecDeque::new();
    let (mut queued, mut submitted) = (vec![false; n], 0);
    for now in 0.. {
        let is_done = |i: usize| ends[i].is_some_and(|end| end <= now);
        let done = (0..n).filter(|&i| is_done(i)).count();
        if done == n {
            break;
        }
        submitted = n.min(done + window).max(submitted);
        for i in 0..submitted {
            if !queued[i] && before[i].iter().all(|&b| is_done(b)) {
                queued[i] = true;
                queue.push_back(i);
            }
        }
        let running = ends.iter().flatten().filter(|&&end| end > now).count();
        for i in queue.drain(..(workers - running).min(queue.len())) {
            ends[i] = Some(now + workload.tasks[i].cost);
        }
    }
    ends.iter().zip(&workload.tasks).map(|(end, task)| end.unwrap_or(0) - task.cost).collect()
}

/// Whether the critical path has no hole: each step starts when the step before ends, but for generation.
fn check_critical_path(simulation: &Simulation, generation_cycles: u64) -> Result<(), TestCaseError> {
    let path = simulation.critical_path();
    let (mut clock, mut costs, mut waited) = (0, 0, 0);
    for (i, step) in path.iter().enumerate() {
        let task = simulation.tasks[step.task.index()];
        let before = (i > 0).then(|| path[i - 1].task);
        prop_assert_eq!(step.cause.held_by(), before);
        match step.cause {
            WhyLate::Generation { .. } | WhyLate::Start => waited += task.start - clock,
            _ => prop_assert_eq!(task.start, clock, "{:?}", step),
        }
        if let WhyLate::Generation { .. } = step.cause {
            prop_assert_eq!(task.start, task.submitted);
        }
        costs += task.end - task.start;
        clock = task.end;
    }
    prop_assert_eq!((clock, costs + waited), (simulation.makespan, simulation.makespan));
    prop_assert!(generation_cycles > 0 || waited == 0);
    Ok(())
}

proptest! {
    #[test]
    fn every_dependence_is_respected_and_every_task_runs_once(work in workload(0..20), config in config()) {
        let simulation = run(&work, &config);
        let tasks = &simulation.tasks;
        for &(before, after) in &work.edges {
            prop_assert!(tasks[before as usize].end <= tasks[after as usize].ready);
        }
        for stream in 0..3 {
            let on = |spec: &SimTaskSpec| spec.stream == Some(StreamId(stream));
            let times: Vec<SimTask> =
                work.tasks.iter().zip(tasks).filter(|(spec, _)| on(spec)).map(|(_, task)| *task).collect();
            if stream_depth(&config) == 1 {
                prop_assert!(times.is_sorted_by(|a, b| a.end <= b.start));
            }
            prop_assert!(times.is_sorted_by(|a, b| a.start <= b.start));
        }
        for (task, spec) in tasks.iter().zip(&work.tasks) {
            prop_assert!(task.submitted <= task.ready && task.ready <= task.start);
            prop_assert_eq!(task.end, task.start + spec.cost);
            prop_assert!(task.worker.is_some_and(|worker| eligible(&config, spec.pool).contains(&worker)));
        }
        let counted: u64 = simulation.workers.iter().map(|worker| worker.tasks).sum();
        prop_assert_eq!(counted, work.tasks.len() as u64);
    }

    #[test]
    fn no_more_runs_than_workers_gates_and_window_allow(work in workload(1..20), config in config()) {
        let simulation = run(&work, &config);
        let lives = || work.tasks.iter().zip(&simulation.tasks);
        let spans = |of: Option<ExecPool>| {
            let chosen = lives().filter(move |(spec, _)| of.is_none_or(|pool| pool == spec.pool));
            chosen.map(|(_, task)| (task.start, task.end))
        };
        for worker in 0..config.threads {
            let mine = lives().filter(|(_, task)| task.worker == Some(worker));
            prop_assert!(most_at_once(mine.map(|(_, task)| (task.start, task.end))) <= 1);
        }
        for gate in &config.gates {
            let capacity = gate.capacity as usize;
            match gate.scope {
                GateScope::Global => prop_assert!(most_at_once(spans(None)) <= capacity),
                GateScope::PerPool => {
                    for pool in [ExecPool::Vector, ExecPool::Cube, ExecPool::Any] {
                        prop_assert!(most_at_once(spans(Some(pool))) <= capacity);
                    }
                }
                GateScope::PerStream => {}
            }
        }
        for stream in (0..3).map(|stream| Some(StreamId(stream))) {
            let of_stream = lives().filter(move |(spec, task)| spec.stream == stream && task.start < task.end);
            let most = most_at_once(of_stream.map(|(_, task)| (task.start, task.end)));
            prop_assert!(most <= stream_depth(&config));
        }
        let in_flight = most_at_once(lives().map(|(_, task)| (task.submitted, task.end)));
        prop_assert!(in_flight <= simulation.max_in_flight as usize);
        prop_assert!(simulation.max_in_flight <= config.window.capacity);
    }

    #[test]
    fn tasks_are_submitted_as_generated_and_start_when_the_policy_lets_them(
        work in workload(0..20),
        config in config(),
    ) {
        let simulation = run(&work, &config);
        let submitted: Vec<u64> = simulation.tasks.iter().map(|task| task.submitted).collect();
        prop_assert!(submitted[0] >= work.generation_cycles);
        prop_assert!(submitted.is_sorted_by(|a, b| a + work.generation_cycles <= *b));
        let generated = simulation.generation_end - work.generation_cycles * work.tasks.len() as u64;
        prop_assert_eq!(generated, simulation.stalled_cycles);
        let first = simulation.tasks.iter().map(|task| task.start).min();
        let open = match config.start {
            Start::AfterOrchestration => Some(simulation.generation_end),
            Start::Immediate => None,
            Start::Threshold(tasks) => {
                Some(submitted.get(tasks as usize - 1).copied().unwrap_or(simulation.generation_end))
            }
        };
        match simulation.forced_start {
            Some(forced) => prop_assert!(first >= Some(forced) && open >= Some(forced)),
            None => prop_assert!(open.is_none() || first >= open),
        }
        let counted = if config.window.mode == WindowMode::Benchmark { simulation.window_stalls } else { 0 };
        prop_assert_eq!(simulation.overflows.len() as u64, counted);
    }

    #[test]
    fn no_run_beats_the_span_or_the_work_and_none_exceeds_all_work(
        work in workload(0..20),
        config in config(),
    ) {
        let (graph, simulation) = (work.graph(), run(&work, &config));
        let generation = work.generation_cycles * work.tasks.len() as u64;
        // Edges of streams that overlap do not count.
        prop_assert!(stream_depth(&config) > 1 || Some(simulation.makespan) >= graph.span());
        prop_assert!(simulation.makespan * u64::from(config.threads) >= graph.work());
        prop_assert!(simulation.makespan <= graph.work() + generation);
    }

    #[test]
    fn without_limits_a_list_schedule_keeps_the_bound_of_graham(work in workload(0..20), config in free()) {
        let work = Workload { generation_cycles: 0, ..work };
        let config = RunConfig { pools: PoolSizes::Shared, ..config };
        let (graph, simulation) = (work.graph(), run(&work, &config));
        let lanes = u64::from(config.threads);
        let span = graph.span().unwrap_or(u64::MAX);
        prop_assert!(lanes * simulation.makespan <= graph.work() + (lanes - 1) * span);
    }

    #[test]
    fn no_worker_idles_while_a_task_that_it_may_run_is_ready(work in workload(0..20), config in free()) {
        let simulation = run(&work, &config);
        for (spec, task) in work.tasks.iter().zip(&simulation.tasks) {
            for worker in eligible(&config, spec.pool) {
                let busy = busy_within(&simulation.tasks, worker, (task.ready, task.start));
                prop_assert_eq!(busy, task.start - task.ready, "worker {}", worker);
            }
        }
    }

    #[test]
    fn fifo_without_places_is_the_textbook_schedule(
        mut work in workload(1..20),
        workers in 1_u32..6,
        window in 1_u32..20,
    ) {
        work.generation_cycles = 0;
        work.tasks.iter_mut().for_each(|task| task.affinity = Affinity::Any);
        let config = RunConfig {
            threads: workers,
            window: Window::stall(window),
            ready: Ready::Fifo,
            ..RunConfig::default()
        };
        let starts: Vec<u64> = run(&work, &config).tasks.iter().map(|task| task.start).collect();
        // In the oracle a place in the window is free when any task is complete, as it is here.
        prop_assert_eq!(starts, tick_by_tick(&work, workers as usize, window as usize));
    }

    #[test]
    fn no_ready_task_is_passed_by_one_of_smaller_priority(
        mut work in workload(1..20),
        config in config(),
        capacity in 1_u32..4,
    ) {
        work.tasks.iter_mut().for_each(|task| (task.pool, task.stream) = (ExecPool::Any, None));
        work.tasks.iter_mut().for_each(|task| task.affinity = Affinity::Any);
        let gates = vec![Gate { scope: GateScope::Global, capacity }];
        let config = RunConfig { ready: Ready::Priority, batch: 1, gates, ..config };
        let simulation = run(&work, &config);
        let lives = || work.tasks.iter().zip(&simulation.tasks);
        for (spec, task) in lives() {
            let passed = lives().find(|(other, life)| {
                other.priority > spec.priority && life.ready <= task.start && task.start < life.start
            });
            prop_assert!(passed.is_none(), "{:?} passed {:?}", task, passed);
        }
    }

    #[test]
    fn the_critical_path_explains_every_cycle(work in workload(0..20), config in config()) {
        check_critical_path(&run(&work, &config), work.generation_cycles)?;
    }

    #[test]
    fn a_simulation_repeats_and_only_work_stealing_asks_for_the_seed(
        work in workload(0..20),
        config in config(),
        seed in any::<u64>(),
    ) {
        let simulation = run(&work, &config);
        prop_assert_eq!(&simulation, &run(&work, &config));
        let other = RunConfig { seed, ..config.clone() };
        if config.ready_policy() != Ready::WorkSteal || config.threads == 1 {
            prop_assert_eq!(&simulation, &run(&work, &other));
        }
        let resolved = RunConfig { ready: config.ready_policy(), ..config };
        prop_assert_eq!(&simulation, &run(&work, &resolved));
    }

    #[test]
    fn a_cycle_is_reported_whatever_else_there_is(
        mut work in workload(0..20),
        config in config(),
        from in any::<prop::sample::Index>(),
    ) {
        let first = from.index(work.tasks.len()) as u32;
        let last = work.tasks.len() as u32 - 1;
        work.edges.extend([(first, last), (last, first)]);
        let error = simulate(&work.graph(), &config).unwrap_err();
        let Failure::Stuck(report) = &error else { panic!("{error}") };
        prop_assert!(!report.cycle.is_empty() && report.unfinished > 0, "{}", error);
    }
}

#[test]
fn another_seed_picks_other_victims() {
    let tasks = vec![SimTaskSpec { cost: 3, ..SimTaskSpec::default() }; 64];
    // Four tasks, each of which releases several: idle workers have several victims to choose from.
    let edges = (8..64).map(|after| (after % 3, after)).collect();
    let work = Workload { tasks, edges, generation_cycles: 0 };
    let with = |seed| RunConfig { threads: 8, ready: Ready::WorkSteal, seed, ..RunConfig::default() };
    let first = run(&work, &with(0));
    assert!((1..9).any(|seed| run(&work, &with(seed)) != first));
}
