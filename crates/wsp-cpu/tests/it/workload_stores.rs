//! What a run that records says of elements that tasks store and load, against sets of elements.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::workloads::{WIDE, program, report};
use proptest::prelude::*;
use std::collections::BTreeSet;
use wsp_backend::{Recording, Unwritten};
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions};

/// Rows and columns of the tensor.
const SHAPE: [u64; 2] = [7, 11];

/// What a task does with a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Store,
    Load,
    Change,
}

/// A task: its kernel, the rows and the columns of its region, and whether its condition holds.
type Task = (Use, [(u64, u64); 2], bool);

fn task() -> impl Strategy<Value = Task> {
    let range = |extent: u64| {
        prop_oneof![
            (0..extent, 1..=extent).prop_map(move |(lo, n)| (lo, extent.min(lo + n))),
            (0..extent).prop_map(|at| (at, at + 1)),
            Just((0, extent)),
        ]
    };
    let kernel = prop::sample::select(&[Use::Store, Use::Load, Use::Change][..]);
    (kernel, [range(SHAPE[0]), range(SHAPE[1])], prop::bool::weighted(0.8))
}

fn text(tasks: &[Task]) -> String {
    let call = |&(kernel, [rows, cols], runs): &Task| {
        let region = format!("y[{}..{}, {}..{}]", rows.0, rows.1, cols.0, cols.1);
        let (kernel, args) = match kernel {
            Use::Store => ("put", region),
            Use::Load => ("take", format!("{region}, z")),
            Use::Change => ("change", region),
        };
        format!("if p == {} {{ {kernel}({args}); }}", if runs { 0 } else { 1 })
    };
    format!(
        "param p = 0; tensor y: f32[{}, {}]; tensor z: f32[1];
         kernel put(out y); kernel take(in y, inout z); kernel change(inout y);
         workload main {{ {} }}",
        SHAPE[0],
        SHAPE[1],
        tasks.iter().map(call).collect::<String>()
    )
}

/// Elements of `y` by number: those that nothing stores and those of these that some task loads.
fn expected(tasks: &[Task]) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let (mut stored, mut loaded) = (BTreeSet::new(), BTreeSet::new());
    for (kernel, [rows, cols], _) in tasks.iter().filter(|(.., runs)| *runs) {
        let all = (rows.0..rows.1).flat_map(|row| (cols.0..cols.1).map(move |col| row * SHAPE[1] + col));
        all.for_each(|at| _ = if *kernel == Use::Load { loaded.insert(at) } else { stored.insert(at) });
    }
    let never = (0..SHAPE[0] * SHAPE[1]).filter(|at| !stored.contains(at));
    never.partition(|at| stored.is_empty() || !loaded.contains(at))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn elements_that_no_task_stores_are_told_apart_by_loads(tasks in prop::collection::vec(task(), 1..8)) {
        let stores = tasks.iter().any(|(kernel, ..)| *kernel != Use::Load);
        prop_assume!(stores);
        let (unused, loaded) = expected(&tasks);
        let entry = |(of, is_loaded): (&BTreeSet<u64>, bool)| {
            let first = of.first()?;
            let first = vec![first / SHAPE[1], first % SHAPE[1]];
            Some((is_loaded, of.len() as u64, SHAPE.iter().product(), first))
        };
        let entries: Vec<(bool, u64, u64, Vec<u64>)> = [(&unused, false), (&loaded, true)].into_iter().filter_map(entry).collect();
        let text = text(&tasks);
        let recording = Recording::On;
        for options in [
            WorkloadOptions { recording, ..WIDE },
            WorkloadOptions { recording, sequential: true, ..WorkloadOptions::default() },
            WorkloadOptions { recording, aicpus: 2, ..WorkloadOptions::default() },
        ] {
            let outcome = program(&text)
                .execute(&WorkloadInputs::all_made_up(0), &options)
                .unwrap_or_else(|found| panic!("{text}: {}", report(&found)));
            let of = |of: Unwritten| (of.tensor == "y").then_some((of.loaded, of.elements, of.of, of.first));
            let found: Vec<(bool, u64, u64, Vec<u64>)> = outcome.unwritten.into_iter().filter_map(of).collect();
            prop_assert_eq!(&found, &entries, "{}", text);
        }
    }
}
