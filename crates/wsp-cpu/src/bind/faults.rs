//! Faults of arrays that several parts of binding report.

use crate::codes;
use crate::metadata::{ArrayFact, Metadata};
use wsp_core::DType;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, did_you_mean};

/// An array that a program does not take; `taken` are those that it takes. `has_value` says whether a value has this name.
pub(crate) fn not_taken(program: &str, name: &str, taken: &[&str], has_value: bool) -> Diagnostic {
    let fault = Diagnostic::error(codes::UNKNOWN_ARRAY, format!("{program} takes no array `{name}`"));
    if has_value {
        return fault.help(format!("`{name}` is a parameter: set it with `--set {name}=N`"));
    }
    match did_you_mean(name, taken.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if taken.is_empty() => fault.note("it takes no arrays").help(format!("leave `{name}` out")),
        None => {
            let takes = format!("it takes `{}`", taken.join("`, `"));
            fault.note(takes).help(format!("leave `{name}` out, or give it the name of one of these"))
        }
    }
}

/// An array the launch needs and does not have.
pub(super) fn missing(name: &str, shape: &str, arrays: &Metadata<'_>, wanted: &[String]) -> Diagnostic {
    let given: Vec<&str> = arrays.names().collect();
    let mut fault = Diagnostic::error(codes::MISSING_ARRAY, format!("array `{name}` {shape} is missing"));
    if given.is_empty() {
        fault = fault
            .help("give arrays with `--inputs FILE.npz`; where none is given, `wsp run` makes all up")
            .python(by_name(name));
    } else {
        fault = fault.note(format!("the arrays given are {}", given.join(", ")));
        // What another parameter takes is not misspelt.
        let misspelt = given.into_iter().filter(|other| wanted.iter().all(|name| name != other));
        fault = match did_you_mean(name, misspelt) {
            Some(near) => fault.help(format!("rename `{near}` to `{name}`")),
            None => fault
                .help(format!("add `{name}` to the inputs, or `--input {name}=FILE.npy`"))
                .python(by_name(name)),
        };
    }
    fault
}

/// How Python gives an array: names of the arrays of a cache have a dot, which no name of an argument has.
fn by_name(name: &str) -> String {
    match name.contains('.') {
        true => format!("give it by name, in a dictionary of the arrays: `\"{name}\": …`"),
        false => format!("give it by name: `{name}=…`"),
    }
}

pub(super) fn rank_one(name: &str, array: &ArrayFact<'_>) -> Result<(), Diagnostic> {
    if array.shape().len() == 1 {
        return Ok(());
    }
    Err(Diagnostic::error(
        codes::WRONG_RANK,
        format!("array `{name}` has {}, but must have 1", counted(array.shape().len(), "dimension")),
    )
    .note(format!("its shape is {:?}", array.shape()))
    .python(format!("give a list of integers, or an array of one dimension: `{name}.reshape(-1)`")))
}

pub(super) fn wrong_float(name: &str, found: DType) -> Diagnostic {
    Diagnostic::error(
        codes::WRONG_DTYPE,
        format!("array `{name}` holds {found}, but f32, f16, bf16 or an 8-bit float is needed"),
    )
    .help(format!(
        "convert it with `{name}.astype(numpy.float32)`, which holds whole numbers up to 2^24 exactly"
    ))
}

pub(super) fn too_large(name: &str, dim: usize, extent: u64) -> Diagnostic {
    Diagnostic::error(
        codes::TOO_LARGE,
        format!("dimension {dim} of `{name}` has {extent}", extent = counted(extent, "element")),
    )
    .note(format!("extents may not exceed {}", u32::MAX))
}
