//! Random programs under random configurations, streamed and stored, against a sequential run and a scan of all pairs.

use crate::common::program::{Machine, Step, must_precede, sequential, step, steps};
use proptest::prelude::*;
use wsp_core::{StreamId, TaskId};
use wsp_runtime::{
    Affinity, Deps, Gate, GateScope, PoolSizes, Ready, RunConfig, Start, Stats, Stopped, TaskGraph,
    TracePolicy, Window, WindowMode, run,
};

fn gate() -> impl Strategy<Value = Gate> {
    let scope = prop_oneof![Just(GateScope::Global), Just(GateScope::PerStream), Just(GateScope::PerPool)];
    (scope, 1..4u32).prop_map(|(scope, capacity)| Gate { scope, capacity })
}

pub(crate) fn config() -> impl Strategy<Value = RunConfig> {
    let ready =
        prop_oneof![Just(Ready::Auto), Just(Ready::Fifo), Just(Ready::WorkSteal), Just(Ready::Priority)];
    let mode = prop_oneof![Just(WindowMode::Stall), Just(WindowMode::Benchmark), Just(WindowMode::Abort)];
    let start = prop_oneof![
        2 => Just(Start::Immediate),
        1 => Just(Start::AfterOrchestration),
        1 => (1..40u32).prop_map(Start::Threshold),
    ];
    let deps = prop_oneof![
        1 => Just(Deps::Exact),
        4 => Just(Deps::Overlap),
        1 => Just(Deps::Explicit),
        3 => Just(Deps::Hybrid),
    ];
    let trace = prop_oneof![Just(TracePolicy::None), Just(TracePolicy::Totals), Just(TracePolicy::Measured)];
    let gates = prop_oneof![2 => Just(Vec::new()), 1 => proptest::collection::vec(gate(), 1..4)];
    let window = (prop_oneof![1..5u32, 1..=64u32], mode);
    let workers = (1..=4u32, 1..=4u32, 0..4u32);
    let batch = prop_oneof![2 => Just(1u32), 1 => 2..9u32];
    (workers, window, ready, start, deps, trace, gates, batch, any::<u64>()).prop_map(
        |((threads, cores_per_group, vector), window, ready, start, deps, trace, gates, batch, seed)| {
            let (capacity, mode) = window;
            // Refused tasks are tried again, which helps only when others have started.
            let mode = if start == Start::Immediate { mode } else { WindowMode::Stall };
            let pools = match vector {
                1.. if vector < threads => PoolSizes::ByUnit { vector, cube: threads - vector },
                _ => PoolSizes::Shared,
            };
            let window = Window { capacity, mode };
            let cancel = None;
            RunConfig {
                threads,
                window,
                ready,
                pools,
                gates,
                batch,
                start,
                deps,
                trace,
                cores_per_group,
                seed,
                replay: None,
                cancel,
            }
        },
    )
}

pub(crate) fn stream(config: &RunConfig, machine: &Machine<'_>) -> Stats {
    let outcome = run(config, machine, |submitter| {
        let mut events = Vec::new();
        for (i, step) in (0..).zip(machine.program) {
            if step.fence_before {
                submitter.fence();
            }
            for change in &step.scopes {
                change.apply(submitter);
            }
            events.push(step.signals.then(|| submitter.event()));
            let task = loop {
                match step.with_spec(i, config.deps, &events, TaskId, |spec| submitter.submit(spec)) {
                    Err(Stopped::WindowOverflow { .. }) => std::thread::yield_now(),
                    other => break other?,
                }
            };
            assert_eq!(task, TaskId(i));
            if let Some(starting) = step.prefetch.and_then(|distance| i.checked_sub(distance)) {
                submitter.prefetch_when_starts(TaskId(starting), task);
            }
            if step.awaits && config.deps.infers() {
                for region in &step.writes {
                    submitter.await_writers(region)?;
                }
            }
        }
        Ok::<(), Stopped>(())
    });
    outcome.expect("no task fails")
}

/// The program as a graph, and the node of each step.
pub(crate) fn stored(deps: Deps, program: &[Step]) -> (TaskGraph, Vec<TaskId>) {
    let mut graph = TaskGraph::new(deps);
    let (mut events, mut nodes) = (Vec::new(), Vec::<TaskId>::new());
    for (i, step) in (0..).zip(program) {
        if step.fence_before {
            graph.fence().expect("the graph has room");
        }
        for change in &step.scopes {
            change.apply(&mut graph);
        }
        events.push(step.signals.then(|| graph.event().expect("the graph has room")));
        let node = step.with_spec(i, deps, &events, |at| nodes[at as usize], |spec| graph.submit(spec));
        nodes.push(node.expect("the task fits"));
    }
    (graph, nodes)
}

pub(crate) fn check(
    config: &RunConfig,
    machine: &Machine<'_>,
    stats: &Stats,
    index_of: impl Fn(TaskId) -> usize,
) -> Result<(), TestCaseError> {
    let program = machine.program;
    prop_assert_eq!(stats.tasks, program.len() as u64);
    prop_assert_eq!(stats.workers.iter().map(|worker| worker.tasks).sum::<u64>(), stats.tasks);
    let counted: u64 = stats.kernels.iter().map(|kernel| kernel.tasks).sum();
    prop_assert_eq!(counted, if config.trace.times() { stats.tasks } else { 0 });
    for j in 0..program.len() {
        let started = machine.started(j);
        prop_assert!(started > 0, "task {} did not run", j);
        for i in (0..j).filter(|&i| must_precede(program, config, i, j)) {
            prop_assert!(machine.finished(i) < started, "{} started before {} was complete", j, i);
        }
    }
    if config.deps == Deps::Overlap || config.deps == Deps::Hybrid {
        prop_assert_eq!(machine.memory(), sequential(program));
    }
    prop_assert_eq!(stats.trace.len(), if config.trace == TracePolicy::Measured { program.len() } else { 0 });
    let mut last = None;
    for entry in &stats.trace {
        prop_assert!(last < Some(entry.task));
        last = Some(entry.task);
        prop_assert!(entry.worker < config.threads);
        prop_assert!(entry.submitted_ns <= entry.ready_ns, "{:?}", entry);
        prop_assert!(entry.ready_ns <= entry.started_ns, "{:?}", entry);
        prop_assert!(entry.started_ns <= entry.finished_ns, "{:?}", entry);
        for &pred in &entry.preds {
            let (i, j) = (index_of(pred), index_of(entry.task));
            let exact = config.deps == Deps::Exact;
            prop_assert!(exact || must_precede(program, config, i, j), "{} before {}", i, j);
            prop_assert!(machine.finished(i) < machine.started(j));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::cases::cases(250))]

    #[test]
    fn a_streamed_program_keeps_its_order_and_computes_what_a_sequential_run_does(
        program in steps(90),
        config in config(),
    ) {
        let machine = Machine::new(&program, &config);
        let stats = stream(&config, &machine);
        check(&config, &machine, &stats, |task| task.index())?;
        prop_assert!(stats.max_in_flight <= config.window.capacity);
        let asked = (0u32..).zip(&program).filter(|(i, step)| step.prefetch.is_some_and(|d| d <= *i)).count();
        prop_assert_eq!(stats.prefetch.issued + stats.prefetch.missed, asked as u64);
        if config.pools == PoolSizes::Shared {
            let placed = program.iter().filter(|step| step.affinity != Affinity::Any).count();
            prop_assert_eq!(stats.affinity.hits + stats.affinity.misses, placed as u64);
        }
        for entry in &stats.trace {
            let fences = program[..=entry.task.index()].iter().filter(|step| step.fence_before).count();
            prop_assert_eq!(entry.fences as usize, fences);
        }
    }

    #[test]
    fn a_stored_program_does_the_same_each_time_it_is_run(
        program in steps(90),
        configs in proptest::collection::vec(config(), 1..3),
        deps in prop_oneof![Just(Deps::Overlap), Just(Deps::Hybrid), Just(Deps::Explicit), Just(Deps::Exact)],
    ) {
        let (mut graph, nodes) = stored(deps, &program);
        for config in configs.iter().chain(&configs) {
            let config = RunConfig { deps, ..config.clone() };
            let machine = Machine::new(&program, &config);
            let stats = graph.run(&config, &machine).expect("no task fails");
            let index_of = |node: TaskId| nodes.iter().position(|&other| other == node).unwrap();
            check(&config, &machine, &stats, index_of)?;
        }
    }

    #[test]
    fn with_one_worker_the_order_of_a_graph_depends_on_policy_and_seed_alone(
        program in steps(60),
        config in config(),
    ) {
        let config = RunConfig { threads: 1, pools: PoolSizes::Shared, gates: Vec::new(), batch: 1, ..config };
        let mut orders = Vec::new();
        // Timed runs take the way of several workers.
        for trace in [TracePolicy::None, TracePolicy::Totals, TracePolicy::None] {
            let (mut graph, _) = stored(config.deps, &program);
            let machine = Machine::new(&program, &config);
            graph.run(&RunConfig { trace, ..config.clone() }, &machine).expect("no task fails");
            let mut order: Vec<usize> = (0..program.len()).collect();
            order.sort_by_key(|&i| machine.started(i));
            orders.push(order);
        }
        prop_assert_eq!(&orders[0], &orders[1]);
        prop_assert_eq!(&orders[0], &orders[2]);
    }

    #[test]
    fn with_one_worker_gates_change_no_order_but_that_of_streams_that_overlap(
        program in steps(60),
        config in config(),
        capacity in 1..4u32,
    ) {
        let config = RunConfig { threads: 1, pools: PoolSizes::Shared, batch: 1, ..config };
        let global = vec![Gate { scope: GateScope::Global, capacity }];
        let per_stream = vec![Gate { scope: GateScope::PerStream, capacity: capacity + 1 }];
        let order = |program: &[Step], gates: Vec<Gate>| {
            let config = RunConfig { gates, ..config.clone() };
            let (mut graph, _) = stored(config.deps, program);
            let machine = Machine::new(program, &config);
            graph.run(&RunConfig { trace: TracePolicy::Totals, ..config }, &machine).expect("no task fails");
            let mut order: Vec<usize> = (0..program.len()).collect();
            order.sort_by_key(|&i| machine.started(i));
            order
        };
        prop_assert_eq!(order(&program, Vec::new()), order(&program, global));
        // One worker starts tasks as the gates let them: those of one stream in their order.
        let started = order(&program, per_stream);
        for stream in 0..3 {
            let of_stream = started.iter().filter(|&&i| program[i].stream == Some(StreamId(stream)));
            prop_assert!(of_stream.is_sorted());
        }
    }

    #[test]
    fn a_program_of_one_step_runs_anywhere(only in step(), config in config()) {
        let program = vec![only];
        let machine = Machine::new(&program, &config);
        prop_assert_eq!(stream(&config, &machine).tasks, 1);
    }
}
