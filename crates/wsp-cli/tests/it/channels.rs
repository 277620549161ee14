//! What the commands tell of channels, before a run and after it.

use crate::command;
use serde_json::Value;

fn run(args: &[&str]) -> String {
    let (code, out, err) = command::run(args);
    assert_eq!(code, 0, "{args:?}\n{out}\n{err}");
    out
}

const PIPELINE: &str = "examples/graphs/pipeline.wsp";

/// The channels of a summary.
fn channels(summary: &str) -> Vec<Value> {
    let summary: Value = serde_json::from_str(summary).unwrap();
    summary["channels"].as_array().unwrap().clone()
}

#[test]
fn every_run_tells_what_went_through_channels() {
    let folder = tempfile::tempdir().unwrap();
    for (at, more) in
        [&["--threads", "2"][..], &["--aicpus", "3"], &["--schedule", "timed"]].into_iter().enumerate()
    {
        let base = ["run", PIPELINE, "--set", "tiles=9", "--stats", "json"];
        let found = channels(&run(&[&base[..], more].concat()));
        let of = |of: &Value| {
            [&of["name"], &of["sender"], &of["receiver"]].map(|of| of.as_str().unwrap().to_owned())
        };
        assert_eq!(
            found.iter().map(of).collect::<Vec<_>>(),
            [["ready", "loads", "multiplies"], ["done", "multiplies", "stores"]]
        );
        for channel in &found {
            assert_eq!((&channel["tokens"], &channel["depth"]), (&9.into(), &2.into()), "{more:?}");
            assert!((1..=2).contains(&channel["fullest"].as_u64().unwrap()), "{channel}");
        }
        // Every task takes 100 cycles.
        if at == 2 {
            let waited = |of: &Value| of["receiver_waited"].as_u64().unwrap();
            assert!(
                found.iter().all(|of| of["unit"] == "cycles" && waited(of) > 0 && waited(of) % 100 == 0),
                "{found:?}"
            );
        }
        // A trace says the same, and so does its report.
        for (form, is_json) in [("pftrace", false), ("json", true)] {
            let trace = folder.path().join(format!("{at}.{form}")).display().to_string();
            let printed =
                run(&[&["run", PIPELINE, "--set", "tiles=9", "--trace", &trace][..], more].concat());
            let line = printed.lines().find(|line| line.contains("channels   ready 9 tokens")).unwrap();
            let told = run(&["report", &trace, "--text"]);
            assert!(told.contains(line.trim()), "{line}\n{told}");
            let bytes = std::fs::read(&trace).unwrap();
            let counters =
                String::from_utf8_lossy(&bytes).matches("\"name\":\"slots of ready\",\"ph\":\"C\"").count();
            assert!(is_json == (counters > 1), "{form}: {counters}");
        }
    }
    let simulated = run(&["sim", PIPELINE, "--model", "cpu", "--set", "tiles=9", "--json"]);
    assert_eq!(channels(&simulated).len(), 2);
}

#[test]
fn values_decide_what_a_check_tells_of_a_pipeline() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.wsp").display().to_string();
    let text = "param n; param m; kernel k(); workload main { channel c[1]; pipeline {
        process p { parallel for i in 0..n { send c as s { k(); } } } process q { parallel for i in 0..m { consume c as s { } } } } }";
    std::fs::write(&file, text).unwrap();
    assert!(
        run(&["check", &file])
            .contains("undecided here, a run tells: line 2 needs a value, and `n` has no value")
    );
    let ended = run(&["check", &file, "--set", "n=3", "--set", "m=3"]);
    assert!(
        ended.contains("every process ends\n    c: n = 3 sent, m = 3 consumed, depth 1, at least 0"),
        "{ended}"
    );
    let (code, _, err) = command::run(&["check", &file, "--set", "n=3", "--set", "m=4"]);
    assert!(code == 1 && err.contains("WSP0820"), "{err}");
    let (_, _, err) = command::run(&["check", &file, "--set", "n=5", "--set", "m=4"]);
    assert!(err.contains("WSP0822") && err.contains("tokens are left in channel `c`"), "{err}");
    for (set, part) in
        [("k=3", "there is no parameter `k`"), ("n=1.5", "takes an integer"), ("max_blocks=3", "max_blocks")]
    {
        let (code, _, err) = command::run(&["check", &file, "--set", set]);
        assert!(code != 0 && err.contains(part), "{set}: {err}");
    }
    let (code, _, err) = command::run(&["check", &file, "examples/row_softmax.pto", "--set", "n=3"]);
    assert!(code != 0 && err.contains("is for workloads"), "{err}");
    // What a cache knows of one value it does not know of another.
    let cache = folder.path().join("cache").display().to_string();
    let found = |n: &str| run(&["check", &file, "--set", n, "--set", "m=3", "--cache", &cache]);
    assert!(found("n=3").contains("cache") && found("n=3").contains("cache"));
    let (code, _, err) = command::run(&["check", &file, "--set", "n=2", "--set", "m=3", "--cache", &cache]);
    assert!(code == 1 && err.contains("WSP0820"), "{err}");
}
