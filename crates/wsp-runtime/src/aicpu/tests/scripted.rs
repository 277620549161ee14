//! Programs as lists, a generator that walks its part of one, and kernels whose results tell the order in which they ran.

use super::super::*;
use super::run_aicpus;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::{AccessKind, ExecPool, KernelId, Region, SlotId, StreamId, TaskId, TensorId};

/// Cells of every tensor.
pub(super) const CELLS: u32 = 12;
pub(super) const TENSORS: u32 = 3;

/// A task of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct ScriptTask {
    pub(super) owner: u16,
    pub(super) pool: ExecPool,
    pub(super) stream: Option<u16>,
    pub(super) priority: i32,
    pub(super) reads: Vec<Region>,
    pub(super) writes: Vec<Region>,
    pub(super) after: Vec<u64>,
    pub(super) needs: Vec<Need>,
}

/// A line of a script.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Task(ScriptTask),
    Begin,
    Step,
    End,
    /// All generators read the first cell of a tensor; tasks get the value with their descriptor.
    Read(u32),
    /// All generators are at fault here.
    Fault(&'static str),
}

/// What AICPUs generate together.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub(super) items: Vec<Item>,
    /// Tensors from this one on are ordered by counts instead of regions.
    pub(super) counted_from: u32,
}

pub(super) fn cells(tensor: u32, lo: u32, hi: u32) -> Region {
    Region::new(TensorId(tensor), &[lo], &[hi]).expect("ranks agree")
}

impl Script {
    pub(super) fn new(tasks: impl IntoIterator<Item = ScriptTask>) -> Script {
        Script { items: tasks.into_iter().map(Item::Task).collect(), counted_from: TENSORS }
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &ScriptTask> {
        self.items.iter().filter_map(|item| if let Item::Task(task) = item { Some(task) } else { None })
    }

    /// Counts the accesses of counted tensors, cell by cell.
    pub(super) fn count(&mut self) {
        let mut seen = vec![(0u64, 0u64); (CELLS * TENSORS) as usize];
        for item in &mut self.items {
            let Item::Task(task) = item else { continue };
            let mut needs: Vec<Need> = Vec::new();
            let mut note = |region: &Region, access| {
                for cell in (region.lo[0]..region.hi[0]).filter(|_| region.tensor.0 >= self.counted_from) {
                    let counter = region.tensor.0 * CELLS + cell;
                    if needs.iter().all(|need| need.counter != counter) {
                        needs.push(Need { counter, access, reached: 0 });
                    }
                }
            };
            task.writes.iter().for_each(|region| note(region, AccessKind::Write));
            task.reads.iter().for_each(|region| note(region, AccessKind::Read));
            for need in &mut needs {
                let (accesses, writes) = &mut seen[need.counter as usize];
                need.reached = if need.access == AccessKind::Write { *accesses } else { *writes };
                *accesses += 1;
                *writes += u64::from(need.access == AccessKind::Write);
            }
            task.needs = needs;
        }
    }

    pub(super) fn generators(&self, aicpus: u16) -> Vec<Walk<'_>> {
        (0..aicpus).map(|own| Walk { script: self, own, aicpus, next: 0, ordinal: 0, value: 0 }).collect()
    }

    /// Pairs of tasks of which the first must be complete before the second starts; with streams whose tasks do not overlap.
    pub(super) fn ordered_pairs(&self, streams: bool) -> Vec<(usize, usize)> {
        let tasks: Vec<&ScriptTask> = self.tasks().collect();
        let paths = self.paths();
        let conflict = |a: &ScriptTask, b: &ScriptTask| {
            let overlap = |x: &[Region], y: &[Region]| x.iter().any(|x| y.iter().any(|y| x.overlaps(y)));
            overlap(&a.writes, &b.writes) || overlap(&a.writes, &b.reads) || overlap(&a.reads, &b.writes)
        };
        let mut pairs = Vec::new();
        for (j, later) in tasks.iter().enumerate() {
            for (i, earlier) in tasks[..j].iter().enumerate() {
                let steps = paths[i].iter().zip(&paths[j]).find(|(a, b)| a != b);
                if conflict(earlier, later)
                    || streams && earlier.stream.is_some() && earlier.stream == later.stream
                    || later.after.contains(&(i as u64))
                    || steps.is_some_and(|(a, b)| a.0 == b.0)
                {
                    pairs.push((i, j));
                }
            }
        }
        pairs
    }

    /// For every task the scopes around it, and the step of each that it is in.
    fn paths(&self) -> Vec<Vec<(usize, u32)>> {
        let (mut paths, mut stack) = (Vec::new(), Vec::new());
        for (at, item) in self.items.iter().enumerate() {
            match item {
                Item::Task(_) => paths.push(stack.clone()),
                Item::Begin => stack.push((at, 0)),
                Item::Step => stack.last_mut().expect("a scope has begun").1 += 1,
                Item::End => drop(stack.pop()),
                Item::Read(_) | Item::Fault(_) => {}
            }
        }
        paths
    }

    /// The tensors after a sequential run.
    pub(super) fn expected(&self) -> Vec<u64> {
        let memory = Memory::new(self);
        let (mut ordinal, mut value) = (0, 0);
        for item in &self.items {
            match item {
                Item::Task(_) => {
                    memory.compute(ordinal, value);
                    ordinal += 1;
                }
                Item::Read(tensor) => value = memory.first_cell(*tensor) as u32,
                _ => {}
            }
        }
        memory.contents()
    }
}

/// The part of a script that one AICPU generates.
pub(super) struct Walk<'s> {
    script: &'s Script,
    own: u16,
    aicpus: u16,
    next: usize,
    ordinal: u64,
    value: u32,
}

impl Generator for Walk<'_> {
    type Fault = String;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<String> {
        let mut left = free;
        for _ in 0..8 {
            let Some(item) = self.script.items.get(self.next) else {
                self.ordinal = u64::MAX;
                return Progress::Finished;
            };
            match item {
                Item::Task(task) => {
                    if task.owner % self.aicpus == self.own {
                        if left == 0 {
                            return Progress::More;
                        }
                        left -= 1;
                        if self.hand_over(task, out).is_err() {
                            return Progress::More;
                        }
                    }
                    self.ordinal += 1;
                }
                Item::Begin => out.ordered_begin(self.ordinal),
                Item::Step => drop(out.ordered_step(self.ordinal)),
                Item::End => drop(out.ordered_end(self.ordinal)),
                Item::Read(tensor) => match out.slot(SlotId(*tensor), self.ordinal) {
                    Ok(Some(value)) => self.value = value as u32,
                    Ok(None) => return Progress::Waits(SlotId(*tensor)),
                    Err(_) => return Progress::More,
                },
                Item::Fault(what) => return Progress::Fault((*what).to_owned()),
            }
            self.next += 1;
        }
        Progress::More
    }

    fn watermark(&self) -> u64 {
        self.ordinal
    }
}

impl Walk<'_> {
    fn hand_over(&self, task: &ScriptTask, out: &mut dyn Emit) -> Result<(), Refused> {
        let by_regions = |regions: &[Region]| -> Vec<Region> {
            regions.iter().filter(|region| region.tensor.0 < self.script.counted_from).copied().collect()
        };
        out.task(&AicpuTask {
            ordinal: self.ordinal,
            kernel: KernelId(self.ordinal as u16 % 3),
            pool: task.pool,
            stream: task.stream.map(StreamId),
            priority: task.priority,
            reads: &by_regions(&task.reads),
            writes: &by_regions(&task.writes),
            after: &task.after,
            payload: &[self.value],
            needs: &task.needs,
        })
    }
}

/// The tensors, and when each task ran.
pub(super) struct Memory {
    tasks: Vec<ScriptTask>,
    cells: Vec<AtomicU64>,
    clock: AtomicU64,
    /// When each task started and ended, from 1.
    spans: Vec<[AtomicU64; 2]>,
    /// Ordinals in the order of their starts.
    pub(super) ran: Mutex<Vec<u64>>,
    /// A task that fails, and one that panics.
    pub(super) fails: Option<u64>,
    pub(super) panics: Option<u64>,
}

impl Memory {
    pub(super) fn new(script: &Script) -> Memory {
        let tasks: Vec<ScriptTask> = script.tasks().cloned().collect();
        Memory {
            cells: (0..CELLS * TENSORS).map(|cell| AtomicU64::new(cell.into())).collect(),
            clock: AtomicU64::new(1),
            spans: tasks.iter().map(|_| Default::default()).collect(),
            ran: Mutex::default(),
            fails: None,
            panics: None,
            tasks,
        }
    }

    fn cells_of<'m>(&'m self, regions: &'m [Region]) -> impl Iterator<Item = &'m AtomicU64> {
        let cells = regions.iter().flat_map(|region| {
            (region.lo[0]..region.hi[0]).map(|cell| (region.tensor.0 * CELLS + cell) as usize)
        });
        cells.map(|cell| &self.cells[cell])
    }

    /// Writes a mixture of what the task reads, its number and its descriptor.
    fn compute(&self, ordinal: u64, value: u32) {
        let task = &self.tasks[ordinal as usize];
        let mut sum = ordinal << 32 ^ u64::from(value);
        for cell in self.cells_of(&task.reads) {
            sum = (sum ^ cell.load(Ordering::Relaxed)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        }
        for cell in self.cells_of(&task.writes) {
            let old = cell.load(Ordering::Relaxed);
            cell.store((old ^ sum).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(31), Ordering::Relaxed);
        }
    }

    fn first_cell(&self, tensor: u32) -> u64 {
        self.cells[(tensor * CELLS) as usize].load(Ordering::Relaxed)
    }

    pub(super) fn contents(&self) -> Vec<u64> {
        self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
    }

    pub(super) fn span(&self, ordinal: usize) -> [u64; 2] {
        self.spans[ordinal].each_ref().map(|at| at.load(Ordering::Relaxed))
    }

    pub(super) fn ran(&self) -> Vec<u64> {
        self.ran.lock().expect("no task panics while recording").clone()
    }
}

impl TaskRunner for Memory {
    type Failure = String;

    fn run(&self, _: usize, task: TaskId, _: KernelId, payload: &[u32]) -> Result<(), String> {
        let ordinal = u64::from(task.0);
        self.ran.lock().expect("no task panics while recording").push(ordinal);
        let [start, end] = &self.spans[ordinal as usize];
        start.store(self.clock.fetch_add(1, Ordering::AcqRel), Ordering::Relaxed);
        assert!(self.panics != Some(ordinal), "no {ordinal}");
        if self.fails == Some(ordinal) {
            return Err(format!("not {ordinal}"));
        }
        self.compute(ordinal, payload[0]);
        end.store(self.clock.fetch_add(1, Ordering::AcqRel), Ordering::Relaxed);
        Ok(())
    }
}

impl Slots for Memory {
    fn region(&self, slot: SlotId) -> Option<Region> {
        (slot.0 < TENSORS).then(|| cells(slot.0, 0, 1))
    }

    fn value(&self, slot: SlotId, _: u64) -> i64 {
        self.first_cell(slot.0) as i64
    }
}

/// Runs a script and checks results and order against a sequential run.
pub(super) fn check(script: &Script, aicpus: u16, config: &AicpuConfig) -> AicpuRunStats {
    let memory = Memory::new(script);
    let config = AicpuConfig { counters: CELLS * TENSORS, ..config.clone() };
    let stats = match run_aicpus(&config, script.generators(aicpus), &memory, &memory) {
        Ok(stats) => stats,
        Err(failure) => panic!("{failure}\n{config:?}\n{script:?}"),
    };
    let tasks = script.tasks().count();
    let mut ran = memory.ran();
    ran.sort_unstable();
    assert_eq!(ran, (0..tasks as u64).collect::<Vec<_>>(), "{config:?}\n{script:?}");
    for (earlier, later) in script.ordered_pairs(crate::Gate::stream_depth(&config.gates) == 1) {
        let (before, after) = (memory.span(earlier), memory.span(later));
        assert!(
            before[1] < after[0],
            "task {later} overtook task {earlier} on {aicpus} AICPUs\n{config:?}\n{script:?}"
        );
    }
    assert_eq!(memory.contents(), script.expected(), "{config:?}\n{script:?}");
    assert_eq!(stats.tasks, tasks as u64);
    check_starts(script, &stats);
    stats
}

/// By the trace, where there is one, tasks of a stream start in the order of ordinals.
fn check_starts(script: &Script, stats: &AicpuRunStats) {
    let streams: Vec<Option<u16>> = script.tasks().map(|task| task.stream).collect();
    let mut newest = BTreeMap::new();
    for task in &stats.trace {
        let Some(stream) = streams[task.ordinal as usize] else { continue };
        let before = newest.insert(stream, task.started_ns);
        assert!(before <= Some(task.started_ns), "task {} starts before the one before it", task.ordinal);
    }
}
