//! One test per rule of a run, on both stores where both have the rule.

use crate::common::{Gate as Latch, Scripted, cells, task};
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_core::{EventId, ExecPool, KernelId, StreamId, TaskId};
use wsp_runtime::{
    Deps, FailedTask, Failure, Gate, GateScope, Party, PoolSizes, Ready, RunConfig, Start, Stopped,
    TaskGraph, TaskSpec, TracePolicy, Window, WindowMode, run,
};

fn threads(threads: u32) -> RunConfig {
    RunConfig { threads, ..RunConfig::default() }
}

fn quiet() -> Scripted<'static> {
    Scripted::new(|_| Ok(()))
}

#[test]
fn a_fan_out_of_seventy_thousand_completes() {
    let mut graph = TaskGraph::new(Deps::Overlap);
    let cell = [cells(0, 0, 1)];
    graph.submit(task(&[], &[], &cell)).unwrap();
    for _ in 0..70_000 {
        graph.submit(task(&[], &cell, &[])).unwrap();
    }
    graph.submit(task(&[], &[], &cell)).unwrap();
    assert_eq!((graph.successor_count(TaskId(0)), graph.predecessor_count(TaskId(70_001))), (70_001, 70_001));
    for workers in [1, 3] {
        let runner = quiet();
        assert_eq!(graph.run(&threads(workers), &runner).unwrap().tasks, 70_002);
        let ran = runner.ran();
        assert_eq!((ran[0], ran[70_001]), (0, 70_001));
    }
}

/// Also behind tasks that were in flight for long.
#[test]
fn tasks_that_are_complete_leave_the_window_long_before_it_is_full() {
    let first = Latch::default();
    let ran = AtomicU32::new(0);
    let runner = Scripted::new(|id| {
        if id == 0 {
            first.wait();
        }
        ran.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let window = Window { capacity: 1024, ..Window::default() };
    let stats = run(&RunConfig { window, ..threads(1) }, &runner, |submitter| {
        (0..600).try_for_each(|_| submitter.submit(TaskSpec::default()).map(|_| ()))?;
        first.open();
        for before in 600..900 {
            while ran.load(Ordering::SeqCst) < before {
                std::thread::yield_now();
            }
            submitter.submit(TaskSpec::default())?;
        }
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert!((600..=700).contains(&stats.max_in_flight), "{}", stats.max_in_flight);
}

#[test]
fn task_0_is_found_as_a_producer() {
    for deps in [Deps::Exact, Deps::Overlap, Deps::Hybrid] {
        let mut graph = TaskGraph::new(deps);
        graph.submit(task(&[], &[], &[cells(0, 0, 1)])).unwrap();
        graph.submit(task(&[], &[cells(0, 0, 1)], &[])).unwrap();
        assert!(graph.edges().eq([(TaskId(0), TaskId(1))]), "{deps:?}");
    }
}

#[test]
fn exact_dependences_see_equal_regions_only_and_overlap_yields_both_producers() {
    let edges = |deps| {
        let mut graph = TaskGraph::new(deps);
        graph.submit(task(&[], &[], &[cells(0, 0, 4)])).unwrap();
        graph.submit(task(&[], &[], &[cells(0, 2, 4)])).unwrap();
        graph.submit(task(&[], &[cells(0, 0, 4)], &[])).unwrap();
        graph.edges().map(|(from, to)| (from.0, to.0)).collect::<Vec<_>>()
    };
    assert_eq!(edges(Deps::Exact), [(0, 2)]);
    assert_eq!(edges(Deps::Overlap), [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(edges(Deps::Explicit), []);
}

#[test]
fn a_cycle_is_reported_and_printed_and_the_graph_can_be_mended_by_building_it_again() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    for round in 0..2 {
        for kernel in 0..4 {
            graph.submit(TaskSpec { kernel: KernelId(kernel), ..TaskSpec::default() }).unwrap();
        }
        graph.depend(TaskId(1), TaskId(2)).unwrap();
        graph.depend(TaskId(2), TaskId(3)).unwrap();
        if round == 0 {
            graph.depend(TaskId(3), TaskId(1)).unwrap();
        }
        for workers in [1, 2] {
            let (runner, config) = (quiet(), threads(workers));
            let outcome = graph.run(&config, &runner);
            if round == 1 {
                assert_eq!(outcome.unwrap().tasks, 4);
                continue;
            }
            let Err(Failure::Stuck(report)) = outcome else { panic!("{outcome:?}") };
            let party = |i: u32| Party::Task { task: TaskId(i), kernel: KernelId(i as u16) };
            assert_eq!((report.unfinished, &report.cycle[..]), (3, &[party(1), party(3), party(2)][..]));
            assert!(report.to_string().contains("a cycle: task 1 (kernel 1) waits for task 3 (kernel 3)"));
            assert_eq!(runner.ran(), [0]);
        }
        graph.clear();
    }
}

#[test]
fn a_wait_for_an_event_that_nobody_signals_is_reported() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    let event = graph.event().unwrap();
    let waiting = graph.submit(TaskSpec { waits: &[event], ..TaskSpec::default() }).unwrap();
    let outcome = graph.run(&threads(1), &quiet());
    let Err(Failure::Stuck(report)) = outcome else { panic!("{outcome:?}") };
    let party = Party::Task { task: waiting, kernel: KernelId(0) };
    assert_eq!(report.waits, [(party, vec![Party::UnsignalledEvent(event)])]);

    let outcome = run(&threads(2), &quiet(), |submitter| {
        let event = submitter.event();
        submitter.submit(TaskSpec { waits: &[event], ..TaskSpec::default() })?;
        submitter.submit(TaskSpec::default())?;
        Ok::<(), Stopped>(())
    });
    let Err(Failure::Stuck(report)) = outcome else { panic!("{outcome:?}") };
    let party = Party::Task { task: TaskId(0), kernel: KernelId(0) };
    assert_eq!(
        (report.unfinished, report.waits),
        (1, vec![(party, vec![Party::UnsignalledEvent(EventId(0))])])
    );
}

#[test]
fn a_source_that_waits_for_room_that_only_it_could_make_is_told() {
    let runner = quiet();
    let config = RunConfig { window: Window::stall(2), ..threads(2) };
    let outcome = run(&config, &runner, |submitter| {
        let event = submitter.event();
        for _ in 0..2 {
            submitter.submit(TaskSpec { waits: &[event], ..TaskSpec::default() })?;
        }
        assert_eq!(submitter.submit(TaskSpec::default()), Err(Stopped::Stopping));
        assert!(submitter.cancelled());
        Err(Stopped::Stopping)
    });
    let Err(Failure::Stuck(report)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(report.waits[0], (Party::Source, vec![Party::Window { capacity: 2 }]));
    assert_eq!(runner.ran(), []);
    // The same runner runs again.
    assert_eq!(
        run(&config, &runner, |submitter| submitter.submit(TaskSpec::default()).map(drop)).unwrap().tasks,
        1
    );
}

#[test]
fn events_order_tasks_of_different_streams_also_when_the_waiting_task_comes_first() {
    for workers in [1, 3] {
        let runner = quiet();
        run(&threads(workers), &runner, |submitter| {
            for _ in 0..50 {
                let event = submitter.event();
                let on = |stream| TaskSpec { stream: Some(StreamId(stream)), ..TaskSpec::default() };
                submitter.submit(TaskSpec { waits: &[event], ..on(0) })?;
                submitter.submit(TaskSpec { signals: Some(event), ..on(1) })?;
            }
            Ok::<(), Stopped>(())
        })
        .unwrap();
        let at = |id: u32| runner.ran().iter().position(|&ran| ran == id).unwrap();
        assert!((0..50).all(|i| at(2 * i + 1) < at(2 * i)));
    }
}

#[test]
fn what_cannot_be_submitted_is_refused_without_effect() {
    let mut graph = TaskGraph::new(Deps::Overlap);
    let event = graph.event().unwrap();
    let signal = TaskSpec { signals: Some(event), ..TaskSpec::default() };
    let first = graph.submit(signal).unwrap();
    let explicit = TaskSpec { after: &[first], ..TaskSpec::default() };
    assert_eq!(graph.submit(explicit), Err(Stopped::EdgeNotTaken));
    assert_eq!(graph.depend(first, first), Err(Stopped::EdgeNotTaken));
    assert_eq!(graph.submit(signal), Err(Stopped::SignalledTwice(event)));
    let unknown = TaskSpec { waits: &[EventId(7)], ..TaskSpec::default() };
    assert_eq!(graph.submit(unknown), Err(Stopped::UnknownEvent(EventId(7))));
    assert_eq!(graph.ordered_step(), Err(Stopped::NoOrderedScope));
    assert_eq!((graph.tasks(), graph.len(), graph.run(&threads(1), &quiet()).unwrap().tasks), (1, 2, 1));

    let config = RunConfig { deps: Deps::Explicit, ..threads(1) };
    run(&config, &quiet(), |submitter| {
        assert_eq!(submitter.ordered_step(), Err(Stopped::NoOrderedScope));
        let unknown = TaskSpec { after: &[TaskId(0)], ..TaskSpec::default() };
        assert_eq!(submitter.submit(unknown), Err(Stopped::UnknownTask(TaskId(0))));
        assert_eq!(submitter.await_writers(&cells(0, 0, 1)), Err(Stopped::RegionsNotKept));
        Ok::<(), Stopped>(())
    })
    .unwrap();
}

#[test]
fn a_full_window_aborts_before_any_effect() {
    let go = Latch::default();
    let runner = Scripted::new(|_| {
        go.wait();
        Ok(())
    });
    let window = Window { capacity: 3, mode: WindowMode::Abort };
    let stats = run(&RunConfig { window, ..threads(1) }, &runner, |submitter| {
        for _ in 0..3 {
            submitter.submit(TaskSpec::default())?;
        }
        let overflow = Stopped::WindowOverflow { capacity: 3, active: 3, task: TaskId(3) };
        assert_eq!(submitter.submit(TaskSpec::default()), Err(overflow));
        assert!(overflow.to_string().starts_with("task 3 finds the window of 3 full: 3 tasks are in flight"));
        go.open();
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert_eq!((stats.tasks, stats.window_stalls), (3, 0));
}

#[test]
fn a_source_that_asks_for_room_is_never_made_to_wait_or_refused() {
    for mode in [WindowMode::Stall, WindowMode::Abort, WindowMode::Benchmark] {
        let go = Latch::default();
        let runner = Scripted::new(|_| {
            go.wait();
            Ok(())
        });
        let window = Window { capacity: 3, mode };
        let stats = run(&RunConfig { window, ..threads(1) }, &runner, |submitter| {
            for id in 0..3 {
                assert!(submitter.can_submit());
                assert_eq!(submitter.try_submit(TaskSpec::default()), Ok(Some(TaskId(id))));
            }
            assert!(!submitter.can_submit());
            assert_eq!(
                submitter.try_submit(TaskSpec::default()),
                Ok(None),
                "no task ends before the latch opens"
            );
            go.open();
            for id in 3..40 {
                submitter.wait_for_space()?;
                assert!(submitter.can_submit());
                assert_eq!(
                    submitter.submit(TaskSpec::default()),
                    Ok(TaskId(id)),
                    "there is room in every mode"
                );
            }
            let unknown = TaskSpec { after: &[TaskId(99)], ..TaskSpec::default() };
            submitter.wait_for_space()?;
            assert_eq!(submitter.try_submit(unknown), Err(Stopped::EdgeNotTaken));
            Ok::<(), Stopped>(())
        })
        .unwrap();
        assert_eq!((stats.tasks, stats.overflows.len()), (40, 0), "{mode:?}");
        assert!((1..=38).contains(&stats.window_stalls), "{mode:?}: {}", stats.window_stalls);
    }
}

#[test]
fn room_that_nothing_could_make_ends_the_wait_and_the_run() {
    let window = Window { capacity: 1, mode: WindowMode::Stall };
    let outcome = run(&RunConfig { window, ..threads(1) }, &quiet(), |submitter| {
        let event = submitter.event();
        submitter.submit(TaskSpec { waits: &[event], ..TaskSpec::default() })?;
        assert!(!submitter.can_submit());
        assert_eq!(submitter.wait_for_space(), Err(Stopped::Stopping));
        assert!(!submitter.can_submit());
        assert_eq!(submitter.try_submit(TaskSpec::default()), Err(Stopped::Stopping));
        submitter.wait_for_space()
    });
    assert!(matches!(outcome, Err(Failure::Stuck(_))), "{outcome:?}");
}

#[test]
fn a_benchmarked_window_records_one_overflow_per_blocked_submission() {
    let window = Window { capacity: 2, mode: WindowMode::Benchmark };
    let stats = run(&RunConfig { window, ..threads(1) }, &quiet(), |submitter| {
        for _ in 0..500 {
            submitter.submit(TaskSpec::default())?;
        }
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert_eq!(stats.overflows.len() as u64, stats.window_stalls);
    assert!(stats.overflows.iter().all(|overflow| overflow.high_water == 2));
    assert!(stats.overflows.is_sorted_by(|a, b| a.task < b.task));
}

#[test]
fn nothing_starts_before_the_start_policy_says_and_a_full_window_forces_it() {
    for (start, tasks, forced) in [
        (Start::AfterOrchestration, 8, 0),
        (Start::AfterOrchestration, 30, 1),
        (Start::Threshold(5), 30, 0),
        (Start::Threshold(100), 30, 1),
        (Start::Threshold(100), 6, 0),
    ] {
        let ran = AtomicU32::new(0);
        let runner = Scripted::new(|_| {
            ran.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        let config = RunConfig { window: Window::stall(10), start, ..threads(2) };
        let stats = run(&config, &runner, |submitter| {
            for i in 0..tasks {
                let held = match start {
                    Start::Threshold(n) => i < n.min(11),
                    _ => i < 11,
                };
                assert!(!held || ran.load(Ordering::SeqCst) == 0);
                submitter.submit(TaskSpec::default())?;
            }
            Ok::<(), Stopped>(())
        })
        .unwrap();
        assert_eq!((stats.tasks, stats.forced_starts), (u64::from(tasks), forced), "{start:?}");
    }
}

#[test]
fn fifo_with_one_worker_is_the_order_of_becoming_ready_on_both_stores() {
    let order = |graph: &mut TaskGraph, config: &RunConfig| {
        let runner = quiet();
        graph.run(config, &runner).unwrap();
        runner.ran()
    };
    let mut graph = TaskGraph::new(Deps::Explicit);
    let ids: Vec<TaskId> = (0..8).map(|_| graph.submit(TaskSpec::default()).unwrap()).collect();
    // 0 releases 6, 4 and 5; 1 releases 3.
    for (before, after) in [(0, 6), (0, 4), (0, 5), (1, 3)] {
        graph.depend(ids[before], ids[after]).unwrap();
    }
    for trace in [TracePolicy::None, TracePolicy::Measured] {
        let fifo = RunConfig { ready: Ready::Fifo, trace, ..threads(1) };
        assert_eq!(order(&mut graph, &fifo), [0, 1, 2, 7, 4, 5, 6, 3]);
        let steal = RunConfig { ready: Ready::WorkSteal, ..fifo };
        assert_eq!(order(&mut graph, &steal), [0, 4, 5, 6, 1, 3, 2, 7]);
    }
}

#[test]
fn the_larger_priority_goes_first_on_both_stores() {
    let priorities = [3, 9, -1, 9, 0];
    let expected = [1, 3, 0, 4, 2];
    let spec = |priority| TaskSpec { priority, ..TaskSpec::default() };
    let mut graph = TaskGraph::new(Deps::Overlap);
    priorities.iter().for_each(|&priority| assert!(graph.submit(spec(priority)).is_ok()));
    for trace in [TracePolicy::None, TracePolicy::Totals] {
        let (config, runner) = (RunConfig { ready: Ready::Priority, trace, ..threads(1) }, quiet());
        graph.run(&config, &runner).unwrap();
        assert_eq!(runner.ran(), expected);
    }
    let start = Start::AfterOrchestration;
    let (config, runner) = (RunConfig { ready: Ready::Priority, start, ..threads(1) }, quiet());
    run(&config, &runner, |submitter| {
        priorities.iter().try_for_each(|&priority| submitter.submit(spec(priority)).map(drop))
    })
    .unwrap();
    assert_eq!(runner.ran().len(), 5);
}

#[test]
fn a_gate_lets_no_more_run_than_its_capacity_and_loses_nothing() {
    let gates = vec![
        Gate { scope: GateScope::Global, capacity: 2 },
        Gate { scope: GateScope::PerStream, capacity: 1 },
    ];
    let (running, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let runner = Scripted::new(|_| {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        running.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    });
    for ready in [Ready::Fifo, Ready::WorkSteal, Ready::Priority] {
        let config = RunConfig { gates: gates.clone(), ready, ..threads(4) };
        let mut graph = TaskGraph::new(Deps::Overlap);
        for i in 0..600u16 {
            graph.submit(TaskSpec { stream: Some(StreamId(i % 3)), ..TaskSpec::default() }).unwrap();
            graph.submit(TaskSpec::default()).unwrap();
        }
        assert_eq!(graph.run(&config, &runner).unwrap().tasks, 1200);
    }
    assert!(most.load(Ordering::SeqCst) <= 2);
}

#[test]
fn the_tail_of_a_batch_is_released_on_both_stores() {
    for (tasks, batch) in [(7, 4), (1, 9), (100, 32), (5, 5)] {
        for workers in [1, 2] {
            let config = RunConfig { batch, ..threads(workers) };
            let cell = [cells(0, 0, 1)];
            let mut graph = TaskGraph::new(Deps::Overlap);
            (0..tasks).for_each(|_| assert!(graph.submit(task(&[], &cell, &cell)).is_ok()));
            assert_eq!(graph.run(&config, &quiet()).unwrap().tasks, tasks);
            let stats = run(&RunConfig { window: Window::stall(3), ..config }, &quiet(), |submitter| {
                (0..tasks).try_for_each(|_| submitter.submit(task(&[], &cell, &cell)).map(drop))
            });
            assert_eq!(stats.unwrap().tasks, tasks);
        }
    }
}

#[test]
fn a_failure_names_kernel_and_payload_and_the_graph_runs_again() {
    for workers in [1, 3] {
        let broken = AtomicU32::new(1);
        let runner = Scripted::new(|id| match (id, broken.load(Ordering::SeqCst)) {
            (5, 1) => panic!("index {id} of 4"),
            (5, 2) => Err("bad".to_owned()),
            _ => Ok(()),
        });
        let mut graph = TaskGraph::new(Deps::Explicit);
        let mut last = graph.submit(TaskSpec::default()).unwrap();
        for i in 1..10u32 {
            let payload = [i, 10 * i, 7, 7];
            let spec = TaskSpec {
                kernel: KernelId(i as u16),
                payload: &payload,
                after: &[last],
                ..TaskSpec::default()
            };
            last = graph.submit(spec).unwrap();
        }
        let config = threads(workers);
        let outcome = graph.run(&config, &runner);
        let Err(Failure::Panic { task: FailedTask { id, kernel, payload, cancelled }, message }) = outcome
        else {
            panic!("{outcome:?}")
        };
        assert_eq!((id.0, kernel.0, &payload[..], cancelled), (5, 5, &[5, 50, 7, 7][..], 4));
        assert_eq!(message, "index 5 of 4");
        broken.store(2, Ordering::SeqCst);
        assert!(matches!(
            graph.run(&config, &runner),
            Err(Failure::Task { task: FailedTask { id: TaskId(5), cancelled: 4, .. }, .. })
        ));
        broken.store(0, Ordering::SeqCst);
        assert_eq!(graph.run(&config, &runner).unwrap().tasks, 10);
        assert_eq!(runner.ran().len(), 6 + 6 + 10);
    }
}

#[test]
fn what_waits_for_a_failed_task_does_not_run_though_its_id_is_smaller() {
    for workers in [1, 2] {
        let mut graph = TaskGraph::new(Deps::Explicit);
        (0..3).for_each(|_| assert!(graph.submit(TaskSpec::default()).is_ok()));
        graph.depend(TaskId(2), TaskId(0)).unwrap();
        let runner = Scripted::new(|id| if id == 2 { Err(String::new()) } else { Ok(()) });
        assert!(matches!(
            graph.run(&threads(workers), &runner),
            Err(Failure::Task { task: FailedTask { id: TaskId(2), .. }, .. })
        ));
        assert!(!runner.ran().contains(&0));
    }
}

#[test]
fn nested_ordered_scopes_eleven_deep_run_in_order() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    fn nest(graph: &mut TaskGraph, depth: u32) {
        graph.ordered_begin();
        for step in 0..2 {
            if step > 0 {
                graph.ordered_step().unwrap();
            }
            match depth {
                0 => drop(graph.submit(TaskSpec::default()).unwrap()),
                _ => nest(graph, depth - 1),
            }
        }
        graph.ordered_end().unwrap();
    }
    nest(&mut graph, 10);
    assert_eq!((graph.tasks(), graph.edge_count()), (2048, 2047));
    let runner = quiet();
    graph.run(&threads(3), &runner).unwrap();
    assert!(runner.ran().is_sorted());
}

#[test]
fn a_step_of_many_tasks_costs_one_edge_in_and_one_out_per_task() {
    let mut graph = TaskGraph::new(Deps::Explicit);
    graph.ordered_begin();
    for _ in 0..3 {
        (0..100).for_each(|_| assert!(graph.submit(TaskSpec::default()).is_ok()));
        graph.ordered_step().unwrap();
    }
    // No task waits for the last step: it has no barrier node.
    assert_eq!((graph.len(), graph.edge_count()), (302, 200 + 200));
    assert!(graph.edges().all(|(from, to)| from < to));
}

#[test]
fn a_source_may_read_what_writers_wrote() {
    let written = AtomicU32::new(0);
    let runner = Scripted::new(|id| {
        std::thread::yield_now();
        written.fetch_max(id + 1, Ordering::Relaxed);
        Ok(())
    });
    let start = Start::AfterOrchestration;
    let stats = run(&RunConfig { start, ..threads(2) }, &runner, |submitter| {
        for i in 0..20 {
            submitter.submit(task(&[], &[], &[cells(0, 0, 4)]))?;
            submitter.await_writers(&cells(0, 3, 9))?;
            assert_eq!(written.load(Ordering::Relaxed), i + 1);
        }
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert_eq!(stats.forced_starts, 1);
}

#[test]
fn tasks_of_one_unit_run_on_its_workers_and_any_on_both() {
    let pools = PoolSizes::ByUnit { vector: 1, cube: 1 };
    let (both, runner_of) = (AtomicU32::new(0), |pool| TaskSpec { pool, ..TaskSpec::default() });
    // Two tasks for any unit run at once only if both pools take one.
    let runner = Scripted::new(|_| {
        both.fetch_add(1, Ordering::SeqCst);
        while both.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        Ok(())
    });
    let mut graph = TaskGraph::new(Deps::Explicit);
    (0..2).for_each(|_| assert!(graph.submit(runner_of(ExecPool::Any)).is_ok()));
    for ready in [Ready::Fifo, Ready::WorkSteal, Ready::Priority] {
        both.store(0, Ordering::SeqCst);
        graph.run(&RunConfig { pools, ready, ..threads(2) }, &runner).unwrap();
    }
}

#[test]
fn streaming_two_million_tasks_keeps_the_window() {
    let config = RunConfig { window: Window::stall(256), ..threads(1) };
    struct Nothing;
    impl wsp_runtime::TaskRunner for Nothing {
        type Failure = ();
        fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
            Ok(())
        }
    }
    let stats = run(&config, &Nothing, |submitter| {
        (0..2_000_000).try_for_each(|_| submitter.submit(TaskSpec::default()).map(drop))
    })
    .unwrap();
    assert!(stats.tasks == 2_000_000 && stats.max_in_flight <= 256);
}
