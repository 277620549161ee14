//! `wsp sim --aicpus N`: AICPUs of a machine model in virtual time.

use crate::command::{Folder, printed, run};
use serde_json::Value;

fn simulated(args: &[&str]) -> Value {
    let text = printed(&[&["sim"], args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{args:?}: {fault}: {text}"))
}

fn number(report: &Value, key: &str) -> i64 {
    let found = key.split('.').fold(report, |at, key| &at[key]).as_i64();
    found.unwrap_or_else(|| panic!("no {key}: {report}"))
}

const MODEL: [&str; 2] = ["--model", "ascend_910b"];

#[test]
fn program_and_list_differ_by_the_transfer_of_their_bytes() {
    for (file, set) in [
        ("examples/graphs/softmax.wsp", "tiles=40"),
        ("examples/graphs/llama_flat.wsp", "seq=1024"),
        ("examples/graphs/bgemm_loops.wsp", "n=6"),
    ] {
        for aicpus in ["1", "2", "3", "4"] {
            let of = |expand: &str| {
                simulated(
                    &[&[file, "--set", set, "--aicpus", aicpus, "--expand", expand], &MODEL[..]].concat(),
                )
            };
            let (program, list) = (of("bytecode"), of("host"));
            let apart = |key: &str| number(&list, key) - number(&program, key);
            assert_eq!(apart("makespan_cycles"), apart("aicpus.transfer_cycles"), "{file} on {aicpus}");
            assert!(apart("aicpus.transfer_bytes") > 0, "{file} on {aicpus}");
            // Bytes at 25 GB/s, of a clock of 1.85 GHz.
            let cycles =
                |report: &Value| (number(report, "aicpus.transfer_bytes") as f64 * 1.85 / 25.0).round();
            assert_eq!(cycles(&list) as i64, number(&list, "aicpus.transfer_cycles"));
            assert_eq!(list["aicpus"]["each"].as_array().unwrap().len().to_string(), aicpus);
            assert_eq!(program, of("bytecode"), "{file} on {aicpus}");
        }
    }
}

/// Two tasks of 100 cycles, the second after the first, on one core of two: AICPU 0 has the first, AICPU 1 the second.
const CHAIN: &str = "
tensor x: f32[1];
kernel step(inout x) cost 100;
workload main { step(x); step(x); }
schedule { task_graph(pools = by_unit(1, 1)); }
";

#[test]
fn every_figure_of_a_model_counts_as_often_as_by_hand() {
    let model = printed(&["targets", "--model", "ascend_910b", "--toml"]);
    // How often each figure is on the way from launch to the end of the second task.
    for (table, key, times) in [
        ("aicpu", "generation", 1.0),
        ("aicpu", "poll", 1.0),
        ("aicpu", "retire", 1.0),
        ("aicpu", "notice", 1.0),
        ("aicpu", "completion", 1.0),
        ("aicpu", "dispatch", 2.0),
        ("aicpu", "start", 2.0),
        ("launch", "task", 2.0),
        ("launch", "first", 1.0),
        ("launch", "run", 1.0),
    ] {
        let (head, rest) = model.split_once(&format!("[{table}]\n")).expect("it has the table");
        let at = rest.find(&format!("\n{key} = ")).map_or(0, |at| at + 1);
        let figure = rest[at..].strip_prefix(&format!("{key} = {{ value = ")).expect("it has the figure");
        let (value, tail) = figure.split_once(',').expect("it ends");
        let seconds: f64 = value.parse().expect("it is a number");
        // A hundred times: far more than roundings to cycles.
        let changed =
            format!("{head}[{table}]\n{}{key} = {{ value = {:e},{tail}", &rest[..at], seconds * 100.0);
        let folder = Folder::with(&[("chain.wsp", CHAIN), ("m.toml", &model), ("c.toml", &changed)]);
        let path = |name: &str| folder.path(name).display().to_string();
        let makespan = |model: &str| {
            let report = simulated(&[&path("chain.wsp"), "--model", &path(model), "--aicpus", "2"]);
            number(&report, "makespan_cycles") as f64
        };
        let added = makespan("c.toml") - makespan("m.toml");
        let expected = times * 99.0 * seconds * 1.85e9;
        assert!((added - expected).abs() < 4.0, "{table}.{key}: {added} cycles instead of {expected}");
    }
}

#[test]
fn traces_have_rows_of_the_launch_and_of_aicpus() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let (file, trace) = (folder.path("chain.wsp"), folder.path("t.json"));
    let (file, trace) = (file.display().to_string(), trace.display().to_string());
    printed(&[&["sim", &file, "--aicpus", "2", "--trace", &trace], &MODEL[..]].concat());
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let rows = events.iter().filter(|event| event["name"] == "thread_name");
    let named = |row: &&Value| row["tid"].as_u64().unwrap() >= 2_000_000;
    let rows: Vec<&str> = rows.filter(named).map(|row| row["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(rows, ["launch", "AICPU 0", "AICPU 1"]);
    let on = |tid: u64| {
        let of = events.iter().filter(move |event| event["ph"] == "X" && event["tid"] == tid);
        of.map(|event| event["name"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(on(2_000_000), ["launch", "transfer"]);
    assert_eq!(on(2_000_001), ["generation", "dispatch", "polls", "retirement"]);
    assert_eq!(on(2_000_002), ["generation", "dispatch", "polls", "retirement"]);
}

#[test]
fn programs_and_schedules_of_virtual_time_run_on_aicpus_too() {
    let tasks = |report: &Value| {
        let of = report["kernels"].as_array().unwrap().iter().map(|kernel| kernel["tasks"].as_u64().unwrap());
        of.sum::<u64>()
    };
    for file in ["examples/row_softmax.pto", "examples/moe/moe.wsp", "examples/llama_layer/layer.wsp"] {
        let plain = simulated(&[&[file], &MODEL[..]].concat());
        let found = simulated(&[&[file, "--aicpus", "3"], &MODEL[..]].concat());
        assert_eq!(tasks(&plain), tasks(&found), "{file}");
        let each = found["aicpus"]["each"].as_array().unwrap().iter();
        assert_eq!(each.map(|each| each["tasks"].as_u64().unwrap()).sum::<u64>(), tasks(&found), "{file}");
        assert!(number(&found, "makespan_cycles") > number(&plain, "makespan_cycles"), "{file}");
    }
    // Without a machine AICPUs take no time: one is the plain schedule.
    let cycles = CHAIN.replace("pools = by_unit(1, 1)", "trace = cycles, ready = fifo");
    let folder = Folder::with(&[("chain.wsp", &cycles)]);
    let file = folder.path("chain.wsp").display().to_string();
    let of = |args: &[&str]| -> Value {
        let text = printed(&[&["run", &file, "--threads", "2", "--stats", "json"], args].concat());
        serde_json::from_str(&text).expect("it is JSON")
    };
    assert_eq!(of(&["--aicpus", "1"])["virtual_time"], of(&[])["virtual_time"]);
    let two = of(&["--aicpus", "2"]);
    assert_eq!(number(&two, "virtual_time.cycles"), 200);
    assert_eq!(two["aicpus"]["each"].as_array().unwrap().len(), 2);
}

#[test]
fn what_has_no_aicpus_says_what_to_type() {
    let model = printed(&["targets", "--model", "ascend_910b", "--toml"]);
    let slow = model.replace("dispatch = { value = 4.5e-6", "dispatch = { value = 4.5e12");
    assert_ne!(model, slow);
    let grouped = CHAIN
        .replace("task_graph(pools = by_unit(1, 1));", "core_groups(2); task_graph(ready = work_steal);");
    let folder = Folder::with(&[("chain.wsp", CHAIN), ("slow.toml", &slow), ("grouped.wsp", &grouped)]);
    let at = |name: &str| folder.path(name).display().to_string();
    let (chain, slow, grouped) = (at("chain.wsp"), at("slow.toml"), at("grouped.wsp"));
    for (args, code, says) in [
        (
            vec!["examples/graphs/softmax.wsp", "--model", "cpu", "--aicpus", "1"],
            1,
            "machine model `cpu` has no AICPUs",
        ),
        (vec![&chain, "--model", "ascend_910b", "--aicpus", "5"], 1, "write `--aicpus 4` or fewer"),
        (vec![&chain, "--model", "ascend_910b", "--aicpus", "0"], 2, "from 1 to 1024"),
        (vec![&chain, "--model", &slow, "--aicpus", "1"], 1, "`aicpu.dispatch` takes 8.325e21 cycles"),
        (vec![&chain, "--model", "ascend_910b", "--expand", "host"], 1, "needs `--aicpus N`"),
        (
            vec![&chain, "--model", "ascend_910b", "--aicpus", "2", "--seed", "3"],
            1,
            "`--seed` has no meaning",
        ),
        (vec![&grouped, "--model", "ascend_910b", "--aicpus", "2"], 1, "AICPUs do not support"),
        (
            vec!["examples/row_softmax.pto", "--model", "ascend_910b", "--aicpus", "2", "--expand", "host"],
            1,
            "is for workloads",
        ),
    ] {
        let (found, out, err) = run(&[&["sim"], &args[..]].concat());
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
}
