//! Elaboration does what walking the tree does: same tasks, scopes and slot reads, and a fault at the same place.

use crate::workload_support::oracle::Oracle;
use crate::workload_support::random::{Rng, random_module, random_pipelines};
use crate::workload_support::{Record, expanded};
use proptest::prelude::*;
use wsp_ir::workload::WorkloadModule;
use wsp_ir::workload::verify::verify;
use wsp_ordered::OrderedMap;
use wsp_plan::workload::{ExpandError, bind, count};

/// What came of one random module.
#[derive(Default, Debug)]
struct Tally {
    ended: u32,
    faults: u32,
    tasks: usize,
    counted: u32,
    pipelines: u32,
}

fn compare(seed: u64, module: WorkloadModule, tally: &mut Tally) {
    let errors: Vec<_> = verify(&module).into_iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty(), "seed {seed}: {errors:?}");
    let bindings = bind(&module, &[], &OrderedMap::new()).expect("everything has a default");
    let mut rng = Rng::new(seed ^ 0x5107);
    let slots: Vec<i64> = (0..200).map(|_| rng.below(3) as i64).collect();
    let mut oracle = Oracle::new(&module, &bindings, &slots);
    let expected = oracle.run();
    let (record, result) = expanded(&module, &bindings, &slots);
    let same = |ours: &Record, theirs: &Record| {
        for (at, (our, their)) in ours.events.iter().zip(&theirs.events).enumerate() {
            assert_eq!(our, their, "seed {seed}, event {at}");
        }
    };
    same(&record, &oracle.record);
    match (&result, expected) {
        (Ok(stats), Ok(tasks)) => {
            assert_eq!(stats.tasks, tasks, "seed {seed}");
            assert_eq!(record.events.len(), oracle.record.events.len(), "seed {seed}");
            assert_eq!(record.asked, oracle.record.asked, "seed {seed}: slots read");
            tally.ended += 1;
            let pipelined = module.workloads.iter().any(|workload| !workload.channels.is_empty());
            tally.pipelines += u32::from(pipelined && tasks > 4);
            if let Some(counted) = count(&module, &bindings) {
                assert_eq!(counted, tasks, "seed {seed}: counted");
                tally.counted += 1;
            }
        }
        (Err(ExpandError::Fault(_)), Err(_)) => {
            assert_eq!(
                record.tasks().len(),
                oracle.record.tasks().len(),
                "seed {seed}: tasks before the fault"
            );
            tally.faults += 1;
        }
        (ours, theirs) => panic!("seed {seed}: {ours:?} is not {theirs:?}"),
    }
    tally.tasks += record.tasks().len();
}

#[test]
fn a_fixed_range_of_modules_agrees_and_is_varied() {
    let mut tally = Tally::default();
    (0..4000).for_each(|seed| compare(seed, random_module(seed), &mut tally));
    assert!(tally.ended > 500 && tally.faults > 500, "{tally:?}");
    assert!(tally.counted > 200 && tally.tasks > 10_000, "{tally:?}");
}

#[test]
fn a_fixed_range_of_pipelines_agrees_and_is_varied() {
    let mut tally = Tally::default();
    (0..4000).for_each(|seed| compare(seed, random_pipelines(seed), &mut tally));
    assert!(tally.pipelines > 100 && tally.faults > 500, "{tally:?}");
}

proptest! {
    #[test]
    fn random_modules_agree(seed in any::<u64>()) {
        compare(seed, random_module(seed), &mut Tally::default());
        compare(seed, random_pipelines(seed), &mut Tally::default());
    }
}
