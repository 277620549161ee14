//! What a run says of NaN and infinity.

use super::checks::{COPY, Folder, json, refused};
use super::run;

#[test]
fn nan_and_infinity_are_counted_and_shown() {
    let folder = Folder::new();
    // 1 / 0 is infinite, inf - inf is NaN.
    let zeros = "TLOAD(t, x, {desc.idx}); TMULS(t, t, 0.0f); TRECIP(t, t);";
    let nan = folder.rows("rows", &format!("{zeros} TSUB(t, t, t); TSTORE(y, t, {{desc.idx}});"));
    let (out, err) = refused(&["run", &nan, "--generate", "rows=4"]);
    assert!(out.contains("256 of 256 elements of `y`; the first is y[0, 0]"), "{out}");
    assert!(err.contains("WSP0538") && !out.contains("`y` ok"), "{out}{err}");
    let report = json(&refused(&["run", &nan, "--generate", "rows=4", "--stats", "json"]).0);
    let check = &report["checks"][0];
    assert_eq!((&check["nans"], &check["passed"]), (&256.into(), &false.into()));
    assert_eq!(report["not_finite"][0]["first_nan"], serde_json::json!([0, 0]));
    // Infinity is shown, and no error where there are numbers too.
    let infinite = |when: &str| {
        let body =
            format!("TLOAD(t, x, {{desc.idx}}); if ({when}) {{ {zeros} }} TSTORE(y, t, {{desc.idx}});");
        folder.rows("rows", &body)
    };
    let (code, out, err) = run(&["run", &infinite("desc.idx == 1"), "--generate", "rows=4"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("infinite") && out.contains("64 of 256 elements of `y`"), "{out}");
    let (out, err) = refused(&["run", &infinite("desc.idx < rows"), "--generate", "rows=4"]);
    assert!(err.contains("WSP0538") && err.contains("256 of 256 elements of `y` are infinite"), "{err}");
    assert!(out.contains("WRONG: NaN or infinity from finite inputs") && !out.contains("`y` ok"), "{out}");
}

#[test]
fn nan_in_an_input_is_named_and_carried_through() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let mut values = vec![1.0f32; 128];
    values[70] = f32::NAN;
    let input = folder.array("x", "2, 64", &values);
    let args = ["run", &file, "--input", &input, "--check"];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("1 of 128 elements of input `x`; the first is x[1, 6]"), "{out}");
    assert!(out.contains("1 of 128 elements of `y`; the first is y[1, 6]"), "{out}");
    // No reference says where it may be.
    let (out, err) = refused(&[&args[..], &["--strict"]].concat());
    assert!(out.contains("`y` WRONG: NaN or infinity, which no independent check explains"), "{out}");
    assert!(err.contains("WSP0538") && err.contains("1 of 128 elements of `y` is NaN"), "{err}");
    assert!(err.contains("input `x` has NaN or infinity"), "{err}");
}

#[test]
fn a_reference_says_which_elements_are_nan() {
    let folder = Folder::new();
    let mut values = vec![1.0f32; 4 * 64];
    values[70] = f32::NAN;
    let input = folder.array("x", "4, 64", &values);
    let softmax = std::fs::read_to_string(super::root().join("examples/row_softmax.pto")).unwrap();
    let args = |file: &str| {
        [
            "run".to_owned(),
            file.to_owned(),
            "--input".to_owned(),
            input.clone(),
            "--check".to_owned(),
            "--strict".to_owned(),
        ]
    };
    let right = args(&folder.write("softmax.pto", &softmax));
    let (code, out, err) = run(&right.each_ref().map(String::as_str));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("64 elements NaN on both sides"), "{out}");
    // A row of NaN excuses no other.
    let wrong = softmax.replace("TSTORE(", "TMULS(t, t, 0.0f); TRECIP(t, t); TSUB(t, t, t); TSTORE(");
    assert_ne!(wrong, softmax);
    let wrong = args(&folder.write("wrong.pto", &wrong));
    let (out, err) = refused(&wrong.each_ref().map(String::as_str));
    assert!(err.contains("WSP0533") && err.contains("192 elements are NaN"), "{out}{err}");
}

#[test]
fn nan_everywhere_compares_nothing() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let input = folder.array("x", "2, 64", &[f32::NAN; 128]);
    let args = ["run", &file, "--input", &input, "--check"];
    let (out, err) = refused(&args);
    assert!(out.contains("`y` not compared: every element is NaN on both sides"), "{out}");
    assert!(err.contains("WSP0534") && err.contains("nothing was compared of `y`"), "{err}");
    let report = json(&refused(&[&args[..], &["--stats", "json"]].concat()).0);
    assert_eq!(report["checks"][0]["passed"], false);
}

#[test]
fn what_comes_of_infinite_inputs_is_not_said_to_come_of_finite_ones() {
    let folder = Folder::new();
    let body = "TLOAD(t, x, {desc.idx}); TSUB(t, t, t); TSTORE(y, t, {desc.idx});";
    let file = folder.rows("rows", body);
    let mut values = vec![1.0f32; 128];
    values[64..].fill(f32::INFINITY);
    let input = folder.array("x", "2, 64", &values);
    let args = ["run", &file, "--input", &input, "--check"];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("64 of 128 elements of `y`; the first is y[1, 0]"), "{out}");
    let (out, err) = refused(&[&args[..], &["--strict"]].concat());
    assert!(err.contains("WSP0538") && !out.contains("finite inputs"), "{out}{err}");
    assert!(out.contains("`y` WRONG: NaN or infinity, which no independent check explains"), "{out}");
}

#[test]
fn nan_is_counted_without_a_check() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let mut values = vec![1.0f32; 128];
    (values[70], values[3]) = (f32::NAN, f32::INFINITY);
    let input = folder.array("x", "2, 64", &values);
    let copy = folder.write(
        "copy.wsp",
        "tensor x: f32[2, 64]; tensor y: f32[2, 64]; kernel copy(in a, out b); workload main { copy(x, y); }",
    );
    for file in [&file, &copy] {
        let args = ["run", file, "--input", &input, "--no-check"];
        let (code, out, err) = run(&args);
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("1 of 128 elements of input `x`; the first is x[1, 6]"), "{out}");
        let report = json(&run(&[&args[..], &["--stats", "json"]].concat()).1);
        let found = &report["not_finite"][0];
        assert_eq!((&found["nans"], &found["infinities"]), (&1.into(), &1.into()), "{report}");
        assert_eq!(found["first_nan"], serde_json::json!([1, 6]), "{report}");
        assert_eq!(found["first_infinity"], serde_json::json!([0, 3]), "{report}");
    }
}
