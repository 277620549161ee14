//! The child of a fork: the threads of its parent are not there. A program of its own, because a child has the one thread that forked, and all that others
//! held stays as it was.
#![cfg(unix)]
#![allow(unsafe_code, reason = "a fork")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use wsp_core::tg::CoreType;
use wsp_core::tg::image::{LevelRecord, NONE, NodeKind, NodeRecord};
use wsp_core::{KernelId, TaskId};
use wsp_runtime::aicpu::{AicpuConfig, AicpuTask, Aicpus, Emit, Generator, NoSlots, Progress};
use wsp_runtime::tg::{
    BlockCx, Bodies, Graph, GraphParts, KernelInfo, LaunchId, LaunchOptions, NodeCx, Refused, Runtime,
    RuntimeConfig, SyncError,
};
use wsp_runtime::{Deps, RunConfig, TaskGraph, TaskRunner, TaskSpec, run};

/// Seconds after which a child that waits for what is not there is ended.
const SECONDS: u32 = 60;

/// Forks. The child does `work` and ends, well if that does not panic; the parent waits for it.
fn in_a_child(work: impl FnOnce()) {
    // SAFETY: the child runs safe code only, and ends without returning to what its parent was doing.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: both take numbers.
            unsafe {
                libc::alarm(SECONDS);
                let broke = catch_unwind(AssertUnwindSafe(work)).is_err();
                libc::_exit(broke.into())
            }
        }
        child => {
            assert!(child > 0, "the system gives no process");
            let mut status = 0;
            // SAFETY: `status` lives as long as the call.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFEXITED(status), "the child waited for what is not there: {status}");
            assert_eq!(libc::WEXITSTATUS(status), 0, "the child panicked");
        }
    }
}

/// Tasks, blocks and items that do nothing.
struct Nothing;

impl TaskRunner for Nothing {
    type Failure = ();

    fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
        Ok(())
    }
}

impl Bodies for Nothing {
    type Failure = ();
    type Prepared = ();

    fn prepare(&self, _: &NodeCx<'_>, _: Option<Arc<()>>) -> Result<Arc<()>, ()> {
        Ok(Arc::new(()))
    }

    fn run_block(&self, (): &(), _: &BlockCx<'_>) -> Result<(), ()> {
        Ok(())
    }

    fn run_item(&self, _: &NodeCx<'_>) -> Result<(), ()> {
        Ok(())
    }

    fn eval(&self, _: u32, _: &[u32]) -> Result<i64, ()> {
        Ok(0)
    }

    fn checkpoint(&self, _: u32, _: &[u32]) -> Result<(), ()> {
        Ok(())
    }
}

/// Generates a task and is done.
struct Once(bool);

impl Generator for Once {
    type Fault = ();

    fn generate(&mut self, _: u32, out: &mut dyn Emit) -> Progress<()> {
        if self.0 {
            return Progress::Finished;
        }
        self.0 = out.task(&AicpuTask::default()).is_ok();
        Progress::More
    }

    fn watermark(&self) -> u64 {
        if self.0 { u64::MAX } else { 0 }
    }
}

fn two_threads() -> RunConfig {
    RunConfig { threads: 2, ..RunConfig::default() }
}

fn stored() -> TaskGraph {
    let mut graph = TaskGraph::new(Deps::Explicit);
    (0..64).for_each(|_| assert!(graph.submit(TaskSpec::default()).is_ok()));
    graph
}

/// A graph of one kernel.
fn graph() -> Arc<Graph> {
    let (name, blocks, core_type) = ("K".to_owned(), 4, CoreType::Aiv);
    let kernel = KernelInfo { name, blocks, core_type, partition: None, request: None, persistent: None };
    let node =
        NodeRecord { kind: NodeKind::Kernel as u32, item: 0, guard: NONE, gang: NONE, first: 0, end: 0 };
    Arc::new(
        Graph::new(GraphParts {
            name: "G".to_owned(),
            nodes: vec![node],
            needs: vec![0],
            kernels: vec![kernel],
            top: LevelRecord { first: 0, len: 1, first_gang: 0, gangs: 0 },
            ..GraphParts::default()
        })
        .unwrap(),
    )
}

fn runtime() -> Runtime<Nothing> {
    Runtime::new(RuntimeConfig { threads: 2, ..RuntimeConfig::default() }).unwrap()
}

fn launched(runtime: &Runtime<Nothing>) -> Result<LaunchId, Refused> {
    let stream = runtime.default_stream(0)?;
    runtime.launch(&graph(), Arc::new(Nothing), LaunchOptions::on(stream))
}

/// Every kind of run, on two threads each.
fn every_kind(stored: &mut TaskGraph, aicpus: &mut Aicpus) {
    let tasks = run(&two_threads(), &Nothing, |submitter| {
        (0..64).try_for_each(|_| submitter.submit(TaskSpec::default()).map(drop))
    });
    assert_eq!(tasks.unwrap().tasks, 64);
    assert_eq!(stored.run(&two_threads(), &Nothing).unwrap().tasks, 64);
    assert_eq!(aicpus.run(vec![Once(false)], &Nothing, &NoSlots).unwrap().tasks, 1);
    let runtime = runtime();
    launched(&runtime).unwrap();
    assert_eq!(runtime.sync_all().unwrap().blocks, 4);
}

fn aicpus() -> Aicpus {
    Aicpus::new(&AicpuConfig { threads: 2, ..AicpuConfig::default() }, 1).unwrap()
}

#[test]
fn the_child_of_a_fork_runs_what_its_parent_has_run() {
    let (mut stored, mut aicpus) = (stored(), aicpus());
    every_kind(&mut stored, &mut aicpus);
    in_a_child(|| every_kind(&mut stored, &mut aicpus));
    every_kind(&mut stored, &mut aicpus);
}

#[test]
fn the_child_of_a_fork_runs_while_a_run_of_its_parent_goes_on() {
    struct Waits<F>(F);
    impl<F: Fn() + Sync> TaskRunner for Waits<F> {
        type Failure = ();
        fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
            (self.0)();
            Ok(())
        }
    }
    let ((begun, begins), (go, goes)) = (channel(), channel::<()>());
    let goes_on = thread::spawn(move || {
        let goes = std::sync::Mutex::new(goes);
        let waits = Waits(|| {
            begun.send(()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        });
        let mut one = TaskGraph::new(Deps::Explicit);
        assert!(one.submit(TaskSpec::default()).is_ok());
        one.run(&two_threads(), &waits).map(|stats| stats.tasks)
    });
    begins.recv().unwrap();
    in_a_child(|| every_kind(&mut stored(), &mut aicpus()));
    go.send(()).unwrap();
    assert_eq!(goes_on.join().unwrap(), Ok(1));
}

/// Its workers are in the parent.
#[test]
fn the_child_of_a_fork_is_told_that_a_runtime_of_its_parent_has_no_threads() {
    let runtime = runtime();
    let before = launched(&runtime).unwrap();
    runtime.sync_all().unwrap();
    in_a_child(|| {
        assert_eq!(launched(&runtime), Err(Refused::Forked));
        for waited in [runtime.sync_all(), runtime.sync(before), runtime.sync_graph(&graph())] {
            assert!(matches!(waited, Err(SyncError::Refused(Refused::Forked))));
        }
        assert_eq!(runtime.take_complete(), Err(Refused::Forked));
        assert_eq!(runtime.take_trace().map(drop), Err(Refused::Forked));
        for refused in [runtime.signal(1), runtime.set_priority(&graph(), 1), runtime.cancel()] {
            assert_eq!(refused, Err(Refused::Forked));
        }
        assert_eq!(runtime.restore_events(0, &[]), Err(Refused::Forked));
        assert!(Refused::Forked.to_string().contains("make one in this process"));
    });
    let left = launched(&runtime).unwrap();
    runtime.sync(left).unwrap();
    let mut dropped = Some(runtime);
    in_a_child(|| drop(dropped.take()));
    // That of the parent is as it was.
    assert!(launched(&dropped.unwrap()).is_ok());
}
