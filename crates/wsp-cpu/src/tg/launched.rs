//! A launch of a graph: what it runs on, and how far it is.

use super::code::GraphCode;
use super::instance::Instance;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A launch of a graph.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) code: Arc<GraphCode>,
    pub(crate) instance: Arc<Instance>,
    /// Values of declared scalars when it was launched.
    pub(crate) scalars: Vec<i64>,
    /// The stream that it is on, and its iteration.
    pub(crate) stream: u32,
    pub(crate) iteration: i64,
    /// Devices of the session.
    pub(crate) devices: u32,
    /// Whether its turn has come.
    pub(crate) begun: AtomicBool,
}
