//! Tasks that AICPUs generate, from the command line: `wsp run --aicpus`, `wsp plan --bytes`.

use crate::command::{Folder, printed, root, run};
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
        ("examples/graphs/pipeline.wsp", "tiles=5"),
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
    // Of a program with tiers a plan is printed beside the run.
    let tiers = ["examples/decode_attention.pto", "--generate", "batch=4", "--aicpus", "3"];
    assert!(printed(&[&["plan"], &tiers[..]].concat()).contains("fifo on each AICPU"));
    let (code, out, _) = run(&[&["run"], &tiers[..]].concat());
    assert!(code == 0 && out.contains("which each runs for its own tasks"), "{out}");
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

/// Of every kind of statement, with extents that a program of bytes does not have.
const TASKS: &str = "
param n = 6; param rounds = 2;
table lens = [3, 0, 1, 4, 2, 2];
axis b = dense(n); axis r = ragged(b, lens);
tensor x: f32[n, 4]; tensor y: f32[n, 4]; tensor s: f32[n];
kernel push(i, inout v) on cube; kernel fold(in v, out w); kernel sum(in w, out s);
workload row(i, j) { push(i + j, x[i, j % 4]); }
workload main {
    parallel for i in b { parallel for j in r[i] { call row(i, j * 2); } }
    for k in 0..rounds { parallel for i in b { fold(x[i], y[i]); } }
    parallel for i in b { if lens[i] > 0 && i != 4 { sum(y[i], s[i]); } else { sum(x[i], s[i]); } }
}
schedule { dispatch(hash(b)); }
";

/// Values that a program of `TASKS` lacks.
const VALUES: [&str; 14] = [
    "--set", "n=6", "--set", "rounds=2", "--set", "x_0=6", "--set", "x_1=4", "--set", "y_0=6", "--set",
    "y_1=4", "--set", "s_0=6",
];

/// A folder with `TASKS`, its program as bytes and as text, and its table.
fn generated() -> Folder {
    let folder = Folder::with(&[("w.wsp", TASKS)]);
    printed(&["asm", &folder.at("w.wsp"), "-o", &folder.at("w.ptow")]);
    printed(&["disasm", &folder.at("w.ptow"), "-o", &folder.at("w.ptows")]);
    let lens = wsp_plan::Array::of(&[6], &[3i64, 0, 1, 4, 2, 2]).unwrap();
    let arrays = wsp_plan::Arrays::from([("lens".to_owned(), lens)]);
    wsp_cli::files::write_npz(&folder.path("lens.npz"), &arrays).unwrap();
    folder
}

#[test]
fn a_program_of_bytes_runs_as_the_workload_that_it_is_made_of() {
    let folder = generated();
    let (inputs, out, expected) = (folder.at("lens.npz"), folder.at("out.npz"), folder.at("w.npz"));
    let more = ["--generate", "--inputs", &inputs, "--allow-unwritten", "x"];
    printed(&[&["run", &folder.at("w.wsp"), "--outputs", &expected], &more[..]].concat());
    for file in ["w.ptow", "w.ptows"] {
        for way in [&[][..], &["--aicpus", "3"], &["--threads", "1"]] {
            let file = folder.at(file);
            let args = [&["run", &file, "--outputs", &out], way, &more, &VALUES].concat();
            let said = printed(&args);
            assert!(said.contains("without bodies") && said.contains("12 push"), "{args:?}: {said}");
            assert!(said.contains("bit for bit"), "{args:?}: {said}");
            assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&expected).unwrap(), "{args:?}");
        }
    }
}

#[test]
fn a_program_of_bytes_is_listed_and_checked_as_the_workload_that_it_is_made_of() {
    let folder = generated();
    let inputs = folder.at("lens.npz");
    let lists = |file: &str, values: &[&str]| {
        let file = folder.at(file);
        let list = |of| printed(&[&["graph", &file, of, "-", "--inputs", &inputs], values].concat());
        [list("--tasks"), list("--edges"), list("--args")]
    };
    let bytes = |file: &str, values: &[&str]| {
        let file = folder.at(file);
        let args = [&["plan", "--bytes", &file, "--json", "--inputs", &inputs], values].concat();
        let found = json(&args);
        assert!(found["bytes"]["program"].as_u64() > Some(100), "{found}");
        ["bytes", "counts", "host_list"].map(|part| found[part].clone())
    };
    let (expected, transfer) = (lists("w.wsp", &[]), bytes("w.wsp", &[]));
    for file in ["w.ptow", "w.ptows"] {
        assert_eq!(lists(file, &VALUES), expected, "{file}");
        assert_eq!(bytes(file, &VALUES), transfer, "{file}");
        assert!(printed(&["check", &folder.at(file)]).ends_with(": ok\n"), "{file}");
    }
}

#[test]
fn what_a_program_of_bytes_lacks_is_told_with_what_to_type() {
    let folder = generated();
    let (file, inputs) = (folder.at("w.ptow"), folder.at("lens.npz"));
    let refused = |args: &[&str]| {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}");
        err
    };
    for command in [&["run", "--fill", "x", "--fill", "y"][..], &["graph"]] {
        let err = refused(&[command, &[&file, "--inputs", &inputs], &VALUES[..12]].concat());
        assert!(err.contains("`s_0`") && err.contains("--set s_0="), "{command:?}: {err}");
        let err = refused(&[command, &[&file], &VALUES[..]].concat());
        assert!(err.contains("`lens`") && err.contains("--input lens=FILE.npy"), "{command:?}: {err}");
    }
    let err = refused(&["run", &file, "--devices", "2"]);
    assert!(err.contains("`--devices` is for task graphs"), "{err}");
    let err = refused(&["plan", &file]);
    assert!(err.contains("wsp plan --bytes"), "{err}");
    std::fs::write(folder.path("p.ptows"), ".names none\n.generators 1\n    PLAN generator 0\n    HALT\n")
        .unwrap();
    let err = refused(&["run", &folder.at("p.ptows")]);
    assert!(err.contains("WSP0939") && err.contains("`PLAN`"), "{err}");
}

/// The kernels of a program of bytes are those of a file: its numbers are those of the workload over that file.
#[test]
fn a_program_of_bytes_takes_its_kernels_from_a_file() {
    let folder = Folder::with(&[]);
    let (bytes, kernels) = (folder.at("i.ptow"), "examples/topk_indexer/indexer.pto");
    assert_eq!(run(&["asm", "examples/topk_indexer/indexer.wsp", "-o", &bytes]).0, 0);
    let ran = json(&["run", &bytes, "--kernels", kernels, "--stats", "json"]);
    assert_eq!(
        (&ran["check"]["passed"], &ran["check"]["outputs"][0]["independent"]),
        (&true.into(), &true.into()),
        "{ran}"
    );
    let over = json(&["run", "examples/topk_indexer/indexer.wsp", "--stats", "json"]);
    assert_eq!(ran["tasks"], over["tasks"]);
    let (code, _, err) = run(&["run", &bytes, "--kernels", kernels, "--kernels", kernels]);
    assert!(code == 1 && err.contains("WSP0"), "{err}");
    assert!(printed(&["check", &bytes, "--kernels", kernels]).ends_with(": ok\n"));
    let (code, out, err) = run(&["run", &bytes]);
    assert!(
        code == 1 && !out.contains("check      ok"),
        "a run without kernels compares nothing: {out}{err}"
    );
}
