//! Nodes and edges of a graph while it is laid out: levels, gates and guards, and who touches what.
//!
//! A *gate* is a node after which everything later in a block comes: the decision of an arm, a break, a checkpoint. A *hold* is a gate
//! for all but notifications: the wait for a notification.

use super::flows::Inner;
use super::ranges::{Bytes, RangeMap, Touch};
use super::scalars::{Pool, ScalarFault, Surroundings};
use super::source::Source;
use super::unit::Unit;
use super::{ElaborateOptions, Faults};
use crate::lint::Arm;
use crate::plan::{ConditionItem, EdgeKind, GraphPlan};
use std::collections::{HashMap, HashSet};
use wsp_core::AccessKind;
use wsp_core::tg::image::{GuardRecord, NONE, NodeKind, WHEN_NONZERO, WHEN_ZERO};
use wsp_core::tg::{Instr, Scalar};

/// Tensors from here on are none: notifications, which are ordered as bytes are.
pub(super) const RESOURCES: u32 = 1 << 31;

/// Whether a touch is ordered against every other that conflicts, or only against those that are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Order {
    /// A kernel's: edges between kernels are declared.
    Declared,
    /// A copy's, a release's, a condition's.
    Inferred,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    pub(super) kind: NodeKind,
    pub(super) item: u32,
    pub(super) guard: u32,
    pub(super) gang: u32,
    /// 0 for the graph, 1 more than its number for a loop.
    pub(super) level: u32,
    /// The gate that it comes after, or [`NONE`].
    pub(super) gate: u32,
    pub(super) gate_kind: EdgeKind,
    /// The copy of a body that it is in.
    frame: u32,
    /// What it does, in its graph; or [`NONE`].
    work: u32,
    /// The node that runs it as part of a batch, or [`NONE`].
    pub(super) merged: u32,
}

/// Nodes of one level so far.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) nodes: Vec<u32>,
    /// The last break or checkpoint.
    settler: Option<u32>,
    /// How many nodes come before it.
    settled: usize,
    all: RangeMap,
    inferred: RangeMap,
    /// Of each `CF_IF` that is open what its arms write over so far.
    pub(super) written: Vec<Vec<Bytes>>,
    /// What everything in it touches.
    pub(super) touches: HashMap<(u32, AccessKind, Order), (u64, u64)>,
}

/// A block that is open: the graph, an arm, a copy of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) guard: u32,
    pub(super) gate: u32,
    pub(super) gate_kind: EdgeKind,
    pub(super) hold: u32,
}

impl Block {
    /// A block that nothing holds up.
    pub(super) const FREE: Block =
        Block { guard: NONE, gate: NONE, gate_kind: EdgeKind::Control, hold: NONE };
}

/// Touches of an iteration of a loop that is unrolled.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// All.
    pub(super) all: Vec<Touch>,
    /// Those that no later touch follows and covers.
    pub(super) last: Vec<Touch>,
}

/// A graph that is being laid out.
pub(super) struct Emit<'e, 'm> {
    pub(super) unit: &'e Unit<'m>,
    pub(super) options: ElaborateOptions,
    pub(super) faults: &'e mut Faults,
    pub(super) plan: GraphPlan,
    pub(super) pool: Pool,
    pub(super) nodes: Vec<Draft>,
    pub(super) edges: Vec<(u32, u32, EdgeKind)>,
    /// Of each node, whether an edge leads from it.
    pub(super) leads: Vec<bool>,
    pub(super) levels: Vec<Level>,
    pub(super) level: u32,
    pub(super) blocks: Vec<Block>,
    /// The block of the level's body.
    pub(super) base: usize,
    pub(super) frame: u32,
    pub(super) frames: u32,
    pub(super) around: Surroundings,
    pub(super) collectors: Vec<Collected>,
    /// Whether what comes is never run.
    pub(super) dead: bool,
    /// How many copies of this body there are, by unrolled loops around it.
    pub(super) unrolled: u64,
    /// Nodes of each work, in the frame at hand.
    pub(super) cur: Vec<Vec<u32>>,
    /// The same, with nodes in the bodies of loops where [`cur`](Emit::cur) has the node of the loop.
    pub(super) real: Vec<Vec<u32>>,
    /// Of each node of a loop what its body touches.
    pub(super) inside: HashMap<u32, Vec<Inner>>,
    /// Whether the unit has fences.
    pub(super) has_fences: bool,
    /// Of each guard the arm that it is of; none of what stands behind a break.
    pub(super) arms: Vec<Option<Arm>>,
    /// Tensors that somebody but kernels touches.
    pub(super) tracked: HashSet<u32>,
    /// Pairs of works with an edge of the program, one of which is no kernel.
    pub(super) declared: HashSet<(u32, u32)>,
    /// Where kernels of the graph at hand begin in the plan's definitions.
    pub(super) first_def: u32,
    /// Notifications and waits that graphs have, by what they are.
    pub(super) resources: Vec<(NodeKind, u32, u32)>,
    pub(super) full: bool,
}

impl<'e, 'm> Emit<'e, 'm> {
    pub(super) fn new(unit: &'e Unit<'m>, options: ElaborateOptions, faults: &'e mut Faults) -> Emit<'e, 'm> {
        Emit {
            unit,
            options,
            faults,
            plan: GraphPlan { flows: options.flows.then(Vec::new), ..GraphPlan::default() },
            pool: Pool::default(),
            nodes: Vec::new(),
            edges: Vec::new(),
            leads: Vec::new(),
            levels: vec![Level::default()],
            level: 0,
            blocks: vec![Block::FREE],
            base: 0,
            frame: 0,
            frames: 0,
            around: Surroundings::default(),
            collectors: Vec::new(),
            dead: false,
            unrolled: 1,
            cur: Vec::new(),
            real: Vec::new(),
            inside: HashMap::new(),
            has_fences: unit.module.instrs.iter().any(|instr| matches!(instr, Instr::McFence { .. })),
            arms: Vec::new(),
            tracked: HashSet::new(),
            declared: HashSet::new(),
            first_def: 0,
            resources: Vec::new(),
            full: false,
        }
    }

    /// Adds a node to the block at hand.
    pub(super) fn node(&mut self, kind: NodeKind, item: u32, work: u32) -> u32 {
        let block = self.blocks.last().copied().unwrap_or(Block::FREE);
        let (gate, gate_kind) = match block.hold {
            NONE => (block.gate, block.gate_kind),
            _ if kind == NodeKind::Notify => (block.gate, block.gate_kind),
            hold => (hold, EdgeKind::Notify),
        };
        if gate != NONE {
            self.leads[gate as usize] = true;
        }
        self.push(Draft {
            kind,
            item,
            guard: block.guard,
            gang: NONE,
            level: self.level,
            gate,
            gate_kind,
            frame: self.frame,
            work,
            merged: NONE,
        })
    }

    /// Adds a node that nothing holds up but its own edges.
    pub(super) fn free_node(&mut self, kind: NodeKind, item: u32) -> u32 {
        let (level, frame) = (self.level, self.frame);
        let gate_kind = EdgeKind::Control;
        self.push(Draft {
            kind,
            item,
            guard: NONE,
            gang: NONE,
            level,
            gate: NONE,
            gate_kind,
            frame,
            work: NONE,
            merged: NONE,
        })
    }

    fn push(&mut self, draft: Draft) -> u32 {
        let node = self.nodes.len() as u32;
        self.full |= node >= self.options.most_nodes;
        self.nodes.push(draft);
        self.leads.push(false);
        self.levels[self.level as usize].nodes.push(node);
        node
    }

    /// Adds an edge. A node does not wait for itself.
    pub(super) fn edge(&mut self, from: u32, to: u32, kind: EdgeKind) {
        debug_assert_eq!(self.nodes[from as usize].level, self.nodes[to as usize].level);
        if from != to {
            self.leads[from as usize] = true;
            self.edges.push((from, to, kind));
        }
    }

    /// Orders all of some nodes before all of others.
    pub(super) fn connect(&mut self, from: &[u32], to: &[u32], kind: EdgeKind) {
        if from.len() * to.len() <= from.len() + to.len() + 1 {
            for &src in from {
                to.iter().for_each(|&dst| self.edge(src, dst, kind));
            }
        } else {
            let join = self.free_node(NodeKind::Join, 0);
            from.iter().for_each(|&src| self.edge(src, join, kind));
            to.iter().for_each(|&dst| self.edge(join, dst, kind));
        }
    }

    /// Puts everything of the level before this node and everything later behind it.
    pub(super) fn settle(&mut self, node: u32, kind: EdgeKind) {
        let level = &mut self.levels[self.level as usize];
        let since = level.nodes[level.settled..].iter().copied().filter(|&n| n != node);
        // The other arm of a `CF_IF` may have ended with a break, too: its guards are settled first.
        let before: Vec<u32> = since.chain(level.settler).collect();
        (level.settled, level.settler) = (level.nodes.len(), Some(node));
        before.into_iter().for_each(|from| self.edge(from, node, kind));
        for block in &mut self.blocks[self.base..] {
            *block = Block { guard: block.guard, gate: node, gate_kind: kind, hold: NONE };
        }
    }

    /// Orders a node against those before it that touch the same bytes, as far as that is inferred, and remembers what it touches.
    pub(super) fn touch(&mut self, node: u32, touches: &[(Bytes, AccessKind, Order)]) {
        let mut before: Vec<u32> = Vec::new();
        let level = &self.levels[self.level as usize];
        for &(bytes, mode, order) in touches {
            if self.tracked.contains(&bytes.tensor) {
                let map = if order == Order::Inferred { &level.all } else { &level.inferred };
                map.conflicts(bytes, mode, |other| before.push(other));
            }
        }
        before.sort_unstable();
        before.dedup();
        before.retain(|&other| !self.exclude(other, node));
        if self.nodes[node as usize].kind == NodeKind::Loop {
            // Taken out, so that it can be read while flows are added.
            let level = std::mem::take(&mut self.levels[self.level as usize]);
            let tracked = std::mem::take(&mut self.tracked);
            self.range_flow(node, EdgeKind::Range, None, |inner, found| {
                if tracked.contains(&inner.touch.bytes.tensor) {
                    let map = if inner.order == Order::Inferred { &level.all } else { &level.inferred };
                    map.conflicts(inner.touch.bytes, inner.touch.mode, |other| {
                        if before.binary_search(&other).is_ok() {
                            found(other);
                        }
                    });
                }
            });
            self.levels[self.level as usize] = level;
            self.tracked = tracked;
        }
        if self.has_fences && self.options.flows {
            self.range_flow_from(node, &before, touches);
        }
        let guard = self.nodes[node as usize].guard;
        let excludes = self.unit.exclusive.exclude_any(self.arms_of(guard));
        let level = &mut self.levels[self.level as usize];
        let (nodes, guards) = (&self.nodes, &self.plan.records.guards);
        for &(bytes, mode, order) in touches {
            if self.level > 0 {
                let hull =
                    level.touches.entry((bytes.tensor, mode, order)).or_insert((bytes.first, bytes.end));
                *hull = (hull.0.min(bytes.first), hull.1.max(bytes.end));
            }
            let touch = Touch { node, bytes, mode };
            if let Some(collected) = self.collectors.last_mut() {
                collected.all.push(touch);
                collected.last.push(touch);
            }
            if !self.tracked.contains(&bytes.tensor) {
                continue;
            }
            if order == Order::Inferred {
                if mode == AccessKind::Write {
                    // What runs only where the node does: what comes behind such a node comes behind this one.
                    let covered = |other: u32| is_within(guards, nodes[other as usize].guard, guard);
                    level.all.forget(bytes, covered);
                    level.inferred.forget(bytes, covered);
                    // What stands in an arm that excludes this one comes behind what is before both, and not behind this one.
                    let written = level.written.last_mut().filter(|_| !excludes);
                    written.into_iter().for_each(|written| written.push(bytes));
                }
                level.inferred.insert(touch);
            }
            level.all.insert(touch);
        }
        for other in before {
            if !self.is_declared(other, node) {
                self.edge(other, node, EdgeKind::Range);
            }
        }
    }

    /// Ends the arms of a decision. Nothing behind them excludes what they write, so that stands for what was there before.
    pub(super) fn end_arms(&mut self, decide: u32) {
        let level = &mut self.levels[self.level as usize];
        let Some(mut written) = level.written.pop() else { return };
        let (nodes, guards) = (&self.nodes, &self.plan.records.guards);
        let guard = nodes[decide as usize].guard;
        let covered = |other: u32| other < decide && is_within(guards, nodes[other as usize].guard, guard);
        for &bytes in &written {
            level.all.forget(bytes, covered);
            level.inferred.forget(bytes, covered);
        }
        level.written.last_mut().into_iter().for_each(|outer| outer.append(&mut written));
    }

    /// The arms of a guard and of those around it.
    fn arms_of(&self, guard: u32) -> impl Iterator<Item = Arm> {
        let guards = &self.plan.records.guards;
        let parent = move |guard: &u32| guards.get(*guard as usize).map(|record| record.parent);
        let around = std::iter::successors(Some(guard), parent);
        around.filter_map(|guard| self.arms.get(guard as usize).copied().flatten())
    }

    /// Whether two nodes stand in different arms of one decision, or in arms of decisions that exclude each other, so that only one of them runs.
    fn exclude(&self, a: u32, b: u32) -> bool {
        let guards = &self.plan.records.guards;
        let up = |guard: u32| guards[guard as usize].parent;
        let (mut a, mut b) = (self.nodes[a as usize].guard, self.nodes[b as usize].guard);
        if self.unit.exclusive.exclude(self.arms_of(a), self.arms_of(b)) {
            return true;
        }
        // A guard comes after the one around it.
        while a != b && a != NONE && b != NONE {
            let (low, high) = (a.min(b), a.max(b));
            let arms = [low, high].map(|guard| guards[guard as usize].when);
            if high == low + 1 && arms == [WHEN_NONZERO, WHEN_ZERO] {
                return true;
            }
            (a, b) = (low, up(high));
        }
        false
    }

    /// Whether the program itself says how two nodes follow each other.
    fn is_declared(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        a.frame == b.frame
            && (self.declared.contains(&(a.work, b.work)) || self.declared.contains(&(b.work, a.work)))
    }

    /// Whether a run decides if what comes runs at all. What it needs is wrong only where it does.
    pub(super) fn is_guarded(&self) -> bool {
        self.level != 0 || self.blocks.last().is_some_and(|block| block.guard != NONE)
    }

    /// A scalar of the plan; 0 after a fault.
    pub(super) fn scalar(&mut self, scalar: Scalar, instr: u32) -> Scalar {
        match self.pool.scalar(self.unit, &self.around, scalar) {
            Ok(scalar) => scalar,
            Err(ScalarFault::Value(_, scalar)) if self.is_guarded() => scalar,
            Err(fault) => {
                let module = self.unit.module;
                match fault {
                    ScalarFault::Unknown(op) => {
                        let what = format!("has an operand that has no value there: {op:?}");
                        self.faults.unverified(module, instr as usize, &what);
                    }
                    ScalarFault::Value(fault, _) => self.faults.value(module, instr as usize, fault),
                }
                Scalar::Const(0)
            }
        }
    }

    /// A condition of the plan.
    pub(super) fn condition(&mut self, value: Scalar, instr: u32) -> u32 {
        let fixed = self.numbers();
        self.plan.conditions.push(ConditionItem { value, fixed, instr });
        self.plan.conditions.len() as u32 - 1
    }

    /// What a condition reads.
    pub(super) fn condition_reads(&self, value: Scalar) -> Vec<(Bytes, AccessKind, Order)> {
        let mut reads = Vec::new();
        self.pool.reads(value, |bytes| reads.push((bytes, AccessKind::Read, Order::Inferred)));
        reads
    }

    /// The number that stands for a notification or a wait for one among tensors.
    pub(super) fn resource(&mut self, kind: NodeKind, device: u32, notify: u32) -> u32 {
        let key = (kind, device, notify);
        let at = self.resources.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.resources.push(key);
            self.resources.len() - 1
        });
        self.tracked.insert(RESOURCES + at as u32);
        RESOURCES + at as u32
    }

    /// Begins the graph of a source: nothing of it has nodes yet.
    pub(super) fn open(&mut self, source: &Source, moved: HashMap<u32, u32>) {
        self.cur = vec![Vec::new(); source.works.len()];
        self.real = self.cur.clone();
        self.around = Surroundings { graph: source.no, iters: Vec::new(), moved };
        self.first_def = self.plan.defs.len() as u32;
        self.plan.defs.extend(source.defs.iter().map(|def| def.def.clone()));
        self.declared.clear();
        let is_kernel =
            |work: u32| matches!(source.works[work as usize].kind, super::source::WorkKind::Kernel(_));
        for edge in source.orders.iter().flat_map(|orders| &orders.edges) {
            if !(is_kernel(edge.src) && is_kernel(edge.dst)) {
                self.declared.insert((edge.src, edge.dst));
            }
        }
    }
}

/// Whether what a guard lets run runs only where another lets run, or nothing guards that.
fn is_within(guards: &[GuardRecord], mut guard: u32, around: u32) -> bool {
    // A guard comes after the one around it.
    while guard != NONE && around != NONE && guard > around {
        guard = guards[guard as usize].parent;
    }
    around == NONE || guard == around
}
