//! A function that can panic, for the test which shows that programs with such functions do not link.

/// Panics unless the index is below 4.
#[unsafe(no_mangle)]
pub extern "C" fn wsp_panic_probe(index: u32) -> u32 {
    [2, 3, 5, 7][index as usize]
}
