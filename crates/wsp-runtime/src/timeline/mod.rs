//! Timelines: when and where every task of a run ran, and why not earlier; of measured and simulated runs alike.
//!
//! A [`Timeline`] is made of what a run recorded ([`Timeline::measured`], [`Timeline::simulated`], [`Timeline::of_launches`]) and what
//! `wsp-report` writes, reads and shows. Causes are computed from the records after the run, so that the workers
//! read the clock twice per task and nothing else.

mod about;
mod channel;
mod launches;
mod lists;
mod path;
mod record;
mod simulated;
mod starts;
mod why;

pub use about::{About, Machine, Work};
pub use channel::Channel;
pub use launches::STREAM_ROWS;
pub use lists::Lists;
pub use path::{PathOfRun, Waits};
pub use record::{NO_ROW, TaskRecord};
pub use simulated::Simulated;
pub(crate) use why::set_ready;
pub use why::{RunFacts, measured as records_of};

use crate::TaskTrace;
use crate::clock::Clock;
use wsp_core::TaskId;

/// Where tasks run: a worker, or the launches of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The process that it belongs to, by its place in [`Timeline::processes`].
    pub process: u32,
    /// Its number within the process.
    pub number: u32,
    /// What it is called.
    pub name: String,
}

/// Something else than a task that took time on a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its row, by its place in [`Timeline::rows`].
    pub row: u32,
    /// What it is called.
    pub name: String,
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// What is to be said of it.
    pub details: Vec<(&'static str, Detail)>,
}

/// Something to be said of a task or a span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Detail {
    /// A number.
    Number(i64),
    /// Whether something holds.
    Flag(bool),
    /// Numbers.
    Numbers(Vec<u32>),
}

/// The tasks of one run. Times are nanoseconds or cycles, as its clock says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// What times are counted in.
    pub clock: Clock,
    /// Names of processes: the program, or each device.
    pub processes: Vec<String>,
    /// Where tasks ran.
    pub rows: Vec<Row>,
    /// Names of kernels.
    pub kernels: Vec<String>,
    /// Tasks in the order of their ids. Barrier nodes are not among them.
    pub tasks: Vec<TaskRecord>,
    /// The tasks before each task, where they are known, by its place in [`tasks`](Self::tasks).
    pub before: Lists<TaskId>,
    /// Indices of the loops around each task, the outermost first, where they are known.
    pub indices: Lists<u32>,
    /// What else is to be said of each task; empty where nothing is.
    pub details: Vec<Vec<(&'static str, Detail)>>,
    /// What else took time.
    pub spans: Vec<Span>,
    /// What went through channels of pipelines.
    pub channels: Vec<Channel>,
    /// What is known of the program and of the machine.
    pub about: About,
}

/// What a timeline is called, and what its clock and workers are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// The program, as it is shown.
    pub program: String,
    /// Workers.
    pub workers: u32,
    /// Names of kernels, by their numbers.
    pub kernels: Vec<String>,
}

impl Heading {
    fn timeline(self, clock: Clock, tasks: Vec<TaskRecord>) -> Timeline {
        let row = |number| Row { process: 0, number, name: format!("worker {number}") };
        Timeline {
            clock,
            processes: vec![self.program],
            rows: (0..self.workers).map(row).collect(),
            kernels: self.kernels,
            tasks,
            before: Lists::default(),
            indices: Lists::default(),
            details: Vec::new(),
            spans: Vec::new(),
            channels: Vec::new(),
            about: About::default(),
        }
    }
}

impl Timeline {
    /// The timeline of a measured run, whose tasks stand in the order of their ids, as [`Stats::trace`](crate::Stats::trace) has them.
    pub fn measured(mut heading: Heading, traces: &[TaskTrace], facts: &RunFacts) -> Timeline {
        let used = traces.iter().map(|trace| trace.worker + 1).max().unwrap_or(0);
        heading.workers = heading.workers.max(used);
        let mut before = Lists::default();
        for trace in traces {
            before.push(trace.preds.iter().copied());
        }
        Timeline { before, ..heading.timeline(Clock::Nanoseconds, why::measured(traces, facts)) }
    }

    /// A timeline without tasks.
    pub fn empty(heading: Heading) -> Timeline {
        heading.timeline(Clock::Nanoseconds, Vec::new())
    }

    /// The timeline of a program that is called so, with this key.
    #[must_use]
    pub fn of(mut self, program: String, key: u64) -> Timeline {
        self.processes = vec![program];
        self.about.key = Some(key);
        self
    }

    /// The task of an id.
    pub fn task(&self, id: TaskId) -> Option<&TaskRecord> {
        self.place(id).and_then(|at| self.tasks.get(at))
    }

    /// The place of a task among [`tasks`](Self::tasks).
    pub fn place(&self, id: TaskId) -> Option<usize> {
        match self.tasks.get(id.index()) {
            Some(task) if task.task == id => Some(id.index()),
            _ => self.tasks.binary_search_by_key(&id, |task| task.task).ok(),
        }
    }
}
