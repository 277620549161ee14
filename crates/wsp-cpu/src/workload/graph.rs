//! The task graph of a workload, listed.

use super::codes;
use super::settings::{affinity, stopped};
use super::touch::{Touched, Toucher};
use crate::dealt::Dealing;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_backend::{
    BARRIER_NODE, Coordinates, Detail, GraphAccess, GraphKernel, GraphListing, MOST_LISTED, MissedHazard,
};
use wsp_core::ptow::interp::Ordered;
use wsp_core::words::counted;
use wsp_core::{ExecPool, Region, SlotId, StreamId, TaskId, limits};
use wsp_diag::Diagnostic;
use wsp_ir::workload::{AccessMode, Kernel, KernelParam, ParamKind, Signature, WorkloadModule};
use wsp_plan::workload::{TaskRecord, TaskSink, modes};
use wsp_runtime::infer::{Accesses, MapError, unordered_hazards};
use wsp_runtime::{Deps, Gate, Stopped, TaskGraph, TaskSpec};

/// Builds a graph from generated tasks.
pub(crate) struct GraphSink<'a> {
    module: &'a WorkloadModule,
    toucher: &'a mut dyn Toucher,
    /// Modes of each kernel's tensor parameters, where accesses are kept.
    modes: Vec<Vec<AccessMode>>,
    built: BuiltGraph,
    /// Tasks by ordinal: barrier nodes have ids too.
    ids: Vec<TaskId>,
    /// Slots that some task writes.
    written: Vec<bool>,
    slots: &'a [i64],
    /// Whether tasks wait for what `after` names.
    explicit: bool,
    detail: Detail,
    workers: u32,
    /// AICPUs that tasks are dealt to; 0 where they are the host's.
    pub(crate) aicpus: u16,
    /// One more task is an error.
    pub(crate) most: u32,
    cancel: Option<&'a AtomicBool>,
}

/// Regions that a task reads, and those that it writes.
type TaskRegions = (SmallVec<[Region; 4]>, SmallVec<[Region; 2]>);

/// A graph with what its tasks touch, as far as that was asked for.
pub(crate) struct BuiltGraph {
    pub(crate) graph: TaskGraph,
    accesses: Vec<GraphAccess>,
    coordinates: Coordinates,
    /// Regions of every task, to look for hazards that the edges miss; barrier nodes touch nothing.
    touched: Vec<TaskRegions>,
    /// The tile of each task, where there is a grid.
    tiles: Vec<u32>,
    /// Where tasks are dealt to AICPUs: that of each task, and the boundaries of ordered scopes.
    pub(crate) dealing: Dealing,
}

/// Why a graph cannot be built.
#[derive(Debug)]
pub(crate) enum GraphFault {
    /// Which tasks there are depends on a slot that tasks write.
    Computed(SlotId),
    /// More than [`limits::MAX_GRAPH_TASKS`] tasks.
    TooManyTasks,
    /// The graph takes no more.
    Full(Stopped),
    /// A task cannot be.
    Touch(Diagnostic),
}

impl GraphFault {
    /// As the user sees it; `instead` says what to do when there can be no graph, and the same in Python.
    pub(crate) fn diagnostic(self, module: &WorkloadModule, instead: [&'static str; 2]) -> Diagnostic {
        match self {
            GraphFault::Computed(slot) => {
                let slot = &module.slots[slot.index()];
                let name = &module.tensors[slot.tensor.index()].name;
                let message = format!("the task graph depends on slot `{name}`, which tasks write");
                Diagnostic::error(codes::SLOT_IN_GRAPH, message)
                    .at(slot.span, "its value is known only while the tasks run")
                    .help(instead[0])
                    .python(instead[1])
            }
            GraphFault::TooManyTasks => {
                let message = format!("the graph has more than {}", counted(limits::MAX_GRAPH_TASKS, "task"));
                Diagnostic::error(codes::TOO_MANY_TASKS, message).help(instead[0]).python(instead[1])
            }
            GraphFault::Full(reason) => stopped(&reason),
            GraphFault::Touch(fault) => fault,
        }
    }
}

impl<'a> GraphSink<'a> {
    /// An empty graph; tasks are placed on `workers`.
    pub(crate) fn new(
        module: &'a WorkloadModule,
        slots: &'a [i64],
        toucher: &'a mut dyn Toucher,
        deps: Deps,
        detail: Detail,
        workers: u32,
        cancel: Option<&'a AtomicBool>,
    ) -> GraphSink<'a> {
        let graph = TaskGraph::new(deps);
        GraphSink {
            module,
            toucher,
            modes: module.kernels.iter().map(modes).collect(),
            built: BuiltGraph {
                graph,
                accesses: Vec::new(),
                coordinates: Coordinates::default(),
                touched: Vec::new(),
                tiles: Vec::new(),
                dealing: Dealing::default(),
            },
            ids: Vec::new(),
            written: vec![false; module.slots.len()],
            slots,
            explicit: deps.takes_edges(),
            detail,
            workers,
            aicpus: 0,
            most: limits::MAX_GRAPH_TASKS,
            cancel,
        }
    }

    /// From now on a slot that is read makes the graph one that depends on what tasks compute, whether tasks write it or not.
    pub(crate) fn slots_decide(&mut self) {
        self.written.fill(true);
    }

    /// Notes the boundary of an ordered scope, where AICPUs need it.
    fn bound(&mut self, scope: Ordered) {
        if self.aicpus > 0 {
            self.built.dealing.scopes.push((self.ids.len() as u64, scope));
        }
    }

    /// What was built.
    pub(crate) fn into_graph(self) -> BuiltGraph {
        self.built
    }

    /// Keeps what a task touches, as far as it is asked for.
    fn keep(&mut self, id: TaskId, task: &TaskRecord<'_>) {
        if self.detail.coordinates {
            let of_call = coordinates(&self.module.kernels[task.kernel.index()]);
            let Coordinates { ends, values } = &mut self.built.coordinates;
            ends.resize(id.index(), values.len() as u32);
            values.extend_from_slice(
                task.scalars.get(..of_call).filter(|found| !found.is_empty()).unwrap_or(task.indices),
            );
            ends.push(values.len() as u32);
        }
        let touched = self.toucher.touched(task);
        let BuiltGraph { accesses, touched: all, .. } = &mut self.built;
        if self.detail.missed {
            all.resize_with(id.index(), Default::default);
            all.push((touched.reads.into(), touched.writes.into()));
        }
        if !self.detail.accesses {
            return;
        }
        let access = |((mode, region), arg): ((AccessMode, &Region), u32)| GraphAccess {
            task: id.0,
            arg,
            mode,
            region: *region,
        };
        let modes = &self.modes[task.kernel.index()];
        if modes.is_empty() {
            // A kernel of a used file, which declares no tensors.
            let reads = touched.reads.iter().map(|region| (AccessMode::In, region));
            let writes = touched.writes.iter().map(|region| (AccessMode::Out, region));
            accesses.extend(reads.chain(writes).zip(0..).map(access));
        } else {
            accesses.extend(modes.iter().copied().zip(task.regions).zip(0..).map(access));
        }
    }
}

/// How many of a kernel's integers, the first ones, are the coordinates of a call in Python.
pub(super) fn coordinates(kernel: &Kernel) -> usize {
    let Signature::Declared(params) = &kernel.signature else { return 0 };
    let is_one = |param: &&KernelParam| param.kind == ParamKind::Scalar && param.name.starts_with("coord_");
    params.iter().take_while(is_one).count()
}

impl BuiltGraph {
    /// The list of what was built, with the edges that hold in a run with these gates.
    ///
    /// # Errors
    /// There are too many regions to look for hazards among them.
    pub(crate) fn listing(
        mut self,
        module: &WorkloadModule,
        tensors: Vec<String>,
        detail: Detail,
        gates: &[Gate],
    ) -> Result<GraphListing, MapError> {
        let graph = &self.graph;
        let order = module.kernels.len() as u32;
        let kernels = module.kernels.iter().map(|k| GraphKernel { name: k.name.clone(), unit: k.unit });
        let point = GraphKernel { name: BARRIER_NODE.to_owned(), unit: ExecPool::Any };
        let all = (0..graph.len() as u32).map(TaskId);
        let edges: Vec<(u32, u32)> = graph.edges_under(gates).map(|(a, b)| (a.0, b.0)).collect();
        let mut missed = Vec::new();
        if detail.missed {
            self.touched.resize_with(graph.len(), Default::default);
            let regions = self.touched.iter().map(|(reads, writes)| Accesses::new(reads, writes));
            missed = unordered_hazards(&regions.collect::<Vec<_>>(), &edges)?;
        }
        let first = missed.iter().take(MOST_LISTED);
        let kernel_of = |t| if graph.is_barrier_node(t) { order } else { u32::from(graph.kernel(t).0) };
        let mut listing = GraphListing::default();
        listing.kernels = kernels.chain([point]).collect();
        listing.tasks = all.map(kernel_of).collect();
        if detail.coordinates {
            self.coordinates.ends.resize(graph.len(), self.coordinates.values.len() as u32);
        }
        (listing.edges, listing.tensors, listing.accesses) = (edges, tensors, self.accesses);
        listing.coordinates = self.coordinates;
        listing.missed =
            first.map(|found| MissedHazard { earlier: found.other, later: found.task }).collect();
        listing.missed_count = missed.len() as u64;
        listing.tiles = self.tiles;
        Ok(listing)
    }
}

impl TaskSink for GraphSink<'_> {
    type Error = GraphFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), GraphFault> {
        if self.ids.len() >= self.most as usize {
            return Err(GraphFault::TooManyTasks);
        }
        self.toucher.touch(task).map_err(GraphFault::Touch)?;
        let tile = self.toucher.tile(task);
        self.built.tiles.extend(tile);
        let Touched { reads, writes } = self.toucher.touched(task);
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
            // A run of the graph finds the task by it.
            payload: &[task.ordinal as u32],
            reads,
            writes,
            affinity: affinity(&task.place, tile, self.workers),
            pool: task.place.pool,
            stream: task.place.stream.map(StreamId),
            priority: task.place.priority,
            after: &after,
            ..TaskSpec::default()
        };
        let id = self.built.graph.submit(spec).map_err(GraphFault::Full)?;
        self.ids.push(id);
        if self.aicpus > 0 {
            let said = task.place.dispatch.and_then(|dispatched| dispatched.worker(self.aicpus.into()));
            let in_turn = (task.ordinal % u64::from(self.aicpus)) as u32;
            self.built.dealing.owners.push(said.unwrap_or(in_turn) as u16);
        }
        if self.detail != Detail::default() {
            self.keep(id, task);
        }
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), GraphFault> {
        self.bound(Ordered::Begin);
        self.built.graph.ordered_begin();
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), GraphFault> {
        self.bound(Ordered::Step);
        self.built.graph.ordered_step().map_err(GraphFault::Full)
    }

    fn ordered_end(&mut self) -> Result<(), GraphFault> {
        self.bound(Ordered::End);
        self.built.graph.ordered_end().map_err(GraphFault::Full)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, GraphFault> {
        if self.written[slot.index()] {
            Err(GraphFault::Computed(slot))
        } else {
            Ok(self.slots[slot.index()])
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
