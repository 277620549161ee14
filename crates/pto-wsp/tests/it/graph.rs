//! Closures on the runtime alone.

use pto_wsp::graph::{Graph, GraphError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn tasks_start_when_those_that_they_wait_for_have_ended_in_every_run() {
    let log = Mutex::new(Vec::new());
    let say = |what: u32| log.lock().expect("no task panics").push(what);
    for threads in [0, 1, 3] {
        let mut graph = Graph::new().threads(threads);
        let last = graph.task(|| say(3)).id();
        let first = graph.task(|| say(0)).id();
        let middle = [1, 2].map(|what| graph.task(move || say(what)).after([first]).id());
        middle.into_iter().for_each(|task| graph.order(task, last));
        for _ in 0..3 {
            graph.run().expect("nothing fails");
            let mut said = std::mem::take(&mut *log.lock().expect("no task panics"));
            assert_eq!((said[0], said[3]), (0, 3));
            said.sort_unstable();
            assert_eq!(said, [0, 1, 2, 3]);
        }
    }
}

#[test]
fn an_error_a_panic_and_a_cycle_name_their_tasks() {
    let mut failing = Graph::new();
    failing.task(|| ());
    failing.task(|| Err::<(), _>("no more"));
    assert_eq!(failing.run(), Err(GraphError::Failed { task: 1, message: "no more".to_owned() }));

    let mut panicking = Graph::new().threads(2);
    panicking.task(|| -> () { panic!("as it should") });
    let panicked = panicking.run().expect_err("it panics");
    assert_eq!(panicked.to_string(), "task 0 panicked: as it should");

    let mut cycle = Graph::new();
    let a = cycle.task(|| ()).id();
    let b = cycle.task(|| ()).after([a]).id();
    cycle.order(b, a);
    let Err(GraphError::Stuck { cycle, unfinished: 2 }) = cycle.run() else {
        panic!("two wait for each other")
    };
    assert!(cycle == [0, 1] || cycle == [1, 0], "{cycle:?}");
}

#[test]
fn a_task_of_another_graph_is_refused() {
    let mut one = Graph::new();
    let theirs = one.task(|| ()).id();
    let mut other = Graph::new();
    other.task(|| ()).after([theirs]);
    assert!(matches!(other.run(), Err(GraphError::Refused(_))));
}

#[test]
fn a_flag_ends_a_run() {
    let (flag, ran) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(0));
    let mut graph = Graph::new().threads(1).cancel(flag.clone());
    let mut before = graph.task(|| flag.store(true, Ordering::Relaxed)).id();
    for _ in 0..100 {
        let count = || {
            ran.fetch_add(1, Ordering::Relaxed);
        };
        before = graph.task(count).after([before]).id();
    }
    assert_eq!(graph.run(), Err(GraphError::Cancelled));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}
