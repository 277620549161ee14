//! `PTO_SPLIT`: a dynamic axis whose items follow from its length and not from a tile size.
//!
//! A split gives an axis variables that hold what is known of the current indices of the other axes: its elements, its
//! items and, where it is balanced, its place on the line of all elements. They are set wherever the nest works out how
//! far the axis runs, which it does on every way into the body, so the body may read them.
//!
//! # Balanced splits
//!
//! The elements of all indices of the other axes, in the order of the space, lie on one line of `total` elements. Of
//! `cores` equal shares share `k` ends at `total · k / cores`. A cut `o` elements into the range of some indices is moved to
//! the nearest multiple of `align` there, which is `⌊(o + half) / align⌋ · align` with `half = ⌊align / 2⌋`; where that is
//! the begin of the range, or not before its end, nothing is cut. Of a range of `n` elements those with
//! `align - half <= o < min(n, ⌈n / align⌉ · align - half)` remain. The number of shares that end before place `x` of the
//! line is `⌈x · cores / total⌉ - 1`, so counting the cuts takes one division where there are none and else two, and
//! finding one of them takes one.

use super::axes::{self, AxisCx, Extent, Item, Lengths};
use crate::fold;
use std::collections::BTreeSet;
use wsp_core::{AxisId, LocalId};
use wsp_ir::{
    ArrayRef, AxisEnd, BinOp, Block, Derivation, DerivedArray, Expr, ExprKind, Function, LaunchArray,
    LocalTy, ScalarTy, Span, Stmt, StmtKind,
};

/// A split axis.
pub(super) struct Split {
    span: Span,
    /// First element of the axis.
    start: Expr,
    /// What stands before the loops.
    pub(super) header: Block,
    /// Sets the variables for the indices at hand.
    setup: Block,
    /// Positions in the space of the axes whose indices the items depend on.
    uses: BTreeSet<usize>,
    cuts: Cuts,
}

/// Where items begin and end, relative to the first element.
enum Cuts {
    /// One item of so many elements.
    Whole { elements: Expr },
    /// Items of `size` elements.
    Fixed { size: Expr, elements: Expr, count: Expr },
    /// Shares of cores.
    Balanced { line: Box<Line>, elements: Expr, count: Expr, before: Expr, from: Expr },
}

/// The line of all elements; `u64`.
struct Line {
    total: Expr,
    cores: Expr,
    align: u32,
}

impl Split {
    /// How far the index runs.
    pub(super) fn extent(&self) -> Extent {
        Extent { setup: self.setup.clone(), end: self.count(), uses: self.uses.clone(), guard: None }
    }

    /// Items for the indices at hand.
    pub(super) fn count(&self) -> Expr {
        match &self.cuts {
            Cuts::Whole { .. } => Expr::u32(1, self.span),
            Cuts::Fixed { count, .. } | Cuts::Balanced { count, .. } => count.clone(),
        }
    }

    /// First element of item `index`.
    pub(super) fn begin(&self, index: Expr) -> Expr {
        let zero = Expr::u32(0, self.span);
        let offset = match &self.cuts {
            Cuts::Whole { .. } => zero,
            Cuts::Fixed { size, .. } => fold::mul(index, size.clone()),
            Cuts::Balanced { .. } => {
                let first = fold::binary(BinOp::Eq, index.clone(), zero.clone());
                select(first, zero, self.cut(index))
            }
        };
        fold::add(self.start.clone(), offset)
    }

    /// The end, exclusive, of item `index`.
    pub(super) fn end(&self, index: Expr) -> Expr {
        let offset = match &self.cuts {
            Cuts::Whole { elements } => elements.clone(),
            Cuts::Fixed { size, elements, .. } => {
                let begin = fold::mul(index, size.clone());
                fold::add(begin.clone(), fold::min(size.clone(), fold::sub(elements.clone(), begin)))
            }
            Cuts::Balanced { elements, count, .. } => {
                let next = fold::add(index, Expr::u32(1, self.span));
                let last = fold::binary(BinOp::Eq, next.clone(), count.clone());
                select(last, elements.clone(), self.cut(next))
            }
        };
        fold::add(self.start.clone(), offset)
    }

    /// The cut between items `index - 1` and `index`, for an index from 1 on.
    fn cut(&self, index: Expr) -> Expr {
        let Cuts::Balanced { line, before, from, .. } = &self.cuts else { return index };
        let share = fold::add(before.clone(), wide(index));
        let place = fold::mul(share, line.total.clone());
        let half = fold::mul(self.wide(line.align / 2), line.cores.clone());
        let offset = fold::add(fold::sub(place, fold::mul(from.clone(), line.cores.clone())), half);
        let step = fold::mul(line.cores.clone(), self.wide(line.align));
        let at = fold::mul(fold::binary(BinOp::Div, offset, step), self.wide(line.align));
        fold::cast(at, ScalarTy::U32)
    }

    fn wide(&self, value: u32) -> Expr {
        fold::int(i128::from(value), ScalarTy::U64, self.span)
    }
}

fn wide(e: Expr) -> Expr {
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
    pub(super) span: Span,
}

impl Maker<'_, '_> {
    /// `PTO_WHOLE`.
    pub(super) fn whole(mut self) -> Split {
        let elements = self.elements();
        self.split(Block::new(), Block::new(), BTreeSet::new(), Cuts::Whole { elements })
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
        let length = self.elements();
        setup.push(self.assign(&elements, length));
        let one = Expr::u32(1, self.span);
        setup.push(self.assign(&count, fold::max(fold::ceil_div(elements.clone(), size.clone()), one)));
        let uses = self.lengths.uses();
        self.split(header, setup, uses, Cuts::Fixed { size, elements, count })
    }

    /// `PTO_BALANCED(align)`; the ends of the other axes are known at launch.
    pub(super) fn balanced(mut self, align: u32) -> Split {
        let (mut header, mut setup) = (Block::new(), Block::new());
        let line = self.line(align, &mut header);
        let elements = self.declare("elements", None, ScalarTy::U32, &mut header);
        let count = self.declare("items", None, ScalarTy::U32, &mut header);
        let from = self.declare("from", None, ScalarTy::U64, &mut header);
        let before = self.declare("before", None, ScalarTy::U64, &mut header);
        let length = self.elements();
        setup.push(self.assign(&elements, length));
        let place = self.place(&elements);
        setup.push(self.assign(&from, place));
        setup.push(self.assign(&count, Expr::u32(1, self.span)));
        setup.push(self.cuts_inside(&line, (&elements, &count), (&from, &before)));
        let uses = (0..self.cx.space.axes.len()).filter(|i| *i != self.position).collect();
        let line = Box::new(line);
        self.split(header, setup, uses, Cuts::Balanced { line, elements, count, before, from })
    }

    /// The number of cuts inside the range at hand, and of those before it.
    fn cuts_inside(
        &self,
        line: &Line,
        (elements, count): (&Expr, &Expr),
        (from, before): (&Expr, &Expr),
    ) -> Stmt {
        let (align, half) = (self.int(line.align), self.int(line.align / 2));
        let one = self.int(1);
        // Shares that end before a place of the line, which is not its begin.
        let ended = |place: Expr| {
            let shares = fold::ceil_div(fold::mul(place, line.cores.clone()), line.total.clone());
            fold::sub(shares, one.clone())
        };
        let length = wide(elements.clone());
        let first = fold::min(fold::sub(align.clone(), half.clone()), length.clone());
        let padded = fold::mul(fold::ceil_div(length.clone(), align.clone()), align);
        let past = fold::min(fold::sub(padded, half), length);
        let (first, past) = (fold::add(from.clone(), first), fold::add(from.clone(), past));
        let next = fold::mul(fold::add(before.clone(), one.clone()), line.total.clone());
        let cut = fold::binary(BinOp::Lt, next, fold::mul(past.clone(), line.cores.clone()));
        let inside = fold::sub(ended(past), before.clone());
        let items = fold::add(fold::cast(inside, ScalarTy::U32), Expr::u32(1, self.span));
        // Most ranges are not cut, and those take no second division.
        let several = vec![self.assign(count, items)];
        let several = self.stmt(StmtKind::If { cond: cut, then: several, otherwise: Block::new() });
        let then = vec![self.assign(before, ended(first)), several];
        let cond = fold::binary(BinOp::Gt, elements.clone(), Expr::u32(0, self.span));
        self.stmt(StmtKind::If { cond, then, otherwise: Block::new() })
    }

    /// The line: its length, and how many cores share it. Fewer than there are where shares would be shorter than what
    /// cuts are aligned to.
    fn line(&mut self, align: u32, header: &mut Block) -> Line {
        let tuples = self.others().into_iter().fold(self.int(1), |tuples, axis| {
            let (_, count) = self.indices(axis);
            fold::mul(tuples, wide(count))
        });
        let along = match self.lengths {
            Lengths::Scalar => wide(self.elements()),
            Lengths::PerFirst(array) => {
                let (start, count) = self.indices(0);
                fold::sub(self.starts(array, fold::add(start, count)), self.first_start(array))
            }
        };
        let total = self.declare("line", Some(fold::mul(along, tuples)), ScalarTy::U64, header);
        let blocks = wide(Expr::new(ExprKind::MaxBlocks, ScalarTy::U32, self.span));
        let most = fold::binary(BinOp::Div, total.clone(), self.int(align));
        let cores = fold::max(fold::min(blocks, most), self.int(1));
        let cores = self.declare("shares", Some(cores), ScalarTy::U64, header);
        Line { total, cores, align }
    }

    /// Where the range at hand begins on the line.
    fn place(&mut self, elements: &Expr) -> Expr {
        let others = self.others();
        let tuples = others.iter().fold(self.int(1), |all, axis| fold::mul(all, wide(self.indices(*axis).1)));
        let rank = others.iter().fold(self.int(0), |rank, axis| {
            let (start, count) = self.indices(*axis);
            let index = Expr::local(self.item.vars[*axis], ScalarTy::U32, self.span);
            fold::add(fold::mul(rank, wide(count)), wide(fold::sub(index, start)))
        });
        let within = fold::mul(rank, wide(elements.clone()));
        match self.lengths {
            Lengths::Scalar => within,
            Lengths::PerFirst(array) => {
                let first = Expr::local(self.item.vars[0], ScalarTy::U32, self.span);
                let before = fold::sub(self.starts(array, first), self.first_start(array));
                fold::add(fold::mul(before, tuples), within)
            }
        }
    }

    /// The sum of the lengths before the first index of the first axis.
    fn first_start(&self, of: LaunchArray) -> Expr {
        match self.indices(0).0 {
            start if start.as_const_int() == Some(0) => self.int(0),
            start => self.starts(of, start),
        }
    }

    /// The sum of the lengths before an index of the first axis.
    fn starts(&self, of: LaunchArray, index: Expr) -> Expr {
        let array = ArrayRef::Derived(DerivedArray { kind: Derivation::Starts, of });
        Expr::new(ExprKind::Load(array, Box::new(index)), ScalarTy::U64, self.span)
    }

    /// The axes beside the split one whose indices repeat the same lengths.
    fn others(&self) -> Vec<usize> {
        let first = usize::from(matches!(self.lengths, Lengths::PerFirst(_)));
        (first..self.cx.space.axes.len()).filter(|i| *i != self.position).collect()
    }

    /// First index of an axis with a fixed end, and how many there are.
    fn indices(&self, axis: usize) -> (Expr, Expr) {
        let id = self.cx.space.axes[axis];
        let declared = &self.cx.module.axes[id.index()];
        let AxisEnd::Expr(end) = &declared.end else { return (self.zero(), self.zero()) };
        let start = if declared.tile.is_some() { self.zero() } else { axes::as_u32(&declared.start) };
        let end = axes::static_end(id, declared, end);
        (start.clone(), fold::sub(fold::max(end, start.clone()), start))
    }

    fn elements(&mut self) -> Expr {
        axes::elements(self.cx, self.item, self.func, self.position).unwrap_or_else(|| self.zero())
    }

    fn split(self, header: Block, setup: Block, uses: BTreeSet<usize>, cuts: Cuts) -> Split {
        let start = axes::as_u32(&self.cx.module.axes[self.id().index()].start);
        Split { span: self.span, start, header, setup, uses, cuts }
    }

    fn id(&self) -> AxisId {
        self.cx.space.axes[self.position]
    }

    fn zero(&self) -> Expr {
        Expr::u32(0, self.span)
    }

    fn int(&self, value: u32) -> Expr {
        fold::int(i128::from(value), ScalarTy::U64, self.span)
    }

    fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt { kind, span: self.span }
    }

    /// A variable that stands before the loops; without a first value it is 0.
    fn declare(&mut self, what: &str, init: Option<Expr>, ty: ScalarTy, out: &mut Block) -> Expr {
        let name = format!("{}_{what}", self.cx.module.axes[self.id().index()].name);
        let local: LocalId = self.func.add_local(name, LocalTy::Scalar(ty), self.span);
        out.push(self.stmt(StmtKind::Let { local, init }));
        Expr::local(local, ty, self.span)
    }

    fn assign(&self, to: &Expr, value: Expr) -> Stmt {
        let ExprKind::Local(local) = to.kind else {
            unreachable!("the variables of a split are variables");
        };
        self.stmt(StmtKind::Assign { local, value })
    }
}
