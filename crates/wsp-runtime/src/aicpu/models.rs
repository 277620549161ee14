//! Models of what AICPUs share, for loom, each with faults that it finds.

use super::config::AicpuConfig;
use super::registration::{Registered, Registration};
use super::ring::NotifyRing;
use super::shared::Shared;
use crate::Start;
use crate::models::check;
use crate::sync::Fault;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

/// A producer completes a task while two consumers, of one word or of two, ask for a notice: each gets one, or learns that the task is complete, and
/// sees what the task wrote.
#[test]
fn a_consumer_is_told_or_finds_the_task_complete() {
    let models: [fn(); 2] = [|| completion([1, 2]), || completion([2, 40])];
    for model in models {
        check(&[Fault::StoredRegistration, Fault::UnpublishedCompletion], model);
    }
}

fn completion([one, two]: [u16; 2]) {
    let slot = Arc::new(Registration::new(41));
    // What the task writes: a relaxed cell, ordered by the words alone.
    let cell = Arc::new(AtomicU32::new(0));
    let consumer = |aicpu: u16| {
        let (slot, cell) = (slot.clone(), cell.clone());
        move || {
            let registered = slot.register(0, aicpu);
            if registered == Registered::Complete {
                assert_eq!(cell.load(Ordering::Relaxed), 7, "it runs without what it reads");
            }
            (registered == Registered::Waits).then_some(aicpu)
        }
    };
    let other = thread::spawn(consumer(one));
    let producer = {
        let (slot, cell) = (slot.clone(), cell.clone());
        thread::spawn(move || {
            cell.store(7, Ordering::Relaxed);
            let mut told = Vec::new();
            slot.complete(&mut told);
            told
        })
    };
    let last = consumer(two)();
    let waits: Vec<u16> = other.join().unwrap().into_iter().chain(last).collect();
    assert_eq!(producer.join().unwrap(), waits, "every consumer that waits gets a notice, and no other");
}

/// Notices go through a ring of one place: each arrives once, in order, with what was written before it.
#[test]
fn notices_arrive_once_in_order_with_what_was_written_before() {
    check(&[Fault::UnpublishedNotice, Fault::OverwrittenNotice], || {
        let ring = Arc::new(NotifyRing::new(1));
        let cells = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let reader = {
            let (ring, cells) = (ring.clone(), cells.clone());
            thread::spawn(move || {
                for expected in 0..2 {
                    let task = loop {
                        match ring.pop().expect("nothing was overwritten") {
                            Some(task) => break task,
                            None => thread::yield_now(),
                        }
                    };
                    assert_eq!(task, expected + 1);
                    let cell = &cells[usize::from(expected)];
                    assert_eq!(cell.load(Ordering::Relaxed), 7, "it runs without what it reads");
                }
            })
        };
        for task in 0..2u16 {
            cells[usize::from(task)].store(7, Ordering::Relaxed);
            while !ring.push(task + 1) {
                thread::yield_now();
            }
        }
        reader.join().unwrap();
    });
}

/// Nothing else can go on, so that two threads start what a start policy holds back, while a third looks for something to do. A thread that
/// finds the start made finds a later epoch, and one that looked before it has not looked in the last epoch: none takes the run for stuck.
#[test]
fn a_start_that_is_forced_ends_the_epoch_in_which_it_was_looked_for() {
    check(&[Fault::UnannouncedStart, Fault::UntoldStart], || {
        let config =
            AicpuConfig { window: 1, ring: 1, start: Start::AfterOrchestration, ..AicpuConfig::default() };
        let shared = Arc::new(Shared::new(&config, 1));
        let forces = |shared: &Shared| {
            if !shared.force_start() {
                assert_ne!(shared.epoch(), 0, "it takes the run for stuck");
            }
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || forces(&shared))
        };
        let looks = {
            let shared = shared.clone();
            thread::spawn(move || (shared.epoch(), shared.has_started()))
        };
        forces(&shared);
        other.join().unwrap();
        let (epoch, found) = looks.join().unwrap();
        assert!(
            found || epoch != shared.epoch(),
            "a thread that looked before the start has seen the last epoch"
        );
    });
}
