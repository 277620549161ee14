//! What goes between a run and functions of its caller: what stops it, what they fail with.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Anything that a failing task hands to the caller of the run.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// Receives the payload of the fault that a run fails with; empty when that has none.
#[derive(Clone, Default, Debug)]
pub struct PayloadSlot(Arc<Mutex<Option<Payload>>>);

impl PayloadSlot {
    /// What the last failed run left, once.
    pub fn take(&self) -> Option<Payload> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Leaves what a failed run has to hand over.
    pub fn put(&self, payload: Option<Payload>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = payload;
    }
}

/// Asked now and then whether to stop. It is asked often: what takes time it should do now and then only.
#[derive(Clone)]
pub struct Poll(Arc<dyn Fn() -> bool + Send + Sync>);

impl Poll {
    /// Asks `stop`, which answers `true` to stop.
    pub fn new(stop: impl Fn() -> bool + Send + Sync + 'static) -> Poll {
        Poll(Arc::new(stop))
    }

    /// Whether to stop.
    pub fn stops(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Poll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poll")
    }
}
