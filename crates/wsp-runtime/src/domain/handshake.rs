//! Where the two sides of a launch meet.

use crate::clock;
use crate::sync::{Condvar, Fault, Mutex, MutexGuard, has};
use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;
use wsp_core::domain::{DomainState, HasWaiters, Signal};

/// The signals of a launch, which its two sides raise and wait for. What one side wrote before it raised a signal is seen by the other after its wait.
///
/// ```
/// use std::time::Duration;
/// use wsp_runtime::domain::DomainHandshake;
///
/// let handshake = DomainHandshake::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         handshake.wait_cpu_ready(Duration::MAX)?;
///         handshake.transfer_complete();
///         Ok::<(), wsp_runtime::domain::TimedOut>(())
///     });
///     handshake.cpu_ready();
///     handshake.wait_transfer_complete(Duration::MAX)
/// })?;
/// assert!(handshake.wait_accelerator_ready(Duration::ZERO).is_err());
/// handshake.reset()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DomainHandshake {
    state: Mutex<DomainState>,
    changed: Condvar,
}

/// A signal was not raised in time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimedOut {
    /// The signal.
    pub signal: Signal,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.signal {
            Signal::CpuReady => "the host did not say in time that it is ready",
            Signal::AcceleratorReady => "the accelerator did not say in time that it is ready",
            Signal::TransferComplete => "the transfer was not complete in time",
        })
    }
}

impl std::error::Error for TimedOut {}

impl Default for DomainHandshake {
    fn default() -> DomainHandshake {
        DomainHandshake { state: Mutex::new(DomainState::default()), changed: Condvar::new() }
    }
}

impl DomainHandshake {
    /// No signal is raised.
    pub fn new() -> DomainHandshake {
        DomainHandshake::default()
    }

    /// The host has what the accelerator reads.
    pub fn cpu_ready(&self) {
        self.raise(Signal::CpuReady);
    }

    /// The accelerator has started.
    pub fn accelerator_ready(&self) {
        self.raise(Signal::AcceleratorReady);
    }

    /// Results are where the other side reads them.
    pub fn transfer_complete(&self) {
        self.raise(Signal::TransferComplete);
    }

    /// Waits for [`cpu_ready`](Self::cpu_ready), at most so long; a limit of zero looks once.
    ///
    /// # Errors
    /// The time is over.
    pub fn wait_cpu_ready(&self, limit: Duration) -> Result<(), TimedOut> {
        self.wait(Signal::CpuReady, limit)
    }

    /// Waits for [`accelerator_ready`](Self::accelerator_ready), at most so long; a limit of zero looks once.
    ///
    /// # Errors
    /// The time is over.
    pub fn wait_accelerator_ready(&self, limit: Duration) -> Result<(), TimedOut> {
        self.wait(Signal::AcceleratorReady, limit)
    }

    /// Waits for [`transfer_complete`](Self::transfer_complete), at most so long; a limit of zero looks once.
    ///
    /// # Errors
    /// The time is over.
    pub fn wait_transfer_complete(&self, limit: Duration) -> Result<(), TimedOut> {
        self.wait(Signal::TransferComplete, limit)
    }

    /// Lowers all signals, for the next launch.
    ///
    /// # Errors
    /// Some still wait; nothing is lowered.
    pub fn reset(&self) -> Result<(), HasWaiters> {
        self.lock().reset()
    }

    fn lock(&self) -> MutexGuard<'_, DomainState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise(&self, signal: Signal) {
        if has(Fault::SignalToldEarly) {
            self.changed.notify_all();
        }
        // Under the lock: one that waits has either seen the signal, or is told.
        let mut state = self.lock();
        if state.raise(signal) && !has(Fault::SignalToldEarly) {
            self.changed.notify_all();
        }
    }

    fn wait(&self, signal: Signal, limit: Duration) -> Result<(), TimedOut> {
        // A moment that the clock does not know never comes.
        let end = clock::now().checked_add(limit);
        let mut state = self.lock();
        state.enter();
        let mut left = limit;
        while !state.is_raised(signal) && !left.is_zero() {
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            left = end.map_or(limit, |end| end.saturating_duration_since(clock::now()));
        }
        state.leave();
        if state.is_raised(signal) { Ok(()) } else { Err(TimedOut { signal }) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    #[test]
    fn a_wait_without_time_looks_once() {
        let handshake = DomainHandshake::new();
        type Raise = fn(&DomainHandshake);
        type Wait = fn(&DomainHandshake, Duration) -> Result<(), TimedOut>;
        let signals: [(Signal, Raise, Wait); 3] = [
            (Signal::CpuReady, DomainHandshake::cpu_ready, DomainHandshake::wait_cpu_ready),
            (
                Signal::AcceleratorReady,
                DomainHandshake::accelerator_ready,
                DomainHandshake::wait_accelerator_ready,
            ),
            (
                Signal::TransferComplete,
                DomainHandshake::transfer_complete,
                DomainHandshake::wait_transfer_complete,
            ),
        ];
        for (signal, raise, wait) in signals {
            assert_eq!(wait(&handshake, Duration::ZERO), Err(TimedOut { signal }));
            raise(&handshake);
            assert_eq!(wait(&handshake, Duration::ZERO), Ok(()));
        }
        assert_eq!(handshake.reset(), Ok(()));
        assert!(signals.iter().all(|(_, _, wait)| wait(&handshake, Duration::ZERO).is_err()));
    }

    #[test]
    fn launches_follow_each_other() {
        let (handshake, sum) = (DomainHandshake::new(), AtomicU32::new(0));
        thread::scope(|scope| {
            for launch in 0..200 {
                let accelerator = scope.spawn(|| {
                    handshake.accelerator_ready();
                    handshake.wait_cpu_ready(Duration::MAX).unwrap();
                    let input = sum.load(Ordering::Relaxed);
                    sum.store(input + 1, Ordering::Relaxed);
                    handshake.transfer_complete();
                });
                handshake.wait_accelerator_ready(Duration::MAX).unwrap();
                handshake.cpu_ready();
                handshake.wait_transfer_complete(Duration::MAX).unwrap();
                assert_eq!(sum.load(Ordering::Relaxed), launch + 1);
                accelerator.join().unwrap();
                handshake.reset().unwrap();
            }
        });
    }

    #[test]
    fn signals_stay_while_one_waits() {
        let handshake = DomainHandshake::new();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| handshake.wait_cpu_ready(Duration::MAX));
            handshake.accelerator_ready();
            // The wait begins some time after its thread.
            while handshake.reset().is_ok() {
                handshake.accelerator_ready();
                thread::yield_now();
            }
            assert_eq!(handshake.reset(), Err(HasWaiters { waiters: 1 }));
            assert_eq!(handshake.wait_accelerator_ready(Duration::ZERO), Ok(()));
            handshake.cpu_ready();
            assert_eq!(waiter.join().unwrap(), Ok(()));
        });
    }
}
