//! A graph as a runtime launches it: its image, and what the runtime must know of its nodes.

use super::cores::{CoreRange, Granted};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::tg::image::{
    DecisionRecord, GangRecord, GuardRecord, Image, ImageFault, LevelRecord, LoopRecord, NONE, NodeKind,
    NodeRecord,
};
use wsp_core::tg::machine::{Fault, Machine, Scalars, StateFault, Step, Waiting};
use wsp_core::tg::{AffinityType, CoreType, MAX_BLOCK_DIM};
use wsp_ordered::Arrange;

/// A partition of the cores of a device. Threads of the AICPU belong to none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Its cube cores.
    pub aic: CoreRange,
    /// Its vector cores.
    pub aiv: CoreRange,
}

/// A kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// Its name, for messages and traces.
    pub name: String,
    /// Its blocks, from 1 to [`MAX_BLOCK_DIM`].
    pub blocks: u32,
    /// What runs its blocks.
    pub core_type: CoreType,
    /// The partition that it names.
    pub partition: Option<Partition>,
    /// Cores that it asks for.
    pub request: Option<Granted>,
    /// For how many launches it stays on its cores, if it does; 0 is for ever.
    pub persistent: Option<u32>,
}

/// What `CA_AFFINITY` says of kernels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affinity {
    /// How they would best share cores.
    pub kind: AffinityType,
    /// For each kernel of the set, its places in [`GraphParts::kernels`]: more than one if it stands in a loop that was unrolled.
    pub members: Vec<Vec<u32>>,
}

/// A notification: of another device, or by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotifyInfo {
    /// The other device.
    pub device: u32,
    /// Its number.
    pub id: u32,
    /// Its name, for messages.
    pub name: String,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventInfo {
    /// A number that all graphs of the unit use for it.
    pub event: u32,
    /// Its name, for messages.
    pub name: String,
}

/// What a graph is made of: the records of its [`Image`], and a list for each kind of node that nodes' `item` points into.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the first fields are those of `Image`")]
pub struct GraphParts {
    pub nodes: Vec<NodeRecord>,
    pub needs: Vec<u32>,
    pub succs: Vec<u32>,
    pub guards: Vec<GuardRecord>,
    pub decisions: Vec<DecisionRecord>,
    pub loops: Vec<LoopRecord>,
    pub gangs: Vec<GangRecord>,
    pub members: Vec<u32>,
    pub top: LevelRecord,
    /// The graph's name, for messages and traces.
    pub name: String,
    /// Of `Kernel` nodes.
    pub kernels: Vec<KernelInfo>,
    /// Of `Copy` nodes: their names.
    pub copies: Vec<String>,
    /// Of `Free` nodes: their names.
    pub frees: Vec<String>,
    /// Of `Notify` nodes: whom they notify.
    pub notifies: Vec<NotifyInfo>,
    /// Of `WaitNotify` nodes: who notifies.
    pub waits: Vec<NotifyInfo>,
    /// Of `Checkpoint` nodes: their numbers.
    pub checkpoints: Vec<u32>,
    /// Of `WaitEvent` nodes: what they wait for.
    pub event_waits: Vec<EventInfo>,
    /// Of `Signal` nodes: what they signal.
    pub signals: Vec<EventInfo>,
    /// What is asked of cores.
    pub affinities: Vec<Affinity>,
}

/// Iterations of the dynamic loops of a graph, by loop; none of a graph without them.
pub(crate) type Iterations = Option<Arc<[u32]>>;

/// Why a graph is refused: it was not made as it should have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphFault {
    /// Its image.
    Image(ImageFault),
    /// The item of this node is not in the list of its kind.
    Item(u32),
    /// This kernel has no block, or too many.
    Blocks(u32),
    /// This affinity names a kernel that is not in the list.
    Affinity(u32),
}

impl fmt::Display for GraphFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphFault::Image(fault) => write!(f, "the image of the graph is wrong: {fault:?}"),
            GraphFault::Item(node) => write!(f, "node {node} points to no item of its kind"),
            GraphFault::Blocks(kernel) => {
                write!(f, "the blocks of kernel {kernel} are not in 1..={MAX_BLOCK_DIM}")
            }
            GraphFault::Affinity(affinity) => {
                write!(f, "affinity {affinity} names a kernel that does not exist")
            }
        }
    }
}

impl std::error::Error for GraphFault {}

/// What a handed out node is, with its place in the list of its kind or what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Kernel(u32),
    Copy(u32),
    Free(u32),
    /// To a device, with a number.
    Notify(u32, u32),
    /// From a device, with a number.
    WaitNotify(u32, u32),
    /// The number of the unit.
    WaitEvent(u32),
    /// The number of the checkpoint.
    Checkpoint(u32),
}

/// Numbers of graphs, over all runtimes.
static NEXT_KEY: AtomicU64 = AtomicU64::new(1);

/// A graph that can be launched any number of times, on any runtime.
#[derive(Debug)]
pub struct Graph {
    parts: GraphParts,
    fingerprint: u32,
    key: u64,
    /// Of each kernel, whether it belongs to a gang.
    in_gang: Vec<bool>,
    foreign_events: Vec<u32>,
    signalled_events: Vec<u32>,
}

impl Graph {
    /// Makes a graph of its parts.
    ///
    /// # Errors
    /// A number in the parts points out of its list.
    pub fn new(parts: GraphParts) -> Result<Graph, GraphFault> {
        check_items(&parts)?;
        let mut graph = Graph {
            in_gang: vec![false; parts.kernels.len()],
            fingerprint: 0,
            // Relaxed: only that no two are the same matters.
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
            foreign_events: events_of(&parts, NodeKind::WaitEvent, &parts.event_waits),
            signalled_events: events_of(&parts, NodeKind::Signal, &parts.signals),
            parts,
        };
        let image = graph.image();
        image.check(&mut vec![0; image.nodes.len()]).map_err(GraphFault::Image)?;
        graph.fingerprint = image.fingerprint_of();
        for node in graph.parts.nodes.iter().filter(|node| node.gang != NONE) {
            graph.in_gang[node.item as usize] = true;
        }
        Ok(graph)
    }

    /// Its image.
    pub fn image(&self) -> Image<'_> {
        let parts = &self.parts;
        Image {
            nodes: &parts.nodes,
            needs: &parts.needs,
            succs: &parts.succs,
            guards: &parts.guards,
            decisions: &parts.decisions,
            loops: &parts.loops,
            gangs: &parts.gangs,
            members: &parts.members,
            top: parts.top,
            fingerprint: self.fingerprint,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// Its kernels.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.parts.kernels
    }

    /// What a node is called.
    pub fn node_name(&self, node: u32) -> String {
        let Some(record) = self.parts.nodes.get(node as usize) else { return format!("node {node}") };
        let item = record.item as usize;
        let parts = &self.parts;
        match NodeKind::from_code(record.kind) {
            Some(NodeKind::Kernel) => parts.kernels[item].name.clone(),
            Some(NodeKind::Copy) => parts.copies[item].clone(),
            Some(NodeKind::Free) => parts.frees[item].clone(),
            Some(NodeKind::Notify) => format!("notification `{}`", parts.notifies[item].name),
            Some(NodeKind::WaitNotify) => format!("the wait for notification `{}`", parts.waits[item].name),
            Some(NodeKind::WaitEvent) => format!("the wait for event `{}`", parts.event_waits[item].name),
            Some(NodeKind::Signal) => format!("the signal of event `{}`", parts.signals[item].name),
            Some(NodeKind::Checkpoint) => format!("checkpoint {}", parts.checkpoints[item]),
            Some(NodeKind::Decide) => format!("the condition of branch {item}"),
            Some(NodeKind::Break) => format!("the condition of exit {item}"),
            Some(NodeKind::Loop) => format!("loop {item}"),
            Some(NodeKind::LoopEnd) => format!("the end of loop {item}"),
            _ => format!("join {node}"),
        }
    }

    pub(crate) fn affinities(&self) -> &[Affinity] {
        &self.parts.affinities
    }

    /// What no other graph has.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    pub(crate) fn is_in_gang(&self, kernel: u32) -> bool {
        self.in_gang[kernel as usize]
    }

    pub(crate) fn gangs(&self) -> u32 {
        self.parts.gangs.len() as u32
    }

    /// The kernels of a gang.
    pub(crate) fn gang_kernels(&self, gang: u32) -> Vec<u32> {
        let GangRecord { first, len } = self.parts.gangs[gang as usize];
        let members = &self.parts.members[first as usize..(first + len) as usize];
        members.iter().map(|&member| self.parts.nodes[member as usize].item).collect()
    }

    /// Events that it waits for and others signal.
    pub(crate) fn foreign_events(&self) -> &[u32] {
        &self.foreign_events
    }

    /// Events that it signals.
    pub(crate) fn signalled_events(&self) -> &[u32] {
        &self.signalled_events
    }

    pub(crate) fn has_notifications(&self) -> bool {
        let notifies =
            [NodeKind::Notify, NodeKind::WaitNotify].map(|kind| self.parts.nodes.iter().any(is_kind(kind)));
        notifies.contains(&true)
    }

    /// The first node that sends a notification to a device.
    pub(crate) fn notify_node(&self, to: u32, id: u32) -> Option<u32> {
        let sends = |node: &NodeRecord| {
            let info = &self.parts.notifies[node.item as usize];
            (info.device, info.id) == (to, id)
        };
        self.first(|node| is_kind(NodeKind::Notify)(node) && sends(node))
    }

    /// The first node that signals an event.
    pub(crate) fn signal_node(&self, event: u32) -> Option<u32> {
        let is_event = |node: &NodeRecord| self.parts.signals[node.item as usize].event == event;
        self.first(|node| is_kind(NodeKind::Signal)(node) && is_event(node))
    }

    fn first(&self, is: impl Fn(&NodeRecord) -> bool) -> Option<u32> {
        self.parts.nodes.iter().position(is).map(|node| node as u32)
    }

    /// Whether loops of it run at run time.
    pub(crate) fn has_loops(&self) -> bool {
        !self.parts.loops.is_empty()
    }

    /// The node of each loop that runs at run time, and the node that ends its body.
    pub(crate) fn loops(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.parts.loops.iter().map(|record| (record.node, record.body.first + record.body.len - 1))
    }

    /// The event of a `Signal` node, as the unit counts.
    pub(crate) fn signal_of(&self, node: u32) -> u32 {
        self.parts.signals[self.parts.nodes[node as usize].item as usize].event
    }

    /// What an event is called.
    pub(crate) fn event_name(&self, event: u32) -> String {
        let named = self.parts.event_waits.iter().find(|info| info.event == event);
        named.map_or_else(|| format!("event {event}"), |info| format!("event `{}`", info.name))
    }

    /// What a notification that it waits for is called.
    pub(crate) fn notification_name(&self, from: u32, id: u32) -> String {
        let named = self.parts.waits.iter().find(|info| (info.device, info.id) == (from, id));
        let name = named.map_or_else(|| format!("{id}"), |info| format!("`{}`", info.name));
        format!("notification {name} of device {from}")
    }

    pub(crate) fn role(&self, node: u32) -> Role {
        let record = &self.parts.nodes[node as usize];
        let item = record.item;
        let of = |list: &[NotifyInfo]| (list[item as usize].device, list[item as usize].id);
        match NodeKind::ALL[record.kind as usize] {
            NodeKind::Copy => Role::Copy(item),
            NodeKind::Free => Role::Free(item),
            NodeKind::Notify => {
                let (device, id) = of(&self.parts.notifies);
                Role::Notify(device, id)
            }
            NodeKind::WaitNotify => {
                let (device, id) = of(&self.parts.waits);
                Role::WaitNotify(device, id)
            }
            NodeKind::WaitEvent => Role::WaitEvent(self.parts.event_waits[item as usize].event),
            NodeKind::Checkpoint => Role::Checkpoint(self.parts.checkpoints[item as usize]),
            _ => Role::Kernel(item),
        }
    }

    /// The successors of a node.
    pub(crate) fn succs(&self, node: u32) -> &[u32] {
        let record = &self.parts.nodes[node as usize];
        &self.parts.succs[record.first as usize..record.end as usize]
    }

    fn with_machine<T>(&self, words: &mut [u32], with: impl FnOnce(Machine<'_>) -> T) -> T {
        let image = self.image();
        let machine = Machine::attach(&image, words);
        with(machine.expect("the state of a launch should be one of its graph"))
    }

    /// The state of a run that begins.
    pub(crate) fn start(&self) -> Vec<u32> {
        let image = self.image();
        let mut words = vec![0; image.state_words()];
        Machine::start(&image, &mut words);
        words
    }

    /// Of each node whether it is complete in a saved state; of none if that is no state of the graph.
    pub fn complete_in(&self, words: &[u32]) -> Vec<bool> {
        let mut words = words.to_vec();
        match self.resume(&mut words) {
            Ok(()) => self.with_machine(&mut words, |machine| {
                (0..self.parts.nodes.len() as u32).map(|node| machine.is_complete(node)).collect()
            }),
            Err(_) => Vec::new(),
        }
    }

    /// Whether a run can go on from a state.
    pub(crate) fn check_state(&self, words: &[u32]) -> Result<(), StateFault> {
        self.resume(&mut words.to_vec())
    }

    /// Makes a saved state ready to go on from.
    pub(crate) fn resume(&self, words: &mut [u32]) -> Result<(), StateFault> {
        Machine::resume(&self.image(), words).map(drop)
    }

    pub(crate) fn next<H: Scalars>(&self, words: &mut [u32], host: &mut H) -> Result<Step, Fault<H::Fault>> {
        self.with_machine(words, |mut machine| machine.next(host))
    }

    pub(crate) fn complete(&self, words: &mut [u32], nodes: &[u32]) {
        self.with_machine(words, |mut machine| nodes.iter().for_each(|&node| machine.complete(node)));
    }

    /// In which rounds the loops of a run are that are counted at run time.
    pub(crate) fn iterations(&self, words: &mut [u32]) -> Iterations {
        self.has_loops().then(|| self.with_machine(words, |machine| machine.iterations().into()))
    }

    /// The kernels of a gang that start.
    pub(crate) fn gang_nodes(&self, words: &mut [u32], gang: u32) -> Vec<u32> {
        self.with_machine(words, |machine| machine.gang(gang).collect())
    }

    /// What of a run is not complete.
    pub(crate) fn waiting(&self, words: &mut [u32]) -> Vec<Waiting> {
        self.with_machine(words, |machine| machine.waiting().collect())
    }
}

fn is_kind(kind: NodeKind) -> impl Fn(&NodeRecord) -> bool {
    move |node| node.kind == kind as u32
}

fn events_of(parts: &GraphParts, kind: NodeKind, list: &[EventInfo]) -> Vec<u32> {
    let nodes = parts.nodes.iter().filter(|node| is_kind(kind)(node));
    let mut events: Vec<u32> = nodes.map(|node| list[node.item as usize].event).collect();
    events.arrange();
    events.dedup();
    events
}

fn check_items(parts: &GraphParts) -> Result<(), GraphFault> {
    for (at, node) in (0..).zip(&parts.nodes) {
        let len = match NodeKind::from_code(node.kind) {
            Some(NodeKind::Kernel) => parts.kernels.len(),
            Some(NodeKind::Copy) => parts.copies.len(),
            Some(NodeKind::Free) => parts.frees.len(),
            Some(NodeKind::Notify) => parts.notifies.len(),
            Some(NodeKind::WaitNotify) => parts.waits.len(),
            Some(NodeKind::WaitEvent) => parts.event_waits.len(),
            Some(NodeKind::Signal) => parts.signals.len(),
            Some(NodeKind::Checkpoint) => parts.checkpoints.len(),
            // The check of the image is about the rest.
            _ => continue,
        };
        if node.item as usize >= len {
            return Err(GraphFault::Item(at));
        }
    }
    for (at, kernel) in (0..).zip(&parts.kernels) {
        if !(1..=MAX_BLOCK_DIM).contains(&kernel.blocks) {
            return Err(GraphFault::Blocks(at));
        }
    }
    for (at, affinity) in (0..).zip(&parts.affinities) {
        if affinity.members.iter().flatten().any(|&kernel| kernel as usize >= parts.kernels.len()) {
            return Err(GraphFault::Affinity(at));
        }
    }
    Ok(())
}
