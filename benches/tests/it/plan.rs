//! `cargo xtask bench plan` from outside: every row is printed, and scripts can read them.
use serde_json::Value;
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wsp-bench")).args(["plan"]).args(args).output().unwrap()
}

#[test]
fn lengths_of_a_folder_give_a_row_per_schedule_and_number_of_cores() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(at("lens_mine_3.txt"), "900\n0\n6000\n").unwrap();
    std::fs::write(at("other.md"), "not lengths\n").unwrap();
    let folder = dir.path().display().to_string();
    let file = at("plans.json");
    let output = bench(&["--lens", &folder, "--cores", "3,40", "--repeats", "2", "--json", &file]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let all: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let rows = all["rows"].as_array().unwrap();
    assert_eq!(text.lines().filter(|line| line.contains(" mine_3 ")).count(), rows.len());
    let cases: Vec<(&str, u64)> =
        rows.iter().map(|r| (r["schedule"].as_str().unwrap(), r["cores"].as_u64().unwrap())).collect();
    let schedules = ["balanced", "whole", "fixed", "document"];
    assert_eq!(cases, schedules.iter().flat_map(|s| [(*s, 3), (*s, 40)]).collect::<Vec<_>>());
    let of = |schedule: &str, cores: u64| {
        rows.iter().find(|r| r["schedule"] == schedule && r["cores"] == cores).unwrap()
    };
    // One item per request and head, or a piece of 512 tokens: 2, 1 and 12 per head.
    assert_eq!(of("whole", 3)["pieces"], 3 * 8);
    assert_eq!(of("fixed", 40)["pieces"], 15 * 8);
    assert!(of("balanced", 40)["balance"].as_f64().unwrap() < 1.03);
    assert_eq!(of("whole", 3)["tokens_per_core"], 6900.0 * 8.0 / 3.0);
}

#[test]
fn updates_of_balanced_plans_are_patches() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    // Of 40 requests under 8 heads each of 8 cores has 40, which grow alike.
    std::fs::write(at("even.txt"), "5000\n".repeat(40)).unwrap();
    let (folder, file) = (dir.path().display().to_string(), at("plans.json"));
    let output = bench(&["--lens", &folder, "--cores", "8", "--repeats", "5", "--json", &file]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let balanced = all["rows"].as_array().unwrap().iter().find(|row| row["schedule"] == "balanced").unwrap();
    assert_eq!((&balanced["update"]["patched"], &balanced["update"]["advances"]), (&5.into(), &5.into()));
}

#[test]
fn a_folder_without_lengths_is_an_error_that_says_what_to_give() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().display().to_string();
    let output = bench(&["--lens", &folder]);
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("there is no `.txt` file") && text.contains("one length per line"), "{text}");
}
