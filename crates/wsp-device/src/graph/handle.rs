//! A run of a graph in memory of the caller.

use core::cell::Cell;
use wsp_core::tg::image::Image;
use wsp_core::tg::machine::Machine;

/// What a handle begins with, so that memory that holds none is noticed.
const OPEN: u64 = 0x5054_4749_4F50_454E;

// The memory of a handle is aligned to 8 bytes.
const _: () = assert!(align_of::<GraphHandle>() == 8);

/// An image, the words of a run's state, and whether it is running.
///
/// `'static` stands for as long as the caller keeps image and memory, which it has promised to do until it no longer uses the
/// handle.
#[repr(C)]
pub struct GraphHandle {
    mark: u64,
    running: Cell<bool>,
    pub(super) image: Image<'static>,
    pub(super) words: &'static mut [u32],
}

impl GraphHandle {
    pub(super) fn new(image: Image<'static>, words: &'static mut [u32]) -> GraphHandle {
        GraphHandle { mark: OPEN, running: Cell::new(false), image, words }
    }

    /// Uses the run of a handle; none when the pointer is null, misaligned, or none that was opened, or when it is in
    /// use: a callback must not use the handle that has called it.
    ///
    /// # Safety
    /// A pointer that is neither null nor misaligned points to memory of the size of a handle which only this thread uses.
    pub(super) unsafe fn with<T>(
        handle: *mut GraphHandle,
        work: impl FnOnce(&mut Machine<'_>, &Image<'_>) -> T,
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
        // SAFETY: as above; nothing changes the image while there is a handle.
        let image = unsafe { &(*handle).image };
        // SAFETY: as above; `running` shows that nobody else has a reference to the words.
        let words = unsafe { &mut *(*handle).words };
        let result = Machine::attach(image, words).map(|mut machine| work(&mut machine, image));
        running.set(false);
        result
    }
}
