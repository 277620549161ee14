//! A run of one program, and the interpreter.

use super::code::{Code, CompiledFunction, Op};
use super::host::GeneratorHost;
use super::native::Row;
use super::outlined::{binary_trap, span};
use super::tile_run::TileRun;
use super::trap::{CANCELLED, STEP_LIMIT};
use crate::{Env, Trap};
use std::cell::Cell;
use wsp_core::int::Int as _;
use wsp_core::limits;
use wsp_diag::Span;
use wsp_ir::BinOp;

/// Steps between two looks at the cancel flag.
const POLL_STEPS: u64 = 4096;

/// What runs need for a while, kept so that a steady state allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    words: Vec<u32>,
    rows: Vec<Row>,
    sites: Vec<u16>,
    known: Vec<Cell<u64>>,
}

/// A run of one program.
pub(crate) struct Vm<'a> {
    pub(crate) program: &'a CompiledFunction,
    pub(crate) env: &'a Env,
    /// Fields and keys on their way to the host.
    pub(crate) words: &'a mut Vec<u32>,
    /// For compiled code: where arrays lie, and how the host's buffer numbers emissions.
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "for compiled code"))]
    pub(crate) rows: &'a mut Vec<Row>,
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "for compiled code"))]
    pub(crate) sites: &'a mut Vec<u16>,
    /// For compiled code: the reservations of workspace that were asked for last.
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "for compiled code"))]
    pub(crate) known: &'a mut Vec<Cell<u64>>,
    pub(crate) host: Option<&'a mut dyn GeneratorHost>,
    pub(crate) tiles: Option<TileRun<'a>>,
    /// Loop iterations and calls so far.
    pub(crate) steps: u64,
    /// Number of steps at which to look at limits again.
    pub(crate) check_at: u64,
    /// Number of steps when a descriptor was emitted last, of a generator.
    pub(crate) emitted_at: u64,
    limit: u64,
}

/// The slots of an entry and everything it calls, with the entry's frame at its start values.
pub(crate) fn frame<'s>(slots: &'s mut Vec<u64>, entry: &Code) -> &'s mut [u64] {
    if slots.len() < entry.depth_slots {
        slots.resize(entry.depth_slots, 0);
    }
    slots[..entry.template.len()].copy_from_slice(&entry.template);
    slots
}

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
    pub(crate) fn new(
        program: &'a CompiledFunction,
        env: &'a Env,
        buffers: &'a mut Buffers,
        limit: u64,
    ) -> Vm<'a> {
        let Buffers { words, rows, sites, known } = buffers;
        let check_at = POLL_STEPS.min(limit);
        Vm {
            program,
            env,
            words,
            rows,
            sites,
            known,
            host: None,
            tiles: None,
            steps: 0,
            check_at,
            emitted_at: 0,
            limit,
        }
    }

    /// Interprets the entry on slots from [`frame`].
    pub(crate) fn interpret(&mut self, slots: &mut [u64]) -> Result<u64, Trap> {
        self.exec(self.program.entry(), slots)
    }

    /// Looks whether to start at all.
    pub(crate) fn start(&self) -> Result<(), Trap> {
        if self.cancelled() { Err(self.cancel_trap(Span::default())) } else { Ok(()) }
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

    /// Counts a loop iteration or call.
    pub(crate) fn step(&mut self, code: &Code, pc: usize) -> Result<(), Trap> {
        self.steps += 1;
        if self.steps < self.check_at { Ok(()) } else { self.check(code, pc) }
    }

    /// Looks at what may end the run now.
    #[cold]
    pub(crate) fn check(&mut self, code: &Code, pc: usize) -> Result<(), Trap> {
        let idle = self.steps - self.emitted_at;
        let after = if self.steps >= self.limit {
            Some(format!("{} steps", self.limit))
        } else if self.host.is_some() && idle >= limits::MAX_STEPS_TO_DESCRIPTOR {
            Some(format!("{idle} steps without a descriptor"))
        } else {
            None
        };
        if let Some(after) = after {
            let message = format!("{} does not end: stopped after {after}", code.title);
            return Err(Trap::new(STEP_LIMIT, message, span(code, pc))
                .note("every loop iteration and every call is a step"));
        }
        if self.cancelled() || self.env.poll.as_ref().is_some_and(|poll| poll.stops()) {
            return Err(self.cancel_trap(span(code, pc)));
        }
        self.check_at = self.steps.saturating_add(POLL_STEPS).min(self.limit);
        Ok(())
    }

    fn cancelled(&self) -> bool {
        self.env.cancelled() || self.host.as_ref().is_some_and(|host| host.cancelled())
    }

    #[cold]
    fn cancel_trap(&self, span: Span) -> Trap {
        Trap::new(CANCELLED, format!("{} was cancelled", self.program.entry().title), span)
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

    /// Says in a callee's trap where it was called.
    #[cold]
    pub(crate) fn called_from(&self, trap: Trap, code: &Code, site: u32) -> Trap {
        let callee = &self.program.funcs[code.calls[site as usize].func];
        trap.note(format!("in {}, called from {}", callee.title, code.title))
    }
}
