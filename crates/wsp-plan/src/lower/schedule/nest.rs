//! The loop nest of a schedule.
//!
//! Axes are opened from the outermost in. An interleaved axis is cut into groups; the loop over the members of a group is
//! *deferred* until the next axis has opened its own loop, so that one item of each member comes in turn. A blocked axis
//! cuts the next axis into blocks and loops over itself in between. Both compose: a deferred loop waits for the next loop
//! over single values, whatever cut it, and a block is a range that the next axis keeps to.
//!
//! The end of a ragged axis may depend on indices that are not known where its loop opens. Its loop then runs to the
//! largest end over all of them, and the axis stays *pending*: as soon as those indices are known, items past the exact
//! end are left out.
//!
//! No generated sum can overflow: every value is at most the end of its axis.

use super::axes::NestAxis;
use super::rename::{self, Renaming};
use crate::fold;
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{
    ArrayRef, BinOp, Block, Expr, ExprKind, Function, LocalTy, OrderPolicy, ScalarTy, Stmt, StmtKind,
};

/// What the nest is built from.
pub(super) struct Nest<'a> {
    pub(super) func: &'a mut Function,
    /// In the order of the space.
    pub(super) axes: &'a [NestAxis],
    /// Positions in the space, outermost first, and how each is ordered.
    pub(super) order: &'a [(usize, OrderPolicy)],
    pub(super) span: Span,
}

/// What is known where a loop is about to open; per position of the space.
#[derive(Clone)]
struct LoopCx {
    /// The variable that holds the index.
    index: Vec<Option<LocalId>>,
    /// A narrower range that the index keeps to.
    range: Vec<Option<(Expr, Expr)>>,
    /// Loops to open inside the next loop over single values, innermost first.
    deferred: Vec<usize>,
    /// Axes whose exact end is yet to be looked at.
    pending: Vec<usize>,
}

impl Nest<'_> {
    /// The nest with the body in its innermost loop.
    pub(super) fn build(mut self, body: Block) -> Block {
        let count = self.axes.len();
        let scope = LoopCx {
            index: vec![None; count],
            range: vec![None; count],
            deferred: Vec::new(),
            pending: Vec::new(),
        };
        if self.order.is_empty() {
            // `continue` needs a loop, also in a space without axes, which has one item.
            let once = self.fresh("item");
            return vec![self.counted(once, self.lit(0), self.lit(1), body)];
        }
        self.level(0, scope, body)
    }

    /// Exact end of an axis whose extent needs indices that are all known; in the body, all are.
    pub(super) fn end_in_body(&mut self, axis: usize) -> (Block, Expr) {
        let index = self.axes.iter().map(|axis| Some(axis.var)).collect();
        let range = vec![None; self.axes.len()];
        self.end(axis, &LoopCx { index, range, deferred: Vec::new(), pending: Vec::new() })
    }

    fn level(&mut self, level: usize, scope: LoopCx, body: Block) -> Block {
        let Some(&(axis, policy)) = self.order.get(level) else { return body };
        match (policy, self.order.get(level + 1)) {
            (OrderPolicy::Interleaved(n), Some(_)) => self.interleaved(level, axis, n, scope, body),
            (OrderPolicy::Blocked(n), Some(&(next, _))) => self.blocked(level, (axis, next), n, scope, body),
            _ => self.plain(level, axis, scope, body),
        }
    }

    /// `for group { … }`, with the loop over the group's members left for further inside.
    fn interleaved(&mut self, level: usize, axis: usize, n: u32, mut scope: LoopCx, body: Block) -> Block {
        let (mut out, lo, hi) = self.range(axis, &mut scope);
        let group = self.cut(&mut out, (axis, "group"), n, lo, hi);
        scope.range[axis] = Some(self.part_range(&group));
        scope.deferred.push(axis);
        let inner = self.level(level + 1, scope, body);
        out.push(self.parts(group, inner));
        out
    }

    /// `for block of the next axis { for axis { … } }`.
    fn blocked(
        &mut self,
        level: usize,
        (axis, next): (usize, usize),
        n: u32,
        mut scope: LoopCx,
        body: Block,
    ) -> Block {
        // The blocks reach as far as any value of this axis has items.
        let (mut out, lo, hi) = self.range(next, &mut scope);
        let block = self.cut(&mut out, (next, "block"), n, lo, hi);
        scope.range[next] = Some(self.part_range(&block));
        let inner = self.plain(level, axis, scope, body);
        out.push(self.parts(block, inner));
        out
    }

    /// A loop over single values, deferred loops inside it, and then what comes next.
    fn plain(&mut self, level: usize, axis: usize, mut scope: LoopCx, body: Block) -> Block {
        let (mut out, lo, hi) = self.range(axis, &mut scope);
        let var = self.axes[axis].var;
        scope.index[axis] = Some(var);
        let deferred = std::mem::take(&mut scope.deferred);
        let mut inner = self.opened(level, &deferred, scope, body);
        if self.order[level].1 == OrderPolicy::SequentialStrict {
            // The first value of the axis, not of the loop: a block of it is not its start.
            let later = fold::binary(BinOp::Gt, self.read(var), self.axes[axis].start.clone());
            let fence = vec![self.stmt(StmtKind::Fence)];
            inner.insert(0, self.stmt(StmtKind::If { cond: later, then: fence, otherwise: Vec::new() }));
        }
        out.push(match self.axes[axis].issued {
            Some(issued) => self.issued(axis, issued, (lo, hi), inner),
            None => self.counted(var, lo, hi, inner),
        });
        out
    }

    /// The loop over the places of an axis whose indices are issued in another order than the rising one. The array
    /// may have more indices than the axis.
    fn issued(&mut self, axis: usize, issued: ArrayRef, (lo, hi): (Expr, Expr), inner: Block) -> Stmt {
        let place = self.fresh(&format!("{}_place", self.axes[axis].name));
        let (var, start) = (self.axes[axis].var, self.axes[axis].start.clone());
        let load = ExprKind::Load(issued, Box::new(self.read(place)));
        let mut body = vec![self.declare(var, Expr::new(load, ScalarTy::U32, self.span))];
        let below = fold::binary(BinOp::Lt, self.read(var), self.axes[axis].extent.end.clone());
        let exists = match start.as_const_int() {
            Some(0) => below,
            _ => Expr::binary(BinOp::And, fold::binary(BinOp::Ge, self.read(var), start), below),
        };
        body.push(self.stmt(StmtKind::If { cond: exists, then: inner, otherwise: Vec::new() }));
        self.counted(place, lo, hi, body)
    }

    /// The inside of a loop over single values: deferred loops, the last one outermost.
    fn opened(&mut self, level: usize, deferred: &[usize], mut scope: LoopCx, body: Block) -> Block {
        let innermost = deferred.is_empty() && level + 1 == self.order.len();
        let checks = self.checks(innermost, &mut scope);
        let inner = match deferred.split_last() {
            Some((&axis, rest)) => {
                let (mut out, lo, hi) = self.range(axis, &mut scope);
                let var = self.axes[axis].var;
                scope.index[axis] = Some(var);
                let inner = self.opened(level, rest, scope, body);
                out.push(self.counted(var, lo, hi, inner));
                out
            }
            None => self.level(level + 1, scope, body),
        };
        checks.into_iter().rev().fold(inner, |inner, (mut setup, exists)| {
            setup.push(self.stmt(StmtKind::If { cond: exists, then: inner, otherwise: Vec::new() }));
            setup
        })
    }

    /// What tells that an item exists, for the axes whose exact end has become known.
    fn checks(&mut self, innermost: bool, scope: &mut LoopCx) -> Vec<(Block, Expr)> {
        let known = |axis: &usize, scope: &LoopCx| {
            let uses = &self.axes[*axis].extent.uses;
            scope.index[*axis].is_some() && uses.iter().all(|used| scope.index[*used].is_some())
        };
        let (now, later) = scope.pending.iter().copied().partition(|axis| known(axis, scope));
        scope.pending = later;
        let now: Vec<usize> = now;
        // The body's own guard does it where nothing is between the check and the body.
        let needed = now.into_iter().filter(|axis| !(innermost && self.axes[*axis].guard.is_some()));
        let needed: Vec<usize> = needed.collect();
        needed
            .into_iter()
            .map(|axis| {
                let (setup, end) = self.end(axis, scope);
                (setup, fold::binary(BinOp::Lt, self.read(self.axes[axis].var), end))
            })
            .collect()
    }

    /// First index and exclusive end of an axis's loop here, after the statements that compute them.
    fn range(&mut self, axis: usize, scope: &mut LoopCx) -> (Block, Expr, Expr) {
        let axes = self.axes;
        let uses = &axes[axis].extent.uses;
        let exact = uses.iter().all(|used| scope.index[*used].is_some());
        if !exact && !scope.pending.contains(&axis) {
            scope.pending.push(axis);
        }
        match scope.range[axis].clone() {
            // The range comes from an end that was not exact either.
            Some((lo, hi)) if !exact || uses.is_empty() => (Vec::new(), lo, hi),
            Some((lo, hi)) => {
                let (setup, end) = self.exact_end(axis, scope);
                scope.pending.retain(|pending| *pending != axis);
                (setup, lo, fold::min(hi, end))
            }
            None => {
                let (setup, end) = self.end(axis, scope);
                match axes[axis].issued {
                    Some(issued) => {
                        let places = Expr::new(ExprKind::ArrayLen(issued), ScalarTy::U32, self.span);
                        (setup, self.lit(0), fold::max(end, places))
                    }
                    None => (setup, axes[axis].start.clone(), end),
                }
            }
        }
    }

    /// The end of an axis: exact where the indices that it needs are known, else the largest over the others.
    fn end(&mut self, axis: usize, scope: &LoopCx) -> (Block, Expr) {
        let axes = self.axes;
        let uses = axes[axis].extent.uses.iter().copied();
        let mut unknown: Vec<usize> = uses.filter(|used| scope.index[*used].is_none()).collect();
        if unknown.is_empty() {
            return self.exact_end(axis, scope);
        }
        // Indices on which ends of others depend come first; no two depend on each other.
        let mut ordered = Vec::with_capacity(unknown.len());
        while let Some(free) =
            unknown.iter().position(|u| unknown.iter().all(|v| !axes[*u].extent.uses.contains(v)))
        {
            ordered.push(unknown.remove(free));
        }
        let largest = self.fresh(&format!("{}_end", self.axes[axis].name));
        let mut out = vec![self.declare(largest, self.lit(0))];
        out.extend(self.largest_end(axis, &ordered, scope.clone(), largest));
        (out, self.read(largest))
    }

    fn largest_end(&mut self, axis: usize, unknown: &[usize], mut scope: LoopCx, largest: LocalId) -> Block {
        let Some((&over, rest)) = unknown.split_first() else {
            let (mut out, end) = self.exact_end(axis, &scope);
            let value = fold::max(self.read(largest), end);
            out.push(self.stmt(StmtKind::Assign { local: largest, value }));
            return out;
        };
        let (mut out, lo, hi) = match self.axes[over].issued {
            // Any range of its indices would do that holds those looked for; places are none.
            Some(_) => (Block::new(), self.axes[over].start.clone(), self.axes[over].extent.end.clone()),
            None => self.range(over, &mut scope),
        };
        let var = self.fresh(&self.axes[over].name);
        scope.index[over] = Some(var);
        let inner = self.largest_end(axis, rest, scope, largest);
        out.push(self.counted(var, lo, hi, inner));
        out
    }

    fn exact_end(&mut self, axis: usize, scope: &LoopCx) -> (Block, Expr) {
        let axes = self.axes;
        let mut map: Renaming =
            axes.iter().zip(&scope.index).filter_map(|(axis, index)| Some((axis.var, (*index)?))).collect();
        let setup = rename::copy(&axes[axis].extent.setup, self.func, &mut map);
        let mut end = axes[axis].extent.end.clone();
        rename::expr(&mut end, &map);
        (setup, end)
    }

    /// Cuts `[lo, hi)` into parts of `n`; what is needed before the loop over parts goes to `out`.
    fn cut(&mut self, out: &mut Block, (axis, what): (usize, &str), n: u32, lo: Expr, hi: Expr) -> Part {
        let name = self.axes[axis].name.clone();
        let mut local = |suffix: &str| self.fresh(&format!("{name}_{suffix}"));
        let (top, number, first, end) = (local("top"), local(what), local("first"), local("past"));
        out.push(self.declare(top, hi));
        let n = self.lit(n.max(1));
        let length = fold::sub(fold::max(self.read(top), lo.clone()), lo.clone());
        let count = fold::ceil_div(length, n.clone());
        // Part `number` starts below `top`, so neither it nor what is left can wrap round.
        let start = fold::add(lo, fold::mul(self.read(number), n.clone()));
        let left = fold::sub(self.read(top), self.read(first));
        let past = fold::add(self.read(first), fold::min(n, left));
        let header = vec![self.declare(first, start), self.declare(end, past)];
        Part { number, count, header, first, end }
    }

    fn part_range(&self, part: &Part) -> (Expr, Expr) {
        (self.read(part.first), self.read(part.end))
    }

    /// The loop over the parts of an axis.
    fn parts(&self, part: Part, inner: Block) -> Stmt {
        let mut body = part.header;
        body.extend(inner);
        self.counted(part.number, self.lit(0), part.count, body)
    }

    fn fresh(&mut self, name: &str) -> LocalId {
        self.func.add_local(name, LocalTy::Scalar(ScalarTy::U32), self.span)
    }

    fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt { kind, span: self.span }
    }

    fn lit(&self, value: u32) -> Expr {
        Expr::u32(value, self.span)
    }

    fn read(&self, local: LocalId) -> Expr {
        Expr::local(local, ScalarTy::U32, self.span)
    }

    fn declare(&self, local: LocalId, value: Expr) -> Stmt {
        self.stmt(StmtKind::Let { local, init: Some(value) })
    }

    fn counted(&self, var: LocalId, start: Expr, end: Expr, body: Block) -> Stmt {
        self.stmt(StmtKind::For { var, start, end, step: self.lit(1), body })
    }
}

/// Consecutive values of an axis, `n` at a time.
struct Part {
    /// Counts the parts.
    number: LocalId,
    /// How many there are.
    count: Expr,
    /// Declares `first` and `end`.
    header: Block,
    first: LocalId,
    end: LocalId,
}
