//! What each benchmark is run with, and the measurements in what it writes.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;

/// A benchmark.
pub(super) struct Kind {
    /// As it is typed.
    pub(super) name: &'static str,
    /// Options for a run of some seconds.
    pub(super) arguments: &'static [&'static str],
    /// Fields that tell rows apart.
    keys: &'static [&'static str],
    /// Places of a row's measurements.
    measurements: &'static [&'static str],
    /// Places of measurements beside the rows; another program may write fewer.
    beside: &'static [&'static str],
}

/// Every benchmark.
pub(super) const KINDS: [Kind; 7] = [
    Kind {
        name: "decode",
        arguments: &["--sets", "a,d", "--repeats", "3"],
        keys: &["set", "dtype", "layout", "threads"],
        measurements: &["/ms", "/first_task_ms"],
        beside: &["/source_ms", "/source_to_first_task_ms"],
    },
    Kind {
        name: "plan",
        arguments: &["--repeats", "11"],
        keys: &["schedule", "lengths", "cores"],
        measurements: &["/plan/median_us", "/update/time/median_us"],
        beside: &[],
    },
    table(
        "runtime",
        &["--no-peers", "--sections", "graphs,stream,inference", "--rounds", "1", "--repeats", "3"],
    ),
    table("generate", &["--rounds", "1"]),
    // The first passes over a unit ask the system for memory; the median of four is of passes that have it.
    table("isa", &["--no-peers", "--rounds", "4"]),
    table("sim", &["--rounds", "3"]),
    table("aie", &["--graphs", "40"]),
];

/// A benchmark that writes rows of one measurement each.
const fn table(name: &'static str, arguments: &'static [&'static str]) -> Kind {
    Kind { name, arguments, keys: &["name", "workers", "measure"], measurements: &["/ours"], beside: &[] }
}

/// Which of two measurements is better.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Better {
    /// The smaller one: a time, or a size.
    #[default]
    Less,
    /// The larger one: a rate.
    More,
}

/// One measurement of a run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measurement {
    pub(super) name: String,
    pub(super) better: Better,
    pub(super) value: f64,
}

impl Kind {
    /// The measurements of a run; those that it could not take are left out.
    pub(super) fn measurements(&self, all: &Value) -> Result<Vec<Measurement>> {
        let rows =
            all["rows"].as_array().with_context(|| format!("the benchmark `{}` wrote no rows", self.name))?;
        let mut found = Vec::new();
        for row in rows {
            let keys = self.keys.iter().map(|key| match &row[*key] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            self.add(&keys.collect::<Vec<_>>().join(", "), self.measurements, row, &mut found)?;
        }
        let beside: Vec<&str> = self.beside.iter().copied().filter(|at| all.pointer(at).is_some()).collect();
        self.add("", &beside, all, &mut found)?;
        ensure!(!found.is_empty(), "the benchmark `{}` measured nothing", self.name);
        let mut names = BTreeSet::new();
        let again = found.iter().find(|measurement| !names.insert(&measurement.name));
        ensure!(
            again.is_none(),
            "the benchmark `{}` has two rows {:?}",
            self.name,
            again.map(|measurement| &measurement.name)
        );
        Ok(found)
    }

    fn add(&self, row: &str, places: &[&str], of: &Value, found: &mut Vec<Measurement>) -> Result<()> {
        for place in places {
            let value = of.pointer(place);
            let value =
                value.with_context(|| format!("a row of the benchmark `{}` has no `{place}`", self.name))?;
            let what = if *place == "/ours" { "" } else { place };
            let name = format!("{row}{}", what.replace('/', " ")).trim().to_owned();
            let rate = ["/s", "/ms"].iter().any(|unit| name.ends_with(unit));
            let better = if rate { Better::More } else { Better::Less };
            found.extend(value.as_f64().map(|value| Measurement { name, better, value }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(kind: &str, all: &Value) -> Result<Vec<(String, Better, f64)>> {
        let kind = KINDS.iter().find(|known| known.name == kind).context("a kind")?;
        Ok(kind.measurements(all)?.into_iter().map(|f| (f.name, f.better, f.value)).collect())
    }

    #[test]
    fn measurements_have_the_names_of_their_rows() {
        let row = json!({ "set": "a", "dtype": "f16", "layout": "NHD", "threads": 2, "ms": 31.5, "first_task_ms": 1.25 });
        assert_eq!(
            of("decode", &json!({ "rows": [row], "source_ms": 4.5 }))
                .expect("a good file, which lacks a figure"),
            [
                ("a, f16, NHD, 2 ms".to_owned(), Better::Less, 31.5),
                ("a, f16, NHD, 2 first_task_ms".to_owned(), Better::Less, 1.25),
                ("source_ms".to_owned(), Better::Less, 4.5),
            ]
        );
        let (plan, update) = (json!({ "median_us": 7.0 }), json!({ "time": { "median_us": 2.0 } }));
        let row =
            json!({ "schedule": "whole", "lengths": "x_16", "cores": 72, "plan": plan, "update": update });
        let found = of("plan", &json!({ "rows": [row] })).expect("a good file");
        assert_eq!(found[1], ("whole, x_16, 72 update time median_us".to_owned(), Better::Less, 2.0));
    }

    #[test]
    fn rates_are_better_when_they_are_larger_and_what_is_not_measured_is_left_out() {
        let row = |measure: &str, ours: Value| json!({ "name": "load", "workers": 1, "measure": measure, "ours": ours });
        let rows =
            [row("read ms", json!(3)), row("graph tasks/ms", json!(8.0)), row("verify M/s", Value::Null)];
        assert_eq!(
            of("isa", &json!({ "rows": rows })).expect("a good file"),
            [
                ("load, 1, read ms".to_owned(), Better::Less, 3.0),
                ("load, 1, graph tasks/ms".to_owned(), Better::More, 8.0)
            ]
        );
    }

    #[test]
    fn a_file_of_another_form_is_an_error() {
        for (all, part) in [
            (json!({}), "wrote no rows"),
            (json!({ "rows": [] }), "measured nothing"),
            (json!({ "rows": [{ "name": "x" }] }), "has no `/ours`"),
            (json!({ "rows": [{ "name": "x", "ours": 1 }, { "name": "x", "ours": 2 }] }), "has two rows"),
        ] {
            let fault = of("generate", &all).expect_err("a file without figures");
            assert!(fault.to_string().contains(part), "{fault}");
        }
    }
}
