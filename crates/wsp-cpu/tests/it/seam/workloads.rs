//! Workloads behind the seam.

use super::{around_a_cancelled_run, bits, compiled, compiled_by, fault, lent, named, ran, twice};
use crate::workloads::views::reals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use wsp_backend::{
    Absent, Args, Backend, Bodies, Expand, GraphOptions, Recording, RunError, RunOptions, WorkloadRunOptions,
};
use wsp_core::DType;
use wsp_cpu::CpuSimBackend;
use wsp_cpu::workload::{KernelRegistry, WorkloadInputs, WorkloadOptions, WorkloadOutcome, WorkloadProgram};
use wsp_diag::SourceMap;
use wsp_ir::workload::text::parse;
use wsp_kernel::{Engine, Level, Mode};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{Array, CompileOptions};

/// Sums of rows, then their total.
const SUMS: &str = "
tensor x: f32[32, 4]; tensor part: f32[32]; tensor total: f32[1];
kernel row(in x, out s); kernel all(in s, out t);
workload main {
    parallel for i in 0..32 { row(x[i], part[i]); }
    all(part[0..32], total[0]);
}
schedule { streams(3); task_graph(deps = overlap); }
";

const TWICE: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
struct Part { uint32_t first; };
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 8, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
";

fn plan(text: &str, library: Option<&str>) -> WorkloadPlan {
    let mut sources = SourceMap::default();
    let (module, found) = parse("test.wsp", text, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let library = library.map(|text| {
        let (module, found) = wsp_lang::compile("test.pto", text, &mut sources);
        module.unwrap_or_else(|| panic!("{found:?}"))
    });
    WorkloadPlan::new(module, library.as_ref(), &CompileOptions::default())
        .unwrap_or_else(|f| panic!("{f:?}"))
}

fn sums() -> KernelRegistry {
    let mut kernels = KernelRegistry::new();
    for name in ["row", "all"] {
        let sum = kernels.register(name, |cx| {
            let sum: f32 = cx.load::<f32>(0)?.iter().sum();
            cx.store(1, &[sum])
        });
        sum.expect("each is registered once");
    }
    kernels
}

fn with(kernels: KernelRegistry) -> CpuSimBackend {
    CpuSimBackend { kernels, ..CpuSimBackend::default() }
}

fn args() -> Args {
    Args::new().with("x", reals(&[32, 4], (0..128).map(|i| i as f32 / 8.0)))
}

fn arrays_of_twice() -> Args {
    Args::new()
        .with("x", reals(&[24], (0..24).map(|i| i as f32)))
        .with("y", Array::zeros(DType::F32, &[24]).expect("it is small"))
}

fn inputs(args: &Args) -> WorkloadInputs {
    WorkloadInputs { arrays: args.arrays.clone(), ..WorkloadInputs::default() }
}

#[test]
fn the_bits_are_those_of_the_program_with_tasks_of_the_host_and_of_aicpus() {
    let direct = WorkloadProgram::of(plan(SUMS, None), Mode::default(), Engine::default(), None)
        .with_kernels(sums())
        .expect("the kernels are declared");
    let expected = direct.execute(&inputs(&args()), &WorkloadOptions::default()).expect("the arrays fit");
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    for (aicpus, sequential) in [(0, false), (2, false), (0, true)] {
        let workload = WorkloadRunOptions { aicpus, ..WorkloadRunOptions::default() };
        let options = RunOptions { threads: 2, workload, sequential, ..RunOptions::default() };
        let outcome = ran(&*program, &args(), &options);
        assert_eq!(bits(&outcome.outputs), bits(&expected.outputs), "{aicpus} {sequential}");
        assert_eq!((outcome.stats.tasks, outcome.stats.streams), (33, 3));
        assert!(outcome.own.is::<WorkloadOutcome>() && outcome.workload.bodies == Some(Bodies::Registered));
        assert_eq!(outcome.workload.aicpus.is_some(), aicpus != 0);
        let again = twice(program.prepare(args(), options).expect("the arrays fit"));
        assert_eq!(bits(&again.outputs), bits(&expected.outputs));
    }
    let explained = program.explain(&args(), &RunOptions::default()).expect("the arrays fit");
    assert_eq!(explained.kernels, [("row".to_owned(), 32), ("all".to_owned(), 1)]);
}

#[test]
fn kernels_of_a_used_file_give_the_bits_of_the_program() {
    let text =
        "use \"test.pto\"; param rounds = 3; workload main { for i in 0..rounds { twice(first = i * 8); } }";
    let args = arrays_of_twice();
    let direct = WorkloadProgram::of(plan(text, Some(TWICE)), Mode::default(), Engine::default(), None);
    let expected = direct.execute(&inputs(&args), &WorkloadOptions::default()).expect("the arrays fit");
    let program = compiled(plan(text, Some(TWICE)));
    let outcome = twice(program.prepare(args.clone(), RunOptions::default()).expect("the arrays fit"));
    assert_eq!(bits(&outcome.outputs), bits(&expected.outputs));
    let (args, view) = lent(&args, "y");
    let place = view.ptr().cast_const();
    let mut prepared = program.prepare(args, RunOptions::default()).expect("the arrays fit");
    assert!(prepared.run().expect("the arrays fit").outputs.is_empty());
    prepared.rebind(Args::new().with("rounds", 1)).expect("it is a parameter");
    assert_eq!(prepared.run().expect("the arrays fit").stats.tasks, 1);
    drop(prepared);
    let workload = WorkloadRunOptions { mixing: true, ..WorkloadRunOptions::default() };
    let refused = program.execute(Args::new(), RunOptions { workload, ..RunOptions::default() });
    assert_eq!(named(&fault(refused)), "mixing");
    let y = view.take_back().expect("no run has it");
    assert_eq!((y.bytes().as_ptr(), y.bytes()), (place, expected.outputs["y"].bytes()));
}

#[test]
fn a_run_of_kernels_of_a_used_file_begins_as_the_first_on_aicpus_and_after_one_that_is_cancelled() {
    let text = "use \"test.pto\"; workload main { parallel for i in 0..3 { twice(first = i * 8); } }";
    let args = arrays_of_twice();
    let program = compiled(plan(text, Some(TWICE)));
    let expected = ran(&*program, &args, &RunOptions::default());
    for aicpus in [0, 2] {
        let workload = WorkloadRunOptions { aicpus, ..WorkloadRunOptions::default() };
        let options = RunOptions { threads: 2, workload, ..RunOptions::default() };
        let again = twice(program.prepare(args.clone(), options.clone()).expect("the arrays fit"));
        assert_eq!(bits(&again.outputs), bits(&expected.outputs));
        around_a_cancelled_run(&*program, &args, options);
    }
}

#[test]
fn written_arrays_of_declared_kernels_are_used_in_place() {
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    let expected = ran(&*program, &args(), &RunOptions::default());
    let (args, view) = lent(&args().with("total", reals(&[1], [0.0])), "total");
    let place = view.ptr().cast_const();
    let outcome = ran(&*program, &args, &RunOptions::default());
    assert!(outcome.outputs.keys().eq(["part"]));
    drop(args);
    let total = view.take_back().expect("no run has it");
    assert_eq!((total.bytes().as_ptr(), total.bytes()), (place, expected.outputs["total"].bytes()));
}

#[test]
fn what_fails_or_is_refused_says_what_the_program_says() {
    let failing = || {
        let mut kernels = sums();
        kernels.replace("all", |_| Err("as it should".into()));
        kernels
    };
    let direct = WorkloadProgram::of(plan(SUMS, None), Mode::default(), Engine::default(), None)
        .with_kernels(failing())
        .expect("they are declared");
    let program = compiled_by(&with(failing()), plan(SUMS, None));
    let failed = fault(program.execute(args(), RunOptions::default()));
    let said = |inputs: &WorkloadInputs| direct.execute(inputs, &WorkloadOptions::default()).err();
    assert!(matches!(failed, RunError::Failed(_)), "{failed}");
    assert_eq!(Some(&**failed.diagnostics()), said(&inputs(&args())).as_deref());
    let refused = program.prepare(Args::new(), RunOptions::default()).err().expect("there is no array");
    assert!(matches!(refused, RunError::Refused(_)), "{refused}");
    assert_eq!(Some(&**refused.diagnostics()), said(&inputs(&Args::new())).as_deref());
    let unknown = with(sums()).compile(&plan("kernel k(); workload main { k(); }", None).into());
    assert!(unknown.err().expect("it declares neither")[0].message.contains("declares no kernel"));
    let without = compiled(plan(SUMS, None)).prepare(args(), RunOptions::default());
    assert!(without.err().expect("no kernel has a body").to_string().contains("has no body"));
}

#[test]
fn what_is_made_up_is_made_up_as_by_the_program() {
    let program = compiled(plan(SUMS, None));
    let workload = WorkloadRunOptions {
        absent: Absent::MadeUp,
        data_seed: 7,
        mixing: true,
        ..WorkloadRunOptions::default()
    };
    let outcome = ran(&*program, &Args::new(), &RunOptions { workload, ..RunOptions::default() });
    let direct = WorkloadProgram::of(plan(SUMS, None), Mode::default(), Engine::default(), None);
    let expected = direct.execute(&WorkloadInputs::all_made_up(7), &WorkloadOptions::default());
    assert_eq!(bits(&outcome.outputs), bits(&expected.expect("nothing is missing").outputs));
}

#[test]
fn a_run_goes_on_by_itself_until_it_is_cancelled() {
    let (started, waits) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let mut kernels = sums();
    kernels.replace("row", move |_| {
        let _ = started.send(());
        let _ = gone.lock().map(|gone| gone.recv());
        Ok(())
    });
    let program = compiled_by(&with(kernels), plan(SUMS, None));
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let run = program.execute_async(args(), options).expect("the arrays fit");
    waits.recv().expect("a task should begin");
    assert!(!run.is_complete());
    run.cancel();
    drop(go);
    let cancelled = fault(run.synchronize());
    assert!(matches!(cancelled, RunError::Cancelled(_)), "{cancelled}");
}

#[test]
fn a_run_that_is_dropped_has_ended() {
    let ended = Arc::new(AtomicBool::new(false));
    let mut kernels = sums();
    let flag = ended.clone();
    kernels.replace("row", move |_| {
        flag.store(true, Ordering::Relaxed);
        Ok(())
    });
    let (args, view) = lent(&args(), "x");
    let program = compiled_by(&with(kernels), plan(SUMS, None));
    // A flag of the caller may be that of other runs.
    let cancel = Arc::new(AtomicBool::new(false));
    let options = RunOptions { cancel: Some(cancel.clone()), ..RunOptions::default() };
    drop(program.execute_async(args.clone(), options).expect("the arrays fit"));
    assert_eq!([&ended, &cancel].map(|flag| flag.load(Ordering::Relaxed)), [true, false]);
    drop(program.execute_async(args, RunOptions::default()).expect("the arrays fit"));
    assert!(view.take_back().is_ok(), "no run has it");
}

#[test]
fn an_explanation_refuses_what_says_how_tasks_run() {
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    let of_workload = |workload| RunOptions { workload, ..RunOptions::default() };
    let usual = WorkloadRunOptions::default;
    for (options, name) in [
        (RunOptions { threads: 2, ..RunOptions::default() }, "threads"),
        (RunOptions { sequential: true, ..RunOptions::default() }, "sequential"),
        (RunOptions { recording: Recording::On, ..RunOptions::default() }, "recording"),
        (of_workload(WorkloadRunOptions { aicpus: 2, ..usual() }), "aicpus"),
        (of_workload(WorkloadRunOptions { mixing: true, ..usual() }), "mixing"),
        (of_workload(WorkloadRunOptions { expand: Expand::Host, ..usual() }), "expand"),
    ] {
        let refused = program.explain(&args(), &options).expect_err("nothing runs");
        assert_eq!(named(&refused), name);
    }
    assert!(program.explain(&args(), &RunOptions::default()).is_ok());
}

/// Options are checked without arguments, the order of tasks without a run.
#[test]
fn what_a_run_refuses_is_known_before_it() {
    let ordered = |deps: &str| {
        let tasks = "kernel k(inout y); workload main { parallel for i in 0..2 { k(y[0]); } }";
        compiled(plan(&format!("tensor y: f32[4]; {tasks} schedule {{ task_graph(deps = {deps}); }}"), None))
    };
    assert!(ordered("overlap").check_order(&Args::new(), 100).is_ok());
    let missed = ordered("explicit").check_order(&Args::new(), 100).expect_err("nothing orders the two");
    assert_eq!(missed.diagnostics().0[0].code.0, 860);
    assert!(ordered("explicit").check_order(&Args::new(), 1).is_ok(), "there are more tasks than one");

    let stolen =
        plan(&SUMS.replace("deps = overlap);", "deps = overlap, ready = work_steal); core_groups(2);"), None);
    let program = compiled_by(&with(sums()), stolen);
    let on = |aicpus| {
        let workload = WorkloadRunOptions { aicpus, ..WorkloadRunOptions::default() };
        RunOptions { workload, ..RunOptions::default() }
    };
    assert!(program.check(&on(0)).is_ok());
    let refused = program.check(&on(2)).expect_err("AICPUs have no core groups");
    assert!(refused.to_string().contains("AICPUs do not support `core_groups(n)`"), "{refused}");
}

/// What a run of no outcome, a second look at one and a graph give through the trait.
#[test]
fn a_prepared_launch_gives_no_outcome_until_it_is_asked_for() {
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    let expected = program.execute(args(), RunOptions::default()).expect("it runs");
    let mut prepared = program.prepare(args(), RunOptions::default()).expect("it fits");
    for _ in 0..2 {
        prepared.launch(None).expect("it runs");
    }
    for _ in 0..2 {
        assert_eq!(bits(&prepared.outcome().expect("it ran").outputs), bits(&expected.outputs));
    }
    let listing = program.graph(&args(), &GraphOptions::default()).expect("it is known");
    assert_eq!(listing.tasks.len() as u64, expected.stats.tasks);
    let simulated = program.simulate(&args(), &RunOptions::default()).expect("it is known");
    assert_eq!(
        (simulated.listing.tasks, simulated.tasks.len()),
        (listing.tasks.clone(), listing.tasks.len())
    );
}

#[test]
fn options_that_have_no_effect_are_refused_by_name() {
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    let mut options = RunOptions::default();
    options.unit.events.push("GO".to_owned());
    assert_eq!(named(&fault(program.execute(args(), options))), "events");
    for (backend, name) in [
        (CpuSimBackend { engine: Engine::Interpreter, ..with(sums()) }, "engine"),
        (CpuSimBackend { mode: Mode::At(Level::ALL[0]), ..with(sums()) }, "mode"),
    ] {
        let refused = backend.compile(&plan(SUMS, None).into()).err().expect("it has no effect");
        assert!(refused[0].message.contains(&format!("`{name}`")), "{refused:?}");
    }
}

/// A run after `release` is refused until all arrays of the caller are bound again; then it is right, of kept tasks too.
#[test]
fn a_run_without_the_arrays_that_were_let_go_of_is_refused() {
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    let total = Array::zeros(DType::F32, &[1]).expect("it is small");
    for (threads, sequential) in [(2, false), (1, true)] {
        let options = RunOptions { threads, sequential, ..RunOptions::default() };
        let (without, x) = lent(&args().with("total", total.clone()), "x");
        let (args, sum) = lent(&without, "total");
        drop(without);
        let mut prepared = program.prepare(args, options.clone()).expect("the arrays fit");
        prepared.run().expect("it runs");
        let mut given = (x, sum);
        for factor in 1..5u16 {
            assert!(prepared.release());
            let refused = fault(prepared.run()).to_string();
            assert!(refused.contains("has let go of its arrays") && refused.contains("rebind"), "{refused}");
            let (x, sum) = given;
            drop(x.take_back().expect("no run has it"));
            let total = sum.take_back().expect("no run has it");
            let (only, sum) = lent(&Args::new().with("total", total), "total");
            let lacks = prepared.rebind(only.clone()).expect_err("`x` is not bound").to_string();
            assert!(lacks.contains("`x`"), "{lacks}");
            assert!(fault(prepared.run()).to_string().contains("has let go of its arrays"));
            let next = reals(&[32, 4], (0..128).map(|i| f32::from(i * factor)));
            let (x_alone, x) = lent(&Args::new().with("x", next), "x");
            prepared.rebind(x_alone.with("total", sum.clone())).expect("they are all");
            let ran = prepared.run().expect("it runs");
            assert_eq!((ran.stats.tasks, ran.outputs.contains_key("total")), (33, false));
            drop(only);
            given = (x, sum);
        }
        assert!(prepared.release());
        let sum = given.1.take_back().expect("no run has it");
        assert_eq!(sum.as_slice::<f32>(), Some(&[f32::from(4 * (0..128).sum::<u16>())][..]));
    }
}

/// Without arrays of the caller there is nothing to bind again.
#[test]
fn a_run_after_release_is_that_of_before_where_all_arrays_are_the_programs() {
    let program = compiled_by(&with(sums()), plan(SUMS, None));
    let mut prepared = program.prepare(args(), RunOptions::default()).expect("the arrays fit");
    let first = prepared.run().expect("it runs");
    assert!(prepared.release());
    assert_eq!(bits(&prepared.run().expect("it runs").outputs), bits(&first.outputs));

    let text = "use \"test.pto\"; workload main { for i in 0..3 { twice(first = i * 8); } }";
    let (args, y) = lent(&arrays_of_twice(), "y");
    let library = compiled(plan(text, Some(TWICE)));
    let mut prepared = library.prepare(args, RunOptions::default()).expect("the arrays fit");
    assert!(!prepared.release(), "kernels of a used file keep their arrays");
    prepared.run().expect("it runs");
    drop(prepared);
    let y = y.take_back().expect("no run has it");
    assert_eq!(y.as_slice::<f32>().expect("it is real")[23], 46.0);
}
