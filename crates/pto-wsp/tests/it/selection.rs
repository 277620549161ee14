//! The registry selects a backend for a plan and says why.

use crate::counting::counting;
use pto_wsp::backend::cpu::CpuSimBackend;
use pto_wsp::backend::{Registry, UnitSource, registry, registry_with};
use pto_wsp::task_graph::TgKernels;
use pto_wsp::workload::{KernelRegistry, WorkloadPlan};
use pto_wsp::{Args, Array, CompileOptions, DType, RunOptions, SourceMap, Target};
use std::sync::Arc;
use wsp_core::tg::Platform;
use wsp_plan::PlanSource;
use wsp_plan::target::CPU_SIM;

const ROWS: &str = include_str!("../../../../examples/row_softmax.pto");

const UNIT: &str = "
extern X: i64[8]
TG_BEGIN(G)
  TG_KERNEL(A, inc, 2, AIV, 0)
  TG_KERNEL(B, inc, 1, AIV, 0)
  TG_DEPEND(A, B, DATA, X)
  MC_BIND(A, 0, X)
  MC_BIND(B, 0, X)
TG_END(G)
TG_LAUNCH(G, default)
TG_LAUNCH(G, default)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

fn spaces() -> PlanSource {
    let (module, found) = wsp_lang::compile("rows.pto", ROWS, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    wsp_plan::lower(&module, &CompileOptions::default()).expect("it is right").into()
}

/// What launches with the defaults refuse is asked of the backend that runs the target; the order of tasks is what a program has or refuses.
#[test]
fn what_can_be_checked_before_a_run_is_asked_through_the_registry() {
    let text =
        ROWS.replacen("PTO_SHAPE(", "PTO_PARAM(uint32_t, least, 0)\nPTO_REQUIRE(least > 0)\nPTO_SHAPE(", 1);
    let (module, found) = wsp_lang::compile("rows.pto", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let found = registry().check_defaults(&module, CPU_SIM).expect_err("0 is not more than 0");
    assert!(
        found.0[0].notes.iter().any(|note| note.contains("every parameter is taken at its default")),
        "{found}"
    );
    assert!(registry().check_defaults(&module, Target::of(Platform::A2)).is_ok(), "nothing runs it here");

    let mut registry = Registry::new();
    registry.register(counting()).expect("it is the first");
    assert!(registry.check_defaults(&module, CPU_SIM).is_ok(), "it says nothing else");
    let plan = workload();
    let program = registry.select(&plan).expect("it counts").backend().compile(&plan).expect("it counts");
    let refused = program.check_order(&Args::new(), 100).expect_err("it knows no order");
    assert_eq!(refused.diagnostics().0[0].code.0, 1606);
}

fn workload() -> PlanSource {
    let text = "
        param n = 9;
        tensor y: f32[n];
        kernel k(out y);
        workload main { parallel for i in 0..n { if i != 4 { k(y[i]); } } }
    ";
    let (module, found) = pto_wsp::workload::parse("test.wsp", text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    WorkloadPlan::new(module, None, &CompileOptions::default()).expect("it is right").into()
}

fn unit(text: &str, target: &'static Target) -> PlanSource {
    let (module, found) = wsp_isa::tg::text::parse("test.tg", text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    UnitSource { module, files: Vec::new(), target }.into()
}

/// `cpu_sim` with bodies for the kernels above.
fn with_bodies() -> CpuSimBackend {
    let mut kernels = KernelRegistry::new();
    kernels.register("k", |cx| cx.store(0, &[1f32])).expect("it is the first");
    let mut unit_kernels = TgKernels::new();
    unit_kernels.register("inc", None, |_| Ok(())).expect("it is the first");
    CpuSimBackend { kernels, unit_kernels, ..CpuSimBackend::default() }
}

#[test]
fn a_backend_that_counts_tasks_takes_plans_of_every_kind() {
    let mut registry = registry_with(with_bodies());
    registry.register(counting()).expect("it is the first of its name");
    assert!(registry.names().eq(["cpu_sim", "ascend", "aie", "count"]));
    let x = Array::zeros(DType::F32, &[100, 3]).expect("it is small");
    let both = Array::zeros(DType::I64, &[8]).expect("it is small");
    let all = [
        (spaces(), Args::new().with("x", x), 7),
        (workload(), Args::new().with("n", 11), 10),
        (unit(UNIT, CPU_SIM), Args::new().with("X", both), 6),
    ];
    for (plan, args, tasks) in all {
        let run = |name: &str| {
            let backend = registry.backend(name).unwrap_or_else(|fault| panic!("{fault:?}"));
            let program = backend.compile(&plan).unwrap_or_else(|found| panic!("{found}"));
            let ran = program.execute(args.clone(), RunOptions::default());
            ran.unwrap_or_else(|fault| panic!("{name}: {fault}")).stats.tasks
        };
        assert_eq!((run("count"), run("cpu_sim")), (tasks, tasks), "{}", plan.kind());
        assert_eq!(registry.select(&plan).expect("two take it").backend().name(), "cpu_sim");
    }
}

#[test]
fn a_backend_that_does_not_take_all_of_a_plan_is_passed_over_with_the_reason() {
    let mut registry = Registry::new();
    registry.register(counting()).expect("it is the first");
    registry.register(Arc::new(with_bodies())).expect("it is the first of its name");
    let looped = UNIT.replace("TG_SYNC(G)", "CF_LOOP(2, i)\nTG_LAUNCH(G, default)\nCF_ENDLOOP\nTG_SYNC(G)");
    let selected = registry.select(&unit(&looped, CPU_SIM)).expect("one takes it");
    assert_eq!(selected.backend().name(), "cpu_sim");
    let why = selected.to_string();
    assert!(why.contains("`count` does not take it: the host decides what it launches"), "{why}");
    assert_eq!(registry.select(&unit(UNIT, CPU_SIM)).expect("two take it").backend().name(), "count");
}

#[test]
fn what_nothing_runs_is_refused_with_what_each_backend_says() {
    let registry = registry();
    let refused = registry.select(&unit(UNIT, Target::of(Platform::A3))).expect_err("nothing runs it");
    assert_eq!(refused[0].message, "no backend runs this task graph on target `ascend_910c`");
    assert_eq!(
        refused[0].notes,
        [
            "`cpu_sim` runs `cpu_sim` (cpu)",
            "`ascend` runs `ascend_host`",
            "`aie` runs `xdna1` (npu1), `xdna2` (npu2)"
        ]
    );
    let target = registry.target("a5").expect_err("nothing runs it");
    assert_eq!(
        target.notes,
        ["targets that run here: `cpu_sim` (cpu), `ascend_host`, `xdna1` (npu1), `xdna2` (npu2)"]
    );
    assert_eq!(registry.target("CPU"), Ok(CPU_SIM));
    assert!(registry.target("tpu").expect_err("it does not exist").message.contains("`tpu`"));
}

#[test]
fn names_of_backends_are_distinct_and_misspelt_ones_are_told() {
    let mut registry = registry();
    let twice = registry.register(Arc::new(with_bodies())).expect_err("it is the second");
    assert!(twice.message.contains("`cpu_sim`"), "{twice:?}");
    let unknown = registry.backend("cpu_sin").err().expect("it does not exist");
    assert_eq!(unknown.help, ["did you mean `cpu_sim`?"]);
}
