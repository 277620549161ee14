//! `cargo xtask bench isa` from outside.

use crate::command::printed;
use serde_json::Value;

#[test]
fn the_benchmark_prints_every_row_and_writes_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.json");
    let text = printed(&["isa", "--quick", "--no-peers", "--json", file.to_str().unwrap()]);
    let all: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let rows = all["rows"].as_array().unwrap();
    for (name, count) in
        [("assemble", 3), ("load", 3), ("load, no names", 3), ("invoke random", 1), ("launch random", 2)]
    {
        assert_eq!(rows.iter().filter(|row| row["name"] == name).count(), count, "{name}");
        assert!(text.contains(name), "{text}");
    }
}
