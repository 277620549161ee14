//! Looks for what comes true soon, before a thread sleeps.

use crate::clock;
use crate::yields::give_way;
use std::hint;
use std::time::Duration;

/// How long a thread looks for what it waits for before it sleeps: some wake-ups' worth.
pub const LOOKS_FOR: Duration = Duration::from_micros(50);
/// Looks between two readings of the clock.
const LOOKS: u32 = 64;

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
        give_way();
    }
}
