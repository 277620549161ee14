//! How many rows and columns of a tile are valid where an instruction touches it, as expressions that are the same where the numbers are.

use super::boxes::changed;
use wsp_core::LocalId;
use wsp_diag::Span;
use wsp_ir::{Expr, ExprKind, ScalarTy};
use wsp_ordered::OrderedMap;
use wsp_tile::{Extent, Instruction, Node, Op, TileProgram};

/// What variables hold at a place of a program.
#[derive(Default)]
pub(super) struct Values {
    known: OrderedMap<LocalId, Expr>,
    /// Values that nothing is known of, so far: each is a variable of its own.
    unknown: u32,
}

/// Calls `f` on every instruction, with what variables hold there.
pub(super) fn each<'p>(program: &'p TileProgram, f: &mut dyn FnMut(&'p Instruction, &Values)) {
    Values::default().nodes(&program.body, f);
}

impl Values {
    /// Valid rows or columns.
    pub(super) fn of(&self, extent: Extent) -> Expr {
        match extent {
            Extent::Known(value) => Expr::u32(value, Span::default()),
            Extent::Value { local, .. } => self.value(&Expr::local(local, ScalarTy::U32, Span::default())),
        }
    }

    fn value(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        self.put(&mut e);
        e
    }

    fn put(&self, e: &mut Expr) {
        match e.kind {
            ExprKind::Local(local) => {
                if let Some(known) = self.known.get(&local) {
                    e.clone_from(known);
                }
            }
            _ => e.for_each_child_mut(&mut |child| self.put(child)),
        }
    }

    fn forget(&mut self, local: LocalId) {
        self.unknown += 1;
        let own = LocalId(u32::MAX - self.unknown);
        self.known.insert(local, Expr::local(own, ScalarTy::U32, Span::default()));
    }

    fn nodes<'p>(&mut self, nodes: &'p [Node], f: &mut dyn FnMut(&'p Instruction, &Values)) {
        for node in nodes {
            match node {
                Node::Set { local, value } => {
                    let value = self.value(value);
                    self.known.insert(*local, value);
                }
                Node::If { then, otherwise, .. } => {
                    let before = self.known.clone();
                    self.nodes(then, f);
                    let after = std::mem::replace(&mut self.known, before);
                    self.nodes(otherwise, f);
                    let set = changed(std::slice::from_ref(node));
                    let differs = |local: &LocalId| after.get(local) != self.known.get(local);
                    let differing: Vec<LocalId> = set.into_iter().filter(differs).collect();
                    differing.into_iter().for_each(|local| self.forget(local));
                }
                Node::Loop(inner) => {
                    let set = changed(&inner.body);
                    set.iter().for_each(|local| self.forget(*local));
                    self.nodes(&inner.body, f);
                    set.iter().for_each(|local| self.forget(*local));
                }
                Node::Run(instruction) => {
                    f(instruction, self);
                    if let Op::Reduce { local, .. } | Op::LoadScalar { local, .. } = &instruction.op {
                        self.forget(*local);
                    }
                }
                Node::Name { .. } | Node::Sync(_) => {}
            }
        }
    }
}
