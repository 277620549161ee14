//! Pipelines run: the bits of a loop without stages under every schedule, stages that overlap, deadlocks that are reported.

use crate::workloads::random::{schedule, without_grid};
use crate::workloads::{WIDE, outputs, program, report, run_error};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::Detail;
use wsp_backend::Expand;
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions};
use wsp_diag::Diagnostic;
use wsp_ir::workload::Deps;
use wsp_plan::{Array, ParamValue};

#[path = "../../../wsp-plan/tests/it/workload_support/pipelines.rs"]
mod made_up;

/// Windows of schedules.
const WINDOWS: &[u32] = &[1, 2, 3, 7, 8192];

/// Declarations of three stages over tiles.
const HEAD: &str = "param n = 9; param depth = 2; axis row = dense(n);
    tensor x: f32[n, 4, 8]; tensor w: f32[8, 8]; tensor y: f32[n, 4, 8];
    tensor ring: f32[depth, 4, 8]; tensor done: f32[depth, 4, 8];
    kernel load(in from, out tile, t) on vector cost 100;
    kernel work(in tile, in w, out product, t) on cube cost 100;
    kernel store(in product, out to, t) on vector cost 100;\n";

/// The stages as processes.
fn pipelined(schedule: &str) -> String {
    format!(
        "{HEAD} workload main {{ channel a[depth]; channel b[depth]; pipeline {{
            process loads {{ parallel for t in row {{ send a as s {{ load(x[t], ring[s], t); }} }} }}
            process works {{ parallel for t in row {{ consume a as s {{ send b as d {{ work(ring[s], w, done[d], t); }} }} }} }}
            process stores {{ parallel for t in row {{ consume b as d {{ store(done[d], y[t], t); }} }} }}
        }} }} schedule {{ {schedule} }}"
    )
}

/// The same as a loop over tiles, with buffers of their own.
fn plain() -> String {
    format!(
        "{HEAD} workload main {{ parallel for t in row {{
            load(x[t], ring[t % depth], t); work(ring[t % depth], w, done[t % depth], t); store(done[t % depth], y[t], t);
        }} }}"
    )
}

/// With parameters set.
fn set(pairs: &[(&str, i64)]) -> WorkloadInputs {
    let set = pairs.iter().map(|(name, value)| ((*name).to_owned(), ParamValue::Int(i128::from(*value))));
    WorkloadInputs { set: set.collect(), ..WorkloadInputs::all_made_up(0) }
}

/// The bytes of `y`.
fn result(text: &str, inputs: &WorkloadInputs, options: &WorkloadOptions) -> Vec<u8> {
    let outcome = program(text).execute(inputs, options).unwrap_or_else(|found| panic!("{}", report(&found)));
    outcome.outputs["y"].bytes().to_vec()
}

#[test]
fn every_depth_gives_what_a_loop_without_stages_gives() {
    let sequential = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
    for (n, depth) in [(0, 1), (1, 2), (13, 1), (13, 2), (13, 8), (13, 40)] {
        let inputs = set(&[("n", n), ("depth", depth)]);
        let expected = result(&plain(), &inputs, &sequential);
        assert_eq!(result(&pipelined(""), &inputs, &sequential), expected, "{n} tiles, depth {depth}");
        for window in [1, 2, 64] {
            let options = WorkloadOptions { window: Some(window), ..WIDE };
            assert_eq!(result(&pipelined(""), &inputs, &options), expected, "{n} tiles, depth {depth}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_gives_the_bits_of_the_sequential_run((schedule, threads) in schedule(WINDOWS), seed in 0..4u64) {
        // A pipeline has no loops over these axes, and other tensors.
        let grid = ["", "spatial_map((3, 2));"][seed as usize % 2];
        let schedule = without_grid(&schedule).replace("nz", "row").replace("tok", "row");
        let text = pipelined(&format!("{schedule} {grid}"));
        let options = WorkloadOptions { threads, seed, ..WorkloadOptions::default() };
        let expected = outputs(&text, &WorkloadOptions { sequential: true, ..options.clone() });
        prop_assert_eq!(outputs(&text, &options), expected, "{}", text);
    }
}

#[test]
fn stages_overlap_as_far_as_their_buffers_allow() {
    let makespan = |n: i64, depth: i64, threads: u32| {
        let options = WorkloadOptions { threads, ..WorkloadOptions::default() };
        let simulated = program(&pipelined(""))
            .simulate(&set(&[("n", n), ("depth", depth)]), &options)
            .unwrap_or_else(|found| panic!("{}", report(&found)));
        simulated.simulation.makespan
    };
    for n in [1, 2, 16, 50] {
        let tiles = n as u64;
        assert_eq!(makespan(n, 2, 1), 300 * tiles, "one worker");
        // Three stages at a time, after and before those of the first and last tile.
        let three = makespan(n, 2, 3);
        assert!((100 * tiles..=100 * (tiles + 2)).contains(&three), "{n} tiles take {three}");
        // With one buffer a stage waits until the next one has read it.
        assert_eq!(makespan(n, 1, 3), 100 * (2 * tiles + 1));
    }
    assert!(makespan(16, 8, 6) < 100 * 16, "more buffers let a stage work on several tiles at a time");
}

#[test]
fn edges_of_a_pipeline_are_those_of_its_data() {
    let listing = program(&pipelined(""))
        .graph(
            &set(&[("n", 3), ("depth", 1)]),
            Some(Deps::Overlap),
            Detail::default(),
            &WorkloadOptions::default(),
        )
        .unwrap_or_else(|found| panic!("{}", report(&found)));
    // Tasks 0, 1, 2 are the stages of the first tile, and so on; a buffer is read, then written again.
    let mut edges = listing.edges.clone();
    edges.sort_unstable();
    edges.dedup();
    let tile = |t: u32| (3 * t, 3 * t + 1, 3 * t + 2);
    let mut expected = Vec::new();
    for t in 0..3 {
        let (load, work, store) = tile(t);
        expected.extend([(load, work), (work, store)]);
        if t > 0 {
            let (before_load, before_work, before_store) = tile(t - 1);
            expected.extend([(before_work, load), (before_store, work)]);
            // A buffer is also not written twice at once, where no reader stands between.
            let kept =
                [(before_load, load), (before_work, work)].into_iter().filter(|edge| edges.contains(edge));
            expected.extend(kept);
        }
    }
    expected.sort_unstable();
    assert_eq!(edges, expected);
}

#[test]
fn a_deadlock_is_reported_and_leaves_the_program_usable() {
    let text = "param depth = 1; tensor ring: f32[depth, 8]; tensor y: f32[4, 8];
        kernel fill(out a, n); kernel add(in a, in b, out c);
        workload main { channel c[depth]; pipeline {
            process fills { parallel for t in 0..8 { send c as s { fill(ring[s], t); } } }
            process pairs { parallel for t in 0..4 { consume c as a { consume c as b { add(ring[a], ring[b], y[t]); } } } }
        } }";
    let sequential = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
    for options in [&WIDE, &sequential] {
        let shown = run_error(text, options);
        assert!(shown.contains("error[WSP0820]: no process of the pipeline can go on"), "{shown}");
    }
    let program = program(text);
    assert!(program.execute(&WorkloadInputs::all_made_up(0), &WIDE).is_err());
    let run =
        |options| program.execute(&set(&[("depth", 2)]), options).map(|outcome| outcome.outputs["y"].clone());
    let (parallel, expected) =
        (run(&WIDE).expect("two slots are enough"), run(&sequential).expect("two slots"));
    assert_eq!(parallel.bytes(), expected.bytes());
    let simulated = program.simulate(&WorkloadInputs::all_made_up(0), &WIDE).expect_err("a deadlock");
    assert_eq!(simulated[0].code.0, 820);
}

#[test]
fn a_pipeline_that_is_cancelled_ends() {
    let options = WorkloadOptions { cancel: Some(Arc::new(AtomicBool::new(true))), ..WIDE };
    let found = program(&pipelined("")).execute(&set(&[("n", 100_000)]), &options).expect_err("cancelled");
    assert_eq!(found[0].code.0, 574);
}

#[test]
fn aicpus_run_the_tasks_of_a_pipeline_of_the_host_and_their_own() {
    let text = pipelined("");
    let expected = outputs(&text, &WorkloadOptions { sequential: true, ..WorkloadOptions::default() });
    for expand in [Expand::Bytecode, Expand::Host] {
        for aicpus in [1, 2, 4, 8] {
            let options = WorkloadOptions { aicpus, threads: 2, expand, ..WorkloadOptions::default() };
            assert_eq!(outputs(&text, &options), expected, "{aicpus} AICPUs, {expand:?}");
        }
    }
}

#[test]
fn aicpus_say_who_waits_for_what_in_the_words_of_the_host() {
    let text = "param depth = 1; tensor ring: f32[depth, 8]; tensor y: f32[4, 8];
        kernel fill(out a, n); kernel add(in a, in b, out c);
        workload main { channel c[depth]; for i in 0..2 { pipeline {
            process fills { parallel for t in 0..8 { send c as s { fill(ring[s], t); } } }
            process pairs { parallel for t in 0..4 { consume c as a { if t > i { consume c as b { add(ring[a], ring[b], y[t]); } } } } }
            process none { }
        } } }";
    let program = program(text);
    let found = |options: &WorkloadOptions| {
        program.execute(&WorkloadInputs::all_made_up(0), options).expect_err("a deadlock")
    };
    let expected = found(&WIDE);
    let labels: Vec<&str> = expected[0].labels.iter().map(|label| label.text.as_str()).collect();
    assert_eq!(
        labels,
        [
            "`fills` waits to send to `c` (1 of 1 slot full) at t = 2",
            "`pairs` waits to consume from `c` (1 of 1 slot in use, none to be consumed) at t = 1",
        ]
    );
    let circle = "`fills` waits for `pairs`, and `pairs` for `fills`";
    assert_eq!(expected[0].notes[..3], ["`none` has ended", circle, "at i = 0"]);
    for aicpus in [1, 2, 4, 8] {
        let options = WorkloadOptions { aicpus, threads: 2, ..WorkloadOptions::default() };
        assert_eq!(found(&options), expected, "{aicpus} AICPUs");
    }
}

#[test]
fn made_up_pipelines_end_alike_on_threads_on_aicpus_and_in_virtual_time() {
    let inputs = WorkloadInputs::all_made_up(0);
    let sequential = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
    let mut stuck = 0;
    for seed in 0..60 {
        let program = program(&made_up::pipeline(seed));
        let run = |options: &WorkloadOptions| {
            let outcome = program.execute(&inputs, options)?;
            let of = |(name, array): (&String, &Array)| (name.clone(), array.bytes().to_vec());
            Ok::<Vec<_>, Vec<Diagnostic>>(outcome.outputs.iter().map(of).collect())
        };
        let expected = run(&sequential);
        assert_eq!(run(&WIDE), expected, "seed {seed}");
        for aicpus in [1, 2, 4, 8] {
            let options = WorkloadOptions { aicpus, threads: 2, ..WorkloadOptions::default() };
            assert_eq!(run(&options), expected, "seed {seed}, {aicpus} AICPUs");
            let simulated =
                program.simulate(&inputs, &options).map(|simulated| simulated.simulation.makespan);
            assert_eq!(simulated.err(), expected.as_ref().err().cloned(), "seed {seed}, {aicpus} AICPUs");
        }
        stuck += u32::from(expected.is_err());
    }
    assert!((15..45).contains(&stuck), "{stuck} of 60 cannot go on");
}

#[test]
fn sixty_runs_of_a_pipeline_give_one_trace() {
    let program = program(&pipelined("task_graph(window = (9, stall));"));
    for aicpus in [0, 1, 2, 4, 8] {
        let options = WorkloadOptions { aicpus, threads: 2, ..WorkloadOptions::default() };
        let trace = || {
            let simulated = program.simulate(&WorkloadInputs::all_made_up(0), &options);
            let simulated = simulated.unwrap_or_else(|found| panic!("{}", report(&found)));
            format!("{:?} {:?}", simulated.listing.edges, simulated.simulation)
        };
        let first = trace();
        assert!((1..60).all(|_| trace() == first), "{aicpus} AICPUs");
    }
}
