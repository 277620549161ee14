//! Launches and streams: what waits for what, what overlaps, and how a launch that fails ends.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::tg_common::{Build, Script, launch, name, runtime, runtime_traced, runtime_with};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use wsp_core::tg::CoreType;
use wsp_core::tg::image::LoopKind;
use wsp_runtime::tg::{
    Cause, CoreCounts, LaunchFault, LaunchOptions, Place, Refused, Runtime, RuntimeConfig, Saved, Signals,
    SyncError, Time, Tracing, validate,
};

/// ISA-TG-22: `launch` returns while the kernel that it launched is still running.
#[test]
fn a_launch_returns_while_its_kernel_runs() {
    let mut build = Build::new("G");
    build.vector("SLOW", 1);
    let graph = build.finish();
    let (started, has_started) = channel();
    let (go, may_go) = sync_channel::<()>(0);
    let may_go = Mutex::new(may_go);
    let bodies = Arc::new(Script::new(move |_| {
        started.send(()).unwrap();
        may_go.lock().unwrap().recv().unwrap();
        Ok(())
    }));
    let runtime = runtime(1);
    let id = launch(&runtime, &graph, &bodies);
    has_started.recv().unwrap();
    // The kernel waits for this thread, which `launch` has given back.
    go.send(()).unwrap();
    assert_eq!(runtime.sync(id).unwrap().blocks, 1);
}

/// ISA-TG-17, ISA-TG-24: a chain with a diamond runs in the order of its edges on any number of threads.
#[test]
fn kernels_run_in_the_order_of_their_edges() {
    for threads in [1, 2, 5] {
        let mut build = Build::new("G");
        let nodes: Vec<u32> = ["A", "B", "C", "D"].map(|name| build.vector(name, 3)).to_vec();
        for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            build.edge(nodes[from], nodes[to]);
        }
        let graph = build.finish();
        let order = Arc::new(Mutex::new(Vec::new()));
        let seen = order.clone();
        let bodies = Arc::new(Script::new(move |cx| {
            seen.lock().unwrap().push((name(cx), cx.block));
            Ok(())
        }));
        let runtime = runtime(threads);
        launch(&runtime, &graph, &bodies);
        let stats = runtime.sync_graph(&graph).unwrap();
        assert_eq!((stats.launches, stats.kernels, stats.blocks), (1, 4, 12));
        let order = order.lock().unwrap();
        assert_eq!(order.len(), 12, "each block runs once");
        assert!(order[..3].iter().all(|(name, _)| name == "A"));
        assert!(order[9..].iter().all(|(name, _)| name == "D"));
        assert_eq!(validate(&graph, &runtime.take_trace().unwrap()), []);
    }
}

/// A worker takes several kernels of one block at a time: the one that fails is the last that runs, and those before it count.
#[test]
fn of_several_kernels_that_a_worker_takes_none_runs_behind_one_that_fails() {
    let mut build = Build::new("G");
    (0..400).for_each(|at| _ = build.vector(&format!("K{at}"), 1));
    let graph = build.finish();
    let ran = Arc::new(AtomicU32::new(0));
    let count = ran.clone();
    let bodies = Arc::new(Script::new(move |cx| match cx.kernel.item {
        350 => Err("it broke".to_owned()),
        item => {
            assert_eq!(count.fetch_add(1, Ordering::Relaxed), item, "in the order in which they were ready");
            Ok(())
        }
    }));
    let runtime = runtime_traced(RuntimeConfig::default(), Tracing::Off);
    let id = launch(&runtime, &graph, &bodies);
    let Err(SyncError::Failed(failure)) = runtime.sync(id) else { panic!("kernel 350 fails") };
    let Cause::Task { task: Place::Block { node: 350, block: 0, blocks: 1, .. }, .. } = &failure.cause else {
        panic!("{failure:?}")
    };
    assert_eq!(ran.load(Ordering::Relaxed), 350);
    let id = launch(&runtime, &graph, &Script::idle());
    let stats = runtime.sync(id).unwrap();
    assert_eq!((stats.kernels, stats.dispatches, stats.blocks), (400, 400, 400));
}

/// A priority that is set while kernels of one block wait, and a checkpoint asked for then, lose none of them.
#[test]
fn kernels_of_one_block_wait_through_priorities_and_checkpoints() {
    let mut build = Build::new("G");
    (0..100).for_each(|at| _ = build.vector(&format!("K{at}"), 1));
    let graph = build.finish();
    let (started, has_started) = channel();
    let (go, may_go) = sync_channel::<()>(0);
    let may_go = Mutex::new(may_go);
    let ran = Arc::new(Mutex::new(Vec::new()));
    let order = ran.clone();
    let mut script = Script::new(move |cx| {
        if cx.kernel.item == 0 {
            started.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        order.lock().unwrap().push(cx.kernel.item);
        Ok(())
    });
    let (at_save, order) = (Arc::new(AtomicU32::new(0)), ran.clone());
    let saved = at_save.clone();
    script.save = Box::new(move |_, _| {
        saved.store(order.lock().unwrap().len() as u32, Ordering::Relaxed);
        Ok(())
    });
    let runtime = runtime_traced(RuntimeConfig::default(), Tracing::Off);
    let id = launch(&runtime, &graph, &Arc::new(script));
    has_started.recv().unwrap();
    runtime.set_priority(&graph, 3).unwrap();
    runtime.request_checkpoint(id, 4).unwrap();
    go.send(()).unwrap();
    let stats = runtime.sync(id).unwrap();
    assert_eq!((stats.kernels, stats.checkpoints, at_save.load(Ordering::Relaxed)), (100, 1, 1));
    assert_eq!(*ran.lock().unwrap(), (0..100).collect::<Vec<u32>>());
}

/// ISA-TG-25: kernels of two streams meet at a barrier, so they run at the same time.
#[test]
fn graphs_on_different_streams_overlap() {
    let mut build = Build::new("G");
    build.vector("MEETS", 1);
    let graph = build.finish();
    let meeting = Arc::new(Barrier::new(2));
    let bodies = Arc::new(Script::new(move |_| {
        meeting.wait();
        Ok(())
    }));
    let runtime = runtime(2);
    let other = runtime.create_stream(0).unwrap();
    launch(&runtime, &graph, &bodies);
    runtime.launch(&graph, bodies.clone(), LaunchOptions::on(other)).unwrap();
    assert_eq!(runtime.sync_all().unwrap().launches, 2);
}

/// ISA-TG-25: launches of one stream run one after the other, though there are threads for all.
#[test]
fn launches_of_one_stream_run_one_after_the_other() {
    let mut build = Build::new("G");
    build.vector("K", 4);
    let graph = build.finish();
    let (running, most) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU32::new(0)));
    let (now, peak) = (running.clone(), most.clone());
    let bodies = Arc::new(Script::new(move |cx| {
        let iteration = cx.kernel.iteration;
        let others = {
            let mut now = now.lock().unwrap();
            now.push(iteration);
            now.iter().filter(|&&other| other != iteration).count()
        };
        peak.fetch_max(others as u32, Ordering::Relaxed);
        let mut now = now.lock().unwrap();
        let at = now.iter().position(|&other| other == iteration).unwrap();
        now.remove(at);
        Ok(())
    }));
    let runtime = runtime(4);
    let stream = runtime.create_stream(0).unwrap();
    for iteration in 0..20 {
        let options = LaunchOptions { iteration, ..LaunchOptions::on(stream) };
        runtime.launch(&graph, bodies.clone(), options).unwrap();
    }
    assert_eq!(runtime.sync_stream(stream).unwrap().launches, 20);
    assert_eq!(most.load(Ordering::Relaxed), 0);
    assert!(running.lock().unwrap().is_empty());
    let trace = runtime.take_trace().unwrap();
    assert!(trace.launches.windows(2).all(|pair| pair[0].ended <= pair[1].began));
}

/// ISA-TG-29, ISA-TG-23.
#[test]
fn destroyed_streams_are_refused_and_their_launches_finish() {
    let mut build = Build::new("G");
    build.vector("K", 1);
    let graph = build.finish();
    let runtime = runtime(1);
    let stream = runtime.create_stream(0).unwrap();
    let id = runtime.launch(&graph, Script::idle(), LaunchOptions::on(stream)).unwrap();
    runtime.destroy_stream(stream).unwrap();
    let refused = runtime.launch(&graph, Script::idle(), LaunchOptions::on(stream)).unwrap_err();
    assert_eq!(refused, Refused::StaleStream(stream));
    assert_eq!(runtime.destroy_stream(stream), Err(Refused::StaleStream(stream)));
    assert!(runtime.sync(id).is_ok());
    assert_eq!(runtime.create_stream(7), Err(Refused::NoDevice { device: 7, devices: 1 }));
    let other = crate::tg_common::runtime(1);
    let foreign = other.default_stream(0).unwrap();
    assert!(runtime.launch(&graph, Script::idle(), LaunchOptions::on(foreign)).is_err());
}

/// ISA-TG-26.
#[test]
fn a_graph_that_was_never_launched_cannot_be_waited_for() {
    let mut build = Build::new("LONELY");
    build.vector("K", 1);
    let graph = build.finish();
    let runtime = runtime(1);
    let Err(SyncError::Refused(refused)) = runtime.sync_graph(&graph) else { panic!("must be refused") };
    assert_eq!(refused.to_string(), "graph `LONELY` was never launched");
    let id = launch(&runtime, &graph, &Script::idle());
    assert_eq!(runtime.sync_graph(&graph).unwrap().launches, 1);
    assert_eq!(runtime.sync_graph(&graph).unwrap().launches, 0, "nothing that was not returned before");
    assert!(matches!(runtime.sync(id), Err(SyncError::Refused(Refused::NoLaunch(_)))));
}

/// ISA-TG-26: the failure names the kernel, the rest is not started, and the runtime goes on.
#[test]
fn a_failing_block_ends_its_launch_and_not_the_runtime() {
    for threads in [1, 3] {
        let mut build = Build::new("G");
        let first = build.vector("FAILS", 4);
        let second = build.vector("AFTER", 4);
        build.edge(first, second);
        let graph = build.finish();
        let bodies = Arc::new(Script::new(|cx| match (name(cx).as_str(), cx.block) {
            ("FAILS", 2) => Err("no".to_owned()),
            ("AFTER", _) => unreachable!(),
            _ => Ok(()),
        }));
        let runtime = runtime(threads);
        launch(&runtime, &graph, &bodies);
        let Err(SyncError::Failed(failure)) = runtime.sync_graph(&graph) else { panic!("must fail") };
        let Cause::Task { task: Place::Block { name, block, blocks, .. }, failure: message } = &failure.cause
        else {
            panic!("{failure}")
        };
        assert_eq!((name.as_str(), *block, *blocks, message.as_str()), ("FAILS", 2, 4, "no"));
        assert_eq!(failure.to_string(), "launch 1 of graph `G` failed in block 2 of 4 of kernel `FAILS`: no");
        launch(&runtime, &graph, &Script::idle());
        assert_eq!(runtime.sync_all().unwrap().blocks, 8);
    }
}

#[test]
fn a_panic_fails_the_launch_with_its_message() {
    let mut build = Build::new("G");
    build.vector("K", 1);
    let graph = build.finish();
    let runtime = runtime(1);
    let bodies = Arc::new(Script::new(|_| panic!("broken {}", 7)));
    let id = launch(&runtime, &graph, &bodies);
    let Err(SyncError::Failed(failure)) = runtime.sync(id) else { panic!("must fail") };
    assert_eq!(failure.to_string(), "launch 1 of graph `G` panicked in block 0 of 1 of kernel `K`: broken 7");
    launch(&runtime, &graph, &Script::idle());
    assert!(runtime.sync_all().is_ok());
}

/// What was submitted behind a launch that fails is not run, whenever it was submitted, until somebody was told.
#[test]
fn launches_behind_a_failed_one_are_not_run_until_somebody_was_told() {
    let mut build = Build::new("G");
    build.vector("K", 1);
    let graph = build.finish();
    let ran = Arc::new(AtomicU32::new(0));
    let count = ran.clone();
    let fails = Arc::new(Script::new(|_| Err("no".to_owned())));
    let counts = Arc::new(Script::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }));
    let runtime = runtime(2);
    let first = launch(&runtime, &graph, &fails);
    assert_eq!(runtime.wait_any(&[first]), Ok(first));
    // The first has failed by now; nobody was told.
    let second = launch(&runtime, &graph, &counts);
    let stream = runtime.create_stream(0).unwrap();
    let options = LaunchOptions { after: vec![first], ..LaunchOptions::on(stream) };
    let third = runtime.launch(&graph, counts.clone(), options).unwrap();
    let Err(SyncError::Failed(failure)) = runtime.sync(second) else { panic!("must fail") };
    assert!(matches!(failure.cause, Cause::Source(LaunchFault::After(_))));
    assert_eq!(failure.first().launch, first);
    assert!(matches!(runtime.sync(third), Err(SyncError::Failed(_))));
    assert!(matches!(runtime.sync(first), Err(SyncError::Failed(_))));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    let fourth = launch(&runtime, &graph, &counts);
    assert!(runtime.sync(fourth).is_ok(), "it was told");
}

#[test]
fn launches_come_after_those_that_they_name() {
    let mut build = Build::new("G");
    build.vector("K", 2);
    let graph = build.finish();
    let runtime = runtime(4);
    let mut last = Vec::new();
    for _ in 0..8 {
        let stream = runtime.create_stream(0).unwrap();
        let options = LaunchOptions { after: last, ..LaunchOptions::on(stream) };
        last = vec![runtime.launch(&graph, Script::idle(), options).unwrap()];
    }
    runtime.sync_all().unwrap();
    let launches = runtime.take_trace().unwrap().launches;
    assert!(launches.windows(2).all(|pair| pair[0].ended <= pair[1].began));
}

#[test]
fn dropping_a_runtime_cancels_what_has_not_started() {
    let mut build = Build::new("G");
    let first = build.vector("FIRST", 1);
    let second = build.vector("SECOND", 1);
    build.edge(first, second);
    let graph = build.finish();
    let (started, has_started) = channel();
    let (go, may_go) = channel::<()>();
    let may_go = Mutex::new(may_go);
    let bodies = Arc::new(Script::new(move |cx| {
        assert_eq!(name(cx), "FIRST");
        started.send(()).unwrap();
        // Ends when the launch is given up.
        while !cx.kernel.stop.is_set() {
            let _ = may_go.lock().unwrap().recv();
        }
        Ok(())
    }));
    let runtime = runtime(1);
    launch(&runtime, &graph, &bodies);
    launch(&runtime, &graph, &bodies);
    has_started.recv().unwrap();
    let weak = Arc::downgrade(&bodies);
    drop(bodies);
    let dropper = std::thread::spawn(move || drop(runtime));
    go.send(()).unwrap();
    drop(go);
    dropper.join().unwrap();
    assert!(weak.upgrade().is_none(), "nothing is kept");
}

#[test]
fn the_flag_of_the_caller_cancels_what_runs_and_what_waits() {
    let mut build = Build::new("G");
    build.vector("K", 1000);
    let graph = build.finish();
    let flag = Arc::new(AtomicBool::new(false));
    let sets = flag.clone();
    let bodies = Arc::new(Script::new(move |_| {
        sets.store(true, Ordering::Relaxed);
        Ok(())
    }));
    let config = RuntimeConfig { threads: 1, cancel: Some(flag.clone()), ..RuntimeConfig::default() };
    let runtime = runtime_with(config);
    let first = launch(&runtime, &graph, &bodies);
    let second = launch(&runtime, &graph, &bodies);
    for id in [first, second] {
        let Err(SyncError::Failed(failure)) = runtime.sync(id) else { panic!("must be cancelled") };
        assert!(matches!(failure.first().cause, Cause::Cancelled));
    }
    flag.store(false, Ordering::Relaxed);
    launch(&runtime, &graph, &Script::idle());
    assert_eq!(runtime.sync_all().unwrap().blocks, 1000);
}

#[test]
fn whoever_waits_for_any_gets_the_one_that_ended() {
    let mut build = Build::new("G");
    build.vector("K", 1);
    let graph = build.finish();
    let (go, may_go) = channel::<()>();
    let may_go = Mutex::new(may_go);
    let waits = Arc::new(Script::new(move |_| {
        may_go.lock().unwrap().recv().unwrap();
        Ok(())
    }));
    let runtime = runtime(2);
    let slow = launch(&runtime, &graph, &waits);
    let stream = runtime.create_stream(0).unwrap();
    let fast = runtime.launch(&graph, Script::idle(), LaunchOptions::on(stream)).unwrap();
    assert_eq!(runtime.wait_any(&[slow, fast]), Ok(fast));
    assert_eq!((runtime.has_ended(slow), runtime.has_ended(fast)), (Ok(false), Ok(true)));
    assert!(runtime.sync(fast).is_ok());
    assert_eq!(runtime.wait_any(&[slow, fast]), Err(Refused::NoLaunch(fast)));
    go.send(()).unwrap();
    assert_eq!(runtime.wait_any(&[slow]), Ok(slow));
}

/// ISA-CF-01, ISA-CF-03: an arm that is not taken is not run, and what comes after it is.
#[test]
fn an_arm_that_is_not_taken_is_not_run() {
    for condition in [0, 1] {
        let mut build = Build::new("G");
        let (decide, then, otherwise) = build.decide(5);
        let (a, b, after) = (build.vector("A", 1), build.vector("B", 1), build.vector("AFTER", 1));
        build.guard(a, then);
        build.guard(b, otherwise);
        build.chain(&[(decide, a), (decide, b), (a, after), (b, after)]);
        let graph = build.finish();
        let mut script = Script::new(|_| Ok(()));
        script.eval = Box::new(move |asked, _| if asked == 5 { condition } else { -1 });
        let bodies = Arc::new(script);
        let runtime = runtime(2);
        launch(&runtime, &graph, &bodies);
        runtime.sync_all().unwrap();
        assert_eq!(bodies.log(), [if condition == 0 { "+B" } else { "+A" }, "+AFTER"]);
        assert_eq!(validate(&graph, &runtime.take_trace().unwrap()), []);
    }
}

/// ISA-CF-05, ISA-CF-06: kernels of a loop see its iteration, and iterations follow each other.
#[test]
fn a_loop_runs_its_body_as_often_as_its_count_says() {
    let mut build = Build::new("G");
    let before = build.vector("BEFORE", 1);
    let node = build.repeat(LoopKind::Count, 0);
    let after = build.vector("AFTER", 1);
    build.edge(before, node);
    build.edge(node, after);
    build.body(node, |build| {
        let (x, y) = (build.vector("X", 2), build.vector("Y", 2));
        build.edge(x, y);
    });
    let graph = build.finish();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let order = seen.clone();
    let mut script = Script::new(move |cx| {
        order.lock().unwrap().push((name(cx), cx.kernel.iterations[0]));
        Ok(())
    });
    script.eval = Box::new(|_, _| 3);
    let runtime = runtime(3);
    launch(&runtime, &graph, &Arc::new(script));
    let stats = runtime.sync_all().unwrap();
    assert_eq!((stats.kernels, stats.blocks), (8, 14));
    let seen = seen.lock().unwrap();
    let body: Vec<u32> = seen[1..13].iter().map(|(_, iteration)| *iteration).collect();
    assert_eq!(body, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(validate(&graph, &runtime.take_trace().unwrap()), []);
}

/// The count of a loop comes from the program's data: a bad one is a failure with the numbers.
#[test]
fn a_count_out_of_range_fails_with_the_numbers() {
    let mut build = Build::new("G");
    let node = build.repeat(LoopKind::Count, 0);
    build.body(node, |build| {
        build.vector("X", 1);
    });
    let graph = build.finish();
    let mut script = Script::new(|_| Ok(()));
    script.eval = Box::new(|_, _| -4);
    let runtime = runtime(1);
    launch(&runtime, &graph, &Arc::new(script));
    let Err(SyncError::Failed(failure)) = runtime.sync_all() else { panic!("must fail") };
    assert!(
        matches!(failure.cause, Cause::Source(LaunchFault::Count { in_loop: 0, value: -4, .. })),
        "{failure}"
    );
}

/// ISA-FE-04: what runs finishes first; then the state is saved; a run from it does the rest and nothing twice.
#[test]
fn a_saved_state_goes_on_where_it_was_saved() {
    let mut build = Build::new("G");
    let nodes: Vec<u32> = (0..6).map(|i| build.vector(&format!("K{i}"), 2)).collect();
    let checkpoint = build.checkpoint(9);
    nodes[..3].iter().for_each(|&node| build.edge(node, checkpoint));
    nodes[3..].iter().for_each(|&node| build.edge(checkpoint, node));
    let graph = build.finish();
    let saved = Arc::new(Mutex::new(Vec::new()));
    let keep = saved.clone();
    let (ran, counts) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU32::new(0)));
    let (order, at_save) = (ran.clone(), counts.clone());
    let mut script = Script::new(move |cx| {
        order.lock().unwrap().push(name(cx));
        Ok(())
    });
    let order = ran.clone();
    script.save = Box::new(move |id, state| {
        assert_eq!(id, 9);
        at_save.store(order.lock().unwrap().len() as u32, Ordering::Relaxed);
        keep.lock().unwrap().extend_from_slice(state);
        Ok(())
    });
    let bodies = Arc::new(script);
    let runtime = runtime(2);
    launch(&runtime, &graph, &bodies);
    assert_eq!(runtime.sync_all().unwrap().checkpoints, 1);
    assert_eq!(
        counts.load(Ordering::Relaxed),
        6,
        "everything before it was complete, and nothing else had begun"
    );
    ran.lock().unwrap().clear();
    let state = saved.lock().unwrap().clone();
    let stream = runtime.default_stream(0).unwrap();
    let options = LaunchOptions { state: Some(state.clone()), ..LaunchOptions::on(stream) };
    let resumed = Arc::new(Script::new({
        let ran = ran.clone();
        move |cx| {
            ran.lock().unwrap().push(name(cx));
            Ok(())
        }
    }));
    let id = runtime.launch(&graph, resumed, options).unwrap();
    assert_eq!(runtime.sync(id).unwrap().kernels, 3);
    let mut names = ran.lock().unwrap().clone();
    names.sort();
    assert_eq!(names, ["K3", "K3", "K4", "K4", "K5", "K5"]);
    let options = LaunchOptions { state: Some(state[1..].to_vec()), ..LaunchOptions::on(stream) };
    assert!(matches!(runtime.launch(&graph, Script::idle(), options), Err(Refused::State(_))));
}

/// ISA-FE-04: a checkpoint asked for from outside waits for the kernel that runs, and starts no other.
#[test]
fn a_checkpoint_asked_for_falls_between_two_kernels() {
    let mut build = Build::new("G");
    let first = build.vector("FIRST", 3);
    let second = build.vector("SECOND", 1);
    build.edge(first, second);
    let graph = build.finish();
    let (started, has_started) = channel();
    let (go, may_go) = channel::<()>();
    let may_go = Mutex::new(may_go);
    let blocks = Arc::new(AtomicU32::new(0));
    let (count, at_save) = (blocks.clone(), Arc::new(AtomicU32::new(0)));
    let mut script = Script::new(move |cx| {
        if name(cx) == "FIRST" && cx.block == 0 {
            started.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let (at, count) = (at_save.clone(), blocks.clone());
    script.save = Box::new(move |_, _| {
        at.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    });
    let runtime = runtime(1);
    let id = launch(&runtime, &graph, &Arc::new(script));
    has_started.recv().unwrap();
    runtime.request_checkpoint(id, 4).unwrap();
    go.send(()).unwrap();
    let stats = runtime.sync(id).unwrap();
    assert_eq!((stats.checkpoints, stats.blocks), (1, 4));
    assert_eq!(at_save.load(Ordering::Relaxed), 3, "all of FIRST and nothing of SECOND");
    assert!(runtime.checkpoint(id, 4).is_err(), "its outcome was returned");
    let id = launch(&runtime, &graph, &Script::idle());
    runtime.wait_any(&[id]).unwrap();
    assert_eq!(runtime.checkpoint(id, 4).unwrap(), Saved::AlreadyComplete);
}

#[test]
fn copies_run_in_the_order_of_their_edges() {
    let mut build = Build::new("G");
    let a = build.vector("A", 1);
    let copy = build.copy("copy.0");
    let b = build.vector("B", 1);
    build.edge(a, copy);
    build.edge(copy, b);
    let graph = build.finish();
    let bodies = Script::idle();
    let runtime = runtime(2);
    launch(&runtime, &graph, &bodies);
    let stats = runtime.sync_all().unwrap();
    assert_eq!((stats.items, stats.blocks), (1, 2));
    assert_eq!(bodies.log(), ["+A", "copy.0", "+B"]);
    assert_eq!(validate(&graph, &runtime.take_trace().unwrap()), []);
}

/// A runtime in virtual time.
fn in_virtual_time(threads: u32) -> Runtime<Script> {
    runtime_with(RuntimeConfig { threads, time: Time::Virtual, ..RuntimeConfig::default() })
}

/// Blocks of ten cycles.
fn ten_cycles() -> Script {
    let mut script = Script::new(|_| Ok(()));
    script.cycles = Box::new(|_| 10);
    script
}

#[test]
fn blocks_take_their_cycles_on_as_many_workers_and_cores_as_there_are() {
    let mut build = Build::new("G");
    let (a, b) = (build.vector("A", 4), build.kernel("B", 2, CoreType::Aic));
    build.edge(a, b);
    let graph = build.finish();
    for (threads, aiv, rounds) in [(1, 8, 6), (2, 8, 3), (4, 8, 2), (8, 2, 3), (8, 1, 5)] {
        let cores = CoreCounts { aic: 2, aiv, aicpu: 1, aiv_per_aic: 1, l2_domains: 1 };
        let time = Time::Virtual;
        let runtime = runtime_with(RuntimeConfig { threads, cores, time, ..RuntimeConfig::default() });
        launch(&runtime, &graph, &Arc::new(ten_cycles()));
        runtime.sync_all().unwrap();
        let trace = runtime.take_trace().unwrap();
        assert_eq!(trace.launches[0].ended, 10 * rounds, "{threads} workers, {aiv} cores");
        assert_eq!(validate(&graph, &trace), []);
        let released_by: Vec<Option<u32>> = trace.runs.iter().map(|run| run.released_by).collect();
        assert_eq!(released_by, [None, Some(3)]);
    }
}

#[test]
fn kernels_of_a_gang_start_in_the_same_cycle_and_last_as_long_as_the_longest() {
    let mut build = Build::new("G");
    let members = [build.vector("A", 1), build.vector("B", 2)];
    build.gang(&members);
    let graph = build.finish();
    let mut script = Script::new(|_| Ok(()));
    script.cycles = Box::new(|cx| 3 + u64::from(cx.kernel.item + cx.block));
    let runtime = in_virtual_time(1);
    launch(&runtime, &graph, &Arc::new(script));
    runtime.sync_all().unwrap();
    let times: Vec<(u64, u64)> =
        runtime.take_trace().unwrap().blocks.iter().map(|b| (b.started, b.finished)).collect();
    assert_eq!(times, [(0, 3), (0, 4), (0, 5)]);
}

#[test]
fn launches_in_virtual_time_go_on_while_a_thread_waits() {
    let mut build = Build::new("G");
    build.vector("A", 1);
    let graph = build.finish();
    let runtime = in_virtual_time(1);
    let bodies = Arc::new(ten_cycles());
    let [first, second] = [(); 2].map(|()| launch(&runtime, &graph, &bodies));
    assert_eq!(runtime.has_ended(first), Ok(false));
    runtime.sync(first).unwrap();
    assert_eq!((runtime.has_ended(second), runtime.take_trace().unwrap().launches[0].ended), (Ok(false), 10));
    drop(runtime);
    assert_eq!(Arc::strong_count(&bodies), 1, "what was not waited for is dropped");
}

#[test]
fn virtual_time_fails_as_a_run_does() {
    let mut build = Build::new("G");
    let (wait, after) = (build.wait_event(3, "E"), build.vector("A", 1));
    build.edge(wait, after);
    let runtime = in_virtual_time(2);
    launch(&runtime, &build.finish(), &Script::idle());
    let fault = runtime.sync_all().unwrap_err().to_string();
    assert!(fault.contains("cannot go on") && fault.contains('E'), "{fault}");
    let mut build = Build::new("LONG");
    let (a, b) = (build.vector("A", 1), build.vector("B", 1));
    build.edge(a, b);
    let mut script = Script::new(|_| Ok(()));
    script.cycles = Box::new(|_| u64::MAX / 2 + 1);
    launch(&runtime, &build.finish(), &Arc::new(script));
    let fault = runtime.sync_all().unwrap_err().to_string();
    assert_eq!(fault, "launch 2 of graph `LONG` ends beyond cycle 2^64 of virtual time");
}

/// The signal comes before the wait or while it lasts.
#[test]
fn a_signal_of_another_thread_reaches_virtual_time() {
    let mut build = Build::new("G");
    let (wait, after) = (build.wait_event(4, "GO"), build.vector("A", 1));
    build.edge(wait, after);
    let graph = build.finish();
    for _ in 0..50 {
        let (time, signals) = (Time::Virtual, Signals::Anyone);
        let runtime = runtime_with(RuntimeConfig { time, signals, ..RuntimeConfig::default() });
        launch(&runtime, &graph, &Script::idle());
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.signal(4).unwrap());
            assert_eq!(runtime.sync_all().unwrap().kernels, 1);
        });
    }
}
