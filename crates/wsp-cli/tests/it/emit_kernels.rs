//! `wsp emit --stage kernels`: files of kernels, and one diagnostic for each thing that is wrong, with nothing written.

use crate::command::{Folder, run};

/// Kernels over `x` and `y`, whose columns are a parameter without a value.
fn program(kernels: &str) -> String {
    format!(
        "PTO_SHAPE(x, rows, cols)
PTO_SHAPE(y, rows, cols)
PTO_PARAM(uint32_t, tile, 16)
PTO_SPACE(Rows) {{ PTO_AXIS(i, 0, rows) }}
struct D {{ uint32_t first; }};
{kernels}
PTO_DESCRIPTOR_GEN(Rows) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .first = i }}); }} }}
void go(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(Rows, {{ .x = x, .y = y }}); }}
"
    )
}

fn kernel(name: &str, body: &str) -> String {
    format!("PTO_KERNEL_IMPL({name}) {{ auto desc = PTO_GET_DESCRIPTOR<D>(); {body} }}")
}

const DOUBLE: &str = "VecTile<float, tile, cols> t; TLOAD(t, x, {desc.first, 0}); TADD(t, t, t); TSTORE(y, t, {desc.first, 0});";

/// Exit code, stdout and stderr of an emission of `k.pto`.
fn emit(folder: &Folder, more: &[&str]) -> (i32, String, String) {
    let (file, out) = (folder.at("k.pto"), folder.at("out"));
    run(&[&["emit", &file, "--stage", "kernels", "-o", &out], more].concat())
}

#[test]
fn kernels_of_a_file_are_written_for_each_target() {
    let folder = Folder::with(&[("k.pto", &program(&kernel("double_rows", DOUBLE)))]);
    for target in ["ascend_910b", "ascend_910c", "ascend_950", "a2"] {
        let (code, out, err) = emit(&folder, &["--target", target, "--set", "cols=64"]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert_eq!(out.trim(), folder.at("out/double_rows.cpp"));
        let text = folder.read("out/double_rows.cpp");
        let tile = "Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, DYNAMIC, 64>";
        assert!(text.contains(tile) && text.contains("TADD(") && text.contains("kernel_entry"), "{text}");
    }
    let (_, _, err) = emit(&folder, &["--target", "a2", "--set", "cols=64", "--set", "tile=8"]);
    assert_eq!(err, "");
    assert!(folder.read("out/double_rows.cpp").contains("float, 8, 64,"));
}

#[test]
fn all_files_are_written_or_none() {
    let second = kernel("b", DOUBLE).replace("<D>", "<E>");
    let text = program(&format!("{} struct E {{ uint32_t first; }}; {second}", kernel("a", DOUBLE)));
    let folder = Folder::with(&[("k.pto", &text)]);
    std::fs::create_dir_all(folder.path("out/b.cpp")).unwrap();
    let options = ["--target", "a2", "--set", "cols=64"];
    let (code, out, err) = emit(&folder, &options);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("b.cpp") && !folder.path("out/a.cpp").exists(), "{err}");
    std::fs::write(folder.path("out/a.cpp"), "old").unwrap();
    assert_eq!(emit(&folder, &options).0, 1);
    assert_eq!(folder.read("out/a.cpp"), "old", "what was there before stays");
}

#[test]
fn what_is_wrong_is_one_diagnostic_and_nothing_is_written() {
    let good = kernel("k", DOUBLE);
    let products = kernel(
        "k",
        "LeftTile<float, 16, 16> a; RightTile<float, 16, 16> b; AccTile<float, 16, 16> c; VecTile<float, 16, 16> t;
         TLOAD(a, x, {0, 0}); TLOAD(b, x, {0, 0}); TMATMUL(c, a, b); TSTORE(y, c, {0, 0});
         uint32_t rows = (uint32_t)PTO_LOAD_SCALAR(x, {0, 0});
         TLOAD(t, x, {0, 0}, rows); TEXP(t, t); TSTORE(y, t, {0, 0}); TLOAD(a, x, {0, 0}, rows); TMATMUL(c, a, b); TSTORE(y, c, {0, 0});",
    );
    let large =
        kernel("k", "VecTile<float, 1024, 64> t; TLOAD(t, x, {0, 0}); TEXP(t, t); TSTORE(y, t, {0, 0});");
    let random = kernel("k", "VecTile<float, 8, 64> t; TRANDOM(t, 1, 0, 64); TSTORE(y, t, {0, 0});");
    let doubles =
        kernel("k", "VecTile<double, 8, 64> t; TLOAD(t, x, {0, 0}); TEXP(t, t); TSTORE(y, t, {0, 0});");
    let other = kernel("k_2", DOUBLE).replace("<D>", "<E>");
    let parts = kernel(
        "k",
        "VecTile<float, 16, 16> t; RightTile<float, 16, 16> w; VecTile<float, 16, 16> o; TLOAD(t, x, {0, 0}); TEXP(t, t);
         TLOAD(w, x, {0, 0}); TMATMUL(o, t, w); TEXP(o, o); TSTORE(y, o, {0, 0});",
    );
    let alike = format!("{parts} struct E {{ uint32_t first; }}; {other}");
    let even = format!("PTO_REQUIRE(cols % 2 == 0) PTO_REQUIRE(rows > 0) {}", kernel("k", DOUBLE));
    let set: &[&str] = &["--target", "a2", "--set", "cols=64"];
    for (kernels, more, code, part) in [
        (&good, &["--target", "a2"][..], "WSP1723", "`cols` is not set, and sizes of tiles depend on it"),
        (&good, &["--target", "a2", "--set", "col=64"], "WSP1723", "did you mean `cols`?"),
        (&good, &["--target", "a2", "--set", "cols=64", "--kernel", "kk"], "WSP1725", "did you mean `k`?"),
        (&even, &["--target", "a2", "--set", "cols=65"], "WSP1731", "cols = 65"),
        (&products, set, "WSP1722", "which another task or the order of tasks needs"),
        (&alike, set, "WSP1721", "kernel `k_2` and one before it are both written to `k_2.cpp`"),
        (&large, set, "WSP1705", "262144 bytes at once do not fit UB, which has 188416"),
        (&random, set, "WSP1720", "a2 has no instructions for `random`"),
        (&doubles, set, "WSP1720", "a2 has no elements of `f64`"),
    ] {
        let folder = Folder::with(&[("k.pto", &program(kernels))]);
        let (exit, out, err) = emit(&folder, more);
        assert_eq!((exit, out.as_str()), (1, ""), "{err}");
        assert_eq!(err.matches("error[").count(), 1, "{err}");
        assert!(err.contains(code) && err.contains(part), "{code} {part}: {err}");
        assert!(!folder.path("out").exists(), "what is refused writes nothing");
    }
}

#[test]
fn unknown_stages_and_targets_are_answered_with_the_nearest() {
    let folder = Folder::with(&[("k.pto", &program(&kernel("k", DOUBLE)))]);
    let file = folder.at("k.pto");
    for (args, part) in [
        (["--stage", "kernel", "--target", "a2"], "did you mean `kernels`?"),
        (["--stage", "kernels", "--target", "ascend_910"], "did you mean `ascend_910b`?"),
    ] {
        let out = folder.at("out");
        let (code, _, err) = run(&[&["emit", &file, "-o", &out], &args[..]].concat());
        assert!(code == 2 && err.contains(part), "{err}");
        assert!(!folder.path("out").exists());
    }
    let (code, _, err) = run(&["emit", &file, "-o", &folder.at("out"), "--target", "a2", "--kernel", "k"]);
    assert!(code != 0 && err.contains("`--kernel` is not for packages"), "{err}");
    let graphs = ["emit", &file, "-o", &folder.at("out"), "--target", "a2", "--stage", "graph"];
    let (code, _, err) = run(&graphs);
    assert!(code != 0 && err.contains("task graphs"), "{err}");
    assert!(err.contains(&format!("`wsp emit {file} --target NAME -o FOLDER`")), "{err}");
    let other = Folder::with(&[("g.tg", ""), ("decode.py", "import pto_wsp\n")]);
    for (name, part) in
        [("g.tg", "the unit launches no graph"), ("decode.py", "is a file of an unknown kind")]
    {
        let out = other.at("out");
        let (code, _, err) =
            run(&["emit", &other.at(name), "-o", &out, "--target", "a2", "--stage", "kernels"]);
        assert!(code == 1 && err.matches("error[").count() == 1 && err.contains(part), "{err}");
    }
}
