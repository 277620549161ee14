//! Runs of which some tasks are the host's and others an accelerator's.
//!
//! The two sides of a launch meet in a [`DomainHandshake`]; its tasks wait for tasks of the other side by [`CrossEdges`].

mod edges;
mod handshake;
#[cfg(all(test, loom))]
mod models;

pub use edges::{CrossEdgeError, CrossEdges};
pub use handshake::{DomainHandshake, TimedOut};
pub use wsp_core::domain::{CrossOrder, HasWaiters, Signal};
