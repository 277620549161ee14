//! Runs a stored graph on the calling thread alone: nothing is shared, so counters are plain and no queue is concurrent.

use super::core::{Core, NIL, Node};
use crate::TaskRunner;
use crate::ranked::RankedTasks;
use crate::shared::{Cause, Failed, message};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::TaskId;

/// Ready nodes in the order of a policy.
pub(super) trait ReadySet {
    /// Whether nodes that were ready from the beginning come before all others.
    const ROOTS_FIRST: bool;
    /// Whether a branch on a node's being ready is likely to be predicted. In a regular graph it is, and then nothing has
    /// to wait for the counter.
    const REGULAR: bool = true;

    /// Adds a node if it is `ready`. What one completion releases is added in descending order.
    fn add(&mut self, core: &Core, node: u32, ready: bool);

    /// All that one completion released has been added.
    fn close(&mut self);

    /// In place of adding the last that one completion released, and the smallest: whether it would be the next to be
    /// taken anyway. `roots_left` tells whether some that were ready from the beginning have not been taken.
    fn is_next(&self, roots_left: bool) -> bool;

    /// Takes the next.
    fn pop(&mut self) -> Option<u32>;
}

/// Nodes that fit at first; a power of two.
const FIRST_READY: usize = 64;

/// First in, first out: a ring that always has a free place.
pub(super) struct Fifo<const REGULAR: bool> {
    /// As long as a power of two.
    ring: Vec<u32>,
    /// Nodes taken and added so far, and added before the present completion; places in the ring but for whole turns.
    taken: usize,
    added: usize,
    before: usize,
}

impl<const REGULAR: bool> Default for Fifo<REGULAR> {
    fn default() -> Self {
        Fifo { ring: vec![0; FIRST_READY], taken: 0, added: 0, before: 0 }
    }
}

impl<const REGULAR: bool> Fifo<REGULAR> {
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = self.ring.len();
        self.ring.rotate_left(self.taken & (len - 1));
        self.ring.resize(2 * len, 0);
        self.before -= self.taken;
        self.added -= self.taken;
        self.taken = 0;
    }

    #[cold]
    #[inline(never)]
    fn reverse(&mut self) {
        let mask = self.ring.len() - 1;
        let (mut low, mut high) = (self.before, self.added - 1);
        while low < high {
            self.ring.swap(low & mask, high & mask);
            (low, high) = (low + 1, high - 1);
        }
    }
}

impl<const REGULAR: bool> ReadySet for Fifo<REGULAR> {
    const ROOTS_FIRST: bool = true;
    const REGULAR: bool = REGULAR;

    #[inline(always)]
    fn add(&mut self, _: &Core, node: u32, ready: bool) {
        let mask = self.ring.len() - 1;
        self.ring[self.added & mask] = node;
        self.added += usize::from(ready);
        if self.added - self.taken > mask {
            self.grow();
        }
    }

    #[inline(always)]
    fn close(&mut self) {
        if self.added - self.before > 1 {
            self.reverse();
        }
        self.before = self.added;
    }

    #[inline(always)]
    fn is_next(&self, roots_left: bool) -> bool {
        self.taken == self.added && !roots_left
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u32> {
        if self.taken == self.added {
            return None;
        }
        let node = self.ring[self.taken & (self.ring.len() - 1)];
        self.taken += 1;
        Some(node)
    }
}

/// Last in, first out: what a single worker does under work stealing.
#[derive(Default)]
pub(super) struct Lifo(Vec<u32>);

impl ReadySet for Lifo {
    const ROOTS_FIRST: bool = false;

    #[inline(always)]
    fn add(&mut self, _: &Core, node: u32, ready: bool) {
        if ready {
            self.0.push(node);
        }
    }

    #[inline(always)]
    fn close(&mut self) {}

    #[inline(always)]
    fn is_next(&self, _: bool) -> bool {
        true
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}

/// Largest priority first, then first in, first out.
pub(super) struct ByPriority {
    /// All in one place.
    tasks: RankedTasks,
    /// What the present completion released.
    group: Vec<(i32, u32)>,
}

impl Default for ByPriority {
    fn default() -> ByPriority {
        ByPriority { tasks: RankedTasks::new(1), group: Vec::new() }
    }
}

impl ReadySet for ByPriority {
    const ROOTS_FIRST: bool = true;

    fn add(&mut self, core: &Core, node: u32, ready: bool) {
        if ready {
            self.group.push((core.attributes(node).priority, node));
        }
    }

    fn close(&mut self) {
        while let Some((priority, node)) = self.group.pop() {
            self.tasks.push(node, 0, priority);
        }
    }

    fn is_next(&self, _: bool) -> bool {
        false
    }

    fn pop(&mut self) -> Option<u32> {
        self.tasks.pop(0).map(|(_, node)| node)
    }
}

/// How the run went.
pub(super) struct Ran<F> {
    /// Tasks and barrier nodes that completed or were dropped.
    pub(super) completed: u32,
    /// Tasks among them that were dropped.
    pub(super) dropped: u64,
    pub(super) failed: Option<Failed<F>>,
    /// The caller's flag was seen while there was work left.
    pub(super) cancelled: bool,
}

/// One run.
pub(super) struct Solo<'g, R: TaskRunner, Q> {
    core: &'g Core,
    nodes: &'g [Node],
    runner: &'g R,
    cancel: Option<&'g AtomicBool>,
    /// Tasks may have to be dropped, because there is a flag or some task has failed; or there are barrier nodes.
    careful: bool,
    /// Edges make for no surprise: successors are tasks, and come in descending order.
    simple: bool,
    ready: Q,
    /// Scratch: what the present completion released.
    released: Vec<u32>,
    /// Barrier nodes to complete.
    points: Vec<u32>,
    /// The next node to look at for one that is ready from the beginning, and how many of those are left.
    cursor: u32,
    roots_left: u32,
    current: u32,
    /// Tasks from this one on are dropped.
    refused_from: u32,
    ran: Ran<R::Failure>,
}

impl<'g, R: TaskRunner, Q: ReadySet> Solo<'g, R, Q> {
    pub(super) fn new(core: &'g Core, runner: &'g R, cancel: Option<&'g AtomicBool>, ready: Q) -> Self {
        Solo {
            core,
            nodes: core.nodes(),
            runner,
            cancel,
            careful: cancel.is_some() || core.barrier_nodes() > 0,
            simple: core.barrier_nodes() == 0 && core.successors_descend(),
            ready,
            released: Vec::new(),
            points: Vec::new(),
            cursor: 0,
            roots_left: core.roots(),
            current: 0,
            refused_from: u32::MAX,
            ran: Ran { completed: 0, dropped: 0, failed: None, cancelled: false },
        }
    }

    /// Runs what can run.
    pub(super) fn run(mut self, queue_roots: bool) -> Ran<R::Failure> {
        if queue_roots {
            while let Some(root) = self.root() {
                self.ready.add(self.core, root, true);
                self.ready.close();
            }
        }
        // Once for all tasks up to the next that panics.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work())) {
            self.fail(Cause::Panic(message(panic)));
            self.complete(&self.nodes[self.current as usize]);
        }
        self.ran
    }

    fn work(&mut self) {
        if self.simple && !self.careful {
            self.work_simply();
        }
        while let Some(node) = self.next() {
            let record = &self.nodes[node as usize];
            if !self.careful || self.is_to_run(node, record) {
                self.execute(node, record);
            }
            self.complete(record);
        }
    }

    /// Runs all that can run, or until a task fails.
    fn work_simply(&mut self) {
        let nodes = self.nodes;
        let mut next = self.next();
        while let Some(node) = next {
            let record = &nodes[node as usize];
            self.execute(node, record);
            if self.careful {
                return self.complete(record);
            }
            next = match self.complete_simply(record) {
                None => self.next(),
                direct => direct,
            };
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        if Q::ROOTS_FIRST {
            self.root().or_else(|| self.ready.pop())
        } else {
            self.ready.pop().or_else(|| self.root())
        }
    }

    /// The next node without predecessors.
    #[inline(always)]
    fn root(&mut self) -> Option<u32> {
        if self.roots_left == 0 {
            return None;
        }
        while !self.nodes[self.cursor as usize].is_root() {
            self.cursor += 1;
        }
        self.cursor += 1;
        self.roots_left -= 1;
        Some(self.cursor - 1)
    }

    #[inline(always)]
    fn execute(&mut self, node: u32, record: &Node) {
        self.current = node;
        let payload = match record.inline_payload() {
            Some(payload) => payload,
            None => self.core.payload(node),
        };
        if let Err(failure) = self.runner.run(0, TaskId(node), record.kernel(), payload) {
            self.fail(Cause::Error(failure));
        }
    }

    /// Whether it is a task, and not to be dropped.
    #[inline(never)]
    fn is_to_run(&mut self, node: u32, record: &Node) -> bool {
        if record.is_barrier_node() {
            return false;
        }
        // Relaxed: it only matters that the flag is seen soon.
        if self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.ran.cancelled = true;
            self.refused_from = 0;
        }
        let dropped = node >= self.refused_from;
        self.ran.dropped += u64::from(dropped);
        !dropped
    }

    #[cold]
    fn fail(&mut self, cause: Cause<R::Failure>) {
        let node = self.current;
        self.careful = true;
        // With edges to earlier tasks, a task with a smaller id may have waited for this one.
        let refused = if self.core.has_backward_edges() { 0 } else { node + 1 };
        self.refused_from = self.refused_from.min(refused);
        let failed = Failed {
            task: TaskId(node),
            kernel: self.core.kernel(node),
            payload: self.core.payload(node).to_vec(),
            cause,
        };
        let earlier = self.ran.failed.as_ref().is_some_and(|other| other.task < failed.task);
        if !earlier {
            self.ran.failed = Some(failed);
        }
    }

    /// Releases the successors of a node, and returns one that would be the next in any case.
    #[inline(always)]
    fn complete_simply(&mut self, record: &Node) -> Option<u32> {
        self.ran.completed += 1;
        let Solo { core, nodes, ready, .. } = self;
        if !Q::REGULAR {
            core.each_successor_of(record, |to| ready.add(core, to, nodes[to as usize].count_down_blindly()));
            ready.close();
            return None;
        }
        let Some((second, first)) = record.two_successors() else {
            core.each_successor_of(record, |to| ready.add(core, to, nodes[to as usize].count_down_alone()));
            ready.close();
            return None;
        };
        if second == NIL {
            return None;
        }
        let second_ready = nodes[second as usize].count_down_alone();
        let first_ready = first != NIL && nodes[first as usize].count_down_alone();
        let least = match (first_ready, second_ready) {
            (false, false) => return None,
            (true, false) => first,
            (false, true) => second,
            (true, true) => {
                ready.add(core, second, true);
                first
            }
        };
        if ready.is_next(self.roots_left > 0) {
            return Some(least);
        }
        ready.add(core, least, true);
        ready.close();
        None
    }

    /// Releases the successors of a node, with barrier nodes among them, and in whatever order they come.
    #[inline(never)]
    fn complete(&mut self, record: &Node) {
        self.released.clear();
        self.release(record);
        while let Some(point) = self.points.pop() {
            self.release(&self.nodes[point as usize]);
        }
        self.released.sort_unstable();
        for &node in self.released.iter().rev() {
            self.ready.add(self.core, node, true);
        }
        self.ready.close();
    }

    fn release(&mut self, record: &Node) {
        self.ran.completed += 1;
        let Solo { core, nodes, released, points, .. } = self;
        core.each_successor_of(record, |to| {
            let record = &nodes[to as usize];
            if record.count_down_alone() {
                if record.is_barrier_node() {
                    points.push(to);
                } else {
                    released.push(to);
                }
            }
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use wsp_core::KernelId;

    /// Adds groups of up to `most`, of which every third node is not ready, and takes some between them.
    fn compare_with_a_queue<const REGULAR: bool>(most: u32) {
        let (core, mut fifo, mut queue) = (Core::default(), Fifo::<REGULAR>::default(), VecDeque::new());
        let mut node = 0;
        for round in 0..500 {
            let group = node..node + round * 7 % most;
            node = group.end;
            group.clone().rev().for_each(|node| fifo.add(&core, node, node % 3 != 0));
            fifo.close();
            queue.extend(group.filter(|node| node % 3 != 0));
            for _ in 0..round % 9 {
                assert_eq!(fifo.pop(), queue.pop_front());
            }
        }
        assert!(std::iter::from_fn(|| fifo.pop()).eq(queue));
    }

    #[test]
    fn a_ring_is_first_in_first_out_with_ties_by_id_however_it_grows() {
        compare_with_a_queue::<false>(5);
        compare_with_a_queue::<false>(40);
        compare_with_a_queue::<true>(40);
    }

    /// Notes what ran.
    #[derive(Default)]
    struct Order(std::sync::Mutex<Vec<u32>>);

    impl TaskRunner for Order {
        type Failure = ();

        fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
            self.0.lock().expect("no task panics").push(task.0);
            Ok(())
        }
    }

    /// 20 layers of 5, each task after all of the layer before but one.
    fn layers(core: &mut Core) {
        for task in 0..100u32 {
            let before = (task / 5 * 5).saturating_sub(5)..task / 5 * 5;
            let after: Vec<TaskId> = before.filter(|other| other % 5 != (task + 1) % 5).map(TaskId).collect();
            core.add_task(KernelId(0), &[], &after);
        }
    }

    #[test]
    fn branches_on_counters_change_no_order_and_leave_counters_ready() {
        let mut core = Core::default();
        layers(&mut core);
        let orders: Vec<Vec<u32>> = (0..4)
            .map(|run| {
                let order = Order::default();
                let ran = match run % 2 {
                    0 => Solo::new(&core, &order, None, Fifo::<true>::default()).run(false),
                    _ => Solo::new(&core, &order, None, Fifo::<false>::default()).run(false),
                };
                assert_eq!(ran.completed, 100);
                order.0.into_inner().expect("no task panics")
            })
            .collect();
        assert!(orders.iter().all(|order| *order == orders[0] && order.len() == 100));
    }
}
