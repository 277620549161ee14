//! Conversions in line.

use super::arith::Signs;
use super::function::Translator;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64};
use cranelift_codegen::ir::{InstBuilder, Value};
use wsp_ir::ScalarTy;

impl Translator<'_> {
    /// A conversion; none when it is not done in line.
    pub(super) fn convert(&mut self, from: ScalarTy, to: ScalarTy, a: Value, pc: usize) -> Option<Value> {
        use ScalarTy::{Bool, I32, I64, U32, U64};
        if from == to {
            return Some(a);
        }
        Some(match to {
            Bool if from.is_float() => {
                let x = self.unpack(from, a);
                let zero = if from == ScalarTy::F64 {
                    self.b.ins().f64const(0.0)
                } else {
                    self.b.ins().f32const(0.0)
                };
                let holds = self.b.ins().fcmp(FloatCC::NotEqual, x, zero);
                self.truth_value(holds)
            }
            Bool => {
                let holds = self.b.ins().icmp_imm_s(IntCC::NotEqual, a, 0);
                self.truth_value(holds)
            }
            ScalarTy::F32 | ScalarTy::F64 => self.float_of(from, to, a),
            _ if from.is_float() => return None,
            // Unsigned comparison takes negative values for large ones.
            U32 => {
                let bad = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, a, i64::from(u32::MAX));
                self.fault_if(bad, pc, [a, a]);
                a
            }
            I32 if Signs::of(from) == Signs::Unsigned => {
                let bad = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, a, i64::from(i32::MAX));
                self.fault_if(bad, pc, [a, a]);
                a
            }
            I32 => self.fitting(I32, a, pc, [a, a]),
            U64 | I64 => {
                if matches!((from, to), (U64, I64) | (I32 | I64, U64)) {
                    let bad = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, a, 0);
                    self.fault_if(bad, pc, [a, a]);
                }
                a
            }
        })
    }

    fn float_of(&mut self, from: ScalarTy, to: ScalarTy, a: Value) -> Value {
        let ty = if to == ScalarTy::F64 { F64 } else { F32 };
        let value = match from {
            ScalarTy::F32 => {
                let x = self.unpack(from, a);
                self.b.ins().fpromote(F64, x)
            }
            ScalarTy::F64 => {
                let x = self.unpack(from, a);
                self.b.ins().fdemote(F32, x)
            }
            ScalarTy::U64 => self.b.ins().fcvt_from_uint(ty, a),
            // All others are the same as signed integers of 64 bits.
            _ => self.b.ins().fcvt_from_sint(ty, a),
        };
        self.pack(value)
    }
}
