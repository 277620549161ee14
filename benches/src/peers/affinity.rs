//! Binding this thread, and those that it starts, to a few cores: ours and the peers' threads are bound alike.

#[cfg(target_os = "linux")]
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
#[cfg(target_os = "linux")]
use nix::unistd::Pid;

/// The calling thread.
#[cfg(target_os = "linux")]
const OWN: Pid = Pid::from_raw(0);

/// The cores of a set.
#[cfg(target_os = "linux")]
fn members(set: &CpuSet) -> impl Iterator<Item = usize> + '_ {
    (0..CpuSet::count()).filter(|&core| set.is_set(core).is_ok_and(|is| is))
}

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
        let before = sched_getaffinity(OWN).ok()?;
        let mut chosen = CpuSet::new();
        for core in members(&before).take(cores as usize) {
            chosen.set(core).ok()?;
        }
        if members(&chosen).count() != cores as usize {
            return None;
        }
        sched_setaffinity(OWN, &chosen).ok()?;
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
        let _ = sched_setaffinity(OWN, &self.before);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_is_free_again_afterwards() {
        let cores = || members(&sched_getaffinity(OWN).unwrap()).collect::<Vec<usize>>();
        let free = cores();
        let bound = Bound::to_first(1).unwrap();
        assert_eq!(cores().len(), 1);
        drop(bound);
        assert_eq!(cores(), free);
        assert!(Bound::to_first(free.len() as u32 + 1).is_none());
    }
}
