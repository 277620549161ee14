//! The launch run: the generator again, now on the planner thread, each descriptor a task.

use crate::codes;
use crate::kernels::{Evaluator, KernelTable};
use crate::planner::Planner;
use crate::runner::KernelRunner;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wsp_core::{AxisId, StructId, TaskId};
use wsp_ir::{AffinityPolicy, Span};
use wsp_kernel::{Extent, GeneratorHost, Hints, PrefetchValue, Trap, WsRequest};
use wsp_runtime::{Affinity, Submitter, TaskSpec};

/// Identifies a task for prefetching: stage, descriptor type, hint, index on the axis, and the other indices.
type PrefetchKey = SmallVec<[u32; 8]>;

/// Turns descriptors into tasks.
pub(crate) struct SubmitHost<'a, 'p, 's, 'r> {
    planner: &'p mut Planner<'a>,
    kernels: &'p KernelTable,
    submitter: &'s mut Submitter<'r, KernelRunner<'a>>,
    prefetchable: FxHashMap<PrefetchKey, TaskId>,
    evaluator: Evaluator,
}

impl<'a, 'p, 's, 'r> SubmitHost<'a, 'p, 's, 'r> {
    pub(crate) fn new(
        planner: &'p mut Planner<'a>,
        kernels: &'p KernelTable,
        submitter: &'s mut Submitter<'r, KernelRunner<'a>>,
    ) -> SubmitHost<'a, 'p, 's, 'r> {
        SubmitHost {
            planner,
            kernels,
            submitter,
            prefetchable: FxHashMap::default(),
            evaluator: Evaluator::default(),
        }
    }

    pub(crate) fn enter(&mut self, stage: u32, space: wsp_core::SpaceId) {
        self.planner.enter(stage, space);
        self.prefetchable.clear();
    }

    /// Pairs this task with the one `depth` iterations before it.
    fn link_prefetch(&mut self, descriptor: StructId, task: TaskId, number: usize, hint: PrefetchValue<'_>) {
        let mut key: PrefetchKey = SmallVec::new();
        key.extend([self.planner.stage(), descriptor.0, number as u32, hint.value]);
        key.extend_from_slice(hint.rest);
        if let Some(before) = hint.value.checked_sub(hint.depth) {
            let own = std::mem::replace(&mut key[3], before);
            if let Some(&starting) = self.prefetchable.get(&key) {
                self.submitter.prefetch_when_starts(starting, task);
            }
            key[3] = own;
        }
        self.prefetchable.insert(key, task);
    }
}

/// The placement that several `PTO_AFFINITY` statements ask for together: the tightest policy, all values as one key.
fn placement(hints: Hints<'_>) -> Affinity {
    let mut policy = None;
    let mut key = 0u64;
    for (asked, value) in hints.affinity() {
        key = if policy.is_none() {
            u64::from(value)
        } else {
            key.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(value))
        };
        policy = Some(match (policy, asked) {
            (Some(AffinityPolicy::CoreLocal), _) | (_, AffinityPolicy::CoreLocal) => {
                AffinityPolicy::CoreLocal
            }
            (Some(AffinityPolicy::CoreGroup), _) | (_, AffinityPolicy::CoreGroup) => {
                AffinityPolicy::CoreGroup
            }
            _ => AffinityPolicy::Spread,
        });
    }
    match policy {
        None => Affinity::Any,
        Some(AffinityPolicy::CoreLocal) => Affinity::Local(key),
        Some(AffinityPolicy::CoreGroup) => Affinity::Group(key),
        Some(AffinityPolicy::Spread) => Affinity::Spread,
    }
}

/// The planner's reason to stop when the runtime takes no more tasks; the runtime itself knows why.
fn stopped() -> Trap {
    Trap::new(codes::STOPPED, "the run was stopped", Span::default())
}

impl GeneratorHost for SubmitHost<'_, '_, '_, '_> {
    fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), Trap> {
        let kernel = self.kernels.consumer(self.planner.plan, descriptor, fields)?;
        let touched = self.kernels.get(kernel).touched(&mut self.evaluator, self.planner.env, fields);
        let spec = TaskSpec {
            kernel,
            payload: fields,
            reads: &touched.reads,
            writes: &touched.writes,
            affinity: placement(hints),
        };
        let task = self.submitter.submit(spec).map_err(|_| stopped())?;
        for (number, hint) in hints.prefetch().enumerate() {
            self.link_prefetch(descriptor, task, number, hint);
        }
        Ok(())
    }

    fn fence(&mut self) {
        self.submitter.fence();
    }

    fn alloc_ws(&mut self, request: &WsRequest<'_>) -> Result<u32, Trap> {
        self.planner.slot(request)
    }

    fn set_tile(&mut self, axis: AxisId, size: u32) -> Result<(), Trap> {
        self.planner.set_tile(axis, size);
        Ok(())
    }

    fn set_extent(&mut self, axis: AxisId, extent: Extent<'_>) -> Result<(), Trap> {
        self.planner.set_extent(axis, extent);
        Ok(())
    }

    fn axis_tile(&mut self, axis: AxisId) -> Result<u32, Trap> {
        self.planner.axis_tile(axis)
    }

    fn axis_extent(&mut self, axis: AxisId) -> Result<u32, Trap> {
        self.planner.axis_extent(axis)
    }

    fn cancelled(&self) -> bool {
        self.submitter.cancelled()
    }
}
