//! What programs take: arrays, extents and settings that something uses, and no others.

use super::checks::{Folder, refused};
use super::run;

const LIBRARY: &str = "
PTO_SHAPE(x, rows, 8)
PTO_SHAPE(y, rows, 8)
PTO_SHAPE(u, spare, 8)
PTO_PARAM(uint32_t, more, spare + 1)
const uint32_t TWICE = 2 * spare;
PTO_REQUIRE(TWICE < 100)
PTO_TENSOR(t, float, spare, 8)
PTO_SPACE(S) { PTO_AXIS(a, 1, spare) PTO_TILE(a, spare) }
struct A { uint32_t r; };
struct B { uint32_t r; };
struct C { uint32_t r; };
struct D { uint32_t r; };
PTO_KERNEL_IMPL(copy) {
    auto d = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 8> t;
    TLOAD(t, x, {d.r});
    TSTORE(y, t, {d.r});
}
uint32_t twice() { return TWICE; }
PTO_KERNEL_IMPL(names) {
    auto d = PTO_GET_DESCRIPTOR<B>();
    VecTile<float, 1, 8> t;
    TASSIGN(t, float(twice()));
    TSTORE(y, t, {d.r});
}
PTO_KERNEL_IMPL(reads) {
    auto d = PTO_GET_DESCRIPTOR<C>();
    VecTile<float, 1, 8> t;
    TLOAD(t, u, {d.r});
    TSTORE(y, t, {d.r});
}
PTO_KERNEL_IMPL(cores) {
    auto d = PTO_GET_DESCRIPTOR<D>();
    VecTile<float, 1, 8> t;
    TASSIGN(t, float(PTO_GET_MAX_BLOCKS()));
    TSTORE(y, t, {d.r});
}
";

/// A workload of rows whose task is `kernel`, over the library.
fn rows(folder: &Folder, kernel: &str) -> String {
    folder.write("library.pto", LIBRARY);
    let text = format!(
        "use \"library.pto\"; param n = 3; workload main {{ parallel for i in 0..n {{ copy(i); {kernel}(i + n); }} }}"
    );
    folder.write(&format!("{kernel}.wsp"), &text)
}

#[test]
fn an_extent_that_no_kernel_in_use_needs_has_no_value() {
    let folder = Folder::new();
    let [x, u] = [("x", "6, 8", 48), ("u", "6, 8", 48)]
        .map(|(name, shape, elements)| folder.array(name, shape, &vec![1.0; elements]));
    let copies = rows(&folder, "copy");
    for more in [&[][..], &["--check"], &["--aicpus", "2"]] {
        let (code, out, err) = run(&[&["run", &copies, "--input", &x][..], more].concat());
        assert_eq!(code, 0, "{out}{err}");
    }
    let (code, out, err) = run(&["graph", &copies, "--input", &x]);
    assert_eq!(code, 0, "{out}{err}");
    let (_, err) = refused(&["run", &copies, "--input", &x, "--input", &u]);
    assert!(err.contains("takes no array `u`"), "{err}");
    // A kernel that names the extent needs its value, also behind a function and a constant; one that loads the array does too.
    let names = rows(&folder, "names");
    let (_, err) = refused(&["run", &names, "--input", &x]);
    assert!(
        err.contains("WSP0564") && err.contains("extent `spare`") && err.contains("--input u=FILE.npy"),
        "{err}"
    );
    for program in [names, rows(&folder, "reads")] {
        let (code, out, err) = run(&["run", &program, "--input", &x, "--input", &u]);
        assert_eq!(code, 0, "{out}{err}");
        let (code, out, err) = run(&["run", &program, "--generate", "rows=6,spare=6"]);
        assert_eq!(code, 0, "{out}{err}");
    }
    // So does a workload that takes its value, or one that follows from it.
    for (param, tasks) in [("spare", "spare"), ("TWICE", "TWICE / 2"), ("more", "more - 1")] {
        let text = format!(
            "use \"library.pto\"; param {param}; workload main {{ parallel for i in 0..{tasks} {{ copy(i); }} }}"
        );
        let takes = folder.write("takes.wsp", &text);
        let (_, err) = refused(&["run", &takes, "--input", &x]);
        assert!(err.contains("WSP0564"), "{err}");
        let (code, out, err) = run(&["run", &takes, "--input", &x, "--input", &u]);
        assert!(code == 0 && out.contains("6 copy"), "{out}{err}");
    }
}

#[test]
fn settings_of_a_workload_over_a_used_file_are_its_own() {
    let folder = Folder::new();
    let (copies, cores) = (rows(&folder, "copy"), rows(&folder, "cores"));
    let (_, err) = refused(&["run", &copies, "--set", "nn=3"]);
    assert!(err.contains("there is no parameter `nn`") && err.contains("did you mean `n`?"), "{err}");
    let (_, err) = refused(&["run", &copies, "--set", "whatever=3"]);
    assert!(err.contains("parameters that can be set: more, n\n"), "{err}");
    let (_, err) = refused(&["run", &copies, "--set", "rows=3"]);
    assert!(err.contains("where all arrays are made up, write `--generate rows=N`"), "{err}");
    let (_, err) = refused(&["run", &copies, "--set", "max_blocks=3"]);
    assert!(err.contains("WSP0882") && err.contains("`--set max_blocks=…`"), "{err}");
    let (_, err) = refused(&["run", &cores, "--set", "whatever=3"]);
    assert!(err.contains("parameters that can be set: more, n, max_blocks\n"), "{err}");
    let (code, out, err) =
        run(&["run", &cores, "--set", "max_blocks=3", "--set", "n=2", "--generate", "rows=4"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_table_with_values_is_an_array_of_the_used_file_too() {
    let folder = Folder::new();
    folder.write(
        "segments.pto",
        "PTO_SHAPE(x, n, 4) PTO_SHAPE(ptr, ends) PTO_SHAPE(y, ends - 1, 4)
         struct Segment { uint32_t b; };
         PTO_KERNEL_IMPL(sum) {
             auto d = PTO_GET_DESCRIPTOR<Segment>();
             VecTile<float, 1, 4> s;
             TASSIGN(s, 0.0f);
             for (uint32_t t = ptr[d.b]; t < ptr[d.b + 1]; ++t) {
                 VecTile<float, 1, 4> v;
                 TLOAD(v, x, {t});
                 TADD(s, s, v);
             }
             TSTORE(y, s, {d.b});
         }",
    );
    let text = "use \"segments.pto\"; table ptr = [0, 2, 3];
        workload main { parallel for i in 0..2 { if ptr[i + 1] > ptr[i] { sum(b = i); } } }";
    let file = folder.write("segments.wsp", text);
    let x = folder.array("x", "3, 4", &[1.0; 12]);
    for args in [&["run", &file][..], &["run", &file, "--input", &x, "--check"], &["graph", &file]] {
        let (code, out, err) = run(args);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        assert!(!out.contains("ptr i"), "the table is not made up: {out}");
    }
    // Elements that the kernel cannot have are refused as those of a file are.
    let below = folder.write("below.wsp", &text.replace("[0, 2, 3]", "[0, -2, 3]"));
    let (_, err) = refused(&["run", &below, "--input", &x]);
    assert!(err.contains("`ptr[1]` is -2"), "{err}");
}

#[test]
fn a_graph_takes_the_tables_that_its_tasks_depend_on() {
    let folder = Folder::new();
    let text = "table lengths; tensor x: f32[4]; kernel f(inout a);
        workload main { for i in 0..lengths[0] { f(x[i]); } }";
    let with = folder.write("with.wsp", text);
    let without = folder.write("without.wsp", &text.replace("table lengths;", "").replace("lengths[0]", "4"));
    let x = folder.array("x", "4", &[0.0; 4]);
    let q = x.replacen('x', "q", 1);
    let (_, err) = refused(&["graph", &with, "--input", &q]);
    assert!(err.contains("no table `q`") && err.contains("the tasks depend on lengths\n"), "{err}");
    let (_, err) = refused(&["graph", &without, "--input", &q]);
    assert!(err.contains("no table `q`") && err.contains("the tasks depend on no array\n"), "{err}");
    let (_, err) = refused(&["graph", &without, "--input", &x]);
    assert!(err.contains("`x` is a tensor, not a table"), "{err}");
}

#[test]
fn what_no_run_reads_need_not_be_given() {
    let folder = Folder::new();
    let b = folder.array("b", "4", &[1.0; 4]);
    for (body, needed) in [
        ("if 4 > 5 { f(a, c); } f(b, c);", false),
        ("if 2 { f(b, c); } else { f(a, c); }", false),
        ("for i in 3..3 { f(a, c); } f(b, c);", false),
        ("f(a[1..1], c[1..1]); f(b, c);", false),
        ("f(a[2 +: 0], c[1 +: 0]); f(b, c);", false),
        ("if 5 > 4 { f(a, c); } f(b, c);", true),
        ("if n > 4 { f(b, c); } else { f(a, c); }", true),
        ("f(a[1..2], c[1..2]); f(b, c);", true),
    ] {
        let text = format!(
            "param n = 1; tensor a: f32[4]; tensor b: f32[4]; tensor c: f32[4]; kernel f(in a, out b);
             workload main {{ {body} }}"
        );
        let file = folder.write("reads.wsp", &text);
        let (code, out, err) = run(&["run", &file, "--input", &b, "--no-check"]);
        assert_eq!(
            (code, err.contains("array `a` is missing")),
            (i32::from(needed), needed),
            "{body}: {out}{err}"
        );
    }
}

#[test]
fn external_tensors_that_nothing_uses_are_found_and_not_taken() {
    let folder = Folder::new();
    folder.write(
        "kernels.pto",
        "PTO_SHAPE(x, n, 4) PTO_SHAPE(y, n, 4) PTO_RESIDENT(weights, float, 1, 4)
         PTO_KERNEL_IMPL(mul, Tensor<float> x, Tensor<float> y) {
             VecTile<float, 1, 4> t;
             VecTile<float, 1, 4> u;
             TLOAD(t, x, {0});
             TLOAD(u, weights, {0});
             TMUL(t, t, u);
             TSTORE(y, t, {0});
         }",
    );
    let text = "use \"kernels.pto\"
extern X: f32[1, 4]
extern Y: f32[1, 4]
extern weights: f32[1, 4]
extern SPARE: f32[4]
TG_BEGIN(G)
TG_KERNEL(K, mul, 1, AIV, 0)
MC_BIND(K, 0, X)
MC_BIND(K, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";
    let file = folder.write("spare.tg", text);
    let (code, out, err) = run(&["check", &file]);
    assert!(
        code == 0 && err.contains("warning[WSP0261]: external tensor `SPARE` is never used"),
        "{out}{err}"
    );
    assert_eq!(err.matches("WSP0261").count(), 1, "{err}");
    refused(&["check", "--strict", &file]);
    let given = [("X", "1, 4"), ("weights", "1, 4"), ("SPARE", "4")]
        .map(|(name, shape)| folder.array(name, shape, &[1.0; 4]));
    let [x, weights, spare] = &given;
    let args = ["run", &file, "--input", x, "--input", weights];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    let (_, err) = refused(&[&args[..], &["--input", spare]].concat());
    assert!(err.contains("the unit takes no array `SPARE`"), "{err}");
    let (_, err) = refused(&[&args[..], &["--fill", "SPARE"]].concat());
    assert!(err.contains("takes no array `SPARE`"), "{err}");
    let meant = folder.write("meant.tg", &text.replace("SPARE", "_SPARE"));
    let (code, _, err) = run(&["check", "--strict", &meant]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn only_arrays_of_the_launch_can_be_given_where_nothing_is_stored() {
    let folder = Folder::new();
    folder.write(
        "steps.pto",
        "PTO_SHAPE(x, n, 1) PTO_TENSOR(tmp, float, n, 1) PTO_SHAPE(y, n, 1)
         struct A { uint32_t i; };
         PTO_KERNEL_IMPL(get) {
             auto d = PTO_GET_DESCRIPTOR<A>();
             PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(tmp, {d.i, 0}) + PTO_LOAD_SCALAR(x, {d.i, 0}), {d.i, 0});
         }",
    );
    let file = folder.write("steps.wsp", "use \"steps.pto\"; workload main { get(0); }");
    let (_, err) = refused(&["run", &file, "--no-check"]);
    assert!(err.contains("WSP0616") && !err.contains("or give the array"), "{err}");
    assert!(err.contains("an array of the launch (`PTO_SHAPE`) may be given instead"), "{err}");
}

#[test]
fn values_of_parameters_that_no_called_kernel_reads_are_refused() {
    let folder = Folder::new();
    folder.write(
        "kernels.pto",
        "PTO_PARAM(uint32_t, USED, 1) PTO_PARAM(uint32_t, NOBODY, 1) PTO_PARAM(uint32_t, DEAD, 1) PTO_PARAM(uint32_t, OTHER, 1)
         PTO_SHAPE(x, 4, 8) PTO_SHAPE(y, 4, 8)
         struct D { uint32_t f; };
         struct E { uint32_t f; };
         PTO_KERNEL_IMPL(copy) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 4, 8> t;
             TLOAD(t, x, {d.f});
             TMULS(t, t, float(USED));
             if (false) { TADDS(t, t, float(DEAD)); }
             TSTORE(y, t, {d.f});
         }
         PTO_KERNEL_IMPL(more) {
             auto d = PTO_GET_DESCRIPTOR<E>();
             VecTile<float, 4, 8> t;
             TLOAD(t, x, {d.f * OTHER});
             TSTORE(y, t, {d.f});
         }",
    );
    let workload = folder.write("main.wsp", "use \"kernels.pto\"; workload main { copy(0); }");
    folder.write(
        "entries.pto",
        "PTO_PARAM(float, USED, 1.0f) PTO_PARAM(float, NOBODY, 1.0f) PTO_PARAM(float, DEAD, 1.0f) PTO_PARAM(float, OTHER, 1.0f)
         PTO_SHAPE(x, rows, 8) PTO_SHAPE(y, rows, 8)
         PTO_KERNEL_IMPL(copy, Tensor<float> x, Tensor<float> y) {
             VecTile<float, 4, 8> t;
             TLOAD(t, x, {0});
             TMULS(t, t, USED);
             if (false) { TADDS(t, t, DEAD); }
             TSTORE(y, t, {0});
         }
         PTO_KERNEL_IMPL(more, Tensor<float> x, Tensor<float> y) {
             VecTile<float, 4, 8> t;
             TLOAD(t, x, {0});
             TMULS(t, t, OTHER);
             TSTORE(y, t, {0});
         }",
    );
    let unit = folder.write(
        "main.tg",
        "use \"entries.pto\"\nextern X: f32[4, 8]\nextern Y: f32[4, 8]\nTG_BEGIN(G)\n  TG_KERNEL(A, copy, 1, AIV, 0)\n  MC_BIND(A, 0, X)\n  MC_BIND(A, 1, Y)\nTG_END(G)\nTG_LAUNCH(G, 0)\nTG_SYNC(G)\n",
    );
    for program in [&workload, &unit] {
        let (code, out, err) = run(&["run", program, "--set", "USED=2"]);
        assert_eq!(code, 0, "{program}: {out}{err}");
        for name in ["NOBODY", "DEAD", "OTHER"] {
            let (_, err) = refused(&["run", program, "--set", &format!("{name}=2")]);
            assert!(
                err.contains("WSP0882") && err.contains(&format!("nothing reads `{name}`")),
                "{program}: {err}"
            );
        }
    }
}

#[test]
fn an_argument_of_a_host_entry_is_given_also_where_a_constant_rules_its_use_out() {
    let folder = Folder::new();
    let program = folder.write(
        "branch.pto",
        "PTO_SHAPE(x, rows, 8) PTO_SHAPE(z, rows, 8) PTO_SHAPE(y, rows, 8)
         PTO_SPACE(S) { PTO_AXIS(i, 0, rows) PTO_TILE(i, 1) }
         struct D { uint32_t f; };
         PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(D{ .f = tile }); } }
         PTO_KERNEL_IMPL(k) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 1, 8> t;
             TLOAD(t, x, {d.f});
             if (false) { TLOAD(t, z, {d.f}); }
             TSTORE(y, t, {d.f});
         }
         void run(Tensor<float> x, Tensor<float> z, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .z = z, .y = y }); }",
    );
    let [x, z] = ["x", "z"].map(|name| folder.array(name, "6, 8", &[1.0; 48]));
    let (_, err) = refused(&["run", &program, "--input", &x]);
    assert!(err.contains("WSP0550") && err.contains("`z`"), "{err}");
    let (code, out, err) = run(&["run", &program, "--input", &x, "--input", &z]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn extents_that_are_set_are_made_up_by_generate() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/row_softmax.pto");
    for (args, code, help) in [
        (["--set", "rows=4"], "WSP0558", "`--generate rows=N`"),
        (["--set", "colz=4"], "WSP0558", "`--generate cols=N`"),
        (["--generate", "colz=4"], "WSP0522", "did you mean `--generate cols=4`?"),
        (["--generate", "dtype=int"], "WSP0522", "`--generate`"),
    ] {
        let (_, err) = refused(&["run", file, args[0], args[1]]);
        assert!(err.contains(code) && err.contains(help), "{args:?}: {err}");
    }
}
