//! Numbers of cores that are written: indices within the extents, steps of loops.

use super::Findings;
use super::balance::{constants, rounds};
use crate::codes;
use crate::design::Design;
use crate::mlir::{Block, Module, Op, Value};
use wsp_ordered::OrderedMap;

/// Most rounds of a loop whose last one is looked at.
const REACHED: u64 = 1 << 32;

/// Looks at the first rounds of all loops and at the last ones, and only at what is certain to be done: branches, and loops whose bounds are not known, may never be.
pub(super) fn check(design: &Design, findings: &mut Findings) {
    for core in &design.cores {
        for last in [false, true] {
            let mut numbers = Numbers { module: &design.module, known: constants(core), last, findings };
            core.body.blocks.iter().for_each(|block| numbers.block(block));
        }
    }
}

struct Numbers<'a> {
    module: &'a Module,
    known: OrderedMap<Value, i64>,
    /// Loops are in their last rounds.
    last: bool,
    findings: &'a mut Findings,
}

impl Numbers<'_> {
    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            match op.name.as_str() {
                "scf.for" => self.rounds(op),
                "memref.load" | "vector.load" => self.index(op, (0, op.results.first())),
                "memref.store" | "vector.store" => self.index(op, (1, op.operands.first())),
                name => {
                    if let (Some(made), [result]) = (self.made(op, name), op.results.as_slice()) {
                        self.known.insert(*result, made);
                    }
                }
            }
        }
    }

    fn number(&self, op: &Op, at: usize) -> Option<i64> {
        self.known.get(op.operands.get(at)?).copied()
    }

    /// What an operation makes of numbers that are known.
    fn made(&self, op: &Op, name: &str) -> Option<i64> {
        match name {
            "arith.addi" => self.number(op, 0)?.checked_add(self.number(op, 1)?),
            "arith.subi" => self.number(op, 0)?.checked_sub(self.number(op, 1)?),
            "arith.muli" => self.number(op, 0)?.checked_mul(self.number(op, 1)?),
            _ => None,
        }
    }

    fn rounds(&mut self, op: &Op) {
        if let Some(step) = self.number(op, 2).filter(|step| *step <= 0) {
            self.add(op, format!("a loop has the step {step}"));
        }
        let Some((count @ 1.., _)) = rounds(op, &self.known) else { return };
        let Some(block) = op.regions.first().and_then(|region| region.blocks.first()) else { return };
        if let (Some(variable), Some(low), Some(step)) =
            (block.args.first(), self.number(op, 0), self.number(op, 2))
        {
            let last =
                i64::try_from(count - 1).ok().and_then(|count| count.checked_mul(step)?.checked_add(low));
            // The last of more is never reached.
            let value = if self.last && count <= REACHED { last } else { Some(low) };
            let Some(value) = value else { return };
            self.known.insert(*variable, value);
        }
        self.block(block);
    }

    /// The indices of a memory, which is this operand, of a value that is read or written.
    fn index(&mut self, op: &Op, (memory, moved): (usize, Option<&Value>)) {
        let Some(shaped) = op.operands.get(memory).and_then(|value| self.module.ty(*value).shaped()) else {
            return;
        };
        let moved = moved.and_then(|value| self.module.ty(*value).shaped());
        let moved = moved.map_or(&[][..], |moved| &moved.shape);
        let before = shaped.shape.len().saturating_sub(moved.len());
        for (at, extent) in shaped.shape.iter().enumerate() {
            let (Some(first), Some(extent)) = (self.number(op, memory + 1 + at), extent) else { continue };
            let wide = at.checked_sub(before).and_then(|at| moved[at]).unwrap_or(1);
            let last = i128::from(first) + i128::from(wide) - 1;
            if first < 0 || last >= i128::from(*extent) {
                let beyond = if first < 0 { first.into() } else { last };
                self.add(op, format!("index {at} is {beyond}, and the memory has {extent} there"));
            }
        }
    }

    fn add(&mut self, op: &Op, message: String) {
        if self
            .findings
            .0
            .iter()
            .all(|found| found.primary.as_ref().is_none_or(|label| label.span != op.span))
        {
            self.findings.add(codes::FAULT, op.span, message);
        }
    }
}
