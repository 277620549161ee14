//! Values for a launch, with which nothing goes on for ever that is known before.

use super::bind::{self, Bindings};
use super::expand::probe::{End, probe};
use crate::ParamValue;
use std::cell::Cell;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedMap;

/// Looks at a module whose consumes may never end, each after 1,024 transfers and iterations.
const MOST_LOOKS: u32 = 1 << 10;

/// Gives the parameters and tables of a verified module their values: `set` by name, the last of equal names counts;
/// `tables` by name, in place of inline elements.
///
/// # Errors
/// Every unknown name, missing value, wrong kind, table that does not fit its axis or declared length, extent that is
/// negative or above `u32::MAX`, tensor whose size overflows, channel without a slot, and fault of a launch-time expression.
pub fn bind(
    module: &WorkloadModule,
    set: &[(String, ParamValue)],
    tables: &OrderedMap<String, Vec<i64>>,
) -> Result<Bindings, Vec<Diagnostic>> {
    let (bindings, found) = bind::values(module, set, tables)?;
    if found.is_empty() || stops(module, &bindings) { Ok(bindings) } else { Err(found) }
}

/// Whether what may never end does stop, at its end or at a fault that a run tells of, whatever tasks compute.
fn stops(module: &WorkloadModule, bindings: &Bindings) -> bool {
    let looks = Cell::new(MOST_LOOKS);
    !matches!(probe(module, bindings, &looks, false).end, End::Slot | End::Long(_))
}
