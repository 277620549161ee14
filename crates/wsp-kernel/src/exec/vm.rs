//! A run of one compiled function: its state, its steps, and what ends it early.

use super::code::{Code, CompiledFunction};
use super::host::GeneratorHost;
use super::native::Row;
use super::outlined::span;
use super::tile_run::TileRun;
use super::trap::{CANCELLED, STEP_LIMIT};
use crate::{Env, Trap};
use std::cell::Cell;
use wsp_core::limits;
use wsp_diag::Span;

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

/// A run of one compiled function.
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

    /// Looks whether to start at all.
    pub(crate) fn start(&self) -> Result<(), Trap> {
        if self.cancelled() { Err(self.cancel_trap(Span::default())) } else { Ok(()) }
    }

    /// Counts a loop iteration or call.
    #[inline]
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

    /// Says in a callee's trap where it was called.
    #[cold]
    pub(crate) fn called_from(&self, trap: Trap, code: &Code, site: u32) -> Trap {
        let callee = &self.program.funcs[code.calls[site as usize].func];
        trap.note(format!("in {}, called from {}", callee.title, code.title))
    }
}
