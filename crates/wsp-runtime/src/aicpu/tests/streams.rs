//! Streams of which several tasks may be in flight.

use super::super::*;
use super::run_aicpus;
use super::scripted::{Script, ScriptTask, check};
use crate::{Gate, GateScope, TracePolicy};
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::{KernelId, TaskId};

/// On two threads, where each AICPU has a core, with a trace; two tasks of a stream may be in flight.
fn two_per_stream() -> AicpuConfig {
    let gates = vec![Gate { scope: GateScope::PerStream, capacity: 2 }];
    AicpuConfig { threads: 2, gates, trace: TracePolicy::Measured, ..AicpuConfig::default() }
}

fn on_stream(owner: u16) -> ScriptTask {
    ScriptTask { owner, stream: Some(0), ..ScriptTask::default() }
}

/// The first task keeps its thread until the last has started, or long enough.
#[derive(Default)]
struct Keeps {
    last_started: AtomicBool,
}

impl TaskRunner for Keeps {
    type Failure = ();

    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
        self.last_started.fetch_or(task.0 == 2, Ordering::SeqCst);
        for _ in 0..300 {
            if task.0 > 0 || self.last_started.load(Ordering::SeqCst) {
                break;
            }
            (0..1000).for_each(|_| std::hint::spin_loop());
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// The core that was handed the first task of the stream waits for its thread, which runs another core; the second task has a
/// thread of its own.
#[test]
fn a_task_that_waits_for_a_thread_has_not_started_for_the_next_of_its_stream() {
    let first = ScriptTask { owner: 0, ..ScriptTask::default() };
    let script = Script::new([first, on_stream(2), on_stream(1)]);
    let stats = run_aicpus(&two_per_stream(), script.generators(4), &Keeps::default(), &NoSlots)
        .expect("no task fails");
    let starts: Vec<u64> = stats.trace.iter().map(|task| task.started_ns).collect();
    assert!(starts[1] <= starts[2], "task 1 at {}, task 2 at {}", starts[1], starts[2]);
}

#[test]
fn tasks_of_a_stream_start_in_order_on_any_number_of_threads() {
    let script = Script::new((0..60).map(on_stream));
    for threads in 1..5 {
        for aicpus in [1, 2, 5] {
            check(&script, aicpus, &AicpuConfig { threads, ..two_per_stream() });
        }
    }
}
