//! What a user may choose at compile time.

use crate::target::{CPU_SIM, Target};
use wsp_core::limits;

/// The value of a parameter as the user gave it: a constant of any range, which binding checks.
pub type ParamValue = wsp_ir::Const;

/// Options of a compilation.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Where the plan is to run.
    pub target: &'static Target,
    /// Name of the schedule to use instead of those the source applies.
    pub schedule: Option<String>,
    /// Cores of the machine model, which `PTO_GET_MAX_BLOCKS()` and automatic tiles see.
    pub max_blocks: u32,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions { target: CPU_SIM, schedule: None, max_blocks: limits::DEFAULT_MAX_BLOCKS }
    }
}
