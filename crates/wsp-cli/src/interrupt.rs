//! Signals that end the program: at once, in every command and phase, and with nothing half done left behind.
//!
//! SIGINT (Ctrl-C), SIGTERM and the others of [`ENDING`] are blocked in every thread and waited for by one of their own, which knows which of
//! them came: it removes what is registered as [`Leftover`] and exits with 128 and the number of the
//! signal. One that was ignored when the program started stays ignored. SIGXFSZ is blocked too, so that a write past the limit on file sizes is an error like any other.

use nix::sys::signal::{SigSet, Signal};
use pto_wsp::shared::leftover;
pub use pto_wsp::shared::leftover::{Leftover, output, start};
pub(crate) use pto_wsp::shared::leftover::{last, leave, whole};
pub(crate) use pto_wsp::shared::work_folder::{Abandoned, WorkFolder, discard};

/// Signals from outside that end a program: of terminals, of those who stop it, and of batch systems and limits, which announce an end by them.
const ENDING: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGXCPU,
];

/// Takes the signals over. Called before any other thread starts. Where the system refuses, a signal does what it does to
/// any program.
pub(crate) fn install() {
    // A program that `nohup` or a script's `trap "" INT` started goes on.
    let ignored = ignored();
    let heeded = |signal: Signal| ignored & (1 << (signal as u32 - 1)) == 0;
    let ending: SigSet = ENDING.into_iter().filter(|&signal| heeded(signal)).collect();
    let mut limits = SigSet::empty();
    limits.add(Signal::SIGXFSZ);
    let _ = limits.thread_block();
    // A handler would run on the thread that works, which reads a large file to its end first; another thread waits for them.
    if ending.thread_block().is_ok() {
        let waiting = std::thread::Builder::new().spawn(move || {
            while let Ok(signal) = ending.wait() {
                leftover::end(128 + signal as i32);
            }
        });
        match waiting {
            Ok(_) => leftover::signals_are_heeded(),
            Err(_) => drop(ending.thread_unblock()),
        }
    }
}

/// The signals that this program was started with ignored, a bit for each from the lowest on.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
