//! Workloads whose kernels they declare.

use wsp_ir::workload::WorkloadModule;
use wsp_ordered::OrderedSet;
use wsp_plan::workload::LoweredSchedule;

/// A workload whose kernels it declares.
#[derive(Debug)]
pub(crate) struct DeclaredKernels {
    pub(crate) module: WorkloadModule,
    pub(crate) schedule: LoweredSchedule,
    /// Names of the tensors that some task may write.
    pub(crate) written: OrderedSet<String>,
    /// Names of the tensors that tasks read before any task writes them.
    pub(crate) needed: OrderedSet<String>,
    /// Names of those of which only a run tells.
    pub(crate) unsure: OrderedSet<String>,
}
