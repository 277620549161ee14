//! Programs compiled for this machine with Cranelift.
//!
//! The input is the interpreter's: one front half, and one oracle. Slots become values in registers, arithmetic and its checks
//! stand in line. Everything else is a call of [`Vm::outlined`](super::vm::Vm::outlined), which finds its operands in the frame;
//! so traps are those of the interpreter word for word, and so are steps and cancellation.
//!
//! **Invariant:** the machine code depends on the [`CompiledFunction`] alone. Arrays and the host are found through [`Run`].

#![allow(unsafe_code, reason = "runs machine code that Cranelift made, and is called back by it")]

mod arith;
mod control;
mod convert;
mod emission;
mod function;
mod helpers;
mod image;
mod lookup;
mod machine;
mod run;
mod workspace;

use super::code::CompiledFunction;
use super::vm::Vm;
use crate::Trap;
use cranelift_jit::JITModule;
pub(crate) use image::Image;
pub(crate) use run::Row;
use run::Run;
use std::fmt;
use std::sync::Mutex;

/// What compiled code returns when it goes on.
const GOES_ON: i64 = 0;

/// An entry: the run and its frame in, whether it stopped out.
type Entry = unsafe extern "C" fn(*mut Run<'_, '_>, *mut u64) -> i64;

/// A compiled program.
pub(crate) struct Native {
    entry: Entry,
    image: Image,
    /// Owns the machine code.
    module: Mutex<Option<JITModule>>,
}

impl Native {
    /// Whether there is a compiler for this machine.
    pub(crate) fn is_supported() -> bool {
        machine::isa(machine::Effort::Fast).is_some()
    }

    /// What machine code depends on beside the program and this build: the compiler, its settings, and the instructions of this machine.
    pub(crate) fn machine() -> String {
        machine::describe()
    }

    /// Compiles a program; none when it is too large for the compiler.
    pub(crate) fn compile(program: &CompiledFunction) -> Option<Native> {
        Native::of(program, machine::compile(program)?)
    }

    /// Machine code of a program, from [`compile`](Self::compile) in this process or in another one of the same build on such a
    /// machine; none where there is no memory to run it in.
    pub(crate) fn of(program: &CompiledFunction, image: Image) -> Option<Native> {
        let (module, entry) = machine::place(program, &image)?;
        // SAFETY: `function` gives entries this signature, and the code lives as long as the module.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(entry) };
        Some(Native { entry, image, module: Mutex::new(Some(module)) })
    }

    /// The code, to be kept; none where it holds what only this process knows.
    pub(crate) fn image(&self) -> Option<&Image> {
        Some(&self.image).filter(|image| image.can_be_kept())
    }

    /// Runs the entry of the program that this was compiled from, on slots from [`super::vm::frame`].
    pub(crate) fn run(&self, vm: &mut Vm<'_>, slots: &mut [u64]) -> Result<u64, Trap> {
        let mut run = Run::new(vm);
        // SAFETY: `slots` has the slots of the entry and of the deepest chain of calls below it, and all that the code knows of
        // the run was made for the program it was compiled from.
        let status = unsafe { (self.entry)(&raw mut run, slots.as_mut_ptr()) };
        run.finish(status == GOES_ON)
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Native")
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let module = self.module.get_mut().map_or_else(|poisoned| poisoned.into_inner().take(), Option::take);
        if let Some(module) = module {
            // SAFETY: code runs only under a borrow of `self`, and nothing else keeps its address.
            unsafe { module.free_memory() };
        }
    }
}
