//! Scalar expressions.

use crate::ScalarTy;
use wsp_core::int::{BinOp, UnOp};
use wsp_core::limits::MAX_NESTING;
use wsp_core::{AxisId, FuncId, LocalId, ParamId, TensorId, TierSetId};
use wsp_diag::Span;

/// A typed scalar expression.
///
/// Integer arithmetic is checked: overflow, division by zero and lossy conversion stop the run with the position and
/// the values. Both operands of a binary operation have one type (front ends insert [`ExprKind::Cast`]).
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of the result.
    pub ty: ScalarTy,
    /// Where it stands in the source.
    pub span: Span,
}

/// Structural equality: spans do not count.
impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.ty == other.ty && self.kind == other.kind
    }
}

/// A constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Const {
    /// `true` or `false`.
    Bool(bool),
    /// A value of any integer type; `u64` values above `i64::MAX` do fit.
    Int(i128),
    /// A value of a float type; an `f32` is held exactly.
    Float(f64),
}

impl Const {
    /// Whether a user may give it for a parameter of a type: an integer stands for a number of a float type, too.
    pub fn fits(self, ty: ScalarTy) -> bool {
        match self {
            Const::Bool(_) => ty == ScalarTy::Bool,
            Const::Int(n) => ty.is_float() || ty.range().is_some_and(|range| range.contains(n)),
            Const::Float(_) => ty.is_float(),
        }
    }
}

/// Functions of one float argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MathFn {
    /// `eˣ`
    Exp,
    /// `2ˣ`
    Exp2,
    /// Natural logarithm
    Log,
    /// Logarithm to base 2
    Log2,
    /// Square root
    Sqrt,
    /// Absolute value
    Abs,
    /// Sine of an angle in radians
    Sin,
    /// Cosine of an angle in radians
    Cos,
}

/// Page-table arrays of a paged cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MetaKind {
    /// Tokens per request, `[batch]`.
    Lengths,
    /// First page of each request in `Indices`, `[batch + 1]`.
    Indptr,
    /// Page ids, `[indptr[batch]]`.
    Indices,
    /// Tokens in the last page of each request, `[batch]`; 0 for an empty request.
    LastPageLen,
}

/// A read-only one-dimensional array of integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArrayRef {
    /// A parameter or variable of the function.
    Local(LocalId),
    /// A rank-1 integer tensor bound at launch.
    Tensor(TensorId),
    /// Page-table data of a paged cache.
    Meta(wsp_core::CacheId, MetaKind),
    /// What the host works out from an array of the launch before a generator runs; schedule lowering asks for it.
    Derived(DerivedArray),
}

/// An array that follows from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DerivedArray {
    /// How.
    pub kind: Derivation,
    /// From what: integers from 0 to 4294967295.
    pub of: LaunchArray,
    /// Larger elements count as the number of last elements that `PTO_SET_EXTENT` gives for this axis.
    pub last: Option<AxisId>,
}

/// How an array follows from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Derivation {
    /// Element `i` is the sum of the first `i` elements, one element more than the source has; `u64`.
    Starts,
    /// The indices of the source by falling element, equal ones by rising index; `u32`.
    LongestFirst,
}

/// An array that a launch binds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaunchArray {
    /// A rank-1 integer tensor.
    Tensor(TensorId),
    /// Page-table data of a paged cache.
    Meta(wsp_core::CacheId, MetaKind),
}

impl From<LaunchArray> for ArrayRef {
    fn from(array: LaunchArray) -> ArrayRef {
        match array {
            LaunchArray::Tensor(tensor) => ArrayRef::Tensor(tensor),
            LaunchArray::Meta(cache, kind) => ArrayRef::Meta(cache, kind),
        }
    }
}

impl Derivation {
    /// The type of the elements.
    pub fn elem(self) -> ScalarTy {
        match self {
            Derivation::Starts => ScalarTy::U64,
            Derivation::LongestFirst => ScalarTy::U32,
        }
    }
}

/// One workspace allocation: slot `index` of the `count` slots reserved for `key`.
///
/// The first evaluation for a `key` reserves `count` slots side by side; later ones address into them, so that the
/// slots of one key are contiguous whatever the order of generation.
#[derive(Clone, PartialEq, Debug)]
pub struct WsSlot {
    /// The tier set whose workspace sizes apply.
    pub tiers: TierSetId,
    /// Which tier's size.
    pub tier: Expr,
    /// Identity of the reservation.
    pub key: Vec<Expr>,
    /// Slots reserved for the key.
    pub count: Expr,
    /// Slot asked for; below `count`.
    pub index: Expr,
}

/// How many operators nest on the left side of each other before further ones make a [chain](ExprKind::Chain).
pub const CHAINED: u32 = MAX_NESTING / 2;

/// The forms of a scalar expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A literal.
    Const(Const),
    /// A launch-time scalar.
    Param(ParamId),
    /// A scalar variable.
    Local(LocalId),
    /// Field `1` of the descriptor variable `0`; always `u32`.
    Field(LocalId, u32),
    /// The free name of a tier condition.
    Selector,
    /// One operand.
    Unary(UnOp, Box<Expr>),
    /// Two operands of one type.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// Additions and subtractions, or multiplications, divisions and remainders, from left to right on operands of one type, which is
    /// that of the result: `((a + b) - c) + d`. A sum of thousands of terms is one node; see [`Expr::joined`].
    Chain(Box<Expr>, Vec<(BinOp, Expr)>),
    /// Conversion to the expression's type.
    Cast(Box<Expr>),
    /// `c ? a : b`
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A function of one float.
    Math(MathFn, Box<Expr>),
    /// An element of an integer array; out of bounds stops the run.
    Load(ArrayRef, Box<Expr>),
    /// Largest of the first `n` elements; 0 when `n` is 0 (`*std::max_element(p, p + n)`).
    ArrayMax(ArrayRef, Box<Expr>),
    /// Sum of the first `n` elements, as `u64`.
    ArraySum(ArrayRef, Box<Expr>),
    /// Length of an array, as `u32`.
    ArrayLen(ArrayRef),
    /// Result of a helper function.
    Call(FuncId, Vec<Arg>),
    /// Index of the first tier whose condition holds for the value; always `u32`.
    SelectTier(TierSetId, Box<Expr>),
    /// Workspace offset in bytes, `u32`.
    AllocWs(Box<WsSlot>),
    /// Number of cores of the machine model (`PTO_GET_MAX_BLOCKS()`), `u32`.
    MaxBlocks,
    /// Extent of an axis whose bounds are known at launch, `u32`.
    AxisExtent(AxisId),
    /// Value of an axis's tile as set by the generator or chosen automatically, `u32`.
    AxisTile(AxisId),
    /// First element on an axis of the current item of `PTO_SCHEDULED_FOR` (`PTO_ITEM_BEGIN(axis)`), `u32`. Schedule
    /// lowering replaces this and the next two.
    ItemBegin(AxisId),
    /// End, exclusive, of the current item's elements on an axis (`PTO_ITEM_END(axis)`), `u32`.
    ItemEnd(AxisId),
    /// Items on an axis for the current indices of the others (`PTO_ITEM_COUNT(axis)`), `u32`.
    ItemCount(AxisId),
    /// Largest valid element of a tile, of the type that [`crate::Elem::operand`] gives for its elements; the tile has one row.
    TileMax(LocalId),
    /// Sum of the valid elements of a tile, of that type; the tile has one row.
    TileSum(LocalId),
    /// Valid rows of a tile, `u32`.
    TileRows(LocalId),
    /// Valid columns of a tile, `u32`.
    TileCols(LocalId),
    /// One element of a tensor (`PTO_LOAD_SCALAR`), of the type that [`crate::Elem::scalar`] gives for its elements.
    LoadScalar(TensorId, Vec<Expr>),
}

/// An argument of a helper call.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A scalar.
    Scalar(Expr),
    /// An integer array.
    Array(ArrayRef),
}

/// Calls `$f` on every direct operand of `$kind`; `$iter` and the borrow say whether it may change them.
macro_rules! visit_children {
    ($kind:expr, $f:ident, $iter:ident, $($borrow:tt)+) => {
        match $kind {
            ExprKind::Unary(_, a)
            | ExprKind::Cast(a)
            | ExprKind::Math(_, a)
            | ExprKind::Load(_, a)
            | ExprKind::ArrayMax(_, a)
            | ExprKind::ArraySum(_, a)
            | ExprKind::SelectTier(_, a) => $f(a),
            ExprKind::Binary(_, a, b) => {
                $f(a);
                $f(b);
            }
            ExprKind::Chain(first, rest) => {
                $f(first);
                rest.$iter().for_each(|(_, operand)| $f(operand));
            }
            ExprKind::Select(a, b, c) => {
                $f(a);
                $f(b);
                $f(c);
            }
            ExprKind::Call(_, args) => {
                for arg in args {
                    if let Arg::Scalar(e) = arg {
                        $f(e);
                    }
                }
            }
            ExprKind::AllocWs(slot) => {
                $f($($borrow)+ slot.tier);
                slot.key.$iter().for_each(&mut *$f);
                $f($($borrow)+ slot.count);
                $f($($borrow)+ slot.index);
            }
            ExprKind::LoadScalar(_, index) => index.$iter().for_each($f),
            ExprKind::Const(_)
            | ExprKind::Param(_)
            | ExprKind::Local(_)
            | ExprKind::Field(..)
            | ExprKind::Selector
            | ExprKind::ArrayLen(_)
            | ExprKind::MaxBlocks
            | ExprKind::AxisExtent(_)
            | ExprKind::AxisTile(_)
            | ExprKind::ItemBegin(_)
            | ExprKind::ItemEnd(_)
            | ExprKind::ItemCount(_)
            | ExprKind::TileMax(_)
            | ExprKind::TileSum(_)
            | ExprKind::TileRows(_)
            | ExprKind::TileCols(_) => {}
        }
    };
}

impl Expr {
    /// An expression with a position.
    pub fn new(kind: ExprKind, ty: ScalarTy, span: Span) -> Expr {
        Expr { kind, ty, span }
    }

    /// A `u32` constant.
    pub fn u32(value: u32, span: Span) -> Expr {
        Expr::new(ExprKind::Const(Const::Int(i128::from(value))), ScalarTy::U32, span)
    }

    /// A variable.
    pub fn local(local: LocalId, ty: ScalarTy, span: Span) -> Expr {
        Expr::new(ExprKind::Local(local), ty, span)
    }

    /// A binary operation on operands of one type; comparisons and logic yield `bool`.
    pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
        let ty = if op.is_comparison() || op.is_logic() { ScalarTy::Bool } else { a.ty };
        let span = a.span.to(b.span);
        Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    /// [`Expr::binary`] for operators of a program, of which there may be thousands: behind [`CHAINED`] operators a sum or a product is
    /// a [chain](ExprKind::Chain), which makes the tree no deeper.
    pub fn joined(op: BinOp, a: Expr, b: Expr) -> Expr {
        let (ty, span) = (a.ty, a.span.to(b.span));
        let goes_on = |of: BinOp| op.goes_on_from(of) && b.ty == ty;
        match a.kind {
            ExprKind::Chain(first, mut rest) if rest.first().is_some_and(|(of, _)| goes_on(*of)) => {
                rest.push((op, b));
                Expr::new(ExprKind::Chain(first, rest), ty, span)
            }
            kind => {
                let a = Expr { kind, ..a };
                if goes_on(op) && a.operators_on_the_left() >= CHAINED {
                    return Expr::new(ExprKind::Chain(Box::new(a), vec![(op, b)]), ty, span);
                }
                Expr::binary(op, a, b)
            }
        }
    }

    /// How many operators stand on the left side of each other, up to [`CHAINED`].
    fn operators_on_the_left(&self) -> u32 {
        let (mut left, mut count) = (self, 0);
        while let ExprKind::Binary(_, inner, _) = &left.kind
            && count < CHAINED
        {
            (left, count) = (inner, count + 1);
        }
        count
    }

    /// The value when the expression is an integer literal.
    pub fn as_const_int(&self) -> Option<i128> {
        match self.kind {
            ExprKind::Const(Const::Int(v)) => Some(v),
            _ => None,
        }
    }

    /// Calls `f` on every direct operand.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        visit_children!(&self.kind, f, iter, &);
    }

    /// Calls `f` on every direct operand, for change in place.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        visit_children!(&mut self.kind, f, iter_mut, &mut);
    }

    /// Whether `test` holds for this expression or one inside it.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }
}
