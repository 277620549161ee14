//! The records of a stored graph.
//!
//! A node is 32 bytes, so that a run touches half a cache line per task. The successors added last are in the record,
//! the others in a list of pooled edges of 8 bytes. Payloads of up to two words are in the record too, longer ones in
//! a pool of words. What few tasks have (a pool, a stream, a priority, an affinity) is in a table of its own, which is
//! empty when no task has any.

use super::all_but;
use crate::Affinity;
use crate::sync::{AtomicU32, Fault, Ordering, weakened};
use wsp_core::{ExecPool, KernelId, StreamId, TaskId};

/// No node.
pub(crate) const NIL: u32 = u32::MAX;

const INLINE_WORDS: usize = 2;
const LEN_SHIFT: u32 = 16;
/// The node is a barrier node: it completes without running.
const BARRIER_NODE: u32 = 1 << 24;

/// A task or a barrier node.
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Node {
    /// Open edges to it during a run; `fan_in` between runs.
    pending: AtomicU32,
    /// Edges to it.
    fan_in: u32,
    /// The successor added last, or [`NIL`].
    last: u32,
    /// The one added before, or [`NIL`].
    second: u32,
    /// The list of those added before these two, or [`NIL`].
    more: u32,
    /// Kernel, payload length, flags.
    code: u32,
    /// The payload, or first where it begins in the pool of words.
    payload: [u32; INLINE_WORDS],
}

impl Node {
    #[inline(always)]
    pub(crate) fn is_root(&self) -> bool {
        self.fan_in == 0
    }

    #[inline(always)]
    pub(crate) fn is_barrier_node(&self) -> bool {
        self.code & BARRIER_NODE != 0
    }

    #[inline(always)]
    pub(crate) fn kernel(&self) -> KernelId {
        KernelId(self.code as u16)
    }

    /// The payload, unless it is in the pool.
    #[inline(always)]
    pub(crate) fn inline_payload(&self) -> Option<&[u32]> {
        self.payload.get(..(self.code >> LEN_SHIFT & 0xFF) as usize)
    }

    /// The successors, unless there are more than two; each may be [`NIL`], the first only if both are.
    #[inline(always)]
    pub(crate) fn two_successors(&self) -> Option<(u32, u32)> {
        if self.more == NIL { Some((self.last, self.second)) } else { None }
    }

    /// Makes the counter ready for the next run, once all edges to the node are closed.
    #[inline(always)]
    pub(crate) fn rearm(&self) {
        // Relaxed: nobody touches it before the next run. A single edge was not counted.
        if self.fan_in > 1 {
            self.pending.store(self.fan_in, Ordering::Relaxed);
        }
    }

    /// Closes one edge to the node; true if it was the last. For several workers.
    #[inline(always)]
    pub(crate) fn count_down(&self) -> bool {
        // Whoever closes the only edge has nothing to take over: the queue passes the predecessor's writes on.
        // AcqRel: passes on the writes of the predecessor, and at zero takes over those of all the others.
        let pass_on = weakened(Fault::UncountedWrites, Ordering::AcqRel);
        self.fan_in == 1 || self.pending.fetch_sub(1, pass_on) == 1
    }

    /// Closes one edge to the node; true if it was the last, and then the counter is ready for the next run. For a single
    /// worker, where that is easily predicted: a record to which one edge leads is not written to.
    #[inline(always)]
    pub(crate) fn count_down_alone(&self) -> bool {
        let left = self.pending.load(Ordering::Relaxed).wrapping_sub(1);
        if left == 0 {
            self.rearm();
            return true;
        }
        self.pending.store(left, Ordering::Relaxed);
        false
    }

    /// The same without a branch.
    #[inline(always)]
    pub(crate) fn count_down_blindly(&self) -> bool {
        let left = self.pending.load(Ordering::Relaxed).wrapping_sub(1);
        self.pending.store(if left == 0 { self.fan_in } else { left }, Ordering::Relaxed);
        left == 0
    }
}

/// Where a task runs and when it is preferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) affinity: Affinity,
    pub(crate) pool: ExecPool,
    pub(crate) stream: Option<StreamId>,
    pub(crate) priority: i32,
}

/// The successor, and the next edge of the list or [`NIL`].
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    to: u32,
    next: u32,
}

/// All records.
#[derive(Debug, Default)]
pub(crate) struct Core {
    nodes: Vec<Node>,
    /// The first `listed` are in use, and there is at least one more as soon as there is an edge.
    edges: Vec<Edge>,
    listed: usize,
    words: Vec<u32>,
    /// As long as the last task that has any.
    attributes: Vec<Attributes>,
    /// Nodes without predecessors.
    roots: u32,
    edge_count: u64,
    barrier_nodes: u32,
    /// Some edge leads to an earlier task.
    backward: bool,
    /// Some node may have a successor with a smaller id than one added before.
    unsorted: bool,
}

impl Core {
    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.listed = 0;
        self.words.clear();
        self.attributes.clear();
        self.roots = 0;
        self.edge_count = 0;
        self.barrier_nodes = 0;
        self.backward = false;
        self.unsorted = false;
    }

    /// Tasks and barrier nodes.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    pub(crate) fn edge_count(&self) -> u64 {
        self.edge_count
    }

    pub(crate) fn roots(&self) -> u32 {
        self.roots
    }

    pub(crate) fn barrier_nodes(&self) -> u32 {
        self.barrier_nodes
    }

    pub(crate) fn has_backward_edges(&self) -> bool {
        self.backward
    }

    /// Whether [`each_successor`](Self::each_successor) shows the successors of every node in descending order.
    pub(crate) fn successors_descend(&self) -> bool {
        !self.unsorted
    }

    /// Whether hardly any node has more than two successors.
    pub(crate) fn is_regular(&self) -> bool {
        self.listed <= self.nodes.len() / 8
    }

    /// Whether some task asks for a place, a pool, a stream or a priority.
    pub(crate) fn has_attributes(&self) -> bool {
        !self.attributes.is_empty()
    }

    /// Bytes reserved.
    pub(crate) fn bytes(&self) -> u64 {
        let Core { nodes, edges, words, attributes, .. } = self;
        let bytes = nodes.capacity() * size_of::<Node>()
            + edges.capacity() * size_of::<Edge>()
            + words.capacity() * size_of::<u32>()
            + attributes.capacity() * size_of::<Attributes>();
        bytes as u64
    }

    /// Adds a task with edges from earlier tasks; more may follow.
    #[inline(always)]
    pub(crate) fn add_task(&mut self, kernel: KernelId, payload: &[u32], after: &[TaskId]) -> u32 {
        let code = u32::from(kernel.0) | (payload.len() as u32) << LEN_SHIFT;
        let mut inline = [0; INLINE_WORDS];
        if payload.len() <= INLINE_WORDS {
            for (to, from) in inline.iter_mut().zip(payload) {
                *to = *from;
            }
        } else {
            inline[0] = self.words.len() as u32;
            self.words.extend_from_slice(payload);
        }
        for task in after {
            self.add_successor(task.0, self.nodes.len() as u32);
        }
        self.edge_count += after.len() as u64;
        self.add(code, inline, after.len() as u32)
    }

    /// Adds a barrier node without edges. An `open` one has one to come: see [`close`](Self::close).
    pub(crate) fn add_barrier_node(&mut self, open: bool) -> u32 {
        self.barrier_nodes += 1;
        let node = self.add(BARRIER_NODE, [0; INLINE_WORDS], 0);
        if open {
            self.count_edge_to(node);
        }
        node
    }

    #[inline(always)]
    fn add(&mut self, code: u32, payload: [u32; INLINE_WORDS], fan_in: u32) -> u32 {
        let node = self.nodes.len() as u32;
        self.roots += u32::from(fan_in == 0);
        self.nodes.push(Node {
            pending: AtomicU32::new(fan_in),
            fan_in,
            last: NIL,
            second: NIL,
            more: NIL,
            code,
            payload,
        });
        node
    }

    #[cold]
    pub(crate) fn set_attributes(&mut self, node: u32, attributes: Attributes) {
        if attributes != Attributes::default() {
            self.attributes.resize(node as usize, Attributes::default());
            self.attributes.push(attributes);
        }
    }

    /// Adds an edge.
    #[inline]
    pub(crate) fn link(&mut self, from: u32, to: u32) {
        self.edge_count += 1;
        self.backward |= to <= from;
        self.unsorted |= to + 1 != self.len();
        self.add_successor(from, to);
        self.count_edge_to(to);
    }

    /// Adds the edge that an open barrier node has to come.
    pub(crate) fn link_open(&mut self, from: u32, to: u32) {
        self.edge_count += 1;
        self.backward |= to <= from;
        self.unsorted = true;
        self.add_successor(from, to);
    }

    /// Without branches on how many there are, which nobody can predict in an irregular graph.
    #[inline(always)]
    fn add_successor(&mut self, from: u32, to: u32) {
        let node = &mut self.nodes[from as usize];
        let third = node.second;
        node.second = node.last;
        node.last = to;
        // What was second joins the list; if there was nothing, the edge stays free.
        let listed = self.listed;
        if listed >= self.edges.len() {
            grow(&mut self.edges);
        }
        self.edges[listed] = Edge { to: third, next: node.more };
        node.more = if third == NIL { NIL } else { listed as u32 };
        self.listed = listed + usize::from(third != NIL);
    }

    #[inline]
    fn count_edge_to(&mut self, to: u32) {
        let node = &mut self.nodes[to as usize];
        self.roots -= u32::from(node.fan_in == 0);
        node.fan_in += 1;
        // Relaxed: not shared while the graph is built.
        node.pending.store(node.fan_in, Ordering::Relaxed);
    }

    pub(crate) fn fan_in(&self, node: u32) -> u32 {
        self.nodes[node as usize].fan_in
    }

    #[inline]
    pub(crate) fn is_barrier_node(&self, node: u32) -> bool {
        self.nodes[node as usize].code & BARRIER_NODE != 0
    }

    #[inline]
    pub(crate) fn kernel(&self, node: u32) -> KernelId {
        KernelId(self.nodes[node as usize].code as u16)
    }

    #[inline]
    pub(crate) fn payload(&self, node: u32) -> &[u32] {
        let node = &self.nodes[node as usize];
        let len = (node.code >> LEN_SHIFT & 0xFF) as usize;
        if len <= INLINE_WORDS {
            &node.payload[..len]
        } else {
            let begin = node.payload[0] as usize;
            &self.words[begin..begin + len]
        }
    }

    pub(crate) fn attributes(&self, node: u32) -> Attributes {
        self.attributes.get(node as usize).copied().unwrap_or_default()
    }

    /// Shows every successor, the last first.
    #[inline(always)]
    pub(crate) fn each_successor(&self, node: u32, mut each: impl FnMut(u32)) {
        self.each_successor_of(&self.nodes[node as usize], &mut each);
    }

    /// The same for a node's record.
    #[inline(always)]
    pub(crate) fn each_successor_of(&self, node: &Node, mut each: impl FnMut(u32)) {
        let Node { last, second, more, .. } = *node;
        if last == NIL {
            return;
        }
        each(last);
        if second == NIL {
            return;
        }
        each(second);
        let mut edge = more;
        // No list is that long that the index of an edge is that of none.
        while let Some(&Edge { to, next }) = self.edges.get(edge as usize) {
            each(to);
            edge = next;
        }
    }

    /// The same graph without one edge between each of these pairs.
    pub(crate) fn without(&self, pairs: &[(u32, u32)]) -> Core {
        let mut keeps = all_but(pairs);
        let mut core = Core {
            words: self.words.clone(),
            attributes: self.attributes.clone(),
            barrier_nodes: self.barrier_nodes,
            backward: self.backward,
            unsorted: true,
            ..Core::default()
        };
        for node in &self.nodes {
            core.add(node.code, node.payload, node.fan_in);
        }
        for from in 0..self.len() {
            let mut list = Vec::new();
            self.each_successor(from, |to| list.push(to));
            for to in list.into_iter().rev() {
                if keeps((from, to)) {
                    core.edge_count += 1;
                    core.add_successor(from, to);
                } else {
                    core.uncount_edge_to(to);
                }
            }
        }
        core
    }

    fn uncount_edge_to(&mut self, to: u32) {
        let node = &mut self.nodes[to as usize];
        node.fan_in -= 1;
        // Relaxed: not shared while the graph is built.
        node.pending.store(node.fan_in, Ordering::Relaxed);
        self.roots += u32::from(node.fan_in == 0);
    }

    /// All nodes.
    #[inline]
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Makes all counters ready, after a run that did not complete.
    pub(crate) fn rearm_all(&self) {
        self.nodes.iter().for_each(Node::rearm);
    }
}

/// Doubles the storage for edges.
#[cold]
#[inline(never)]
fn grow(edges: &mut Vec<Edge>) {
    let len = (2 * edges.len()).max(64);
    edges.resize(len, Edge::default());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn successors(core: &Core, node: u32) -> Vec<u32> {
        let mut list = Vec::new();
        core.each_successor(node, |to| list.push(to));
        list
    }

    #[test]
    fn a_record_is_half_a_cache_line() {
        assert_eq!((size_of::<Node>(), size_of::<Edge>()), (32, 8));
    }

    #[test]
    fn any_number_of_successors_comes_back() {
        let mut core = Core::default();
        (0..10).for_each(|i| assert_eq!(core.add_task(KernelId(i), &[], &[]), u32::from(i)));
        let mut expected = Vec::new();
        for to in 1..10 {
            assert_eq!(successors(&core, 0).len(), expected.len());
            core.link(0, to);
            expected.push(to);
            let mut found = successors(&core, 0);
            found.reverse();
            assert_eq!(found, expected);
        }
        assert_eq!((core.edge_count(), core.roots()), (9, 1));
    }

    #[test]
    fn an_edge_that_is_left_out_is_left_out_once() {
        let mut core = Core::default();
        for _ in 0..4 {
            core.add_task(KernelId(0), &[7, 8, 9], &[]);
        }
        for (from, to) in [(0, 1), (0, 1), (0, 2), (1, 2), (0, 3)] {
            core.link(from, to);
        }
        let less = core.without(&[(0, 1), (1, 2), (0, 3)]);
        assert_eq!((successors(&less, 0), successors(&less, 1)), (vec![2, 1], vec![]));
        assert_eq!((0..4).map(|node| less.fan_in(node)).collect::<Vec<u32>>(), [0, 1, 1, 0]);
        assert_eq!((less.roots(), less.edge_count(), less.payload(3)), (2, 2, &[7, 8, 9][..]));
    }

    #[test]
    fn payloads_of_any_length_come_back() {
        let mut core = Core::default();
        let words: Vec<u32> = (100..116).collect();
        for len in 0..=16 {
            core.add_task(KernelId(u16::MAX), &words[..len], &[]);
        }
        assert!((0..=16).all(|len| core.payload(len) == &words[..len as usize]));
        assert_eq!(core.kernel(16), KernelId(u16::MAX));
        assert!(!core.is_barrier_node(16));
    }
}
