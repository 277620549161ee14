//! What a run that fails hands to its caller from a function of the caller.

use std::any::Any;
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
