//! The tasks of a program and those of a walk over its tree are the same, in the same order, with the same scopes and slots,
//! up to the same fault in the same words.

use crate::ptow_support::schedules::random_schedule;
use crate::randomised::cases;
use crate::workload_support::pipelines::pipeline;
use crate::workload_support::random::{Rng, random_module, random_pipelines};
use crate::workload_support::{Event, Record, bound, module, schedule};
use std::collections::BTreeMap;
use wsp_ir::workload::{WorkloadModule, text};
use wsp_ordered::OrderedMap;
use wsp_plan::ptow;
use wsp_plan::workload::{Bindings, ExpandError, ExpandStats, LoweredSchedule, bind, expand};

/// What an expansion came to: events, and how it ended.
type Came = (Vec<Event>, usize, Result<ExpandStats, String>);

fn came(record: Record, result: Result<ExpandStats, ExpandError<String>>) -> Came {
    let end = result.map_err(|error| match error {
        ExpandError::Fault(fault) => format!("{fault:?}"),
        other => panic!("{other:?}"),
    });
    (record.events, record.asked, end)
}

fn agree(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
    (slots, seed): (&[i64], u64),
) -> Came {
    let record = || Record { slots: slots.to_vec(), ..Record::default() };
    let (mut walked, mut run) = (record(), record());
    let walk = expand(module, bindings, schedule, &mut walked);
    let program = ptow::expand(module, bindings, schedule, &mut run);
    let (walked, run) = (came(walked, walk), came(run, program));
    for (at, (ours, theirs)) in run.0.iter().zip(&walked.0).enumerate() {
        assert_eq!(ours, theirs, "seed {seed}, event {at}");
    }
    assert_eq!(run.2, walked.2, "seed {seed}");
    assert_eq!((run.0.len(), run.1), (walked.0.len(), walked.1), "seed {seed}: events, slots read");
    run
}

#[test]
fn random_programs_give_what_a_walk_gives() {
    println!("{}", random_agree(cases(1000), random_module));
}

#[test]
fn random_pipelines_give_what_a_walk_gives() {
    println!("{}", random_agree(cases(1000), random_pipelines));
    for seed in 0..cases(500) {
        let module = module(&pipeline(seed));
        let _ = agree(&module, &bound(&module, &[]), &schedule(&module), (&[], seed));
    }
}

/// So many modules of a kind; how they ended.
fn random_agree(count: u64, make: fn(u64) -> WorkloadModule) -> String {
    let (mut ended, mut faults) = (0, BTreeMap::<String, u32>::new());
    for seed in 0..count {
        let mut made = make(seed);
        let mut rng = Rng::new(seed ^ 0xD15);
        made.schedules = vec![random_schedule(&mut rng, None)];
        // Read from text, every expression has its own place.
        let module = module(&text::print(&made));
        let bindings = bind(&module, &[], &OrderedMap::new()).expect("everything has a default");
        let mut rng = Rng::new(seed ^ 0x5107);
        let slots: Vec<i64> = (0..200).map(|_| rng.below(3) as i64).collect();
        match agree(&module, &bindings, &schedule(&module), (&slots, seed)).2 {
            Ok(_) => ended += 1,
            Err(fault) => {
                let code: String = fault.chars().skip_while(|c| !c.is_ascii_digit()).take(3).collect();
                *faults.entry(code).or_default() += 1;
            }
        }
    }
    assert!(ended > 300 && faults.len() >= 7, "{ended} ended, {faults:?}");
    format!("{count} programs: {ended} ended, faults {faults:?}")
}

#[test]
fn a_condition_that_is_at_fault_in_a_later_round_is_told_where_it_stands() {
    let module = module(
        "slot n = 2; kernel k(i); workload main { for i in 0..2 { while 4 / n > 0 { k(i); k(i); } k(7); } }",
    );
    let came = agree(&module, &bound(&module, &[]), &schedule(&module), (&[2, 5, 1, 0], 0));
    let fault = came.2.expect_err("4 / 0");
    assert!(fault.contains("division by zero") && fault.contains("at i = 1"), "{fault}");
}
