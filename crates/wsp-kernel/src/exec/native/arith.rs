//! Arithmetic in line. Whatever has no result goes to the function's fault block.

use super::function::Translator;
use crate::exec::code::{Inst, Op, What};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use wsp_ir::{BinOp, MathFn, ScalarTy, UnOp};

/// The largest `u32` in slot form.
const MAX_U32: i64 = u32::MAX as i64;

impl Translator<'_> {
    /// Translates an instruction if it can be done in line.
    pub(super) fn arithmetic(&mut self, pc: usize, i: Inst) -> bool {
        let (op, ty) = match i.op {
            Op::Binary => match self.code.origins[pc].what {
                What::Binary(op) => (op, i.ty),
                _ => return false,
            },
            Op::Unary | Op::Math | Op::Cast => return self.of_one(pc, i),
            op => match op.operator() {
                Some(operator) => operator,
                None => return false,
            },
        };
        let (a, b) = (self.get(i.a), self.get(i.b));
        let value = match ty {
            ScalarTy::F32 | ScalarTy::F64 => self.float(op, ty, [a, b]),
            ScalarTy::Bool => self.truth(op, [a, b]),
            _ => self.integer(op, ty, [a, b], (pc, i)),
        };
        match value {
            Some(value) => self.set(i.dst, value),
            None => return false,
        }
        true
    }

    /// An instruction of one operand.
    fn of_one(&mut self, pc: usize, i: Inst) -> bool {
        let a = self.get(i.a);
        let value = match self.code.origins[pc].what {
            What::Unary(UnOp::Not) if i.ty == ScalarTy::Bool => Some(self.b.ins().bxor_imm_u(a, 1)),
            What::Unary(UnOp::Neg) if i.ty.is_float() => {
                let x = self.unpack(i.ty, a);
                let negated = self.b.ins().fneg(x);
                Some(self.pack(negated))
            }
            What::Unary(UnOp::Neg) if i.ty.is_int() => {
                let zero = self.b.ins().iconst(I64, 0);
                // The operand comes first: the fault block has it.
                self.difference(i.ty, [zero, a], pc, [a, zero])
            }
            What::Math(f @ (MathFn::Sqrt | MathFn::Abs)) if i.ty.is_float() => {
                let x = self.unpack(i.ty, a);
                let y = if f == MathFn::Sqrt { self.b.ins().sqrt(x) } else { self.b.ins().fabs(x) };
                Some(self.pack(y))
            }
            What::From(from) => self.convert(from, i.ty, a, pc),
            _ => None,
        };
        match value {
            Some(value) => self.set(i.dst, value),
            None => return false,
        }
        true
    }

    /// A float from slot form.
    pub(super) fn unpack(&mut self, ty: ScalarTy, bits: Value) -> Value {
        if ty == ScalarTy::F64 {
            return self.b.ins().bitcast(F64, MemFlagsData::new(), bits);
        }
        let low = self.b.ins().ireduce(I32, bits);
        self.b.ins().bitcast(F32, MemFlagsData::new(), low)
    }

    /// A float in slot form.
    pub(super) fn pack(&mut self, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) == F64 {
            return self.b.ins().bitcast(I64, MemFlagsData::new(), value);
        }
        let low = self.b.ins().bitcast(I32, MemFlagsData::new(), value);
        self.b.ins().uextend(I64, low)
    }

    /// A truth value in slot form.
    pub(super) fn truth_value(&mut self, value: Value) -> Value {
        self.b.ins().uextend(I64, value)
    }

    fn float(&mut self, op: BinOp, ty: ScalarTy, [a, b]: [Value; 2]) -> Option<Value> {
        let (x, y) = (self.unpack(ty, a), self.unpack(ty, b));
        let ins = self.b.ins();
        let value = match op {
            BinOp::Add => ins.fadd(x, y),
            BinOp::Sub => ins.fsub(x, y),
            BinOp::Mul => ins.fmul(x, y),
            BinOp::Div => ins.fdiv(x, y),
            BinOp::Min | BinOp::Max => {
                let order = if op == BinOp::Min { FloatCC::LessThan } else { FloatCC::GreaterThan };
                let closer = ins.fcmp(order, y, x);
                let no_number = self.b.ins().fcmp(FloatCC::Unordered, y, y);
                let second = self.b.ins().bor(closer, no_number);
                return Some(self.b.ins().select(second, b, a));
            }
            _ => {
                let order = match op {
                    BinOp::Lt => FloatCC::LessThan,
                    BinOp::Le => FloatCC::LessThanOrEqual,
                    BinOp::Gt => FloatCC::GreaterThan,
                    BinOp::Ge => FloatCC::GreaterThanOrEqual,
                    BinOp::Eq => FloatCC::Equal,
                    BinOp::Ne => FloatCC::NotEqual,
                    _ => return None,
                };
                let holds = ins.fcmp(order, x, y);
                return Some(self.truth_value(holds));
            }
        };
        Some(self.pack(value))
    }

    fn truth(&mut self, op: BinOp, [a, b]: [Value; 2]) -> Option<Value> {
        Some(match op {
            BinOp::And | BinOp::BitAnd | BinOp::Min => self.b.ins().band(a, b),
            BinOp::Or | BinOp::BitOr | BinOp::Max => self.b.ins().bor(a, b),
            BinOp::BitXor => self.b.ins().bxor(a, b),
            _ => return self.comparison(op, Signs::Unsigned, [a, b]),
        })
    }

    fn comparison(&mut self, op: BinOp, signs: Signs, [a, b]: [Value; 2]) -> Option<Value> {
        let order = match (op, signs) {
            (BinOp::Lt, Signs::Unsigned) => IntCC::UnsignedLessThan,
            (BinOp::Le, Signs::Unsigned) => IntCC::UnsignedLessThanOrEqual,
            (BinOp::Gt, Signs::Unsigned) => IntCC::UnsignedGreaterThan,
            (BinOp::Ge, Signs::Unsigned) => IntCC::UnsignedGreaterThanOrEqual,
            (BinOp::Lt, Signs::Signed) => IntCC::SignedLessThan,
            (BinOp::Le, Signs::Signed) => IntCC::SignedLessThanOrEqual,
            (BinOp::Gt, Signs::Signed) => IntCC::SignedGreaterThan,
            (BinOp::Ge, Signs::Signed) => IntCC::SignedGreaterThanOrEqual,
            (BinOp::Eq, _) => IntCC::Equal,
            (BinOp::Ne, _) => IntCC::NotEqual,
            _ => return None,
        };
        let holds = self.b.ins().icmp(order, a, b);
        Some(self.truth_value(holds))
    }

    fn integer(&mut self, op: BinOp, ty: ScalarTy, ab: [Value; 2], (pc, i): (usize, Inst)) -> Option<Value> {
        let [a, b] = ab;
        let signs = Signs::of(ty);
        Some(match op {
            BinOp::Add => return self.sum(ty, ab, pc),
            BinOp::Sub => return self.difference(ty, ab, pc, ab),
            BinOp::Mul => return self.product(ty, ab, pc),
            BinOp::Div | BinOp::Rem | BinOp::CeilDiv if signs == Signs::Unsigned => {
                match self.constant(i.b).filter(|by| by.is_power_of_two()) {
                    Some(by) => self.by_power(op, a, by),
                    None => self.quotient(op, ty, ab, pc),
                }
            }
            BinOp::Min if signs == Signs::Signed => self.b.ins().smin(a, b),
            BinOp::Max if signs == Signs::Signed => self.b.ins().smax(a, b),
            BinOp::Min => self.b.ins().umin(a, b),
            BinOp::Max => self.b.ins().umax(a, b),
            BinOp::BitAnd => self.b.ins().band(a, b),
            BinOp::BitOr => self.b.ins().bor(a, b),
            BinOp::BitXor => self.b.ins().bxor(a, b),
            BinOp::Shr => {
                self.check_amount(ty, ab, pc);
                if signs == Signs::Signed { self.b.ins().sshr(a, b) } else { self.b.ins().ushr(a, b) }
            }
            BinOp::Shl => {
                self.check_amount(ty, ab, pc);
                let shifted = self.b.ins().ishl(a, b);
                if matches!(ty, ScalarTy::U32 | ScalarTy::I32) {
                    // 31 more bits fit the slot.
                    return Some(self.fitting(ty, shifted, pc, ab));
                }
                let back = if signs == Signs::Signed {
                    self.b.ins().sshr(shifted, b)
                } else {
                    self.b.ins().ushr(shifted, b)
                };
                let lost = self.b.ins().icmp(IntCC::NotEqual, back, a);
                self.fault_if(lost, pc, ab);
                shifted
            }
            _ => return self.comparison(op, signs, ab),
        })
    }

    /// Stops unless a shift is by less than the width of the type.
    fn check_amount(&mut self, ty: ScalarTy, ab: [Value; 2], pc: usize) {
        let width = if matches!(ty, ScalarTy::U32 | ScalarTy::I32) { 32 } else { 64 };
        let wide = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, ab[1], width);
        self.fault_if(wide, pc, ab);
    }

    /// A value computed in 64 bits, which must fit a type of 32.
    pub(super) fn fitting(&mut self, ty: ScalarTy, value: Value, pc: usize, ab: [Value; 2]) -> Value {
        let bad = if ty == ScalarTy::U32 {
            self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, value, MAX_U32)
        } else {
            let low = self.b.ins().ireduce(I32, value);
            let same = self.b.ins().sextend(I64, low);
            self.b.ins().icmp(IntCC::NotEqual, same, value)
        };
        self.fault_if(bad, pc, ab);
        value
    }

    fn sum(&mut self, ty: ScalarTy, ab: [Value; 2], pc: usize) -> Option<Value> {
        let [a, b] = ab;
        let sum = self.b.ins().iadd(a, b);
        let bad = match ty {
            ScalarTy::U32 | ScalarTy::I32 => return Some(self.fitting(ty, sum, pc, ab)),
            ScalarTy::U64 => self.b.ins().icmp(IntCC::UnsignedLessThan, sum, a),
            ScalarTy::I64 => {
                // Both operands have the other sign.
                let (x, y) = (self.b.ins().bxor(a, sum), self.b.ins().bxor(b, sum));
                let both = self.b.ins().band(x, y);
                self.b.ins().icmp_imm_s(IntCC::SignedLessThan, both, 0)
            }
            _ => return None,
        };
        self.fault_if(bad, pc, ab);
        Some(sum)
    }

    /// `a - b`; `operands` are those of the instruction.
    fn difference(
        &mut self,
        ty: ScalarTy,
        [a, b]: [Value; 2],
        pc: usize,
        operands: [Value; 2],
    ) -> Option<Value> {
        let difference = self.b.ins().isub(a, b);
        let bad = match ty {
            ScalarTy::U32 | ScalarTy::U64 => self.b.ins().icmp(IntCC::UnsignedLessThan, a, b),
            ScalarTy::I32 => return Some(self.fitting(ty, difference, pc, operands)),
            ScalarTy::I64 => {
                let (x, y) = (self.b.ins().bxor(a, b), self.b.ins().bxor(a, difference));
                let both = self.b.ins().band(x, y);
                self.b.ins().icmp_imm_s(IntCC::SignedLessThan, both, 0)
            }
            _ => return None,
        };
        self.fault_if(bad, pc, operands);
        Some(difference)
    }

    fn product(&mut self, ty: ScalarTy, ab: [Value; 2], pc: usize) -> Option<Value> {
        let [a, b] = ab;
        let product = self.b.ins().imul(a, b);
        let bad = match ty {
            ScalarTy::U32 | ScalarTy::I32 => return Some(self.fitting(ty, product, pc, ab)),
            ScalarTy::U64 => {
                let high = self.b.ins().umulhi(a, b);
                self.b.ins().icmp_imm_s(IntCC::NotEqual, high, 0)
            }
            ScalarTy::I64 => {
                let high = self.b.ins().smulhi(a, b);
                let sign = self.b.ins().sshr_imm_u(product, 63);
                self.b.ins().icmp(IntCC::NotEqual, high, sign)
            }
            _ => return None,
        };
        self.fault_if(bad, pc, ab);
        Some(product)
    }

    /// Unsigned division by a constant power of two.
    fn by_power(&mut self, op: BinOp, a: Value, by: u64) -> Value {
        let (bits, rest) = (i64::from(by.trailing_zeros()), (by - 1).cast_signed());
        if op == BinOp::Rem {
            return self.b.ins().band_imm_u(a, rest);
        }
        let quotient = self.b.ins().ushr_imm_u(a, bits);
        if op == BinOp::Div {
            return quotient;
        }
        let left = self.b.ins().band_imm_u(a, rest);
        let some = self.b.ins().icmp_imm_s(IntCC::NotEqual, left, 0);
        let some = self.truth_value(some);
        self.b.ins().iadd(quotient, some)
    }

    /// Unsigned division.
    fn quotient(&mut self, op: BinOp, ty: ScalarTy, ab: [Value; 2], pc: usize) -> Value {
        let [mut a, mut b] = ab;
        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        self.fault_if(zero, pc, ab);
        if ty == ScalarTy::U32 {
            // Processors divide 32 bits faster.
            (a, b) = (self.b.ins().ireduce(I32, a), self.b.ins().ireduce(I32, b));
        }
        let mut value = match op {
            BinOp::Rem => self.b.ins().urem(a, b),
            _ => self.b.ins().udiv(a, b),
        };
        if op == BinOp::CeilDiv {
            let whole = self.b.ins().imul(value, b);
            let some = self.b.ins().icmp(IntCC::NotEqual, whole, a);
            let ty = self.b.func.dfg.value_type(a);
            let some = self.b.ins().uextend(ty, some);
            value = self.b.ins().iadd(value, some);
        }
        if ty == ScalarTy::U32 { self.b.ins().uextend(I64, value) } else { value }
    }
}

/// How an integer type orders slot forms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Signs {
    Signed,
    Unsigned,
}

impl Signs {
    pub(super) fn of(ty: ScalarTy) -> Signs {
        match ty {
            ScalarTy::I32 | ScalarTy::I64 => Signs::Signed,
            _ => Signs::Unsigned,
        }
    }
}
