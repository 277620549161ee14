//! Runs code.

use super::code::{Code, Inst, Op, Program, What};
use super::host::{Extent, GeneratorHost, Hints, WsRequest};
use super::ops::{self, Fault};
use super::tile_run::TileRun;
use super::trap::{
    ARRAY_BOUNDS, AXIS_UNKNOWN, CANCELLED, LOOP_STEP, STEP_LIMIT, TIER_INDEX, WORKSPACE_INDEX,
};
use crate::env::IntArray;
use crate::{Env, Poll, Trap, Value};
use wsp_ir::{ScalarTy, Span};

/// Steps between two looks at the cancel flag.
const POLL_STEPS: u64 = 4096;

/// Array elements that count as one step.
const ELEMENTS_PER_STEP: u64 = 16;

/// Elements, or products, of tile operations that bring the next look at the cancel flag one step nearer.
const TILE_WORK_PER_STEP: u64 = 1024;

/// A run of one program.
pub(crate) struct Vm<'a> {
    program: &'a Program,
    env: &'a Env,
    /// Fields and keys on their way to the host.
    words: &'a mut Vec<u32>,
    pub(crate) host: Option<&'a mut dyn GeneratorHost>,
    pub(crate) tiles: Option<TileRun<'a>>,
    steps: u64,
    /// Number of steps at which to look at limits again.
    check_at: u64,
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
    pub(crate) fn new(program: &'a Program, env: &'a Env, words: &'a mut Vec<u32>, limit: u64) -> Vm<'a> {
        let check_at = POLL_STEPS.min(limit);
        Vm { program, env, words, host: None, tiles: None, steps: 0, check_at, limit }
    }

    /// Runs the entry on slots from [`frame`].
    pub(crate) fn run(&mut self, slots: &mut [u64]) -> Result<u64, Trap> {
        if self.cancelled() {
            return Err(self.cancel_trap(Span::default()));
        }
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
            // A result that may be missing: then the operator does not have one.
            macro_rules! set_checked {
                ($v:expr) => {
                    match $v {
                        Some(value) => set!(value),
                        None => return Err(binary_trap(code, pc - 1, frame)),
                    }
                };
            }
            match i.op {
                Op::Mov => set!(a!()),
                Op::AddU32 => set_checked!(fits_u32(a!() + b!())),
                Op::SubU32 => set_checked!(a!().checked_sub(b!())),
                Op::MulU32 => set_checked!(fits_u32(a!() * b!())),
                Op::DivU32 => set_checked!(a!().checked_div(b!())),
                Op::RemU32 => set_checked!(a!().checked_rem(b!())),
                Op::CeilDivU32 => set_checked!((b!() != 0).then(|| a!().div_ceil(b!()))),
                Op::AddI32 => set_checked!(fits_i32((a!() as i64) + (b!() as i64))),
                Op::SubI32 => set_checked!(fits_i32((a!() as i64) - (b!() as i64))),
                Op::MulI32 => set_checked!(fits_i32((a!() as i64) * (b!() as i64))),
                Op::AddU64 => set_checked!(a!().checked_add(b!())),
                Op::SubU64 => set_checked!(a!().checked_sub(b!())),
                Op::MulU64 => set_checked!(a!().checked_mul(b!())),
                Op::AddI64 => set_checked!((a!() as i64).checked_add(b!() as i64).map(|v| v as u64)),
                Op::SubI64 => set_checked!((a!() as i64).checked_sub(b!() as i64).map(|v| v as u64)),
                Op::MulI64 => set_checked!((a!() as i64).checked_mul(b!() as i64).map(|v| v as u64)),
                Op::AddF32 => set!(bits32(f32_of(a!()) + f32_of(b!()))),
                Op::SubF32 => set!(bits32(f32_of(a!()) - f32_of(b!()))),
                Op::MulF32 => set!(bits32(f32_of(a!()) * f32_of(b!()))),
                Op::DivF32 => set!(bits32(f32_of(a!()) / f32_of(b!()))),
                Op::AddF64 => set!((f64_of(a!()) + f64_of(b!())).to_bits()),
                Op::SubF64 => set!((f64_of(a!()) - f64_of(b!())).to_bits()),
                Op::MulF64 => set!((f64_of(a!()) * f64_of(b!())).to_bits()),
                Op::DivF64 => set!((f64_of(a!()) / f64_of(b!())).to_bits()),
                Op::MinU => set!(a!().min(b!())),
                Op::MaxU => set!(a!().max(b!())),
                Op::LtU => set!(u64::from(a!() < b!())),
                Op::LeU => set!(u64::from(a!() <= b!())),
                Op::LtI => set!(u64::from((a!() as i64) < (b!() as i64))),
                Op::LeI => set!(u64::from((a!() as i64) <= (b!() as i64))),
                Op::EqInt => set!(u64::from(a!() == b!())),
                Op::NeInt => set!(u64::from(a!() != b!())),
                Op::Binary | Op::Unary | Op::Math | Op::Cast => set!(slow(code, pc - 1, frame)?),
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
                Op::CheckStep => {
                    let step = Value::from_bits(i.ty, a!());
                    if step.as_int().is_none_or(|v| v < 1) {
                        return Err(Trap::new(LOOP_STEP, format!("loop step of {step}"), span(code, pc - 1))
                            .note("the step of a counted loop is at least 1"));
                    }
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
                Op::ArrayMax | Op::ArraySum => set!(self.reduce(code, pc - 1, a!(), b!())?),
                Op::ArrayLen => {
                    let len = self.array(code, pc - 1, a!())?.len();
                    set!(
                        u32::try_from(len)
                            .map_err(|_| {
                                ops::cast_trap(ScalarTy::U64, ScalarTy::U32, len as u64, span(code, pc - 1))
                            })?
                            .into()
                    );
                }
                Op::Call => {
                    self.step(code, pc - 1)?;
                    let value = self.call(code, i.a, frame, below)?;
                    set!(value);
                }
                Op::Return => return Ok(a!()),
                Op::Tier => set!(tier(code, i, a!(), pc - 1)?),
                Op::Stop => return Err(code.traps[i.a as usize].clone()),
                Op::Tile => set!(self.tile(code, pc - 1, i.a, frame)?),
                Op::AxisTile | Op::HostAxisTile | Op::HostAxisExtent | Op::AllocWs => {
                    set!(self.effect(code, i, frame).map_err(|t| placed(t, code, pc - 1))?);
                }
                Op::Emit | Op::Fence | Op::SetTile | Op::SetExtentScalar | Op::SetExtentArray => {
                    self.effect(code, i, frame).map_err(|t| placed(t, code, pc - 1))?;
                }
            }
        }
    }

    /// Counts a loop iteration or call.
    fn step(&mut self, code: &Code, pc: usize) -> Result<(), Trap> {
        self.steps += 1;
        if self.steps < self.check_at { Ok(()) } else { self.check(code, pc) }
    }

    #[cold]
    fn check(&mut self, code: &Code, pc: usize) -> Result<(), Trap> {
        if self.steps >= self.limit {
            let message = format!("{} does not end: stopped after {} steps", code.title, self.limit);
            return Err(Trap::new(STEP_LIMIT, message, span(code, pc))
                .note("every loop iteration and every call is a step"));
        }
        if self.cancelled() || self.env.poll.as_ref().is_some_and(Poll::stops) {
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

    fn call(&mut self, code: &'a Code, site: u32, frame: &[u64], below: &mut [u64]) -> Result<u64, Trap> {
        let site = &code.calls[site as usize];
        let callee = &self.program.funcs[site.func];
        below[..callee.template.len()].copy_from_slice(&callee.template);
        for (slot, arg) in below.iter_mut().zip(&site.args) {
            *slot = frame[*arg as usize];
        }
        self.exec(callee, below)
            .map_err(|trap| trap.note(format!("in {}, called from {}", callee.title, code.title)))
    }

    fn array(&self, code: &Code, pc: usize, number: u64) -> Result<&'a IntArray, Trap> {
        self.env.array(number).ok_or_else(|| Trap::internal("an array that is not bound", span(code, pc)))
    }

    fn load(&self, code: &Code, pc: usize, number: u64, index: u64) -> Result<u64, Trap> {
        let array = self.array(code, pc, number)?;
        // A negative index is, in slot form, past the end of every array.
        let Some(bits) = usize::try_from(index).ok().and_then(|i| array.bits(i)) else {
            return Err(index_trap(code, pc, index, array.len()));
        };
        let ty = code.insts[pc].ty;
        if array.ty() == ty {
            return Ok(bits);
        }
        ops::cast(array.ty(), ty, bits).map_err(|_| ops::cast_trap(array.ty(), ty, bits, span(code, pc)))
    }

    /// The largest or the sum of the first elements.
    fn reduce(&mut self, code: &Code, pc: usize, number: u64, count: u64) -> Result<u64, Trap> {
        let array = self.array(code, pc, number)?;
        let Some(n) = usize::try_from(count).ok().filter(|n| *n <= array.len()) else {
            return Err(
                index_trap(code, pc, count, array.len()).note("so many of its first elements are asked for")
            );
        };
        self.steps += count / ELEMENTS_PER_STEP;
        self.step(code, pc)?;
        let Inst { op, ty, .. } = code.insts[pc];
        let value = if op == Op::ArrayMax { largest(array, n) } else { sum(array, n) };
        Value::from_int(ty, value).map(Value::to_bits).ok_or_else(|| {
            let what = if op == Op::ArrayMax { "largest" } else { "sum" };
            let message = format!(
                "arithmetic overflow: {value}, the {what} of {n} elements, does not fit `{}`",
                ty.c_name()
            );
            Trap::new(super::trap::OVERFLOW, message, span(code, pc))
        })
    }

    /// What asks or tells the host something.
    fn effect(&mut self, code: &Code, i: Inst, frame: &[u64]) -> Result<u64, Trap> {
        if i.op == Op::AxisTile {
            let site = &code.axes[i.a as usize];
            return self.env.axis_tile(site.axis).map(u64::from).ok_or_else(|| {
                Trap::new(
                    AXIS_UNKNOWN,
                    format!("the tile of axis `{}` is not known", site.name),
                    Span::default(),
                )
            });
        }
        let Some(host) = self.host.as_deref_mut() else {
            return Err(Trap::internal("a request without a host", Span::default()));
        };
        let word = |slot: u32| frame[slot as usize] as u32;
        match i.op {
            Op::Emit => {
                let site = &code.emits[i.a as usize];
                self.words.clear();
                self.words.extend(site.words.iter().map(|slot| word(*slot)));
                let (fields, hints) = self.words.split_at(site.fields);
                host.emit(site.descriptor, fields, Hints { shape: &site.hints, words: hints })?;
            }
            Op::Fence => host.fence(),
            Op::SetTile => {
                let site = &code.axes[i.a as usize];
                if word(i.b) == 0 {
                    let message = format!("a tile of 0 elements on axis `{}`", site.name);
                    return Err(Trap::new(AXIS_UNKNOWN, message, Span::default())
                        .note("the tile of an axis is at least 1"));
                }
                host.set_tile(site.axis, word(i.b))?;
            }
            Op::SetExtentScalar => {
                host.set_extent(code.axes[i.a as usize].axis, Extent::Scalar(word(i.b)))?;
            }
            Op::SetExtentArray => {
                let array = self.env.array(frame[i.b as usize]);
                let array =
                    array.ok_or_else(|| Trap::internal("an array that is not bound", Span::default()))?;
                let axis = code.axes[i.a as usize].axis;
                match array {
                    IntArray::U32(values) => host.set_extent(axis, Extent::PerOuter(values))?,
                    _ => host.set_extent(axis, Extent::PerOuter(narrowed(array, self.words)?))?,
                }
            }
            Op::AllocWs => return alloc_ws(code, i, frame, self.words, host),
            Op::HostAxisTile => return host.axis_tile(code.axes[i.a as usize].axis).map(u64::from),
            _ => return host.axis_extent(code.axes[i.a as usize].axis).map(u64::from),
        }
        Ok(0)
    }

    fn tile(&mut self, code: &Code, pc: usize, number: u32, frame: &[u64]) -> Result<u64, Trap> {
        let Some(run) = self.tiles.as_mut() else {
            return Err(Trap::internal("a tile operation outside of a kernel", span(code, pc)));
        };
        let inst = &code.tiles[number as usize];
        let value = run.execute(inst, self.env, frame, span(code, pc))?;
        // A loop of large operations must look as often in time as a loop of small ones.
        self.check_at = self.check_at.saturating_sub(run.work(inst) / TILE_WORK_PER_STEP);
        Ok(value)
    }
}

fn fits_u32(value: u64) -> Option<u64> {
    (value <= u64::from(u32::MAX)).then_some(value)
}

fn fits_i32(value: i64) -> Option<u64> {
    i32::try_from(value).ok().map(|v| i64::from(v) as u64)
}

fn span(code: &Code, pc: usize) -> Span {
    code.origins[pc].span
}

/// Gives a host's trap a position if it has none.
#[cold]
fn placed(mut trap: Trap, code: &Code, pc: usize) -> Trap {
    if trap.span == Span::default() {
        trap.span = span(code, pc);
    }
    trap
}

#[cold]
fn binary_trap(code: &Code, pc: usize, frame: &[u64]) -> Trap {
    let (i, origin) = (code.insts[pc], code.origins[pc]);
    let What::Binary(op) = origin.what else {
        return Trap::internal("an operator without an origin", origin.span);
    };
    let (a, b) = (frame[i.a as usize], frame[i.b as usize]);
    let fault = ops::binary(op, i.ty, a, b).err().unwrap_or(Fault::Overflow);
    ops::binary_trap(op, i.ty, a, b, fault, origin.span)
}

/// Operators without an instruction of their own.
fn slow(code: &Code, pc: usize, frame: &[u64]) -> Result<u64, Trap> {
    let (i, origin) = (code.insts[pc], code.origins[pc]);
    let a = frame[i.a as usize];
    match origin.what {
        What::Binary(op) => {
            let b = frame[i.b as usize];
            ops::binary(op, i.ty, a, b).map_err(|fault| ops::binary_trap(op, i.ty, a, b, fault, origin.span))
        }
        What::Unary(op) => {
            ops::unary(op, i.ty, a).map_err(|fault| ops::unary_trap(op, i.ty, a, fault, origin.span))
        }
        What::Math(f) => {
            ops::math(f, i.ty, a).map_err(|_| Trap::internal("a function of no float", origin.span))
        }
        What::From(from) => ops::cast(from, i.ty, a).map_err(|_| ops::cast_trap(from, i.ty, a, origin.span)),
        What::Plain => Err(Trap::internal("an operator without an origin", origin.span)),
    }
}

#[cold]
fn index_trap(code: &Code, pc: usize, index: u64, len: usize) -> Trap {
    let origin = code.origins[pc];
    let ty = match origin.what {
        What::From(ty) => ty,
        _ => ScalarTy::U64,
    };
    let index = Value::from_bits(ty, index);
    Trap::new(ARRAY_BOUNDS, format!("index {index} is outside of an array of {len} elements"), origin.span)
}

fn tier(code: &Code, i: Inst, bits: u64, pc: usize) -> Result<u64, Trap> {
    let (thresholds, name) = &code.tiers[i.b as usize];
    let value = Value::from_bits(i.ty, bits);
    value
        .as_int()
        .and_then(|v| thresholds.find(v))
        .map(u64::from)
        .ok_or_else(|| Trap::new(TIER_INDEX, format!("no tier of `{name}` takes {value}"), span(code, pc)))
}

fn largest(array: &IntArray, n: usize) -> i128 {
    fn of<T: Copy + Ord + Into<i128>>(values: &[T]) -> i128 {
        values.iter().copied().max().map_or(0, Into::into)
    }
    match array {
        IntArray::I32(a) => of(&a[..n]),
        IntArray::U32(a) => of(&a[..n]),
        IntArray::I64(a) => of(&a[..n]),
        IntArray::U64(a) => of(&a[..n]),
        IntArray::View(a) => a.values(n).max().unwrap_or(0),
    }
}

fn sum(array: &IntArray, n: usize) -> i128 {
    fn of<T: Copy + Into<i128>>(values: &[T]) -> i128 {
        values.iter().map(|v| (*v).into()).sum()
    }
    match array {
        IntArray::I32(a) => of(&a[..n]),
        // No sum of this many 32-bit values leaves 64 bits, and those are added faster.
        IntArray::U32(a) => i128::from(a[..n].iter().map(|v| u64::from(*v)).sum::<u64>()),
        IntArray::I64(a) => of(&a[..n]),
        IntArray::U64(a) => of(&a[..n]),
        IntArray::View(a) => a.values(n).sum(),
    }
}

/// The elements as `u32`, in `words`.
fn narrowed<'w>(array: &IntArray, words: &'w mut Vec<u32>) -> Result<&'w [u32], Trap> {
    words.clear();
    for index in 0..array.len() {
        let bits = array.bits(index).expect("an index below the length should be in the array");
        let word = ops::cast(array.ty(), ScalarTy::U32, bits)
            .map_err(|_| ops::cast_trap(array.ty(), ScalarTy::U32, bits, Span::default()))?;
        words.push(word as u32);
    }
    Ok(words)
}

fn alloc_ws(
    code: &Code,
    i: Inst,
    frame: &[u64],
    words: &mut Vec<u32>,
    host: &mut dyn GeneratorHost,
) -> Result<u64, Trap> {
    let site = &code.allocs[i.a as usize];
    let word = |slot: u32| frame[slot as usize] as u32;
    let (tier, count, index) = (word(site.tier), word(site.count), word(site.index));
    let Some(slot_bytes) = site.tier_bytes.get(tier as usize).copied() else {
        let message = format!("tier {tier} of `{}` does not exist", site.set_name);
        return Err(Trap::new(TIER_INDEX, message, Span::default())
            .note(format!("it has {} tiers", site.tier_bytes.len())));
    };
    if index >= count {
        let message = format!("workspace slot {index} of {count}");
        return Err(Trap::new(WORKSPACE_INDEX, message, Span::default())
            .note(format!("{count} slots are reserved for this key, with indices below {count}")));
    }
    words.clear();
    words.extend(site.key.iter().map(|slot| word(*slot)));
    let request = WsRequest { set: site.set, tier, slot_bytes, key: words, count, index };
    host.alloc_ws(&request).map(u64::from)
}
