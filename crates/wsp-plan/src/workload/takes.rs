//! Which tensors a workload takes and leaves.

use super::link::{named, written};
use super::live_ins::LiveIns;
use super::plan::{WorkloadLibrary, WorkloadPlan};
use super::tensor_set::TensorSet;
use crate::lower::{LoweredPlan, TensorUse};
use crate::{Array, Arrays, Needs};
use wsp_core::{DType, ParamId, TensorId};
use wsp_ir::workload::WorkloadModule;
use wsp_ir::{BindingSource, Dim, ExprKind, Module, ParamSource, Storage};
use wsp_ordered::OrderedSet;

/// Tensors of declared kernels by what tasks that read them find, by name. There are none where kernels are those of a used file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FirstReads {
    /// Tasks read them before any task writes them: a run depends on what they begin with.
    pub needed: OrderedSet<String>,
    /// Tasks write or read them under a condition, or write them in part: only a run tells.
    pub unsure: OrderedSet<String>,
}

impl WorkloadPlan {
    /// What tasks that read tensors of declared kernels find.
    pub fn first_reads(&self) -> FirstReads {
        if self.library.is_some() {
            return FirstReads::default();
        }
        let LiveIns { needed, unsure, .. } = LiveIns::of(&self.module);
        FirstReads { needed: names(&self.module, &needed), unsure: names(&self.module, &unsure) }
    }

    /// Names of the tensors that some task may write; none where kernels are those of a used file.
    pub fn written(&self) -> OrderedSet<String> {
        if self.library.is_some() { OrderedSet::new() } else { written(&mut self.module.clone()) }
    }

    /// Tensors of a used file that a run takes arrays for: those that kernels which tasks call load from or store to, those that are tables of
    /// the workload, and others that name an extent which these kernels or the workload need and no array that must be given has; none
    /// where kernels are declared.
    pub fn library_tensors(&self) -> Vec<TensorId> {
        let Some(WorkloadLibrary { plan, .. }) = &self.library else { return Vec::new() };
        let all = || (0..plan.module.tensors.len()).map(|i| TensorId(i as u32));
        let needs = self.needs(plan);
        let known: OrderedSet<ParamId> =
            all().filter(|&id| is_given(plan, id)).flat_map(|id| extents(plan, id)).collect();
        let gives_more = |id: TensorId| {
            let is_array = plan.module.tensors[id.index()].storage == Storage::Launch;
            let mut unknown = extents(plan, id).filter(|extent| !known.contains(extent));
            is_array && unknown.any(|extent| needs.params.contains(&extent))
        };
        let tables = &self.module.tables;
        let is_table =
            |id| array_of(&plan.module, id).is_some_and(|name| tables.iter().any(|t| t.name == name));
        all()
            .filter(|&id| {
                plan.tensors[id.index()].read
                    || plan.tensors[id.index()].written
                    || is_table(id)
                    || gives_more(id)
            })
            .collect()
    }

    /// Those of [`library_tensors`](Self::library_tensors) that begin with values which are given: those to which kernels that tasks call do
    /// not only store, without tables whose elements the workload states.
    pub fn library_inputs(&self) -> Vec<TensorId> {
        self.library_those(|used| used.read || !used.written)
    }

    /// Those of [`library_inputs`](Self::library_inputs) that must be given. Where tasks store to a tensor, only a run knows whether all
    /// that they load from it was stored before.
    pub fn library_needed(&self) -> Vec<TensorId> {
        self.library_those(|used| used.read && !used.written)
    }

    fn library_those(&self, wanted: impl Fn(TensorUse) -> bool) -> Vec<TensorId> {
        let Some(WorkloadLibrary { plan, .. }) = &self.library else { return Vec::new() };
        let stated = stated_tables(&self.module, &Arrays::new());
        let is_stated = |id| array_of(&plan.module, id).is_some_and(|name| stated.contains_key(name));
        let those = self.library_tensors().into_iter();
        those.filter(|id| wanted(plan.tensors[id.index()]) && !is_stated(*id)).collect()
    }

    /// Tensors of a used file that kernels which tasks call store to; none where kernels are declared.
    pub fn library_outputs(&self) -> Vec<TensorId> {
        let Some(WorkloadLibrary { plan, .. }) = &self.library else { return Vec::new() };
        let tensors = &plan.tensors;
        (0..tensors.len()).filter(|i| tensors[*i].written).map(|i| TensorId(i as u32)).collect()
    }

    /// Whether kernels that tasks call ask for the number of cores ([`CompileOptions::max_blocks`](crate::CompileOptions::max_blocks)).
    pub fn reads_max_blocks(&self) -> bool {
        self.library.as_ref().is_some_and(|of| of.plan.needs([]).max_blocks)
    }

    /// Tensors that the workload declares and its tasks access, and those of slots.
    pub fn accessed(&self) -> OrderedSet<TensorId> {
        let module = &self.module;
        named(module).tensors.into_iter().chain(module.slots.iter().map(|slot| slot.tensor)).collect()
    }

    /// What the kernels that tasks call depend on, and the parameters of the library whose values the workload takes.
    fn needs(&self, plan: &LoweredPlan) -> Needs {
        plan.needs(self.module.params.iter().filter_map(|p| plan.module.param_named(&p.name)))
    }
}

/// The tables whose elements the workload states and that are not given, as arrays: kernels of a used file may take them too.
pub fn stated_tables(module: &WorkloadModule, given: &Arrays) -> Arrays {
    let stated = module.tables.iter().filter(|table| !given.contains_key(&table.name));
    let array = |values: &[i64]| {
        let mut array = Array::zeros(DType::I64, &[values.len() as u64]).ok()?;
        array.as_slice_mut::<i64>()?.copy_from_slice(values);
        Some(array)
    };
    stated.filter_map(|table| Some((table.name.clone(), array(table.values.as_ref()?)?))).collect()
}

/// Names of tensors, but for those of slots, which begin with the values of their declarations.
fn names(module: &WorkloadModule, tensors: &TensorSet) -> OrderedSet<String> {
    let slot = |id: &TensorId| module.slot_of(*id).is_some();
    tensors.iter().filter(|id| !slot(id)).map(|id| module.tensors[id.index()].name.clone()).collect()
}

/// The array that a launch binds to a tensor.
fn array_of(module: &Module, id: TensorId) -> Option<&str> {
    let entry = module.entry.as_ref()?;
    let bound = entry.launch.bindings.iter().find(|bound| bound.source == BindingSource::Tensor(id))?;
    Some(&entry.params[bound.param as usize].name)
}

/// Whether each launch has an array for a tensor: kernels only load from it, or it is a cache.
fn is_given(plan: &LoweredPlan, id: TensorId) -> bool {
    let used = plan.tensors[id.index()];
    match plan.module.tensors[id.index()].storage {
        Storage::Launch => used.read && !used.written,
        Storage::CacheKeys(_) => true,
        _ => false,
    }
}

/// Extents that the shape of a tensor names and arrays give.
fn extents(plan: &LoweredPlan, id: TensorId) -> impl Iterator<Item = ParamId> {
    let named = plan.module.tensors[id.index()].dims.iter().filter_map(|dim| match dim {
        Dim::Expr(expr) => match expr.kind {
            ExprKind::Param(param) => Some(param),
            _ => None,
        },
        _ => None,
    });
    named.filter(|param| matches!(plan.module.params[param.index()].source, ParamSource::Shape { .. }))
}
