//! AICPUs in virtual time: their loop is that of a run, on one thread and a clock of cycles.
//!
//! What an AICPU does in a step, to whom it hands a task and what a task waits for is what `engine.rs` and `driven.rs` say. In place of threads
//! there is a queue of events (`events.rs`): a core sees a task, its end can be seen, a notice arrives, an AICPU goes on. A step that takes time
//! keeps its AICPU for as long, and has its effect at the end; those that take none are repeated until they do nothing:
//!
//! * *generating* takes its time for each task, one task in a step;
//! * *looking at cores* takes a look at each that has a task, and then what each complete task takes. Looks that find nothing
//!   are not counted: an AICPU that has nothing to do goes on when there is something to be found;
//! * *handing out* takes its time for each task, one after another.
//!
//! What passes between them takes time as well: a task until its core sees it, an end until an AICPU may see it, a notice and any other change that one
//! AICPU makes until the others look again. An AICPU that looks for another reason may see such a change earlier.
//!
//! In a cycle ends of tasks come first, then notices, then AICPUs by their numbers, then cores. With all costs 0 one AICPU starts every task in the cycle
//! in which [`crate::simulate::simulate`] starts it, unless a gate is over both kinds of cores: those take their tasks one after the other here.

mod deal;
mod events;
mod lives;

pub use deal::Dealt;

use super::config::AicpuConfig;
use crate::simulate::Simulation;
use crate::{Failure, StartError, Stopped};
use deal::Program;
use events::Events;
use std::convert::Infallible;

/// What handing out tasks takes, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AicpuCosts {
    /// Until AICPUs begin: the run is launched, and what they run was brought to them.
    pub begin: u64,
    /// Work of an AICPU per task that it generates.
    pub generation: u64,
    /// A look at a core that has a task.
    pub poll: u64,
    /// Work of an AICPU per complete task.
    pub retire: u64,
    /// Work of an AICPU per task that it hands out.
    pub dispatch: u64,
    /// From the end of that until the core sees the task.
    pub start: u64,
    /// From the end of a task until its AICPU may see it.
    pub completion: u64,
    /// From one AICPU to another.
    pub notice: u64,
    /// Of each task: its core takes it and its arguments, before it starts.
    pub task: u64,
    /// The same, of the first task of a core, beside [`task`](Self::task).
    pub first: u64,
}

/// What an AICPU does that takes time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AicpuWork {
    /// It generates tasks.
    Generation,
    /// It looks at cores.
    Polls,
    /// It releases what waited for complete tasks.
    Retirement,
    /// It hands out tasks.
    Dispatch,
}

impl AicpuWork {
    /// All of it, in the order of [`SimAicpu::busy`].
    pub const ALL: [AicpuWork; 4] =
        [AicpuWork::Generation, AicpuWork::Polls, AicpuWork::Retirement, AicpuWork::Dispatch];

    /// One word.
    pub fn word(self) -> &'static str {
        ["generation", "polls", "retirement", "dispatch"][self as usize]
    }
}

/// One AICPU in virtual time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SimAicpu {
    /// Tasks that it generated and handed out.
    pub tasks: u64,
    /// Cycles in each kind of work, in the order of [`AicpuWork::ALL`].
    pub busy: [u64; 4],
    /// What it did, from when to when; the same work without a pause is one entry.
    pub spans: Vec<(AicpuWork, u64, u64)>,
}

/// A run on AICPUs in virtual time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SimAicpus {
    /// What became of the nodes of the graph; workers are cores, vector cores first where they are told apart.
    pub simulation: Simulation,
    /// Each AICPU.
    pub aicpus: Vec<SimAicpu>,
}

/// Runs a graph on AICPUs in virtual time. [`AicpuConfig::threads`] is the number of cores that are not told apart, and may be
/// smaller than that of AICPUs; each AICPU hands out what `dealt` gives it.
///
/// # Errors
/// A configuration that [`AicpuConfig::validate`] refuses; a window that overflows when its mode is to abort; tasks that wait
/// for each other; cancellation; times beyond 64 bits.
pub fn simulate(
    dealt: &Dealt<'_>,
    config: &AicpuConfig,
    costs: &AicpuCosts,
) -> Result<SimAicpus, Failure<Infallible, Stopped>> {
    let aicpus = u32::from(dealt.aicpus);
    config.validate(aicpus).map_err(|fault| Failure::Start(StartError::Aicpus(fault)))?;
    let program = Program::new(dealt, config);
    Events::new(&program, config, costs).run()
}
