//! Virtual time: a run under a machine model's clock.
//!
//! [`simulate`] plays the scheduling rules of a run with a [`RunConfig`](crate::RunConfig) on a graph whose tasks have
//! costs in cycles. There are no threads and no clock: the result is a function of graph, costs, policy and seed.
//!
//! ```
//! use wsp_core::TaskId;
//! use wsp_runtime::RunConfig;
//! use wsp_runtime::simulate::{SimGraph, SimTaskSpec, WhyLate, simulate};
//!
//! let task = SimTaskSpec { cost: 100, ..SimTaskSpec::default() };
//! let graph = SimGraph::new([task; 2], [(TaskId(0), TaskId(1))]).unwrap();
//! let simulation = simulate(&graph, &RunConfig { threads: 4, ..RunConfig::default() }).unwrap();
//! assert_eq!(simulation.makespan, 200);
//! assert_eq!(simulation.tasks[1].cause, WhyLate::Predecessor(TaskId(0)));
//! ```
//!
//! # The rules
//!
//! In every cycle in which something happens, three things happen in this order, and again until nothing more does:
//!
//! 1. Tasks that end are complete, by id. Each leaves the gates. A worker that has gathered a batch of them releases what
//!    waits for them, and their places in the window.
//! 2. The source submits tasks, in the order of their ids, until one is not generated yet or finds the window full. A full
//!    window also starts the run where the start policy has not.
//! 3. What has become ready queues by id, and idle workers take tasks. A task that a gate refuses steps aside and is the
//!    first to go when its gates are open; under the priority policy it goes by its priority then too. So does a task that comes
//!    before its turn on a stream, several tasks of which may be in flight. An idle worker that finds nothing releases its batch.
//!
//! A worker takes what is meant for it (its inbox, its deque, the queue of its group), then from the common queue, then
//! what is meant for others. Unlike a thread it does not hesitate to do so, so no worker idles while there is a task that
//! it may run. Among idle workers the one with a task of its own comes first, then the smallest number.
//!
//! The window holds tasks, not barrier nodes. A place is free again when the completion is released. As in every run,
//! [`Deps`](crate::Deps) has had its say when the graph was made, and whatever
//! [`TracePolicy`](crate::TracePolicy) asks for, all times are told: they cost nothing here.
//!
//! # Why this ends
//!
//! Each round completes a task, submits one, or moves time to the next end of a task or of a generation. When neither is
//! ahead no task runs; so no gate is shut, no batch is held, every worker is idle and every ready task was taken. Whoever
//! is left waits for another, and the simulation reports them.

mod dispatch;
mod engine;
mod generate;
mod graph;
mod outcome;
mod ready;
mod source;
mod stored;
mod stuck;

pub use engine::simulate;
pub use graph::{SimGraph, SimGraphBuilder, SimTaskSpec, Submission};
pub use outcome::{PathStep, SimOverflow, SimTask, SimWorker, Simulation};
pub use wsp_core::WhyLate;
