//! Diagnostics of a kernel that reads what no tile has, and what to write.

use super::kernel::Fault;
use super::map::{TileMap, without_axis};
use super::ways::Ways;
use super::{AxisSet, codes};
use crate::walk;
use wsp_core::TensorId;
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Function, Module, Storage, dim_text};

/// What diagnostics say of tensors.
pub trait Facts {
    /// Its name.
    fn name(&self, tensor: TensorId) -> &str;

    /// Its dimensions.
    fn rank(&self, tensor: TensorId) -> usize;

    /// Where it is declared.
    fn span(&self, tensor: TensorId) -> Span;

    /// Whether the caller of a run reads it.
    fn is_result(&self, tensor: TensorId) -> bool;
}

impl Facts for Module {
    fn name(&self, tensor: TensorId) -> &str {
        &self.tensors[tensor.index()].name
    }

    fn rank(&self, tensor: TensorId) -> usize {
        self.tensors[tensor.index()].rank()
    }

    fn span(&self, tensor: TensorId) -> Span {
        self.tensors[tensor.index()].span
    }

    fn is_result(&self, tensor: TensorId) -> bool {
        self.tensors[tensor.index()].storage == Storage::Launch
    }
}

/// Diagnostics of the tasks of a launch.
pub(super) struct Faults<'a> {
    pub(super) of: &'a dyn Facts,
    pub(super) map: &'a TileMap,
    /// Sums that tasks so far have left pending, by tensor, with what split them.
    pub(super) pending: &'a [Option<(AxisSet, Span)>],
    /// The schedule is one of a `.pto` file.
    pub(super) of_spaces: bool,
}

impl Faults<'_> {
    /// Of what a kernel reads.
    pub(super) fn of_kernel(&self, func: &Function, ways: &Ways, fault: Fault) -> Diagnostic {
        let kernel = kernel_label(func);
        match fault {
            Fault::Unlike { span, message, relayout, axis } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                match relayout {
                    // No relayout comes between what a task stores and what it loads itself.
                    Some(name) if stores(func, name) => self.in_place(fault, ways.tensor(name), axis),
                    Some(name) => self.relayout(fault, ways.tensor(name), axis),
                    None => fault.help("write `replicate` for one of the dimensions"),
                }
            }
            Fault::Unstored { span, message, relayout, axis, stored, dim } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                let fault = match relayout {
                    Some(name) => self.relayout(fault, ways.tensor(name), axis),
                    None => fault,
                };
                self.layout(fault, (ways.tensor(stored), dim), axis)
            }
            Fault::StoredBefore { span, tensor, axis } => {
                self.stored_before(ways.tensor(tensor), axis, (span, &kernel))
            }
            Fault::PendingTensor { span, tensor, axis } => {
                self.pending_read(ways.tensor(tensor), axis, (span, &kernel))
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
                    Some(name) => self.relayout(fault, ways.tensor(name), axis),
                    None => fault.help("write `replicate` for that dimension"),
                }
            }
        }
    }

    /// A tensor whose parts of sums are read at a place.
    pub(super) fn pending_read(
        &self,
        tensor: TensorId,
        axis: MeshAxis,
        (span, label): (Span, &str),
    ) -> Diagnostic {
        let message = pending_message(self.of.name(tensor), axis);
        let fault = Diagnostic::error(codes::PENDING, message).at(span, label);
        let split = self.pending.get(tensor.index()).copied().flatten();
        let fault = match split.filter(|(pending, _)| pending.has(axis)) {
            Some((_, split)) => fault.label(split, "the sum is split here"),
            None => fault,
        };
        self.relayout(fault, tensor, axis)
    }

    /// A tensor that a task loads and has stored in another layout.
    pub(super) fn stored_before(
        &self,
        tensor: TensorId,
        axis: MeshAxis,
        (span, label): (Span, &str),
    ) -> Diagnostic {
        let name = self.of.name(tensor);
        let message = format!("the task loads `{name}`, which it has stored itself before a relayout");
        self.in_place(Diagnostic::error(codes::UNLIKE, message).at(span, label), tensor, axis)
    }

    /// What to write so that a task that stores a tensor loads it.
    fn in_place(&self, fault: Diagnostic, tensor: TensorId, axis: MeshAxis) -> Diagnostic {
        let name = self.of.name(tensor);
        let dims = match self.map.loaded(tensor) {
            Some(layout) => without_axis(layout, axis),
            None => vec!["replicate"; self.of.rank(tensor)].join(", "),
        };
        let other = "let the task store to another tensor, or, without a relayout, write";
        fault
            .help(written(other, Word::Layout, name, &dims, self.of_spaces))
            .python(format!("{other} `{}`", in_python(Word::Layout, name, &dims)))
    }

    /// What to write so that a tensor is stored where its parts are.
    fn layout(&self, fault: Diagnostic, (tensor, dim): (TensorId, Option<u8>), axis: MeshAxis) -> Diagnostic {
        let Some(dim) = dim.map(usize::from).filter(|dim| *dim < self.of.rank(tensor)) else { return fault };
        let mut dims = match self.map.stored(tensor) {
            Some(layout) => layout.dims.clone(),
            None => vec![LayoutDim::Replicate; self.of.rank(tensor)],
        };
        if std::mem::replace(&mut dims[dim], LayoutDim::Shard(axis)) != LayoutDim::Replicate {
            return fault;
        }
        let dims = dims.into_iter().map(dim_text).collect::<Vec<_>>().join(", ");
        let name = self.of.name(tensor);
        fault
            .help(written("or", Word::Layout, name, &dims, self.of_spaces))
            .python(format!("or `{}`", in_python(Word::Layout, name, &dims)))
    }

    /// What to write so that a tensor is read without an axis.
    fn relayout(&self, fault: Diagnostic, tensor: TensorId, axis: MeshAxis) -> Diagnostic {
        let (name, rank) = (self.of.name(tensor), self.of.rank(tensor));
        let dims = match self.map.loaded(tensor) {
            Some(layout) => without_axis(layout, axis),
            None => vec!["replicate"; rank].join(", "),
        };
        let again = if self.map.has_relayout(tensor) { "change its relayout to" } else { "write" };
        fault
            .help(written(again, Word::Relayout, name, &dims, self.of_spaces))
            .python(format!("{again} `{}`", in_python(Word::Relayout, name, &dims)))
    }

    /// A result of the launch that has parts of sums.
    pub(super) fn pending_result(&self, tensor: TensorId, axis: MeshAxis, split: Span) -> Diagnostic {
        let fault = Diagnostic::error(codes::PENDING, pending_message(self.of.name(tensor), axis))
            .at(split, "the sum is split here")
            .label(self.of.span(tensor), "the tensor is a result of the launch");
        self.relayout(fault, tensor, axis)
    }
}

/// Whether a kernel stores to a tensor.
fn stores(func: &Function, tensor: TensorId) -> bool {
    let mut stores = false;
    walk::tensors(&func.body, &mut |of, is_stored| stores |= is_stored && of == tensor);
    stores
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
        "a relayout adds up all of a tensor: write `replicate` for the dimension that the sum goes along, or store whole values to another tensor",
    )
}

/// The message of a tensor that is read before its sums are added up.
pub(super) fn pending_message(name: &str, axis: MeshAxis) -> String {
    format!("`{name}` holds pending sums: each tile along `{}` has a part of them", axis.word())
}

/// What a schedule says of a tensor.
#[derive(Clone, Copy)]
pub(super) enum Word {
    Layout,
    Relayout,
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Word::Layout => "layout",
            Word::Relayout => "relayout",
        }
    }
}

/// A layout or relayout in the language of the schedule.
pub(super) fn written(again: &str, word: Word, tensor: &str, dims: &str, of_spaces: bool) -> String {
    let word = word.text();
    if of_spaces {
        let dims = dims.replace("replicate", "PTO_REPLICATE").replace("shard", "PTO_SHARD");
        return format!("{again} `PTO_{}({tensor}, {dims})` in the schedule", word.to_uppercase());
    }
    format!("{again} `{word}({tensor}, [{dims}]);` in the schedule")
}

/// A layout or relayout in Python.
pub(super) fn in_python(word: Word, tensor: &str, dims: &str) -> String {
    let dims: Vec<String> = dims
        .split(", ")
        .map(|dim| format!("\"{}\"", dim.trim_start_matches("shard(").trim_end_matches(')')))
        .collect();
    format!(".{}(\"{tensor}\", [{}])", word.text(), dims.join(", "))
}
