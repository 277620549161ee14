//! Failing tasks, panics, cancellation, errors of the source.

use crate::common::{Gate, POLICIES, Scripted, cells, config, task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use wsp_core::{KernelId, TaskId};
use wsp_runtime::{FailedTask, Failure, Ready, RunConfig, StartError, Stopped, TaskSpec, run};

#[test]
fn the_failure_names_task_kernel_and_payload_and_later_tasks_do_not_start() {
    let submitted = Gate::default();
    let runner = Scripted::new(|id| {
        submitted.wait();
        if id == 3 { Err("bad".to_owned()) } else { Ok(()) }
    });
    let outcome = run(&config(1, 64, Ready::Fifo), &runner, |submitter| {
        for i in 0..10u32 {
            submitter.submit(TaskSpec { kernel: KernelId(40 + i as u16), ..task(&[i, 7], &[], &[]) })?;
        }
        submitted.open();
        Ok::<(), Stopped>(())
    });
    let failure = Failure::Task {
        task: FailedTask { id: TaskId(3), kernel: KernelId(43), payload: vec![3, 7], cancelled: 6 },
        failure: "bad".to_owned(),
    };
    assert_eq!(outcome, Err(failure));
    assert_eq!(runner.ran(), [0, 1, 2, 3]);
}

#[test]
fn a_panic_is_caught_and_reported_with_its_message() {
    let runner = Scripted::new(|id| if id == 2 { panic!("out of range at {id}") } else { Ok(()) });
    let outcome = run(&config(2, 64, Ready::WorkSteal), &runner, |submitter| {
        for _ in 0..3 {
            submitter.submit(task(&[5], &[cells(0, 0, 1)], &[cells(0, 0, 1)]))?;
        }
        Ok::<(), Stopped>(())
    });
    let Err(Failure::Panic { task, message }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((task.id, &message[..], &task.payload[..]), (TaskId(2), "out of range at 2", &[5][..]));
}

#[test]
fn what_depends_on_a_failed_task_does_not_run() {
    for ready in POLICIES {
        let runner = Scripted::new(|id| if id == 5 { Err(String::new()) } else { Ok(()) });
        let outcome = run(&config(4, 8, ready), &runner, |submitter| {
            loop {
                submitter.submit(task(&[], &[cells(0, 0, 1)], &[cells(0, 0, 1)]))?;
                submitter.fence();
            }
            #[allow(unreachable_code, reason = "the source ends only by the failure")]
            Ok::<(), Stopped>(())
        });
        assert!(
            matches!(outcome, Err(Failure::Task { task: FailedTask { id: TaskId(5), .. }, .. })),
            "{outcome:?}"
        );
        assert_eq!(runner.ran(), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn the_failure_reported_is_the_first_in_submission_order_however_tasks_interleave() {
    for round in 0..200u32 {
        let ready = POLICIES[round as usize % 2];
        let fails = |id: u32| id >= 20 && id.wrapping_mul(2_654_435_761).wrapping_add(round) % 5 == 0;
        let first = (0..).find(|&id| fails(id)).unwrap();
        let runner = Scripted::new(|id| if fails(id) { Err(id.to_string()) } else { Ok(()) });
        let outcome = run(&config(1 + round % 6, 1 + round % 40, ready), &runner, |submitter| {
            for i in 0..200 {
                submitter.submit(task(&[], &[], &[cells(0, i % 11, i % 11 + 1)]))?;
            }
            Ok::<(), Stopped>(())
        });
        let Err(Failure::Task { task, failure }) = outcome else { panic!("{outcome:?}") };
        assert_eq!((task.id.0, failure), (first, first.to_string()));
        assert!((0..=first).all(|id| runner.ran().contains(&id)));
    }
}

#[test]
fn a_runner_is_usable_again_after_a_failure() {
    let broken = AtomicBool::new(true);
    let runner = Scripted::new(|_| if broken.load(Ordering::Relaxed) { panic!("broken") } else { Ok(()) });
    let config = config(2, 16, Ready::Fifo);
    let source = |submitter: &mut wsp_runtime::Submitter<'_, _>| {
        for _ in 0..50 {
            submitter.submit(task(&[], &[], &[]))?;
        }
        Ok::<(), Stopped>(())
    };
    assert!(matches!(
        run(&config, &runner, source),
        Err(Failure::Panic { task: FailedTask { id: TaskId(0), .. }, .. })
    ));
    broken.store(false, Ordering::Relaxed);
    assert_eq!(run(&config, &runner, source).unwrap().tasks, 50);
}

#[test]
fn cancelling_drops_what_has_not_started() {
    for ready in POLICIES {
        let flag = Arc::new(AtomicBool::new(false));
        let raise = flag.clone();
        let runner = Scripted::new(move |id| {
            if id == 10 {
                raise.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
        let cancellable = RunConfig { cancel: Some(flag), ..config(1, 4, ready) };
        let outcome = run(&cancellable, &runner, |submitter| {
            loop {
                submitter.submit(task(&[], &[cells(0, 0, 1)], &[cells(0, 0, 1)]))?;
            }
            #[allow(unreachable_code, reason = "the source ends only by the flag")]
            Ok::<(), Stopped>(())
        });
        assert_eq!(outcome, Err(Failure::Cancelled));
        assert!(runner.ran().into_iter().eq(0..=10));
    }
}

#[test]
fn a_flag_raised_when_all_is_done_does_not_undo_the_run() {
    let flag = Arc::new(AtomicBool::new(false));
    let raise = flag.clone();
    let runner = Scripted::new(move |_| {
        raise.store(true, Ordering::Relaxed);
        Ok(())
    });
    let cancellable = RunConfig { cancel: Some(flag), ..config(1, 4, Ready::Fifo) };
    let stats =
        run(&cancellable, &runner, |submitter| submitter.submit(task(&[], &[], &[])).map(drop)).unwrap();
    assert_eq!(stats.tasks, 1);
}

#[test]
fn an_error_of_the_source_ends_the_run_with_that_error() {
    for ready in POLICIES {
        let ran = AtomicU32::new(0);
        let runner = Scripted::new(|_| {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let outcome = run(&config(2, 64, ready), &runner, |submitter| {
            for _ in 0..5 {
                submitter.submit(task(&[], &[cells(0, 0, 1)], &[cells(0, 0, 1)])).unwrap();
            }
            Err("no such request")
        });
        assert_eq!(outcome, Err(Failure::Source("no such request")));
        assert!(ran.load(Ordering::Relaxed) <= 5);
    }
}

#[test]
fn a_panic_of_the_source_reaches_the_caller_after_the_workers_stopped() {
    let running = AtomicU32::new(0);
    let runner = Scripted::new(|_| {
        running.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        running.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    });
    let caught = catch_unwind(AssertUnwindSafe(|| {
        run(&config(3, 64, Ready::WorkSteal), &runner, |submitter| -> Result<(), Stopped> {
            for _ in 0..30 {
                submitter.submit(task(&[], &[], &[]))?;
            }
            panic!("the planner broke");
        })
    }));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"the planner broke"));
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[test]
fn a_task_that_cannot_be_taken_is_refused_without_effect() {
    let runner = Scripted::new(|_| Ok(()));
    let stats = run(&config(1, 4, Ready::Fifo), &runner, |submitter| {
        assert_eq!(submitter.submit(task(&[0; 17], &[], &[])), Err(Stopped::PayloadTooLong { words: 17 }));
        assert_eq!(submitter.submit(task(&[0; 16], &[], &[]))?, TaskId(0));
        Ok::<(), Stopped>(())
    })
    .unwrap();
    assert_eq!((stats.tasks, runner.ran()), (1, vec![0]));
    assert_eq!(
        Stopped::PayloadTooLong { words: 17 }.to_string(),
        "a payload of 17 words, but at most 16 are allowed"
    );
}

#[test]
fn a_bad_configuration_starts_nothing() {
    let runner = Scripted::new(|_| Ok(()));
    let outcome = run(&config(1025, 4, Ready::Fifo), &runner, |_| -> Result<(), ()> { panic!("not called") });
    let Err(Failure::Start(StartError::Config(error))) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.to_string(), "`threads` is 1025, but must lie in 1..=1024");
}

#[test]
fn an_empty_run_ends() {
    let runner = Scripted::new(|_| Ok(()));
    let stats = run(&config(4, 4, Ready::WorkSteal), &runner, |_| Ok::<(), ()>(())).unwrap();
    assert_eq!((stats.tasks, stats.first_start_ns, stats.workers.len()), (0, None, 4));
}
