//! The tensors of a run of a unit: read from files, or made up.

use crate::args::DataArgs;
use crate::commands::given::{Makeable, Want};
use crate::files::take_bits_as_floats;
use crate::report::Sources;
use crate::unit::UnitTensor;
use pto_wsp::codes;
use std::collections::BTreeMap;
use wsp_check::generate::{Scale, make_tensor};
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// Where a tensor comes from that the user gives.
pub(super) const READ: &str = "read from a file";

/// Tensors of a run by name.
#[derive(Debug, Default)]
pub(super) struct UnitData {
    /// All of them; also outputs whose size only kernels know.
    pub(super) arrays: Arrays,
    /// Where each comes from, such as `made up from seed 1`.
    pub(super) origins: BTreeMap<String, String>,
    /// Which were given, and which made up.
    pub(super) sources: Sources,
}

/// Reads or makes up the tensors; of `normalised` ones rows are of different sizes.
///
/// # Errors
/// For each that cannot be read, does not fit or cannot be made up.
pub(super) fn load(
    tensors: &[UnitTensor],
    normalised: &[String],
    args: &DataArgs,
) -> Result<UnitData, Vec<Diagnostic>> {
    let used = tensors.iter().filter(|tensor| tensor.is_used);
    let wants = used.map(|tensor| Want { name: tensor.name.clone(), needed: tensor.is_read, stated: false });
    let fill = |_: &Arrays, name: &str| {
        tensors.iter().find(|tensor| tensor.name == name).is_some_and(|tensor| known(tensor).is_ok())
    };
    args.check_generate(tensors.iter().any(|tensor| tensor.is_read), "the unit")?;
    let makeable = Makeable { fill: &fill, generate: true, all: false };
    let mut arrays = args.read(&wants.collect::<Vec<_>>(), makeable, "the unit")?;
    let mut data = UnitData::default();
    let bf16 = tensors.iter().filter(|t| t.dtype == Some(DType::Bf16)).map(|t| t.name.as_str());
    take_bits_as_floats(&mut arrays, bf16);
    data.sources.given = arrays.iter().map(|(name, array)| format!("{name} {array:?}")).collect();
    data.sources.seed = args.seed();
    let mut faults = Vec::new();
    for tensor in tensors {
        let (array, origin) = match arrays.remove(&tensor.name) {
            Some(array) => (fitted(tensor, array), READ.to_owned()),
            None if args.making().makes(&tensor.name, tensor.is_read) => {
                data.sources.made.push(tensor.name.clone());
                (random(tensor, normalised, args.seed()), format!("made up from seed {}", args.seed()))
            }
            None => (zeros(tensor), "zeros".to_owned()),
        };
        data.origins.insert(tensor.name.clone(), origin);
        match array {
            Ok(array) => {
                data.arrays.insert(tensor.name.clone(), array);
            }
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    args.check_seed(&data.sources.made)?;
    Ok(data)
}

/// An array, if it has the type and the shape of its tensor.
fn fitted(tensor: &UnitTensor, array: Array) -> Result<Array, Diagnostic> {
    let is_of = |shape: &Vec<u64>| shape.as_slice() == array.shape();
    if tensor.dtype.is_none_or(|dtype| dtype == array.dtype()) && tensor.shape.as_ref().is_none_or(is_of) {
        return Ok(array);
    }
    let name = &tensor.name;
    let shape = tensor.shape.as_ref().map_or(String::new(), |shape| format!("{shape:?}"));
    let dtype = tensor.dtype.map_or("any type", DType::name);
    Err(Diagnostic::error(codes::WRONG_ARRAY, format!("the array for `{name}` does not fit it"))
        .note(format!("the tensor is {dtype}{shape}, the array is {array:?}"))
        .help(format!("give `--input {name}=FILE.npy` another file, or change the declaration of `{name}`")))
}

/// Type and shape of a tensor that is not given.
fn known(tensor: &UnitTensor) -> Result<(DType, &[u64]), Diagnostic> {
    let name = &tensor.name;
    if let (Some(dtype), Some(shape)) = (tensor.dtype, &tensor.shape) {
        return Ok((dtype, shape));
    }
    Err(Diagnostic::error(codes::CANNOT_MAKE_TENSOR, format!("the size of `{name}` is not known"))
        .note("neither its declaration nor a kernel says it")
        .help(format!("declare it: `extern {name}: f16[4096, 128]`"))
        .help(format!("or give it: `--input {name}=FILE.npy`")))
}

/// A tensor of random numbers.
fn random(tensor: &UnitTensor, normalised: &[String], seed: u64) -> Result<Array, Diagnostic> {
    let (dtype, shape) = known(tensor)?;
    let scale = match tensor.is_resident {
        true => Scale::Weights,
        false if normalised.contains(&tensor.name) => Scale::Uneven,
        false => Scale::Unit,
    };
    make_tensor(&tensor.name, dtype, shape, scale, seed)
}

/// A tensor that is only written.
fn zeros(tensor: &UnitTensor) -> Result<Array, Diagnostic> {
    let (name, (dtype, shape)) = (&tensor.name, known(tensor)?);
    Array::zeros(dtype, shape).map_err(|fault| {
        Diagnostic::error(codes::CANNOT_MAKE_TENSOR, format!("there is no memory for `{name}`"))
            .note(format!("{dtype}{shape:?}: {fault}"))
            .help("declare a smaller tensor")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dtype: Option<DType>, shape: Option<&[u64]>, is_read: bool) -> UnitTensor {
        let shape = shape.map(<[u64]>::to_vec);
        let name = "X".to_owned();
        UnitTensor { name, dtype, shape, is_read, is_written: true, is_used: true, is_resident: false }
    }

    #[test]
    fn an_array_has_the_type_and_the_shape_of_its_tensor() {
        let zeros = |dtype, shape: &[u64]| Array::zeros(dtype, shape).unwrap();
        let declared = tensor(Some(DType::F32), Some(&[2, 3]), true);
        assert!(fitted(&declared, zeros(DType::F32, &[2, 3])).is_ok());
        let other_shapes = [&[6][..], &[3, 2], &[1, 2, 3], &[5]];
        let others = other_shapes.into_iter().map(|shape| zeros(DType::F32, shape));
        for wrong in others.chain([zeros(DType::F64, &[2, 3])]) {
            let fault = fitted(&declared, wrong).unwrap_err();
            assert!(fault.notes[0].contains("f32[2, 3]"), "{fault:?}");
        }
        assert!(fitted(&tensor(None, None, true), zeros(DType::U8, &[7])).is_ok());
    }

    #[test]
    fn what_is_only_written_begins_as_zeros() {
        let zeros = zeros(&tensor(Some(DType::F32), Some(&[4]), false)).unwrap();
        assert!(zeros.bytes().iter().all(|&b| b == 0));
        let numbers = random(&tensor(Some(DType::F32), Some(&[4]), true), &[], 1).unwrap();
        assert!(numbers.bytes().iter().any(|&b| b != 0));
        let fault = random(&tensor(Some(DType::F32), None, true), &[], 1).unwrap_err();
        assert!(fault.help[1].contains("--input X=FILE.npy"), "{fault:?}");
    }
}
