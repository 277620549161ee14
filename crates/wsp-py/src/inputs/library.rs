//! Arrays and parameters of a used `.pto` file.

use super::{BAD_SIZE, Binder, Need};
use crate::arrays::{PyArray, type_name};
use crate::claims::Use;
use crate::integers::{is_list, of_integers};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use wsp_core::DType;
use wsp_ir::diag::Diagnostic;
use wsp_plan::ParamValue;

impl Binder<'_> {
    pub(super) fn library_array(&mut self, name: &str, object: &Bound<'_, PyAny>) -> Result<(), Diagnostic> {
        if self.need == Need::Shapes
            && let Ok((dtype, dims)) = object.extract::<(String, Vec<u64>)>()
            && let Some(dtype) = DType::ALL.into_iter().find(|known| known.name() == dtype)
        {
            self.shapes.push((name.to_owned(), dtype, dims));
            return Ok(());
        }
        if is_list(object) {
            let listed = self.integers(name, object)?;
            self.inputs.arrays.insert(name.to_owned(), of_integers(name, &listed)?);
            return Ok(());
        }
        let array = PyArray::of(name, object)?;
        if self.need == Need::Shapes && array.dtype.is_float() {
            let dims = array.dims().iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
            self.shapes.push((name.to_owned(), array.dtype, dims));
            return Ok(());
        }
        if let Ok(view) = array.view(name) {
            self.uses.push(Use { name: name.to_owned(), view, written: false });
        }
        let given = match array.in_place() {
            Some(given) => given,
            None => {
                self.moved.push(name.to_owned());
                array.to_array(name)?
            }
        };
        self.inputs.arrays.insert(name.to_owned(), given);
        if array.writable() {
            self.copied.push((name.to_owned(), array));
        }
        Ok(())
    }

    pub(super) fn library_param(&mut self, name: &str, object: &Bound<'_, PyAny>) -> Result<(), Diagnostic> {
        let value = if let Ok(value) = object.cast::<PyBool>() {
            ParamValue::Bool(value.is_true())
        } else if let Ok(value) = object.extract::<i64>() {
            ParamValue::Int(value.into())
        } else if let Ok(value) = object.extract::<f64>() {
            ParamValue::Float(value)
        } else {
            let message = format!("parameter `{name}` is given a value of type `{}`", type_name(object));
            return Err(Diagnostic::error(BAD_SIZE, message).help("give an integer, a float or a bool"));
        };
        self.inputs.set.push((name.to_owned(), value));
        Ok(())
    }
}
