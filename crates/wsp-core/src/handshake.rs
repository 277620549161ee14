//! How a scheduler hands tasks to one core, through five words of shared memory.
//!
//! # Protocol
//! | state | `task_status` | `aicore_done` | who may write next |
//! |---|---|---|---|
//! | idle | 0 | 0 | the scheduler: [`assign`](Handshake::assign), [`shut_down`](Handshake::shut_down) |
//! | assigned | 1 | 0 | the core: [`complete`](Handshake::complete) |
//! | done | 0 | 1 | the scheduler: [`take_completion`](Handshake::take_completion), back to idle |
//!
//! The scheduler stores `task` and then `task_status` = 1 with release; a core that loads 1 with acquire sees the task, and
//! everything that the scheduler wrote for it. The core stores `aicore_done` = 1 and then `task_status` = 0, both with
//! release; a scheduler that loads `aicore_done` = 1 with acquire sees everything that the task wrote. The scheduler clears
//! `aicore_done` before it assigns again, so that one completion is taken once. `control` = 1 is stored in idle only, and a
//! core looks at it only when `task_status` is 0, so that an assigned task always runs. Each word has one writer per state:
//! no read-modify-write is needed, which some devices do not have between domains.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The shared words; field order and widths are the device's.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Handshake {
    aicpu_ready: AtomicU32,
    aicore_done: AtomicU32,
    task: AtomicU64,
    task_status: AtomicI32,
    control: AtomicI32,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Handshake>() == 24);
    assert!(core::mem::offset_of!(Handshake, task) == 8);
    assert!(core::mem::offset_of!(Handshake, control) == 20);
};

/// What a core finds when it looks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CoreOrder {
    /// Nothing yet.
    Wait,
    /// A task to run.
    Run(u64),
    /// No task will come any more.
    Exit,
}

/// What the scheduler asked for in a state that does not allow it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NotIdle;

impl core::fmt::Display for NotIdle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(
            "the core is not idle: its task is running, or its completion has not been taken, or it was sent home",
        )
    }
}

impl core::error::Error for NotIdle {}

/// The ordering with which data are handed over; a model weakens it, to show that it would notice.
fn publishing() -> Ordering {
    #[cfg(loom)]
    if models::WEAKENED.load(core::sync::atomic::Ordering::Relaxed) {
        return Ordering::Relaxed;
    }
    Ordering::Release
}

impl Handshake {
    /// Idle, and the scheduler not ready.
    pub fn new() -> Handshake {
        Handshake::default()
    }

    /// Scheduler: says that it is initialised.
    pub fn set_ready(&self) {
        self.aicpu_ready.store(1, Ordering::Release);
    }

    /// Core: whether the scheduler is initialised; what it wrote before is then visible.
    pub fn is_ready(&self) -> bool {
        self.aicpu_ready.load(Ordering::Acquire) == 1
    }

    /// Scheduler: whether a task can be assigned: the core is idle and was not sent home.
    pub fn is_idle(&self) -> bool {
        // Only the core lowers the status, and only after `aicore_done`: a zero here is followed by a current `aicore_done`.
        self.task_status.load(Ordering::Acquire) == 0
            && self.aicore_done.load(Ordering::Acquire) == 0
            && self.control.load(Ordering::Relaxed) == 0
    }

    /// Scheduler: gives the core a task.
    ///
    /// # Errors
    /// The core is not idle; nothing was written.
    pub fn assign(&self, task: u64) -> Result<(), NotIdle> {
        if !self.is_idle() {
            return Err(NotIdle);
        }
        self.task.store(task, Ordering::Relaxed);
        self.task_status.store(1, publishing());
        Ok(())
    }

    /// Core: what to do.
    pub fn poll(&self) -> CoreOrder {
        if self.task_status.load(Ordering::Acquire) == 1 {
            return CoreOrder::Run(self.task.load(Ordering::Relaxed));
        }
        // Between the two loads no task can come and go: only this core completes it. So a shut-down is the last word.
        if self.control.load(Ordering::Acquire) == 1 { CoreOrder::Exit } else { CoreOrder::Wait }
    }

    /// Core: the task it was given has run.
    pub fn complete(&self) {
        self.aicore_done.store(1, publishing());
        self.task_status.store(0, Ordering::Release);
    }

    /// Scheduler: whether the task has run, once; what it wrote is then visible. The core is idle afterwards.
    pub fn take_completion(&self) -> bool {
        // The status is lowered last: while it is 1 the core may still be between its two stores.
        if self.aicore_done.load(Ordering::Acquire) == 0 || self.task_status.load(Ordering::Acquire) == 1 {
            return false;
        }
        self.aicore_done.store(0, Ordering::Release);
        true
    }

    /// Scheduler: sends the core home.
    ///
    /// # Errors
    /// The core is not idle; nothing was written.
    pub fn shut_down(&self) -> Result<(), NotIdle> {
        if !self.is_idle() {
            return Err(NotIdle);
        }
        self.control.store(1, Ordering::Release);
        Ok(())
    }
}

#[cfg(loom)]
mod models {
    use core::sync::atomic::AtomicBool;

    pub(super) static WEAKENED: AtomicBool = AtomicBool::new(false);

    #[cfg(test)]
    mod tests {
        extern crate std;

        use super::super::*;
        use super::WEAKENED;
        use loom::sync::Arc;
        use loom::thread;
        use std::panic::catch_unwind;

        #[test]
        fn every_task_runs_once_and_data_follow_it() {
            two_tasks();
            WEAKENED.store(true, core::sync::atomic::Ordering::Relaxed);
            let found = catch_unwind(two_tasks).is_err();
            WEAKENED.store(false, core::sync::atomic::Ordering::Relaxed);
            assert!(found, "a relaxed hand-over is not found");
        }

        /// Two tasks: each runs once, sees what was written for it, and its result is seen.
        fn two_tasks() {
            loom::model(|| {
                let shared = Arc::new((Handshake::new(), AtomicU32::new(0), AtomicU32::new(0)));
                let core = {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let (handshake, input, output) = &*shared;
                        let mut ran = 0;
                        loop {
                            match handshake.poll() {
                                CoreOrder::Wait => thread::yield_now(),
                                CoreOrder::Exit => return ran,
                                CoreOrder::Run(task) => {
                                    assert_eq!(u64::from(input.load(Ordering::Relaxed)), task);
                                    output.store(task as u32 + 10, Ordering::Relaxed);
                                    ran += 1;
                                    handshake.complete();
                                }
                            }
                        }
                    })
                };
                let (handshake, input, output) = &*shared;
                for task in 1..=2 {
                    input.store(task, Ordering::Relaxed);
                    handshake.assign(task.into()).unwrap();
                    while !handshake.take_completion() {
                        thread::yield_now();
                    }
                    assert_eq!(output.load(Ordering::Relaxed), task + 10);
                }
                handshake.shut_down().unwrap();
                assert_eq!(core.join().unwrap(), 2);
            });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;

    use super::*;
    use std::thread;
    use std::vec::Vec;

    #[test]
    fn only_an_idle_core_takes_a_task_or_goes_home() {
        let handshake = Handshake::new();
        assert_eq!((handshake.poll(), handshake.take_completion()), (CoreOrder::Wait, false));
        assert_eq!(handshake.assign(7), Ok(()));
        assert_eq!((handshake.assign(8), handshake.shut_down()), (Err(NotIdle), Err(NotIdle)));
        assert_eq!((handshake.poll(), handshake.take_completion()), (CoreOrder::Run(7), false));
        handshake.complete();
        assert_eq!((handshake.assign(8), handshake.shut_down()), (Err(NotIdle), Err(NotIdle)));
        assert_eq!((handshake.take_completion(), handshake.take_completion()), (true, false));
        assert_eq!(handshake.assign(8), Ok(()));
        handshake.complete();
        assert!(handshake.take_completion());
        assert_eq!((handshake.shut_down(), handshake.poll()), (Ok(()), CoreOrder::Exit));
        assert_eq!(handshake.assign(9), Err(NotIdle));
    }

    #[test]
    fn simulated_cores_run_every_task_once() {
        let cores: Vec<(Handshake, AtomicU64)> = (0..3).map(|_| Default::default()).collect();
        thread::scope(|scope| {
            for (handshake, sum) in &cores {
                scope.spawn(move || {
                    while !handshake.is_ready() {
                        thread::yield_now();
                    }
                    loop {
                        match handshake.poll() {
                            CoreOrder::Wait => thread::yield_now(),
                            CoreOrder::Exit => return,
                            CoreOrder::Run(task) => {
                                // One writer: no read-modify-write.
                                sum.store(sum.load(Ordering::Relaxed) + task, Ordering::Relaxed);
                                handshake.complete();
                            }
                        }
                    }
                });
            }
            cores.iter().for_each(|(handshake, _)| handshake.set_ready());
            let (mut next, mut done) = (1..=3000u64, 0);
            let mut pending = next.next();
            while done < 3000 {
                for (handshake, _) in &cores {
                    done += u32::from(handshake.take_completion());
                    if let Some(task) = pending
                        && handshake.assign(task).is_ok()
                    {
                        pending = next.next();
                    }
                }
                thread::yield_now();
            }
            cores.iter().for_each(|(handshake, _)| handshake.shut_down().unwrap());
        });
        let total: u64 = cores.iter().map(|(_, sum)| sum.load(Ordering::Relaxed)).sum();
        assert_eq!(total, 3000 * 3001 / 2);
    }
}
