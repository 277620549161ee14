//! Names of what emitted orchestration declares. Each has the number of what it names where names of a source may be the same.

use crate::kernels::{identifier, numbered};
use wsp_core::{AxisId, CacheId, FuncId, LocalId, ParamId, TensorId, TierSetId};
use wsp_ir::{DerivedArray, Function, MetaKind, Module};
use wsp_ordered::OrderedSet;
use wsp_plan::LoweredPlan;

/// Names of one program.
pub(super) struct Names {
    params: Vec<String>,
    tensors: Vec<String>,
    caches: Vec<String>,
    functions: Vec<String>,
    tiers: Vec<String>,
    axes: Vec<String>,
    locals: Vec<String>,
    derived: Vec<DerivedArray>,
}

pub(super) fn all<T>(prefix: &str, of: &[T], name: impl Fn(&T) -> &str) -> Vec<String> {
    let plain: Vec<String> = of.iter().map(|one| identifier(name(one))).collect();
    let all: OrderedSet<&String> = plain.iter().collect();
    let mut taken = OrderedSet::new();
    let mut one = |(at, text): (usize, &String)| {
        // One with a number behind it may be that of another, before or after it.
        let others = (at..).map(|number| format!("{text}_{number}")).filter(|other| !all.contains(other));
        let own = std::iter::once(text.clone()).chain(others).find(|own| taken.insert(own.clone()));
        format!("{prefix}_{}", own.as_ref().unwrap_or(text))
    };
    plain.iter().enumerate().map(&mut one).collect()
}

impl Names {
    pub(super) fn new(plan: &LoweredPlan) -> Names {
        let module: &Module = &plan.module;
        Names {
            params: all("param", &module.params, |of| &of.name),
            tensors: all("tensor", &module.tensors, |of| &of.name),
            caches: all("cache", &module.caches, |of| &of.name),
            functions: all("run", &module.functions, |of| &of.name),
            tiers: all("tier", &module.tier_sets, |of| &of.name),
            axes: all("axis", &module.axes, |of| &of.name),
            locals: Vec::new(),
            derived: plan.derived.clone(),
        }
    }

    /// With those of the variables of a function.
    pub(super) fn within(&self, function: &Function) -> Names {
        let local = |(at, of): (usize, &wsp_ir::Local)| numbered(&of.name, at);
        let locals = function.locals.iter().enumerate().map(local).collect();
        let Names { params, tensors, caches, functions, tiers, axes, derived, .. } = self;
        Names {
            params: params.clone(),
            tensors: tensors.clone(),
            caches: caches.clone(),
            functions: functions.clone(),
            tiers: tiers.clone(),
            axes: axes.clone(),
            derived: derived.clone(),
            locals,
        }
    }

    pub(super) fn param(&self, id: ParamId) -> &str {
        &self.params[id.index()]
    }

    pub(super) fn tensor(&self, id: TensorId) -> &str {
        &self.tensors[id.index()]
    }

    /// The contents of a tensor of integers.
    pub(super) fn integers(&self, id: TensorId) -> String {
        format!("integers_of_{}", self.tensors[id.index()])
    }

    pub(super) fn cache(&self, id: CacheId) -> &str {
        &self.caches[id.index()]
    }

    pub(super) fn function(&self, id: FuncId) -> &str {
        &self.functions[id.index()]
    }

    pub(super) fn tiers(&self, id: TierSetId) -> &str {
        &self.tiers[id.index()]
    }

    pub(super) fn axis(&self, id: AxisId) -> &str {
        &self.axes[id.index()]
    }

    pub(super) fn local(&self, id: LocalId) -> String {
        self.locals.get(id.index()).cloned().unwrap_or_else(|| format!("index_{}", id.0))
    }

    /// An array that follows from others.
    pub(super) fn derived(&self, of: &DerivedArray) -> String {
        let at = self.derived.iter().position(|known| known == of).unwrap_or(self.derived.len());
        format!("derived_{at}")
    }
}

/// The member of a page table.
pub(super) fn table(kind: MetaKind) -> &'static str {
    match kind {
        MetaKind::Lengths => "lengths",
        MetaKind::Indptr => "indptr",
        MetaKind::Indices => "indices",
        MetaKind::LastPageLen => "last_page_len",
    }
}
