//! One run from start to end.

use super::known::KnownRegions;
use super::store::Stream;
use super::submit::Submitter;
use crate::merge::{failure, merge};
use crate::ready::Queues;
use crate::replay::Turns;
use crate::shared::Shared;
use crate::sync::Ordering;
use crate::team::{Team, Unstarted};
use crate::timeline::set_ready;
use crate::worker::Worker;
use crate::{ConfigError, Failure, Outcome, RunConfig, StartError, Stats, TaskRunner};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs the tasks that `source` submits.
///
/// `source` runs on the calling thread while [`RunConfig::threads`] workers execute. When it has returned, the calling thread is the last of these
/// workers as long as it finds tasks and no other thread has become that one. The call returns when everything
/// submitted has completed, or has been dropped after a failure. The runner can be used again afterwards.
///
/// # Errors
/// See [`Failure`]. Of several reasons the first of this list counts: a failed task, a cancelled run, tasks that wait for
/// what never happens, the source's error.
///
/// # Panics
/// When `source` panics, with its panic, after the workers have stopped. Panics of tasks become [`Failure::Panic`].
pub fn run<R: TaskRunner, E>(
    config: &RunConfig,
    runner: &R,
    source: impl FnOnce(&mut Submitter<'_, R>) -> Result<(), E>,
) -> Outcome<R::Failure, E> {
    run_again(config, runner, &mut KnownRegions::default(), source)
}

/// As [`run`], for a program that runs again and again: with the regions that its last run has left in `known`, and leaves them there.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn run_again<R: TaskRunner, E>(
    config: &RunConfig,
    runner: &R,
    known: &mut KnownRegions,
    source: impl FnOnce(&mut Submitter<'_, R>) -> Result<(), E>,
) -> Outcome<R::Failure, E> {
    let config = &*config.settled().map_err(|error| Failure::Start(StartError::Config(error)))?;
    let (shared, deques) = Shared::new(config, runner, Stream::new(config), Box::default());
    let team = Team::take(config.threads, 0).map_err(Failure::Start)?;
    let workers =
        deques.into_iter().zip(0..).map(|(deque, index)| Worker::new(&shared, index, deque)).collect();
    let generate = |unstarted: Option<&Unstarted<'_, Worker<'_, '_, R, Stream>>>| {
        // Also when the planner panics: the team waits for the workers.
        let _closer = Closer(&shared.queues);
        let mut submitter = Submitter::new(&shared, config, known);
        let returned = catch_unwind(AssertUnwindSafe(|| source(&mut submitter)));
        let generation_ns = shared.now();
        shared.stop.generating.store(false, Ordering::Relaxed);
        // After a failed task the source's error only repeats it, and earlier tasks still decide which failure counts.
        if !matches!(returned, Ok(Ok(()))) && !shared.stop.stopping() {
            shared.stop.refuse_all();
        }
        let (left, own) = submitter.drain(unstarted);
        let stuck = submitter.stuck.take().or(left.filter(|_| matches!(returned, Ok(Ok(())))));
        (submitter.into_report(known), stuck, returned, generation_ns, own)
    };
    let ((planned, stuck, returned, generation_ns, own), mut reports) =
        team.each_or_here(workers, Worker::work, generate).map_err(Failure::Start)?;
    // The calling thread was the last of the workers or none.
    reports.extend(own);
    let returned = returned.unwrap_or_else(|panic| resume_unwind(panic));

    let scale = shared.scale();
    let wall_ns = shared.now();
    let dropped: u64 = reports.iter().map(|report| report.cancelled).sum();
    let cancelled = dropped + u64::from(planned.unfinished);
    let stopped = shared.stop.was_cancelled();
    let deferred = shared.gates.as_ref().map_or(0, |gates| gates.refused());
    let turn = shared.queues.turns().and_then(Turns::next).map(|(_, task)| task);
    if let (_, Some(failed)) = shared.into_parts() {
        return Err(failure(failed, cancelled));
    }
    if stopped {
        return Err(Failure::Cancelled);
    }
    let refuse = |error| Err(Failure::Start(StartError::Config(error)));
    if let (Some(replay), Ok(())) = (&config.replay, &returned)
        && replay.len() as u64 != planned.stats.tasks
    {
        return refuse(ConfigError::ReplayTasks {
            recorded: replay.len() as u64,
            tasks: planned.stats.tasks,
        });
    }
    if let (Some(_), Some(task)) = (&stuck, turn) {
        return refuse(ConfigError::ReplayOrder { task });
    }
    if let Some(report) = stuck {
        return Err(Failure::Stuck(report));
    }
    returned.map_err(Failure::Source)?;
    let mut stats = merge(Stats { generation_ns, wall_ns, deferred, ..planned.stats }, reports, scale);
    for entry in &mut stats.trace {
        let (preds, fences) = planned.lineage.of(entry.task);
        entry.preds = preds.to_vec();
        entry.fences = fences;
    }
    set_ready(&mut stats.trace);
    Ok(stats)
}

/// Sends the workers home when dropped.
struct Closer<'s>(&'s Queues);

impl Drop for Closer<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
