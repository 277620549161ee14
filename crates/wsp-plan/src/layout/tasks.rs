//! The tasks of a launch over layouts: each kernel for each way in which its tasks reach across tiles.

use super::kernel::{Fault, Left, Reached, Seen, analyse};
use super::map::{TileMap, without_axis};
use super::{AxisSet, codes};
use crate::walk;
use std::sync::Arc;
use wsp_core::policy::MeshAxis;
use wsp_core::{FuncId, Region, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Function, Module, Storage};

/// Follows layouts and pending sums through the tasks of a launch, in elaboration order.
#[derive(Debug)]
pub struct LayoutAnalyzer {
    map: Arc<TileMap>,
    /// The schedule is one of a `.pto` file.
    of_spaces: bool,
    /// Sums that tasks so far have left pending, by tensor, with what split them.
    pending: Vec<Option<(AxisSet, Span)>>,
    /// What was found of each kernel, by the way in which it reaches its tensors.
    known: Vec<Vec<(Ways, Vec<Left>)>>,
    /// Tensors of each kernel, as they were asked for.
    touched: Vec<Option<Vec<TensorId>>>,
}

/// How a task reaches each of the tensors of its kernel: where it loads and where it stores it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Ways(Vec<(TensorId, Option<Seen>, Option<Seen>)>);

impl Ways {
    fn of(&self, tensor: TensorId) -> Option<&(TensorId, Option<Seen>, Option<Seen>)> {
        self.0.iter().find(|(known, ..)| *known == tensor)
    }
}

impl Reached for Ways {
    fn loaded(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.1
    }

    fn stored(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.2
    }

    fn along(&self) -> AxisSet {
        let seen = self.0.iter().flat_map(|(_, loaded, stored)| [loaded, stored]).flatten();
        seen.fold(AxisSet::default(), |all, seen| all.with(seen.parts))
    }
}

impl LayoutAnalyzer {
    /// Of the tasks of a launch, under the schedule of a workload, or of a `.pto` file (`of_spaces`).
    pub fn new(map: Arc<TileMap>, of_spaces: bool) -> LayoutAnalyzer {
        LayoutAnalyzer { map, of_spaces, pending: Vec::new(), known: Vec::new(), touched: Vec::new() }
    }

    /// Takes the next task: what it loads is whole on its tile, and the sums that it leaves pending are known from here on.
    ///
    /// # Errors
    /// The operation of its kernel that reads what no tile has, or a load of pending sums.
    pub fn analyze(
        &mut self,
        module: &Module,
        kernel: FuncId,
        reads: &[Region],
        writes: &[Region],
    ) -> Result<(), Diagnostic> {
        let func = &module.functions[kernel.index()];
        let ways = self.ways(func, kernel, reads, writes);
        let at = kernel.index();
        if self.known.len() <= at {
            self.known.resize_with(at + 1, Vec::new);
        }
        let place = match self.known[at].iter().position(|(known, _)| *known == ways) {
            Some(place) => place,
            None => {
                let left = analyse(func, &ways).map_err(|fault| self.diagnostic(module, func, fault))?;
                self.known[at].push((ways, left));
                self.known[at].len() - 1
            }
        };
        for left in self.known[at][place].1.clone() {
            let known = entry(&mut self.pending, left.tensor);
            match known {
                Some((pending, split)) if *pending != left.pending && self.map.has_relayout(left.tensor) => {
                    let name = &module.tensors[left.tensor.index()].name;
                    let message =
                        format!("stores leave `{name}` in parts over different axes, or in parts and whole");
                    return Err(Diagnostic::error(codes::UNLIKE, message)
                        .at(left.split, format!("in kernel `{}`", func.name))
                        .label(*split, "the other way")
                        .help("a relayout adds up all of a tensor: write `replicate` for the dimension that the sum goes along"));
                }
                Some((pending, _)) if !pending.is_empty() => *pending = pending.with(left.pending),
                _ => *known = Some((left.pending, left.split)),
            }
        }
        Ok(())
    }

    /// How a task reaches the tensors of its kernel.
    fn ways(&mut self, func: &Function, kernel: FuncId, reads: &[Region], writes: &[Region]) -> Ways {
        let at = kernel.index();
        if self.touched.len() <= at {
            self.touched.resize(at + 1, None);
        }
        let tensors = self.touched[at].get_or_insert_with(|| {
            let mut found = Vec::new();
            walk::tensors(&func.body, &mut |tensor, _| {
                if !found.contains(&tensor) {
                    found.push(tensor);
                }
            });
            found
        });
        let (map, pending) = (&self.map, &self.pending);
        let way = |tensor: &TensorId| {
            let held = map.held(*tensor);
            let mut loaded = held.map(|held| map.seen(held.read(), reads, *tensor));
            let sums = if map.has_relayout(*tensor) {
                AxisSet::default()
            } else {
                let said = held.map(|held| held.stored.pending).unwrap_or_default();
                said.with(
                    pending
                        .get(tensor.index())
                        .copied()
                        .flatten()
                        .map(|(pending, _)| pending)
                        .unwrap_or_default(),
                )
            };
            if !sums.is_empty() {
                loaded.get_or_insert_with(Seen::default).pending = sums;
            }
            let stated = held.filter(|held| held.is_stated);
            (*tensor, loaded, stated.map(|held| map.seen(&held.stored, writes, *tensor)))
        };
        Ways(tensors.iter().map(way).collect())
    }

    /// The sums that all tasks together have left pending, by tensor.
    ///
    /// # Errors
    /// One of them is a result of the launch, which its caller reads.
    pub fn finish(&self, module: &Module) -> Result<Vec<AxisSet>, Diagnostic> {
        let stored = self.pending.iter().enumerate();
        for (at, (pending, split)) in stored.filter_map(|(at, stored)| Some((at, stored.as_ref()?))) {
            let tensor = &module.tensors[at];
            let is_read = tensor.storage == Storage::Launch && !self.map.has_relayout(TensorId(at as u32));
            if let Some(axis) = pending.axes().next().filter(|_| is_read) {
                let fault = Diagnostic::error(codes::PENDING, pending_message(&tensor.name, axis))
                    .at(*split, "the sum is split here")
                    .label(tensor.span, "the tensor is a result of the launch");
                return Err(self.relayout(fault, module, TensorId(at as u32), axis));
            }
        }
        Ok(self
            .pending
            .iter()
            .map(|stored| stored.map_or(AxisSet::default(), |(pending, _)| pending))
            .collect())
    }

    fn diagnostic(&self, module: &Module, func: &Function, fault: Fault) -> Diagnostic {
        let kernel = format!("in kernel `{}`", func.name);
        match fault {
            Fault::Unlike { span, message, relayout, axis } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                match relayout {
                    Some(tensor) => self.relayout(fault, module, tensor, axis),
                    None => fault.help("write `replicate` for one of the dimensions"),
                }
            }
            Fault::PendingTensor { span, tensor, axis } => {
                let name = &module.tensors[tensor.index()].name;
                let fault = Diagnostic::error(codes::PENDING, pending_message(name, axis)).at(span, kernel);
                let split = self.pending.get(tensor.index()).copied().flatten();
                let split = split.filter(|(pending, _)| pending.has(axis));
                let fault = match split {
                    Some((_, split)) => fault.label(split, "the sum is split here"),
                    None => fault,
                };
                self.relayout(fault, module, tensor, axis)
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
                    Some(tensor) => self.relayout(fault, module, tensor, axis),
                    None => fault.help("write `replicate` for that dimension"),
                }
            }
        }
    }

    /// What to write so that a tensor is read without an axis.
    fn relayout(&self, fault: Diagnostic, module: &Module, tensor: TensorId, axis: MeshAxis) -> Diagnostic {
        let declared = &module.tensors[tensor.index()];
        let dims = match self.map.loaded(tensor) {
            Some(layout) => without_axis(layout, axis),
            None => vec!["replicate"; declared.rank()].join(", "),
        };
        let again = if self.map.has_relayout(tensor) { "change its relayout to" } else { "write" };
        fault
            .help(written(again, &declared.name, &dims, self.of_spaces))
            .python(format!("{again} `{}`", in_python(&declared.name, &dims)))
    }
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

fn entry(all: &mut Vec<Option<(AxisSet, Span)>>, tensor: TensorId) -> &mut Option<(AxisSet, Span)> {
    if all.len() <= tensor.index() {
        all.resize(tensor.index() + 1, None);
    }
    &mut all[tensor.index()]
}
