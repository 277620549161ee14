//! The sizing run: the generator once, without tasks, so that every size is known and every fault of the plan is
//! reported before anything runs.

use crate::bind::BoundDim;
use crate::codes;
use crate::extents::Extents;
use crate::host::Sink;
use crate::kernels::{Evaluator, KernelTable};
use crate::planner::Planner;
use crate::sizes::{PlannedDescriptor, Sizes};
use std::sync::Arc;
use wsp_core::words::counted;
use wsp_core::{AxisId, KernelId, StructId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Dim, Storage};
use wsp_kernel::{Hints, Trap};
use wsp_plan::LoweredPlan;
use wsp_plan::layout::LayoutAnalyzer;

/// Counts instead of submitting.
pub(crate) struct SizingSink<'p> {
    sizes: Sizes,
    /// The extents of ragged temporaries are those that the kernels' stores reach.
    kernels: &'p KernelTable,
    ragged: bool,
    evaluator: Evaluator,
    /// What bounds the inputs of descriptors that are kept.
    extents: Option<Extents<'p>>,
    /// What tasks make of layouts, if the schedule has a grid, and the first that reads what no tile has.
    layouts: Option<LayoutAnalyzer>,
    unlike: Option<Diagnostic>,
}

impl<'p> SizingSink<'p> {
    pub(crate) fn new(planner: &Planner<'p>, kernels: &'p KernelTable, keep: bool) -> SizingSink<'p> {
        let module = &planner.plan.module;
        let ragged: Vec<Option<Vec<u32>>> = module
            .tensors
            .iter()
            .enumerate()
            .map(|(i, t)| {
                (t.storage == Storage::Temporary && is_ragged(planner.plan, &t.dims))
                    .then(|| vec![0; outer(planner, i)])
            })
            .collect();
        let sizes = Sizes {
            descriptors: vec![0; module.structs.len()],
            ragged,
            axis_iterations: vec![0; module.axes.len()],
            ..Sizes::default()
        };
        let ragged = sizes.ragged.iter().any(Option::is_some);
        let extents = keep.then(|| Extents::new(planner.plan, planner.bound, None));
        let tiles = kernels.tiles.as_ref();
        // A file that is used by a workload has no stages.
        let layouts = tiles.map(|map| {
            let params = planner.env.params.iter().map(|value| value.as_int()).collect();
            LayoutAnalyzer::new(Arc::clone(&map.map), !planner.plan.stages.is_empty()).with_params(params)
        });
        let evaluator = Evaluator::default();
        SizingSink { sizes, extents, kernels, ragged, evaluator, layouts, unlike: None }
    }

    /// What was found, when all generators have run.
    ///
    /// # Errors
    /// A task that reads what no tile has; an axis without a tile.
    pub(crate) fn finish(mut self, planner: &mut Planner<'_>) -> Result<Sizes, Diagnostic> {
        if let Some(fault) = self.unlike.take() {
            return Err(fault);
        }
        let plan = planner.plan;
        if let (Some(layouts), Some(tiles)) = (&self.layouts, &self.kernels.tiles) {
            tiles.leave_pending(layouts.finish(&plan.module)?);
        }
        for axis in 0..plan.module.axes.len() {
            let id = AxisId(axis as u32);
            if let Some(extent) = planner.env.axis_extents[axis] {
                let tile = match plan.module.axes[axis].tile {
                    Some(_) => planner.axis_tile(id)?,
                    None => 1,
                };
                self.sizes.axis_iterations[axis] = extent.div_ceil(tile);
            }
        }
        self.sizes.workspace_bytes = planner.workspace.bytes();
        self.sizes.workspace_slots = planner.workspace.slots();
        self.sizes.tiles = planner.tiles.clone();
        self.sizes.changed_tiles = planner.changed_tiles.clone();
        Ok(self.sizes)
    }

    /// A descriptor for the list, if there is one.
    fn describe(
        &mut self,
        planner: &Planner<'_>,
        kernel: KernelId,
        descriptor: StructId,
        words: &[u32],
    ) -> Option<PlannedDescriptor> {
        let extents = self.extents.as_ref()?;
        let kernel = self.kernels.get(kernel);
        let cost = kernel.cost(&mut self.evaluator, planner.env, extents, words);
        let (stage, words, kernel) = (planner.stage(), words.to_vec(), kernel.name.clone());
        Some(PlannedDescriptor { stage, descriptor, words, kernel, cost })
    }

    /// Counts one task.
    pub(crate) fn count(
        &mut self,
        planner: &Planner<'_>,
        kernel: KernelId,
        descriptor: StructId,
        fields: &[u32],
    ) -> Result<(), Trap> {
        self.sizes.descriptors[descriptor.index()] += 1;
        if self.sizes.total() > u64::from(limits::MAX_DESCRIPTORS) {
            return Err(Trap::new(
                codes::TOO_MANY_TASKS,
                format!("more than {} are generated", counted(limits::MAX_DESCRIPTORS, "descriptor")),
                Span::default(),
            )
            .note("use larger tiles"));
        }
        if self.ragged {
            self.grow(planner, kernel, fields)?;
        }
        self.follow(planner, kernel, fields);
        let planned = self.describe(planner, kernel, descriptor, fields);
        self.sizes.list.extend(planned);
        Ok(())
    }

    /// Follows layouts through a task.
    fn follow(&mut self, planner: &Planner<'_>, kernel: KernelId, words: &[u32]) {
        let Some(layouts) = &mut self.layouts else { return };
        let of = self.kernels.get(kernel);
        let touched = of.touched(&mut self.evaluator, planner.env, words);
        let reads = self.kernels.reads(kernel, &touched, &mut self.evaluator, planner.env, words);
        // Tiles count what they would have.
        self.kernels.tile(
            (kernel, self.sizes.total() - 1),
            &touched,
            &mut self.evaluator,
            planner.env,
            words,
        );
        let found = layouts.analyze(&planner.plan.module, of.func, &reads, &touched.writes);
        if let Err(fault) = found {
            (self.unlike, self.layouts) = (Some(fault), None);
        }
    }

    /// Widens ragged temporaries to what a task stores.
    fn grow(&mut self, planner: &Planner<'_>, kernel: KernelId, words: &[u32]) -> Result<(), Trap> {
        for region in self.kernels.get(kernel).touched(&mut self.evaluator, planner.env, words).writes {
            let Some(extents) = &mut self.sizes.ragged[region.tensor.index()] else { continue };
            if region.hi[1] == u32::MAX {
                let tensor = &planner.plan.module.tensors[region.tensor.index()];
                return Err(Trap::new(
                    codes::NO_EXTENT,
                    format!(
                        "the stores to `{}` are not bounded by descriptor fields, so it cannot be sized",
                        tensor.name
                    ),
                    tensor.span,
                )
                .note("index its ragged dimension with a descriptor field"));
            }
            let end = (region.hi[0] as usize).min(extents.len());
            for extent in &mut extents[(region.lo[0] as usize).min(end)..end] {
                *extent = (*extent).max(region.hi[1]);
            }
        }
        Ok(())
    }
}

/// Whether dimension 1 is a dynamic axis.
fn is_ragged(plan: &LoweredPlan, dims: &[Dim]) -> bool {
    matches!(dims.get(1), Some(Dim::Axis(axis)) if matches!(plan.module.axes[axis.index()].end, wsp_ir::AxisEnd::Dynamic))
}

/// Extent of dimension 0 of a ragged temporary.
fn outer(planner: &Planner<'_>, tensor: usize) -> usize {
    match planner.bound.tensors[tensor].dims.first() {
        Some(BoundDim::Fixed(n)) => *n as usize,
        Some(BoundDim::Axis(axis)) => planner.env.axis_extents[axis.index()].unwrap_or(0) as usize,
        _ => 0,
    }
}

impl Sink for SizingSink<'_> {
    fn emit(
        &mut self,
        planner: &Planner<'_>,
        descriptor: StructId,
        fields: &[u32],
        _: Hints<'_>,
    ) -> Result<(), Trap> {
        let kernel = self.kernels.consumer(planner.plan, descriptor, fields)?;
        self.count(planner, kernel, descriptor, fields)
    }

    fn fence(&mut self) {
        self.sizes.fences = true;
    }

    fn cancelled(&self, planner: &Planner<'_>) -> bool {
        planner.env.cancelled()
    }
}
