//! The command line: which benchmarks there are, and what each takes.

use crate::command::{printed, run};

/// Benchmarks with their options. Each option is read by the benchmark.
const OPTIONS: &[(&str, &str)] = &[
    ("aie", "graphs quick json"),
    (
        "decode",
        "set schedule isa engine sets dtypes layouts threads repeats seed check clock peers install json",
    ),
    ("generate", "sections quick rounds json"),
    ("isa", "quick rounds peers no-peers taskflow json"),
    ("plan", "lens cores engine repeats json"),
    ("runtime", "sections quick full repeats rounds peers no-peers taskflow json"),
    ("sim", "sections quick rounds json"),
];

/// Options of every benchmark.
const EVERYWHERE: [&str; 4] = ["help", "version", "error-format", "color"];

#[test]
fn every_benchmark_and_every_option_has_its_place_in_a_table() {
    let help = printed(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut names: Vec<&str> = names.map(|line| line.split_whitespace().next().unwrap()).collect();
    names.retain(|name| *name != "help");
    names.sort_unstable();
    assert_eq!(names, OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, options) in OPTIONS {
        let help = printed(&[name, "--help"]);
        let listed = help.lines().filter_map(|line| {
            let rest = line.trim_start().strip_prefix("--")?;
            rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next()
        });
        let listed: Vec<&str> = listed.filter(|option| !EVERYWHERE.contains(option)).collect();
        assert_eq!(listed.join(" "), *options, "{name}");
    }
}

#[test]
fn wrong_command_lines_exit_with_2_and_say_what_to_type() {
    for (args, part) in [
        (&["decode", "--sets", "f"][..], "possible values"),
        (&["decode", "--seed", "-1"], "a seed is a whole number from 0 to 18446744073709551615"),
        (&["decod"], "'decode'"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
    let (code, _, err) = run(&["--error-format", "json"]);
    let fault: serde_json::Value = serde_json::from_str(&err).unwrap();
    let message = fault["message"].as_str().unwrap();
    assert!(code == 2 && message.contains("requires a subcommand"), "{err}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let (code, out, err) = run(&["plan", "--json", "none/b.json"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("mkdir -p none"), "{err}");
}
