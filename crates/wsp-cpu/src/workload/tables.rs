//! Tables of a workload among the arrays of a launch.

use std::collections::BTreeMap;
use wsp_backend::codes::WRONG_ARRAY;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::{Array, Arrays};

/// Elements of the workload's tables that the arrays hold: integers in one dimension.
///
/// # Errors
/// Every array with the name of a table that is none.
pub(crate) fn tables(
    module: &WorkloadModule,
    arrays: &Arrays,
) -> Result<BTreeMap<String, Vec<i64>>, Vec<Diagnostic>> {
    let (mut tables, mut faults) = (BTreeMap::new(), Vec::new());
    for table in &module.tables {
        let Some(array) = arrays.get(&table.name) else { continue };
        match integers(array).filter(|_| array.shape().len() == 1) {
            Some(Ok(values)) => _ = tables.insert(table.name.clone(), values),
            Some(Err((at, value))) => faults.push(
                Diagnostic::error(WRONG_ARRAY, format!("`{}[{at}]` is {value}", table.name))
                    .at(table.span, format!("elements of a table are at most {}", i64::MAX)),
            ),
            None => faults.push(
                Diagnostic::error(WRONG_ARRAY, format!("array `{}` is no table", table.name))
                    .at(table.span, "a table has integers in one dimension")
                    .note(format!("the array is {array:?}")),
            ),
        }
    }
    if faults.is_empty() { Ok(tables) } else { Err(faults) }
}

/// The elements of an array of integers, or place and value of the first that does not fit 64 bits with a sign; none for other arrays.
fn integers(array: &Array) -> Option<Result<Vec<i64>, (usize, u64)>> {
    fn all<T: Copy + Into<i64>>(elements: &[T]) -> Vec<i64> {
        elements.iter().map(|&n| n.into()).collect()
    }
    let fits = |(at, &n): (usize, &u64)| i64::try_from(n).map_err(|_| (at, n));
    Some(match array.dtype() {
        DType::U8 => Ok(all(array.as_slice::<u8>()?)),
        DType::U16 => Ok(all(array.as_slice::<u16>()?)),
        DType::I32 => Ok(all(array.as_slice::<i32>()?)),
        DType::U32 => Ok(all(array.as_slice::<u32>()?)),
        DType::I64 => Ok(all(array.as_slice::<i64>()?)),
        DType::U64 => array.as_slice::<u64>()?.iter().enumerate().map(fits).collect(),
        _ => return None,
    })
}
