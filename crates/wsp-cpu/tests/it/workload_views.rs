//! Arrays of the caller and kernels over views: the same bits as copies and closures, however tasks run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::views::{Kernel, Lent, binary, cast, reals, u};
use crate::workloads::{WIDE, program, report};
use std::collections::BTreeMap;
use wsp_backend::{Absent, Expand};
use wsp_core::DType;
use wsp_cpu::workload::{
    Engine, KernelCx, KernelFault, KernelRegistry, Mode, WorkloadInputs, WorkloadOptions, WorkloadProgram,
};
use wsp_ir::{ArrayRef, BinOp, BinaryTileOp, ExprKind, Operand, ScalarTy, StmtKind, TileOp};
use wsp_memory::{View, ViewAccess};
use wsp_plan::{Array, FieldSource, ParamValue, ViewKernelSource};

const COLS: usize = 40;
const ROWS: usize = 20;

/// Every block of 8 x 16 of `x` is scaled by columns into `y`, and then each row of `y` goes into `z` with a weight that is
/// looked up; the last blocks are smaller, and those after the last row are empty.
const TEXT: &str = "
    tensor x: f32[20, 40]; tensor g: f32[40]; tensor y: f32[20, 40]; tensor z: f32[40]; tensor weight: i32[20];
    kernel scale(in x, in g, out y, k);
    kernel fold(in y, in weight, inout z, row);
    workload main {
        parallel for i in 0..4 { parallel for j in 0..3 {
            scale(x[min(i * 8, 20)..min(i * 8 + 8, 20), j * 16..min(j * 16 + 16, 40)], g[j * 16..min(j * 16 + 16, 40)],
                  y[min(i * 8, 20)..min(i * 8 + 8, 20), j * 16..min(j * 16 + 16, 40)], i * 3 + j);
        } }
        for i in 0..20 { fold(y[i], weight, z, i); }
    }";

/// `y = x * g + k`.
fn scale() -> ViewKernelSource {
    let mut kernel = Kernel::new("scale");
    let x = kernel.view("x", DType::F32, &[0, 1], &[None, None]);
    let g = kernel.view("g", DType::F32, &[0], &[None]);
    let y = kernel.view("y", DType::F32, &[0, 1], &[None, None]);
    let k = kernel.field("k", FieldSource::Scalar(0));
    let (t, row) = (kernel.tile("t", 8, 16), kernel.tile("row", 1, 16));
    kernel.load(t, x, None);
    kernel.load(row, g, None);
    kernel.binary(BinaryTileOp::Mul, t, t, Operand::Row(row));
    kernel.binary(BinaryTileOp::Add, t, t, Operand::Scalar(cast(k, ScalarTy::F32)));
    kernel.store(y, t);
    kernel.source()
}

/// `z = z * 0.5 + y * weight[row]`, and the number of weights that there are.
fn fold() -> ViewKernelSource {
    let mut kernel = Kernel::new("fold");
    let y = kernel.view("y", DType::F32, &[1], &[Some(40)]);
    let weight = kernel.view("weight", DType::I32, &[0], &[None]);
    let z = kernel.view("z", DType::F32, &[0], &[None]);
    let row = kernel.field("row", FieldSource::Scalar(0));
    let count = kernel.field("count", FieldSource::Extent { view: 1, dim: 0 });
    let load = ExprKind::Load(ArrayRef::Tensor(weight), Box::new(row));
    let weight_of = wsp_ir::Expr::new(load, ScalarTy::I32, wsp_diag::Span::default());
    let half = binary(BinOp::Div, cast(count, ScalarTy::F32), cast(u(40), ScalarTy::F32));
    let (t, s) = (kernel.tile("t", 1, 40), kernel.tile("s", 1, 40));
    kernel.load(t, y, None);
    kernel.binary(BinaryTileOp::Mul, t, t, Operand::Scalar(cast(weight_of, ScalarTy::F32)));
    kernel.load(s, z, None);
    kernel.binary(BinaryTileOp::Mul, s, s, Operand::Scalar(half));
    kernel.binary(BinaryTileOp::Add, s, s, Operand::Tile(t));
    kernel.store(z, s);
    kernel.source()
}

fn compiled() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    registry
        .register_view_kernel("scale", scale(), Mode::Fast, Engine::default())
        .unwrap_or_else(|f| panic!("{}", report(&f)));
    registry
        .register_view_kernel("fold", fold(), Mode::Fast, Engine::default())
        .unwrap_or_else(|f| panic!("{}", report(&f)));
    registry
}

fn closures() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    registry
        .register("scale", |cx: &mut KernelCx<'_>| {
            let (x, g, k) = (cx.load::<f32>(0)?, cx.load::<f32>(1)?, cx.scalars()[0] as f32);
            let y: Vec<f32> = x.iter().enumerate().map(|(i, x)| x * g[i % g.len()] + k).collect();
            cx.store(2, &y)
        })
        .unwrap();
    registry
        .register("fold", |cx: &mut KernelCx<'_>| {
            let (y, weight, z) = (cx.load::<f32>(0)?, cx.load::<i32>(1)?, cx.load::<f32>(2)?);
            let weight = weight[cx.scalars()[0] as usize] as f32;
            let z: Vec<f32> = y.iter().zip(&z).map(|(y, z)| z * 0.5 + y * weight).collect();
            cx.store(2, &z)
        })
        .unwrap();
    registry
}

/// The same through the addresses of the regions.
fn foreign() -> KernelRegistry {
    let mut registry = closures();
    registry.replace("fold", |cx: &mut KernelCx<'_>| {
        let (y, weight, z) = (cx.view(0)?, cx.view(1)?, cx.view(2)?);
        let access = [z.access(), y.access()];
        assert_eq!(access, [ViewAccess::ReadWrite, ViewAccess::ReadOnly]);
        assert!(weight.dtype() == DType::I32 && y.shape() == [1, COLS as u64]);
        let weight = load_i32(&weight, cx.scalars()[0] as isize) as f32;
        for i in 0..COLS as isize {
            let value = load_f32(&z, 0, i) * 0.5 + load_f32(&y, 1, i) * weight;
            store_f32(&z, i, value);
        }
        Ok::<(), KernelFault>(())
    });
    registry
}

#[allow(unsafe_code, reason = "reads an element of a region")]
fn load_i32(view: &View, i: isize) -> i32 {
    // SAFETY: the element lies in the region, which the task may read.
    unsafe { view.ptr().offset(i * view.strides()[0].cast_signed()).cast::<i32>().read_unaligned() }
}

#[allow(unsafe_code, reason = "reads an element of a region")]
fn load_f32(view: &View, dim: usize, i: isize) -> f32 {
    // SAFETY: the element lies in the region, which the task may read.
    unsafe { view.ptr().offset(i * view.strides()[dim].cast_signed()).cast::<f32>().read_unaligned() }
}

#[allow(unsafe_code, reason = "writes an element of a region")]
fn store_f32(view: &View, i: isize, value: f32) {
    // SAFETY: the element lies in the region, which the task may write.
    unsafe { view.ptr().offset(i * view.strides()[0].cast_signed()).cast::<f32>().write_unaligned(value) }
}

fn x(i: usize) -> f32 {
    (i % 97) as f32 * 0.37 - 3.0
}

fn copied() -> WorkloadInputs {
    let mut weight = Array::zeros(DType::I32, &[ROWS as u64]).unwrap();
    weight.as_slice_mut::<i32>().unwrap().iter_mut().zip(-7..).for_each(|(to, w)| *to = w);
    let arrays = [
        ("x", reals(&[ROWS as u64, COLS as u64], (0..ROWS * COLS).map(x))),
        ("g", reals(&[COLS as u64], (0..COLS).map(|i| 1.0 / (i + 3) as f32))),
        ("y", reals(&[ROWS as u64, COLS as u64], [])),
        ("z", reals(&[COLS as u64], (0..COLS).map(|i| i as f32))),
        ("weight", weight),
    ];
    WorkloadInputs {
        arrays: arrays.map(|(name, a)| (name.to_owned(), a)).into(),
        ..WorkloadInputs::all_made_up(0)
    }
}

/// How the matrices lie in memory: distance of rows and of columns, in elements.
#[derive(Clone, Copy, Debug)]
enum Lie {
    Dense,
    /// Every third column of wider rows.
    Columns,
    Transposed,
}

/// The same data in memory that is lent, with `y` and `z`.
fn lent(lie: Lie) -> (WorkloadInputs, Lent, Lent) {
    let (row, col, size) = match lie {
        Lie::Dense => (COLS, 1, ROWS * COLS),
        Lie::Columns => (3 * COLS + 5, 3, ROWS * (3 * COLS + 5)),
        Lie::Transposed => (1, ROWS, ROWS * COLS),
    };
    let mut elements = vec![f32::NAN; size];
    (0..ROWS * COLS).for_each(|i| elements[i / COLS * row + i % COLS * col] = x(i));
    let (matrix, dims, strides) =
        (Lent::reals(elements), [ROWS as u64, COLS as u64], [row as i64, col as i64]);
    let y = Lent::reals(vec![f32::NAN; size]);
    let g = Lent::reals((0..COLS).map(|i| 1.0 / (i + 3) as f32));
    let z = Lent::reals((0..2 * COLS).map(|i| if i % 2 == 0 { (i / 2) as f32 } else { f32::NAN }));
    let weight = Lent::new((0..2 * ROWS).map(|i| (i as i32 / 2 - 7).cast_unsigned()));
    let views: BTreeMap<String, View> = [
        ("x", matrix.read_only(DType::F32, 0, &dims, &strides)),
        ("g", g.read_only(DType::F32, 0, &[COLS as u64], &[1])),
        ("y", y.view(DType::F32, 0, &dims, &strides)),
        ("z", z.view(DType::F32, 0, &[COLS as u64], &[2])),
        ("weight", weight.read_only(DType::I32, 0, &[ROWS as u64], &[2])),
    ]
    .map(|(name, view)| (name.to_owned(), view))
    .into();
    (WorkloadInputs { views, ..WorkloadInputs::all_made_up(0) }, y, z)
}

fn sequential() -> WorkloadOptions {
    WorkloadOptions { sequential: true, ..WorkloadOptions::default() }
}

fn with(text: &str, registry: KernelRegistry) -> WorkloadProgram {
    program(text).with_kernels(registry).unwrap_or_else(|faults| panic!("{}", report(&faults)))
}

/// The bits of `z` and `y` that closures compute on copies.
fn expected() -> (Vec<u32>, Vec<u32>) {
    let outcome = with(TEXT, closures()).execute(&copied(), &sequential()).unwrap();
    let bits = |name: &str| outcome.outputs[name].as_slice::<u32>().unwrap().to_vec();
    (bits("z"), bits("y"))
}

/// Runs on lent memory, and compares what is written there; what lies between stays.
fn check(program: &WorkloadProgram, options: &WorkloadOptions, lie: Lie) {
    let (inputs, y, z) = lent(lie);
    let outcome = program.execute(&inputs, options).unwrap_or_else(|faults| panic!("{}", report(&faults)));
    assert!(outcome.outputs.is_empty());
    let (z_bits, y_bits) = expected();
    let z = z.bits();
    assert_eq!(z.iter().step_by(2).copied().collect::<Vec<_>>(), z_bits, "{lie:?} {options:?}");
    assert!(z.iter().skip(1).step_by(2).all(|bits| f32::from_bits(*bits).is_nan()));
    let written: Vec<u32> = y.bits().into_iter().filter(|bits| !f32::from_bits(*bits).is_nan()).collect();
    let (mut written, mut wanted) = (written, y_bits);
    if matches!(lie, Lie::Transposed) {
        written.sort_unstable();
        wanted.sort_unstable();
    }
    assert_eq!(written, wanted, "{lie:?} {options:?}");
}

#[test]
fn compiled_kernels_on_copies_give_the_bits_of_closures() {
    let outcome = with(TEXT, compiled()).execute(&copied(), &sequential()).unwrap();
    let bits = |name: &str| outcome.outputs[name].as_slice::<u32>().unwrap().to_vec();
    assert_eq!((bits("z"), bits("y")), expected());
}

#[test]
fn views_are_used_in_place_however_they_lie() {
    for registry in [compiled(), closures(), foreign()] {
        let program = with(TEXT, registry);
        for lie in [Lie::Dense, Lie::Columns, Lie::Transposed] {
            check(&program, &sequential(), lie);
        }
    }
}

#[test]
fn every_schedule_on_several_threads_gives_the_same_bits_in_place() {
    for schedule in [
        "",
        "task_graph(deps = overlap, window = (2, stall), ready = fifo);",
        "task_graph(deps = hybrid, ready = work_steal);",
        "streams(3);",
        "dispatch(round_robin);",
    ] {
        let schedule = if schedule.starts_with("task_graph") {
            format!("schedule {{ {schedule} }}")
        } else {
            format!("schedule {{ task_graph(deps = overlap); {schedule} }}")
        };
        let program = with(&format!("{TEXT} {schedule}"), compiled());
        for threads in 2..=4 {
            let options = WorkloadOptions { threads, ..WorkloadOptions::default() };
            check(&program, &options, Lie::Columns);
        }
    }
}

#[test]
fn tasks_that_aicpus_generate_give_the_same_bits_in_place() {
    let program = with(&format!("{TEXT} schedule {{ task_graph(deps = overlap); }}"), compiled());
    for (aicpus, expand) in
        [(1, Expand::Host), (3, Expand::Host), (1, Expand::Bytecode), (4, Expand::Bytecode)]
    {
        let options = WorkloadOptions { aicpus, expand, threads: 2, ..WorkloadOptions::default() };
        check(&program, &options, Lie::Transposed);
    }
}

#[test]
fn a_view_that_repeats_a_row_is_read() {
    let (mut inputs, _, z) = lent(Lie::Dense);
    let row = Lent::reals((0..COLS).map(x));
    let dims = [ROWS as u64, COLS as u64];
    inputs.views.insert("x".to_owned(), row.read_only(DType::F32, 0, &dims, &[0, 1]));
    with(TEXT, compiled()).execute(&inputs, &sequential()).unwrap_or_else(|f| panic!("{}", report(&f)));
    let mut copied = copied();
    copied.arrays.insert("x".to_owned(), reals(&dims, (0..ROWS * COLS).map(|i| x(i % COLS))));
    let outcome = with(TEXT, closures()).execute(&copied, &sequential()).unwrap();
    let wanted = outcome.outputs["z"].as_slice::<f32>().unwrap().to_vec();
    assert_eq!(z.values().into_iter().step_by(2).collect::<Vec<_>>(), wanted);
}

#[test]
fn a_kernel_that_stores_to_what_it_has_loaded_keeps_what_it_loaded() {
    // The views are of one tensor and overlap: `a` is loaded, `b` is stored, and then what was loaded is stored.
    let text = "tensor t: f32[4, 8]; tensor o: f32[2, 8]; kernel k(in a, out b, out c);
        workload main { k(t[0..2], t[1..3], o); }";
    let mut kernel = Kernel::new("k");
    let [a, b, c] = ["a", "b", "c"].map(|name| kernel.view(name, DType::F32, &[0, 1], &[None, None]));
    let (t, zero) = (kernel.tile("t", 2, 8), kernel.tile("zero", 2, 8));
    kernel.load(t, a, None);
    kernel.load(zero, a, None);
    kernel.op(TileOp::Fill { dst: zero, value: crate::workloads::views::real(0.0), rows: None, cols: None });
    kernel.store(b, zero);
    kernel.store(c, t);
    let mut registry = KernelRegistry::new();
    registry.register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default()).unwrap();
    let (t, o) = (Lent::reals((0..32).map(|i| i as f32)), Lent::reals([0.0; 16]));
    let views = [
        ("t".to_owned(), t.view(DType::F32, 0, &[4, 8], &[8, 1])),
        ("o".to_owned(), o.view(DType::F32, 0, &[2, 8], &[8, 1])),
    ];
    let inputs = WorkloadInputs { views: views.into(), ..WorkloadInputs::all_made_up(0) };
    with(text, registry).execute(&inputs, &sequential()).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(o.values(), (0..16).map(|i| i as f32).collect::<Vec<_>>());
    assert_eq!(t.values()[8..24], [0.0; 16]);
}

#[test]
fn integers_of_every_type_are_read_where_they_lie() {
    // A table of bytes, of which a task reads elements 1 and 2 of its region, and its length.
    for dtype in [DType::U8, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64] {
        let text = format!(
            "tensor t: {}[4]; tensor o: f32[1]; kernel k(in t, out o); workload main {{ k(t[1..4], o); }}",
            dtype.name()
        );
        let ty = match dtype {
            DType::I32 => ScalarTy::I32,
            DType::I64 => ScalarTy::I64,
            DType::U64 => ScalarTy::U64,
            _ => ScalarTy::U32,
        };
        let mut kernel = Kernel::new("k");
        let t = kernel.view("t", dtype, &[0], &[Some(3)]);
        let o = kernel.view("o", DType::F32, &[0], &[Some(1)]);
        let at = |i| {
            let load = ExprKind::Load(ArrayRef::Tensor(t), Box::new(u(i)));
            cast(wsp_ir::Expr::new(load, ty, wsp_diag::Span::default()), ScalarTy::F32)
        };
        let value = binary(BinOp::Sub, at(1), at(2));
        kernel.stmt(StmtKind::StoreScalar { tensor: o, index: vec![u(0)], value });
        let mut registry = KernelRegistry::new();
        let registered = registry.register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default());
        registered.unwrap_or_else(|f| panic!("{}", report(&f)));
        let mut table = Array::zeros(dtype, &[4]).unwrap();
        for (i, value) in [9u8, 8, 200, 3].into_iter().enumerate() {
            table.bytes_mut()[i * dtype.size()] = value;
        }
        let inputs =
            WorkloadInputs { arrays: [("t".to_owned(), table)].into(), ..WorkloadInputs::all_made_up(0) };
        let outcome = with(&text, registry)
            .execute(&inputs, &sequential())
            .unwrap_or_else(|f| panic!("{}", report(&f)));
        assert_eq!(outcome.outputs["o"].as_slice::<f32>().unwrap(), [197.0], "{dtype}");
    }
}

#[test]
fn absent_tensors_begin_with_zeros_when_asked() {
    let text = "tensor x: f32[3]; tensor n: i64[1]; slot s = 4; kernel touch(inout x, inout n, inout s);
        workload main { touch(x, n, s); }";
    let mut registry = KernelRegistry::new();
    registry.register("touch", |_| Ok(())).unwrap();
    let inputs = WorkloadInputs { absent: Absent::Zeros, ..WorkloadInputs::all_made_up(0) };
    let outcome = with(text, registry).execute(&inputs, &sequential()).unwrap();
    assert_eq!(outcome.outputs["x"].as_slice::<f32>().unwrap(), [0.0; 3]);
    assert_eq!(outcome.outputs["s"].as_slice::<i64>().unwrap(), [4]);
}

#[test]
fn a_slot_may_lie_in_memory_of_the_caller() {
    let text = "slot rounds = 0; tensor done: i64[1]; kernel step(inout rounds, inout done);
        workload main { while (rounds > 0) max 100 { step(rounds, done); } }";
    let mut registry = KernelRegistry::new();
    registry
        .register("step", |cx: &mut KernelCx<'_>| {
            let (rounds, done) = (cx.load::<i64>(0)?[0], cx.load::<i64>(1)?[0]);
            cx.store(0, &[rounds - 1])?;
            cx.store(1, &[done + 1])
        })
        .unwrap();
    let program = with(text, registry);
    let rounds = Lent::new([5, 0]);
    let inputs = WorkloadInputs {
        views: [("rounds".to_owned(), rounds.view(DType::I64, 0, &[1], &[2]))].into(),
        absent: Absent::Zeros,
        ..WorkloadInputs::all_made_up(0)
    };
    let outcome =
        program.execute(&inputs, &WorkloadOptions::default()).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(outcome.outputs["done"].as_slice::<i64>().unwrap(), [5]);
    assert_eq!(rounds.bits(), [0, 0]);
}

#[test]
fn a_prepared_workload_runs_again_as_the_first_time() {
    let (inputs, _, z) = lent(Lie::Columns);
    let before = z.bits();
    let program = with(TEXT, compiled());
    let on = |aicpus, expand| WorkloadOptions { threads: 2, aicpus, expand, ..WorkloadOptions::default() };
    let aicpus = [on(4, Expand::Bytecode), on(4, Expand::Host), on(1, Expand::Bytecode)];
    for options in [sequential(), on(0, Expand::default())].into_iter().chain(aicpus) {
        let mut prepared = program.prepare(inputs.clone(), options).unwrap();
        for _ in 0..3 {
            z.set(&before);
            let outcome = prepared.run().unwrap();
            assert_eq!((outcome.runtime.tasks, outcome.kernels[1].tasks), (32, 20));
            assert_eq!(z.bits().into_iter().step_by(2).collect::<Vec<_>>(), expected().0);
        }
    }
}

#[test]
fn tensors_that_are_not_the_callers_begin_every_prepared_run_alike() {
    let text = "param n = 3; tensor x: f32[4]; tensor y: f32[4]; tensor t: f32[4]; slot s = 2;
        kernel add(in x, inout y, inout t, inout s);
        workload main { for i in 0..n { add(x, y, t, s); } for i in 0..s { add(x, y, t, s); } }";
    let mut registry = KernelRegistry::new();
    registry
        .register("add", |cx: &mut KernelCx<'_>| {
            let (x, y, t, s) =
                (cx.load::<f32>(0)?, cx.load::<f32>(1)?, cx.load::<f32>(2)?, cx.load::<i64>(3)?);
            cx.store(1, &x.iter().zip(&y).map(|(x, y)| x + y).collect::<Vec<_>>())?;
            cx.store(2, &t.iter().map(|t| t + 1.0).collect::<Vec<_>>())?;
            cx.store(3, &[s[0] + 1])
        })
        .unwrap();
    let arrays = [("x".to_owned(), reals(&[4], [1.0; 4])), ("y".to_owned(), reals(&[4], [10.0; 4]))];
    let inputs =
        WorkloadInputs { arrays: arrays.into(), absent: Absent::Zeros, ..WorkloadInputs::all_made_up(0) };
    let mut prepared = with(text, registry).prepare(inputs, sequential()).unwrap();
    for _ in 0..2 {
        prepared.run().unwrap();
        let value = |name: &str| prepared.output(name).unwrap().map(|a| a.as_slice::<f32>().map(|a| a[0]));
        assert_eq!((value("y"), value("t"), value("x")), (Some(Some(18.0)), Some(Some(8.0)), None));
        assert_eq!(prepared.output("s").unwrap().unwrap().as_slice::<i64>().unwrap(), [10]);
    }
    prepared.rebind(vec![("n".to_owned(), ParamValue::Int(0))], BTreeMap::new(), BTreeMap::new()).unwrap();
    prepared.run().unwrap();
    assert_eq!(prepared.output("y").unwrap().unwrap().as_slice::<f32>().unwrap(), [12.0; 4]);
}

#[test]
fn views_of_a_prepared_workload_are_exchanged_in_place() {
    let text = "tensor x: f32[4]; kernel k(inout x); workload main { k(x); }";
    let mut registry = KernelRegistry::new();
    registry
        .register("k", |cx: &mut KernelCx<'_>| {
            let x: Vec<f32> = cx.load::<f32>(0)?.iter().map(|x| x + 1.0).collect();
            cx.store(0, &x)
        })
        .unwrap();
    let (one, two) = (Lent::reals([0.0; 4]), Lent::reals([5.0; 8]));
    let views = |view: View| BTreeMap::from([("x".to_owned(), view)]);
    let inputs = WorkloadInputs {
        views: views(one.view(DType::F32, 0, &[4], &[1])),
        ..WorkloadInputs::all_made_up(0)
    };
    let mut prepared = with(text, registry).prepare(inputs, sequential()).unwrap();
    prepared.run().unwrap();
    prepared.rebind(Vec::new(), BTreeMap::new(), views(two.view(DType::F32, 0, &[4], &[2]))).unwrap();
    prepared.run().unwrap();
    let refused =
        prepared.rebind(Vec::new(), BTreeMap::new(), views(two.read_only(DType::F32, 0, &[4], &[1])));
    assert_eq!(refused.unwrap_err()[0].code.0, 870);
    prepared.run().unwrap();
    assert_eq!(one.values(), [1.0; 4]);
    assert_eq!(two.values(), [7.0, 5.0, 7.0, 5.0, 7.0, 5.0, 7.0, 5.0]);
    prepared.rebind(Vec::new(), [("x".to_owned(), reals(&[4], [2.0; 4]))].into(), BTreeMap::new()).unwrap();
    prepared.run().unwrap();
    assert_eq!(prepared.output("x").unwrap().unwrap().as_slice::<f32>().unwrap(), [3.0; 4]);
}

#[test]
fn compiled_kernels_follow_views_that_are_exchanged() {
    // The regions of both runs are alike; what lies between their elements is not.
    let text = "tensor x: f32[4, 4]; tensor y: f32[4, 4]; kernel k(in x, out y);
        workload main { for i in 0..4 { k(x[i], y[i]); } }";
    let mut kernel = Kernel::new("k");
    let [x, y] = ["x", "y"].map(|name| kernel.view(name, DType::F32, &[1], &[Some(4)]));
    let t = kernel.tile("t", 1, 4);
    kernel.load(t, x, None);
    kernel.store(y, t);
    let mut registry = KernelRegistry::new();
    registry.register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default()).unwrap();
    let program = with(text, registry);
    let memory = || Lent::reals((0..64).map(|i| i as f32));
    for options in [sequential(), WorkloadOptions { threads: 2, ..WorkloadOptions::default() }] {
        let lies = [[4, 1], [8, 2], [16, 1], [1, 4], [4, 1]];
        let views = |x: View, y: View| BTreeMap::from([("x".to_owned(), x), ("y".to_owned(), y)]);
        let lend = |lent: &Lent, lie: &[i64; 2]| lent.view(DType::F32, 0, &[4, 4], lie);
        let (first, out) = (memory(), Lent::reals([0.0; 64]));
        let given = WorkloadInputs {
            views: views(lend(&first, &lies[0]), lend(&out, &lies[0])),
            ..WorkloadInputs::all_made_up(0)
        };
        let mut prepared = program.prepare(given, options).unwrap();
        prepared.run().unwrap();
        for lie in &lies[1..] {
            let (from, to) = (memory(), Lent::reals([0.0; 64]));
            let exchanged = views(lend(&from, lie), lend(&to, lie));
            prepared.rebind(Vec::new(), BTreeMap::new(), exchanged).unwrap();
            prepared.run().unwrap();
            let mut wanted = [0.0; 64];
            for at in (0..4).flat_map(|i| (0..4).map(move |j| (i * lie[0] + j * lie[1]) as usize)) {
                wanted[at] = at as f32;
            }
            assert_eq!(to.values(), wanted, "{lie:?}");
        }
    }
}

#[test]
fn a_statement_that_is_never_reached_needs_no_memory() {
    let text = "param n = 0; tensor x: f32[n, 4]; kernel k(inout x); workload main { for i in 0..n { k(x[i]); } k(x); }";
    let mut kernel = Kernel::new("k");
    let x = kernel.view("x", DType::F32, &[0, 1], &[None, None]);
    let t = kernel.tile("t", 1, 4);
    kernel.load(t, x, None);
    kernel.store(x, t);
    kernel.stmt(StmtKind::Return(None));
    let mut registry = KernelRegistry::new();
    registry.register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default()).unwrap();
    let nothing = Lent::reals([]);
    let views = [("x".to_owned(), nothing.view(DType::F32, 0, &[0, 4], &[4, 1]))];
    let inputs = WorkloadInputs { views: views.into(), ..WorkloadInputs::all_made_up(0) };
    let outcome =
        with(text, registry).execute(&inputs, &sequential()).unwrap_or_else(|f| panic!("{}", report(&f)));
    assert_eq!(outcome.runtime.tasks, 1);
}

#[allow(unsafe_code, reason = "writes bytes of a region")]
fn store_bytes(view: &View, first: usize, bytes: &[u8]) {
    // SAFETY: the bytes lie in the region, which the task may write.
    unsafe { view.ptr().add(first).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
}

/// A run that looks for elements that are left unwritten tells those that a function computes from what was there, and takes no result for
/// what was there.
#[test]
fn functions_over_addresses_are_found_to_leave_or_to_read_what_they_are_to_write() {
    let run = |dtype: &str, body: fn(&mut KernelCx<'_>) -> Result<(), KernelFault>| {
        let text = format!("tensor x: {dtype}[4]; kernel k(out y); workload main {{ k(x); }}");
        let mut registry = KernelRegistry::new();
        registry.register("k", body).unwrap();
        let program = program(&text).with_kernels(registry).unwrap();
        let options = WorkloadOptions { sequential: true, whole_outs: true, ..WIDE };
        let ran = program.execute(&WorkloadInputs::all_made_up(0), &options);
        ran.map(|outcome| outcome.outputs["x"].bytes().to_vec()).map_err(|faults| report(&faults))
    };
    // What such a run puts into the first elements of integers, which a result may be as well.
    const HELD: [u64; 2] =
        [0x9e37_79b9_7f4a_7c15_u64.rotate_left(29), 0x3c6e_f372_fe94_f82a_u64.rotate_left(29)];
    let held: Vec<u8> = HELD.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let all = |cx: &mut KernelCx<'_>| {
        let held: Vec<u8> = HELD.iter().flat_map(|word| word.to_ne_bytes()).collect();
        store_bytes(&cx.view(0)?, 0, &held);
        Ok(())
    };
    assert_eq!(run("i32", all).unwrap(), held);
    let stored = |cx: &mut KernelCx<'_>| {
        let held = HELD.map(|word| word.to_ne_bytes()).concat();
        let numbers: Vec<i32> =
            held.chunks(4).map(|of| i32::from_ne_bytes([of[0], of[1], of[2], of[3]])).collect();
        cx.store(0, &numbers)
    };
    assert_eq!(run("i32", stored).unwrap(), held);
    let counts = |cx: &mut KernelCx<'_>| {
        let view = cx.view(0)?;
        for i in 0..4 {
            store_bytes(&view, 4 * i, &load_i32(&view, i.cast_signed()).wrapping_add(1).to_ne_bytes());
        }
        Ok(())
    };
    let fault = run("i32", counts).unwrap_err();
    assert!(fault.contains("4 of its 4 elements are computed from what it held before the task"), "{fault}");
    let part = |cx: &mut KernelCx<'_>| {
        store_bytes(&cx.view(0)?, 0, &[7, 7]);
        Ok(())
    };
    let fault = run("u8", part).unwrap_err();
    assert!(fault.contains("2 of its 4 elements are not written, the first at [2]"), "{fault}");
    let nothing = run("u8", |_| Ok(())).unwrap_err();
    assert!(nothing.contains("4 of its 4 elements are not written"), "{nothing}");
}
