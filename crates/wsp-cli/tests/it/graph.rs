//! `wsp graph` against recorded graphs, formulas and hazard counts; and what happens to those who misuse it.

use crate::command::{Folder, printed, root, run, wsp};
use crate::matrix::requests;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read as _;
use std::process::{Command, Stdio};
use wsp_cli::files::write_npz;
use wsp_core::DType;
use wsp_plan::Array;

pub(crate) fn summary(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&[&["graph"], args, &["--summary", "--json"]].concat())).unwrap()
}

/// A recorded table.
fn recorded(name: &str) -> String {
    let file = std::fs::File::open(root().join("testdata/graphs").join(format!("{name}.csv.gz"))).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

/// Recorded graphs: name, workload, settings.
pub(crate) const RECORDED: [(&str, &str, &[&str]); 6] = [
    ("llama_table_1K", "llama_table", &["--set", "seq=1024"]),
    ("llama_flat_1K", "llama_flat", &["--set", "seq=1024"]),
    ("bgemm_tree_k8_32tiles", "bgemm_tree", &["--set", "tiles=32"]),
    ("bgemm_loops_b4m4k4n4", "bgemm_loops", &["--set", "n=4"]),
    ("softmax_8tiles", "softmax", &["--set", "tiles=8"]),
    ("softmax_8tiles_tail", "softmax", &["--set", "tiles=9"]),
];

pub(crate) fn file(workload: &str) -> String {
    format!("examples/graphs/{workload}.wsp")
}

#[test]
fn recorded_graphs_are_reproduced_edge_for_edge() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (name, workload, set) in RECORDED {
        let (tasks, edges, args) = (at("tasks.csv"), at("edges.csv"), at("args.csv"));
        let file = file(workload);
        let lists =
            ["graph", &file, "--deps", "exact", "--tasks", &tasks, "--edges", &edges, "--args", &args];
        assert_eq!(printed(&[&lists[..], set].concat()), "", "{name}");
        for (kind, path) in [("tasks", &tasks), ("edges", &edges), ("args", &args)] {
            let mut expected = recorded(&format!("{name}.{kind}"));
            if kind == "args" && workload == "llama_flat" {
                expected = rows_by_32(&expected);
            }
            // The record of the products counts some rows in tiles and others not.
            if kind == "args" && workload.starts_with("bgemm") {
                continue;
            }
            let got = std::fs::read_to_string(path).unwrap();
            let differ = got.lines().zip(expected.lines()).position(|(a, b)| a != b);
            assert!(got == expected, "{name}.{kind}: line {differ:?} differs");
        }
    }
}

/// The record of `llama_flat` counts row offsets in tiles of 32 rows.
fn rows_by_32(args: &str) -> String {
    let line = |(n, line): (usize, &str)| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if n > 0 {
            fields[4] = (fields[4].parse::<u32>().unwrap() * 32).to_string();
        }
        fields.join(",") + "\n"
    };
    args.lines().enumerate().map(line).collect()
}

#[test]
fn overlapping_hazards_are_those_of_the_record() {
    for (workload, set, edges) in [
        ("llama_table", "seq=1024", 2_368),
        ("llama_flat", "seq=1024", 10_848),
        ("llama_flat", "seq=2048", 42_176),
        ("softmax", "tiles=8", 110),
    ] {
        let json = summary(&[&file(workload), "--deps", "overlap", "--set", set]);
        assert_eq!(json["edges"], edges, "{workload} {set}");
        assert_eq!(json["distinct_edges"], edges, "{workload} {set}: a pair has one edge");
        assert!(json["missed"].is_null());
    }
}

#[test]
fn other_sizes_follow_the_formulas() {
    for seq in [64u64, 128, 4096] {
        let m = seq / 64;
        let set = format!("seq={seq}");
        let json = summary(&[&file("llama_table"), "--deps", "exact", "--set", &set]);
        assert_eq!(json["tasks"], 16 * m + 3 * m * m);
        assert_eq!(json["edges"], 14 * m + 5 * m * m);
        let k = seq / 32;
        let json = summary(&[&file("llama_flat"), "--deps", "exact", "--set", &set]);
        assert_eq!(json["tasks"], 16 * k + 3 * k * k);
        assert_eq!(json["edges"], 17 * k + 9 * k * k);
        assert_eq!(json["distinct_edges"], 17 * k + 7 * k * k);
    }
}

#[test]
fn exact_dependences_name_the_hazards_they_miss() {
    let softmax = file("softmax");
    let json = summary(&[&softmax, "--deps", "exact", "--set", "tiles=8"]);
    let exact = json["distinct_edges"].as_u64().unwrap();
    let missed = json["missed"]["hazards"].as_u64().unwrap();
    assert!(missed > 0, "every tile uses the same rows, so reads come before writes: {json}");
    assert_eq!(exact + missed, 110, "{json}");
    let text = printed(&["graph", &softmax, "--deps", "exact", "--set", "tiles=8"]);
    assert!(text.contains("missed") && text.contains("the first: task "), "{text}");
    let tree = summary(&[&file("bgemm_tree"), "--deps", "exact"]);
    assert_eq!(tree["missed"]["hazards"], 0, "{tree}");
}

/// Two ordered steps of two tasks, and a table.
const STEPS: &str = "
    param n = 2;
    table lens = [1, 1];
    axis b = dense(n);
    axis t = ragged(b, lens);
    tensor x: f32[16, 4];
    kernel fill(out y) on vector;
    kernel step(in a, out y) on cube;
    workload main {
        for i in 0..2 {
            parallel for j in b { parallel for k in t[j] { fill(x[i * 8 + j, ..]); } }
        }
        step(x[0..2, ..], x[15, ..]);
    }";

#[test]
fn barrier_nodes_stand_between_the_steps_of_an_ordered_loop() {
    let folder = Folder::with(&[("steps.wsp", STEPS)]);
    let file = folder.at("steps.wsp");
    let tasks = printed(&["graph", &file, "--tasks", "-"]);
    assert_eq!(
        tasks,
        "task_id,kernel_name,is_cube\n0,fill,0\n1,fill,0\n2,@order,0\n3,fill,0\n4,fill,0\n5,step,1\n"
    );
    let edges = printed(&["graph", &file, "--edges", "-", "--deps", "explicit"]);
    assert_eq!(edges, "src,dst\n0,2\n1,2\n2,3\n2,4\n");
    let json = summary(&[&file]);
    assert_eq!(
        (&json["tasks"], &json["barrier_nodes"], &json["deps"]),
        (&5.into(), &1.into(), &"overlap".into())
    );
    assert_eq!(json["critical_path"], 2);
    let text = printed(&["graph", &file]);
    assert!(text.contains("1 barrier node of ordered loops"), "{text}");
}

#[test]
fn an_ordered_loop_orders_all_tasks_of_a_step() {
    // Each task of a step writes what the next step's write; three in a step, so that a barrier node has three before it.
    let loops = "tensor x: f32[3]; kernel fill(out y);
        workload main { for i in 0..3 { for j in 0..1 { parallel for k in 0..3 { fill(x[k]); } } } }";
    let folder = Folder::with(&[("loops.wsp", loops)]);
    let file = folder.at("loops.wsp");
    let json = summary(&[&file, "--deps", "explicit"]);
    assert_eq!((&json["tasks"], &json["critical_path"]), (&9.into(), &3.into()), "{json}");
    assert_eq!((&json["roots"], &json["leaves"]), (&3.into(), &3.into()), "{json}");
    assert_eq!(json["missed"]["hazards"], 0, "{json}");
    let edges = printed(&["graph", &file, "--deps", "explicit", "--edges", "-"]);
    for edge in edges.lines().skip(1) {
        let (src, dst) = edge.split_once(',').unwrap();
        assert!(src.parse::<u32>().unwrap() < dst.parse::<u32>().unwrap(), "{edges}");
    }
}

#[test]
fn tables_come_from_files_or_from_the_source() {
    let folder = Folder::with(&[("steps.wsp", STEPS)]);
    let mut lens = wsp_plan::Array::zeros(wsp_core::DType::I32, &[2]).unwrap();
    lens.as_slice_mut::<i32>().unwrap().copy_from_slice(&[3, 0]);
    let arrays = wsp_plan::Arrays::from([("lens".to_owned(), lens)]);
    wsp_cli::files::write_npz(&folder.path("tables.npz"), &arrays).unwrap();
    let json = summary(&[&folder.at("steps.wsp"), "--inputs", &folder.at("tables.npz")]);
    assert_eq!(json["kernels"][0]["tasks"], 6, "{json}");
}

#[test]
fn a_graph_is_drawn_for_graphviz() {
    let folder = Folder::with(&[("steps.wsp", STEPS)]);
    let dot = printed(&["graph", &folder.at("steps.wsp"), "--deps", "explicit", "--dot"]);
    assert!(dot.starts_with("digraph \"") && dot.ends_with("}\n"), "{dot}");
    assert!(dot.contains("  2 [shape=point];\n") && dot.contains("  2 -> 4;\n"), "{dot}");
    assert_eq!(printed(&["graph", &folder.at("steps.wsp"), "--dot", &folder.at("out.dot")]), "");
    assert!(folder.read("out.dot").contains("0 fill"));
}

#[test]
fn lists_go_to_files_and_the_summary_only_where_it_is_asked_for() {
    let folder = Folder::with(&[("steps.wsp", STEPS), ("edges.csv", "what stood there")]);
    let (file, edges) = (folder.at("steps.wsp"), folder.at("edges.csv"));
    assert_eq!(printed(&["graph", &file, "--edges", &edges]), "");
    assert!(folder.read("edges.csv").starts_with("src,dst\n"));
    assert!(printed(&["graph", &file, "--edges", &edges, "--summary"]).contains("longest path"));
    let left: Vec<_> = std::fs::read_dir(folder.0.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// The codes that a command reports, after checking that it fails with diagnostics only.
pub(crate) fn faults(args: &[&str]) -> (Vec<String>, String) {
    let (code, out, err) = run(&[args, &["--error-format", "json"]].concat());
    let wants_json = args.contains(&"--json");
    assert_eq!((code, out.is_empty()), (1, !wants_json), "{args:?}: {out}{err}");
    if wants_json {
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["errors"].as_array().unwrap().len(), err.lines().count(), "{out}");
    }
    let code = |line: &str| serde_json::from_str::<Value>(line).unwrap()["code"].as_str().unwrap().to_owned();
    (err.lines().map(code).collect(), err)
}

#[test]
fn outputs_never_mix_with_each_other_or_replace_what_is_read() {
    let folder = Folder::with(&[("steps.wsp", STEPS), ("other.pto", ""), ("lens.npy", "")]);
    let at = |name: &str| folder.at(name);
    let file = at("steps.wsp");
    let same = format!("{}/./steps.wsp", folder.0.path().display());
    for lists in [
        &["--tasks", "-", "--edges", "-"][..],
        &["--edges", "-", "--summary"],
        &["--dot", "--json"],
        &["--tasks", &at("a.csv"), "--edges", &at("a.csv")],
        &["--tasks", &file],
        &["--edges", &same],
        &["--edges", &at("other.pto")],
        &["--edges", &at("new.wsp")],
        &["--edges", &at("lens.npy"), "--input", &format!("lens={}", at("lens.npy"))],
    ] {
        let (codes, err) = faults(&[&["graph", &file], lists].concat());
        assert_eq!(codes, ["WSP0881"], "{lists:?}: {err}");
        let is_first = lists[..2] == ["--tasks", "-"];
        assert_eq!(err.contains("`--tasks` and `--edges` both go to standard output"), is_first, "{err}");
    }
    assert_eq!(folder.read("steps.wsp"), STEPS);
}

#[test]
fn what_has_no_tasks_is_refused_by_name() {
    let folder = Folder::with(&[("notes.txt", "x")]);
    for name in ["notes.txt", "absent.txt"] {
        let (codes, err) = faults(&["graph", &folder.at(name)]);
        assert_eq!(codes, ["WSP0880"], "{err}");
        assert!(err.contains(name), "{err}");
    }
    let (codes, err) = faults(&["graph", "examples/two_devices.pto"]);
    assert!(codes.len() == 1 && err.contains("two_devices.pto"), "{err}");
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let folder = Folder::with(&[("steps.wsp", STEPS), ("broken.wsp", "workload main {"), ("bytes.wsp", "")]);
    std::fs::write(folder.path("bytes.wsp"), b"param n = \xff;").unwrap();
    std::fs::create_dir(folder.path("folder.wsp")).unwrap();
    let file = folder.at("steps.wsp");
    for (args, code) in [
        (vec![folder.at("step.wsp")], "WSP0500"),
        (vec![folder.at("folder.wsp")], "WSP0501"),
        (vec![folder.at("bytes.wsp")], "WSP0513"),
        (vec![file.clone(), "--edges".to_owned(), folder.at("no/folder.csv")], "WSP0509"),
        (vec![file.clone(), "--edges".to_owned(), folder.0.path().display().to_string()], "WSP0509"),
        (vec![file.clone(), "--inputs".to_owned(), folder.at("none.npz")], "WSP0500"),
        (vec![file, "--input".to_owned(), format!("lens={}", folder.at("none.npy"))], "WSP0500"),
    ] {
        let args: Vec<&str> = std::iter::once("graph").chain(args.iter().map(String::as_str)).collect();
        let (codes, err) = faults(&args);
        assert_eq!(codes, [code], "{args:?}: {err}");
    }
    assert!(faults(&["graph", &folder.at("step.wsp")]).1.contains("steps.wsp"), "the near name is suggested");
    let (codes, err) = faults(&["graph", &folder.at("broken.wsp")]);
    assert!(codes.iter().all(|c| c.as_str() >= "WSP0700" && c.as_str() < "WSP0800"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_diagnostic() {
    let file = file("llama_table");
    let (codes, err) = faults(&["graph", &file, "--edges", "/dev/full"]);
    assert_eq!(codes, ["WSP0509"], "{err}");
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = wsp(&["graph", &file, "--edges", "-"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard output cannot be written"));
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_fault() {
    for args in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = wsp(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("standard output cannot be written"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let args = ["graph", &file("llama_flat"), "--edges", "-"];
    let mut child = wsp(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &[][..]));
}

#[test]
fn values_that_do_not_fit_are_named() {
    let llama = file("llama_table");
    let folder = Folder::with(&[
        ("unset.wsp", "param batch; param n = 1; kernel k(); workload main { k(); }"),
        ("steps.wsp", STEPS),
        ("deep.wsp", "tensor x: f32[2, 3, 4]; kernel k(in x); workload main { k(x); }"),
    ]);
    for (args, code, part) in [
        (vec!["graph", &llama, "--set", "sek=1024"], "WSP0800", "did you mean `seq`"),
        (vec!["graph", &llama, "--set", "seq=1.5"], "WSP0802", "integer"),
        (vec!["graph", &llama, "--set", "m=3"], "WSP0802", "derived"),
        (vec!["graph", &folder.at("unset.wsp")], "WSP0801", "--set batch=N"),
        (vec!["graph", &folder.at("steps.wsp"), "--input", "lenz=a.npy"], "WSP0882", "did you mean `lens`"),
        (vec!["graph", &folder.at("steps.wsp"), "--input", "x=a.npy"], "WSP0882", "is a tensor"),
        (vec!["graph", &llama, "--schedule", "fast"], "WSP0830", "fast"),
        (vec!["graph", &folder.at("deep.wsp"), "--args", "-"], "WSP0885", "more dimensions"),
    ] {
        let (codes, err) = faults(&args);
        assert_eq!(codes, [code], "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

/// Given pages whose heads come before their tokens are listed as those of the other order are.
#[test]
fn pages_of_either_order_are_listed_and_workloads_have_one() {
    let folder = Folder::with(&[]);
    let lengths = [70, 40, 15];
    let mut arrays = requests(lengths);
    write_npz(&folder.path("nhd.npz"), &arrays).unwrap();
    for name in ["kv.k", "kv.v"] {
        let pages = arrays[name].shape()[0];
        arrays.insert(name.to_owned(), Array::zeros(DType::F16, &[pages, 2, 16, 64]).unwrap());
    }
    write_npz(&folder.path("hnd.npz"), &arrays).unwrap();
    let decode = "examples/decode_attention.pto";
    let given = |npz: &str, layout: &str| {
        let (npz, layout) = (folder.at(npz), format!("kv_layout={layout}"));
        [decode, "--inputs", &npz, "--set", &layout].map(str::to_owned)
    };
    let listed = |args: [String; 5]| summary(&args.each_ref().map(String::as_str));
    let of = |told: &Value| (told["tasks"].clone(), told["edges"].clone(), told["depth"].clone());
    assert_eq!(of(&listed(given("hnd.npz", "HND"))), of(&listed(given("nhd.npz", "NHD"))));
    let wrong = given("hnd.npz", "NHD");
    let (_, err) = faults(&[&["graph"][..], &wrong.each_ref().map(String::as_str)].concat());
    assert!(err.contains("--set kv_layout=HND"), "{err}");
    let cores = summary(&[decode, "--generate", "batch=2,len=4096", "--set", "max_blocks=1"]);
    let more = summary(&[decode, "--generate", "batch=2,len=4096", "--set", "max_blocks=64"]);
    assert!(cores["tasks"].as_u64() < more["tasks"].as_u64(), "{cores} {more}");
    for file in [file("llama_table").as_str(), "examples/power_iteration.tg"] {
        let (codes, err) = faults(&["graph", file, "--set", "kv_layout=HND"]);
        assert!(codes == ["WSP0882"] && err.contains("--set kv_layout=…"), "{err}");
    }
}

/// The last tile of 20 rows by 8 has 4.
#[test]
fn accesses_of_a_program_end_where_its_tensors_do() {
    let text = "
PTO_SHAPE(x, rows, 8)
PTO_SHAPE(y, rows, 8)
PTO_SPACE(S) { PTO_AXIS(i, 0, rows) PTO_TILE(i, 8) }
struct D { uint32_t first; };
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .first = i * 8 }); } }
PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 8, 8> t; TLOAD(t, x, {d.first}); TSTORE(y, t, {d.first}); }
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
";
    let folder = Folder::with(&[("tiles.pto", text)]);
    let args = printed(&["graph", &folder.at("tiles.pto"), "--generate", "rows=20", "--args", "-"]);
    let last: Vec<&str> = args.lines().filter(|row| row.starts_with("2,")).collect();
    assert_eq!(last, ["2,0,in,x,16,0,4,8", "2,1,out,y,16,0,4,8"], "{args}");
    let rows = args.lines().skip(1).map(|row| row.split(',').nth(6).unwrap().parse::<u32>().unwrap());
    assert_eq!(rows.collect::<Vec<_>>(), [8, 8, 8, 8, 4, 4]);
}

#[test]
fn a_graph_that_no_machine_holds_is_refused_at_once() {
    let llama = file("llama_table");
    for seq in ["4194304", "1048576"] {
        let (codes, err) = faults(&["graph", &llama, "--set", &format!("seq={seq}")]);
        assert!(codes == ["WSP0861"] || codes == ["WSP0508"], "{err}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_expansion_exits_with_130() {
    // Far more iterations than anybody waits for, none of which generates a task.
    let endless = "param n = 4000000; kernel k(); workload main {
        parallel for i in 0..n { parallel for j in 0..n { if i * j < 0 { k(); } } } }";
    let folder = Folder::with(&[("endless.wsp", endless)]);
    let file = folder.at("endless.wsp");
    for command in ["graph", "check", "run"] {
        // Heeded, also where these tests run with it ignored, as in the background of a script.
        let mut heedful = Command::new("env");
        heedful.args(["--default-signal=INT", crate::command::program(), command, &file]);
        let mut child = heedful.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !takes_interrupts(child.id()) {
            assert!(child.try_wait().unwrap().is_none(), "{command} ended by itself");
            std::thread::yield_now();
        }
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{command}");
    }
}

/// Whether a thread of a process waits for SIGINT, so that the others block it.
#[cfg(target_os = "linux")]
fn takes_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

/// The manual shows commands, each with what it prints.
#[test]
fn commands_of_the_manual_print_what_it_shows() {
    let manual = std::fs::read_to_string(root().join("docs/reference/graphs.md")).unwrap();
    let blocks: Vec<&str> = manual.split("```console\n$ wsp ").skip(1).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let (shown, _) = block.split_once("```").unwrap();
        let (command, output) = shown.split_once('\n').unwrap();
        let args: Vec<&str> = command.split(' ').collect();
        assert_eq!(printed(&args), output, "{command}");
    }
}
