//! Runs that begin with the regions that others have left.

use crate::common::{Scripted, cells, task};
use crate::randomised::{Numbers, cases};
use std::collections::BTreeSet;
use wsp_core::{Region, TaskId, TensorId};
use wsp_runtime::{
    Deps, FailedTask, Failure, KnownRegions, RunConfig, Start, Stats, Stopped, TaskSpec, TracePolicy, run,
    run_again,
};

const TASKS: usize = 30;

/// What a task reads and writes.
type Accesses = [Vec<Region>; 2];

/// Boxes of two tensors, some of them tiles and some not.
fn program(numbers: &mut Numbers) -> Vec<Accesses> {
    let tile = numbers.below(3) + 1;
    let region = |numbers: &mut Numbers| {
        let tensor = TensorId(numbers.below(2) as u32);
        let lo = [numbers.below(6), numbers.below(6)].map(|at| (at * tile) as u32);
        let size = if numbers.below(3) == 0 { numbers.below(5) + 1 } else { tile };
        let hi = lo.map(|lo| lo + size as u32);
        Region::new(tensor, &lo, &hi).expect("ranks agree")
    };
    let list = |numbers: &mut Numbers| (0..numbers.below(3)).map(|_| region(numbers)).collect();
    (0..TASKS).map(|_| [list(numbers), list(numbers)]).collect()
}

/// Runs it with all tasks submitted before the first starts, so that every predecessor counts.
fn traced(deps: Deps, known: &mut KnownRegions, program: &[Accesses]) -> Stats {
    let (start, trace) = (Start::AfterOrchestration, TracePolicy::Measured);
    let config = RunConfig { threads: 2, deps, start, trace, ..RunConfig::default() };
    let runner = Scripted::new(|_| Ok(()));
    let stats = run_again(&config, &runner, known, |submitter| {
        program.iter().try_for_each(|[reads, writes]| submitter.submit(task(&[], reads, writes)).map(drop))
    });
    stats.expect("no task fails")
}

/// Each task with its predecessors.
fn preds(stats: &Stats) -> Vec<(TaskId, Vec<TaskId>)> {
    let mut preds: Vec<_> = stats.trace.iter().map(|entry| (entry.task, entry.preds.clone())).collect();
    preds.sort();
    preds
}

fn overlap(a: &[Region], b: &[Region]) -> bool {
    let both = |a: &Region, b: &Region| {
        a.tensor == b.tensor && (0..2).all(|d| a.lo[d] < b.hi[d] && b.lo[d] < a.hi[d])
    };
    a.iter().any(|a| b.iter().any(|b| both(a, b)))
}

/// Every task that conflicts with an earlier one comes after it.
fn check_order(program: &[Accesses], preds: &[(TaskId, Vec<TaskId>)]) {
    let mut before: Vec<BTreeSet<usize>> = Vec::new();
    for (task, of) in preds {
        let mut all: BTreeSet<usize> = of.iter().map(|pred| pred.index()).collect();
        of.iter().for_each(|pred| all.extend(&before[pred.index()]));
        let [reads, writes] = &program[task.index()];
        for (earlier, [read, written]) in program[..task.index()].iter().enumerate() {
            let conflict = overlap(written, reads) || overlap(written, writes) || overlap(read, writes);
            assert!(!conflict || all.contains(&earlier), "{task:?} does not wait for task {earlier}");
        }
        before.push(all);
    }
}

#[test]
fn whatever_ran_before_a_run_has_the_edges_that_it_has_alone() {
    for seed in 0..cases(12) {
        let mut numbers = Numbers::of_seed(seed + 1);
        let programs = [program(&mut numbers), program(&mut numbers)];
        let mut known = KnownRegions::default();
        for _ in 0..8 {
            let program = &programs[numbers.below(2) as usize];
            let deps = [Deps::Overlap, Deps::Overlap, Deps::Hybrid, Deps::Exact][numbers.below(4) as usize];
            let again = traced(deps, &mut known, program);
            let alone = traced(deps, &mut KnownRegions::default(), program);
            assert_eq!((preds(&again), again.edges), (preds(&alone), alone.edges), "seed {seed}, {deps:?}");
            if deps != Deps::Exact {
                check_order(program, &preds(&again));
            }
        }
    }
}

#[test]
fn a_further_run_makes_no_regions_and_no_run_leaves_tasks() {
    let mut numbers = Numbers::of_seed(7);
    let program = program(&mut numbers);
    let mut known = KnownRegions::default();
    assert!(format!("{known:?}").contains("None"));
    traced(Deps::Overlap, &mut known, &program);
    let first = format!("{known:?}");
    assert!(first.contains("Some"), "{first}");
    traced(Deps::Overlap, &mut known, &program);
    assert_eq!(format!("{known:?}"), first);
}

#[test]
fn a_run_after_one_that_failed_or_whose_tiles_were_registered_is_as_any_other() {
    let mut known = KnownRegions::default();
    let config = RunConfig { threads: 2, ..RunConfig::default() };
    let cell = [cells(0, 0, 1)];
    let chain = |known: &mut KnownRegions, runner: &Scripted<'_>| {
        run_again(&config, runner, known, |submitter| {
            (0..20).try_for_each(|_| submitter.submit(task(&[], &cell, &cell)).map(drop))
        })
    };
    let breaks = Scripted::new(|id| if id == 7 { Err("broken".to_owned()) } else { Ok(()) });
    let runs = Scripted::new(|_| Ok(()));
    for _ in 0..3 {
        assert!(matches!(
            chain(&mut known, &breaks),
            Err(Failure::Task { task: FailedTask { id: TaskId(7), .. }, .. })
        ));
        assert_eq!(chain(&mut known, &runs).map(|stats| stats.tasks), Ok(20));
        let tiled = run_again(&config, &runs, &mut known, |submitter| {
            let tiled = submitter.tiled(TensorId(1), &[8], &[2]).expect("nothing has accessed the tensor");
            let tile = [tiled.tile(&[1]).expect("there are four tiles")];
            let spec = TaskSpec { tile_writes: &tile, ..TaskSpec::default() };
            (0..2).try_for_each(|_| submitter.submit(spec).map(drop))
        });
        assert_eq!(tiled.map(|stats| stats.tasks), Ok(2));
    }
    assert_eq!(run(&config, &runs, |_| Ok::<(), Stopped>(())).map(|stats| stats.tasks), Ok(0));
}
