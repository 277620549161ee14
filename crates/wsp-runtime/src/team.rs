//! The threads of the process. They sleep between runs, and every kind of run takes its threads from here.
//!
//! A run has the threads of its team to itself for as long as it lasts. So no run waits for the threads of another: not one that
//! a task of the other starts, and not one that another thread starts meanwhile. Such runs get teams of their own, which are kept
//! as well, [`KEPT`] at most.
//!
//! A thread of a pool that waits for a scope takes jobs of its own pool meanwhile. A task that starts a run must not wait in that
//! way: it could take up a worker of the very run that waits for the task. There a thread of its own waits for the scope. A thread whose team has this one
//! job alone may wait: its pool has no other.

use crate::StartError;
use crate::look::{LOOKS_FOR, look_for};
use crate::nested::{self, Within};
use rayon_core::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::cell::Cell;
use std::collections::VecDeque;
use std::error::Error;
use std::hint;
use std::io;
use std::mem;
use std::panic::resume_unwind;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// What tells that work is done.
pub type Tell = Box<dyn FnOnce()>;

/// Teams that no run has.
static IDLE: Mutex<Vec<Threads>> = Mutex::new(Vec::new());
/// Most idle teams: as many runs at once find their threads started, half of them beside their callers, each on a team of one.
const KEPT: usize = 8;
/// Pauses of a processor after the last job has said that it is done: some 100 ns.
const SETTLES: u32 = 4;

thread_local! {
    /// Whether this thread does the only job of its team.
    static HAS_THE_ONLY_JOB: Cell<bool> = const { Cell::new(false) };
}

/// Threads that one run has to itself, until it drops this.
#[derive(Debug)]
pub(crate) struct Team {
    /// None where the calling thread is alone, and when they were given back.
    threads: Option<Threads>,
}

impl Team {
    /// `wanted` threads, of which `own` are the caller's: 0 or 1.
    ///
    /// # Errors
    /// The system gives fewer.
    pub(crate) fn take(wanted: u32, own: u32) -> Result<Team, StartError> {
        let count = (wanted - own) as usize;
        if count == 0 {
            return Ok(Team { threads: None });
        }
        // In the child of a fork the lock may be held by a thread that is not there: nothing waits for it.
        let idle = IDLE.try_lock().ok().and_then(|mut idle| {
            // Those of the parent of a fork are forgotten when they are dropped.
            idle.retain(Threads::are_here);
            // The smallest that is enough, and of these the last, whose caches are warmest.
            let enough = (0..idle.len()).rev().filter(|&at| idle[at].others.len() >= count);
            let at = enough.min_by_key(|&at| idle[at].others.len())?;
            Some(idle.remove(at))
        });
        let made = || {
            Threads::new(count).map_err(|(started, reason)| StartError::Threads {
                wanted,
                started: started + own,
                reason,
            })
        };
        Ok(Team { threads: Some(idle.map_or_else(made, Ok)?) })
    }

    /// Works on all items at once, at most as many as there are threads, and does what is to be done `here` beside them. The
    /// results come in the order of the items.
    ///
    /// # Errors
    /// Within a task of a run, the system gives no thread that waits for the others. Then nothing was done.
    ///
    /// # Panics
    /// When `work` or `here` panics, after all are done.
    pub(crate) fn each<T: Send, U: Send, V>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> U + Sync,
        here: impl FnOnce() -> V,
    ) -> Result<(V, Vec<U>), StartError> {
        self.each_or_here(items, work, |_| here())
    }

    /// As [`each`](Self::each), where the calling thread may take the last items to itself as long as no thread works on them. Items that it
    /// keeps have no result.
    ///
    /// # Errors
    /// As [`each`](Self::each).
    ///
    /// # Panics
    /// As [`each`](Self::each).
    pub(crate) fn each_or_here<T: Send, U: Send, V>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> U + Sync,
        here: impl FnOnce(Option<&Unstarted<'_, T>>) -> V,
    ) -> Result<(V, Vec<U>), StartError> {
        let Some(Threads { pool: Some(pool), .. }) = &self.threads else {
            return Ok((here(None), Vec::new()));
        };
        let (count, depth) = (items.len(), nested::depth());
        let (left, places) = (AtomicUsize::new(count), Mutex::new(Places::new(items)));
        let job = || {
            let _within = Within::runs(depth);
            let begun = lock(&places).begin();
            if let Some((at, item)) = begun {
                let result = work(item);
                lock(&places).done[at] = Some(result);
            }
            // Relaxed: the scope orders what was done.
            left.fetch_sub(1, Ordering::Relaxed);
        };
        let (mut here, mut value) = (Some(here), None);
        beside(pool, count, &job, &left, &mut |another| {
            let here = here.take().expect("it is done once");
            let Some(another) = another else {
                value = Some(here(None));
                return;
            };
            let take = || lock(&places).waiting.pop_back();
            let put = |place| {
                if lock(&places).put(place) {
                    left.fetch_add(1, Ordering::Relaxed);
                    another();
                }
            };
            value = Some(here(Some(&Unstarted { take: &take, put: &put })));
        })?;
        let value = value.expect("it is done before this returns");
        let places = places.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((value, places.done.into_iter().flatten().collect()))
    }

    /// Starts a job that nothing waits for, and that must not panic; at most as many as there are threads.
    pub(crate) fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(Threads { pool: Some(pool), .. }) = &self.threads {
            let depth = nested::depth();
            pool.spawn(move || {
                let _within = Within::runs(depth);
                job();
            });
        }
    }

    /// Starts the only job of a team, which is given back after it; what the job gives is called then. Neither may panic.
    ///
    /// # Errors
    /// The team has no thread but its caller's: the job was not started.
    pub(crate) fn stand_by_after(self, job: Box<dyn FnOnce() -> Tell + Send>) -> Result<(), StartError> {
        let Some(Threads { pool: Some(pool), .. }) = &self.threads else {
            let reason = "the team has no thread of its own".to_owned();
            return Err(StartError::Threads { wanted: 1, started: 0, reason });
        };
        let (pool, depth) = (pool.clone(), nested::depth());
        pool.spawn(move || {
            HAS_THE_ONLY_JOB.set(true);
            let within = Within::runs(depth);
            let tell = job();
            drop(within);
            HAS_THE_ONLY_JOB.set(false);
            drop(self);
            tell();
        });
        Ok(())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let threads = self.threads.take().filter(Threads::are_here);
        let (Some(threads), Ok(mut idle)) = (threads, IDLE.try_lock()) else { return };
        idle.push(threads);
        let smallest = (0..idle.len()).min_by_key(|&at| idle[at].others.len());
        let surplus = smallest.filter(|_| idle.len() > KEPT).map(|at| idle.remove(at));
        // Their end is waited for, and nothing waits for that.
        drop(idle);
        drop(surplus);
    }
}

/// Items that no thread works on yet, for the thread that waits for all of them.
pub(crate) struct Unstarted<'a, T> {
    take: &'a dyn Fn() -> Option<(usize, T)>,
    put: &'a dyn Fn((usize, T)),
}

impl<T> Unstarted<'_, T> {
    /// Takes the last of them, with its number.
    pub(crate) fn take(&self) -> Option<(usize, T)> {
        (self.take)()
    }

    /// Leaves one that was taken to a thread after all.
    pub(crate) fn put(&self, place: (usize, T)) {
        (self.put)(place);
    }
}

/// Items and what came of them.
struct Places<T, U> {
    /// Those that no thread works on, with their numbers.
    waiting: VecDeque<(usize, T)>,
    /// Jobs that have not begun, of which each takes one.
    jobs: usize,
    done: Vec<Option<U>>,
}

impl<T, U> Places<T, U> {
    fn new(items: Vec<T>) -> Places<T, U> {
        let done = items.iter().map(|_| None).collect();
        Places { jobs: items.len(), waiting: items.into_iter().enumerate().collect(), done }
    }

    /// The next item of a job that begins; none if the waiting thread has it.
    fn begin(&mut self) -> Option<(usize, T)> {
        self.jobs -= 1;
        self.waiting.pop_front()
    }

    /// Puts an item back. Whether it takes another job.
    fn put(&mut self, place: (usize, T)) -> bool {
        self.waiting.push_back(place);
        let takes = self.jobs < self.waiting.len();
        self.jobs += usize::from(takes);
        takes
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be done beside jobs; it gets what starts one more of them.
type Beside<'a> = dyn FnMut(Option<&dyn Fn()>) + 'a;

/// Runs so many jobs on the threads of a pool, and does what is to be done `here` beside them: with what starts one more job, where this thread is of no
/// pool. Returns when no job is `left`. No part of it is made for each kind of run.
fn beside(
    pool: &ThreadPool,
    count: usize,
    job: &(dyn Fn() + Sync),
    left: &AtomicUsize,
    here: &mut Beside<'_>,
) -> Result<(), StartError> {
    if rayon_core::current_thread_index().is_none() || HAS_THE_ONLY_JOB.get() {
        pool.in_place_scope(|scope| {
            spread(scope, count, job);
            here(Some(&|| spread(scope, 1, job)));
            look_for(LOOKS_FOR, || left.load(Ordering::Relaxed) == 0);
            // The scope counts a job just after the job has: a thread that waits for it meanwhile would sleep.
            (0..SETTLES).for_each(|_| hint::spin_loop());
        });
        return Ok(());
    }
    thread::scope(|scope| {
        let waits = thread::Builder::new().name("wsp-waits".to_owned());
        let waits = waits.spawn_scoped(scope, || pool.in_place_scope(|scope| spread(scope, count, job)));
        let waits = waits.map_err(|error| StartError::Threads {
            wanted: 1,
            started: 0,
            reason: error.to_string(),
        })?;
        here(None);
        waits.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    })
}

/// Wakes a thread for each of so many jobs. Waking one takes microseconds: this one wakes one, which wakes the others.
fn spread<'s>(scope: &Scope<'s>, jobs: usize, job: &'s (dyn Fn() + Sync)) {
    if jobs > 0 {
        scope.spawn(move |scope| {
            (1..jobs).for_each(|_| scope.spawn(move |_| job()));
            job();
        });
    }
}

/// Threads that end when this is dropped.
#[derive(Debug)]
struct Threads {
    /// None while they start, and when they end.
    pool: Option<Arc<ThreadPool>>,
    others: Vec<JoinHandle<()>>,
    /// The process that has them. The child of a fork has none of them.
    process: u32,
}

impl Threads {
    /// So many.
    ///
    /// # Errors
    /// The system gives fewer: how many, and what it says.
    fn new(count: usize) -> Result<Threads, (u32, String)> {
        Threads::started(count, |thread| {
            let named = thread::Builder::new().name(format!("wsp-worker-{}", thread.index()));
            named.spawn(|| thread.run())
        })
    }

    /// So many, which `start` starts.
    ///
    /// # Errors
    /// The system gives fewer: how many, and what it says.
    fn started(
        count: usize,
        mut start: impl FnMut(ThreadBuilder) -> io::Result<JoinHandle<()>>,
    ) -> Result<Threads, (u32, String)> {
        let mut threads = Threads { pool: None, others: Vec::new(), process: process::id() };
        let pool = ThreadPoolBuilder::new().num_threads(count).spawn_handler(|thread| {
            threads.others.push(start(thread)?);
            Ok(())
        });
        match pool.build() {
            // A pool has a limit of its own.
            Ok(_) if threads.others.len() < count => {
                return Err((threads.others.len() as u32, "a run has no more".to_owned()));
            }
            Ok(pool) => threads.pool = Some(Arc::new(pool)),
            // Those that were started end, and are waited for when `threads` is dropped.
            Err(error) => {
                let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                return Err((threads.others.len() as u32, reason));
            }
        }
        Ok(threads)
    }

    /// Whether this process has them.
    fn are_here(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let (pool, others) = (self.pool.take(), mem::take(&mut self.others));
        if pool.as_ref().is_some_and(|pool| pool.current_thread_index().is_some()) {
            // The last job of the team ends them; what waits for a thread is not the thread itself.
        } else if self.are_here() {
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
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU32;
    use std::sync::{Arc, Barrier, mpsc};
    use wsp_ordered::OrderedSet;

    /// A team that others do not find.
    fn team(count: usize) -> Team {
        Team { threads: Some(Threads::new(count).expect("the system should have threads")) }
    }

    #[test]
    fn items_are_worked_on_at_once_by_the_same_threads_in_each_round() {
        let team = team(3);
        let mut seen = OrderedSet::new();
        for round in 0..50u32 {
            // Each waits for all: one thread cannot do the work of two.
            let barrier = Barrier::new(4);
            let work = |item: u32| {
                barrier.wait();
                (item * 2 + round, thread::current().name().map(str::to_owned))
            };
            let (_, doubled) = team.each(vec![1, 2, 3], work, || barrier.wait()).unwrap();
            let numbers: Vec<u32> = doubled.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, [round + 2, round + 4, round + 6]);
            seen.extend(doubled.into_iter().map(|(_, thread)| thread));
        }
        let names = ["wsp-worker-0", "wsp-worker-1", "wsp-worker-2"].map(|name| Some(name.to_owned()));
        assert_eq!(seen, OrderedSet::from(names));
    }

    #[test]
    fn one_thread_needs_no_other() {
        let team = Team::take(1, 1).unwrap();
        assert!(team.threads.is_none());
        assert_eq!(team.each(Vec::<u32>::new(), |item| item, || 7), Ok((7, Vec::new())));
    }

    #[test]
    fn the_waiting_thread_keeps_an_item_or_leaves_it_to_a_thread_that_is_there_for_it() {
        for threads in 1..=3usize {
            for round in 0..50 {
                let team = team(threads);
                // All that threads work on wait for each other.
                let barrier = Barrier::new(threads);
                let work = |item: usize| {
                    barrier.wait();
                    item
                };
                let here = |unstarted: Option<&Unstarted<'_, usize>>| {
                    let unstarted = unstarted.expect("this thread is of no pool");
                    let taken: Vec<_> = (0..round % (threads + 1)).filter_map(|_| unstarted.take()).collect();
                    taken.into_iter().for_each(|place| unstarted.put(place));
                };
                let (_, done) = team.each_or_here((0..threads).collect(), work, here).unwrap();
                assert_eq!(done, (0..threads).collect::<Vec<_>>());
            }
            let team = team(threads);
            let here = |unstarted: Option<&Unstarted<'_, usize>>| {
                unstarted.and_then(Unstarted::take).map(|(at, _)| at)
            };
            let (kept, done) = team.each_or_here((0..threads).collect(), |item| item, here).unwrap();
            assert!(kept.is_none_or(|at| at + 1 == threads));
            assert_eq!(done, (0..kept.unwrap_or(threads)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_item_that_no_thread_has_come_for_is_the_waiting_thread_s() {
        let team = team(1);
        let (open, gate) = mpsc::channel::<()>();
        team.spawn(move || {
            let _ = gate.recv();
        });
        let here = |unstarted: Option<&Unstarted<'_, u32>>| {
            let taken = unstarted.and_then(Unstarted::take);
            // From here on the thread comes, and finds nothing.
            open.send(()).unwrap();
            taken
        };
        assert_eq!(team.each_or_here(vec![7], |item| item, here), Ok((Some((0, 7)), Vec::new())));
    }

    #[test]
    fn a_panic_reaches_the_caller_when_all_are_done_and_the_threads_stay() {
        let team = team(2);
        for breaks in 0..3 {
            let done = AtomicU32::new(0);
            let work = |item| {
                assert_ne!(item, breaks, "broken");
                done.fetch_add(1, Ordering::Relaxed);
            };
            assert!(catch_unwind(AssertUnwindSafe(|| team.each(vec![1, 2], work, || work(0)))).is_err());
            assert_eq!(done.load(Ordering::Relaxed), 2, "item {breaks} broke");
        }
        assert_eq!(team.each(vec![1, 2], |item| item, || 0), Ok((0, vec![1, 2])));
    }

    /// The outer team's second job has no thread until its first is done: a thread that waits in that one must not take it up.
    #[test]
    fn a_job_that_waits_for_another_team_takes_up_none_of_its_own() {
        let (outer, inner) = (team(1), team(1));
        let inside = AtomicU32::new(0);
        let work = |item: u32| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "a job began inside the other");
            if item == 0 {
                let slow = |()| (0..100).for_each(|_| thread::yield_now());
                inner.each(vec![()], slow, || ()).unwrap();
            }
            inside.fetch_sub(1, Ordering::SeqCst);
        };
        assert!(outer.each(vec![0, 1], work, || ()).is_ok());
    }

    #[test]
    fn a_panic_of_a_team_within_a_job_reaches_the_job() {
        let (outer, inner) = (team(1), team(1));
        let work = |()| {
            let broken =
                catch_unwind(AssertUnwindSafe(|| inner.each(vec![()], |()| panic!("broken"), || ())));
            broken.map(drop).map_err(|panic| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        };
        assert_eq!(outer.each(vec![()], work, || ()), Ok(((), vec![Err(Some("broken".to_owned()))])));
    }

    #[test]
    fn teams_that_are_taken_have_threads_of_their_own() {
        let (first, second) = (Team::take(2, 0).unwrap(), Team::take(2, 0).unwrap());
        let barrier = Arc::new(Barrier::new(4));
        let (ended, ends) = mpsc::channel::<()>();
        for team in [&first, &first, &second, &second] {
            let (barrier, ended) = (barrier.clone(), ended.clone());
            team.spawn(move || {
                barrier.wait();
                drop(ended);
            });
        }
        drop(ended);
        assert!(ends.recv().is_err(), "all have ended");
    }

    #[test]
    fn threads_of_the_parent_of_a_fork_are_not_used() {
        let mut parents = Threads::new(8).unwrap();
        parents.process += 1;
        IDLE.lock().unwrap().push(parents);
        let team = Team::take(8, 0).unwrap();
        assert_eq!(team.threads.as_ref().map(|threads| threads.process), Some(process::id()));
    }

    #[test]
    fn the_only_job_of_a_team_waits_for_another_team_and_tells_when_its_own_is_given_back() {
        let (tells, told) = mpsc::channel();
        let outer = team(1);
        let job = Box::new(move || -> Tell {
            let doubled = team(2).each(vec![1, 2], |item| item * 2, || thread::current().id());
            let here = thread::current().id();
            Box::new(move || tells.send((doubled, here)).expect("the test waits for it"))
        });
        assert_eq!(outer.stand_by_after(job), Ok(()));
        let (doubled, here) = told.recv().expect("the job tells");
        assert_eq!(doubled, Ok((here, vec![2, 4])));
        assert_ne!(here, thread::current().id());
    }

    #[test]
    fn threads_work_within_the_runs_of_the_thread_that_gives_them_work() {
        let (outer, inner, (tells, told)) = (team(1), team(1), mpsc::channel());
        let depths = |team: &Team| team.each(vec![()], |()| nested::depth(), nested::depth);
        let within = Within::runs(3);
        assert_eq!(depths(&inner), Ok((3, vec![3])));
        let job = Box::new(move || -> Tell {
            let _within = Within::runs(nested::depth() + 1);
            let found = depths(&inner);
            Box::new(move || tells.send((found, nested::depth())).expect("the test waits for it"))
        });
        assert_eq!(outer.stand_by_after(job), Ok(()));
        drop(within);
        assert_eq!(told.recv(), Ok((Ok((4, vec![4])), 0)));
        assert_eq!(nested::depth(), 0);
    }

    #[test]
    fn a_job_without_a_thread_is_not_passed_over() {
        let alone = Team::take(1, 1).unwrap();
        let started = alone.stand_by_after(Box::new(|| Box::new(|| ())));
        assert!(matches!(started, Err(StartError::Threads { wanted: 1, started: 0, .. })), "{started:?}");
    }

    #[test]
    fn a_team_that_its_own_job_drops_ends_after_the_job() {
        let threads = Threads::new(2).unwrap();
        let pool = threads.pool.clone().expect("it has started");
        let (tells, told) = mpsc::channel();
        pool.spawn(move || {
            drop(threads);
            tells.send(()).expect("the test waits for it");
        });
        assert_eq!(told.recv(), Ok(()));
    }

    #[test]
    fn threads_that_are_dropped_have_ended() {
        let ended = Arc::new(AtomicU32::new(0));
        let threads = Threads::started(3, |made| {
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
            let threads = Threads::started(3, |made| {
                if made.index() == refused {
                    return Err(io::Error::other("no more"));
                }
                let ended = ended.clone();
                thread::Builder::new().spawn(move || {
                    made.run();
                    ended.fetch_add(1, Ordering::Relaxed);
                })
            });
            assert_eq!(threads.err(), Some((refused as u32, "no more".to_owned())));
            assert_eq!(ended.load(Ordering::Relaxed), refused as u32);
        }
    }
}
