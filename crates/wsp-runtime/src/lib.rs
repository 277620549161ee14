//! The task graph at run time: dependences, ready queues, workers, failures, statistics.
//!
//! A *source* on the calling thread submits tasks in elaboration order while workers execute those that are ready:
//!
//! 1. [`Submitter::submit`] takes a slot of the *window*, or parks until one is free.
//! 2. The boxes that the task reads and writes become edges from earlier tasks (RAW, WAR, WAW).
//! 3. With no edge open the task enters the *ready queue* that its affinity and the policy name.
//! 4. A worker runs it through the caller's [`TaskRunner`].
//! 5. Its completion releases its successors; the planner takes the slot back when it next needs one.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use wsp_core::{KernelId, Region, TaskId, TensorId};
//! use wsp_runtime::{Affinity, RunConfig, TaskRunner, TaskSpec, run};
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
//!             affinity: Affinity::Any,
//!         })?;
//!     }
//!     Ok::<(), wsp_runtime::Stopped>(())
//! })
//! .unwrap();
//! assert_eq!((stats.tasks, runner.0.into_inner()), (10, 55));
//! ```
//!
//! # Why a run ends
//!
//! Every edge points from a smaller task id to a larger one: a task is linked only to tasks submitted before it. So the
//! oldest unfinished task never waits for another: it is queued or running, for any window, policy and number of
//! threads. A queued task is taken, because no worker sleeps while a queue holds something (see the protocol in
//! `sleep.rs`); a taken task completes, fails or is cancelled, and each of the three releases its successors and its
//! slot. The planner waits only for completions of tasks it has submitted (`completion.rs`), of which there are then
//! some. By induction everything submitted is retired. A task that never returns is the caller's to avoid.
//!
//! **Invariant:** knows neither the IR nor what a kernel computes: a task is a kernel number, up to 16 words, and boxes.
//!
//! **Invariant:** which thread runs a task, and when, never shows in what the tasks compute: any two tasks whose boxes
//! conflict run in the order of their ids.
#![forbid(unsafe_code)]

mod completion;
mod config;
mod depend;
mod edges;
mod finder;
mod interval;
mod keys;
mod outcome;
mod ready;
mod run;
mod segmented;
mod shared;
mod sleep;
mod slot;
mod stats;
mod submit;
mod task;
mod window;
mod worker;

pub mod clock;

pub use config::{ConfigError, ReadyPolicy, RunConfig};
pub use outcome::{Failure, Outcome, StartError, Stopped};
pub use run::run;
pub use stats::{AffinityStats, EdgeStats, KernelStats, PrefetchStats, Stats, TaskTrace, WorkerStats};
pub use submit::Submitter;
pub use task::{Affinity, TaskRunner, TaskSpec};
