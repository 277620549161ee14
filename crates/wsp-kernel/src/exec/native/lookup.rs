//! Elements of arrays, and tiers.

use super::function::Translator;
use super::helpers::Helper;
use super::run::{ROW_TYPES, Row, Run};
use crate::exec::code::Inst;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData};
use std::mem::offset_of;
use wsp_ir::ScalarTy;

impl Translator<'_> {
    /// An element of an integer array; in line where it needs no conversion.
    pub(super) fn load(&mut self, pc: usize, i: Inst) {
        let Some(kind) = ROW_TYPES.iter().position(|ty| *ty == i.ty) else {
            return self.outlined(pc, i);
        };
        let (array, index) = (self.get(i.a), self.get(i.b));
        // Rows stay as they are, so looking one up can be done once for a whole loop.
        let rows_at = offset_of!(Run<'_, '_>, rows) as i32;
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let rows = self.b.ins().load(I64, flags, self.run, rows_at);
        let offset = self.b.ins().imul_imm_u(array, size_of::<Row>() as i64);
        let row = self.b.ins().iadd(rows, offset);
        let len = self.b.ins().load(I64, flags, row, (offset_of!(Row, len) + 8 * kind) as i32);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        let (direct, outside, next) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let value = self.b.append_block_param(next, I64);
        self.b.ins().brif(inside, direct, &[], outside, &[]);

        self.b.switch_to_block(outside);
        self.b.set_cold_block(outside);
        self.spill(i);
        self.call_checked(Helper::Outlined, pc);
        let converted = self.load_run(offset_of!(Run<'_, '_>, value));
        self.b.ins().jump(next, &[converted.into()]);

        self.b.switch_to_block(direct);
        let first = self.b.ins().load(I64, flags, row, offset_of!(Row, first) as i32);
        let wide = matches!(i.ty, ScalarTy::I64 | ScalarTy::U64);
        let offset = self.b.ins().ishl_imm_u(index, if wide { 3 } else { 2 });
        let at = self.b.ins().iadd(first, offset);
        // Elements of views need no alignment.
        let flags = MemFlagsData::new().with_notrap();
        let element = match i.ty {
            ScalarTy::I32 => self.b.ins().sload32(flags, at, 0),
            ScalarTy::U32 => self.b.ins().uload32(flags, at, 0),
            _ => self.b.ins().load(I64, flags, at, 0),
        };
        self.b.ins().jump(next, &[element.into()]);
        self.b.switch_to_block(next);
        self.set(i.dst, value);
    }

    /// The number of thresholds below a value.
    pub(super) fn tier(&mut self, pc: usize, i: Inst) {
        let (thresholds, _) = &self.code.tiers[i.b as usize];
        let signed = matches!(i.ty, ScalarTy::I32 | ScalarTy::I64);
        let (least, most) =
            if signed { (i128::from(i64::MIN), i128::from(i64::MAX)) } else { (0, i128::from(u64::MAX)) };
        if !i.ty.is_int() || thresholds.bounds.len() > 16 {
            return self.outlined(pc, i);
        }
        let greater = if signed { IntCC::SignedGreaterThan } else { IntCC::UnsignedGreaterThan };
        let value = self.get(i.a);
        // Bounds below every value are passed by all, those from the greatest on by none.
        let passed = thresholds.bounds.iter().filter(|bound| **bound < least).count();
        let mut tier = self.b.ins().iconst(I64, passed as i64);
        for bound in thresholds.bounds.iter().filter(|bound| (least..most).contains(bound)) {
            let bound = self.b.ins().iconst(I64, *bound as i64);
            let above = self.b.ins().icmp(greater, value, bound);
            let above = self.b.ins().uextend(I64, above);
            tier = self.b.ins().iadd(tier, above);
        }
        if !thresholds.default {
            let none = self.b.ins().icmp_imm_s(IntCC::Equal, tier, thresholds.bounds.len() as i64);
            self.fault_if(none, pc, [value, value]);
        }
        self.set(i.dst, tier);
    }
}
