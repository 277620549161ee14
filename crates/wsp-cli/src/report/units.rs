//! Numbers for people.

use std::time::Duration;
use wsp_core::words::counted;
use wsp_runtime::clock::Clock;

/// A number of bytes in decimal units.
pub fn bytes(n: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    match UNITS.iter().find(|(_, scale)| n as f64 >= *scale) {
        Some((unit, scale)) => format!("{:.1} {unit}", n as f64 / scale),
        None => format!("{n}", n = counted(n, "byte")),
    }
}

/// A time in milliseconds, with three significant digits.
pub(crate) fn millis(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        _ if ms >= 100.0 => format!("{ms:.0} ms"),
        _ if ms >= 10.0 => format!("{ms:.1} ms"),
        _ if ms >= 1.0 => format!("{ms:.2} ms"),
        _ => format!("{ms:.3} ms"),
    }
}

/// A time in the unit of a clock.
pub(crate) fn span(clock: Clock, time: u64) -> String {
    match clock {
        Clock::Nanoseconds => millis(Duration::from_nanos(time)),
        Clock::Cycles => counted(time, "cycle").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_size() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(26_112), "26.1 KB");
        assert_eq!(bytes(1_070_000_000), "1.1 GB");
        assert_eq!(millis(Duration::from_micros(412)), "0.412 ms");
        assert_eq!(millis(Duration::from_secs(2)), "2000 ms");
    }
}
