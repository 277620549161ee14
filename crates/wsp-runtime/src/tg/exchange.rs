//! What goes to workers and comes back from them without the lock.
//!
//! # Protocol
//!
//! A worker *brings* what it has done onto a list. Then it takes the next of what was *handed out*, if there is something and no worker is
//! *hungry*, that is, found nothing to do. Otherwise it takes the lock, and whoever has the lock takes everything back that was brought,
//! drives the machines, and hands out what can start: for itself, for the hungry, and for those that come by. So many completions share one
//! taking of the lock, and workers that have enough to do share nothing but two lists.
//!
//! Nothing that was brought is left on the list while a worker waits for it: a worker that brings something looks for hungry workers after it;
//! a worker says that it is hungry, and looks at the list once more, with the lock, after that. Both are ordered by a SeqCst fence, so one
//! of them sees the other. What others do not wait for, the worker that brought it takes back when it finds nothing handed out.
//!
//! A hungry worker *searches* for a while, and then *sleeps* on a condition of the lock. What is there for it is told in `more`, or is handed
//! out; sleepers are woken where nobody searches.

use crate::ready::retry;
use crate::sync::{AtomicBool, AtomicU32, Fault, Ordering::SeqCst, fence, has};
use crate::worker::{ROUNDS, pause};
use crossbeam_deque::Injector;

/// Workers that found nothing to do.
#[derive(Default)]
pub(crate) struct Hungry(AtomicU32);

impl Hungry {
    /// Whether there are any, after something was brought.
    pub(crate) fn are_any(&self) -> bool {
        if !has(Fault::NoFenceAfterPush) {
            fence(SeqCst);
        }
        self.0.load(SeqCst) > 0
    }

    /// A worker found nothing; it looks at the list after this.
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, SeqCst);
        fence(SeqCst);
    }

    /// It found something.
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, SeqCst);
    }

    fn count(&self) -> u32 {
        self.0.load(SeqCst)
    }
}

/// See the module. `D` is what was done, `W` what is to be done.
pub(crate) struct Exchange<D, W> {
    brought: Injector<D>,
    handed: Injector<W>,
    pub(crate) hungry: Hungry,
    /// There is something for a searching worker, with the lock.
    more: AtomicBool,
}

impl<D, W> Default for Exchange<D, W> {
    fn default() -> Exchange<D, W> {
        Exchange {
            brought: Injector::new(),
            handed: Injector::new(),
            hungry: Hungry::default(),
            more: AtomicBool::new(false),
        }
    }
}

impl<D, W> Exchange<D, W> {
    /// Brings something back. Gives what the worker is to do next, if others may start before this is taken back; with nothing it takes the
    /// lock.
    pub(crate) fn bring(&self, done: D, others_start: bool) -> Option<W> {
        self.brought.push(done);
        if self.hungry.are_any() || !others_start { None } else { self.take() }
    }

    /// The next of what was brought; with the lock.
    pub(crate) fn take_back(&self) -> Option<D> {
        if self.brought.is_empty() { None } else { retry(|| self.brought.steal()) }
    }

    /// Hands something out; with the lock.
    pub(crate) fn hand_out(&self, work: W) {
        self.handed.push(work);
    }

    /// The next of what was handed out.
    pub(crate) fn take(&self) -> Option<W> {
        if self.handed.is_empty() { None } else { retry(|| self.handed.steal()) }
    }

    /// How much is handed out.
    pub(crate) fn handed(&self) -> usize {
        self.handed.len()
    }

    /// Whether anything is.
    pub(crate) fn has_handed(&self) -> bool {
        !self.handed.is_empty()
    }

    /// Tells one hungry worker that there is something for it, where one of them does not sleep; with the lock.
    pub(crate) fn tell(&self, sleeping: u32) -> bool {
        let searches = self.hungry.count() > sleeping;
        if searches {
            self.more.store(true, SeqCst);
        }
        searches
    }

    /// Looks for a while, without the lock, whether there is something for a hungry worker.
    pub(crate) fn search(&self) {
        for round in 1..ROUNDS {
            if self.more.load(SeqCst) && self.more.swap(false, SeqCst) || !self.handed.is_empty() {
                return;
            }
            pause(round);
        }
    }
}
