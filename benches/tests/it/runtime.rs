//! `cargo xtask bench runtime` from outside: every row is printed, and scripts can read them.

use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wsp-bench"));
    command.current_dir(dir.path()).args(["runtime"]).args(args).output().unwrap()
}

#[test]
fn without_peers_every_row_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.json").display().to_string();
    let output = bench(&["--quick", "--no-peers", "--json", &file]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let rows = all["rows"].as_array().unwrap();
    let count = |name: &str| rows.iter().filter(|row| row["name"] == name).count();
    for graph in ["independent", "chain", "wavefront", "random"] {
        assert_eq!(count(graph), 2 * 5, "{graph}: 1 and 2 workers, 5 measures");
    }
    for pattern in ["trivial", "no_comm", "stencil_1d", "fft", "tree", "random_nearest", "spread"] {
        for width in [4, 16] {
            assert_eq!(count(&format!("{pattern} {width}")), 1);
        }
    }
    for (name, expected) in [
        ("stream", 4),
        ("stream, 64 cells", 4),
        ("stream, boxes once", 4),
        ("llama_table", 2),
        ("llama_flat", 2),
        ("token [2]", 4),
        ("token, two tasks [64]", 4),
        ("crossbeam [64]", 2),
    ] {
        assert_eq!(count(name), expected, "{name}");
    }
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let printed =
            text.lines().any(|l| l.starts_with(name) && l.contains(row["measure"].as_str().unwrap()));
        assert!(printed, "{row}\n{text}");
        assert_eq!(row["target"].is_null(), row["pass"].is_null(), "{row}");
    }
    let with_target = rows.iter().filter(|row| !row["target"].is_null());
    let measures: BTreeSet<&str> = with_target.map(|row| row["measure"].as_str().unwrap()).collect();
    let expected = [
        "METG(50%) us",
        "build ns/task",
        "bytes/task",
        "graph tasks/ms",
        "map ns/access",
        "memory growth MiB",
        "re-run ns/task",
        "run ns/task",
        "us/run",
    ];
    assert_eq!(measures, expected.into());
}

#[test]
fn a_part_of_the_table_can_be_asked_for() {
    let output = bench(&["--quick", "--no-peers", "--sections", "inference"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("llama_table") && !text.contains("wavefront") && !text.contains("stream"),
        "{text}"
    );
}

#[test]
fn a_folder_without_peers_is_named() {
    let here = bench(&["--quick", "--sections", "graphs"]);
    let text = String::from_utf8(here.stdout).unwrap();
    assert!(
        here.status.success() && text.contains("peers are left out") && text.contains("wavefront"),
        "{text}"
    );
    for (args, part) in [
        (["--peers", "."], "not the folder of the peers"),
        (["--taskflow", "."], "peers are left out"),
        (["--sections", "speed"], "possible values"),
    ] {
        let output = bench(&[&["--quick"], &args[..]].concat());
        let all = [output.stdout, output.stderr].concat();
        assert!(String::from_utf8_lossy(&all).contains(part), "{args:?}: {}", String::from_utf8_lossy(&all));
    }
}
