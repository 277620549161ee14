//! Which loops give a variable other values from round to round.

use super::values::decides;
use wsp_core::LocalId;
use wsp_ir::{Block, Expr, ExprKind, Function, StmtKind, walk};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Loops of a function, by number in the order of the text, and the variables whose values follow them.
#[derive(Default)]
pub(super) struct Loops {
    of: OrderedMap<LocalId, OrderedSet<usize>>,
}

impl Loops {
    /// A variable of a loop follows that loop; one that is set anew follows the loops around that do not declare it, as it carries what their rounds add,
    /// and what decides whether it is set; each follows what the values follow that it is given.
    pub(super) fn of(kernel: &Function) -> Loops {
        let (mut found, mut given) = (Loops::default(), Vec::new());
        let mut walk = Walk { given: &mut given, declared: OrderedMap::new(), loops: 0 };
        found.block(&kernel.body, &mut Vec::new(), &mut Vec::new(), &mut walk);
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
    pub(super) fn of_expr(&self, e: &Expr) -> OrderedSet<usize> {
        let mut all = OrderedSet::new();
        walk::each_subexpr(e, &mut |e| {
            if let ExprKind::Local(local) = &e.kind {
                all.extend(self.of.get(local).into_iter().flatten());
            }
        });
        all
    }

    /// `inside` are the loops around, `under` what decides whether a statement runs.
    fn block<'f>(
        &mut self,
        block: &'f Block,
        inside: &mut Vec<usize>,
        under: &mut Vec<&'f Expr>,
        walk: &mut Walk<'f, '_>,
    ) {
        for stmt in block {
            let (loops, conditions) = (inside.len(), under.len());
            match &stmt.kind {
                StmtKind::Let { local, init: value } => {
                    walk.declared.insert(*local, loops);
                    walk.given.extend(value.as_ref().map(|value| (*local, value)));
                }
                StmtKind::Assign { local, value } => {
                    let declared = walk.declared.get(local).copied().unwrap_or(0);
                    self.of.entry(*local).or_default().extend(inside.iter().skip(declared));
                    walk.given.push((*local, value));
                    walk.given.extend(under.iter().map(|e| (*local, *e)));
                }
                StmtKind::For { var, start, .. } => {
                    inside.push(walk.loops);
                    self.of.entry(*var).or_default().insert(walk.loops);
                    walk.given.push((*var, start));
                }
                StmtKind::While { .. } => inside.push(walk.loops),
                _ => {}
            }
            walk.loops += inside.len() - loops;
            under.extend(decides(stmt));
            walk::blocks(stmt).for_each(|block| self.block(block, inside, under, walk));
            inside.truncate(loops);
            under.truncate(conditions);
        }
    }
}

/// What is collected on the way.
struct Walk<'f, 'a> {
    /// Variables, and what they follow.
    given: &'a mut Vec<(LocalId, &'f Expr)>,
    /// How many loops are around the declaration of a variable.
    declared: OrderedMap<LocalId, usize>,
    /// Loops so far.
    loops: usize,
}
