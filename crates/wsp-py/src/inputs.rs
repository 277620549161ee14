//! What a call gives a program by name, checked and bound: arrays, tables, sizes.

mod library;
mod shapes;

pub(crate) use library::{Copied, exchanged, param_value};

use crate::arrays::{PyArray, place_of, type_name};
use crate::integers::{integers, is_list, of_integers};
use crate::own::Metadata;
use crate::refusal::Refusal;
use crate::signature::{Role, Signature, TensorFact};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};
use shapes::Origin;
use std::sync::Arc;
use wsp_backend::Args;
use wsp_backend::claims::in_use;
use wsp_core::DType;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::{IntExprKind, WorkloadModule};
use wsp_memory::{Claim, Use, View};
use wsp_plan::{Arrays, ParamValue};
use wsp_trace::python::arrays::{MISSING, READ_ONLY, SURPLUS, WRONG_TYPE, WRONG_VALUE as BAD_SIZE};

/// What is needed of the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// All of them: tasks run.
    Everything,
    /// Sizes and tables: tasks are listed only. Arrays may be given for the sizes that their shapes tell.
    Sizes,
    /// Shapes of a used file's arrays, and the elements of those of integers: a launch is planned.
    Shapes,
}

/// The arguments of a call.
#[derive(Default)]
pub(crate) struct Arguments {
    /// What the program is given.
    pub(crate) args: Args,
    /// Arrays of a used file that are read in a copy.
    pub(crate) copied: Vec<Copied>,
    /// Arrays of a used file of which only element type and shape are taken.
    pub(crate) shapes: Vec<(String, DType, Vec<u64>)>,
    /// The caller's arrays, of which a run writes some.
    pub(crate) uses: Vec<Use>,
    /// The claim of the run on them.
    pub(crate) claim: Option<Arc<Claim>>,
}

impl Arguments {
    /// What planning sees of the arrays of a used file.
    pub(crate) fn metadata(&self) -> Metadata<'_> {
        let whole = Metadata::from(&self.args.arrays);
        self.shapes.iter().fold(whole, |known, (name, dtype, shape)| known.with_shape(name, *dtype, shape))
    }

    /// Claims the arrays for a run, until this is dropped, and then copies those that it does not use where they lie.
    ///
    /// # Errors
    /// Another run uses one of them, and one of the two runs writes it. There is no memory for a copy.
    pub(crate) fn claim(&mut self) -> Result<(), Diagnostic> {
        let claim = Claim::of(&self.uses.as_slice().into()).map_err(|conflict| in_use(&conflict))?;
        self.claim = Some(Arc::new(claim));
        self.copy()
    }

    /// Copies the arrays that are read in a copy, for what runs no task: they are claimed meanwhile only.
    ///
    /// # Errors
    /// A run that goes on writes one of them. There is no memory for a copy.
    pub(crate) fn read(&mut self) -> Result<(), Diagnostic> {
        let _claim = reading(self.copied.iter().map(|copied| (copied.name.as_str(), copied.place.clone())))?;
        self.copy()
    }

    fn copy(&mut self) -> Result<(), Diagnostic> {
        for copied in &self.copied {
            self.args.arrays.insert(copied.name.clone(), copied.array.to_array(&copied.name)?);
        }
        Ok(())
    }

    /// Copies what kernels of a used file wrote into the caller's arrays. The claim goes on until this is dropped.
    pub(crate) fn give_back(&self, outputs: &Arrays) {
        for Copied { name, array, .. } in self.copied.iter().filter(|copied| copied.written) {
            let taken = outputs.get(name).is_some_and(|written| array.copy_from(written));
            debug_assert!(taken, "a run should write `{name}` with the type and the shape that it was given");
        }
    }
}

/// Binds the arguments of a call.
///
/// # Errors
/// Everything that is missing, surplus or does not fit, in the order of the call.
pub(crate) fn bind(
    signature: &Signature,
    module: &WorkloadModule,
    named: Option<&Bound<'_, PyDict>>,
    need: Need,
) -> Result<Arguments, Refusal> {
    let mut binder = Binder {
        signature,
        module,
        args: Args::new(),
        arrays: signature.tensors.iter().map(|_| None).collect(),
        copied: Vec::new(),
        declined: Vec::new(),
        shapes: Vec::new(),
        uses: Vec::new(),
        need,
        sizes: vec![None; signature.params.len()],
        origins: vec![Origin::Given; signature.params.len()],
        refused: Refusal::from(Vec::new()),
        faults: Vec::new(),
    };
    for (key, value) in named.into_iter().flatten() {
        if value.is_none() {
            binder.declined.extend(key.extract::<String>().ok());
        } else if let Err(refusal) = binder.take(&key, &value) {
            if refusal.interrupts(key.py()) {
                return Err(refusal);
            }
            binder.refused.extend(key.py(), refusal);
        }
    }
    binder.infer();
    binder.infer_from_tables();
    binder.check_shapes();
    binder.check_missing();
    binder.finish()
}

struct Binder<'a> {
    signature: &'a Signature,
    module: &'a WorkloadModule,
    args: Args,
    /// By tensor.
    arrays: Vec<Option<PyArray>>,
    /// Of a used file.
    copied: Vec<Copied>,
    /// Names for which `None` is given.
    declined: Vec<String>,
    /// Of a used file, by shape alone.
    shapes: Vec<(String, DType, Vec<u64>)>,
    uses: Vec<Use>,
    need: Need,
    /// By size.
    sizes: Vec<Option<i64>>,
    origins: Vec<Origin>,
    /// What is wrong with arguments by themselves.
    refused: Refusal,
    /// What is wrong with them together.
    faults: Vec<Diagnostic>,
}

impl Binder<'_> {
    fn take(&mut self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        let Ok(name) = key.extract::<String>() else {
            let message = format!("an argument has a name of type `{}`", type_name(key));
            return Err(Diagnostic::error(SURPLUS, message).help("names are strings").into());
        };
        let signature = self.signature;
        if let Some(t) = signature.tensors.iter().position(|t| t.given == name) {
            self.tensor(t, value)
        } else if let Some(t) = signature.tables.iter().position(|t| t.given == name) {
            self.table(t, value)
        } else if let Some(p) = signature.params.iter().position(|p| p.given == name) {
            self.size(p, value)
        } else if let Some(array) = signature.library.array(&name) {
            self.library_array(array, value)
        } else if signature.library.params.contains(&name) {
            self.library_param(&name, value)
        } else {
            Err(self.surplus(&name).into())
        }
    }

    fn surplus(&self, name: &str) -> Diagnostic {
        let names = self.signature.names();
        let fault = Diagnostic::error(SURPLUS, format!("the program takes no argument `{name}`"));
        match did_you_mean(name, names.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if names.is_empty() => fault.help("leave it out: the program takes no arguments"),
            None => fault.help(format!("it takes `{}`", names.join("`, `"))),
        }
    }

    fn tensor(&mut self, t: usize, object: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        let fact = &self.signature.tensors[t];
        let name = &fact.given;
        if fact.role == Role::Temporary {
            let message = format!("`{name}` is a temporary, which the program makes itself");
            let fault = Diagnostic::error(SURPLUS, message);
            return Err(fault.help("leave it out, or declare it as a `Tensor`").into());
        }
        let array = PyArray::of(name, object)?;
        if array.dtype != fact.dtype {
            return Err(wrong_type(fact, array.dtype, object).into());
        }
        if array.dims().len() != fact.dims.len() {
            let extents = self.signature.extents(fact);
            let fault = self.wrong_shape(fact, &array);
            return Err(fault.help(format!("give it the shape {extents}")).into());
        }
        if fact.written {
            writable(name, &array)?;
        }
        self.arrays[t] = Some(array);
        Ok(())
    }

    fn table(&mut self, t: usize, object: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        let fact = &self.signature.tables[t];
        let values = self.integers(&fact.given, object)?;
        self.args.arrays.insert(fact.name.clone(), of_integers(&fact.given, &values)?);
        Ok(())
    }

    /// The elements of a list of integers, which no run writes meanwhile.
    fn integers(&self, name: &str, object: &Bound<'_, PyAny>) -> Result<Vec<i64>, Refusal> {
        let place = if is_list(object) { None } else { place_of(name, object)? };
        let _claim = reading(place.map(|place| (name, place)))?;
        integers(name, object)
    }

    fn size(&mut self, p: usize, object: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        let fact = &self.signature.params[p];
        if fact.derived {
            let message = format!("`{}` follows from other sizes and cannot be given", fact.given);
            return Err(Diagnostic::error(SURPLUS, message).help("leave it out").into());
        }
        let size: i64 = object.extract().map_err(|error: PyErr| {
            let message = format!("size `{}` is no integer of 64 bits with sign", fact.given);
            let fault = Diagnostic::error(BAD_SIZE, message).note(error.to_string()).help(format!(
                "give an integer: `{}=128`; the value given is of type `{}`",
                fact.given,
                type_name(object)
            ));
            Refusal::caused(object.py(), fault, error)
        })?;
        self.sizes[p] = Some(size);
        Ok(())
    }

    fn check_missing(&mut self) {
        let need = self.need;
        // What was given and refused is not missing.
        if !self.faults.is_empty() || !self.refused.is_empty() {
            return;
        }
        let signature = self.signature;
        let missing = |what: &str, name: &str, write: String| {
            Diagnostic::error(MISSING, format!("no {what} is given for `{name}`")).help(write)
        };
        if need == Need::Everything {
            for (fact, _) in signature
                .tensors
                .iter()
                .zip(&self.arrays)
                .filter(|(f, a)| f.role == Role::Argument && a.is_none())
            {
                let write =
                    format!("give it by name: `{}=…`, {}{}", fact.given, fact.dtype, signature.extents(fact));
                self.faults.push(missing("array", &fact.given, write));
            }
            let args = &self.args;
            let copied = |name: &String| self.copied.iter().any(|copied| copied.name == *name);
            let given = |name: &String| {
                args.arrays.contains_key(name) || args.views.contains_key(name) || copied(name)
            };
            for array in signature.library.arrays.iter().filter(|a| a.written && !given(&a.name)) {
                let (name, what) = (&array.name, &array.what);
                let missing = || {
                    let write = format!("give it by name, for kernels to write: `{name}=…`, {what}");
                    missing("array", name, write)
                };
                self.faults.push(match (self.declined.contains(name), array.read) {
                    (true, false) => continue,
                    (true, true) => {
                        let message = format!("`{name}` is `None`, and kernels read it as well as write it");
                        Diagnostic::error(MISSING, message).help(format!(
                            "give what it begins with: `{name}=…`, {what}; only what is never read may be left out"
                        ))
                    }
                    (false, true) => missing(),
                    (false, false) => {
                        missing().help(format!("to leave out what they write to it, say `{name}=None`"))
                    }
                });
            }
        }
        for fact in &signature.tables {
            if !fact.inline && !self.args.arrays.contains_key(&fact.name) {
                let write = format!("give a list of integers by name: `{}=[…]`", fact.given);
                self.faults.push(missing("table", &fact.given, write));
            }
        }
        for (p, fact) in signature.params.iter().enumerate() {
            if !fact.derived && !fact.default && self.sizes[p].is_none() {
                let tensor = signature.tensors.iter().find(|t| {
                    t.role == Role::Argument
                        && t.dims.iter().any(|d| matches!(d.kind, IntExprKind::Param(id) if id.index() == p))
                });
                let write = match tensor {
                    Some(tensor) if need == Need::Sizes => {
                        format!(
                            "give it by name, `{}=…`, or the array `{}`, whose shape tells",
                            fact.given, tensor.given
                        )
                    }
                    _ => format!("give it by name: `{}=…`", fact.given),
                };
                self.faults.push(missing("size", &fact.given, write));
            }
        }
    }

    fn finish(mut self) -> Result<Arguments, Refusal> {
        for (fact, array) in self.signature.tensors.iter().zip(&self.arrays) {
            let Some(array) = array else { continue };
            match array.view(&fact.given) {
                Ok(view) => {
                    let (name, written) = (fact.given.clone(), fact.written);
                    self.uses.push(Use { name, view: view.clone(), written });
                    self.args.views.insert(fact.name.clone(), view);
                }
                Err(fault) => self.faults.push(fault),
            }
        }
        self.check_copied();
        self.refused.add(self.faults);
        if !self.refused.is_empty() {
            return Err(self.refused);
        }
        let set = self.signature.params.iter().zip(&self.sizes);
        let set =
            set.filter_map(|(fact, size)| Some((fact.name.clone(), ParamValue::Int(i128::from((*size)?)))));
        self.args.values.extend(set);
        let Binder { args, copied, shapes, uses, .. } = self;
        Ok(Arguments { args, copied, shapes, uses, claim: None })
    }
}

/// A claim to read arrays, by name, for as long as it takes.
///
/// # Errors
/// A run that goes on writes one of them.
pub(crate) fn reading<'a>(places: impl IntoIterator<Item = (&'a str, View)>) -> Result<Claim, Diagnostic> {
    let uses = places.into_iter().map(|(name, view)| Use { name: name.to_owned(), view, written: false });
    Claim::of(&uses.collect()).map_err(|conflict| in_use(&conflict))
}

/// Refuses an array for tasks to write that may only be read.
fn writable(name: &str, array: &PyArray) -> Result<(), Diagnostic> {
    if array.writable() {
        return Ok(());
    }
    let message = format!("array `{name}` is read-only, and tasks write to it");
    Err(Diagnostic::error(READ_ONLY, message)
        .help(format!("give an array of your own: `{name} = np.array({name})`")))
}

fn wrong_type(fact: &TensorFact, have: DType, given: &Bound<'_, PyAny>) -> Diagnostic {
    let (name, want) = (&fact.given, fact.dtype);
    let message = format!("array `{name}` has elements of type {have}, and its tensor {want}");
    let numpy = match want {
        DType::F16 => "np.float16",
        DType::F32 => "np.float32",
        DType::F64 => "np.float64",
        DType::Bf16 => "ml_dtypes.bfloat16",
        DType::F8E4m3 => "ml_dtypes.float8_e4m3fn",
        DType::F8E5m2 => "ml_dtypes.float8_e5m2",
        DType::I8 => "np.int8",
        DType::I16 => "np.int16",
        DType::Bool => "np.bool_",
        DType::U8 => "np.uint8",
        DType::U16 => "np.uint16",
        DType::I32 => "np.int32",
        DType::U32 => "np.uint32",
        DType::I64 => "np.int64",
        DType::U64 => "np.uint64",
    };
    let has = |method: &str| given.hasattr(method).unwrap_or(false);
    let converted = if has("astype") {
        format!("{name}.astype({numpy})")
    } else if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
        // Bytes are no numbers: they hold those of the tensor.
        format!("np.frombuffer({name}, {numpy}).copy()")
    } else if has("__dlpack__") {
        format!("np.from_dlpack({name}).astype({numpy})")
    } else {
        format!("np.asarray({name}).astype({numpy})")
    };
    Diagnostic::error(WRONG_TYPE, message)
        .help(format!("convert it, `{name} = {converted}`, or declare the tensor with {have}"))
}
