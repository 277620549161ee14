//! Runs take threads of the process, and each has those that it takes to itself.

use crate::common::{Scripted, task};
use crate::tg_common::{Build, Script, launch, runtime};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use wsp_core::TaskId;
use wsp_runtime::aicpu::{AicpuConfig, AicpuTask, Aicpus, Emit, Generator, NoSlots, Progress};
use wsp_runtime::{Deps, FailedTask, Failure, RunConfig, Stopped, TaskGraph, TaskSpec, run};

fn threads(threads: u32) -> RunConfig {
    RunConfig { threads, ..RunConfig::default() }
}

/// Tasks that nothing orders.
fn submitted(count: u32) -> TaskGraph {
    let mut graph = TaskGraph::new(Deps::Explicit);
    (0..count).for_each(|_| assert!(graph.submit(TaskSpec::default()).is_ok()));
    graph
}

/// Runs so many tasks as they are submitted; how many ran.
fn stream(config: &RunConfig, runner: &Scripted<'_>, count: u32) -> Result<u64, Failure<String, Stopped>> {
    let source = |submitter: &mut wsp_runtime::Submitter<'_, Scripted<'_>>| {
        (0..count).try_for_each(|_| submitter.submit(task(&[], &[], &[])).map(drop))
    };
    run(config, runner, source).map(|stats| stats.tasks)
}

/// Generates tasks until none is left of four.
struct Count(u64);

impl Generator for Count {
    type Fault = ();

    fn generate(&mut self, _: u32, out: &mut dyn Emit) -> Progress<()> {
        if self.0 == 0 {
            return Progress::Finished;
        }
        if out.task(&AicpuTask { ordinal: 4 - self.0, ..AicpuTask::default() }).is_ok() {
            self.0 -= 1;
        }
        Progress::More
    }

    fn watermark(&self) -> u64 {
        if self.0 == 0 { u64::MAX } else { 4 - self.0 }
    }
}

/// Two tasks that meet, on two workers: each kind of run.
fn every_kind(meet: &Scripted<'_>) {
    assert_eq!(stream(&threads(2), meet, 2), Ok(2));
    assert_eq!(submitted(2).run(&threads(2), meet).map(|stats| stats.tasks), Ok(2));
}

#[test]
fn runs_within_tasks_of_runs_end() {
    let inner = Scripted::new(|_| Ok(()));
    let inside = |_| {
        let barrier = Barrier::new(2);
        every_kind(&Scripted::new(|_| {
            barrier.wait();
            stream(&threads(2), &inner, 3).map(drop).map_err(|failure| format!("{failure:?}"))
        }));
        Ok(())
    };
    let outer = Scripted::new(inside);
    assert_eq!(stream(&threads(3), &outer, 6), Ok(6));
    assert_eq!(submitted(6).run(&threads(3), &outer).map(|stats| stats.tasks), Ok(6));
    let config = AicpuConfig { threads: 2, ..AicpuConfig::default() };
    let stats = Aicpus::new(&config, 1).unwrap().run(vec![Count(4)], &outer, &NoSlots).unwrap();
    assert_eq!(stats.tasks, 4);
}

#[test]
fn a_run_within_a_block_of_a_task_graph_ends() {
    let mut build = Build::new("nested");
    build.vector("one", 4);
    let graph = build.finish();
    let bodies = Arc::new(Script::new(|_| {
        let barrier = Barrier::new(2);
        every_kind(&Scripted::new(|_| {
            barrier.wait();
            Ok(())
        }));
        Ok(())
    }));
    let runtime = runtime(2);
    let launched = launch(&runtime, &graph, &bodies);
    assert!(runtime.sync(launched).is_ok());
}

/// Neither run can end without the other.
#[test]
fn runs_beside_each_other_have_workers_of_their_own() {
    let all = Barrier::new(8);
    let meet = |_| {
        all.wait();
        Ok(())
    };
    let runner = Scripted::new(meet);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(stream(&threads(2), &runner, 2), Ok(2)));
            scope
                .spawn(|| assert_eq!(submitted(2).run(&threads(2), &runner).map(|stats| stats.tasks), Ok(2)));
        }
    });
}

#[test]
fn a_run_has_as_many_workers_as_it_asks_for_whatever_ran_before() {
    for count in [1, 5, 2, 7] {
        let barrier = Barrier::new(count as usize);
        let runner = Scripted::new(|_| {
            barrier.wait();
            Ok(())
        });
        assert_eq!(stream(&threads(count), &runner, count), Ok(u64::from(count)));
        let ran = submitted(count).run(&threads(count), &runner);
        assert_eq!(ran.map(|stats| stats.tasks), Ok(u64::from(count)));
    }
}

/// As many tasks as there are workers wait for each other, among others: at the start of a run, and when the workers have gone to sleep.
#[test]
fn as_many_tasks_as_workers_may_wait_for_each_other() {
    for (round, count) in (0..12).flat_map(|round| (1..=4).map(move |count| (round, count))) {
        let barrier = Barrier::new(count as usize);
        let first = round % 3 * 5;
        let runner = Scripted::new(|id| {
            if (first..first + count).contains(&id) {
                barrier.wait();
            } else if id == 0 && round % 2 == 1 {
                // Longer than workers look before they sleep.
                (0..50).for_each(|_| thread::yield_now());
            }
            Ok(())
        });
        assert_eq!(stream(&threads(count), &runner, 20), Ok(20));
    }
}

#[test]
fn after_a_panic_a_failure_and_a_cancelled_run_the_next_run_is_as_any_other() {
    let cancel = Arc::new(AtomicBool::new(false));
    let config = RunConfig { cancel: Some(cancel.clone()), ..threads(2) };
    let runner = Scripted::new(|id| match id {
        3 => panic!("broken"),
        _ => Ok(()),
    });
    assert!(matches!(
        stream(&config, &runner, 8),
        Err(Failure::Panic { task: FailedTask { id: TaskId(3), .. }, .. })
    ));
    assert!(matches!(
        submitted(8).run(&config, &runner),
        Err(Failure::Panic { task: FailedTask { id: TaskId(3), .. }, .. })
    ));
    let stops = Scripted::new(|_| {
        cancel.store(true, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(submitted(8).run(&config, &stops), Err(Failure::Cancelled));
    cancel.store(false, Ordering::Relaxed);
    assert!(matches!(stream(&config, &stops, 1000), Err(Failure::Cancelled)));
    cancel.store(false, Ordering::Relaxed);
    let source = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run(&config, &runner, |_| -> Result<(), Stopped> { panic!("the source") })
    }));
    assert!(source.is_err());
    let quiet = Scripted::new(|_| Ok(()));
    assert_eq!(stream(&config, &quiet, 100), Ok(100));
}

#[test]
fn workers_are_named_threads_and_the_calling_one() {
    let names = Mutex::new(BTreeSet::new());
    let runner = Scripted::new(|_| {
        names.lock().unwrap().insert(thread::current().name().unwrap_or_default().to_owned());
        Ok(())
    });
    assert_eq!(stream(&threads(3), &runner, 100), Ok(100));
    let names = names.lock().unwrap();
    let own = thread::current().name().unwrap_or_default().to_owned();
    assert!(names.iter().all(|name| name.starts_with("wsp-worker-") || *name == own), "{names:?}");
}
