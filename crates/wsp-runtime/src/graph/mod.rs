//! The stored graph: built as a whole, then run any number of times.

pub(crate) mod core;
mod exchange;
mod runs;
mod solo;
pub(crate) mod stored;
mod stuck;

pub use self::exchange::ReadyQueue;

use self::core::{Attributes, Core};
use crate::infer::{Hazard, TiledTensor, TilingError};
use crate::inference::Inference;
use crate::scopes::{Orders, Scopes};
use crate::{Deps, EdgeStats, Gate, Stopped, TaskSpec};
use rustc_hash::FxHashMap;
use wsp_core::{EventId, KernelId, StreamId, TaskId, TensorId, limits};

/// Edges below which no check is needed for a task's few order edges.
const SPARE_EDGES: u64 = 1 << 8;
/// Most nodes and edges together.
const MOST_RECORDS: u64 = limits::MAX_TASKS as u64 - SPARE_EDGES;

const HAZARDS: usize = 3;

/// An event of a graph.
#[derive(Clone, Copy, Debug)]
struct Event {
    node: u32,
    signalled: bool,
}

/// Tasks and the order among them, in memory.
///
/// Tasks and barrier nodes (fences, events, steps of ordered scopes) share one numbering, in order of submission.
/// [`clear`](Self::clear) keeps the memory for the next graph.
///
/// ```
/// use wsp_core::{KernelId, TaskId};
/// use wsp_runtime::{Deps, RunConfig, TaskGraph, TaskRunner, TaskSpec};
///
/// /// Prints nothing, computes nothing.
/// struct Nothing;
///
/// impl TaskRunner for Nothing {
///     type Failure = ();
///     fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
///         Ok(())
///     }
/// }
///
/// let mut graph = TaskGraph::new(Deps::Explicit);
/// let first = graph.submit(TaskSpec::default()).unwrap();
/// graph.submit(TaskSpec { after: &[first], ..TaskSpec::default() }).unwrap();
/// for _ in 0..2 {
///     assert_eq!(graph.run(&RunConfig::default(), &Nothing).unwrap().tasks, 2);
/// }
/// ```
#[derive(Debug)]
pub struct TaskGraph {
    core: Core,
    deps: Deps,
    inference: Inference<u32>,
    /// Scratch: whom the task at hand waits for.
    preds: Vec<TaskId>,
    /// Whether scopes or a fence order the next task.
    ordered: bool,
    scopes: Scopes<u32>,
    fence: Option<u32>,
    /// The first node that the next fence waits for.
    since_fence: u32,
    events: Vec<Event>,
    /// The last task of each stream.
    streams: FxHashMap<StreamId, u32>,
    /// The edges that streams made.
    stream_edges: Vec<(u32, u32)>,
    /// Edges that regions did not make.
    edges: EdgeStats,
    /// Edges that regions made, by hazard.
    hazards: [u64; HAZARDS],
}

impl TaskGraph {
    /// An empty graph whose edges come from where `deps` says.
    pub fn new(deps: Deps) -> TaskGraph {
        TaskGraph {
            core: Core::default(),
            deps,
            inference: Inference::new(deps),
            preds: Vec::new(),
            ordered: false,
            scopes: Scopes::default(),
            fence: None,
            since_fence: 0,
            events: Vec::new(),
            streams: FxHashMap::default(),
            stream_edges: Vec::new(),
            edges: EdgeStats::default(),
            hazards: [0; HAZARDS],
        }
    }

    /// Adds a task after all that it must wait for: see [`TaskSpec`] and [`Deps`].
    ///
    /// # Errors
    /// The task cannot be: see [`Stopped`]. It is then not in the graph.
    #[inline(always)]
    pub fn submit(&mut self, spec: TaskSpec<'_>) -> Result<TaskId, Stopped> {
        let plain = spec.is_plain();
        self.check(&spec, plain)?;
        let token = if self.ordered { self.scope_token() } else { None };
        let node = if self.deps.infers() && spec.has_accesses() {
            self.add_inferred(&spec)?
        } else {
            self.core.add_task(spec.kernel, spec.payload, spec.after)
        };
        self.edges.explicit += spec.after.len() as u64;
        if !plain || self.ordered {
            self.order(node, &spec, token);
        }
        Ok(TaskId(node))
    }

    /// Registers a tensor of this shape, in elements, cut into tiles of these extents, before its first access:
    /// [`TaskSpec::tile_reads`] and [`TaskSpec::tile_writes`] then name its tiles, until the graph is dropped.
    ///
    /// ```
    /// use wsp_core::{TaskId, TensorId};
    /// use wsp_runtime::{Deps, TaskGraph, TaskSpec};
    ///
    /// let mut graph = TaskGraph::new(Deps::Overlap);
    /// let x = graph.tiled(TensorId(0), &[64, 128], &[32, 128]).unwrap();
    /// let (upper, lower) = (x.tile(&[0, 0]).unwrap(), x.tile(&[1, 0]).unwrap());
    /// graph.submit(TaskSpec { tile_writes: &[upper], ..TaskSpec::default() }).unwrap();
    /// graph.submit(TaskSpec { tile_writes: &[lower], ..TaskSpec::default() }).unwrap();
    /// // Tiles and regions of a tensor mix.
    /// let both = x.region(&[1, 0]).unwrap();
    /// graph.submit(TaskSpec { tile_reads: &[upper], reads: &[both], ..TaskSpec::default() }).unwrap();
    /// assert!(graph.edges().eq([(TaskId(0), TaskId(2)), (TaskId(1), TaskId(2))]));
    /// ```
    ///
    /// # Errors
    /// See [`TilingError`].
    pub fn tiled(
        &mut self,
        tensor: TensorId,
        shape: &[u32],
        tile: &[u32],
    ) -> Result<TiledTensor, TilingError> {
        self.inference.tiled(tensor, shape, tile)
    }

    /// Adds an edge between two tasks of the graph, in whatever order they were submitted.
    ///
    /// Edges may close a cycle: then the run reports it.
    ///
    /// # Errors
    /// There is no such task, or edges are not given in this graph.
    pub fn depend(&mut self, before: TaskId, after: TaskId) -> Result<(), Stopped> {
        if !self.deps.takes_edges() {
            return Err(Stopped::EdgeNotTaken);
        }
        if let Some(&unknown) = [before, after].iter().find(|task| task.0 >= self.core.len()) {
            return Err(Stopped::UnknownTask(unknown));
        }
        self.check_records(1)?;
        self.core.link(before.0, after.0);
        self.edges.explicit += 1;
        Ok(())
    }

    /// Makes an event.
    ///
    /// # Errors
    /// The graph is full.
    pub fn event(&mut self) -> Result<EventId, Stopped> {
        self.check_records(0)?;
        let event = EventId(self.events.len() as u32);
        self.events.push(Event { node: self.core.add_barrier_node(true), signalled: false });
        Ok(event)
    }

    /// Begins a scope whose steps run one after another. Scopes nest: one that begins within a step belongs to that step.
    pub fn ordered_begin(&mut self) {
        self.scopes.begin();
        self.ordered = true;
    }

    /// Tasks submitted later in the innermost scope start when all tasks submitted before in that scope are complete.
    ///
    /// # Errors
    /// No scope has begun.
    pub fn ordered_step(&mut self) -> Result<(), Stopped> {
        if self.scopes.step() { Ok(()) } else { Err(Stopped::NoOrderedScope) }
    }

    /// Ends the innermost scope.
    ///
    /// # Errors
    /// No scope has begun.
    pub fn ordered_end(&mut self) -> Result<(), Stopped> {
        let TaskGraph { core, scopes, edges, .. } = self;
        if !scopes.end(&Linker { core, edges }) {
            return Err(Stopped::NoOrderedScope);
        }
        self.ordered = !self.scopes.is_empty() || self.fence.is_some();
        Ok(())
    }

    /// Tasks submitted later start when all submitted so far are complete.
    ///
    /// # Errors
    /// The graph is full.
    pub fn fence(&mut self) -> Result<(), Stopped> {
        let tasks = self.since_fence..self.core.len();
        self.check_records(tasks.len() as u64)?;
        if tasks.clone().all(|node| self.core.is_barrier_node(node)) {
            return Ok(());
        }
        let point = self.core.add_barrier_node(false);
        for node in tasks.filter(|&node| !self.core.is_barrier_node(node)).collect::<Vec<_>>() {
            self.core.link(node, point);
            self.edges.fence += 1;
        }
        // Whatever comes later is ordered after these accesses by the fence.
        self.inference.begin_at(self.core.len());
        self.fence = Some(point);
        self.since_fence = self.core.len();
        self.ordered = true;
        Ok(())
    }

    /// Forgets all tasks; keeps the memory and the registered tensors.
    pub fn clear(&mut self) {
        self.core.clear();
        self.inference.clear();
        self.ordered = false;
        self.scopes.clear();
        self.fence = None;
        self.since_fence = 0;
        self.events.clear();
        self.streams.clear();
        self.stream_edges.clear();
        self.edges = EdgeStats::default();
        self.hazards = [0; HAZARDS];
    }

    /// Tasks and barrier nodes.
    pub fn len(&self) -> usize {
        self.core.len() as usize
    }

    /// Whether there is no task and no barrier node.
    pub fn is_empty(&self) -> bool {
        self.core.len() == 0
    }

    /// Tasks.
    pub fn tasks(&self) -> u64 {
        u64::from(self.core.len() - self.core.barrier_nodes())
    }

    /// Edges, counting every one between the same two tasks.
    pub fn edge_count(&self) -> u64 {
        self.core.edge_count()
    }

    /// Edges by what made them.
    pub fn edge_stats(&self) -> EdgeStats {
        let of = |hazard: Hazard| self.hazards[hazard as usize];
        EdgeStats { raw: of(Hazard::Raw), waw: of(Hazard::Waw), war: of(Hazard::War), ..self.edges }
    }

    /// Every edge: by predecessor, then in the order in which they were made.
    pub fn edges(&self) -> impl Iterator<Item = (TaskId, TaskId)> + '_ {
        (0..self.core.len()).flat_map(|from| {
            let mut list = Vec::new();
            self.core.each_successor(from, |to| list.push((TaskId(from), TaskId(to))));
            list.reverse();
            list
        })
    }

    /// Tasks and order points that wait for nothing: those that are ready when a run begins, but events, which happen when they are signalled.
    pub fn roots(&self) -> impl Iterator<Item = TaskId> + '_ {
        (0..self.core.len()).filter(|&node| self.core.fan_in(node) == 0).map(TaskId)
    }

    /// The edges that order tasks in a run with these gates: all but those of streams, where several tasks of one stream may be in
    /// flight. By predecessor, then in the order in which they were made.
    pub fn edges_under(&self, gates: &[Gate]) -> impl Iterator<Item = (TaskId, TaskId)> + '_ {
        let of_streams = if Gate::stream_depth(gates) > 1 { &self.stream_edges[..] } else { &[] };
        let mut keeps = all_but(of_streams);
        self.edges().filter(move |(before, after)| keeps((before.0, after.0)))
    }

    /// Edges to a task.
    ///
    /// # Panics
    /// When there is no such task.
    pub fn predecessor_count(&self, task: TaskId) -> u32 {
        let unsignalled = self.core.is_barrier_node(task.0)
            && self.events.iter().any(|event| event.node == task.0 && !event.signalled);
        self.core.fan_in(task.0) - u32::from(unsignalled)
    }

    /// Edges from a task.
    ///
    /// # Panics
    /// When there is no such task.
    pub fn successor_count(&self, task: TaskId) -> u32 {
        let mut count = 0;
        self.core.each_successor(task.0, |_| count += 1);
        count
    }

    /// The kernel of a task; of a barrier node, kernel 0.
    ///
    /// # Panics
    /// When there is no such task.
    pub fn kernel(&self, task: TaskId) -> KernelId {
        self.core.kernel(task.0)
    }

    /// The payload of a task; of a barrier node, nothing.
    ///
    /// # Panics
    /// When there is no such task.
    pub fn payload(&self, task: TaskId) -> &[u32] {
        self.core.payload(task.0)
    }

    /// Whether it is a fence, an event or a step of an ordered scope rather than a task.
    ///
    /// # Panics
    /// When there is neither.
    pub fn is_barrier_node(&self, task: TaskId) -> bool {
        self.core.is_barrier_node(task.0)
    }

    /// Where a task runs and when it is preferred.
    pub(crate) fn attributes(&self, task: TaskId) -> Attributes {
        self.core.attributes(task.0)
    }

    /// The edges that streams made, which are among [`edges`](Self::edges).
    pub(crate) fn stream_edges(&self) -> &[(u32, u32)] {
        &self.stream_edges
    }

    /// The barrier node of each event, ascending, and whether a task signals it.
    pub(crate) fn event_points(&self) -> impl Iterator<Item = (TaskId, bool)> + '_ {
        self.events.iter().map(|event| (TaskId(event.node), event.signalled))
    }

    /// Bytes of memory held for tasks, edges and payloads.
    pub fn bytes(&self) -> u64 {
        self.core.bytes()
    }

    /// Checks a task before anything is changed.
    #[inline(always)]
    fn check(&self, spec: &TaskSpec<'_>, plain: bool) -> Result<(), Stopped> {
        if spec.payload.len() > limits::MAX_PAYLOAD_WORDS as usize {
            return Err(Stopped::PayloadTooLong { words: spec.payload.len() });
        }
        self.check_records(spec.after.len() as u64)?;
        if !spec.after.is_empty() {
            if !self.deps.takes_edges() {
                return Err(Stopped::EdgeNotTaken);
            }
            if let Some(&unknown) = spec.after.iter().find(|task| task.0 >= self.core.len()) {
                return Err(Stopped::UnknownTask(unknown));
            }
        }
        if plain { Ok(()) } else { self.check_events(spec) }
    }

    #[cold]
    fn check_events(&self, spec: &TaskSpec<'_>) -> Result<(), Stopped> {
        let known = |event: &EventId| event.index() < self.events.len();
        if let Some(&unknown) = spec.waits.iter().chain(&spec.signals).find(|event| !known(event)) {
            return Err(Stopped::UnknownEvent(unknown));
        }
        match spec.signals {
            Some(event) if self.events[event.index()].signalled => Err(Stopped::SignalledTwice(event)),
            _ => Ok(()),
        }
    }

    /// Whether one more task, which may wait for all the others, and so many edges can be stored.
    #[inline(always)]
    fn check_records(&self, edges: u64) -> Result<(), Stopped> {
        let nodes = u64::from(self.core.len());
        if self.core.edge_count() + nodes + edges < MOST_RECORDS { Ok(()) } else { Err(self.full()) }
    }

    #[cold]
    fn full(&self) -> Stopped {
        if u64::from(self.core.len()) >= MOST_RECORDS { Stopped::TooManyTasks } else { Stopped::TooManyEdges }
    }

    /// Adds a task with the edges that are given and those that regions make.
    #[inline(never)]
    fn add_inferred(&mut self, spec: &TaskSpec<'_>) -> Result<u32, Stopped> {
        let TaskGraph { core, inference, hazards, preds, .. } = self;
        preds.clear();
        if !spec.after.is_empty() {
            preds.extend_from_slice(spec.after);
        }
        let found = inference.infer(
            core.len(),
            spec.accesses(),
            |_| true,
            |earlier, hazard| {
                preds.push(TaskId(earlier));
                hazards[hazard as usize] += 1;
            },
        );
        match found {
            Ok(()) => Ok(core.add_task(spec.kernel, spec.payload, preds)),
            Err(error) => Err(Stopped::Map(error)),
        }
    }

    /// What the next task waits for in its scopes: perhaps a barrier node, which is then added.
    #[cold]
    fn scope_token(&mut self) -> Option<u32> {
        let TaskGraph { core, scopes, edges, .. } = self;
        scopes.token(&mut Linker { core, edges })
    }

    /// Adds the edges of streams, events, scopes and fences.
    #[cold]
    fn order(&mut self, node: u32, spec: &TaskSpec<'_>, token: Option<u32>) {
        let TaskGraph { core, edges, .. } = self;
        core.set_attributes(
            node,
            Attributes {
                affinity: spec.affinity,
                pool: spec.pool,
                stream: spec.stream,
                priority: spec.priority,
            },
        );
        if let Some(before) = spec.stream.and_then(|stream| self.streams.insert(stream, node)) {
            core.link(before, node);
            self.stream_edges.push((before, node));
            edges.stream += 1;
        }
        for event in spec.waits {
            core.link(self.events[event.index()].node, node);
        }
        if let Some(event) = spec.signals {
            let event = &mut self.events[event.index()];
            event.signalled = true;
            core.link_open(node, event.node);
        }
        edges.fence += spec.waits.len() as u64 + u64::from(spec.signals.is_some());
        for before in [self.fence, token].into_iter().flatten() {
            core.link(before, node);
            edges.fence += 1;
        }
        self.scopes.add(node, &Linker { core, edges });
    }
}

/// Whether an edge is to be kept, where one edge is to be left out for each of some pairs.
pub(crate) fn all_but(pairs: &[(u32, u32)]) -> impl FnMut((u32, u32)) -> bool + use<> {
    let mut left_out: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    pairs.iter().for_each(|&pair| *left_out.entry(pair).or_default() += 1);
    move |edge| match left_out.get_mut(&edge).filter(|left| **left > 0) {
        Some(left) => {
            *left -= 1;
            false
        }
        None => true,
    }
}

/// Makes the edges of ordered scopes.
struct Linker<'g> {
    core: &'g mut Core,
    edges: &'g mut EdgeStats,
}

impl Orders for Linker<'_> {
    type Handle = u32;

    fn is_live(&self, _: u32) -> bool {
        true
    }

    fn join(&mut self, members: &mut Vec<u32>) -> Option<u32> {
        if let [one] = members.as_slice() {
            return Some(*one);
        }
        let point = self.core.add_barrier_node(false);
        members.iter().for_each(|&member| self.core.link(member, point));
        self.edges.fence += members.len() as u64;
        Some(point)
    }
}
