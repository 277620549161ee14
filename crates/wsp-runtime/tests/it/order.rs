//! Order of execution, fences, windows.

use crate::common::{Gate, POLICIES, Scripted, cells, config, task};
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_core::TaskId;
use wsp_runtime::{Affinity, Ready, RunConfig, Stopped, TaskSpec, TracePolicy, run};

#[test]
fn one_worker_without_dependences_runs_in_submission_order() {
    let runner = Scripted::new(|_| Ok(()));
    let affinities = [Affinity::Any, Affinity::Local(3), Affinity::Group(1), Affinity::Spread];
    let stats = run(&config(1, 64, Ready::Fifo), &runner, |submitter| {
        for i in 0..5000usize {
            let affinity = affinities[i % 4];
            submitter.submit(TaskSpec { affinity, ..task(&[], &[], &[cells(0, i as u32, i as u32 + 1)]) })?;
        }
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert!(runner.ran().into_iter().eq(0..5000));
    assert_eq!((stats.roots, stats.edges.hazards()), (5000, 0));
    assert_eq!((stats.affinity.hits, stats.affinity.misses), (3750, 0));
}

#[test]
fn fifo_is_the_order_of_becoming_ready_with_ties_by_id() {
    let submitted = Gate::default();
    let runner = Scripted::new(|id| {
        if id == 0 {
            submitted.wait();
        }
        Ok(())
    });
    let stats = run(&config(1, 64, Ready::Fifo), &runner, |submitter| {
        let cell = [cells(0, 0, 1)];
        submitter.submit(task(&[], &[], &cell))?;
        for _ in 0..3 {
            submitter.submit(task(&[], &cell, &[]))?;
            submitter.submit(task(&[], &[], &[]))?;
        }
        submitted.open();
        Ok::<(), Stopped>(())
    })
    .unwrap();
    // 2, 4 and 6 were ready at once; 1, 3 and 5 when 0 was complete.
    assert_eq!(runner.ran(), [0, 2, 4, 6, 1, 3, 5]);
    assert_eq!((stats.edges.raw, stats.edges.hazards(), stats.roots), (3, 3, 4));
}

#[test]
fn a_window_of_one_runs_one_task_at_a_time() {
    for ready in POLICIES {
        let runner = Scripted::new(|_| Ok(()));
        let stats = run(&config(3, 1, ready), &runner, |submitter| {
            for i in 0..500 {
                if i % 7 == 0 {
                    submitter.fence();
                }
                submitter.submit(task(&[], &[cells(0, 0, 9)], &[cells(0, i % 9, i % 9 + 1)]))?;
            }
            Ok::<(), Stopped>(())
        })
        .unwrap();
        assert!(runner.ran().into_iter().eq(0..500));
        assert_eq!(stats.max_in_flight, 1);
        // All but the last were complete before the source returned.
        assert!(stats.overlapped >= 499);
        assert_eq!(stats.edges.hazards(), 0);
    }
}

#[test]
fn many_empty_tasks_complete_with_any_policy() {
    for ready in POLICIES {
        for threads in [1, 2, 5] {
            let count = AtomicU32::new(0);
            let runner = Counting(&count);
            let stats = run(&config(threads, 512, ready), &runner, |submitter| {
                for _ in 0..100_000 {
                    submitter.submit(task(&[], &[], &[]))?;
                }
                Ok::<(), Stopped>(())
            })
            .unwrap();
            assert_eq!((stats.tasks, count.into_inner()), (100_000, 100_000));
            assert!(stats.max_in_flight <= 512);
        }
    }
}

#[test]
fn a_chain_runs_in_order_on_many_workers() {
    for ready in POLICIES {
        let runner = Scripted::new(|_| Ok(()));
        let stats = run(&config(4, 32, ready), &runner, |submitter| {
            for _ in 0..5000 {
                submitter.submit(task(&[], &[cells(0, 0, 1)], &[cells(0, 0, 1)]))?;
            }
            Ok::<(), Stopped>(())
        })
        .unwrap();
        assert!(runner.ran().into_iter().eq(0..5000));
        assert_eq!(stats.edges.waw + stats.edges.war, 0, "the first kind that applies is read after write");
    }
}

#[test]
fn nothing_after_a_fence_starts_before_everything_ahead_of_it_is_complete() {
    for ready in POLICIES {
        for window in [1, 2, 3, 16, 4096] {
            let epochs: Vec<AtomicU32> = (0..200).map(|_| AtomicU32::new(0)).collect();
            let sizes: Vec<u32> = (0..200).map(|epoch| epoch * 7 % 12).collect();
            let runner = Epochs { done: &epochs, sizes: &sizes };
            let stats = run(&config(4, window, ready), &runner, |submitter| {
                submitter.fence();
                for (epoch, &size) in sizes.iter().enumerate() {
                    for _ in 0..size {
                        submitter.submit(task(&[epoch as u32], &[], &[]))?;
                    }
                    submitter.fence();
                }
                submitter.fence();
                Ok::<(), Stopped>(())
            })
            .unwrap();
            assert_eq!(stats.tasks, u64::from(sizes.iter().sum::<u32>()));
            assert!(stats.max_in_flight <= window);
        }
    }
}

#[test]
fn a_fence_does_not_hold_up_the_source() {
    let generated = Gate::default();
    let runner = Scripted::new(|id| {
        if id == 0 {
            generated.wait();
        }
        Ok(())
    });
    let stats = run(&config(2, 64, Ready::Fifo), &runner, |submitter| {
        for _ in 0..10 {
            submitter.submit(task(&[], &[], &[]))?;
            submitter.fence();
        }
        generated.open();
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert!(runner.ran().into_iter().eq(0..10));
    // From each task to the fence behind it, and from each fence but the last to the next task.
    assert_eq!(stats.edges.fence, 10 + 9);
}

#[test]
fn a_graph_with_more_edges_than_fit_the_window_still_runs() {
    const WRITERS: u32 = 200;
    let submitting = AtomicU32::new(0);
    let runner = Scripted::new(|id| {
        // Writers hold on until the edges are all but used up.
        while id < WRITERS && submitting.load(Ordering::Acquire) < 20 {
            std::thread::yield_now();
        }
        Ok(())
    });
    let stats = run(&config(2, 256, Ready::Fifo), &runner, |submitter| {
        for i in 0..WRITERS {
            submitter.submit(task(&[], &[], &[cells(0, i, i + 1)]))?;
        }
        for i in 0..300 {
            submitting.store(i, Ordering::Release);
            submitter.submit(task(&[], &[cells(0, 0, WRITERS)], &[]))?;
        }
        Ok::<(), Stopped>(())
    })
    .unwrap();
    let ran = runner.ran();
    assert!(ran[..WRITERS as usize].iter().all(|&id| id < WRITERS));
    assert!(stats.edges.raw >= 19 * u64::from(WRITERS));
}

#[test]
fn a_trace_tells_who_waited_for_whom() {
    let submitted = Gate::default();
    let runner = Scripted::new(|id| {
        if id < 2 {
            submitted.wait();
        }
        Ok(())
    });
    let traced = RunConfig { trace: TracePolicy::Measured, ..config(2, 64, Ready::Fifo) };
    let stats = run(&traced, &runner, |submitter| {
        submitter.submit(task(&[], &[], &[cells(0, 0, 1)]))?;
        submitter.submit(task(&[], &[], &[cells(0, 1, 2)]))?;
        submitter.submit(task(&[], &[cells(0, 0, 2)], &[]))?;
        submitter.fence();
        submitter.submit(task(&[], &[cells(0, 0, 2)], &[]))?;
        submitted.open();
        Ok::<(), Stopped>(())
    })
    .unwrap();
    let preds: Vec<(&[TaskId], u32)> =
        stats.trace.iter().map(|entry| (&entry.preds[..], entry.fences)).collect();
    assert_eq!(preds, [(&[][..], 0), (&[][..], 0), (&[TaskId(0), TaskId(1)][..], 0), (&[][..], 1)]);
}

struct Counting<'c>(&'c AtomicU32);

impl wsp_runtime::TaskRunner for Counting<'_> {
    type Failure = ();

    fn run(&self, _: usize, _: TaskId, _: wsp_core::KernelId, _: &[u32]) -> Result<(), ()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Tasks carry their epoch; every earlier epoch must be done.
struct Epochs<'e> {
    done: &'e [AtomicU32],
    sizes: &'e [u32],
}

impl wsp_runtime::TaskRunner for Epochs<'_> {
    type Failure = ();

    fn run(&self, _: usize, _: TaskId, _: wsp_core::KernelId, payload: &[u32]) -> Result<(), ()> {
        let epoch = payload[0] as usize;
        for (done, &size) in self.done[..epoch].iter().zip(self.sizes) {
            assert_eq!(done.load(Ordering::Relaxed), size);
        }
        self.done[epoch].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Both workers of a gate of one: of the ready tasks the one with the largest priority, also when it has just become ready while
/// others wait at the gate.
#[test]
fn behind_a_gate_the_largest_priority_goes_first_and_what_was_just_released_competes() {
    let gates = vec![wsp_runtime::Gate { scope: wsp_runtime::GateScope::Global, capacity: 1 }];
    let chain = [cells(0, 0, 1)];
    for threads in [1, 2, 4] {
        for _ in 0..50 {
            let runner = Scripted::new(|_| Ok(()));
            let config = RunConfig {
                gates: gates.clone(),
                start: wsp_runtime::Start::AfterOrchestration,
                ..config(threads, 64, Ready::Priority)
            };
            run(&config, &runner, |submitter| {
                for i in 0..6 {
                    submitter.submit(TaskSpec { priority: 100 - i, ..task(&[], &[], &chain) })?;
                }
                for i in 0..20 {
                    submitter.submit(TaskSpec { priority: i % 3, ..task(&[], &[], &[]) })?;
                }
                Ok::<(), Stopped>(())
            })
            .unwrap();
            let mut expected: Vec<u32> = (0..26).collect();
            expected[6..].sort_by_key(|task| std::cmp::Reverse((task - 6) % 3));
            assert_eq!(runner.ran(), expected, "{threads} threads");
        }
    }
}

/// Two tasks of a stream are in flight at once where a gate per stream lets them, streamed and stored.
#[test]
fn a_gate_per_stream_lets_two_tasks_of_a_stream_meet() {
    let gates = vec![wsp_runtime::Gate { scope: wsp_runtime::GateScope::PerStream, capacity: 2 }];
    let spec = TaskSpec { stream: Some(wsp_core::StreamId(3)), ..task(&[], &[], &[]) };
    for ready in [Ready::Fifo, Ready::WorkSteal, Ready::Priority] {
        let config = RunConfig { gates: gates.clone(), ..config(3, 64, ready) };
        let started = AtomicU32::new(0);
        let runner = Scripted::new(|_| {
            let own = started.fetch_add(1, Ordering::SeqCst);
            // The first and the second wait for each other, the third and the fourth too.
            while started.load(Ordering::SeqCst) < (own | 1) + 1 {
                std::thread::yield_now();
            }
            Ok(())
        });
        let streamed =
            run(&config, &runner, |submitter| (0..6).try_for_each(|_| submitter.submit(spec).map(|_| ())));
        assert_eq!(streamed.map(|stats| stats.edges.stream).ok(), Some(0), "{ready:?}");
        let mut graph = wsp_runtime::TaskGraph::new(wsp_runtime::Deps::Overlap);
        (0..6).for_each(|_| assert!(graph.submit(spec).is_ok()));
        started.store(0, Ordering::SeqCst);
        assert!(graph.run(&config, &runner).is_ok(), "{ready:?}");
        // The graph keeps its edges for other runs.
        assert_eq!((graph.edges().count(), graph.edges_under(&gates).count()), (5, 0));
    }
}
