//! Diagnostics of a kernel that reads what no tile has, and what to write.

use super::codes;
use super::kernel::Fault;
use super::map::without_axis;
use super::tasks::{Facts, LayoutAnalyzer, Ways};
use wsp_core::TensorId;
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Function, dim_text};

impl LayoutAnalyzer {
    pub(super) fn diagnostic(
        &self,
        of: &dyn Facts,
        func: &Function,
        ways: &Ways,
        fault: Fault,
    ) -> Diagnostic {
        let kernel = kernel_label(func);
        match fault {
            Fault::Unlike { span, message, relayout, axis } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                match relayout {
                    Some(name) => self.relayout(fault, of, ways.tensor(name), axis),
                    None => fault.help("write `replicate` for one of the dimensions"),
                }
            }
            Fault::Unstored { span, message, relayout, axis, stored, dim } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                let fault = match relayout {
                    Some(name) => self.relayout(fault, of, ways.tensor(name), axis),
                    None => fault,
                };
                self.layout(fault, of, (ways.tensor(stored), dim), axis)
            }
            Fault::PendingTensor { span, tensor, axis } => {
                self.pending_read(of, ways.tensor(tensor), axis, (span, &kernel))
            }
            Fault::PendingTile { span, word, axis, split, contracted } => {
                let axis_word = axis.word();
                let message =
                    format!("`{word}` reads a pending sum: each tile along `{axis_word}` has a part of it");
                let fault = Diagnostic::error(codes::PENDING, message).at(span, kernel).label(
                    split,
                    format!("the sum goes along a dimension that is sharded over `{axis_word}`"),
                );
                match contracted {
                    Some(name) => self.relayout(fault, of, ways.tensor(name), axis),
                    None => fault.help("write `replicate` for that dimension"),
                }
            }
        }
    }

    /// A tensor whose parts of sums are read at a place.
    pub(super) fn pending_read(
        &self,
        of: &dyn Facts,
        tensor: TensorId,
        axis: MeshAxis,
        (span, label): (Span, &str),
    ) -> Diagnostic {
        let message = pending_message(of.name(tensor), axis);
        let fault = Diagnostic::error(codes::PENDING, message).at(span, label);
        let split = self.pending.get(tensor.index()).copied().flatten();
        let fault = match split.filter(|(pending, _)| pending.has(axis)) {
            Some((_, split)) => fault.label(split, "the sum is split here"),
            None => fault,
        };
        self.relayout(fault, of, tensor, axis)
    }

    /// What to write so that a tensor is stored where its parts are.
    fn layout(
        &self,
        fault: Diagnostic,
        of: &dyn Facts,
        (tensor, dim): (TensorId, Option<u8>),
        axis: MeshAxis,
    ) -> Diagnostic {
        let Some(dim) = dim.map(usize::from).filter(|dim| *dim < of.rank(tensor)) else { return fault };
        let mut dims = match self.map.stored(tensor) {
            Some(layout) => layout.dims.clone(),
            None => vec![LayoutDim::Replicate; of.rank(tensor)],
        };
        if std::mem::replace(&mut dims[dim], LayoutDim::Shard(axis)) != LayoutDim::Replicate {
            return fault;
        }
        let dims = dims.into_iter().map(dim_text).collect::<Vec<_>>().join(", ");
        let written = written("or", of.name(tensor), &dims, self.of_spaces);
        fault.help(written.replace("RELAYOUT", "LAYOUT").replace("relayout", "layout"))
    }

    /// What to write so that a tensor is read without an axis.
    pub(super) fn relayout(
        &self,
        fault: Diagnostic,
        of: &dyn Facts,
        tensor: TensorId,
        axis: MeshAxis,
    ) -> Diagnostic {
        let (name, rank) = (of.name(tensor), of.rank(tensor));
        let dims = match self.map.loaded(tensor) {
            Some(layout) => without_axis(layout, axis),
            None => vec!["replicate"; rank].join(", "),
        };
        let again = if self.map.has_relayout(tensor) { "change its relayout to" } else { "write" };
        fault
            .help(written(again, name, &dims, self.of_spaces))
            .python(format!("{again} `{}`", in_python(name, &dims)))
    }
}

/// Where something is.
pub(super) fn kernel_label(func: &Function) -> String {
    format!("in kernel `{}`", func.name)
}

/// Stores of a tensor that a relayout cannot add up together.
pub(super) fn unlike_stores(of: &dyn Facts, tensor: TensorId, at: Span, kernel: &str) -> Diagnostic {
    let name = of.name(tensor);
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
