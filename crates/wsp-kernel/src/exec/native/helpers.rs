//! What compiled code calls. Each yields whether the run stopped, and leaves its value in [`Run::value`].

use super::GOES_ON;
use super::run::{Run, Stopped};
use crate::Trap;
use crate::exec::code::{Code, Op};
use crate::exec::outlined::span;
use std::panic::{AssertUnwindSafe, catch_unwind};

const STOPS: i64 = 1;

/// The helpers by number. Compiled code finds them through [`Run::helpers`], so that it holds no address of this process.
pub(super) static HELPERS: [Entry; 5] = [outlined, alloc_ws, fault, check, called_from];

/// The number of a helper in [`HELPERS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Helper {
    Outlined,
    AllocWs,
    Fault,
    Check,
    CalledFrom,
}

/// A function with the run, the frame of the function that calls, its number, the number of the instruction and two operands.
pub(super) type Entry = unsafe extern "C" fn(*mut Run<'_, '_>, *mut u64, i64, i64, u64, u64) -> i64;

/// Runs `f` so that neither traps nor panics leave it otherwise than through the run.
fn guarded(run: &mut Run<'_, '_>, f: impl FnOnce(&mut Run<'_, '_>) -> Result<u64, Trap>) -> i64 {
    (run.vm.steps, run.vm.check_at) = (run.steps, run.check_at);
    let outcome = catch_unwind(AssertUnwindSafe(|| f(run)));
    (run.steps, run.check_at) = (run.vm.steps, run.vm.check_at);
    match outcome {
        Ok(Ok(value)) => {
            run.value = value;
            return GOES_ON;
        }
        Ok(Err(trap)) => run.stopped = Some(Stopped::Trap(trap)),
        Err(payload) => run.stopped = Some(Stopped::Panic(payload)),
    }
    STOPS
}

/// As [`guarded`], with the instruction and the frame.
///
/// # Safety
/// As for [`outlined`].
unsafe fn on_frame(
    run: *mut Run<'_, '_>,
    frame: *mut u64,
    func: i64,
    pc: i64,
    f: impl FnOnce(&mut Run<'_, '_>, &Code, usize, &mut [u64]) -> Result<u64, Trap>,
) -> i64 {
    // SAFETY: the run lives as long as the code runs, which touches it between calls only.
    let run = unsafe { &mut *run };
    guarded(run, |run| {
        let (code, pc) = (&run.vm.program.funcs[func as usize], pc as usize);
        // SAFETY: the slots of a frame are valid, and compiled code has written those that the instruction reads.
        let frame = unsafe { std::slice::from_raw_parts_mut(frame, code.template.len()) };
        f(run, code, pc, frame)
    })
}

/// The instruction as the interpreter would run it; its operands are in the frame.
///
/// # Safety
/// Compiled code calls it with its own run and a frame of the function.
unsafe extern "C" fn outlined(
    run: *mut Run<'_, '_>,
    frame: *mut u64,
    func: i64,
    pc: i64,
    _: u64,
    _: u64,
) -> i64 {
    let f = |run: &mut Run<'_, '_>, code: &Code, pc: usize, frame: &mut [u64]| {
        let asks = matches!(
            code.insts[pc].op,
            Op::Emit
                | Op::Fence
                | Op::SetTile
                | Op::SetExtentScalar
                | Op::SetExtentArray
                | Op::HostAxisTile
                | Op::HostAxisExtent
        );
        if asks { ask(run, code, pc, frame) } else { run.vm.outlined(code, pc, frame) }
    };
    // SAFETY: compiled code gives what the helper asks for.
    unsafe { on_frame(run, frame, func, pc, f) }
}

/// An instruction that asks or tells the host something.
fn ask(run: &mut Run<'_, '_>, code: &Code, pc: usize, frame: &[u64]) -> Result<u64, Trap> {
    run.lent.settle(run.vm);
    let value = run.vm.outlined(code, pc, frame)?;
    run.lent.renew(run.vm);
    Ok(value)
}

/// A slot of workspace from the host, whose reservation is taken down.
///
/// # Safety
/// As for [`outlined`].
unsafe extern "C" fn alloc_ws(
    run: *mut Run<'_, '_>,
    frame: *mut u64,
    func: i64,
    pc: i64,
    _: u64,
    _: u64,
) -> i64 {
    let f = |run: &mut Run<'_, '_>, code: &Code, pc: usize, frame: &mut [u64]| {
        let offset = run.vm.alloc_ws(code, pc, frame)?;
        run.remember(code, code.insts[pc].a, frame, offset);
        Ok(offset)
    };
    // SAFETY: compiled code gives what the helper asks for.
    unsafe { on_frame(run, frame, func, pc, f) }
}

/// Stops the run as the instruction does with these operands.
///
/// # Safety
/// As for [`outlined`].
unsafe extern "C" fn fault(
    run: *mut Run<'_, '_>,
    frame: *mut u64,
    func: i64,
    pc: i64,
    a: u64,
    b: u64,
) -> i64 {
    let f = |run: &mut Run<'_, '_>, code: &Code, pc: usize, frame: &mut [u64]| {
        let i = code.insts[pc];
        for (slot, value) in [(i.b, b), (i.a, a)] {
            if let Some(place) = frame.get_mut(slot as usize) {
                *place = value;
            }
        }
        run.vm.outlined(code, pc, frame)?;
        Err(Trap::internal("an instruction that stops compiled code only", span(code, pc)))
    };
    // SAFETY: compiled code gives what the helper asks for.
    unsafe { on_frame(run, frame, func, pc, f) }
}

/// Looks at limits and the cancel flag.
///
/// # Safety
/// As for [`outlined`].
unsafe extern "C" fn check(run: *mut Run<'_, '_>, _: *mut u64, func: i64, pc: i64, _: u64, _: u64) -> i64 {
    // SAFETY: as in `outlined`.
    let run = unsafe { &mut *run };
    guarded(run, |run| {
        run.lent.settle(run.vm);
        run.vm.check(&run.vm.program.funcs[func as usize], pc as usize)?;
        run.lent.renew(run.vm);
        Ok(0)
    })
}

/// Says in the trap of a callee where it was called.
///
/// # Safety
/// As for [`outlined`].
unsafe extern "C" fn called_from(
    run: *mut Run<'_, '_>,
    _: *mut u64,
    func: i64,
    pc: i64,
    _: u64,
    _: u64,
) -> i64 {
    // SAFETY: as in `outlined`.
    let run = unsafe { &mut *run };
    let stopped = run.stopped.take();
    guarded(run, |run| {
        let Some(Stopped::Trap(trap)) = stopped else {
            run.stopped = stopped;
            return Ok(0);
        };
        let code = &run.vm.program.funcs[func as usize];
        Err(run.vm.called_from(trap, code, code.insts[pc as usize].a))
    });
    STOPS
}
