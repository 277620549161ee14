//! The task graph at run time: dependences, ready queues, workers, failures, statistics.
//!
//! A *source* on the calling thread submits tasks in elaboration order while workers execute those that are ready:
//!
//! 1. [`Submitter::submit`] takes a slot of the *window*, or parks until one is free.
//! 2. The regions that the task reads and writes become edges from earlier tasks (RAW, WAR, WAW).
//! 3. With no edge open the task enters the *ready queue* that its affinity and the policy name.
//! 4. A worker runs it through the caller's [`TaskRunner`].
//! 5. Its completion releases its successors; the planner takes the slot back when it next needs one.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use wsp_core::{KernelId, Region, TaskId, TensorId};
//! use wsp_runtime::{RunConfig, TaskRunner, TaskSpec, run};
//!
//! /// Adds its payload to one cell.
//! struct Add(AtomicU32);
//!
//! impl TaskRunner for Add {
//!     type Failure = ();
//!     fn run(&self, _: usize, _: TaskId, _: KernelId, payload: &[u32]) -> Result<(), ()> {
//!         self.0.fetch_add(payload[0], Ordering::Relaxed);
//!         Ok(())
//!     }
//! }
//!
//! let cell = Region::new(TensorId(0), &[0], &[1]).unwrap();
//! let runner = Add(AtomicU32::new(0));
//! let config = RunConfig { threads: 2, ..RunConfig::default() };
//! let stats = run(&config, &runner, |submitter| {
//!     for i in 1..=10 {
//!         submitter.submit(TaskSpec {
//!             kernel: KernelId(0),
//!             payload: &[i],
//!             reads: &[cell],
//!             writes: &[cell],
//!             ..TaskSpec::default()
//!         })?;
//!     }
//!     Ok::<(), wsp_runtime::Stopped>(())
//! })
//! .unwrap();
//! assert_eq!((stats.tasks, runner.0.into_inner()), (10, 55));
//! ```
//!
//! A [`TaskGraph`] holds all tasks before they run, and runs them any number of times; the same workers execute both.
//!
//! # Why a run ends
//!
//! A queued task is taken, because no worker sleeps while a queue holds something it may run (see the protocol in
//! `sleep.rs`). A taken task completes, fails, is cancelled, finds a gate shut or comes before its turn on a stream. Others hold a gate
//! that is shut, and a worker that one of them wakes when it finishes takes the task; the task before it on its stream wakes one
//! when it starts (`gates.rs`). Whatever ends a task releases its successors and its slot. The planner waits only for completions
//! (`stream/completion.rs`).
//!
//! So all workers sleep only when no queue holds a task and none is running. Then either everything submitted is complete,
//! or what is left waits for itself, for an event that nobody signals, or for a source that waits for room: that is
//! noticed under the lock of the sleepers, and the run ends with [`Failure::Stuck`]. Without events and edges to earlier
//! tasks it cannot happen: the oldest unfinished task never waits for another. A task that never returns is the caller's to
//! avoid.
//!
//! **Invariant:** knows neither the IR nor what a kernel computes: a task is a kernel number, up to 16 words, and regions.
//!
//! **Invariant:** which thread runs a task, and when, never shows in what the tasks compute: with [`Deps::Overlap`], any
//! two tasks whose regions conflict run in the order of their ids.
#![deny(unsafe_code)]

mod bit_set;
mod config;
mod config_error;
mod finder;
mod gates;
mod graph;
mod handed_out;
pub mod infer;
mod inference;
mod merge;
#[cfg(all(test, loom))]
mod models;
mod outcome;
mod placement;
mod places;
mod random;
mod ranked;
mod ready;
mod replay;
mod report;
mod scopes;
mod shared;
mod sleep;
mod stats;
mod stream;
mod sync;
mod task;
mod team;
mod worker;
mod yields;

pub mod aicpu;
pub mod clock;
pub mod domain;
pub mod look;
pub mod nested;
pub mod process;
pub mod simulate;
pub mod standing;
pub mod storage;
pub mod tg;
pub mod timeline;
pub mod turns;

pub use config::{RunConfig, TracePolicy, worker_threads};
pub use config_error::ConfigError;
pub use graph::{ReadyQueue, TaskGraph};
pub use outcome::{FailedTask, Failure, NotReplayed, Numbered, Outcome, StartError, Stopped};
pub use replay::Replay;
pub use report::{Party, Report};
pub use stats::{
    AffinityStats, EdgeStats, KernelStats, Overflow, PrefetchStats, Stats, TaskTrace, WorkerStats,
};
pub use stream::{KnownRegions, Submitter, run, run_again};
pub use task::{Affinity, TaskRunner, TaskSpec};
pub use wsp_core::policy::{Deps, Gate, GateScope, PoolSizes, Ready, Start, Window, WindowMode};
