//! Workloads over kernels of a used file: what they compute, and which schedules they refuse.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, library_plan, library_program, report};
use wsp_backend::Bodies;
use wsp_backend::Detail;
use wsp_core::{DType, ExecPool, TensorId};
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions, WorkloadOutcome, WorkloadProgram};
use wsp_diag::{Code, Diagnostic, SourceMap};
use wsp_ir::workload::Deps;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{Array, ParamValue};

/// Kernels over the rows of `x`: one doubles a row into `y`, one adds a row of `y` to one of `z`, one doubles two rows
/// of `y`.
const LIBRARY: &str = "
    PTO_PARAM(uint32_t, rows, 4)
    PTO_PARAM(float, scale, 1.0f)
    PTO_SHAPE(x, rows, 4)
    PTO_SHAPE(y, rows, 4)
    PTO_SHAPE(z, rows, 4)
    struct Row { uint32_t i; };
    struct Rows { uint32_t first; };
    struct Pair { uint32_t from; uint32_t to; };
    PTO_SPACE(S) { PTO_AXIS(row, 0, rows) }
    PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .i = r }); } }
    PTO_KERNEL_IMPL(double_row) {
        auto d = PTO_GET_DESCRIPTOR<Row>();
        VecTile<float, 1, 4> t;
        TLOAD(t, x, {d.i});
        TADD(t, t, t);
        TSTORE(y, t, {d.i});
    }
    PTO_KERNEL_IMPL(add_row) on cube {
        auto d = PTO_GET_DESCRIPTOR<Pair>();
        VecTile<float, 1, 4> t;
        VecTile<float, 1, 4> u;
        TLOAD(t, y, {d.from});
        TLOAD(u, z, {d.to});
        TADD(u, u, t);
        TSTORE(z, u, {d.to});
    }
    PTO_KERNEL_IMPL(double_two) {
        auto d = PTO_GET_DESCRIPTOR<Rows>();
        VecTile<float, 2, 4> t;
        TLOAD(t, y, {d.first});
        TADD(t, t, t);
        TSTORE(y, t, {d.first});
    }
    PTO_KERNEL_IMPL(idle) {}
    void entry(Tensor<float> x, Tensor<float> y, Tensor<float> z) { PTO_LAUNCH(S, { .x = x, .y = y, .z = z }); }";

fn linked(text: &str) -> WorkloadProgram {
    library_program(text, LIBRARY).unwrap_or_else(|found| panic!("{}", report(&found)))
}

fn inputs() -> WorkloadInputs {
    let array = |first: usize| {
        let mut array = Array::zeros(DType::F32, &[4, 4]).unwrap();
        let elements = array.as_slice_mut::<f32>().unwrap();
        elements.iter_mut().enumerate().for_each(|(i, x)| *x = (i + first) as f32);
        array
    };
    let arrays = [("x", array(0)), ("y", array(0)), ("z", array(100))];
    WorkloadInputs {
        arrays: arrays.map(|(name, a)| (name.to_owned(), a)).into(),
        ..WorkloadInputs::all_made_up(0)
    }
}

fn run(text: &str, options: &WorkloadOptions) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    linked(text).execute(&inputs(), options)
}

/// The outputs of a run, and the code of the first fault of one that fails.
fn z(text: &str, options: &WorkloadOptions) -> Result<Vec<f32>, Code> {
    let outcome = run(text, options).map_err(|faults| faults[0].code)?;
    Ok(outcome.outputs["z"].as_slice::<f32>().unwrap().to_vec())
}

fn sequential() -> WorkloadOptions {
    WorkloadOptions { sequential: true, ..WorkloadOptions::default() }
}

/// Doubles every row, then adds all to the first row of `z`.
fn sum(after: &str, schedule: &str) -> String {
    format!(
        "param n = 4; workload main {{
            for r in 0..n {{ let d = double_row(i = r); add_row(to = 0, from = r){after}; }}
        }} schedule {{ {schedule} }}"
    )
}

#[test]
fn every_schedule_gives_what_one_task_after_another_gives() {
    let expected = z(&sum("", ""), &sequential()).unwrap();
    // 2 * (0 + 4 + 8 + 12) over the column, and 100 of `z`.
    assert_eq!(expected[..4], [148.0, 157.0, 166.0, 175.0]);
    for (after, schedule) in [
        ("", "task_graph(deps = overlap, window = (2, stall), ready = fifo);"),
        ("", "task_graph(deps = hybrid, ready = work_steal); batch_deps(3);"),
        ("", "task_graph(deps = exact);"),
        (" after d", "task_graph(deps = explicit);"),
        ("", "task_graph(pools = by_unit(2, 1)); pipeline_depth(1, global);"),
    ] {
        let text = sum(after, schedule);
        let options = WorkloadOptions { threads: if schedule.contains("pools") { 0 } else { 3 }, ..WIDE };
        assert_eq!(z(&text, &options).as_deref(), Ok(expected.as_slice()), "{schedule}");
        assert_eq!(z(&text, &sequential()).as_deref(), Ok(expected.as_slice()), "sequentially, {schedule}");
    }
}

#[test]
fn explicit_dependences_that_miss_a_hazard_of_library_kernels_are_refused() {
    let faults = run(&sum("", "task_graph(deps = explicit);"), &WIDE).unwrap_err();
    let message = report(&faults);
    assert!(message.contains("kernel `double_row` and task 1 of kernel `add_row` conflict"), "{message}");
    // One task after another needs no dependences.
    assert!(z(&sum("", "task_graph(deps = explicit);"), &sequential()).is_ok());
}

#[test]
fn exact_dependences_refuse_library_kernels_whose_regions_overlap_and_differ() {
    let text = "workload main { double_row(1); double_two(0); } schedule { task_graph(deps = exact); }";
    let message = report(&run(text, &WIDE).unwrap_err());
    assert!(message.contains("`y[1..2, 0..4]` and `y[0..2, 0..4]` overlap and are not equal"), "{message}");
    let message = report(&linked(text).simulate(&inputs(), &WIDE).unwrap_err());
    assert!(message.contains("overlap and are not equal"), "{message}");
    assert!(run(text, &sequential()).is_ok());
}

#[test]
fn an_outcome_tells_the_parameters_of_the_workload_and_those_of_the_used_file() {
    let text =
        "param rows = 4; param n = 3; table t = [1]; workload main { for r in 0..n { double_row(r); } }";
    let mut inputs = inputs();
    inputs.set = vec![("n".to_owned(), ParamValue::Int(2))];
    let mut table = Array::zeros(DType::I64, &[1]).unwrap();
    table.as_slice_mut::<i64>().unwrap()[0] = 7;
    inputs.arrays.insert("t".to_owned(), table);
    let outcome = linked(text).execute(&inputs, &WIDE).unwrap();
    assert_eq!(outcome.params, [("rows".to_owned(), 4), ("n".to_owned(), 2)]);
    assert!(outcome.library_params.iter().any(|(name, _)| name == "scale"));
    assert_eq!((outcome.bodies, outcome.runtime.tasks), (Bodies::Library, 2));
    // The table is the workload's, though the used file knows none of that name.
    assert_eq!(report(&outcome.notes), "");
}

#[test]
fn a_graph_lists_the_regions_of_library_kernels() {
    let detail = Detail { accesses: true, missed: true, ..Detail::default() };
    let program = linked(&sum("", ""));
    let listing =
        program.graph(&inputs(), Some(Deps::Explicit), detail, &WorkloadOptions::default()).unwrap();
    // Nothing writes `x`, so that reads of it are left out.
    assert_eq!(listing.accesses.len(), 4 * (1 + 3));
    // Units are those that the file says.
    let unit =
        |name: &str| listing.kernels.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.unit);
    assert_eq!((unit("double_row"), unit("add_row")), (Some(ExecPool::Any), Some(ExecPool::Cube)));
    let overlap = program.graph(&inputs(), Some(Deps::Overlap), detail, &WorkloadOptions::default()).unwrap();
    assert!(listing.missed_count >= 4 && overlap.missed_count == 0, "{:?}", listing.missed);
}

#[test]
fn what_does_not_fit_the_used_file_is_refused_when_it_is_linked() {
    for (text, code, part) in [
        (
            "tensor a: f32[4]; kernel k(in a); workload main { k(a); double_row(0); }",
            850,
            "kernel `k` has no body",
        ),
        ("workload main { double_rows(0); }", 851, "did you mean `double_row`"),
        ("workload main { double_row(j = 0); }", 852, "has no field `j`"),
        ("workload main { double_row(); }", 852, "is not given `i`"),
        ("workload main { double_row(0, 1); }", 852, "is given 2 arguments"),
        ("workload main { double_row(0, i = 1); }", 852, "is given `i` twice"),
        ("tensor x: f32[4]; workload main { double_row(0); }", 853, "`x` is declared in the used file too"),
        ("param rows = 2 * 2; workload main { double_row(rows); }", 853, "write `param rows;`"),
        (
            "kernel add_row on vector; workload main { double_row(0); }",
            853,
            "`add_row` is `on cube` in the used file",
        ),
        ("workload main { idle(); }", 852, "kernel `idle` takes no descriptor"),
        ("let rows = 4; workload main { double_row(0); }", 853, "write `param rows;`"),
        ("param scale = 2; workload main { double_row(scale); }", 853, "there it is a real number"),
    ] {
        let faults = library_program(text, LIBRARY).expect_err(text);
        assert_eq!(faults[0].code, Code(code), "{}", report(&faults));
        assert!(report(&faults).contains(part), "{}", report(&faults));
    }
}

#[test]
fn a_task_that_cannot_be_is_refused_before_anything_runs() {
    for (text, code, part) in [
        (
            "workload main { for r in 0..2 { double_row(r - 1); } }",
            862,
            "argument 1 of kernel `double_row` is -1",
        ),
        (
            "slot s = 1; workload main { while s > 0 max 3 { double_row(0); } }",
            854,
            "no kernel of a used file can write",
        ),
    ] {
        let faults = run(text, &WIDE).unwrap_err();
        assert_eq!(faults[0].code, Code(code), "{}", report(&faults));
        assert!(report(&faults).contains(part), "{}", report(&faults));
    }
}

#[test]
fn arrays_that_no_called_kernel_touches_need_not_be_there() {
    let mut given = inputs();
    given.arrays.remove("z");
    let outcome = linked("workload main { double_row(1); }").execute(&given, &WIDE);
    let outcome = outcome.unwrap_or_else(|found| panic!("{}", report(&found)));
    assert_eq!(outcome.outputs["y"].as_slice::<f32>().unwrap()[4..8], [8.0, 10.0, 12.0, 14.0]);
    given.arrays.remove("x");
    let faults = linked("workload main { double_row(1); }").execute(&given, &WIDE).unwrap_err();
    assert!(report(&faults).contains("`x`"), "{}", report(&faults));
}

#[test]
fn a_kernel_of_task_graphs_is_no_kernel_of_tasks() {
    let entries = "PTO_SHAPE(x, rows, 4) PTO_KERNEL_IMPL(clear, Tensor<float> x) { PTO_STORE_SCALAR(x, 0.0f, {0, 0}); }";
    let faults = library_program("workload main { clear(0, 1); }", entries).unwrap_err();
    let message = report(&faults);
    assert!(message.contains("kernel `clear` is no kernel of tasks"), "{message}");
    assert!(message.contains("TG_KERNEL"), "{message}");
}

/// A kernel that stores a row of `y`, and one that loads eight rows of it.
fn steps(y: &str, more: &str) -> String {
    format!(
        "PTO_SHAPE(x, 8, 4) {y} PTO_SHAPE(z, 8, 4)
         struct Row {{ uint32_t i; }};
         struct All {{ uint32_t first; }};
         PTO_KERNEL_IMPL(step) {{
             auto d = PTO_GET_DESCRIPTOR<Row>();
             VecTile<float, 1, 4> t;
             TLOAD(t, x, {{d.i}});
             TSTORE(y, t, {{d.i}});
         }}
         PTO_KERNEL_IMPL(all) {{
             auto d = PTO_GET_DESCRIPTOR<All>();
             VecTile<float, 8, 4> t;
             TLOAD(t, y, {{d.first}});
             TSTORE(z, t, {{d.first}});
         }} {more}"
    )
}

#[test]
fn no_run_loads_what_no_task_has_stored() {
    let ones = || {
        let mut array = Array::zeros(DType::F32, &[8, 4]).unwrap();
        array.as_slice_mut::<f32>().unwrap().fill(1.0);
        array
    };
    let plain = WorkloadOptions { plain: true, ..WIDE };
    let aicpus = WorkloadOptions { aicpus: 2, ..WIDE };
    for y in ["PTO_TENSOR(y, float, 8, 4)", "PTO_SHAPE(y, 8, 4)"] {
        for options in [WIDE, sequential(), plain.clone(), aicpus.clone()] {
            for rows in [7, 8] {
                let text = format!("workload main {{ parallel for i in 0..{rows} {{ step(i); }} all(0); }}");
                let program = library_program(&text, &steps(y, "")).unwrap();
                let arrays = [("x".to_owned(), ones())].into();
                let inputs = WorkloadInputs { arrays, ..WorkloadInputs::default() };
                match program.execute(&inputs, &options) {
                    Ok(outcome) => {
                        assert_eq!((rows, outcome.outputs["z"].as_slice::<f32>()), (8, Some(&[1.0; 32][..])));
                        assert!(outcome.unwritten.is_empty());
                    }
                    Err(faults) => {
                        assert_eq!((rows, faults[0].code), (7, Code(616)), "{y}: {}", report(&faults));
                    }
                }
            }
        }
    }
}

#[test]
fn a_run_takes_the_arrays_that_its_kernels_use() {
    let other = "PTO_SHAPE(w, 8, 4) PTO_SHAPE(v, m, 4)
        struct Other { uint32_t i; };
        PTO_KERNEL_IMPL(other) {
            auto d = PTO_GET_DESCRIPTOR<Other>();
            VecTile<float, 1, 4> t;
            TLOAD(t, w, {d.i});
            TLOAD(t, v, {d.i});
            TSTORE(z, t, {d.i});
        }";
    let library = steps("PTO_SHAPE(y, 8, 4)", other);
    let names = |text: &str, of: fn(&WorkloadPlan) -> Vec<TensorId>| {
        let plan = library_plan(text, &library).unwrap();
        let (module, found) = wsp_lang::compile("test.pto", &library, &mut SourceMap::default());
        let module = module.unwrap_or_else(|| panic!("{}", report(&found)));
        let found = of(&plan).into_iter().map(|id| module.tensors[id.index()].name.clone());
        found.collect::<Vec<_>>().join(" ")
    };
    let main = "workload spare { other(0); } workload main { step(0); all(0); }";
    assert_eq!(names(main, WorkloadPlan::library_tensors), "x y z");
    assert_eq!(names(main, WorkloadPlan::library_inputs), "x y");
    assert_eq!(names(main, WorkloadPlan::library_needed), "x");
    // The extent `m` has no array but `v`.
    let takes = format!("param m; {}", main.replace("step(0);", "step(m);"));
    assert_eq!(names(&takes, WorkloadPlan::library_tensors), "x y z v");
    assert_eq!(names(&takes, WorkloadPlan::library_inputs), "x y v");
    let called = main.replace("step(0);", "call spare();");
    assert_eq!(names(&called, WorkloadPlan::library_tensors), "y z w v");
    assert_eq!(names(&called, WorkloadPlan::library_needed), "y w v");
    // A table of the workload is an array of the file that no kernel reads.
    let table = "table w; workload main { step(i = w[0]); all(0); }";
    assert_eq!(names(table, WorkloadPlan::library_tensors), "x y z w");
}

#[test]
fn an_extent_comes_from_any_array_that_has_it() {
    let library = steps("PTO_SHAPE(y, rows, 4)", "").replace("PTO_SHAPE(x, 8, 4)", "");
    let library = format!("{library} PTO_SHAPE(x, rows, 4)");
    let program = library_program("workload main { for i in 0..8 { step(i); } all(0); }", &library).unwrap();
    let arrays = [("x".to_owned(), Array::zeros(DType::F32, &[8, 4]).unwrap())].into();
    let inputs = WorkloadInputs { arrays, ..WorkloadInputs::default() };
    program.execute(&inputs, &WIDE).unwrap_or_else(|found| panic!("{}", report(&found)));
}
