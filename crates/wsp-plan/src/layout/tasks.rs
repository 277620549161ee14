//! The tasks of a launch over layouts: each kernel for each way in which its tasks reach across tiles.

use super::AxisSet;
use super::faults::{Facts, Faults, kernel_label, unlike_stores};
use super::kernel::{Found, Left, Loaded, analyse};
use super::map::TileMap;
use super::ways::{Seen, Way, Ways};
use crate::{arrays_read, walk};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wsp_core::policy::MeshAxis;
use wsp_core::{FuncId, Region, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{ArrayRef, Function, Module};

/// Follows layouts and pending sums through the tasks of a launch, in elaboration order.
#[derive(Debug)]
pub struct LayoutAnalyzer {
    pub(super) map: Arc<TileMap>,
    /// The schedule is one of a `.pto` file.
    of_spaces: bool,
    /// Sums that tasks so far have left pending, by tensor, with what split them.
    pending: Vec<Option<(AxisSet, Span)>>,
    /// Where tensors were loaded first that no relayout moves.
    loaded: Vec<Option<(Span, String)>>,
    /// Values of parameters that indices and tiles of kernels may have, where they are known.
    params: Vec<Option<i128>>,
    /// What was found of each kernel, by the way in which it reaches its tensors.
    known: Vec<FxHashMap<Ways, Found>>,
    /// Tensors of each kernel, as they were asked for, with whether its numbers are read as those of an array.
    touched: Vec<Option<Vec<(TensorId, bool)>>>,
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
                .map_err(|fault| self.faults(of).of_kernel(func, &ways, fault))?;
            self.known[at].insert(ways.clone(), found);
        }
        let Found { loaded, left } = self.known[at].get(&ways).cloned().unwrap_or_default();
        for Loaded { tensor, span, is_own } in loaded {
            let tensor = ways.tensor(tensor);
            let pending = self.pending.get(tensor.index()).copied().flatten();
            let parts = pending.and_then(|(pending, _)| pending.axes().next());
            if let Some(axis) = parts.filter(|_| is_own) {
                let label = kernel_label(func);
                return Err(self.faults(of).stored_before(tensor, axis, (span, &label)));
            }
            // What a relayout brings is the sum of all parts; what a task has stored itself is not brought by it.
            if is_own || !self.map.has_relayout(tensor) {
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
            let fault = unlike_stores(of, tensor, at, &func.name);
            return Err(fault.note(format!("its layout says `pending({})`", axes.join(", "))));
        }
        let (pending, split) = *entry(&mut self.pending, tensor).get_or_insert((parts, at));
        if pending != parts {
            return Err(unlike_stores(of, tensor, at, &func.name).label(split, "the other way"));
        }
        // What a task before has loaded was whole on every tile, which is no part of a sum.
        let before = self.loaded.get(tensor.index()).cloned().flatten();
        match (parts.axes().next(), before) {
            (Some(axis), Some((span, label))) => {
                Err(self.faults(of).pending_read(tensor, axis, (span, &label)))
            }
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

    /// Diagnostics of what is known so far.
    pub(super) fn faults<'a>(&'a self, of: &'a dyn Facts) -> Faults<'a> {
        Faults { of, map: &self.map, pending: &self.pending, of_spaces: self.of_spaces }
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
                return Err(self.faults(of).pending_result(tensor, axis, *split));
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
