//! From a module to a plan: passes, access summaries, schedules, and what a launch binds.
//!
//! **Boundary:** knows no backend. [`lower`] is the one way from a module to a [`LoweredPlan`]; [`workload`] generates
//! the tasks of `.wsp` programs.
#![forbid(unsafe_code)]

mod access;
mod array;
mod capability;
pub mod cost;
pub mod entry;
pub mod expected;
pub mod flow;
mod fold;
pub mod layout;
mod lower;
mod mechanism;
mod needs;
mod options;
mod pools;
pub mod ptow;
mod reads;
mod source;
pub mod split;
pub mod target;
pub mod view_kernel;
mod walk;
pub mod workload;

pub use access::{Bound, KernelAccess, SlotLayout, slot_layout, summarise};
pub use array::{Array, ArrayError, Arrays, Element};
pub use capability::{
    AICPU_SPACES, CAPABILITIES, PACKAGE_SPACES, aicpu_capabilities, aicpu_capabilities_markdown,
    aicpu_spaces_markdown, array_capabilities, array_capabilities_markdown, capabilities_markdown, on_arrays,
    package_spaces_markdown, statement_capabilities, statement_capabilities_markdown, workload_capabilities,
    workload_capabilities_markdown,
};
pub use lower::{
    BalancedLine, LoweredPlan, PlanStage, ScheduleSummary, TensorUse, array_name, declared_shape,
    library_entry, lower, lower_library, params_of_kernels, params_of_launch, with_one_name,
};
pub use mechanism::{MECHANISM_TARGETS, MECHANISMS, Mechanism, mechanisms_markdown};
pub use needs::Needs;
pub use options::{CompileOptions, ParamValue};
pub use reads::{arrays_read, is_moved};
pub use source::{KernelFile, PlanSource, ProgramKind, UnitSource};
pub use target::{DeviceModel, Target};
pub use view_kernel::{FieldSource, ViewKernelSource, ViewShape};
pub use wsp_ir::{Capability, Support};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[
    lower::codes::CODES,
    workload::codes::CODES,
    ptow::codes::CODES,
    target::model::codes::CODES,
    cost::codes::CODES,
    layout::codes::CODES,
];
