//! Graphs made by hand, and bodies made of closures, for tests of `wsp_runtime::tg`.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part; helpers of tests may panic")]

use std::sync::{Arc, Mutex};
use wsp_core::tg::CoreType;
use wsp_core::tg::image::{
    DecisionRecord, GangRecord, GuardRecord, LevelRecord, LoopKind, LoopRecord, NONE, NodeKind, NodeRecord,
    WHEN_NONZERO, WHEN_ZERO,
};
use wsp_runtime::tg::{
    BlockCx, Bodies, EventInfo, Graph, GraphParts, KernelInfo, LaunchId, LaunchOptions, NodeCx, NotifyInfo,
    Runtime, RuntimeConfig, Tracing,
};

/// A graph in the making. Nodes of a loop's body come after those of the graph itself.
#[derive(Default)]
pub(crate) struct Build {
    pub(crate) parts: GraphParts,
    edges: Vec<(u32, u32)>,
}

impl Build {
    pub(crate) fn new(name: &str) -> Build {
        let mut build = Build::default();
        build.parts.name = name.to_owned();
        build
    }

    fn node(&mut self, kind: NodeKind, item: usize) -> u32 {
        let (kind, item) = (kind as u32, item as u32);
        self.parts.nodes.push(NodeRecord { kind, item, guard: NONE, gang: NONE, first: 0, end: 0 });
        self.parts.nodes.len() as u32 - 1
    }

    pub(crate) fn kernel(&mut self, name: &str, blocks: u32, core_type: CoreType) -> u32 {
        let name = name.to_owned();
        let (partition, request, persistent) = (None, None, None);
        self.parts.kernels.push(KernelInfo { name, blocks, core_type, partition, request, persistent });
        self.node(NodeKind::Kernel, self.parts.kernels.len() - 1)
    }

    /// A kernel of vector cores.
    pub(crate) fn vector(&mut self, name: &str, blocks: u32) -> u32 {
        self.kernel(name, blocks, CoreType::Aiv)
    }

    pub(crate) fn info(&mut self, node: u32) -> &mut KernelInfo {
        let item = self.parts.nodes[node as usize].item;
        &mut self.parts.kernels[item as usize]
    }

    pub(crate) fn copy(&mut self, name: &str) -> u32 {
        self.parts.copies.push(name.to_owned());
        self.node(NodeKind::Copy, self.parts.copies.len() - 1)
    }

    pub(crate) fn join(&mut self) -> u32 {
        self.node(NodeKind::Join, 0)
    }

    pub(crate) fn signal(&mut self, event: u32, name: &str) -> u32 {
        self.parts.signals.push(EventInfo { event, name: name.to_owned() });
        self.node(NodeKind::Signal, self.parts.signals.len() - 1)
    }

    pub(crate) fn wait_event(&mut self, event: u32, name: &str) -> u32 {
        self.parts.event_waits.push(EventInfo { event, name: name.to_owned() });
        self.node(NodeKind::WaitEvent, self.parts.event_waits.len() - 1)
    }

    pub(crate) fn notify(&mut self, device: u32, id: u32, name: &str) -> u32 {
        self.parts.notifies.push(NotifyInfo { device, id, name: name.to_owned() });
        self.node(NodeKind::Notify, self.parts.notifies.len() - 1)
    }

    pub(crate) fn wait_notify(&mut self, device: u32, id: u32, name: &str) -> u32 {
        self.parts.waits.push(NotifyInfo { device, id, name: name.to_owned() });
        self.node(NodeKind::WaitNotify, self.parts.waits.len() - 1)
    }

    pub(crate) fn checkpoint(&mut self, id: u32) -> u32 {
        self.parts.checkpoints.push(id);
        self.node(NodeKind::Checkpoint, self.parts.checkpoints.len() - 1)
    }

    /// A decision with two guards, for when its condition is not 0 and for when it is.
    pub(crate) fn decide(&mut self, condition: u32) -> (u32, u32, u32) {
        let first = self.parts.guards.len() as u32;
        for when in [WHEN_NONZERO, WHEN_ZERO] {
            self.parts.guards.push(GuardRecord { parent: NONE, when });
        }
        self.parts.decisions.push(DecisionRecord { condition, first, len: 2, leaves: NONE });
        (self.node(NodeKind::Decide, self.parts.decisions.len() - 1), first, first + 1)
    }

    pub(crate) fn guard(&mut self, node: u32, guard: u32) {
        self.parts.nodes[node as usize].guard = guard;
    }

    /// A loop of the graph itself; its body is made by [`Build::body`].
    pub(crate) fn repeat(&mut self, kind: LoopKind, condition: u32) -> u32 {
        let item = self.parts.loops.len();
        let node = self.node(NodeKind::Loop, item);
        let (kind, most, body) = (kind as u32, 1 << 20, LevelRecord::default());
        self.parts.loops.push(LoopRecord { node, kind, condition, most, body });
        node
    }

    /// Makes the body of a loop: all nodes made by `make`. No more nodes of the graph itself may be made then.
    pub(crate) fn body(&mut self, loop_node: u32, make: impl FnOnce(&mut Build)) {
        self.close_top();
        let item = self.parts.nodes[loop_node as usize].item;
        let (first, first_gang) = (self.parts.nodes.len() as u32, self.parts.gangs.len() as u32);
        make(self);
        let end = self.node(NodeKind::LoopEnd, item as usize);
        (first..end).for_each(|node| self.edge(node, end));
        let gangs = self.parts.gangs.len() as u32 - first_gang;
        self.parts.loops[item as usize].body = LevelRecord { first, len: end + 1 - first, first_gang, gangs };
    }

    pub(crate) fn edge(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    pub(crate) fn chain(&mut self, edges: &[(u32, u32)]) {
        self.edges.extend(edges);
    }

    pub(crate) fn gang(&mut self, members: &[u32]) {
        let (first, len) = (self.parts.members.len() as u32, members.len() as u32);
        self.parts.members.extend(members);
        for &member in members {
            self.parts.nodes[member as usize].gang = self.parts.gangs.len() as u32;
        }
        self.parts.gangs.push(GangRecord { first, len });
    }

    fn close_top(&mut self) {
        if self.parts.top.len == 0 {
            self.parts.top.len = self.parts.nodes.len() as u32;
            self.parts.top.gangs = self.parts.gangs.len() as u32;
        }
    }

    pub(crate) fn finish(mut self) -> Arc<Graph> {
        self.close_top();
        let parts = &mut self.parts;
        parts.needs = vec![0; parts.nodes.len()];
        for (at, node) in (0..).zip(&mut parts.nodes) {
            node.first = parts.succs.len() as u32;
            parts.succs.extend(self.edges.iter().filter(|edge| edge.0 == at).map(|edge| edge.1));
            node.end = parts.succs.len() as u32;
        }
        parts.succs.iter().for_each(|&to| parts.needs[to as usize] += 1);
        Arc::new(Graph::new(self.parts).expect("a graph of a test is sound"))
    }
}

type BlockFn = Box<dyn Fn(&BlockCx<'_>) -> Result<(), String> + Send + Sync>;
type EvalFn = Box<dyn Fn(u32, &[u32]) -> i64 + Send + Sync>;
type CyclesFn = Box<dyn Fn(&BlockCx<'_>) -> u64 + Send + Sync>;
type SaveFn = Box<dyn Fn(u32, &[u32]) -> Result<(), String> + Send + Sync>;

/// Bodies made of closures.
pub(crate) struct Script {
    pub(crate) block: BlockFn,
    pub(crate) eval: EvalFn,
    pub(crate) save: SaveFn,
    pub(crate) begin: Box<dyn Fn() + Send + Sync>,
    pub(crate) cycles: CyclesFn,
    /// What happened, in order: preparations as `+NAME`, items by their name.
    pub(crate) log: Mutex<Vec<String>>,
}

impl Script {
    pub(crate) fn new(block: impl Fn(&BlockCx<'_>) -> Result<(), String> + Send + Sync + 'static) -> Script {
        let (eval, save) = (Box::new(|_, _: &[u32]| 0), Box::new(|_, _: &[u32]| Ok(())));
        let (begin, cycles) = (Box::new(|| ()), Box::new(|_: &BlockCx<'_>| 1));
        Script { block: Box::new(block), eval, save, begin, cycles, log: Mutex::default() }
    }

    /// Blocks do nothing.
    pub(crate) fn idle() -> Arc<Script> {
        Arc::new(Script::new(|_| Ok(())))
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Bodies for Script {
    type Failure = String;
    type Prepared = u32;

    fn begin(&self) -> Result<(), String> {
        (self.begin)();
        Ok(())
    }

    fn block_cycles(&self, _: &u32, cx: &BlockCx<'_>) -> u64 {
        (self.cycles)(cx)
    }

    fn prepare(&self, cx: &NodeCx<'_>, resident: Option<Arc<u32>>) -> Result<Arc<u32>, String> {
        let mark = if resident.is_some() { "=" } else { "+" };
        self.log.lock().unwrap().push(format!("{mark}{}", cx.graph.node_name(cx.node)));
        Ok(resident.unwrap_or_else(|| Arc::new(cx.item)))
    }

    fn run_block(&self, prepared: &u32, cx: &BlockCx<'_>) -> Result<(), String> {
        assert_eq!(*prepared, cx.kernel.item, "blocks get what their kernel was dispatched with");
        (self.block)(cx)
    }

    fn run_item(&self, cx: &NodeCx<'_>) -> Result<(), String> {
        self.log.lock().unwrap().push(cx.graph.node_name(cx.node));
        Ok(())
    }

    fn eval(&self, condition: u32, iterations: &[u32]) -> Result<i64, String> {
        Ok((self.eval)(condition, iterations))
    }

    fn checkpoint(&self, id: u32, state: &[u32]) -> Result<(), String> {
        (self.save)(id, state)
    }
}

/// A runtime that records.
pub(crate) fn runtime(threads: u32) -> Runtime<Script> {
    runtime_with(RuntimeConfig { threads, ..RuntimeConfig::default() })
}

pub(crate) fn runtime_with(config: RuntimeConfig) -> Runtime<Script> {
    runtime_traced(config, Tracing::On)
}

/// A runtime that records, or one that does not: then workers take several kernels of one block at a time.
pub(crate) fn runtime_traced(config: RuntimeConfig, tracing: Tracing) -> Runtime<Script> {
    Runtime::new(RuntimeConfig { tracing, ..config }).unwrap()
}

/// Launches on the default stream of device 0.
pub(crate) fn launch(runtime: &Runtime<Script>, graph: &Arc<Graph>, bodies: &Arc<Script>) -> LaunchId {
    let stream = runtime.default_stream(0).unwrap();
    runtime.launch(graph, bodies.clone(), LaunchOptions::on(stream)).unwrap()
}

/// What a body's name is.
pub(crate) fn name(cx: &BlockCx<'_>) -> String {
    cx.kernel.graph.node_name(cx.kernel.node)
}
