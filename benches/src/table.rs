//! The table of measurements.

use super::runtime::measure::Span;
use crate::args::{BenchClock, SetName};
use serde_json::{Value, json};
use std::fmt::Write as _;
use wsp_backend::KvLayout;
use wsp_core::DType;

/// What is measured at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// The batch.
    pub(crate) set: SetName,
    /// Element type of queries, keys and values.
    pub(crate) dtype: DType,
    /// Order of heads and tokens in a page.
    pub(crate) layout: KvLayout,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Of what.
    pub(crate) point: Point,
    /// Worker threads.
    pub(crate) threads: u32,
    /// Bytes of keys and values.
    pub(crate) kv_bytes: u64,
    /// Median nanoseconds of a run.
    pub(crate) run: Span,
    /// Least nanoseconds of a run.
    pub(crate) best: Span,
    /// Median milliseconds from the start of a run to its first task.
    pub(crate) first_task_ms: f64,
    /// Median nanoseconds that as many threads need to read as many bytes.
    pub(crate) floor: Span,
    /// Median of how many times longer a run takes than the read just before it.
    pub(crate) ratios: Span,
    /// The clock that rates and ratios are taken from.
    pub(crate) clock: BenchClock,
    /// The largest error as a multiple of what is allowed, when it was checked.
    pub(crate) error: Option<f64>,
}

/// What a ratio to the floor says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Within the target.
    Pass,
    /// Above it.
    Over,
    /// A run was faster than a mere read of what it reads: that read was no floor.
    NoFloor,
}

impl Verdict {
    /// In a word.
    fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Over => "over",
            Verdict::NoFloor => "floor?",
        }
    }
}

/// What to print below rows of which some have no floor to be compared with; empty where all have.
pub(crate) fn doubt<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    if rows.into_iter().all(|row| row.verdict() != Verdict::NoFloor) {
        return String::new();
    }
    "floor?: the run was faster than a mere read of its data, which cannot be: something held up the read; measure again on a \
     quieter machine\n"
        .to_owned()
}

/// Milliseconds by a clock: those of a span, or those that each of `threads` threads computed in it.
pub(crate) fn ms(span: Span, clock: BenchClock, threads: u32) -> f64 {
    match clock {
        BenchClock::Wall => span.wall / 1e6,
        BenchClock::Cpu => span.cpu / 1e6 / f64::from(threads.max(1)),
    }
}

impl Row {
    /// Milliseconds of a run.
    pub(crate) fn ms(&self) -> f64 {
        ms(self.run, self.clock, self.threads)
    }

    /// Milliseconds of a mere read of the keys and values.
    pub(crate) fn floor_ms(&self) -> f64 {
        ms(self.floor, self.clock, self.threads)
    }

    /// How many times slower than a mere read at the same time.
    pub(crate) fn ratio(&self) -> f64 {
        match self.clock {
            BenchClock::Wall => self.ratios.wall,
            BenchClock::Cpu => self.ratios.cpu,
        }
    }

    /// The ratio that decode attention on one thread, and on two or more, should not exceed.
    fn target(&self) -> f64 {
        match (self.point.dtype, self.threads) {
            (DType::Bf16, 1) => 1.5,
            (DType::Bf16, _) => 1.4,
            (_, 1) => 1.8,
            (_, _) => 1.6,
        }
    }

    /// Whether the ratio is as it should be.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.ratio() {
            ratio if ratio < 1.0 => Verdict::NoFloor,
            ratio if ratio <= self.target() => Verdict::Pass,
            _ => Verdict::Over,
        }
    }

    /// Whether the ratio is as it should be, and how it should be.
    pub(crate) fn target_text(&self) -> String {
        format!("{} {}", self.verdict().name(), self.target())
    }

    /// Bytes of keys and values in 10^9 per second.
    fn rate(&self, ms: f64) -> f64 {
        self.kv_bytes as f64 / ms / 1e6
    }
}

/// As it is typed.
pub(crate) fn letter(set: SetName) -> &'static str {
    match set {
        SetName::A => "a",
        SetName::B => "b",
        SetName::C => "c",
        SetName::D => "d",
        SetName::E => "e",
    }
}

/// The heading, or one line per row.
pub(crate) fn print(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<4}{:<6}{:<8}{:>7}{:>12}{:>10}{:>10}{:>15}{:>8}{:>12}\n",
        "set", "type", "layout", "threads", "ms", "CPU ms", "GB/s", "ceiling GB/s", "ratio", "target"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:<4}{:<6}{:<8}{:>7}{:>12.2}{:>10.2}{:>10.2}{:>15.2}{:>8.2}{:>12}",
            letter(row.point.set),
            row.point.dtype.name(),
            row.point.layout.name(),
            row.threads,
            row.run.wall / 1e6,
            row.run.cpu / 1e6,
            row.rate(row.ms()),
            row.rate(row.floor_ms()),
            row.ratio(),
            row.target_text(),
        );
    }
    text
}

/// The rows for machines.
pub(crate) fn json(rows: &[Row]) -> Value {
    rows.iter().map(json_row).collect()
}

/// A row for machines.
pub(crate) fn json_row(row: &Row) -> Value {
    json!({
        "set": letter(row.point.set),
        "dtype": row.point.dtype.name(),
        "layout": row.point.layout.name(),
        "threads": row.threads,
        "kv_bytes": row.kv_bytes,
        "ms": row.run.wall / 1e6,
        "best_ms": row.best.wall / 1e6,
        "cpu_ms": row.run.cpu / 1e6,
        "best_cpu_ms": row.best.cpu / 1e6,
        "first_task_ms": row.first_task_ms,
        "floor_ms": row.floor.wall / 1e6,
        "floor_cpu_ms": row.floor.cpu / 1e6,
        "gb_per_s": row.rate(row.ms()),
        "ceiling_gb_per_s": row.rate(row.floor_ms()),
        "ratio": row.ratio(),
        "target": row.target(),
        "within_target": row.verdict() == Verdict::Pass,
        "floor_holds": row.verdict() != Verdict::NoFloor,
        "error_over_tolerance": row.error,
    })
}

/// A row of round numbers.
#[cfg(test)]
pub(crate) fn example(clock: BenchClock) -> Row {
    Row {
        point: Point { set: SetName::A, dtype: DType::F16, layout: KvLayout::Nhd },
        threads: 2,
        kv_bytes: 268_435_456,
        run: Span { wall: 1e8, cpu: 8e7 },
        best: Span { wall: 9.9e7, cpu: 7.9e7 },
        first_task_ms: 0.3,
        floor: Span { wall: 2.5e7, cpu: 5e7 },
        ratios: Span { wall: 4.0, cpu: 1.6 },
        clock,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_ratio_is_how_many_times_slower_than_the_ceiling() {
        expect![[r#"
            set type  layout  threads          ms    CPU ms      GB/s   ceiling GB/s   ratio      target
            a   f16   NHD           2      100.00     80.00      2.68          10.74    4.00    over 1.6
        "#]]
        .assert_eq(&print(&[example(BenchClock::Wall)]));
    }

    #[test]
    fn by_the_clock_of_the_processor_ratios_are_of_what_each_thread_computed() {
        let row = example(BenchClock::Cpu);
        assert_eq!((row.ms(), row.floor_ms(), row.ratio()), (40.0, 25.0, 1.6));
        let json = &json(&[row])[0];
        assert_eq!((json["ms"].as_f64(), json["cpu_ms"].as_f64()), (Some(100.0), Some(80.0)));
        assert_eq!((json["ratio"].as_f64(), json["within_target"].as_bool()), (Some(1.6), Some(true)));
    }

    #[test]
    fn a_run_that_beats_a_mere_read_passes_nothing() {
        let row = Row { ratios: Span { wall: 0.97, cpu: 0.97 }, ..example(BenchClock::Wall) };
        assert_eq!((row.verdict(), row.target_text()), (Verdict::NoFloor, String::from("floor? 1.6")));
        assert_eq!(json_row(&row)["within_target"], json!(false));
        assert_eq!(json_row(&row)["floor_holds"], json!(false));
        assert!(doubt(&[row, example(BenchClock::Wall)]).starts_with("floor?: "));
        assert_eq!(doubt(&[example(BenchClock::Wall)]), "");
    }

    #[test]
    fn targets_are_those_of_type_and_threads() {
        let target = |dtype, threads| {
            let row = example(BenchClock::Wall);
            Row { point: Point { dtype, ..row.point }, threads, ..row }.target()
        };
        assert_eq!([target(DType::F16, 1), target(DType::F16, 2)], [1.8, 1.6]);
        assert_eq!([target(DType::Bf16, 1), target(DType::Bf16, 2), target(DType::Bf16, 8)], [1.5, 1.4, 1.4]);
    }
}
