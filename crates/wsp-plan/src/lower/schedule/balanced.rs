//! `PTO_BALANCED`: cuts where the shares of equal cores end.
//!
//! The elements of all indices of the other axes, in the order of the space, lie on one line of `total` elements. Of
//! `cores` equal shares share `k` ends at `total · k / cores`. A cut `o` elements into the range of some indices is moved to
//! the nearest multiple of `align` there, which is `⌊(o + half) / align⌋ · align` with `half = ⌊align / 2⌋`; where that is
//! the begin of the range, or not before its end, nothing is cut. Of a range of `n` elements those with
//! `align - half <= o < min(n, ⌈n / align⌉ · align - half)` remain.
//!
//! Places of the line are kept in *parts*, `cores` to an element, so that a share has `total` parts. The number of shares
//! that end before place `x` is `⌈x / total⌉ - 1`: a division. It is made only where the number known from the range before
//! is another one; `k` shares end before `x` as long as `k · total < x <= (k + 1) · total`. In the same way what follows
//! from the index of the first axis alone is worked out where that index is another one. So in the order of the line the
//! work for most ranges is an addition or two, and in any other order the outcome is the same.

use super::axes::{self, Lengths, Rows};
use super::split::{Maker, wide};
use crate::fold;
use crate::lower::BalancedLine;
use wsp_diag::Span;
use wsp_ir::{AxisEnd, BinOp, Block, Derivation, Expr, ExprKind, ScalarTy, Stmt};

/// The cuts of a balanced split for the indices at hand.
pub(super) struct Balanced {
    line: Line,
    /// What the cuts follow from, where requests have lengths.
    pub(super) follows: Option<BalancedLine>,
    /// `u32`, like the number of items.
    pub(super) elements: Expr,
    pub(super) count: Expr,
    /// Shares that end before the first place where the range may be cut; there for ranges that are cut only.
    before: Expr,
    /// Where the range begins, in parts.
    from: Expr,
    span: Span,
}

/// The line of all elements; `u64`.
struct Line {
    total: Expr,
    cores: Expr,
    align: u32,
    /// `align` elements and half of that, in parts.
    step: Expr,
    half: Expr,
}

/// What follows from the first index, in parts; `u64`.
struct Row {
    /// The index that it is known for.
    seen: Expr,
    /// Where the first range begins.
    base: Expr,
    /// Length of a range.
    width: Expr,
    /// From the begin of a range to the first place where it may be cut.
    lead: Expr,
    /// From the begin of a range to behind the last of these places.
    tail: Expr,
    /// What a share has more than these places; 0 where it has less.
    slack: Expr,
}

/// Which shares end around the range at hand; `u64`.
struct Shares {
    /// Those that end before `due`.
    ended: Expr,
    /// Where the next one ends, in parts.
    due: Expr,
    /// The first place where the range may be cut, and one behind the last.
    place: Expr,
    past: Expr,
}

impl Balanced {
    /// The cut between items `index - 1` and `index`, for an index from 1 on.
    pub(super) fn cut(&self, index: Expr) -> Expr {
        let Line { total, align, step, half, .. } = &self.line;
        let place = fold::mul(fold::add(self.before.clone(), wide(index)), total.clone());
        let offset = fold::add(fold::sub(place, self.from.clone()), half.clone());
        let align = fold::int(i128::from(*align), ScalarTy::U64, self.span);
        let at = fold::mul(fold::binary(BinOp::Div, offset, step.clone()), align);
        fold::cast(at, ScalarTy::U32)
    }
}

impl Maker<'_, '_> {
    /// Declares what is known of a range, and adds the statements that set it.
    pub(super) fn balance(&mut self, align: u32, header: &mut Block, setup: &mut Block) -> Balanced {
        let line = self.line(align, header);
        let elements = self.declare("elements", None, ScalarTy::U32, header);
        let count = self.declare("items", None, ScalarTy::U32, header);
        let mut part = |what: &str| {
            self.declare(what, Some(fold::int(0, ScalarTy::U64, self.span)), ScalarTy::U64, header)
        };
        let [from, before] = ["from", "before"].map(&mut part);
        let [base, width, lead, tail, slack] = ["base", "width", "lead", "tail", "slack"].map(&mut part);
        let [ended, due, place, past] = ["ended", "due", "place", "past"].map(&mut part);
        // No index is so large.
        let none = fold::int(u64::MAX.into(), ScalarTy::U64, self.span);
        let seen = self.declare("seen", Some(none), ScalarTy::U64, header);
        let row = Row { seen, base, width, lead, tail, slack };
        let shares = Shares { ended, due, place, past };
        let known = self.row(&line, &elements, &row);
        setup.push(known);
        let within = fold::mul(self.rank(), row.width.clone());
        setup.push(self.assign(&from, fold::add(row.base.clone(), within)));
        setup.push(self.assign(&count, Expr::u32(1, self.span)));
        let some = fold::binary(BinOp::Gt, row.width.clone(), self.int(0));
        let past = self.assign(&shares.past, fold::add(from.clone(), row.tail.clone()));
        let cuts = self.cuts_inside(&line, &row, &shares, [&count, &before, &from]);
        let cuts = vec![past, cuts];
        setup.push(self.when(some, cuts));
        Balanced { follows: self.follows(align), line, elements, count, before, from, span: self.span }
    }

    /// What the cuts follow from.
    fn follows(&self, align: u32) -> Option<BalancedLine> {
        let Lengths::PerFirst(Rows { of, last }) = self.lengths else { return None };
        let (start, count) = self.indices(0);
        Some(BalancedLine { lengths: of, last, start, count, ranges: self.tuples(), align })
    }

    /// What follows from the first index, where that is another one.
    fn row(&mut self, line: &Line, elements: &Expr, row: &Row) -> Stmt {
        let (align, half) = (self.int(line.align), self.int(line.align / 2));
        let in_parts = |x: Expr| fold::mul(x, line.cores.clone());
        let index = match self.lengths {
            Lengths::Scalar => self.int(0),
            Lengths::PerFirst(_) => wide(Expr::local(self.item.vars[0], ScalarTy::U32, self.span)),
        };
        let length = || row.width.clone();
        let lead = fold::min(fold::sub(align.clone(), half.clone()), length());
        let padded = fold::mul(fold::ceil_div(length(), align.clone()), align.clone());
        // Of a range without elements nothing is cut, and the difference is none.
        let tail = fold::min(fold::sub(fold::max(padded, align), half), length());
        let within = fold::sub(row.tail.clone(), row.lead.clone());
        let other = fold::binary(BinOp::Ne, row.seen.clone(), index.clone());
        let mut found = self.set_elements(elements);
        found.extend(self.begin_and_length(line, elements, row));
        found.extend([
            self.assign(&row.lead, in_parts(lead)),
            self.assign(&row.tail, in_parts(tail)),
            self.assign(&row.width, in_parts(length())),
            self.assign(&row.slack, fold::sub(line.total.clone(), fold::min(within, line.total.clone()))),
            self.assign(&row.seen, index),
        ]);
        self.when(other, found)
    }

    /// Where the first range of a row begins, in parts, and its width, in elements for now. Both are those of the line, and
    /// so are all cuts: a plan that is kept while requests grow keeps them, and only the end of the last item is that of the
    /// elements that there are.
    fn begin_and_length(&self, line: &Line, elements: &Expr, row: &Row) -> Block {
        let Lengths::PerFirst(rows) = self.lengths else {
            return vec![self.assign(&row.width, wide(elements.clone()))];
        };
        let first = Expr::local(self.item.vars[0], ScalarTy::U32, self.span);
        let next = fold::add(first.clone(), Expr::u32(1, self.span));
        let before = fold::sub(row.base.clone(), self.first_start(rows));
        vec![
            self.assign(&row.base, self.starts(rows, first)),
            self.assign(&row.width, fold::sub(self.starts(rows, next), row.base.clone())),
            self.assign(&row.base, fold::mul(before, fold::mul(self.tuples(), line.cores.clone()))),
        ]
    }

    /// The number of cuts inside the range at hand, which has elements, and of those before it.
    fn cuts_inside(
        &self,
        line: &Line,
        row: &Row,
        shares: &Shares,
        [count, before, from]: [&Expr; 3],
    ) -> Stmt {
        let Shares { ended, due, place, past } = shares;
        let (total, one) = (|| line.total.clone(), || self.int(1));
        let over = |place: &Expr| fold::binary(BinOp::Gt, place.clone(), due.clone());
        // How far the share that was due ends behind a place, where it is not over.
        let ahead = |place: &Expr| fold::sub(due.clone(), place.clone());
        let far = fold::binary(BinOp::Ge, ahead(place), total());
        let next = fold::mul(fold::add(ended.clone(), one()), total());
        let found = vec![
            self.assign(ended, fold::sub(fold::ceil_div(place.clone(), total()), one())),
            self.assign(due, next.clone()),
        ];
        let known = self.when(Expr::binary(BinOp::Or, over(place), far), found);
        // Mostly there is one cut.
        let more = fold::binary(BinOp::Gt, fold::sub(past.clone(), due.clone()), total());
        let all = fold::sub(fold::ceil_div(past.clone(), total()), before.clone());
        let several = vec![self.assign(count, fold::cast(all, ScalarTy::U32))];
        let inside = fold::sub(wide(count.clone()), one());
        let cut = vec![
            self.assign(before, ended.clone()),
            self.assign(count, Expr::u32(2, self.span)),
            self.when(more, several),
            self.assign(ended, fold::add(before.clone(), inside)),
            self.assign(due, next),
        ];
        let cut = self.when(over(past), cut);
        let first = self.assign(place, fold::add(from.clone(), row.lead.clone()));
        // The same as `far` for all ranges that are shorter than a share.
        let far = fold::binary(BinOp::Ge, ahead(past), row.slack.clone());
        self.when(Expr::binary(BinOp::Or, over(past), far), vec![first, known, cut])
    }

    /// The line: its length, and how many cores share it. Fewer than there are where shares would be shorter than what
    /// cuts are aligned to.
    fn line(&mut self, align: u32, header: &mut Block) -> Line {
        let tuples = self.tuples();
        let along = match self.lengths {
            Lengths::Scalar => wide(self.elements()),
            Lengths::PerFirst(rows) => {
                let (start, count) = self.indices(0);
                fold::sub(self.starts(rows, fold::add(start, count)), self.first_start(rows))
            }
        };
        let total = self.declare("line", Some(fold::mul(along, tuples)), ScalarTy::U64, header);
        let blocks = wide(Expr::new(ExprKind::MaxBlocks, ScalarTy::U32, self.span));
        let most = fold::binary(BinOp::Div, total.clone(), self.int(align));
        let cores = fold::max(fold::min(blocks, most), self.int(1));
        let cores = self.declare("shares", Some(cores), ScalarTy::U64, header);
        let parts = |n: u32| Some(fold::mul(self.int(n), cores.clone()));
        let (step, half) = (parts(align), parts(align / 2));
        let step = self.declare("step", step, ScalarTy::U64, header);
        let half = self.declare("half", half, ScalarTy::U64, header);
        Line { total, cores, align, step, half }
    }

    /// How many ranges have the same lengths.
    fn tuples(&self) -> Expr {
        self.others().iter().fold(self.int(1), |all, axis| fold::mul(all, wide(self.indices(*axis).1)))
    }

    /// Which of these the range at hand is.
    fn rank(&self) -> Expr {
        self.others().iter().fold(self.int(0), |rank, axis| {
            let (start, count) = self.indices(*axis);
            let index = Expr::local(self.item.vars[*axis], ScalarTy::U32, self.span);
            fold::add(fold::mul(rank, wide(count)), wide(fold::sub(index, start)))
        })
    }

    /// The sum of the lengths before the first index of the first axis.
    fn first_start(&self, rows: Rows) -> Expr {
        match self.indices(0).0 {
            start if start.as_const_int() == Some(0) => self.int(0),
            start => self.starts(rows, start),
        }
    }

    /// The sum of the lengths before an index of the first axis.
    fn starts(&self, rows: Rows, index: Expr) -> Expr {
        let starts = rows.derived(Derivation::Starts);
        Expr::new(ExprKind::Load(starts, Box::new(index)), ScalarTy::U64, self.span)
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
}
