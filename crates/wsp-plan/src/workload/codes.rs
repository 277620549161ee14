//! Diagnostic codes of binding, expansion and workload schedules; `wsp_ir::diag` explains each.

use wsp_ir::diag::Code;

pub(super) const UNKNOWN_NAME: Code = Code(800);
pub(super) const MISSING_VALUES: Code = Code(801);
pub(super) const WRONG_KIND: Code = Code(802);
pub(super) const TABLE_LENGTH: Code = Code(803);
pub(super) const NEGATIVE_LENGTH: Code = Code(804);
pub(super) const ROW_POINTER: Code = Code(805);
pub(super) const TENSOR_EXTENT: Code = Code(806);
pub(super) const TENSOR_SIZE: Code = Code(807);
pub(super) const CHANNEL_DEPTH: Code = Code(808);

pub(super) const OVERFLOW: Code = Code(810);
pub(super) const DIVISION_BY_ZERO: Code = Code(811);
pub(super) const TABLE_INDEX: Code = Code(812);
pub(super) const BOX_OUTSIDE: Code = Code(813);
pub(super) const LOOP_STEP: Code = Code(814);
pub(super) const WHILE_LIMIT: Code = Code(815);
pub(super) const AXIS_ROW: Code = Code(816);
pub(super) const TOO_MANY_STEPS: Code = Code(817);
pub(super) const NO_WORKLOAD: Code = Code(818);
pub(super) const NO_PLACE: Code = Code(819);
pub(super) const DEADLOCK: Code = Code(820);

pub(super) const UNKNOWN_SCHEDULE: Code = Code(830);
pub(super) const PARTITION: Code = Code(831);
pub(super) const START_NOT_REACHED: Code = Code(832);
pub(super) const START_FORCED: Code = Code(833);
pub(super) const NUMBER_TOO_LARGE: Code = Code(834);
