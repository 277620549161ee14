//! Designs from text, and arrays as bytes.

use wsp_aie::design::Design;
use wsp_aie::mlir::parse;
use wsp_aie::run::{Allocation, Arg, Call, Counts, Failure, Machine};
use wsp_diag::FileId;

/// The only design of a text.
pub(crate) fn design(text: &str) -> Design {
    let module = parse(FileId(0), text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
    let designs = Design::read(&module).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
    designs.into_iter().next().expect("there is a device")
}

/// The codes of what is wrong with the only design of a text, repeats left out.
pub(crate) fn codes(text: &str) -> Vec<u16> {
    let mut codes: Vec<u16> = wsp_aie::check(&design(text)).iter().map(|found| found.code.0).collect();
    codes.dedup();
    codes
}

/// An array of integers.
pub(crate) fn ints(values: impl IntoIterator<Item = i32>) -> Arg {
    Arg::Array(values.into_iter().flat_map(i32::to_le_bytes).collect())
}

/// An array of numbers.
pub(crate) fn floats(values: impl IntoIterator<Item = f32>) -> Arg {
    Arg::Array(values.into_iter().flat_map(f32::to_le_bytes).collect())
}

/// The integers of an array.
pub(crate) fn to_ints(arg: &Arg) -> Vec<i32> {
    words(arg).map(i32::from_le_bytes).collect()
}

/// The numbers of an array.
pub(crate) fn to_floats(arg: &Arg) -> Vec<f32> {
    words(arg).map(f32::from_le_bytes).collect()
}

fn words(arg: &Arg) -> impl Iterator<Item = [u8; 4]> + '_ {
    let Arg::Array(bytes) = arg else { panic!("no array") };
    bytes.chunks_exact(4).map(|word| word.try_into().expect("four bytes"))
}

/// Kernels that only let time pass.
pub(crate) fn nothing(_: &str, _: &mut Call<'_>) -> bool {
    true
}

/// Runs the only sequence of a design.
pub(crate) fn run(design: &Design, allocation: Allocation, args: &mut [Arg]) -> Result<Counts, Failure> {
    let mut machine = Machine::new(design, allocation).map_err(Failure::Fault)?;
    machine.launch(None, args, &mut nothing)
}

/// What a deadlock tells, line by line.
pub(crate) fn hangs(result: Result<Counts, Failure>) -> Vec<String> {
    match result {
        Err(Failure::Deadlock(deadlock)) => {
            let diagnostic = deadlock.diagnostic();
            std::iter::once(diagnostic.message).chain(diagnostic.notes).collect()
        }
        other => panic!("it does not hang: {other:?}"),
    }
}
