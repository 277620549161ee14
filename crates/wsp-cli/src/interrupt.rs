//! Ctrl-C: stops a run cleanly when one is under way, the program otherwise.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a program that was interrupted.
pub(crate) const EXIT_CODE: u8 = 130;

/// What Ctrl-C does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    cancel: Arc<AtomicBool>,
    running: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes Ctrl-C over. Where the system refuses, Ctrl-C ends the program as it always does.
    pub(crate) fn install() -> Interrupt {
        let interrupt = Interrupt::default();
        let seen = interrupt.clone();
        let _ = ctrlc::set_handler(move || {
            if !seen.running.load(Ordering::SeqCst) || seen.cancel.swap(true, Ordering::SeqCst) {
                std::process::exit(i32::from(EXIT_CODE));
            }
            let _ = writeln!(std::io::stderr(), "stopping; press Ctrl-C again to end at once");
        });
        interrupt
    }

    /// The flag that stops a run.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    /// Runs something that heeds the flag; the second Ctrl-C ends the program all the same.
    pub(crate) fn while_running<T>(&self, work: impl FnOnce() -> T) -> T {
        self.running.store(true, Ordering::SeqCst);
        let result = work();
        self.running.store(false, Ordering::SeqCst);
        result
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn pressed(&self) -> bool {
        self.cancel.load(Ordering::SeqCst)
    }
}
