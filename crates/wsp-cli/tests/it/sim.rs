//! `wsp sim`: virtual time on the units of machine models, and what it refuses.

use crate::command::{Folder, printed, run};
use serde_json::Value;

fn simulated(args: &[&str]) -> Value {
    let text = printed(&[&["sim"], args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{args:?}: {fault}: {text}"))
}

/// 60 tasks of 7 cycles for cube units and 100 of 5 for vector units, which do not depend on each other.
const APART: &str = "
axis i = dense(60); axis j = dense(100);
tensor x: f32[60]; tensor y: f32[100];
kernel square(out x) on cube cost 7;
kernel line(out y) on vector cost 5;
workload main {
    parallel for a in i { square(x[a]); }
    parallel for b in j { line(y[b]); }
}
";

/// What `units` has of a kind: number of units, cycles in tasks.
fn busy(report: &Value, kind: &str) -> (u64, u64) {
    let all = report["units"].as_array().expect("there are some");
    let of = all.iter().find(|of| of["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {report}"));
    (of["count"].as_u64().unwrap(), of["busy_cycles"].as_u64().unwrap())
}

#[test]
fn tasks_go_to_units_of_their_kind_as_many_at_once_as_the_machine_has() {
    let folder = Folder::with(&[("apart.wsp", APART)]);
    let file = folder.path("apart.wsp").display().to_string();
    // Rounds of 24 and 36 cube units, of 48 and 72 vector units.
    for (model, cube, vector, makespan) in [("ascend_910b", 24, 48, 21), ("ascend_950", 36, 72, 14)] {
        let report = simulated(&[&file, "--model", model]);
        assert_eq!(report["makespan_cycles"], makespan, "{model}");
        assert_eq!(busy(&report, "cube"), (cube, 60 * 7), "{model}");
        assert_eq!(busy(&report, "vector"), (vector, 100 * 5), "{model}");
    }
    // Threads of the host take 50 ns for each task beside, and 20 us for a run.
    let report = simulated(&[&file, "--model", "cpu"]);
    let (workers, cycles) = busy(&report, "any");
    assert_eq!(cycles, 60 * 7 + 100 * 5 + 160 * 185);
    let least = 73_880 + cycles / workers;
    assert!((least..least + 200).contains(&report["makespan_cycles"].as_u64().unwrap()), "{report}");
}

#[test]
fn pools_are_the_first_units_of_each_kind_and_workers_of_no_kind_are_refused() {
    let schedules = "schedule some { task_graph(pools = by_unit(10, 5)); }
        schedule all { workers(72); } schedule few { workers(8); }";
    let folder = Folder::with(&[("apart.wsp", &format!("{APART}{schedules}\n"))]);
    let file = folder.path("apart.wsp").display().to_string();
    let with = |schedule| simulated(&[&file, "--model", "ascend_910b", "--schedule", schedule]);
    let report = with("some");
    // 12 rounds of 5 cube units, 10 of 10 vector units.
    assert_eq!(report["makespan_cycles"], 84);
    assert_eq!((busy(&report, "cube"), busy(&report, "vector")), ((24, 420), (48, 500)));
    let cycles = report["busy_cycles"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
    let used: Vec<usize> = cycles.enumerate().filter(|(_, n)| *n > 0).map(|(unit, _)| unit).collect();
    assert_eq!(used, (0..5).chain(24..34).collect::<Vec<_>>());
    assert_eq!(with("all"), {
        let mut same = simulated(&[&file, "--model", "ascend_910b"]);
        same["schedule_lines"] = with("all")["schedule_lines"].clone();
        same
    });
    let (code, _, err) = run(&["sim", &file, "--model", "ascend_910b", "--schedule", "few"]);
    assert!(code == 1 && err.contains("pools = by_unit(VECTOR, CUBE)"), "{err}");
}

#[test]
fn workers_have_the_numbers_of_the_units() {
    let folder = Folder::with(&[("apart.wsp", APART)]);
    let (file, trace) = (folder.path("apart.wsp"), folder.path("t.json"));
    let (file, trace) = (file.display().to_string(), trace.display().to_string());
    printed(&["sim", &file, "--model", "ascend_910b", "--trace", &trace]);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let mut tasks = 0;
    for event in trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X") {
        let unit = event["tid"].as_u64().unwrap();
        // Units 0 to 23 are cube units.
        assert_eq!(event["name"] == "square", unit < 24, "{event}");
        assert!(unit < 72, "{event}");
        tasks += 1;
    }
    assert_eq!(tasks, 160);
}

#[test]
fn llama_at_1k_takes_what_a_list_scheduler_gives_it() {
    // First in, first out; equal to an independent list scheduler on 24 cube and 48 vector units, of tasks with complete edges.
    let text =
        std::fs::read_to_string(crate::command::root().join("examples/graphs/llama_flat.wsp")).unwrap();
    let text = format!("{text}\nschedule s {{ task_graph(ready = fifo); }}\n");
    let folder = Folder::with(&[("llama.wsp", &text)]);
    let file = folder.path("llama.wsp").display().to_string();
    let report = simulated(&[&file, "--model", "ascend_910b", "--set", "seq=1024", "--schedule", "s"]);
    assert_eq!(report["makespan_cycles"], 3670);
}

#[test]
fn programs_of_every_kind_are_simulated_on_every_model_with_all_their_tasks() {
    let cores: &[&str] = &["--set", "max_blocks=72"];
    for (file, set) in [
        ("examples/decode_attention.pto", cores),
        ("examples/row_softmax.pto", &[]),
        ("examples/moe/moe.wsp", &[]),
        ("examples/llama_layer/layer.wsp", &[]),
        ("examples/llama_layer/layer.pto", &[]),
        ("examples/topk_indexer/indexer.pto", &[]),
    ] {
        let graph = printed(&[&["graph", file, "--summary", "--json"], set].concat());
        let graph: Value = serde_json::from_str(&graph).expect("it is JSON");
        for model in ["cpu", "ascend_910b", "ascend_910c", "ascend_950"] {
            let report = simulated(&[&[file, "--model", model], set].concat());
            let of_kernel = |kernel: &Value| kernel["tasks"].as_u64().unwrap();
            let tasks: u64 = report["kernels"].as_array().unwrap().iter().map(of_kernel).sum();
            assert_eq!(Some(tasks), graph["tasks"].as_u64(), "{file} on {model}");
            let busy: Vec<u64> =
                report["busy_cycles"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            let makespan = report["makespan_cycles"].as_u64().unwrap();
            assert!(busy.iter().all(|cycles| *cycles <= makespan), "{file} on {model}: {report}");
            assert!(busy.iter().sum::<u64>() >= tasks, "{file} on {model}: {report}");
        }
    }
}

#[test]
fn a_simulation_is_the_same_every_time_and_another_with_another_seed_where_units_take_tasks_from_others() {
    fn args(seed: &str) -> [&str; 5] {
        ["examples/moe/moe.wsp", "--model", "ascend_910b", "--seed", seed]
    }
    assert_eq!(simulated(&args("1")), simulated(&args("1")));
    let busy = |seed: u32| simulated(&args(&seed.to_string()))["busy_cycles"].clone();
    assert!((2..9).any(|seed| busy(seed) != busy(1)));
}

#[test]
fn the_page_shows_what_is_printed() {
    let page = std::fs::read_to_string(crate::command::root().join("docs/reference/simulation.md")).unwrap();
    let (_, block) = page.split_once("$ wsp ").expect("it has a command");
    let (command, rest) = block.split_once('\n').expect("it has an output");
    let (shown, _) = rest.split_once("```").expect("it has an end");
    assert_eq!(printed(&command.split(' ').collect::<Vec<_>>()), shown);
}

#[test]
fn what_cannot_be_simulated_says_what_to_type() {
    let uncosted = APART.replace("on cube cost 7", "on cube");
    let wide = format!(
        "{APART}schedule s {{ task_graph(pools = by_unit(64, 8)); }}\nschedule fifo {{ task_graph(ready = fifo); }}\n"
    );
    let dear = APART.replace("cost 7", "cost 4611686018427387904");
    let folder = Folder::with(&[
        ("apart.wsp", APART),
        ("uncosted.wsp", &uncosted),
        ("wide.wsp", &wide),
        ("dear.wsp", &dear),
    ]);
    let at = |name: &str| folder.path(name).display().to_string();
    let (apart, uncosted, wide) = (at("apart.wsp"), at("uncosted.wsp"), at("wide.wsp"));
    let dear = at("dear.wsp");
    for (args, code, says) in [
        (vec![&dear[..], "--model", "cpu"], 1, "at most 2^62"),
        (vec![&apart[..]], 2, "--model <NAME|FILE>"),
        (vec![&apart, "--model", "ascend_910"], 1, "did you mean `ascend_910b`?"),
        (vec![&apart, "--model", "./none.toml"], 1, "none.toml"),
        (
            vec![&uncosted, "--model", "ascend_910b"],
            1,
            "write `cost CYCLES` behind the parameters of `square`",
        ),
        (vec![&wide, "--model", "ascend_910b", "--schedule", "s"], 1, "machine model `ascend_910b` has 48"),
        (vec!["Cargo.toml", "--model", "cpu"], 1, "`.pto` programs, workloads and task graphs"),
        (vec![&wide, "--model", "cpu", "--schedule", "fifo", "--seed", "7"], 1, "`--seed` has no meaning"),
        (vec![&apart, "--model", "cpu", "--trace-edges"], 2, "--trace FILE.pftrace"),
        (vec![&apart, "--model", "cpu", "--trace", &apart], 1, "would be overwritten"),
        (vec![&apart, "--model", "cpu", "--kernels", "examples/row_softmax.pto"], 1, "--kernels"),
        (vec!["examples/row_softmax.pto", "--model", "cpu", "--set", "nothing=3"], 1, "nothing"),
    ] {
        let (found, out, err) = run(&[&["sim"], &args[..]].concat());
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
}

/// A product and a copy of tiles, in `UNIT`.
const KERNELS: &str = "
PTO_SHAPE(a, m, 64)
PTO_SHAPE(b, 64, 64)
PTO_SHAPE(c, m, 64)
struct Row { uint32_t i; };
PTO_SPACE(S) { PTO_AXIS(row, 0, m) PTO_TILE(row, 64) }
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .i = r * 64 }); } }
PTO_KERNEL_IMPL(work) {
    auto d = PTO_GET_DESCRIPTOR<Row>();
    BODY
}
void entry(Tensor<float> a, Tensor<float> b, Tensor<float> c) { PTO_LAUNCH(S, { .a = a, .b = b, .c = c }); }
";

#[test]
fn kernels_of_no_unit_run_on_that_of_their_operations() {
    let product = "LeftTile<float, 64, 64> l; RightTile<float, 64, 64> r; AccTile<float, 64, 64> s;
        TLOAD(l, a, {d.i}); TLOAD(r, b, {0}); TMATMUL(s, l, r); TSTORE(c, s, {d.i});";
    let copy = "VecTile<float, 64, 64> t; VecTile<float, 64, 64> u;
        TLOAD(t, a, {d.i}); TLOAD(u, b, {0}); TADD(t, t, u); TSTORE(c, t, {d.i});";
    for (body, busy_kind, idle) in [(product, "cube", "vector"), (copy, "vector", "cube")] {
        let folder = Folder::with(&[("k.pto", &KERNELS.replace("BODY", body))]);
        let file = folder.path("k.pto").display().to_string();
        let report = simulated(&[&file, "--model", "ascend_910b", "--generate", "m=4096"]);
        assert!(busy(&report, busy_kind).1 > 0, "{report}");
        assert_eq!(busy(&report, idle).1, 0, "{report}");
    }
}

#[test]
fn schedules_split_for_as_many_cores_as_the_machine_has_units() {
    let file = "examples/decode_attention.pto";
    let tasks = |args: &[&str]| simulated(&[&[file], args].concat())["kernels"].clone();
    let [of_910b, of_950] = ["ascend_910b", "ascend_950"].map(|model| tasks(&["--model", model]));
    assert_eq!(of_950, tasks(&["--model", "ascend_950", "--set", "max_blocks=108"]));
    assert_eq!(of_910b, tasks(&["--model", "ascend_950", "--set", "max_blocks=72"]));
    assert_ne!(of_910b, of_950);
}

#[test]
fn the_file_of_a_model_is_a_model() {
    let folder = Folder::with(&[("apart.wsp", APART)]);
    let (file, own) = (folder.path("apart.wsp"), folder.path("own.toml"));
    let (file, own) = (file.display().to_string(), own.display().to_string());
    std::fs::write(&own, printed(&["targets", "--model", "ascend_910b", "--toml"])).unwrap();
    assert_eq!(simulated(&[&file, "--model", &own]), simulated(&[&file, "--model", "ascend_910b"]));
    assert_eq!(printed(&["targets", "--model", &own]), printed(&["targets", "--model", "ascend_910b"]));
}

#[test]
fn a_machine_has_the_workers_that_it_says_and_no_units_of_kinds_that_it_lacks() {
    let of = |model| printed(&["targets", "--model", model, "--toml"]);
    let (cpu, npu) = (of("cpu"), of("ascend_910b"));
    let sixteen = cpu.replacen("value = 2,", "value = 16,", 1);
    assert_ne!(cpu, sixteen);
    let (before, rest) = npu.split_once("[[unit]]\nkind = \"cube\"").expect("it has cube units");
    let vectors = format!("{before}{}", &rest[rest.find("[[unit]]").expect("it has vector units")..]);
    let folder =
        Folder::with(&[("apart.wsp", APART), ("sixteen.toml", &sixteen), ("vectors.toml", &vectors)]);
    let at = |name: &str| folder.path(name).display().to_string();
    let (apart, sixteen, vectors) = (at("apart.wsp"), at("sixteen.toml"), at("vectors.toml"));
    for file in [&apart[..], "examples/row_softmax.pto"] {
        let workers = simulated(&[file, "--model", &sixteen])["busy_cycles"].as_array().unwrap().len();
        assert_eq!(workers, 16, "{file}");
    }
    let (code, _, err) = run(&["sim", &apart, "--model", &vectors]);
    assert!(code == 1 && err.contains("tasks run on cube units, and machine model"), "{err}");
}

#[test]
fn a_model_is_fitted_to_measured_runs() {
    let folder = Folder::with(&[("apart.wsp", APART)]);
    let (apart, own) = (folder.path("apart.wsp").display().to_string(), folder.path("own.toml"));
    let own = own.display().to_string();
    let files = ["examples/row_softmax.pto", "examples/attention/merge_states.pto"];
    let report = simulated(&[&files[..], &["--model", "cpu", "--fit", &own, "--repeat", "2"]].concat());
    let names: Vec<&str> =
        report["programs"].as_array().unwrap().iter().map(|of| of["program"].as_str().unwrap()).collect();
    assert_eq!(names, ["row_softmax.pto", "merge_states.pto"]);
    let points = report["classes"].as_array().unwrap().iter().map(|of| of["points"].as_u64().unwrap());
    assert!(points.sum::<u64>() >= 3, "{report}");
    for program in report["programs"].as_array().unwrap() {
        let of = |key: &str| program[key].as_f64().unwrap();
        assert!(of("measured_s") > 0.0 && of("predicted_s") > 0.0, "{report}");
    }
    // It is a model, whose figures say where they are from, and others stayed.
    let figures: Value = serde_json::from_str(&printed(&["targets", "--model", &own, "--json"])).unwrap();
    let figures = figures["figures"].as_array().unwrap();
    let of_these = figures.iter().filter(|figure| {
        figure["source"] == "wsp sim --fit: row_softmax.pto, merge_states.pto" && figure["mark"] == "measured"
    });
    assert!((3..40).contains(&of_these.count()), "{figures:?}");
    let sorts = |figure: &&Value| figure["part"] == "operation sort" && figure["key"] == "startup";
    assert_eq!(figures.iter().find(sorts).unwrap()["value"], 149.1);
    assert!(simulated(&[files[0], "--model", &own])["makespan_cycles"].as_u64() > Some(0));

    let fit = |args: &[&str]| run(&[&["sim"], args, &["--fit", &own]].concat());
    for (args, exit, says) in [
        (&[files[0], "--model", "ascend_910b"][..], 1, "`wsp doctor --model`"),
        (&[&apart, "--model", "cpu"], 1, "`.pto` programs"),
        (&[files[0], "--model", "cpu", "--aicpus", "1"], 2, "--fit"),
        (&[files[0], "--model", "cpu", "--expand", "host"], 2, "--fit"),
        (&[files[0], "--model", "cpu", "--trace-edges"], 2, "--fit"),
        (&[files[0], "--model", &own], 1, "would be overwritten"),
        (&[files[0], "--model", "cpu", "--set", "rows=3"], 2, "--fit"),
        (&["examples/graphs/none.pto", "--model", "cpu"], 1, "none.pto"),
    ] {
        let (code, out, err) = fit(args);
        assert!((code, out.as_str()) == (exit, "") && err.contains(says), "{args:?}: {err}");
    }
    let (code, _, err) = run(&["sim", files[0], files[1], "--model", "cpu"]);
    assert!(code == 2 && err.contains("--fit"), "{err}");
}
