//! Compares what a run wrote with what a sequential run of the same program writes.

use crate::report::{Check, Difference};
use wsp_backend::unravel;
use wsp_check::reference::{Comparison, Tolerance, compare, to_f64};
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// Compares arrays of real numbers of a run on fast tile operations with those of one on plain ones, within what these may differ by.
///
/// # Errors
/// When outputs cannot be compared.
pub(super) fn compare_close(outputs: &Arrays, expected: &Arrays) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    for (name, expected) in expected {
        let (Some(values), Some(output)) = (to_f64(expected), outputs.get(name)) else { continue };
        let tolerance = Tolerance::of_itself(expected.dtype(), &values);
        all.push(compare(name, output, &values, tolerance).map_err(|fault| vec![fault])?);
    }
    Ok(all)
}

/// Compares arrays bit by bit.
pub(super) fn compare_bits(outputs: &Arrays, expected: &Arrays) -> Check {
    let differences: Vec<Difference> =
        expected.iter().filter_map(|(name, array)| difference(name, outputs.get(name), array)).collect();
    if differences.is_empty() {
        let bytes = expected.values().map(|array| array.bytes().len() as u64).sum();
        Check::Same { tensors: expected.len() as u64, bytes }
    } else {
        Check::Differs(differences)
    }
}

fn difference(name: &str, output: Option<&Array>, expected: &Array) -> Option<Difference> {
    let size = expected.dtype().size();
    let elements = (expected.bytes().len() / size) as u64;
    let name = name.to_owned();
    let whole = |name| Some(Difference { name, elements, differing: elements, first: Vec::new() });
    let Some(output) = output.filter(|o| o.bytes().len() == expected.bytes().len()) else {
        return whole(name);
    };
    if output.bytes() == expected.bytes() {
        return None;
    }
    let pairs = output.bytes().chunks_exact(size).zip(expected.bytes().chunks_exact(size));
    let mut unequal = pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i as u64);
    let first = unequal.next()?;
    Some(Difference {
        name,
        elements,
        differing: 1 + unequal.count() as u64,
        first: unravel(first, expected.shape()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_wsp::codes;
    use wsp_core::DType;

    fn arrays(values: &[u32]) -> Arrays {
        let mut array = Array::zeros(DType::U32, &[2, 3]).unwrap();
        array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
        Arrays::from([("y".to_owned(), array)])
    }

    #[test]
    fn equal_bits_are_the_same() {
        let y = arrays(&[1, 2, 3, 4, 5, 6]);
        let check = compare_bits(&y, &y);
        assert_eq!(check, Check::Same { tensors: 1, bytes: 24 });
        assert!(check.diagnostics().is_empty());
    }

    #[test]
    fn the_first_element_that_differs_is_named() {
        let check = compare_bits(&arrays(&[1, 2, 3, 4, 9, 8]), &arrays(&[1, 2, 3, 4, 5, 6]));
        let expected = Difference { name: "y".to_owned(), elements: 6, differing: 2, first: vec![1, 1] };
        assert_eq!(check, Check::Differs(vec![expected]));
        let faults = check.diagnostics();
        assert_eq!((faults[0].code, faults.len()), (codes::NOT_SEQUENTIAL, 1));
        assert!(faults[0].notes[0].contains("2 of 6 elements, the first at [1, 1]"), "{faults:?}");
    }

    #[test]
    fn a_tensor_that_is_not_there_differs() {
        assert!(
            matches!(compare_bits(&Arrays::new(), &arrays(&[0; 6])), Check::Differs(d) if d[0].differing == 6)
        );
    }
}
