//! Faults of generators and kernels, as the user sees them.

use crate::codes;
use crate::workload::settings::cancelled;
use wsp_diag::Diagnostic;
use wsp_kernel::Trap;

/// A fault of a generator.
pub(crate) fn generator_fault(trap: Trap) -> Diagnostic {
    if trap.code == codes::STOPPED { cancelled() } else { trap.into() }
}

/// A fault, where there may be several.
pub(crate) fn one(trap: Trap) -> Vec<Diagnostic> {
    vec![trap.into()]
}
