//! `PTO_SPLIT`: a dynamic axis whose items follow from its length and not from a tile size.
//!
//! A split gives an axis variables that hold what is known of the current indices of the other axes: its elements, its
//! items and, where it is balanced, its place on the line of all elements. They are set wherever the nest works out how
//! far the axis runs, which it does on every way into the body, so the body may read them.

use super::axes::{self, AxisCx, Extent, Item, Lengths};
use super::balanced::Balanced;
use crate::fold;
use crate::lower::BalancedLine;
use wsp_core::{AxisId, LocalId};
use wsp_diag::Span;
use wsp_ir::{BinOp, Block, Expr, ExprKind, Function, LocalTy, ScalarTy, Stmt, StmtKind};
use wsp_ordered::OrderedSet;

/// A split axis.
pub(super) struct Split {
    span: Span,
    /// First element for the indices at hand.
    start: Expr,
    /// What stands before the loops.
    pub(super) header: Block,
    /// Sets the variables for the indices at hand.
    setup: Block,
    /// Positions in the space of the axes whose indices the items depend on.
    uses: OrderedSet<usize>,
    cuts: Cuts,
}

/// Where items begin and end, relative to the first element.
enum Cuts {
    /// One item of all elements, which ends here.
    Whole { past: Expr },
    /// Items of `size` elements.
    Fixed { size: Expr, elements: Expr, count: Expr },
    /// Shares of cores.
    Balanced(Box<Balanced>),
}

impl Split {
    /// How far the index runs.
    pub(super) fn extent(&self) -> Extent {
        Extent { setup: self.setup.clone(), end: self.count(), uses: self.uses.clone(), guard: None }
    }

    /// What the cuts of a balanced split follow from, where requests have lengths.
    pub(super) fn line(&self) -> Option<&BalancedLine> {
        match &self.cuts {
            Cuts::Balanced(balanced) => balanced.follows.as_ref(),
            Cuts::Whole { .. } | Cuts::Fixed { .. } => None,
        }
    }

    /// Items for the indices at hand.
    pub(super) fn count(&self) -> Expr {
        match &self.cuts {
            Cuts::Whole { .. } => Expr::u32(1, self.span),
            Cuts::Fixed { count, .. } => count.clone(),
            Cuts::Balanced(balanced) => balanced.count.clone(),
        }
    }

    /// First element of item `index`.
    pub(super) fn begin(&self, index: Expr) -> Expr {
        let zero = Expr::u32(0, self.span);
        let offset = match &self.cuts {
            Cuts::Whole { .. } => zero,
            Cuts::Fixed { size, .. } => fold::mul(index, size.clone()),
            Cuts::Balanced(balanced) => {
                let first = fold::binary(BinOp::Eq, index.clone(), zero.clone());
                select(first, zero, balanced.cut(index))
            }
        };
        fold::add(self.start.clone(), offset)
    }

    /// The end, exclusive, of item `index`.
    pub(super) fn end(&self, index: Expr) -> Expr {
        let offset = match &self.cuts {
            Cuts::Whole { past } => return past.clone(),
            Cuts::Fixed { size, elements, .. } => {
                let begin = fold::mul(index, size.clone());
                fold::add(begin.clone(), fold::min(size.clone(), fold::sub(elements.clone(), begin)))
            }
            Cuts::Balanced(balanced) => {
                let next = fold::add(index, Expr::u32(1, self.span));
                let last = fold::binary(BinOp::Eq, next.clone(), balanced.count.clone());
                select(last, balanced.elements.clone(), balanced.cut(next))
            }
        };
        fold::add(self.start.clone(), offset)
    }
}

/// An expression as `u64`.
pub(super) fn wide(e: Expr) -> Expr {
    fold::cast(e, ScalarTy::U64)
}

fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let (ty, span) = (then.ty, then.span);
    Expr::new(ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise)), ty, span)
}

/// Makes splits; names and declares their variables.
pub(super) struct Maker<'m, 'a> {
    pub(super) cx: &'m AxisCx<'a>,
    pub(super) item: &'m Item<'a>,
    pub(super) func: &'m mut Function,
    /// The split axis: its position in the space.
    pub(super) position: usize,
    /// Where its elements come from.
    pub(super) lengths: Lengths,
    /// How many of them stand before those that exist, where that is held in a variable.
    pub(super) left_out: Option<Expr>,
    pub(super) span: Span,
}

impl Maker<'_, '_> {
    /// `PTO_WHOLE`.
    pub(super) fn whole(self) -> Split {
        let length = axes::length(self.cx, self.item, self.func, self.position);
        let past = fold::add(self.start(), length.unwrap_or_else(|| self.zero()));
        let left_out = axes::left_out(self.cx, self.item, self.func, self.position);
        self.split(left_out, Block::new(), Block::new(), OrderedSet::new(), Cuts::Whole { past })
    }

    /// `PTO_FIXED(size)`.
    pub(super) fn fixed(mut self, size: &Expr) -> Split {
        let (mut header, mut setup) = (Block::new(), Block::new());
        let given = fold::cast(size.clone(), ScalarTy::U32);
        let size = match size.as_const_int() {
            Some(_) => given,
            None => self.declare("size", Some(given), ScalarTy::U32, &mut header),
        };
        header.push(self.stmt(StmtKind::SetTile { axis: self.id(), size: size.clone() }));
        let elements = self.declare("elements", None, ScalarTy::U32, &mut header);
        let count = self.declare("items", None, ScalarTy::U32, &mut header);
        self.left_out = self.declare_left_out(&mut header);
        setup.extend(self.set_elements(&elements));
        let one = Expr::u32(1, self.span);
        setup.push(self.assign(&count, fold::max(fold::ceil_div(elements.clone(), size.clone()), one)));
        let uses = self.lengths.uses();
        let left_out = self.left_out.take().unwrap_or_else(|| self.zero());
        self.split(left_out, header, setup, uses, Cuts::Fixed { size, elements, count })
    }

    /// `PTO_BALANCED(align)`; the ends of the other axes are known at launch.
    pub(super) fn balanced(mut self, align: u32) -> Split {
        let (mut header, mut setup) = (Block::new(), Block::new());
        self.left_out = self.declare_left_out(&mut header);
        let balanced = self.balance(align, &mut header, &mut setup);
        let uses = (0..self.cx.space.axes.len()).filter(|i| *i != self.position).collect();
        let left_out = self.left_out.take().unwrap_or_else(|| self.zero());
        self.split(left_out, header, setup, uses, Cuts::Balanced(Box::new(balanced)))
    }

    /// A variable for how many elements stand before those that exist; none where all do.
    fn declare_left_out(&mut self, header: &mut Block) -> Option<Expr> {
        self.cx.last(self.position)?;
        Some(self.declare("left_out", None, ScalarTy::U32, header))
    }

    /// Sets the elements for the indices at hand, and how many are left out.
    pub(super) fn set_elements(&mut self, elements: &Expr) -> Block {
        let length = axes::length(self.cx, self.item, self.func, self.position);
        let length = length.unwrap_or_else(|| self.zero());
        match (self.cx.last(self.position), &self.left_out) {
            (Some(last), Some(left_out)) => vec![
                self.assign(left_out, length),
                self.assign(elements, fold::min(left_out.clone(), last.clone())),
                self.assign(left_out, fold::sub(left_out.clone(), elements.clone())),
            ],
            _ => vec![self.assign(elements, length)],
        }
    }

    pub(super) fn elements(&mut self) -> Expr {
        axes::elements(self.cx, self.item, self.func, self.position).unwrap_or_else(|| self.zero())
    }

    fn split(
        self,
        left_out: Expr,
        header: Block,
        setup: Block,
        uses: OrderedSet<usize>,
        cuts: Cuts,
    ) -> Split {
        Split { span: self.span, start: fold::add(self.start(), left_out), header, setup, uses, cuts }
    }

    fn start(&self) -> Expr {
        axes::as_u32(&self.cx.module.axes[self.id().index()].start)
    }

    fn id(&self) -> AxisId {
        self.cx.space.axes[self.position]
    }

    pub(super) fn zero(&self) -> Expr {
        Expr::u32(0, self.span)
    }

    pub(super) fn int(&self, value: u32) -> Expr {
        fold::int(i128::from(value), ScalarTy::U64, self.span)
    }

    pub(super) fn when(&self, cond: Expr, then: Block) -> Stmt {
        self.stmt(StmtKind::If { cond, then, otherwise: Block::new() })
    }

    fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt { kind, span: self.span }
    }

    /// A variable that stands before the loops; without a first value it is 0.
    pub(super) fn declare(&mut self, what: &str, init: Option<Expr>, ty: ScalarTy, out: &mut Block) -> Expr {
        let name = format!("{}_{what}", self.cx.module.axes[self.id().index()].name);
        let local: LocalId = self.func.add_local(name, LocalTy::Scalar(ty), self.span);
        out.push(self.stmt(StmtKind::Let { local, init }));
        Expr::local(local, ty, self.span)
    }

    pub(super) fn assign(&self, to: &Expr, value: Expr) -> Stmt {
        let ExprKind::Local(local) = to.kind else {
            unreachable!("the variables of a split are variables");
        };
        self.stmt(StmtKind::Assign { local, value })
    }
}
