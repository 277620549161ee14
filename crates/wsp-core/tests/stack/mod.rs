//! Deep programs on the stack that threads have by themselves.

/// What a thread has when nothing else is asked for. Functions that are not optimised take up to eight times the room.
const BYTES: usize = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };

/// Does the work on a thread with such a stack; panics if the work does.
pub(crate) fn on_a_plain_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(BYTES).spawn(work).expect("a thread can be started");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
