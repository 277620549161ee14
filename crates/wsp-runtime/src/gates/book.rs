//! Permits, lists and turns: what the lock of the gates guards.

use crate::placement::Placement;
use crate::ranked::Rank;
use crate::{Gate, GateScope};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use wsp_core::{ExecPool, StreamId};
use wsp_ordered::{OrderedMap, OrderedSet};

/// A ready task at a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub(crate) rank: Rank,
    pub(crate) node: u32,
    pub(crate) placement: Placement,
    /// The place that it asks for.
    pub(crate) place: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> std::cmp::Ordering {
        (self.rank, self.node).cmp(&(other.rank, other.node))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// One count of a gate.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    capacity: u32,
    held: u32,
    /// Tasks listed under it.
    listed: u32,
    /// The task with whose end it last ceased to be full, and how many openings of gates there were by then.
    opened_by: Option<(u64, u32)>,
}

/// A stream several tasks of which may be in flight.
#[derive(Debug, Default)]
struct Turns {
    /// Tasks that have not started, in the order of submission.
    order: VecDeque<u32>,
    /// Those of them that came before their turn.
    early: FxHashMap<u32, Candidate>,
}

/// The counts of a run's gates, and the tasks that wait at them.
#[derive(Debug)]
pub(crate) struct Book {
    gates: Vec<Gate>,
    counts: Vec<Count>,
    /// The count of a stream under a gate.
    streams: FxHashMap<(u32, StreamId), u32>,
    /// Streams whose tasks start in the order of submission.
    turns: FxHashMap<StreamId, Turns>,
    /// Listed tasks by count and place.
    listed: OrderedMap<(u32, u32), BinaryHeap<Candidate>>,
    /// Counts with room under which tasks are listed.
    open: OrderedSet<u32>,
    refused: u64,
    /// How often a gate was opened.
    openings: u64,
}

/// The count that never is full: of tasks whose turn has come.
const FREE: u32 = 0;
/// Counts before those of streams: per gate one for all, or one per kind of execution unit.
const PER_GATE: usize = 3;

impl Book {
    pub(crate) fn new(gates: &[Gate]) -> Book {
        let count = |capacity| Count { capacity, ..Count::default() };
        let of_gates = gates.iter().flat_map(|gate| (0..PER_GATE).map(move |_| count(gate.capacity)));
        Book {
            gates: gates.to_vec(),
            counts: std::iter::once(count(u32::MAX)).chain(of_gates).collect(),
            streams: FxHashMap::default(),
            turns: FxHashMap::default(),
            listed: OrderedMap::new(),
            open: OrderedSet::new(),
            refused: 0,
            openings: 0,
        }
    }

    /// Says that a task is the next of its stream. Where one task of a stream runs at a time, edges keep the order.
    pub(crate) fn announce(&mut self, stream: StreamId, node: u32) {
        self.turns.entry(stream).or_default().order.push_back(node);
    }

    /// A rank behind those of all tasks that were refused before, where tasks have none of their own.
    pub(crate) fn next_rank(&self) -> Rank {
        (0, Reverse(self.refused))
    }

    /// Starts a task if all its gates let it; else keeps it.
    pub(crate) fn enter(&mut self, task: Candidate) -> bool {
        self.know(task.placement);
        let entered = match self.turns_of(task.placement) {
            Some(turns) if turns.order.front() != Some(&task.node) => {
                turns.early.insert(task.node, task);
                false
            }
            _ => match self.full(task.placement) {
                Some(full) => {
                    self.list(full, task);
                    false
                }
                None => {
                    self.start(task);
                    true
                }
            },
        };
        self.refused += u64::from(!entered);
        entered
    }

    /// The rank of the first task of a place that waited and may start.
    pub(crate) fn first(&mut self, place: u32) -> Option<Rank> {
        self.first_listed(place).map(|(rank, _)| rank)
    }

    /// Starts that task.
    pub(crate) fn take(&mut self, place: u32) -> Option<u32> {
        let (_, count) = self.first_listed(place)?;
        let task = self.unlist(count, place)?;
        self.start(task);
        Some(task.node)
    }

    /// Passes the turn of a stream from a task that starts, or is dropped, to the next; once.
    pub(crate) fn pass_turn(&mut self, node: u32, placement: Placement) {
        let Some(turns) = self.turns_of(placement) else { return };
        if turns.order.front() != Some(&node) {
            return;
        }
        turns.order.pop_front();
        let next = turns.order.front().copied().and_then(|next| turns.early.remove(&next));
        if let Some(next) = next {
            let count = self.full(next.placement).unwrap_or(FREE);
            self.list(count, next);
        }
    }

    /// Gives the permits of a finished task back.
    pub(crate) fn leave(&mut self, node: u32, placement: Placement) {
        for gate in 0..self.gates.len() {
            let Some(at) = self.count(gate, placement) else { continue };
            let count = &mut self.counts[at as usize];
            if count.held == count.capacity {
                self.openings += 1;
                count.opened_by = Some((self.openings, node));
            }
            count.held -= 1;
            self.refresh(at);
        }
    }

    /// The tasks with whose ends the counts that a task falls under last ceased to be full.
    pub(crate) fn openers(&self, placement: Placement) -> impl Iterator<Item = u32> {
        let counts = (0..self.gates.len()).filter_map(move |gate| self.count(gate, placement));
        counts.filter_map(|count| Some(self.counts[count as usize].opened_by?.1))
    }

    /// What last opened a gate of a task.
    pub(crate) fn last_opener(&self, placement: Placement) -> Option<u32> {
        let counts = (0..self.gates.len()).filter_map(|gate| self.count(gate, placement));
        let last = counts.filter_map(|count| self.counts[count as usize].opened_by).max();
        last.map(|(_, opener)| opener)
    }

    /// Places with a task that waited and may start by the list that it is in.
    pub(crate) fn open_places(&self) -> impl Iterator<Item = u32> {
        self.open
            .iter()
            .flat_map(|&count| self.listed.range((count, 0)..=(count, u32::MAX)))
            .map(|(key, _)| key.1)
    }

    /// Tasks that found a gate shut, or came before their turn.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Tasks that came before their turn, each with the one before it on its stream.
    pub(crate) fn early(&self) -> impl Iterator<Item = (u32, u32)> {
        self.turns.values().flat_map(|turns| {
            let pairs = turns.order.iter().zip(turns.order.iter().skip(1));
            pairs.filter(|(_, next)| turns.early.contains_key(next)).map(|(before, next)| (*next, *before))
        })
    }

    /// Takes the permits of a task whose gates let it start.
    fn start(&mut self, task: Candidate) {
        for gate in 0..self.gates.len() {
            let Some(count) = self.count(gate, task.placement) else { continue };
            self.counts[count as usize].held += 1;
            self.refresh(count);
        }
    }

    /// The first task of a place under the counts that have room, and its count; those in front of it that meet another full
    /// count move there.
    fn first_listed(&mut self, place: u32) -> Option<(Rank, u32)> {
        let mut best = None;
        let mut from = 0;
        while let Some(count) = self.open.range(from..).next().copied() {
            from = count + 1;
            while let Some(first) = self.listed.get(&(count, place)).and_then(BinaryHeap::peek).copied() {
                match self.full(first.placement) {
                    None => {
                        best = best.max(Some((first.rank, count)));
                        break;
                    }
                    Some(full) => {
                        let moved = self.unlist(count, place);
                        moved.into_iter().for_each(|task| self.list(full, task));
                    }
                }
            }
        }
        best
    }

    fn list(&mut self, count: u32, task: Candidate) {
        self.listed.entry((count, task.place)).or_default().push(task);
        self.counts[count as usize].listed += 1;
        self.refresh(count);
    }

    fn unlist(&mut self, count: u32, place: u32) -> Option<Candidate> {
        let list = self.listed.get_mut(&(count, place))?;
        let task = list.pop()?;
        if list.is_empty() {
            self.listed.remove(&(count, place));
        }
        self.counts[count as usize].listed -= 1;
        self.refresh(count);
        Some(task)
    }

    /// Notes whether the count has room and tasks.
    fn refresh(&mut self, at: u32) {
        let count = self.counts[at as usize];
        if count.listed > 0 && count.held < count.capacity {
            self.open.insert(at);
        } else {
            self.open.remove(&at);
        }
    }

    /// The first full count that a task falls under.
    fn full(&self, placement: Placement) -> Option<u32> {
        let mut counts = (0..self.gates.len()).filter_map(|gate| self.count(gate, placement));
        counts.find(|&count| self.counts[count as usize].held >= self.counts[count as usize].capacity)
    }

    /// Makes the counts of a task's stream.
    fn know(&mut self, placement: Placement) {
        let Some(stream) = placement.stream else { return };
        for (gate, Gate { scope, capacity }) in (0u32..).zip(&self.gates) {
            if *scope == GateScope::PerStream {
                let Book { counts, streams, .. } = self;
                streams.entry((gate, stream)).or_insert_with(|| {
                    counts.push(Count { capacity: *capacity, ..Count::default() });
                    counts.len() as u32 - 1
                });
            }
        }
    }

    /// The count of a gate that a task falls under.
    fn count(&self, gate: usize, placement: Placement) -> Option<u32> {
        let first = 1 + (gate * PER_GATE) as u32;
        match self.gates[gate].scope {
            GateScope::Global => Some(first),
            GateScope::PerPool => Some(match placement.pool {
                ExecPool::Vector => first,
                ExecPool::Cube => first + 1,
                ExecPool::Any => first + 2,
            }),
            GateScope::PerStream => self.streams.get(&(gate as u32, placement.stream?)).copied(),
        }
    }

    fn turns_of(&mut self, placement: Placement) -> Option<&mut Turns> {
        self.turns.get_mut(&placement.stream?)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gate(scope: GateScope, capacity: u32) -> Gate {
        Gate { scope, capacity }
    }

    fn on_stream(stream: u16) -> Placement {
        Placement { stream: Some(StreamId(stream)), ..Placement::default() }
    }

    fn task(node: u32, placement: Placement) -> Candidate {
        Candidate { rank: (placement.priority, Reverse(node.into())), node, placement, place: 0 }
    }

    #[test]
    fn a_task_that_finds_a_gate_shut_starts_when_another_leaves() {
        let mut book = Book::new(&[gate(GateScope::Global, 2)]);
        let all = Placement::default();
        let entered: Vec<bool> = (0..4).map(|node| book.enter(task(node, all))).collect();
        assert_eq!((entered, book.refused(), book.take(0)), (vec![true, true, false, false], 2, None));
        book.leave(0, all);
        assert_eq!((book.take(0), book.take(0)), (Some(2), None));
        assert_eq!(book.openers(all).collect::<Vec<u32>>(), [0]);
    }

    #[test]
    fn of_the_tasks_at_a_gate_the_one_with_the_largest_priority_starts() {
        let mut book = Book::new(&[gate(GateScope::Global, 1)]);
        let all = |priority| Placement { priority, ..Placement::default() };
        let priorities = [0, 1, 7, 3, 7];
        for (node, priority) in (0..).zip(priorities) {
            assert_eq!(book.enter(task(node, all(priority))), node == 0);
        }
        let mut order = vec![0];
        while book.refused() >= order.len() as u64 {
            book.leave(0, all(0));
            order.extend(book.take(0));
        }
        assert_eq!(order, [0, 2, 4, 3, 1]);
    }

    #[test]
    fn each_stream_has_a_count_of_its_own_and_tasks_without_one_pass() {
        let mut book = Book::new(&[gate(GateScope::PerStream, 1)]);
        let mut enter = |node, placement| book.enter(task(node, placement));
        assert!(enter(0, on_stream(5)) && enter(1, on_stream(6)) && !enter(2, on_stream(5)));
        assert!(enter(3, Placement::default()) && enter(4, Placement::default()));
    }

    #[test]
    fn tasks_of_a_stream_start_in_their_order_as_many_as_its_gate_lets() {
        let mut book = Book::new(&[gate(GateScope::PerStream, 2)]);
        (0..4).for_each(|node| book.announce(StreamId(0), node));
        let entered: Vec<bool> = [3, 1, 0, 2].map(|node| book.enter(task(node, on_stream(0)))).to_vec();
        assert_eq!(entered, [false, false, true, false]);
        // 1 comes after 0 has started, and then two are in flight.
        assert_eq!(book.take(0), None);
        book.pass_turn(0, on_stream(0));
        assert_eq!((book.take(0), book.take(0)), (Some(1), None));
        // A turn is passed on once.
        (0..2).for_each(|_| book.pass_turn(1, on_stream(0)));
        book.leave(1, on_stream(0));
        assert_eq!((book.take(0), book.take(0)), (Some(2), None));
        book.pass_turn(2, on_stream(0));
        book.leave(0, on_stream(0));
        assert_eq!((book.take(0), book.take(0), book.refused()), (Some(3), None, 3));
    }

    /// A task that waits for one gate and then meets another that is full must not hide those behind it.
    #[test]
    fn a_listed_task_that_meets_another_full_gate_lets_the_next_pass() {
        let mut book = Book::new(&[gate(GateScope::Global, 2), gate(GateScope::PerStream, 1)]);
        assert!(book.enter(task(0, on_stream(1))) && book.enter(task(1, on_stream(2))));
        assert!(!book.enter(task(2, on_stream(1))) && !book.enter(task(3, on_stream(3))));
        book.leave(1, on_stream(2));
        assert_eq!((book.take(0), book.take(0)), (Some(3), None));
        book.leave(0, on_stream(1));
        assert_eq!((book.take(0), book.take(0)), (Some(2), None));
    }

    proptest! {
        #[test]
        fn every_task_passes_and_no_count_exceeds_its_capacity(
            scopes in proptest::collection::vec((0..3usize, 1..4u32), 1..4),
            tasks in proptest::collection::vec((0..3u16, 0..3usize), 1..60),
            in_order in any::<bool>(),
            order in any::<u64>(),
        ) {
            let kinds = [GateScope::Global, GateScope::PerStream, GateScope::PerPool];
            let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
            let list: Vec<Gate> = scopes.iter().map(|&(kind, capacity)| gate(kinds[kind], capacity)).collect();
            let placement = |i: usize| Placement { pool: pools[tasks[i].1], ..on_stream(tasks[i].0) };
            let mut book = Book::new(&list);
            // Tasks that have their permits and the turn of their stream.
            let mut starting: Vec<usize> = Vec::new();
            if in_order {
                (0..tasks.len()).for_each(|i| book.announce(StreamId(tasks[i].0), i as u32));
            }
            let (mut running, mut started, mut next, mut random) = (Vec::new(), Vec::new(), 0, order | 1);
            while started.len() < tasks.len() || !running.is_empty() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Tasks come in their order, or the later of two first.
                let came = if in_order && next ^ 1 < tasks.len() { next ^ 1 } else { next };
                if next < tasks.len() && random >> 40 & 1 == 0 {
                    if book.enter(task(came as u32, placement(came))) {
                        running.push(came);
                        starting.push(came);
                    }
                    next += 1;
                } else if let Some(node) = book.take(0) {
                    running.push(node as usize);
                    starting.push(node as usize);
                } else if !starting.is_empty() {
                    let starts = starting.swap_remove((random >> 35) as usize % starting.len());
                    book.pass_turn(starts as u32, placement(starts));
                    started.push(starts);
                } else if !running.is_empty() {
                    let done = running.swap_remove((random >> 33) as usize % running.len());
                    book.leave(done as u32, placement(done));
                } else {
                    prop_assert!(next < tasks.len(), "tasks are left, and none runs");
                }
                for gate in &list {
                    let same = |a: Placement, b: Placement| match gate.scope {
                        GateScope::Global => true,
                        GateScope::PerStream => a.stream == b.stream,
                        GateScope::PerPool => a.pool == b.pool,
                    };
                    for &i in &running {
                        let beside = running.iter().filter(|&&j| same(placement(i), placement(j))).count();
                        prop_assert!(beside <= gate.capacity as usize);
                    }
                }
            }
            if in_order {
                for stream in 0..3 {
                    let of_stream: Vec<usize> = started.iter().copied().filter(|&i| tasks[i].0 == stream).collect();
                    prop_assert!(of_stream.is_sorted());
                }
            }
        }
    }
}
