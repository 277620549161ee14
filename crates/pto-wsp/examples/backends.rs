//! Document 004: a registry selects a backend for a plan and says why; every kind of program is compiled, run and asked by the same calls.
//!
//! `cargo run --package pto-wsp --example backends`
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pto_wsp::backend::{PlanSource, registry};
use pto_wsp::workload::{WorkloadPlan, parse};
use pto_wsp::{
    Args, CompileOptions, Error, GraphOptions, OneShot, Program, RunError, RunOptions, Source, SourceMap,
};

const TEXT: &str = "
tensor x: i64[8];
kernel inc(inout x) cost 10;
workload main { parallel for i in 0..8 { inc(x[i]); } for i in 0..2 { inc(x[i]); } }
";

pub(crate) fn main() -> Result<(), Error> {
    // The backends that there are, and the one that takes this plan.
    let mut sources = SourceMap::default();
    let (module, found) = parse("inc.wsp", TEXT, &mut sources);
    let module = module.ok_or_else(|| Error::in_sources(found, &sources))?;
    let plan: PlanSource = WorkloadPlan::new(module.clone(), None, &CompileOptions::default())?.into();
    let registry = registry();
    let selection = registry.select(&plan)?;
    println!("{:?}: {selection}", registry.names().collect::<Vec<_>>());
    assert_eq!(selection.backend().name(), "cpu_sim");

    // Without a function for its kernel the program can be listed, but not run.
    let listed = Program::from_plan(plan, &registry)?;
    let x = Args::new().with("x", [0i64; 8]);
    let graph = listed.graph(&x, &GraphOptions::default())?;
    assert_eq!((graph.tasks.len(), graph.edges.len()), (10, 3));
    let refused = listed.execute(x.clone(), RunOptions::default()).expect_err("`inc` has no body");
    assert!(matches!(refused.run(), Some(RunError::Refused(_))));

    // With one it runs, in virtual time too: 10 tasks of 10 cycles on 4 workers.
    let inc = |x: &mut [i64]| x[0] += 1;
    let program = || Source::workload(module.clone()).kernel("inc", inc).compile();
    let options = RunOptions { threads: 4, ..RunOptions::default() };
    let simulated = program()?.simulate(&x, &options)?;
    assert_eq!(simulated.makespan, 30);

    // Document 004's program, which keeps its arguments and what its last run gave.
    let mut runs = OneShot::new(program()?, x, options);
    runs.execute_async()?;
    let outcome = runs.synchronize()?.expect("it has run");
    assert_eq!(outcome.outputs["x"].as_slice::<i64>(), Some(&[2, 2, 1, 1, 1, 1, 1, 1][..]));
    let tasks = outcome.stats.tasks;
    println!("{tasks} tasks in {} ms", runs.elapsed_ms());
    Ok(())
}
