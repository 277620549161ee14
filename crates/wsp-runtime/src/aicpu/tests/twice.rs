//! The same AICPUs run again and again, whatever became of the run before.

use super::super::*;
use super::random::{ALL, script};
use super::scripted::{CELLS, Memory, Script, ScriptTask, TENSORS};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use wsp_core::{KernelId, TaskId};

/// What a script comes to on these AICPUs.
fn contents(aicpus: &mut Aicpus, script: &Script) -> Vec<u64> {
    let memory = Memory::new(script);
    let stats = aicpus.run(script.generators(aicpus.count as u16), &memory, &memory).expect("it runs");
    assert_eq!(stats.tasks, script.tasks().count() as u64);
    memory.contents()
}

fn five(threads: u32, cancel: Option<Arc<AtomicBool>>) -> Aicpus {
    let counters = CELLS * TENSORS;
    let config = AicpuConfig { threads, counters, window: 8, cancel, ..AicpuConfig::default() };
    Aicpus::new(&config, 5).expect("it can be")
}

#[test]
fn runs_after_runs_compute_what_the_first_does() {
    for threads in 1..4 {
        let mut aicpus = five(threads, None);
        for seed in 0..60 {
            let script = script(seed, 40, ALL);
            assert_eq!(contents(&mut aicpus, &script), script.expected(), "seed {seed}");
            if seed % 2 == 0 {
                aicpus.arm();
            }
        }
    }
}

#[test]
fn a_run_after_one_that_failed_panicked_or_was_cancelled_is_a_whole_one() {
    struct Panics;
    impl Generator for Panics {
        type Fault = String;
        fn generate(&mut self, _: u32, _: &mut dyn Emit) -> Progress<String> {
            panic!("a generator is broken")
        }
        fn watermark(&self) -> u64 {
            0
        }
    }
    for threads in 1..4 {
        let cancel = Arc::new(AtomicBool::new(false));
        let mut aicpus = five(threads, Some(cancel.clone()));
        for seed in 0..12 {
            let script = script(seed, 40, ALL);
            let mut memory = Memory::new(&script);
            match seed % 4 {
                0 => memory.fails = Some(10),
                1 => memory.panics = Some(10),
                2 => cancel.store(true, Ordering::Relaxed),
                _ => {
                    let broken = (0..5).map(|_| Panics).collect();
                    let run = || aicpus.run(broken, &memory, &memory).is_ok();
                    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
                }
            }
            if seed % 4 < 3 {
                let stopped = aicpus.run(script.generators(5), &memory, &memory);
                let failure = stopped.expect_err("it is stopped");
                assert_eq!(matches!(failure, Failure::Cancelled), seed % 4 == 2, "{failure}");
            }
            cancel.store(false, Ordering::Relaxed);
            assert_eq!(contents(&mut aicpus, &script), script.expected(), "seed {seed}");
        }
    }
}

/// Notes which threads run tasks.
#[derive(Default)]
struct Notes(Mutex<Vec<(usize, ThreadId)>>);

impl TaskRunner for Notes {
    type Failure = String;

    fn run(&self, worker: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), String> {
        self.0.lock().expect("no task panics").push((worker, thread::current().id()));
        Ok(())
    }
}

/// Which threads those are is the process's to say: other runs may have the team of the run before.
#[test]
fn each_worker_of_a_run_is_one_thread_and_the_first_is_the_callers() {
    let script = Script::new((0..500).map(|i| ScriptTask { owner: i % 5, ..ScriptTask::default() }));
    let mut aicpus = five(3, None);
    for _ in 0..40 {
        let notes = Notes::default();
        aicpus.run(script.generators(5), &notes, &NoSlots).expect("it runs");
        let seen = notes.0.into_inner().unwrap();
        let mut threads: Vec<(usize, String)> =
            seen.iter().map(|(worker, thread)| (*worker, format!("{thread:?}"))).collect();
        threads.sort_unstable();
        threads.dedup();
        let workers: Vec<usize> = threads.iter().map(|(worker, _)| *worker).collect();
        assert!(
            workers.is_sorted_by(|one, next| one < next) && workers.iter().all(|worker| *worker < 3),
            "{threads:?}"
        );
        assert!(seen.iter().all(|(worker, thread)| (*worker == 0) == (*thread == thread::current().id())));
    }
}

#[test]
fn where_threads_are_more_than_cores_those_of_aicpus_run_no_task() {
    let pools = crate::PoolSizes::ByUnit { vector: 3, cube: 3 };
    let config = AicpuConfig { threads: 9, pools, ..AicpuConfig::default() };
    let script = Script::new((0..500).map(|i| ScriptTask { owner: i % 3, ..ScriptTask::default() }));
    let (mut aicpus, notes) = (Aicpus::new(&config, 3).expect("it can be"), Notes::default());
    aicpus.run(script.generators(3), &notes, &NoSlots).expect("it runs");
    let seen = notes.0.into_inner().unwrap();
    assert_eq!(seen.len(), 500);
    assert!(seen.iter().all(|(worker, _)| (3..9).contains(worker)), "{seen:?}");
}

#[test]
fn aicpus_can_be_dropped_with_and_without_a_run() {
    for runs in 0..3 {
        let script = script(runs, 20, ALL);
        let mut aicpus = five(3, None);
        (0..runs).for_each(|_| drop(contents(&mut aicpus, &script)));
    }
}
