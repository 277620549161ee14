//! Binding this thread, and those that it starts, to a few cores: ours and the peers' threads are bound alike.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A thread that is bound to some of its cores until this is dropped.
#[derive(Debug)]
pub(crate) struct Bound {
    #[cfg(target_os = "linux")]
    before: CpuSet,
}

impl Bound {
    /// Binds this thread to the first `cores` of those it may run on; none where there are not as many, or where the system cannot.
    #[cfg(target_os = "linux")]
    pub(crate) fn to_first(cores: u32) -> Option<Bound> {
        let before = sched_getaffinity(None).ok()?;
        let mut chosen = CpuSet::new();
        for core in (0..CpuSet::MAX_CPU).filter(|&core| before.is_set(core)).take(cores as usize) {
            chosen.set(core);
        }
        if chosen.count() != cores {
            return None;
        }
        sched_setaffinity(None, &chosen).ok()?;
        Some(Bound { before })
    }

    /// No way is known here.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn to_first(_cores: u32) -> Option<Bound> {
        None
    }
}

#[cfg(target_os = "linux")]
impl Drop for Bound {
    fn drop(&mut self) {
        // A thread that stays bound is slower, not wrong.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_is_free_again_afterwards() {
        let free = sched_getaffinity(None).unwrap();
        let bound = Bound::to_first(1).unwrap();
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop(bound);
        assert_eq!(sched_getaffinity(None).unwrap(), free);
        assert!(Bound::to_first(free.count() + 1).is_none());
    }
}
