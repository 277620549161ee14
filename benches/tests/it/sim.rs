//! `cargo xtask bench sim` from outside.

use crate::command::printed;
use serde_json::Value;

#[test]
fn every_figure_is_printed_beside_its_goal() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.json");
    let text = printed(&["sim", "--quick", "--sections", "simulate,trace", "--json", file.to_str().unwrap()]);
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let rows = all["rows"].as_array().unwrap();
    for row in rows {
        let (name, measure) = (row["name"].as_str().unwrap(), row["measure"].as_str().unwrap());
        assert!(text.lines().any(|line| line.starts_with(name) && line.contains(measure)), "{row}\n{text}");
    }
    for (name, measure, goal) in [
        ("llama_table", "simulated M/s", 5.0),
        ("record", "bytes/task", 48.0),
        ("llama_table", "bytes/task", 80.0),
        ("independent", "trace ns/task", 30.0),
    ] {
        let is_it = |row: &&Value| row["name"] == name && row["measure"] == measure;
        let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {text}"));
        assert_eq!(row["target"].as_f64(), Some(goal), "{row}");
    }
    // Sizes do not depend on the machine.
    let sizes = rows.iter().filter(|row| row["measure"] == "bytes/task");
    assert!(sizes.clone().count() == 3 && sizes.clone().all(|row| row["pass"] == true), "{text}");
}
