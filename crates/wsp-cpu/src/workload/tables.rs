//! Tables and parameters of a workload in a launch.

use super::inputs::WorkloadInputs;
use crate::bind::faults::not_taken;
use wsp_backend::codes::WRONG_ARRAY;
use wsp_core::ParamId;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedMap;
use wsp_plan::Arrays;
use wsp_plan::workload::{Bindings, bind};

/// What a workload of declared kernels is given, bound.
///
/// # Errors
/// Arrays that are neither tables nor tensors; as [`tables`] and [`bind`].
pub(crate) fn bound(module: &WorkloadModule, inputs: &WorkloadInputs) -> Result<Bindings, Vec<Diagnostic>> {
    let tensors = module.tensors.iter().map(|tensor| tensor.name.as_str());
    let taken: Vec<&str> = tensors.chain(module.tables.iter().map(|table| table.name.as_str())).collect();
    let given = inputs.arrays.keys().chain(inputs.views.keys()).map(String::as_str);
    let has_value = |name: &str| module.param_named(name).is_some();
    let unknown = given.filter(|name| !taken.contains(name));
    let mut faults: Vec<Diagnostic> =
        unknown.map(|name| not_taken("the workload", name, &taken, has_value(name))).collect();
    match tables(module, &inputs.arrays).and_then(|tables| bind(module, &inputs.set, &tables)) {
        Ok(bindings) if faults.is_empty() => return Ok(bindings),
        Ok(_) => {}
        Err(others) => faults.extend(others),
    }
    Err(faults)
}

/// Elements of the workload's tables that the arrays hold: integers in one dimension.
///
/// # Errors
/// Every array with the name of a table that is none.
pub(crate) fn tables(
    module: &WorkloadModule,
    arrays: &Arrays,
) -> Result<OrderedMap<String, Vec<i64>>, Vec<Diagnostic>> {
    let (mut tables, mut faults) = (OrderedMap::new(), Vec::new());
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

/// Values of the workload's parameters.
pub(crate) fn params(module: &WorkloadModule, bindings: &Bindings) -> Vec<(String, i64)> {
    let values = (0..module.params.len()).map(|i| bindings.param(ParamId(i as u32)));
    module.params.iter().map(|p| p.name.clone()).zip(values).collect()
}
