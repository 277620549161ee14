//! Runs that are over before another thread would be awake.
//!
//! Waking threads and waiting for them takes longer than 64 empty tasks. A run that is expected to be brief begins on the calling thread,
//! which generates and then works as the first worker. The others join when work is left after [`ALONE_NS`], when the planner has to wait,
//! and when it has more tasks than it submits between two looks for completed ones.
//!
//! A run with every thread tells how long its tasks take; when they are brief, the next begins alone. When others have to join one that was to
//! be brief, the next runs begin with every thread, twice as many each time: so tasks that take long cost few runs the time of one of them.

use crate::{RunConfig, Stats, TracePolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Nanoseconds after which others join: about what it takes to wake them.
const ALONE_NS: u64 = 20_000;
/// Most runs with every thread until one begins alone again.
const MOST_APART: u32 = 1 << 16;

/// Whether runs of the same tasks are brief. Each program that is run again and again has one: see [`RunConfig::brief`].
#[derive(Clone, Debug)]
pub struct Brief(Arc<Known>);

#[derive(Debug)]
struct Known {
    alone_ns: u64,
    /// Runs with every thread, of which each must be brief, until one begins alone.
    left: AtomicU32,
    /// What `left` was the last time that others had to join.
    apart: AtomicU32,
}

impl Default for Brief {
    fn default() -> Brief {
        Brief::new(ALONE_NS, 1)
    }
}

impl Brief {
    fn new(alone_ns: u64, left: u32) -> Brief {
        Brief(Arc::new(Known { alone_ns, left: AtomicU32::new(left), apart: AtomicU32::new(1) }))
    }

    /// For how many nanoseconds the calling thread is alone in a run, where it is. A trace of every task shows how threads share them.
    pub(crate) fn alone_ns(config: &RunConfig) -> Option<u64> {
        let Brief(known) = config.brief.as_ref()?;
        // Relaxed, here and below: only times depend on it.
        let is_brief = known.left.load(Ordering::Relaxed) == 0;
        (is_brief && config.trace != TracePolicy::Measured).then_some(known.alone_ns)
    }

    /// Learns from a run that ended well, and in which others worked or not.
    pub(crate) fn learn(config: &RunConfig, stats: &Stats, others: bool) {
        let Some(Brief(known)) = &config.brief else { return };
        let (left, apart) = (known.left.load(Ordering::Relaxed), known.apart.load(Ordering::Relaxed));
        let busy = stats.workers.iter().map(|worker| worker.busy_ns).sum::<Option<u64>>();
        // Where tasks are not timed, a run that begins alone tells.
        let is_brief = busy.is_none_or(|busy| busy <= ALONE_NS);
        match (left, is_brief) {
            (0, _) if others => {
                let apart = (2 * apart).min(MOST_APART);
                known.apart.store(apart, Ordering::Relaxed);
                known.left.store(apart, Ordering::Relaxed);
            }
            (0, _) => known.apart.store(1, Ordering::Relaxed),
            (_, true) => known.left.store(left - 1, Ordering::Relaxed),
            (_, false) => known.left.store(apart, Ordering::Relaxed),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Deps, Failure, Ready, Stopped, TaskGraph, TaskRunner, TaskSpec, Window, run};
    use std::collections::BTreeSet;
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::thread::{self, ThreadId};
    use wsp_core::{KernelId, TaskId};

    /// Notes which threads ran which tasks.
    #[derive(Default)]
    struct Threads(Mutex<Vec<(u32, ThreadId)>>);

    impl Threads {
        /// How many tasks ran, and whether all of them on the calling thread.
        fn ran(&self) -> (usize, bool) {
            let ran = std::mem::take(&mut *self.0.lock().expect("no task panics"));
            let tasks: BTreeSet<u32> = ran.iter().map(|(task, _)| *task).collect();
            (tasks.len(), ran.iter().all(|(_, thread)| *thread == thread::current().id()))
        }
    }

    impl TaskRunner for Threads {
        type Failure = ();

        fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
            self.0.lock().expect("no task panics").push((task.0, thread::current().id()));
            if task.0 == 1000 { Err(()) } else { Ok(()) }
        }
    }

    fn alone_for(ns: u64, ready: Ready) -> RunConfig {
        let brief = Some(Brief::new(ns, 0));
        RunConfig { threads: 2, ready, brief, deps: Deps::Explicit, ..RunConfig::default() }
    }

    fn stays_alone(config: &RunConfig) -> bool {
        Brief::alone_ns(config).is_some()
    }

    fn stream(config: &RunConfig, tasks: u32, runner: &Threads) -> Result<Stats, Failure<(), Stopped>> {
        run(config, runner, |submitter| {
            (0..tasks).try_for_each(|_| submitter.submit(TaskSpec::default()).map(drop))
        })
    }

    fn graph(config: &RunConfig, tasks: u32, runner: &Threads) -> Result<Stats, Failure<(), Infallible>> {
        let mut graph = TaskGraph::new(Deps::Explicit);
        for task in 0..tasks {
            let after: Vec<TaskId> = task.checked_sub(3).map(TaskId).into_iter().collect();
            graph.submit(TaskSpec { after: &after, ..TaskSpec::default() }).expect("a small graph has room");
        }
        graph.run(config, runner)
    }

    const POLICIES: [Ready; 3] = [Ready::Fifo, Ready::WorkSteal, Ready::Priority];

    #[test]
    fn a_run_that_is_known_to_be_brief_needs_no_other_thread() {
        for ready in POLICIES {
            let (config, runner) = (alone_for(u64::MAX, ready), Threads::default());
            for _ in 0..3 {
                let stats = stream(&config, 64, &runner).unwrap();
                assert_eq!(
                    (stats.tasks, stats.workers.len(), runner.ran()),
                    (64, 2, (64, true)),
                    "{ready:?}"
                );
                let stats = graph(&config, 64, &runner).unwrap();
                assert_eq!(
                    (stats.tasks, stats.workers.len(), runner.ran()),
                    (64, 2, (64, true)),
                    "{ready:?}"
                );
            }
            assert!(stays_alone(&config));
        }
    }

    #[test]
    fn others_join_when_time_is_up_and_are_there_from_the_beginning_then() {
        for ready in POLICIES {
            let runner = Threads::default();
            let config = alone_for(1, ready);
            assert_eq!(stream(&config, 64, &runner).unwrap().tasks, 64);
            assert_eq!(runner.ran(), (64, false));
            assert!(!stays_alone(&config));
            let config = alone_for(1, ready);
            assert_eq!(graph(&config, 64, &runner).unwrap().tasks, 64);
            assert_eq!(runner.ran().0, 64);
            assert!(!stays_alone(&config));
        }
    }

    #[test]
    fn others_join_when_the_planner_waits_and_when_it_has_many_tasks() {
        let runner = Threads::default();
        for (window, tasks) in [(2, 3), (1024, 130)] {
            let mut config = alone_for(u64::MAX, Ready::Auto);
            config.window = Window::stall(window);
            assert_eq!(stream(&config, tasks, &runner).unwrap().tasks, u64::from(tasks));
            assert_eq!(runner.ran(), (tasks as usize, false));
            assert!(!stays_alone(&config));
        }
    }

    #[test]
    fn what_waits_for_ever_is_told_and_a_failure_is_the_same() {
        let (config, runner) = (alone_for(u64::MAX, Ready::Auto), Threads::default());
        let stuck = run(&config, &runner, |submitter| {
            let never = submitter.event();
            submitter.submit(TaskSpec { waits: &[never], ..TaskSpec::default() }).map(drop)
        });
        assert!(matches!(stuck, Err(Failure::Stuck(_))), "{stuck:?}");
        let failed = stream(&config, 1001, &runner);
        assert!(matches!(failed, Err(Failure::Task { task: TaskId(1000), .. })), "{failed:?}");
    }

    #[test]
    fn runs_tell_whether_the_next_is_brief() {
        let config = RunConfig { brief: Some(Brief::default()), threads: 2, ..RunConfig::default() };
        let run_of = |busy_ns| {
            let worker = crate::WorkerStats { busy_ns, ..crate::WorkerStats::default() };
            Stats { workers: vec![worker, worker], ..Stats::default() }
        };
        let (brief, long) = (run_of(Some(ALONE_NS / 2)), run_of(Some(ALONE_NS)));
        let next_is_brief = |stats: &Stats, others| {
            Brief::learn(&config, stats, others);
            stays_alone(&config)
        };
        assert!(!stays_alone(&config) && !next_is_brief(&long, true) && next_is_brief(&brief, true));
        assert!(next_is_brief(&brief, false) && !next_is_brief(&long, true), "others had to join");
        assert!(!next_is_brief(&brief, true) && next_is_brief(&brief, true), "after two brief runs");
        assert!(!next_is_brief(&brief, true) && !next_is_brief(&brief, true) && !next_is_brief(&long, true));
        assert!(!(0..3).any(|_| next_is_brief(&brief, true)) && next_is_brief(&brief, true), "after four");
        let untimed = RunConfig { brief: Some(Brief::default()), ..config.clone() };
        Brief::learn(&untimed, &run_of(None), true);
        assert!(stays_alone(&untimed));
    }
}
