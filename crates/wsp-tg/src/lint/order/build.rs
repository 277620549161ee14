//! Edges of the order, out of instructions and blocks.

use super::rounds::Rounds;
use super::{Edge, Point, Why};
use crate::lint::access::Access;
use crate::lint::accesses::Accesses;
use crate::lint::pairs::CopyOrder;
use wsp_core::tg::{DependencyType, EventNo, Instr, KernelNo, NodeNo};
use wsp_ir::tg::outline::{BlockId, BlockKind, NumberMap, Outline};
use wsp_ir::tg::{TgModule, earlier_waits};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// Edges made of joins of many kernels, over all graphs, beyond which they are left out.
const MAX_JOIN_EDGES: usize = 1 << 24;

/// What makes an order.
pub(super) struct Built {
    pub(super) points: Vec<Point>,
    /// The block of each point.
    pub(super) point_block: Vec<BlockId>,
    pub(super) edges: Vec<Edge>,
}

/// The points and edges of a unit; copies are in the order of `copies`.
pub(super) fn build(rounds: Rounds<'_>, accesses: &Accesses, copies: CopyOrder) -> Built {
    let mut builder = Builder::new(rounds);
    builder.points_of_blocks(accesses);
    builder.instructions();
    builder.copies(accesses, copies);
    let Builder { points, point_block, edges, .. } = builder;
    Built { points, point_block, edges }
}

/// A kernel that signals an event or waits for it, with the instruction.
type End = (u32, u32);
type Ends = Vec<End>;

struct Builder<'m> {
    module: &'m TgModule,
    outline: &'m Outline,
    rounds: Rounds<'m>,
    points: Vec<Point>,
    point_block: Vec<BlockId>,
    edges: Vec<Edge>,
    /// Whether edges that are made now hold in all rounds.
    always: bool,
    /// Per block the begin and the end of the loop that it is, if that has borders.
    borders: Vec<Option<(u32, u32)>>,
    /// Decisions on data and breaks, by instruction.
    decisions: Vec<(u32, u32)>,
    /// The gang's start of each kernel.
    gang: NumberMap,
    extern_events: NumberMap,
    /// Waits for other launches, of events that the graph signals as well.
    earlier: OrderedSet<u32>,
    join_edges: usize,
}

impl<'m> Builder<'m> {
    fn new(rounds: Rounds<'m>) -> Builder<'m> {
        let Rounds { module, outline, .. } = rounds;
        let map = || NumberMap::new(module.instrs.len());
        let mut extern_events = map();
        for (event, _) in &module.extern_events {
            extern_events.insert(event.0, 0);
        }
        Builder {
            module,
            outline,
            rounds,
            points: Vec::new(),
            point_block: Vec::new(),
            edges: Vec::new(),
            always: true,
            borders: vec![None; outline.blocks.len()],
            decisions: Vec::new(),
            gang: map(),
            extern_events,
            earlier: earlier_waits(module),
            join_edges: 0,
        }
    }

    fn base(&self) -> u32 {
        (self.outline.kernels.len() + self.outline.copies.len()) as u32
    }

    fn point(&mut self, point: Point, block: BlockId) -> u32 {
        self.points.push(point);
        self.point_block.push(block);
        self.base() + self.points.len() as u32 - 1
    }

    fn block(&self, node: u32) -> BlockId {
        let kernels = self.outline.kernels.len() as u32;
        if node < kernels {
            self.outline.kernels[node as usize].block
        } else if node < self.base() {
            self.outline.copies[(node - kernels) as usize].block
        } else {
            self.point_block[(node - self.base()) as usize]
        }
    }

    /// The outermost loop with borders around `inner` that is not around `other`.
    fn border(&self, inner: BlockId, other: BlockId) -> Option<(u32, u32)> {
        if inner == other {
            return None;
        }
        let (meet, ..) = self.outline.blocks.meet(inner, other);
        let between = self.outline.blocks.outwards(inner).take_while(|(id, _)| *id != meet);
        between.filter_map(|(id, _)| self.borders[id.0 as usize]).last()
    }

    fn edge(&mut self, from: u32, to: u32, why: Why, origin: u32) {
        let (a, b) = (self.block(from), self.block(to));
        let outside = self.border(b, a).map(|(begin, _)| begin);
        // What the node itself shows stays with the node.
        for from in [Some(from), self.border(a, b).map(|(_, end)| end)].into_iter().flatten() {
            match outside {
                Some(begin) => self.push(from, begin, why, origin),
                None if why == Why::Gang => self.push(from, to, why, origin),
                None => self.lead(from, to, why, origin),
            }
        }
    }

    /// An edge to a node, or to the start of its gang. A member that an arm may skip waits for what leads to it and not for its gang.
    fn lead(&mut self, from: u32, to: u32, why: Why, origin: u32) {
        let start = self.gang.get(to);
        start.into_iter().for_each(|start| self.push(from, start, why, origin));
        if start.is_none() || self.arm(self.block(to)).is_some() {
            self.push(from, to, why, origin);
        }
    }

    /// The innermost arm of a condition around a block.
    fn arm(&self, block: BlockId) -> Option<BlockId> {
        self.outline.blocks.outwards(block).find(|(_, def)| def.kind.is_arm()).map(|(id, _)| id)
    }

    fn push(&mut self, from: u32, to: u32, why: Why, origin: u32) {
        self.edges.push(Edge { from, to, why, origin, always: self.always });
    }

    /// Kernels and copies of a graph whose instructions lie in a range.
    fn nodes_within(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + use<> {
        let kernels = &self.outline.kernels;
        let copies = &self.outline.copies;
        let k = kernels.partition_point(|n| n.at < from)..kernels.partition_point(|n| n.at < to);
        let c = copies.partition_point(|n| n.at < from)..copies.partition_point(|n| n.at < to);
        let base = kernels.len();
        k.chain(c.start + base..c.end + base).map(|node| node as u32)
    }

    /// The same, and the decisions among them.
    fn all_within(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + use<> {
        let place = |at: u32| self.decisions.partition_point(|(decision, _)| *decision < at);
        let decisions: Vec<u32> =
            self.decisions[place(from)..place(to)].iter().map(|(_, point)| *point).collect();
        self.nodes_within(from, to).chain(decisions)
    }

    /// Loops that run round by round, and decisions on data.
    fn points_of_blocks(&mut self, accesses: &Accesses) {
        let blocks: Vec<_> = self.outline.blocks.iter().map(|(id, block)| (id, *block)).collect();
        for &(id, block) in &blocks {
            let in_graph = self.outline.blocks.outwards(id).any(|(_, b)| b.kind == BlockKind::Graph);
            if !in_graph {
                continue;
            }
            if block.kind.is_loop() && !self.rounds.is_unrolled(id) {
                let begin = self.point(Point::LoopBegin(block.open), block.parent);
                let end = self.point(Point::LoopEnd(block.open), block.parent);
                self.push(begin, end, Why::Control, block.open);
                self.borders[id.0 as usize] = Some((begin, end));
                self.decided_by((begin, end), (block.open, block.close), accesses);
            }
        }
        self.decisions(accesses);
        for &(id, block) in &blocks {
            if let Some((begin, end)) = self.borders[id.0 as usize] {
                self.within_borders(id, block.open, block.close, (begin, end));
            }
            if block.kind == BlockKind::Then {
                self.arms(block.open, block.close);
            }
        }
    }

    /// Everything in a loop lies between its begin and its end.
    fn within_borders(&mut self, id: BlockId, open: u32, close: u32, (begin, end): (u32, u32)) {
        for node in self.all_within(open + 1, close) {
            let mut around = self.outline.blocks.outwards(self.block(node));
            let innermost = around.find(|(around, _)| self.borders[around.0 as usize].is_some());
            if innermost.is_some_and(|(around, _)| around == id) {
                self.lead(begin, node, Why::Control, open);
                self.push(node, end, Why::Control, open);
            }
        }
        let mut around = self.outline.blocks.outwards(self.outline.blocks.get(id).parent);
        let outer = around.find_map(|(around, _)| self.borders[around.0 as usize]);
        if let Some((outer_begin, outer_end)) = outer {
            self.push(outer_begin, begin, Why::Control, open);
            self.push(end, outer_end, Why::Control, open);
        }
    }

    /// Makes the points of decisions on data and of breaks in graphs: a condition that loads data decides after the kernels and
    /// copies that write it before.
    fn decisions(&mut self, accesses: &Accesses) {
        let blocks = &self.outline.blocks;
        let in_graph = |block| blocks.outwards(block).any(|(_, around)| around.kind == BlockKind::Graph);
        for at in 0..self.module.instrs.len() as u32 {
            if !matches!(self.module.instrs[at as usize], Instr::CfIf { .. } | Instr::CfBreak { .. }) {
                continue;
            }
            let around = blocks.around(at);
            let block = match self.module.instrs[at as usize] {
                Instr::CfIf { .. } if accesses.loads_at(at) => Some(around),
                Instr::CfBreak { .. } if in_graph(around) => blocks.innermost_loop(around),
                _ => None,
            };
            if let Some(block) = block {
                let decision = self.point(Point::Decision(at), block);
                self.decisions.push((at, decision));
                self.decided_by((decision, decision), (at, at), accesses);
            }
        }
    }

    /// Both arms of a condition that loads data run after it.
    fn arms(&mut self, open: u32, close: u32) {
        let Some(decision) = self.decision(open) else { return };
        let other = self.outline.blocks.opened_by(close).map(|other| self.outline.blocks.get(other));
        let close = other.map_or(close, |other| other.close);
        self.always = self.rounds.always_stands(self.outline.blocks.around(open));
        for node in self.all_within(open + 1, close) {
            self.edge(decision, node, Why::Control, open);
        }
        self.always = true;
    }

    /// The decision of an instruction.
    fn decision(&self, at: u32) -> Option<u32> {
        let found = self.decisions.binary_search_by_key(&at, |(decision, _)| *decision);
        found.ok().map(|found| self.decisions[found].1)
    }

    /// A condition or count comes after kernels and copies that write before it what it loads, and before those that write it behind `close`.
    fn decided_by(&mut self, (begin, end): (u32, u32), (at, close): (u32, u32), accesses: &Accesses) {
        let [before, mut behind] = accesses.writers_around_load((self.module, self.outline), at);
        behind.retain(|(writer, _)| writer.place > close);
        for (writers, is_before) in [(before, true), (behind, false)] {
            for of_node in writers.chunk_by(|a, b| a.0.node == b.0.node) {
                self.join_edges += 1;
                if self.join_edges > MAX_JOIN_EDGES {
                    return;
                }
                let writer = of_node[0].0.node;
                self.always = self.rounds.meet_always(of_node);
                match is_before {
                    true => self.edge(writer, begin, Why::Control, at),
                    false => self.edge(end, writer, Why::Control, at),
                }
                self.always = true;
            }
        }
    }

    fn instructions(&mut self) {
        let mut kernels = NumberMap::new(self.module.instrs.len());
        for graph in 0..self.outline.graphs.len() as u32 {
            let def = &self.outline.graphs[graph as usize];
            if def.parts.is_some() {
                continue;
            }
            self.outline.kernel_map(graph, &mut kernels);
            self.gangs(def.at, def.end, &kernels);
            self.events(def.at, def.end, &kernels);
            let mut barriers = Vec::new();
            for at in def.at..def.end {
                match self.module.instrs[at as usize] {
                    Instr::TgDepend { src_kernel, dst_kernel, dep_type, tensor_id } => {
                        let node = |node: NodeNo| match node.kernel() {
                            Some(kernel) => kernels.get(kernel.0),
                            None => Some(
                                self.outline.kernels.len() as u32
                                    + def.copies.start
                                    + node.copy().unwrap_or(0),
                            ),
                        };
                        let (Some(from), Some(to)) = (node(src_kernel), node(dst_kernel)) else { continue };
                        match dep_type {
                            DependencyType::Soft => {}
                            DependencyType::After => self.edge(from, to, Why::After, at),
                            DependencyType::Data => self.edge(from, to, Why::Data(tensor_id), at),
                            DependencyType::Barrier => barriers.push((from, to, at)),
                        }
                    }
                    Instr::TgCheckpoint { .. } | Instr::CfBreak { .. } => self.cut(at, def.at, def.end),
                    _ => {}
                }
            }
            self.barriers(def.at, def.end, &barriers);
        }
    }

    /// A checkpoint comes after everything before it in its graph, and before everything behind it; a break is such a cut in
    /// its loop.
    fn cut(&mut self, at: u32, begin: u32, end: u32) {
        let is_break = matches!(self.module.instrs[at as usize], Instr::CfBreak { .. });
        let around = self.outline.blocks.around(at);
        let id = if is_break { self.outline.blocks.innermost_loop(around) } else { Some(around) };
        let Some(id) = id else { return };
        let block = self.outline.blocks.get(id);
        let (from, to) = if is_break { (block.open, block.close) } else { (begin, end) };
        let before: Vec<u32> = self.all_within(from, at).collect();
        let after: Vec<u32> = self.all_within(at + 1, to).collect();
        self.join_edges += before.len() + after.len();
        if self.join_edges > MAX_JOIN_EDGES {
            return;
        }
        let (join, why) = match self.decision(at) {
            Some(decision) => (decision, Why::Control),
            None => (self.point(Point::Join(at), id), Why::Join),
        };
        let is_settled = is_break && self.rounds.is_settled(at);
        self.always = !is_settled && self.rounds.always_stands(around);
        before.into_iter().for_each(|node| self.edge(node, join, why, at));
        after.into_iter().for_each(|node| self.edge(join, node, why, at));
        self.always = true;
    }

    /// Where a kernel or copy stands.
    fn place(&self, node: u32) -> u32 {
        let kernels = self.outline.kernels.len();
        match self.outline.kernels.get(node as usize) {
            Some(kernel) => kernel.at,
            None => self.outline.copies[node as usize - kernels].at,
        }
    }

    /// Barriers, as two nodes and an instruction each: every kernel and copy up to the first, a join, every one from the
    /// second on.
    fn barriers(&mut self, begin: u32, end: u32, barriers: &[(u32, u32, u32)]) {
        if barriers.is_empty() {
            return;
        }
        let mut nodes: Vec<u32> = self.nodes_within(begin, end).collect();
        nodes.arrange_by_key(|node| self.place(*node));
        let position = |node: u32| nodes.partition_point(|other| self.place(*other) < self.place(node));
        let mut placed: Vec<(usize, usize, u32)> =
            barriers.iter().map(|&(from, to, at)| (position(from), position(to), at)).collect();
        placed.arrange();
        let is_flat = nodes.iter().all(|&node| {
            let mut around = self.outline.blocks.outwards(self.block(node));
            around.all(|(id, _)| self.borders[id.0 as usize].is_none())
        });
        if is_flat {
            self.shared_joins(&nodes, &placed);
        } else {
            self.own_joins(&nodes, &placed);
        }
    }

    /// Each barrier with edges of its own.
    fn own_joins(&mut self, nodes: &[u32], barriers: &[(usize, usize, u32)]) {
        for &(from, to, at) in barriers {
            self.join_edges += nodes.len();
            if self.join_edges > MAX_JOIN_EDGES {
                return;
            }
            let (meet, ..) = self.outline.blocks.meet(self.block(nodes[from]), self.block(nodes[to]));
            let join = self.point(Point::Join(at), meet);
            nodes[..=from].iter().for_each(|&node| self.edge(node, join, Why::Join, at));
            nodes[to..].iter().for_each(|&node| self.edge(join, node, Why::Join, at));
        }
    }

    /// Barriers of a graph without loops that run round by round: a join in front of each, which takes what the join before it
    /// has, and one behind it, which gives to the one after it, so that each node has two edges at most.
    fn shared_joins(&mut self, nodes: &[u32], barriers: &[(usize, usize, u32)]) {
        let block = self.block(nodes[0]);
        let block = self.outline.blocks.outwards(block).last().map_or(block, |(id, _)| id);
        let mut heads = Vec::with_capacity(barriers.len());
        let (mut next, mut before) = (0, None);
        for &(from, _, at) in barriers {
            let head = self.point(Point::Join(at), block);
            for &node in nodes.get(next..=from).unwrap_or(&[]) {
                self.edge(node, head, Why::Join, at);
            }
            before.into_iter().for_each(|before| self.edge(before, head, Why::Join, at));
            next = next.max(from + 1);
            before = Some(head);
            heads.push(head);
        }
        let mut order: Vec<usize> = (0..barriers.len()).collect();
        order.arrange_by_key(|&at| std::cmp::Reverse((barriers[at].1, at)));
        let (mut last, mut after) = (nodes.len(), None);
        for at in order {
            let (_, to, origin) = barriers[at];
            let tail = self.point(Point::Join(origin), block);
            self.edge(heads[at], tail, Why::Join, origin);
            nodes[to..last].iter().for_each(|&node| self.edge(tail, node, Why::Join, origin));
            after.into_iter().for_each(|after| self.edge(tail, after, Why::Join, origin));
            last = to;
            after = Some(tail);
        }
    }

    fn gangs(&mut self, begin: u32, end: u32, kernels: &NumberMap) {
        for at in begin..end {
            let Instr::SyBarrier { kernel_set, .. } = self.module.instrs[at as usize] else { continue };
            let members: Vec<u32> =
                self.module.set(kernel_set).iter().filter_map(|no: &KernelNo| kernels.get(no.0)).collect();
            let Some(&first) = members.first() else { continue };
            let start = self.point(Point::Gang(at), self.block(first));
            for member in members {
                self.gang.insert(member, start);
                let block = self.block(member);
                self.always = self.arm(block).is_none() && self.rounds.always_stands(block);
                self.edge(start, member, Why::Gang, at);
            }
            self.always = true;
        }
    }

    /// Makes the points of events that a graph signals and waits for, with their edges: signals come before waits as by an edge from each to each, in
    /// every round of the loops around both.
    fn events(&mut self, begin: u32, end: u32, kernels: &NumberMap) {
        let mut uses: OrderedMap<EventNo, [Ends; 2]> = OrderedMap::new();
        for at in begin..end {
            let (event, kernel, waits) = match self.module.instrs[at as usize] {
                Instr::SySignal { event_id, src_kernel } => (event_id, src_kernel, 0),
                Instr::SyWait { event_id, dst_kernel } if !self.earlier.contains(&at) => {
                    (event_id, dst_kernel, 1)
                }
                _ => continue,
            };
            let kernel = kernels.get(kernel.0).filter(|_| self.extern_events.get(event.0).is_none());
            kernel.into_iter().for_each(|kernel| uses.entry(event).or_default()[waits].push((kernel, at)));
        }
        for (event, [signals, waits]) in uses {
            for [signals, waits] in self.in_one_loop(&signals, &waits) {
                let ends = signals.iter().chain(&waits);
                let blocks = ends.map(|(kernel, _)| self.block(*kernel));
                let Some(block) = blocks.reduce(|a, b| self.outline.blocks.meet(a, b).0) else { continue };
                let point = self.point(Point::Event(event), block);
                signals.into_iter().for_each(|(kernel, at)| self.edge(kernel, point, Why::Event, at));
                waits.into_iter().for_each(|(kernel, at)| self.edge(point, kernel, Why::Event, at));
            }
        }
    }

    /// Kernels that signal an event and kernels that wait for it, so that each group has one innermost loop around each that signals and each that waits.
    fn in_one_loop(&self, signals: &[End], waits: &[End]) -> Vec<[Ends; 2]> {
        let blocks = &self.outline.blocks;
        let mut waits_in: OrderedMap<Option<BlockId>, Ends> = OrderedMap::new();
        for wait in waits {
            waits_in.entry(blocks.innermost_loop(self.block(wait.0))).or_default().push(*wait);
        }
        let mut groups: OrderedMap<(Option<BlockId>, Ends), Ends> = OrderedMap::new();
        for waits in waits_in.into_values() {
            let mut signals_in: OrderedMap<Option<BlockId>, Ends> = OrderedMap::new();
            for signal in signals {
                let (meet, ..) = blocks.meet(self.block(waits[0].0), self.block(signal.0));
                signals_in.entry(blocks.innermost_loop(meet)).or_default().push(*signal);
            }
            for group in signals_in {
                groups.entry(group).or_default().extend(&waits);
            }
        }
        groups.into_iter().map(|((_, signals), waits)| [signals, waits]).collect()
    }

    /// Copies are in program order with whoever else uses their bytes.
    fn copies(&mut self, accesses: &Accesses, order: CopyOrder) {
        for pair in order.pairs {
            let (first, second) = (pair.first, pair.second);
            let copy = self.outline.kernels.len() as u32..self.base();
            let copy = if copy.contains(&first) { first } else { second };
            let at = self.outline.copies[(copy - self.outline.kernels.len() as u32) as usize].at;
            let access = |at: u32| accesses.list[at as usize];
            let meetings: Vec<(Access, Access)> =
                pair.meetings.into_iter().map(|(a, b)| (access(a), access(b))).collect();
            self.always = self.rounds.meet_always(&meetings);
            if !self.always {
                // In rounds in which they meet, the two themselves are in order.
                self.push(first, second, Why::Copy, at);
            }
            self.edge(first, second, Why::Copy, at);
            self.always = true;
        }
    }
}
