//! Diagnostic codes of lowering; `wsp_ir::diag` explains each.

use wsp_ir::diag::Code;

pub(crate) const UNKNOWN_TARGET: Code = Code(400);
pub(crate) const NO_ENTRY: Code = Code(401);
pub(crate) const NO_GENERATOR: Code = Code(402);
pub(crate) const UNKNOWN_SCHEDULE: Code = Code(403);
pub(crate) const UNKNOWN_AXIS: Code = Code(404);
pub(crate) const SCHEDULE_UNCLEAR: Code = Code(405);
pub(crate) const SCHEDULE_UNUSED: Code = Code(406);
pub(crate) const NO_EXTENT: Code = Code(407);
pub(crate) const EXTENT_CYCLE: Code = Code(408);
pub(crate) const EXTENT_UNCLEAR: Code = Code(409);
pub(crate) const LEAVES_SCHEDULED_FOR: Code = Code(410);
pub(crate) const DEPENDENCY_NOT_WRITTEN: Code = Code(411);
pub(crate) const DEPENDENCY_NOT_READ: Code = Code(412);
pub(crate) const DEPENDENCY_ORDER: Code = Code(413);
pub(crate) const DEPENDENCY_TENSORS: Code = Code(414);
pub(crate) const NOT_SUPPORTED: Code = Code(415);
pub(crate) const NO_EFFECT: Code = Code(416);
pub(crate) const TOO_MANY_DYNAMIC: Code = Code(417);
pub(crate) const ALIAS_RANKS: Code = Code(418);
pub(crate) const SPLIT_AXIS: Code = Code(419);
pub(crate) const SPLIT_TILE: Code = Code(420);
pub(crate) const SPLIT_OTHERS: Code = Code(421);
pub(crate) const ORDER_LENGTHS: Code = Code(422);
