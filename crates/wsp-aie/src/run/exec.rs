//! Cores as coroutines: each runs until it waits, or has taken its steps.

use super::Call;
use super::arith;
use super::code::{Binary, CallArg, Code, Index, Inst, Lanes, Reg, Scalar, View};
use super::net::Net;
use crate::codes;
use crate::design::Design;
use wsp_core::int::BinOp;
use wsp_diag::Diagnostic;

/// A core, where it is in its code.
#[derive(Debug)]
pub(super) struct CoreState {
    pub(super) code: Code,
    state: State,
}

/// What changes while a core runs.
#[derive(Debug)]
pub(super) struct State {
    pub(super) registers: Vec<u64>,
    at: usize,
    ended: bool,
    /// Buffers of the core's own, by the instruction that makes them.
    allocated: Vec<(usize, usize)>,
    /// The objects that the code's views are.
    pub(super) views: Vec<View>,
}

/// Why a core does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// It has ended.
    Ended,
    /// It took all of its steps, and can go on.
    Steps,
    /// An end of a fifo has too few objects or too little room.
    End { end: usize, count: u32 },
    /// A lock does not have the value.
    Lock { lock: usize, value: i64, exact: bool },
}

/// What cores run on.
pub(super) struct World<'a> {
    pub(super) design: &'a Design,
    pub(super) net: &'a mut Net,
    pub(super) memory: &'a mut Vec<Vec<u8>>,
    pub(super) kernels: &'a mut dyn FnMut(&str, &mut Call<'_>) -> bool,
}

/// What is done, or what is wrong.
pub(super) type Done<T> = Result<T, String>;

impl CoreState {
    pub(super) fn new(code: Code) -> CoreState {
        let registers = vec![0; code.registers as usize];
        let views = vec![View::NONE; code.views];
        CoreState { code, state: State { registers, at: 0, ended: false, allocated: Vec::new(), views } }
    }

    /// Runs at most so many steps, which it counts down; and whether anything was done.
    pub(super) fn run(
        &mut self,
        steps: &mut u64,
        world: &mut World<'_>,
    ) -> Result<(Stop, bool), Box<Diagnostic>> {
        let state = &mut self.state;
        let mut moved = false;
        while *steps > 0 {
            if state.ended {
                return Ok((Stop::Ended, moved));
            }
            *steps -= 1;
            let at = state.at;
            match state.inst(&self.code.insts[at], world) {
                Ok(Next::Go) => state.at = at + 1,
                Ok(Next::To(target)) => state.at = target as usize,
                Ok(Next::Stop(stop)) => return Ok((stop, moved)),
                Ok(Next::End) => state.ended = true,
                Err(message) => {
                    return Err(Box::new(
                        Diagnostic::error(codes::FAULT, message).at(self.code.spans[at], ""),
                    ));
                }
            }
            moved = true;
        }
        Ok((Stop::Steps, moved))
    }
}

impl State {
    fn integer(&self, reg: Reg) -> i64 {
        self.registers[reg as usize] as i64
    }

    pub(super) fn set(&mut self, reg: Reg, lane: u32, value: u64) {
        self.registers[(reg + lane) as usize] = value;
    }

    fn lane(&self, reg: Reg, lane: u32) -> u64 {
        self.registers[(reg + lane) as usize]
    }

    fn inst(&mut self, inst: &Inst, world: &mut World<'_>) -> Done<Next> {
        match inst {
            Inst::Binary { op, to, a, b } => self.binary(*op, *to, *a, *b)?,
            Inst::Load { to, memory, index } => self.load(*to, *memory, index, world)?,
            Inst::Store { from, memory, index } => self.store(*from, *memory, index, world)?,
            Inst::Next { i, step, high, body } => {
                let (next, overflow) = self.integer(*i).overflowing_add(self.integer(*step));
                self.set(*i, 0, next as u64);
                if !overflow && next < self.integer(*high) {
                    return Ok(Next::To(*body));
                }
            }
            Inst::Enter { i, low, high, step, target } => {
                if self.integer(*step) <= 0 {
                    return fault(format!("a loop steps by {}; steps are above 0", self.integer(*step)));
                }
                self.set(*i, 0, self.registers[*low as usize]);
                if self.integer(*low) >= self.integer(*high) {
                    return Ok(Next::To(*target));
                }
            }
            Inst::Fixed { to, values } => {
                let to = *to as usize;
                self.registers[to..to + values.len()].copy_from_slice(values);
            }
            Inst::Copy { to, from, lanes } => {
                let from = *from as usize;
                self.registers.copy_within(from..from + *lanes as usize, *to as usize);
            }
            Inst::Splat { to, from, lanes } => {
                let value = self.registers[*from as usize];
                (0..*lanes).for_each(|lane| self.set(*to, lane, value));
            }
            Inst::Unary { op, to, a } => {
                for lane in 0..a.lanes {
                    let value = arith::unary(*op, a.ty, self.lane(a.reg, lane));
                    self.set(*to, lane, value);
                }
            }
            Inst::Fma { to, a, b, c } => {
                for lane in 0..a.lanes {
                    let value =
                        arith::fma(a.ty, self.lane(a.reg, lane), self.lane(*b, lane), self.lane(*c, lane));
                    self.set(*to, lane, value);
                }
            }
            Inst::Select { to, condition, a, b } => {
                for lane in 0..a.lanes {
                    let holds =
                        self.lane(condition.reg, if condition.lanes == 1 { 0 } else { lane }) & 1 == 1;
                    let value = self.lane(if holds { a.reg } else { *b }, lane);
                    self.set(*to, lane, value);
                }
            }
            Inst::Cast { to, from, unsigned } => {
                for lane in 0..from.lanes {
                    let value = arith::cast(to.ty, from.ty, *unsigned, self.lane(from.reg, lane));
                    self.set(to.reg, lane, value);
                }
            }
            Inst::Bits { to, from } => {
                for lane in 0..from.lanes {
                    let mut bytes = [0; 8];
                    arith::store(from.ty, self.lane(from.reg, lane), &mut bytes[..from.ty.bytes()]);
                    self.set(to.reg, lane, arith::load(to.ty, &bytes[..to.ty.bytes()]));
                }
            }
            Inst::Reduce { op, to, a } => {
                let mut total = self.lane(a.reg, 0);
                for lane in 1..a.lanes {
                    total = arith::binary(*op, a.ty, total, self.lane(a.reg, lane)).unwrap_or(0);
                }
                self.set(*to, 0, total);
            }
            Inst::Jump(target) => return Ok(Next::To(*target)),
            Inst::Unless { condition, target } => {
                if self.integer(*condition) & 1 == 0 {
                    return Ok(Next::To(*target));
                }
            }
            Inst::End => return Ok(Next::End),
            _ => return self.outside(inst, world),
        }
        Ok(Next::Go)
    }

    /// Instructions on memory as a whole, fifos, locks and kernels.
    fn outside(&mut self, inst: &Inst, world: &mut World<'_>) -> Done<Next> {
        match inst {
            Inst::Alloc { to, bytes } => self.alloc(*to, *bytes, world.memory),
            Inst::CopyMemory { from, to } => {
                let (from, to) = (self.buffer(*from, "copies", world)?, self.buffer(*to, "fills", world)?);
                if world.memory[from].len() != world.memory[to].len() {
                    return fault("memory is copied to one of another size".to_owned());
                }
                if from != to {
                    let held = std::mem::take(&mut world.memory[from]);
                    world.memory[to].copy_from_slice(&held);
                    world.memory[from] = held;
                }
            }
            Inst::Buffer { to, buffer } => self.set(*to, 0, *buffer as u64),
            Inst::Acquire { to, end, count } => return Ok(self.acquire((*to, *end, *count), world.net)),
            Inst::Access { to, first, end, index, view } => {
                let object = self.registers[*first as usize].saturating_add(u64::from(*index));
                self.access(View { reg: *to, end: *end, object }, *view, world)?;
            }
            Inst::Release { end, count } => self.release(*end, u64::from(*count), world.net)?,
            Inst::Lock { lock, action, value } => {
                let have = &mut world.net.locks[*lock];
                match action {
                    1 => *have = have.saturating_add(*value),
                    _ if *action == 0 && *have == *value || *action == 2 && *have >= *value => {
                        *have = have.saturating_sub(*value)
                    }
                    _ => {
                        return Ok(Next::Stop(Stop::Lock {
                            lock: *lock,
                            value: *value,
                            exact: *action == 0,
                        }));
                    }
                }
            }
            Inst::Call { kernel, args, results } => self.call(*kernel, args, results, world)?,
            _ => {}
        }
        Ok(Next::Go)
    }

    /// Memory of the core; the same each time.
    fn alloc(&mut self, to: Reg, bytes: u64, memory: &mut Vec<Vec<u8>>) {
        let known = self.allocated.iter().find(|(at, _)| *at == self.at).map(|(_, buffer)| *buffer);
        let buffer = known.unwrap_or_else(|| {
            memory.push(vec![0; bytes as usize]);
            self.allocated.push((self.at, memory.len() - 1));
            memory.len() - 1
        });
        self.set(to, 0, buffer as u64);
    }

    #[inline]
    fn binary(&mut self, op: Binary, to: Reg, a: Lanes, b: Reg) -> Done<()> {
        if a.ty == Scalar::F32
            && let Binary::Plain(op) = op
            && self.of_singles(op, to, (a.reg, b), a.lanes)
        {
            return Ok(());
        }
        if let Some(plain) = arith::plain(op, a.ty) {
            for lane in 0..a.lanes {
                let value = plain(self.lane(a.reg, lane), self.lane(b, lane));
                self.set(to, lane, value);
            }
            return Ok(());
        }
        for lane in 0..a.lanes {
            let (left, right) = (self.lane(a.reg, lane), self.lane(b, lane));
            match arith::binary(op, a.ty, left, right) {
                Some(value) => self.set(to, lane, value),
                None => return fault(format!("`{} {op:?} {}` has no result", left as i64, right as i64)),
            }
        }
        Ok(())
    }

    /// What most bodies do: whether it was an operator of these.
    #[inline]
    fn of_singles(&mut self, op: BinOp, to: Reg, (a, b): (Reg, Reg), lanes: u32) -> bool {
        macro_rules! each {
            ($operator:tt) => {
                for lane in 0..lanes {
                    let value = arith::number(self.lane(a, lane)) $operator arith::number(self.lane(b, lane));
                    self.set(to, lane, arith::single(value));
                }
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

    fn load(&mut self, to: Lanes, memory: Reg, index: &[Index], world: &World<'_>) -> Done<()> {
        let (buffer, at) = self.place(to, memory, index)?;
        let width = to.ty.bytes();
        let Some(from) = world.memory.get(buffer) else { return self.gone(memory, "reads", world) };
        let Some(bytes) = from.get(at * width..(at + to.lanes as usize) * width) else {
            return fault(format!("element {at} is beyond a memory of {} bytes", from.len()));
        };
        if to.lanes == 1 {
            self.registers[to.reg as usize] = match to.ty {
                Scalar::F32 => u64::from(word(bytes)),
                ty => arith::load(ty, bytes),
            };
            return Ok(());
        }
        let registers = &mut self.registers[to.reg as usize..(to.reg + to.lanes) as usize];
        match to.ty {
            Scalar::F32 => {
                for (register, element) in registers.iter_mut().zip(bytes.chunks_exact(4)) {
                    *register = u64::from(word(element));
                }
            }
            Scalar::Int(32) => {
                for (register, element) in registers.iter_mut().zip(bytes.chunks_exact(4)) {
                    *register = i64::from(word(element) as i32) as u64;
                }
            }
            ty => {
                for (register, element) in registers.iter_mut().zip(bytes.chunks_exact(width)) {
                    *register = arith::load(ty, element);
                }
            }
        }
        Ok(())
    }

    fn store(&mut self, from: Lanes, memory: Reg, index: &[Index], world: &mut World<'_>) -> Done<()> {
        let (buffer, at) = self.place(from, memory, index)?;
        let width = from.ty.bytes();
        let Some(to) = world.memory.get_mut(buffer) else { return self.gone(memory, "writes", world) };
        let size = to.len();
        let Some(bytes) = to.get_mut(at * width..(at + from.lanes as usize) * width) else {
            return fault(format!("element {at} is beyond a memory of {size} bytes"));
        };
        if from.lanes == 1 {
            let value = self.registers[from.reg as usize];
            match from.ty {
                Scalar::F32 => bytes.copy_from_slice(&(value as u32).to_le_bytes()),
                ty => arith::store(ty, value, bytes),
            }
            return Ok(());
        }
        let registers = &self.registers[from.reg as usize..(from.reg + from.lanes) as usize];
        match from.ty {
            Scalar::F32 | Scalar::Int(32) => {
                for (register, element) in registers.iter().zip(bytes.chunks_exact_mut(4)) {
                    element.copy_from_slice(&(*register as u32).to_le_bytes());
                }
            }
            ty => {
                for (register, element) in registers.iter().zip(bytes.chunks_exact_mut(width)) {
                    arith::store(ty, *register, element);
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        kernel: usize,
        args: &[CallArg],
        results: &[Lanes],
        world: &mut World<'_>,
    ) -> Done<()> {
        let given = args.iter().map(|arg| match arg {
            CallArg::Memory(reg) => {
                Ok(super::Given::Memory(self.buffer(*reg, "calls a kernel with", world)?))
            }
            CallArg::Number(lanes) => Ok(super::Given::Number(match lanes.ty {
                Scalar::Int(_) => self.integer(lanes.reg) as f64,
                ty => arith::to_f64(self.registers[lanes.reg as usize], ty),
            })),
        });
        let given: Vec<super::Given> = given.collect::<Done<_>>()?;
        let mut call = Call { memory: world.memory, given, made: vec![0.0; results.len()] };
        let name = &world.design.kernels[kernel].name;
        if !(world.kernels)(name, &mut call) {
            return fault(format!("no function of the host stands for kernel `@{name}`"));
        }
        let made = call.made;
        for (lanes, value) in results.iter().zip(made) {
            let bits = match lanes.ty {
                Scalar::Int(bits) => arith::wrap(value as i64, bits),
                ty => arith::from_f64(value, ty),
            };
            self.set(lanes.reg, 0, bits);
        }
        Ok(())
    }
}

pub(super) fn fault<T>(message: String) -> Done<T> {
    Err(message)
}

/// Where a core goes on.
pub(super) enum Next {
    Go,
    To(u32),
    Stop(Stop),
    End,
}

/// A word of four bytes.
fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}
