//! Codes of the diagnostics that sessions report.

use wsp_ir::diag::Code;

pub(crate) const UNKNOWN_ENTRY: Code = Code(1540);
pub(crate) const KERNEL_EXISTS: Code = Code(1541);
pub(crate) const KERNEL_FAILED: Code = Code(1542);
pub(crate) const KERNEL_PANICKED: Code = Code(1543);
pub(crate) const OUT_OF_MEMORY: Code = Code(1544);
pub(crate) const UNKNOWN_SIZE: Code = Code(1545);
pub(crate) const BAD_INPUT: Code = Code(1546);
pub(crate) const BAD_ARGUMENT: Code = Code(1547);
pub(crate) const BAD_BINDING: Code = Code(1548);
pub(crate) const BAD_EXPRESSION: Code = Code(1549);
pub(crate) const UNKNOWN_NAME: Code = Code(1550);
pub(crate) const NEVER_LAUNCHED: Code = Code(1551);
pub(crate) const STALE_STREAM: Code = Code(1552);
pub(crate) const RELEASED: Code = Code(1553);
pub(crate) const STILL_IN_USE: Code = Code(1554);
pub(crate) const STUCK: Code = Code(1555);
pub(crate) const TOO_MANY_ROUNDS: Code = Code(1556);
pub(crate) const NO_STORE: Code = Code(1557);
pub(crate) const NO_CHECKPOINT: Code = Code(1558);
pub(crate) const BAD_CHECKPOINT: Code = Code(1559);
pub(crate) const OTHER_CHECKPOINT: Code = Code(1560);
pub(crate) const STORE_FAILED: Code = Code(1561);
/// Found by the checker of units: pairs of kernels that a run compares.
pub(crate) const LEFT_OPEN: Code = Code(1522);
pub(crate) const SERIALISED: Code = Code(1562);
pub(crate) const EVERY_GRAPH: Code = Code(1563);
pub(crate) const BAD_OPTION: Code = Code(1564);
pub(crate) const CANCELLED: Code = Code(1565);
pub(crate) const REFUSED_LAUNCH: Code = Code(1566);
/// A checkpoint was saved that a run cannot be resumed from.
pub const CANNOT_RESUME: Code = Code(1575);
pub(crate) const PASSED_OVER: Code = Code(1576);
