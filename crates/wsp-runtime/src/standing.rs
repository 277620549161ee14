//! Work beside its caller, on a thread of the process's teams: no piece of work makes a thread where one stands by.

use crate::team::Team;
use crate::{StartError, clock};
use std::hint;
use std::thread;
use std::time::Duration;

/// How long a thread looks for what it waits for before it sleeps: some wake-ups' worth.
pub const LOOKS_FOR: Duration = Duration::from_micros(50);
/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

/// What tells that work is done.
pub type Tell = Box<dyn FnOnce()>;

/// Does something on a thread that stands by, or on one that is made if none does. What it gives is called when the thread stands by again, so that who
/// learns of the end finds the thread free. Neither may panic.
///
/// # Errors
/// The system gives no thread.
pub fn start(work: Box<dyn FnOnce() -> Tell + Send>) -> Result<(), StartError> {
    Team::take(1, 0)?.stand_by_after(work);
    Ok(())
}

/// Looks for so long whether something has come true; whether it has.
pub fn look_for(span: Duration, is_true: impl Fn() -> bool) -> bool {
    let start = clock::now();
    loop {
        for _ in 0..LOOKS {
            if is_true() {
                return true;
            }
            hint::spin_loop();
        }
        if clock::nanos_since(start) > span.as_nanos() as u64 {
            return false;
        }
        thread::yield_now();
    }
}
