//! Codes of the diagnostics that this crate reports.

use wsp_ir::diag::Code;

pub(crate) const MISSING_ARRAY: Code = Code(550);
pub(crate) const NEVER_STORED: Code = Code(616);
pub(crate) const WRONG_RANK: Code = Code(551);
pub(crate) const WRONG_EXTENT: Code = Code(552);
pub(crate) const WRONG_DTYPE: Code = Code(553);
pub(crate) const BAD_INDPTR: Code = Code(554);
pub(crate) const BAD_PAGE: Code = Code(555);
pub(crate) const BAD_LAST_PAGE: Code = Code(556);
pub(crate) const LENGTHS_DISAGREE: Code = Code(557);
pub(crate) const UNKNOWN_PARAMETER: Code = Code(558);
pub(crate) const BAD_PARAMETER: Code = Code(559);
pub(crate) const UNUSED_ARRAY: Code = Code(560);
pub(crate) const ZERO_EXTENT: Code = Code(561);
pub(crate) const TOO_LARGE: Code = Code(562);
pub(crate) const EXTENT_UNKNOWN: Code = Code(564);
pub(crate) const BAD_INTEGER: Code = Code(565);
pub(crate) const BAD_OPTION: Code = Code(567);
pub(crate) const NO_ENTRY: Code = Code(568);
pub(crate) const REQUIREMENT: Code = Code(569);
pub(crate) const WORKSPACE: Code = Code(570);
pub(crate) const TOO_MANY_TASKS: Code = Code(571);
pub(crate) const NO_EXTENT: Code = Code(572);
pub(crate) const BAD_TIER: Code = Code(573);
pub(crate) const STOPPED: Code = Code(574);
pub(crate) const DESCRIPTOR_TOO_LONG: Code = Code(575);
pub(crate) const TILE_CHANGES: Code = Code(576);
pub(crate) const TOO_MANY_KERNELS: Code = Code(577);
pub(crate) const STALE_PLAN: Code = Code(578);
pub(crate) const PLAN_CAPACITY: Code = Code(579);
pub(crate) const BAD_GROWTH: Code = Code(580);
pub(crate) const TOO_MANY_LENGTHS: Code = Code(581);
