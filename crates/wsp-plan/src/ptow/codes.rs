//! Diagnostic codes of programs; `wsp_ir::diag` explains each.

use wsp_ir::diag::Code;

pub(super) const TOO_LARGE: Code = Code(890);
pub(super) const TOO_DEEP: Code = Code(891);
pub(super) const EXPRESSION: Code = Code(892);
pub(super) const SCHEDULE: Code = Code(893);
pub(super) const AICPUS: Code = Code(894);
pub(super) const WORK_STEAL: Code = Code(895);
pub(super) const NAMES_LEFT_OUT: Code = Code(896);
pub(super) const BROKEN: Code = Code(897);
pub(super) const PIPELINE: Code = Code(898);
