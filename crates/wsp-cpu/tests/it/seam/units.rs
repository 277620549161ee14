//! Task graphs behind the seam.

use super::{around_a_cancelled_run, bits, compiled_by, fault, lent, named, ran, twice};
use crate::tg::common::{all, inputs, integers, kernels, unit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{Args, Backend, Begin, CheckpointStore, MemoryStore, RunError, RunOptions, UnitOptions};
use wsp_core::ExecPool;
use wsp_cpu::CpuSimBackend;
use wsp_cpu::tg::{Report, Session, SessionOptions};
use wsp_diag::SourceMap;
use wsp_kernel::Engine;
use wsp_plan::target::CPU_SIM;
use wsp_plan::{KernelFile, UnitSource};
use wsp_runtime::tg::RuntimeConfig;

const TWICE: &str = "
extern X: i64[8]
extern Y: i64[8]
host rounds: i64
TG_BEGIN(G)
  MC_ALLOC(T, 64)
  TG_KERNEL(A, double, 4, AIV, 0)
  TG_KERNEL(B, double, 2, AIC, 0)
  TG_DEPEND(A, B, DATA, T)
  MC_BIND(A, 0, X)
  MC_BIND(A, 1, T)
  MC_BIND(B, 0, T)
  MC_BIND(B, 1, Y)
TG_END(G)
CF_LOOP(rounds, i)
  TG_LAUNCH(G, default)
CF_ENDLOOP
TG_SYNC(G)
";

const FAILS: &str = "
extern X: i64[8]
TG_BEGIN(G)
  TG_KERNEL(A, fail, 1, AIV, 0)
  MC_BIND(A, 0, X)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

fn source(text: &str) -> UnitSource {
    UnitSource { module: unit(text), files: Vec::new(), target: CPU_SIM }
}

fn backend() -> CpuSimBackend {
    CpuSimBackend { unit_kernels: kernels(), ..CpuSimBackend::default() }
}

fn x() -> Args {
    Args::from(inputs(&[("X", &[1, 2, 3, 4, 5, 6, 7, 8])])).with("rounds", 2)
}

fn session(text: &str, args: &Args, options: SessionOptions) -> Session {
    let scalars = args.integers().expect("they are integers");
    let options = SessionOptions { inputs: args.arrays.clone(), scalars, ..options };
    Session::new(&unit(text), &kernels(), options).unwrap_or_else(|faults| panic!("{}", all(&faults)))
}

#[test]
fn the_bits_are_those_of_the_session_and_each_run_begins_as_the_first() {
    let mut direct = session(TWICE, &x(), SessionOptions::default());
    let expected = direct.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    let outputs = direct.outputs().expect("nothing is in flight");
    let program = compiled_by(&backend(), source(TWICE));
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let outcome = ran(&*program, &x(), &options);
    assert_eq!(bits(&outcome.outputs), bits(&outputs));
    assert_eq!((outcome.stats.tasks, outcome.stats.streams, outcome.stats.executors), (4, 1, 2));
    let own = outcome.own.downcast::<Report>().expect("it is what the session tells");
    assert_eq!(own.stats, expected.stats);
    assert_eq!(bits(&twice(program.prepare(x(), options).expect("the arrays fit")).outputs), bits(&outputs));
    let sequential = RunOptions { sequential: true, ..RunOptions::default() };
    assert_eq!(bits(&ran(&*program, &x(), &sequential).outputs), bits(&outputs));
    let explained = program.explain(&x(), &RunOptions::default()).expect("it has nodes");
    assert_eq!(explained.kernels, [("A".to_owned(), 1), ("B".to_owned(), 1)]);
}

#[test]
fn blocks_of_a_unit_take_their_share_of_what_is_bound_in_virtual_time() {
    let program = compiled_by(&backend(), source(TWICE));
    let (args, y) = lent(&x().with("Y", integers(&[5; 8])), "Y");
    let on = |threads| RunOptions { threads, ..RunOptions::default() };
    let simulated = |threads| program.simulate(&args, &on(threads)).unwrap_or_else(|fault| panic!("{fault}"));
    // 128 bytes each: 8 cycles of 4 blocks, then 16 of 2, in two rounds.
    let one = simulated(1);
    assert_eq!((one.makespan, one.busy.as_slice(), one.tasks.len()), (128, &[128][..], 12));
    assert_eq!((simulated(2).makespan, simulated(4).makespan, simulated(9).makespan), (64, 48, 48));
    let names = one.listing.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.unit));
    assert_eq!(names.take(2).collect::<Vec<_>>(), [("A", ExecPool::Vector), ("B", ExecPool::Cube)]);
    assert_eq!(one.listing.edges[..3], [(3, 4), (3, 5), (5, 6)]);
    drop(args);
    let y = y.take_back().expect("virtual time has let go of it");
    assert_eq!(y.as_slice::<i64>(), Some(&[5; 8][..]), "it is read only");
}

#[test]
fn a_workspace_counts_in_virtual_time_and_what_may_only_be_read_is_copied() {
    let text = |workspace: &str| {
        format!(
            "extern X: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0{workspace})\nMC_BIND(A, 0, X)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n"
        )
    };
    let args = Args::from(inputs(&[("X", &[0; 8])]));
    let makespan = |workspace: &str, args: &Args| {
        let program = compiled_by(&backend(), source(&text(workspace)));
        program.simulate(args, &RunOptions::default()).unwrap_or_else(|fault| panic!("{fault}")).makespan
    };
    assert_eq!((makespan("0", &args), makespan("256", &args)), (16, 80));
    let view = integers(&[3; 8]).lend().expect("it is small");
    assert_eq!(makespan("0", &Args::new().with("X", view.clone().read_only())), 16);
    let array = view.take_back().expect("virtual time has let go of it");
    assert_eq!(array.as_slice::<i64>(), Some(&[3; 8][..]));
}

/// How often the loop goes round is what a kernel has stored.
#[test]
fn a_condition_that_is_loaded_is_what_the_kernels_make_of_it() {
    let text = "
extern N: i64[1]
extern X: i64[8]
TG_BEGIN(G)
  TG_KERNEL(GROW, inc, 1, AIV, 0)
  MC_BIND(GROW, 0, N)
  CF_LOOP(load(N, 0, i64), i)
    TG_KERNEL(A, inc, 1, AIV, 0)
    MC_BIND(A, 0, X)
  CF_ENDLOOP
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";
    let program = compiled_by(&backend(), source(text));
    for n in [0, 3] {
        let args = Args::from(inputs(&[("N", &[n]), ("X", &[0; 8])]));
        let found = program.simulate(&args, &RunOptions::default()).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(found.tasks.len() as i64, 1 + n + 1);
    }
}

#[test]
fn virtual_time_refuses_what_it_would_leave_behind() {
    let program = compiled_by(&backend(), source(TWICE));
    let unit = UnitOptions { checkpoints: Some(Arc::new(MemoryStore::new())), ..UnitOptions::default() };
    let kept = RunOptions { unit, ..RunOptions::default() };
    let sequential = RunOptions { sequential: true, ..RunOptions::default() };
    for (name, options) in [("checkpoints", kept), ("sequential", sequential)] {
        let fault = program.simulate(&x(), &options).expect_err("it leaves nothing");
        assert!(fault.to_string().contains(&format!("option `{name}` has no meaning")), "{fault}");
    }
    assert!(matches!(
        compiled_by(&backend(), source(FAILS)).simulate(&x(), &RunOptions::default()),
        Err(RunError::Failed(_) | RunError::Refused(_))
    ));
}

#[test]
fn a_run_that_is_cancelled_leaves_the_next_as_it_was() {
    around_a_cancelled_run(&*compiled_by(&backend(), source(TWICE)), &x(), RunOptions::default());
}

/// A kernel of a file doubles an array that it names itself, of which the unit has a copy.
#[test]
fn a_run_begins_with_the_array_that_a_kernel_names_itself_as_it_was_given() {
    let file = "
PTO_SHAPE(y, 1, 8)
PTO_RESIDENT(kept, float, 1, 8)
PTO_KERNEL_IMPL(double_kept, Tensor<float> y) {
    VecTile<float, 1, 8> t;
    TLOAD(t, kept, {0});
    TMULS(t, t, 2.0f);
    TSTORE(kept, t, {0});
    TSTORE(y, t, {0});
}
";
    let text = "
extern Y: f32[1, 8]
TG_BEGIN(G)
  TG_KERNEL(A, double_kept, 1, AIV, 0)
  MC_BIND(A, 0, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";
    let (module, found) = wsp_lang::compile("test.pto", file, &mut SourceMap::default());
    let files =
        vec![KernelFile { module: Arc::new(module.unwrap_or_else(|| panic!("{found:?}"))), set: Vec::new() }];
    let program =
        compiled_by(&CpuSimBackend::default(), UnitSource { module: unit(text), files, target: CPU_SIM });
    let args = Args::new().with("kept", crate::workloads::views::reals(&[1, 8], (0..8).map(|i| i as f32)));
    let outcome = twice(program.prepare(args, RunOptions::default()).expect("the arrays fit"));
    assert_eq!(outcome.outputs["Y"].as_slice::<f32>().map(|y| y[7]), Some(14.0));
}

#[test]
fn kernels_of_files_give_the_bits_of_the_session() {
    let (module, found) = wsp_lang::compile(
        "power_iteration.pto",
        include_str!("../../../../../examples/power_iteration.pto"),
        &mut SourceMap::default(),
    );
    let module = Arc::new(module.unwrap_or_else(|| panic!("{found:?}")));
    let text = include_str!("../../../../../examples/power_iteration.tg");
    let files = vec![KernelFile { module: module.clone(), set: Vec::new() }];
    let program =
        compiled_by(&CpuSimBackend::default(), UnitSource { module: unit(text), files, target: CPU_SIM });
    let matrix = crate::workloads::views::reals(&[256, 256], (0..65536).map(|i| (i % 251) as f32 / 251.0));
    let args = Args::new().with("MATRIX", matrix);
    let outcome = ran(&*program, &args, &RunOptions { threads: 2, ..RunOptions::default() });
    let mut known = wsp_cpu::tg::TgKernels::new();
    known
        .add_library(&module, &[], Default::default(), Engine::default())
        .expect("the file has its kernels once");
    let options = SessionOptions { inputs: args.arrays.clone(), ..SessionOptions::default() };
    let mut direct = Session::new(&unit(text), &known, options).unwrap_or_else(|f| panic!("{}", all(&f)));
    direct.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(bits(&outcome.outputs), bits(&direct.outputs().expect("nothing is in flight")));
}

#[test]
fn written_arrays_are_used_in_place() {
    let program = compiled_by(&backend(), source(TWICE));
    let expected = ran(&*program, &x(), &RunOptions::default());
    let (args, view) = lent(&x().with("Y", integers(&[0; 8])), "Y");
    let place = view.ptr().cast_const();
    let mut prepared = program.prepare(args, RunOptions::default()).expect("the arrays fit");
    let other = prepared.rebind(x().with("X", integers(&[1; 9]))).expect_err("it has 9 elements");
    assert!(matches!(other, RunError::Refused(_)), "{other}");
    let outcome = prepared.run().expect("the arguments are as before");
    assert!(outcome.outputs.is_empty());
    assert_eq!(outcome.unit.written, ["Y"]);
    drop(prepared);
    let y = view.take_back().expect("no run has it");
    assert_eq!((y.bytes().as_ptr(), y.bytes()), (place, expected.outputs["Y"].bytes()));
}

#[test]
fn what_fails_or_is_refused_says_what_the_session_says() {
    let program = compiled_by(&backend(), source(FAILS));
    let args = Args::from(inputs(&[("X", &[1; 8])]));
    let failed = fault(program.execute(args.clone(), RunOptions { threads: 1, ..RunOptions::default() }));
    let said = session(FAILS, &args, SessionOptions::default()).run().expect_err("the kernel fails");
    assert!(matches!(failed, RunError::Failed(_)), "{failed}");
    assert_eq!(failed.diagnostics().0, said);
    let real = program.prepare(args.with("n", 0.5), RunOptions::default()).err().expect("it is no integer");
    assert!(real.to_string().contains("`n`"), "{real}");
    let none = CpuSimBackend::default().compile(&source(TWICE).into()).expect("it is looked at with arrays");
    let unknown = none.prepare(x(), RunOptions::default()).err().expect("no kernel is called `double`");
    assert!(unknown.to_string().contains("`double`"), "{unknown}");
}

#[test]
fn a_cancelled_run_says_so() {
    let cancel = Arc::new(AtomicBool::new(false));
    let (mut known, flag) = (kernels(), cancel.clone());
    known.replace("fail", None, move |_| {
        flag.store(true, Ordering::Relaxed);
        Ok(())
    });
    let twice = FAILS.replace("TG_SYNC(G)", "TG_SYNC(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)");
    let backend = CpuSimBackend { unit_kernels: known, ..CpuSimBackend::default() };
    let args = Args::from(inputs(&[("X", &[1; 8])]));
    let options = RunOptions { cancel: Some(cancel), ..RunOptions::default() };
    let cancelled = fault(compiled_by(&backend, source(&twice)).execute(args, options));
    assert!(matches!(cancelled, RunError::Cancelled(_)), "{cancelled}");
}

#[test]
fn a_run_goes_on_from_a_checkpoint_and_options_of_others_are_refused() {
    let text = TWICE.replace("TG_SYNC(G)\n", "TG_SYNC(G)\nTG_CHECKPOINT(G, 0)\n");
    let store: Arc<dyn CheckpointStore> = Arc::new(MemoryStore::new());
    let program = compiled_by(&backend(), source(&text));
    let kept = |begin| RunOptions {
        unit: UnitOptions { checkpoints: Some(store.clone()), begin, ..UnitOptions::default() },
        ..RunOptions::default()
    };
    let first = ran(&*program, &x(), &kept(Begin::Start));
    let resumed = ran(&*program, &x(), &kept(Begin::Resume));
    assert_eq!(bits(&resumed.outputs), bits(&first.outputs));
    assert!(first.unit.resumed.is_none() && resumed.unit.resumed.is_some());
    assert!(first.unit.peak.iter().all(|device| device.total >= 64), "each launch has a tensor of 64 bytes");
    let refused = program.execute(x(), RunOptions { seed: 3, ..kept(Begin::Start) });
    assert_eq!(named(&fault(refused)), "seed");
    let interpreted = CpuSimBackend { engine: Engine::Interpreter, ..backend() };
    assert!(interpreted.compile(&source(&text).into()).is_err());
}

#[test]
fn the_cores_of_the_target_are_those_of_the_runtime() {
    let (cores, device) = (RuntimeConfig::default().cores, CPU_SIM.device());
    let of_runtime = [cores.aic, cores.aiv, cores.aicpu, cores.aiv_per_aic, cores.l2_domains];
    assert_eq!(of_runtime, [device.aic, device.aiv, device.aicpu, device.aiv_per_aic, device.l2_domains]);
}
