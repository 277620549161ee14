//! Tasks of a file, gathered in any order and put into that of their numbers.

use super::header::Header;
use super::{Fault, Found};
use crate::write::Edges;
use rustc_hash::FxHashMap;
use wsp_core::{KernelId, TaskId, WhyLate};
use wsp_runtime::timeline::{About, Detail, Lists, NO_ROW, Row, Span, TaskRecord, Timeline};

/// Names of what is said of tasks and launches.
pub(super) const NAMES: [&str; 22] = [
    "task",
    "indices",
    "submitted",
    "ready",
    "cause",
    "held_by",
    "last",
    "critical",
    "waited",
    "waited_for",
    "before",
    "launch",
    "node",
    "block",
    "granted",
    "resident",
    "aic",
    "aiv",
    "aicpu",
    "iteration",
    "failed",
    "",
];

const TASK: usize = 0;
const INDICES: usize = 1;
const SUBMITTED: usize = 2;
const READY: usize = 3;
const CAUSE: usize = 4;
const HELD_BY: usize = 5;
const LAST: usize = 6;
const BEFORE: usize = 10;
/// The first of what is kept as it is.
const DETAILS: usize = 11;

/// What is said of one task or launch.
#[derive(Default)]
pub(super) struct Said {
    numbers: [Option<u64>; 7],
    pub(super) indices: Vec<u32>,
    pub(super) before: Vec<u32>,
    details: Vec<(&'static str, Detail)>,
}

impl Said {
    pub(super) fn clear(&mut self) {
        self.numbers = [None; 7];
        self.indices.clear();
        self.before.clear();
        self.details.clear();
    }

    /// Takes a value by the place of its name. What can be computed from the rest is not kept.
    pub(super) fn take(&mut self, name: usize, value: Detail, is_task: bool) {
        match (name, value) {
            (INDICES, Detail::Numbers(numbers)) => self.indices = numbers,
            (BEFORE, Detail::Numbers(numbers)) => self.before = numbers,
            (TASK..=LAST, Detail::Number(number)) if is_task || name != SUBMITTED => {
                self.numbers[name] = Some(number.cast_unsigned());
            }
            (SUBMITTED | DETAILS.., value) => {
                // What is said twice holds as it was said last.
                self.details.retain(|(known, _)| *known != NAMES[name]);
                self.details.push((NAMES[name], value));
            }
            _ => {}
        }
    }

    /// Takes the word of a cause.
    pub(super) fn cause(&mut self, word: &str) {
        let kind = WhyLate::KINDS.into_iter().position(|kind| kind == word);
        self.numbers[CAUSE] = kind.map(|kind| kind as u64);
    }

    fn task(&self, name: usize) -> Option<TaskId> {
        self.numbers[name].and_then(|id| u32::try_from(id).ok()).map(TaskId)
    }

    fn why(&self) -> Option<WhyLate> {
        let (held_by, last) = (self.task(HELD_BY), self.task(LAST));
        Some(match self.numbers[CAUSE]? {
            0 => WhyLate::Generation { resumed_by: held_by },
            1 => WhyLate::Predecessor(held_by?),
            2 => WhyLate::Batch { predecessor: last?, released_with: held_by? },
            3 => WhyLate::Worker { busy_with: held_by? },
            4 => WhyLate::Gate { held_by: held_by? },
            5 => WhyLate::Window { held_by: held_by? },
            6 => WhyLate::Start,
            7 => WhyLate::Unrecorded,
            _ => return None,
        })
    }
}

/// Where and when something ran.
pub(super) struct Place<'a> {
    pub(super) row: u32,
    pub(super) name: &'a str,
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) header: Header,
    pub(super) processes: Vec<String>,
    pub(super) rows: Vec<Row>,
    kernels: FxHashMap<String, KernelId>,
    timeline: Timeline,
    /// Numbers of edges with the tasks from and to which they go.
    pub(super) from: Vec<(u64, u64)>,
    pub(super) to: Vec<(u64, u64)>,
}

impl Tasks {
    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.timeline.tasks.len() as u64
    }

    /// Adds a row; there are not more than records can tell apart.
    pub(super) fn row(&mut self, process: u32, number: u32, name: &str, at: usize) -> Found<()> {
        if self.rows.len() >= NO_ROW as usize || process as usize >= self.processes.len() {
            return Err(Fault::Bad("a row of no process, or one too many", at));
        }
        self.rows.push(Row { process, number, name: name.to_owned() });
        Ok(())
    }

    /// Adds a launch of a task graph.
    pub(super) fn launch(&mut self, place: &Place<'_>, said: &mut Said, at: usize) -> Found<()> {
        if self.timeline.spans.len() as u64 >= self.header.launches {
            return Err(Fault::Bad("more launches than there are", at));
        }
        let Place { row, name, begin, end } = *place;
        let details = std::mem::take(&mut said.details);
        self.timeline.spans.push(Span { row, name: name.to_owned(), begin, end, details });
        Ok(())
    }

    /// Adds a task, and gives its number.
    pub(super) fn task(&mut self, place: &Place<'_>, said: &mut Said, at: usize) -> Found<TaskId> {
        if self.count() >= self.header.tasks {
            return Err(Fault::Bad("more tasks than there are", at));
        }
        let (Some(task), Some(cause)) = (said.task(TASK), said.why()) else {
            return Err(Fault::Bad("a task without its number or its cause", at));
        };
        let kernel = self.kernel(place.name, at)?;
        let mut record = TaskRecord::new(task, kernel, Some(place.row));
        let times = [said.numbers[SUBMITTED], said.numbers[READY], Some(place.begin), Some(place.end)];
        let [Some(submitted), Some(ready), Some(started), Some(ended)] = times else {
            return Err(Fault::Bad("a task without its times", at));
        };
        if submitted > ready || ready > started || started > ended || ended >> 53 != 0 {
            return Err(Fault::Bad("a task whose times do not follow each other", at));
        }
        [record.submitted, record.ready, record.started, record.ended] = [submitted, ready, started, ended];
        record.set_cause(cause, said.task(LAST));
        self.timeline.tasks.push(record);
        self.timeline.indices.push(said.indices.drain(..));
        self.timeline.before.push(said.before.drain(..).map(TaskId));
        if !said.details.is_empty() || !self.timeline.details.is_empty() {
            self.timeline.details.resize(self.timeline.tasks.len() - 1, Vec::new());
            self.timeline.details.push(std::mem::take(&mut said.details));
        }
        Ok(task)
    }

    fn kernel(&mut self, name: &str, at: usize) -> Found<KernelId> {
        if let Some(kernel) = self.kernels.get(name) {
            return Ok(*kernel);
        }
        let number = u16::try_from(self.timeline.kernels.len()).ok().filter(|number| *number < u16::MAX);
        let kernel = KernelId(number.ok_or(Fault::Bad("too many kernels", at))?);
        self.timeline.kernels.push(name.to_owned());
        self.kernels.insert(name.to_owned(), kernel);
        Ok(kernel)
    }

    /// The timeline, when all was read.
    pub(super) fn finish(self) -> Found<Timeline> {
        let Tasks { header, processes, rows, timeline, mut from, mut to, .. } = self;
        header.check()?;
        let count = timeline.tasks.len() as u64;
        if count < header.tasks || (timeline.spans.len() as u64) < header.launches {
            return Err(Fault::Cut(count, header.tasks));
        }
        let numbers = timeline.tasks.iter().zip(0..);
        let mut order: Vec<(u64, u64)> = numbers.map(|(task, at)| (task.task.0.into(), at)).collect();
        crate::sort(&mut order);
        let order: Vec<usize> = order.into_iter().map(|(_, at)| at as usize).collect();
        let tasks: Vec<TaskRecord> = order.iter().map(|&at| timeline.tasks[at]).collect();
        if tasks.windows(2).any(|pair| pair[0].task == pair[1].task) {
            return Err(Fault::Bad("a task that is there twice", 0));
        }
        crate::sort(&mut from);
        crate::sort(&mut to);
        let edges = if header.edges == Edges::All { joined(&from, &to) } else { Vec::new() };
        let mut rest = edges.as_slice();
        let (mut indices, mut before, mut details) = (Lists::default(), Lists::default(), Vec::new());
        for (task, &at) in tasks.iter().zip(&order) {
            indices.push(timeline.indices.list(at).iter().copied());
            let (own, others) = rest.split_at(rest.partition_point(|(to, _)| *to <= task.task.0.into()));
            let listed = timeline.before.list(at).iter().copied();
            before.push(listed.chain(own.iter().map(|(_, from)| TaskId(*from as u32))));
            rest = others;
            details.extend(timeline.details.get(at).cloned());
        }
        let work = |kernel: &String| header.work.get(kernel).copied();
        let about = About {
            key: header.key,
            workers: header.workers,
            work: if header.work.is_empty() {
                Vec::new()
            } else {
                timeline.kernels.iter().map(work).collect()
            },
            machine: header.machine,
        };
        Ok(Timeline {
            clock: header.clock,
            processes,
            rows,
            tasks,
            indices,
            before,
            details,
            channels: header.channels,
            about,
            ..timeline
        })
    }
}

/// Edges that have both ends, as the task to which each goes and that from which it comes, sorted.
fn joined(from: &[(u64, u64)], to: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut edges = Vec::with_capacity(to.len());
    let mut at = 0;
    for (flow, task) in to {
        while from.get(at).is_some_and(|(number, _)| number < flow) {
            at += 1;
        }
        edges.extend(from.get(at).filter(|(number, _)| number == flow).map(|(_, from)| (*task, *from)));
    }
    crate::sort(&mut edges);
    edges
}
