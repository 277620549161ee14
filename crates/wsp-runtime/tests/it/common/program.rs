//! Random programs: regions of three small tensors, and every kind of order.

use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wsp_core::{EventId, ExecPool, KernelId, Region, StreamId, TaskId, TensorId};
use wsp_runtime::{
    Affinity, Deps, Gate, GateScope, PoolSizes, RunConfig, Stopped, Submitter, TaskGraph, TaskRunner,
    TaskSpec,
};

const SIDE: u32 = 6;
const TENSORS: u32 = 3;

/// A change of ordered scopes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Begin,
    Step,
    End,
}

/// What has ordered scopes.
pub(crate) trait Scoped {
    fn change(&mut self, change: Change) -> Result<(), Stopped>;
}

impl Scoped for TaskGraph {
    fn change(&mut self, change: Change) -> Result<(), Stopped> {
        match change {
            Change::Begin => {
                self.ordered_begin();
                Ok(())
            }
            Change::Step => self.ordered_step(),
            Change::End => self.ordered_end(),
        }
    }
}

impl<R: TaskRunner> Scoped for Submitter<'_, R> {
    fn change(&mut self, change: Change) -> Result<(), Stopped> {
        match change {
            Change::Begin => {
                self.ordered_begin();
                Ok(())
            }
            Change::Step => self.ordered_step(),
            Change::End => self.ordered_end(),
        }
    }
}

impl Change {
    /// Changes that do not fit are refused, and then change nothing.
    pub(crate) fn apply(self, scoped: &mut impl Scoped) {
        let outcome = scoped.change(self);
        assert!(matches!(outcome, Ok(()) | Err(Stopped::NoOrderedScope)), "{outcome:?}");
    }
}

/// A task, and what comes before it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) reads: Vec<Region>,
    pub(crate) writes: Vec<Region>,
    pub(crate) affinity: Affinity,
    pub(crate) pool: ExecPool,
    pub(crate) stream: Option<StreamId>,
    pub(crate) priority: i32,
    /// After the tasks so many before it.
    pub(crate) after: Vec<u32>,
    /// Has an event of its own, which it signals.
    pub(crate) signals: bool,
    /// Waits for the events of the tasks so many before it, if they have one.
    pub(crate) waits: Vec<u32>,
    pub(crate) fence_before: bool,
    pub(crate) scopes: Vec<Change>,
    /// The source waits for the writers of what it writes.
    pub(crate) awaits: bool,
    /// Prefetch this task when the task so many before it starts.
    pub(crate) prefetch: Option<u32>,
}

impl Step {
    /// Calls `submit` with this step as the `i`-th task; `events` and `node` tell of it and those before.
    pub(crate) fn with_spec<T>(
        &self,
        i: u32,
        deps: Deps,
        events: &[Option<EventId>],
        node: impl Fn(u32) -> TaskId,
        submit: impl FnOnce(TaskSpec<'_>) -> T,
    ) -> T {
        let after: Vec<TaskId> = self.after.iter().filter_map(|d| i.checked_sub(*d)).map(node).collect();
        let before = self.waits.iter().filter_map(|d| i.checked_sub(*d));
        let waits: Vec<EventId> = before.filter_map(|at| events[at as usize]).collect();
        submit(TaskSpec {
            kernel: KernelId((i % 5) as u16),
            payload: &[i, !i, i, i, i][..2 + i as usize % 4],
            reads: &self.reads,
            writes: &self.writes,
            affinity: self.affinity,
            pool: self.pool,
            stream: self.stream,
            priority: self.priority,
            after: if deps.takes_edges() { &after } else { &[] },
            waits: &waits,
            signals: events[i as usize],
            ..TaskSpec::default()
        })
    }
}

fn region() -> impl Strategy<Value = Region> {
    let tiles =
        (0..TENSORS, 0..SIDE, 0..SIDE, 0..3u32, 0..3u32).prop_map(|(tensor, row, column, height, width)| {
            let hi = [(row + height).min(SIDE), (column + width).min(SIDE)];
            Region::new(TensorId(tensor), &[row, column], &hi).expect("ranks agree")
        });
    let keys = (0..SIDE, 1..=SIDE).prop_map(|(key, len)| {
        Region::new(TensorId(0), &[key, 0], &[(key + len).min(SIDE), SIDE]).expect("ranks agree")
    });
    prop_oneof![3 => tiles, 1 => keys]
}

fn affinity() -> impl Strategy<Value = Affinity> {
    prop_oneof![
        4 => Just(Affinity::Any),
        1 => (0..9u64).prop_map(Affinity::Group),
        1 => (0..9u64).prop_map(Affinity::Local),
        1 => Just(Affinity::Spread),
    ]
}

/// One random step.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    let regions = || proptest::collection::vec(region(), 0..3);
    let distances = || prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(1..9u32, 1..3)];
    let pool = prop_oneof![Just(ExecPool::Any), Just(ExecPool::Vector), Just(ExecPool::Cube)];
    let change = prop_oneof![1 => Just(Change::Begin), 2 => Just(Change::Step), 1 => Just(Change::End)];
    let scopes = prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(change, 1..3)];
    let place = (affinity(), pool, prop::option::weighted(0.3, 0..3u16), -2..3i32);
    let order = (distances(), prop::bool::weighted(0.2), distances(), prop::bool::weighted(0.05), scopes);
    let rest = (prop::bool::weighted(0.03), prop::option::weighted(0.3, 1..6u32));
    (regions(), regions(), place, order, rest).prop_map(|(reads, writes, place, order, rest)| {
        let (affinity, pool, stream, priority) = place;
        let (after, signals, waits, fence_before, scopes) = order;
        let (awaits, prefetch) = rest;
        let stream = stream.map(StreamId);
        Step {
            reads,
            writes,
            affinity,
            pool,
            stream,
            priority,
            after,
            signals,
            waits,
            fence_before,
            scopes,
            awaits,
            prefetch,
        }
    })
}

/// A random program.
pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..most)
}

/// The scope and step of each open scope when task `j` is submitted.
fn place_in_scopes(program: &[Step], j: usize) -> Vec<(u32, u32)> {
    let (mut open, mut made) = (Vec::new(), 0);
    for change in program[..=j].iter().flat_map(|step| &step.scopes) {
        match change {
            Change::Begin => {
                made += 1;
                open.push((made, 0));
            }
            Change::Step => {
                if let Some((_, step)) = open.last_mut() {
                    *step += 1;
                }
            }
            Change::End => drop(open.pop()),
        }
    }
    open
}

fn conflict(a: &Step, b: &Step) -> bool {
    let overlap = |x: &[Region], y: &[Region]| x.iter().any(|x| y.iter().any(|y| x.overlaps(y)));
    overlap(&a.writes, &b.reads) || overlap(&a.writes, &b.writes) || overlap(&a.reads, &b.writes)
}

/// Whether task `i` must be complete when the later task `j` starts, by a single reason.
pub(crate) fn must_precede(program: &[Step], config: &RunConfig, i: usize, j: usize) -> bool {
    let deps = config.deps;
    let per_stream = config.gates.iter().filter(|gate| gate.scope == GateScope::PerStream);
    let streams_overlap = per_stream.map(|gate| gate.capacity).min() > Some(1);
    let (a, b) = (&program[i], &program[j]);
    let distance = (j - i) as u32;
    let scoped = || {
        let (a, b) = (place_in_scopes(program, i), place_in_scopes(program, j));
        a.iter().zip(&b).find(|(a, b)| a != b).is_some_and(|(a, b)| a.0 == b.0 && a.1 < b.1)
    };
    let fenced = || program[i + 1..=j].iter().any(|step| step.fence_before);
    (matches!(deps, Deps::Overlap | Deps::Hybrid) && conflict(a, b))
        || deps.takes_edges() && b.after.contains(&distance)
        || a.stream.is_some() && a.stream == b.stream && !streams_overlap
        || a.signals && b.waits.contains(&distance)
        || fenced()
        || scoped()
}

fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(23).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

fn points(region: &Region) -> impl Iterator<Item = usize> {
    let base = region.tensor.0 * SIDE * SIDE;
    let (rows, columns) = (region.lo[0]..region.hi[0], region.lo[1]..region.hi[1]);
    rows.flat_map(move |row| columns.clone().map(move |column| (base + row * SIDE + column) as usize))
}

/// Memory of all tensors, when each task started and finished, and who is running.
pub(crate) struct Machine<'p> {
    pub(crate) program: &'p [Step],
    pools: PoolSizes,
    gates: Vec<Gate>,
    memory: Vec<AtomicU64>,
    clock: AtomicU32,
    started: Vec<AtomicU32>,
    finished: Vec<AtomicU32>,
    /// Running: all, of each kind of unit, of each stream.
    running: Vec<AtomicU32>,
}

impl<'p> Machine<'p> {
    pub(crate) fn new(program: &'p [Step], config: &RunConfig) -> Machine<'p> {
        Machine {
            program,
            pools: config.pools,
            gates: config.gates.clone(),
            memory: (0..TENSORS * SIDE * SIDE).map(|_| AtomicU64::new(0)).collect(),
            clock: AtomicU32::new(1),
            started: program.iter().map(|_| AtomicU32::new(0)).collect(),
            finished: program.iter().map(|_| AtomicU32::new(0)).collect(),
            running: (0..7).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    pub(crate) fn started(&self, index: usize) -> u32 {
        self.started[index].load(Ordering::SeqCst)
    }

    pub(crate) fn finished(&self, index: usize) -> u32 {
        self.finished[index].load(Ordering::SeqCst)
    }

    /// Relaxed: what makes the values right is the runtime's order alone.
    fn step(&self, index: usize) {
        let step = &self.program[index];
        let cells = step.reads.iter().flat_map(points);
        let seen =
            cells.fold(index as u64 + 1, |hash, at| mix(hash, self.memory[at].load(Ordering::Relaxed)));
        for at in step.writes.iter().flat_map(points) {
            self.memory[at].store(mix(seen, at as u64), Ordering::Relaxed);
        }
    }

    pub(crate) fn memory(&self) -> Vec<u64> {
        self.memory.iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
    }

    /// The counts that a step falls under, by kind of gate.
    fn counts(step: &Step) -> [(GateScope, Option<usize>); 3] {
        let pool = match step.pool {
            ExecPool::Any => 1,
            ExecPool::Vector => 2,
            ExecPool::Cube => 3,
        };
        let stream = step.stream.map(|stream| 4 + usize::from(stream.0));
        [(GateScope::Global, Some(0)), (GateScope::PerPool, Some(pool)), (GateScope::PerStream, stream)]
    }

    fn enter(&self, step: &Step) {
        for (scope, count) in Machine::counts(step) {
            let Some(count) = count else { continue };
            let running = self.running[count].fetch_add(1, Ordering::SeqCst) + 1;
            for gate in self.gates.iter().filter(|gate| gate.scope == scope) {
                assert!(running <= gate.capacity, "{running} tasks run under {gate:?}");
            }
        }
    }

    fn leave(&self, step: &Step) {
        for count in Machine::counts(step).iter().filter_map(|(_, count)| *count) {
            self.running[count].fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The memory after the tasks ran one after another.
pub(crate) fn sequential(program: &[Step]) -> Vec<u64> {
    let machine = Machine::new(program, &RunConfig::default());
    (0..program.len()).for_each(|i| machine.step(i));
    machine.memory()
}

impl TaskRunner for Machine<'_> {
    type Failure = ();

    fn run(&self, worker: usize, _: TaskId, kernel: KernelId, payload: &[u32]) -> Result<(), ()> {
        let i = payload[0];
        assert_eq!((payload.len() as u32, payload[1], u32::from(kernel.0)), (2 + i % 4, !i, i % 5));
        let (index, step) = (i as usize, &self.program[i as usize]);
        if let PoolSizes::ByUnit { vector, .. } = self.pools {
            let is_vector = worker < vector as usize;
            assert!(step.pool == ExecPool::Any || (step.pool == ExecPool::Vector) == is_vector);
        }
        self.enter(step);
        self.started[index].store(self.clock.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        self.step(index);
        self.finished[index].store(self.clock.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        self.leave(step);
        Ok(())
    }

    fn prefetch(&self, _: usize, kernel: KernelId, payload: &[u32]) {
        assert_eq!((payload[1], u32::from(kernel.0)), (!payload[0], payload[0] % 5));
    }
}
