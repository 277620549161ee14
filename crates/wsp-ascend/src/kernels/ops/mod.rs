//! The calls of operations, by what they do.

pub(super) mod compare;
pub(super) mod cube;
pub(super) mod elementwise;
pub(super) mod functions;
pub(super) mod largest;
pub(super) mod masks;
pub(super) mod moves;
pub(super) mod reductions;
pub(super) mod shapes;
