//! Programs on AMD AIE arrays: `wsp run`, `emit`, `graph` and `check` with `--target xdna1` and `xdna2`.

use crate::command::{Folder, printed, run};
use std::fs;

const ROWS: [&str; 2] = ["--generate", "rows=32,cols=32"];

fn on(command: &str, file: &str, target: &str, more: &[&str]) -> Vec<String> {
    let args = [command, file, "--target", target].into_iter().chain(more.iter().copied());
    args.map(str::to_owned).collect()
}

fn told(args: &[String]) -> (i32, String, String) {
    run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn results_of_an_array_are_compared_as_those_of_other_targets() {
    for (file, size) in [
        ("examples/aie/scale.wsp", "n=4096"),
        ("examples/aie/mlp.wsp", "rows=32,inputs=16,middle=16,outputs=16"),
        ("examples/row_softmax.pto", "rows=32,cols=32"),
    ] {
        for target in ["xdna1", "xdna2"] {
            let (code, out, err) = told(&on("run", file, target, &["--generate", size, "--check"]));
            assert_eq!(code, 0, "{file} {target}: {out}{err}");
            assert!(out.contains("`y` ok"), "{file} {target}: {out}");
        }
    }
}

#[test]
fn a_design_is_written_the_same_each_time_with_what_it_was_made_from() {
    let folder = Folder::with(&[]);
    let text = |name: &str| {
        let to = folder.path(name).display().to_string();
        let args = on("emit", "examples/pipelines/softmax.wsp", "xdna2", &[&ROWS[..], &["-o", &to]].concat());
        printed(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let read = |file: &str| fs::read_to_string(folder.path(name).join(file)).unwrap();
        (read("design.mlir"), read("manifest.json"))
    };
    let (design, manifest) = text("one");
    assert_eq!(text("two"), (design.clone(), manifest.clone()));
    assert_eq!(design.matches("\"aie.core\"").count(), 3, "{design}");
    assert!(manifest.contains("\"target\": \"xdna2\""), "{manifest}");
    assert!(
        manifest.contains("\"name\": \"x\", \"type\": \"f32\", \"shape\": [32, 32], \"read\": true"),
        "{manifest}"
    );
}

#[test]
fn where_a_program_is_on_an_array_is_drawn() {
    let folder = Folder::with(&[]);
    let to = folder.path("places.svg").display().to_string();
    let more = [&ROWS[..], &["--placement", &to]].concat();
    let (code, out, err) = told(&on("graph", "examples/pipelines/softmax.wsp", "xdna1", &more));
    assert_eq!(code, 0, "{out}{err}");
    let picture = fs::read_to_string(&to).unwrap();
    assert_eq!(picture.matches("<rect").count(), 24, "four columns of six tiles");
    for name in ["load", "exponentials", "divide"] {
        assert!(picture.contains(&format!(">{name}<")), "{picture}");
    }
    let (code, _, err) = told(&on("graph", "examples/pipelines/softmax.wsp", "cpu_sim", &more));
    assert!(code == 1 && err.contains("places on tiles"), "{err}");
}

#[test]
fn a_schedule_without_effect_on_an_array_is_told() {
    let folder = Folder::with(&[(
        "stolen.wsp",
        "use \"rows.pto\"; param rows; schedule { dispatch(work_steal); }
         workload main { parallel for i in 0..rows / 8 { normalise(first = 8 * i); } }",
    )]);
    fs::copy(crate::command::root().join("examples/aie/rmsnorm.pto"), folder.path("rows.pto")).unwrap();
    let file = folder.path("stolen.wsp").display().to_string();
    let (code, out, err) = told(&on("run", &file, "xdna1", &ROWS));
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("`dispatch(work_steal)` has no effect on an array"), "{err}");
}

#[test]
fn what_has_no_form_on_an_array_is_told_with_what_to_give() {
    let (code, _, err) =
        told(&on("run", "examples/pipelines/softmax.wsp", "xdna2", &["--generate", "rows=40,cols=32"]));
    assert_eq!(code, 1);
    assert!(err.contains("WSP1880") && err.contains("give it 48"), "{err}");
    let (code, _, err) =
        told(&on("run", "examples/aie/scale.wsp", "xdna2", &["--generate", "n=4096", "--trace", "t.json"]));
    assert!(code == 1 && err.contains("`trace` has no meaning on target `xdna2`"), "{err}");
}

#[test]
fn one_design_is_for_launches_of_several_lengths() {
    let folder = Folder::with(&[]);
    let emit = |file: &str, more: &[&str]| {
        let to = folder.path("design").display().to_string();
        let (code, _, err) = told(&on("emit", file, "xdna2", &[more, &["-o", &to]].concat()));
        (code, err, fs::read_to_string(folder.path("design").join("design.mlir")).unwrap_or_default())
    };
    let rows = ["--set", "cols=64", "--lengths", "rows=32,64"];
    let (code, err, text) = emit("examples/aie/softmax.wsp", &rows);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("\"sequence_rows_32\"") && text.contains("\"sequence_rows_64\""), "{text}");
    let room = ["--generate", "one=1,dim=64,room=64", "--lengths", "tokens=1,60"];
    let (code, err, text) = emit("examples/aie/decode.wsp", &room);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("rtp_write"), "{text}");
    let twice = [&room[..], &["--set", "tokens=3"]].concat();
    let (code, err, _) = emit("examples/aie/decode.wsp", &twice);
    assert!(code == 1 && err.contains("gives a value to what `--lengths` gives several"), "{err}");
    let to = folder.path("other").display().to_string();
    let (code, _, err) =
        told(&on("emit", "examples/row_softmax.pto", "a2", &["--lengths", "rows=1,2", "-o", &to]));
    assert!(code == 1 && err.contains("`lengths` has no meaning on target `ascend_910b`"), "{err}");
}

#[test]
fn an_extent_that_workload_and_kernels_share_is_set() {
    let folder = Folder::with(&[]);
    let to = folder.path("design").display().to_string();
    let (code, out, err) =
        told(&on("emit", "examples/aie/scale.wsp", "xdna2", &["--set", "n=4096", "-o", &to]));
    assert_eq!(code, 0, "{out}{err}");
    let manifest = fs::read_to_string(folder.path("design").join("manifest.json")).unwrap();
    assert!(manifest.contains("\"shape\": [4096]"), "{manifest}");
}
