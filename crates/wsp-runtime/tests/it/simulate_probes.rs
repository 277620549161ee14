//! Small graphs whose simulated times can be told by hand.

use wsp_core::{ExecPool, KernelId, StreamId, TaskId};
use wsp_runtime::simulate::{
    SimGraph, SimGraphBuilder, SimOverflow, SimTaskSpec, Simulation, Submission, WhyLate, simulate,
};
use wsp_runtime::{
    Affinity, Failure, Gate, GateScope, Party, PoolSizes, Ready, RunConfig, Start, Stopped, Window,
    WindowMode,
};

fn cost(cost: u64) -> SimTaskSpec {
    SimTaskSpec { cost, ..SimTaskSpec::default() }
}

fn lanes(threads: u32) -> RunConfig {
    RunConfig { threads, ..RunConfig::default() }
}

fn graph(tasks: &[SimTaskSpec], edges: &[(u32, u32)]) -> SimGraph {
    let edges = edges.iter().map(|&(before, after)| (TaskId(before), TaskId(after)));
    SimGraph::new(tasks.iter().copied(), edges).expect("the edges should name tasks")
}

fn generated(tasks: &[SimTaskSpec], generation_cycles: u64) -> SimGraph {
    let mut builder = SimGraphBuilder::new();
    builder.submission(Submission::Streamed { generation_cycles });
    for &task in tasks {
        builder.task(task).expect("there should be room for a few tasks");
    }
    builder.build()
}

fn run(graph: &SimGraph, config: &RunConfig) -> Simulation {
    simulate(graph, config).expect("the graph should run")
}

fn starts(simulation: &Simulation) -> Vec<u64> {
    simulation.tasks.iter().map(|task| task.start).collect()
}

fn causes(simulation: &Simulation) -> Vec<WhyLate> {
    simulation.tasks.iter().map(|task| task.cause).collect()
}

const FIRST: WhyLate = WhyLate::Generation { resumed_by: None };
const POLICIES: [Ready; 4] = [Ready::Auto, Ready::Fifo, Ready::WorkSteal, Ready::Priority];

/// Document 003 compares the two. Contention has no virtual time.
#[test]
fn fifo_keeps_the_order_and_is_predictable_and_stealing_keeps_tasks_local() {
    const LANES: u32 = 6;
    // Four tasks, each of which releases 25 of different costs.
    let root = |i: u32| cost(100 + 10 * u64::from(i));
    let tasks: Vec<_> = (0..4).map(root).chain((0..100).map(|i: u64| cost(50 + i * 37 % 90))).collect();
    let edges: Vec<(u32, u32)> = (0..100).map(|i| (i % 4, 4 + i)).collect();
    let graph = graph(&tasks, &edges);
    let runs = |ready| (0..6).map(move |seed| RunConfig { ready, seed, ..lanes(LANES) });
    let simulated = |ready| runs(ready).map(|config| run(&graph, &config)).collect::<Vec<_>>();
    let (fifo, stealing) = (simulated(Ready::Fifo), simulated(Ready::WorkSteal));

    let is_in_order = |simulation: &Simulation| {
        let mut by_ready: Vec<_> = simulation.tasks.iter().collect();
        by_ready.sort_by_key(|task| task.ready);
        by_ready.is_sorted_by_key(|task| task.start)
    };
    assert!(fifo.iter().all(is_in_order) && !stealing.iter().any(is_in_order));
    let local = |simulation: &Simulation| {
        let worker = |task: u32| simulation.tasks[task as usize].worker;
        edges.iter().filter(|(before, after)| worker(*before) == worker(*after)).count()
    };
    let (least, most) = (stealing.iter().map(local).min(), fifo.iter().map(local).max());
    assert!(least > most, "{least:?} of 100 tasks stay where they were released, under fifo {most:?}");
    let differ = |of: &[Simulation]| of.iter().any(|simulation| simulation.tasks != of[0].tasks);
    assert!(!differ(&fifo) && differ(&stealing));
    // No worker idles while a task is ready, under either.
    let work: u64 = fifo[0].workers.iter().map(|worker| worker.busy).sum();
    let longest = 130 + 139;
    assert!(fifo.iter().chain(&stealing).all(|of| of.makespan <= work / u64::from(LANES) + longest));
}

#[test]
fn four_chains_of_eight_tasks_on_four_lanes_take_as_long_as_one() {
    // Task `8 * chain + step`, and the same with the chains interleaved.
    let apart: Vec<(u32, u32)> = (0..32).filter(|i| i % 8 != 7).map(|i| (i, i + 1)).collect();
    let interleaved: Vec<(u32, u32)> = (0..28).map(|i| (i, i + 4)).collect();
    for ready in POLICIES {
        for edges in [&apart, &interleaved] {
            let simulation = run(&graph(&[cost(100); 32], edges), &RunConfig { ready, ..lanes(4) });
            assert_eq!(simulation.makespan, 800, "{ready:?}");
            assert!(simulation.workers.iter().all(|worker| worker.busy == 800), "{ready:?}");
        }
    }
}

#[test]
fn a_reader_waits_for_its_writer() {
    let simulation = run(&graph(&[cost(100); 2], &[(0, 1)]), &lanes(4));
    assert_eq!(simulation.makespan, 200);
    assert_eq!(causes(&simulation), [FIRST, WhyLate::Predecessor(TaskId(0))]);
}

#[test]
fn a_window_bounds_what_runs_at_once() {
    let graph = graph(&[cost(100); 8], &[]);
    for ready in POLICIES {
        let of = |capacity| RunConfig { ready, window: Window::stall(capacity), ..lanes(4) };
        let makespans = [1, 2, 3, 4, 8].map(|capacity| run(&graph, &of(capacity)).makespan);
        assert_eq!(makespans, [800, 400, 300, 200, 200], "{ready:?}");
    }
}

#[test]
fn a_submission_stalled_by_the_window_is_counted_and_explained() {
    let window = Window { capacity: 1, mode: WindowMode::Benchmark };
    let simulation = run(&graph(&[cost(100); 3], &[]), &RunConfig { window, ..lanes(4) });
    let held = |task| WhyLate::Window { held_by: TaskId(task) };
    assert_eq!(causes(&simulation), [FIRST, held(0), held(1)]);
    assert_eq!((simulation.window_stalls, simulation.stalled_cycles), (2, 200));
    let overflow = |task| SimOverflow { task: TaskId(task), waited: 100, high_water: 1 };
    assert_eq!(simulation.overflows, [overflow(1), overflow(2)]);
    assert_eq!((simulation.max_in_flight, simulation.generation_end), (1, 200));
}

#[test]
fn a_window_that_aborts_names_the_task_that_found_it_full() {
    let window = Window { capacity: 2, mode: WindowMode::Abort };
    let error = simulate(&graph(&[cost(1); 3], &[]), &RunConfig { window, ..lanes(4) }).unwrap_err();
    assert_eq!(error, Failure::Source(Stopped::WindowOverflow { capacity: 2, active: 2, task: TaskId(2) }));
    assert!(error.to_string().contains("task 2 finds the window of 2 full"));
    assert_eq!(run(&graph(&[cost(1); 2], &[]), &RunConfig { window, ..lanes(4) }).makespan, 1);
}

#[test]
fn a_stored_graph_has_neither_window_nor_start_policy() {
    let mut builder = SimGraphBuilder::new();
    builder.submission(Submission::Stored);
    for _ in 0..8 {
        builder.task(cost(100)).unwrap();
    }
    let window = Window { capacity: 1, mode: WindowMode::Abort };
    let config = RunConfig { window, start: Start::AfterOrchestration, ..lanes(4) };
    let simulation = run(&builder.build(), &config);
    assert_eq!((simulation.makespan, simulation.tasks[0].cause), (200, FIRST));
}

#[test]
fn a_gate_lets_its_capacity_run() {
    for ready in POLICIES {
        for (tasks, capacity) in [(1, 1), (8, 1), (8, 3), (9, 4), (10, 100)] {
            let gates = vec![Gate { scope: GateScope::Global, capacity }];
            let simulation =
                run(&graph(&vec![cost(100); tasks], &[]), &RunConfig { ready, gates, ..lanes(10) });
            assert_eq!(simulation.makespan, 100 * (tasks as u64).div_ceil(u64::from(capacity)), "{ready:?}");
            assert_eq!(simulation.deferred, (tasks as u64).saturating_sub(u64::from(capacity)));
        }
    }
}

#[test]
fn a_task_that_finds_a_gate_shut_tells_who_held_it() {
    let gates = vec![Gate { scope: GateScope::Global, capacity: 1 }];
    let simulation = run(&graph(&[cost(5), cost(1)], &[]), &RunConfig { gates, ..lanes(2) });
    assert_eq!(causes(&simulation), [FIRST, WhyLate::Gate { held_by: TaskId(0) }]);
}

#[test]
fn a_task_that_a_gate_refused_may_then_wait_for_a_worker() {
    let with = |priority, pool, cycles| SimTaskSpec { priority, pool, ..cost(cycles) };
    let tasks = [
        with(9, ExecPool::Vector, 10),
        with(6, ExecPool::Vector, 1),
        with(5, ExecPool::Any, 100),
        with(7, ExecPool::Cube, 20),
    ];
    // The gate that refused task 1 opens in cycle 10, but the only free worker takes task 3.
    let gates = vec![Gate { scope: GateScope::PerPool, capacity: 1 }];
    let config = RunConfig { ready: Ready::Priority, gates, ..lanes(2) };
    let simulation = run(&graph(&tasks, &[(0, 3)]), &config);
    assert_eq!((starts(&simulation), simulation.deferred), (vec![0, 30, 0, 10], 1));
    assert_eq!(simulation.tasks[1].cause, WhyLate::Worker { busy_with: TaskId(3) });
}

#[test]
fn a_gate_per_pool_counts_each_kind_of_unit() {
    let on = |pool| SimTaskSpec { pool, ..cost(100) };
    let tasks = [ExecPool::Vector, ExecPool::Vector, ExecPool::Cube, ExecPool::Any, ExecPool::Any].map(on);
    let gates = vec![Gate { scope: GateScope::PerPool, capacity: 1 }];
    let simulation = run(&graph(&tasks, &[]), &RunConfig { gates, ..lanes(8) });
    assert_eq!(starts(&simulation), [0, 100, 0, 0, 100]);
    let both =
        vec![Gate { scope: GateScope::PerPool, capacity: 1 }, Gate { scope: GateScope::Global, capacity: 2 }];
    let simulation = run(&graph(&tasks, &[]), &RunConfig { gates: both, ..lanes(8) });
    assert_eq!(starts(&simulation), [0, 100, 0, 100, 200]);
}

#[test]
fn tasks_of_a_stream_run_one_after_another_and_a_gate_of_one_changes_nothing() {
    let on = |stream| SimTaskSpec { stream, ..cost(100) };
    let tasks = [Some(StreamId(3)), Some(StreamId(0)), Some(StreamId(3)), None, Some(StreamId(0))].map(on);
    let free = run(&graph(&tasks, &[]), &lanes(8));
    assert_eq!(starts(&free), [0, 0, 100, 0, 100]);
    let gates = vec![Gate { scope: GateScope::PerStream, capacity: 1 }];
    assert_eq!(run(&graph(&tasks, &[]), &RunConfig { gates, ..lanes(8) }), free);
}

#[test]
fn a_gate_per_stream_lets_so_many_tasks_of_a_stream_be_in_flight_and_they_start_in_order() {
    let on = |stream, cycles| SimTaskSpec { stream: Some(StreamId(stream)), ..cost(cycles) };
    let tasks = [on(0, 100), on(0, 10), on(0, 10), on(1, 5), on(0, 10), on(1, 5)];
    let depth = |capacity, edges: &[(u32, u32)]| {
        let gates = vec![Gate { scope: GateScope::PerStream, capacity }];
        starts(&run(&graph(&tasks, edges), &RunConfig { gates, ..lanes(8) }))
    };
    assert_eq!(depth(1, &[]), [0, 100, 110, 0, 120, 5]);
    assert_eq!(depth(2, &[]), [0, 0, 10, 0, 20, 0]);
    assert_eq!(depth(3, &[]), [0, 0, 0, 0, 10, 0]);
    // Task 1 waits for task 3, and those behind it on its stream for its start.
    assert_eq!(depth(2, &[(3, 1)]), [0, 5, 15, 0, 25, 0]);
    assert_eq!(depth(2, &[(0, 1)]), [0, 100, 100, 0, 110, 0]);
}

#[test]
fn a_start_lets_the_next_of_its_stream_go_in_the_same_cycle_whichever_pools_they_are_of() {
    let on = |pool| SimTaskSpec { pool, stream: Some(StreamId(0)), ..cost(10) };
    for (one, other) in [(ExecPool::Vector, ExecPool::Cube), (ExecPool::Cube, ExecPool::Vector)] {
        // Task 1 waits for task 0, and task 2, for which a worker is idle, for the start of task 1.
        let graph = graph(&[on(one), on(other), on(one)], &[(0, 1)]);
        for ready in POLICIES {
            let pools = PoolSizes::ByUnit { vector: 1, cube: 1 };
            let gates = vec![Gate { scope: GateScope::PerStream, capacity: 2 }];
            let simulation = run(&graph, &RunConfig { ready, pools, gates, ..lanes(2) });
            assert_eq!(starts(&simulation), [0, 10, 10], "{one:?} {ready:?}");
        }
    }
}

#[test]
fn under_priority_tasks_go_to_their_places_and_there_by_priority() {
    let to = |worker, priority| SimTaskSpec { affinity: Affinity::Local(worker), priority, ..cost(10) };
    let tasks = [to(1, 1), to(1, 3), to(0, 2), to(1, 2), to(0, 9), to(0, 5)];
    let config = RunConfig { ready: Ready::Priority, ..lanes(2) };
    let simulation = run(&graph(&tasks, &[]), &config);
    assert_eq!(starts(&simulation), [20, 0, 20, 10, 0, 10]);
    let workers: Vec<Option<u32>> = simulation.tasks.iter().map(|task| task.worker).collect();
    assert_eq!(workers, [1, 1, 0, 1, 0, 0].map(Some));
    assert!(simulation.workers.iter().all(|worker| worker.steals == 0));
}

#[test]
fn priorities_compare_across_units() {
    let on = |pool, priority| SimTaskSpec { pool, priority, ..cost(10) };
    let tasks =
        [on(ExecPool::Vector, 1), on(ExecPool::Any, 5), on(ExecPool::Vector, 5), on(ExecPool::Any, 9)];
    let pools = PoolSizes::ByUnit { vector: 1, cube: 1 };
    let config = RunConfig { ready: Ready::Priority, pools, ..lanes(2) };
    // The vector worker takes task 3 before its own, and the cube worker task 1.
    assert_eq!(starts(&run(&graph(&tasks, &[]), &config)), [20, 0, 10, 0]);
}

#[test]
fn workers_of_a_unit_run_its_tasks_and_then_those_for_any() {
    let on = |pool, cycles| SimTaskSpec { pool, ..cost(cycles) };
    let tasks = [
        on(ExecPool::Any, 50),
        on(ExecPool::Vector, 100),
        on(ExecPool::Vector, 100),
        on(ExecPool::Cube, 30),
        on(ExecPool::Any, 10),
    ];
    for ready in POLICIES {
        let config = RunConfig { ready, pools: PoolSizes::ByUnit { vector: 1, cube: 1 }, ..lanes(2) };
        let simulation = run(&graph(&tasks, &[]), &config);
        assert_eq!(starts(&simulation), [30, 0, 100, 0, 80], "{ready:?}");
        let workers: Vec<Option<u32>> = simulation.tasks.iter().map(|task| task.worker).collect();
        assert_eq!(workers, [1, 0, 0, 1, 1].map(Some), "{ready:?}");
    }
    assert_eq!(run(&graph(&tasks, &[]), &lanes(2)).tasks[2].start, 50);
}

#[test]
fn after_orchestration_nothing_starts_before_the_last_is_generated() {
    let start = Start::AfterOrchestration;
    let simulation = run(&generated(&[cost(100); 4], 10), &RunConfig { start, ..lanes(4) });
    assert_eq!((simulation.makespan, simulation.generation_end), (140, 40));
    assert_eq!(causes(&simulation), [WhyLate::Start, WhyLate::Start, WhyLate::Start, FIRST]);
    assert_eq!(starts(&run(&generated(&[cost(100); 4], 10), &lanes(4))), [10, 20, 30, 40]);
}

#[test]
fn a_full_window_forces_the_start() {
    let config = RunConfig { start: Start::AfterOrchestration, window: Window::stall(2), ..lanes(4) };
    let simulation = run(&generated(&[cost(100); 4], 10), &config);
    assert_eq!(simulation.forced_start, Some(30));
    assert_eq!(starts(&simulation), [30, 30, 130, 140]);
    let held = WhyLate::Window { held_by: TaskId(0) };
    assert_eq!(simulation.tasks[2].cause, held);
    assert_eq!(simulation.tasks[3].cause, WhyLate::Generation { resumed_by: Some(TaskId(0)) });
}

#[test]
fn a_threshold_starts_the_run_when_reached_or_when_all_is_submitted() {
    let of = |tasks| RunConfig { start: Start::Threshold(tasks), ..lanes(4) };
    let graph = generated(&[cost(100); 4], 10);
    assert_eq!(starts(&run(&graph, &of(3))), [30, 30, 30, 40]);
    assert_eq!(starts(&run(&graph, &of(1))), [10, 20, 30, 40]);
    assert_eq!(starts(&run(&graph, &of(9))), [40; 4]);
    assert_eq!(run(&graph, &of(3)).forced_start, None);
}

#[test]
fn a_batch_releases_when_it_is_full_or_its_worker_has_nothing_to_do() {
    // One lane: tasks 0 to 4 are independent, task 5 waits for task 0.
    let graph = graph(&[cost(10); 6], &[(0, 5)]);
    let of = |batch, threads| run(&graph, &RunConfig { batch, ..lanes(threads) });
    let ready = |batch| of(batch, 1).tasks[5].ready;
    assert_eq!([1, 2, 3, 100].map(ready), [10, 20, 30, 50]);
    let released = WhyLate::Batch { predecessor: TaskId(0), released_with: TaskId(4) };
    assert_eq!(of(100, 1).tasks[5].cause, released);
    // The number of tasks is no multiple of the batch, and everything ends.
    assert_eq!((of(4, 1).makespan, of(4, 2).makespan), (60, 40));
}

#[test]
fn the_priority_policy_takes_the_largest_and_then_the_oldest() {
    let with = |priority| SimTaskSpec { priority, ..cost(10) };
    let tasks = [0, -3, 7, 7, i32::MAX, i32::MIN].map(with);
    let config = |ready| RunConfig { ready, start: Start::AfterOrchestration, ..lanes(1) };
    let ranked = run(&graph(&tasks, &[]), &config(Ready::Priority));
    assert_eq!(starts(&ranked), [30, 40, 10, 20, 0, 50]);
    let fifo = run(&graph(&tasks, &[]), &config(Ready::Fifo));
    assert_eq!(starts(&fifo), [0, 10, 20, 30, 40, 50]);
}

#[test]
fn a_task_that_a_gate_refused_still_goes_by_its_priority() {
    let with = |priority| SimTaskSpec { priority, ..cost(10) };
    // Task 2 becomes ready in the cycle in which the gate opens, and passes task 1 at it.
    let graph = graph(&[with(9), with(1), with(5)], &[(0, 2)]);
    let gates = vec![Gate { scope: GateScope::Global, capacity: 1 }];
    let config = RunConfig { ready: Ready::Priority, gates, ..lanes(2) };
    assert_eq!(starts(&run(&graph, &config)), [0, 20, 10]);
    assert_eq!(starts(&run(&graph, &RunConfig { ready: Ready::Fifo, ..config })), [0, 10, 20]);
}

#[test]
fn under_work_stealing_an_owner_takes_what_it_released_and_thieves_take_the_rest() {
    // Task 0 releases 3, 4 and 5, task 1 nothing; task 2 waits in the common queue from the start.
    let graph = graph(&[cost(10), cost(10), cost(1), cost(5), cost(5), cost(5)], &[(0, 3), (0, 4), (0, 5)]);
    let config = RunConfig { ready: Ready::WorkSteal, ..lanes(2) };
    let simulation = run(&graph, &config);
    // Worker 0 prefers its own task 3 to the older task 2. Worker 1 takes task 2, then the last that worker 0 would take.
    assert_eq!(starts(&simulation), [0, 0, 10, 10, 15, 11]);
    assert_eq!(simulation.workers.iter().map(|worker| worker.steals).collect::<Vec<u64>>(), [0, 1]);
    let fifo = RunConfig { ready: Ready::Fifo, ..config };
    assert_eq!(starts(&run(&graph, &fifo)), [0, 0, 10, 10, 11, 15]);
}

#[test]
fn tasks_go_to_the_worker_and_the_group_they_ask_for_unless_those_are_busy() {
    let to = |affinity| SimTaskSpec { affinity, ..cost(10) };
    let tasks = [
        to(Affinity::Local(3)),
        to(Affinity::Group(1)),
        to(Affinity::Group(1)),
        to(Affinity::Spread),
        to(Affinity::Spread),
    ];
    for ready in [Ready::Fifo, Ready::WorkSteal] {
        let config = RunConfig { ready, cores_per_group: 2, ..lanes(4) };
        let simulation = run(&graph(&tasks, &[]), &config);
        let workers: Vec<Option<u32>> = simulation.tasks.iter().map(|task| task.worker).collect();
        // Workers 0 and 1 take what is spread to them, 3 its own and 2 of its group; task 2 then goes to the first free.
        assert_eq!((workers[0], workers[1]), (Some(3), Some(2)));
        assert_eq!((workers[3], workers[4]), (Some(0), Some(1)));
        assert_eq!(starts(&simulation), [0, 0, 10, 0, 0]);
    }
}

#[test]
fn all_of_seventy_thousand_successors_run() {
    let edges: Vec<(u32, u32)> = (1..=70_000).map(|after| (0, after)).collect();
    let simulation = run(&graph(&vec![cost(1); 70_001], &edges), &lanes(7));
    assert_eq!(simulation.makespan, 1 + 70_000 / 7);
    assert!(simulation.tasks.iter().all(|task| task.worker.is_some()));
}

#[test]
fn tasks_that_wait_for_each_other_are_reported() {
    let named = |kernel| SimTaskSpec { kernel: KernelId(kernel), ..cost(1) };
    let graph = graph(&[named(5), named(6), named(7), named(8)], &[(1, 2), (2, 1), (2, 3)]);
    for ready in POLICIES {
        let error = simulate(&graph, &RunConfig { ready, ..lanes(2) }).unwrap_err();
        let Failure::Stuck(report) = &error else { panic!("{error}") };
        let party = |task, kernel| Party::Task { task: TaskId(task), kernel: KernelId(kernel) };
        assert_eq!((report.unfinished, &report.cycle), (3, &vec![party(1, 6), party(2, 7)]));
        assert!(error.to_string().contains("task 3 (kernel 8) waits for task 2 (kernel 7)"), "{error}");
    }
}

#[test]
fn a_window_full_of_tasks_that_wait_for_a_later_one_is_reported() {
    let graph = graph(&[cost(1); 2], &[(1, 0)]);
    assert_eq!(starts(&run(&graph, &lanes(1))), [1, 0]);
    let error = simulate(&graph, &RunConfig { window: Window::stall(1), ..lanes(1) }).unwrap_err();
    let Failure::Stuck(report) = &error else { panic!("{error}") };
    assert_eq!(report.unfinished, 1);
    assert!(report.cycle.contains(&Party::Source), "{error}");
    assert!(report.cycle.contains(&Party::Window { capacity: 1 }), "{error}");
}

#[test]
fn a_barrier_node_takes_no_time_and_no_place() {
    let mut builder = SimGraphBuilder::new();
    let before: Vec<TaskId> = (0..2).map(|_| builder.task(cost(100)).unwrap()).collect();
    let point = builder.barrier_node().unwrap();
    let after: Vec<TaskId> = (0..2).map(|_| builder.task(cost(100)).unwrap()).collect();
    for task in before {
        builder.depend(task, point).unwrap();
    }
    for task in after {
        builder.depend(point, task).unwrap();
    }
    let config = RunConfig { window: Window::stall(2), ..lanes(2) };
    let simulation = run(&builder.build(), &config);
    assert_eq!(starts(&simulation), [0, 0, 100, 100, 100]);
    assert_eq!((simulation.tasks[2].worker, simulation.max_in_flight), (None, 2));
    assert_eq!(simulation.workers.iter().map(|worker| worker.tasks).sum::<u64>(), 4);
}

#[test]
fn a_task_without_a_free_worker_tells_who_kept_it() {
    let simulation = run(&graph(&[cost(7), cost(9), cost(1)], &[]), &lanes(2));
    assert_eq!(simulation.tasks[2].cause, WhyLate::Worker { busy_with: TaskId(0) });
    let path: Vec<u32> = simulation.critical_path().iter().map(|step| step.task.0).collect();
    assert_eq!(path, [1]);
    assert_eq!(simulation.tasks[2].cause.to_string(), "a worker, busy with task 0");
}

#[test]
fn tasks_that_cost_nothing_end_in_the_cycle_in_which_they_start() {
    let simulation = run(&graph(&[cost(0); 3], &[(0, 1), (1, 2)]), &lanes(1));
    assert_eq!((simulation.makespan, starts(&simulation)), (0, vec![0; 3]));
    assert_eq!(run(&graph(&[], &[]), &lanes(3)).makespan, 0);
    assert!(run(&graph(&[], &[]), &lanes(3)).critical_path().is_empty());
}

#[test]
fn times_beyond_the_clock_are_an_error() {
    let error = simulate(&graph(&[cost(u64::MAX), cost(1)], &[(0, 1)]), &lanes(1)).unwrap_err();
    assert_eq!(error, Failure::Source(Stopped::TooLong(TaskId(1))));
    let error = simulate(&generated(&[cost(1); 2], u64::MAX), &lanes(1)).unwrap_err();
    assert!(matches!(error, Failure::Source(Stopped::TooLong(_))));
}

#[test]
fn a_configuration_that_cannot_be_is_refused() {
    let error = simulate(&graph(&[], &[]), &lanes(1025)).unwrap_err();
    assert_eq!(error.to_string(), "`threads` is 1025, but must lie in 1..=1024");
}

#[test]
fn a_cancelled_simulation_ends() {
    let cancel = Some(std::sync::Arc::new(true.into()));
    let error = simulate(&graph(&[cost(1)], &[]), &RunConfig { cancel, ..lanes(1) }).unwrap_err();
    assert_eq!(error, Failure::Cancelled);
}
