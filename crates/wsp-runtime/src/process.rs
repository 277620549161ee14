//! Programs that this process starts.

use nix::sys::signal::SigSet;
use nix::unistd::{Pid, getpid};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Lets a program heed all signals, whatever the thread that starts it has blocked, and end by SIGKILL when that thread has ended: when this process
/// was killed, too. Other systems than Linux have no such end, and let it run.
pub fn tie(command: &mut Command) {
    let parent = getpid();
    // The mask of this thread stays: with another one a signal would end this process at once.
    let prepare = move || {
        SigSet::empty().thread_set_mask()?;
        end_with(parent).map_err(Into::into)
    };
    #[allow(unsafe_code, reason = "the calls are made between fork and exec")]
    // SAFETY: there the closure makes system calls alone, and none takes memory or a lock.
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(target_os = "linux")]
fn end_with(parent: Pid) -> nix::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // It may have ended before the call, which then has no effect.
    if nix::unistd::getppid() == parent { Ok(()) } else { Err(nix::errno::Errno::ESRCH) }
}

#[cfg(not(target_os = "linux"))]
fn end_with(_: Pid) -> nix::Result<()> {
    Ok(())
}
