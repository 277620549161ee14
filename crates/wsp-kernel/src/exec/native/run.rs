//! What compiled code shares with the rest of a run.

use super::emission::Lent;
use super::helpers::{Entry, HELPERS};
use super::workspace;
use crate::Trap;
use crate::env::IntArray;
use crate::exec::vm::Vm;
use std::any::Any;
use std::cell::Cell;
use wsp_diag::Span;
use wsp_ir::ScalarTy;
use wsp_memory::Address;

/// A run. Compiled code reads and writes the fields from the top down to `vm`.
#[repr(C)]
pub(super) struct Run<'r, 'a> {
    /// As in [`Vm`]; there only while a helper runs.
    pub(super) steps: u64,
    pub(super) check_at: u64,
    /// What a helper or a function yields.
    pub(super) value: u64,
    /// [`Row`]s by the number of the array.
    pub(super) rows: *const Row,
    /// What is known of reservations: [`super::workspace`].
    pub(super) known: *const Cell<u64>,
    /// What compiled code calls, by the numbers of [`Helper`](super::helpers::Helper).
    pub(super) helpers: *const Entry,
    pub(super) lent: Lent,
    pub(super) vm: &'r mut Vm<'a>,
    pub(super) stopped: Option<Stopped>,
}

/// Why a run stopped.
pub(super) enum Stopped {
    Trap(Trap),
    /// A helper panicked: compiled code has nothing to unwind.
    Panic(Box<dyn Any + Send>),
}

/// Where the elements of an integer array lie.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(super) first: Address,
    /// Elements that may be read as each of [`ROW_TYPES`] without conversion: all of them for one type, none for others.
    pub(super) len: [u64; 4],
}

/// Types of elements that compiled code reads by itself.
pub(super) const ROW_TYPES: [ScalarTy; 4] = [ScalarTy::I32, ScalarTy::U32, ScalarTy::I64, ScalarTy::U64];

impl Row {
    /// Nothing can be read in line.
    const NONE: Row = Row { first: Address::new(std::ptr::null_mut()), len: [0; 4] };

    fn of(array: &IntArray) -> Row {
        let first: *const u8 = match array {
            IntArray::I32(a) => a.as_ptr().cast(),
            IntArray::U32(a) => a.as_ptr().cast(),
            IntArray::I64(a) => a.as_ptr().cast(),
            IntArray::U64(a) => a.as_ptr().cast(),
            IntArray::View(view) => match view.dense() {
                Some(first) => first,
                None => return Row::NONE,
            },
        };
        let ty = array.ty();
        let first = Address::new(first.cast_mut());
        Row { first, len: ROW_TYPES.map(|t| if t == ty { array.len() as u64 } else { 0 }) }
    }
}

impl<'r, 'a> Run<'r, 'a> {
    pub(super) fn new(vm: &'r mut Vm<'a>) -> Run<'r, 'a> {
        let env = vm.env;
        let numbers = env.array_count();
        vm.rows.clear();
        vm.rows.extend((0..numbers).map(|n| env.array(n as u64).map_or(Row::NONE, Row::of)));
        vm.known.clear();
        vm.known.resize(workspace::words(vm.program.entry()), Cell::new(0));
        let (steps, check_at, rows, known) = (vm.steps, vm.check_at, vm.rows.as_ptr(), vm.known.as_ptr());
        let lent = Lent::new(vm);
        Run { steps, check_at, value: 0, rows, known, helpers: HELPERS.as_ptr(), lent, vm, stopped: None }
    }

    /// The outcome when the code has returned.
    pub(super) fn finish(mut self, goes_on: bool) -> Result<u64, Trap> {
        (self.vm.steps, self.vm.check_at) = (self.steps, self.check_at);
        self.lent.settle(self.vm);
        match self.stopped.take() {
            None if goes_on => Ok(self.value),
            None => Err(Trap::internal("compiled code stopped without a reason", Span::default())),
            Some(Stopped::Trap(trap)) => Err(trap),
            Some(Stopped::Panic(payload)) => std::panic::resume_unwind(payload),
        }
    }
}
