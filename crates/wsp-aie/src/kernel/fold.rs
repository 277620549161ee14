//! A body for numbers that are known: what follows from them is computed, and branches that are not taken are left out.

use super::{Body, unused};
use crate::check::size;
use crate::mlir::{Attr, Op, Type, Value};
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
    /// The body for these values of its [numbers](Body::numbers), of which it then takes none. Bodies of two tasks that differ in nothing else are equal.
    pub fn folded(&self, numbers: &[Const]) -> Body {
        let mut known = Known::default();
        let first = self.operands.len();
        let mut ops = Vec::new();
        for ((arg, number), (_, ty)) in self.args[first..].iter().zip(numbers).zip(&self.numbers) {
            let attr = match number {
                Const::Float(number) => Attr::Float(*number, ty.clone()),
                Const::Int(number) if ty.is_float() => Attr::Float(*number as f64, ty.clone()),
                Const::Int(number) => Attr::Int(wrap(*number as i64, ty), ty.clone()),
                Const::Bool(number) => Attr::Int(i64::from(*number), ty.clone()),
            };
            ops.push(Op::new("arith.constant").attr("value", attr).result(*arg));
        }
        ops.extend(self.ops.iter().cloned());
        let mut ops = self.fold(&ops, &mut known);
        unused::remove(&mut ops);
        let mut program = 0;
        ops.iter().for_each(|op| op.walk(&mut |op| program += size(&self.module, op)));
        let (before, rest) = self.args.split_at(first);
        let args = [before, &rest[self.numbers.len()..]].concat();
        Body { numbers: Vec::new(), program, args, ops, ..self.clone() }
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
        let plain = |value: i64| bits(value, from);
        let value = match (op.name.as_str(), given.as_slice()) {
            ("arith.addi", [a, b]) => a.wrapping_add(*b),
            ("arith.subi", [a, b]) => a.wrapping_sub(*b),
            ("arith.muli", [a, b]) => a.wrapping_mul(*b),
            ("arith.andi", [a, b]) => a & b,
            ("arith.ori", [a, b]) => a | b,
            ("arith.xori", [a, b]) => a ^ b,
            ("arith.minsi", [a, b]) => *a.min(b),
            ("arith.maxsi", [a, b]) => *a.max(b),
            ("arith.minui", [a, b]) => {
                if plain(*a) < plain(*b) {
                    *a
                } else {
                    *b
                }
            }
            ("arith.maxui", [a, b]) => {
                if plain(*a) > plain(*b) {
                    *a
                } else {
                    *b
                }
            }
            ("arith.divsi", [a, b]) => a.checked_div(*b)?,
            ("arith.remsi", [a, b]) => a.checked_rem(*b)?,
            ("arith.divui", [a, b]) => plain(*a).checked_div(plain(*b))? as i64,
            ("arith.remui", [a, b]) => plain(*a).checked_rem(plain(*b))? as i64,
            ("arith.ceildivsi", [a, b]) if *b > 0 => a.checked_add(b - 1)?.div_euclid(*b),
            ("arith.select", [condition, a, b]) => {
                if *condition != 0 {
                    *a
                } else {
                    *b
                }
            }
            ("arith.index_cast" | "arith.extsi" | "arith.trunci", [a]) => *a,
            ("arith.extui", [a]) => plain(*a) as i64,
            ("arith.cmpi", [a, b]) => i64::from(compare(op.find_int("predicate")?, (*a, *b), &plain)?),
            _ => return None,
        };
        Some(wrap(value, to))
    }
}

/// A comparison, by its number in the text.
fn compare(predicate: i64, (a, b): (i64, i64), plain: &dyn Fn(i64) -> u64) -> Option<bool> {
    let (x, y) = (plain(a), plain(b));
    Some(
        [a == b, a != b, a < b, a <= b, a > b, a >= b, x < y, x <= y, x > y, x >= y]
            [usize::try_from(predicate).ok().filter(|at| *at < 10)?],
    )
}

fn width(ty: &Type) -> u32 {
    if let Type::Int(bits) = ty { (*bits).clamp(1, 64) } else { 64 }
}

/// An integer as its type holds it; of one bit 0 or 1.
fn wrap(value: i64, ty: &Type) -> i64 {
    let unused = 64 - width(ty);
    if unused == 63 { value & 1 } else { value << unused >> unused }
}

/// An integer without its sign.
fn bits(value: i64, ty: &Type) -> u64 {
    value as u64 & (u64::MAX >> (64 - width(ty)))
}
