//! Threads that wait for runs. Between runs they sleep.

use crate::StartError;
use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::error::Error;
use std::io;
use std::iter::once;
use std::mem;
use std::process;
use std::thread::{self, JoinHandle};

/// The thread that calls [`Threads::each`], and others that end when this is dropped.
#[derive(Debug)]
pub(super) struct Threads {
    /// None where the calling thread is alone.
    pool: Option<ThreadPool>,
    others: Vec<JoinHandle<()>>,
    /// The process that has the others. The child of a fork has none of them.
    process: u32,
}

impl Threads {
    /// So many, with the calling thread, which is at least 1.
    ///
    /// # Errors
    /// The system gives fewer.
    pub(super) fn new(count: u32) -> Result<Threads, StartError> {
        Threads::started(count, |thread| {
            let named = thread::Builder::new().name(format!("wsp-aicpu-{}", thread.index() + 1));
            named.spawn(|| thread.run())
        })
    }

    fn started(
        count: u32,
        mut start: impl FnMut(ThreadBuilder) -> io::Result<JoinHandle<()>>,
    ) -> Result<Threads, StartError> {
        let mut threads = Threads { pool: None, others: Vec::new(), process: process::id() };
        if count > 1 {
            let pool = ThreadPoolBuilder::new().num_threads(count as usize - 1).spawn_handler(|thread| {
                threads.others.push(start(thread)?);
                Ok(())
            });
            match pool.build() {
                Ok(pool) => threads.pool = Some(pool),
                // Those that were started end, and are waited for when `threads` is dropped.
                Err(error) => {
                    return Err(StartError::Threads {
                        wanted: count,
                        started: threads.others.len() as u32 + 1,
                        reason: error.source().map_or_else(|| error.to_string(), ToString::to_string),
                    });
                }
            }
        }
        Ok(threads)
    }

    /// Makes up for a fork: in its child the others are not there.
    ///
    /// # Errors
    /// As [`Threads::new`].
    pub(super) fn after_fork(&mut self) -> Result<(), StartError> {
        if self.process != process::id() {
            *self = Threads::new(self.others.len() as u32 + 1)?;
        }
        Ok(())
    }

    /// Works on all items at once, at most as many as there are threads: on the first one here. The results come in the order of the items.
    pub(super) fn each<T: Send, U: Send>(&self, items: Vec<T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
        let mut rest: Vec<Option<U>> = items.iter().skip(1).map(|_| None).collect();
        let mut items = items.into_iter();
        let Some(first) = items.next() else { return Vec::new() };
        let work = &work;
        let done = match &self.pool {
            None => work(first),
            Some(pool) => pool.in_place_scope(|scope| {
                let mut others = rest.iter_mut().zip(items);
                // Waking a thread takes microseconds: this one wakes one, which wakes the others.
                if let Some((done, item)) = others.next() {
                    scope.spawn(move |scope| {
                        others.for_each(|(done, item)| scope.spawn(move |_| *done = Some(work(item))));
                        *done = Some(work(item));
                    });
                }
                work(first)
            }),
        };
        once(done).chain(rest.into_iter().flatten()).collect()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let (pool, others) = (self.pool.take(), mem::take(&mut self.others));
        if self.process == process::id() {
            drop(pool);
            // Panics of jobs were passed on by `each`.
            others.into_iter().for_each(|thread| drop(thread.join()));
        } else {
            // Their locks are as the parent left them, and what waits for them waits for ever.
            mem::forget((pool, others));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Barrier};

    #[test]
    fn items_are_worked_on_at_once_by_the_same_threads_in_each_round() {
        let threads = Threads::new(4).unwrap();
        let mut seen = BTreeSet::new();
        for round in 0..50u32 {
            // Each waits for all: one thread cannot do the work of two.
            let barrier = Barrier::new(4);
            let doubled = threads.each((0..4).collect(), |item: u32| {
                barrier.wait();
                (item * 2 + round, format!("{:?}", thread::current().id()))
            });
            let numbers: Vec<u32> = doubled.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, [round, round + 2, round + 4, round + 6]);
            assert_eq!(doubled[0].1, format!("{:?}", thread::current().id()));
            seen.extend(doubled.into_iter().map(|(_, thread)| thread));
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    }

    #[test]
    fn one_thread_needs_no_other() {
        let threads = Threads::new(1).unwrap();
        assert_eq!((threads.others.len(), threads.each(vec![7], |item| item + 1)), (0, vec![8]));
    }

    #[test]
    fn a_panic_reaches_the_caller_when_all_are_done_and_the_threads_stay() {
        let threads = Threads::new(3).unwrap();
        for breaks in 0..3 {
            let done = AtomicU32::new(0);
            let broken = catch_unwind(AssertUnwindSafe(|| {
                threads.each(vec![0, 1, 2], |item| {
                    assert_ne!(item, breaks, "broken");
                    done.fetch_add(1, Ordering::Relaxed);
                })
            }));
            assert!(broken.is_err());
            assert_eq!(done.load(Ordering::Relaxed), 2, "item {breaks} broke");
        }
        assert_eq!(threads.each(vec![1, 2, 3], |item| item), [1, 2, 3]);
    }

    #[test]
    fn threads_that_are_dropped_have_ended() {
        let ended = Arc::new(AtomicU32::new(0));
        let threads = Threads::started(4, |made| {
            let ended = ended.clone();
            thread::Builder::new().spawn(move || {
                made.run();
                ended.fetch_add(1, Ordering::Relaxed);
            })
        });
        drop(threads.unwrap());
        assert_eq!(ended.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_thread_that_the_system_refuses_is_told_with_the_numbers_and_those_before_it_end() {
        for refused in 0..3 {
            let ended = Arc::new(AtomicU32::new(0));
            let threads = Threads::started(4, |made| {
                if made.index() == refused {
                    return Err(io::Error::other("no more"));
                }
                let ended = ended.clone();
                thread::Builder::new().spawn(move || {
                    made.run();
                    ended.fetch_add(1, Ordering::Relaxed);
                })
            });
            let started = refused as u32 + 1;
            let expected = StartError::Threads { wanted: 4, started, reason: "no more".into() };
            assert_eq!(threads.err(), Some(expected));
            assert_eq!(ended.load(Ordering::Relaxed), started - 1);
        }
    }
}
