//! What a user may choose at compile time.

use wsp_core::limits;

/// The value of a parameter as the user gave it: a constant of any range, which binding checks.
pub type ParamValue = wsp_ir::Const;

/// Options of a compilation.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Where the plan is to run; `cpu_sim`.
    pub target: String,
    /// Name of the schedule to use instead of those the source applies.
    pub schedule: Option<String>,
    /// Cores of the machine model, which `PTO_GET_MAX_BLOCKS()` and automatic tiles see.
    pub max_blocks: u32,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            target: "cpu_sim".to_owned(),
            schedule: None,
            max_blocks: limits::DEFAULT_MAX_BLOCKS,
        }
    }
}
