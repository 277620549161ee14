//! Where every concurrent structure takes its atomics, locks and threads from: the standard library, or under
//! `cfg(loom)` the model checker.

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering, fence},
    },
    thread::{self, Thread},
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering, fence},
    },
    thread::{self, Thread},
};

/// A full fence for the model checker alone, which takes SeqCst accesses for AcqRel ones. Where it stands, the SeqCst
/// accesses around it order what it orders.
#[inline(always)]
pub(crate) fn model_fence() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// Places where a model can be made wrong, to show that it would find the fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Fault {
    /// The planner does not look once more after raising `waiting`.
    NoSecondCollection = 1,
    /// An edge is put into the list without Release.
    UnpublishedEdge = 2,
    /// A completed task does not publish what it wrote.
    UnpublishedResult = 3,
    /// A worker does not look at the queues once more before it sleeps.
    NoSecondLook = 4,
    /// A pusher reads the sleepers without a fence.
    NoFenceAfterPush = 5,
    /// What a worker completed is added up without a fence.
    NoFenceInSum = 6,
    /// Counting a stored node down passes nothing on.
    UncountedWrites = 7,
    /// The last worker to fall asleep does not tell the planner.
    QuietUntold = 8,
    /// A notice is put into a ring without Release.
    UnpublishedNotice = 9,
    /// A writer does not look whether a place of a ring was read.
    OverwrittenNotice = 10,
    /// A consumer adds itself to a task by a load and a store.
    StoredRegistration = 11,
    /// A task of an AICPU does not publish what it wrote.
    UnpublishedCompletion = 12,
    /// No worker is woken for the next task of a stream.
    TurnUntold = 13,
    /// The epoch is not advanced before tasks start because nothing else can go on.
    UnannouncedStart = 14,
    /// It is not advanced after that.
    UntoldStart = 15,
    /// A worker that ends its search does not look at the queues once more.
    NoLookAfterSearch = 16,
    /// A signal between domains is told before it is raised, outside the lock.
    SignalToldEarly = 17,
    /// A task does not publish what it wrote to those of other domains.
    UnpublishedToken = 18,
}

/// The fault of the model that runs.
#[cfg(loom)]
pub(crate) static FAULT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Whether the model is to have this fault; never outside models.
#[cfg(loom)]
pub(crate) fn has(fault: Fault) -> bool {
    FAULT.load(std::sync::atomic::Ordering::Relaxed) == fault as u32
}

/// Whether the model is to have this fault; never outside models.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn has(_: Fault) -> bool {
    false
}

/// An ordering that a fault weakens.
#[inline(always)]
pub(crate) fn weakened(fault: Fault, ordering: Ordering) -> Ordering {
    if has(fault) { Ordering::Relaxed } else { ordering }
}
