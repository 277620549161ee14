//! The question whether to stop, which a run asks its caller.

use core::fmt;

/// Asked often, on the thread that runs, whether to stop: an answer that takes time is looked up now and then only.
///
/// ```
/// use wsp_core::Poll;
/// let never: &dyn Poll = &|| false;
/// assert!(!never.stops());
/// ```
pub trait Poll: Send + Sync {
    /// Whether to stop.
    fn stops(&self) -> bool;
}

impl<F: Fn() -> bool + Send + Sync> Poll for F {
    fn stops(&self) -> bool {
        self()
    }
}

impl fmt::Debug for dyn Poll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poll")
    }
}
