//! What a run on AICPUs may be told.

use crate::{ConfigError, Gate, PoolSizes, Replay, Start, TracePolicy, WindowMode, worker_threads};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;
use wsp_core::words::counted;

/// Which of the ready tasks of an AICPU is taken next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReadyOrder {
    /// In the order in which they became ready.
    #[default]
    Fifo,
    /// The largest [`AicpuTask::priority`](super::AicpuTask::priority) first, ties in the order of becoming ready.
    Priority,
}

/// Whether tasks name others that they come after.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AfterEdges {
    /// They may: every task in flight can be found by its ordinal.
    #[default]
    Kept,
    /// None does, which saves the book-keeping. A task that does all the same is refused.
    Absent,
}

/// In which order a thread takes the steps of its AICPUs and cores. Results do not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Interleaving {
    /// One after another.
    #[default]
    InTurn,
    /// At random from a seed, as if AICPUs and cores were delayed. With one thread a run is then a function of the seed.
    Random(u64),
}

/// How to run.
#[derive(Clone, Debug)]
pub struct AicpuConfig {
    /// Threads that drive AICPUs and cores, at most [`limits::MAX_THREADS`]; 0 takes [one per core](crate::worker_threads). The calling thread is the first.
    pub threads: u32,
    /// Most tasks that one AICPU has in flight, 1 to [`limits::MAX_LOCAL_WINDOW`].
    pub window: u32,
    /// What a generator does when the window is full.
    pub window_mode: WindowMode,
    /// Places in each ready queue, 1 to [`limits::MAX_LOCAL_WINDOW`]. Ready tasks that find their queue full enter it all the same, and are
    /// counted.
    pub ready_queue: u32,
    /// Notifications in flight from one AICPU to another: a power of two, 1 to [`limits::MAX_LOCAL_WINDOW`]. Those that find
    /// the ring full wait with their sender.
    pub ring: u32,
    /// Accesses in flight that tasks of one AICPU may have in the map before its generator waits, times the number of AICPUs; at least 1.
    /// The last task may exceed it by what it accesses.
    pub map_entries: u32,
    /// Most tasks that an AICPU generates or resolves in one step, at least 1.
    pub step_tasks: u32,
    /// Cores and their units. Shared: as many as threads or AICPUs, whichever are more. By unit: so many of each.
    pub pools: PoolSizes,
    /// Limits to the tasks that run at once, over all AICPUs. A task starts when all of them let it.
    pub gates: Vec<Gate>,
    /// Which ready task is taken next.
    pub ready: ReadyOrder,
    /// When the first task may start; a threshold counts the tasks of all AICPUs. When nothing else can go on, tasks
    /// start before.
    pub start: Start,
    /// Completions that an AICPU gathers before it releases what waits for them, at least 1. It releases them in any case
    /// when it finds nothing else to do.
    pub batch: u32,
    /// What is measured.
    pub trace: TracePolicy,
    /// Whether tasks name others that they come after.
    pub after: AfterEdges,
    /// Tiles that [`Need`](super::Need) counts.
    pub counters: u32,
    /// The order of steps.
    pub interleaving: Interleaving,
    /// The order of starts that the run keeps to, each task on its core. Cores that pools share are as many as its run had.
    pub replay: Option<Arc<Replay>>,
    /// When it becomes true, tasks that have not started are dropped and the run ends.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for AicpuConfig {
    /// One thread, default capacities, shared cores, no gates, no trace.
    fn default() -> AicpuConfig {
        AicpuConfig {
            threads: 1,
            window: limits::LOCAL_WINDOW_SIZE,
            window_mode: WindowMode::Stall,
            ready_queue: limits::READY_QUEUE_SIZE,
            ring: limits::NOTIFY_RING_SIZE,
            map_entries: limits::GLOBAL_MAP_SIZE,
            step_tasks: 32,
            pools: PoolSizes::Shared,
            gates: Vec::new(),
            ready: ReadyOrder::Fifo,
            start: Start::Immediate,
            batch: 1,
            trace: TracePolicy::None,
            after: AfterEdges::Kept,
            counters: 0,
            interleaving: Interleaving::InTurn,
            replay: None,
            cancel: None,
        }
    }
}

/// What is wrong with an [`AicpuConfig`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AicpuConfigError {
    /// A field, or the number of AICPUs, outside its range.
    Range(ConfigError),
    /// A field that is no power of two.
    PowerOfTwo {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
}

impl fmt::Display for AicpuConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AicpuConfigError::Range(error) => error.fmt(f),
            AicpuConfigError::PowerOfTwo { field, value } => {
                write!(
                    f,
                    "`{field}` is {value}, but must be a power of two; ask for {}",
                    value.next_power_of_two()
                )
            }
        }
    }
}

impl std::error::Error for AicpuConfigError {}

impl AicpuConfig {
    /// What runs the tasks, part by part, for people: the policy, the types of ready queues, windows and the shared map.
    pub fn implementation(&self) -> Vec<(&'static str, String)> {
        let policy = match self.ready {
            ReadyOrder::Fifo => "fifo on each AICPU",
            ReadyOrder::Priority => "priority on each AICPU",
        };
        let queue =
            format!("UnitQueues: a heap per unit on each AICPU, {}", counted(self.ready_queue, "place"));
        let window = format!(
            "LocalTaskQueue: {} on each AICPU, {} when it is full",
            counted(self.window, "task"),
            self.window_mode.word()
        );
        let map = format!("GlobalTensorMap: {} of each AICPU", counted(self.map_entries, "access"));
        vec![("policy", policy.to_owned()), ("queue", queue), ("window", window), ("map", map)]
    }

    /// The same for a program with these kernels, by their numbers, which an order of starts is compared with.
    #[must_use]
    pub fn of_kernels<'n>(self, names: impl Iterator<Item = &'n str>) -> AicpuConfig {
        let replay = self.replay.map(|replay| Arc::new(replay.among(names)));
        AicpuConfig { replay, ..self }
    }

    /// Checks every field, for a run of so many AICPUs; a run does so too.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn validate(&self, aicpus: u32) -> Result<(), AicpuConfigError> {
        let range = |field, value, max| {
            if (1..=max).contains(&value) {
                Ok(())
            } else {
                Err(AicpuConfigError::Range(ConfigError::Range { field, value, min: 1, max }))
            }
        };
        range("AICPUs", aicpus, limits::MAX_RUN_AICPUS)?;
        range("threads", worker_threads(self.threads), limits::MAX_THREADS)?;
        range("window", self.window, limits::MAX_LOCAL_WINDOW)?;
        range("ready_queue", self.ready_queue, limits::MAX_LOCAL_WINDOW)?;
        range("ring", self.ring, limits::MAX_LOCAL_WINDOW)?;
        if !self.ring.is_power_of_two() {
            return Err(AicpuConfigError::PowerOfTwo { field: "ring", value: self.ring });
        }
        range("map_entries", self.map_entries, u32::MAX)?;
        range("step_tasks", self.step_tasks, limits::MAX_LOCAL_WINDOW)?;
        range("batch", self.batch, limits::MAX_LOCAL_WINDOW)?;
        for gate in &self.gates {
            range("gate capacity", gate.capacity, u32::MAX)?;
        }
        if let Start::Threshold(tasks) = self.start {
            range("start threshold", tasks, u32::MAX)?;
        }
        if let PoolSizes::ByUnit { vector, cube } = self.pools {
            range("vector cores", vector, limits::MAX_THREADS)?;
            range("cube cores", cube, limits::MAX_THREADS)?;
            if let Some(recorded) = self.replay.as_ref().map(|replay| replay.workers())
                && recorded != vector + cube
            {
                let fault = ConfigError::ReplayThreads { recorded, threads: vector + cube };
                return Err(AicpuConfigError::Range(fault));
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn refused(config: &AicpuConfig, aicpus: u32) -> String {
        config.validate(aicpus).expect_err("it should be refused").to_string()
    }

    #[test]
    fn a_field_out_of_range_is_named_with_its_range() {
        let config = AicpuConfig::default();
        assert_eq!(refused(&config, 1025), "`AICPUs` is 1025, but must lie in 1..=1024");
        let wide = AicpuConfig { window: 32_769, ..config.clone() };
        assert_eq!(refused(&wide, 1), "`window` is 32769, but must lie in 1..=32768");
        let ring = AicpuConfig { ring: 3, ..config.clone() };
        assert_eq!(refused(&ring, 1), "`ring` is 3, but must be a power of two; ask for 4");
        let none = AicpuConfig { pools: PoolSizes::ByUnit { vector: 0, cube: 1 }, ..config.clone() };
        assert_eq!(refused(&none, 1), "`vector cores` is 0, but must lie in 1..=1024");
        assert!(config.validate(1024).is_ok());
    }
}
