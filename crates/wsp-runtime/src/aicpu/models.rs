//! Models of what AICPUs share, for loom, each with faults that it finds.

use super::registration::{Registered, Registration};
use super::ring::NotifyRing;
use crate::models::check;
use crate::sync::Fault;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

/// A producer completes a task while two consumers ask to be told: each is told once or learns that it is complete, and
/// sees what the task wrote.
#[test]
fn a_consumer_is_told_or_finds_the_task_complete() {
    check(&[Fault::StoredRegistration, Fault::UnpublishedCompletion], || {
        let word = Arc::new(Registration::new());
        // What the task writes: a relaxed cell, ordered by the word alone.
        let cell = Arc::new(AtomicU32::new(0));
        let consumer = |aicpu: u16| {
            let (word, cell) = (word.clone(), cell.clone());
            move || {
                let registered = word.register(0, aicpu);
                if registered == Registered::Complete {
                    assert_eq!(cell.load(Ordering::Relaxed), 7, "it runs without what it reads");
                }
                registered == Registered::Waits
            }
        };
        let other = thread::spawn(consumer(1));
        let producer = {
            let (word, cell) = (word.clone(), cell.clone());
            thread::spawn(move || {
                cell.store(7, Ordering::Relaxed);
                word.complete()
            })
        };
        let waits = u32::from(consumer(2)()) << 2 | u32::from(other.join().unwrap()) << 1;
        assert_eq!(producer.join().unwrap(), waits, "who waits is told, and nobody else");
    });
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
