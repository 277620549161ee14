//! What an operation of a core does to a buffer.

use crate::mlir::Op;

/// What a use of a buffer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Reads,
    Writes,
    /// A kernel reads it or writes it.
    Either,
}

impl Effect {
    /// All, each at its number.
    pub(crate) const ALL: [Effect; 3] = [Effect::Reads, Effect::Writes, Effect::Either];

    /// Of an operation, to the buffer that is this operand of it.
    pub(crate) fn of(op: &Op, operand: usize) -> Effect {
        match op.name.as_str() {
            "memref.load" | "vector.load" => Effect::Reads,
            "memref.store" | "vector.store" => Effect::Writes,
            "memref.copy" if operand == 0 => Effect::Reads,
            "memref.copy" => Effect::Writes,
            _ => Effect::Either,
        }
    }
}
