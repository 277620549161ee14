//! Diagnostic codes of running workloads; `wsp_ir::diag` explains each.

use wsp_ir::diag::Code;

pub(crate) const NO_BODY: Code = Code(850);
pub(crate) const UNKNOWN_KERNEL: Code = Code(851);
pub(crate) const KERNEL_FIELDS: Code = Code(852);
pub(crate) const BOTH_SIDES: Code = Code(853);
pub(crate) const SLOT_IN_GRAPH: Code = Code(854);
pub(crate) const NO_MEMORY: Code = Code(855);
pub(crate) const TASK_FAILED: Code = Code(856);
pub(crate) const TASK_PANICKED: Code = Code(857);
pub(crate) const WINDOW_OVERFLOW: Code = Code(859);
pub(crate) const MISSED_HAZARD: Code = Code(860);
pub(crate) const TOO_MANY_TASKS: Code = Code(861);
pub(crate) const FIELD_VALUE: Code = Code(862);
pub(crate) const WRONG_ARRAY: Code = Code(863);
pub(crate) const BAD_OPTION: Code = Code(864);
pub(crate) const COST: Code = Code(866);
pub(crate) const PROGRAM_REFUSED: Code = Code(867);
pub(crate) const READ_ONLY: Code = Code(870);
pub(crate) const SHARED_MEMORY: Code = Code(871);
pub(crate) const VIEW_KERNEL: Code = Code(872);
pub(crate) const IN_USE: Code = Code(1268);
pub(crate) const VIEW_ARGUMENT: Code = Code(873);
pub(crate) const PARTITION: Code = Code(831);
pub(crate) const START_FORCED: Code = Code(833);
