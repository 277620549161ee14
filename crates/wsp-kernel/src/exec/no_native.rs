//! In place of the compiler, where this build has none.

use super::code::CompiledFunction;
use super::vm::Vm;
use crate::Trap;

/// Compiled code: there is none.
#[derive(Debug)]
pub(crate) enum Native {}

/// What compiled code knows of an array: nothing.
#[derive(Debug)]
pub(crate) enum Row {}

impl Native {
    /// Whether there is a compiler for this machine.
    pub(crate) fn is_supported() -> bool {
        false
    }

    /// Compiles a program: never.
    pub(crate) fn compile(_: &CompiledFunction) -> Option<Native> {
        None
    }

    pub(crate) fn run(&self, _: &mut Vm<'_>, _: &mut [u64]) -> Result<u64, Trap> {
        match *self {}
    }
}
