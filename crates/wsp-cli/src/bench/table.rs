//! The table of measurements.

use crate::args::SetName;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The batch.
    pub(crate) set: SetName,
    /// Element type of queries, keys and values.
    pub(crate) dtype: &'static str,
    /// Order of heads and tokens in a page.
    pub(crate) layout: &'static str,
    /// Worker threads.
    pub(crate) threads: u32,
    /// Bytes of keys and values.
    pub(crate) kv_bytes: u64,
    /// Median time of a run.
    pub(crate) ms: f64,
    /// Best time of a run.
    pub(crate) best_ms: f64,
    /// Median time from the start of a run to its first task.
    pub(crate) first_task_ms: f64,
    /// What as many threads can read, in 10^9 bytes per second.
    pub(crate) ceiling: f64,
    /// The largest error as a multiple of what is allowed, when it was checked.
    pub(crate) error: Option<f64>,
}

impl Row {
    /// Bytes of keys and values per second, in units of 10^9.
    fn rate(&self) -> f64 {
        self.kv_bytes as f64 / self.ms / 1e6
    }

    /// How many times slower than the ceiling.
    fn ratio(&self) -> f64 {
        self.ceiling / self.rate()
    }
}

fn letter(set: SetName) -> &'static str {
    match set {
        SetName::A => "a",
        SetName::B => "b",
        SetName::C => "c",
        SetName::D => "d",
    }
}

/// The heading, or one line per row.
pub(crate) fn print(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<4}{:<6}{:<8}{:>7}{:>12}{:>10}{:>15}{:>8}\n",
        "set", "type", "layout", "threads", "ms", "GB/s", "ceiling GB/s", "ratio"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:<4}{:<6}{:<8}{:>7}{:>12.2}{:>10.2}{:>15.2}{:>8.2}",
            letter(row.set),
            row.dtype,
            row.layout,
            row.threads,
            row.ms,
            row.rate(),
            row.ceiling,
            row.ratio()
        );
    }
    text
}

/// The rows for machines.
pub(crate) fn json(rows: &[Row]) -> Value {
    let one = |row: &Row| {
        json!({
            "set": letter(row.set),
            "dtype": row.dtype,
            "layout": row.layout,
            "threads": row.threads,
            "kv_bytes": row.kv_bytes,
            "ms": row.ms,
            "best_ms": row.best_ms,
            "first_task_ms": row.first_task_ms,
            "gb_per_s": row.rate(),
            "ceiling_gb_per_s": row.ceiling,
            "ratio": row.ratio(),
            "error_over_tolerance": row.error,
        })
    };
    rows.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_ratio_is_how_many_times_slower_than_the_ceiling() {
        let row = Row {
            set: SetName::A,
            dtype: "f16",
            layout: "NHD",
            threads: 2,
            kv_bytes: 268_435_456,
            ms: 100.0,
            best_ms: 99.0,
            first_task_ms: 0.3,
            ceiling: 10.0,
            error: None,
        };
        expect![[r#"
            set type  layout  threads          ms      GB/s   ceiling GB/s   ratio
            a   f16   NHD           2      100.00      2.68          10.00    3.73
        "#]]
        .assert_eq(&print(&[row]));
        assert!((json(&[row])[0]["ratio"].as_f64().unwrap() - 3.725).abs() < 1e-3);
    }
}
