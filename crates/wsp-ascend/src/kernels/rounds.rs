//! Which loops give a variable other values from round to round.

use std::collections::{BTreeMap, BTreeSet};
use wsp_core::LocalId;
use wsp_ir::{Block, Expr, ExprKind, Function, StmtKind, walk};

/// Loops of a function, by number in the order of the text, and the variables whose values follow them.
#[derive(Default)]
pub(super) struct Loops {
    of: BTreeMap<LocalId, BTreeSet<usize>>,
}

impl Loops {
    /// A variable follows the innermost loop in which it is set, and what the values follow that it is given.
    pub(super) fn of(kernel: &Function) -> Loops {
        let (mut found, mut given) = (Loops::default(), Vec::new());
        found.block(&kernel.body, None, &mut 0, &mut given);
        loop {
            let mut changed = false;
            for (local, value) in &given {
                let more = found.of_expr(value);
                let own = found.of.entry(*local).or_default();
                changed |= !more.is_subset(own);
                own.extend(more);
            }
            if !changed {
                return found;
            }
        }
    }

    /// The loops that an expression follows.
    pub(super) fn of_expr(&self, e: &Expr) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        walk::each_subexpr(e, &mut |e| {
            if let ExprKind::Local(local) = &e.kind {
                all.extend(self.of.get(local).into_iter().flatten());
            }
        });
        all
    }

    fn block<'f>(
        &mut self,
        block: &'f Block,
        inside: Option<usize>,
        loops: &mut usize,
        given: &mut Vec<(LocalId, &'f Expr)>,
    ) {
        for stmt in block {
            let mut inner = inside;
            match &stmt.kind {
                StmtKind::Let { local, init: value } => {
                    self.of.entry(*local).or_default().extend(inside);
                    given.extend(value.as_ref().map(|value| (*local, value)));
                }
                StmtKind::Assign { local, value } => {
                    self.of.entry(*local).or_default().extend(inside);
                    given.push((*local, value));
                }
                StmtKind::For { var, start, .. } => {
                    inner = Some(*loops);
                    self.of.entry(*var).or_default().extend(inner);
                    given.push((*var, start));
                }
                StmtKind::While { .. } => inner = Some(*loops),
                _ => {}
            }
            *loops += usize::from(inner != inside);
            walk::blocks(stmt).for_each(|block| self.block(block, inner, loops, given));
        }
    }
}
