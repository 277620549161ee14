//! `cargo xtask bench generate` from outside.

use crate::command::printed;
use serde_json::Value;

#[test]
fn the_bench_prints_every_row_for_people_and_machines() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.json");
    let text = printed(&["generate", "--quick", "--json", file.to_str().unwrap()]);
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let rows = all["rows"].as_array().unwrap();
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let printed =
            text.lines().any(|l| l.starts_with(name) && l.contains(row["measure"].as_str().unwrap()));
        assert!(printed, "{row}\n{text}");
    }
    for name in ["dense, by the host", "host, steps"] {
        assert!(rows.iter().any(|row| row["name"] == name && row["ours"].as_f64() > Some(0.0)), "{text}");
    }
    let targets = rows.iter().filter(|row| !row["target"].is_null()).count();
    assert!(rows.len() > 30 && targets >= 9, "{} rows, {targets} targets", rows.len());
}
