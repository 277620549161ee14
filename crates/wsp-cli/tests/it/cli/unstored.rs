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

/// Runs with a producer that leaves out a part which other tasks load: `args` are refused with `--strict`, and warned of without it.
#[track_caller]
fn loads_what_none_stores(args: &[&str], name: &str, found: &str, first: &str) {
    let line = format!("loaded     {found} of `{name}` that no task stores; the first is {first}");
    let (code, out, err) = run(args);
    assert_eq!(code, 0, "{args:?}: {out}{err}");
    let warning = format!("warning[WSP0547]: tasks load {found} of `{name}`, which none stores");
    assert!(
        out.contains(&line) && err.contains(&warning) && err.contains(&format!("the first is {first};")),
        "{out}{err}"
    );
    let (out, err) = refused(&[args, &["--strict"]].concat());
    assert!(
        err.contains("error[WSP0547]") && out.contains("WRONG: tasks load elements that none stores"),
        "{out}{err}"
    );
    refused(&[args, &["--strict", "--no-check"]].concat());
    let report = json(&run(&[args, &["--stats", "json"]].concat()).1);
    let entry = &report["loaded_unwritten"][0];
    assert_eq!(entry["name"], name, "{report}");
    assert!(found.starts_with(&format!("{} of {} ", entry["elements"], entry["of"])), "{report}");
    // What the help says ends the warning, and the summary names the tensor still.
    assert!(err.contains(&format!("`--allow-unwritten {name}`")), "{err}");
    let (code, out, err) = run(&[args, &["--allow-unwritten", name, "--strict"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains(&line), "{out}");
}

#[test]
fn elements_that_tasks_load_and_none_stores_are_warned_of() {
    let folder = Folder::new();
    for (tasks, found, first) in [
        ("make(x, y[0..4, ..]); take(y, z);", "16 of 32 elements", "y[4, 0]"),
        ("make(x, y[.., 1..4]); take(y, z);", "8 of 32 elements", "y[0, 0]"),
        ("make(x, y[0..7, ..]); make(x, y[7, 0..3]); take(y[7, 3], z);", "1 of 32 elements", "y[7, 3]"),
        ("take(y, z); make(x, y[7, 0..3]);", "29 of 32 elements", "y[0, 0]"),
    ] {
        let text = format!(
            "tensor x: f32[8, 4]; tensor y: f32[8, 4]; tensor z: f32[1];
             kernel make(in a, out b); kernel take(in a, inout b);
             workload main {{ {tasks} }}"
        );
        let file = folder.write("part.wsp", &text);
        loads_what_none_stores(&["run", &file], "y", found, first);
        loads_what_none_stores(&["run", &file, "--generate"], "y", found, first);
        let filled = ["run", &file, "--fill", "x", "--fill", "y", "--fill", "z", "--strict"];
        let (code, out, err) = run(&filled);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        let y = folder.array("y", "8, 4", &[1.0; 32]);
        let (code, out, err) = run(&["run", &file, "--generate", "--input", &y, "--strict"]);
        assert!((code, err.as_str()) == (0, "") && !out.contains("loaded "), "{out}{err}");
    }
}

#[test]
fn programs_and_task_graphs_warn_of_loads_of_what_none_stores() {
    let folder = Folder::new();
    let body = "TLOAD(t, x, {desc.idx}); VecTile<float, 1, 64> u; TLOAD(u, y, {rows - 1 - desc.idx});
                TADD(t, t, u); if (desc.idx != 2) { TSTORE(y, t, {desc.idx}); }";
    let program = folder.rows("rows", body);
    loads_what_none_stores(&["run", &program, "--generate", "rows=10"], "y", "64 of 640 elements", "y[2, 0]");
    folder.write(
        "kernels.pto",
        "PTO_PARAM(uint32_t, FROM, 0)
         PTO_PARAM(uint32_t, TO, 3)
         PTO_SHAPE(a, rows, 8)
         PTO_SHAPE(b, rows, 8)
         PTO_KERNEL_IMPL(some_rows, Tensor<float> a, Tensor<float> b) {
             VecTile<float, 1, 8> t;
             for (uint32_t r = FROM; r < TO; r = r + 1) { TLOAD(t, a, {r}); TSTORE(b, t, {r}); }
         }
         PTO_KERNEL_IMPL(all_rows, Tensor<float> a, Tensor<float> b) {
             VecTile<float, 1, 8> t;
             for (uint32_t r = 0; r < rows; r = r + 1) { TLOAD(t, a, {r}); TSTORE(b, t, {r}); }
         }",
    );
    let unit = folder.write(
        "unit.tg",
        "use \"kernels.pto\"
extern A: f32[4, 8]
extern B: f32[4, 8]
extern C: f32[4, 8]
TG_BEGIN(G)
TG_KERNEL(K, some_rows, 1, AIV, 0)
MC_BIND(K, 0, A)
MC_BIND(K, 1, B)
TG_KERNEL(L, all_rows, 1, AIV, 0)
MC_BIND(L, 0, B)
MC_BIND(L, 1, C)
TG_DEPEND(K, L, DATA, B)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
",
    );
    loads_what_none_stores(&["run", &unit], "B", "8 of 32 elements", "B[3, 0]");
    let workload = folder
        .write("user.wsp", "use \"rows.pto\"; workload main { parallel for i in 0..9 { k(idx = i); } }");
    let load =
        "TLOAD(t, x, {desc.idx}); VecTile<float, 1, 64> u; TLOAD(u, y, {desc.idx + 1}); TADD(t, t, u);";
    folder.rows("rows", &format!("{load} TSTORE(y, t, {{desc.idx}});"));
    loads_what_none_stores(
        &["run", &workload, "--generate", "rows=10"],
        "y",
        "64 of 640 elements",
        "y[9, 0]",
    );
}

/// Chunks that are stored to slots, and a merge of the chunks of each row, inside or outside of the loop that emits the chunks.
fn merging(inside: bool) -> String {
    let emit = "PTO_EMIT_DESCRIPTOR(M{ .i = i, .w = PTO_ALLOC_WS(0, i, 0) });";
    let (inside, outside) = match inside {
        true => (format!("if (c == 1) {emit}"), String::new()),
        false => (String::new(), format!("PTO_FOR_EACH(i, 0, 3) {{ {emit} }}")),
    };
    format!(
        "PTO_SHAPE(x, 3, 2)
         PTO_SHAPE(y, 3, 4)
         PTO_WORKSPACE(p, float, 1, 4)
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, 3) PTO_AXIS(c, 0, PTO_DYNAMIC) }}
         struct D {{ uint32_t i, c, w; }};
         struct M {{ uint32_t i, w; }};
         PTO_TIER_DEF(T) {{ PTO_DEFAULT(k, PTO_SLOT_BYTES) }}
         PTO_DESCRIPTOR_GEN(S) {{
             PTO_SET_EXTENT(c, 2);
             PTO_SCHEDULED_FOR(i, c) {{
                 PTO_EMIT_DESCRIPTOR(D{{ .i = i, .c = c, .w = PTO_ALLOC_WS(0, i, c) }});
                 {inside}
             }}
             {outside}
         }}
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 1, 4> t;
             TASSIGN(t, PTO_LOAD_SCALAR(x, {{d.i, d.c}}));
             TSTORE(p, t, {{d.w, 0, 0}});
         }}
         PTO_KERNEL_IMPL(merge) {{
             auto d = PTO_GET_DESCRIPTOR<M>();
             VecTile<float, 1, 4> sum;
             TASSIGN(sum, 0.0f);
             for (uint32_t part = 0; part < 2; ++part) {{
                 VecTile<float, 1, 4> t;
                 TLOAD(t, p, {{d.w + part * PTO_SLOT_BYTES, 0, 0}});
                 TADD(sum, sum, t);
             }}
             TSTORE(y, sum, {{d.i, 0}});
         }}
         void go(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .x = x, .y = y }}); }}"
    )
}

#[test]
fn a_run_without_a_check_stops_at_a_slot_that_no_task_has_stored() {
    let folder = Folder::new();
    let x = folder.array("x", "3, 2", &[1.0; 6]);
    let [inside, outside] =
        [true, false].map(|is| folder.write(if is { "inside.pto" } else { "outside.pto" }, &merging(is)));
    for engine in ["interpreter", "native"] {
        for threads in ["1", "3"] {
            let args = ["--input", &x, "--no-check", "--engine", engine, "--threads", threads];
            let (code, out, err) = run(&[&["run", &inside][..], &args].concat());
            assert_eq!(code, 0, "{out}{err}");
            let (_, err) = refused(&[&["run", &outside][..], &args].concat());
            assert!(err.contains("WSP0616") && err.contains("`p` is loaded"), "{err}");
        }
    }
    let (code, _, err) = run(&["check", &outside]);
    assert!(code == 0 && err.contains("WSP0268") && err.contains("no task stores to them"), "{err}");
    let (_, err) = refused(&["check", "--strict", &outside]);
    assert!(err.contains("WSP0268"), "{err}");
    let (code, out, err) = run(&["check", "--strict", &inside]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_run_without_a_check_stops_at_a_temporary_that_no_task_has_stored() {
    let folder = Folder::new();
    let x = folder.array("x", "4, 64", &[1.0; 256]);
    let file = |stored: &str| {
        folder.write(
            "temporary.pto",
            &format!(
                "PTO_SHAPE(x, rows, 64)
                 PTO_SHAPE(y, rows, 64)
                 PTO_SPACE(Rows) {{ PTO_AXIS(row, 0, rows) }}
                 PTO_TENSOR(t, float, row, 64)
                 struct First {{ uint32_t i; }};
                 struct Second {{ uint32_t i; }};
                 PTO_DESCRIPTOR_GEN(Rows) {{
                     PTO_SCHEDULED_FOR(r) {{
                         PTO_EMIT_DESCRIPTOR(First{{ .i = r }});
                         PTO_EMIT_DESCRIPTOR(Second{{ .i = r }});
                     }}
                 }}
                 PTO_KERNEL_IMPL(first) {{
                     auto d = PTO_GET_DESCRIPTOR<First>();
                     VecTile<float, 1, 64> a;
                     TLOAD(a, x, {{d.i, 0}}, 1, {stored});
                     TSTORE(t, a, {{d.i, 0}});
                 }}
                 PTO_KERNEL_IMPL(second) {{
                     auto d = PTO_GET_DESCRIPTOR<Second>();
                     VecTile<float, 1, 64> a;
                     TLOAD(a, t, {{d.i, 0}});
                     TSTORE(y, a, {{d.i, 0}});
                 }}
                 void go(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(Rows, {{ .x = x, .y = y }}); }}"
            ),
        )
    };
    let args = ["--input", &x, "--no-check"];
    let (_, err) = refused(&[&["run", &file("40")][..], &args].concat());
    assert!(err.contains("WSP0616") && err.contains("row 0 and column 48"), "{err}");
    let (code, out, err) = run(&[&["run", &file("64")][..], &args].concat());
    assert_eq!(code, 0, "{out}{err}");
}
