//! Integer arrays as `u32`, whatever integer type they were saved with.

use pto_wsp::codes;
use wsp_diag::Diagnostic;
use wsp_plan::Array;

/// The elements of an integer array.
///
/// # Errors
/// When they are not integers, or one is negative or above `u32::MAX`; the diagnostic says which.
pub fn to_u32(name: &str, array: &Array) -> Result<Vec<u32>, Diagnostic> {
    let integers = array.integers().ok_or_else(|| {
        let message = format!("array `{name}` holds {}, not integers", array.dtype());
        Diagnostic::error(codes::NOT_INTEGERS, message)
            .help(format!("save `{name}` as uint32, int32 or int64"))
    })?;
    integers.map_err(|(i, v)| {
        Diagnostic::error(codes::BAD_INTEGER, format!("`{name}[{i}]` is {v}"))
            .note(format!("lengths, page ids and row pointers lie in 0..={}", u32::MAX))
            .help(format!("correct element {i} of `{name}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;

    fn array<T: Copy>(dtype: DType, values: &[T], bytes: impl Fn(T) -> Vec<u8>) -> Array {
        let mut array = Array::zeros(dtype, &[values.len() as u64]).unwrap();
        let all: Vec<u8> = values.iter().flat_map(|&v| bytes(v)).collect();
        array.bytes_mut().copy_from_slice(&all);
        array
    }

    #[test]
    fn every_integer_type_is_taken() {
        let a = array(DType::I64, &[0i64, 7], |v| v.to_le_bytes().to_vec());
        assert_eq!(to_u32("x", &a).unwrap(), [0, 7]);
        let a = array(DType::U16, &[9u16], |v| v.to_le_bytes().to_vec());
        assert_eq!(to_u32("x", &a).unwrap(), [9]);
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_position() {
        let a = array(DType::I32, &[3i32, -1], |v| v.to_le_bytes().to_vec());
        let fault = to_u32("kv_lens", &a).unwrap_err();
        assert_eq!((fault.code, fault.message.as_str()), (codes::BAD_INTEGER, "`kv_lens[1]` is -1"));
        let a = array(DType::I64, &[1i64 << 32], |v| v.to_le_bytes().to_vec());
        assert_eq!(to_u32("x", &a).unwrap_err().code, codes::BAD_INTEGER);
        let a = array(DType::F32, &[1f32], |v| v.to_le_bytes().to_vec());
        assert_eq!(to_u32("x", &a).unwrap_err().code, codes::NOT_INTEGERS);
    }
}
