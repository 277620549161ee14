//! Arrays and parameters of a used `.pto` file.

use super::{BAD_SIZE, Binder, Need, writable};
use crate::arrays::{PyArray, type_name};
use crate::integers::{is_list, of_integers};
use crate::refusal::{Refusal, attempted};
use crate::signature::{LibraryArray, Signature, Taken};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use wsp_backend::claims::shared_memory;
use wsp_core::DType;
use wsp_diag::{Code, Diagnostic};
use wsp_memory::{Use, View};
use wsp_plan::ParamValue;
use wsp_trace::python::arrays::LAYOUT;

const SHARED: Code = Code(871);

/// An array of a used file that is read in a copy.
pub(crate) struct Copied {
    /// Its name.
    pub(crate) name: String,
    pub(super) array: PyArray,
    /// Where its elements lie.
    pub(super) place: View,
    /// Whether kernels write it: then it takes what they wrote.
    pub(super) written: bool,
}

impl Copied {
    /// Refuses an array of which a bound program would have to make a copy at each run: integers are looked at before tasks run, and what
    /// has no elements needs no place.
    ///
    /// # Errors
    /// Such an array.
    pub(crate) fn refuse_where_bound(&self) -> Result<(), Diagnostic> {
        let is_empty = self.array.dims().contains(&0);
        if is_empty || !(self.written || self.array.dtype.is_float()) {
            return Ok(());
        }
        let name = &self.name;
        let message = format!("a bound program uses array `{name}` where it lies");
        Err(Diagnostic::error(LAYOUT, message)
            .note("its elements are no real numbers in row-major order without gaps")
            .help(format!("copy it first, `{name} = np.ascontiguousarray({name})`, or give it to `execute`")))
    }
}

/// The arrays of a call that take the place of others of the same names, where all of them are used where they lie; none where one is not.
///
/// # Errors
/// No array, or one that cannot be used.
pub(crate) fn exchanged(
    signature: &Signature,
    named: &Bound<'_, PyDict>,
) -> Result<Option<Vec<Use>>, Refusal> {
    let mut uses = Vec::new();
    for (key, value) in named {
        let fact = key.extract::<String>().ok().and_then(|name| signature.library.array(&name));
        let Some(fact) = fact.filter(|fact| fact.is_float && !value.is_none()) else { return Ok(None) };
        let array = PyArray::of(&fact.name, &value)?;
        if !array.is_plain() {
            return Ok(None);
        }
        if fact.written {
            writable(&fact.name, &array)?;
        }
        let view = array.view(&fact.name)?;
        uses.push(Use { name: fact.name.clone(), view, written: fact.written });
    }
    Ok(Some(uses))
}

impl Binder<'_> {
    pub(super) fn library_array(
        &mut self,
        fact: &LibraryArray,
        object: &Bound<'_, PyAny>,
    ) -> Result<(), Refusal> {
        let name = &fact.name;
        if self.need == Need::Shapes
            && let Ok((dtype, dims)) = object.extract::<(String, Vec<u64>)>()
            && let Some(dtype) = DType::ALL.into_iter().find(|known| known.name() == dtype)
        {
            self.shapes.push((name.clone(), dtype, dims));
            return Ok(());
        }
        if is_list(object) && !fact.written && !fact.is_float {
            return self.library_integers(name, object);
        }
        let array = PyArray::of(name, object)?;
        if self.need == Need::Shapes && array.dtype.is_float() {
            let dims = array.dims().iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
            self.shapes.push((name.clone(), array.dtype, dims));
            return Ok(());
        }
        let written = fact.written && self.need == Need::Everything;
        let in_place = self.signature.library.taken == Taken::InPlace && array.is_plain();
        let plain = in_place.then(|| array.view(name)).transpose()?;
        let view = match &plain {
            Some(view) => view.clone(),
            None => array.place(name)?,
        };
        if written {
            writable(name, &array)?;
            if view.shares_with_itself() {
                let message = format!("elements of array `{name}` share memory, and tasks write it");
                let fault = Diagnostic::error(SHARED, message);
                return Err(fault.help("give an array of its own elements").into());
            }
        }
        self.uses.push(Use { name: name.clone(), view: view.clone(), written });
        match plain {
            Some(view) => drop(self.args.views.insert(name.clone(), view)),
            None => self.copied.push(Copied { name: name.clone(), array, place: view, written }),
        }
        Ok(())
    }

    /// A list of integers of which the program gets a copy.
    fn library_integers(&mut self, name: &str, object: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        let listed = self.integers(name, object)?;
        self.args.arrays.insert(name.to_owned(), of_integers(name, &listed)?);
        Ok(())
    }

    /// Refuses arrays that share memory which kernels write, where one of them is read in a copy. Of those that are used where they lie,
    /// the launch says it.
    pub(super) fn check_copied(&mut self) {
        let copied = |of: &Use| self.copied.iter().any(|copied| copied.name == of.name);
        for (at, one) in self.uses.iter().enumerate() {
            let others = self.uses[at + 1..].iter().filter(|other| copied(one) || copied(other));
            self.faults.extend(others.filter_map(|other| shared_memory(one, other)));
        }
    }

    pub(super) fn library_param(&mut self, name: &str, object: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        self.args.values.push((name.to_owned(), param_value(name, object)?));
        Ok(())
    }
}

/// The value of a parameter of a `.pto` file.
///
/// # Errors
/// No integer, no float and no truth value.
pub(crate) fn param_value(name: &str, object: &Bound<'_, PyAny>) -> Result<ParamValue, Refusal> {
    if let Ok(value) = object.cast::<PyBool>() {
        Ok(ParamValue::Bool(value.is_true()))
    } else if let Some(value) = attempted(object.py(), object.extract::<i128>())? {
        Ok(ParamValue::Int(value))
    } else if let Some(value) = attempted(object.py(), object.extract::<f64>())? {
        Ok(ParamValue::Float(value))
    } else {
        let message = format!("parameter `{name}` is given a value of type `{}`", type_name(object));
        Err(Diagnostic::error(BAD_SIZE, message).help("give an integer, a float or a bool").into())
    }
}
