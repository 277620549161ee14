//! What a run may be told.

use crate::config_error::ConfigError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;

/// Where the order of tasks comes from.
///
/// Streams, events, fences and ordered scopes order tasks in every mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Deps {
    /// A read waits for the newest task that wrote exactly the same box, once per box. Other hazards are not seen: for
    /// compatibility with graphs made that way.
    Exact,
    /// From the boxes that tasks read and write, with all hazards: any two tasks whose boxes conflict run in the order of
    /// their submission.
    #[default]
    Overlap,
    /// Only what [`TaskSpec::after`](crate::TaskSpec::after) names; boxes make no edges.
    Explicit,
    /// Both the boxes, as under `Overlap`, and [`TaskSpec::after`](crate::TaskSpec::after).
    Hybrid,
}

impl Deps {
    /// Whether boxes make edges.
    pub fn infers(self) -> bool {
        self != Deps::Explicit
    }

    /// Whether edges may be given.
    pub fn takes_edges(self) -> bool {
        matches!(self, Deps::Explicit | Deps::Hybrid)
    }
}

/// Which ready task is taken next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReadyPolicy {
    /// [`Fifo`](Self::Fifo) for fewer than four workers, else [`WorkSteal`](Self::WorkSteal).
    #[default]
    Auto,
    /// In the order in which tasks become ready, ties by task id. Tasks that ask for a core group or a worker queue there.
    Fifo,
    /// A worker prefers what its own last task released; idle workers steal.
    WorkSteal,
    /// The largest [`TaskSpec::priority`](crate::TaskSpec::priority) first, ties in the order of becoming ready: of the tasks
    /// that a worker may take, which are those that ask for it, for its core group, or for no place. Those that ask for
    /// another come after these.
    Priority,
}

/// What happens to a task that finds the window full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WindowMode {
    /// The submission waits.
    #[default]
    Stall,
    /// The submission fails, without effect.
    Abort,
    /// The submission waits, and how long is recorded in [`Stats::overflows`](crate::Stats::overflows).
    Benchmark,
}

/// The tasks that may be between submission and completion. A stored graph, all of which exists before it runs, has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Most such tasks, 1 to [`limits::MAX_TASK_WINDOW`].
    pub capacity: u32,
    /// What happens at the limit.
    pub mode: WindowMode,
}

impl Window {
    /// A window whose submissions wait.
    pub fn stall(capacity: u32) -> Window {
        Window { capacity, mode: WindowMode::Stall }
    }
}

impl Default for Window {
    fn default() -> Window {
        Window::stall(limits::TASK_WINDOW)
    }
}

/// How workers divide among execution units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Pools {
    /// Every worker runs every task.
    #[default]
    Shared,
    /// The first workers run vector tasks and the others cube tasks; each also takes tasks for any unit, when it finds
    /// none for its own.
    ByUnit {
        /// Workers for vector tasks, at least 1.
        vector: u32,
        /// Workers for cube tasks, at least 1.
        cube: u32,
    },
}

/// The tasks that one count of a gate is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GateScope {
    /// All tasks.
    Global,
    /// The tasks of one stream; tasks without a stream pass. Several tasks of a stream are in flight only where such a gate
    /// lets them: they then start in the order of submission.
    PerStream,
    /// The tasks that ask for one kind of execution unit; those for any unit are one kind more.
    PerPool,
}

/// A limit to the tasks that have started and not finished.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gate {
    /// Which tasks are counted together.
    pub scope: GateScope,
    /// Most of them, at least 1.
    pub capacity: u32,
}

impl Gate {
    /// How many tasks of one stream these gates let be in flight: 1 without a gate per stream.
    pub(crate) fn stream_depth(gates: &[Gate]) -> u32 {
        let per_stream = gates.iter().filter(|gate| gate.scope == GateScope::PerStream);
        per_stream.map(|gate| gate.capacity).min().unwrap_or(1)
    }
}

/// When the first task may start. A stored graph starts when it is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StartPolicy {
    /// When the source has returned, or has to wait: see [`Stats::forced_starts`](crate::Stats::forced_starts).
    AfterOrchestration,
    /// At once.
    #[default]
    Immediate,
    /// When so many tasks, at least 1, have been submitted; otherwise as `AfterOrchestration`.
    Threshold(u32),
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TracePolicy {
    /// Counts only: no clock is read while tasks run.
    #[default]
    None,
    /// Sums of times per worker and kernel.
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
    /// Worker threads, 1 to [`limits::MAX_THREADS`]. With a stream of tasks the calling thread generates and is not one
    /// of them; of those that run a stored graph it is the first.
    pub threads: u32,
    /// How many tasks may be in flight.
    pub window: Window,
    /// Which ready task is taken next.
    pub ready: ReadyPolicy,
    /// How workers divide among execution units.
    pub pools: Pools,
    /// Limits to the tasks that run at once. A task starts when all of them let it.
    pub gates: Vec<Gate>,
    /// Completions that a worker gathers before it releases what waits for them, at least 1. It releases them in any case
    /// before it looks for a task in vain.
    pub batch: u32,
    /// When the first task may start.
    pub start: StartPolicy,
    /// Where the order of tasks comes from. A stored graph has been built with its own.
    pub deps: Deps,
    /// What is measured.
    pub trace: TracePolicy,
    /// Workers that share a core group, at least 1 and at most [`limits::MAX_THREADS`].
    pub cores_per_group: u32,
    /// Picks the victims of stealing workers. With one worker the order of tasks is a function of policy and seed.
    pub seed: u64,
    /// When it becomes true, tasks that have not started are dropped and the run ends.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for RunConfig {
    /// One worker, the default window, dependences from boxes, no gates, no trace.
    fn default() -> RunConfig {
        RunConfig {
            threads: 1,
            window: Window::default(),
            ready: ReadyPolicy::Auto,
            pools: Pools::Shared,
            gates: Vec::new(),
            batch: 1,
            start: StartPolicy::Immediate,
            deps: Deps::Overlap,
            trace: TracePolicy::None,
            cores_per_group: limits::CORES_PER_GROUP,
            seed: 0,
            cancel: None,
        }
    }
}

impl RunConfig {
    /// Checks every field and how they go together; a run does so too.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn validate(&self) -> Result<(), ConfigError> {
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
        for gate in &self.gates {
            range("gate capacity", gate.capacity, u32::MAX)?;
        }
        if let StartPolicy::Threshold(tasks) = self.start {
            range("start threshold", tasks, u32::MAX)?;
        }
        if let Pools::ByUnit { vector, cube } = self.pools {
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

    /// The policy that [`ReadyPolicy::Auto`] stands for.
    pub fn ready_policy(&self) -> ReadyPolicy {
        match self.ready {
            ReadyPolicy::Auto if self.threads < 4 => ReadyPolicy::Fifo,
            ReadyPolicy::Auto => ReadyPolicy::WorkSteal,
            chosen => chosen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: &RunConfig) -> String {
        config.validate().expect_err("it should be refused").to_string()
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
        let never = RunConfig { start: StartPolicy::Threshold(0), ..RunConfig::default() };
        assert_eq!(refused(&never), "`start threshold` is 0, but must lie in 1..=4294967295");
        assert!(RunConfig::default().validate().is_ok());
    }

    #[test]
    fn pools_must_add_up_to_the_workers() {
        let pools = |vector, cube| RunConfig {
            threads: 4,
            pools: Pools::ByUnit { vector, cube },
            ..RunConfig::default()
        };
        assert!(pools(1, 3).validate().is_ok());
        let text = "2 vector and 1 cube workers are 3, but `threads` is 4; make the two add up to it";
        assert_eq!(refused(&pools(2, 1)), text);
        assert_eq!(refused(&pools(4, 0)), "`cube workers` is 0, but must lie in 1..=1024");
    }

    #[test]
    fn the_last_group_may_be_smaller() {
        let config = RunConfig { threads: 5, cores_per_group: 4, ..RunConfig::default() };
        assert_eq!(config.groups(), 2);
    }

    #[test]
    fn the_automatic_policy_steals_from_four_workers_on() {
        let policy = |threads| RunConfig { threads, ..RunConfig::default() }.ready_policy();
        assert_eq!((policy(3), policy(4)), (ReadyPolicy::Fifo, ReadyPolicy::WorkSteal));
    }
}
