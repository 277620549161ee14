//! The interpreter of compiled functions: the oracle of code compiled for this machine.

use super::code::{Code, Op};
use super::outlined::binary_trap;
use super::vm::Vm;
use crate::Trap;
use wsp_core::int::Int as _;
use wsp_ir::BinOp;

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn bits32(value: f32) -> u64 {
    u64::from(value.to_bits())
}

impl<'a> Vm<'a> {
    /// Interprets the entry on slots from [`frame`].
    pub(crate) fn interpret(&mut self, slots: &mut [u64]) -> Result<u64, Trap> {
        self.exec(self.program.entry(), slots)
    }

    /// Runs one function whose frame, at the start of `slots`, is set up.
    fn exec(&mut self, code: &'a Code, slots: &mut [u64]) -> Result<u64, Trap> {
        let (frame, below) = slots.split_at_mut(code.template.len());
        let mut pc = 0usize;
        loop {
            let i = code.insts[pc];
            pc += 1;
            // Reads and writes of the frame by the operands of the instruction.
            macro_rules! a {
                () => {
                    frame[i.a as usize]
                };
            }
            macro_rules! b {
                () => {
                    frame[i.b as usize]
                };
            }
            macro_rules! set {
                ($v:expr) => {{
                    let value: u64 = $v;
                    frame[i.dst as usize] = value;
                }};
            }
            // An operator of integers, whose results have the slot form of their type.
            macro_rules! int {
                ($ty:ident $op:ident) => {
                    match $ty::binary(BinOp::$op, a!() as $ty, b!() as $ty) {
                        Ok(value) => set!(value as i64 as u64),
                        Err(_) => return Err(binary_trap(code, pc - 1, frame)),
                    }
                };
            }
            match i.op {
                Op::Mov => set!(a!()),
                Op::AddU32 => int!(u32 Add),
                Op::SubU32 => int!(u32 Sub),
                Op::MulU32 => int!(u32 Mul),
                Op::DivU32 => int!(u32 Div),
                Op::RemU32 => int!(u32 Rem),
                Op::CeilDivU32 => int!(u32 CeilDiv),
                Op::AddI32 => int!(i32 Add),
                Op::SubI32 => int!(i32 Sub),
                Op::MulI32 => int!(i32 Mul),
                Op::AddU64 => int!(u64 Add),
                Op::SubU64 => int!(u64 Sub),
                Op::MulU64 => int!(u64 Mul),
                Op::AddI64 => int!(i64 Add),
                Op::SubI64 => int!(i64 Sub),
                Op::MulI64 => int!(i64 Mul),
                Op::AddF32 => set!(bits32(f32_of(a!()) + f32_of(b!()))),
                Op::SubF32 => set!(bits32(f32_of(a!()) - f32_of(b!()))),
                Op::MulF32 => set!(bits32(f32_of(a!()) * f32_of(b!()))),
                Op::DivF32 => set!(bits32(f32_of(a!()) / f32_of(b!()))),
                Op::AddF64 => set!((f64_of(a!()) + f64_of(b!())).to_bits()),
                Op::SubF64 => set!((f64_of(a!()) - f64_of(b!())).to_bits()),
                Op::MulF64 => set!((f64_of(a!()) * f64_of(b!())).to_bits()),
                Op::DivF64 => set!((f64_of(a!()) / f64_of(b!())).to_bits()),
                Op::MinU => int!(u64 Min),
                Op::MaxU => int!(u64 Max),
                Op::LtU => int!(u64 Lt),
                Op::LeU => int!(u64 Le),
                Op::LtI => int!(i64 Lt),
                Op::LeI => int!(i64 Le),
                Op::EqInt => int!(u64 Eq),
                Op::NeInt => int!(u64 Ne),
                Op::Jump => pc = i.b as usize,
                Op::JumpIf => {
                    if a!() != 0 {
                        pc = i.b as usize;
                    }
                }
                Op::JumpIfNot => {
                    if a!() == 0 {
                        pc = i.b as usize;
                    }
                }
                Op::Back => {
                    self.step(code, pc - 1)?;
                    pc = i.b as usize;
                }
                Op::NextU => {
                    self.step(code, pc - 1)?;
                    let next = frame[i.dst as usize].checked_add(frame[i.a as usize + 1]);
                    if let Some(next) = next.filter(|n| *n < a!()) {
                        set!(next);
                        pc = i.b as usize;
                    }
                }
                Op::NextI => {
                    self.step(code, pc - 1)?;
                    let stride = frame[i.a as usize + 1] as i64;
                    let next = (frame[i.dst as usize] as i64).checked_add(stride);
                    if let Some(next) = next.filter(|n| *n < a!() as i64) {
                        set!(next as u64);
                        pc = i.b as usize;
                    }
                }
                Op::Load => set!(self.load(code, pc - 1, a!(), b!())?),
                Op::Call => {
                    self.step(code, pc - 1)?;
                    let value = self.call(code, i.a, frame, below)?;
                    set!(value);
                }
                Op::Return => return Ok(a!()),
                Op::Binary
                | Op::Unary
                | Op::Math
                | Op::Cast
                | Op::ArrayMax
                | Op::ArraySum
                | Op::ArrayLen
                | Op::Tier
                | Op::Tile
                | Op::AxisTile
                | Op::HostAxisTile
                | Op::HostAxisExtent
                | Op::AllocWs => set!(self.outlined(code, pc - 1, frame)?),
                Op::CheckStep
                | Op::Stop
                | Op::Emit
                | Op::Fence
                | Op::SetTile
                | Op::SetExtentScalar
                | Op::SetExtentArray => {
                    self.outlined(code, pc - 1, frame)?;
                }
            }
        }
    }

    fn call(
        &mut self,
        code: &'a Code,
        site_number: u32,
        frame: &[u64],
        below: &mut [u64],
    ) -> Result<u64, Trap> {
        let site = &code.calls[site_number as usize];
        let callee = &self.program.funcs[site.func];
        below[..callee.template.len()].copy_from_slice(&callee.template);
        for (slot, arg) in below.iter_mut().zip(&site.args) {
            *slot = frame[*arg as usize];
        }
        self.exec(callee, below).map_err(|trap| self.called_from(trap, code, site_number))
    }
}
