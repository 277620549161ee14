//! How workers fall asleep and are woken.
//!
//! # Protocol
//!
//! A worker is *busy* (running a task, or about to look), *searching* (it found nothing yet and keeps looking for a
//! bounded number of rounds), or *asleep*. Counters say how many search and sleep, over all and per core group.
//!
//! * **Push**: put the task into a queue; SeqCst fence; then read the counters. If the task names a worker that sleeps,
//!   wake that one. If someone searches (for a group's task: in the group), nothing more: see *leave*. Otherwise wake one
//!   sleeper. A waker moves the sleeper from the sleeping to the searching count in its stead, so that further pushes do
//!   not wake more than the tasks need.
//! * **Leave** (a searcher found a task, or gives its search up without sleep): stop counting as searching. The last to do so, over all or in its group, checks
//!   the queues after a SeqCst fence and, if one holds a task, wakes a sleeper.
//! * **Sleep**: enter the list and the sleeping count, stop counting as searching, SeqCst fence, then look at all queues
//!   and at the closing flag once more. If there is something, take the entry back and go on searching; otherwise park
//!   until the flag `asleep` is cleared by a waker.
//!
//! ## No task is left while a worker sleeps
//!
//! Suppose a task X lies in a queue and nobody is searching. Compare the fence of the push of X with the fence of any
//! worker W that is asleep. If W's comes later, W saw X and did not park. If W's came earlier, the pusher read W's
//! sleeping count, and did not wake anybody only if it read somebody as searching. That searcher stopped after the
//! pusher's read: either it fell asleep, with a fence after the push, and saw X; or it left. If it was the last, its
//! check after the fence saw X and woke a sleeper; if not, the same holds for the one that was the last. So X is taken or
//! somebody searches, and a searcher ends as above. Wake-ups are not lost between the check and the park, because the
//! waker clears `asleep` before it unparks and the sleeper reads it before each park.
//!
//! A worker that pushes one task it will take itself need not announce it: it is busy and looks before it sleeps. Two
//! such workers may take each other's task; the count of workers about to look still covers the count of tasks.
//!
//! The counters and fences are SeqCst throughout: none is touched while workers find tasks at the first look.

use crate::placement::{Route, Topology};
use crate::sync::{
    AtomicBool, AtomicU32, Fault, Mutex, MutexGuard, Ordering::SeqCst, Thread, fence, has, thread,
};
use crossbeam_utils::CachePadded;
use std::sync::PoisonError;

#[derive(Default)]
struct Counts {
    searching: AtomicU32,
    sleeping: AtomicU32,
}

#[derive(Default)]
struct Bed {
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

/// The sleeping workers.
pub(crate) struct Sleep {
    topology: Topology,
    all: CachePadded<Counts>,
    /// Empty when there is one group.
    groups: Box<[CachePadded<Counts>]>,
    beds: Box<[CachePadded<Bed>]>,
    /// Who sleeps; the last to fall asleep, whose caches are warmest, is woken first.
    list: Mutex<Vec<u32>>,
    closed: AtomicBool,
}

impl Sleep {
    pub(crate) fn new(topology: Topology) -> Sleep {
        let groups = if topology.groups > 1 { topology.groups } else { 0 };
        Sleep {
            topology,
            all: CachePadded::default(),
            groups: (0..groups).map(|_| CachePadded::default()).collect(),
            beds: (0..topology.threads).map(|_| CachePadded::default()).collect(),
            list: Mutex::new(Vec::with_capacity(topology.threads as usize)),
            closed: AtomicBool::new(false),
        }
    }

    /// Sends all workers home once they find no task.
    pub(crate) fn close(&self) {
        self.closed.store(true, SeqCst);
        fence(SeqCst);
        let woken = std::mem::take(&mut *self.lock());
        for worker in woken {
            self.rouse(worker);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    /// Tells of a task that has been queued under `route`.
    pub(crate) fn notify(&self, route: Route) {
        if !has(Fault::NoFenceAfterPush) {
            fence(SeqCst);
        }
        if self.all.sleeping.load(SeqCst) == 0 {
            return;
        }
        match route {
            Route::Any => {}
            Route::Group(group) if self.reaches_group(group) => return,
            Route::Worker(worker) if self.reaches_worker(worker) => return,
            Route::Group(_) | Route::Worker(_) => {}
        }
        if self.all.searching.load(SeqCst) == 0 {
            self.wake(|_| true);
        }
    }

    /// Whether a worker of the group searches or was woken.
    fn reaches_group(&self, group: u32) -> bool {
        self.groups.get(group as usize).is_some_and(|counts| {
            counts.searching.load(SeqCst) > 0 || counts.sleeping.load(SeqCst) > 0 && self.wake_in(group)
        })
    }

    /// Whether the worker was woken.
    fn reaches_worker(&self, worker: u32) -> bool {
        self.beds[worker as usize].asleep.load(SeqCst) && self.wake(|candidate| candidate == worker)
    }

    /// A worker that found nothing at the first look starts to search.
    pub(crate) fn start_search(&self, worker: u32) {
        self.counts(worker).for_each(|counts| {
            counts.searching.fetch_add(1, SeqCst);
        });
    }

    /// A searching worker found a task, or gives up; `more` tells whether any queue holds another.
    pub(crate) fn leave(&self, worker: u32, more: impl FnOnce() -> bool) {
        let last = self.stop_search(worker);
        if last && self.all.sleeping.load(SeqCst) > 0 {
            fence(SeqCst);
            if !has(Fault::NoLookAfterSearch) && more() && !self.wake_in(self.topology.group_of(worker)) {
                self.wake(|_| true);
            }
        }
    }

    /// A searching worker found nothing for long: sleeps until woken, and is then searching again. Returns whether it
    /// slept; not if `more` tells of a task or the run is closed.
    pub(crate) fn sleep(&self, worker: u32, more: impl FnOnce() -> bool) -> bool {
        let bed = &self.beds[worker as usize];
        lock(&bed.thread).get_or_insert_with(thread::current);
        {
            let mut list = self.lock();
            list.push(worker);
            bed.asleep.store(true, SeqCst);
            self.counts(worker).for_each(|counts| {
                counts.sleeping.fetch_add(1, SeqCst);
            });
        }
        self.stop_search(worker);
        fence(SeqCst);
        if self.is_closed() || !has(Fault::NoSecondLook) && more() {
            let mut list = self.lock();
            // Not in the list: a waker has it already, and has done the counting.
            if let Some(at) = list.iter().rposition(|&candidate| candidate == worker) {
                list.remove(at);
                self.count_awake(worker);
            }
            return false;
        }
        while bed.asleep.load(SeqCst) {
            thread::park();
        }
        true
    }

    /// Whether it was the last searcher over all or in its group.
    fn stop_search(&self, worker: u32) -> bool {
        let mut last = false;
        for counts in self.counts(worker) {
            last |= counts.searching.fetch_sub(1, SeqCst) == 1;
        }
        last
    }

    /// Wakes the last of the sleepers that `fits`.
    fn wake(&self, fits: impl Fn(u32) -> bool) -> bool {
        let mut list = self.lock();
        let Some(at) = list.iter().rposition(|&candidate| fits(candidate)) else { return false };
        let worker = list.remove(at);
        self.count_awake(worker);
        drop(list);
        self.unpark(worker);
        true
    }

    fn wake_in(&self, group: u32) -> bool {
        self.wake(|candidate| self.topology.group_of(candidate) == group)
    }

    fn rouse(&self, worker: u32) {
        self.count_awake(worker);
        self.unpark(worker);
    }

    /// Moves a worker that has left the list from sleeping to searching.
    fn count_awake(&self, worker: u32) {
        self.counts(worker).for_each(|counts| {
            counts.searching.fetch_add(1, SeqCst);
            counts.sleeping.fetch_sub(1, SeqCst);
        });
        self.beds[worker as usize].asleep.store(false, SeqCst);
    }

    fn unpark(&self, worker: u32) {
        if let Some(thread) = &*lock(&self.beds[worker as usize].thread) {
            thread.unpark();
        }
    }

    /// The counters a worker belongs to.
    fn counts(&self, worker: u32) -> impl Iterator<Item = &Counts> {
        let group = self.groups.get(self.topology.group_of(worker) as usize);
        std::iter::once(&*self.all).chain(group.map(|counts| &**counts))
    }

    /// Whether every worker seems to sleep; [`sleepers`](Self::sleepers) tells for sure.
    pub(crate) fn looks_quiet(&self) -> bool {
        self.all.sleeping.load(SeqCst) == self.topology.threads
    }

    /// Who sleeps, and nobody else falls asleep or wakes while the list is held.
    pub(crate) fn sleepers(&self) -> MutexGuard<'_, Vec<u32>> {
        lock(&self.list)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u32>> {
        lock(&self.list)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing inside a lock panics half way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn sleep(threads: u32, cores_per_group: u32) -> Sleep {
        Sleep::new(Topology::new(0, threads, cores_per_group))
    }

    #[test]
    fn a_worker_does_not_sleep_when_there_is_something() {
        let sleep = sleep(1, 1);
        sleep.start_search(0);
        assert!(!sleep.sleep(0, || true));
        assert_eq!(sleep.all.searching.load(SeqCst), 1);
        sleep.close();
        assert!(!sleep.sleep(0, || false));
    }

    #[test]
    fn a_push_between_the_entry_and_the_last_check_is_not_lost() {
        let sleep = sleep(1, 1);
        sleep.start_search(0);
        // The waker comes first, so that the check finds the entry gone.
        assert!(!sleep.sleep(0, || {
            sleep.notify(Route::Any);
            true
        }));
        assert_eq!((sleep.all.searching.load(SeqCst), sleep.all.sleeping.load(SeqCst)), (1, 0));
        // The waker comes between the check and the park.
        assert!(sleep.sleep(0, || {
            sleep.notify(Route::Any);
            false
        }));
        assert_eq!((sleep.all.searching.load(SeqCst), sleep.all.sleeping.load(SeqCst)), (1, 0));
    }

    /// Each of `tasks` tokens is pushed with a notify and must be taken, whatever the timing.
    #[test]
    fn every_push_is_taken_though_workers_sleep_at_once() {
        const TOKENS: usize = 20_000;
        let sleep = sleep(3, 2);
        let queue = AtomicUsize::new(0);
        let taken = AtomicUsize::new(0);
        let take = || queue.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok();
        thread::scope(|scope| {
            for worker in 0..3 {
                let (sleep, queue, taken) = (&sleep, &queue, &taken);
                scope.spawn(move || {
                    while !sleep.is_closed() {
                        sleep.start_search(worker);
                        while !take() && !sleep.is_closed() {
                            sleep.sleep(worker, || queue.load(SeqCst) > 0);
                        }
                        sleep.leave(worker, || queue.load(SeqCst) > 0);
                        taken.fetch_add(1, SeqCst);
                    }
                });
            }
            for i in 0..TOKENS {
                let routes = [Route::Any, Route::Group(1), Route::Worker(i as u32 % 3)];
                queue.fetch_add(1, SeqCst);
                sleep.notify(routes[i % 3]);
                if i % 5 == 0 {
                    while taken.load(SeqCst) <= i {
                        thread::yield_now();
                    }
                }
            }
            while taken.load(SeqCst) < TOKENS {
                thread::yield_now();
            }
            sleep.close();
        });
        assert_eq!(queue.into_inner(), 0);
    }
}
