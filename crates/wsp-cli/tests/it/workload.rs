//! `wsp run` and `wsp check` of workloads: what is checked, what is written, and what happens to those who misuse them.

use crate::command::{Folder, printed, run};
use serde_json::Value;
use wsp_cli::files::{Npz, write_npz};
use wsp_core::DType;
use wsp_plan::{Array, Arrays};

fn stats(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&[&["run"], args, &["--stats", "json"]].concat())).unwrap()
}

/// The codes that a command reports, after checking that it fails with diagnostics only.
fn faults(args: &[&str]) -> (Vec<String>, String) {
    let (code, out, err) = run(&[args, &["--error-format", "json"]].concat());
    assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
    let code = |line: &str| serde_json::from_str::<Value>(line).unwrap()["code"].as_str().unwrap().to_owned();
    (err.lines().map(code).collect(), err)
}

/// Tasks in a chain over one row, and independent ones over another tensor.
const CHAIN: &str = "
    param n = 6;
    tensor x: u32[4];
    tensor y: f32[n, 8];
    kernel push(inout v, i) on vector cost 100;
    kernel fill(in v, out row) on cube cost 50;
    workload main {
        parallel for i in 0..n { push(x, i); fill(x[0..2], y[i, ..]); }
    }
    schedule one { task_graph(window = 1, ready = fifo); }
    schedule steps { task_graph(trace = cycles, ready = fifo); }";

#[test]
fn kernels_without_bodies_mix_and_are_compared_with_a_sequential_run() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let text = printed(&["run", &folder.at("chain.wsp"), "--threads", "2"]);
    assert!(text.contains("without bodies: each task mixes what it reads into what it writes"), "{text}");
    assert!(text.contains("ok: 2 tensors (208 bytes) bit for bit as a sequential run writes"), "{text}");
    assert!(text.contains("6 push, 6 fill") && text.contains("n = 6"), "{text}");
    let json = stats(&[&folder.at("chain.wsp"), "--threads", "2", "--set", "n=3"]);
    assert_eq!((&json["bodies"], &json["threads"]), (&"mixing".into(), &2.into()));
    assert_eq!(json["tasks"][1], serde_json::json!({ "kernel": "fill", "tasks": 3 }));
    assert_eq!(json["check"]["passed"], true);
    assert!(json["time_ms"]["run"].as_f64().unwrap() > 0.0);
    let unchecked = printed(&["run", &folder.at("chain.wsp"), "--no-check"]);
    assert!(unchecked.contains("check      not done"), "{unchecked}");
}

#[test]
fn outputs_do_not_depend_on_threads_or_schedule_but_on_the_seed() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let outputs = |name: &str, options: &[&str]| {
        let path = folder.at(name);
        printed(&[&["run", &folder.at("chain.wsp"), "--outputs", &path][..], options].concat());
        let mut npz = Npz::open(&folder.path(name)).unwrap();
        ["x", "y"].map(|tensor| npz.read(tensor).unwrap().bytes().to_vec())
    };
    let first = outputs("a.npz", &["--threads", "1"]);
    assert_eq!(outputs("b.npz", &["--threads", "2"]), first);
    assert_eq!(outputs("c.npz", &["--schedule", "one"]), first);
    assert_ne!(outputs("d.npz", &["--seed", "9"]), first);
}

#[test]
fn arrays_that_are_given_replace_made_up_ones() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let x = |values: [u32; 4]| {
        let mut array = Array::zeros(DType::U32, &[4]).unwrap();
        array.as_slice_mut::<u32>().unwrap().copy_from_slice(&values);
        Arrays::from([("x".to_owned(), array)])
    };
    let outputs = |values| {
        write_npz(&folder.path("in.npz"), &x(values)).unwrap();
        let text = printed(&[
            "run",
            &folder.at("chain.wsp"),
            "--inputs",
            &folder.at("in.npz"),
            "--outputs",
            &folder.at("out.npz"),
        ]);
        assert!(text.contains("inputs     x u32[4]\n"), "{text}");
        Npz::open(&folder.path("out.npz")).unwrap().read("x").unwrap().bytes().to_vec()
    };
    let first = outputs([1, 2, 3, 4]);
    assert_eq!(outputs([1, 2, 3, 4]), first);
    assert_ne!(outputs([1, 2, 3, 5]), first);
}

#[test]
fn virtual_time_is_printed_in_cycles() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let file = folder.at("chain.wsp");
    // Six tasks of 100 cycles in a chain; each fill of 50 reads between two of them, and the last follows the chain.
    let json = stats(&[&file, "--schedule", "steps", "--threads", "4"]);
    assert_eq!(json["virtual_time"]["cycles"], 6 * 100 + 6 * 50, "{json}");
    let busy: u64 =
        json["virtual_time"]["worker_busy"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(busy, 6 * 100 + 6 * 50);
    assert!(json["check"].is_null());
    let text = printed(&["run", &file, "--schedule", "steps", "--threads", "2"]);
    assert!(text.contains("900 cycles of virtual time on 2 workers"), "{text}");
    for options in [&["--outputs", "out.npz"][..], &["--check"]] {
        let (codes, err) = faults(&[&["run", &file, "--schedule", "steps"], options].concat());
        assert_eq!(codes, ["WSP0882"], "{options:?}: {err}");
    }
}

#[test]
fn a_trace_has_a_slice_for_every_task() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    for (schedule, clock) in [("one", "nanoseconds"), ("steps", "cycles, shown as microseconds")] {
        let path = folder.at("trace.json");
        printed(&[
            "run",
            &folder.at("chain.wsp"),
            "--schedule",
            schedule,
            "--threads",
            "2",
            "--trace",
            &path,
        ]);
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(trace["otherData"]["clock"], clock);
        let slices: Vec<&Value> =
            trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X").collect();
        assert_eq!(slices.len(), 12);
        assert_eq!(slices.iter().filter(|e| e["name"] == "push").count(), 6);
        assert!(slices.iter().all(|e| e["tid"].as_u64().unwrap() < 2));
    }
}

#[test]
fn with_all_edges_a_trace_names_every_task_before_another() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let path = folder.at("trace.json");
    for (edges, named) in [(&[][..], false), (&["--trace-edges"], true)] {
        let line = ["run", &folder.at("chain.wsp"), "--schedule", "steps", "--trace", &path];
        printed(&[&line[..], edges].concat());
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X");
        let mut before = slices.map(|e| (e["args"]["last"].as_u64(), e["args"]["before"].as_array()));
        assert!(before.clone().all(|(_, before)| before.is_some() == named));
        let holds = |(last, before): (Option<u64>, Option<&Vec<Value>>)| match before {
            Some(before) => last.is_none_or(|last| before.iter().any(|one| *one == last)),
            None => true,
        };
        assert!(before.clone().any(|(last, _)| last.is_some()) && before.all(holds));
    }
}

#[test]
fn tasks_of_a_trace_are_numbered_without_the_points_between_rounds() {
    let text = "tensor x: f32[2, 4]; kernel k(inout row);
        workload main { for i in 0..3 { parallel for j in 0..2 { k(x[j]); } } }
        schedule measured { task_graph(trace = measured); } schedule cycles { task_graph(trace = cycles); }";
    let folder = Folder::with(&[("rounds.wsp", text)]);
    for schedule in ["measured", "cycles"] {
        let path = folder.at("trace.json");
        printed(&["run", &folder.at("rounds.wsp"), "--schedule", schedule, "--trace", &path]);
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let number = |event: &Value| event["args"]["task"].as_u64();
        let mut found: Vec<u64> =
            trace["traceEvents"].as_array().unwrap().iter().filter_map(number).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3, 4, 5], "{schedule}");
    }
}

/// Kernels that double and add rows.
const LIBRARY: &str = "
    PTO_PARAM(uint32_t, rows, 4)
    PTO_SHAPE(x, rows, 4)
    PTO_SHAPE(y, rows, 4)
    struct Row { uint32_t i; };
    PTO_SPACE(S) { PTO_AXIS(row, 0, rows) }
    PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .i = r }); } }
    PTO_KERNEL_IMPL(double_row) {
        auto d = PTO_GET_DESCRIPTOR<Row>();
        VecTile<float, 1, 4> t;
        TLOAD(t, x, {d.i});
        TADD(t, t, t);
        TSTORE(y, t, {d.i});
    }
    void entry(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }";

const USER: &str = "
    use \"rows.pto\";
    param rows = 4;
    workload main { parallel for i in 0..rows { double_row(i = i); } }";

#[test]
fn kernels_of_a_used_file_run_for_real() {
    let folder = Folder::with(&[("rows.pto", LIBRARY), ("user.wsp", USER)]);
    let mut x = Array::zeros(DType::F32, &[4, 4]).unwrap();
    for (i, value) in x.as_slice_mut::<f32>().unwrap().iter_mut().enumerate() {
        *value = i as f32;
    }
    write_npz(&folder.path("in.npz"), &Arrays::from([("x".to_owned(), x)])).unwrap();
    let file = folder.at("user.wsp");
    let text = printed(&[
        "run",
        &file,
        "--inputs",
        &folder.at("in.npz"),
        "--outputs",
        &folder.at("out.npz"),
        "--check",
    ]);
    assert!(text.contains("those of the used file") && text.contains("`y` ok"), "{text}");
    let y = Npz::open(&folder.path("out.npz")).unwrap().read("y").unwrap();
    assert_eq!(y.as_slice::<f32>().unwrap(), (0..16).map(|i| 2.0 * i as f32).collect::<Vec<_>>());
    assert!(printed(&["run", &file]).contains("made up from seed"));
    assert!(printed(&["check", &file]).contains(": ok"));
}

/// A workload of these tasks under a task graph of this kind.
fn scheduled(tasks: &str, graph: &str) -> String {
    let kernels = "kernel f(inout a); kernel g(inout a, k) cost 10 / (k - 3);";
    format!("tensor x: f32[8, 64]; {kernels} workload main {{ {tasks} }} schedule {{ task_graph({graph}); }}")
}

#[test]
fn a_workload_is_checked_with_its_schedules_kernels_and_defaults() {
    // A stream of which two tasks may be in flight orders no accesses.
    let depth = scheduled("f(x); f(x);", "deps = explicit")
        .replace("schedule {", "schedule { streams(1); pipeline_depth(2, per_stream);");
    let folder = Folder::with(&[
        ("chain.wsp", CHAIN),
        ("rows.pto", LIBRARY),
        ("depth.wsp", &depth),
        ("missing.wsp", "use \"row.pto\"; workload main { double_row(0); }"),
        ("two.wsp", "use \"rows.pto\"; use \"rows.pto\"; workload main { double_row(0); }"),
        ("kernel.wsp", "use \"rows.pto\"; workload main { double_rows(0); }"),
        ("outside.wsp", "tensor x: f32[4]; kernel k(in x); workload main { for i in 0..5 { k(x[i]); } }"),
        ("explicit.wsp", &scheduled("f(x); f(x);", "deps = explicit")),
        ("after.wsp", &scheduled("let a = f(x); f(x) after a;", "deps = explicit")),
        ("exact.wsp", &scheduled("f(x[0..4]); f(x[2..6]);", "deps = exact")),
        ("cost.wsp", &scheduled("g(x, 3);", "trace = cycles")),
        ("unused_cost.wsp", &scheduled("g(x, 3);", "deps = explicit")),
    ]);
    assert!(printed(&["check", &folder.at("chain.wsp")]).ends_with("chain.wsp: ok\n"));
    for (name, code, part) in [
        ("missing.wsp", "WSP0500", "rows.pto"),
        ("two.wsp", "WSP0884", "one file"),
        ("kernel.wsp", "WSP0851", "did you mean `double_row`"),
        ("outside.wsp", "WSP0813", "x"),
        ("explicit.wsp", "WSP0860", "nothing orders them"),
        ("depth.wsp", "WSP0860", "nothing orders them"),
        ("exact.wsp", "WSP0860", "overlap and are not equal"),
        ("cost.wsp", "WSP0811", "division by zero"),
    ] {
        let (codes, err) = faults(&["check", &folder.at(name)]);
        assert_eq!(codes, [code], "{name}: {err}");
        assert!(err.contains(part), "{name}: {err}");
    }
    for name in ["after.wsp", "unused_cost.wsp"] {
        assert!(printed(&["check", &folder.at(name), "--strict"]).ends_with(": ok\n"), "{name}");
    }
    for name in ["llama_table", "llama_flat", "bgemm_tree", "bgemm_loops", "softmax", "pipeline"] {
        let file = format!("examples/graphs/{name}.wsp");
        let pipelines = if name == "pipeline" {
            "  pipeline in line 21 of `main`: every process ends\n    ready: tiles = 16 sent, tiles = 16 consumed, depth 2, at least 0, throughput from 2\n    done: tiles = 16 sent, tiles = 16 consumed, depth 2, at least 0, throughput from 2\n"
        } else {
            ""
        };
        assert_eq!(printed(&["check", &file]), format!("{file}: ok\n{pipelines}"));
    }
}

/// What `wsp check` finds in the order of tasks that others decide on and of kernels of a used file is what every run refuses.
#[test]
fn the_order_of_used_kernels_and_of_decided_tasks_is_checked() {
    let decided = |tasks: &str, deps: &str| {
        format!(
            "slot again = 1; tensor x: f32[8]; tensor z: f32[8]; kernel step(inout v, inout again); kernel f(inout v);
            workload main {{ {tasks} while again max 3 {{ step(z, again); }} }}
            schedule {{ task_graph(deps = {deps}); }}"
        )
    };
    let used = |tasks: &str, deps: &str| {
        format!("use \"rows.pto\"; workload main {{ {tasks} }} schedule {{ task_graph(deps = {deps}); }}")
    };
    let block = LIBRARY.replace("VecTile<float, 1, 4> t;", "VecTile<float, 2, 4> t;");
    let folder = Folder::with(&[
        ("rows.pto", &block),
        ("exact.wsp", &decided("f(x[0..4]); f(x[2..6]);", "exact")),
        ("decided.wsp", &decided("f(x);", "explicit")),
        ("equal.wsp", &decided("f(x[0..4]); f(x[4..8]);", "exact")),
        ("used_explicit.wsp", &used("double_row(i = 0); double_row(i = 1);", "explicit")),
        ("used_exact.wsp", &used("double_row(i = 0); double_row(i = 1);", "exact")),
        ("used_after.wsp", &used("let a = double_row(i = 0); double_row(i = 1) after a;", "explicit")),
        ("used_equal.wsp", &used("double_row(i = 0); double_row(i = 2);", "exact")),
    ]);
    for (name, code, part) in [
        ("exact.wsp", "WSP0860", "overlap and are not equal"),
        ("decided.wsp", "WSP0854", "deps = hybrid"),
        ("used_explicit.wsp", "WSP0860", "nothing orders them"),
        ("used_exact.wsp", "WSP0860", "overlap and are not equal"),
    ] {
        let of_run = ["run", &folder.at(name), "--generate"];
        let is_used = name.starts_with("used");
        // Of a used file's arrays, which are made up, it is a warning.
        if is_used {
            let (status, _, err) = run(&["check", &folder.at(name)]);
            assert!(status == 0 && err.contains("warning[WSP0860]"), "{name}: {err}");
        }
        let check = ["check", &folder.at(name), "--strict"];
        for args in [&check[..if is_used { 3 } else { 2 }], &of_run[..if is_used { 3 } else { 2 }]] {
            let (codes, err) = faults(args);
            assert!(codes == [code] && err.contains(part), "{args:?}: {err}");
        }
    }
    for name in ["equal.wsp", "used_after.wsp", "used_equal.wsp"] {
        assert!(printed(&["check", &folder.at(name), "--strict"]).ends_with(": ok\n"), "{name}");
    }
}

#[test]
fn options_of_pto_programs_are_refused() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let file = folder.at("chain.wsp");
    for args in [
        &["run", &file, "--generate", "batch=3"][..],
        &["run", &file, "--set", "kv_layout=NHD"],
        &["run", &file, "--input", "z=z.npy"],
        &["plan", &file],
    ] {
        let (codes, err) = faults(args);
        assert_eq!(codes, ["WSP0882"], "{args:?}: {err}");
    }
    let (codes, err) = faults(&["run", &file, "--set", "max_blocks=3"]);
    assert_eq!(codes, ["WSP0800"], "{err}");
}

#[test]
fn outputs_and_traces_never_replace_what_is_read() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let file = folder.at("chain.wsp");
    write_npz(&folder.path("in.npz"), &Arrays::new()).unwrap();
    let archive = folder.at("in.npz");
    for options in [
        &["--trace", &file][..],
        &["--outputs", &file],
        &["--trace", &archive, "--inputs", &archive],
        &["--outputs", &archive, "--inputs", &archive],
        &["--outputs", &archive, "--trace", &archive],
    ] {
        let (codes, err) = faults(&[&["run", &file], options].concat());
        assert!(codes == ["WSP0509"] || codes == ["WSP0881"], "{options:?}: {err}");
    }
    assert_eq!(std::fs::read_to_string(folder.path("chain.wsp")).unwrap(), CHAIN);
}

#[test]
fn a_tensor_that_tasks_read_first_is_given_or_asked_for() {
    let folder = Folder::with(&[
        ("chain.wsp", CHAIN),
        (
            "misnamed.wsp",
            "tensor x: u32[4]; tensor y: u32[4]; kernel k(in a, out b); workload main { k(x, y); }",
        ),
    ]);
    let array = || Array::zeros(DType::U32, &[4]).unwrap();
    let archive = |name: &str, names: &[&str]| {
        let arrays = names.iter().map(|name| ((*name).to_owned(), array())).collect();
        write_npz(&folder.path(name), &arrays).unwrap();
        folder.at(name)
    };
    let upper = archive("upper.npz", &["X", "Y"]);
    let (codes, err) = faults(&["run", &folder.at("misnamed.wsp"), "--inputs", &upper]);
    assert_eq!(codes, ["WSP0514", "WSP0514", "WSP0550"], "{err}");
    assert!(
        err.contains("did you mean `x`, which is missing?") && err.contains("did you mean `y`?"),
        "{err}"
    );
    // Only an output is given: what `push` reads is missing.
    let y = archive("y.npz", &["y"]);
    let (codes, err) = faults(&["run", &folder.at("chain.wsp"), "--inputs", &y]);
    assert_eq!(codes, ["WSP0550"], "{err}");
    for option in [&["--fill", "x"][..], &["--generate"]] {
        let text = printed(&[&["run", &folder.at("misnamed.wsp"), "--inputs", &y], option].concat());
        assert!(text.contains("y u32[4]; x made up from seed 1"), "{text}");
    }
    let json = stats(&[&folder.at("misnamed.wsp")]);
    assert_eq!((&json["made_up"], &json["seed"]), (&serde_json::json!(["x"]), &1.into()));
}

#[test]
fn what_begins_with_made_up_elements_is_named_and_what_is_only_written_begins_with_zeros() {
    let folder = Folder::with(&[
        (
            "part.wsp",
            "tensor x: u32[4]; tensor y: u32[4]; kernel k(in a, out b);
             workload main { parallel for i in 0..2 { k(x[i], y[i]); } }",
        ),
        (
            "maybe.wsp",
            "param n = 2; tensor x: u32[4]; tensor y: u32[4]; tensor z: u32[4]; kernel k(in a, out b);
             workload main { parallel for i in 0..n { k(x[i], y[i]); } k(y, z); }",
        ),
    ]);
    let x = Arrays::from([("x".to_owned(), Array::zeros(DType::U32, &[4]).unwrap())]);
    write_npz(&folder.path("x.npz"), &x).unwrap();
    let given = ["--inputs", &folder.at("x.npz"), "--generate", "--no-check"];
    let text = printed(&[&["run", &folder.at("maybe.wsp")], &given[..]].concat());
    assert!(text.contains("x u32[4]; y made up from seed 1"), "{text}");
    let saved = folder.at("out.npz");
    printed(&[&["run", &folder.at("part.wsp"), "--outputs", &saved], &given[..]].concat());
    let y = Npz::open(&folder.path("out.npz")).unwrap().read("y").unwrap();
    assert_eq!(y.as_slice::<u32>().unwrap()[2..], [0, 0]);
}

#[test]
fn arrays_of_a_used_file_are_not_made_up_beside_others() {
    let more = LIBRARY.replace("TADD(t, t, t);", "TLOAD(u, z, {d.i}); TADD(t, t, u);");
    let more = more.replace("VecTile<float, 1, 4> t;", "VecTile<float, 1, 4> t; VecTile<float, 1, 4> u;");
    let more = more.replace("PTO_SHAPE(y, rows, 4)", "PTO_SHAPE(y, rows, 4) PTO_SHAPE(z, rows, 4)");
    let more = more
        .replace("Tensor<float> y)", "Tensor<float> z, Tensor<float> y)")
        .replace(".y = y", ".z = z, .y = y");
    let folder = Folder::with(&[("rows.pto", &more), ("user.wsp", USER)]);
    let x = || Array::zeros(DType::F32, &[4, 4]).unwrap();
    let arrays = Arrays::from([("x".to_owned(), x()), ("Z".to_owned(), x())]);
    write_npz(&folder.path("in.npz"), &arrays).unwrap();
    let args = ["run", &folder.at("user.wsp"), "--inputs", &folder.at("in.npz")];
    let (codes, err) = faults(&args);
    assert_eq!(codes, ["WSP0514", "WSP0550"], "{err}");
    assert!(err.contains("did you mean `z`, which is missing?"), "{err}");
    let (codes, err) = faults(&[&args[..], &["--allow-unused"]].concat());
    assert_eq!(codes, ["WSP0550"], "{err}");
    let text = printed(&[&args[..], &["--allow-unused", "--fill", "z"]].concat());
    assert!(text.contains("x f32[4, 4]; z made up from seed 1"), "{text}");
}

/// Kernels that copy a row of `x` to `y`, a row of `y` to `z`, and a row of `w` to `z`.
const COPIES: &str = "
    PTO_SHAPE(x, 4, 4) PTO_SHAPE(y, 4, 4) PTO_SHAPE(z, 4, 4) PTO_SHAPE(w, 4, 4)
    struct A { uint32_t i; }; struct B { uint32_t i; }; struct C { uint32_t i; };
    PTO_KERNEL_IMPL(a) { auto d = PTO_GET_DESCRIPTOR<A>(); VecTile<float, 1, 4> t; TLOAD(t, x, {d.i}); TSTORE(y, t, {d.i}); }
    PTO_KERNEL_IMPL(b) { auto d = PTO_GET_DESCRIPTOR<B>(); VecTile<float, 1, 4> t; TLOAD(t, y, {d.i}); TSTORE(z, t, {d.i}); }
    PTO_KERNEL_IMPL(c) { auto d = PTO_GET_DESCRIPTOR<C>(); VecTile<float, 1, 4> t; TLOAD(t, w, {d.i}); TSTORE(z, t, {d.i}); }";

#[test]
fn arrays_of_a_used_file_are_those_that_its_kernels_need() {
    let loops =
        |first: &str| format!("use \"copies.pto\"; workload main {{ {first} for i in 0..4 {{ b(i); }} }}");
    let folder = Folder::with(&[
        ("copies.pto", COPIES),
        ("all.wsp", &loops("for i in 0..4 { a(i); }")),
        ("some.wsp", &loops("for i in 0..3 { a(i); }")),
    ]);
    let archive = |name: &str, names: &[&str]| {
        let array = || Array::zeros(DType::F32, &[4, 4]).unwrap();
        let arrays = names.iter().map(|name| ((*name).to_owned(), array())).collect();
        write_npz(&folder.path(name), &arrays).unwrap();
        folder.at(name)
    };
    let (x, xw) = (archive("x.npz", &["x"]), archive("xw.npz", &["x", "w"]));
    // `y` is a step: it is neither given nor made up, and tasks load what others have stored.
    for options in [&[][..], &["--check", "--strict"], &["--no-check"]] {
        let text = printed(&[&["run", &folder.at("all.wsp"), "--inputs", &x], options].concat());
        assert!(!text.contains("made up"), "{text}");
        let (codes, err) = faults(&[&["run", &folder.at("some.wsp"), "--inputs", &x], options].concat());
        assert_eq!(codes, ["WSP0616"], "{err}");
    }
    // No task uses `w`.
    let (codes, err) = faults(&["run", &folder.at("all.wsp"), "--inputs", &xw]);
    assert_eq!(codes, ["WSP0514"], "{err}");
    printed(&["run", &folder.at("all.wsp"), "--inputs", &xw, "--allow-unused"]);
    // Nor is there a task of a tensor that is declared and left alone.
    let declared = folder.path("declared.wsp");
    std::fs::write(
        &declared,
        "tensor x: f32[4, 4]; tensor w: f32[4, 4]; kernel k(inout x); workload main { k(x); }",
    )
    .unwrap();
    let (codes, err) = faults(&["run", &folder.at("declared.wsp"), "--inputs", &xw]);
    assert_eq!(codes, ["WSP0261", "WSP0514"], "{err}");
    let json = stats(&[&folder.at("all.wsp")]);
    assert_eq!(json["made_up"], serde_json::json!(["x", "y"]));
}

#[test]
fn a_workload_without_tasks_is_not_ok() {
    let folder = Folder::with(&[("chain.wsp", CHAIN)]);
    let file = folder.at("chain.wsp");
    let (code, out, err) = run(&["run", &file, "--set", "n=0"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("check      nothing ran") && err.contains("error[WSP0545]"), "{out}{err}");
    assert!(err.contains("`n` is 0"), "{err}");
    let (code, _, err) = run(&["run", &file, "--set", "n=0", "--no-check"]);
    assert_eq!(code, 0);
    assert!(err.contains("warning[WSP0545]"), "{err}");
    let (_, err) = faults(&["run", &file, "--set", "n=2", "--set", "n=3"]);
    assert!(err.contains("`n` is set twice"), "{err}");
}
