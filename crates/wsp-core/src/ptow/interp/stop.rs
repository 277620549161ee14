//! Why a step of the interpreter is not taken.

use super::super::bounds::BoundsHalt;
use super::super::dispatch::PastPartition;
use super::super::eval::Halt;
use super::FaultKind;
use crate::SlotId;

/// Why a step is not taken. Nothing has changed then: it is taken again by the next run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop<S> {
    Fault(FaultKind),
    Waits(SlotId),
    Host(S),
}

impl Stop<core::convert::Infallible> {
    /// As a stop of any host.
    pub(super) fn settled<S>(self) -> Stop<S> {
        match self {
            Stop::Fault(kind) => Stop::Fault(kind),
            Stop::Waits(slot) => Stop::Waits(slot),
            Stop::Host(never) => match never {},
        }
    }
}

impl<S> From<Halt> for Stop<S> {
    #[inline]
    fn from(halt: Halt) -> Stop<S> {
        match halt {
            Halt::Fault(fault) => Stop::Fault(FaultKind::Expr(fault)),
            Halt::Waits(slot) => Stop::Waits(slot),
        }
    }
}

impl<S> From<BoundsHalt> for Stop<S> {
    fn from(halt: BoundsHalt) -> Stop<S> {
        match halt {
            BoundsHalt::Expr(halt) => halt.into(),
            other => Stop::Fault(FaultKind::Bounds(other)),
        }
    }
}

impl<S> From<PastPartition> for Stop<S> {
    fn from(past: PastPartition) -> Stop<S> {
        Stop::Fault(FaultKind::PastPartition { end: past.end })
    }
}
