//! The forms of document 004: thin ones over plans, programs and runs.

use crate::counting::counting;
use pto_wsp::backend::cpu::CpuSimBackend;
use pto_wsp::backend::npu::AscendBackend;
use pto_wsp::backend::{Backend, CompiledProgram, Registry, StatementKind};
use pto_wsp::workload::{KernelRegistry, WorkloadModule, WorkloadPlan};
use pto_wsp::{
    Args, Array, CompileOptions, Diagnostics, OneShot, RunError, RunOptions, Source, SourceMap, Target,
};
use std::sync::Arc;
use wsp_plan::target::CPU_SIM;
use wsp_plan::{PlanSource, Support};

const PIPELINE: &str = "
tensor x: i64[8];
kernel inc(inout x);
workload spare { inc(x[0]); }
workload main {
  channel c[2];
  pipeline {
    process a { parallel for i in 0..8 { send c as s { inc(x[i]); } } }
    process b { parallel for i in 0..8 { consume c as s { inc(x[i]); } } }
  }
}
schedule wide { streams(2); }
";

fn parsed(text: &str) -> WorkloadModule {
    let (module, found) = pto_wsp::workload::parse("test.wsp", text, &mut SourceMap::default());
    module.unwrap_or_else(|| panic!("{found:?}"))
}

/// `cpu_sim` with a kernel that adds 1, and fails on elements below 0.
fn adding() -> CpuSimBackend {
    let mut kernels = KernelRegistry::new();
    let added = kernels.register("inc", |cx| {
        let x = cx.load::<i64>(0)?[0];
        if x < 0 { Err("it is below 0".into()) } else { cx.store(0, &[x + 1]) }
    });
    added.expect("it is the first");
    CpuSimBackend { kernels, ..CpuSimBackend::default() }
}

/// A backend that takes no pipelines.
struct Plain(Arc<dyn Backend>);

impl Backend for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn targets(&self) -> &'static [&'static Target] {
        &[CPU_SIM]
    }

    fn supports_statement(&self, kind: StatementKind) -> bool {
        kind != StatementKind::Pipeline
    }

    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn CompiledProgram>, Diagnostics> {
        self.0.compile(plan)
    }
}

#[test]
fn a_backend_says_which_statements_it_takes_and_is_passed_over_for_others() {
    let takes = |backend: &dyn Backend| {
        StatementKind::ALL.iter().filter(|kind| backend.supports_statement(**kind)).count()
    };
    let plain = Plain(counting());
    assert_eq!((takes(&adding()), takes(&plain), takes(&AscendBackend::default())), (13, 12, 0));

    let plan = |module| WorkloadPlan::new(module, None, &CompileOptions::default()).expect("it is right");
    let mut registry = Registry::new();
    registry.register(Arc::new(plain)).expect("it is the first");
    let refused = registry.select(&plan(parsed(PIPELINE)).into()).expect_err("it has a pipeline");
    assert_eq!(refused[1].message, "backend `plain` takes no `pipeline`");
    registry.register(Arc::new(adding())).expect("it is the first of its name");
    let selected = registry.select(&plan(parsed(PIPELINE)).into()).expect("one takes it");
    assert_eq!(selected.backend().name(), "cpu_sim");
    // What the entry does not reach is not asked for.
    let other = PIPELINE.replace("workload main", "workload off").replace("workload spare", "workload main");
    let selected = registry.select(&plan(parsed(&other)).into()).expect("both take it");
    assert_eq!(selected.backend().name(), "plain");
}

#[test]
fn statements_that_aicpus_do_not_generate_are_those_of_the_table() {
    let each = [
        (StatementKind::ParallelFor, "parallel for i in 0..2 { inc(x[i]); }"),
        (StatementKind::ForEach, "for i in 0..2 { inc(x[i]); }"),
        (StatementKind::Select, "select j in sparse[0] { inc(x[j]); }"),
        (StatementKind::Cond, "if n > 0 { inc(x[0]); }"),
        (StatementKind::While, "while n < 0 { inc(x[0]); }"),
        (StatementKind::Combine, "combine { { inc(x[0]); } { inc(x[1]); } }"),
        (StatementKind::Sequential, "sequential { { inc(x[0]); } { inc(x[1]); } }"),
        (StatementKind::Call, "call other();"),
        (StatementKind::Pipeline, "channel c[1]; pipeline { process a { inc(x[0]); } }"),
        (StatementKind::Send, "channel c[1]; pipeline { process a { send c as s { inc(x[0]); } } }"),
        (
            StatementKind::Consume,
            "channel c[1]; pipeline { process a { send c as s { inc(x[0]); } } process b { consume c as s { inc(x[0]); } } }",
        ),
        (StatementKind::Close, "channel c[1]; pipeline { process a { inc(x[0]); close c; } }"),
        (StatementKind::Task, "inc(x[0]);"),
    ];
    assert_eq!(each.len(), StatementKind::ALL.len());
    for (kind, text) in each {
        let module = parsed(&format!(
            "param n = 1; tensor x: i64[8]; table p = [0, 2]; table q = [0, 1];
             axis rows = dense(1); axis sparse = sparse(rows, p, q); kernel inc(inout x);
             workload other {{ inc(x[3]); }} workload main {{ {text} }}"
        ));
        let row = kind.row();
        let refused = row.aicpus.unwrap_or(row.host).support == Support::Error;
        let lowered = wsp_plan::ptow::lower(&module, &Default::default());
        assert_eq!(lowered.is_err(), refused, "{kind:?}: {:?}", lowered.err());
    }
}

#[test]
fn a_workload_and_a_pipeline_compile_under_a_schedule_by_name() {
    let x = Array::of(&[8], &[5i64; 8]).expect("it is small");
    for schedule in [None, Some("wide")] {
        let program = adding().compile_workload(parsed(PIPELINE), schedule);
        let program = program.unwrap_or_else(|found| panic!("{found}"));
        let outcome = program.execute(Args::new().with("x", x.clone()), RunOptions::default());
        let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(outcome.outputs["x"].as_slice::<i64>(), Some(&[7; 8][..]));
        assert_eq!(outcome.stats.streams, if schedule.is_some() { 2 } else { 1 });
    }
    assert!(adding().compile_workload(parsed(PIPELINE), Some("narrow")).is_err());
    let refused =
        Plain(counting()).compile_workload(parsed(PIPELINE), None).err().expect("it has a pipeline");
    assert_eq!(refused[0].message, "backend `plain` takes no `pipeline`");
}

#[test]
fn a_program_with_arguments_has_the_statistics_of_its_last_run() {
    let program = |first: i64| {
        let program = Source::workload(parsed(PIPELINE)).kernels(adding().kernels).compile();
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        let x = Array::of(&[8], &[first; 8]).expect("it is small");
        OneShot::new(program, Args::new().with("x", x), RunOptions::default())
    };
    let mut runs = program(0);
    assert_eq!((runs.elapsed_ms(), runs.stats(), runs.is_complete()), (0.0, None, true));
    let outcome = runs.execute().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(outcome.outputs["x"].as_slice::<i64>(), Some(&[2; 8][..]));
    assert!(runs.elapsed_ms() > 0.0);
    runs.execute_async().unwrap_or_else(|fault| panic!("{fault}"));
    let outcome = runs.synchronize().unwrap_or_else(|fault| panic!("{fault}")).expect("it has run");
    assert_eq!(outcome.outputs["x"].as_slice::<i64>(), Some(&[2; 8][..]), "each run begins as the first");
    assert!(runs.is_complete());
    let (run, stats) = runs.stats().expect("it has run");
    assert_eq!((run, stats.tasks), (2, 16));

    let mut failing = program(-1);
    failing.execute_async().unwrap_or_else(|fault| panic!("{fault}"));
    for what in ["a failure is not forgotten", "nor does it keep the next run from starting"] {
        let error = failing.execute().expect_err("its kernel fails");
        assert!(matches!(error.run(), Some(RunError::Failed(_))), "{what}");
    }
    assert!(failing.stats().is_none());
}
