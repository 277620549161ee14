//! Arrays and parameters of a used `.pto` file.

use super::{BAD_SIZE, Binder, Need, writable};
use crate::arrays::{PyArray, UNSUPPORTED, type_name};
use crate::errors::IN_USE;
use crate::integers::{is_list, of_integers};
use crate::signature::LibraryArray;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use wsp_core::DType;
use wsp_ir::diag::{Code, Diagnostic};
use wsp_memory::Use;
use wsp_plan::ParamValue;

const SHARED: Code = Code(871);

impl Binder<'_> {
    pub(super) fn library_array(
        &mut self,
        fact: &LibraryArray,
        object: &Bound<'_, PyAny>,
    ) -> Result<(), Diagnostic> {
        let name = &fact.name;
        if self.need == Need::Shapes
            && let Ok((dtype, dims)) = object.extract::<(String, Vec<u64>)>()
            && let Some(dtype) = DType::ALL.into_iter().find(|known| known.name() == dtype)
        {
            self.shapes.push((name.clone(), dtype, dims));
            return Ok(());
        }
        if is_list(object) && !fact.written {
            return self.library_integers(name, object);
        }
        let array = match PyArray::of(name, object) {
            // Integers of 8 and 16 bits and truth values: tables are made of them, and tensors are not.
            Err(fault) if fault.code == UNSUPPORTED && !fact.written => {
                return self.library_integers(name, object).map_err(|_| fault);
            }
            array => array?,
        };
        if self.need == Need::Shapes && array.dtype.is_float() {
            let dims = array.dims().iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
            self.shapes.push((name.clone(), array.dtype, dims));
            return Ok(());
        }
        let written = fact.written && self.need == Need::Everything;
        let plain = array.is_plain().then(|| array.view(name)).transpose()?;
        let view = match &plain {
            Some(view) => view.clone(),
            None => array.place(name)?,
        };
        if written {
            writable(name, &array)?;
            if view.shares_with_itself() {
                let message = format!("elements of array `{name}` share memory, and tasks write it");
                return Err(Diagnostic::error(SHARED, message).help("give an array of its own elements"));
            }
        }
        self.uses.push(Use { name: name.clone(), view, written });
        if let Some(view) = plain {
            self.inputs.views.insert(name.clone(), view);
            return Ok(());
        }
        self.moved.push(name.clone());
        self.inputs.arrays.insert(name.clone(), array.to_array(name)?);
        if written {
            self.copied.push((name.clone(), array));
        }
        Ok(())
    }

    /// A list of integers of which the program gets a copy.
    fn library_integers(&mut self, name: &str, object: &Bound<'_, PyAny>) -> Result<(), Diagnostic> {
        let listed = self.integers(name, object)?;
        self.inputs.arrays.insert(name.to_owned(), of_integers(name, &listed)?);
        Ok(())
    }

    /// Refuses arrays that share memory and that are both written, one of them in a copy. Of those that are written where they lie, the
    /// launch says it.
    pub(super) fn check_copied(&mut self) {
        let copied = |of: &Use| self.copied.iter().any(|(name, _)| *name == of.name);
        let written: Vec<&Use> = self.uses.iter().filter(|each| each.written).collect();
        for (at, one) in written.iter().enumerate() {
            let shares =
                |other: &&&Use| (copied(one) || copied(other)) && one.view.may_share_memory(&other.view);
            if let Some(other) = written[at + 1..].iter().find(shares) {
                let message =
                    format!("arrays `{}` and `{}` share memory, and both are written", one.name, other.name);
                self.faults.push(Diagnostic::error(IN_USE, message).help("give each an array of its own"));
            }
        }
    }

    pub(super) fn library_param(&mut self, name: &str, object: &Bound<'_, PyAny>) -> Result<(), Diagnostic> {
        self.inputs.set.push((name.to_owned(), param_value(name, object)?));
        Ok(())
    }
}

/// The value of a parameter of a `.pto` file.
///
/// # Errors
/// No integer, no float and no truth value.
pub(crate) fn param_value(name: &str, object: &Bound<'_, PyAny>) -> Result<ParamValue, Diagnostic> {
    if let Ok(value) = object.cast::<PyBool>() {
        Ok(ParamValue::Bool(value.is_true()))
    } else if let Ok(value) = object.extract::<i128>() {
        Ok(ParamValue::Int(value))
    } else if let Ok(value) = object.extract::<f64>() {
        Ok(ParamValue::Float(value))
    } else {
        let message = format!("parameter `{name}` is given a value of type `{}`", type_name(object));
        Err(Diagnostic::error(BAD_SIZE, message).help("give an integer, a float or a bool"))
    }
}
