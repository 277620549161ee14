//! Every error goes into one by `?`, and that one into those of others.

use pto_wsp::backend::registry;
use pto_wsp::workload::{ModuleBuilder, Rows, WorkloadPlan, sized};
use pto_wsp::{
    Args, Array, CompileOptions, DType, Diagnostic, Error, Program, RunError, RunOptions, Source, SourceMap,
};

const README: &str = include_str!("../../../../README.md");
const EXAMPLE: &str = include_str!("../../src/workload.rs");

/// The example of the README, with `fails` in the place of what the kernel may give.
fn example(fails: bool) -> anyhow::Result<Vec<u8>> {
    let mut m = ModuleBuilder::new();
    let rows = m.param("rows", 256);
    let x = m.tensor("x", DType::F32, [rows.into(), 8.into()]);
    let part = m.tensor("part", DType::F32, [rows / 16]);
    let total = m.tensor("total", DType::F32, [1.into()]);
    let sum = m.kernel("sum").input("x").output("s").finish();
    m.workload("main", |w| {
        w.parallel_for("i", ..rows / 16, |w, i| {
            w.task(sum).arg(x.at((sized(i * 16, 16), ..))).arg(part.at(i));
        });
        w.task(sum).arg(part).arg(total);
    });
    let sum = move |x: Rows<f32>, s: &mut [f32]| {
        s[0] = x.iter().flatten().sum();
        if fails { Err("as it should") } else { Ok(()) }
    };
    let program = Source::workload(m.finish()?).kernel("sum", sum).compile()?;
    let x = Array::zeros(DType::F32, &[256, 8])?;
    let outcome = program.execute(Args::new().with("x", x), RunOptions::default())?;
    Ok(outcome.outputs["total"].bytes().to_vec())
}

#[test]
fn the_readme_shows_the_example_of_workloads() {
    let from = README.find("```rust").expect("it has a Rust example");
    let block = README[from..].split("```").nth(1).expect("a block should end");
    let mut lines = EXAMPLE.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim);
    for shown in block.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()) {
        assert!(lines.any(|line| line == shown), "the example should have, in this order: {shown}");
    }
    assert_eq!(block.matches('?').count(), 3);
}

#[test]
fn errors_of_every_layer_go_into_those_of_others() {
    assert_eq!(example(false).expect("it is right"), [0; 4]);
    let failed = example(true).expect_err("the kernel fails");
    let run = failed.downcast_ref::<Error>().and_then(Error::run);
    assert!(matches!(run, Some(RunError::Failed(_))), "{failed:?}");
    assert!(failed.to_string().contains("as it should"), "{failed}");
}

#[test]
fn an_error_shows_the_lines_of_its_sources_and_keeps_its_findings() {
    fn is_error<E: std::error::Error + Send + Sync + 'static>(_: &E) {}
    fn refused() -> Result<(), Error> {
        let mut sources = SourceMap::default();
        let (module, found) = wsp_lang::compile("wrong.pto", "PTO_SHAPE(x, n", &mut sources);
        module.map(|_| ()).ok_or_else(|| Error::in_sources(found, &sources))
    }
    let error = refused().expect_err("the text ends early");
    is_error(&error);
    assert!(error.to_string().contains("wrong.pto:1"), "{error}");
    assert!(error.diagnostics().iter().any(Diagnostic::is_error));
    assert!(error.run().is_none());
}

#[test]
fn a_plan_compiles_and_what_its_run_lacks_is_an_error() {
    let (module, found) =
        pto_wsp::workload::parse("test.wsp", "kernel k(); workload main { k(); }", &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let plan = WorkloadPlan::new(module, None, &CompileOptions::default()).expect("it is right");
    let program = Program::from_plan(plan, &registry()).expect("it is looked at with arguments");
    let refused = program.execute(Args::new(), RunOptions::default()).expect_err("no body");
    assert!(matches!(refused.run(), Some(RunError::Refused(_))), "{refused}");
}

/// What a run lacks is named as a program in Rust gives it, not as the command line does.
#[test]
fn advice_names_options_as_rust_has_them() {
    let text = "
PTO_PARAM(uint32_t, width, 8)
PTO_SHAPE(x, rows, 8)
PTO_SHAPE(y, rows, 8)
PTO_SHAPE(kv, batch, PTO_DYNAMIC, 2, 8)
PTO_SPACE(S) { PTO_AXIS(i, 0, rows) }
struct D { uint32_t first; };
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .first = i }); } }
PTO_KERNEL_IMPL(k) {
    auto d = PTO_GET_DESCRIPTOR<D>();
    VecTile<float, 1, 8> t;
    TLOAD(t, x, {d.first});
    TLOAD(t, kv.k, {0, 0, 0, 0}, 1);
    TADDS(t, t, float(width));
    TSTORE(y, t, {d.first});
}
void run(Tensor<float> x, Tensor<float> y, PagedKVCache kv) {
    PTO_LAUNCH(S, { .x = x, .y = y, .kv = kv });
}";
    let program = Program::from_source("test.pto", text).expect("it is right");
    let zeros = |shape: &[u64]| Array::zeros(DType::F32, shape).expect("it is small");
    let cache = Args::new()
        .with("kv.indptr", [0u32, 1])
        .with("kv.indices", [0u32])
        .with("kv.last_page_len", [4u32])
        .with("kv.k", zeros(&[1, 2, 4, 8]));
    let all = cache.clone().with("x", zeros(&[4, 8]));
    for (args, options, says) in [
        (Args::new(), RunOptions::default(), "`Args::with(NAME, array)`"),
        (cache, RunOptions::default(), "`Args::with(\"x\", array)`"),
        (all.clone(), RunOptions::default(), "`SpaceOptions::kv_layout = HND`"),
    ] {
        let refused = program.execute(args, options).map(drop).expect_err("something is missing");
        let run = refused.run().expect("it is of a run");
        let rendered = pto_wsp::render_all(refused.diagnostics(), program.sources(), false);
        let json = pto_wsp::catalog::to_json(&run.diagnostics()[0], program.sources())
            .to_string()
            .replace("\\\"", "\"");
        for text in [refused.to_string(), run.to_string(), rendered, json] {
            assert!(text.contains(says) && !text.contains("`--"), "{text}");
        }
    }
    let workload =
        "tensor x: f32[4]; tensor y: f32[4]; kernel k(in x, out y); workload main { k(x[0..4], y[0..4]); }";
    let program = Source::text("test.wsp", workload).kernel("k", |_: &[f32], _: &mut [f32]| ()).compile();
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let refused = program.execute(Args::new(), RunOptions::default()).map(drop).expect_err("`x` is missing");
    let text = refused.to_string();
    assert!(
        text.contains("`Args::with(\"x\", array)`") && text.contains("`WorkloadRunOptions::made_up`"),
        "{text}"
    );
    assert!(!text.contains("`--"), "{text}");
}

#[test]
fn a_graph_that_fails_is_an_error_as_others() {
    fn ran() -> Result<(), Error> {
        let mut graph = pto_wsp::graph::Graph::new();
        let _ = graph.task(|| Err::<(), _>("as it should"));
        graph.run()?;
        Ok(())
    }
    let failed = ran().expect_err("its task fails").to_string();
    assert!(failed.contains("as it should"), "{failed}");
}
