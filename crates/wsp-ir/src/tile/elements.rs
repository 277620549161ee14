//! Which elements the tiles of an operation may have.

use super::{BinaryTileOp, ReduceOp, TileOp, UnaryTileOp};
use wsp_core::DType;

/// A tile whose elements do not go with an operation, by its place among the tiles of the operation, in the order of
/// [`TileOp::each`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementFault {
    /// Two tiles that have one type where one of them holds integers.
    Mixed(usize, usize),
    /// The operation takes real numbers only, and the tile holds integers.
    NeedsReal(usize),
    /// The operation takes numbers, and the tile holds truth values.
    NeedsNumbers(usize),
    /// Places go to a tile that does not hold every one of them: `f32`, `f64`, `i32` and `i64` do.
    Places(usize),
}

impl ElementFault {
    /// The tile that is to be shown, and another one that it does not go with.
    pub fn tiles(self) -> (usize, Option<usize>) {
        match self {
            ElementFault::Mixed(a, b) => (b, Some(a)),
            ElementFault::NeedsReal(at) | ElementFault::NeedsNumbers(at) | ElementFault::Places(at) => {
                (at, None)
            }
        }
    }
}

impl UnaryTileOp {
    /// Whether it is defined on integers as on real numbers.
    pub fn takes_integers(self) -> bool {
        matches!(self, UnaryTileOp::Copy | UnaryTileOp::Neg | UnaryTileOp::Abs | UnaryTileOp::Relu)
    }
}

impl BinaryTileOp {
    /// Whether the result is a mask.
    pub fn compares(self) -> bool {
        use BinaryTileOp::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// Whether it orders its operands, or tells whether they are equal, and computes nothing from them.
    fn orders(self) -> bool {
        self.compares() || matches!(self, BinaryTileOp::Max | BinaryTileOp::Min)
    }
}

/// Element types of the tiles of an operation; none for a type of real numbers that is known at launch.
struct Elements<'a>(&'a [Option<DType>]);

impl Elements<'_> {
    fn is(&self, at: usize, test: impl Fn(DType) -> bool) -> bool {
        self.0.get(at).copied().flatten().is_some_and(test)
    }

    fn real(&self) -> Result<(), ElementFault> {
        let whole = (0..self.0.len()).find(|at| self.is(*at, |elem| !elem.is_float()));
        whole.map_or(Ok(()), |at| Err(ElementFault::NeedsReal(at)))
    }

    fn numbers(&self, at: usize) -> Result<(), ElementFault> {
        if self.is(at, |elem| elem == DType::Bool) { Err(ElementFault::NeedsNumbers(at)) } else { Ok(()) }
    }

    /// Integers are of one type; real numbers are rounded.
    fn same(&self, tiles: &[usize]) -> Result<(), ElementFault> {
        let has = |at: &usize| *at < self.0.len();
        let tiles: Vec<usize> = tiles.iter().copied().filter(has).collect();
        let Some(whole) = tiles.iter().find(|at| self.is(**at, |elem| !elem.is_float())) else {
            return Ok(());
        };
        match tiles.iter().find(|at| self.0[**at] != self.0[*whole]) {
            Some(other) => Err(ElementFault::Mixed(*whole.min(other), *whole.max(other))),
            None => Ok(()),
        }
    }
}

/// Checks the elements of the tiles of an operation, in the order of [`TileOp::each`]; none stands for real numbers of a type that is known
/// at launch. Integers meet integers of their own type, and become others by `TCVT` only.
///
/// # Errors
/// The first that does not fit.
pub fn check_elements<T, E, P>(op: &TileOp<T, E, P>, elems: &[Option<DType>]) -> Result<(), ElementFault> {
    let tiles = Elements(elems);
    match op {
        TileOp::Load { .. }
        | TileOp::Store { add: false, .. }
        | TileOp::Fill { .. }
        | TileOp::Mask { .. }
        | TileOp::MaskCausal { .. }
        | TileOp::MaskBand { .. }
        | TileOp::Unary { op: UnaryTileOp::Copy, .. } => Ok(()),
        TileOp::Store { add: true, .. } | TileOp::Iota { .. } => tiles.numbers(0),
        TileOp::Unary { op, .. } if !op.takes_integers() => tiles.real(),
        TileOp::Unary { .. } | TileOp::CumSum { .. } => tiles.same(&[0, 1]).and(tiles.numbers(1)),
        TileOp::Binary { op, .. } if op.compares() => tiles.same(&[1, 2]),
        TileOp::Binary { op, .. } => {
            tiles.same(&[0, 1, 2])?;
            if op.orders() { Ok(()) } else { tiles.numbers(1) }
        }
        TileOp::Clamp { .. }
        | TileOp::Reshape { .. }
        | TileOp::Transpose { .. }
        | TileOp::Insert { .. }
        | TileOp::Extract { .. } => tiles.same(&[0, 1]),
        // The mask, which comes second, may be of any type.
        TileOp::Select { .. } => tiles.same(&[0, 2, 3]),
        TileOp::RowReduce { op, .. } | TileOp::ColReduce { op, .. } => match op {
            ReduceOp::Max | ReduceOp::Min => tiles.same(&[0, 1]),
            ReduceOp::Sum => tiles.same(&[0, 1]).and(tiles.numbers(1)),
            ReduceOp::Mean => tiles.real(),
            ReduceOp::ArgMax | ReduceOp::ArgMin => {
                let whole = |elem: DType| !elem.is_float();
                let small = |elem| whole(elem) && !matches!(elem, DType::I32 | DType::I64);
                if tiles.is(0, small) { Err(ElementFault::Places(0)) } else { Ok(()) }
            }
        },
        TileOp::Gather { .. } => tiles.same(&[0, 1]).and(tiles.numbers(2)),
        TileOp::Random { .. } | TileOp::MatMul { .. } | TileOp::TopK { .. } => tiles.real(),
    }
}
