//! What `lower` refuses, what it remarks on, and what it says of a plan.

use crate::support::build::*;
use wsp_core::tg::Platform;
use wsp_core::*;
use wsp_diag::{Diagnostic, Severity, SourceMap, lookup};
use wsp_ir::*;
use wsp_plan::{CompileOptions, LoweredPlan, Target, TensorUse, lower};

fn options(schedule: Option<&str>) -> CompileOptions {
    CompileOptions { schedule: schedule.map(str::to_owned), ..CompileOptions::default() }
}

fn lowered(module: &Module, schedule: Option<&str>) -> LoweredPlan {
    lower(module, &options(schedule)).unwrap_or_else(|d| panic!("{d:#?}"))
}

/// The only finding, which must be explained.
fn refused(module: &Module, options: &CompileOptions) -> Diagnostic {
    let mut found = lower(module, options).expect_err("should be refused");
    assert_eq!(found.len(), 1, "{found:#?}");
    let only = found.remove(0);
    assert!(only.is_error());
    assert!(lookup(&[wsp_plan::CODES], only.code).is_some(), "{} is not explained", only.code);
    only
}

fn compiled(text: &str) -> Module {
    let (module, found) = wsp_lang::compile("test.pto", text, &mut SourceMap::default());
    module.unwrap_or_else(|| panic!("{found:#?}"))
}

fn apply(index: u32) -> Stmt {
    s(StmtKind::ApplySchedule(ScheduleId(index)))
}

#[test]
fn a_target_without_plans_is_refused_with_those_that_have_them() {
    let options = CompileOptions { target: Target::of(Platform::A5), ..CompileOptions::default() };
    let d = refused(&decode().module(None), &options);
    assert_eq!(d.code.0, 400);
    assert_eq!(d.message, "neither programs nor workloads can be compiled for target `ascend_950`");
    let has = "the table of what schedules say has `cpu_sim` (cpu), `ascend_host`, `xdna1` (npu1), `xdna2` (npu2) only";
    assert_eq!(d.notes, [has]);
}

#[test]
fn a_library_has_nothing_to_launch() {
    let mut module = decode().module(None);
    module.entry = None;
    assert_eq!(refused(&module, &options(None)).code.0, 401);
}

#[test]
fn a_launched_space_needs_a_generator() {
    let mut module = decode().module(None);
    module.spaces[0].generator = None;
    module.functions.remove(0);
    module.structs[0].consumer = Consumer::Kernel(FuncId(0));
    let d = refused(&module, &options(None));
    assert_eq!(d.code.0, 402);
    assert_eq!(d.help, ["add `PTO_DESCRIPTOR_GEN(S) { … }`"]);
}

#[test]
fn an_invalid_module_is_refused_before_anything_looks_at_it() {
    let mut module = decode().module(None);
    module.spaces[0].axes.push(AxisId(99));
    let found = lower(&module, &options(None)).expect_err("should be refused");
    assert!((300..400).contains(&found[0].code.0), "{found:#?}");
}

#[test]
fn a_schedule_asked_for_replaces_the_applied_one() {
    let mut module = decode().module(Some(schedule("Mine", vec![order("batch", OrderPolicy::Parallel)])));
    module.schedules.push(schedule("Other", vec![order("head", OrderPolicy::Parallel)]));
    assert_eq!(lowered(&module, None).stages[0].schedule.name.as_deref(), Some("Mine"));
    let plan = lowered(&module, Some("Other"));
    assert_eq!(plan.stages[0].schedule.name.as_deref(), Some("Other"));
    assert!(
        plan.stages[0]
            .schedule
            .lines
            .iter()
            .any(|line| line.starts_with("PTO_ORDER(head, PTO_PARALLEL): enforced: "))
    );
    let d = refused(&module, &options(Some("Othr")));
    assert_eq!((d.code.0, d.help), (403, vec!["did you mean `Other`?".to_owned()]));
    assert_eq!(d.notes, ["schedules: `Mine`, `Other`"]);
    let d = refused(&module, &options(Some("Fixed")));
    assert_eq!((d.code.0, d.notes.len()), (403, 1));
    assert!(d.help[0].starts_with("ask for one of these, or for none"), "{:?}", d.help);
    let d = refused(&decode().module(None), &options(Some("Fixed")));
    assert!(d.help[0].ends_with("`PTO_SCHEDULE(Fixed) { … }`"), "{:?}", d.help);
}

#[test]
fn a_schedule_names_axes_of_the_space() {
    let module = decode().module(Some(schedule("S", vec![order("bach", OrderPolicy::Parallel)])));
    let d = refused(&module, &options(None));
    assert_eq!((d.code.0, d.message.as_str()), (404, "space `S` has no axis `bach`"));
    assert_eq!(d.help, ["did you mean `batch`?"]);
}

#[test]
fn which_schedule_applies_must_be_clear() {
    let mut module = decode().module(Some(schedule("A", vec![])));
    module.functions[0].body.insert(0, apply(0));
    assert_eq!(refused(&module, &options(None)).code.0, 405);

    let mut module = decode().module(None);
    module.schedules.push(schedule("A", vec![]));
    let maybe = when(op(BinOp::Eq, param(0), n(1)), vec![apply(0)], vec![]);
    module.functions[0].body.insert(0, maybe);
    assert_eq!(refused(&module, &options(None)).code.0, 405);
    // The one asked for does not depend on the source.
    assert_eq!(lowered(&module, Some("A")).stages[0].schedule.name.as_deref(), Some("A"));

    let mut module = decode().module(None);
    module.schedules.push(schedule("A", vec![]));
    module.functions[0].body.push(apply(0));
    assert_eq!(refused(&module, &options(None)).code.0, 405);
}

#[test]
fn a_schedule_around_the_loop_applies() {
    let mut module = decode().module(None);
    module.schedules.push(schedule("A", vec![]));
    let mut body = std::mem::take(&mut module.functions[0].body);
    let mut inner = vec![apply(0)];
    inner.append(&mut body);
    module.functions[0].body = vec![when(op(BinOp::Eq, param(0), n(1)), inner, vec![])];
    assert_eq!(lowered(&module, None).stages[0].schedule.name.as_deref(), Some("A"));
}

#[test]
fn a_schedule_without_a_loop_is_remarked_on() {
    let mut module = decode().module(Some(schedule("A", vec![])));
    module.spaces[0].constraints = vec![op(BinOp::Lt, Expr::local(LocalId(0), ScalarTy::U32, sp()), n(1))];
    module.functions[0].body.pop();
    module.functions[0].body.push(emit(vec![n(0); 4]));
    let plan = lowered(&module, None);
    let messages: Vec<&str> = plan.notes.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["schedule `A` has no effect", "`PTO_WHERE` has no effect"]);
    assert!(plan.notes.iter().all(|d| d.severity == Severity::Warning && d.code.0 == 406));
    assert_eq!(plan.stages[0].schedule.name, None);
}

#[test]
fn return_does_not_leave_the_loop() {
    let mut p = decode();
    p.body.push(when(op(BinOp::Eq, v(p.vars[0]), n(1)), vec![s(StmtKind::Return(None))], vec![]));
    assert_eq!(refused(&p.module(None), &options(None)).code.0, 410);
}

#[test]
fn an_extent_is_set_once_and_for_sure() {
    let set_extent =
        || s(StmtKind::SetExtent { axis: AxisId(1), extent: ExtentSource::Scalar(n(3)), last: None });
    let mut p = decode();
    p.body.clear();
    p.before = vec![set_extent(), set_extent()];
    assert_eq!(refused(&p.module(None), &options(None)).code.0, 409);
    p.before = vec![when(op(BinOp::Eq, param(0), n(1)), vec![set_extent()], vec![])];
    assert_eq!(refused(&p.module(None), &options(None)).code.0, 409);
}

#[test]
fn the_first_axis_has_one_extent() {
    let mut p = LaunchedSpace::new(vec![axis("a", n(0), None, None)]);
    let extent = ExtentSource::PerOuter(ArrayRef::Tensor(TensorId(0)));
    p.before = vec![s(StmtKind::SetExtent { axis: AxisId(0), extent, last: None })];
    assert_eq!(refused(&p.module(None), &options(None)).code.0, 409);
}

#[test]
fn an_axis_without_tiles_has_no_last_elements() {
    let mut p = LaunchedSpace::new(vec![axis("a", n(0), Some(param(0)), None), axis("b", n(0), None, None)]);
    let extent = || ExtentSource::Scalar(n(30));
    p.before = vec![s(StmtKind::SetExtent { axis: AxisId(1), extent: extent(), last: Some(n(4)) })];
    let found = refused(&p.module(None), &options(None));
    assert_eq!(found.code.0, 409);
    assert!(found.help.iter().any(|help| help.contains("PTO_TILE(b, PTO_AUTO)")), "{found:?}");
    p.before = vec![s(StmtKind::SetExtent { axis: AxisId(1), extent: extent(), last: None })];
    lower(&p.module(None), &options(None)).unwrap();
}

#[test]
fn so_many_dynamic_axes_are_refused() {
    let p = LaunchedSpace::new((0..9).map(|i| axis(&format!("a{i}"), n(0), None, None)).collect());
    assert_eq!(refused(&p.module(None), &options(None)).code.0, 417);
}

#[test]
fn eight_axes_that_each_depend_on_all_before_stay_small_in_reverse_order() {
    let axes = (0..8).map(|i| axis(&format!("a{i}"), n(0), None, None)).collect();
    let mut p = LaunchedSpace::new(axes);
    for i in 0..8 {
        let sum = p.vars[..i].iter().fold(n(1), |sum, var| op(BinOp::Add, sum, v(*var)));
        p.body.push(skip_if(op(BinOp::Ge, v(p.vars[i]), op(BinOp::Rem, sum, n(2)))));
    }
    let order = (0..8).rev().map(|i| order(&format!("a{i}"), OrderPolicy::Interleaved(2))).collect();
    let plan = lowered(&p.module(Some(schedule("S", order))), None);
    assert!(plan.module.functions[0].locals.len() < 5_000);
}

#[test]
fn generators_that_nothing_launches_are_lowered_too() {
    let mut module = decode().module(None);
    let mut other = module.functions[0].clone();
    other.name = "other".into();
    other.kind = FuncKind::Generator { space: SpaceId(1) };
    let axes: Vec<Axis> = module.axes.clone();
    module.axes.extend(axes);
    let space = Space {
        axes: vec![AxisId(3), AxisId(4), AxisId(5)],
        generator: Some(FuncId(2)),
        ..module.spaces[0].clone()
    };
    module.spaces.push(space);
    module.functions.push(other);
    let plan = lowered(&module, None);
    let scheduled = plan
        .module
        .functions
        .iter()
        .flat_map(|f| &f.body)
        .any(|s| matches!(s.kind, StmtKind::ScheduledFor { .. }));
    assert!(!scheduled);
    assert_eq!(plan.stages.len(), 1);
}

const GRAPH: &str = "
PTO_SHAPE(x, 64, 16)
PTO_SHAPE(total, 64, 16)
PTO_TENSOR(doubled, float, 64, 16)
PTO_TENSOR(spare, float, 64, 16)
PTO_SPACE(Rows) { PTO_AXIS(row, 0, 64) }
PTO_SPACE(Sums) { PTO_AXIS(line, 0, 64) }
PTO_SCHEDULE(ByRow) { PTO_ORDER(row, PTO_PARALLEL) }
struct A { uint32_t row; };
struct B { uint32_t row; };
PTO_DESCRIPTOR_GEN(Rows) { PTO_SCHEDULED_FOR(row) { PTO_EMIT_DESCRIPTOR(A{ .row = row }); } }
PTO_DESCRIPTOR_GEN(Sums) { PTO_SCHEDULED_FOR(line) { PTO_EMIT_DESCRIPTOR(B{ .row = line }); } }
PTO_KERNEL_IMPL(double_row) {
    auto desc = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 16> t;
    TLOAD(t, x, {desc.row});
    TADD(t, t, t);
    TSTORE(doubled, t, {desc.row});
}
PTO_KERNEL_IMPL(add_row) {
    auto desc = PTO_GET_DESCRIPTOR<B>();
    VecTile<float, 1, 16> t;
    TLOAD(t, doubled, {desc.row});
    TSTORE(total, t, {desc.row});
}
PTO_GRAPH(Pipeline) {
    STAGES
    PTO_DEPENDENCY(DEPENDENCY)
}
void launch(Tensor<float> x, Tensor<float> total) {
    PTO_LAUNCH(Pipeline, { .x = x, .total = total });
}
";

const IN_ORDER: &str = "PTO_STAGE(produce, Rows) PTO_STAGE(consume, Sums)";

fn graph(stages: &str, dependency: &str) -> Module {
    compiled(
        &GRAPH
            .replace("STAGES", stages)
            .replace("DEPENDENCY(DEPENDENCY)", &format!("DEPENDENCY({dependency})")),
    )
}

#[test]
fn stages_run_in_order_with_their_own_kernels() {
    let plan = lowered(&graph(IN_ORDER, "consume.doubled, produce.doubled"), None);
    let names: Vec<&str> = plan.stages.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["produce", "consume"]);
    let kernels: Vec<&str> = plan
        .stages
        .iter()
        .flat_map(|s| &s.kernels)
        .map(|k| plan.module.functions[k.index()].name.as_str())
        .collect();
    assert_eq!(kernels, ["double_row", "add_row"]);
    let of =
        |name: &str| plan.tensors[plan.module.tensor_named(name).expect("the tensor should exist").index()];
    assert_eq!(of("x"), TensorUse { read: true, written: false });
    assert_eq!(of("doubled"), TensorUse { read: true, written: true });
    assert_eq!(of("total"), TensorUse { read: false, written: true });
    assert_eq!(of("spare"), TensorUse::default());
}

#[test]
fn dependencies_are_checked_against_what_stages_do() {
    let codes = |stages: &str, dependency: &str| -> Vec<u16> {
        let found = lower(&graph(stages, dependency), &options(None)).expect_err("should be refused");
        found.iter().map(|d| d.code.0).collect()
    };
    assert_eq!(codes(IN_ORDER, "consume.total, produce.total"), [411, 412]);
    assert_eq!(codes(IN_ORDER, "consume.doubled, produce.spare"), [411, 414]);
    let backwards = "PTO_STAGE(consume, Sums) PTO_STAGE(produce, Rows)";
    assert_eq!(codes(backwards, "consume.doubled, produce.doubled"), [413]);
}

#[test]
fn in_a_graph_the_schedule_asked_for_goes_to_the_spaces_with_its_axes() {
    let plan = lowered(&graph(IN_ORDER, "consume.doubled, produce.doubled"), Some("ByRow"));
    let names: Vec<Option<&str>> = plan.stages.iter().map(|s| s.schedule.name.as_deref()).collect();
    assert_eq!(names, [Some("ByRow"), None]);
    assert_eq!(plan.notes.len(), 1);
    assert_eq!(plan.notes[0].message, "stage `consume` keeps its own schedule");
}

#[test]
fn every_example_of_the_reference_page_is_accepted() {
    let page = include_str!("../../../../docs/reference/schedules.md");
    let blocks: Vec<&str> =
        page.split("```pto\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 10);
    for block in blocks {
        let module = compiled(block);
        if module.entry.is_some() {
            lowered(&module, None);
        }
    }
}

#[test]
fn workers_of_a_unit_that_no_kernel_is_for_are_warned_of() {
    let notes = |units: [&str; 2]| {
        let space = |of: &str, unit: &str| {
            format!(
                "PTO_SPACE({of}) {{ PTO_AXIS(row, 0, 4) }} PTO_SCHEDULE(For{of}) {{ PTO_POOLS(3, 2) }}
                struct D{of} {{ uint32_t i; }};
                PTO_DESCRIPTOR_GEN({of}) {{
                    PTO_APPLY_SCHEDULE(For{of}); PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(D{of}{{ .i = r }}); }}
                }}
                PTO_KERNEL_IMPL(k{of}){unit} {{
                    auto d = PTO_GET_DESCRIPTOR<D{of}>(); VecTile<float, 1, 8> t; TLOAD(t, x, {{d.i}}); TSTORE(y{of}, t, {{d.i}});
                }}"
            )
        };
        let text = format!(
            "PTO_SHAPE(x, 4, 8) PTO_SHAPE(yA, 4, 8) PTO_SHAPE(yB, 4, 8) {} {}
            PTO_GRAPH(G) {{ PTO_STAGE(one, A) PTO_STAGE(two, B) }}
            void go(Tensor<float> x, Tensor<float> yA, Tensor<float> yB) {{ PTO_LAUNCH(G, {{ .x = x, .yA = yA, .yB = yB }}); }}",
            space("A", units[0]),
            space("B", units[1])
        );
        let notes = lowered(&compiled(&text), None).notes.into_iter();
        notes.map(|note| (note.code.0, note.severity, note.message)).collect::<Vec<_>>()
    };
    let idle = |what: &str| vec![(423, Severity::Warning, format!("{what} units have nothing to run"))];
    assert_eq!(notes([" on vector", " on vector"]), idle("2 workers of the cube"));
    assert_eq!(notes([" on cube", " on cube"]), idle("3 workers of the vector"));
    assert_eq!(notes([" on cube", " on vector"]), []);
    assert_eq!(notes([" on cube", ""]), []);
    assert_eq!(notes(["", ""]), []);
}
