//! Rows of the table, for people and for machines.

use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// What is asked of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Target {
    /// Small is good.
    AtMost(f64),
    /// Large is good.
    AtLeast(f64),
    /// Near to 0 is good, from below or above.
    Within(f64),
}

impl Target {
    fn value(self) -> f64 {
        match self {
            Target::AtMost(value) | Target::AtLeast(value) | Target::Within(value) => value,
        }
    }

    fn is_met(self, number: f64) -> bool {
        match self {
            Target::AtMost(most) => number <= most,
            Target::AtLeast(least) => number >= least,
            Target::Within(most) => number.abs() <= most,
        }
    }
}

/// One measurement of ours beside those of the peers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    /// What was run.
    pub(crate) name: String,
    /// Workers that ran it.
    pub(crate) workers: u32,
    /// What was measured, with its unit.
    pub(crate) measure: &'static str,
    /// Our measurement; of times, that on the wall.
    pub(crate) ours: f64,
    /// Of times, what all threads computed.
    pub(crate) cpu: Option<f64>,
    /// What is asked of it.
    pub(crate) target: Option<Target>,
    /// Measurements of the peers, in the order of the heading.
    pub(crate) peers: Vec<Option<f64>>,
    /// What they computed, as [`Row::cpu`].
    pub(crate) peers_cpu: Vec<Option<f64>>,
}

impl Row {
    /// A row without measurements.
    pub(crate) fn plain(name: &str, workers: u32, measure: &'static str) -> Row {
        let (peers, peers_cpu) = (Vec::new(), Vec::new());
        Row {
            name: name.to_owned(),
            workers,
            measure,
            ours: f64::NAN,
            cpu: None,
            target: None,
            peers,
            peers_cpu,
        }
    }
}

/// The heading.
pub(crate) fn heading(peers: &[&str]) -> String {
    let mut text =
        format!("{:<18}{:>2} {:<18}{:>8}{:>8}{:>8} {:<4}", "", "w", "", "ours", "cpu", "target", "");
    for peer in peers {
        let _ = write!(text, " {peer:>15}");
    }
    text.push('\n');
    text
}

/// One line: our measurement, its target, and each peer's measurement with how many times ours it is.
pub(crate) fn line(row: &Row) -> String {
    let cpu = row.cpu.map(number).unwrap_or_default();
    let mut text =
        format!("{:<18}{:>2} {:<18}{:>8}{cpu:>8}", row.name, row.workers, row.measure, number(row.ours));
    match row.target {
        Some(target) => {
            let verdict = if target.is_met(row.ours) { "pass" } else { "over" };
            let _ = write!(text, "{:>8} {verdict:<4}", number(target.value()));
        }
        None => text.push_str(&" ".repeat(13)),
    }
    for peer in &row.peers {
        let cell = match peer {
            Some(theirs) if row.ours.is_nan() => number(*theirs),
            Some(theirs) => format!("{} ({}x)", number(*theirs), ratio(theirs / row.ours)),
            None => "-".to_owned(),
        };
        let _ = write!(text, " {cell:>15}");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A number with three digits that say something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size.is_nan() => "-".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// How many times, to one digit after the point unless there are enough before it.
fn ratio(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// The rows for machines.
pub(crate) fn json(peers: &[&str], rows: &[Row]) -> Value {
    let one = |row: &Row| {
        let theirs = |numbers: &[Option<f64>]| -> Map<String, Value> {
            peers.iter().zip(numbers).map(|(name, number)| ((*name).to_owned(), json!(number))).collect()
        };
        json!({
            "name": row.name,
            "workers": row.workers,
            "measure": row.measure,
            "ours": row.ours,
            "cpu": row.cpu,
            "target": row.target.map(Target::value),
            "pass": row.target.map(|target| target.is_met(row.ours)),
            "peers": theirs(&row.peers),
            "peers_cpu": theirs(&row.peers_cpu),
        })
    };
    rows.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_line_has_the_target_and_how_many_times_slower_each_peer_is() {
        let row = Row {
            ours: 4.0,
            cpu: Some(3.9),
            target: Some(Target::AtMost(8.0)),
            peers: vec![Some(2.0), None, Some(160.0)],
            ..Row::plain("chain", 1, "run ns/task")
        };
        let over = Row { ours: 10.0, ..row.clone() };
        let free = Row { target: None, cpu: None, ..row.clone() };
        let none = Row { ours: f64::NAN, ..row.clone() };
        let text =
            heading(&["floor", "tbb", "taskflow"]) + &line(&row) + &line(&over) + &line(&free) + &line(&none);
        expect![[r#"
                               w                       ours     cpu  target                floor             tbb        taskflow
            chain              1 run ns/task           4.00    3.90    8.00 pass     2.00 (0.5x)               -     160 (40.0x)
            chain              1 run ns/task           10.0    3.90    8.00 over     2.00 (0.2x)               -     160 (16.0x)
            chain              1 run ns/task           4.00                          2.00 (0.5x)               -     160 (40.0x)
            chain              1 run ns/task              -    3.90    8.00 over            2.00               -             160
        "#]].assert_eq(&text);
        let value = json(&["floor", "tbb", "taskflow"], &[row, over]);
        assert_eq!(value[0]["pass"], true);
        assert_eq!(value[1]["pass"], false);
        assert_eq!(value[0]["peers"]["taskflow"], 160.0);
        assert!(value[0]["peers"]["tbb"].is_null());
    }

    #[test]
    fn a_target_from_below_is_met_from_above() {
        assert!(Target::AtLeast(5.0).is_met(5.0) && !Target::AtLeast(5.0).is_met(4.9));
        assert!(Target::AtMost(5.0).is_met(5.0) && !Target::AtMost(5.0).is_met(5.1));
        assert!(!Target::AtMost(5.0).is_met(f64::NAN));
    }
}
