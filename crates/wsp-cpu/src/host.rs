//! What both runs of a generator share: everything but what becomes of a descriptor.

use crate::planner::Planner;
use wsp_core::{AxisId, SpaceId, StructId};
use wsp_kernel::{Extent, FlatBuffer, GeneratorHost, Hints, Trap, WsRequest};

/// Takes descriptors.
pub(crate) trait Sink {
    /// One descriptor.
    fn emit(
        &mut self,
        planner: &Planner<'_>,
        descriptor: StructId,
        fields: &[u32],
        hints: Hints<'_>,
    ) -> Result<(), Trap>;

    /// Where descriptors can go without [`Sink::emit`], for a sink that only keeps them.
    fn flat(&mut self) -> Option<&mut FlatBuffer> {
        None
    }

    /// What follows starts when all before is complete.
    fn fence(&mut self);

    /// Whether the run is to end.
    fn cancelled(&self, planner: &Planner<'_>) -> bool;
}

/// Runs generators: tiles, extents and workspace are the planner's, descriptors go to a sink.
pub(crate) struct PlanHost<'a, 'p, S> {
    pub(crate) planner: &'p mut Planner<'a>,
    pub(crate) sink: S,
}

impl<S: Sink> PlanHost<'_, '_, S> {
    /// Goes on with another generator.
    pub(crate) fn enter(&mut self, stage: u32, space: SpaceId) {
        self.planner.enter(stage, space);
    }
}

impl<S: Sink> GeneratorHost for PlanHost<'_, '_, S> {
    fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), Trap> {
        self.planner.emitted = true;
        self.sink.emit(self.planner, descriptor, fields, hints)
    }

    fn flat(&mut self) -> Option<&mut FlatBuffer> {
        self.sink.flat()
    }

    fn fence(&mut self) {
        self.sink.fence();
    }

    fn alloc_ws(&mut self, request: &WsRequest<'_>) -> Result<u32, Trap> {
        self.planner.slot(request)
    }

    fn remembers_slots(&self) -> bool {
        true
    }

    fn set_tile(&mut self, axis: AxisId, size: u32) -> Result<(), Trap> {
        self.planner.set_tile(axis, size)
    }

    fn set_extent(&mut self, axis: AxisId, extent: Extent<'_>) -> Result<(), Trap> {
        self.planner.set_extent(axis, extent)
    }

    fn axis_tile(&mut self, axis: AxisId) -> Result<u32, Trap> {
        self.planner.axis_tile(axis)
    }

    fn axis_extent(&mut self, axis: AxisId) -> Result<u32, Trap> {
        self.planner.axis_extent(axis)
    }

    fn cancelled(&self) -> bool {
        self.sink.cancelled(self.planner)
    }
}
