//! Runs tasks of declared kernels.

use super::codes;
use super::inputs::WorkloadInputs;
use super::memory::SharedTensor;
use super::mixing;
use super::records::{Record, Records};
use super::registry::{KernelCx, KernelFault, KernelRegistry};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use wsp_core::{KernelId, Region, SlotId, TaskId, TensorId};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::{AccessMode, Kernel, ParamKind, Signature, Tensor, WorkloadModule};
use wsp_plan::workload::Bindings;
use wsp_plan::{Array, Arrays};
use wsp_runtime::TaskRunner;
use wsp_runtime::aicpu::Slots;

type Body = dyn Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync;

/// Kernels, tensors and tasks in flight of one run.
pub(crate) struct Declared<'p> {
    module: &'p WorkloadModule,
    /// Body of each kernel; none mixes.
    bodies: Vec<Option<Arc<Body>>>,
    /// Modes of each kernel's tensor parameters.
    modes: Vec<Vec<AccessMode>>,
    tensors: Vec<SharedTensor>,
    pub(crate) records: Records,
    /// Each worker locks its own only.
    scratch: Vec<Mutex<Vec<u8>>>,
}

/// What a task of a declared kernel failed with.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TaskFault {
    pub(crate) record: Box<Record>,
    pub(crate) message: String,
    pub(crate) panicked: bool,
}

impl<'p> Declared<'p> {
    /// Tensors with the user's arrays, and made-up elements where there are none.
    pub(crate) fn new(
        module: &'p WorkloadModule,
        registry: &KernelRegistry,
        bindings: &Bindings,
        inputs: &WorkloadInputs,
        workers: usize,
    ) -> Result<Declared<'p>, Vec<Diagnostic>> {
        let tensors = tensors(module, bindings, inputs)?;
        Ok(Declared {
            module,
            bodies: module.kernels.iter().map(|k| registry.body(&k.name)).collect(),
            modes: module.kernels.iter().map(modes).collect(),
            tensors,
            records: Records::default(),
            scratch: (0..workers.max(1)).map(|_| Mutex::default()).collect(),
        })
    }

    /// Runs a task; a panic of its body is a fault like others, so that it is reported with the task.
    pub(crate) fn run_record(&self, worker: usize, record: &Record) -> Result<(), TaskFault> {
        let fault = |message: String, panicked: bool| TaskFault {
            record: Box::new(record.clone()),
            message,
            panicked,
        };
        // A body that panicked left bytes that nobody reads again.
        let mut scratch = self.scratch[worker].lock().unwrap_or_else(PoisonError::into_inner);
        match &self.bodies[record.kernel.index()] {
            Some(body) => {
                let kernel = &self.module.kernels[record.kernel.index()];
                let mut cx = KernelCx {
                    name: &kernel.name,
                    signature: &kernel.signature,
                    scalars: &record.scalars,
                    boxes: &record.boxes,
                    tensors: &self.tensors,
                    scratch: &mut scratch,
                };
                let returned = catch_unwind(AssertUnwindSafe(|| body(&mut cx)));
                let returned = returned.map_err(|panic| fault(panic_message(panic.as_ref()), true))?;
                returned.map_err(|KernelFault(message)| fault(message, false))
            }
            None => {
                let boxes: Vec<(AccessMode, Region)> =
                    record.accesses(&self.modes[record.kernel.index()]).collect();
                mixing::run(&self.tensors, record.kernel.0, &record.scalars, &boxes, &mut scratch);
                Ok(())
            }
        }
    }

    /// The tensor that holds a slot.
    pub(crate) fn slot_tensor(&self, slot: SlotId) -> TensorId {
        self.module.slots[slot.index()].tensor
    }

    /// The value of a slot now.
    pub(crate) fn slot(&self, slot: SlotId) -> i64 {
        let tensor = self.slot_tensor(slot);
        let mut bytes = Vec::new();
        self.tensors[tensor.index()].load(&cell(tensor), &mut bytes);
        bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }

    /// The tensors by name, when the run is over.
    pub(crate) fn into_arrays(self) -> Arrays {
        let named = self.module.tensors.iter().map(|t| t.name.clone());
        named.zip(self.tensors.into_iter().map(SharedTensor::into_array)).collect()
    }
}

impl TaskRunner for Declared<'_> {
    type Failure = TaskFault;

    fn run(&self, worker: usize, _: TaskId, _: KernelId, payload: &[u32]) -> Result<(), TaskFault> {
        let record = self.records.take(payload[0]);
        self.run_record(worker, &record)
    }
}

impl Slots for Declared<'_> {
    fn region(&self, slot: SlotId) -> Option<Region> {
        self.module.slots.get(slot.index()).map(|slot| cell(slot.tensor))
    }

    fn value(&self, slot: SlotId) -> i64 {
        self.slot(slot)
    }
}

/// The box of a tensor of one element.
pub(crate) fn cell(tensor: TensorId) -> Region {
    Region::new(tensor, &[0], &[1]).expect("one dimension is within the limit")
}

/// What a kernel does with each tensor parameter.
pub(crate) fn modes(kernel: &Kernel) -> Vec<AccessMode> {
    let Signature::Declared(params) = &kernel.signature else { return Vec::new() };
    params
        .iter()
        .filter_map(|p| if let ParamKind::Tensor(mode) = p.kind { Some(mode) } else { None })
        .collect()
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn tensors(
    module: &WorkloadModule,
    bindings: &Bindings,
    inputs: &WorkloadInputs,
) -> Result<Vec<SharedTensor>, Vec<Diagnostic>> {
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for (i, tensor) in module.tensors.iter().enumerate() {
        let id = TensorId(i as u32);
        let dims = bindings.shape(id);
        let made = match inputs.arrays.get(&tensor.name) {
            Some(array) => {
                fitting(tensor, dims, array).and_then(|()| SharedTensor::copy_of(&tensor.name, array, dims))
            }
            None => SharedTensor::zeros(&tensor.name, tensor.dtype, dims).inspect(|made| {
                match module.slot_of(id) {
                    Some(slot) => made.store(&cell(id), &bindings.slot(slot).to_le_bytes()),
                    None => mixing::fill(made, &whole(id, dims), inputs.seed ^ i as u64),
                }
            }),
        };
        match made {
            Ok(tensor) => all.push(tensor),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// Values of slots before any task has written them: those of the arrays, else those of the declarations.
///
/// # Errors
/// Arrays with the names of slots that do not fit them.
pub(crate) fn slots(
    module: &WorkloadModule,
    bindings: &Bindings,
    arrays: &Arrays,
) -> Result<Vec<i64>, Vec<Diagnostic>> {
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    for (i, slot) in module.slots.iter().enumerate() {
        let tensor = &module.tensors[slot.tensor.index()];
        let given = arrays.get(&tensor.name);
        if let Some(fault) = given.and_then(|array| fitting(tensor, bindings.shape(slot.tensor), array).err())
        {
            faults.push(fault);
        }
        let given = given.and_then(|array| array.as_slice::<i64>()?.first().copied());
        values.push(given.unwrap_or_else(|| bindings.slot(SlotId(i as u32))));
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// Refuses an array that is not what its tensor is declared as.
fn fitting(tensor: &Tensor, dims: &[u32], array: &Array) -> Result<(), Diagnostic> {
    if array.dtype() == tensor.dtype && array.shape().iter().copied().eq(dims.iter().map(|&n| u64::from(n))) {
        return Ok(());
    }
    Err(Diagnostic::error(codes::WRONG_ARRAY, format!("array `{}` does not fit its tensor", tensor.name))
        .at(tensor.span, format!("{}{dims:?} here", tensor.dtype.name()))
        .note(format!("the array is {array:?}")))
}

fn whole(tensor: TensorId, dims: &[u32]) -> Region {
    let lo = [0; wsp_core::MAX_RANK];
    Region::new(tensor, &lo[..dims.len()], dims).expect("a tensor's rank is within the limit")
}
