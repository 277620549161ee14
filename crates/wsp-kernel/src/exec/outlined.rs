//! Everything but control flow and plain arithmetic, once for both engines: operands lie in the frame.

use super::code::{Code, Inst, Op, What};
use super::host::{Extent, Hints, WsRequest};
use super::ops::{self, Fault};
use super::trap::{ARRAY_BOUNDS, AXIS_UNKNOWN, LOOP_STEP, TIER_INDEX, WORKSPACE_INDEX, never_stored};
use super::vm::Vm;
use crate::env::IntArray;
use crate::{Trap, Value};
use wsp_core::words::counted;
use wsp_diag::Span;
use wsp_ir::ScalarTy;

/// Array elements that count as one step.
const ELEMENTS_PER_STEP: u64 = 16;

/// Elements, or products, of tile operations that bring the next look at the cancel flag one step nearer.
const TILE_WORK_PER_STEP: u64 = 1024;

impl<'a> Vm<'a> {
    /// Runs one instruction that neither jumps nor is arithmetic of its own, on operands in the frame. What it yields goes to its
    /// `dst`, where it has one.
    pub(crate) fn outlined(&mut self, code: &Code, pc: usize, frame: &[u64]) -> Result<u64, Trap> {
        let i = code.insts[pc];
        let a = || frame[i.a as usize];
        match i.op {
            Op::Load => self.load(code, pc, a(), frame[i.b as usize]),
            Op::ArrayMax | Op::ArraySum => self.reduce(code, pc, a(), frame[i.b as usize]),
            Op::ArrayLen => {
                let len = self.array(code, pc, a())?.len() as u64;
                ops::cast(ScalarTy::U64, ScalarTy::U32, len)
                    .map_err(|_| ops::cast_trap(ScalarTy::U64, ScalarTy::U32, len, span(code, pc)))
            }
            Op::CheckStep => {
                let step = Value::from_bits(i.ty, a());
                if step.as_int().is_none_or(|v| v < 1) {
                    return Err(Trap::new(LOOP_STEP, format!("loop step of {step}"), span(code, pc))
                        .note("the step of a counted loop is at least 1"));
                }
                Ok(0)
            }
            Op::Tier => tier(code, i, a(), pc),
            Op::Stop => Err(code.traps[i.a as usize].clone()),
            Op::Tile => self.tile(code, i, frame),
            Op::AllocWs => self.alloc_ws(code, pc, frame),
            Op::AxisTile
            | Op::HostAxisTile
            | Op::HostAxisExtent
            | Op::Emit
            | Op::Fence
            | Op::SetTile
            | Op::SetExtentScalar
            | Op::SetExtentArray => self.effect(code, i, frame).map_err(|trap| placed(trap, code, pc)),
            Op::Binary | Op::Unary | Op::Math | Op::Cast => slow(code, pc, frame),
            _ => Err(binary_trap(code, pc, frame)),
        }
    }

    fn array(&self, code: &Code, pc: usize, number: u64) -> Result<&'a IntArray, Trap> {
        self.env.array(number).ok_or_else(|| Trap::internal("an array that is not bound", span(code, pc)))
    }

    pub(crate) fn load(&self, code: &Code, pc: usize, number: u64, index: u64) -> Result<u64, Trap> {
        // Nearly every load is of an array that a launch holds, as the type of its elements.
        match self.env.array(number).and_then(|array| array.held(code.insts[pc].ty, index)) {
            Some(bits) => Ok(bits),
            None => self.load_any(code, pc, number, index),
        }
    }

    #[inline(never)]
    fn load_any(&self, code: &Code, pc: usize, number: u64, index: u64) -> Result<u64, Trap> {
        let array = self.array(code, pc, number)?;
        // A negative index is, in slot form, past the end of every array.
        let Some(bits) = usize::try_from(index).ok().and_then(|i| array.bits(i)) else {
            return Err(index_trap(code, pc, index, array.len()));
        };
        if let Some(index) = array.never_stored(index as usize, 1) {
            return Err(self.never_stored(code, pc, number, index));
        }
        let ty = code.insts[pc].ty;
        if array.ty() == ty {
            return Ok(bits);
        }
        ops::cast(array.ty(), ty, bits).map_err(|_| ops::cast_trap(array.ty(), ty, bits, span(code, pc)))
    }

    /// Why an element of an array cannot be loaded that was never stored.
    #[cold]
    fn never_stored(&self, code: &Code, pc: usize, number: u64, index: usize) -> Trap {
        let names = self.tiles.as_ref().map_or(&[][..], |run| run.tensor_names);
        never_stored(names.get(number as usize).map_or("?", String::as_str), span(code, pc))
            .note(format!("the first such element has index {index}"))
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
        if let Some(index) = array.never_stored(0, n) {
            return Err(self.never_stored(code, pc, number, index));
        }
        let Inst { op, ty, .. } = code.insts[pc];
        let value = if op == Op::ArrayMax { largest(array, n) } else { sum(array, n) };
        Value::from_int(ty, value).map(Value::to_bits).ok_or_else(|| {
            let what = if op == Op::ArrayMax { "largest" } else { "sum" };
            let message = format!(
                "arithmetic overflow: {value}, the {what} of {n}, does not fit `{}`",
                ty.c_name(),
                n = counted(n, "element")
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
                .help("give the axis a tile in its space, as `PTO_TILE(axis, 64)`; where it is `PTO_AUTO`, call `PTO_SET_TILE(axis, size)` first")
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
                self.emitted_at = self.steps;
            }
            Op::Fence => host.fence(),
            Op::SetTile => {
                let site = &code.axes[i.a as usize];
                if word(i.b) == 0 {
                    let message = format!("a tile of 0 elements on axis `{}`", site.name);
                    return Err(Trap::new(AXIS_UNKNOWN, message, Span::default())
                        .note("the tile of an axis is at least 1")
                        .help("set 1 or more: `PTO_SET_TILE(axis, PTO_MAX(size, 1))`"));
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
            Op::HostAxisTile => return host.axis_tile(code.axes[i.a as usize].axis).map(u64::from),
            _ => return host.axis_extent(code.axes[i.a as usize].axis).map(u64::from),
        }
        Ok(0)
    }

    /// A slot of workspace from the host.
    pub(crate) fn alloc_ws(&mut self, code: &Code, pc: usize, frame: &[u64]) -> Result<u64, Trap> {
        let site = &code.allocs[code.insts[pc].a as usize];
        let word = |slot: u32| frame[slot as usize] as u32;
        let (tier, count, index) = (word(site.tier), word(site.count), word(site.index));
        let Some(slot_bytes) = site.tier_bytes.get(tier as usize).copied() else {
            let message = format!("tier {tier} of `{}` does not exist", site.set_name);
            return Err(Trap::new(TIER_INDEX, message, span(code, pc))
                .note(format!("it has {} tiers", site.tier_bytes.len())));
        };
        if index >= count {
            let message = format!("workspace slot {index} of {count}");
            return Err(Trap::new(WORKSPACE_INDEX, message, span(code, pc))
                .note(format!("{count} slots are reserved for this key, with indices below {count}")));
        }
        let Some(host) = self.host.as_deref_mut() else {
            return Err(Trap::internal("a request without a host", span(code, pc)));
        };
        self.words.clear();
        self.words.extend(site.key.iter().map(|slot| word(*slot)));
        let request = WsRequest { set: site.set, tier, slot_bytes, key: self.words, count, index };
        host.alloc_ws(&request).map(u64::from).map_err(|trap| placed(trap, code, pc))
    }

    fn tile(&mut self, code: &Code, i: Inst, frame: &[u64]) -> Result<u64, Trap> {
        let steps = &code.tiles[i.a as usize..=(i.a + i.b) as usize];
        let Some(run) = self.tiles.as_mut() else {
            return Err(Trap::internal("a tile operation outside of a kernel", steps[0].span));
        };
        let (mut value, mut work) = (0, 0);
        for step in steps {
            value = run.execute(step, self.env, frame)?;
            work += step.work / TILE_WORK_PER_STEP;
        }
        // A loop of large operations must look as often in time as a loop of small ones.
        self.check_at = self.check_at.saturating_sub(work);
        Ok(value)
    }
}

pub(crate) fn span(code: &Code, pc: usize) -> Span {
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

/// Why an arithmetic instruction has no result.
#[cold]
pub(crate) fn binary_trap(code: &Code, pc: usize, frame: &[u64]) -> Trap {
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
    Trap::new(
        ARRAY_BOUNDS,
        format!("index {index} is outside of an array of {len}", len = counted(len, "element")),
        origin.span,
    )
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
