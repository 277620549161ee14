//! Tables of a workload among the arrays of a launch.

use std::collections::BTreeMap;
use wsp_backend::codes::WRONG_ARRAY;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::Arrays;

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
        match array.integers().filter(|_: &Result<Vec<i64>, _>| array.shape().len() == 1) {
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
