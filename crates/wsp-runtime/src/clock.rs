//! The only place that reads the time, and the units of times.

use std::time::Instant;

/// What times are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Clock {
    /// Nanoseconds of a run.
    #[default]
    Nanoseconds,
    /// Cycles of virtual time. Trace events know seconds only: there a cycle is shown as a microsecond.
    Cycles,
}

impl Clock {
    /// Its name in trace events.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Nanoseconds => "nanoseconds",
            Clock::Cycles => "cycles, shown as microseconds",
        }
    }
}

#[cfg(test)]
thread_local! {
    /// How often this thread has read the clock.
    pub(crate) static READINGS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The present moment.
#[allow(clippy::disallowed_methods, reason = "every other module takes times from here")]
pub fn now() -> Instant {
    #[cfg(test)]
    READINGS.with(|readings| readings.set(readings.get() + 1));
    Instant::now()
}

/// Nanoseconds from `start` to now; saturates after 584 years.
pub fn nanos_since(start: Instant) -> u64 {
    nanos_between(start, now())
}

/// Nanoseconds that all threads of this process have computed so far; 0 where the system has no such clock.
pub fn computed_nanos() -> u64 {
    let Ok(time) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID) else { return 0 };
    let part = |n: i64| u64::try_from(n).unwrap_or(0);
    part(time.tv_sec()).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec()))
}

/// Nanoseconds from `start` to `end`; 0 when `end` is the earlier.
pub fn nanos_between(start: Instant, end: Instant) -> u64 {
    let span = end.saturating_duration_since(start);
    span.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(span.subsec_nanos()))
}
