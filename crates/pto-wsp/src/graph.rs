//! Closures that wait for each other, on the runtime alone: no program, no kernels, no arrays.
//!
//! ```
//! use pto_wsp::graph::Graph;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! let (parts, total) = ([AtomicU32::new(0), AtomicU32::new(0)], AtomicU32::new(0));
//! let mut graph = Graph::new();
//! let first = graph.task(|| parts[0].store(3, Ordering::Relaxed)).id();
//! let second = graph.task(|| parts[1].store(4, Ordering::Relaxed)).id();
//! graph
//!     .task(|| total.store(parts.iter().map(|part| part.load(Ordering::Relaxed)).sum(), Ordering::Relaxed))
//!     .after([first, second]);
//! graph.run()?;
//! assert_eq!(total.load(Ordering::Relaxed), 7);
//! # Ok::<(), pto_wsp::graph::GraphError>(())
//! ```

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wsp_core::{KernelId, TaskId};
use wsp_cpu::workload::{KernelFault, KernelResult};
use wsp_runtime::{Deps, Failure, Party, Report, RunConfig, Stopped, TaskGraph, TaskRunner, TaskSpec};

/// The number of the next graph, by which it knows its tasks.
static NEXT: AtomicU64 = AtomicU64::new(0);

type Work<'g> = Box<dyn Fn() -> Result<(), KernelFault> + Send + Sync + 'g>;

/// Closures, each of which starts when those that it waits for have ended. A graph runs any number of times.
pub struct Graph<'g> {
    number: u64,
    graph: TaskGraph,
    work: Vec<Work<'g>>,
    config: RunConfig,
    /// The first task or edge that was refused.
    fault: Option<GraphError>,
}

/// A task of a [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    graph: u64,
    id: TaskId,
}

/// A task that was just added.
#[derive(Debug)]
pub struct NewTask<'a, 'g> {
    graph: &'a mut Graph<'g>,
    task: Task,
}

/// Why a graph did not run to its end. Tasks that were running have ended, the others were not started.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GraphError {
    /// A task gave an error: of several the one that was added first.
    Failed {
        /// Its number, from 0 on in the order in which tasks were added.
        task: u32,
        /// What it gave.
        message: String,
    },
    /// A task panicked.
    Panicked {
        /// Its number.
        task: u32,
        /// The panic's message.
        message: String,
    },
    /// Tasks wait for each other.
    Stuck {
        /// Numbers of tasks each of which waits for the next, and the last for the first.
        cycle: Vec<u32>,
        /// Tasks that did not run.
        unfinished: u64,
    },
    /// The flag of [`Graph::cancel`] was set.
    Cancelled,
    /// A task of another graph was named, the graph has too many tasks or edges, or the system gives no threads.
    Refused(String),
}

impl<'g> Graph<'g> {
    /// No tasks; a thread per core of this machine.
    pub fn new() -> Graph<'g> {
        Graph {
            // Relaxed: nothing follows but that numbers differ.
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            graph: TaskGraph::new(Deps::Explicit),
            work: Vec::new(),
            config: RunConfig { threads: 0, deps: Deps::Explicit, ..RunConfig::default() },
            fault: None,
        }
    }

    /// Threads that run tasks; 0 takes one per core of this machine.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Graph<'g> {
        self.config.threads = threads;
        self
    }

    /// When it becomes true, tasks that have not started are dropped and the run ends.
    #[must_use]
    pub fn cancel(mut self, flag: Arc<AtomicBool>) -> Graph<'g> {
        self.config.cancel = Some(flag);
        self
    }

    /// Adds a task. Each run calls the closure once; what it gives is nothing, or a `Result` whose error ends the run.
    pub fn task<R: KernelResult>(&mut self, work: impl Fn() -> R + Send + Sync + 'g) -> NewTask<'_, 'g> {
        let id = match self.graph.submit(TaskSpec::default()) {
            Ok(id) => {
                self.work.push(Box::new(move || work().ran()));
                id
            }
            Err(fault) => {
                self.refuse(&fault);
                TaskId(u32::MAX)
            }
        };
        let task = Task { graph: self.number, id };
        NewTask { graph: self, task }
    }

    /// Has one task wait for another, whichever was added first.
    pub fn order(&mut self, before: Task, after: Task) {
        let ours = before.graph == self.number && after.graph == self.number;
        if !ours {
            let message = "a task of another graph was named".to_owned();
            self.fault.get_or_insert(GraphError::Refused(message));
        } else if let Err(fault) = self.graph.depend(before.id, after.id) {
            self.refuse(&fault);
        }
    }

    /// Runs every task once.
    ///
    /// # Errors
    /// See [`GraphError`]. What was refused when the graph was made is an error of every run.
    pub fn run(&mut self) -> Result<(), GraphError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let Graph { graph, work, config, .. } = self;
        graph.run(config, &Runner(work)).map(|_| ()).map_err(GraphError::of)
    }

    fn refuse(&mut self, fault: &Stopped) {
        self.fault.get_or_insert(GraphError::Refused(fault.to_string()));
    }
}

impl NewTask<'_, '_> {
    /// Starts only when these have ended. May be called several times.
    pub fn after(self, tasks: impl IntoIterator<Item = Task>) -> Self {
        for before in tasks {
            self.graph.order(before, self.task);
        }
        self
    }

    /// The task, for others to wait for.
    pub fn id(self) -> Task {
        self.task
    }
}

impl GraphError {
    fn of<E>(failure: Failure<KernelFault, E>) -> GraphError {
        match failure {
            Failure::Task { task, failure } => {
                GraphError::Failed { task: task.id.0, message: failure.message }
            }
            Failure::Panic { task, message } => GraphError::Panicked { task: task.id.0, message },
            Failure::Stuck(Report { unfinished, cycle, .. }) => {
                let number = |party| match party {
                    Party::Task { task, .. } => Some(task.0),
                    _ => None,
                };
                GraphError::Stuck { cycle: cycle.into_iter().filter_map(number).collect(), unfinished }
            }
            Failure::Cancelled => GraphError::Cancelled,
            Failure::Start(error) => GraphError::Refused(error.to_string()),
            Failure::Source(_) => unreachable!("a stored graph has no source"),
        }
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Failed { task, message } => write!(f, "task {task} failed: {message}"),
            GraphError::Panicked { task, message } => write!(f, "task {task} panicked: {message}"),
            GraphError::Stuck { cycle, unfinished } => {
                let cycle: Vec<String> = cycle.iter().map(ToString::to_string).collect();
                let cycle = cycle.join(", ");
                write!(
                    f,
                    "tasks wait for each other, each for the next and the last for the first: {cycle}; {unfinished} did not run"
                )
            }
            GraphError::Cancelled => f.write_str("the run was cancelled"),
            GraphError::Refused(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for GraphError {}

impl Default for Graph<'_> {
    fn default() -> Self {
        Graph::new()
    }
}

impl fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph of {} tasks", self.work.len())
    }
}

/// Tasks are numbered as they were added.
struct Runner<'a, 'g>(&'a [Work<'g>]);

impl TaskRunner for Runner<'_, '_> {
    type Failure = KernelFault;

    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), KernelFault> {
        (self.0[task.index()])()
    }
}
