//! Runs a stored graph on the calling thread alone: nothing is shared, so counters are plain and no queue is concurrent.

use super::core::{Core, NIL, Node};
use crate::TaskRunner;
use crate::shared::{Cause, Failed, message};
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::TaskId;

/// Ready nodes in the order of a policy.
pub(super) trait ReadySet: Default {
    /// Whether nodes that were ready from the beginning come before all others.
    const ROOTS_FIRST: bool;

    /// Adds what one completion released, in ascending order; may return one to run next instead. `roots_left` tells
    /// whether some that were ready from the beginning have not been taken.
    fn release(&mut self, core: &Core, released: &[u32], roots_left: bool) -> Option<u32>;

    /// Takes the next.
    fn pop(&mut self) -> Option<u32>;
}

/// First in, first out.
#[derive(Default)]
pub(super) struct Fifo(VecDeque<u32>);

impl ReadySet for Fifo {
    const ROOTS_FIRST: bool = true;

    #[inline(always)]
    fn release(&mut self, _: &Core, released: &[u32], roots_left: bool) -> Option<u32> {
        // In and out of an empty queue.
        if released.len() == 1 && self.0.is_empty() && !roots_left {
            return Some(released[0]);
        }
        self.0.extend(released);
        None
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

/// Last in, first out: what a single worker does under work stealing.
#[derive(Default)]
pub(super) struct Lifo(Vec<u32>);

impl ReadySet for Lifo {
    const ROOTS_FIRST: bool = false;

    #[inline(always)]
    fn release(&mut self, _: &Core, released: &[u32], _: bool) -> Option<u32> {
        let (&first, later) = released.split_first()?;
        self.0.extend(later.iter().rev());
        Some(first)
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}

/// Largest priority first, then first in, first out.
#[derive(Default)]
pub(super) struct ByPriority {
    heap: BinaryHeap<(i32, std::cmp::Reverse<u64>, u32)>,
    pushed: u64,
}

impl ReadySet for ByPriority {
    const ROOTS_FIRST: bool = true;

    fn release(&mut self, core: &Core, released: &[u32], _: bool) -> Option<u32> {
        for &node in released {
            self.heap.push((core.attributes(node).priority, std::cmp::Reverse(self.pushed), node));
            self.pushed += 1;
        }
        None
    }

    fn pop(&mut self) -> Option<u32> {
        self.heap.pop().map(|(_, _, node)| node)
    }
}

/// How the run went.
pub(super) struct Ran<F> {
    /// Tasks and order points that completed or were dropped.
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
    /// Tasks may have to be dropped: there is a flag, or some task has failed.
    watchful: bool,
    /// There are order points.
    has_points: bool,
    ready: Q,
    /// Scratch: what the present completion released.
    released: Vec<u32>,
    /// Order points to complete.
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
    pub(super) fn new(core: &'g Core, runner: &'g R, cancel: Option<&'g AtomicBool>) -> Self {
        Solo {
            core,
            nodes: core.nodes(),
            runner,
            cancel,
            watchful: cancel.is_some(),
            has_points: core.order_points() > 0,
            ready: Q::default(),
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
                self.ready.release(self.core, &[root], false);
            }
        }
        let mut next = self.next();
        while let Some(first) = next {
            // Once for all tasks up to the next that panics.
            next = match catch_unwind(AssertUnwindSafe(|| self.work(first))) {
                Ok(()) => None,
                Err(panic) => {
                    self.fail(Cause::Panic(message(panic)));
                    self.complete(self.current, &self.nodes[self.current as usize]).or_else(|| self.next())
                }
            };
        }
        self.ran
    }

    fn work(&mut self, first: u32) {
        let mut next = Some(first);
        while let Some(node) = next {
            let record = &self.nodes[node as usize];
            if !record.is_order_point() {
                self.execute(node, record);
            }
            next = match self.complete(node, record) {
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
        if self.watchful && self.refuses(node) {
            self.ran.dropped += 1;
            return;
        }
        self.current = node;
        let payload = match record.inline_payload() {
            Some(payload) => payload,
            None => self.core.payload(node),
        };
        if let Err(failure) = self.runner.run(0, TaskId(node), record.kernel(), payload) {
            self.fail(Cause::Error(failure));
        }
    }

    fn refuses(&mut self, node: u32) -> bool {
        // Relaxed: it only matters that the flag is seen soon.
        if self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            self.ran.cancelled = true;
            self.refused_from = 0;
        }
        node >= self.refused_from
    }

    #[cold]
    fn fail(&mut self, cause: Cause<R::Failure>) {
        let node = self.current;
        self.watchful = true;
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

    /// Releases the successors of a node, and returns one of them if it is to run at once.
    #[inline(always)]
    fn complete(&mut self, node: u32, record: &Node) -> Option<u32> {
        self.ran.completed += 1;
        record.rearm();
        let Some((first, second)) = record.two_successors().filter(|_| !self.has_points) else {
            return self.complete_many(node);
        };
        if first == NIL {
            return None;
        }
        let first_ready = self.nodes[first as usize].count_down_alone();
        let second_ready = second != NIL && self.nodes[second as usize].count_down_alone();
        let roots_left = self.roots_left > 0;
        match (first_ready, second_ready) {
            (false, false) => None,
            (true, false) => self.ready.release(self.core, &[first], roots_left),
            (false, true) => self.ready.release(self.core, &[second], roots_left),
            (true, true) => {
                let both = [first.min(second), first.max(second)];
                self.ready.release(self.core, &both, roots_left)
            }
        }
    }

    /// The same for any number of successors, and with order points among them.
    #[inline]
    fn complete_many(&mut self, node: u32) -> Option<u32> {
        self.released.clear();
        self.release(node);
        while let Some(point) = self.points.pop() {
            self.ran.completed += 1;
            self.nodes[point as usize].rearm();
            self.release(point);
        }
        match self.released.len() {
            0 => return None,
            1 => {}
            _ => self.released.sort_unstable(),
        }
        self.ready.release(self.core, &self.released, self.roots_left > 0)
    }

    #[inline(always)]
    fn release(&mut self, node: u32) {
        let Solo { core, nodes, released, points, .. } = self;
        core.each_successor(node, |to| {
            let record = &nodes[to as usize];
            if record.count_down_alone() {
                if record.is_order_point() {
                    points.push(to);
                } else {
                    released.push(to);
                }
            }
        });
    }
}
