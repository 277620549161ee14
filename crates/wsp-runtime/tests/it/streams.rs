//! Streams of which several tasks may be in flight: which of them meet, and in which order they start.

use crate::common::{Scripted, cells, config, task};
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::StreamId;
use wsp_runtime::{Gate, GateScope, Ready, RunConfig, Stopped, TaskSpec, TracePolicy, run};

const ALL_POLICIES: [Ready; 3] = [Ready::Fifo, Ready::WorkSteal, Ready::Priority];

/// Looks at a flag at most so many times; whether it was seen set.
fn is_set(flag: &AtomicBool, looks: u32) -> bool {
    (0..looks).any(|_| {
        (0..100).for_each(|_| std::hint::spin_loop());
        std::thread::yield_now();
        flag.load(Ordering::SeqCst)
    })
}

/// Two tasks of a stream may be in flight.
fn two_per_stream(threads: u32, ready: Ready) -> RunConfig {
    let gates = vec![Gate { scope: GateScope::PerStream, capacity: 2 }];
    RunConfig { gates, trace: TracePolicy::Measured, ..config(threads, 64, ready) }
}

/// The second task of the stream is ready first. The worker that found it sleeps when the first starts, which then waits for it.
#[test]
fn the_start_of_a_task_wakes_a_worker_for_the_next_of_its_stream() {
    let boxed = [cells(0, 0, 1)];
    for ready in ALL_POLICIES {
        for threads in [2, 3] {
            let second = AtomicBool::new(false);
            let runner = Scripted::new(|id| match id {
                // Until the others found the second task and went to sleep.
                0 => {
                    is_set(&second, 100);
                    Ok(())
                }
                1 if !is_set(&second, 20_000) => Err("the second task did not start".to_owned()),
                1 => Ok(()),
                _ => {
                    second.store(true, Ordering::SeqCst);
                    Ok(())
                }
            });
            let on_stream = |reads| TaskSpec { stream: Some(StreamId(0)), ..task(&[], reads, &[]) };
            let stats = run(&two_per_stream(threads, ready), &runner, |submitter| {
                submitter.submit(task(&[], &[], &boxed))?;
                submitter.submit(on_stream(&boxed))?;
                submitter.submit(on_stream(&[]))?;
                Ok::<(), Stopped>(())
            });
            assert!(stats.is_ok(), "{ready:?} on {threads} threads: {stats:?}");
        }
    }
}

/// What a worker does between taking a task and starting it lasts until the next task of the stream has started, or long enough.
#[test]
fn a_task_starts_after_the_one_before_it_on_its_stream_has_started() {
    for ready in ALL_POLICIES {
        let runner = Prefetching { second: AtomicBool::new(false) };
        let spec = TaskSpec { stream: Some(StreamId(0)), ..task(&[], &[], &[]) };
        let config = RunConfig { start: wsp_runtime::Start::AfterOrchestration, ..two_per_stream(3, ready) };
        let stats = run(&config, &runner, |submitter| {
            let first = submitter.submit(spec)?;
            submitter.submit(spec)?;
            let other = submitter.submit(task(&[], &[], &[]))?;
            submitter.prefetch_when_starts(first, other);
            Ok::<(), Stopped>(())
        })
        .expect("no task fails");
        let start = |id: u32| {
            let of_task = stats.trace.iter().find(|entry| entry.task.0 == id);
            of_task.expect("each task is traced").started_ns
        };
        assert!(start(0) <= start(1), "{ready:?}: {} after {}", start(0), start(1));
    }
}

/// Prefetches until the second task has started.
struct Prefetching {
    second: AtomicBool,
}

impl wsp_runtime::TaskRunner for Prefetching {
    type Failure = ();

    fn run(&self, _: usize, task: wsp_core::TaskId, _: wsp_core::KernelId, _: &[u32]) -> Result<(), ()> {
        self.second.fetch_or(task.0 == 1, Ordering::SeqCst);
        Ok(())
    }

    fn prefetch(&self, _: usize, _: wsp_core::KernelId, _: &[u32]) {
        is_set(&self.second, 100);
    }
}
