//! The tensors of declared kernels at the start of a run: made up, given, or the caller's.

use super::cells::{cell, slot_value};
use super::declared_kernels::DeclaredKernels;
use super::inputs::WorkloadInputs;
use super::memory::SharedTensor;
use super::mixing;
use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_backend::Absent;
use wsp_backend::claims::{self, Argument, claimed};
use wsp_backend::codes::WRONG_ARRAY;
use wsp_core::{DType, SlotId, TensorId};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::{Tensor, WorkloadModule};
use wsp_memory::{Claim, View};
use wsp_plan::workload::Bindings;

/// What a launch gives, checked as far as tensors are concerned.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) kernels: &'a DeclaredKernels,
    pub(crate) bindings: &'a Bindings,
    pub(crate) inputs: &'a WorkloadInputs,
}

impl Given<'_> {
    /// All tensors, with what they begin with.
    ///
    /// # Errors
    /// Every array and view that does not fit its tensor or may not be written where tasks write, memory that runs out, and
    /// views that share memory which tasks write.
    pub(crate) fn tensors(&self) -> Result<Vec<SharedTensor>, Vec<Diagnostic>> {
        let module = &self.kernels.module;
        let (mut all, mut faults) = (Vec::new(), table_views(module, &self.inputs.views));
        faults.extend(self.made_up_names());
        for (i, tensor) in module.tensors.iter().enumerate() {
            match self.tensor(TensorId(i as u32), tensor) {
                Ok(tensor) => all.push(tensor),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() {
            faults = claims::refused(&callers(self.kernels, &all));
        }
        if faults.is_empty() { Ok(all) } else { Err(faults) }
    }

    fn tensor(&self, id: TensorId, tensor: &Tensor) -> Result<SharedTensor, Diagnostic> {
        let (name, dims) = (&tensor.name, self.bindings.shape(id));
        match (self.inputs.views.get(name), self.inputs.arrays.get(name)) {
            (Some(_), Some(_)) => {
                let message = format!("tensor `{name}` is given an array to copy and one to use in place");
                Err(Diagnostic::error(WRONG_ARRAY, message).at(tensor.span, "").help("give one of them"))
            }
            (Some(view), None) => in_place(tensor, dims, view),
            (None, Some(array)) => {
                fitting(tensor, dims, array.dtype(), array.shape())?;
                SharedTensor::copy_of(name, array, dims)
            }
            (None, None) => {
                if self.inputs.begins(name) == Absent::Refused && self.kernels.needed.contains(name) {
                    return Err(missing(tensor));
                }
                let made = SharedTensor::zeros(name, tensor.dtype, dims)?;
                self.make_up(id, &made);
                Ok(made)
            }
        }
    }

    /// Names that are to be made up and that no tensor has, or that are given as well.
    fn made_up_names(&self) -> Vec<Diagnostic> {
        let names: Vec<&str> = self.kernels.module.tensors.iter().map(|t| t.name.as_str()).collect();
        let fault = |name: &String| {
            if self.inputs.gives(name) {
                let message = format!("array `{name}` is given and is to be made up");
                return Some(Diagnostic::error(WRONG_ARRAY, message).help("leave out one of them"));
            }
            if names.contains(&name.as_str()) {
                return None;
            }
            let message = format!("there is no tensor `{name}` to make up");
            let fault = Diagnostic::error(WRONG_ARRAY, message);
            Some(match did_you_mean(name, names.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault,
            })
        };
        self.inputs.made_up.iter().filter_map(fault).collect()
    }

    /// Gives a tensor that is not the caller's the elements that it began with.
    pub(crate) fn start_again(&self, id: TensorId, made: &SharedTensor) {
        match self.inputs.arrays.get(&self.kernels.module.tensors[id.index()].name) {
            Some(array) => made.store(&made.whole(), array.bytes()),
            None => {
                made.clear();
                self.make_up(id, made);
            }
        }
    }

    /// Gives a tensor of zeros that nothing is given for its elements.
    fn make_up(&self, id: TensorId, made: &SharedTensor) {
        let module = &self.kernels.module;
        match (module.slot_of(id), self.inputs.begins(&module.tensors[id.index()].name)) {
            (Some(slot), _) => made.store(&cell(id), &self.bindings.slot(slot).to_le_bytes()),
            (None, Absent::MadeUp) => {
                mixing::fill(made, &made.whole(), self.inputs.seed ^ u64::from(id.0));
            }
            (None, Absent::Zeros | Absent::Refused) => {}
        }
    }
}

/// A tensor that tasks read and that nothing is given for.
fn missing(tensor: &Tensor) -> Diagnostic {
    let name = &tensor.name;
    let fault = Diagnostic::error(crate::codes::MISSING_ARRAY, format!("array `{name}` is missing"));
    ask_for(fault.at(tensor.span, "tasks read this tensor before any writes it"), name)
}

/// What to do about a tensor that begins with nothing.
pub(crate) fn ask_for(fault: Diagnostic, name: &str) -> Diagnostic {
    fault
        .help(format!("give it: `--input {name}=FILE.npy`"))
        .help(format!("or have it made up: `--fill {name}`"))
        .python(format!("give it by name: `{name}=…`"))
}

/// Views that have the names of tables, which are copied.
fn table_views(module: &WorkloadModule, views: &BTreeMap<String, View>) -> Vec<Diagnostic> {
    let tables = module.tables.iter().filter(|table| views.contains_key(&table.name));
    tables
        .map(|table| {
            let message = format!("table `{}` cannot be used in place", table.name);
            Diagnostic::error(WRONG_ARRAY, message)
                .at(table.span, "elements of tables are looked at before tasks run")
                .help("give an array to copy")
        })
        .collect()
}

/// A tensor that is an array of the caller.
///
/// # Errors
/// The array has another type or other extents.
pub(crate) fn in_place(tensor: &Tensor, dims: &[u32], view: &View) -> Result<SharedTensor, Diagnostic> {
    fitting(tensor, dims, view.dtype(), view.shape())?;
    Ok(SharedTensor::of_view(view.clone()))
}

/// The tensors that are arrays of the caller.
pub(crate) fn callers<'a>(kernels: &'a DeclaredKernels, tensors: &'a [SharedTensor]) -> Vec<Argument<'a>> {
    let named = kernels.module.tensors.iter().zip(tensors);
    let argument = |(tensor, made): (&'a Tensor, &'a SharedTensor)| {
        let (name, span) = (tensor.name.as_str(), Some(tensor.span));
        Some(Argument { name, view: made.caller()?, written: kernels.written.contains(name), span })
    };
    named.filter_map(argument).collect()
}

/// Values of slots before any task has written them: those of arrays and views, else those of the declarations.
///
/// # Errors
/// Arrays with the names of slots that do not fit them, or that a run which goes on writes.
pub(crate) fn slots(
    module: &WorkloadModule,
    bindings: &Bindings,
    inputs: &WorkloadInputs,
    claim: Option<&Arc<Claim>>,
) -> Result<Vec<i64>, Vec<Diagnostic>> {
    let (mut values, mut faults) = (Vec::new(), Vec::new());
    for (i, slot) in module.slots.iter().enumerate() {
        let (tensor, dims) = (&module.tensors[slot.tensor.index()], bindings.shape(slot.tensor));
        let given = match (inputs.arrays.get(&tensor.name), inputs.views.get(&tensor.name)) {
            (Some(array), _) => fitting(tensor, dims, array.dtype(), array.shape())
                .map(|()| array.as_slice::<i64>().and_then(|elements| elements.first().copied())),
            (None, Some(view)) => given_slot(slot.tensor, tensor, dims, view, claim).map(Some),
            (None, None) => Ok(None),
        };
        match given {
            Ok(given) => values.push(given.unwrap_or_else(|| bindings.slot(SlotId(i as u32)))),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// The element of a slot's tensor that is an array of the caller.
fn given_slot(
    id: TensorId,
    tensor: &Tensor,
    dims: &[u32],
    view: &View,
    claim: Option<&Arc<Claim>>,
) -> Result<i64, Diagnostic> {
    let made = in_place(tensor, dims, view)?;
    let read = Argument { name: &tensor.name, view, written: false, span: Some(tensor.span) };
    if let Some(fault) = claims::refused(&[read]).pop() {
        return Err(fault);
    }
    let _claim = claimed(claim, &claims::uses([read]))?;
    Ok(slot_value(&made, id))
}

/// Refuses an array that is not what its tensor is declared as.
fn fitting(tensor: &Tensor, dims: &[u32], dtype: DType, shape: &[u64]) -> Result<(), Diagnostic> {
    if dtype == tensor.dtype && shape.iter().copied().eq(dims.iter().map(|&n| u64::from(n))) {
        return Ok(());
    }
    let declared = format!("{}{dims:?}", tensor.dtype);
    Err(Diagnostic::error(WRONG_ARRAY, format!("array `{}` does not fit its tensor", tensor.name))
        .at(tensor.span, format!("{declared} here"))
        .note(format!("the array is {dtype}{shape:?}, and the tensor {declared}")))
}
