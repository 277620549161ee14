//! Why each task of a measured run started when it did: a function of what was recorded, computed after the run.

use super::record::TaskRecord;
use crate::TaskTrace;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wsp_core::{TaskId, WhyLate};
use wsp_ordered::Arrange;

/// What a run tells of all its tasks together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunFacts {
    /// Tasks that the window holds.
    pub window: u32,
    /// From when on the start policy let tasks start.
    pub opened_ns: u64,
    /// Whether tasks kept to an order of starts: none starts before the one before it in that order.
    pub in_order: bool,
}

/// Places of tasks, which are sorted by id.
struct Tasks<'t>(&'t [TaskTrace]);

impl Tasks<'_> {
    fn end(&self, task: TaskId) -> Option<u64> {
        // Without barrier nodes a task's place is its id.
        let dense = self.0.get(task.index()).filter(|at| at.task == task);
        let found = dense.or_else(|| {
            let at = self.0.binary_search_by_key(&task, |one| one.task).ok()?;
            self.0.get(at)
        });
        found.map(|one| one.finished_ns)
    }
}

/// The records of tasks, which are sorted by id, each with what its start waited for last.
///
/// That is the latest of the moments that had to come before it started: its submission, the end of the last task before it (or of the one with
/// which its worker released that), the start policy or the start of the task before it in an order of starts, the end of the task that held its gate, the end of the task before it on its worker. Of
/// moments that fall together the gate counts, else what comes first in this list.
pub fn measured(traces: &[TaskTrace], facts: &RunFacts) -> Vec<TaskRecord> {
    let tasks = Tasks(traces);
    let before = before_on_worker(traces);
    let room = room(traces, facts.window);
    let turns = if facts.in_order { turns(traces) } else { Vec::new() };
    let mut resumed_by = None;
    let records = traces.iter().zip(before).zip(room).enumerate().map(|(at, ((trace, before), room))| {
        let submission = match room.filter(|_| trace.stalled) {
            Some(held_by) => {
                resumed_by = Some(held_by);
                WhyLate::Window { held_by }
            }
            None => WhyLate::Generation { resumed_by },
        };
        let opened = turns.get(at).map_or(facts.opened_ns, |turn| facts.opened_ns.max(*turn));
        record(trace, &tasks, submission, before, opened)
    });
    records.collect()
}

/// Sets when each task was ready: it was submitted, and all before it were complete.
pub(crate) fn set_ready(traces: &mut [TaskTrace]) {
    let tasks = Tasks(traces);
    let ready = |trace: &TaskTrace| {
        let before = trace.preds.iter().chain(&trace.released_by).chain(&trace.released_with);
        let ends = before.filter_map(|task| tasks.end(*task));
        ends.fold(trace.submitted_ns, u64::max).min(trace.started_ns)
    };
    let ready: Vec<u64> = traces.iter().map(ready).collect();
    traces.iter_mut().zip(ready).for_each(|(trace, ready)| trace.ready_ns = ready);
}

fn record(
    trace: &TaskTrace,
    tasks: &Tasks<'_>,
    submission: WhyLate,
    before: Option<TaskId>,
    opened: u64,
) -> TaskRecord {
    let mut record = TaskRecord::new(trace.task, trace.kernel, Some(trace.worker));
    let mut last = None;
    for &task in trace.preds.iter().chain(&trace.released_by) {
        last = last.max(tasks.end(task).map(|end| (end, task)));
    }
    let (mut at, mut cause) = (trace.submitted_ns, submission);
    if let Some((end, task)) = last.filter(|(end, _)| *end > at) {
        (at, cause) = (end, WhyLate::Predecessor(task));
    }
    if let (Some(predecessor), Some(released_with)) = (trace.released_by, trace.released_with)
        && let Some(end) = tasks.end(released_with).filter(|end| *end > at)
    {
        (at, cause) = (end, WhyLate::Batch { predecessor, released_with });
    }
    if trace.ready_ns > at && trace.released_by.is_none() && trace.preds.is_empty() {
        (at, cause) = (trace.ready_ns, WhyLate::Unrecorded);
    }
    // What the clocks of two threads tell may be a moment apart.
    let ready = at.min(trace.started_ns);
    if opened > at {
        (at, cause) = (opened, WhyLate::Start);
    }
    let held = trace.opened_by.and_then(|task| Some((tasks.end(task)?, WhyLate::Gate { held_by: task })));
    let busy = before.and_then(|task| Some((tasks.end(task)?, WhyLate::Worker { busy_with: task })));
    for (end, why) in held.into_iter().chain(busy) {
        let is_later = end > at || end == at && matches!(why, WhyLate::Gate { .. });
        if is_later && end <= trace.started_ns {
            (at, cause) = (end, why);
        }
    }
    record.set_cause(cause, last.map(|(_, task)| task));
    let submitted = trace.submitted_ns.min(ready);
    (record.submitted, record.ready) = (submitted, ready);
    (record.started, record.ended) = (trace.started_ns, trace.finished_ns);
    record
}

/// The task before each on its worker.
fn before_on_worker(traces: &[TaskTrace]) -> Vec<Option<TaskId>> {
    let mut order: Vec<usize> = (0..traces.len()).collect();
    order.arrange_by_key(|&at| {
        let TaskTrace { worker, started_ns, finished_ns, task, .. } = traces[at];
        (worker, started_ns, finished_ns, task)
    });
    let mut before = vec![None; traces.len()];
    for pair in order.windows(2) {
        if traces[pair[0]].worker == traces[pair[1]].worker {
            before[pair[1]] = Some(traces[pair[0]].task);
        }
    }
    before
}

/// When the task before each in the order of starts had started, which let it start.
fn turns(traces: &[TaskTrace]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..traces.len()).collect();
    order.arrange_by_key(|&at| (traces[at].started_ns, at));
    let mut turns = vec![0; traces.len()];
    order.windows(2).for_each(|pair| turns[pair[1]] = traces[pair[0]].started_ns);
    turns
}

/// The task whose end made room for each in a window of so many tasks; none while the window was not full.
///
/// Task `n` needs a place when all but `window - 1` of the `n` tasks before it are complete, so the last of them to end for it is the one whose
/// end is the `window`-th largest.
fn room(traces: &[TaskTrace], window: u32) -> Vec<Option<TaskId>> {
    let mut latest = BinaryHeap::new();
    let room = traces.iter().map(|trace| {
        let full = latest.len() == window as usize;
        let room = latest.peek().filter(|_| full && window > 0).map(|&Reverse((_, task))| task);
        latest.push(Reverse((trace.finished_ns, trace.task)));
        if latest.len() > window as usize {
            latest.pop();
        }
        room
    });
    room.collect()
}
