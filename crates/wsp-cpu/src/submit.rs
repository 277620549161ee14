//! The launch run: the generator again, now on the planner thread, each descriptor a task.

use crate::codes;
use crate::host::Sink;
use crate::kernels::{Evaluator, KernelTable, LaunchKernel, Touched};
use crate::planner::Planner;
use crate::prefetch::{PrefetchKey, Prefetchable, Sought};
use crate::runner::KernelRunner;
use crate::workload::settings::SAME_TASKS;
use wsp_backend::codes::NOT_REPLAYED;
use wsp_core::{KernelId, StructId, TaskId};
use wsp_diag::Span;
use wsp_ir::AffinityPolicy;
use wsp_kernel::{Hints, PrefetchValue, Trap};
use wsp_runtime::{Affinity, Stopped, Submitter, TaskSpec};

/// Turns descriptors into tasks.
pub(crate) struct SubmitSink<'a, 's, 'r> {
    kernels: &'a KernelTable,
    submitter: &'s mut Submitter<'r, KernelRunner<'a>>,
    prefetchable: Prefetchable,
    evaluator: Evaluator,
    /// Tasks so far.
    count: u64,
}

impl<'a, 's, 'r> SubmitSink<'a, 's, 'r> {
    pub(crate) fn new(
        kernels: &'a KernelTable,
        submitter: &'s mut Submitter<'r, KernelRunner<'a>>,
    ) -> SubmitSink<'a, 's, 'r> {
        SubmitSink {
            kernels,
            submitter,
            prefetchable: Prefetchable::default(),
            evaluator: Evaluator::default(),
            count: 0,
        }
    }

    /// Pairs this task with the one `depth` iterations before it.
    fn link_prefetch(
        &mut self,
        stage: u32,
        descriptor: StructId,
        task: TaskId,
        number: usize,
        hint: PrefetchValue<'_>,
    ) {
        let mut key: PrefetchKey = PrefetchKey::new();
        key.extend([stage, descriptor.0, number as u32, hint.value]);
        key.extend_from_slice(hint.rest);
        if let Some(before) = hint.value.checked_sub(hint.depth) {
            let own = std::mem::replace(&mut key[3], before);
            match self.prefetchable.find(&key) {
                Sought::Known(starting) => self.submitter.prefetch_when_starts(starting, task),
                Sought::Forgotten => self.submitter.prefetch_missed(),
                Sought::Never => {}
            }
            key[3] = own;
        }
        let submitter = &self.submitter;
        self.prefetchable.insert(key, task, |task| submitter.is_in_flight(task));
    }
}

/// The task of a descriptor, which goes to a kernel of this number, and is for a tile where there is a grid.
///
/// # Errors
/// A priority that is too large.
pub(crate) fn task<'t>(
    (number, kernel): (KernelId, &LaunchKernel),
    descriptor: &'t [u32],
    touched: &'t Touched,
    hints: Hints<'_>,
    tile: Option<u32>,
) -> Result<TaskSpec<'t>, Trap> {
    Ok(TaskSpec {
        kernel: number,
        payload: descriptor,
        reads: &touched.reads,
        writes: &touched.writes,
        affinity: tile.map_or_else(|| placement(hints), |tile| Affinity::Local(tile.into())),
        pool: kernel.unit,
        priority: priority(hints)?,
        ..TaskSpec::default()
    })
}

/// What `PTO_PRIORITY` gives a task.
///
/// # Errors
/// An index that is no priority of the runtime.
pub(crate) fn priority(hints: Hints<'_>) -> Result<i32, Trap> {
    let index = hints.priority().unwrap_or(0);
    i32::try_from(index).map_err(|_| {
        let message =
            format!("`PTO_PRIORITY` is of an axis with index {index}, and the largest is {}", i32::MAX);
        Trap::new(codes::TOO_LARGE, message, Span::default())
    })
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

/// Why the runtime takes no more tasks. Limits on tasks and descriptors are checked before the run.
fn stopped(reason: Stopped) -> Trap {
    match reason {
        Stopped::Stopping => Trap::new(codes::STOPPED, "the run was stopped", Span::default()),
        Stopped::NotReplayed { .. } => {
            Trap::new(NOT_REPLAYED, reason.to_string(), Span::default()).help(SAME_TASKS)
        }
        _ => Trap::internal(reason.to_string(), Span::default()),
    }
}

impl Sink for SubmitSink<'_, '_, '_> {
    fn emit(
        &mut self,
        planner: &Planner<'_>,
        descriptor: StructId,
        fields: &[u32],
        hints: Hints<'_>,
    ) -> Result<(), Trap> {
        let kernel = self.kernels.consumer(planner.plan, descriptor, fields)?;
        let of = self.kernels.get(kernel);
        let touched = of.touched(&mut self.evaluator, planner.env, fields);
        let number = (kernel, self.count);
        let tile = self.kernels.tile(number, &touched, &mut self.evaluator, planner.env, fields);
        self.count += 1;
        let task = task((kernel, of), fields, &touched, hints, tile)?;
        let task = self.submitter.submit(task).map_err(stopped)?;
        for (number, hint) in hints.prefetch().enumerate() {
            self.link_prefetch(planner.stage(), descriptor, task, number, hint);
        }
        Ok(())
    }

    fn fence(&mut self) {
        self.submitter.fence();
    }

    fn cancelled(&self, _: &Planner<'_>) -> bool {
        self.submitter.cancelled()
    }
}
