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

/// A clock that is read for every task of a traced run: the processor's counter, where the system's clock is made of it too, else the system's clock.
///
/// A reading of the counter takes less than half of the time of one of the system's clock. What a tick is follows from two readings of both clocks, at the
/// beginning and at the end: [`scale`](Self::scale).
#[derive(Debug)]
pub(crate) struct RunClock {
    start: Instant,
    /// The counter at the start; none where the system's clock is read.
    first: Option<u64>,
}

impl RunClock {
    /// Readings count from the present moment.
    pub(crate) fn begin() -> RunClock {
        let is_even = counter::is_even();
        let start = now();
        RunClock { start, first: is_even.then(counter::read) }
    }

    /// The moment from which readings count.
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// Ticks since the start.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        match self.first {
            Some(first) => counter::read().saturating_sub(first),
            None => nanos_since(self.start),
        }
    }

    /// What readings up to now are in nanoseconds.
    pub(crate) fn scale(&self) -> Scale {
        let Some(first) = self.first else { return Scale::default() };
        let (ticks, nanos) = (counter::read().saturating_sub(first), nanos_since(self.start));
        if ticks == 0 { Scale::default() } else { Scale { ticks, nanos } }
    }
}

/// How long so many ticks take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scale {
    ticks: u64,
    nanos: u64,
}

impl Default for Scale {
    /// A tick is a nanosecond.
    fn default() -> Scale {
        Scale { ticks: 1, nanos: 1 }
    }
}

impl Scale {
    /// A reading, or a number of ticks, in nanoseconds.
    pub(crate) fn nanos(self, ticks: u64) -> u64 {
        let nanos = u128::from(ticks) * u128::from(self.nanos) / u128::from(self.ticks);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// The processor's counter of time.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]
mod counter {
    use std::sync::LazyLock;

    /// Whether it counts evenly, and alike on all processors: whether Linux, which checks that, makes its own clock of it.
    pub(super) fn is_even() -> bool {
        static IS_EVEN: LazyLock<bool> = LazyLock::new(|| {
            #[allow(clippy::disallowed_methods, reason = "it is no file of a user")]
            let source = std::fs::read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
            source.is_ok_and(|source| source.trim_ascii() == b"tsc")
        });
        *IS_EVEN
    }

    /// Its present value.
    #[inline]
    pub(super) fn read() -> u64 {
        #[cfg(test)]
        super::READINGS.with(|readings| readings.set(readings.get() + 1));
        #[allow(unsafe_code, reason = "reading the counter touches no memory")]
        // SAFETY: every processor of this architecture has the instruction, and a system that forbids it to programs does not make its clock of it.
        unsafe {
            std::arch::x86_64::_rdtsc()
        }
    }
}

/// No counter is known.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(loom))))]
mod counter {
    pub(super) fn is_even() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        0
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_runs_agrees_with_the_clock_of_the_system() {
        let clock = RunClock::begin();
        let start = clock.start();
        let mut before = 0;
        let (mut readings, mut times) = (Vec::new(), Vec::new());
        while nanos_since(start) < 3_000_000 {
            let earliest = nanos_since(start);
            let reading = clock.read();
            times.push((earliest, nanos_since(start)));
            assert!(before <= reading);
            before = reading;
            readings.push(reading);
        }
        let scale = clock.scale();
        // What two readings of both clocks at either end are apart.
        let slack = times.iter().map(|(from, to)| to - from).min().unwrap_or(0) * 4 + 1_000;
        let off = |(reading, (from, to)): (&u64, &(u64, u64))| {
            let nanos = scale.nanos(*reading);
            nanos + slack < *from || nanos > to + slack
        };
        let outside = readings.iter().zip(&times).filter(|both| off(*both)).count();
        // A thread that is set aside between two readings makes one pair far apart.
        assert!(outside * 100 <= readings.len(), "{outside} of {}", readings.len());
    }

    #[test]
    fn ticks_are_scaled_without_overflow() {
        let scale = Scale { ticks: 3_000_000_000, nanos: 1_000_000_000 };
        assert_eq!([0, 3, 3_000_000_000].map(|ticks| scale.nanos(ticks)), [0, 1, 1_000_000_000]);
        assert_eq!(Scale { ticks: 1, nanos: 2 }.nanos(u64::MAX), u64::MAX);
        assert_eq!(Scale::default().nanos(7), 7);
    }
}
