//! Which tensors tasks read before any task has written them, where that is known before a run.

use super::tensor_set::TensorSet;
use super::{constant, modes};
use wsp_core::{TensorId, WorkloadId};
use wsp_ir::workload::{
    Access, AccessMode, ArgValue, Block, DimRange, IntExpr, IntExprKind, Iteration, NodeKind, Process, Task,
    WorkloadModule,
};
use wsp_ordered::OrderedMap;

/// Tensors of a workload with declared kernels by what their first reads find.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LiveIns {
    /// Read before any task writes them: a run depends on what they begin with.
    pub(crate) needed: TensorSet,
    /// Read after tasks that write them under a condition, in a loop that may have no rounds, or in part, or under a condition that
    /// may hold after such tasks only: only the run knows whether the elements that are read were written.
    pub(crate) unsure: TensorSet,
    /// Read under a condition before any task of the text so far writes them. Needed, unless a loop around the condition has rounds
    /// in which they are written before it holds.
    perhaps: TensorSet,
    /// Of `perhaps`, those that a task has written since which does not read them.
    later: TensorSet,
    /// Written by some task so far.
    some: TensorSet,
    /// Written in whole by a task that runs wherever what follows runs.
    whole: TensorSet,
    /// Written by other processes of the pipeline, by tasks that do not read them.
    beside: TensorSet,
}

impl LiveIns {
    /// Those of the entry of a module.
    pub(crate) fn of(module: &WorkloadModule) -> LiveIns {
        let mut walk = Walk { module, calls: OrderedMap::new(), writes: OrderedMap::new() };
        let mut reads = LiveIns::default();
        if let Some(entry) = module.entry {
            walk.block(&module.workloads[entry.index()].body, &mut reads);
        }
        reads.needed |= &reads.perhaps;
        reads
    }

    /// What was found under a condition that does not hold at first may find what these tensors are written.
    fn excuse(&mut self, written: &TensorSet, before: &LiveIns) {
        for found in [&mut self.needed, &mut self.perhaps] {
            let excused = &(&*found - &before.needed) & written;
            let excused = &excused - &before.perhaps;
            self.unsure |= &excused;
            *found = &*found - &excused;
        }
    }

    /// Goes on after one of two ways, of which a run takes either. In a loop, what one reads the other may have written in an
    /// earlier round.
    fn join(&mut self, one: LiveIns, other: LiveIns) {
        let needed = &one.needed & &other.needed;
        for (arm, beside) in [(&one, &other), (&other, &one)] {
            let mut alone = &arm.needed - &needed;
            alone |= &(&arm.perhaps - &self.perhaps);
            self.unsure |= &arm.unsure;
            self.unsure |= &(&alone & &beside.some);
            self.perhaps |= &(&alone - &beside.some);
        }
        for arm in [&one, &other] {
            self.some |= &arm.some;
            self.later |= &arm.later;
        }
        (self.needed, self.whole) = (needed, &one.whole & &other.whole);
    }
}

/// A walk over the blocks of a module, in the order of their tasks.
struct Walk<'a> {
    module: &'a WorkloadModule,
    /// What calls find and leave, by what was found before, so that each is walked once, however many lead to it.
    calls: OrderedMap<(WorkloadId, LiveIns), LiveIns>,
    /// What tasks of workloads write and do not read.
    writes: OrderedMap<WorkloadId, TensorSet>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, reads: &mut LiveIns) {
        for node in block {
            match &node.kind {
                NodeKind::Task(task) => self.task(task, reads),
                NodeKind::Call { workload, .. } => self.call(*workload, reads),
                NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
                    blocks.iter().for_each(|block| self.block(block, reads));
                }
                NodeKind::Cond { condition, then, otherwise } if constant(condition).is_some() => {
                    let taken = if constant(condition) == Some(0) { otherwise } else { then };
                    self.block(taken, reads);
                }
                NodeKind::Cond { then, otherwise, .. } => {
                    let [one, other] = [then, otherwise].map(|block| {
                        let mut arm = reads.clone();
                        self.block(block, &mut arm);
                        arm
                    });
                    reads.join(one, other);
                }
                NodeKind::ParallelFor { over, .. } | NodeKind::ForEach { over, .. }
                    if has_no_rounds(over) => {}
                NodeKind::ParallelFor { over, body, .. } | NodeKind::ForEach { over, body, .. } => {
                    self.rounds(body, is_empty_at_times(over), reads);
                }
                NodeKind::Select { body, .. } | NodeKind::While { body, .. } => {
                    self.rounds(body, true, reads);
                }
                NodeKind::Pipeline { processes } => self.pipeline(processes, reads),
                NodeKind::Consume { arms, all } => {
                    let before = reads.clone();
                    match arms.as_slice() {
                        [arm] if !*all => self.perhaps(&arm.body, reads),
                        arms => arms.iter().for_each(|arm| self.rounds(&arm.body, true, reads)),
                    }
                    // The token was sent, so other processes may have written what it stands for.
                    reads.excuse(&before.beside, &before);
                }
                NodeKind::Close { .. } => {}
                NodeKind::Send { body, .. } => self.perhaps(body, reads),
            }
        }
    }

    fn call(&mut self, workload: WorkloadId, reads: &mut LiveIns) {
        let start = LiveIns { needed: TensorSet::default(), unsure: TensorSet::default(), ..reads.clone() };
        let key = (workload, start);
        let inside = match self.calls.get(&key) {
            Some(inside) => inside.clone(),
            None => {
                let mut inside = key.1.clone();
                self.block(&self.module.workloads[workload.index()].body, &mut inside);
                self.calls.insert(key, inside.clone());
                inside
            }
        };
        let before = std::mem::replace(reads, inside);
        reads.needed |= &before.needed;
        reads.unsure |= &before.unsure;
    }

    /// A block that runs once or never.
    fn perhaps(&mut self, body: &Block, reads: &mut LiveIns) {
        let whole = reads.whole.clone();
        self.block(body, reads);
        reads.whole = whole;
    }

    /// A block that runs any number of times, or never. With `conditional`, whether it runs depends on more than the launch.
    fn rounds(&mut self, body: &Block, conditional: bool, reads: &mut LiveIns) {
        let mut inside = reads.clone();
        self.perhaps(body, &mut inside);
        inside.excuse(&(&inside.later - &inside.needed), reads);
        if conditional { reads.join(inside, reads.clone()) } else { *reads = inside }
    }

    fn pipeline(&mut self, processes: &[Process], reads: &mut LiveIns) {
        let writes: Vec<TensorSet> = processes.iter().map(|process| self.writes(&process.body)).collect();
        for (at, process) in processes.iter().enumerate() {
            let others = writes.iter().enumerate().filter(|(other, _)| *other != at);
            others.for_each(|(_, writes)| reads.beside |= writes);
            self.perhaps(&process.body, reads);
            reads.beside = TensorSet::default();
        }
    }

    /// Tensors that tasks of a block write which do not read them.
    fn writes(&mut self, block: &Block) -> TensorSet {
        let mut all = TensorSet::default();
        for node in block {
            match &node.kind {
                NodeKind::Task(task) => {
                    let task = Accesses::of(task, self.module);
                    task.writes()
                        .filter(|access| !task.reads(access.tensor))
                        .for_each(|access| all.insert(access.tensor));
                }
                NodeKind::Call { workload, .. } => {
                    if !self.writes.contains_key(workload) {
                        let writes = self.writes(&self.module.workloads[workload.index()].body);
                        self.writes.insert(*workload, writes);
                    }
                    all |= &self.writes[workload];
                }
                kind => kind.bodies().into_iter().for_each(|body| all |= &self.writes(body)),
            }
        }
        all
    }

    fn task(&self, task: &Task, reads: &mut LiveIns) {
        let task = Accesses::of(task, self.module);
        let reads_of_task = task.0.iter().filter(|(_, mode)| *mode != AccessMode::Out);
        for (access, _) in reads_of_task.filter(|(access, _)| !access.ranges.iter().any(is_empty)) {
            if !reads.some.contains(access.tensor) {
                reads.needed.insert(access.tensor);
            } else if !reads.whole.contains(access.tensor) {
                reads.unsure.insert(access.tensor);
            }
        }
        for access in task.writes() {
            reads.some.insert(access.tensor);
            if reads.perhaps.contains(access.tensor) && !task.reads(access.tensor) {
                reads.later.insert(access.tensor);
            }
            if access.ranges.iter().all(|range| *range == DimRange::Whole) {
                reads.whole.insert(access.tensor);
            }
        }
    }
}

/// The regions of a task.
struct Accesses<'a>(Vec<(&'a Access, AccessMode)>);

impl<'a> Accesses<'a> {
    fn of(task: &'a Task, module: &WorkloadModule) -> Accesses<'a> {
        let accesses = task.args.iter().filter_map(|arg| match &arg.value {
            ArgValue::Access(access) => Some(access),
            ArgValue::Scalar(_) => None,
        });
        Accesses(accesses.zip(modes(&module.kernels[task.kernel.index()])).collect())
    }

    fn writes(&self) -> impl Iterator<Item = &'a Access> {
        self.0.iter().filter(|(_, mode)| *mode != AccessMode::In).map(|(access, _)| *access)
    }

    fn reads(&self, tensor: TensorId) -> bool {
        self.0.iter().any(|(access, mode)| *mode != AccessMode::Out && access.tensor == tensor)
    }
}

/// Whether a region has no indices in a dimension, whatever the run.
fn is_empty(range: &DimRange) -> bool {
    match range {
        DimRange::Whole | DimRange::Index(_) => false,
        DimRange::Range { lo, hi } => are_in_reverse(lo, hi),
        DimRange::Sized { len, .. } => constant(len).is_some_and(|len| len <= 0),
    }
}

/// Whether a loop has no rounds, whatever the run.
fn has_no_rounds(over: &Iteration) -> bool {
    matches!(over, Iteration::Range { lo, hi, .. } if are_in_reverse(lo, hi))
}

fn are_in_reverse(lo: &IntExpr, hi: &IntExpr) -> bool {
    constant(lo).zip(constant(hi)).is_some_and(|(lo, hi)| lo >= hi)
}

/// Whether a loop may have rounds at one time, and none at another of the same launch.
fn is_empty_at_times(over: &Iteration) -> bool {
    let varies = |bound: &IntExpr| {
        let mut found = false;
        bound.each(&mut |kind| found |= matches!(kind, IntExprKind::Var(_) | IntExprKind::Slot(_)));
        found
    };
    match over {
        Iteration::Axis(_) => false,
        Iteration::Ragged { .. } => true,
        Iteration::Range { lo, hi, .. } => varies(lo) || varies(hi),
    }
}
