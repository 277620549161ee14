//! Packages of workloads.

use super::{built, cache, device_library, hosted, launched, linked, numbers, runs_to, save};
use crate::command::{Folder, ended, run, wsp};
use std::path::Path;
use std::process::Command;
use wsp_plan::Array;

/// Kernels that keep rows between tasks.
pub(super) const ROWS: &str = r#"PTO_PARAM(uint32_t, cols, 32)
PTO_SHAPE(x, rows, cols)
PTO_SHAPE(y, rows, cols)
PTO_TENSOR(kept, float, rows, cols)
struct Begin { uint32_t first, end; };
struct Step { uint32_t first, end; };
struct End { uint32_t first, end; };
PTO_KERNEL_IMPL(begin_rows) {
    auto desc = PTO_GET_DESCRIPTOR<Begin>();
    VecTile<float, 8, cols> t;
    TLOAD(t, x, {desc.first}, desc.end - desc.first);
    TSTORE(kept, t, {desc.first});
}
PTO_KERNEL_IMPL(step_rows) {
    auto desc = PTO_GET_DESCRIPTOR<Step>();
    VecTile<float, 8, cols> t;
    TLOAD(t, kept, {desc.first}, desc.end - desc.first);
    TMULS(t, t, 0.75f);
    TADDS(t, t, 1.0f);
    TSTORE(kept, t, {desc.first});
}
PTO_KERNEL_IMPL(end_rows) {
    auto desc = PTO_GET_DESCRIPTOR<End>();
    VecTile<float, 8, cols> t;
    TLOAD(t, kept, {desc.first}, desc.end - desc.first);
    TEXP(t, t);
    TSTORE(y, t, {desc.first});
}
"#;

/// Steps one after the other, streams, gates and priorities; under `ranges` each AICPU has a range of tasks.
pub(super) const STEPS: &str = r#"use "rows.pto";

param rows;
param rounds = 3;
param by = 1;
param unit = 1;
param width = 8 / unit;
param wrong = 0;
param far = 9223372036854775807;
table ends = [8, 8, 8, 1];

axis part = dense(4);
axis round = dense(rounds);
axis token = ragged(part, ends);

workload main {
    parallel for p in part { let begun = begin_rows(first = p * 8, end = p * 8 + ends[p]); }
    for r in round {
        parallel for p in part { step_rows(first = p * width / by, end = p * 8 + ends[p]); }
    }
    parallel for p in part { end_rows(first = p * 8, end = min(p * 8 + ends[p], rows)); }
    while wrong == 1 max 3 { end_rows(first = 0, end = 1); }
    if wrong == 2 { for i in 0..wrong step wrong - 2 { end_rows(first = i, end = i + 1); } }
    if wrong == 3 { for t in token[wrong + 1] { end_rows(first = 0, end = 1); } }
    if wrong > 3 { for i in far + (wrong - 3)..wrong { end_rows(first = ends[wrong], end = 1); } }
}

schedule {
    dispatch(affinity(part));
    streams(3);
    stream_by(part);
    task_graph(window = 32, ready = priority, start = after_orchestration);
    priority(4 - part);
    pipeline_depth(2, per_stream);
    batch_deps(4);
}

schedule ranges {
    dispatch(static_partition([0..10, 10..100]));
}
"#;

#[test]
fn a_workload_computes_the_same_bits_on_every_number_of_aicpus() {
    let folder = Folder::with(&[("rows.pto", ROWS), ("rows.wsp", STEPS)]);
    let (inputs, outputs, file) = (folder.path("inputs"), folder.path("outputs"), folder.at("rows.wsp"));
    save(&inputs, "x", &Array::of(&[25, 32], &numbers(1, 25 * 32)).unwrap());
    let x = format!("x={}", inputs.join("x.npy").display());
    let ran = |target: &str, to: &str| {
        let (of, to) = (["run", &file, "--input", &x, "--target", target], folder.at(to));
        let (code, out, err) = hosted(&folder, &[&of[..], &["--check", "--outputs", &to]].concat());
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("4 begin_rows, 12 step_rows, 4 end_rows"), "{out}");
        // The archive holds one array as it is: 800 numbers behind its head.
        let bytes = std::fs::read(to).unwrap();
        let head = bytes.windows(6).position(|at| at == b"\x93NUMPY").unwrap();
        let length = usize::from(u16::from_le_bytes([bytes[head + 8], bytes[head + 9]]));
        let y = pto_wsp::npy::read("y", &bytes[head..][..10 + length + 4 * 25 * 32]).unwrap();
        (y.as_slice::<f32>().unwrap().to_vec(), err)
    };
    let (expected, _) = ran("cpu_sim", "of_cpu");
    let (found, notes) = ran("ascend_host", "of_package");
    assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs()), "{found:?}");
    assert!(
        notes.contains("`task_graph(start = after_orchestration)` has no effect in a package"),
        "{notes}"
    );
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let want = launched(package, &inputs, &outputs, &["--serial"]);
    for aicpus in ["1", "4"] {
        for window in ["1", "1024"] {
            for seed in 0..10 {
                let options = ["--aicpus", aicpus, "--window", window, "--seed", &seed.to_string()];
                assert!(launched(package, &inputs, &outputs, &options) == want, "{options:?}");
            }
        }
    }
    let longer = launched(package, &inputs, &outputs, &["--set", "rounds=5", "--aicpus", "4"]);
    assert!(longer != want, "a value of the workload is a launch's");
    // Bytecode and a table in place of loops.
    let library = device_library();
    for (expand, libraries) in [("bytecode", &[library.as_path()][..]), ("table", &[])] {
        let to = folder.at(expand);
        let (code, _, err) =
            run(&["emit", &file, "--target", "a2", "--expand", expand, "-o", &to, "--input", &x]);
        assert_eq!(code, 0, "{err}");
        linked(Path::new(&to), package, libraries);
        runs_to(Path::new(&to), &inputs, &outputs, &[], &want);
    }
    let of_bytecode = folder.path("bytecode");
    let five = ["--set", "rounds=5", "--aicpus", "4"];
    assert!(launched(&of_bytecode, &inputs, &outputs, &five) == longer);
    let mut other = Command::new(folder.path("table").join("run"));
    other.arg("--inputs").arg(&inputs).arg("--outputs").arg(&outputs).args(["--set", "rounds=5"]);
    let (code, _, err) = ended(other);
    assert_eq!(code, 1);
    assert!(
        err.contains("`rounds` is 5, and the tasks of this package are those of a launch with 3"),
        "{err}"
    );
    faults_have_places(&inputs, &outputs, &[package, &of_bytecode, &folder.path("table")]);
    // Without the interpreter a run says how to get it.
    let mut without = wsp(&["run", &file, "--target", "ascend_host", "--input", &x, "--expand", "bytecode"]);
    without.env("XDG_CACHE_HOME", cache(&folder)).env("WSP_DEVICE_LIB", folder.path("none.a"));
    let (code, _, err) = ended(without);
    assert_eq!(code, 1);
    assert!(err.contains("none.a") && err.contains("cargo rustc -p wsp-device"), "{err}");
}

/// What is wrong with a launch is said with the place and the text of what has no value: in the launch, and in what generates its tasks.
fn faults_have_places(inputs: &Path, outputs: &Path, [loops, bytecode, table]: &[&Path; 3]) {
    let launch = "error: division by zero, at rows.wsp:7:15: `8 / unit`\n";
    let task = "error: generating tasks: division by zero, at rows.wsp:19:52: `p * width / by`\n";
    for (package, set, want) in [
        (loops, "unit=0", launch),
        (bytecode, "unit=0", launch),
        (table, "unit=0", launch),
        (loops, "by=0", task),
        (bytecode, "by=0", task),
    ] {
        let mut command = Command::new(package.join("run"));
        command.arg("--inputs").arg(inputs).arg("--outputs").arg(outputs).args(["--set", set]);
        assert_eq!(ended(command), (1, String::new(), want.to_owned()), "{}", package.display());
    }
    for (wrong, want) in [
        (
            "1",
            "the condition of a loop still holds after its last round: write a larger `max`, at rows.wsp:22:11: `wrong == 1`",
        ),
        ("2", "a step of a loop below 1, at rows.wsp:"),
        ("3", "a row of an axis that its tables do not have, at rows.wsp:"),
        ("4", "arithmetic overflow: a result does not fit its type, at rows.wsp:25:29: `far + (wrong - 3)`"),
    ] {
        let said = [loops, bytecode].map(|package| {
            let mut command = Command::new(package.join("run"));
            command
                .arg("--inputs")
                .arg(inputs)
                .arg("--outputs")
                .arg(outputs)
                .args(["--set", &format!("wrong={wrong}")]);
            ended(command)
        });
        let [(code, _, err), other] = said;
        assert!(code == 1 && err.contains(want), "{wrong}: {err}");
        assert_eq!(other, (code, String::new(), err), "{wrong}");
    }
}

#[test]
fn workloads_without_packages_are_told_why() {
    let declared = "kernel k(out t);\ntensor x: f32[8];\nworkload main { k(x); }\n";
    let files = [("rows.pto", ROWS), ("rows.wsp", STEPS), ("declared.wsp", declared)];
    let folder = Folder::with(&files);
    let to = folder.at("package");
    let (rows, declared) = (folder.at("rows.wsp"), folder.at("declared.wsp"));
    for (args, word) in [
        (
            &[
                "emit",
                "examples/row_softmax.pto",
                "--target",
                "a2",
                "-o",
                &to,
                "--set",
                "cols=8",
                "--generate",
                "cols=16",
            ][..],
            "`cols` is set to 8, and 16 by arrays",
        ),
        (
            &["emit", &declared, "--target", "a2", "-o", &to],
            "needs kernels with bodies: `k` is only declared",
        ),
        (&["run", &declared, "--target", "ascend_host"], "needs kernels with bodies: `k` is only declared"),
        (
            &["emit", &rows, "--target", "a2", "-o", &to, "--set", "rounds=4"],
            "`--set rounds=…` is for launches",
        ),
        (&["emit", &rows, "--target", "a2", "-o", &to, "--kernel", "step_rows"], "is not for packages"),
        (&["emit", &rows, "--target", "a2", "-o", &to], "the elements of `x` are not known at emission"),
    ] {
        let (code, _, err) = hosted(&folder, args);
        assert_ne!(code, 0, "{args:?}");
        assert!(err.contains(word), "{args:?}: {err}");
        assert!(!Path::new(&to).exists(), "{args:?}");
    }
}

#[test]
fn packages_have_no_grid_of_tiles() {
    let (layer, folder) = ("examples/llama_layer/layer.wsp", Folder::with(&[]));
    let to = folder.at("package");
    let (code, _, err) = run(&["emit", layer, "--target", "ascend_910b", "--schedule", "sharded", "-o", &to]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("packages do not support the grid of 4 × 2 tiles"), "{err}");
    assert!(err.contains("target `cpu_sim` has one, simulated"), "{err}");
}

/// An array that is not given has no value until a task stores it, and other tasks may load what one has stored.
#[test]
fn what_a_task_stores_and_loads_need_not_be_given() {
    let rows = ROWS.replace("PTO_TENSOR(kept, float, rows, cols)", "PTO_SHAPE(kept, rows, cols)");
    assert!(rows != ROWS);
    let folder = Folder::with(&[("rows.pto", &rows), ("steps.wsp", STEPS)]);
    std::fs::create_dir(folder.path("in")).unwrap();
    save(&folder.path("in"), "x", &Array::of(&[25, 32], &numbers(1, 800)).unwrap());
    let x = format!("x={}", folder.at("in/x.npy"));
    let emit = |more: &[&str]| {
        let args = ["emit", &folder.at("steps.wsp"), "--target", "a2", "-o", &folder.at("p")];
        run(&[&args[..], more].concat())
    };
    let (code, out, err) = emit(&["--input", &x]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(folder.read("p/manifest.json").contains("\"kept\": \"f32\""));
    // Without arrays nothing says what a launch is given.
    let (code, _, err) = emit(&[]);
    assert!(code == 1 && err.contains("the elements of `kept` are not known at emission"), "{err}");
    // Where each kernel loads it first, no task has stored it before.
    let sums = "PTO_SHAPE(x, n)\nPTO_SHAPE(acc, n)\nstruct Part { uint32_t first; };\nPTO_KERNEL_IMPL(add) {\n\
        auto d = PTO_GET_DESCRIPTOR<Part>();\nVecTile<float, 1, 64> t;\nVecTile<float, 1, 64> u;\nTLOAD(t, x, {d.first});\n\
        TLOAD(u, acc, {d.first});\nTADD(u, t, u);\nTSTORE(acc, u, {d.first});\n}\n";
    let sums_of = "use \"sums.pto\"; workload main { parallel for i in 0..4 { add(first = 64 * i); } }";
    let folder = Folder::with(&[("sums.pto", sums), ("sums.wsp", sums_of)]);
    std::fs::create_dir(folder.path("in")).unwrap();
    save(&folder.path("in"), "x", &Array::of(&[256], &numbers(1, 256)).unwrap());
    let x = format!("x={}", folder.at("in/x.npy"));
    let (code, _, err) =
        run(&["emit", &folder.at("sums.wsp"), "--target", "a2", "-o", &folder.at("p"), "--input", &x]);
    assert!(code == 1 && err.contains("the elements of `acc` are not known at emission"), "{err}");
}
