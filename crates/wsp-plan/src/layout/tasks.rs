//! The tasks of a launch over layouts: each kernel for each way in which its tasks reach across tiles.

use super::kernel::{Found, Left, Reached, Seen, analyse};
use super::map::TileMap;
use super::words::{kernel_label, pending_message, unlike_stores};
use super::{AxisSet, codes};
use crate::{arrays_read, walk};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wsp_core::policy::MeshAxis;
use wsp_core::{FuncId, Region, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{ArrayRef, Function, Module, Storage};

/// Follows layouts and pending sums through the tasks of a launch, in elaboration order.
#[derive(Debug)]
pub struct LayoutAnalyzer {
    pub(super) map: Arc<TileMap>,
    /// The schedule is one of a `.pto` file.
    pub(super) of_spaces: bool,
    /// Sums that tasks so far have left pending, by tensor, with what split them.
    pub(super) pending: Vec<Option<(AxisSet, Span)>>,
    /// Where tensors were loaded first that no relayout moves.
    loaded: Vec<Option<(Span, String)>>,
    /// Values of parameters that indices and tiles of kernels may have, where they are known.
    params: Vec<Option<i128>>,
    /// What was found of each kernel, by the way in which it reaches its tensors.
    known: Vec<FxHashMap<Ways, Found>>,
    /// Tensors of each kernel, as they were asked for, with whether its numbers are read as those of an array.
    touched: Vec<Option<Vec<(TensorId, bool)>>>,
}

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

/// How a task reaches each of the tensors of its kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Ways(pub(super) Vec<Way>);

/// Where a task loads and where it stores a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Way {
    /// Its name in the kernel: a view of it may have another.
    pub(super) name: TensorId,
    pub(super) tensor: TensorId,
    pub(super) loaded: Option<Seen>,
    pub(super) stored: Option<Seen>,
}

impl Ways {
    fn of(&self, name: TensorId) -> Option<&Way> {
        self.0.iter().find(|way| way.name == name)
    }

    /// The tensor that a name of the kernel stands for.
    pub(super) fn tensor(&self, name: TensorId) -> TensorId {
        self.of(name).map_or(name, |way| way.tensor)
    }
}

impl Ways {
    /// Counts dimensions along each axis from the first part of all that is reached: tasks that reach later parts in the same way are alike.
    pub(super) fn count_from_first_part(&mut self) {
        for axis in super::AXES {
            let mut reached: Vec<(&mut u32, &mut u32, u32)> = Vec::new();
            for seen in self.0.iter_mut().flat_map(|way| [&mut way.loaded, &mut way.stored]).flatten() {
                let dims = seen.dims.iter().zip(&seen.part).zip(seen.first.iter_mut().zip(&mut seen.end));
                let over = dims.filter(|((dim, _), _)| dim.axis() == Some(axis));
                reached.extend(over.map(|((_, part), (first, end))| (first, end, *part)));
            }
            let Some(first) = reached.iter().map(|(first, ..)| **first).min() else { continue };
            let Some(parts) = reached.iter().try_fold(1u32, |all, (.., part)| least_multiple(all, *part))
            else {
                continue;
            };
            let before = first - first % parts;
            for (first, end, _) in reached {
                (*first, *end) = (*first - before, *end - before);
            }
        }
    }
}

/// The least common multiple, of numbers from 1 on; none above 32 bits.
fn least_multiple(a: u32, b: u32) -> Option<u32> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

impl Reached for Ways {
    fn loaded(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.loaded
    }

    fn stored(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.stored
    }

    fn along(&self) -> AxisSet {
        let seen = || self.0.iter().flat_map(|way| [way.loaded, way.stored]).flatten();
        let parts = seen().fold(AxisSet::default(), |all, seen| all.with(seen.parts));
        parts.without(seen().fold(AxisSet::default(), |all, seen| all.with(seen.axes())))
    }

    fn same(&self, a: TensorId, b: TensorId) -> bool {
        self.tensor(a) == self.tensor(b)
    }
}

impl LayoutAnalyzer {
    /// Of the tasks of a launch, under the schedule of a workload, or of a `.pto` file (`of_spaces`).
    pub fn new(map: Arc<TileMap>, of_spaces: bool) -> LayoutAnalyzer {
        LayoutAnalyzer {
            map,
            of_spaces,
            pending: Vec::new(),
            loaded: Vec::new(),
            params: Vec::new(),
            known: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Of a launch whose parameters have these values; none of what is no integer.
    #[must_use]
    pub fn with_params(self, params: Vec<Option<i128>>) -> LayoutAnalyzer {
        LayoutAnalyzer { params, ..self }
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
        let ways = self.ways(module, kernel, reads, writes);
        self.follow(module, kernel.index(), (module, func), ways)
    }

    /// Takes a task of the kernel with this number, which reaches its tensors in these ways.
    pub(super) fn follow(
        &mut self,
        of: &dyn Facts,
        at: usize,
        (module, func): (&Module, &Function),
        ways: Ways,
    ) -> Result<(), Diagnostic> {
        if self.known.len() <= at {
            self.known.resize_with(at + 1, FxHashMap::default);
        }
        if !self.known[at].contains_key(&ways) {
            let found = analyse(module, func, &ways, &self.params)
                .map_err(|fault| self.diagnostic(of, func, &ways, fault))?;
            self.known[at].insert(ways.clone(), found);
        }
        let Found { loaded, left } = self.known[at].get(&ways).cloned().unwrap_or_default();
        for (tensor, span) in loaded {
            let tensor = ways.tensor(tensor);
            if !self.map.has_relayout(tensor) {
                entry(&mut self.loaded, tensor).get_or_insert((span, kernel_label(func)));
            }
        }
        left.iter().try_for_each(|left| self.leave(of, func, ways.tensor(left.tensor), left))
    }

    /// Takes a store of a tensor, which leaves parts of sums, or none.
    fn leave(
        &mut self,
        of: &dyn Facts,
        func: &Function,
        tensor: TensorId,
        left: &Left,
    ) -> Result<(), Diagnostic> {
        let Left { pending: parts, split: at, .. } = *left;
        let said = self.map.stored(tensor).map(|stored| stored.pending).filter(|said| !said.is_empty());
        if let Some(said) = said.filter(|said| *said != parts) {
            let axes: Vec<&str> = said.axes().map(MeshAxis::word).collect();
            let fault = unlike_stores(of.name(tensor), at, &func.name);
            return Err(fault.note(format!("its layout says `pending({})`", axes.join(", "))));
        }
        let (pending, split) = *entry(&mut self.pending, tensor).get_or_insert((parts, at));
        if pending != parts {
            return Err(unlike_stores(of.name(tensor), at, &func.name).label(split, "the other way"));
        }
        // What a task before has loaded was whole on every tile, which is no part of a sum.
        let before = self.loaded.get(tensor.index()).cloned().flatten();
        match (parts.axes().next(), before) {
            (Some(axis), Some((span, label))) => Err(self.pending_read(of, tensor, axis, (span, &label))),
            _ => Ok(()),
        }
    }

    /// How a task reaches the tensors of its kernel.
    fn ways(&mut self, module: &Module, kernel: FuncId, reads: &[Region], writes: &[Region]) -> Ways {
        let at = kernel.index();
        if self.touched.len() <= at {
            self.touched.resize(at + 1, None);
        }
        let tensors = self.touched[at].get_or_insert_with(|| {
            let mut found = Vec::new();
            let mut add = |tensor, is_array| {
                if !found.iter().any(|(known, _)| *known == tensor) {
                    found.push((tensor, is_array));
                }
            };
            walk::tensors(&module.functions[at].body, &mut |tensor, _| add(tensor, false));
            for array in arrays_read(module, kernel) {
                if let ArrayRef::Tensor(tensor) = array {
                    add(tensor, true);
                }
            }
            found
        });
        let tensors = tensors.clone();
        let way = |(tensor, is_array): &(TensorId, bool)| {
            // Of an array it is not known which elements a task reads.
            let all = self.map.all_of(*tensor).filter(|_| *is_array);
            let reads = all.as_ref().map_or(reads, std::slice::from_ref);
            self.way((*tensor, *tensor), reads, writes)
        };
        Ways(tensors.iter().map(way).collect())
    }

    /// How a task reaches a tensor that has a name in its kernel.
    pub(super) fn way(
        &self,
        (name, tensor): (TensorId, TensorId),
        reads: &[Region],
        writes: &[Region],
    ) -> Way {
        let held = self.map.held(tensor);
        let mut loaded = self.map.loaded_by(tensor, reads);
        let sums = self.sums(tensor);
        if !sums.is_empty() {
            loaded.get_or_insert_with(Seen::default).pending = sums;
        }
        let stated = held.filter(|held| held.is_stated);
        let stored = stated.map(|held| self.map.seen(&held.stored, writes, tensor));
        Way { name, tensor, loaded, stored }
    }

    /// The axes over which a tensor that is loaded has parts of sums.
    pub(super) fn sums(&self, tensor: TensorId) -> AxisSet {
        if self.map.has_relayout(tensor) {
            return AxisSet::default();
        }
        let said = self.map.held(tensor).map(|held| held.stored.pending).unwrap_or_default();
        let left = self.pending.get(tensor.index()).copied().flatten();
        left.map_or(said, |(left, _)| said.with(left))
    }

    /// The sums that all tasks together have left pending, by tensor.
    ///
    /// # Errors
    /// One of them is a result of the launch, which its caller reads.
    pub fn finish(&self, of: &dyn Facts) -> Result<Vec<AxisSet>, Diagnostic> {
        let stored = self.pending.iter().enumerate();
        for (at, (pending, split)) in stored.filter_map(|(at, stored)| Some((at, stored.as_ref()?))) {
            let tensor = TensorId(at as u32);
            let is_read = of.is_result(tensor) && !self.map.has_relayout(tensor);
            if let Some(axis) = pending.axes().next().filter(|_| is_read) {
                let fault = Diagnostic::error(codes::PENDING, pending_message(of.name(tensor), axis))
                    .at(*split, "the sum is split here")
                    .label(of.span(tensor), "the tensor is a result of the launch");
                return Err(self.relayout(fault, of, tensor, axis));
            }
        }
        Ok(self
            .pending
            .iter()
            .map(|stored| stored.map_or(AxisSet::default(), |(pending, _)| pending))
            .collect())
    }
}

fn entry<T: Clone>(all: &mut Vec<Option<T>>, tensor: TensorId) -> &mut Option<T> {
    if all.len() <= tensor.index() {
        all.resize(tensor.index() + 1, None);
    }
    &mut all[tensor.index()]
}
