//! Tasks that AICPUs generate, from the command line: `wsp run --aicpus`, `wsp plan --bytes`.

use crate::command::{printed, root, run};
use serde_json::Value;
use std::path::Path;

const LLAMA: &str = "examples/generate/llama_attention.wsp";
const SOFTMAX: &str = "examples/graphs/softmax.wsp";

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

/// The codes that a command reports, after checking that it fails with diagnostics only.
fn faults(args: &[&str]) -> Vec<String> {
    let (code, out, err) = run(&[args, &["--error-format", "json"]].concat());
    assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
    let code = |line: &str| serde_json::from_str::<Value>(line).unwrap()["code"].as_str().unwrap().to_owned();
    err.lines().map(code).collect()
}

fn tasks(stats: &Value) -> u64 {
    stats["aicpus"]["each"].as_array().unwrap().iter().map(|a| a["tasks"].as_u64().unwrap()).sum()
}

/// Tensors of `llama_table`, whose tasks write 32 of every 64 rows.
const HALVES: [&str; 15] = [
    "output",
    "temp_norm",
    "all_q_tiles",
    "all_k_tiles",
    "all_v_tiles",
    "all_q_rope",
    "all_k_rope",
    "all_attn_out",
    "temp_scores",
    "temp_attn_weights",
    "all_hidden",
    "temp_gate",
    "temp_up",
    "temp_swiglu",
    "temp_mlp_out",
];

#[test]
fn every_graph_runs_on_aicpus_with_the_bits_of_a_sequential_run() {
    for (file, set) in [
        (SOFTMAX, "tiles=9"),
        ("examples/graphs/bgemm_tree.wsp", "tiles=3"),
        ("examples/graphs/bgemm_loops.wsp", "n=2"),
        ("examples/graphs/llama_flat.wsp", "seq=128"),
        ("examples/graphs/llama_table.wsp", "seq=128"),
        (LLAMA, "seq=128"),
    ] {
        for aicpus in ["1", "3", "16"] {
            for expand in ["bytecode", "host"] {
                let mut args = vec![
                    "run", file, "--set", set, "--aicpus", aicpus, "--expand", expand, "--stats", "json",
                ];
                if file.ends_with("llama_table.wsp") {
                    args.extend(HALVES.iter().flat_map(|name| ["--allow-unwritten", name]));
                }
                let stats = json(&args);
                assert_eq!(stats["check"]["passed"], true, "{args:?}: {stats}");
                let all: u64 =
                    stats["tasks"].as_array().unwrap().iter().map(|k| k["tasks"].as_u64().unwrap()).sum();
                assert_eq!(tasks(&stats), all, "{args:?}");
            }
        }
    }
}

#[test]
fn kernels_of_a_used_file_run_on_aicpus() {
    for aicpus in ["2", "5"] {
        let text = printed(&["run", "examples/moe/moe.wsp", "--aicpus", aicpus]);
        assert!(text.contains(&format!("{aicpus} AICPUs")) && text.contains(" ok"), "{text}");
    }
}

#[test]
fn bytecode_without_a_number_is_one_aicpu() {
    let stats = json(&["run", SOFTMAX, "--expand", "bytecode", "--stats", "json"]);
    assert_eq!(stats["aicpus"]["each"].as_array().unwrap().len(), 1);
    let stats = json(&["run", SOFTMAX, "--expand", "host", "--stats", "json"]);
    assert!(stats["aicpus"].is_null());
}

#[test]
fn programs_of_spaces_give_the_bits_of_threads_on_aicpus() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("outputs.npz");
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "pto") {
            continue;
        }
        let outputs = |more: &[&str]| {
            let given = ["run", file.to_str().unwrap(), "--outputs", at.to_str().unwrap()];
            let (code, _, said) = run(&[&given[..], more].concat());
            // Kernels of task graphs are run by units.
            (code == 0).then(|| std::fs::read(&at).unwrap()).ok_or(said)
        };
        let Ok(on_threads) = outputs(&["--threads", "2"]) else { continue };
        for aicpus in ["1", "3", "8"] {
            let on_aicpus = outputs(&["--aicpus", aicpus]).unwrap_or_else(|said| panic!("{said}"));
            assert!(on_aicpus == on_threads, "{}, {aicpus} AICPUs", file.display());
        }
        compared += 1;
    }
    assert!(compared >= 3, "{compared} programs");
}

#[test]
fn a_summary_says_what_aicpus_were_given_and_did() {
    let text = printed(&["run", SOFTMAX, "--aicpus", "4"]);
    for part in ["4 AICPUs on ", "10 tasks each", "of program", "across"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = printed(&["run", SOFTMAX, "--aicpus", "4", "--expand", "host"]);
    assert!(text.contains("a list of all tasks, made by the host"), "{text}");
}

#[test]
fn traces_name_every_task() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.json");
    printed(&["run", SOFTMAX, "--aicpus", "3", "--trace", file.to_str().unwrap()]);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), 40);
}

#[test]
fn the_program_of_llama_attention_is_smaller_than_its_targets() {
    let plan = json(&["plan", "--bytes", LLAMA, "--json"]);
    let bytes = |name: &str| plan["bytes"][name].as_u64().unwrap();
    assert!(bytes("program") <= 512, "{plan}");
    assert!(bytes("program_and_config") <= 1024, "{plan}");
    assert_eq!(plan["host_list"]["tasks"], 4 * 32 * 512 * 512);
    // The same bytes for another shape.
    let small = json(&["plan", "--bytes", LLAMA, "--json", "--set", "seq=64", "--set", "batch=1"]);
    assert_eq!(small["bytes"]["program"], plan["bytes"]["program"]);
    assert_eq!(small["host_list"]["tasks"], 32 * 2 * 2);
}

#[test]
fn bytes_are_printed_for_people_too() {
    let text = printed(&["plan", "--bytes", SOFTMAX, "--aicpus", "6"]);
    for part in ["program", "names", "312 bytes for 6 AICPUs", "host list", "ratio"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn options_that_have_no_meaning_are_refused() {
    let pto = "examples/decode_attention.pto";
    for args in [
        &["run", pto, "--expand", "host"][..],
        &["plan", "--bytes", pto],
        &["plan", SOFTMAX],
        &["plan", "--bytes", SOFTMAX, "--generate", "batch=3"],
        &["plan", "--bytes", SOFTMAX, "--seed", "5"],
        &["plan", "--bytes", SOFTMAX, "--set", "kv_layout=NHD"],
    ] {
        assert_eq!(faults(args), ["WSP0882"], "{args:?}");
    }
    for args in [
        &["run", SOFTMAX, "--aicpus", "0"][..],
        &["run", SOFTMAX, "--aicpus", "1025"],
        &["run", SOFTMAX, "--expand", "codegen"],
        &["plan", SOFTMAX, "--aicpus", "4"],
        &["plan", "--bytes", SOFTMAX, "--limit", "5"],
    ] {
        assert_eq!(run(args).0, 2, "{args:?}");
    }
}

#[test]
fn the_program_of_a_workload_is_printed_and_assembled_again() {
    let dir = tempfile::tempdir().unwrap();
    let [direct, text, again] = ["a.ptow", "a.ptows", "b.ptow"].map(|name| dir.path().join(name));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    printed(&["asm", LLAMA, "-o", &path(&direct)]);
    printed(&["disasm", LLAMA, "-o", &path(&text)]);
    printed(&["asm", &path(&text), "-o", &path(&again)]);
    assert_eq!(std::fs::read(&direct).unwrap(), std::fs::read(&again).unwrap());
    assert!(std::fs::read_to_string(&text).unwrap().contains("PARALLEL_FOR"));
    assert_eq!(faults(&["disasm", LLAMA, "--schedule", "other"]), ["WSP0830"]);
    assert_eq!(faults(&["disasm", &path(&direct), "--schedule", "other"]), ["WSP0882"]);
}
