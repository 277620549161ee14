//! Steps, the ends of counted loops, and calls.

use super::function::Translator;
use super::helpers::Helper;
use super::run::Run;
use crate::exec::code::{Inst, Op};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use std::mem::offset_of;
use wsp_ir::ScalarTy;

impl Translator<'_> {
    /// Counts a step.
    pub(super) fn step(&mut self, pc: usize) {
        let steps = self.load_run(offset_of!(Run<'_, '_>, steps));
        let steps = self.b.ins().iadd_imm_s(steps, 1);
        self.store_run(offset_of!(Run<'_, '_>, steps), steps);
        let limit = self.load_run(offset_of!(Run<'_, '_>, check_at));
        let due = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, steps, limit);
        let (look, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(due, look, &[], next, &[]);
        self.b.switch_to_block(look);
        self.b.set_cold_block(look);
        self.call_checked(Helper::Check, pc);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// The end of a counted loop's body.
    pub(super) fn next(&mut self, pc: usize, i: Inst) {
        self.step(pc);
        let (now, bound, stride) = (self.get(i.dst), self.get(i.a), self.get(i.a + 1));
        let sum = self.b.ins().iadd(now, stride);
        let less = if i.op == Op::NextU { IntCC::UnsignedLessThan } else { IntCC::SignedLessThan };
        let mut goes_on = self.b.ins().icmp(less, sum, bound);
        if matches!(i.ty, ScalarTy::U64 | ScalarTy::I64) {
            // The stride is at least 1: what is not above has gone round.
            let above = self.b.ins().icmp(less, now, sum);
            goes_on = self.b.ins().band(goes_on, above);
        }
        let (take, leave) = (self.b.create_block(), self.target(pc as u32 + 1));
        self.b.ins().brif(goes_on, take, &[], leave, &[]);
        self.b.switch_to_block(take);
        self.set(i.dst, sum);
        self.jump_to(i.b);
    }

    /// A call of another function of the program.
    pub(super) fn call(&mut self, pc: usize, i: Inst) {
        self.step(pc);
        let site = &self.code.calls[i.a as usize];
        let below = self.b.ins().iadd_imm_s(self.frame, 8 * self.code.template.len() as i64);
        let mut args = vec![self.run, below];
        args.extend(site.args.iter().map(|slot| self.get(*slot)));
        let call = self.b.ins().call(self.funcs[site.func], &args);
        let status = self.b.inst_results(call)[0];
        let (failed, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(status, failed, &[], next, &[]);
        self.b.switch_to_block(failed);
        self.b.set_cold_block(failed);
        self.call_checked(Helper::CalledFrom, pc);
        self.b.ins().jump(self.stopped, &[]);
        self.b.switch_to_block(next);
        let value = self.load_run(offset_of!(Run<'_, '_>, value));
        self.set(i.dst, value);
    }
}
