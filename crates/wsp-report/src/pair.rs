//! Whether two runs can be compared.

use crate::codes::{OTHER_CLOCK, OTHER_PROGRAM};
use wsp_diag::Diagnostic;
use wsp_runtime::timeline::{About, Timeline};

/// Refuses to compare runs of two programs, or in two units of time. `names` are those of their files.
///
/// # Errors
/// The keys of their programs differ, or one is measured and the other in virtual time.
pub fn pair([a, b]: [&Timeline; 2], names: [&str; 2]) -> Result<(), Diagnostic> {
    if let (Some(of_a), Some(of_b)) = (a.about.key, b.about.key)
        && of_a != of_b
    {
        let key = |name: &str, key| format!("`{name}` is of program {}", About::shown(key));
        return Err(Diagnostic::error(
            OTHER_PROGRAM,
            "the traces are of two programs, whose tasks do not match",
        )
        .note(key(names[0], of_a))
        .note(key(names[1], of_b))
        .help("trace both runs with one program; its schedule, parameters and machine may differ")
        .help(format!("or report each of them: `wsp report {}`", names[0]))
        .python("compare with a trace of this program; its schedule and sizes may differ"));
    }
    if a.clock != b.clock {
        let clock = |name: &str, of: &Timeline| format!("`{name}` counts {}", of.clock.word());
        return Err(Diagnostic::error(OTHER_CLOCK, "the times of the traces have no unit in common")
            .note(clock(names[0], a))
            .note(clock(names[1], b))
            .help("compare two measured runs (`wsp run --trace`), or two in virtual time (`wsp sim --trace`)")
            .python("compare two profiled runs, or two simulations"));
    }
    Ok(())
}
