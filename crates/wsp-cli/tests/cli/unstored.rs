//! Outputs to which nothing is stored, and declarations that nothing uses.

use super::checks::{Folder, json, refused};
use super::run;

/// What a check says of a run that stores nothing to `y`, although its array is given.
#[track_caller]
fn stores_nothing(args: &[&str]) {
    for strict in [&["--check"][..], &["--check", "--strict"], &["--no-check", "--strict"]] {
        let (out, err) = refused(&[args, strict].concat());
        assert!(err.contains("WSP0537") && err.contains("no task has stored to `y`"), "{out}{err}");
        assert!(!err.contains("--input y=") && !out.contains("` ok") && !out.contains("  ok"), "{out}{err}");
        let (code, out, err) = run(&[args, strict, &["--allow-unwritten", "y"]].concat());
        assert_eq!(code, 0, "{out}{err}");
    }
}

#[test]
fn an_output_that_is_given_is_stored_to() {
    let folder = Folder::new();
    let [x, y] = ["x", "y"].map(|name| folder.array(name, "4, 64", &[1.0; 256]));
    let given = ["--input", &x, "--input", &y];
    let store = |when: &str| {
        let body =
            "TLOAD(t, x, {desc.idx}); VecTile<float, 1, 64> u; TLOAD(u, y, {desc.idx}); TADD(t, t, u);";
        folder.rows("rows", &format!("{body} if ({when}) {{ TSTORE(y, t, {{desc.idx}}); }}"))
    };
    stores_nothing(&[&["run", &store("desc.idx >= rows")][..], &given].concat());
    // A step updates a part, after it has read all.
    let (code, out, err) =
        run(&[&["run", &store("desc.idx == 1"), "--check", "--strict"][..], &given].concat());
    assert_eq!(code, 0, "{out}{err}");

    let workload = folder.write(
        "add.wsp",
        "param n = 0; tensor x: f32[4, 64]; tensor y: f32[4, 64]; tensor z: f32[4, 64];
         kernel add(in a, inout b);
         workload main { add(x, z); for i in 0..n { add(x[i, ..], y[i, ..]); } }",
    );
    let z = folder.array("z", "4, 64", &[1.0; 256]);
    let args = [&["run", &workload, "--input", &z][..], &given].concat();
    stores_nothing(&args);
    let (code, out, err) = run(&[&args[..], &["--check", "--strict", "--set", "n=1"]].concat());
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn an_output_that_is_only_loaded_is_not_written() {
    let folder = Folder::new();
    let body = "TLOAD(t, y, {desc.idx}); if (desc.idx >= rows) { TSTORE(y, t, {desc.idx}); }";
    let (out, err) = refused(&["run", &folder.rows("rows", body), "--generate", "rows=2"]);
    assert!(out.contains("128 of 128 elements of `y` never written"), "{out}{err}");
}

#[test]
fn a_tensor_that_no_task_is_given_is_warned_of() {
    let folder = Folder::new();
    let text = "tensor x: f32[4]; tensor spare: f32[4]; tensor _meant: f32[4]; slot s = 0;
                kernel k(inout x); workload main { k(x); }";
    let file = folder.write("spare.wsp", text);
    let (code, _, err) = run(&["check", &file]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("warning[WSP0261]: tensor `spare` is never used"), "{err}");
    assert_eq!(err.matches("WSP0261").count(), 1, "{err}");
    assert_eq!(run(&["check", "--strict", &file]).0, 1);
    // Tasks of every workload count.
    let called = text.replace("workload main", "workload other { k(spare); } workload main");
    let (code, _, err) = run(&["check", "--strict", &folder.write("called.wsp", &called)]);
    assert!(code == 0 && err.is_empty(), "{err}");
}

#[test]
fn columns_are_recorded_as_rows_are() {
    let folder = Folder::new();
    let file = folder.write(
        "columns.wsp",
        "param n = 9; param to = 9; param reads = 9; tensor x: f32[n, n]; tensor t: f32[n, n]; tensor y: f32[n, n];
         kernel copy(in a, out b);
         workload main {
             parallel for j in 0..to { copy(x[.., j], t[.., j]); }
             parallel for i in 0..reads { copy(t[.., i], y[i, ..]); }
         }",
    );
    let args = ["run", &file, "--fill", "x"];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    let (_, err) = refused(&[&args[..], &["--set", "to=8", "--no-check"]].concat());
    assert!(err.contains("WSP0616") && err.contains("the first such element is t[0, 8]"), "{err}");
    let part = ["run", &file, "--set", "to=8", "--set", "reads=8", "--allow-unwritten", "y"];
    let report = json(&refused(&[&part[..], &["--stats", "json"]].concat()).0);
    assert_eq!(report["unwritten"][0]["elements"], 9, "{report}");
    assert_eq!(report["unwritten"][0]["first"], serde_json::json!([0, 8]), "{report}");
}
