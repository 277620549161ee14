//! What launches wait for outside of themselves: events, notifications of other devices; and what is told when it never comes.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::tg_common::{Build, Script, launch, name, runtime, runtime_with};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use wsp_runtime::Report;
use wsp_runtime::tg::{Cause, Graph, LaunchOptions, Runtime, RuntimeConfig, Signals, SyncError, validate};
use wsp_runtime::timeline::{Detail, Timeline};

/// A graph whose kernel waits for an event, if any, and is followed by the signal of another, if any.
fn waits_and_signals(name: &str, wait: Option<(u32, &str)>, signal: Option<(u32, &str)>) -> Arc<Graph> {
    let mut build = Build::new(name);
    let kernel = build.vector(&format!("{name}_K"), 1);
    if let Some((event, name)) = wait {
        let node = build.wait_event(event, name);
        build.edge(node, kernel);
    }
    if let Some((event, name)) = signal {
        let node = build.signal(event, name);
        build.edge(kernel, node);
    }
    build.finish()
}

/// Bodies that tell which kernels ran, in which order.
fn logging() -> (Arc<Script>, Arc<Mutex<Vec<String>>>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    let bodies = Script::new(move |cx| {
        seen.lock().unwrap().push(name(cx));
        Ok(())
    });
    (Arc::new(bodies), order)
}

/// The cycle of a report, in a line.
fn cycle_of(report: &Report) -> String {
    report.cycle.iter().map(ToString::to_string).collect::<Vec<_>>().join(" > ")
}

fn stuck(runtime: &Runtime<Script>) -> Report {
    let Err(SyncError::Failed(failure)) = runtime.sync_all() else { panic!("nothing can go on") };
    let Cause::Stuck(report) = &failure.first().cause else { panic!("{failure}") };
    report.clone()
}

/// ISA-SY-02: an event orders kernels of graphs on different streams, whichever was launched first.
#[test]
fn an_event_orders_kernels_of_different_streams() {
    for waiter_first in [true, false] {
        let signals = waits_and_signals("S", None, Some((4, "READY")));
        let waits = waits_and_signals("W", Some((4, "READY")), None);
        let runtime = runtime(2);
        let (bodies, order) = logging();
        let other = runtime.create_stream(0).unwrap();
        let on_default = LaunchOptions::on(runtime.default_stream(0).unwrap());
        let mut launches = [(&signals, on_default), (&waits, LaunchOptions::on(other))];
        if waiter_first {
            launches.reverse();
        }
        for (graph, options) in launches {
            runtime.launch(graph, bodies.clone(), options).unwrap();
        }
        runtime.sync_all().unwrap();
        assert_eq!(*order.lock().unwrap(), ["S_K", "W_K"]);
    }
}

/// Every launch of the signaller is a signal of its own.
#[test]
fn each_launch_waits_for_the_signal_of_its_round() {
    let signals = waits_and_signals("S", None, Some((4, "READY")));
    let waits = waits_and_signals("W", Some((4, "READY")), None);
    let runtime = runtime(3);
    let (bodies, order) = logging();
    let other = runtime.create_stream(0).unwrap();
    for _ in 0..10 {
        launch(&runtime, &signals, &bodies);
        runtime.launch(&waits, bodies.clone(), LaunchOptions::on(other)).unwrap();
    }
    runtime.sync_all().unwrap();
    let order = order.lock().unwrap();
    let mut ahead = 0;
    for name in order.iter() {
        ahead += if name == "S_K" { 1 } else { -1 };
        assert!(ahead >= 0, "a wait went ahead of its signal: {order:?}");
    }
}

#[test]
fn a_signal_of_the_caller_lets_launches_go_on() {
    let waits = waits_and_signals("W", Some((4, "GO")), None);
    let runtime = runtime(1);
    launch(&runtime, &waits, &Script::idle());
    runtime.signal(4).unwrap();
    launch(&runtime, &waits, &Script::idle());
    assert_eq!(runtime.sync_all().unwrap().launches, 2);
}

#[test]
fn a_signal_of_another_thread_is_waited_for() {
    let waits = waits_and_signals("W", Some((4, "GO")), None);
    let config = RuntimeConfig { signals: Signals::Anyone, ..RuntimeConfig::default() };
    let runtime = runtime_with(config);
    let (begins, has_begun) = channel();
    let first = waits_and_signals("FIRST", None, None);
    let reports = Arc::new(Script::new(move |_| {
        begins.send(()).unwrap();
        Ok(())
    }));
    let stream = runtime.create_stream(0).unwrap();
    let id = launch(&runtime, &waits, &Script::idle());
    runtime.launch(&first, reports, LaunchOptions::on(stream)).unwrap();
    std::thread::scope(|scope| {
        let runtime = &runtime;
        scope.spawn(move || {
            has_begun.recv().unwrap();
            runtime.signal(4).unwrap();
        });
        assert!(runtime.sync(id).is_ok());
    });
}

/// ISA-SY-04, ISA-SY-05: devices run the same graph; each waits for the other's notification.
#[test]
fn notifications_order_kernels_of_different_devices() {
    let mut build = Build::new("PING");
    let first = build.vector("FIRST", 1);
    let notify = build.notify(1, 7, "THERE");
    let wait = build.wait_notify(1, 8, "BACK");
    let last = build.vector("LAST", 1);
    build.chain(&[(first, notify), (notify, wait), (wait, last)]);
    let ping = build.finish();
    let mut build = Build::new("PONG");
    let wait = build.wait_notify(0, 7, "THERE");
    let middle = build.vector("MIDDLE", 1);
    let notify = build.notify(0, 8, "BACK");
    build.chain(&[(wait, middle), (middle, notify)]);
    let pong = build.finish();
    let runtime = runtime_with(RuntimeConfig { threads: 2, devices: 2, ..RuntimeConfig::default() });
    let (bodies, order) = logging();
    for _ in 0..5 {
        for (graph, device) in [(&pong, 1), (&ping, 0)] {
            let stream = runtime.default_stream(device).unwrap();
            runtime.launch(graph, bodies.clone(), LaunchOptions::on(stream)).unwrap();
        }
    }
    runtime.sync_all().unwrap();
    let order = order.lock().unwrap();
    let round = |kernel: &str| {
        order.iter().enumerate().filter(|(_, name)| *name == kernel).map(|(at, _)| at).collect::<Vec<_>>()
    };
    let (first, middle, last) = (round("FIRST"), round("MIDDLE"), round("LAST"));
    assert!((0..5).all(|i| first[i] < middle[i] && middle[i] < last[i]), "{order:?}");
    let trace = runtime.take_trace().unwrap();
    assert_eq!([validate(&ping, &trace), validate(&pong, &trace)], [[], []]);
}

/// ISA-PM-09: with one device notifications do nothing.
#[test]
fn with_one_device_notifications_do_nothing() {
    let mut build = Build::new("G");
    let wait = build.wait_notify(1, 7, "NEVER");
    let kernel = build.vector("K", 1);
    build.edge(wait, kernel);
    let graph = build.finish();
    let runtime = runtime(1);
    launch(&runtime, &graph, &Script::idle());
    assert_eq!(runtime.sync_all().unwrap().kernels, 1);
}

/// ISA-SY-06: an event that nobody signals is told by its name, and the runtime goes on.
#[test]
fn an_event_that_nobody_signals_is_reported() {
    let waits = waits_and_signals("W", Some((4, "READY")), None);
    let runtime = runtime(2);
    launch(&runtime, &waits, &Script::idle());
    launch(&runtime, &waits, &Script::idle());
    let report = stuck(&runtime);
    assert_eq!(
        report.to_string(),
        "no task can start, but 2 wait\
         \n  W_K of launch 1 of `W` waits for the wait for event `READY` of launch 1 of `W`\
         \n  the wait for event `READY` of launch 1 of `W` waits for event `READY`, which nobody is left to signal\
         \n  launch 2 of `W` waits for launch 1 of `W`"
    );
    launch(&runtime, &waits_and_signals("OK", None, None), &Script::idle());
    assert!(runtime.sync_all().is_ok());
}

/// ISA-SY-06: launches that wait for each other's events form a cycle.
#[test]
fn launches_that_wait_for_each_other_are_reported_as_a_cycle() {
    let a = waits_and_signals("A", Some((1, "ONE")), Some((2, "TWO")));
    let b = waits_and_signals("B", Some((2, "TWO")), Some((1, "ONE")));
    let runtime = runtime(2);
    let other = runtime.create_stream(0).unwrap();
    launch(&runtime, &a, &Script::idle());
    runtime.launch(&b, Script::idle(), LaunchOptions::on(other)).unwrap();
    let report = stuck(&runtime);
    let cycle = cycle_of(&report);
    for party in ["event `ONE`", "event `TWO`", "A_K of launch 1", "B_K of launch 2"] {
        assert!(cycle.contains(party), "{report}");
    }
    assert_eq!(report.unfinished, 6, "nodes of both launches");
}

/// ISA-SY-06: a signaller behind the launch that waits for it, in the same stream.
#[test]
fn a_signaller_behind_its_waiter_in_a_stream_is_reported_as_a_cycle() {
    let waits = waits_and_signals("W", Some((1, "ONE")), None);
    let signals = waits_and_signals("S", None, Some((1, "ONE")));
    let runtime = runtime(1);
    launch(&runtime, &waits, &Script::idle());
    launch(&runtime, &signals, &Script::idle());
    let report = stuck(&runtime);
    assert!(cycle_of(&report).contains("launch 2 of `S`"), "{report}");
}

/// ISA-SY-06.
#[test]
fn a_notification_that_nobody_sends_is_reported() {
    let mut build = Build::new("G");
    let wait = build.wait_notify(1, 7, "HALO");
    let kernel = build.vector("K", 1);
    build.edge(wait, kernel);
    let graph = build.finish();
    let runtime = runtime_with(RuntimeConfig { devices: 2, ..RuntimeConfig::default() });
    launch(&runtime, &graph, &Script::idle());
    let report = stuck(&runtime).to_string();
    assert!(report.contains("notification `HALO` of device 1, which nobody is left to send"), "{report}");
}

/// ISA-SY-06: edges in a cycle, which no check has refused.
#[test]
fn edges_in_a_cycle_are_reported_by_name() {
    let mut build = Build::new("G");
    let [a, b, c] = ["A", "B", "C"].map(|name| build.vector(name, 1));
    build.chain(&[(a, b), (b, c), (c, b)]);
    let graph = build.finish();
    let runtime = runtime(2);
    launch(&runtime, &graph, &Script::idle());
    let report = stuck(&runtime);
    assert_eq!(cycle_of(&report), "B of launch 1 of `G` > C of launch 1 of `G`", "{report}");
}

#[test]
fn a_trace_has_a_task_for_each_block_with_what_it_was_granted() {
    let graph = waits_and_signals("A \"quoted\" name", None, None);
    let runtime = runtime(1);
    launch(&runtime, &graph, &Script::idle());
    runtime.sync_all().unwrap();
    let timeline = Timeline::of_launches(&runtime.take_trace().unwrap());
    assert_eq!(timeline.processes, ["device 0"]);
    assert!(timeline.kernels.contains(&"A \"quoted\" name_K".to_owned()), "{:?}", timeline.kernels);
    let said = |name: &str, detail: Detail| {
        timeline.details.iter().flatten().any(|one| *one == (name, detail.clone()))
    };
    assert!(said("granted", Detail::Numbers(vec![0, 1, 0])) && said("aiv", Detail::Numbers(vec![0])));
    assert!(timeline.tasks.iter().all(|task| task.row().is_some()));
}
