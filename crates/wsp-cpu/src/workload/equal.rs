//! Under `exact`: checks that the regions of a run are equal or disjoint, so that dependences between equal regions are all.

use super::codes;
use super::settings::RegionRule;
use wsp_core::Region;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::Module;
use wsp_ir::workload::WorkloadModule;
use wsp_runtime::infer::{Accesses, Conflict, MapError, Matching, RegionMap, TensorMap};

/// A tensor as the user knows it.
#[derive(Clone, Debug)]
pub(crate) struct NamedTensor {
    pub(crate) name: String,
    rank: usize,
    span: Span,
}

impl NamedTensor {
    /// The tensors that a workload declares.
    pub(crate) fn of_workload(module: &WorkloadModule) -> Vec<NamedTensor> {
        let named = module.tensors.iter();
        named.map(|t| NamedTensor { name: t.name.clone(), rank: t.dims.len(), span: t.span }).collect()
    }

    /// The tensors of a file of kernels.
    pub(crate) fn of_library(module: &Module) -> Vec<NamedTensor> {
        let named = module.tensors.iter();
        named.map(|t| NamedTensor { name: t.name.clone(), rank: t.dims.len(), span: t.span }).collect()
    }

    /// A region as it is written in a program.
    pub(crate) fn bounds(&self, region: &Region) -> String {
        let dims: Vec<String> =
            (0..self.rank).map(|d| format!("{}..{}", region.lo[d], region.hi[d])).collect();
        format!("{}[{}]", self.name, dims.join(", "))
    }
}

/// Looks at the regions of every task before it is submitted.
#[derive(Debug)]
pub(crate) struct EqualRegions {
    seen: Option<RegionMap<u32>>,
}

/// Why a task is not submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RegionFault {
    /// Two regions overlap and differ, which dependences between equal regions do not see.
    Missed(Conflict<u32>),
    /// The regions of the run cannot be kept for this check.
    Unchecked(MapError),
}

impl EqualRegions {
    /// A check, where regions must be checked.
    pub(crate) fn new(regions: RegionRule) -> EqualRegions {
        let checks = regions == RegionRule::EqualOrDisjoint;
        EqualRegions { seen: checks.then(|| RegionMap::growing(Matching::Equal)) }
    }

    /// Looks at the next task.
    pub(crate) fn check(
        &mut self,
        ordinal: u64,
        reads: &[Region],
        writes: &[Region],
    ) -> Result<(), RegionFault> {
        let Some(map) = &mut self.seen else { return Ok(()) };
        // A run has fewer than 2^31 tasks: the runtime takes no more.
        let infer = map.infer(ordinal as u32, Accesses::new(reads, writes), |_| true, |_, _| {});
        infer.map_err(RegionFault::Unchecked)?;
        map.conflicts().first().map_or(Ok(()), |&conflict| Err(RegionFault::Missed(conflict)))
    }
}

impl RegionFault {
    /// As the user sees it.
    pub(crate) fn diagnostic(self, tensors: &[NamedTensor]) -> Diagnostic {
        let conflict = match self {
            RegionFault::Missed(conflict) => conflict,
            RegionFault::Unchecked(reason) => return unchecked(&reason),
        };
        let tensor = &tensors[conflict.region.tensor.index()];
        let [other, this] = [&conflict.other_region, &conflict.region].map(|region| tensor.bounds(region));
        Diagnostic::error(codes::MISSED_HAZARD, format!("`{other}` and `{this}` overlap and are not equal"))
            .at(tensor.span, "of this tensor")
            .note(format!(
                "tasks {} and {}: `exact` dependences would not order them",
                conflict.other, conflict.task
            ))
            .help("write `task_graph(deps = overlap)`")
            .python("write `.task_graph(deps=Deps.infer_bytes_overlap())`")
    }
}

/// The regions of a run or a graph cannot be kept.
pub(crate) fn unchecked(reason: &MapError) -> Diagnostic {
    Diagnostic::error(codes::TOO_MANY_TASKS, reason.to_string())
        .help("set smaller parameters")
        .python("give smaller sizes")
}
