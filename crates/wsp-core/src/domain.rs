//! What a host and an accelerator tell each other about one launch, and how tasks of one wait for tasks of the other.
//!
//! # Protocol
//! Three signals are raised, each once: the host says that it has what the accelerator reads ([`Signal::CpuReady`]), the accelerator that it has
//! started ([`Signal::AcceleratorReady`]), and either that the results are where the other reads them ([`Signal::TransferComplete`]). Either side
//! raises and waits. A [`DomainState`] is kept under one lock, together with the count of those that wait: a signal is raised and told under that
//! lock, so that no wait misses it, and all are lowered for the next launch only while none waits.

/// What one side tells the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Signal {
    /// What the accelerator reads is there.
    CpuReady = 0,
    /// The accelerator has started.
    AcceleratorReady = 1,
    /// Results are where the other side reads them.
    TransferComplete = 2,
}

/// The signals of a launch, and how many wait for one. A lock is around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DomainState {
    raised: u8,
    waiters: u32,
}

/// Signals are not lowered while some wait for them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HasWaiters {
    /// How many wait.
    pub waiters: u32,
}

impl core::fmt::Display for HasWaiters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the signals of a launch are lowered after its waits, and {} not over", Are(self.waiters))
    }
}

impl core::error::Error for HasWaiters {}

/// "1 is" or "2 are".
struct Are(u32);

impl core::fmt::Display for Are {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "is" } else { "are" })
    }
}

impl DomainState {
    /// Raises a signal; whether it was not raised before.
    pub fn raise(&mut self, signal: Signal) -> bool {
        let before = self.raised;
        self.raised |= 1 << signal as u8;
        before != self.raised
    }

    /// Whether a signal is raised.
    pub fn is_raised(&self, signal: Signal) -> bool {
        self.raised & 1 << signal as u8 != 0
    }

    /// One more waits.
    pub fn enter(&mut self) {
        self.waiters += 1;
    }

    /// A wait is over.
    pub fn leave(&mut self) {
        self.waiters -= 1;
    }

    /// Lowers all signals, for the next launch.
    ///
    /// # Errors
    /// Some wait; nothing is lowered.
    pub fn reset(&mut self) -> Result<(), HasWaiters> {
        if self.waiters > 0 {
            return Err(HasWaiters { waiters: self.waiters });
        }
        self.raised = 0;
        Ok(())
    }
}

/// What a task waits for of tasks of other domains.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CrossOrder {
    /// The tasks that its edges name.
    #[default]
    Edges,
    /// All earlier ones: the domains take turns.
    Phases,
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::ToString as _;

    #[test]
    fn signals_are_raised_once_and_lowered_while_none_waits() {
        let signals = [Signal::CpuReady, Signal::AcceleratorReady, Signal::TransferComplete];
        let mut state = DomainState::default();
        for (at, signal) in signals.into_iter().enumerate() {
            assert!(!state.is_raised(signal));
            assert_eq!((state.raise(signal), state.raise(signal)), (true, false));
            let raised = signals.map(|other| state.is_raised(other));
            assert_eq!(raised.iter().filter(|raised| **raised).count(), at + 1);
        }
        state.enter();
        state.enter();
        assert_eq!(state.reset(), Err(HasWaiters { waiters: 2 }));
        state.leave();
        let refused = state.reset().unwrap_err().to_string();
        assert_eq!(refused, "the signals of a launch are lowered after its waits, and 1 is not over");
        assert!(state.is_raised(Signal::CpuReady));
        state.leave();
        assert_eq!((state.reset(), state), (Ok(()), DomainState::default()));
    }
}
