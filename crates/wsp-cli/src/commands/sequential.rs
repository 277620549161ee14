//! Compares what a run wrote with what a sequential run of the same program writes.

use super::reference::integers;
use crate::report::{Check, Difference};
use pto_wsp::codes;
use wsp_backend::unravel;
use wsp_check::reference::{Against, Comparison, Tolerance, compare, to_f64};
use wsp_core::DType;
use wsp_core::tg::Platform;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays, Target};

/// Compares arrays of a run on fast tile operations with those of one on plain ones: real numbers within what these may differ by,
/// integers and truth values bit by bit. `operands` is the type that operands of products are rounded to, where they are; `against` is what
/// the other run was.
///
/// # Errors
/// When outputs cannot be compared.
pub(super) fn compare_close(
    outputs: &Arrays,
    expected: &Arrays,
    operands: Option<DType>,
    against: &Against,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    for (name, expected) in expected {
        let Some(output) = outputs.get(name) else { continue };
        let compared = match to_f64(expected) {
            Some(values) => {
                let close = Tolerance::of_itself(expected.dtype(), &values);
                let close = operands.map_or(close, |elem| close.with_operands(elem, &values));
                compare(name, output, &values, close)
            }
            None => compare_integers(name, output, expected),
        };
        let compared = compared.map_err(|fault| vec![fault])?;
        all.push(Comparison { against: against.clone(), ..compared });
    }
    Ok(all)
}

/// What the other run of a program for a target is.
pub(super) fn against(target: &Target) -> Against {
    if target.platform == Platform::Cpu { Against::Itself } else { Against::CpuSim }
}

/// Compares arrays of integers. Differences are taken of the integers: numbers of f64 may be equal where these are not.
fn compare_integers(name: &str, output: &Array, expected: &Array) -> Result<Comparison, Diagnostic> {
    if (output.dtype(), output.shape()) != (expected.dtype(), expected.shape()) {
        let message = format!("`{name}` cannot be compared with a sequential run");
        return Err(Diagnostic::error(codes::CANNOT_COMPARE, message)
            .note(format!("it is {output:?}, and that of the sequential run {expected:?}")));
    }
    let pairs: Vec<(i128, i128)> = integers(output).zip(integers(expected)).collect();
    let apart: Vec<f64> = pairs.iter().map(|(have, want)| (have - want) as f64).collect();
    let array = Array::of(expected.shape(), &apart)
        .map_err(|fault| Diagnostic::error(codes::CANNOT_COMPARE, fault.to_string()))?;
    let mut found = compare(name, &array, &vec![0.0; apart.len()], Tolerance::EXACT)?;
    let first = apart.iter().position(|apart| apart.abs() == found.max_abs);
    if let (Some(worst), Some(at)) = (&mut found.worst, first) {
        (worst.actual, worst.expected) = (pairs[at].0 as f64, pairs[at].1 as f64);
    }
    Ok(found)
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

    /// Numbers of f64 are equal for the first two.
    #[test]
    fn integers_are_compared_to_the_last_bit_beside_real_numbers() {
        let far = 1_i64 << 53;
        let arrays = |wide: i64, narrow: i8, real: f32| {
            let one = |name: &str, array| (name.to_owned(), array);
            Arrays::from([
                one("narrow", Array::of(&[2], &[7_i8, narrow]).unwrap()),
                one("real", Array::of(&[1], &[real]).unwrap()),
                one("wide", Array::of(&[1, 2], &[5, wide]).unwrap()),
            ])
        };
        let expected = arrays(far, -128, 1.0);
        let outside = |outputs: &Arrays| {
            let all = compare_close(outputs, &expected, None, &Against::Itself).unwrap();
            all.into_iter().map(|one| (one.name.clone(), one.elements, one.outside)).collect::<Vec<_>>()
        };
        let want = |narrow, wide| {
            [("narrow", 2, narrow), ("real", 1, 0), ("wide", 2, wide)]
                .map(|(name, elements, outside)| (name.to_owned(), elements, outside))
        };
        assert_eq!(outside(&expected), want(0, 0));
        assert_eq!(outside(&arrays(far + 1, -128, 1.0)), want(0, 1));
        assert_eq!(outside(&arrays(far, 127, 1.0)), want(1, 0));
        let worst = compare_close(&arrays(far, 127, 1.0), &expected, None, &Against::Itself).unwrap()[0]
            .worst
            .clone()
            .unwrap();
        assert_eq!((worst.index, worst.actual, worst.expected), (vec![1], 127.0, -128.0));
        let other = Arrays::from([("narrow".to_owned(), Array::of(&[1], &[7_i8]).unwrap())]);
        assert_eq!(
            compare_close(&other, &expected, None, &Against::Itself).unwrap_err()[0].code,
            codes::CANNOT_COMPARE
        );
    }

    #[test]
    fn a_tensor_that_is_not_there_differs() {
        assert!(
            matches!(compare_bits(&Arrays::new(), &arrays(&[0; 6])), Check::Differs(d) if d[0].differing == 6)
        );
    }
}
