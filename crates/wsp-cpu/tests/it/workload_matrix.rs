//! Random workloads under random schedules: every run gives the bits of the sequential run.

use crate::workloads::random::{schedule, source, statement};
use crate::workloads::{outputs, program, report};
use proptest::prelude::*;
use wsp_cpu::workload::{Detail, GraphDeps, WorkloadInputs, WorkloadOptions};

/// Windows of schedules.
const WINDOWS: &[u32] = &[1, 2, 3, 7, 8192];

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_gives_the_bits_of_the_sequential_run(
        statements in prop::collection::vec(statement(), 0..6),
        (schedule, threads) in schedule(WINDOWS),
        seed in 0..4u64,
    ) {
        let text = source(&statements, &schedule);
        let options = WorkloadOptions { threads, seed, ..WorkloadOptions::default() };
        let expected = outputs(&text, &WorkloadOptions { sequential: true, ..options.clone() });
        prop_assert_eq!(outputs(&text, &options), expected, "{}", text);
    }

    #[test]
    fn every_trace_respects_the_dependences(
        statements in prop::collection::vec(statement(), 0..6),
        (schedule, threads) in schedule(WINDOWS),
    ) {
        let text = source(&statements, &schedule);
        let options = WorkloadOptions { threads, trace: true, ..WorkloadOptions::default() };
        let program = program(&text);
        let outcome = program.execute(&WorkloadInputs::all_made_up(0), &options).unwrap_or_else(|f| panic!("{}", report(&f)));
        let listing = program
            .graph(&WorkloadInputs::all_made_up(0), GraphDeps::Overlap, Detail::default(), &WorkloadOptions::default())
            .unwrap_or_else(|f| panic!("{}", report(&f)));
        // Ids of a listing count order points too.
        let order = listing.kernels.len() as u32 - 1;
        let tasks: Vec<Option<usize>> = listing
            .tasks
            .iter()
            .scan(0, |next, &kernel| {
                let id = (kernel != order).then(|| { *next += 1; *next - 1 });
                Some(id)
            })
            .collect();
        prop_assert_eq!(outcome.runtime.trace.len() as u64, outcome.runtime.tasks);
        for &(a, b) in &listing.edges {
            let (Some(a), Some(b)) = (tasks[a as usize], tasks[b as usize]) else { continue };
            let (a, b) = (&outcome.runtime.trace[a], &outcome.runtime.trace[b]);
            prop_assert!(a.finished_ns <= b.started_ns, "{:?} {:?}\n{}", a, b, text);
        }
    }
}
