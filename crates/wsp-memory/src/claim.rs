//! Claims: of two runs at the same time, neither writes memory that the other one uses.

use crate::process::PerProcess;
use crate::view::View;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A view that a run uses.
#[derive(Clone, Debug)]
pub struct Use {
    /// As the caller names it.
    pub name: String,
    /// Where it lies.
    pub view: View,
    /// Whether tasks may write it.
    pub written: bool,
}

/// The views of a run.
pub type Uses = Arc<[Use]>;

/// Two runs that go on at the same time would use the same memory, and one of them would write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The argument of the run that is refused.
    pub name: String,
    /// Whether that run writes it.
    pub writes: bool,
    /// The argument of the run that goes on.
    pub other: String,
    /// Whether that run writes it.
    pub other_writes: bool,
}

impl Conflict {
    /// Which run does what, in a sentence.
    pub fn note(&self) -> String {
        let does = |writes: bool| if writes { "writes" } else { "reads" };
        let (other, own) = (does(self.other_writes), does(self.writes));
        format!("that run {other} it, as `{}`, and this one {own} it", self.other)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "array `{}` is in use by a run that goes on", self.name)
    }
}

impl std::error::Error for Conflict {}

/// What a run has claimed.
pub(crate) struct Running {
    id: u64,
    uses: Uses,
}

/// The runs of a process.
pub(crate) static RUNNING: PerProcess<Vec<Running>> = PerProcess::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// How many kernels of the caller this thread is in.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Runs a kernel of the caller on this thread. What it runs itself is a part of its task and makes no claims.
///
/// # Safety
/// Runs inside of it use only memory that the kernel's task may use in the same way, or that no other run has, and end before it
/// does.
pub unsafe fn within_task<R>(kernel: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.set(INSIDE.get() - 1);
        }
    }
    INSIDE.set(INSIDE.get() + 1);
    let _leave = Leave;
    kernel()
}

/// Whether this thread runs a kernel of the caller, so that claims are made in vain.
pub fn is_within_task() -> bool {
    INSIDE.get() != 0
}

/// Views that are claimed until this is dropped: for all runs but one, which reads and writes them.
#[derive(Debug)]
pub struct Claim {
    /// None for a run inside of a task, and for one with the claim of its caller.
    id: Option<u64>,
    uses: Uses,
    /// Whether a run has it at this moment.
    lent: AtomicBool,
}

impl Claim {
    /// Claims the views of a run.
    ///
    /// # Errors
    /// A run that goes on writes one of them, or uses one that this run writes.
    pub fn of(uses: &Uses) -> Result<Claim, Conflict> {
        let (uses, lent) = (uses.clone(), AtomicBool::new(false));
        if is_within_task() || uses.is_empty() {
            return Ok(Claim { id: None, uses, lent });
        }
        let mut all = RUNNING.lock();
        refused(&all, &uses)?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        all.push(Running { id, uses: uses.clone() });
        Ok(Claim { id: Some(id), uses, lent })
    }

    /// What a run needs beside the claim that its caller has made for it: nothing, where that has all of its views and no other
    /// run has it; else a claim of its own.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn beside(callers: Option<&Arc<Claim>>, uses: &Uses) -> Result<Claimed, Conflict> {
        if let Some(claim) = callers.filter(|claim| claim.covers(uses))
            && !claim.lent.swap(true, Ordering::Acquire)
        {
            return Ok(Claimed(Held::Lent(claim.clone())));
        }
        Claim::of(uses).map(|claim| Claimed(Held::Own(claim)))
    }

    /// Whether it claims all of these views, and for writing those that are written.
    fn covers(&self, uses: &[Use]) -> bool {
        let has = |one: &Use| {
            self.uses.iter().any(|own| own.view.is_same(&one.view) && (own.written || !one.written))
        };
        uses.iter().all(has)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut all = RUNNING.lock();
        let ended = all.iter().position(|other| other.id == id).map(|at| all.swap_remove(at));
        drop(all);
        // Giving arrays back may wait for a lock that a thread holds which waits for the list.
        drop(ended);
    }
}

/// The claim that a run has, until this is dropped.
#[derive(Debug)]
pub struct Claimed(Held);

#[derive(Debug)]
enum Held {
    Own(#[expect(dead_code, reason = "it is there to be dropped")] Claim),
    Lent(Arc<Claim>),
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if let Held::Lent(claim) = &self.0 {
            claim.lent.store(false, Ordering::Release);
        }
    }
}

fn refused(all: &[Running], uses: &[Use]) -> Result<(), Conflict> {
    for other in all.iter().flat_map(|other| other.uses.iter()) {
        let clash = |mine: &&Use| (mine.written || other.written) && mine.view.may_share_memory(&other.view);
        if let Some(mine) = uses.iter().find(clash) {
            return Err(Conflict {
                name: mine.name.clone(),
                writes: mine.written,
                other: other.name.clone(),
                other_writes: other.written,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use wsp_core::{DType, Region, TensorId};

    fn matrix() -> View {
        View::dense(Buffer::zeros(4 * 64, 64).expect("it is small"), DType::F32, &[8, 8]).expect("it fits")
    }

    fn rows(view: &View, from: u32, to: u32) -> View {
        let region = Region::new(TensorId(0), &[from, 0], &[to, 8]).expect("ranks agree");
        view.part(&region).expect("they lie inside")
    }

    fn uses(name: &str, view: &View, written: bool) -> Uses {
        [Use { name: name.to_owned(), view: view.clone(), written }].into()
    }

    fn claim(name: &str, view: &View, written: bool) -> Result<Claim, Conflict> {
        Claim::of(&uses(name, view, written))
    }

    #[test]
    fn many_may_read_and_one_may_write() {
        let x = matrix();
        let (first, second) = (claim("a", &x, false), claim("b", &x, false));
        let refused = claim("y", &x, true).unwrap_err();
        let (name, other) = ("y".to_owned(), "a".to_owned());
        assert_eq!(refused, Conflict { name, writes: true, other, other_writes: false });
        drop((first.expect("it is read"), second.expect("it is read")));
        let writer = claim("y", &x, true).expect("no claim is held any more");
        assert!(
            claim("x", &x, false).unwrap_err().note().contains("writes it, as `y`, and this one reads it")
        );
        drop(writer);
        assert!(claim("x", &x, false).is_ok());
    }

    #[test]
    fn parts_that_share_no_byte_are_claimed_apart_and_others_are_not() {
        let x = matrix();
        let _upper = claim("upper", &rows(&x, 0, 4), true).expect("no claim is held");
        assert!(claim("lower", &rows(&x, 4, 8), true).is_ok());
        assert_eq!(claim("middle", &rows(&x, 3, 5), false).unwrap_err().other, "upper");
        // The same memory by another way.
        let again = View::dense(x.buffer().clone(), DType::U8, &[256]).expect("it fits");
        assert!(claim("bytes", &again, true).is_err());
    }

    #[test]
    fn the_claim_of_a_caller_serves_one_run_at_a_time() {
        let x = matrix();
        let callers = Arc::new(claim("x", &x, true).expect("no claim is held"));
        let own = uses("x of the program", &x, true);
        let run = Claim::beside(Some(&callers), &own).expect("the caller has claimed it for the run");
        let refused = Claim::beside(Some(&callers), &own).unwrap_err();
        assert_eq!((refused.name.as_str(), refused.other.as_str()), ("x of the program", "x"));
        drop(run);
        assert!(Claim::beside(Some(&callers), &own).is_ok());
        assert!(Claim::beside(None, &own).is_err());
    }

    #[test]
    fn a_claim_to_read_is_none_to_write() {
        let x = matrix();
        let callers = Arc::new(claim("x", &x, false).expect("no claim is held"));
        assert!(Claim::beside(Some(&callers), &uses("x", &x, true)).is_err());
        assert!(Claim::beside(Some(&callers), &uses("x", &x, false)).is_ok());
    }

    #[test]
    fn what_runs_inside_of_a_task_claims_nothing() {
        let x = matrix();
        let _outer = claim("x", &x, true).expect("no claim is held");
        // SAFETY: nothing reads or writes an element.
        assert!(unsafe { within_task(|| is_within_task() && claim("x", &x, true).is_ok()) });
        assert!(!is_within_task());
        assert!(claim("x", &x, true).is_err());
    }
}
