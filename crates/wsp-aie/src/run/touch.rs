//! Where bodies of cores use buffers that others use too: operations of our own before what uses them, as far out of loops as it is certain that they are done.

use crate::design::{Core, Design, Effect};
use crate::mlir::{Attr, Block, Dim, Op, Type, Value};
use std::collections::BTreeSet;
use wsp_ordered::OrderedMap;

/// The operation: a buffer, and values that with `factors` and `offset` make the first byte; `dims` in bytes, `width`, and the number of the `effect`.
pub(super) const TOUCH: &str = "wsp.touch";

/// Whether an operation, or one in it, takes or gives objects or locks.
pub(super) fn decides(op: &Op) -> bool {
    let mut found = false;
    op.walk(&mut |op| {
        found |=
            matches!(op.name.as_str(), "aie.objectfifo.acquire" | "aie.objectfifo.release" | "aie.use_lock");
    });
    found
}

/// Buffers of which several cores or descriptors have a use.
pub(super) fn shared(design: &Design) -> BTreeSet<Value> {
    let mut uses: OrderedMap<Value, u32> = design.buffers.iter().map(|buffer| (buffer.value, 0)).collect();
    let mut add = |values: &mut dyn Iterator<Item = Value>| {
        values.for_each(|value| {
            if let Some(count) = uses.get_mut(&value) {
                *count += 1;
            }
        });
    };
    for core in &design.cores {
        let mut used = BTreeSet::new();
        let ops = core.body.blocks.iter().flat_map(|block| &block.ops);
        ops.for_each(|op| op.walk(&mut |op| used.extend(op.operands.iter().copied())));
        add(&mut used.into_iter());
    }
    let blocks = design.dmas.iter().flat_map(|dma| &dma.body.blocks);
    for bd in blocks.flat_map(|block| &block.ops).filter(|op| op.name == "aie.dma_bd") {
        add(&mut bd.operands.first().copied().into_iter());
    }
    uses.iter().filter(|(_, count)| **count > 1).map(|(value, _)| *value).collect()
}

/// A core with an operation of ours for each of its uses of these buffers.
pub(super) fn marked(design: &Design, core: &Core, shared: &BTreeSet<Value>) -> Core {
    let mut marked = core.clone();
    if shared.is_empty() {
        return marked;
    }
    let mut made = OrderedMap::new();
    let ops = core.body.blocks.iter().flat_map(|block| &block.ops);
    ops.for_each(|op| op.walk(&mut |op| made.extend(op.results.iter().map(|value| (*value, op)))));
    let marker = Marker { design, shared, made };
    marked.body.blocks = core.body.blocks.iter().map(|block| marker.outer(block)).collect();
    marked
}

/// A loop of which each round is certain: its variable, and the first value, the step and the number of those that it has.
#[derive(Clone, Copy)]
struct Rounds {
    variable: Value,
    low: i64,
    step: i64,
    count: u64,
}

/// A number: a sum of values by factors.
#[derive(Clone, Default)]
struct Sum {
    fixed: i64,
    terms: OrderedMap<Value, i64>,
}

impl Sum {
    fn scaled(mut self, factor: i64) -> Option<Sum> {
        self.fixed = self.fixed.checked_mul(factor)?;
        for (_, of) in &mut self.terms {
            *of = of.checked_mul(factor)?;
        }
        Some(self)
    }

    fn plus(mut self, other: &Sum) -> Option<Sum> {
        self.fixed = self.fixed.checked_add(other.fixed)?;
        for (value, factor) in &other.terms {
            let of = self.terms.entry(*value).or_insert(0);
            *of = of.checked_add(*factor)?;
        }
        Some(self)
    }
}

/// One use of a shared buffer by an operation: which operand it is, and what is done to it.
struct Access {
    operand: usize,
    effect: Effect,
}

struct Marker<'a> {
    design: &'a Design,
    shared: &'a BTreeSet<Value>,
    /// What makes each value.
    made: OrderedMap<Value, &'a Op>,
}

/// What a statement is in that is looked at: loops whose rounds are certain, and values that it makes itself.
struct Inside {
    rounds: Vec<Rounds>,
    own: BTreeSet<Value>,
    before: Vec<Op>,
}

impl Marker<'_> {
    /// A block around objects and locks.
    fn outer(&self, block: &Block) -> Block {
        let mut ops = Vec::new();
        for op in &block.ops {
            let mut op = op.clone();
            if decides(&op) {
                for region in &mut op.regions {
                    region.blocks = region.blocks.iter().map(|block| self.outer(block)).collect();
                }
                ops.push(op);
                continue;
            }
            let mut inside = Inside { rounds: Vec::new(), own: BTreeSet::new(), before: Vec::new() };
            op.walk(&mut |op| {
                inside.own.extend(op.results.iter().copied());
                let blocks = op.regions.iter().flat_map(|region| &region.blocks);
                inside.own.extend(blocks.flat_map(|block| &block.args).copied());
            });
            let mut here = Vec::new();
            self.statement(op, true, &mut inside, &mut here);
            ops.append(&mut inside.before);
            ops.append(&mut here);
        }
        Block { args: block.args.clone(), ops }
    }

    /// An operation without objects and locks, with its uses before it, or `before` all of the statement where they are certain.
    fn statement(&self, mut op: Op, certain: bool, inside: &mut Inside, out: &mut Vec<Op>) {
        for access in self.accesses(&op) {
            let touch = certain.then(|| self.touch(&op, &access, inside)).flatten();
            match touch {
                Some(touch) => inside.before.push(touch),
                None => out.extend(self.here(&op, &access)),
            }
        }
        let rounds = self.rounds(&op);
        let depth = inside.rounds.len();
        inside.rounds.extend(rounds);
        let certain = certain && rounds.is_some_and(|rounds| rounds.count > 0);
        for block in op.regions.iter_mut().flat_map(|region| &mut region.blocks) {
            let mut ops = Vec::new();
            for op in std::mem::take(&mut block.ops) {
                self.statement(op, certain, inside, &mut ops);
            }
            block.ops = ops;
        }
        inside.rounds.truncate(depth);
        out.push(op);
    }

    fn accesses(&self, op: &Op) -> Vec<Access> {
        let used = op.operands.iter().enumerate().filter(|(_, value)| self.shared.contains(value));
        used.map(|(operand, _)| Access { operand, effect: Effect::of(op, operand) }).collect()
    }

    /// The rounds of a loop with written bounds.
    fn rounds(&self, op: &Op) -> Option<Rounds> {
        let (bounds, variable) = match (op.name.as_str(), op.operands.get(..3)) {
            ("scf.for", Some(bounds)) => (bounds, *op.regions.first()?.blocks.first()?.args.first()?),
            _ => return None,
        };
        let written = |value: &Value| {
            let sum = self.sum(*value, &BTreeSet::new(), &[])?;
            sum.terms.is_empty().then_some(sum.fixed)
        };
        let (low, high, step) = (written(&bounds[0])?, written(&bounds[1])?, written(&bounds[2])?);
        let span = u64::try_from(i128::from(high) - i128::from(low)).unwrap_or(0);
        let count = span.div_ceil(u64::try_from(step).ok().filter(|step| *step > 0)?);
        Some(Rounds { variable, low, step, count })
    }

    /// A value as a sum of variables of these loops, and of values from outside of the statement.
    fn sum(&self, value: Value, own: &BTreeSet<Value>, rounds: &[Rounds]) -> Option<Sum> {
        self.sum_of(value, (own, rounds), &mut OrderedMap::new())
    }

    /// What was found of a value before is found once: several operations may take it.
    fn sum_of(
        &self,
        value: Value,
        (own, rounds): (&BTreeSet<Value>, &[Rounds]),
        known: &mut OrderedMap<Value, Option<Sum>>,
    ) -> Option<Sum> {
        if let Some(known) = known.get(&value) {
            return known.clone();
        }
        let found = self.sum_anew(value, (own, rounds), known);
        known.insert(value, found.clone());
        found
    }

    fn sum_anew(
        &self,
        value: Value,
        (own, rounds): (&BTreeSet<Value>, &[Rounds]),
        known: &mut OrderedMap<Value, Option<Sum>>,
    ) -> Option<Sum> {
        let mut of = |value: Value| self.sum_of(value, (own, rounds), known);
        // Narrower integers wrap.
        let is_index = *self.design.module.ty(value) == Type::Index;
        let op = self.made.get(&value).filter(|op| is_index || op.name == "arith.constant");
        match op.map(|op| (op.name.as_str(), op.operands.as_slice())) {
            Some(("arith.constant", _)) => match op?.find("value") {
                Some(Attr::Int(fixed, _)) => Some(Sum { fixed: *fixed, ..Sum::default() }),
                _ => None,
            },
            Some(("arith.addi", [a, b])) => of(*a)?.plus(&of(*b)?),
            Some(("arith.subi", [a, b])) => of(*a)?.plus(&of(*b)?.scaled(-1)?),
            Some(("arith.muli", [a, b])) => {
                let (a, b) = (of(*a)?, of(*b)?);
                match (a.terms.is_empty(), b.terms.is_empty()) {
                    (_, true) => a.scaled(b.fixed),
                    (true, _) => b.scaled(a.fixed),
                    _ => None,
                }
            }
            Some(("arith.index_cast", [a])) => of(*a),
            _ if own.contains(&value) && rounds.iter().all(|of| of.variable != value) => None,
            _ => Some(Sum { fixed: 0, terms: OrderedMap::from_iter([(value, 1)]) }),
        }
    }

    /// The first byte of an access as a sum, and how many bytes it is of; of all of a buffer where it has no indices.
    fn place(&self, op: &Op, access: &Access, of: &dyn Fn(Value) -> Option<Sum>) -> Option<(Sum, u64)> {
        let module = &self.design.module;
        let ty = module.ty(op.operands[access.operand]);
        let moved = match op.name.as_str() {
            "memref.load" | "vector.load" => op.results.first(),
            "memref.store" | "vector.store" => op.operands.first(),
            _ => return Some((Sum::default(), ty.bytes()?)),
        };
        let (element, lanes) = (ty.element_bytes()?, module.ty(*moved?).elements()?);
        let mut first = Sum::default();
        let mut stride = i64::try_from(element).ok()?;
        for (index, extent) in op.operands[access.operand + 1..].iter().zip(&ty.shaped()?.shape).rev() {
            first = first.plus(&of(*index)?.scaled(stride)?)?;
            stride = stride.checked_mul(i64::try_from((*extent)?).ok()?)?;
        }
        Some((first, element.checked_mul(lanes)?))
    }

    /// The use before all of a statement; none where its place is not known there.
    fn touch(&self, op: &Op, access: &Access, inside: &Inside) -> Option<Op> {
        let of = |value| self.sum(value, &inside.own, &inside.rounds);
        let (mut first, width) = self.place(op, access, &of)?;
        let mut dims = Vec::new();
        for rounds in &inside.rounds {
            let factor = first.terms.remove(&rounds.variable).unwrap_or(0);
            first.fixed = first.fixed.checked_add(factor.checked_mul(rounds.low)?)?;
            let stride = factor.checked_mul(rounds.step)?;
            let last = stride.checked_mul(i64::try_from(rounds.count - 1).ok()?)?;
            // Bytes are counted upwards.
            first.fixed = first.fixed.checked_add(last.min(0))?;
            if stride != 0 {
                dims.push(Dim { size: rounds.count, stride: stride.unsigned_abs() });
            }
        }
        Some(touch(op, access, &first, (width, dims)))
    }

    /// The use where it is done, with the values that its indices have then.
    fn here(&self, op: &Op, access: &Access) -> Option<Op> {
        let of = |value| Some(Sum { fixed: 0, terms: OrderedMap::from_iter([(value, 1)]) });
        let (first, width) = self.place(op, access, &of)?;
        Some(touch(op, access, &first, (width, Vec::new())))
    }
}

fn touch(op: &Op, access: &Access, first: &Sum, (width, dims): (u64, Vec<Dim>)) -> Op {
    let factors = first.terms.iter().map(|(_, factor)| *factor).collect();
    let mut touch = Op::new(TOUCH)
        .with(std::iter::once(op.operands[access.operand]).chain(first.terms.iter().map(|(value, _)| *value)))
        .attr("factors", Attr::Dense(Type::Int(64), factors))
        .attr("dims", Attr::Dims(dims))
        .int("offset", first.fixed)
        .int("width", width as i64)
        .int("effect", access.effect as i64);
    touch.span = op.span;
    touch
}
