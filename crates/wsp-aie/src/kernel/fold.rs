//! A body for numbers that are known: what follows from them is computed, and branches that are not taken are left out.

use super::{Body, unused};
use crate::check::size;
use crate::mlir::{Attr, Module, Op, Type, Value};
use crate::run::{self, of_integers};
use std::sync::Arc;
use wsp_ir::Const;
use wsp_ordered::OrderedMap;

/// What is known of the values of a body.
#[derive(Default)]
struct Known {
    /// Integers, with their sign extended.
    ints: OrderedMap<Value, i64>,
    /// Results of branches, by what they are.
    same: OrderedMap<Value, Value>,
}

impl Body {
    /// Of each of its [numbers](Body::numbers), whether one of its operations takes it whose result is used.
    pub(crate) fn used(&self) -> Vec<bool> {
        let own = &self.args[self.operands.len()..][..self.numbers.len()];
        let mut used = vec![false; own.len()];
        let mut see = |op: &Op| {
            for (of, used) in own.iter().zip(&mut used) {
                *used |= op.operands.contains(of);
            }
        };
        let mut ops = self.ops.clone();
        unused::remove(&mut ops);
        ops.iter().for_each(|op| op.walk(&mut see));
        used
    }

    /// The body for these values of its [numbers](Body::numbers); it then takes those that are none. Bodies of two tasks that differ in nothing else are equal.
    pub fn folded(&self, numbers: &[Option<Const>]) -> Body {
        let mut known = Known::default();
        let first = self.operands.len();
        let mut ops = Vec::new();
        for ((arg, number), (_, ty)) in self.args[first..].iter().zip(numbers).zip(&self.numbers) {
            let Some(number) = number else { continue };
            let attr = match number {
                Const::Float(number) => Attr::Float(*number, ty.clone()),
                Const::Int(number) if ty.is_float() => Attr::Float(*number as f64, ty.clone()),
                Const::Int(number) => Attr::Int(wrap(*number as i64, ty), ty.clone()),
                Const::Bool(number) => Attr::Int(i64::from(*number), ty.clone()),
            };
            ops.push(Op::new("arith.constant").attr("value", attr).result(*arg));
        }
        let mut ops = self.fold(&ops, &mut known);
        ops.extend(self.fold(&self.ops, &mut known));
        unused::remove(&mut ops);
        let mut program = 0;
        ops.iter().for_each(|op| op.walk(&mut |op| program += size(&self.module, op)));
        let is_left = |at: usize| numbers.get(at).is_none_or(Option::is_none);
        let left = self.numbers.iter().enumerate().filter(|(at, _)| is_left(*at));
        let last = first + self.numbers.len();
        let is_taken = |at: &usize| *at < first || *at >= last || is_left(at - first);
        let args: Vec<Value> = (0..self.args.len()).filter(is_taken).map(|at| self.args[at]).collect();
        let numbers = left.map(|(_, number)| number.clone()).collect();
        // What is stored was asked of the body as it was: it holds values that a folded one has in its operations.
        let (name, operands, locals) = (self.name.clone(), self.operands.clone(), self.locals.clone());
        let (module, stores) = (self.module.clone(), Arc::default());
        Body { name, operands, numbers, locals, program, stores, module, args, ops }.renumbered()
    }

    /// It with values of its own alone, numbered in their order: what two bodies do is then the same where they are equal.
    fn renumbered(self) -> Body {
        let mut module = Module::default();
        let name = |at: usize| format!("v{at}");
        let types: Vec<Type> = self.types().cloned().collect();
        let args: Vec<Value> =
            types.into_iter().enumerate().map(|(at, ty)| module.value(name(at), ty)).collect();
        let ops = self.inline(&mut module, &args);
        Body { module, args, ops, ..self }
    }

    fn fold(&self, ops: &[Op], known: &mut Known) -> Vec<Op> {
        let mut out = Vec::new();
        for op in ops {
            let mut op = op.clone();
            for operand in &mut op.operands {
                *operand = known.same.get(operand).copied().unwrap_or(*operand);
            }
            if op.name == "scf.if"
                && let Some(condition) = op.operands.first().and_then(|value| known.ints.get(value))
            {
                let taken = op.regions.get(usize::from(*condition == 0));
                let block = taken.and_then(|region| region.blocks.first()).cloned().unwrap_or_default();
                let mut inner = self.fold(&block.ops, known);
                if inner.last().is_some_and(|last| last.name == "scf.yield") {
                    let yielded = inner.pop().map(|last| last.operands).unwrap_or_default();
                    known.same.extend(op.results.iter().copied().zip(yielded));
                }
                out.append(&mut inner);
                continue;
            }
            if let (Some(value), [result]) = (self.value(&op, &known.ints), op.results.as_slice()) {
                let ty = self.module.ty(*result).clone();
                known.ints.insert(*result, value);
                out.push(Op::new("arith.constant").attr("value", Attr::Int(value, ty)).result(*result));
                continue;
            }
            for block in op.regions.iter_mut().flat_map(|region| &mut region.blocks) {
                block.ops = self.fold(&block.ops, known);
            }
            out.push(op);
        }
        out
    }

    /// The integer that an operation makes of known ones.
    fn value(&self, op: &Op, ints: &OrderedMap<Value, i64>) -> Option<i64> {
        let [result] = op.results.as_slice() else { return None };
        let to = self.module.ty(*result);
        if !matches!(to, Type::Int(_) | Type::Index) {
            return None;
        }
        if let ("arith.constant", Some(Attr::Int(value, _))) = (op.name.as_str(), op.find("value")) {
            return Some(wrap(*value, to));
        }
        let given: Option<Vec<i64>> = op.operands.iter().map(|value| ints.get(value).copied()).collect();
        let given = given?;
        let from = self.module.ty(*op.operands.first()?);
        let value = match (op.name.as_str(), given.as_slice()) {
            ("arith.select", [condition, a, b]) => {
                if *condition != 0 {
                    *a
                } else {
                    *b
                }
            }
            ("arith.index_cast" | "arith.extsi" | "arith.trunci", [a]) => *a,
            ("arith.extui", [a]) => bits(*a, from),
            (_, given) => of_integers(op, width(from), given)?,
        };
        Some(wrap(value, to))
    }
}

fn width(ty: &Type) -> u32 {
    if let Type::Int(bits) = ty { (*bits).clamp(1, 64) } else { 64 }
}

/// An integer as its type holds it; of one bit 0 or 1.
fn wrap(value: i64, ty: &Type) -> i64 {
    run::wrap(value, width(ty)) as i64
}

/// An integer without its sign.
fn bits(value: i64, ty: &Type) -> i64 {
    (value as u64 & (u64::MAX >> (64 - width(ty)))) as i64
}
