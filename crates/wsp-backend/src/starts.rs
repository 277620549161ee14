//! The order in which tasks of a run start.

use std::sync::Arc;
use wsp_core::{BlockStart, Started};

/// The starts of a run, from which another one can take its order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Starts {
    /// Workers.
    pub workers: u32,
    /// Names of kernels.
    pub kernels: Vec<String>,
    /// Tasks in the order of their submission, without barrier nodes; blocks of a unit of task graphs in the order in which they finished.
    pub tasks: Vec<Started>,
    /// Of a unit of task graphs where in it each of them stands; else empty.
    pub blocks: Vec<BlockStart>,
}

/// What a run takes its order of starts from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StartOrder {
    /// A run before.
    Of(Arc<Starts>),
    /// A run in virtual time with this seed.
    Seed(u64),
}

impl StartOrder {
    /// The run before, if it is one.
    pub fn starts(&self) -> Option<&Arc<Starts>> {
        match self {
            StartOrder::Of(starts) => Some(starts),
            StartOrder::Seed(_) => None,
        }
    }
}
