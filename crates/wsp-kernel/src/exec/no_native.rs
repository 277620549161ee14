//! In place of the compiler, where this build has none.

use super::code::CompiledFunction;
use super::vm::Vm;
use crate::Trap;
use wsp_memory::{Reader, Writer};

/// Compiled code: there is none.
#[derive(Debug)]
pub(crate) enum Native {}

/// What compiled code knows of an array: nothing.
#[derive(Debug)]
pub(crate) enum Row {}

/// Machine code: there is none.
pub(crate) enum Image {}

impl Image {
    pub(crate) fn write(&self, _: &mut Writer) {
        match *self {}
    }

    /// Reads code of a program: never.
    pub(crate) fn read(_: &mut Reader<'_>, _: usize) -> Result<Image, String> {
        Err("it has machine code, and this build has no compiler".to_owned())
    }
}

impl Native {
    /// Whether there is a compiler for this machine.
    pub(crate) fn is_supported() -> bool {
        false
    }

    /// Compiles a program: never.
    pub(crate) fn compile(_: &CompiledFunction) -> Option<Native> {
        None
    }

    /// What machine code depends on: there is none.
    pub(crate) fn machine() -> String {
        String::new()
    }

    pub(crate) fn of(_: &CompiledFunction, image: Image) -> Option<Native> {
        match image {}
    }

    pub(crate) fn image(&self) -> Option<&Image> {
        match *self {}
    }

    pub(crate) fn run(&self, _: &mut Vm<'_>, _: &mut [u64]) -> Result<u64, Trap> {
        match *self {}
    }
}
