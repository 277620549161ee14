//! Loops and branches of bodies into code.

use super::code::{Inst, Lanes};
use super::compile::{Compiler, Made, one_block};
use crate::mlir::{Block, Op, Value};

impl Compiler<'_> {
    /// Copies values to where a loop or a branch hands them on. One that a copy before it writes over is kept first. `last` is the instruction that
    /// alone does what the operation before does, where it is one.
    fn hand_on(&mut self, op: &Op, to: &[Lanes], last: Option<u32>) -> Made<()> {
        if op.operands.len() != to.len() {
            return self.fault(
                op,
                format!("{} values are handed on where {} are taken", op.operands.len(), to.len()),
            );
        }
        if let ([value], [one], Some(last)) = (op.operands.as_slice(), to, last)
            && self.makes(*value, *one, op, last)?
        {
            return Ok(());
        }
        let mut held = Vec::new();
        for (at, one) in to.iter().enumerate() {
            let from = self.of(op, at)?;
            if from.lanes != one.lanes || from.ty != one.ty {
                return self.fault(op, "a value of another type is handed on");
            }
            if to[..at].iter().all(|written| written.reg != from.reg) {
                held.push(from.reg);
                continue;
            }
            let temporary = self.fresh(one.lanes);
            self.push(Inst::Copy { to: temporary, from: from.reg, lanes: one.lanes }, op.span);
            held.push(temporary);
        }
        for (from, to) in held.into_iter().zip(to) {
            self.push(Inst::Copy { to: to.reg, from, lanes: to.lanes }, op.span);
        }
        Ok(())
    }

    /// Has an instruction make a number where it is handed on to, if it is what makes it: the last of a block is used by nothing else. A branch is several
    /// instructions, of which each way makes the number with another.
    fn makes(&mut self, value: Value, one: Lanes, op: &Op, last: u32) -> Made<bool> {
        let from = self.of(op, 0)?;
        let fits = (from.lanes, from.ty) == (1, one.ty) && one.lanes == 1;
        Ok(match &mut self.code.insts[last as usize] {
            Inst::Binary { to, .. } if fits && *to == from.reg => {
                *to = one.reg;
                self.regs.insert(value, one.reg);
                true
            }
            _ => false,
        })
    }

    /// The operations of a block; what its last one yields is handed on.
    fn block(&mut self, block: &Block, to: &[Lanes], around: &Op) -> Made<()> {
        let yields = block.ops.last().filter(|last| last.name == "scf.yield");
        let body = &block.ops[..block.ops.len() - usize::from(yields.is_some())];
        let mut last = None;
        for op in body {
            let before = self.here();
            self.op(op)?;
            last = (self.here() == before + 1).then_some(before);
        }
        match yields {
            Some(yields) => self.hand_on(yields, to, last),
            None if to.is_empty() => Ok(()),
            None => self.fault(around, format!("a block of `{}` yields nothing", around.name)),
        }
    }

    pub(super) fn for_loop(&mut self, op: &Op) -> Made<()> {
        let (low, high, step) = (self.of(op, 0)?, self.of(op, 1)?, self.of(op, 2)?);
        let region = op.regions.first().cloned().unwrap_or_default();
        let block = one_block(&region, op.span)?;
        let (Some(variable), carried) = (block.args.first(), block.args.get(1..).unwrap_or(&[])) else {
            return self.fault(op, "a loop without a variable");
        };
        let bounds_fit = [low, high, step]
            .iter()
            .all(|bound| bound.ty == low.ty && bound.lanes == 1 && !bound.ty.is_float());
        if op.operands.len() != 3 + carried.len() || op.results.len() != carried.len() || !bounds_fit {
            return self
                .fault(op, "a loop has three bounds of one type, and as many results as it carries values");
        }
        let i = self.make(*variable, op)?;
        let mut args = Vec::new();
        for (at, value) in carried.iter().enumerate() {
            let from = self.of(op, 3 + at)?;
            let to = self.make(*value, op)?;
            if from.lanes != to.lanes || from.ty != to.ty || self.lanes(op.results[at], op)?.lanes != to.lanes
            {
                return self.fault(op, "a loop carries a value of another type");
            }
            self.push(Inst::Copy { to: to.reg, from: from.reg, lanes: to.lanes }, op.span);
            args.push(to);
        }
        let enter = self.push(Inst::End, op.span);
        let body = self.here();
        self.block(block, &args, op)?;
        self.push(Inst::Next { i: i.reg, step: step.reg, high: high.reg, body }, op.span);
        let target = self.here();
        self.code.insts[enter as usize] =
            Inst::Enter { i: i.reg, low: low.reg, high: high.reg, step: step.reg, target };
        for (result, arg) in op.results.iter().zip(&args) {
            self.regs.insert(*result, arg.reg);
        }
        Ok(())
    }

    pub(super) fn if_else(&mut self, op: &Op) -> Made<()> {
        let condition = self.of(op, 0)?;
        let mut results = Vec::new();
        for value in &op.results {
            results.push(self.make(*value, op)?);
        }
        let unless = self.push(Inst::End, op.span);
        let then = op.regions.first().cloned().unwrap_or_default();
        self.block(one_block(&then, op.span)?, &results, op)?;
        let otherwise = op.regions.get(1).filter(|region| !region.blocks.is_empty()).cloned();
        let mut target = self.here();
        if let Some(region) = otherwise {
            let jump = self.push(Inst::End, op.span);
            target = self.here();
            self.block(one_block(&region, op.span)?, &results, op)?;
            self.code.insts[jump as usize] = Inst::Jump(self.here());
        } else if !results.is_empty() {
            return self.fault(op, "`scf.if` with results has an `else`");
        }
        self.code.insts[unless as usize] = Inst::Unless { condition: condition.reg, target };
        Ok(())
    }
}
