//! Simulated and real runs of the same graph.

use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::Mutex;
use wsp_core::{ExecPool, KernelId, StreamId, TaskId};
use wsp_runtime::simulate::{SimGraph, Simulation, Submission, simulate};
use wsp_runtime::{
    Deps, Failure, Gate, GateScope, Party, Ready, RunConfig, Stopped, TaskGraph, TaskRunner, TaskSpec,
};

/// Notes which task runs when.
#[derive(Default)]
struct Recorder(Mutex<Vec<u32>>);

impl TaskRunner for Recorder {
    type Failure = ();
    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
        self.0.lock().expect("no task should panic").push(task.0);
        Ok(())
    }
}

/// One thing that a program says.
#[derive(Clone, Debug)]
enum Step {
    Task {
        after: Vec<prop::sample::Index>,
        stream: Option<u16>,
        pool: ExecPool,
        priority: i32,
        signals: bool,
        waits: bool,
    },
    Fence,
    Begin,
    Next,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    let task = (
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        prop_oneof![2 => Just(None), 1 => (0_u16..3).prop_map(Some)],
        prop_oneof![Just(ExecPool::Any), Just(ExecPool::Vector), Just(ExecPool::Cube)],
        -2..3,
        any::<bool>(),
        any::<bool>(),
    );
    let task = task.prop_map(|(after, stream, pool, priority, signals, waits)| Step::Task {
        after,
        stream,
        pool,
        priority,
        signals,
        waits,
    });
    prop_oneof![12 => task, 1 => Just(Step::Fence), 1 => Just(Step::Begin), 2 => Just(Step::Next), 1 => Just(Step::End)]
}

fn gates() -> impl Strategy<Value = Vec<Gate>> {
    let scope = prop_oneof![Just(GateScope::Global), Just(GateScope::PerStream), Just(GateScope::PerPool)];
    prop::collection::vec((scope, 1_u32..4).prop_map(|(scope, capacity)| Gate { scope, capacity }), 0..3)
}

/// The graph of a program. Steps and ends without a scope say nothing.
fn graph_of(steps: &[Step]) -> TaskGraph {
    let mut graph = TaskGraph::new(Deps::Explicit);
    let mut tasks: Vec<TaskId> = Vec::new();
    let mut happened = Vec::new();
    for step in steps {
        match step {
            Step::Task { after, stream, pool, priority, signals, waits } => {
                let chosen = after.iter().filter(|_| !tasks.is_empty());
                let after: Vec<TaskId> = chosen.map(|index| tasks[index.index(tasks.len())]).collect();
                let waited = if *waits { happened.last().copied() } else { None };
                let signals = signals.then(|| graph.event().expect("the graph should have room"));
                let spec = TaskSpec {
                    after: &after,
                    stream: stream.map(StreamId),
                    pool: *pool,
                    priority: *priority,
                    waits: waited.as_slice(),
                    signals,
                    ..TaskSpec::default()
                };
                tasks.push(graph.submit(spec).expect("the task should be fine"));
                happened.extend(signals);
            }
            Step::Fence => graph.fence().expect("the graph should have room"),
            Step::Begin => graph.ordered_begin(),
            Step::Next => drop(graph.ordered_step()),
            Step::End => drop(graph.ordered_end()),
        }
    }
    graph
}

fn simulated(graph: &TaskGraph, config: &RunConfig) -> Result<Simulation, Failure<Infallible, Stopped>> {
    let graph = SimGraph::from_task_graph(graph, Submission::Stored, |_, _, _| 1);
    simulate(&graph.map_err(Failure::Source)?, config)
}

/// The tasks in the order in which they start.
fn order(graph: &TaskGraph, simulation: &Simulation) -> Vec<u32> {
    let mut tasks: Vec<u32> =
        (0..graph.len() as u32).filter(|&id| !graph.is_barrier_node(TaskId(id))).collect();
    tasks.sort_by_key(|&id| simulation.tasks[id as usize].start);
    tasks
}

proptest! {
    #![proptest_config(crate::cases::cases(256))]

    #[test]
    fn one_simulated_worker_takes_tasks_in_the_order_of_a_real_one(
        steps in prop::collection::vec(step(), 0..60),
        gates in gates(),
        batch in prop_oneof![2 => Just(1_u32), 1 => 2..5_u32],
    ) {
        let mut graph = graph_of(&steps);
        for ready in [Ready::Auto, Ready::Fifo, Ready::WorkSteal, Ready::Priority] {
            let config = RunConfig { ready, gates: gates.clone(), batch, ..RunConfig::default() };
            let runner = Recorder::default();
            graph.run(&config, &runner).expect("no task should fail");
            let simulation = simulated(&graph, &config).expect("edges to later tasks should close no cycle");
            prop_assert_eq!(
                runner.0.into_inner().expect("no task should panic"),
                order(&graph, &simulation),
                "{:?}",
                ready
            );
        }
    }
}

#[test]
fn costs_come_from_kernel_and_payload_and_places_from_the_task() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    let spec = TaskSpec {
        kernel: KernelId(3),
        payload: &[7, 8],
        pool: ExecPool::Cube,
        stream: Some(StreamId(1)),
        priority: -4,
        ..TaskSpec::default()
    };
    let first = graph.submit(spec).unwrap();
    let second = graph.submit(TaskSpec { payload: &[1], ..spec }).unwrap();
    let cost = |_, kernel: KernelId, payload: &[u32]| u64::from(kernel.0) * u64::from(payload[0]);
    let simulated = SimGraph::from_task_graph(&graph, Submission::default(), cost).unwrap();
    let task = simulated.task(first).unwrap();
    assert_eq!((task.cost, task.kernel, task.pool), (21, KernelId(3), ExecPool::Cube));
    assert_eq!((task.stream, task.priority), (Some(StreamId(1)), -4));
    // The stream's edge is there once.
    assert_eq!((simulated.len(), simulated.edge_count(), simulated.span()), (2, 1, Some(24)));
    assert_eq!(simulated.task(second).unwrap().cost, 3);
}

#[test]
fn what_is_stuck_is_reported_as_by_a_run() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    let tasks: Vec<TaskId> = (0..3).map(|_| graph.submit(TaskSpec::default()).unwrap()).collect();
    graph.depend(tasks[1], tasks[2]).unwrap();
    graph.depend(tasks[2], tasks[1]).unwrap();
    let never = graph.event().unwrap();
    graph.submit(TaskSpec { waits: &[never], ..TaskSpec::default() }).unwrap();
    let config = RunConfig::default();
    let Err(Failure::Stuck(real)) = graph.run(&config, &Recorder::default()) else {
        panic!("a cycle should be reported");
    };
    let Err(Failure::Stuck(report)) = simulated(&graph, &config) else {
        panic!("a cycle should be reported");
    };
    assert_eq!(report, real);
    assert!(report.waits.iter().any(|(_, on)| on.contains(&Party::UnsignalledEvent(never))), "{report}");
}
