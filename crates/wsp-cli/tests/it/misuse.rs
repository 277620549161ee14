//! What happens to those who give wrong arrays, options and programs: a diagnostic with what, where and numbers, and
//! never a wrong result.

use crate::command::root;
use std::path::Path;
use std::process::Command;
use wsp_cli::KvLayout;
use wsp_cli::engine::{Options, RunOutcome, compile, execute};
use wsp_cli::files::{read_npy, write_npz};
use wsp_core::DType;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::Module;
use wsp_plan::{Array, Arrays, ParamValue};

fn example(name: &str) -> Module {
    let path = root().join("examples").join(name);
    module(&std::fs::read_to_string(path).unwrap())
}

fn module(text: &str) -> Module {
    compile(&mut SourceMap::default(), "test.pto", text).unwrap_or_else(|faults| panic!("{faults:?}")).module
}

fn zeros(dtype: DType, shape: &[u64]) -> Array {
    Array::zeros(dtype, shape).unwrap()
}

fn f32s(shape: &[u64], values: &[f32]) -> Array {
    let mut array = zeros(DType::F32, shape);
    array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
    array
}

fn u32s(values: &[u32]) -> Array {
    let mut array = zeros(DType::U32, &[values.len() as u64]);
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

/// Two requests of 5 and 3 tokens, pages of 4, 2 KV heads of 8; 4 query heads.
fn decode_arrays() -> Arrays {
    Arrays::from([
        ("q".to_owned(), zeros(DType::F16, &[2, 4, 1, 8])),
        ("kv.k".to_owned(), zeros(DType::F16, &[3, 4, 2, 8])),
        ("kv.v".to_owned(), zeros(DType::F16, &[3, 4, 2, 8])),
        ("kv.indptr".to_owned(), u32s(&[0, 2, 3])),
        ("kv.indices".to_owned(), u32s(&[2, 0, 1])),
        ("kv.last_page_len".to_owned(), u32s(&[1, 3])),
        ("kv_lens".to_owned(), u32s(&[5, 3])),
    ])
}

fn try_run(module: &Module, arrays: Arrays, options: &Options) -> Result<RunOutcome, Vec<Diagnostic>> {
    execute(&wsp_cli::engine::Loaded { module: module.clone(), arrays }, options)
}

/// The first fault, as code, message, notes and help together.
fn fault(module: &Module, arrays: Arrays, options: &Options) -> (u16, String) {
    let faults = try_run(module, arrays, options).unwrap_err();
    let first = &faults[0];
    let text = [&[first.message.clone()][..], &first.notes, &first.help].concat().join("\n");
    (first.code.0, text)
}

fn set(name: &str, value: ParamValue) -> Options {
    Options { set: vec![(name.to_owned(), value)], threads: 1, ..Options::default() }
}

fn one_thread() -> Options {
    Options { threads: 1, ..Options::default() }
}

#[test]
fn a_cache_must_have_the_extents_that_other_arrays_give_its_names() {
    for name in ["decode_attention.pto", "decode_graph.pto"] {
        let program = example(name);
        let run = |key: &str, array: Array, options: &Options| {
            let mut arrays = decode_arrays();
            if program.tensor_named("kv_lens").is_none() {
                arrays.remove("kv_lens");
            }
            arrays.insert(key.to_owned(), array);
            fault(&program, arrays, options)
        };
        let (code, text) = run("q", zeros(DType::F16, &[2, 4, 1, 4]), &one_thread());
        assert_eq!(code, 552, "{text}");
        assert!(text.contains("have 8 elements, but must have `HEAD_DIM` = 4"), "{text}");
        assert!(text.contains("`kv.k` is [3, 4, 2, 8]"), "{text}");
        let (code, text) = run("q", zeros(DType::F16, &[3, 4, 1, 8]), &one_thread());
        assert_eq!(code, 552, "{text}");
        assert!(text.contains("`kv.indptr` is for 2 requests, but there must be `batch_size` = 3"), "{text}");
    }
}

#[test]
fn pages_in_the_other_order_are_recognised_when_the_heads_are_declared() {
    let text = std::fs::read_to_string(root().join("examples/decode_attention.pto")).unwrap();
    let text = text
        .replace("batch_size, PTO_DYNAMIC, num_kv_heads, HEAD_DIM", "batch_size, PTO_DYNAMIC, 2, HEAD_DIM")
        .replace("PTO_GET_PARAM(num_kv_heads)", "2")
        .replace("num_kv_heads", "2");
    let options = Options { layout: KvLayout::Hnd, ..one_thread() };
    let mut arrays = decode_arrays();
    // Two tokens per page when heads and tokens are mixed up, so the table must fit that as well.
    arrays.insert("kv.last_page_len".to_owned(), u32s(&[1, 2]));
    arrays.insert("kv_lens".to_owned(), u32s(&[3, 2]));
    let (code, text) = fault(&module(&text), arrays, &options);
    assert_eq!(code, 552, "{text}");
    assert!(text.contains("have 4 heads, but must have 2"), "{text}");
    assert!(text.contains("--set kv_layout=NHD"), "{text}");
}

#[test]
fn pages_in_the_other_order_are_recognised_by_their_table() {
    let program = example("decode_attention.pto");
    // Heads of 2 are taken for pages of 2 tokens.
    let mut arrays = decode_arrays();
    for pages in ["kv.k", "kv.v"] {
        arrays.insert(pages.to_owned(), zeros(DType::F16, &[3, 2, 4, 8]));
    }
    let (code, text) = fault(&program, arrays, &one_thread());
    assert_eq!(code, 556, "{text}");
    assert!(
        text.contains("the table fits pages of 4 tokens") && text.contains("--set kv_layout=HND"),
        "{text}"
    );
    let mut arrays = decode_arrays();
    arrays.insert("q".to_owned(), zeros(DType::I32, &[2, 4, 1, 8]));
    let (code, text) = fault(&program, arrays, &one_thread());
    assert_eq!(code, 553, "{text}");
    assert!(text.contains("`q.astype(numpy.float32)`"), "{text}");
}

#[test]
fn files_of_another_kind_than_their_name_says_are_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let wsp = |args: &[&str]| {
        let output = Command::new(crate::command::program()).current_dir(root()).args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let workload =
        "// four tasks\nparam e = 4; tensor x: f32[4];\nkernel k(inout x); workload main { k(x); }";
    for (name, said) in [
        ("w.pto", "begins as workloads do: `param`"),
        ("w.txt", "is a file of an unknown kind"),
        ("w", "is a file of an unknown kind"),
    ] {
        let file = at(name, workload);
        for command in ["check", "run", "plan"] {
            let (code, err) = wsp(&[command, &file]);
            assert_eq!((code, err.matches("error[").count()), (Some(1), 1), "{command} {name}: {err}");
            assert!(err.contains(said) && err.contains("`.wsp`"), "{err}");
            let takes = "this command takes `.pto` programs, workloads, task graphs and designs";
            assert!(name == "w.pto" || command == "plan" || err.contains(takes), "{command} {name}: {err}");
        }
    }
    let library = at("library.pto", "PTO_KERNEL_IMPL(k) { }");
    for command in ["plan", "run", "graph"] {
        let (_, err) = wsp(&[command, &library]);
        assert!(
            err.contains("there is nothing to launch") && err.contains("in a `.wsp` or `.tg` file"),
            "{err}"
        );
    }
    let (_, err) = wsp(&["run", "examples/row_softmax.pto", "--generate", "rows"]);
    assert!(err.contains("write `rows=VALUE`; for a paged cache, "), "{err}");
}

#[test]
fn a_missing_array_is_not_taken_for_another_one_that_is_there() {
    let program = example("decode_attention.pto");
    let mut arrays = decode_arrays();
    arrays.remove("kv.k");
    let (code, text) = fault(&program, arrays.clone(), &one_thread());
    assert_eq!(code, 550);
    assert!(text.contains("--input kv.k=FILE.npy") && !text.contains("rename"), "{text}");
    arrays.insert("kv.keys".to_owned(), zeros(DType::F16, &[3, 4, 2, 8]));
    arrays.remove("kv.indptr");
    arrays.insert("kv.k".to_owned(), zeros(DType::F16, &[3, 4, 2, 8]));
    arrays.insert("kv.indpr".to_owned(), u32s(&[0, 2, 3]));
    let (_, text) = fault(&program, arrays, &one_thread());
    assert!(text.contains("rename `kv.indpr` to `kv.indptr`"), "{text}");
}

#[test]
fn a_parameter_that_its_type_cannot_hold_is_refused_with_its_range() {
    let program = example("decode_attention.pto");
    for (name, value, part) in [
        ("sm_scale", ParamValue::Float(1e39), "real numbers up to 3.4"),
        ("chunk", ParamValue::Float(1000.0), "`1000.0` is not a value of parameter `chunk`"),
        ("chunk", ParamValue::Int(1 << 32), "0..=4294967295"),
        ("chunk", ParamValue::Int(-1), "0..=4294967295"),
    ] {
        let (code, text) = fault(&program, decode_arrays(), &set(name, value));
        assert_eq!(code, 559, "{name} {text}");
        assert!(text.contains(part), "{name}: {text}");
    }
}

#[test]
fn faults_of_a_shared_function_are_reported_once() {
    let mut arrays = decode_arrays();
    arrays.insert("q".to_owned(), zeros(DType::F16, &[2, 0, 1, 8]));
    let text = std::fs::read_to_string(root().join("examples/decode_attention.pto")).unwrap();
    let unchecked = text.replace("num_qo_heads > 0 &&", "");
    assert_ne!(unchecked, text);
    let faults = try_run(&module(&unchecked), arrays, &one_thread()).unwrap_err();
    for (i, fault) in faults.iter().enumerate() {
        assert!(!faults[..i].contains(fault), "{fault:?}");
    }
    assert_eq!(faults[0].code.0, 613, "{faults:?}");
}

/// A program over rows of `x` and `y`.
fn rows(space: &str, generator: &str, kernel: &str) -> String {
    format!(
        "PTO_SHAPE(x, rows, 4)
         PTO_SHAPE(y, rows, 4)
         struct D {{ uint32_t i; uint32_t n; }};
         PTO_SPACE(S) {{ {space} }}
         PTO_DESCRIPTOR_GEN(S) {{ {generator} }}
         PTO_KERNEL_IMPL(k) {{ {kernel} }}
         void entry(Tensor x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .x = x, .y = y }}); }}"
    )
}

const SPACE: &str = "PTO_AXIS(row, 0, rows)";
const EACH_ROW: &str = "PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(D{ .i = r, .n = 1 }); }";
const COPY: &str =
    "auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 1, 4> t; TLOAD(t, x, {d.i}); TSTORE(y, t, {d.i});";

fn x() -> Arrays {
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    Arrays::from([("x".to_owned(), f32s(&[3, 4], &values))])
}

fn y_of(text: &str) -> Vec<f32> {
    let outcome = try_run(&module(text), x(), &Options { threads: 2, ..Options::default() });
    let outcome = outcome.unwrap_or_else(|faults| panic!("{faults:?}"));
    outcome.outputs["y"].as_slice::<f32>().unwrap().to_vec()
}

#[test]
fn a_kernel_may_ignore_its_descriptor() {
    let kernel = "VecTile<float, 1, 4> t; TLOAD(t, x, {1}); TSTORE(y, t, {2});";
    assert_eq!(y_of(&rows(SPACE, EACH_ROW, kernel)), [0., 0., 0., 0., 0., 0., 0., 0., 4., 5., 6., 7.]);
}

#[test]
fn an_axis_that_does_not_start_at_0_counts_from_its_start() {
    let from_1 = "PTO_AXIS(row, 1, rows)";
    assert_eq!(y_of(&rows(from_1, EACH_ROW, COPY)), [0., 0., 0., 0., 4., 5., 6., 7., 8., 9., 10., 11.]);
    assert_eq!(y_of(&rows("PTO_AXIS(row, 0, 0)", EACH_ROW, COPY)), [0.; 12]);
}

#[test]
fn later_tasks_overwrite_earlier_ones_whatever_runs_first() {
    let generator = "PTO_FOR_EACH(j, 0, 301) { PTO_EMIT_DESCRIPTOR(D{ .i = j % 3, .n = 1 }); }";
    let kernel =
        "auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 1, 4> t; TLOAD(t, x, {d.i}); TSTORE(y, t, {0});";
    assert_eq!(y_of(&rows(SPACE, generator, kernel)), [0., 1., 2., 3., 0., 0., 0., 0., 0., 0., 0., 0.]);
}

#[test]
fn a_tile_of_no_elements_is_a_fault_of_the_axis() {
    let space = "PTO_AXIS(row, 0, rows) PTO_TILE(row, rows - rows)";
    let (code, text) = fault(&module(&rows(space, EACH_ROW, COPY)), x(), &one_thread());
    assert_eq!(code, 572);
    assert!(text.contains("the tile of axis `row` has 0 elements"), "{text}");
}

#[test]
fn an_output_that_nothing_stores_to_is_said_to_be_an_input() {
    let kernel = "auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 1, 4> t; TLOAD(t, x, {d.i});";
    let (code, text) = fault(&module(&rows(SPACE, EACH_ROW, kernel)), x(), &one_thread());
    assert_eq!(code, 550);
    assert!(
        text.contains("array `y`") && text.contains("no kernel that this launch runs stores to it"),
        "{text}"
    );
}

#[test]
fn tensors_that_cannot_be_addressed_are_refused_with_their_shape() {
    let ragged = "PTO_SHAPE(lens, rows)
         PTO_SHAPE(x, rows, 4)
         PTO_SHAPE(y, rows, 4)
         struct D { uint32_t i; uint32_t c; };
         PTO_SPACE(S) { PTO_AXIS(row, 0, rows) PTO_AXIS(c, 0, PTO_DYNAMIC) }
         PTO_TENSOR(part, float, row, c, INNER)
         PTO_DESCRIPTOR_GEN(S) {
             PTO_SET_EXTENT(c, lens);
             PTO_SCHEDULED_FOR(i, c) { PTO_EMIT_DESCRIPTOR(D{ .i = i, .c = c }); }
         }
         PTO_KERNEL_IMPL(k) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 1, 4> t;
             TLOAD(t, x, {d.i});
             TSTORE(part, t, {d.i, d.c});
             TSTORE(y, t, {d.i});
         }
         void entry(Tensor x, Tensor<float> y, uint32_t* lens) {
             PTO_LAUNCH(S, { .x = x, .y = y, .lens = lens });
         }";
    for inner in ["4294967295, 4294967295, 2", "65536, 65536, 65536, 65536"] {
        let mut arrays = x();
        arrays.insert("lens".to_owned(), u32s(&[1, 0, 2]));
        let faults = try_run(&module(&ragged.replace("INNER", inner)), arrays, &one_thread()).unwrap_err();
        assert_eq!((faults[0].code.0, faults.len()), (562, 1), "{faults:?}");
        let label = &faults[0].primary.as_ref().unwrap().text;
        assert!(label.contains(inner), "{label}");
    }
}

#[test]
fn operands_that_are_one_tile_are_described_once() {
    let kernel = "auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 2, 4> s; VecTile<float, 2, 4> t;
                  TASSIGN(s, 1.0f); TLOAD(t, x, {rows - 1}); TADD(s, s, t); TSTORE(y, s, {d.i});";
    let (code, text) = fault(&module(&rows(SPACE, EACH_ROW, kernel)), x(), &one_thread());
    assert_eq!(code, 611);
    assert_eq!(text.matches("`s` is 2 x 4").count(), 1, "{text}");
}

#[test]
fn headers_of_absurdly_many_dimensions_are_not_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep.npy");
    let header = format!("{{'descr': '<f2', 'fortran_order': False, 'shape': ({}), }}\n", "1,".repeat(3000));
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    std::fs::write(&path, bytes).unwrap();
    let fault = read_npy(&path).unwrap_err();
    assert_eq!(fault.code.0, 507);
    assert!(fault.message.contains("has 3000 dimensions") && fault.notes.concat().len() < 200, "{fault:?}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe.npz");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let fault = read_npy(&path).unwrap_err();
    assert!(fault.message.contains("is not a regular file"), "{fault:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_diagnostic_and_nothing_else() {
    let fault = write_npz(Path::new("/dev/full"), &decode_arrays()).unwrap_err();
    assert_eq!(fault.code.0, 509);
    assert!(fault.notes.concat().contains("No space left"), "{fault:?}");
    let output = Command::new(crate::command::program())
        .current_dir(root())
        .args(["run", "examples/row_softmax.pto", "--generate", "rows=3,cols=5", "--outputs", "/dev/full"])
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(err.starts_with("error[WSP0509]") && !err.contains("ZipWriter"), "{err}");
}

#[test]
fn outputs_never_replace_the_inputs_they_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("batch.npz");
    wsp_cli::files::write_npz(&path, &decode_arrays()).unwrap();
    let before = std::fs::read(&path).unwrap();
    let file = path.to_str().unwrap();
    let output = std::process::Command::new(crate::command::program())
        .current_dir(root())
        .args(["run", "examples/decode_attention.pto", "--inputs", file, "--outputs", file])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("is an input and would be overwritten"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_misspelt_entry_of_an_archive_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("batch.npz");
    let mut arrays = decode_arrays();
    let indptr = arrays.remove("kv.indptr").unwrap();
    arrays.insert("kv.indpr".to_owned(), indptr);
    wsp_cli::files::write_npz(&path, &arrays).unwrap();
    let output = std::process::Command::new(crate::command::program())
        .current_dir(root())
        .args(["run", "examples/decode_attention.pto", "--inputs", path.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("did you mean `kv.indptr`?"));
}

#[test]
fn an_include_by_itself_is_one_error_that_names_its_programs() {
    for (part, program) in
        [("split.pto", "decode.pto"), ("rotary.pto", "gpt_oss.pto"), ("common.pto", "mla.pto")]
    {
        let path = root().join("examples/attention").join(part);
        let text = std::fs::read_to_string(&path).unwrap();
        let compiled = compile(&mut SourceMap::default(), &path.display().to_string(), &text);
        let Err(faults) = compiled else { continue };
        assert_eq!((faults.len(), faults[0].code.0), (1, 515), "{faults:?}");
        assert!(faults[0].message.contains(&format!("`{part}` is no program")), "{faults:?}");
        assert!(faults[0].notes[0].contains(program) || faults[0].notes[0].contains('…'), "{faults:?}");
        assert!(faults[0].help[0].contains("examples/attention"), "{faults:?}");
    }
}

#[test]
fn a_broken_file_that_nothing_includes_keeps_its_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alone.pto");
    let text = "const uint32_t a = b;\nconst uint32_t c = d;\n";
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("other.pto"), "#include \"alone.txt\"\n").unwrap();
    let faults = compile(&mut SourceMap::default(), &path.display().to_string(), text).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
}
