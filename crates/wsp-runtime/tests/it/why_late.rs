//! Why tasks were late: causes of measured runs against a reconstruction, and of simulated ones by taking the cause away.

use crate::common::{Scripted, config};
use proptest::prelude::*;
use wsp_core::{ExecPool, KernelId, TaskId, WhyLate};
use wsp_runtime::simulate::{SimGraph, SimTaskSpec, Simulation, simulate};
use wsp_runtime::timeline::{TaskRecord, records_of};
use wsp_runtime::{
    Deps, Gate, GateScope, PoolSizes, Ready, RunConfig, Stats, Stopped, TaskGraph, TaskSpec, TracePolicy,
    Window, run,
};

/// Tasks by their edges to later ones, and how long each computes.
#[derive(Clone, Debug)]
struct Work {
    tasks: u32,
    edges: Vec<(u32, u32)>,
    spins: Vec<u32>,
}

impl Work {
    fn before(&self, task: u32) -> Vec<TaskId> {
        let mut before: Vec<TaskId> =
            self.edges.iter().filter(|(_, to)| *to == task).map(|(from, _)| TaskId(*from)).collect();
        before.sort_unstable();
        before.dedup();
        before
    }
}

fn work(most: u32) -> impl Strategy<Value = Work> {
    (2..most).prop_flat_map(|tasks| {
        let edges = prop::collection::vec((0..tasks, 0..tasks), 0..tasks as usize * 2);
        let spins = prop::collection::vec(0_u32..300, tasks as usize);
        (edges, spins).prop_map(move |(edges, spins)| {
            let edges = edges.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b)));
            Work { tasks, edges: edges.collect(), spins }
        })
    })
}

fn computes(work: &Work) -> Scripted<'_> {
    Scripted::new(|task| {
        (0..work.spins[task as usize]).for_each(|_| std::hint::spin_loop());
        Ok(())
    })
}

fn traced(threads: u32, window: u32) -> RunConfig {
    RunConfig { trace: TracePolicy::Measured, deps: Deps::Explicit, ..config(threads, window, Ready::Auto) }
}

/// A run of a stored graph.
fn stored(work: &Work, threads: u32) -> Stats {
    let mut graph = TaskGraph::new(Deps::Explicit);
    for task in 0..work.tasks {
        let after = work.before(task);
        graph.submit(TaskSpec { after: &after, ..TaskSpec::default() }).expect("the task fits");
    }
    graph.run(&traced(threads, 1), &computes(work)).expect("no task fails")
}

/// A run of tasks that are submitted while others run.
fn streamed(work: &Work, threads: u32, window: u32) -> Stats {
    let submitted = run(&traced(threads, window), &computes(work), |submitter| {
        for task in 0..work.tasks {
            let after = work.before(task);
            submitter.submit(TaskSpec { after: &after, ..TaskSpec::default() })?;
        }
        Ok::<(), Stopped>(())
    });
    submitted.expect("no task fails")
}

/// What a task waited for last, from starts, ends and the edges to it: every moment that had to come first is listed, and the latest counts.
fn reconstructed(all: &[TaskRecord], task: &TaskRecord, before: &[TaskId]) -> WhyLate {
    let end = |task: &TaskId| all.iter().find(|other| other.task == *task).expect("it ran").ended;
    // With the latest moment the smaller rank counts, then the larger task.
    let mut moments: Vec<(u64, std::cmp::Reverse<u32>, u32)> =
        vec![(task.submitted, std::cmp::Reverse(0), 0)];
    moments.extend(before.iter().map(|task| (end(task), std::cmp::Reverse(1), task.0)));
    let others = all.iter().filter(|other| other.row() == task.row() && other.task != task.task);
    let earlier = others
        .filter(|other| (other.started, other.ended, other.task) < (task.started, task.ended, task.task));
    let newest = earlier.max_by_key(|other| (other.started, other.ended, other.task));
    moments.extend(newest.map(|other| (other.ended, std::cmp::Reverse(2), other.task.0)));
    match moments.into_iter().max() {
        Some((_, std::cmp::Reverse(1), task)) => WhyLate::Predecessor(TaskId(task)),
        Some((_, std::cmp::Reverse(2), task)) => WhyLate::Worker { busy_with: TaskId(task) },
        _ => WhyLate::Generation { resumed_by: None },
    }
}

/// Checks every cause of a run against what starts, ends and edges say.
fn check(
    stats: &Stats,
    window: Option<u32>,
    edges: impl Fn(usize) -> Vec<TaskId>,
) -> Result<(), TestCaseError> {
    let records = records_of(&stats.trace, &stats.facts);
    let mut resumed_by = None;
    for (at, record) in records.iter().enumerate() {
        let TaskRecord { submitted, ready, started, ended, .. } = *record;
        prop_assert!(submitted <= ready && ready <= started && started <= ended, "{:?}", record);
        if stats.trace[at].stalled {
            // All but the latest to end had to be complete, so that the window had room.
            let mut ends: Vec<(u64, TaskId)> =
                records[..at].iter().map(|one| (one.ended, one.task)).collect();
            ends.sort_unstable();
            let window = window.expect("only a window makes the source wait") as usize;
            let (end, task) = ends[ends.len() - window];
            prop_assert!(end <= submitted);
            resumed_by = Some(task);
        }
        let cause = match reconstructed(&records, record, &edges(at)) {
            WhyLate::Generation { .. } => match resumed_by {
                Some(held_by) if stats.trace[at].stalled => WhyLate::Window { held_by },
                resumed_by => WhyLate::Generation { resumed_by },
            },
            other => other,
        };
        prop_assert_eq!(record.cause(), cause, "{:?} of {:?}", record, stats.trace);
    }
    Ok(())
}

fn simulated(work: &Work, specs: &[SimTaskSpec], edges: &[(u32, u32)], config: &RunConfig) -> Simulation {
    assert_eq!(work.tasks as usize, specs.len());
    let edges = edges.iter().map(|&(from, to)| (TaskId(from), TaskId(to)));
    let graph = SimGraph::new(specs.iter().copied(), edges).expect("edges name tasks");
    simulate(&graph, config).expect("edges to later tasks close no cycle")
}

fn specs(work: &Work, pool: ExecPool) -> Vec<SimTaskSpec> {
    let cost = |spins: &u32| u64::from(spins % 13 + 1);
    work.spins.iter().map(|spins| SimTaskSpec { cost: cost(spins), pool, ..SimTaskSpec::default() }).collect()
}

proptest! {
    #![proptest_config(crate::cases::cases(500))]

    #[test]
    fn causes_of_stored_graphs_follow_from_starts_ends_and_edges(work in work(40), threads in 1_u32..4) {
        let stats = stored(&work, threads);
        check(&stats, None, |at| work.before(at as u32))?;
    }

    #[test]
    fn causes_of_streams_follow_from_starts_ends_and_edges(
        work in work(40),
        threads in 1_u32..4,
        window in prop_oneof![1_u32..12, Just(100)],
    ) {
        let stats = streamed(&work, threads, window);
        check(&stats, Some(window), |at| stats.trace[at].preds.clone())?;
        for (at, trace) in stats.trace.iter().enumerate() {
            let before = work.before(at as u32);
            prop_assert!(trace.preds.iter().all(|task| before.contains(task)));
            // Edges that are not among them came from tasks that were complete.
            prop_assert!(before.iter().all(|task| stats.trace[task.index()].finished_ns <= trace.started_ns));
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(350))]

    #[test]
    fn without_the_edge_that_a_task_waited_for_it_starts_earlier(work in work(30)) {
        let (specs, workers) = (specs(&work, ExecPool::Any), RunConfig { threads: 30, ..RunConfig::default() });
        let simulation = simulated(&work, &specs, &work.edges, &workers);
        for (at, task) in simulation.tasks.iter().enumerate() {
            let WhyLate::Predecessor(before) = task.cause else {
                prop_assert_eq!((task.cause, task.start), (WhyLate::Generation { resumed_by: None }, 0));
                continue;
            };
            prop_assert_eq!(simulation.tasks[before.index()].end, task.start);
            let is_last = |edge: &&(u32, u32)| edge.1 == at as u32 && simulation.tasks[edge.0 as usize].end == task.start;
            let others: Vec<_> = work.edges.iter().filter(|edge| !is_last(edge)).copied().collect();
            prop_assert!(simulated(&work, &specs, &others, &workers).tasks[at].start < task.start);
        }
    }

    #[test]
    fn with_a_worker_and_a_gate_of_its_own_a_task_that_waited_for_them_starts_earlier(
        work in work(30),
        workers in 1_u32..4,
        gate in prop::option::of(1_u32..3),
    ) {
        let (own, others) = (ExecPool::Cube, ExecPool::Vector);
        let specs = specs(&work, others);
        let gates: Vec<Gate> = gate.map(|capacity| Gate { scope: GateScope::PerPool, capacity }).into_iter().collect();
        let pools = PoolSizes::ByUnit { vector: workers, cube: 1 };
        let config = RunConfig { threads: workers + 1, ready: Ready::Fifo, pools, gates, ..RunConfig::default() };
        let simulation = simulated(&work, &specs, &work.edges, &config);
        for (at, task) in simulation.tasks.iter().enumerate() {
            match task.cause {
                WhyLate::Worker { busy_with: by } | WhyLate::Gate { held_by: by } => {
                    prop_assert_eq!(simulation.tasks[by.index()].end, task.start);
                    let mut freed = specs.clone();
                    freed[at].pool = own;
                    let freed = simulated(&work, &freed, &work.edges, &config);
                    prop_assert_eq!(freed.tasks[at].start, task.ready);
                    prop_assert!(task.ready < task.start);
                }
                _ => prop_assert_eq!(task.ready, task.start),
            }
        }
    }

    #[test]
    fn in_a_wider_window_a_task_that_waited_for_it_starts_earlier(work in work(30), window in 1_u32..8) {
        let specs = specs(&work, ExecPool::Any);
        let config = |window| RunConfig { threads: 30, window: Window::stall(window), ..RunConfig::default() };
        let narrow = simulated(&work, &specs, &work.edges, &config(window));
        let wide = simulated(&work, &specs, &work.edges, &config(work.tasks));
        for (at, task) in narrow.tasks.iter().enumerate() {
            let WhyLate::Window { held_by } = task.cause else { continue };
            prop_assert_eq!((narrow.tasks[held_by.index()].end, task.submitted), (task.start, task.start));
            let is_late = |before: &TaskId| wide.tasks[before.index()].end == task.start;
            if !work.before(at as u32).iter().any(is_late) {
                prop_assert!(wide.tasks[at].start < task.start);
            }
        }
    }
}

/// The kinds of causes that need more than two clocks: batches, gates, the start policy, barrier nodes.
#[test]
fn batches_gates_starts_and_fences_are_causes() {
    let idle = Work { tasks: 8, edges: (1..8).map(|task| (task - 1, task)).collect(), spins: vec![300; 8] };
    let records = |config: &RunConfig, fenced: bool| {
        let stats = run(config, &computes(&idle), |submitter| {
            for task in 0..idle.tasks {
                if fenced && task > 0 {
                    submitter.fence();
                }
                submitter.submit(TaskSpec { kernel: KernelId(0), ..TaskSpec::default() })?;
            }
            Ok::<(), Stopped>(())
        });
        let stats = stats.expect("no task fails");
        records_of(&stats.trace, &stats.facts)
    };
    let late = RunConfig { start: wsp_runtime::Start::AfterOrchestration, ..traced(2, 64) };
    let started = records(&late, false);
    assert!(started.iter().any(|record| record.cause() == WhyLate::Start), "{started:?}");
    let fenced = records(&late, true);
    for pair in fenced.windows(2) {
        assert_eq!(pair[1].cause(), WhyLate::Predecessor(pair[0].task), "{fenced:?}");
    }
    let one = Gate { scope: GateScope::Global, capacity: 1 };
    let gated = records(&RunConfig { gates: vec![one], ..traced(2, 64) }, false);
    for record in &gated {
        // The tasks of one gate run one after another.
        if let WhyLate::Gate { held_by } = record.cause() {
            let before = gated.iter().find(|other| other.task == held_by).expect("it ran");
            assert!(record.ready < before.ended && before.ended <= record.started, "{gated:?}");
        }
    }
    let mut graph = TaskGraph::new(Deps::Explicit);
    let [a, b] = [(); 2].map(|()| graph.submit(TaskSpec::default()).expect("the task fits"));
    graph.submit(TaskSpec { after: &[a], ..TaskSpec::default() }).expect("the task fits");
    let batched = RunConfig { batch: 2, ..traced(1, 1) };
    let stats = graph.run(&batched, &computes(&idle)).expect("no task fails");
    let causes: Vec<WhyLate> = records_of(&stats.trace, &stats.facts).iter().map(TaskRecord::cause).collect();
    assert_eq!(causes[2], WhyLate::Batch { predecessor: a, released_with: b });
}
