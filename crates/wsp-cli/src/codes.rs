//! Codes of the diagnostics that this crate reports: files, made-up data, checks and graphs.

use wsp_ir::diag::Code;

pub(crate) const FILE_MISSING: Code = Code(500);
pub(crate) const FILE_UNREADABLE: Code = Code(501);
pub(crate) const NOT_AN_ARCHIVE: Code = Code(502);
pub(crate) const BAD_ENTRY: Code = Code(503);
pub(crate) const NOT_NPY: Code = Code(504);
pub(crate) const BAD_HEADER: Code = Code(505);
pub(crate) const UNSUPPORTED_TYPE: Code = Code(506);
pub(crate) const SIZE_MISMATCH: Code = Code(507);
pub(crate) const NOT_ENOUGH_MEMORY: Code = Code(508);
pub(crate) const CANNOT_WRITE: Code = Code(509);
pub(crate) const TWICE_GIVEN: Code = Code(510);
pub(crate) const BAD_INTEGER: Code = Code(511);
pub(crate) const NOT_INTEGERS: Code = Code(512);
pub(crate) const BAD_SOURCE_FILE: Code = Code(513);
pub(crate) const UNUSED_ENTRY: Code = Code(514);
pub(crate) const BAD_LENGTHS: Code = Code(520);
pub(crate) const TOO_MUCH_DATA: Code = Code(521);
pub(crate) const CANNOT_GENERATE: Code = Code(522);
pub(crate) const NO_LAYOUT: Code = Code(523);
pub(crate) const UNKNOWN_REFERENCE: Code = Code(530);
pub(crate) const BAD_ROLE: Code = Code(531);
pub(crate) const CANNOT_COMPARE: Code = Code(532);
pub(crate) const CHECK_FAILED: Code = Code(533);
pub(crate) const NOTHING_TO_CHECK: Code = Code(534);
pub(crate) const BAD_CASE: Code = Code(540);
pub(crate) const NOT_A_WORKLOAD: Code = Code(880);
pub(crate) const OUTPUTS_COLLIDE: Code = Code(881);
pub(crate) const OPTION_OF_OTHERS: Code = Code(882);
pub(crate) const NOT_SEQUENTIAL: Code = Code(883);
pub(crate) const SEVERAL_LIBRARIES: Code = Code(884);
pub(crate) const MORE_THAN_ROWS: Code = Code(885);
pub(crate) const BINARY_TO_TERMINAL: Code = Code(922);
