//! Work beside its caller, on a thread of the process's teams: no piece of work makes a thread where one stands by.

use crate::StartError;
use crate::team::Team;

pub use crate::team::Tell;

/// Does something on a thread that stands by, or on one that is made if none does. What it gives is called when the thread stands by again, so that who
/// learns of the end finds the thread free. Neither may panic.
///
/// # Errors
/// The system gives no thread.
pub fn start(work: Box<dyn FnOnce() -> Tell + Send>) -> Result<(), StartError> {
    Team::take(1, 0)?.stand_by_after(work)
}
