//! How much of a region its tensor has: regions of kernels may reach past the end.

use crate::bind::{Bound, BoundDim};
use crate::sizes::Sizes;
use std::ops::Range;
use wsp_core::Region;
use wsp_ir::Storage;
use wsp_plan::LoweredPlan;

/// Indices along a dimension.
enum Extent<'a> {
    Fixed(u32),
    /// Per index of the dimension before.
    PerOuter(&'a [u32]),
}

/// Extents of the tensors of a launch.
pub(crate) struct Extents<'a> {
    /// Per tensor and dimension.
    dims: Vec<Vec<Extent<'a>>>,
    /// Per tensor, bytes from one index of the first dimension to the next: 1 but for fields of slots.
    steps: Vec<u32>,
}

impl<'a> Extents<'a> {
    /// Those of bound tensors. Without sizes, what a sizing run finds out bounds nothing.
    pub(crate) fn new(plan: &LoweredPlan, bound: &'a Bound, sizes: Option<&'a Sizes>) -> Extents<'a> {
        let mut dims = Vec::new();
        let mut steps = Vec::new();
        for (at, (tensor, declared)) in bound.tensors.iter().zip(&plan.module.tensors).enumerate() {
            let resolved = sizes.map(|sizes| sizes.resolve(tensor));
            let ragged = sizes.and_then(|sizes| sizes.ragged.get(at)?.as_deref());
            let extent = |(dim, bound_dim): (usize, &BoundDim)| match bound_dim {
                BoundDim::Fixed(n) => Extent::Fixed(*n),
                BoundDim::Lengths(cache) => Extent::PerOuter(&bound.caches[cache.index()].lengths),
                BoundDim::Axis(_) => match (ragged, &resolved) {
                    (Some(extents), _) if dim == 1 => Extent::PerOuter(extents),
                    (_, Some(resolved)) => Extent::Fixed(resolved[dim]),
                    (_, None) => Extent::Fixed(u32::MAX),
                },
            };
            let own = tensor.dims.iter().enumerate().map(extent);
            let (slots, step) = match declared.storage {
                Storage::Workspace => {
                    let bytes = sizes.map_or(u64::from(u32::MAX), |sizes| sizes.workspace_bytes);
                    let slots = sizes.map_or(1, |sizes| sizes.workspace_slots).max(1);
                    // Where tiers differ, the mean.
                    let step = u32::try_from((bytes / slots).max(1)).unwrap_or(u32::MAX);
                    (Some(Extent::Fixed(u32::try_from(bytes).unwrap_or(u32::MAX))), step)
                }
                _ => (None, 1),
            };
            dims.push(slots.into_iter().chain(own).collect());
            steps.push(step);
        }
        Extents { dims, steps }
    }

    /// The part of a region that is there; none where nothing of it is.
    pub(crate) fn clip(&self, mut region: Region) -> Option<Region> {
        let mut outer = 0..1;
        for (dim, extent) in self.dims[region.tensor.index()].iter().enumerate() {
            let most = match extent {
                Extent::Fixed(n) => *n,
                Extent::PerOuter(extents) => within(extents, &outer).iter().copied().max().unwrap_or(0),
            };
            region.hi[dim] = region.hi[dim].min(most);
            outer = region.lo[dim]..region.hi[dim];
        }
        (!region.is_empty()).then_some(region)
    }

    /// How many elements a region has.
    pub(crate) fn elements(&self, region: &Region) -> u64 {
        let Some(region) = self.clip(*region) else { return 0 };
        let tensor = region.tensor.index();
        let mut elements = 1u64;
        for (dim, extent) in self.dims[tensor].iter().enumerate() {
            let (lo, hi) = (region.lo[dim], region.hi[dim]);
            let along = match extent {
                Extent::Fixed(_) if dim == 0 => u64::from((hi - lo).div_ceil(self.steps[tensor])),
                Extent::Fixed(_) => u64::from(hi - lo),
                Extent::PerOuter(extents) => {
                    // In place of the indices of the dimension before.
                    let outer = region.lo[dim - 1]..region.hi[dim - 1];
                    elements /= u64::from(outer.end - outer.start);
                    let of_one = |extent: &u32| u64::from((*extent).min(hi).saturating_sub(lo));
                    within(extents, &outer).iter().map(of_one).sum()
                }
            };
            elements = elements.saturating_mul(along);
        }
        elements
    }
}

/// The extents of some outer indices.
fn within<'e>(extents: &'e [u32], outer: &Range<u32>) -> &'e [u32] {
    let end = (outer.end as usize).min(extents.len());
    &extents[(outer.start as usize).min(end)..end]
}
