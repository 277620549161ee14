//! Runs tasks of declared kernels.

use super::cells::{cell, slot_value};
use super::channels::SlotsRead;
use super::declared_kernels::DeclaredKernels;
use super::graph::coordinates;
use super::inputs::WorkloadInputs;
use super::kernel_cx::{KernelCx, KernelFault};
use super::memory::{NeverStored, SharedTensor};
use super::mixing;
use super::records::{Arguments, Numbers, Record, Records};
use super::registry::{KernelBody, KernelRegistry};
use super::view_kernel::{Bound, Interruption, Misfit, ViewFault};
use super::watch::Watch;
use crate::unwritten::unwritten;
use std::cell::OnceCell;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wsp_backend::{Absent, Progress, Recording, RunningTask, Unwritten};
use wsp_core::{KernelId, Region, SlotId, TaskId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::AccessMode;
use wsp_kernel::{Scratch, Trap};
use wsp_memory::{EarlyLoads, Stored};
use wsp_ordered::Arrange;
use wsp_plan::Arrays;
use wsp_plan::workload::modes;
use wsp_runtime::aicpu::Slots;
use wsp_runtime::{TaskRunner, clock};

/// Kernels, tensors and tasks in flight of one run.
pub(crate) struct Declared {
    pub(crate) kernels: Arc<DeclaredKernels>,
    /// Body of each kernel; none mixes.
    bodies: Vec<Option<KernelBody>>,
    /// Modes of each kernel's tensor parameters.
    modes: Vec<Vec<AccessMode>>,
    pub(crate) tensors: Vec<SharedTensor>,
    pub(crate) records: Records,
    /// Whether each tensor was given to the launch, where what tasks store is recorded.
    given: Vec<bool>,
    interruption: Interruption,
    /// Where the run says how far it is.
    pub(crate) progress: Option<Arc<Progress>>,
    /// Whether a task that leaves elements of its `out` regions unwritten has failed.
    pub(crate) whole_outs: bool,
    /// Whether what tasks store is recorded where that is not needed to run them.
    recording: Recording,
    /// Values of slots that were read, where they are to be known after the run.
    slots_read: Option<Mutex<SlotsRead>>,
    /// Each worker locks its own only.
    workers: Vec<Mutex<Worker>>,
}

/// What a worker keeps from task to task.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// Elements on their way.
    bytes: Vec<u8>,
    scratch: Scratch,
    /// By kernel: surroundings of those over views that it has run.
    bound: Vec<Option<Bound>>,
    numbers: Numbers,
}

/// What a task of a declared kernel failed with.
#[derive(Debug)]
pub(crate) struct TaskFault {
    pub(crate) record: Record,
    pub(crate) cause: Cause,
}

/// Why a task failed.
#[derive(Debug)]
pub(crate) enum Cause {
    /// Its body says so.
    Fault(KernelFault),
    /// Its body panicked.
    Panic(String),
    /// It does not fit its kernel.
    Argument(Misfit),
    /// It reads elements that no task has stored.
    NeverStored(NeverStored),
    /// Its kernel stopped.
    Trap(Box<Trap>),
}

impl From<ViewFault> for Cause {
    fn from(fault: ViewFault) -> Cause {
        match fault {
            ViewFault::Argument(what) => Cause::Argument(what),
            ViewFault::NeverStored(fault) => Cause::NeverStored(fault),
            ViewFault::Trap(trap) => Cause::Trap(trap),
        }
    }
}

impl Declared {
    /// A run on these tensors.
    pub(crate) fn new(
        kernels: Arc<DeclaredKernels>,
        registry: &KernelRegistry,
        tensors: Vec<SharedTensor>,
        interruption: Interruption,
        workers: usize,
    ) -> Declared {
        let all = &kernels.module.kernels;
        Declared {
            bodies: all.iter().map(|k| registry.body(&k.name)).collect(),
            modes: all.iter().map(modes).collect(),
            tensors,
            records: Records::default(),
            given: Vec::new(),
            interruption,
            progress: None,
            whole_outs: false,
            recording: Recording::Off,
            slots_read: None,
            workers: (0..workers.max(1)).map(|_| Mutex::default()).collect(),
            kernels,
        }
    }

    /// From now on, what tasks store is recorded: to tensors that begin with nothing and that tasks perhaps read before they are
    /// written, and, if that is asked for, to all that tasks write, but for those of slots, which begin with values.
    pub(crate) fn record(&mut self, inputs: &WorkloadInputs, recording: Recording) {
        let DeclaredKernels { module, written, unsure, .. } = &*self.kernels;
        self.recording = recording;
        if recording == Recording::On {
            self.given =
                module.tensors.iter().map(|tensor| inputs.arrays.contains_key(&tensor.name)).collect();
        }
        for (i, (tensor, shared)) in module.tensors.iter().zip(&mut self.tensors).enumerate() {
            let name = &tensor.name;
            let slot = module.slot_of(TensorId(i as u32)).is_some();
            let asked = recording == Recording::On && written.contains(name) && !slot;
            let begins_empty = !inputs.gives(name) && inputs.begins(name) == Absent::Refused;
            if begins_empty && (asked || unsure.contains(name)) {
                shared.record(EarlyLoads::Refused);
            } else if asked {
                shared.record(EarlyLoads::Noted);
            }
        }
    }

    /// Nothing is stored yet.
    pub(crate) fn forget_stored(&self) {
        self.tensors.iter().filter_map(|tensor| tensor.elements().range().stored()).for_each(Stored::forget);
    }

    /// Elements that no task has stored, where that is recorded.
    pub(crate) fn unwritten(&self) -> Vec<Unwritten> {
        let tensors = self.kernels.module.tensors.iter().zip(&self.tensors).zip(&self.given);
        let unwritten = tensors.flat_map(|((tensor, shared), given)| {
            let given = *given || shared.caller().is_some();
            unwritten(&tensor.name, &shared.shape(), given, |which| shared.elements().missing(which))
        });
        unwritten.collect()
    }

    /// What a worker keeps. It is the worker's alone.
    pub(crate) fn worker(&self, worker: usize) -> MutexGuard<'_, Worker> {
        // A body that panicked left bytes that nobody reads again.
        self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets tasks that a run which has ended left behind.
    pub(crate) fn forget_records(&mut self) {
        if self.records.is_unused() {
            return;
        }
        self.records.start_again();
        for worker in &mut self.workers {
            worker.get_mut().unwrap_or_else(PoisonError::into_inner).numbers = Numbers::default();
        }
    }

    /// Forgets what views were bound to: tensors have changed.
    pub(crate) fn forget_regions(&mut self) {
        for worker in &mut self.workers {
            let worker = worker.get_mut().unwrap_or_else(PoisonError::into_inner);
            worker.bound.iter_mut().flatten().for_each(Bound::forget);
        }
    }

    /// Runs a task; a panic of its body is a fault like others, so that it is reported with the task.
    #[inline]
    pub(crate) fn run_task(&self, worker: &mut Worker, task: Arguments<'_>) -> Result<(), Box<TaskFault>> {
        let run = catch_unwind(AssertUnwindSafe(|| {
            if self.watches(task.kernel) {
                self.run_watched(worker, task)
            } else {
                self.run_body(worker, task, None)
            }
        }));
        match run {
            Ok(Ok(())) => Ok(()),
            Ok(Err(cause)) => Err(failed(task, cause)),
            Err(panic) => Err(failed(task, Cause::Panic(panic_message(panic.as_ref())))),
        }
    }

    /// Runs a task on a worker, and tells how far the run is, where that is asked for.
    #[inline]
    pub(crate) fn run_seen(
        &self,
        number: usize,
        worker: &mut Worker,
        task: Arguments<'_>,
    ) -> Result<(), Box<TaskFault>> {
        let Some(progress) = &self.progress else { return self.run_task(worker, task) };
        let kernels = &self.kernels.module.kernels;
        progress.begin(self.workers.len(), kernels.iter().map(|kernel| kernel.name.as_str()));
        let of_call = coordinates(&kernels[task.kernel.index()]);
        let indices = task.scalars.get(..of_call).filter(|found| !found.is_empty()).unwrap_or(task.indices);
        progress.starts(number, RunningTask::new(task.kernel, indices, clock::now()));
        let ran = self.run_task(worker, task);
        progress.ends(number, 1);
        ran
    }

    /// Whether tasks of a kernel are watched: what a function stores by address is found in no other way.
    fn watches(&self, kernel: KernelId) -> bool {
        let is_function = || matches!(self.bodies[kernel.index()], Some(KernelBody::Function(_)));
        self.whole_outs || self.recording == Recording::On && is_function()
    }

    /// Runs a task, and finds what it leaves unwritten of its `out` regions.
    #[cold]
    fn run_watched(&self, worker: &mut Worker, task: Arguments<'_>) -> Result<(), Cause> {
        let number = task.kernel.index();
        let (modes, body) = (&self.modes[number], &self.bodies[number]);
        let watch = match body {
            Some(KernelBody::Function(_)) => Watch::of_function(&self.tensors, modes, task.regions),
            Some(KernelBody::Views(_)) | None => Watch::of_body(&self.tensors, modes, task.regions),
        };
        let mut run = || catch_unwind(AssertUnwindSafe(|| self.run_body(worker, task, Some(&watch))));
        let mut ran = run();
        if matches!(ran, Ok(Ok(()))) && watch.begin_second() {
            ran = run();
        }
        let left = watch.end(&self.kernels.module.kernels[number], self.whole_outs);
        ran.unwrap_or_else(|panic| resume_unwind(panic))?;
        left.map_or(Ok(()), |what| Err(Cause::Fault(what.into())))
    }

    fn run_body(
        &self,
        worker: &mut Worker,
        task: Arguments<'_>,
        watch: Option<&Watch<'_>>,
    ) -> Result<(), Cause> {
        let number = task.kernel.index();
        match &self.bodies[number] {
            Some(KernelBody::Views(kernel)) => {
                if worker.bound.len() <= number {
                    worker.bound.resize_with(number + 1, || None);
                }
                let bound = worker.bound[number].get_or_insert_with(|| kernel.bound(&self.interruption));
                kernel.run(bound, &mut worker.scratch, &self.tensors, task.scalars, task.regions)?;
                Ok(())
            }
            Some(KernelBody::Function(body)) => {
                let mut cx = KernelCx {
                    name: &self.kernels.module.kernels[number].name,
                    modes: &self.modes[number],
                    scalars: task.scalars,
                    regions: task.regions,
                    tensors: &self.tensors,
                    scratch: &mut worker.bytes,
                    refused: OnceCell::new(),
                    watch,
                };
                let ran = body(&mut cx);
                cx.refused.into_inner().map_or(Ok(()), |fault| Err(Cause::NeverStored(fault)))?;
                ran.map_err(Cause::Fault)
            }
            None => mixing::run(&self.tensors, task, &self.modes[number], &mut worker.bytes)
                .map_err(Cause::NeverStored),
        }
    }

    /// The tensor that holds a slot.
    pub(crate) fn slot_tensor(&self, slot: SlotId) -> TensorId {
        self.kernels.module.slots[slot.index()].tensor
    }

    /// Notes values of slots from now on.
    pub(crate) fn note_slots(&mut self) {
        self.slots_read = Some(Mutex::default());
    }

    /// Values of slots that the last run has read, in the order of tasks.
    pub(crate) fn slots_read(&self) -> SlotsRead {
        let Some(read) = &self.slots_read else { return SlotsRead::new() };
        let mut read = take(&mut *read.lock().unwrap_or_else(PoisonError::into_inner));
        read.arrange();
        read
    }

    /// The value of a slot for the task of an ordinal and those behind it.
    pub(crate) fn read_slot(&self, slot: SlotId, ordinal: u64) -> i64 {
        let value = self.slot(slot);
        if let Some(read) = &self.slots_read {
            read.lock().unwrap_or_else(PoisonError::into_inner).push((ordinal, slot, value));
        }
        value
    }

    /// The value of a slot now.
    pub(crate) fn slot(&self, slot: SlotId) -> i64 {
        let tensor = self.slot_tensor(slot);
        slot_value(&self.tensors[tensor.index()], tensor)
    }

    /// The tensors that tasks may write and that are not the caller's, by name, when the run is over.
    ///
    /// # Errors
    /// A kernel has kept a view of one, and there is no memory for a copy.
    pub(crate) fn into_outputs(self) -> Result<Arrays, Diagnostic> {
        let named = self.kernels.module.tensors.iter().map(|t| &t.name).zip(self.tensors);
        let written = named.filter(|(name, _)| self.kernels.written.contains(*name));
        let output = |(name, tensor): (&String, SharedTensor)| {
            Some(tensor.into_array(name)?.map(|array| (name.clone(), array)))
        };
        written.filter_map(output).collect()
    }
}

#[cold]
fn failed(task: Arguments<'_>, cause: Cause) -> Box<TaskFault> {
    Box::new(TaskFault { record: Record::of(task), cause })
}

impl TaskRunner for Declared {
    type Failure = Box<TaskFault>;

    fn run(&self, index: usize, _: TaskId, _: KernelId, payload: &[u32]) -> Result<(), Box<TaskFault>> {
        let number = payload[0];
        let mut worker = self.worker(index);
        let ran = self.run_seen(index, &mut worker, self.records.record(number).arguments());
        self.records.release(&mut worker.numbers, number);
        ran
    }
}

impl Slots for Declared {
    fn region(&self, slot: SlotId) -> Option<Region> {
        self.kernels.module.slots.get(slot.index()).map(|slot| cell(slot.tensor))
    }

    fn value(&self, slot: SlotId, ordinal: u64) -> i64 {
        self.read_slot(slot, ordinal)
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
