//! Workloads whose tasks AICPUs generate: the same bits as a sequential run, whoever expands, whatever the windows.

use crate::workloads::random::{schedule, source, statement, without_grid};
use crate::workloads::{outputs, program, report};
use proptest::prelude::*;
use wsp_backend::Detail;
use wsp_backend::Expand;
use wsp_core::DType;
use wsp_cpu::workload::{KernelCx, KernelRegistry, WorkloadInputs, WorkloadOptions, WorkloadOutcome};
use wsp_ir::workload::Deps;
use wsp_plan::Array;

/// Windows of schedules: at least one task for each of 16 AICPUs.
const WINDOWS: &[u32] = &[16, 17, 40, 8192];

/// Runs a workload on AICPUs.
fn run(text: &str, options: &WorkloadOptions) -> WorkloadOutcome {
    program(text)
        .execute(&WorkloadInputs::all_made_up(0), options)
        .unwrap_or_else(|faults| panic!("{}\n{text}", report(&faults)))
}

/// The codes of what is wrong with a workload on AICPUs.
fn refused(text: &str, options: &WorkloadOptions) -> Vec<u16> {
    let faults =
        program(text).execute(&WorkloadInputs::all_made_up(0), options).expect_err("it should be refused");
    faults.iter().map(|fault| fault.code.0).collect()
}

fn on(aicpus: u16, expand: Expand) -> WorkloadOptions {
    WorkloadOptions { aicpus, expand, threads: 2, ..WorkloadOptions::default() }
}

/// Checks that every edge of the overlap graph was kept to.
fn respects_the_graph(text: &str, outcome: &WorkloadOutcome) -> Result<(), TestCaseError> {
    let listing = program(text)
        .graph(
            &WorkloadInputs::all_made_up(0),
            Some(Deps::Overlap),
            Detail::default(),
            &WorkloadOptions::default(),
        )
        .unwrap_or_else(|faults| panic!("{}", report(&faults)));
    let order = listing.kernels.len() as u32 - 1;
    // Ids of a listing count barrier nodes too.
    let tasks: Vec<Option<usize>> = listing
        .tasks
        .iter()
        .scan(0, |next, &kernel| {
            let id = (kernel != order).then(|| {
                *next += 1;
                *next - 1
            });
            Some(id)
        })
        .collect();
    prop_assert_eq!(outcome.runtime.trace.len(), tasks.iter().flatten().count(), "{}", text);
    for &(a, b) in &listing.edges {
        let (Some(a), Some(b)) = (tasks[a as usize], tasks[b as usize]) else { continue };
        let (a, b) = (&outcome.runtime.trace[a], &outcome.runtime.trace[b]);
        prop_assert!(a.finished_ns <= b.started_ns, "{:?} {:?}\n{}", a, b, text);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_expansion_gives_the_bits_of_the_sequential_run(
        statements in prop::collection::vec(statement(), 0..6),
        (schedule, threads) in schedule(WINDOWS),
        aicpus in 1..=16u16,
        seed in 0..4u64,
    ) {
        let text = source(&statements, &without_grid(&schedule));
        let options = WorkloadOptions { aicpus, threads: threads.max(1), seed, ..WorkloadOptions::default() };
        let expected = outputs(&text, &WorkloadOptions { sequential: true, ..WorkloadOptions::default() });
        for expand in [Expand::Bytecode, Expand::Host] {
            let outcome = outputs(&text, &WorkloadOptions { expand, ..options.clone() });
            prop_assert_eq!(&outcome, &expected, "{:?} {} AICPUs\n{}", expand, aicpus, text);
        }
    }

    #[test]
    fn every_trace_respects_the_dependences(
        statements in prop::collection::vec(statement(), 0..6),
        (schedule, threads) in schedule(WINDOWS),
        aicpus in 1..=16u16,
    ) {
        let text = source(&statements, &without_grid(&schedule));
        let options =
            WorkloadOptions { aicpus, threads: threads.max(1), trace: true, ..WorkloadOptions::default() };
        respects_the_graph(&text, &run(&text, &options))?;
    }
}

/// Two AICPUs and a batch of four: the figure of the design, AICPU 0 has b = 0 and 2, AICPU 1 has 1 and 3.
#[test]
fn affinity_gives_every_second_batch_to_the_same_aicpu() {
    let text = "
        axis batch = dense(4); axis heads = dense(8);
        tensor q: f32[4, 8, 16]; tensor o: f32[4, 8, 16];
        kernel attn(in q, out o);
        workload main { parallel for b in batch { parallel for h in heads { attn(q[b, h], o[b, h]); } } }
        schedule { dispatch(affinity(batch)); }";
    let outcome = run(text, &on(2, Expand::Bytecode));
    let on_aicpus = outcome.aicpus.expect("figures of AICPUs");
    assert_eq!(on_aicpus.aicpus.iter().map(|aicpu| aicpu.tasks).collect::<Vec<_>>(), [16, 16]);
    assert!(on_aicpus.transfer.expect("a program").program <= 512);
}

/// Attention by batch: nothing of one sequence is needed by another.
#[test]
fn affinity_to_what_data_belong_to_leaves_no_edges_between_aicpus() {
    let text = "
        axis batch = dense(6);
        tensor x: f32[6, 32]; tensor y: f32[6, 32];
        kernel step(in a, inout b);
        workload main { for round in 0..9 { parallel for b in batch { step(x[b], y[b]); step(y[b], x[b]); } } }
        schedule { dispatch(affinity(batch)); }";
    for aicpus in [1, 2, 3, 6, 16] {
        let outcome = run(text, &on(aicpus, Expand::Bytecode));
        let on_aicpus = outcome.aicpus.expect("figures of AICPUs");
        assert_eq!(on_aicpus.aicpus.iter().map(|aicpu| aicpu.cross_edges).sum::<u64>(), 0);
        assert_eq!(outcome.runtime.tasks, 108);
    }
}

/// Which tasks there are depends on what tasks compute: every AICPU waits for the same values.
#[test]
fn a_computed_slot_is_read_by_every_aicpu() {
    let text = "
        tensor x: f64[4]; tensor y: i64[8]; slot left = 5;
        kernel step(inout x, inout left);
        kernel note(out y, n);
        workload main {
            while left > 0 max 100 { step(x, left); parallel for i in 0..8 { note(y[i], left * 10 + i); } }
            if left == 0 { parallel for i in 0..8 { note(y[i], i - left); } }
        }";
    let mut registry = KernelRegistry::new();
    let step = |cx: &mut KernelCx<'_>| {
        let left = cx.load::<i64>(1)?[0];
        let x: Vec<f64> = cx.load::<f64>(0)?.iter().map(|x| x + left as f64).collect();
        cx.store(0, &x)?;
        cx.store(1, &[left - 1])
    };
    registry.register("step", step).unwrap();
    let note = |cx: &mut KernelCx<'_>| {
        let n = cx.scalars()[0];
        cx.store(0, &[n])
    };
    registry.register("note", note).unwrap();
    let program = program(text).with_kernels(registry).unwrap();
    let mut inputs = WorkloadInputs::all_made_up(0);
    inputs.arrays.insert("x".into(), Array::zeros(DType::F64, &[4]).unwrap());
    inputs.arrays.insert("y".into(), Array::zeros(DType::I64, &[8]).unwrap());
    for aicpus in [1, 2, 3, 8] {
        for window in [None, Some(u32::from(aicpus))] {
            let options = WorkloadOptions { window, ..on(aicpus, Expand::Bytecode) };
            let outcome = program.execute(&inputs, &options).unwrap_or_else(|f| panic!("{}", report(&f)));
            assert_eq!(outcome.outputs["x"].as_slice::<f64>().unwrap(), [15.0; 4]);
            assert_eq!(outcome.outputs["y"].as_slice::<i64>().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(outcome.runtime.tasks, 5 + 5 * 8 + 8);
        }
    }
}

/// Tiles whose accesses can be counted beforehand are not looked for among what other AICPUs generate: a chain that winds
/// through all of them still runs in order.
#[test]
fn counted_tiles_order_tasks_of_all_aicpus() {
    let text = "
        param n = 12;
        tensor a: f32[n * 4, 8]; tensor b: f32[n * 4, 8]; tensor c: f32[n * 4, n * 8];
        kernel fill(out x, i); kernel pair(in x, in y, inout z); kernel fold(in z, inout x);
        workload main {
            parallel for i in 0..n { fill(a[i*4 +: 4], i); fill(b[i*4 +: 4], 2 * i); }
            parallel for i in 0..n { parallel for j in 0..n {
                pair(a[i*4 +: 4], b[j*4 +: 4], c[i*4 +: 4, j*8 +: 8]);
                fold(c[i*4 +: 4, j*8 +: 8], a[i*4 +: 4]);
            } }
        }";
    let expected = outputs(text, &WorkloadOptions { sequential: true, ..WorkloadOptions::default() });
    for aicpus in [1, 2, 3, 16] {
        for seed in 0..6 {
            let options =
                WorkloadOptions { seed, window: Some(u32::from(aicpus)), ..on(aicpus, Expand::Bytecode) };
            assert_eq!(outputs(text, &options), expected);
            let traced = run(text, &WorkloadOptions { trace: true, ..options });
            let on_aicpus = traced.aicpus.as_ref().expect("figures of AICPUs");
            assert_eq!(on_aicpus.aicpus.iter().map(|a| a.local_edges + a.cross_edges).sum::<u64>(), 0);
            respects_the_graph(text, &traced).unwrap();
        }
    }
}

#[test]
fn a_host_cannot_list_what_depends_on_computed_values() {
    let text = "
        slot n = 1;
        kernel set(out n);
        workload main { set(n); if n > 0 { set(n); } }";
    assert_eq!(refused(text, &on(2, Expand::Host)), [854]);
}

/// Tasks of all AICPUs read what those before them wrote, in both directions of a grid.
#[test]
fn hundreds_of_aicpus_give_the_bits_of_the_sequential_run() {
    let text = "
        axis rows = dense(40); axis columns = dense(20);
        tensor x: f32[41, 21];
        kernel step(in up, in left, inout own);
        workload main {
            for i in rows { for j in columns { step(x[i, j + 1], x[i + 1, j], x[i + 1, j + 1]); } }
        }";
    let expected = outputs(text, &WorkloadOptions { sequential: true, ..WorkloadOptions::default() });
    for aicpus in [33, 64, 200] {
        for expand in [Expand::Bytecode, Expand::Host] {
            assert_eq!(outputs(text, &on(aicpus, expand)), expected, "{aicpus} AICPUs, {expand:?}");
        }
    }
}

#[test]
fn a_window_smaller_than_the_number_of_aicpus_is_refused() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { parallel for i in 0..8 { k(x[i]); } }
        schedule { task_window(3, stall); }";
    assert_eq!(refused(text, &on(4, Expand::Bytecode)), [864]);
    assert_eq!(run(text, &on(3, Expand::Bytecode)).runtime.tasks, 8);
}

#[test]
fn a_window_that_aborts_ends_the_run_with_the_numbers() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { for i in 0..64 { k(x); } }
        schedule { task_window(4, abort); }";
    assert_eq!(refused(text, &on(2, Expand::Bytecode)), [859]);
}

#[test]
fn a_run_on_aicpus_has_no_virtual_time() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { k(x); }
        schedule { task_graph(trace = cycles); }";
    let faults = refused(text, &on(2, Expand::Bytecode));
    assert_eq!(faults, [864]);
}

#[test]
fn too_many_aicpus_and_too_many_ranges_are_refused() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { parallel for i in 0..8 { k(x[i]); } }
        schedule { dispatch(static_partition([0..2, 2..4, 4..8])); }";
    assert_eq!(refused(text, &on(1025, Expand::Bytecode)), [864]);
    for expand in [Expand::Bytecode, Expand::Host] {
        assert_eq!(refused(text, &on(2, expand)), [894], "{expand:?}");
    }
    let on_aicpus = run(text, &on(4, Expand::Bytecode)).aicpus.expect("figures of AICPUs");
    assert_eq!(on_aicpus.aicpus.iter().map(|aicpu| aicpu.tasks).collect::<Vec<_>>(), [2, 2, 4, 0]);
}

/// How many tasks there are is known at the end only, and some belong to no range. Where the one that ends the loop is
/// among those, it does not run.
#[test]
fn a_partition_that_ends_before_the_tasks_is_reported() {
    let cases = [
        ("keep(n); parallel for i in 0..8 { k(x[i]); }", "the workload generates 10 tasks\n"),
        (
            "parallel for i in 0..8 { k(x[i]); } keep(n);",
            "generates 10 tasks before something goes wrong: the condition of a loop still holds after 1 round",
        ),
    ];
    for (body, expected) in cases {
        let text = format!(
            "tensor x: f32[8]; slot n = 3;
            kernel k(inout a); kernel keep(inout n);
            workload main {{ keep(n); while n > 0 max 1 {{ {body} }} }}
            schedule {{ dispatch(static_partition([0..2, 2..4])); }}"
        );
        let mut registry = KernelRegistry::new();
        registry.register("k", |_: &mut KernelCx<'_>| Ok(())).unwrap();
        let keep = |cx: &mut KernelCx<'_>| {
            let n = cx.load::<i64>(0)?[0];
            cx.store(0, &[n - 2])
        };
        registry.register("keep", keep).unwrap();
        let program = program(&text).with_kernels(registry).unwrap();
        let faults = program.execute(&WorkloadInputs::all_made_up(0), &on(2, Expand::Bytecode)).unwrap_err();
        assert!(report(&faults).contains(expected), "{}", report(&faults));
    }
}

/// The fault of a program on AICPUs is that of the host, word for word.
#[test]
fn a_region_outside_its_tensor_is_reported_as_by_the_host() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { parallel for i in 0..9 { k(x[i]); } }";
    let fails = |options: &WorkloadOptions| {
        report(&program(text).execute(&WorkloadInputs::all_made_up(0), options).expect_err("outside"))
    };
    let expected = fails(&WorkloadOptions { sequential: true, ..WorkloadOptions::default() });
    for aicpus in [1, 2, 5] {
        assert_eq!(fails(&on(aicpus, Expand::Bytecode)), expected);
    }
}

#[test]
fn exact_dependences_refuse_regions_that_overlap_and_differ() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { k(x[0..4]); k(x[2..6]); }
        schedule { task_graph(deps = exact); }";
    assert_eq!(refused(text, &on(2, Expand::Bytecode)), [860]);
}

#[test]
fn an_empty_workload_runs_on_any_number_of_aicpus() {
    let text = "tensor x: f32[8]; kernel k(inout a); workload main { parallel for i in 0..0 { k(x[i]); } }";
    for aicpus in [1, 7, 32, 33, 1024] {
        assert_eq!(run(text, &on(aicpus, Expand::Bytecode)).runtime.tasks, 0);
    }
}

#[test]
fn a_start_that_a_full_window_forces_is_reported() {
    let text = "
        tensor x: f32[5000];
        kernel k(inout a);
        workload main { parallel for i in 0..5000 { k(x[i]); } }
        schedule { task_graph(start = after_orchestration); }";
    let codes = |aicpus| -> Vec<u16> {
        run(text, &on(aicpus, Expand::Bytecode)).notes.iter().map(|note| note.code.0).collect()
    };
    assert_eq!(codes(1), [833]);
    assert!(codes(8).is_empty());
}

#[test]
fn a_window_that_an_aicpu_cannot_have_is_refused() {
    let text = "
        tensor x: f32[8];
        kernel k(inout a);
        workload main { k(x); }
        schedule { task_window(1000000, abort); }";
    assert_eq!(refused(text, &on(1, Expand::Bytecode)), [864]);
    assert_eq!(run(text, &on(32, Expand::Bytecode)).runtime.tasks, 1);
}

#[test]
fn a_slot_that_no_task_writes_is_a_number_to_the_host() {
    let text = "
        tensor x: f32[8]; slot s = 3;
        kernel k(inout a);
        workload main { parallel for i in 0..s { k(x[i]); } }";
    for expand in [Expand::Host, Expand::Bytecode] {
        assert_eq!(run(text, &on(2, expand)).runtime.tasks, 3);
    }
}
