//! The codes of the rules.

use crate::diag::Code;

pub(in crate::workload) const TOO_DEEP: Code = Code(760);
pub(in crate::workload) const UNKNOWN_ID: Code = Code(761);
pub(in crate::workload) const NAME: Code = Code(762);
pub(in crate::workload) const PARAM_ORDER: Code = Code(763);
pub(in crate::workload) const MISPLACED_VALUE: Code = Code(764);
pub(in crate::workload) const VARIABLE: Code = Code(765);
pub(in crate::workload) const TABLE: Code = Code(766);
pub(in crate::workload) const AXIS: Code = Code(767);
pub(in crate::workload) const TENSOR: Code = Code(768);
pub(in crate::workload) const SLOT: Code = Code(769);
pub(in crate::workload) const KERNEL: Code = Code(770);
pub(in crate::workload) const NO_LIBRARY: Code = Code(771);
pub(in crate::workload) const ARGUMENT_COUNT: Code = Code(772);
pub(in crate::workload) const ARGUMENT_KIND: Code = Code(773);
pub(in crate::workload) const ARGUMENT_NAME: Code = Code(774);
pub(in crate::workload) const RANK: Code = Code(775);
pub(in crate::workload) const SLOT_CYCLE: Code = Code(776);
pub(in crate::workload) const ITERATION: Code = Code(777);
pub(in crate::workload) const STEP: Code = Code(778);
pub(in crate::workload) const CALL: Code = Code(779);
pub(in crate::workload) const LABEL: Code = Code(780);
pub(in crate::workload) const ENTRY: Code = Code(781);
pub(in crate::workload) const DOUBLE_DIRECTIVE: Code = Code(782);
pub(in crate::workload) const THRESHOLDS: Code = Code(783);
pub(in crate::workload) const COUNT: Code = Code(784);
pub(in crate::workload) const PARTITION: Code = Code(785);
pub(in crate::workload) const NEEDS: Code = Code(786);
pub(in crate::workload) const AFTER_UNUSED: Code = Code(787);
/// Reported by the builders.
pub(in crate::workload) const FOREIGN_HANDLE: Code = Code(788);
pub(in crate::workload) const CHANNEL: Code = Code(789);
pub(in crate::workload) const PROCESS: Code = Code(790);
pub(in crate::workload) const CHANNEL_END: Code = Code(791);
