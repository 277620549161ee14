//! What a run is given.

use crate::codes::WRONG_ARGUMENT;
use crate::error::RunError;
use std::collections::BTreeMap;
use wsp_diag::Diagnostic;
use wsp_memory::View;
use wsp_plan::{Array, Arrays, Element, ParamValue};

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

/// One dimension, with as many elements as the vector has.
impl<T: Element> From<Vec<T>> for Arg {
    fn from(elements: Vec<T>) -> Arg {
        Arg::from(elements.as_slice())
    }
}

/// One dimension, with as many elements as the slice has.
impl<T: Element> From<&[T]> for Arg {
    fn from(elements: &[T]) -> Arg {
        let array = Array::of(&[elements.len() as u64], elements);
        Arg::Array(array.expect("memory for a copy should be there, as for a vector's"))
    }
}

/// One dimension, with as many elements as the array has.
impl<T: Element, const N: usize> From<[T; N]> for Arg {
    fn from(elements: [T; N]) -> Arg {
        Arg::from(elements.as_slice())
    }
}

/// The extents of the array, and its elements in row-major order, whatever their strides are.
#[cfg(feature = "ndarray")]
impl<T: Element, D: ndarray::Dimension> From<ndarray::ArrayView<'_, T, D>> for Arg {
    fn from(view: ndarray::ArrayView<'_, T, D>) -> Arg {
        let shape: Vec<u64> = view.shape().iter().map(|&extent| extent as u64).collect();
        let elements = view.as_standard_layout();
        let elements = elements.as_slice().expect("the standard layout should have no gaps");
        let array = Array::of(&shape, elements);
        Arg::Array(array.expect("memory for a copy should be there, as for a vector's"))
    }
}

/// As of a view of it.
#[cfg(feature = "ndarray")]
impl<T: Element, D: ndarray::Dimension> From<ndarray::Array<T, D>> for Arg {
    fn from(array: ndarray::Array<T, D>) -> Arg {
        Arg::from(array.view())
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
    fn vectors_and_slices_are_arrays_of_one_dimension() {
        let args = Args::new()
            .with("a", vec![1.5f32, 2.5])
            .with("b", &[3i64, 4, 5][..])
            .with("c", [half::f16::from_f32(0.5)])
            .with("d", vec![half::bf16::from_f32(-2.0); 4])
            .with("e", Vec::<u8>::new());
        let of = |name: &str| (args.arrays[name].dtype(), args.arrays[name].shape().to_vec());
        let all = ["a", "b", "c", "d", "e"].map(of);
        let dims = [(DType::F32, 2), (DType::I64, 3), (DType::F16, 1), (DType::Bf16, 4), (DType::U8, 0)];
        assert_eq!(all, dims.map(|(dtype, extent)| (dtype, vec![extent])));
        assert_eq!(args.arrays["b"].as_slice::<i64>(), Some(&[3, 4, 5][..]));
        assert_eq!(args.arrays["c"].bytes(), 0x3800u16.to_le_bytes());
        assert_eq!(args.arrays["d"].as_slice::<u16>(), Some(&[0xc000; 4][..]));
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_of_ndarray_keep_their_extents_and_come_in_row_major_order() {
        let array = ndarray::arr2(&[[1i32, 2, 3], [4, 5, 6]]);
        let args = Args::new()
            .with("columns", array.t())
            .with("point", ndarray::arr0(7f64).into_dyn())
            .with("parts", array.slice_axis(ndarray::Axis(1), ndarray::Slice::new(0, None, 2)))
            .with("whole", array);
        let of = |name: &str| {
            let array = &args.arrays[name];
            (array.shape().to_vec(), array.as_slice::<i32>().map(<[i32]>::to_vec))
        };
        assert_eq!(of("whole"), (vec![2, 3], Some(vec![1, 2, 3, 4, 5, 6])));
        assert_eq!(of("columns"), (vec![3, 2], Some(vec![1, 4, 2, 5, 3, 6])));
        assert_eq!(of("parts"), (vec![2, 2], Some(vec![1, 3, 4, 6])));
        assert_eq!((of("point").0, args.arrays["point"].as_slice::<f64>()), (vec![], Some(&[7.0][..])));
    }

    #[test]
    fn a_scalar_is_an_integer_of_64_bits() {
        let args = Args::new().with("n", 3).with("x", 0.5).with("m", ParamValue::Int(1 << 70));
        let refused = args.integers().expect_err("two of them are none");
        assert_eq!(refused.diagnostics().len(), 2);
        assert_eq!(Args::new().with("n", -3).integers(), Ok(vec![("n".to_owned(), -3)]));
    }
}
