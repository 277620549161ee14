//! Cores as coroutines: each runs until it waits, or has taken its steps.

use super::Call;
use super::arith;
use super::chain::{self, Change};
use super::code::{CallArg, Code, Inst, Lanes, Reg, Scalar, View};
use super::net::Net;
use super::order::Order;
use crate::codes;
use crate::design::Design;
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
    /// The core that runs.
    pub(super) core: usize,
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
        if state.ended {
            return Ok((Stop::Ended, false));
        }
        while *steps > 0 {
            *steps -= 1;
            let at = state.at;
            match state.inst(&self.code.insts[at], world) {
                Ok(Next::Go) => state.at = at + 1,
                Ok(Next::To(target)) => state.at = target as usize,
                Ok(Next::Others) => {
                    state.at = at + 1;
                    return Ok((Stop::Steps, true));
                }
                Ok(Next::Stop(stop)) => return Ok((stop, moved)),
                Ok(Next::End) => {
                    state.ended = true;
                    return Ok((Stop::Ended, true));
                }
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

    pub(super) fn lane(&self, reg: Reg, lane: u32) -> u64 {
        self.registers[(reg + lane) as usize]
    }

    // Within the loop over steps nothing of a result goes through memory.
    #[allow(clippy::inline_always, reason = "it is called once, for each step")]
    #[inline(always)]
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
            Inst::Copy { to, from, lanes: 1 } => {
                self.registers[*to as usize] = self.registers[*from as usize];
            }
            Inst::Copy { to, from, lanes } => {
                let from = *from as usize;
                self.registers.copy_within(from..from + *lanes as usize, *to as usize);
            }
            Inst::Splat { to, from, lanes } => {
                let value = self.registers[*from as usize];
                self.registers[*to as usize..][..*lanes as usize].fill(value);
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
            Inst::Touch { touch, factors } => {
                let by = factors.iter().map(|(reg, factor)| self.integer(*reg).saturating_mul(*factor));
                let by = by.fold(0, i64::saturating_add);
                if let Some(order) = &mut world.net.order {
                    order.touch(world.core, *touch, by);
                }
            }
            Inst::Buffer { to, buffer } => self.set(*to, 0, *buffer as u64),
            Inst::Acquire { to, end, count } => return Ok(self.acquire((*to, *end, *count), world.net)),
            Inst::Access { to, first, end, index, view } => {
                let object = self.registers[*first as usize].saturating_add(u64::from(*index));
                self.access(View { reg: *to, end: *end, object }, *view, world)?;
            }
            Inst::Release { end, count } => self.release(*end, u64::from(*count), world.net)?,
            Inst::Lock { lock, action, value } => return self.lock((*lock, *action, *value), world),
            Inst::Call { kernel, args, results } => self.call(*kernel, args, results, world)?,
            _ => {}
        }
        Ok(Next::Go)
    }

    /// Acquires or releases a lock. Where several use a buffer others go on next, so that what they do in between is seen.
    fn lock(&mut self, (lock, action, value): Change, world: &mut World<'_>) -> Done<Next> {
        if action == 1 {
            let done = chain::release(&mut world.net.locks, (lock, value));
            done.map_err(|over| over.told("the core", world.design))?;
        } else {
            let waits =
                |order: &Order| order.is_patient(world.core, lock) && world.net.eager != Some(world.core);
            let waits = world.net.order.as_deref().is_some_and(waits);
            let have = &mut world.net.locks[lock];
            let is_there = action == 0 && *have == value || action == 2 && *have >= value;
            if !is_there || waits {
                return Ok(Next::Stop(Stop::Lock { lock, value, exact: action == 0 }));
            }
            *have = have.saturating_sub(value);
        }
        let Some(order) = &mut world.net.order else { return Ok(Next::Go) };
        match action {
            1 => order.give(world.core, lock, value),
            _ => {
                order.take(world.core, lock, value);
                world.net.eager = world.net.eager.filter(|_| !order.is_patient(world.core, lock));
            }
        }
        Ok(Next::Others)
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
    /// It goes on, after others have.
    Others,
    To(u32),
    Stop(Stop),
    End,
}
