//! Models of the concurrent structures for loom, each with a fault that it finds.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p wsp-runtime --lib models -- --test-threads=1`

use crate::finder::{Finder, TAKES_ANYTHING};
use crate::gates::{Candidate, Gates};
use crate::graph::core::Core;
use crate::graph::stored::Stored;
use crate::placement::{Division, Placement, Route, Topology};
use crate::places::Places;
use crate::ready::Queues;
use crate::replay::{Replay, Turns};
use crate::shared::Store;
use crate::sleep::Sleep;
use crate::stream::store::Stream;
use crate::sync::{FAULT, Fault};
use crate::{Gate, GateScope, RunConfig};

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wsp_core::{KernelId, Started, StreamId};

/// Checks all interleavings with few switches, as it is and with the faults, which it must find.
pub(crate) fn check(faults: &[Fault], model: fn()) {
    let explore = || {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    };
    explore();
    for &fault in faults {
        FAULT.store(fault as u32, std::sync::atomic::Ordering::Relaxed);
        let found = catch_unwind(AssertUnwindSafe(explore)).is_err();
        FAULT.store(0, std::sync::atomic::Ordering::Relaxed);
        assert!(found, "{fault:?} is not found");
    }
}

fn stream(workers: u32) -> Stream {
    let stream = Stream::new(&RunConfig { threads: workers, ..RunConfig::default() });
    stream.grow(0);
    stream
}

/// A predecessor completes while the planner links a successor: it is released exactly once and sees what was written.
#[test]
fn an_edge_is_either_released_or_found_closed() {
    check(&[Fault::UnpublishedEdge, Fault::UnpublishedResult], || {
        let stream = Arc::new(stream(1));
        // What the predecessor writes and the successor reads: a relaxed cell, ordered by the edge alone.
        let cell = Arc::new(AtomicU32::new(0));
        stream.slots.get(0).fill(0, KernelId(0), &[], Placement::default(), 0);
        stream.edges.grow_for_model();
        let worker = {
            let (stream, cell) = (stream.clone(), cell.clone());
            thread::spawn(move || {
                cell.store(7, Ordering::Relaxed);
                let mut released = 0;
                stream.release(0, |ready| {
                    assert_eq!((ready, stream.slots.get(1).task()), (1, 1));
                    released += 1;
                });
                released
            })
        };
        stream.slots.get(1).fill(1, KernelId(0), &[], Placement::default(), 2);
        let linked = stream.edges.link(stream.slots.get(0), 0, 1);
        let share = if linked { 1 } else { 2 };
        let own = stream.slots.get(1).pending.fetch_sub(share, Ordering::AcqRel) == share;
        if own {
            assert_eq!(cell.load(Ordering::Relaxed), 7, "it runs without what it reads");
        }
        assert_eq!(worker.join().unwrap() + u32::from(own), 1);
    });
}

/// The planner waits for two completions of two workers and wakes.
#[test]
fn a_planner_is_woken_when_enough_is_complete() {
    check(&[Fault::NoSecondCollection], || {
        let stream = Arc::new(stream(2));
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let stream = stream.clone();
                thread::spawn(move || stream.retire(worker, worker))
            })
            .collect();
        let collect = || {
            let mut got = 0;
            stream.completions.take(|slot| stream.slots.get(slot), |_| got += 1);
            got
        };
        assert_eq!(stream.completions.wait(2, collect, || false), 2);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// A worker falls asleep while a task is pushed: it is taken.
#[test]
fn a_push_is_seen_by_a_worker_that_falls_asleep() {
    check(&[Fault::NoSecondLook, Fault::NoFenceAfterPush], || {
        let sleep = Arc::new(Sleep::new(Topology::new(0, 1, 1)));
        let queue = Arc::new(AtomicU32::new(0));
        let worker = {
            let (sleep, queue) = (sleep.clone(), queue.clone());
            thread::spawn(move || {
                sleep.start_search(0);
                while queue.load(Ordering::Relaxed) == 0 {
                    sleep.sleep(0, || queue.load(Ordering::Relaxed) > 0);
                }
                sleep.leave(0, || false);
            })
        };
        queue.store(1, Ordering::Relaxed);
        sleep.notify(Route::Any);
        worker.join().unwrap();
    });
}

/// A worker gives its search up while a task is pushed and another worker sleeps: that one is woken.
#[test]
fn a_push_is_seen_when_a_worker_gives_its_search_up() {
    check(&[Fault::NoLookAfterSearch], || {
        let sleep = Arc::new(Sleep::new(Topology::new(0, 2, 2)));
        let queue = Arc::new(AtomicU32::new(0));
        let sleeper = {
            let (sleep, queue) = (sleep.clone(), queue.clone());
            thread::spawn(move || {
                sleep.start_search(0);
                while queue.load(Ordering::Relaxed) == 0 {
                    sleep.sleep(0, || queue.load(Ordering::Relaxed) > 0);
                }
                sleep.leave(0, || false);
            })
        };
        let searcher = {
            let (sleep, queue) = (sleep.clone(), queue.clone());
            thread::spawn(move || {
                sleep.start_search(1);
                sleep.leave(1, || queue.load(Ordering::Relaxed) > 0);
            })
        };
        queue.store(1, Ordering::Relaxed);
        sleep.notify(Route::Any);
        [sleeper, searcher].into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// A worker falls asleep while another passes the turn of a stream on: the next task of the stream is taken.
#[test]
fn a_turn_that_is_passed_on_is_seen_by_a_worker_that_falls_asleep() {
    check(&[Fault::NoSecondLook, Fault::NoFenceAfterPush, Fault::TurnUntold], || {
        let gates = vec![Gate { scope: GateScope::PerStream, capacity: 2 }];
        let config = RunConfig { threads: 1, gates, ..RunConfig::default() };
        let division = Division::new(&config);
        let (queues, _) = Queues::new(division, config.ready_policy(), None, Box::default());
        let gates = Gates::new(&config.gates, Places::new(division));
        let placement = Placement { stream: Some(StreamId(0)), ..Placement::default() };
        gates.with(|book| {
            (0..2).for_each(|node| book.announce(StreamId(0), node));
            let rank = book.next_rank();
            let enter = |node| book.enter(Candidate { rank, node, placement, place: 0 });
            assert_eq!([1, 0].map(enter), [false, true]);
        });
        let shared = Arc::new((queues, gates));
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (queues, gates) = &*shared;
                let sleep = &queues.pools[0].sleep;
                sleep.start_search(0);
                while gates.with(|book| book.take(0)) != Some(1) {
                    sleep.sleep(0, || gates.any_for(0));
                }
                sleep.leave(0, || false);
            })
        };
        let (queues, gates) = &*shared;
        gates.with(|book| book.pass_turn(0, placement));
        gates.notify(&queues.pools);
        worker.join().unwrap();
    });
}

/// A worker falls asleep while another passes the turn of an order of starts on: the task whose turn it is then is taken.
#[test]
fn a_turn_in_an_order_is_seen_by_a_worker_that_falls_asleep() {
    // The lock under which turns are passed takes the place of the fence after a push.
    check(&[Fault::NoSecondLook, Fault::TurnUntold], || {
        let starts =
            [0, 1].map(|worker| Started { started: worker, ended: 2, worker: worker as u32, kernel: 0 });
        let replay = Arc::new(Replay::new(2, &[], &starts).expect("it is an order"));
        let config = RunConfig { threads: 2, replay: Some(replay.clone()), ..RunConfig::default() };
        let turns = Turns::new(replay.clone(), 2);
        let division = Division::new(&config);
        let (queues, _) = Queues::new(division, config.ready_policy(), Some(turns), Box::default());
        let placement = move |node: u32| {
            let (worker, priority) = replay.place(node, 2);
            division.on(worker, None, priority)
        };
        (0..2).for_each(|node| queues.push(node, placement(node), None));
        let queues = Arc::new(queues);
        let worker = {
            let queues = queues.clone();
            thread::spawn(move || {
                let mut finder = Finder::new(&queues, 1, None, 0);
                let sleep = &queues.pools[0].sleep;
                sleep.start_search(1);
                while finder.look(&queues, TAKES_ANYTHING).map(|found| found.node) != Some(1) {
                    sleep.sleep(1, || queues.any_for((0, 1)));
                }
                sleep.leave(1, || false);
            })
        };
        let mut finder = Finder::new(&queues, 0, None, 0);
        assert_eq!(finder.look(&queues, TAKES_ANYTHING).map(|found| found.node), Some(0));
        queues.pass(placement(0));
        worker.join().unwrap();
    });
}

/// The planner waits for what never comes while the only worker falls asleep: it is told.
#[test]
fn a_planner_that_waits_in_vain_is_told() {
    check(&[Fault::QuietUntold], || {
        let stream = Arc::new(stream(1));
        let sleep = Arc::new(Sleep::new(Topology::new(0, 1, 1)));
        let worker = {
            let (stream, sleep) = (stream.clone(), sleep.clone());
            thread::spawn(move || {
                sleep.start_search(0);
                sleep.sleep(0, || {
                    if sleep.sleepers().len() == 1 {
                        stream.quiet();
                    }
                    false
                });
            })
        };
        let quiet = || sleep.sleepers().len() == 1;
        assert_eq!(stream.completions.wait(1, || 0, quiet), 0);
        sleep.close();
        worker.join().unwrap();
    });
}

/// Two workers run out of work: one of them at least sees that all is done.
#[test]
fn the_last_worker_to_finish_sees_that_all_is_done() {
    check(&[Fault::NoFenceInSum], || {
        let mut core = Core::default();
        core.add_task(KernelId(0), &[], &[]);
        core.add_task(KernelId(0), &[], &[]);
        let config = RunConfig { threads: 2, ..RunConfig::default() };
        let stored = Arc::new(Stored::new(core, &config));
        let other = {
            let stored = stored.clone();
            thread::spawn(move || stored.idle(1, 1))
        };
        let own = stored.idle(0, 1);
        assert!(other.join().unwrap() || own);
    });
}

/// Two predecessors on two workers count a stored node down: one of them releases it, with what both wrote.
#[test]
fn the_last_of_two_predecessors_releases_a_node() {
    check(&[Fault::UncountedWrites], || {
        let mut core = Core::default();
        let first = core.add_task(KernelId(0), &[], &[]);
        let second = core.add_task(KernelId(0), &[], &[]);
        let after = [wsp_core::TaskId(first), wsp_core::TaskId(second)];
        core.add_task(KernelId(0), &[], &after);
        let stored = Arc::new(Stored::new(core, &RunConfig { threads: 2, ..RunConfig::default() }));
        // Each writes its own; whoever releases the node reads both.
        let cells = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let complete = |node: u32| {
            let (stored, cells) = (stored.clone(), cells.clone());
            move || {
                cells[node as usize].store(1, Ordering::Relaxed);
                let mut released = 0;
                stored.release(node, |_| {
                    released += 1;
                    assert!(cells.iter().all(|cell| cell.load(Ordering::Relaxed) == 1));
                });
                released
            }
        };
        let other = thread::spawn(complete(first));
        let own = complete(second)();
        assert_eq!(own + other.join().unwrap(), 1);
    });
}
