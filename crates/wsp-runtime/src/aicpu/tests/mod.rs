//! Tests of whole runs, with scripted generators.

mod failures;
mod oracle;
mod policies;
mod random;
mod replays;
mod scripted;
mod statistics;
mod steps;
mod streams;
mod twice;

use super::*;

/// One run.
fn run_aicpus<R: TaskRunner, G: Generator>(
    config: &AicpuConfig,
    generators: Vec<G>,
    runner: &R,
    slots: &dyn Slots,
) -> Result<AicpuRunStats, AicpuFailure<R::Failure, G::Fault>> {
    let aicpus = Aicpus::new(config, generators.len() as u32);
    aicpus.map_err(Failure::Start)?.run(generators, runner, slots)
}
