//! `wsp check --target` of files of kernels: every finding of every kernel, and a line for each that is right.

use crate::command::{Folder, root, run};

/// Kernels over `x` and `y`, one task per row; the columns are a parameter without a value.
fn program(kernels: &[(&str, &str)]) -> String {
    let mut text = "PTO_SHAPE(x, rows, cols)
PTO_SHAPE(y, rows, cols)
PTO_PARAM(uint32_t, tile, 16)
PTO_SPACE(Rows) { PTO_AXIS(i, 0, rows) }
PTO_DESCRIPTOR_GEN(Rows) { PTO_SCHEDULED_FOR(i) { GENERATED } }
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Rows, { .x = x, .y = y }); }
"
    .to_owned();
    let mut emitted = String::new();
    for (name, body) in kernels {
        emitted += &format!("PTO_EMIT_DESCRIPTOR({name}_of{{ .first = i }}); ");
        text += &format!(
            "struct {name}_of {{ uint32_t first; }};
PTO_KERNEL_IMPL({name}) {{ auto desc = PTO_GET_DESCRIPTOR<{name}_of>(); {body} }}
"
        );
    }
    text.replace("GENERATED", &emitted)
}

const DOUBLE: &str = "VecTile<float, tile, cols> t; TLOAD(t, x, {desc.first, 0}); TADD(t, t, t); TSTORE(y, t, {desc.first, 0});";
const LARGE: &str =
    "VecTile<float, 1024, 64> t; TLOAD(t, x, {0, 0}); TEXP(t, t); TSTORE(y, t, {desc.first, 0});";
const RANDOM: &str = "VecTile<float, 1, 64> t; TRANDOM(t, 1, 0, 64); TSTORE(y, t, {desc.first, 0});";
const PRODUCT: &str = "VecTile<float, 16, 64> a; VecTile<float, 64, 16> b; VecTile<float, 16, 16> c;
    TLOAD(a, x, {desc.first, 0}); TLOAD(b, x, {0, 0}, 64, 16); TMATMUL(c, a, b); TEXP(c, c); TSTORE(y, c, {desc.first, 0});";
const BELOW: &str =
    "VecTile<float, 1, 64> t; TLOAD(t, x, {desc.first, 0}, tile - 20); TSTORE(y, t, {desc.first, 0});";
const LINE: &str =
    "float v = PTO_LOAD_SCALAR(x, {desc.first, 0}); PTO_STORE_SCALAR(y, v, {desc.first, tile - 16});";

/// Exit code, stdout and stderr of a check of `k.pto`.
fn check(folder: &Folder, more: &[&str]) -> (i32, String, String) {
    let file = folder.at("k.pto");
    let (code, out, err) = run(&[&["check", &file], more].concat());
    (code, out.replace(&file, "k.pto"), err)
}

#[test]
fn a_good_file_prints_a_line_for_each_kernel() {
    let folder = Folder::with(&[("k.pto", &program(&[("double_rows", DOUBLE), ("product", PRODUCT)]))]);
    for (target, ub) in [("ascend_910b", "188,416"), ("ascend_910c", "188,416"), ("ascend_950", "262,144")] {
        let (code, out, err) = check(&folder, &["--target", target, "--set", "cols=64"]);
        assert_eq!(code, 0, "{out}{err}");
        assert!(!err.contains("error") && !err.contains("warning"), "{err}");
        assert!(err.contains("note[WSP0400]") && err.contains("is checked for `cpu_sim`"), "{err}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 3, "{out}");
        assert_eq!(lines[0], format!("k.pto: kernel double_rows: 1 task, UB 4,096 of {ub} bytes"));
        assert!(lines[1].starts_with("k.pto: kernel product: "), "{out}");
        // On a5 the cores move tiles to each other.
        let tasks = if target == "ascend_950" { ": 1 task, UB " } else { " tasks, UB " };
        for part in [tasks, ", L0A 4,096 of 65,536 bytes", ", L0B 4,096 of 65,536 bytes", ", L0C 1,024 of "] {
            assert!(lines[1].contains(part), "{part}: {out}");
        }
        assert_eq!(lines[2], "k.pto: ok");
    }
}

#[test]
fn every_kernel_that_is_refused_is_told_with_all_that_is_wrong() {
    let kernels =
        [("large", LARGE), ("double_rows", DOUBLE), ("dice", RANDOM), ("below", BELOW), ("line", LINE)];
    let folder = Folder::with(&[("k.pto", &program(&kernels))]);
    let (code, out, err) = check(&folder, &["--target", "a2", "--set", "cols=60"]);
    assert_eq!(code, 1, "{out}{err}");
    for code in ["error[WSP1705]", "error[WSP1720]", "error[WSP1727]"] {
        assert_eq!(err.matches(code).count(), 1, "{code}: {err}");
    }
    for part in ["262144 bytes", "`load` is given -4 rows", "`random`"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert!(err.contains("warning[WSP1726]") && err.contains("240 bytes apart"), "{err}");
    let right: Vec<&str> = out.lines().collect();
    assert_eq!(right.len(), 2, "kernels that are right have their lines, and the file is not ok: {out}");
    assert!(right[0].contains("kernel double_rows: ") && right[1].contains("kernel line: "), "{out}");
    let all = err.clone();
    let (code, _, err) = check(&folder, &["--target", "a2", "--set", "cols=64"]);
    assert!(code == 1 && !err.contains("WSP1726"), "{all}\n{err}");
}

/// Of examples with kernels that no text can be written for, what is found of each, and the kernels that are right.
#[test]
fn examples_whose_kernels_are_refused_are_told_kernel_by_kernel() {
    let heads = ["--set", "HEAD_DIM=128", "--set", "num_qo_heads=32", "--set", "num_kv_heads=8"];
    for (file, set, faults, right) in [
        (
            "deepseek/indexer",
            &["--set", "HIDDEN=2048"][..],
            &[("WSP1705", "mla_prolog_entry")][..],
            &["indexer_prolog_entry", "lightning_indexer_entry", "sparse_fa_entry"][..],
        ),
        (
            "topk_indexer/indexer",
            &["--set", "heads=32"],
            &[("WSP1705", "index_128k")],
            &["index_2k", "index_8k", "index_64k"],
        ),
        (
            "decode_attention",
            &heads,
            &[
                ("WSP1701", "decode_kernel_2k"),
                ("WSP1701", "decode_kernel_8k"),
                ("WSP1701", "decode_kernel_64k"),
                ("WSP1701", "decode_kernel_128k"),
            ],
            &["merge_partial_outputs"],
        ),
    ] {
        let path = root().join(format!("examples/{file}.pto")).display().to_string();
        let (code, out, err) = run(&[&["check", &path, "--target", "a2"], set].concat());
        assert_eq!(code, 1, "{file}: {out}{err}");
        for (code, kernel) in faults {
            let told = err.split("\nerror[").any(|fault| {
                fault.trim_start_matches("error[").starts_with(code) && fault.contains(&format!("`{kernel}`"))
            });
            assert!(told, "{file}: {code} of `{kernel}`\n{err}");
        }
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), right.len(), "{file}: {out}");
        for (line, kernel) in lines.iter().zip(right) {
            assert!(line.contains(&format!(": kernel {kernel}: ")), "{file}: {line}");
        }
    }
}

#[test]
fn a_warning_of_a_kernel_is_an_error_with_strict() {
    let folder = Folder::with(&[("k.pto", &program(&[("line", LINE)]))]);
    let options = ["--target", "a2", "--set", "cols=15"];
    let (code, out, err) = check(&folder, &options);
    assert!(code == 0 && out.ends_with("k.pto: ok\n"), "{out}{err}");
    assert!(err.contains("warning[WSP1726]") && err.contains("k.pto:8:"), "{err}");
    let (code, out, err) = check(&folder, &[&options[..], &["--strict"]].concat());
    assert!(code == 1 && !out.contains("ok") && err.contains("error[WSP1726]"), "{out}{err}");
}

#[test]
fn what_was_not_looked_at_is_named_with_what_to_do() {
    let folder = Folder::with(&[("k.pto", &program(&[("double_rows", DOUBLE), ("declared", "")]))]);
    let (code, out, err) = check(&folder, &["--target", "a2"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("error[WSP1723]") && err.contains("set it with `--set cols=VALUE`"), "{err}");
    assert!(err.contains("error[WSP1702]") && err.contains("`declared` is no kernel with a body"), "{err}");
    assert!(err.contains("write the kernel with tile operations"), "{err}");
    let (_, _, err) = check(&folder, &["--target", "a2", "--set", "col=64"]);
    assert!(err.contains("did you mean `cols`?"), "{err}");
}

#[test]
fn a_program_is_checked_for_the_simulation_as_well() {
    let text = program(&[("double_rows", DOUBLE)])
        .replace("PTO_PARAM(uint32_t, tile, 16)", "PTO_PARAM(uint32_t, tile, 16)\nPTO_REQUIRE(tile > 20)");
    let folder = Folder::with(&[("k.pto", &text)]);
    let plain = check(&folder, &[]);
    let (code, out, err) = check(&folder, &["--target", "a2", "--set", "cols=64"]);
    assert_eq!((plain.0, code), (1, 1), "{plain:?} {err}");
    let code = plain.2.split(['[', ']']).nth(1).unwrap();
    assert!(err.contains(code), "{code}: {err}");
    assert!(out.contains("kernel double_rows: ") && !out.contains("ok"), "{out}");
}

#[test]
fn values_that_are_set_hold_for_the_whole_check() {
    let text = |require: &str| format!("{}PTO_REQUIRE({require})\n", program(&[("double_rows", DOUBLE)]));
    // By default `tile` is 16.
    for (require, tile, right) in [
        ("tile > 10", "8", false),
        ("tile > 10", "32", true),
        ("tile > 20", "32", true),
        ("tile > 20", "16", false),
    ] {
        let folder = Folder::with(&[("k.pto", &text(require))]);
        let set = format!("tile={tile}");
        let (code, out, err) = check(&folder, &["--target", "a2", "--set", "cols=64", "--set", &set]);
        assert_eq!(code, i32::from(!right), "{require} with {tile}: {out}{err}");
        assert_eq!(out.contains("k.pto: ok"), right, "{require} with {tile}: {out}{err}");
    }
    let folder = Folder::with(&[("k.pto", &text("tile > 10"))]);
    let (code, _, err) = check(&folder, &["--target", "a2", "--set", "cols=64", "--set", "tile=-1"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("`tile` cannot be -1: it is a `uint32_t`"), "{err}");
    assert!(err.contains("give it a whole number from 0 to 4294967295"), "{err}");
}

#[test]
fn targets_and_values_without_a_meaning_are_refused() {
    let folder = Folder::with(&[("k.pto", &program(&[("double_rows", DOUBLE)]))]);
    let (code, _, err) = check(&folder, &["--target", "ascend_910"]);
    assert!(code == 2 && err.contains("did you mean `ascend_910b`?"), "{err}");
    for more in [&["--set", "cols=64"][..], &["--target", "cpu_sim", "--set", "cols=64"]] {
        let (code, out, err) = check(&folder, more);
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(
            err.contains("`--set` is for workloads, and for kernels of `.pto` files")
                && err.contains("--target ascend_910b"),
            "{err}"
        );
    }
    let (code, out, err) = check(&folder, &["--target", "cpu_sim"]);
    assert_eq!((code, out.as_str()), (0, "k.pto: ok\n"), "{err}");
}

#[test]
fn a_task_graph_says_that_its_kernels_lie_elsewhere() {
    let kernels = "PTO_SHAPE(x, rows, 64)
PTO_SHAPE(y, rows, 64)
PTO_KERNEL_IMPL(copy_entry, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx() * 16; r < rows; r += get_block_num() * 16) {
        VecTile<float, 16, 64> t;
        TLOAD(t, x, {r});
        TSTORE(y, t, {r});
    }
}
";
    let graph = "use \"k.pto\"
extern X: f32[64, 64]
extern Y: f32[64, 64]
TG_BEGIN(G)
  TG_KERNEL(A, copy_entry, 4, AIV, 0)
  MC_BIND(A, 0, X)
  MC_BIND(A, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";
    let folder = Folder::with(&[("k.pto", kernels), ("g.tg", graph)]);
    let (code, out, err) = run(&["check", &folder.at("g.tg"), "--target", "a2"]);
    assert_eq!(code, 0, "{out}{err}");
    let file = folder.at("k.pto");
    assert!(err.contains("note[WSP1611]"), "{err}");
    assert!(err.contains(&format!("`wsp check {file} --target ascend_910b` does")), "{err}");
    let (code, out, err) = check(&folder, &["--target", "a2"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "k.pto: kernel copy_entry: 1 task, UB 8,192 of 188,416 bytes\nk.pto: ok\n");
}

#[test]
fn values_that_the_program_does_not_take_and_a_file_without_kernels_are_told() {
    let program = program(&[("double_rows", DOUBLE)]) + "PTO_REQUIRE(cols <= 64)\n";
    let folder = Folder::with(&[("k.pto", &program), ("n.pto", "PTO_PARAM(uint32_t, n, 1)\n")]);
    let (code, out, err) = check(&folder, &["--target", "a2", "--set", "cols=128"]);
    assert!(code == 1 && err.contains("WSP1731") && err.contains("cols = 128"), "{out}{err}");
    assert_eq!(check(&folder, &["--target", "a2", "--set", "cols=64"]).0, 0);
    let (code, _, err) = run(&["check", &folder.at("n.pto"), "--target", "a2"]);
    assert!(code == 0 && err.contains("note[WSP1725]: the file has no kernels"), "{err}");
}

/// An answer to the first that does not lead to the second.
#[test]
fn sizes_and_element_types_that_are_missing_are_told_together() {
    let program = program(&[("double_rows", DOUBLE)]).replace("Tensor<float> x", "Tensor x");
    let folder = Folder::with(&[("k.pto", &program)]);
    let (code, _, err) = check(&folder, &["--target", "a2"]);
    assert_eq!(code, 1);
    assert!(err.contains("`cols` is not set") && err.contains("the elements of `x` are not known"), "{err}");
}
