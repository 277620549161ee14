//! Diagnostics of a kernel that reads what no tile has, and what to write.

use super::codes;
use super::kernel::Fault;
use super::map::without_axis;
use super::tasks::{Facts, LayoutAnalyzer, Ways};
use super::words::{in_python, kernel_label, pending_message, written};
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
