//! Programs behind the seam give the bits, the failures and the refusals of the programs themselves.

mod spaces;
mod units;
mod virtual_time;
mod workloads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{Args, Backend, Outcome, Prepared, Program, RunError, RunOptions};
use wsp_cpu::CpuSimBackend;
use wsp_diag::Diagnostic;
use wsp_memory::View;
use wsp_plan::{Arrays, PlanSource};

/// A plan on `cpu_sim`.
fn compiled(plan: impl Into<PlanSource>) -> Box<dyn Program> {
    compiled_by(&CpuSimBackend::default(), plan)
}

fn compiled_by(backend: &CpuSimBackend, plan: impl Into<PlanSource>) -> Box<dyn Program> {
    backend.compile(&plan.into()).unwrap_or_else(|found| panic!("{found:?}"))
}

fn ran(program: &dyn Program, args: &Args, options: &RunOptions) -> Outcome {
    program.execute(args.clone(), options.clone()).unwrap_or_else(|fault| panic!("{fault}"))
}

/// The findings of a run that fails, is refused or is cancelled.
fn fault(result: Result<Outcome, RunError>) -> RunError {
    result.expect_err("it should give nothing")
}

fn bits(arrays: &Arrays) -> Vec<(&str, &[u8])> {
    arrays.iter().map(|(name, array)| (name.as_str(), array.bytes())).collect()
}

/// An array that is lent, in place of that of the same name.
fn lent(args: &Args, name: &str) -> (Args, View) {
    let view = args.arrays[name].clone().lend().expect("it fits");
    (args.clone().with(name, view.clone()), view)
}

/// Runs a prepared program twice; the outputs of both runs are equal.
fn twice(mut prepared: Box<dyn Prepared>) -> Outcome {
    let first = prepared.run().unwrap_or_else(|fault| panic!("{fault}"));
    let second = prepared.run().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(bits(&first.outputs), bits(&second.outputs), "each run begins as the first");
    assert_eq!(first.stats.tasks, second.stats.tasks);
    second
}

/// Runs a prepared program before and after a run that is cancelled; the outputs of both are equal.
fn around_a_cancelled_run(program: &dyn Program, args: &Args, options: RunOptions) {
    let cancel = Arc::new(AtomicBool::new(false));
    let options = RunOptions { cancel: Some(cancel.clone()), ..options };
    let mut prepared = program.prepare(args.clone(), options).unwrap_or_else(|fault| panic!("{fault}"));
    let first = prepared.run().unwrap_or_else(|fault| panic!("{fault}"));
    cancel.store(true, Ordering::Relaxed);
    assert!(matches!(prepared.run(), Err(RunError::Cancelled(_))));
    assert!(prepared.outcome().is_err(), "the run gave nothing");
    cancel.store(false, Ordering::Relaxed);
    let next = prepared.run().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(bits(&first.outputs), bits(&next.outputs), "each run begins as the first");
    assert_eq!(first.stats.tasks, next.stats.tasks);
}

/// The option that is refused, by its name.
fn named(fault: &RunError) -> &str {
    let RunError::Refused(found) = fault else { panic!("{fault}") };
    let [Diagnostic { message, .. }] = &**found else { panic!("{fault}") };
    message.split('`').nth(1).expect("the message should name it")
}
