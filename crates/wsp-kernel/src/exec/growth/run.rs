//! A run of a generator on linear integers: instruction by instruction as the interpreter, which computes the values.

use super::linear::{Reach, above, linear};
use super::{Growing, Rate, TierOf};
use crate::exec::code::{Code, CompiledFunction, Inst, Op, What};
use crate::exec::ops;
use crate::exec::outlined::binary_trap;
use crate::exec::vm::Vm;
use crate::{Trap, Value};
use wsp_ir::{BinOp, ScalarTy};

/// What is known of a slot besides its value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// Change of the value per token.
    pub(super) rate: i64,
    /// One more than the number of the tier that it holds, if it does.
    pub(super) tier: u32,
}

/// A run that finds out.
pub(super) struct Run<'a> {
    pub(super) vm: Vm<'a>,
    pub(super) program: &'a CompiledFunction,
    /// By the number of the array.
    pub(super) rates: Vec<Rate>,
    pub(super) reach: Reach,
    /// Tiers of lengths that rise, by the number that marks have.
    pub(super) tiers: Vec<TierOf>,
    pub(super) found: Growing,
}

/// Where a function goes on.
enum Flow {
    Next,
    To(usize),
    Return(u64, Mark),
}

impl<'a> Run<'a> {
    pub(super) fn exec(
        &mut self,
        code: &'a Code,
        values: &mut [u64],
        marks: &mut [Mark],
    ) -> Result<(u64, Mark), Trap> {
        let mut pc = 0;
        // With a reach of 0 nothing more can be found out.
        while self.reach.0 > 0 {
            match self.step(code, pc, values, marks)? {
                Flow::Next => pc += 1,
                Flow::To(target) => pc = target,
                Flow::Return(value, mark) => return Ok((value, mark)),
            }
        }
        Ok((0, Mark::default()))
    }

    fn step(
        &mut self,
        code: &'a Code,
        pc: usize,
        values: &mut [u64],
        marks: &mut [Mark],
    ) -> Result<Flow, Trap> {
        if let Some(flow) = self.control(code, pc, values, marks)? {
            return Ok(flow);
        }
        let (value, mark) = self.value(code, pc, values, marks)?;
        let i = code.insts[pc];
        if has_result(i.op) {
            (values[i.dst as usize], marks[i.dst as usize]) = (value, mark);
        }
        Ok(Flow::Next)
    }

    /// What an instruction does that says where the run goes on; none for others.
    fn control(
        &mut self,
        code: &Code,
        pc: usize,
        values: &mut [u64],
        marks: &mut [Mark],
    ) -> Result<Option<Flow>, Trap> {
        let i = code.insts[pc];
        let (a, target) = (i.a as usize, i.b as usize);
        let jump = |taken: bool| if taken { Flow::To(target) } else { Flow::Next };
        Ok(Some(match i.op {
            Op::Jump => Flow::To(target),
            Op::JumpIf | Op::JumpIfNot => {
                self.settle(a, marks);
                jump((values[a] != 0) == (i.op == Op::JumpIf))
            }
            Op::Back => {
                self.vm.step(code, pc)?;
                Flow::To(target)
            }
            Op::NextU | Op::NextI => {
                self.vm.step(code, pc)?;
                jump(self.next(i, values, marks))
            }
            Op::Return => Flow::Return(values[a], marks[a]),
            _ => return Ok(None),
        }))
    }

    /// What an instruction yields, if anything.
    fn value(
        &mut self,
        code: &'a Code,
        pc: usize,
        values: &mut [u64],
        marks: &mut [Mark],
    ) -> Result<(u64, Mark), Trap> {
        let i = code.insts[pc];
        let (a, b) = (i.a as usize, i.b as usize);
        let mut mark = Mark::default();
        match i.op {
            Op::Mov => return Ok((values[a], marks[a])),
            Op::Call => {
                self.vm.step(code, pc)?;
                return self.call(code, i.a, values, marks);
            }
            Op::Load | Op::ArrayMax | Op::ArraySum => {
                let value = self.vm.outlined(code, pc, values)?;
                mark.rate = self.loaded(i, values, marks);
                self.reach.keep_in(i.ty, &linear(int(i.ty, value), mark.rate));
                return Ok((value, mark));
            }
            Op::Tier => {
                let tier = self.vm.outlined(code, pc, values)?;
                self.tier(code, i, values, marks, &mut mark);
                return Ok((tier, mark));
            }
            Op::Emit => self.emit(code, i.a, marks),
            Op::AllocWs => self.reserve(code, i.a, marks),
            Op::SetTile | Op::SetExtentScalar => self.freeze(b, marks),
            Op::CheckStep => {
                let rate = self.settle(a, marks);
                self.reach.keep(Some(linear(int(i.ty, values[a]) - 1, rate)));
            }
            Op::Cast | Op::Unary | Op::Math => mark.rate = self.cast(code, pc, values, marks),
            op => {
                if let Some(op) = binary(op, code.origins[pc].what) {
                    return self.binary(op, code, pc, values, marks);
                }
            }
        }
        Ok((self.vm.outlined(code, pc, values)?, mark))
    }

    /// The rate of a slot that is computed with; a tier in it stays the same from here on.
    pub(super) fn settle(&mut self, slot: usize, marks: &mut [Mark]) -> i64 {
        if let Some(number) = marks[slot].tier.checked_sub(1) {
            let of = self.tiers[number as usize];
            let last = self.found.tier_of(&of, 0).map_or(0, |(_, last)| last);
            self.reach.0 = self.reach.0.min(last);
            marks[slot].tier = 0;
        }
        marks[slot].rate
    }

    /// A slot whose value must not change.
    pub(super) fn freeze(&mut self, slot: usize, marks: &mut [Mark]) {
        if self.settle(slot, marks) != 0 {
            self.reach.end();
        }
    }

    fn binary(
        &mut self,
        op: BinOp,
        code: &Code,
        pc: usize,
        values: &[u64],
        marks: &mut [Mark],
    ) -> Result<(u64, Mark), Trap> {
        let Inst { ty, a, b, .. } = code.insts[pc];
        let mut mark = Mark::default();
        let (a, b) = (a as usize, b as usize);
        let value = ops::binary(op, ty, values[a], values[b]).map_err(|_| binary_trap(code, pc, values))?;
        let (left, right) = (self.settle(a, marks), self.settle(b, marks));
        if (left, right) != (0, 0) {
            let (a, b) = (linear(int(ty, values[a]), left), linear(int(ty, values[b]), right));
            mark.rate = match ty.range() {
                Some(_) => self.reach.binary(op, ty, &a, &b, int(ty, value)),
                None => {
                    self.reach.end();
                    0
                }
            };
        }
        Ok((value, mark))
    }

    /// The rate of what one operand becomes.
    fn cast(&mut self, code: &Code, pc: usize, values: &[u64], marks: &mut [Mark]) -> i64 {
        let Inst { ty, a, .. } = code.insts[pc];
        let rate = self.settle(a as usize, marks);
        match code.origins[pc].what {
            _ if rate == 0 => 0,
            What::From(from) if from.is_int() && ty.is_int() => {
                self.reach.keep_in(ty, &linear(int(from, values[a as usize]), rate));
                rate
            }
            _ => {
                self.reach.end();
                0
            }
        }
    }

    /// Goes on with a loop or not, as [`Op::NextU`] says.
    fn next(&mut self, i: Inst, values: &mut [u64], marks: &mut [Mark]) -> bool {
        let (var, end, stride) = (i.dst as usize, i.a as usize, i.a as usize + 1);
        let ty = if i.op == Op::NextU { ScalarTy::U64 } else { ScalarTy::I64 };
        let rates = [var, end, stride].map(|slot| self.settle(slot, marks));
        let [at, end, by] = [var, end, stride].map(|slot| int(ty, values[slot]));
        let next = linear(at + by, rates[0].saturating_add(rates[2]));
        let end = linear(end, rates[1]);
        self.reach.keep_in(ty, &next);
        let goes_on = next.offset < end.offset;
        let (more, less) = if goes_on { (&end, &next) } else { (&next, &end) };
        self.reach.keep(above(more, less, goes_on.into()));
        if goes_on {
            values[var] = next.offset as u64;
            marks[var] = Mark { rate: rates[0].saturating_add(rates[2]), tier: 0 };
        }
        goes_on
    }

    fn call(
        &mut self,
        code: &'a Code,
        site: u32,
        values: &mut [u64],
        marks: &mut [Mark],
    ) -> Result<(u64, Mark), Trap> {
        let site = &code.calls[site as usize];
        let callee = &self.program.funcs[site.func];
        let (own, below) = values.split_at_mut(code.template.len());
        let (own_marks, below_marks) = marks.split_at_mut(code.template.len());
        below[..callee.template.len()].copy_from_slice(&callee.template);
        below_marks[..callee.template.len()].fill(Mark::default());
        for (at, &arg) in site.args.iter().enumerate() {
            (below[at], below_marks[at]) = (own[arg as usize], own_marks[arg as usize]);
        }
        self.exec(callee, below, below_marks)
    }
}

/// A value in slot form as an integer; 0 for what is none.
pub(super) fn int(ty: ScalarTy, bits: u64) -> i128 {
    Value::from_bits(ty, bits).as_int().unwrap_or(0)
}

/// Whether an instruction that computes something, or asks or tells the host something, sets its `dst`.
fn has_result(op: Op) -> bool {
    !matches!(
        op,
        Op::Emit
            | Op::Fence
            | Op::SetTile
            | Op::SetExtentScalar
            | Op::SetExtentArray
            | Op::CheckStep
            | Op::Stop
    )
}

/// The operator of an instruction on two operands.
fn binary(op: Op, what: What) -> Option<BinOp> {
    match (op, what) {
        (Op::Binary, What::Binary(operator)) => Some(operator),
        _ => op.operator().map(|(operator, _)| operator),
    }
}
