//! What runs with arrays of the caller and kernels over views refuse, and how their faults are reported.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::views::{Kernel, Lent, int, real};
use crate::workloads::{library_program, program, report};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use wsp_backend::Expand;
use wsp_backend::{Detail, PayloadSlot};
use wsp_core::{DType, Poll};
use wsp_cpu::workload::{
    Engine, KernelCx, KernelFault, KernelRegistry, Mode, WorkloadInputs, WorkloadOptions, WorkloadOutcome,
};
use wsp_diag::{Code, Diagnostic, Span};
use wsp_ir::{BinaryTileOp, ExprKind, LocalTy, Operand, ScalarTy, StmtKind, TileOp};
use wsp_memory::{Claim, Use, View};
use wsp_plan::{FieldSource, ViewKernelSource};

const PAIR: &str = "tensor x: f32[4, 8]; tensor y: f32[4, 8]; kernel k(in x, out y, n);
    workload main { for i in 0..4 { k(x[i], y[i], i); } }";

fn expect<T: std::fmt::Debug>(result: Result<T, Vec<Diagnostic>>, code: u16, parts: &[&str]) {
    let faults = result.expect_err("it should be refused");
    let text = report(&faults);
    assert_eq!(faults[0].code, Code(code), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

fn sequential() -> WorkloadOptions {
    WorkloadOptions { sequential: true, ..WorkloadOptions::default() }
}

fn with(views: &[(&str, View)]) -> WorkloadInputs {
    let views = views.iter().map(|(name, view)| ((*name).to_owned(), view.clone())).collect();
    WorkloadInputs { views, ..WorkloadInputs::all_made_up(0) }
}

fn run(views: &[(&str, View)]) -> Result<WorkloadOutcome, Vec<Diagnostic>> {
    program(PAIR).execute(&with(views), &sequential())
}

fn matrix(lent: &Lent, first: usize, row: i64) -> View {
    lent.view(DType::F32, first, &[4, 8], &[row, 1])
}

#[test]
fn a_view_that_is_not_what_its_tensor_is_is_refused_with_both_numbers() {
    let lent = Lent::new([0; 64]);
    expect(
        run(&[("x", lent.view(DType::F32, 0, &[4, 9], &[9, 1]))]),
        863,
        &["`x`", "f32[4, 9]", "f32[4, 8]"],
    );
    expect(run(&[("x", lent.view(DType::I32, 0, &[4, 8], &[8, 1]))]), 863, &["i32[4, 8]"]);
    let mut inputs = with(&[("x", matrix(&lent, 0, 8))]);
    inputs.arrays.insert("x".to_owned(), crate::workloads::views::reals(&[4, 8], []));
    expect(program(PAIR).execute(&inputs, &sequential()), 863, &["to copy and one to use in place"]);
    let table =
        "table t; tensor x: f32[1]; kernel k(inout x); workload main { for i in 0..len(t) { k(x); } }";
    let mut inputs = with(&[("t", lent.view(DType::I32, 0, &[4], &[1]))]);
    inputs.arrays.insert("t".to_owned(), wsp_plan::Array::zeros(DType::I64, &[4]).unwrap());
    expect(program(table).execute(&inputs, &sequential()), 863, &["table `t`"]);
}

#[test]
fn a_view_that_nothing_uses_is_refused() {
    let lent = Lent::new([0; 64]);
    expect(run(&[("xx", matrix(&lent, 0, 8))]), 560, &["takes no array `xx`"]);
}

#[test]
fn an_array_that_may_only_be_read_is_not_written() {
    let lent = Lent::new([0; 64]);
    let read_only = lent.read_only(DType::F32, 0, &[4, 8], &[8, 1]);
    expect(run(&[("y", read_only.clone())]), 870, &["`y`"]);
    assert!(run(&[("x", read_only)]).is_ok());
}

#[test]
fn memory_that_tasks_write_belongs_to_one_tensor_and_one_element() {
    let lent = Lent::new([0; 128]);
    expect(run(&[("x", matrix(&lent, 0, 8)), ("y", matrix(&lent, 0, 8))]), 871, &["`x` and `y` share"]);
    expect(run(&[("x", matrix(&lent, 0, 16)), ("y", matrix(&lent, 7, 16))]), 871, &["`x` and `y` share"]);
    let row = lent.view(DType::F32, 0, &[4, 8], &[0, 1]);
    expect(run(&[("y", row.clone())]), 871, &["elements of the array of tensor `y`"]);
    // Halves of rows, rows in turn, and what is only read.
    assert!(run(&[("x", matrix(&lent, 0, 16)), ("y", matrix(&lent, 8, 16))]).is_ok());
    assert!(run(&[("x", matrix(&lent, 8, 16)), ("y", matrix(&lent, 0, 16))]).is_ok());
    assert!(run(&[("x", row)]).is_ok());
    let both = "tensor x: f32[4, 8]; tensor z: f32[4, 8]; tensor y: f32[1]; kernel k(in x, in z, out y);
        workload main { k(x, z, y); }";
    let same = matrix(&lent, 0, 8);
    assert!(program(both).execute(&with(&[("x", same.clone()), ("z", same)]), &sequential()).is_ok());
}

/// The options of a run with a claim that its caller has made.
fn with_claim(uses: &[(&str, &View, bool)]) -> WorkloadOptions {
    let one = |(name, view, written): &(&str, &View, bool)| Use {
        name: (*name).to_owned(),
        view: (*view).clone(),
        written: *written,
    };
    let claim = Claim::of(&uses.iter().map(one).collect()).expect("nobody has the arrays");
    WorkloadOptions { claim: Some(Arc::new(claim)), ..sequential() }
}

#[test]
fn two_runs_do_not_write_one_array_at_the_same_time() {
    let lent = Lent::new([0; 128]);
    let (x, y) = (matrix(&lent, 0, 8), matrix(&lent, 64, 8));
    let second = program(PAIR);
    let (x_of_second, y_of_second) = (x.clone(), y.clone());
    // Within the first run, a second one begins that writes the same array, reads what is written, or only reads what is read.
    let registry = closure(move |cx| {
        if cx.scalars() != [2] {
            return Ok(());
        }
        let other = Lent::new([0; 64]);
        let run =
            |x: &View, y: &View| second.execute(&with(&[("x", x.clone()), ("y", y.clone())]), &sequential());
        let own = matrix(&other, 0, 8);
        expect(
            run(&own, &y_of_second),
            1268,
            &["array `y` is in use", "writes it, as `y`, and this one writes it"],
        );
        expect(
            run(&y_of_second, &own),
            1268,
            &["array `x` is in use", "writes it, as `y`, and this one reads it"],
        );
        expect(
            run(&own, &x_of_second),
            1268,
            &["array `y` is in use", "reads it, as `x`, and this one writes it"],
        );
        run(&x_of_second, &own).map(|_| ()).map_err(|faults| KernelFault::from(report(&faults)))
    });
    let first = program(PAIR).with_kernels(registry).unwrap();
    let views = [("x", x.clone()), ("y", y.clone())];
    first.execute(&with(&views), &sequential()).unwrap_or_else(|faults| panic!("{}", report(&faults)));
    let mut prepared = first.prepare(with(&views), sequential()).unwrap();
    prepared.run().unwrap_or_else(|faults| panic!("{}", report(&faults)));
    // Arrays that are claimed for another run are refused, and free when it ends.
    let others = with_claim(&[("theirs", &y, true)]);
    expect(prepared.run().map(|_| ()), 1268, &["array `y` is in use", "as `theirs`"]);
    drop(others);
    assert!(prepared.run().is_ok() && run(&views).is_ok());
}

#[test]
fn a_run_has_the_claim_that_its_caller_made_if_it_is_for_its_arrays() {
    let lent = Lent::new([0; 128]);
    let (x, y) = (matrix(&lent, 0, 8), matrix(&lent, 64, 8));
    let views = [("x", x.clone()), ("y", y.clone())];
    let options = with_claim(&[("a", &x, false), ("b", &y, true)]);
    assert!(program(PAIR).execute(&with(&views), &options).is_ok());
    expect(run(&views), 1268, &["in use"]);
    let mut prepared = program(PAIR).prepare(with(&views), sequential()).unwrap();
    expect(prepared.run().map(|_| ()), 1268, &["in use"]);
    assert!(prepared.run_claimed(options.claim.as_ref().unwrap()).is_ok());
    drop(options);
    let only_read = with_claim(&[("a", &x, false), ("b", &y, false)]);
    expect(
        program(PAIR).execute(&with(&views), &only_read),
        1268,
        &["reads it, as `b`, and this one writes it"],
    );
}

#[test]
fn memory_of_a_device_is_not_used_on_the_host() {
    let far = crate::workloads::views::far(DType::F32, &[4, 8]);
    expect(run(&[("x", far)]), 863, &["the array of tensor `x` is on device 3"]);
}

/// `y = x + n`, and the number of the task as an integer array cannot hold it.
fn kernel(change: impl FnOnce(&mut ViewKernelSource)) -> Result<KernelRegistry, Vec<Diagnostic>> {
    let mut kernel = Kernel::new("k");
    let x = kernel.view("x", DType::F32, &[1], &[Some(8)]);
    let y = kernel.view("y", DType::F32, &[1], &[None]);
    kernel.field("n", FieldSource::Scalar(0));
    let t = kernel.tile("t", 1, 8);
    kernel.load(t, x, None);
    kernel.binary(BinaryTileOp::Add, t, t, Operand::Scalar(real(1.0)));
    kernel.store(y, t);
    let mut source = kernel.source();
    change(&mut source);
    let mut registry = KernelRegistry::new();
    registry.register_view_kernel("k", source, Mode::Fast, Engine::default()).map(|()| registry)
}

#[test]
fn a_kernel_that_is_not_what_its_description_says_is_refused() {
    let refused =
        |change: fn(&mut ViewKernelSource), part: &str| expect(kernel(change), 872, &[part, "kernel `k`"]);
    refused(|s| s.fields.push(FieldSource::Scalar(0)), "1 word, and sources are given for 2");
    refused(|s| s.fields[0] = FieldSource::Extent { view: 1, dim: 1 }, "dimension 1 of view 1");
    refused(|s| s.views.truncate(1), "2 tensors, and 1 view is described");
    refused(|s| s.views[0].keep = vec![0, 1], "view `x`: rank 1, 2 kept");
    refused(|s| s.views[0].keep = vec![6], "do not rise, or exceed");
    refused(|s| s.views[1].dtype = DType::F16, "view `y`: its element type");
    refused(|s| s.module.tensors[0].storage = wsp_ir::Storage::Temporary, "no tensor of the launch");
    refused(
        |s| {
            s.module.structs[0].consumer = wsp_ir::Consumer::None;
            s.module.functions.clear();
        },
        "0 functions",
    );
    let mut registry = kernel(|_| ()).unwrap();
    let again = registry.register_view_kernel("k", Kernel::new("k").source(), Mode::Plain, Engine::default());
    expect(again, 872, &["registered already"]);
}

#[test]
fn a_module_that_is_wrong_or_cannot_be_compiled_is_refused_with_the_code_of_the_fault() {
    let faults = kernel(|s| {
        s.module.functions[0].body.push(wsp_ir::Stmt { kind: StmtKind::Break, span: Span::default() })
    });
    assert!((300..400).contains(&faults.unwrap_err()[0].code.0));
    let ints = kernel(|s| {
        s.module.tensors[0].elem = wsp_ir::Elem::Fixed(DType::I32);
        s.views[0].dtype = DType::I32;
    });
    expect(ints, 325, &["kernel `k`"]);
    let large = kernel(|s| {
        for local in &mut s.module.functions[0].locals {
            if let LocalTy::Tile(tile) = &mut local.ty {
                tile.cols = int(1 << 30, ScalarTy::U32);
            }
        }
    });
    expect(large, 613, &["tile `t`", "kernel `k`"]);
}

#[test]
fn a_kernel_that_does_not_fit_the_declared_one_is_refused() {
    let fitted = |text: &str| program(text).with_kernels(kernel(|_| ()).unwrap());
    let text = |params: &str, args: &str| {
        format!("tensor x: f32[8]; tensor y: f32[8]; kernel k({params}); workload main {{ k({args}); }}")
    };
    expect(fitted(&text("in x, n", "x, 1")), 872, &["1 tensor parameter, and its body 2 views"]);
    expect(fitted(&text("in x, out y", "x, y")), 872, &["0 scalar parameters", "number 0"]);
    expect(fitted(&text("in x, in y, n", "x, y, 1")), 872, &["stores to `y`, which is declared `in`"]);
    assert!(fitted(&text("in x, inout y, n", "x, y, 1")).is_ok());
}

#[test]
fn a_task_that_does_not_fit_its_kernel_is_reported_with_the_task() {
    let run = |text: &str| {
        let program = program(text).with_kernels(kernel(|_| ()).unwrap()).unwrap();
        program.execute(
            &WorkloadInputs::all_made_up(0),
            &WorkloadOptions { threads: 2, ..WorkloadOptions::default() },
        )
    };
    let text = |x: &str, xs: &str, n: &str| {
        format!(
            "tensor x: {x}; tensor y: f32[4, 8]; kernel k(in x, out y, n); workload main {{ for i in 2..4 {{ k({xs}, y[i], {n}); }} }}"
        )
    };
    let task = "in the task with the indices [2]";
    expect(
        run(&text("f32[4, 7]", "x[i]", "i")),
        873,
        &["`x` is given a region of [1, 7]", "give each task a region of [1, 8]", task, "x[2..3, 0..7]"],
    );
    expect(run(&text("f32[4, 8]", "x[i - 2 +: 2]", "i")), 873, &["a region of [2, 8]"]);
    expect(run(&text("f16[4, 8]", "x[i]", "i")), 873, &["`f16`", "give it a tensor of `f32`"]);
    expect(
        run(&text("f32[4, 8]", "x[i]", "-i")),
        873,
        &["`n` is -2", "from 0 to 4294967295", "`max(…, 0)`", task],
    );
    expect(run(&text("f32[4, 8]", "x[i]", "4294967294 + i")), 873, &["`n` is 4294967296"]);
}

/// A kernel that stores past its region in task 2.
fn overreaching() -> KernelRegistry {
    let mut kernel = Kernel::new("k");
    kernel.view("x", DType::F32, &[1], &[Some(8)]);
    let y = kernel.view("y", DType::F32, &[1], &[None]);
    let n = kernel.field("n", FieldSource::Scalar(0));
    let six = int(6, ScalarTy::U32);
    let index = wsp_ir::Expr::binary(wsp_ir::BinOp::Add, n, six);
    let value = real(3.0);
    kernel.stmt(StmtKind::StoreScalar { tensor: y, index: vec![index], value });
    let mut registry = KernelRegistry::new();
    registry.register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default()).unwrap();
    registry
}

#[test]
fn a_kernel_cannot_reach_outside_its_region_and_its_trap_keeps_code_and_place() {
    let lent = Lent::reals([0.0; 128]);
    let program = program(PAIR).with_kernels(overreaching()).unwrap();
    let threads = WorkloadOptions { threads: 2, ..WorkloadOptions::default() };
    let aicpus = WorkloadOptions { aicpus: 2, expand: Expand::Bytecode, ..threads.clone() };
    for options in [sequential(), threads, aicpus] {
        lent.set(&[0; 128]);
        let faults = program.execute(&with(&[("y", matrix(&lent, 0, 16))]), &options).unwrap_err();
        assert_eq!(faults[0].code, Code(610), "{}", report(&faults));
        assert_eq!(faults[0].primary.as_ref().map(|label| label.span.start), Some(10));
        for part in ["in kernel `k`", "in the task with the indices [2]", "its arguments: 2, x[2..3, 0..8]"] {
            assert!(report(&faults).contains(part), "{part}: {}", report(&faults));
        }
        // What lies between the rows stays.
        assert!(lent.values().chunks(16).all(|row| row[8..] == [0.0; 8]));
    }
}

/// Registers a closure for `k`.
fn closure(
    body: impl Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
) -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    registry.register("k", body).unwrap();
    registry
}

#[test]
fn what_a_failing_task_hands_over_reaches_the_caller() {
    let registry = closure(|cx| match cx.scalars() {
        [2] => Err(KernelFault::with_payload("no", Arc::new("an exception".to_owned()))),
        _ => Ok(()),
    });
    let program = program(PAIR).with_kernels(registry).unwrap();
    let wide = WorkloadOptions { threads: 3, ..WorkloadOptions::default() };
    let aicpus = WorkloadOptions { aicpus: 2, ..WorkloadOptions::default() };
    for options in [sequential(), wide, aicpus] {
        let slot = PayloadSlot::default();
        let options = WorkloadOptions { payload: Some(slot.clone()), ..options };
        expect(
            program.execute(&WorkloadInputs::all_made_up(0), &options),
            856,
            &["`k` failed: no", "indices [2]"],
        );
        let handed = slot.take().and_then(|payload| payload.downcast::<String>().ok());
        assert_eq!(handed.as_deref().map(String::as_str), Some("an exception"));
        assert!(slot.take().is_none());
    }
    let slot = PayloadSlot::default();
    let options = WorkloadOptions { payload: Some(slot.clone()), ..sequential() };
    let mut prepared = program.prepare(WorkloadInputs::all_made_up(0), options).unwrap();
    expect(prepared.run().map(|_| ()), 856, &[]);
    assert!(slot.take().is_some());
    // The next run begins anew.
    expect(prepared.run().map(|_| ()), 856, &["indices [2]"]);
}

#[test]
fn a_poll_stops_runs_between_tasks_and_within_kernels() {
    let text = "tensor x: f32[8]; tensor y: f32[8]; kernel k(in x, out y, n);
        workload main { for i in 0..100000 { k(x, y, i); } }";
    let ran = Arc::new(AtomicU32::new(0));
    let counting = Arc::clone(&ran);
    let program = program(text).with_kernels(closure(move |_| {
        counting.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }));
    let program = program.unwrap();
    let stop_after = |n: u32| -> Option<Arc<dyn Poll>> {
        let asked = AtomicU32::new(0);
        Some(Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) >= n))
    };
    let options = WorkloadOptions { poll: stop_after(10), ..sequential() };
    expect(program.execute(&WorkloadInputs::all_made_up(0), &options), 574, &["cancelled"]);
    assert!((16..1000).contains(&ran.load(Ordering::Relaxed)), "{ran:?}");
    let wide = WorkloadOptions { poll: stop_after(10), threads: 2, ..WorkloadOptions::default() };
    expect(program.execute(&WorkloadInputs::all_made_up(0), &wide), 574, &["cancelled"]);
    assert!(
        program
            .execute(
                &WorkloadInputs::all_made_up(0),
                &WorkloadOptions { poll: stop_after(u32::MAX), ..sequential() }
            )
            .is_ok()
    );

    let mut kernel = Kernel::new("k");
    kernel.view("x", DType::F32, &[0], &[None]);
    kernel.view("y", DType::F32, &[0], &[None]);
    let always =
        wsp_ir::Expr::new(ExprKind::Const(wsp_ir::Const::Bool(true)), ScalarTy::Bool, Span::default());
    kernel.stmt(StmtKind::While { cond: always, step: Vec::new(), body: Vec::new() });
    let mut registry = KernelRegistry::new();
    registry.register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default()).unwrap();
    let endless = crate::workloads::program(text).with_kernels(registry).unwrap();
    let options = WorkloadOptions { poll: stop_after(3), ..sequential() };
    expect(endless.execute(&WorkloadInputs::all_made_up(0), &options), 574, &["cancelled"]);
}

#[test]
fn a_raised_flag_stops_a_kernel_over_views() {
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    let program = program(PAIR).with_kernels(kernel(|_| ()).unwrap()).unwrap();
    expect(
        program.execute(&WorkloadInputs::all_made_up(0), &WorkloadOptions { cancel, ..sequential() }),
        574,
        &[],
    );
}

#[test]
fn options_that_would_have_no_effect_are_refused() {
    let poll: Option<Arc<dyn Poll>> = Some(Arc::new(|| false));
    let inputs = WorkloadInputs::all_made_up(0);
    let with_poll = WorkloadOptions { poll: poll.clone(), ..WorkloadOptions::default() };
    let on_aicpus = WorkloadOptions { aicpus: 2, ..with_poll.clone() };
    expect(program(PAIR).execute(&inputs, &on_aicpus), 864, &["no poll is asked"]);
    let listed = program(PAIR).graph(&inputs, None, Detail::default(), &with_poll);
    expect(listed, 864, &["`poll`"]);
    let with_slot = WorkloadOptions { payload: Some(PayloadSlot::default()), ..WorkloadOptions::default() };
    expect(program(PAIR).simulate(&inputs, &with_slot).map(|_| ()), 864, &["`payload`"]);

    let library = "PTO_SHAPE(x, 4, 4) struct Row { uint32_t i; }; PTO_SPACE(S) { PTO_AXIS(row, 0, 4) }
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .i = r }); } }
        PTO_KERNEL_IMPL(idle) { auto d = PTO_GET_DESCRIPTOR<Row>(); }
        void entry(Tensor<float> x) { PTO_LAUNCH(S, { .x = x }); }";
    let library = library_program("workload main { idle(i = 0); }", library)
        .unwrap_or_else(|f| panic!("{}", report(&f)));
    let arrays: BTreeMap<_, _> = [("x".to_owned(), crate::workloads::views::reals(&[4, 4], []))].into();
    let inputs = WorkloadInputs { arrays, ..WorkloadInputs::all_made_up(0) };
    expect(library.execute(&inputs, &with_poll), 864, &["no poll is asked"]);
    expect(library.prepare(inputs.clone(), sequential()), 864, &["cannot be prepared"]);
    let lent = Lent::new([0; 16]);
    let views = with(&[("x", lent.view(DType::F32, 0, &[4, 4], &[4, 1]))]).views;
    let twice = WorkloadInputs { views, ..inputs };
    expect(library.execute(&twice, &sequential()), 863, &["to be copied and to be used in place"]);
    let arrays = BTreeMap::new();
    assert!(library.execute(&WorkloadInputs { arrays, ..twice }, &sequential()).is_ok());
}

#[test]
fn a_fill_of_a_part_is_stored_as_it_is() {
    // A tile that was filled in part is stored in part, inside the region.
    let text = "tensor y: f32[2, 8]; kernel k(out y); workload main { k(y[1]); }";
    let mut kernel = Kernel::new("k");
    let y = kernel.view("y", DType::F32, &[1], &[Some(8)]);
    let t = kernel.tile("t", 1, 8);
    let cols = Some(int(3, ScalarTy::U32));
    kernel.op(TileOp::Fill { dst: t, value: real(2.0), rows: None, cols });
    kernel.store(y, t);
    let mut registry = KernelRegistry::new();
    registry
        .register_view_kernel("k", kernel.source(), Mode::Fast, Engine::default())
        .unwrap_or_else(|f| panic!("{}", report(&f)));
    let lent = Lent::reals([0.0; 16]);
    let inputs = with(&[("y", lent.view(DType::F32, 0, &[2, 8], &[8, 1]))]);
    program(text).with_kernels(registry).unwrap().execute(&inputs, &sequential()).unwrap();
    assert_eq!(lent.values()[..8], [0.0; 8]);
    assert_eq!(lent.values()[8..], [2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}
