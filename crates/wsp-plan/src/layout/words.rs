//! What diagnostics of layouts say.

use super::codes;
use wsp_core::policy::MeshAxis;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::Function;

/// Where something is.
pub(super) fn kernel_label(func: &Function) -> String {
    format!("in kernel `{}`", func.name)
}

/// Stores of a tensor that a relayout cannot add up together.
pub(super) fn unlike_stores(name: &str, at: Span, kernel: &str) -> Diagnostic {
    let message = format!("stores leave `{name}` in parts over different axes, or in parts and whole");
    Diagnostic::error(codes::UNLIKE, message).at(at, format!("in kernel `{kernel}`")).help(
        "a relayout adds up all of a tensor: write `replicate` for the dimension that the sum goes along",
    )
}

/// The message of a tensor that is read before its sums are added up.
pub(super) fn pending_message(name: &str, axis: MeshAxis) -> String {
    format!("`{name}` holds pending sums: each tile along `{}` has a part of them", axis.word())
}

/// A relayout in the language of the schedule.
pub(super) fn written(again: &str, tensor: &str, dims: &str, of_spaces: bool) -> String {
    if of_spaces {
        let dims = dims.replace("replicate", "PTO_REPLICATE").replace("shard", "PTO_SHARD");
        return format!("{again} `PTO_RELAYOUT({tensor}, {dims})` in the schedule");
    }
    format!("{again} `relayout({tensor}, [{dims}]);` in the schedule")
}

/// A relayout in Python.
pub(super) fn in_python(tensor: &str, dims: &str) -> String {
    let dims: Vec<String> = dims
        .split(", ")
        .map(|dim| format!("\"{}\"", dim.trim_start_matches("shard(").trim_end_matches(')')))
        .collect();
    format!(".relayout(\"{tensor}\", [{}])", dims.join(", "))
}
