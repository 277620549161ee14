//! What a run may be told.

use crate::config_error::ConfigError;
use crate::replay::Replay;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;
use wsp_core::policy::{Deps, Gate, PoolSizes, Ready, Start, Window};
use wsp_core::words::counted;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TracePolicy {
    /// Counts only: no clock is read while tasks run.
    #[default]
    None,
    /// Sums of times per worker and kernel. Where a worker goes from one task to the next at once, the time between them counts for the
    /// next.
    Totals,
    /// Also every task: memory grows with their number.
    Measured,
}

impl TracePolicy {
    /// Whether tasks are timed.
    pub fn times(self) -> bool {
        self != TracePolicy::None
    }
}

/// How to run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Worker threads, at most [`limits::MAX_THREADS`]; 0 takes those that the pools need, else [one per core](worker_threads). With a stream of tasks the calling thread generates, and
    /// may then run tasks in place of the last of them: a task must not rely on its thread. Of those that run a stored graph it is the first.
    pub threads: u32,
    /// How many tasks may be in flight.
    pub window: Window,
    /// Which ready task is taken next.
    pub ready: Ready,
    /// How workers divide among execution units.
    pub pools: PoolSizes,
    /// Limits to the tasks that run at once. A task starts when all of them let it.
    pub gates: Vec<Gate>,
    /// Completions that a worker gathers before it releases what waits for them, at least 1. It releases them in any case
    /// before it looks for a task in vain.
    pub batch: u32,
    /// When the first task may start.
    pub start: Start,
    /// Where the order of tasks comes from. A stored graph has been built with its own.
    pub deps: Deps,
    /// What is measured.
    pub trace: TracePolicy,
    /// Workers that share a core group, at least 1 and at most [`limits::MAX_THREADS`].
    pub cores_per_group: u32,
    /// Picks the victims of stealing workers. With one worker the order of tasks is a function of policy and seed.
    pub seed: u64,
    /// The order in which tasks start, and where; `ready` and `seed` have no effect then. On as many workers as it has, or on one.
    pub replay: Option<Arc<Replay>>,
    /// When it becomes true, tasks that have not started are dropped and the run ends.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for RunConfig {
    /// One worker, the default window, dependences from regions, no gates, no trace.
    fn default() -> RunConfig {
        RunConfig {
            threads: 1,
            window: Window::default(),
            ready: Ready::Auto,
            pools: PoolSizes::Shared,
            gates: Vec::new(),
            batch: 1,
            start: Start::Immediate,
            deps: Deps::Overlap,
            trace: TracePolicy::None,
            cores_per_group: limits::CORES_PER_GROUP,
            seed: 0,
            replay: None,
            cancel: None,
        }
    }
}

/// The threads that a number of threads stands for, in every configuration and option: 0 takes one per core of this machine.
pub fn worker_threads(threads: u32) -> u32 {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get() as u32).min(limits::MAX_THREADS),
        threads => threads,
    }
}

impl RunConfig {
    /// The configuration with its number of threads, every field checked and how they go together; a run does so too.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn settled(&self) -> Result<Cow<'_, RunConfig>, ConfigError> {
        let config = match (self.threads, self.pools) {
            (0, PoolSizes::ByUnit { vector, cube }) => {
                Cow::Owned(RunConfig { threads: vector.saturating_add(cube), ..self.clone() })
            }
            (0, PoolSizes::Shared) => {
                let threads =
                    self.replay.as_ref().map_or_else(|| worker_threads(0), |replay| replay.workers());
                Cow::Owned(RunConfig { threads, ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        };
        config.validate().map(|()| config)
    }

    /// The configuration of a program with these kernels, by their numbers, which an order of starts is compared with.
    #[must_use]
    pub fn of_kernels<'n>(&self, names: impl Iterator<Item = &'n str>) -> Cow<'_, RunConfig> {
        match &self.replay {
            None => Cow::Borrowed(self),
            Some(replay) => {
                Cow::Owned(RunConfig { replay: Some(Arc::new(replay.among(names))), ..self.clone() })
            }
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let range = |field, value, max| {
            if (1..=max).contains(&value) {
                Ok(())
            } else {
                Err(ConfigError::Range { field, value, min: 1, max })
            }
        };
        range("threads", self.threads, limits::MAX_THREADS)?;
        range("window", self.window.capacity, limits::MAX_TASK_WINDOW)?;
        range("cores_per_group", self.cores_per_group, limits::MAX_THREADS)?;
        range("batch", self.batch, limits::MAX_TASK_WINDOW)?;
        if let Some(replay) = &self.replay
            && ![1, replay.workers()].contains(&self.threads)
        {
            return Err(ConfigError::ReplayThreads { recorded: replay.workers(), threads: self.threads });
        }
        for gate in &self.gates {
            range("gate capacity", gate.capacity, u32::MAX)?;
        }
        if let Start::Threshold(tasks) = self.start {
            range("start threshold", tasks, u32::MAX)?;
        }
        if let PoolSizes::ByUnit { vector, cube } = self.pools {
            range("vector workers", vector, limits::MAX_THREADS)?;
            range("cube workers", cube, limits::MAX_THREADS)?;
            if vector + cube != self.threads {
                return Err(ConfigError::PoolSum { vector, cube, threads: self.threads });
            }
        }
        Ok(())
    }

    /// Core groups that the workers form; the last may be smaller. Pools by unit form groups of their own.
    pub fn groups(&self) -> u32 {
        self.threads.div_ceil(self.cores_per_group.max(1))
    }

    /// What runs the tasks, part by part, for people: the policy that holds, the types of the ready queue, the window.
    pub fn implementation(&self) -> Vec<(&'static str, String)> {
        let policy = self.ready_policy();
        let policy_text = match self.ready {
            _ if self.replay.is_some() => {
                "that of a run before: each task on its worker, in its turn".to_owned()
            }
            Ready::Auto => format!("{}: `auto` with {}", policy.word(), counted(self.threads, "worker")),
            _ => policy.word().to_owned(),
        };
        let queue = match policy {
            Ready::Priority => "Ranked: heaps of each pool, the largest priority first",
            Ready::WorkSteal => {
                "WorkStealingQueueSet: a `crossbeam_deque::Worker` per worker, idle ones steal"
            }
            Ready::Auto | Ready::Fifo => {
                "FIFOReadyQueue: a `crossbeam_deque::Injector` per pool, first ready first run"
            }
        };
        let Window { capacity, mode } = self.window;
        let window = format!("{}, {} when it is full", counted(capacity, "task"), mode.word());
        vec![("policy", policy_text), ("queue", queue.to_owned()), ("window", window)]
    }

    /// The policy that [`Ready::Auto`] stands for.
    pub fn ready_policy(&self) -> Ready {
        match self.ready {
            _ if self.replay.is_some() => Ready::Priority,
            Ready::Auto if self.threads == 1 => Ready::Fifo,
            Ready::Auto => Ready::WorkSteal,
            chosen => chosen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::policy::GateScope;

    fn refused(config: &RunConfig) -> String {
        config.settled().expect_err("it should be refused").to_string()
    }

    #[test]
    fn a_field_out_of_range_is_named_with_its_range() {
        let zero = RunConfig { window: Window::stall(0), ..RunConfig::default() };
        assert_eq!(refused(&zero), "`window` is 0, but must lie in 1..=1048576");
        let many = RunConfig { threads: 1025, ..RunConfig::default() };
        assert_eq!(refused(&many), "`threads` is 1025, but must lie in 1..=1024");
        assert_eq!(refused(&RunConfig { batch: 0, ..many.clone() }), refused(&many));
        let shut = Gate { scope: GateScope::PerPool, capacity: 0 };
        let gated = RunConfig { gates: vec![shut], ..RunConfig::default() };
        assert_eq!(refused(&gated), "`gate capacity` is 0, but must lie in 1..=4294967295");
        let never = RunConfig { start: Start::Threshold(0), ..RunConfig::default() };
        assert_eq!(refused(&never), "`start threshold` is 0, but must lie in 1..=4294967295");
        assert!(RunConfig::default().settled().is_ok());
    }

    #[test]
    fn pools_must_add_up_to_the_workers() {
        let pools = |vector, cube| RunConfig {
            threads: 4,
            pools: PoolSizes::ByUnit { vector, cube },
            ..RunConfig::default()
        };
        assert!(pools(1, 3).settled().is_ok());
        let text = "2 vector and 1 cube workers are 3, but `threads` is 4; make the two add up to it";
        assert_eq!(refused(&pools(2, 1)), text);
        assert_eq!(refused(&pools(4, 0)), "`cube workers` is 0, but must lie in 1..=1024");
    }

    #[test]
    fn no_threads_are_those_of_the_pools_else_one_per_core() {
        let none = RunConfig { threads: 0, ..RunConfig::default() };
        let threads = |config: &RunConfig| config.settled().expect("it can be").threads;
        assert_eq!(threads(&none), worker_threads(0));
        assert!(threads(&none) >= 1);
        assert_eq!(threads(&RunConfig { pools: PoolSizes::ByUnit { vector: 2, cube: 3 }, ..none }), 5);
        assert_eq!((worker_threads(1), worker_threads(9)), (1, 9));
    }

    #[test]
    fn the_last_group_may_be_smaller() {
        let config = RunConfig { threads: 5, cores_per_group: 4, ..RunConfig::default() };
        assert_eq!(config.groups(), 2);
    }

    #[test]
    fn what_runs_the_tasks_is_told_by_type() {
        let told =
            |config: RunConfig| config.implementation().into_iter().map(|(_, by)| by).collect::<Vec<_>>();
        let one = told(RunConfig { window: Window::stall(8), ..RunConfig::default() });
        assert_eq!(one[0], "fifo: `auto` with 1 worker");
        assert!(one[1].starts_with("FIFOReadyQueue: a `crossbeam_deque::Injector`"), "{one:?}");
        assert_eq!(one[2], "8 tasks, stall when it is full");
        let two = told(RunConfig { threads: 2, ..RunConfig::default() });
        assert!(two[0].starts_with("work_steal: ") && two[1].starts_with("WorkStealingQueueSet"), "{two:?}");
        let ranked = told(RunConfig { ready: Ready::Priority, ..RunConfig::default() });
        assert!(ranked[0] == "priority" && ranked[1].starts_with("Ranked"), "{ranked:?}");
    }

    #[test]
    fn the_automatic_policy_steals_from_two_workers_on() {
        let policy = |threads| RunConfig { threads, ..RunConfig::default() }.ready_policy();
        assert_eq!((policy(1), policy(2)), (Ready::Fifo, Ready::WorkSteal));
    }
}
