//! The task graph of a workload, listed.

use super::codes;
use super::declared::modes;
use super::inputs::WorkloadOptions;
use super::settings::affinity;
use super::touch::{Touched, Toucher};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;
use wsp_core::{ExecPool, Region, SlotId, StreamId, TaskId, limits};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::{AccessMode, Unit, WorkloadModule};
use wsp_plan::workload::{TaskRecord, TaskSink};
use wsp_runtime::infer::{Accesses, MapError, unordered_hazards};
use wsp_runtime::{Deps, Stopped, TaskGraph, TaskSpec};

/// Which edges a listed graph has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GraphDeps {
    /// Those of the schedule.
    #[default]
    Schedule,
    /// From the newest writer of exactly the same box to each reader, once per box read.
    Exact,
    /// One for every pair of tasks that share an element that one of them writes, unless a later write hides it.
    Overlap,
    /// Those that `after`, ordered loops and streams say.
    Explicit,
}

/// A kernel of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphKernel {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub unit: Unit,
}

/// An access of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphAccess {
    /// The task.
    pub task: u32,
    /// Its number among the task's accesses.
    pub arg: u32,
    /// What the task does with the box.
    pub mode: AccessMode,
    /// The box; its tensor is an index into [`GraphListing::tensors`].
    pub region: Region,
}

/// Two tasks that touch the same elements and that the graph's edges do not order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedHazard {
    /// The task that comes first in elaboration order.
    pub earlier: u32,
    /// The other.
    pub later: u32,
}

/// The tasks of a workload and the edges between them.
#[derive(Clone, Debug, Default)]
pub struct GraphListing {
    /// Kernels; the last is that of order points.
    pub kernels: Vec<GraphKernel>,
    /// Index of the kernel of each task, by id.
    pub tasks: Vec<u32>,
    /// `(earlier, later)`, by the later task, in the order in which they were found.
    pub edges: Vec<(u32, u32)>,
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// Accesses of all tasks, when asked for.
    pub accesses: Vec<GraphAccess>,
    /// The first hazards that the edges do not order, at most [`MOST_LISTED`].
    pub missed: Vec<MissedHazard>,
    /// All of them.
    pub missed_count: u64,
}

/// Most hazards that a listing names.
pub const MOST_LISTED: usize = 16;

/// The name of the kernel of order points: where a step of an ordered loop ends and the next may begin.
pub const ORDER_POINT: &str = "@order";

/// What a listing holds besides tasks and edges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Detail {
    /// The list of accesses.
    pub accesses: bool,
    /// Hazards that the edges do not order.
    pub missed: bool,
}

/// Builds a graph from generated tasks.
pub(crate) struct GraphSink<'a, T> {
    module: &'a WorkloadModule,
    pub(crate) toucher: T,
    pub(crate) graph: TaskGraph,
    /// Tasks by ordinal: order points have ids too.
    ids: Vec<TaskId>,
    /// Slots that some task writes.
    written: Vec<bool>,
    slot_inits: Vec<i64>,
    /// Whether tasks wait for what `after` names.
    explicit: bool,
    detail: Detail,
    accesses: Vec<GraphAccess>,
    /// Boxes of every task, to look for hazards that the edges miss; order points touch nothing.
    touched: Vec<(SmallVec<[Region; 4]>, SmallVec<[Region; 2]>)>,
    options: &'a WorkloadOptions,
}

/// Why a graph cannot be built.
#[derive(Debug)]
pub(crate) enum GraphFault {
    Computed(SlotId),
    Full(Stopped),
    Unchecked(MapError),
    Touch(Diagnostic),
}

impl GraphFault {
    pub(crate) fn diagnostic(self, module: &WorkloadModule) -> Diagnostic {
        match self {
            GraphFault::Computed(slot) => {
                let slot = &module.slots[slot.index()];
                let name = &module.tensors[slot.tensor.index()].name;
                Diagnostic::error(codes::SLOT_IN_GRAPH, format!("the task graph depends on slot `{name}`, which tasks write"))
                    .at(slot.span, "its value is known only while the tasks run")
                    .help("use `wsp run`, which generates tasks while others run")
            }
            GraphFault::Full(reason) => Diagnostic::error(codes::TOO_MANY_TASKS, reason.to_string()),
            GraphFault::Unchecked(reason) => Diagnostic::error(codes::TOO_MANY_TASKS, reason.to_string()),
            GraphFault::Touch(fault) => fault,
        }
    }
}

impl<'a, T: Toucher> GraphSink<'a, T> {
    pub(crate) fn new(
        module: &'a WorkloadModule,
        slot_inits: Vec<i64>,
        toucher: T,
        deps: Deps,
        detail: Detail,
        options: &'a WorkloadOptions,
    ) -> GraphSink<'a, T> {
        GraphSink {
            module,
            toucher,
            graph: TaskGraph::new(deps),
            ids: Vec::new(),
            written: vec![false; module.slots.len()],
            slot_inits,
            explicit: deps.takes_edges(),
            detail,
            accesses: Vec::new(),
            touched: Vec::new(),
            options,
        }
    }

    fn keep(&mut self, id: TaskId, task: &TaskRecord<'_>) {
        let modes = modes(&self.module.kernels[task.kernel.index()]);
        let touched = self.toucher.touched(task);
        if modes.is_empty() {
            let reads = touched.reads.iter().map(|r| (AccessMode::In, *r));
            let all = reads.chain(touched.writes.iter().map(|r| (AccessMode::Out, *r)));
            let numbered = all.zip(0..).map(|((mode, region), arg)| GraphAccess { task: id.0, arg, mode, region });
            self.accesses.extend(numbered);
        } else {
            let all = modes.into_iter().zip(task.boxes).zip(0..);
            self.accesses.extend(all.map(|((mode, &region), arg)| GraphAccess { task: id.0, arg, mode, region }));
        }
    }

    /// The list of what was built.
    pub(crate) fn into_listing(mut self, tensors: Vec<String>) -> Result<GraphListing, GraphFault> {
        self.touched.resize_with(if self.detail.missed { self.graph.len() } else { 0 }, Default::default);
        let graph = &self.graph;
        let order = self.module.kernels.len() as u32;
        let kernels = self.module.kernels.iter().map(|k| GraphKernel { name: k.name.clone(), unit: k.unit });
        let point = GraphKernel { name: ORDER_POINT.to_owned(), unit: Unit::Any };
        let all = (0..graph.len() as u32).map(TaskId);
        let edges: Vec<(u32, u32)> = graph.edges().map(|(a, b)| (a.0, b.0)).collect();
        let boxes: Vec<Accesses<'_>> = self.touched.iter().map(|(reads, writes)| Accesses::new(reads, writes)).collect();
        let missed = unordered_hazards(&boxes, &edges).map_err(GraphFault::Unchecked)?;
        let first = missed.iter().take(MOST_LISTED);
        Ok(GraphListing {
            kernels: kernels.chain([point]).collect(),
            tasks: all.map(|t| if graph.is_order_point(t) { order } else { u32::from(graph.kernel(t).0) }).collect(),
            edges,
            tensors,
            accesses: self.accesses,
            missed: first.map(|found| MissedHazard { earlier: found.other, later: found.task }).collect(),
            missed_count: missed.len() as u64,
        })
    }
}

impl<T: Toucher> TaskSink for GraphSink<'_, T> {
    type Error = GraphFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), GraphFault> {
        if self.graph.len() >= limits::MAX_GRAPH_TASKS as usize {
            return Err(GraphFault::Full(Stopped::TooManyTasks));
        }
        let Touched { reads, writes } = self.toucher.touch(task).map_err(GraphFault::Touch)?;
        for (slot, written) in self.module.slots.iter().zip(&mut self.written) {
            *written |= writes.iter().any(|region| region.tensor == slot.tensor);
        }
        let after: Vec<TaskId> = if self.explicit {
            task.after.iter().map(|&ordinal| self.ids[ordinal as usize]).collect()
        } else {
            Vec::new()
        };
        let spec = TaskSpec {
            kernel: task.kernel,
            payload: &[],
            reads,
            writes,
            affinity: affinity(&task.place, self.options.threads.max(1)),
            pool: pool(task.place.pool),
            stream: task.place.stream.map(StreamId),
            priority: task.place.priority,
            after: &after,
            ..TaskSpec::default()
        };
        let id = self.graph.submit(spec).map_err(GraphFault::Full)?;
        self.ids.push(id);
        if self.detail.missed {
            self.touched.resize_with(id.index(), Default::default);
            let touched = self.toucher.touched(task);
            self.touched.push((touched.reads.into(), touched.writes.into()));
        }
        if self.detail.accesses {
            self.keep(id, task);
        }
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), GraphFault> {
        self.graph.ordered_begin();
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), GraphFault> {
        self.graph.ordered_step().map_err(GraphFault::Full)
    }

    fn ordered_end(&mut self) -> Result<(), GraphFault> {
        self.graph.ordered_end().map_err(GraphFault::Full)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, GraphFault> {
        if self.written[slot.index()] { Err(GraphFault::Computed(slot)) } else { Ok(self.slot_inits[slot.index()]) }
    }

    fn cancelled(&self) -> bool {
        self.options.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// The runtime's name of an execution unit.
pub(crate) fn pool(unit: Unit) -> ExecPool {
    match unit {
        Unit::Vector => ExecPool::Vector,
        Unit::Cube => ExecPool::Cube,
        Unit::Any => ExecPool::Any,
    }
}
