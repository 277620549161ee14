//! The panic handler of the static library.

unsafe extern "C" {
    /// Defined nowhere: a program that could come here does not link.
    fn wsp_panic_reached() -> !;
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the function has no preconditions, and a program in which it is reachable does not exist.
    unsafe { wsp_panic_reached() }
}
