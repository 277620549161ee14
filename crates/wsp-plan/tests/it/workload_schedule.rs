//! Schedules of workloads: what lowering makes of them, where tasks go, and what cannot work.

use crate::workload_support::{bound, expanded, fault, module, schedule, tasks};
use wsp_core::tg::Platform;
use wsp_diag::{Code, Severity};
use wsp_ir::workload::{
    Deps, ExecPool, Gate, GateScope, PoolSizes, Ready, Start, Trace, Window, WindowMode, WorkloadModule,
};
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::{Dispatched, LoweredSchedule, Placement, check_schedule, lower_schedule};
use wsp_plan::{Support, Target, workload_capabilities};

/// Loops over two axes, five tasks for each pair of indices.
fn grid(directives: &str) -> String {
    format!(
        "param n = 3; tensor x: f32[4]; table cost = [5, 2048, 9000]; axis b = dense(n); axis h = dense(1, 3);
         kernel v() on vector; kernel c() on cube;
         workload inner(i) {{ v(); }}
         workload main {{
             parallel for i in b {{ parallel for j in h {{ call inner(i); }} c(); }}
             c();
         }}
         schedule {{ {directives} }}"
    )
}

fn places(directives: &str) -> Vec<Placement> {
    tasks(&grid(directives), &[]).into_iter().map(|task| task.place).collect()
}

fn dispatched(directives: &str) -> Vec<Dispatched> {
    places(directives).into_iter().map(|place| place.dispatch.expect("a policy")).collect()
}

#[test]
fn a_module_without_a_schedule_has_the_defaults() {
    let module = module("kernel k(); workload main { k(); } schedule fast { streams(2); }");
    let none = lower_schedule(&module, None, CPU_SIM).expect("it is supported");
    assert_eq!(none, LoweredSchedule::default());
    let fast = lower_schedule(&module, Some("fast"), CPU_SIM).expect("it is supported");
    assert_eq!((fast.name.as_deref(), fast.policy.streams), (Some("fast"), Some(2)));
}

#[test]
fn every_directive_is_lowered() {
    let source = grid(
        "streams(4); stream_by(b); dispatch(work_steal); batch_deps(16); priority(b); pipeline_depth(2, per_stream);
         pipeline_depth(3, global); task_graph(deps = hybrid, window = (77, benchmark), pools = by_unit(3, 1),
         ready = priority, start = threshold(5), trace = measured);",
    );
    let lowered = schedule(&module(&source));
    assert_eq!(lowered.name, None);
    assert_eq!((lowered.policy.streams, lowered.policy.batch), (Some(4), Some(16)));
    assert_eq!(
        lowered.policy.gates,
        [(GateScope::Global, 3), (GateScope::PerStream, 2)].map(|(scope, capacity)| Gate { scope, capacity })
    );
    assert_eq!(lowered.policy.deps, Deps::Hybrid);
    assert_eq!(lowered.policy.window, Some(Window { capacity: 77, mode: WindowMode::Benchmark }));
    assert_eq!(lowered.policy.pools, PoolSizes::ByUnit { vector: 3, cube: 1 });
    assert_eq!(
        (lowered.policy.ready, lowered.policy.start, lowered.policy.trace),
        (Ready::Priority, Start::Threshold(5), Trace::Measured)
    );
    assert_eq!(lowered.lines.len(), 13);
    let line = lowered.lines.iter().find(|line| line.primitive == "streams(n)").expect("a line");
    assert_eq!(line.support, Support::Enforced);
    assert!(line.to_string().starts_with("streams(n): enforced: tasks go to `n` streams"));
}

#[test]
fn every_row_of_the_table_is_reached_by_its_directive() {
    let supported = workload_capabilities().filter(|row| row.support != Support::Error);
    let rows = supported.map(|row| row.primitive);
    let written = |primitive: &str| {
        let filled = primitive
            .replace("(n", "(7")
            .replace("by_unit(v, c)", "by_unit(2, 2)")
            .replace("key", "b")
            .replace("metric", "b")
            .replace("[t, …]", "[4]")
            .replace("[policy, …]", "[round_robin, work_steal]")
            .replace("[0..n, …]", "[0..10]")
            .replace("(x, y)", "(4, 2)")
            .replace("tensor, [shard(x), replicate, …]", "x, [shard(x)]");
        let with =
            if filled.contains("stream_by") || filled.contains("per_stream") { "streams(2); " } else { "" };
        let ready = match () {
            () if filled.starts_with("priority") => "task_graph(ready = priority); ",
            () if filled.starts_with("core_groups") => "task_graph(ready = work_steal); ",
            () if filled.contains("layout") => "spatial_map((4, 2)); ",
            () => "",
        };
        format!("{with}{ready}{filled};")
    };
    for primitive in rows {
        let lowered = schedule(&module(&grid(&written(primitive))));
        let last = lowered.lines.last().expect("a line");
        assert_eq!(last.primitive, primitive);
    }
}

#[test]
fn what_no_target_does_is_refused_with_what_comes_nearest() {
    let cases = [
        ("timing(batched(16))", "timing(batched(n))", "batch_deps(16)"),
        ("timing(interleaved(4))", "timing(interleaved(n))", "streams(4)"),
        ("timing(rate_limit(9))", "timing(rate_limit(n))", "pipeline_depth(9)"),
    ];
    for (written, primitive, instead) in cases {
        let module = module(&grid(&format!("{written};")));
        let found = lower_schedule(&module, None, CPU_SIM).expect_err("it is not supported");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].code, Code(415));
        assert_eq!(found[0].message, format!("`cpu_sim` does not support `{primitive}`"));
        assert_eq!(found[0].help, [format!("write `{instead};`")]);
        assert_eq!(found[0].notes, ["no target supports it"]);
    }
}

#[test]
fn timing_that_is_immediate_is_the_default() {
    let of = |directives: &str| {
        let mut lowered = schedule(&module(&grid(directives)));
        let lines = std::mem::take(&mut lowered.lines);
        (lowered, lines.len())
    };
    assert_eq!(of("timing(immediate);"), (of("").0, 1));
}

#[test]
fn policies_follow_ordinals_and_keys() {
    let turns: Vec<Dispatched> = (0..10).map(Dispatched::Turn).collect();
    assert_eq!(dispatched("dispatch(round_robin);"), turns);
    assert_eq!(dispatched("dispatch(work_steal);"), [Dispatched::Any; 10]);
    let keys: Vec<Dispatched> =
        [10, 20, 0, 11, 21, 1, 12, 22, 2, 0].into_iter().map(Dispatched::Affinity).collect();
    assert_eq!(dispatched("dispatch(affinity(b + 10 * h));"), keys, "an axis is 0 outside its loops");
    let hashes = dispatched("dispatch(hash(b));");
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[3]);
    let ranges: Vec<u32> = dispatched("dispatch(static_partition([0..4, 4..4, 4..10]));")
        .into_iter()
        .map(|place| place.worker(8).expect("a worker"))
        .collect();
    assert_eq!(ranges, [0, 0, 0, 0, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn thresholds_pick_policies_and_pools() {
    let picked = places(
        "dispatch(round_robin); dispatch_threshold(cost[b], [2048, 9000], [vector, affinity(b), cube]); \
         task_graph(pools = by_unit(1, 1));",
    );
    let first = |n: usize| (picked[n].dispatch, picked[n].pool);
    assert_eq!(
        first(2),
        (Some(Dispatched::Turn(2)), ExecPool::Vector),
        "a cube kernel sent to the vector pool"
    );
    assert_eq!(first(3), (Some(Dispatched::Affinity(1)), ExecPool::Vector));
    assert_eq!(first(6), (Some(Dispatched::Turn(6)), ExecPool::Cube));
    assert_eq!(first(9), (Some(Dispatched::Turn(9)), ExecPool::Vector), "outside the loops the axis is 0");
}

#[test]
fn streams_are_taken_in_turn_or_by_key() {
    let streams = |text: &str| places(text).into_iter().map(|place| place.stream).collect::<Vec<_>>();
    assert_eq!(streams("streams(3);"), (0..10).map(|n| Some(n % 3)).collect::<Vec<_>>());
    let by_key = [1, 0, 2, 2, 1, 0, 0, 2, 1, 2].map(Some);
    assert_eq!(streams("streams(3); stream_by(b - h - 1);").as_slice(), by_key);
    assert_eq!(streams(""), [None; 10]);
}

#[test]
fn priorities_fit_into_32_bits() {
    let priorities = places("task_graph(ready = priority); priority(b * -10);");
    assert_eq!(
        priorities.iter().map(|p| p.priority).collect::<Vec<_>>(),
        [0, 0, 0, -10, -10, -10, -20, -20, -20, 0]
    );
    let large = grid("task_graph(ready = priority); priority(b * 3000000000);");
    assert_eq!((fault(&large, &[]).0.code, fault(&large, &[]).1), (Code(819), 3));
    let at_fault = grid("dispatch(affinity(cost[b + 1]));");
    assert_eq!((fault(&at_fault, &[]).0.code, fault(&at_fault, &[]).1), (Code(812), 6));
}

#[test]
fn targets_without_plans_and_schedules_that_do_not_exist_are_refused() {
    let module = module("kernel k(); workload main { k(); } schedule fast { streams(2); }");
    let refused = |chosen, target| {
        let found = lower_schedule(&module, chosen, target).expect_err("it does not exist");
        format!("{:?}", found[0])
    };
    let ascend = Target::of(Platform::A2);
    assert!(refused(None, ascend).contains("`ascend_910b`") && refused(None, ascend).contains("`cpu_sim`"));
    assert!(refused(Some("fsat"), CPU_SIM).contains("did you mean `fast`?"));
    let other = refused(Some("slow"), CPU_SIM);
    assert!(other.contains("the schedules are `fast`") && other.contains("ask for one of these"), "{other}");
    let code = |chosen| lower_schedule(&module, chosen, CPU_SIM).expect_err("it does not exist")[0].code;
    assert_eq!(code(Some("slow")), Code(830));
}

#[test]
fn pools_have_no_more_workers_than_a_run() {
    let lowered = |sizes: &str| {
        let source = grid(&format!("task_graph(pools = by_unit({sizes}));"));
        lower_schedule(&module(&source), None, CPU_SIM).map_err(|found| found[0].code)
    };
    assert_eq!(lowered("1000, 25").err(), Some(Code(834)));
    assert!(lowered("1000, 24").is_ok());
}

fn findings(directives: &str) -> Vec<(Code, Severity)> {
    let module: WorkloadModule = module(&grid(directives));
    let found = check_schedule(&module, &bound(&module, &[]), &schedule(&module));
    found.iter().map(|d| (d.code, d.severity)).collect()
}

#[test]
fn a_partition_tiles_the_tasks() {
    assert_eq!(findings("dispatch(static_partition([0..4, 4..10]));"), []);
    let wrong = [(Code(831), Severity::Error)];
    assert_eq!(findings("dispatch(static_partition([0..4, 4..9]));"), wrong);
    assert_eq!(findings("dispatch_threshold(b, [1], [static_partition([0..11]), work_steal]);"), wrong);
    let short = grid("dispatch(static_partition([0..4, 4..9]));");
    assert_eq!((fault(&short, &[]).0.code, fault(&short, &[]).1), (Code(831), 9));
}

#[test]
fn a_start_that_comes_earlier_than_it_says_is_told() {
    let forced = [(Code(833), Severity::Warning)];
    assert_eq!(findings("task_graph(start = after_orchestration, window = (9, stall));"), forced);
    assert_eq!(findings("task_graph(start = threshold(10), window = (9, abort));"), forced);
    assert_eq!(findings("task_graph(start = threshold(99), window = (9, stall));"), forced);
    assert_eq!(findings("task_graph(start = after_orchestration, window = (10, stall));"), []);
    assert_eq!(findings("task_graph(start = threshold(9), window = (9, stall));"), []);
    assert_eq!(findings("task_graph(start = threshold(11));"), [(Code(832), Severity::Note)]);
    assert_eq!(findings("task_graph(start = threshold(10));"), []);
}

#[test]
fn a_schedule_changes_places_only() {
    let plain = module(&grid(""));
    let full = module(&grid("streams(2); dispatch(hash(b)); task_graph(ready = priority); priority(h);"));
    let of = |module: &WorkloadModule| {
        let record = expanded(module, &bound(module, &[]), &[]).0;
        record.tasks().into_iter().map(|t| (t.ordinal, t.kernel, t.indices.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(&plain), of(&full));
}

#[test]
fn the_blocks_of_the_reference_page_are_supported_and_use_every_primitive() {
    let page = include_str!("../../../../docs/reference/schedules.md");
    let blocks: Vec<&str> =
        page.split("```wsp\n").skip(1).map(|rest| rest.split("```").next().unwrap_or("")).collect();
    assert!(blocks.len() >= 3);
    let mut used = std::collections::BTreeSet::new();
    for block in blocks {
        let module = module(block);
        let bindings = bound(&module, &[]);
        assert!(expanded(&module, &bindings, &[]).1.is_ok(), "{block}");
        for name in module.schedules.iter().map(|s| Some(s.name.as_str()).filter(|name| !name.is_empty())) {
            let lowered = lower_schedule(&module, name, CPU_SIM).expect("it is supported");
            let errors = check_schedule(&module, &bindings, &lowered);
            assert!(!errors.iter().any(|d| d.is_error()), "{errors:?}");
            used.extend(lowered.lines.iter().map(|line| line.primitive));
        }
    }
    let supported = workload_capabilities().filter(|row| row.support != Support::Error);
    let missing = supported.map(|row| row.primitive).filter(|p| !used.contains(p));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn workers_of_a_unit_without_tasks_are_warned_of() {
    let notes = |kernels: &str, policies: &str| {
        let source = format!(
            "axis a = dense(8); {kernels} kernel not_called() on any;
            workload main {{ parallel for i in a {{ k(); }} }}
            schedule {{ {policies} task_graph(pools = by_unit(3, 2)); }}"
        );
        let lowered = schedule(&module(&source));
        let notes = lowered.notes.into_iter();
        notes.map(|note| (note.code.0, note.severity, note.message)).collect::<Vec<_>>()
    };
    let idle = |what: &str| vec![(423, Severity::Warning, format!("{what} units have nothing to run"))];
    let of_unit = |unit: &str| format!("kernel k(){unit};");
    assert_eq!(notes(&of_unit(" on vector"), ""), idle("2 workers of the cube"));
    assert_eq!(notes(&of_unit(" on cube"), ""), idle("3 workers of the vector"));
    assert_eq!(notes(&of_unit(""), ""), []);
    // What policies say of the unit holds in place of what kernels say.
    let policies =
        |a: &str, b: &str| notes(&of_unit(" on vector"), &format!("dispatch_threshold(a, [4], [{a}, {b}]);"));
    assert_eq!(policies("cube", "cube"), idle("3 workers of the vector"));
    assert_eq!(policies("cube", "round_robin"), []);
    assert_eq!(policies("cube", "any"), []);
    assert_eq!(policies("work_steal", "round_robin"), idle("2 workers of the cube"));
}
