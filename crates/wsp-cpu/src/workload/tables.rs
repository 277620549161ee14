//! Tables of a workload among the arrays of a launch.

use super::codes;
use std::collections::BTreeMap;
use wsp_core::DType;
use wsp_ir::diag::Diagnostic;
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
        match integers(array) {
            Some(values) if array.shape().len() == 1 => {
                tables.insert(table.name.clone(), values);
            }
            _ => faults.push(
                Diagnostic::error(codes::WRONG_ARRAY, format!("array `{}` is no table", table.name))
                    .at(table.span, "a table has integers in one dimension")
                    .note(format!("the array is {array:?}")),
            ),
        }
    }
    if faults.is_empty() { Ok(tables) } else { Err(faults) }
}

/// The elements of an array of integers that all fit 64 bits with a sign.
fn integers(array: &Array) -> Option<Vec<i64>> {
    fn all<T: Copy + TryInto<i64>>(elements: &[T]) -> Option<Vec<i64>> {
        elements.iter().map(|&n| n.try_into().ok()).collect()
    }
    match array.dtype() {
        DType::U8 => all(array.as_slice::<u8>()?),
        DType::U16 => all(array.as_slice::<u16>()?),
        DType::I32 => all(array.as_slice::<i32>()?),
        DType::U32 => all(array.as_slice::<u32>()?),
        DType::I64 => all(array.as_slice::<i64>()?),
        DType::U64 => all(array.as_slice::<u64>()?),
        _ => None,
    }
}
