//! What a run that checks says: against what, of what was never written, and of what is no number.

use super::run;
use serde_json::Value;
use tempfile::TempDir;

/// Rows of `x` plus 1 in `y`; the generator's loop and the kernel are to be filled in.
const ROWS: &str = "
PTO_SHAPE(x, rows, 64)
PTO_SHAPE(y, rows, 64)
PTO_PARAM(uint32_t, shift, 0)
struct Row { uint32_t idx; };
PTO_SPACE(Rows) { PTO_AXIS(row, 0, COUNT) }
PTO_DESCRIPTOR_GEN(Rows) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .idx = r + shift }); } }
PTO_KERNEL_IMPL(k) {
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 64> t;
    BODY
}
void f(Tensor x, Tensor<float> y) { PTO_LAUNCH(Rows, { .x = x, .y = y }); }
";
pub(super) const COPY: &str = "TLOAD(t, x, {desc.idx}); TSTORE(y, t, {desc.idx});";

/// A kernel without a host entry.
pub(super) const LIBRARY: &str = "
PTO_SHAPE(x, 4, 4)
PTO_SHAPE(y, 4, 4)
struct Row { uint32_t i; };
PTO_KERNEL_IMPL(copy_row) {
    auto d = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 4> t;
    TLOAD(t, x, {d.i});
    TSTORE(y, t, {d.i});
}
";

pub(super) struct Folder(TempDir);

impl Folder {
    pub(super) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(super) fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub(super) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    /// An array of f32 as a file, as `--input` takes it.
    pub(super) fn array(&self, name: &str, shape: &str, values: &[f32]) -> String {
        let path = self.at(&format!("{name}.npy"));
        std::fs::write(&path, npy(shape, values)).unwrap();
        format!("{name}={path}")
    }

    pub(super) fn rows(&self, count: &str, body: &str) -> String {
        self.write("rows.pto", &rows(count, body))
    }
}

/// The program of so many rows.
pub(super) fn rows(count: &str, body: &str) -> String {
    ROWS.replace("COUNT", count).replace("BODY", body)
}

pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Runs a program of ten rows that must fail; what it prints, and its errors.
#[track_caller]
pub(super) fn refused(args: &[&str]) -> (String, String) {
    let (code, out, err) = run(args);
    assert_eq!(code, 1, "{args:?}\n{out}\n{err}");
    (out, err)
}

#[test]
fn elements_that_were_never_written_are_counted_and_the_first_is_named() {
    let folder = Folder::new();
    let file = folder.rows("rows / 2", COPY);
    let run10 = ["run", &file, "--generate", "rows=10"];
    let (out, err) = refused(&run10);
    assert!(out.contains("320 of 640 elements of `y` never written; the first is y[5, 0]"), "{out}");
    assert!(err.contains("WSP0537") && !out.contains("`y` ok"), "{out}{err}");
    let (out, _) = refused(&[&run10[..], &["--stats", "json"]].concat());
    let report = json(&out);
    assert_eq!(
        (&report["unwritten"][0]["elements"], &report["unwritten"][0]["of"]),
        (&320.into(), &640.into())
    );
    assert_eq!(report["unwritten"][0]["first"], serde_json::json!([5, 0]));
    assert_eq!(report["checks"][0]["passed"], false);
    // Without a check nothing is recorded, unless `--strict` asks for it.
    assert_eq!(run(&[&run10[..], &["--no-check"]].concat()).0, 0);
    refused(&[&run10[..], &["--no-check", "--strict"]].concat());
    let columns = "TLOAD(t, x, {desc.idx}, 1, 32); TSTORE(y, t, {desc.idx});";
    let (out, _) = refused(&["run", &folder.rows("rows", columns), "--generate", "rows=10"]);
    assert!(out.contains("320 of 640 elements of `y` never written; the first is y[0, 32]"), "{out}");
}

#[test]
fn what_is_given_or_loaded_before_it_is_stored_may_stay_as_it_was() {
    let folder = Folder::new();
    let add = |row: &str| {
        let load = format!("VecTile<float, 1, 64> u; TLOAD(t, x, {{desc.idx}}); TLOAD(u, y, {{{row}}});");
        folder.rows("rows / 2", &format!("{load} TADD(t, t, u); TSTORE(y, t, {{desc.idx}});"))
    };
    let passes = |args: &[&str]| {
        let (code, out, err) = run(args);
        assert_eq!(code, 0, "{out}{err}");
        assert!(!out.contains("unwritten"), "{out}");
    };
    // The rows that are not stored are loaded.
    passes(&["run", &add("desc.idx + rows / 2"), "--generate", "rows=10"]);
    // One of them is.
    let one = add("desc.idx + (desc.idx < 1 ? 9 : 0)");
    let (out, _) = refused(&["run", &one, "--generate", "rows=10"]);
    assert!(out.contains("256 of 640 elements of `y` never written; the first is y[5, 0]"), "{out}");
    let input = folder.at("y.npy");
    std::fs::write(&input, npy("10, 64", &[1.0; 640])).unwrap();
    passes(&["run", &one, "--generate", "--input", &format!("y={input}"), "--check"]);
}

#[test]
fn a_load_past_the_end_stops_the_run_where_its_tile_is_used() {
    let folder = Folder::new();
    let body = "TLOAD(t, x, {desc.idx}); TADDS(t, t, 1.0f); TSTORE(y, t, {desc.idx});";
    let file = folder.rows("rows", body);
    for (shift, extent) in [("100000", "100000"), ("1", "10")] {
        let set = format!("shift={shift}");
        for check in ["--check", "--no-check"] {
            let (_, err) = refused(&["run", &file, "--generate", "rows=10", "--set", &set, check]);
            assert!(
                err.contains("WSP0610") && err.contains("a load past the end of dimension 0 of `x`"),
                "{err}"
            );
            assert!(
                err.contains(&format!("index {extent}")) && err.contains("the dimension has 10"),
                "{err}"
            );
            assert!(err.contains(".idx = ") && err.contains("`t` is used here"), "{err}");
        }
    }
    // A load of 0 rows is meant, and so is a tile whose rows are only asked for.
    let meant = "TLOAD(t, x, {desc.idx}, 0); TADDS(t, t, 1.0f);
                 VecTile<float, 1, 64> u; TLOAD(u, x, {desc.idx + 1});
                 if (PTO_VALID_ROWS(u) == 0) { TLOAD(u, x, {desc.idx}); } TSTORE(y, u, {desc.idx});";
    let (code, out, err) = run(&["run", &folder.rows("rows", meant), "--generate", "rows=10"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_load_from_a_dimension_without_elements_is_no_load_past_its_end() {
    let folder = Folder::new();
    let empty = folder.write(
        "empty.pto",
        "PTO_SHAPE(x, rows, 8)
         PTO_SHAPE(y, 4, 8)
         struct D { uint32_t i; };
         PTO_SPACE(S) { PTO_AXIS(i, 0, 4) }
         PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .i = i }); } }
         PTO_KERNEL_IMPL(k) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 2, 8> t;
             VecTile<float, 1, 8> sum;
             TLOAD(t, x, {AT});
             TADDS(t, t, 1.0f);
             TASSIGN(sum, 2.0f);
             TSTORE(y, sum, {d.i});
         }
         void f(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }",
    );
    let text = std::fs::read_to_string(&empty).unwrap();
    std::fs::write(&empty, text.replace("AT", "0")).unwrap();
    let (code, out, err) = run(&["run", &empty, "--generate", "rows=0"]);
    assert_eq!(code, 0, "{out}{err}");
    std::fs::write(&empty, text.replace("AT", "1")).unwrap();
    let (_, err) = refused(&["run", &empty, "--generate", "rows=0"]);
    assert!(err.contains("WSP0610"), "{err}");
}

/// A workspace slot of which a kernel stores a part, and which a kernel loads.
const SLOTS: &str = "
PTO_SHAPE(y, n, 4)
PTO_WORKSPACE(p, float, 1, 4)
PTO_PARAM(uint32_t, n, 3)
PTO_SPACE(S) { PTO_AXIS(i, 0, n) }
struct D { uint32_t i, w; };
struct M { uint32_t i, w; };
PTO_TIER_DEF(T) { PTO_DEFAULT(k, PTO_SLOT_BYTES) }
PTO_DESCRIPTOR_GEN(S) {
    PTO_SCHEDULED_FOR(i) {
        PTO_EMIT_DESCRIPTOR(D{ .i = i, .w = PTO_ALLOC_WS(0, i) });
        PTO_EMIT_DESCRIPTOR(M{ .i = i, .w = PTO_ALLOC_WS(0, i) });
    }
}
PTO_KERNEL_IMPL(k) {
    auto d = PTO_GET_DESCRIPTOR<D>();
    VecTile<float, 1, 4> t; TASSIGN(t, 1.0f, 1, STORED); TSTORE(p, t, {d.w, 0, 0});
}
PTO_KERNEL_IMPL(merge) {
    auto d = PTO_GET_DESCRIPTOR<M>();
    VecTile<float, 1, 4> t; TLOAD(t, p, {d.w, 0, 0}); TSTORE(y, t, {d.i, 0});
}
void go(Tensor<float> y) { PTO_LAUNCH(S, { .y = y }); }
";

#[test]
fn a_load_of_what_no_task_has_stored_is_a_fault_in_both_engines() {
    let folder = Folder::new();
    let scalar = folder.write(
        "scalar.pto",
        "PTO_SHAPE(y, n, 1)
         PTO_WORKSPACE(p, float, 1, 1)
         PTO_PARAM(uint32_t, n, 3)
         PTO_SPACE(S) { PTO_AXIS(i, 0, n) }
         struct D { uint32_t i, w; };
         PTO_TIER_DEF(T) { PTO_DEFAULT(k, PTO_SLOT_BYTES) }
         PTO_DESCRIPTOR_GEN(S) {
             PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .i = i, .w = PTO_ALLOC_WS(0, i) }); }
         }
         PTO_KERNEL_IMPL(k) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(p, {d.w, 0, 0}), {d.i, 0});
         }
         void go(Tensor<float> y) { PTO_LAUNCH(S, { .y = y }); }",
    );
    let part = folder.write("part.pto", &SLOTS.replace("STORED", "3"));
    for engine in ["interpreter", "native"] {
        for (file, note) in [(&scalar, ".w = "), (&part, "row 0 and column 3")] {
            let (_, err) = refused(&["run", file, "--check", "--engine", engine]);
            assert!(err.contains("WSP0616") && err.contains("`p` is loaded") && err.contains(note), "{err}");
        }
    }
    let whole = folder.write("whole.pto", &SLOTS.replace("STORED", "4"));
    let (code, out, err) = run(&["run", &whole, "--check"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_check_says_what_it_compared_with() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let same = "the same program on one thread: not an independent check";
    let (_, out, _) = run(&["run", &file, "--generate", "rows=10"]);
    assert!(out.contains("`y` ok") && out.contains(same), "{out}");
    let report = json(&run(&["run", &file, "--generate", "rows=10", "--stats", "json"]).1);
    assert_eq!(
        (&report["checks"][0]["against"], &report["checks"][0]["independent"]),
        (&same.into(), &false.into())
    );
    let (_, out, _) = run(&["run", "examples/row_softmax.pto", "--generate", "rows=9"]);
    assert!(out.contains("against f64 reference `row_softmax`"), "{out}");
    let args = ["run", super::EXAMPLE, "--generate", super::SMALL];
    let (_, out, _) = run(&args);
    assert!(out.contains("against f64 reference `paged_decode_attention`") && !out.contains(same), "{out}");
    let report = json(&run(&[&args[..], &["--stats", "json"]].concat()).1);
    assert_eq!(report["checks"][0]["independent"], true);
    for example in ["examples/graphs/softmax.wsp", "examples/thousand_steps.tg"] {
        let (_, out, err) = run(&["run", example]);
        assert!(out.contains(same), "{out}{err}");
        let report = json(&run(&["run", example, "--stats", "json"]).1);
        assert_eq!(report["check"]["independent"], false, "{report}");
    }
}

/// An array of f32 as a `.npy` file.
pub(super) fn npy(shape: &str, values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    let padded = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(padded.as_bytes());
    bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

#[test]
fn a_softmax_scale_that_is_one_per_cent_off_is_refused_for_every_type() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(super::root().join(super::EXAMPLE)).unwrap();
    let wrong = text.replace("sm_scale * LOG2E", "sm_scale * LOG2E * 1.01f");
    assert_ne!(text, wrong);
    for (name, text) in [("both.pto", wrong.clone()), ("output.pto", wrong.replace(".lse = lse, ", ""))] {
        let file = folder.write(name, &text);
        for dtype in ["f32", "f16", "bf16"] {
            let (out, _) = refused(&[
                "run",
                &file,
                "--generate",
                &format!("dtype={dtype},batch=2,len=4096,heads=2/1,dim=64"),
            ]);
            assert!(out.contains("`output` WRONG"), "{dtype}: {out}");
        }
    }
}

#[test]
fn workloads_and_task_graphs_say_what_was_never_written() {
    let folder = Folder::new();
    let workload = folder.write(
        "half.wsp",
        "param n = 8;
tensor x: f32[n, 4];
tensor y: f32[n, 4];
kernel copy(in a, out b);
workload half { parallel for i in 0..n / 2 { copy(x[i, ..], y[i, ..]); } }
",
    );
    let (out, err) = refused(&["run", &workload]);
    assert!(out.contains("16 of 32 elements of `y` never written; the first is y[4, 0]"), "{out}{err}");
    assert!(
        out.contains("check      WRONG: elements were never written; what is compared agrees: 1 tensor"),
        "{out}"
    );
    let report = json(&refused(&["run", &workload, "--stats", "json"]).0);
    assert_eq!(
        (&report["check"]["passed"], &report["unwritten"][0]["elements"]),
        (&false.into(), &16.into())
    );
    // A load of one row exempts no other.
    let text = std::fs::read_to_string(&workload).unwrap();
    let text = text.replace("kernel copy", "tensor z: f32[1, 4];\nkernel copy");
    let text = text.replace("y[i, ..]); }", "y[i, ..]); } copy(y[5, ..], z[0, ..]);");
    let (out, err) = refused(&["run", &folder.write("half.wsp", &text)]);
    assert!(out.contains("12 of 32 elements of `y` never written; the first is y[4, 0]"), "{out}{err}");
    let (out, _) = refused(&["run", &folder.write("half.wsp", &text.replace("copy(y[5,", "copy(y[1,"))]);
    assert!(out.contains("16 of 32 elements of `y` never written; the first is y[4, 0]"), "{out}");
    // So does a load of all that is stored.
    let text = text
        .replace("z: f32[1, 4]", "z: f32[4, 4]")
        .replace("copy(y[5, ..], z[0, ..])", "copy(y[0..4, ..], z)");
    let half = folder.write("half.wsp", &text);
    let (out, err) = refused(&["run", &half]);
    assert!(out.contains("16 of 32 elements of `y` never written; the first is y[4, 0]"), "{out}{err}");
    assert_eq!(run(&["run", &half, "--allow-unwritten", "y"]).0, 0);
}

#[test]
fn task_graphs_say_what_no_kernel_stored_and_refuse_loads_of_it() {
    let folder = Folder::new();
    folder.write(
        "kernels.pto",
        "PTO_PARAM(uint32_t, COLS, 8)
         PTO_SHAPE(a, rows, COLS)
         PTO_SHAPE(b, rows, COLS)
         PTO_KERNEL_IMPL(upper_rows, Tensor<float> a, Tensor<float> b) {
             VecTile<float, 1, COLS> t;
             for (uint32_t r = get_block_idx(); r < rows / 2; r += get_block_num()) {
                 TLOAD(t, a, {r});
                 TSTORE(b, t, {r});
             }
         }",
    );
    let unit = |begin: &str| {
        let text = format!(
            "use \"kernels.pto\"
extern B: f32[4, 8]
{begin}
TG_KERNEL(K, upper_rows, 1, AIV, 0)
MC_BIND(K, 0, A)
MC_BIND(K, 1, B)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
"
        );
        folder.write("unit.tg", &text)
    };
    let half = unit("extern A: f32[4, 8]\nTG_BEGIN(G)");
    let (out, err) = refused(&["run", &half]);
    assert!(out.contains("16 of 32 elements of `B` never written; the first is B[2, 0]"), "{out}{err}");
    let (code, out, _) = run(&["run", &half, "--allow-unwritten", "B"]);
    assert!(code == 0 && out.contains("check      ok"), "{out}");
    let (out, err) = refused(&["run", &half, "--allow-unwritten", "C"]);
    assert!(out.is_empty() && err.contains("WSP0539") && err.contains("`C`"), "{out}{err}");
    // Also where other tensors are given.
    let input = folder.at("a.npy");
    std::fs::write(&input, npy("4, 8", &[1.0; 32])).unwrap();
    let (out, err) = refused(&["run", &half, "--input", &format!("A={input}"), "--check"]);
    assert!(out.contains("16 of 32 elements of `B` never written"), "{out}{err}");
    let (_, err) = refused(&["run", &unit("TG_BEGIN(G)\nMC_ALLOC(A, 128)")]);
    assert!(
        err.contains("WSP0616") && err.contains("`a` is loaded where no task has stored anything"),
        "{err}"
    );
    // A load of one row exempts no other.
    let half = unit("extern A: f32[4, 8]\nTG_BEGIN(G)");
    let text = std::fs::read_to_string(folder.at("kernels.pto")).unwrap();
    folder.write("kernels.pto", &text.replace("TLOAD(t, a, {r});", "TLOAD(t, b, {3}); TADDS(t, t, 1.0f);"));
    let (out, err) = refused(&["run", &half]);
    assert!(out.contains("8 of 32 elements of `B` never written; the first is B[2, 0]"), "{out}{err}");
    // A kernel that leaves before it stores has no output.
    folder.write("kernels.pto", &text.replace("TSTORE", "return; TSTORE"));
    for check in [&[][..], &["--check"]] {
        let (out, err) = refused(&[&["run", &half], check].concat());
        assert!(err.contains("WSP0534") && out.contains("nothing was compared"), "{out}{err}");
    }
    let (out, err) = refused(&["run", &half, "--check", "--strict"]);
    assert!(out.is_empty() && err.contains("error[WSP0269]"), "{out}{err}");
}

#[test]
fn names_of_fill_and_keys_of_generate_have_their_effect_or_are_refused() {
    let folder = Folder::new();
    let file = folder.rows("rows / 2", COPY);
    let array = |name: &str| {
        let path = folder.at(&format!("{name}.npy"));
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }";
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend([0; 4 * 64 * 4]);
        std::fs::write(&path, bytes).unwrap();
        format!("{name}={path}")
    };
    let x = array("x");
    // An output that is made up begins with those values; what of them is left is found all the same.
    let (out, err) = refused(&["run", &file, "--input", &x, "--fill", "y", "--check"]);
    assert!(
        out.contains("y made up from seed 1") && err.contains("128 of 256 elements of `y`"),
        "{out}{err}"
    );
    let outputs = |option: &[&str], name: &str| {
        let to = folder.at(name);
        let (code, out, err) = run(&[&["run", &file, "--input", &x, "--outputs", &to], option].concat());
        assert_eq!(code, 0, "{out}{err}");
        let y = wsp_cli::files::Npz::open(to.as_ref()).unwrap().read("y").unwrap();
        y.bytes().iter().any(|&byte| byte != 0)
    };
    assert!(outputs(&["--fill", "y"], "filled.npz") && !outputs(&[], "plain.npz"));
    // The output is the only array that is not given, and no task reads it.
    for keys in ["rows=3", "foo=3"] {
        let (out, err) = refused(&["run", &file, "--input", &x, "--generate", keys]);
        assert!(out.is_empty() && err.contains("nothing is made up"), "{keys}: {out}{err}");
    }
    let (out, err) = refused(&["run", &file, "--input", &x, "--check", "--allow-unwritten", "z"]);
    assert!(out.is_empty() && err.contains("WSP0539") && err.contains("its outputs are y"), "{out}{err}");
    let workload = folder
        .write("half.wsp", "tensor y: u32[2]; table n = [1]; kernel k(out y); workload main { k(y[0]); }");
    let (out, err) = refused(&["run", &workload, "--fill", "n"]);
    assert!(out.is_empty() && err.contains("`n` cannot be made up"), "{out}{err}");
    let (out, err) = refused(&["run", &workload, "--allow-unwritten", "Y"]);
    assert!(out.is_empty() && err.contains("did you mean `y`?"), "{out}{err}");
    let (code, out, err) = run(&["run", &workload, "--allow-unwritten", "y"]);
    assert_eq!(code, 0, "{out}{err}");
}
