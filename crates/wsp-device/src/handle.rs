//! An interpreter in memory of the caller.

use core::cell::Cell;
use wsp_core::ptow::interp::Interpreter;

/// What a handle begins with, so that memory that holds none is noticed.
const OPEN: u64 = 0x5054_4F57_4F50_454E;

// The memory of a handle is aligned to 8 bytes.
const _: () = assert!(align_of::<Handle>() == 8);

/// An interpreter, and whether it is running.
///
/// `'static` stands for as long as the caller keeps program, launch and memory, which it has promised to do until it no
/// longer uses the handle.
#[repr(C)]
pub struct Handle {
    mark: u64,
    running: Cell<bool>,
    interpreter: Interpreter<'static>,
}

impl Handle {
    pub(crate) fn new(interpreter: Interpreter<'static>) -> Handle {
        Handle { mark: OPEN, running: Cell::new(false), interpreter }
    }

    /// Uses the interpreter of a handle; none when the pointer is null, misaligned, or none that was opened, or when the
    /// interpreter is in use: a callback must not run the interpreter that has called it.
    ///
    /// # Safety
    /// A pointer that is neither null nor misaligned points to memory of the size of a handle which only this thread uses.
    pub(crate) unsafe fn with<T>(
        handle: *mut Handle,
        work: impl FnOnce(&mut Interpreter<'static>) -> T,
    ) -> Option<T> {
        if handle.is_null() || !handle.is_aligned() {
            return None;
        }
        // SAFETY: the pointer is good for a handle, and a number may be read whatever is there.
        if unsafe { (&raw const (*handle).mark).read() } != OPEN {
            return None;
        }
        // SAFETY: the mark is there, so this is a handle; the reference is to this field alone.
        let running = unsafe { &(*handle).running };
        if running.replace(true) {
            return None;
        }
        // SAFETY: as above; `running` shows that nobody else has a reference to the interpreter.
        let interpreter = unsafe { &mut (*handle).interpreter };
        let result = work(interpreter);
        running.set(false);
        Some(result)
    }
}
