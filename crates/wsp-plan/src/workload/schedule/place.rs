//! Where a task goes: the expressions of a schedule, evaluated for one task.

use super::super::eval::{Environment, Halt, eval};
use super::LoweredSchedule;
use wsp_core::ptow::dispatch::mix;
use wsp_diag::Span;
use wsp_ir::workload::{Dispatch, DispatchThreshold, ExecPool, IntExpr, SchedulePolicy, ThresholdPolicy};

/// Where and when a task runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Placement {
    /// Its worker; none when the schedule does not say.
    pub dispatch: Option<Dispatched>,
    /// Its pool: the unit of its kernel, unless a threshold says otherwise.
    pub pool: ExecPool,
    /// Its stream, when there are streams.
    pub stream: Option<u16>,
    /// Its priority; larger first.
    pub priority: i32,
}

/// What a dispatch policy says of one task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dispatched {
    /// The workers in turn; the task's ordinal.
    Turn(u64),
    /// Worker by key.
    Affinity(i64),
    /// Worker by the hash of a key.
    Hash(u64),
    /// The worker of this range of elaboration order.
    Range(u32),
    /// Any worker that is idle.
    Any,
}

impl Dispatched {
    /// A number whose remainder by the number of workers is the worker; none for any worker.
    ///
    /// Negative affinity keys count backwards from the last worker, as `key mod workers` does.
    pub fn worker(self, workers: u32) -> Option<u32> {
        let workers = u64::from(workers.max(1));
        let worker = match self {
            Dispatched::Turn(key) | Dispatched::Hash(key) => key % workers,
            Dispatched::Affinity(key) => key.rem_euclid(workers as i64) as u64,
            Dispatched::Range(range) => u64::from(range) % workers,
            Dispatched::Any => return None,
        };
        Some(worker as u32)
    }
}

/// Why a task has no place.
#[derive(Debug)]
pub(crate) enum NoPlace {
    /// It comes after the last range of a static partition, which ends here.
    PastPartition { end: u64 },
    /// Its priority does not fit into 32 bits.
    Priority { value: i64, span: Span },
}

/// A schedule's expressions, ready to be evaluated for every task.
pub(crate) struct Placer<'s> {
    dispatch: Option<&'s Dispatch>,
    threshold: Option<&'s DispatchThreshold>,
    streams: Option<u64>,
    stream_by: Option<&'s IntExpr>,
    priority: Option<&'s IntExpr>,
    /// Whether the place of a task follows from its kernel alone.
    pub(crate) plain: bool,
}

impl<'s> Placer<'s> {
    pub(crate) fn new(schedule: &'s LoweredSchedule) -> Placer<'s> {
        let SchedulePolicy { dispatch, threshold, streams, stream_by, priority, .. } = &schedule.policy;
        Placer {
            plain: dispatch.is_none() && threshold.is_none() && streams.is_none() && priority.is_none(),
            dispatch: dispatch.as_ref(),
            threshold: threshold.as_ref(),
            streams: streams.map(|n| u64::from(n.max(1))),
            stream_by: stream_by.as_ref(),
            priority: priority.as_ref(),
        }
    }

    /// Every expression.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &'s IntExpr> {
        let of_dispatch = |dispatch: &'s Dispatch| match dispatch {
            Dispatch::Affinity(key) | Dispatch::Hash(key) => Some(key),
            Dispatch::RoundRobin | Dispatch::StaticPartition(_) | Dispatch::WorkSteal => None,
        };
        let in_policies = self.threshold.into_iter().flat_map(DispatchThreshold::dispatches);
        let dispatches = self.dispatch.into_iter().chain(in_policies).filter_map(of_dispatch);
        let metric = self.threshold.map(|t| &t.metric);
        dispatches.chain(metric).chain(self.stream_by).chain(self.priority)
    }

    /// The place of a task.
    pub(crate) fn place<S: Environment>(
        &self,
        ordinal: u64,
        unit: ExecPool,
        scope: &mut S,
    ) -> Result<Result<Placement, NoPlace>, Halt<S::Stop>> {
        let (mut dispatch, mut pool) = (self.dispatch, unit);
        if let Some(threshold) = self.threshold {
            let metric = eval(&threshold.metric, scope)?;
            match &threshold.policies[threshold.bounds.partition_point(|bound| *bound <= metric)] {
                ThresholdPolicy::Dispatch(chosen) => dispatch = Some(chosen),
                ThresholdPolicy::Pool(chosen) => pool = *chosen,
            }
        }
        let dispatch = match dispatch {
            Some(dispatch) => match dispatched(dispatch, ordinal, scope)? {
                Ok(dispatched) => Some(dispatched),
                Err(none) => return Ok(Err(none)),
            },
            None => None,
        };
        let stream = match (self.streams, self.stream_by) {
            (None, _) => None,
            (Some(streams), None) => Some((ordinal % streams) as u16),
            (Some(streams), Some(key)) => Some(eval(key, scope)?.rem_euclid(streams as i64) as u16),
        };
        let Some(key) = self.priority else {
            return Ok(Ok(Placement { dispatch, pool, stream, priority: 0 }));
        };
        let value = eval(key, scope)?;
        Ok(match i32::try_from(value) {
            Ok(priority) => Ok(Placement { dispatch, pool, stream, priority }),
            Err(_) => Err(NoPlace::Priority { value, span: key.span }),
        })
    }
}

/// What a policy says of a task.
fn dispatched<S: Environment>(
    dispatch: &Dispatch,
    ordinal: u64,
    scope: &mut S,
) -> Result<Result<Dispatched, NoPlace>, Halt<S::Stop>> {
    Ok(Ok(match dispatch {
        Dispatch::RoundRobin => Dispatched::Turn(ordinal),
        Dispatch::Affinity(key) => Dispatched::Affinity(eval(key, scope)?),
        Dispatch::Hash(key) => Dispatched::Hash(mix(eval(key, scope)? as u64)),
        Dispatch::WorkSteal => Dispatched::Any,
        Dispatch::StaticPartition(ranges) => {
            let range = ranges.partition_point(|(_, end)| *end <= ordinal);
            if range == ranges.len() {
                let end = ranges.last().map_or(0, |(_, end)| *end);
                return Ok(Err(NoPlace::PastPartition { end }));
            }
            Dispatched::Range(range as u32)
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_keys_count_backwards() {
        assert_eq!(Dispatched::Affinity(-1).worker(4), Some(3));
        assert_eq!(Dispatched::Affinity(i64::MIN).worker(3), Some((i64::MIN).rem_euclid(3) as u32));
        assert_eq!(Dispatched::Turn(9).worker(4), Some(1));
        assert_eq!(Dispatched::Any.worker(4), None);
    }

    #[test]
    fn a_hash_spreads_neighbours_and_multiples() {
        for step in [1u64, 8, 64, 4096] {
            let mut hits = [0u32; 8];
            for key in 0..800 {
                hits[Dispatched::Hash(mix(key * step)).worker(8).expect("a worker") as usize] += 1;
            }
            assert!(hits.iter().all(|n| (60..=140).contains(n)), "step {step}: {hits:?}");
        }
    }
}
