//! Whether what was recorded keeps the order that graphs ask for.
//!
//! This looks at edges, not at ready counts: it goes through a graph level by level in the order of its edges, and knows of
//! each node when everything before it was complete. So it does not depend on the machine that ran the graph.

use super::graph::Graph;
use super::id::LaunchId;
use super::trace::{BlockTrace, RunTrace, Trace};
use std::fmt;
use wsp_core::tg::image::{Image, LevelRecord, NONE, NodeKind};
use wsp_core::words::counted;
use wsp_ordered::{Arrange, OrderedMap};

/// What a trace shows that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceFault {
    /// A node started before one that comes before it was complete.
    Order {
        /// The launch.
        launch: LaunchId,
        /// Who comes first.
        before: String,
        /// Who started too early.
        after: String,
    },
    /// A node that no condition could have skipped did not run.
    Missing {
        /// The launch.
        launch: LaunchId,
        /// The node.
        node: String,
    },
    /// A node ran more than once, or a block of it did, or one is missing or has a number beyond the last.
    Blocks {
        /// The launch.
        launch: LaunchId,
        /// The node.
        node: String,
        /// Blocks that it has.
        blocks: u32,
        /// Blocks that ran.
        ran: u32,
    },
    /// Kernels of a gang did not all run at the same time.
    Gang {
        /// The launch.
        launch: LaunchId,
        /// Its kernels.
        kernels: Vec<String>,
    },
    /// Two blocks held a core at the same time.
    Core {
        /// The device.
        device: u32,
        /// The core.
        core: String,
        /// The two.
        blocks: [String; 2],
    },
    /// Two launches of a stream ran at the same time.
    Stream {
        /// The first.
        first: LaunchId,
        /// The second.
        second: LaunchId,
    },
}

impl fmt::Display for TraceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceFault::Order { launch, before, after } => {
                write!(f, "launch {}: `{after}` started before `{before}` was complete", launch.0)
            }
            TraceFault::Missing { launch, node } => write!(f, "launch {}: `{node}` did not run", launch.0),
            TraceFault::Blocks { launch, node, blocks, ran } => {
                write!(
                    f,
                    "launch {}: `{node}` has {blocks}, {ran} ran, or not each once",
                    launch.0,
                    blocks = counted(blocks, "block")
                )
            }
            TraceFault::Gang { launch, kernels } => {
                write!(f, "launch {}: `{}` did not run together", launch.0, kernels.join("`, `"))
            }
            TraceFault::Core { device, core, blocks: [a, b] } => {
                write!(f, "device {device}: {core} was held by {a} and {b} at the same time")
            }
            TraceFault::Stream { first, second } => {
                write!(f, "launches {} and {} of a stream overlap", first.0, second.0)
            }
        }
    }
}

/// Checks every complete launch of the graph in a trace: its edges, its loops, its gangs, and that each block ran once; and of the
/// whole trace that no core was held twice and that streams are in order. Launches are those with the graph's name.
pub fn validate(graph: &Graph, trace: &Trace) -> Vec<TraceFault> {
    let mut faults = Vec::new();
    let blocks = by_run(trace);
    let complete = trace.launches.iter().filter(|launch| launch.graph == graph.name() && !launch.has_failed);
    for launch in complete {
        let mut check = Check::new(graph, launch.launch, trace, &blocks);
        check.level(graph.image().top, &mut Vec::new(), (launch.began, NONE));
        check.gangs();
        faults.append(&mut check.faults);
    }
    faults.extend(cores(trace));
    faults.extend(streams(trace));
    faults
}

/// The blocks of each run.
fn by_run(trace: &Trace) -> Vec<Vec<BlockTrace>> {
    let mut blocks = vec![Vec::new(); trace.runs.len()];
    for block in &trace.blocks {
        if let Some(list) = blocks.get_mut(block.run as usize) {
            list.push(*block);
        }
    }
    blocks
}

/// A moment, and the node that was complete then; [`NONE`] for the beginning.
type Moment = (u64, u32);

/// A node of a level, with the iterations of the loops around it.
type Place = (u32, Vec<u32>);

/// The blocks of the members of gangs, each with its node, by gang and by the iterations around it.
type GangBlocks = OrderedMap<(u32, Vec<u32>), Vec<(u32, BlockTrace)>>;

struct Check<'t> {
    graph: &'t Graph,
    image: Image<'t>,
    launch: LaunchId,
    /// When each node started first and finished last.
    spans: OrderedMap<Place, (u64, u64)>,
    members: GangBlocks,
    faults: Vec<TraceFault>,
}

impl<'t> Check<'t> {
    fn new(graph: &'t Graph, launch: LaunchId, trace: &Trace, blocks: &[Vec<BlockTrace>]) -> Check<'t> {
        let image = graph.image();
        let (spans, members, faults) = (OrderedMap::new(), OrderedMap::new(), Vec::new());
        let mut check = Check { graph, image, launch, spans, members, faults };
        let around = loops_around(&image);
        for (run, ran) in trace.runs.iter().zip(blocks).filter(|(run, _)| run.launch == launch) {
            let of = |&at: &u32| run.iterations.get(at as usize).copied().unwrap_or(0);
            let iterations: Vec<u32> = around[run.node as usize].iter().map(of).collect();
            check.run(run, ran, iterations);
        }
        check
    }

    fn run(&mut self, run: &RunTrace, ran: &[BlockTrace], iterations: Vec<u32>) {
        let record = &self.image.nodes[run.node as usize];
        let is_kernel = record.kind == NodeKind::Kernel as u32;
        let blocks = if is_kernel { self.graph.kernels()[record.item as usize].blocks } else { 1 };
        let mut numbers: Vec<u32> = ran.iter().map(|block| block.block).collect();
        numbers.arrange();
        let start = ran.iter().map(|block| block.started).min().unwrap_or(0);
        let end = ran.iter().map(|block| block.finished).max().unwrap_or(0);
        let twice = self.spans.insert((run.node, iterations.clone()), (start, end)).is_some();
        if twice || !numbers.iter().copied().eq(0..blocks) {
            let (launch, node, ran) = (self.launch, run.name.clone(), ran.len() as u32);
            self.faults.push(TraceFault::Blocks { launch, node, blocks, ran });
        }
        if record.gang != NONE {
            let members = self.members.entry((record.gang, iterations)).or_default();
            members.extend(ran.iter().map(|&block| (run.node, block)));
        }
    }

    /// Checks a level that begins at a moment, and returns when it was complete. `iterations` are those around it.
    fn level(&mut self, level: LevelRecord, iterations: &mut Vec<u32>, begin: Moment) -> Moment {
        let first = level.first as usize;
        let mut needs: Vec<u32> = self.image.needs[first..first + level.len as usize].to_vec();
        let mut ready: Vec<Moment> = vec![begin; level.len as usize];
        let mut queue: Vec<u32> = (level.first..level.first + level.len)
            .filter(|&node| needs[node as usize - first] == 0)
            .collect();
        let mut complete = begin;
        while let Some(node) = queue.pop() {
            let done = self.node(node, iterations, ready[node as usize - first]);
            complete = complete.max(done);
            for &to in self.graph.succs(node) {
                let at = to as usize - first;
                ready[at] = ready[at].max(done);
                needs[at] -= 1;
                if needs[at] == 0 {
                    queue.push(to);
                }
            }
        }
        complete
    }

    /// Checks a node before which everything was complete at a moment, and returns when it was complete itself.
    fn node(&mut self, node: u32, iterations: &mut Vec<u32>, ready: Moment) -> Moment {
        let record = self.image.nodes[node as usize];
        match NodeKind::ALL[record.kind as usize] {
            NodeKind::Kernel | NodeKind::Copy | NodeKind::Free => {
                let Some(&(start, end)) = self.spans.get(&(node, iterations.clone())) else {
                    if record.guard == NONE {
                        let (launch, node) = (self.launch, self.graph.node_name(node));
                        self.faults.push(TraceFault::Missing { launch, node });
                    }
                    return ready;
                };
                if start < ready.0 {
                    let before =
                        if ready.1 == NONE { "the beginning".into() } else { self.graph.node_name(ready.1) };
                    let (launch, after) = (self.launch, self.graph.node_name(node));
                    self.faults.push(TraceFault::Order { launch, before, after });
                }
                (end, node)
            }
            NodeKind::Loop => {
                let body = self.image.loops[record.item as usize].body;
                let mut moment = ready;
                for iteration in 0..self.iterations(body, iterations) {
                    iterations.push(iteration);
                    moment = self.level(body, iterations, moment);
                    iterations.pop();
                }
                moment
            }
            _ => ready,
        }
    }

    /// Iterations of a loop that have left something in the trace.
    fn iterations(&self, body: LevelRecord, around: &[u32]) -> u32 {
        let inner = |(node, iterations): &Place| {
            let is_inside = iterations.len() > around.len() && iterations.starts_with(around);
            (is_inside && self.is_within(*node, body)).then(|| iterations[around.len()] + 1)
        };
        self.spans.keys().filter_map(inner).max().unwrap_or(0)
    }

    /// Whether a node stands in a body, or in one of a loop inside of it.
    fn is_within(&self, node: u32, body: LevelRecord) -> bool {
        let is_in = |level: LevelRecord, node: u32| (level.first..level.first + level.len).contains(&node);
        if is_in(body, node) {
            return true;
        }
        let around = self.image.loops.iter().find(|record| is_in(record.body, node));
        around.is_some_and(|record| self.is_within(record.node, body))
    }

    /// All blocks of a gang have started before one of them finishes.
    fn gangs(&mut self) {
        for members in self.members.values() {
            let last_start = members.iter().map(|(_, block)| block.started).max();
            let first_end = members.iter().map(|(_, block)| block.finished).min();
            if last_start > first_end {
                let mut nodes: Vec<u32> = members.iter().map(|&(node, _)| node).collect();
                nodes.dedup();
                let kernels = nodes.iter().map(|&node| self.graph.node_name(node)).collect();
                self.faults.push(TraceFault::Gang { launch: self.launch, kernels });
            }
        }
    }
}

/// The loops around each node, the outermost first.
fn loops_around(image: &Image<'_>) -> Vec<Vec<u32>> {
    let mut around = vec![Vec::new(); image.nodes.len()];
    // A loop may stand before or after those around it: each pass gets one level deeper.
    for _ in 0..image.loops.len() {
        for (at, record) in (0..).zip(image.loops) {
            let mut inside: Vec<u32> = around[record.node as usize].clone();
            inside.push(at);
            let body = record.body.first as usize..(record.body.first + record.body.len) as usize;
            if around[body.start] != inside {
                around[body].fill(inside);
            }
        }
    }
    around
}

/// Cores that two blocks held at the same time.
fn cores(trace: &Trace) -> Vec<TraceFault> {
    let mut held: OrderedMap<(u32, &str, u32), Vec<&BlockTrace>> = OrderedMap::new();
    for block in &trace.blocks {
        let Some(run) = trace.runs.get(block.run as usize) else { continue };
        let aic = block.cores.aic().map(|core| ("AIC", core));
        let aicpu = block.cores.aicpu().map(|core| ("AICPU", core));
        let aiv = block.cores.aiv().iter().map(|&core| ("AIV", core));
        for (kind, core) in aic.into_iter().chain(aicpu).chain(aiv) {
            held.entry((run.device, kind, core)).or_default().push(block);
        }
    }
    let mut faults = Vec::new();
    for ((device, kind, core), mut blocks) in held {
        blocks.arrange_by_key(|block| (block.started, block.finished));
        let name = |block: &BlockTrace| {
            format!("block {} of `{}`", block.block, trace.runs[block.run as usize].name)
        };
        for pair in blocks.windows(2).filter(|pair| pair[1].started < pair[0].finished) {
            let (core, blocks) = (format!("{kind} {core}"), [name(pair[0]), name(pair[1])]);
            faults.push(TraceFault::Core { device, core, blocks });
        }
    }
    faults
}

/// Launches of one stream that overlap.
fn streams(trace: &Trace) -> Vec<TraceFault> {
    let mut streams: OrderedMap<u32, Vec<_>> = OrderedMap::new();
    for launch in trace.launches.iter().filter(|launch| launch.began > 0) {
        streams.entry(launch.stream).or_default().push(launch);
    }
    let mut faults = Vec::new();
    for mut launches in streams.into_values() {
        launches.arrange_by_key(|launch| launch.launch);
        for pair in launches.windows(2).filter(|pair| pair[1].began < pair[0].ended) {
            let (first, second) = (pair[0].launch, pair[1].launch);
            faults.push(TraceFault::Stream { first, second });
        }
    }
    faults
}
