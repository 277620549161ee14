//! Operators, loads and stores of lanes: what most bodies do, in loops over slices.

use super::arith;
use super::code::{Binary, Index, Lanes, Reg, Scalar};
use super::exec::{Done, State, World, fault};
use wsp_core::int::BinOp;

impl State {
    #[inline]
    pub(super) fn binary(&mut self, op: Binary, to: Reg, a: Lanes, b: Reg) -> Done<()> {
        if a.ty == Scalar::F32
            && let Binary::Plain(op) = op
            && self.of_singles(op, to, (a.reg, b), a.lanes)
        {
            return Ok(());
        }
        if let Some(plain) = arith::plain(op, a.ty) {
            self.each(to, (a.reg, b), a.lanes, plain);
            return Ok(());
        }
        for lane in 0..a.lanes {
            let (left, right) = (self.lane(a.reg, lane), self.lane(b, lane));
            match arith::binary(op, a.ty, left, right) {
                Some(value) => self.set(to, lane, value),
                None => {
                    return fault(format!(
                        "an operation of {} and {} has no result: a division by 0, or a shift by the width or more",
                        left as i64, right as i64
                    ));
                }
            }
        }
        Ok(())
    }

    /// What most bodies do: whether it was an operator of these.
    #[inline]
    fn of_singles(&mut self, op: BinOp, to: Reg, from: (Reg, Reg), lanes: u32) -> bool {
        macro_rules! each {
            ($operator:tt) => {
                self.each(to, from, lanes, |a, b| arith::single(arith::number(a) $operator arith::number(b)))
            };
        }
        match op {
            BinOp::Add => each!(+),
            BinOp::Sub => each!(-),
            BinOp::Mul => each!(*),
            BinOp::Div => each!(/),
            _ => return false,
        }
        true
    }

    /// Makes each lane of two. Registers of a result are new where it is compiled, so they lie behind those of its operands.
    #[inline]
    fn each(&mut self, to: Reg, (a, b): (Reg, Reg), lanes: u32, of: impl Fn(u64, u64) -> u64) {
        let (to, a, b, lanes) = (to as usize, a as usize, b as usize, lanes as usize);
        if lanes == 1 {
            self.registers[to] = of(self.registers[a], self.registers[b]);
            return;
        }
        let (before, made) = self.registers.split_at_mut(to);
        let (a, b) = (&before[a..a + lanes], &before[b..b + lanes]);
        for ((made, a), b) in made[..lanes].iter_mut().zip(a).zip(b) {
            *made = of(*a, *b);
        }
    }

    /// The first element of an access of so many, and the buffer.
    #[inline]
    fn place(&self, lanes: Lanes, memory: Reg, index: &[Index]) -> Done<(usize, usize)> {
        let mut at = 0u64;
        for (i, one) in index.iter().enumerate() {
            let value = self.registers[one.reg as usize];
            let last = i + 1 == index.len();
            let beyond = value >= one.extent || last && one.extent - value < u64::from(lanes.lanes);
            if beyond {
                return fault(format!(
                    "index {} is beyond the extent {} of the memory",
                    value as i64, one.extent
                ));
            }
            at += value * one.stride;
        }
        Ok((self.registers[memory as usize] as usize, at as usize))
    }

    pub(super) fn load(&mut self, to: Lanes, memory: Reg, index: &[Index], world: &World<'_>) -> Done<()> {
        let (buffer, at) = self.place(to, memory, index)?;
        let width = to.ty.bytes();
        let Some(from) = world.memory.get(buffer) else { return self.gone(memory, "reads", world) };
        let Some(bytes) = from.get(at * width..(at + to.lanes as usize) * width) else {
            return fault(format!("element {at} is beyond a memory of {} bytes", from.len()));
        };
        let registers = &mut self.registers[to.reg as usize..(to.reg + to.lanes) as usize];
        let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        match to.ty {
            Scalar::F32 => registers.iter_mut().zip(words).for_each(|(to, word)| *to = u64::from(word)),
            Scalar::Int(32) => {
                registers.iter_mut().zip(words).for_each(|(to, word)| *to = i64::from(word as i32) as u64);
            }
            ty => {
                for (register, element) in registers.iter_mut().zip(bytes.chunks_exact(width)) {
                    *register = arith::load(ty, element);
                }
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        from: Lanes,
        memory: Reg,
        index: &[Index],
        world: &mut World<'_>,
    ) -> Done<()> {
        let (buffer, at) = self.place(from, memory, index)?;
        let width = from.ty.bytes();
        let Some(to) = world.memory.get_mut(buffer) else { return self.gone(memory, "writes", world) };
        let size = to.len();
        let Some(bytes) = to.get_mut(at * width..(at + from.lanes as usize) * width) else {
            return fault(format!("element {at} is beyond a memory of {size} bytes"));
        };
        let registers = &self.registers[from.reg as usize..(from.reg + from.lanes) as usize];
        match from.ty {
            Scalar::F32 | Scalar::Int(32) => {
                let words = bytes.as_chunks_mut::<4>().0.iter_mut();
                words.zip(registers).for_each(|(word, from)| *word = (*from as u32).to_le_bytes());
            }
            ty => {
                for (register, element) in registers.iter().zip(bytes.chunks_exact_mut(width)) {
                    arith::store(ty, *register, element);
                }
            }
        }
        Ok(())
    }
}
