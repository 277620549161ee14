//! Loops, branches and variables.

use super::Reason;
use super::boxes::changed;
use super::scalars::type_of;
use super::writer::Writer;
use crate::mlir::{Type, Value};
use wsp_core::LocalId;
use wsp_ir::{Const, Expr, ExprKind, LocalTy, ScalarTy, TileOp};
use wsp_ordered::OrderedSet;
use wsp_tile::{Extent, Head, Instruction, Loop, Node, Op};

impl Writer<'_> {
    /// Writes nodes one after the other.
    pub(super) fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            if self.is_too_long() {
                return;
            }
            match node {
                Node::Set { local, value } => {
                    let from = value.ty;
                    let value = self.scalar(value);
                    let value = match self.program.locals[local.index()].ty {
                        LocalTy::Scalar(ty) => self.cast(value, from, ty),
                        _ => value,
                    };
                    self.values.insert(*local, value);
                }
                Node::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
                Node::Loop(inner) => self.repeated(inner),
                Node::Run(instruction) => self.instruction(instruction),
                Node::Name { .. } | Node::Sync(_) => {}
            }
        }
    }

    fn branch(&mut self, cond: &Expr, then: &[Node], otherwise: &[Node]) {
        if let ExprKind::Const(Const::Bool(holds)) = cond.kind {
            return self.nodes(if holds { then } else { otherwise });
        }
        let condition = self.scalar(cond);
        let mut carried: OrderedSet<LocalId> = changed(then);
        carried.extend(changed(otherwise).iter().copied());
        carried.retain(|local| self.counts(*local, &[then, otherwise]));
        let before = self.values.clone();
        let mut way = |writer: &mut Self, nodes: &[Node]| {
            writer.values = before.clone();
            writer.nodes(nodes);
            carried.iter().map(|local| writer.variable(*local)).collect()
        };
        let way = std::cell::RefCell::new(&mut way);
        let made = self.ways(condition, &mut |writer| (way.borrow_mut())(writer, then), &mut |writer| {
            (way.borrow_mut())(writer, otherwise)
        });
        self.values = before;
        carried.iter().zip(made).for_each(|(local, value)| {
            self.values.insert(*local, value);
        });
    }

    fn repeated(&mut self, inner: &Loop) {
        self.span = inner.span;
        let Head::Counted { var, start, end, step } = &inner.head else {
            return self.refuse(Reason::Host, "a loop that a condition ends");
        };
        let [low, end, step] = [start, end, step].map(|bound| self.bound(bound));
        let carried: Vec<LocalId> = changed(&inner.body)
            .iter()
            .copied()
            .filter(|local| self.counts(*local, &[&inner.body]))
            .collect();
        let init: Vec<Value> = carried.iter().map(|local| self.variable(*local)).collect();
        let before = self.values.clone();
        let ty = match self.program.locals[var.index()].ty {
            LocalTy::Scalar(ty) => ty,
            _ => ScalarTy::U32,
        };
        let made = self.rounds((low, end, step), &init, &mut |writer, i, values| {
            writer.values = before.clone();
            carried.iter().zip(values).for_each(|(local, value)| {
                writer.values.insert(*local, *value);
            });
            let value = match (writer.fixed(i), type_of(ty)) {
                (_, Type::Int(32)) => writer.whole(i),
                (_, other) => writer.op("arith.index_cast", &[i], other),
            };
            writer.values.insert(*var, value);
            let past = match (writer.fixed(low), writer.fixed(i)) {
                (Some(low), Some(i)) => writer.index(i - low),
                (Some(0), _) => i,
                _ => writer.same("arith.subi", &[i, low]),
            };
            writer.past.insert(inner.id, past);
            writer.nodes(&inner.body);
            carried.iter().map(|local| writer.variable(*local)).collect()
        });
        self.values = before;
        carried.iter().zip(made).for_each(|(local, value)| {
            self.values.insert(*local, value);
        });
    }

    /// A bound of a loop, as `index`.
    fn bound(&mut self, e: &Expr) -> Value {
        match e.as_const_int() {
            Some(n) => self.index(n as i64),
            None => {
                let value = self.scalar(e);
                self.op("arith.index_cast", &[value], Type::Index)
            }
        }
    }

    /// Whether the value that blocks give a variable counts outside of them, or in another round: it has one before, or is read elsewhere.
    fn counts(&self, local: LocalId, blocks: &[&[Node]]) -> bool {
        self.values.contains_key(&local)
            || reads(&self.program.body, local) > blocks.iter().map(|block| reads(block, local)).sum()
    }

    fn instruction(&mut self, instruction: &Instruction) {
        self.span = instruction.span;
        match &instruction.op {
            Op::Tile(TileOp::Load { dst, .. }) => self.transfer(dst, instruction.id, true),
            Op::Tile(TileOp::Store { src, .. }) => self.transfer(src, instruction.id, false),
            Op::Tile(op) => self.elementwise(op),
            Op::Move { dst, src } => {
                let op = TileOp::Unary { op: wsp_ir::UnaryTileOp::Copy, dst: *dst, src: *src };
                self.elementwise(&op);
            }
            Op::Reduce { local, op, src } => self.tile_value(*local, *op, src),
            Op::LoadScalar { local, .. } => {
                let (grid, zero) = (self.site(instruction.id), self.index(0));
                let value = self.load(&grid, zero, zero);
                let from = super::writer::Kind::of(grid.elem);
                let value = match (&self.program.locals[local.index()].ty, self.text.ty(value)) {
                    (LocalTy::Scalar(_), Type::Int(8)) => self.op("arith.extsi", &[value], Type::Int(32)),
                    _ => value,
                };
                let value = match &self.program.locals[local.index()].ty {
                    LocalTy::Scalar(ty) => self.cast(value, from.scalar_ty(), *ty),
                    _ => value,
                };
                self.values.insert(*local, value);
            }
            Op::StoreScalar { value, .. } => {
                let (grid, zero) = (self.site(instruction.id), self.index(0));
                let value = self.number(value, super::writer::Kind::of(grid.elem));
                self.store(&grid, zero, zero, value);
            }
        }
    }
}

/// How often nodes read a variable.
fn reads(nodes: &[Node], local: LocalId) -> usize {
    let of = |e: &Expr| {
        let mut count = 0;
        e.any(&mut |inner| {
            count += usize::from(inner.kind == ExprKind::Local(local));
            false
        });
        count
    };
    let mut count = 0;
    for node in nodes {
        count += match node {
            Node::Set { value, .. } => of(value),
            Node::If { cond, .. } => of(cond),
            Node::Loop(Loop { head: Head::Counted { start, end, step, .. }, .. }) => {
                of(start) + of(end) + of(step)
            }
            Node::Loop(Loop { head: Head::While { cond }, .. }) => of(cond),
            Node::Run(instruction) => {
                let mut count = 0;
                instruction.op.tiles(&mut |tile, _| {
                    for extent in [tile.rows, tile.cols] {
                        count +=
                            usize::from(matches!(extent, Extent::Value { local: of, .. } if of == local));
                    }
                });
                match &instruction.op {
                    Op::Tile(op) => op.each(&mut |part| match part {
                        wsp_ir::Part::Number(number, ..) => count += of(number),
                        wsp_ir::Part::Place(place) => count += place.index.iter().map(of).sum::<usize>(),
                        _ => {}
                    }),
                    Op::LoadScalar { index, .. } => count += index.iter().map(of).sum::<usize>(),
                    Op::StoreScalar { index, value, .. } => {
                        count += index.iter().map(of).sum::<usize>() + of(value);
                    }
                    Op::Move { .. } | Op::Reduce { .. } => {}
                }
                count
            }
            Node::Name { .. } | Node::Sync(_) => 0,
        };
        count += node.blocks().map(|block| reads(block, local)).sum::<usize>();
    }
    count
}
