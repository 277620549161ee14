//! Runs in the order of starts of runs before.

use crate::common::program::{Machine, steps};
use crate::common::{Scripted, config as plain};
use crate::oracle::{check, config, stored, stream};
use proptest::prelude::*;
use std::sync::Arc;
use wsp_core::{ExecPool, Started, TaskId};
use wsp_runtime::{
    Deps, Failure, PoolSizes, Ready, Replay, RunConfig, Stats, Stopped, TaskGraph, TaskSpec, TracePolicy, run,
};

/// The order of starts of a traced run.
fn order_of(stats: &Stats, threads: u32) -> Arc<Replay> {
    let start = |of: &wsp_runtime::TaskTrace| Started {
        started: of.started_ns,
        ended: of.finished_ns,
        worker: of.worker,
        kernel: of.kernel.0.into(),
    };
    replay(threads, &stats.trace.iter().map(start).collect::<Vec<_>>())
}

/// Kernels of programs of tests, by their numbers.
const KERNELS: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];

fn replay(workers: u32, tasks: &[Started]) -> Arc<Replay> {
    let order = Replay::new(workers, &KERNELS.map(str::to_owned), tasks).expect("it is an order");
    Arc::new(order.among(KERNELS.into_iter()))
}

/// Tasks with their workers, by start. What started within one tick of the clock is in the order that a replay would have.
fn starts(stats: &Stats) -> Vec<(TaskId, u32)> {
    let mut all: Vec<_> = stats.trace.iter().collect();
    all.sort_by_key(|of| (of.started_ns, of.task));
    all.into_iter().map(|of| (of.task, of.worker)).collect()
}

/// Whether tasks started in the order of another run, each on its worker: no task started before the one whose turn came before its.
fn keeps(stats: &Stats, order: &[(TaskId, u32)], one_worker: bool) -> Result<(), TestCaseError> {
    let mut last = 0;
    for &(task, worker) in order {
        let of = stats.trace.iter().find(|of| of.task == task).expect("every task ran");
        prop_assert!(last <= of.started_ns, "{:?} before its turn", task);
        prop_assert_eq!(of.worker, if one_worker { 0 } else { worker });
        last = of.started_ns;
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::cases::cases(120))]

    #[test]
    fn a_streamed_run_is_run_again_task_for_task_on_as_many_workers_and_on_one(
        program in steps(70),
        config in config(),
    ) {
        let config = RunConfig { trace: TracePolicy::Measured, ..config };
        let first = stream(&config, &Machine::new(&program, &config));
        let (order, replay) = (starts(&first), order_of(&first, config.threads));
        for threads in [config.threads, 1] {
            let pools = if threads == config.threads { config.pools } else { PoolSizes::Shared };
            let again = RunConfig { threads, pools, replay: Some(Arc::clone(&replay)), ..config.clone() };
            let machine = Machine::new(&program, &again);
            let stats = stream(&again, &machine);
            check(&again, &machine, &stats, TaskId::index)?;
            keeps(&stats, &order, threads == 1)?;
        }
    }

    #[test]
    fn a_stored_run_is_run_again_task_for_task_on_as_many_workers_and_on_one(
        program in steps(70),
        config in config(),
    ) {
        let config = RunConfig { trace: TracePolicy::Measured, ..config };
        let (mut graph, nodes) = stored(config.deps, &program);
        let first = graph.run(&config, &Machine::new(&program, &config)).expect("no task fails");
        let (order, replay) = (starts(&first), order_of(&first, config.threads));
        for threads in [config.threads, 1] {
            let pools = if threads == config.threads { config.pools } else { PoolSizes::Shared };
            let again = RunConfig { threads, pools, replay: Some(Arc::clone(&replay)), ..config.clone() };
            let machine = Machine::new(&program, &again);
            let stats = graph.run(&again, &machine).expect("no task fails");
            let index_of = |node: TaskId| nodes.iter().position(|&other| other == node).unwrap();
            check(&again, &machine, &stats, index_of)?;
            keeps(&stats, &order, threads == 1)?;
        }
    }
}

fn started(worker: u32, turn: u64) -> Started {
    Started { started: turn, ended: turn + 1, worker, kernel: 0 }
}

/// Tasks without edges, one of each length, in the order in which they ran.
fn independent(tasks: u32, order: &[Started]) -> Result<Vec<u32>, String> {
    let runner = Scripted::new(|_| Ok(()));
    let order = Some(replay(2, order));
    let config = RunConfig { replay: order, threads: 1, ..plain(1, 64, Ready::Auto) };
    let outcome = run(&config, &runner, |submitter| {
        for _ in 0..tasks {
            submitter.submit(TaskSpec::default())?;
        }
        Ok::<(), Stopped>(())
    });
    outcome.map_err(|failure| failure.to_string())?;
    Ok(runner.ran())
}

#[test]
fn an_order_is_kept_whatever_the_policy_would_do() {
    let order = [started(0, 3), started(1, 0), started(0, 2), started(1, 1)];
    assert_eq!(independent(4, &order), Ok(vec![1, 3, 2, 0]));
}

#[test]
fn an_order_of_more_or_fewer_tasks_is_refused() {
    let order = [started(0, 0), started(1, 1), started(0, 2)];
    let fewer = "the order of starts has 3 tasks, and this run 2: it is one of another program, or of other arguments";
    assert_eq!(independent(2, &order), Err(fewer.to_owned()));
    // The task that comes last starts first: the others wait for it in vain.
    let last = [started(0, 1), started(1, 2), started(0, 0)];
    assert_eq!(independent(2, &last), Err(fewer.to_owned()));
    let more = "task 3 comes after the last of 3 tasks in the order of starts, which is one of another program, of other arguments or of other pools";
    assert_eq!(independent(4, &order), Err(more.to_owned()));
}

#[test]
fn an_order_of_other_kernels_other_workers_or_other_edges_is_refused() {
    let other = [Started { kernel: 3, ..started(0, 0) }];
    let kernels = "task 0 is of another kernel in the order of starts, which is one of another program, of other arguments or of other pools";
    assert_eq!(independent(1, &other), Err(kernels.to_owned()));

    let mut graph = TaskGraph::new(Deps::Explicit);
    let first = graph.submit(TaskSpec::default()).expect("the task fits");
    graph.submit(TaskSpec { after: &[first], ..TaskSpec::default() }).expect("the task fits");
    let mut refused = |threads, order: &[Started]| {
        let order = Some(replay(2, order));
        let config = RunConfig { replay: order, deps: Deps::Explicit, ..plain(threads, 8, Ready::Auto) };
        match graph.run(&config, &Scripted::new(|_| Ok(()))) {
            Err(Failure::Start(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let backwards = [started(0, 1), started(1, 0)];
    let text = "in the order of starts task 1 comes before something that it waits for: it is one of another program, or of other arguments";
    assert_eq!([refused(2, &backwards), refused(1, &backwards)], [text, text]);
    let workers = "the order of starts is one of 2 workers, and this run has 3; run it with 2 or with 1";
    assert_eq!(refused(3, &[started(0, 0), started(1, 1)]), workers);
    let kernel = "in the order of starts task 1 is of another kernel, or on a worker that does not run its kind: it is one of another program, or of other arguments";
    assert_eq!(refused(2, &[started(0, 0), Started { kernel: 1, ..started(1, 1) }]), kernel);
    let tasks =
        "the order of starts has 1 task, and this run 2: it is one of another program, or of other arguments";
    assert_eq!(refused(2, &[started(0, 0)]), tasks);
    // A refused run leaves the graph as it was.
    assert!(graph.run(&plain(2, 8, Ready::Auto), &Scripted::new(|_| Ok(()))).is_ok());
}

#[test]
fn a_task_that_fails_or_a_run_that_is_cancelled_ends_a_replay() {
    let order = [started(0, 0), started(1, 1), started(0, 2), started(1, 3)];
    let order = Some(replay(2, &order));
    let config = RunConfig { replay: order, ..plain(2, 8, Ready::Auto) };
    let submit = |submitter: &mut wsp_runtime::Submitter<'_, Scripted<'_>>| {
        (0..4).try_for_each(|_| submitter.submit(TaskSpec::default()).map(drop))
    };
    let fails = Scripted::new(|task| if task == 1 { Err("no".to_owned()) } else { Ok(()) });
    assert!(matches!(run(&config, &fails, submit), Err(Failure::Task { .. })));
    let panics = Scripted::new(|task| if task == 0 { panic!("no") } else { Ok(()) });
    assert!(matches!(run(&config, &panics, submit), Err(Failure::Panic { .. })));
    let cancel = Some(Arc::new(std::sync::atomic::AtomicBool::new(true)));
    let cancelled = run(&RunConfig { cancel, ..config }, &Scripted::new(|_| Ok(())), submit);
    assert!(matches!(cancelled, Err(Failure::Cancelled)), "{cancelled:?}");
}

#[test]
fn a_task_that_waits_for_its_turn_says_so() {
    let order = replay(2, &[started(0, 1), started(1, 0)]);
    let config = RunConfig { replay: Some(order), trace: TracePolicy::Measured, ..plain(2, 8, Ready::Auto) };
    let stats = run(&config, &Scripted::new(|_| Ok(())), |submitter| {
        submitter.submit(TaskSpec::default())?;
        // The source goes on when the first has been ready for long.
        std::thread::yield_now();
        submitter.submit(TaskSpec::default()).map(drop)
    });
    let stats = stats.expect("no task fails");
    let records = wsp_runtime::timeline::records_of(&stats.trace, &stats.facts);
    assert_eq!(records[0].cause(), wsp_core::WhyLate::Start);
    assert!(matches!(records[1].cause(), wsp_core::WhyLate::Generation { .. }), "{:?}", records[1]);
}

#[test]
fn a_task_of_one_pool_is_not_started_on_a_worker_of_another() {
    let order = replay(2, &[started(0, 0), started(1, 1)]);
    let pools = PoolSizes::ByUnit { vector: 1, cube: 1 };
    let config = RunConfig { replay: Some(order), pools, ..plain(2, 8, Ready::Auto) };
    let with = |kinds: [ExecPool; 2]| {
        let spec = |pool| TaskSpec { pool, ..TaskSpec::default() };
        let outcome = run(&config, &Scripted::new(|_| Ok(())), |submitter| {
            kinds.into_iter().try_for_each(|pool| submitter.submit(spec(pool)).map(drop))
        });
        outcome.map(|stats| stats.tasks).map_err(|failure| failure.to_string())
    };
    assert_eq!(with([ExecPool::Vector, ExecPool::Cube]), Ok(2));
    assert_eq!(with([ExecPool::Any, ExecPool::Cube]), Ok(2));
    let text = "task 0 is on worker 0, which does not run its kind, in the order of starts, which is one of another program, of other arguments or of other pools";
    assert_eq!(with([ExecPool::Cube, ExecPool::Cube]), Err(text.to_owned()));
}

#[test]
fn a_source_that_fails_before_the_task_whose_turn_it_is_ends_the_run() {
    let order = replay(2, &[started(0, 1), started(1, 0)]);
    let config = RunConfig { replay: Some(order), ..plain(2, 8, Ready::Auto) };
    let outcome = run(&config, &Scripted::new(|_| Ok(())), |submitter| {
        submitter.submit(TaskSpec::default()).map_err(|reason| reason.to_string())?;
        Err::<(), String>("no more".to_owned())
    });
    assert!(matches!(&outcome, Err(Failure::Source(text)) if text == "no more"), "{outcome:?}");
}

#[test]
fn of_tasks_that_start_together_the_one_submitted_first_comes_first_however_long_they_take() {
    let together = |ended| Started { started: 0, ended, worker: 0, kernel: 0 };
    assert_eq!(independent(3, &[together(9), together(1), together(5)]), Ok(vec![0, 1, 2]));
}
