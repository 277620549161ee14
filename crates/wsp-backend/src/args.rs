//! What a run is given.

use crate::codes::WRONG_ARGUMENT;
use crate::error::RunError;
use std::collections::BTreeMap;
use wsp_diag::Diagnostic;
use wsp_memory::View;
use wsp_plan::{Array, Arrays, ParamValue};

/// An argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// An array that is given by value: where tasks write it, they write a copy, which is among the outputs.
    Array(Array),
    /// An array of the caller, which tasks read and write where it lies. It is not among the outputs.
    View(View),
    /// The value of a parameter, a size or a scalar.
    Value(ParamValue),
}

/// The arguments of a run, by name.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// Arrays by value.
    pub arrays: Arrays,
    /// Arrays of the caller.
    pub views: BTreeMap<String, View>,
    /// Values, in the order given.
    pub values: Vec<(String, ParamValue)>,
}

impl Args {
    /// No arguments.
    pub fn new() -> Args {
        Args::default()
    }

    /// These and one more, in place of that of this name: of the array or view where it is one of these, else of the value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, arg: impl Into<Arg>) -> Args {
        let name = name.into();
        let arg = arg.into();
        match &arg {
            Arg::Array(_) | Arg::View(_) => self.remove(&name),
            Arg::Value(_) => self.values.retain(|(other, _)| *other != name),
        }
        match arg {
            Arg::Array(array) => {
                self.arrays.insert(name, array);
            }
            Arg::View(view) => {
                self.views.insert(name, view);
            }
            Arg::Value(value) => self.values.push((name, value)),
        }
        self
    }

    /// Takes arguments of others in place of those of the same names.
    pub fn replace(&mut self, others: Args) {
        for name in others.arrays.keys().chain(others.views.keys()) {
            self.remove(name);
        }
        self.values.retain(|(name, _)| others.values.iter().all(|(other, _)| other != name));
        self.arrays.extend(others.arrays);
        self.views.extend(others.views);
        self.values.extend(others.values);
    }

    /// Takes an array or view away.
    fn remove(&mut self, name: &str) {
        self.arrays.remove(name);
        self.views.remove(name);
    }

    /// The values as integers of 64 bits.
    ///
    /// # Errors
    /// One is none.
    pub fn integers(&self) -> Result<Vec<(String, i64)>, RunError> {
        let integer = |(name, value): &(String, ParamValue)| match *value {
            ParamValue::Int(value) => i64::try_from(value).ok().map(|value| (name.clone(), value)),
            ParamValue::Float(_) | ParamValue::Bool(_) => None,
        };
        let refused = |(name, value): &(String, ParamValue)| {
            let message = format!("`{name}` is {value:?}, and a scalar of a task graph is an integer");
            Diagnostic::error(WRONG_ARGUMENT, message).help(format!(
                "give an integer from {} to {}",
                i64::MIN,
                i64::MAX
            ))
        };
        let wrong: Vec<Diagnostic> =
            self.values.iter().filter(|value| integer(value).is_none()).map(refused).collect();
        if wrong.is_empty() {
            Ok(self.values.iter().filter_map(integer).collect())
        } else {
            Err(RunError::Refused(wrong.into()))
        }
    }
}

impl From<Arrays> for Args {
    fn from(arrays: Arrays) -> Args {
        Args { arrays, ..Args::default() }
    }
}

impl From<Array> for Arg {
    fn from(array: Array) -> Arg {
        Arg::Array(array)
    }
}

impl From<View> for Arg {
    fn from(view: View) -> Arg {
        Arg::View(view)
    }
}

impl From<ParamValue> for Arg {
    fn from(value: ParamValue) -> Arg {
        Arg::Value(value)
    }
}

impl From<i64> for Arg {
    fn from(value: i64) -> Arg {
        Arg::Value(ParamValue::Int(value.into()))
    }
}

impl From<f64> for Arg {
    fn from(value: f64) -> Arg {
        Arg::Value(ParamValue::Float(value))
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        Arg::Value(ParamValue::Bool(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;
    use wsp_memory::Buffer;

    #[test]
    fn the_last_argument_of_a_name_counts() {
        let array = Array::zeros(DType::F32, &[4]).expect("it is small");
        let buffer = Buffer::zeros(16, 64).expect("it is small");
        let view = View::dense(buffer, DType::F32, &[4]).expect("it fits");
        let mut args = Args::new().with("x", array.clone()).with("x", view).with("n", 3).with("n", 4);
        assert_eq!((args.arrays.len(), args.views.len()), (0, 1));
        assert_eq!(args.values, [("n".to_owned(), ParamValue::Int(4))]);
        args.replace(Args::new().with("x", array).with("n", 5));
        assert_eq!((args.arrays.len(), args.views.len()), (1, 0));
        assert_eq!(args.values, [("n".to_owned(), ParamValue::Int(5))]);
    }

    #[test]
    fn a_scalar_is_an_integer_of_64_bits() {
        let args = Args::new().with("n", 3).with("x", 0.5).with("m", ParamValue::Int(1 << 70));
        let refused = args.integers().expect_err("two of them are none");
        assert_eq!(refused.diagnostics().len(), 2);
        assert_eq!(Args::new().with("n", -3).integers(), Ok(vec![("n".to_owned(), -3)]));
    }
}
