//! Designs as text, and back.

use super::origin::origin;
use crate::codes;
use crate::design::Design;
use crate::lower::{Lowered, soon};
use crate::mlir::{Form, Version, parse, print};
use wsp_diag::{Code, Diagnostic, Diagnostics, FileId};

/// The text of a design.
pub(super) fn text(lowered: &Lowered) -> String {
    let takes_length = lowered.launches.iter().any(|launch| launch.range.is_some());
    // Sizes that are values are of that spelling only.
    let version = if takes_length { Version::V2026_09 } else { Version::default() };
    print(&lowered.design.module(), Form::Mixed, version)
}

/// The design that the text of one is, and what is found beside errors.
///
/// # Errors
/// Errors of the checker.
pub(super) fn checked(lowered: &Lowered) -> Result<(Design, Vec<Diagnostic>), Diagnostics> {
    checked_text(lowered, &text(lowered))
}

/// The same, of its text.
///
/// # Errors
/// Errors of the checker.
pub(super) fn checked_text(lowered: &Lowered, text: &str) -> Result<(Design, Vec<Diagnostic>), Diagnostics> {
    let module = parse(FileId::default(), text)?;
    let read = Design::read(&module)?.into_iter().next();
    let design = read.ok_or_else(|| Diagnostic::error(codes::DEVICE, "the text has no device"))?;
    let in_program = |found: Diagnostic| {
        let place = found.primary.as_ref().and_then(|label| origin(lowered, &design, label.span));
        let found = placeless(found);
        if let Some(place) = place { found.at(place, "") } else { found }
    };
    let found: Vec<Diagnostic> = crate::check(&design).into_iter().map(in_program).collect();
    if found.iter().any(Diagnostic::is_error) {
        let of_program = |fault: Diagnostic| match helped(fault.code, lowered.is_pipeline) {
            Some(help) => Diagnostic { help: vec![help.to_owned()], ..fault },
            None => fault,
        };
        return Err(Diagnostics(found.into_iter().filter(Diagnostic::is_error).map(of_program).collect()));
    }
    let of_program = |fault: Diagnostic| match fault.code {
        codes::PART => Diagnostic { help: vec![STORE.to_owned()], ..fault },
        _ => fault,
    };
    Ok((design, found.into_iter().map(of_program).collect()))
}

/// What a program writes where its design breaks a rule; help that is of text would name what it does not have.
fn helped(code: Code, is_pipeline: bool) -> Option<&'static str> {
    Some(match code {
        codes::STALL | codes::DESCRIPTORS | codes::PROGRAM => soon(is_pipeline),
        codes::MEMORY => {
            "have the kernels of this core take tiles of fewer elements, or fewer of them at once"
        }
        codes::GRANULE => {
            "have rows of tiles, and where they begin, be multiples of 4 bytes: 4 elements of `i8`, 2 of `bf16`"
        }
        _ => return None,
    })
}

/// What a program writes where tasks leave elements of an output.
const STORE: &str = "have tasks store all of the output, or give it as many elements as they store";

/// A finding of a text that is not a file of the user.
pub(super) fn placeless(mut found: Diagnostic) -> Diagnostic {
    found.primary = None;
    found.labels.clear();
    found
}
