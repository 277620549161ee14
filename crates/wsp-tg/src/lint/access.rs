//! A use of some bytes of a tensor.

use wsp_core::tg::{Direction, ExprId, ExprOp};
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::BlockId;

/// A use of some bytes of a tensor by a kernel or copy, or by a condition or count that loads them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The node: kernels first, then copies; that of a condition only the order knows.
    pub(super) node: u32,
    /// The place of the tensor in the outline.
    pub(super) tensor: u32,
    /// The instruction: a binding or a copy, or one with a condition or count.
    pub(super) at: u32,
    /// The graph.
    pub(super) graph: u32,
    /// Where the node stands in the program.
    pub(super) place: u32,
    pub(super) block: BlockId,
    /// First byte that may be used.
    pub(super) low: u64,
    /// One past the last.
    pub(super) high: u64,
    /// Whether exactly these bytes are used, each time.
    pub(super) exact: bool,
    /// What is done with them; `Auto` if nobody says.
    pub(super) direction: Direction,
    /// The operation that loads them, if a condition or count does.
    pub(super) load: Option<Load>,
}

/// An operation of an expression that loads a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Load {
    pub(super) expr: ExprId,
    /// Its place in the expression.
    pub(super) op: u32,
    /// Bytes of the value.
    pub(super) size: u64,
    /// Whether it is done only as the left side of an `&&` or `||` goes.
    pub(super) is_conditional: bool,
}

impl Load {
    /// The operations that make its offset, and those before them.
    pub(super) fn offset(self, module: &TgModule) -> &[ExprOp] {
        module.expr(self.expr).get(..self.op as usize).unwrap_or(&[])
    }
}

/// In the place of the node of a condition or count, which the order has.
pub(super) const OF_CONDITION: u32 = u32::MAX;

impl Access {
    pub(super) fn reads(&self) -> bool {
        self.direction != Direction::Out
    }

    pub(super) fn writes(&self) -> bool {
        self.direction != Direction::In
    }

    pub(super) fn is_known(&self) -> bool {
        self.direction != Direction::Auto
    }

    pub(super) fn verb(&self) -> &'static str {
        verb_of(self.direction)
    }
}

pub(super) fn verb_of(direction: Direction) -> &'static str {
    match direction {
        Direction::InOut | Direction::Auto => "reads and writes",
        Direction::Out => "writes",
        Direction::In => "reads",
    }
}
