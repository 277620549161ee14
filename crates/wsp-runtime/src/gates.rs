//! Gates: limits to the tasks that have started and not finished, and the order in which tasks of a stream start.
//!
//! # Protocol
//!
//! A task takes one permit of every count it falls under, or none: then it is listed under the first count that is full, by its
//! rank, and its worker goes on with something else. A finishing task first queues what it made ready and then gives its
//! permits back. So a worker that looks then sees all that may start: what is queued, and what is listed under a count that has room.
//! It takes the first by the policy: under priority the one with the greatest rank, else a listed task before those that are
//! queued, which became ready later. A listed task that meets another full count moves to the list of that.
//!
//! Where a gate lets several tasks of one stream be in flight, tasks of a stream also start in the order of submission: one that
//! comes before its turn is put aside. A task that has its permits keeps the turn until its worker has noted the time of its
//! start, and passes it on then, before its body runs; only then is the next task listed. So the trace shows the starts of a stream
//! in order, and a body may wait for the next task of its stream. A task that is dropped passes the turn on before it completes.
//!
//! A list gets a task that may start in two ways: permits are given back, and a turn is passed on. Both are a push in the protocol
//! of sleeping workers (`sleep.rs`): the bits of pools with such tasks are stored under the lock, and then a sleeper is woken. A
//! busy worker that passes a turn on does not look before its body ends, so this wake-up is not spared.
//!
//! One lock covers all counts, and with gates tasks leave ready queues under it. So no task is between a queue and a list when
//! another worker looks, no worker waits while it holds a permit, and no order among gates is needed. Its cost is paid by runs
//! with gates alone.
//!
//! A task that is listed under a full count waits for tasks that have started and will finish. One that is put aside waits for the
//! task before it on its stream, which has not started; the first of these is not put aside.

mod book;

pub(crate) use book::{Book, Candidate};

use crate::Gate;
use crate::placement::{Placement, Route};
use crate::places::{Places, Seen};
use crate::ranked::{Key, Rank, key};
use crate::ready::Pool;
use crate::sync::{AtomicU32, Fault, Mutex, MutexGuard, Ordering, has};
use std::sync::PoisonError;

/// The gates of a run of several threads.
#[derive(Debug)]
pub(crate) struct Gates {
    places: Places,
    /// Whether tasks of a stream start in order here, instead of one after another.
    orders_streams: bool,
    book: Mutex<Book>,
    /// Pools whose workers may find a task that waited, as bits: spares the lock when there is none.
    open: AtomicU32,
}

impl Gates {
    pub(crate) fn new(gates: &[Gate], places: Places) -> Gates {
        let orders_streams = Gate::stream_depth(gates) > 1;
        Gates { places, orders_streams, book: Mutex::new(Book::new(gates)), open: AtomicU32::new(0) }
    }

    /// Whether tasks of a stream start in order here, instead of one after another.
    #[inline]
    pub(crate) fn orders_streams(&self) -> bool {
        self.orders_streams
    }

    /// Does something with the book.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.lock();
        let changed = change(&mut book);
        let pools = |place| self.places.pool(place).map_or(u32::MAX, |pool| 1 << pool);
        let open = book.open_places().fold(0, |open, place| open | pools(place));
        self.open.store(open, Ordering::SeqCst);
        changed
    }

    /// Starts a task that left the queues, if all its gates let it; else keeps it.
    pub(crate) fn enter(&self, book: &mut Book, node: u32, placement: Placement, rank: Option<Rank>) -> bool {
        let rank = rank.unwrap_or_else(|| book.next_rank());
        book.enter(Candidate { rank, node, placement, place: self.places.of(placement) })
    }

    /// The first of the tasks that waited and that a worker may take in a round.
    pub(crate) fn first(&self, book: &mut Book, seat: (usize, u32), round: u32) -> Option<Seen<Key>> {
        let first = |place: u32| book.first(place).map(|rank| key(rank, place == self.places.any()));
        self.places.best(seat, round, first)
    }

    /// Wakes a worker of each pool that may find a task that waited. After a change that may have let one start.
    pub(crate) fn notify(&self, pools: &[Pool]) {
        for (index, pool) in pools.iter().enumerate() {
            if self.any_for(index) && !has(Fault::TurnUntold) {
                pool.sleep.notify(Route::Any);
            }
        }
    }

    /// Whether workers of a pool may find a task that waited.
    pub(crate) fn any_for(&self, pool: usize) -> bool {
        self.open.load(Ordering::SeqCst) >> pool & 1 == 1
    }

    /// Whether some worker may find a task that waited.
    pub(crate) fn any(&self) -> bool {
        self.open.load(Ordering::SeqCst) != 0
    }

    /// Tasks that found a gate shut, or came before their turn.
    pub(crate) fn refused(&self) -> u64 {
        self.lock().refused()
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing inside the lock panics half way.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
