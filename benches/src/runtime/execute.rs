//! What a run costs beside its tasks: a prepared program of empty ones, by the crate that users have.

use super::Plan;
use super::measure::{Moment, Span};
use super::ours::text;
use super::table::{Row, Target};
use pto_wsp::backend::cpu::CpuSimBackend;
use pto_wsp::backend::{Backend as _, PreparedProgram};
use pto_wsp::workload::{KernelRegistry, ModuleBuilder};
use pto_wsp::{Args, DType, RunOptions};

/// Tasks of a run.
const TASKS: i32 = 64;
/// What is asked of it, in microseconds.
const RUN_US: f64 = 15.0;

/// Measures runs with 1 and 2 workers.
///
/// # Errors
/// A run failed.
pub(super) fn rows(plan: &Plan, mut emit: impl FnMut(Row)) -> Result<(), String> {
    for workers in [1, 2] {
        let mut program = prepared(workers)?;
        let mut spans = Vec::new();
        for repeat in 0..=plan.repeats * plan.rounds {
            let start = Moment::now();
            for _ in 0..plan.runs {
                program.launch(None).map_err(text)?;
            }
            let span = start.to(Moment::now()).over(f64::from(plan.runs) * 1e3);
            if repeat > 0 {
                spans.push(span);
            }
        }
        let Span { wall, cpu } = Span::median(&spans);
        let target = (workers == 2).then_some(Target::AtMost(RUN_US));
        emit(Row { ours: wall, cpu: Some(cpu), target, ..Row::plain("64 empty tasks", workers, "us/run") });
    }
    Ok(())
}

/// A program of empty tasks that nothing orders, ready to run.
fn prepared(workers: u32) -> Result<Box<dyn PreparedProgram>, String> {
    let mut module = ModuleBuilder::new();
    let y = module.tensor("y", DType::F32, [TASKS.into()]);
    let empty = module.kernel("empty").output("y").finish();
    module.workload("main", |w| {
        w.parallel_for("i", ..TASKS, |w, i| {
            w.task(empty).arg(y.at(i));
        });
    });
    let mut kernels = KernelRegistry::new();
    kernels.register("empty", |_| Ok(())).map_err(text)?;
    let backend = CpuSimBackend { kernels, ..CpuSimBackend::default() };
    let module = module.finish().map_err(text)?.into_inner();
    let program = backend.compile_workload(module, None).map_err(text)?;
    program.prepare(Args::new(), RunOptions { threads: workers, ..RunOptions::default() }).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_run_again_runs_all_its_tasks() {
        for workers in [1, 2] {
            let mut program = prepared(workers).unwrap();
            for _ in 0..3 {
                assert_eq!(program.run().unwrap().stats.tasks, TASKS as u64);
            }
        }
    }
}
