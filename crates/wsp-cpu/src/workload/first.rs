//! Which tensors tasks read before any task has written them, where that is known before a run.

use super::declared::modes;
use super::link::bodies;
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::{TensorId, WorkloadId};
use wsp_ir::workload::{Access, AccessMode, ArgValue, Block, DimRange, NodeKind, Task, WorkloadModule};

/// Tensors of a workload with declared kernels by what their first reads find.
#[derive(Clone, Default, Debug)]
pub(crate) struct FirstReads {
    /// Read before any task writes them: a run depends on what they begin with.
    pub(crate) needed: BTreeSet<TensorId>,
    /// Read after tasks that write them under a condition, in a loop that may have no rounds, or in part: only the run knows
    /// whether the elements that are read were written.
    pub(crate) unsure: BTreeSet<TensorId>,
    /// Written by some task so far.
    some: BTreeSet<TensorId>,
    /// Written in whole by a task that runs wherever what follows runs.
    whole: BTreeSet<TensorId>,
}

/// What calls find and leave, by what was written before.
type Calls = BTreeMap<(WorkloadId, BTreeSet<TensorId>, BTreeSet<TensorId>), FirstReads>;

impl FirstReads {
    /// Those of the entry of a module.
    pub(crate) fn of(module: &WorkloadModule) -> FirstReads {
        let mut walk = Walk { module, calls: Calls::new() };
        let mut reads = FirstReads::default();
        if let Some(entry) = module.entry {
            walk.block(&module.workloads[entry.index()].body, &mut reads);
        }
        reads
    }
}

/// A walk over the blocks of a module, in the order of their tasks.
struct Walk<'a> {
    module: &'a WorkloadModule,
    /// Each call is walked once, however many lead to it.
    calls: Calls,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, reads: &mut FirstReads) {
        for node in block {
            match &node.kind {
                NodeKind::Task(task) => self.task(task, reads),
                NodeKind::Call { workload, .. } => self.call(*workload, reads),
                NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
                    blocks.iter().for_each(|block| self.block(block, reads));
                }
                NodeKind::Cond { then, otherwise, .. } => self.either([then, otherwise], reads),
                kind => bodies(kind).into_iter().for_each(|body| self.perhaps(body, reads)),
            }
        }
    }

    fn call(&mut self, workload: WorkloadId, reads: &mut FirstReads) {
        let key = (workload, reads.some.clone(), reads.whole.clone());
        let inside = match self.calls.get(&key) {
            Some(inside) => inside.clone(),
            None => {
                let (some, whole) = (reads.some.clone(), reads.whole.clone());
                let mut inside = FirstReads { some, whole, ..FirstReads::default() };
                self.block(&self.module.workloads[workload.index()].body, &mut inside);
                self.calls.insert(key, inside.clone());
                inside
            }
        };
        reads.needed.extend(&inside.needed);
        reads.unsure.extend(&inside.unsure);
        (reads.some, reads.whole) = (inside.some, inside.whole);
    }

    /// A block that runs any number of times, or never.
    fn perhaps(&mut self, body: &Block, reads: &mut FirstReads) {
        let whole = reads.whole.clone();
        self.block(body, reads);
        reads.whole = whole;
    }

    /// Two blocks of which one runs. In a loop, what one reads the other may have written in an earlier round.
    fn either(&mut self, blocks: [&Block; 2], reads: &mut FirstReads) {
        let [one, other] = blocks.map(|block| {
            let mut arm = reads.clone();
            self.block(block, &mut arm);
            arm
        });
        let before = reads.needed.clone();
        for (arm, beside) in [(&one, &other), (&other, &one)] {
            for &tensor in arm.needed.difference(&before) {
                let read = if beside.some.contains(&tensor) { &mut reads.unsure } else { &mut reads.needed };
                read.insert(tensor);
            }
            reads.unsure.extend(&arm.unsure);
            reads.some.extend(&arm.some);
        }
        reads.whole = &one.whole & &other.whole;
    }

    fn task(&self, task: &Task, reads: &mut FirstReads) {
        let accesses = task.args.iter().filter_map(|arg| match &arg.value {
            ArgValue::Access(access) => Some(access),
            ArgValue::Scalar(_) => None,
        });
        let accesses: Vec<(&Access, AccessMode)> =
            accesses.zip(modes(&self.module.kernels[task.kernel.index()])).collect();
        for (access, _) in accesses.iter().filter(|(_, mode)| *mode != AccessMode::Out) {
            if !reads.some.contains(&access.tensor) {
                reads.needed.insert(access.tensor);
            } else if !reads.whole.contains(&access.tensor) {
                reads.unsure.insert(access.tensor);
            }
        }
        for (access, _) in accesses.iter().filter(|(_, mode)| *mode != AccessMode::In) {
            reads.some.insert(access.tensor);
            if access.ranges.iter().all(|range| *range == DimRange::Whole) {
                reads.whole.insert(access.tensor);
            }
        }
    }
}
