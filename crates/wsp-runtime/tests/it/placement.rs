//! Affinity and prefetching.

use crate::common::{Event, Gate, POLICIES, Scripted, cells, config, task};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_core::{KernelId, TaskId};
use wsp_runtime::{Affinity, Ready, Stopped, TaskRunner, TaskSpec, run};

#[test]
fn a_busy_worker_does_not_hold_up_the_tasks_meant_for_it() {
    for ready in POLICIES {
        for affinity in [Affinity::Local(0), Affinity::Group(0), Affinity::Spread] {
            let second_ran = Gate::default();
            // Task 0 keeps its worker until all the others have run, wherever they were to go.
            let last = 8;
            let runner = Scripted::new(|id| {
                match id {
                    0 => second_ran.wait(),
                    id if id == last => second_ran.open(),
                    _ => {}
                }
                Ok(())
            });
            let stats = run(&config(4, 64, ready), &runner, |submitter| {
                submitter.submit(TaskSpec { affinity, ..task(&[], &[], &[]) })?;
                for _ in 1..=last {
                    let cell = [cells(0, 0, 1)];
                    submitter.submit(TaskSpec { affinity, ..task(&[], &cell, &cell) })?;
                }
                Ok::<(), Stopped>(())
            })
            .unwrap();
            assert_eq!(stats.affinity.hits + stats.affinity.misses, u64::from(last) + 1);
        }
    }
}

/// Two workers that each have tasks of their own: as long as both are busy neither takes the other's, and under priority each takes its
/// own by priority.
#[test]
fn a_worker_takes_its_own_tasks_in_the_order_of_the_policy() {
    /// Two tasks wait for the gate; of the others, the n-th on one worker waits for the n-th on the other.
    struct Pairs {
        submitted: Gate,
        blocked: AtomicU32,
        started: [AtomicU32; 2],
        ran: [Mutex<Vec<u32>>; 2],
    }
    impl TaskRunner for Pairs {
        type Failure = ();
        fn run(&self, worker: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
            if task.0 < 2 {
                self.blocked.fetch_add(1, Ordering::SeqCst);
                self.submitted.wait();
                return Ok(());
            }
            self.ran[worker].lock().expect("no task panics").push(task.0);
            let own = self.started[worker].fetch_add(1, Ordering::SeqCst) + 1;
            while self.started[1 - worker].load(Ordering::SeqCst) < own {
                std::thread::yield_now();
            }
            Ok(())
        }
    }
    for (ready, expected) in [
        (Ready::Fifo, [[2, 4, 6], [3, 5, 7]]),
        (Ready::WorkSteal, [[2, 4, 6], [3, 5, 7]]),
        (Ready::Priority, [[6, 4, 2], [5, 7, 3]]),
    ] {
        let runner = Pairs {
            submitted: Gate::default(),
            blocked: AtomicU32::new(0),
            started: Default::default(),
            ran: Default::default(),
        };
        run(&config(2, 64, ready), &runner, |submitter| {
            for _ in 0..2 {
                submitter.submit(task(&[], &[], &[]))?;
            }
            while runner.blocked.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            for (worker, priority) in [(0, -1), (1, 4), (0, 6), (1, 9), (0, 8), (1, 9)] {
                submitter.submit(TaskSpec {
                    affinity: Affinity::Local(worker),
                    priority,
                    ..task(&[], &[], &[])
                })?;
            }
            runner.submitted.open();
            Ok::<(), Stopped>(())
        })
        .unwrap();
        let ran = runner.ran.map(|ran| ran.into_inner().expect("no task panics"));
        assert_eq!(ran, expected.map(|tasks| tasks.to_vec()), "{ready:?}");
    }
}

/// Each batch of four tasks runs only if all four workers take one, whoever slept when they were queued.
#[test]
fn as_many_tasks_run_at_once_as_there_are_workers() {
    const WORKERS: u32 = 4;
    for ready in POLICIES {
        for affinity in [Affinity::Any, Affinity::Local(1), Affinity::Group(1), Affinity::Spread] {
            let (started, finished) = (AtomicU32::new(0), AtomicU32::new(0));
            let runner = Scripted::new(|id| {
                started.fetch_add(1, Ordering::SeqCst);
                while started.load(Ordering::SeqCst) < (id / WORKERS + 1) * WORKERS {
                    std::thread::yield_now();
                }
                finished.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            run(&config(WORKERS, 64, ready), &runner, |submitter| {
                for batch in 1..=60 {
                    for _ in 0..WORKERS {
                        submitter.submit(TaskSpec { affinity, ..task(&[], &[], &[]) })?;
                    }
                    while finished.load(Ordering::SeqCst) < batch * WORKERS {
                        std::thread::yield_now();
                    }
                    // Time enough, in every third batch, for the workers to fall asleep.
                    (0..batch % 3 * 100).for_each(|_| std::thread::yield_now());
                }
                Ok::<(), Stopped>(())
            })
            .unwrap();
        }
    }
}

/// Each batch is one task that holds four others back, which then run only if all four workers take one.
#[test]
fn what_one_task_releases_wakes_as_many_workers_as_it_can_use() {
    const WORKERS: u32 = 4;
    for ready in POLICIES {
        let (go, started, finished) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        let wait = |count: &AtomicU32, least: u32| {
            while count.load(Ordering::SeqCst) < least {
                std::thread::yield_now();
            }
        };
        let runner = Scripted::new(|id| {
            let batch = id / (WORKERS + 1) + 1;
            if id % (WORKERS + 1) == 0 {
                wait(&go, batch);
            } else {
                started.fetch_add(1, Ordering::SeqCst);
                wait(&started, batch * WORKERS);
                finished.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        });
        run(&config(WORKERS, 64, ready), &runner, |submitter| {
            let cell = [cells(0, 0, 1)];
            for batch in 1..=40 {
                submitter.submit(task(&[], &[], &cell))?;
                for _ in 0..WORKERS {
                    submitter.submit(task(&[], &cell, &[]))?;
                }
                // Time enough, in every second batch, for the other workers to fall asleep.
                (0..batch % 2 * 200).for_each(|_| std::thread::yield_now());
                go.store(batch, Ordering::SeqCst);
                wait(&finished, batch * WORKERS);
            }
            Ok::<(), Stopped>(())
        })
        .unwrap();
    }
}

#[test]
fn the_worker_that_starts_a_task_prefetches_for_another_first() {
    let submitted = Gate::default();
    let runner = Scripted::new(|id| {
        if id == 0 {
            submitted.wait();
        }
        Ok(())
    });
    let stats = run(&config(1, 64, Ready::Fifo), &runner, |submitter| {
        let ids = (0..4).map(|i| submitter.submit(task(&[i], &[], &[]))).collect::<Result<Vec<_>, _>>()?;
        submitter.prefetch_when_starts(ids[1], ids[2]);
        submitter.prefetch_when_starts(ids[1], ids[3]);
        submitter.prefetch_when_starts(ids[2], ids[3]);
        submitted.open();
        Ok::<(), Stopped>(())
    })
    .unwrap();
    use Event::{Prefetch, Run};
    assert_eq!(runner.events(), [Run(0), Prefetch(2), Prefetch(3), Run(1), Prefetch(3), Run(2), Run(3)]);
    assert_eq!((stats.prefetch.issued, stats.prefetch.missed), (3, 0));
}

#[test]
fn a_prefetch_that_comes_too_late_is_counted_as_missed() {
    let (started, submitted) = (Gate::default(), Gate::default());
    let runner = Scripted::new(|id| {
        if id == 0 {
            started.open();
            submitted.wait();
        }
        Ok(())
    });
    let stats = run(&config(1, 64, Ready::Fifo), &runner, |submitter| {
        let ids = (0..9).map(|i| submitter.submit(task(&[i], &[], &[]))).collect::<Result<Vec<_>, _>>()?;
        started.wait();
        // It has started.
        submitter.prefetch_when_starts(ids[0], ids[1]);
        // No such tasks.
        submitter.prefetch_when_starts(TaskId(99), ids[1]);
        submitter.prefetch_when_starts(ids[1], TaskId(u32::MAX));
        // Complete by the time task 2 starts.
        submitter.prefetch_when_starts(ids[2], ids[1]);
        // The fifth for one task.
        (4..9).for_each(|i| submitter.prefetch_when_starts(ids[3], ids[i]));
        // Whom the caller knows to be complete.
        submitter.prefetch_missed();
        submitted.open();
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert_eq!((stats.prefetch.issued, stats.prefetch.missed), (4, 6));
}

#[test]
fn a_panic_while_prefetching_fails_the_task_that_was_to_start() {
    struct Touchy<'g>(&'g Gate);
    impl wsp_runtime::TaskRunner for Touchy<'_> {
        type Failure = ();
        fn run(&self, _: usize, task: TaskId, _: wsp_core::KernelId, _: &[u32]) -> Result<(), ()> {
            if task.0 == 0 {
                self.0.wait();
            }
            Ok(())
        }
        fn prefetch(&self, _: usize, _: wsp_core::KernelId, _: &[u32]) {
            panic!("cannot prefetch");
        }
    }
    let submitted = Gate::default();
    let outcome = run(&config(1, 64, Ready::Fifo), &Touchy(&submitted), |submitter| {
        let ids = (0..3).map(|i| submitter.submit(task(&[i], &[], &[]))).collect::<Result<Vec<_>, _>>()?;
        submitter.prefetch_when_starts(ids[1], ids[2]);
        submitted.open();
        Ok::<(), Stopped>(())
    });
    let Err(wsp_runtime::Failure::Panic { task, message }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((task.id, &message[..], task.cancelled), (TaskId(1), "cannot prefetch", 1));
}
