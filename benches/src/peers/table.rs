//! The table of ours and theirs.

use super::team::{Measured, PEERS, PeerTimes};
use crate::table::{Row, Verdict, doubt, json_row, letter, ms};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What is further off than this computes something else, and does not count.
pub(crate) const WRONG: f64 = 1e-2;
/// How many times faster than llama.cpp decode attention should be, and than the best other peer.
const FASTER: (f64, f64) = (3.0, 2.0);
/// The peer that the first of these is about.
const FIRST: &str = "llama.cpp";

/// One measurement of ours beside theirs, taken in turn.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    /// Ours.
    pub(crate) row: Row,
    /// Our largest error against f64, relative to the larger of 1 and the value.
    pub(crate) error: f64,
    /// Theirs.
    pub(crate) peers: Vec<PeerTimes>,
}

impl Compared {
    /// The fastest form of a peer that is right, and how many times slower than ours it is.
    fn best<'a>(&self, peer: &'a PeerTimes) -> Option<(&'a Measured, f64)> {
        let right = peer.forms.iter().filter(|m| m.form.error.is_some_and(|error| error <= WRONG));
        let best = right.min_by(|a, b| self.ms(a).total_cmp(&self.ms(b)))?;
        Some((best, self.ms(best) / self.row.ms()))
    }

    fn ms(&self, measured: &Measured) -> f64 {
        ms(measured.run, self.row.clock, self.row.threads)
    }

    /// How many times slower than ours the fastest of the peers is that `wanted` takes.
    fn times(&self, wanted: impl Fn(&str) -> bool) -> Option<f64> {
        let peers = self.peers.iter().filter(|peer| wanted(peer.name));
        peers.filter_map(|peer| Some(self.best(peer)?.1)).min_by(f64::total_cmp)
    }
}

/// The heading.
pub(crate) fn heading() -> String {
    let mut text = format!(
        "{:<4}{:<6}{:<8}{:>7}{:>10}{:>10}{:>7}{:>12}{:>9}",
        "set", "type", "layout", "threads", "floor ms", "ours ms", "ratio", "target", "error"
    );
    for (name, _) in PEERS {
        let _ = write!(text, "{:>24}", format!("{name} ms"));
    }
    text + "\n"
}

/// A line of the table.
pub(crate) fn line(compared: &Compared) -> String {
    let row = &compared.row;
    let mut text = format!(
        "{:<4}{:<6}{:<8}{:>7}{:>10.2}{:>10.2}{:>7.2}{:>12}{:>9.0e}",
        letter(row.point.set),
        row.point.dtype.name(),
        row.point.layout.name(),
        row.threads,
        row.floor_ms(),
        row.ms(),
        row.ratio(),
        row.target_text(),
        compared.error,
    );
    for (name, _) in PEERS {
        let peer = compared.peers.iter().find(|peer| peer.name == name);
        let cell = match peer.map(|peer| compared.best(peer)) {
            None => "-".to_owned(),
            Some(None) => "wrong".to_owned(),
            Some(Some((best, times))) => {
                let error = best.form.error.unwrap_or(f64::NAN);
                format!("{:.2} ({times:.1}x) {error:.0e}", compared.ms(best))
            }
        };
        let _ = write!(text, "{cell:>24}");
    }
    text + "\n"
}

/// What the table does not say by itself.
pub(crate) fn notes(rows: &[Compared], missing: &[String]) -> String {
    let mut text = String::new();
    for line in missing {
        let _ = writeln!(text, "{line}");
    }
    for (name, _) in PEERS {
        let forms = fastest_forms(rows, name);
        if !forms.is_empty() {
            let _ = writeln!(text, "{name}, fastest form: {}", forms.join(", "));
        }
    }
    let within = rows.iter().filter(|c| c.row.verdict() == Verdict::Pass).count();
    let _ = writeln!(text, "ratio to the floor within the target: {within} of {} rows", rows.len());
    text += &doubt(rows.iter().map(|c| &c.row));
    let others = |name: &str| name != FIRST;
    for (what, target, times) in [
        (FIRST, FASTER.0, rows.iter().map(|c| c.times(|name| name == FIRST)).collect::<Vec<_>>()),
        ("the best other peer", FASTER.1, rows.iter().map(|c| c.times(others)).collect()),
    ] {
        let known: Vec<f64> = times.into_iter().flatten().collect();
        if let Some(least) = known.iter().copied().min_by(f64::total_cmp) {
            let enough = known.iter().filter(|t| **t >= target).count();
            let _ = writeln!(
                text,
                "{target:.0}x faster than {what}: {enough} of {} rows; {least:.1}x at least",
                known.len()
            );
        }
    }
    text
}

/// The forms of a peer that were the fastest somewhere, with the number of rows.
fn fastest_forms(rows: &[Compared], name: &str) -> Vec<String> {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for compared in rows {
        let peer = compared.peers.iter().find(|peer| peer.name == name);
        let Some((best, _)) = peer.and_then(|peer| compared.best(peer)) else { continue };
        match counts.iter_mut().find(|(form, _)| *form == best.form.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((&best.form.name, 1)),
        }
    }
    counts.iter().map(|(form, count)| format!("{form} ({count} of {})", rows.len())).collect()
}

/// The rows for machines.
pub(crate) fn json(rows: &[Compared]) -> Value {
    rows.iter().map(one).collect()
}

fn one(compared: &Compared) -> Value {
    let form = |m: &Measured| {
        json!({
            "name": m.form.name, "error": m.form.error, "ms": m.run.wall / 1e6, "cpu_ms": m.run.cpu / 1e6,
        })
    };
    let peer = |peer: &PeerTimes| {
        let best = compared.best(peer);
        json!({
            "name": peer.name,
            "version": peer.version,
            "forms": peer.forms.iter().map(form).collect::<Vec<_>>(),
            "best": best.map(|(measured, _)| &measured.form.name),
            "times_ours": best.map(|(_, times)| times),
        })
    };
    let mut value = json_row(&compared.row);
    value["error"] = json!(compared.error);
    value["peers"] = compared.peers.iter().map(peer).collect();
    value
}

#[cfg(test)]
mod tests {
    use super::super::process::Form;
    use super::*;
    use crate::args::BenchClock;
    use crate::runtime::measure::Span;
    use crate::table::example;
    use expect_test::expect;

    fn form(name: &str, error: Option<f64>, ms: f64) -> Measured {
        let form = Form { name: name.to_owned(), error };
        Measured { form, run: Span { wall: ms * 1e6, cpu: ms * 2e6 } }
    }

    fn compared() -> Compared {
        let peer = |name, forms| PeerTimes { name, version: "1.0".to_owned(), forms };
        Compared {
            row: example(BenchClock::Wall),
            error: 3e-7,
            peers: vec![
                peer("llama.cpp", vec![form("f16", Some(8e-4), 350.0), form("bf16", Some(1e-3), 310.0)]),
                peer("onnxruntime", vec![form("f16", Some(0.5), 90.0), form("f32", Some(1e-7), 150.0)]),
                peer("numpy", vec![form("f32", None, 50.0)]),
            ],
        }
    }

    #[test]
    fn each_peer_is_shown_in_its_fastest_form_that_is_right() {
        let text = heading() + &line(&compared());
        expect![[r#"
            set type  layout  threads  floor ms   ours ms  ratio      target    error            llama.cpp ms          onnxruntime ms                numpy ms                torch ms
            a   f16   NHD           2     25.00    100.00   4.00    over 1.6     3e-7      310.00 (3.1x) 1e-3      150.00 (1.5x) 1e-7                   wrong                       -
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn notes_say_what_is_missing_and_what_the_targets_come_to() {
        let missing = ["torch is left out: it needs torch; type `pip install torch`".to_owned()];
        expect![[r#"
            torch is left out: it needs torch; type `pip install torch`
            llama.cpp, fastest form: bf16 (2 of 2)
            onnxruntime, fastest form: f32 (2 of 2)
            ratio to the floor within the target: 0 of 2 rows
            3x faster than llama.cpp: 2 of 2 rows; 3.1x at least
            2x faster than the best other peer: 0 of 2 rows; 1.5x at least
        "#]]
        .assert_eq(&notes(&[compared(), compared()], &missing));
        assert_eq!(notes(&[], &[]), "ratio to the floor within the target: 0 of 0 rows\n");
    }

    #[test]
    fn machines_get_every_form() {
        let json = &json(&[compared()])[0];
        assert_eq!((json["set"].as_str(), json["error"].as_f64()), (Some("a"), Some(3e-7)));
        let [llama, _, numpy] = json["peers"].as_array().unwrap().as_slice() else { panic!("{json}") };
        assert_eq!((llama["best"].as_str(), llama["times_ours"].as_f64()), (Some("bf16"), Some(3.1)));
        assert_eq!(
            (llama["forms"][0]["ms"].as_f64(), llama["forms"][0]["cpu_ms"].as_f64()),
            (Some(350.0), Some(700.0))
        );
        assert!(
            numpy["best"].is_null() && numpy["times_ours"].is_null() && numpy["forms"][0]["error"].is_null()
        );
    }
}
