//! Tasks on cores in all launches that a design is for, and what flows between them.

use super::assign::Assigned;
use super::deep::Deep;
use super::host::{self, HostEnd};
use super::program::{Bodies, Program};
use super::range::{Fitted, Listing};
use super::trace::Trace;
use super::{Launch, Lowered, Part, Placed, flow, memory, order};
use crate::codes;
use crate::device::Device;
use crate::mlir::Type;
use wsp_diag::Diagnostic;

/// Tasks on cores, and what flows.
pub(super) struct Draft<'a> {
    pub(super) launches: &'a [Launch],
    pub(super) listing: Option<Listing<'a>>,
    pub(super) parts: Vec<Part<'a>>,
    pub(super) programs: Vec<Program>,
    pub(super) bodies: Bodies,
    pub(super) ends: Vec<HostEnd>,
    /// Of a range.
    pub(super) fitted: Option<Fitted>,
    pub(super) deep: Deep,
    /// By core, the types of its buffers.
    pub(super) buffers: Vec<Vec<Type>>,
    /// Where everything was before fifos were made deeper.
    pub(super) placed: Option<Placed>,
}

impl<'a> Draft<'a> {
    /// # Errors
    /// Launches in which other boxes flow, and what of them no fifo or core takes.
    pub(super) fn new(
        (launches, listing): (&'a [Launch], Option<Listing<'a>>),
        given: Vec<(&'a Trace, Assigned)>,
        device: &Device,
    ) -> Result<Draft<'a>, Diagnostic> {
        let mut parts = Vec::new();
        let mut ends: Vec<HostEnd> = Vec::new();
        for (trace, assigned) in given {
            order::keeps_order(trace, &assigned)?;
            let flows = flow::flows(trace, &assigned)?;
            let own = host::ends(&flows, device)?;
            let part = Part { trace, assigned, flows };
            let at = parts.len();
            match parts.first_mut() {
                None => ends = own,
                Some(first) => part.joins(first, own == ends, &launches[at].name)?,
            }
            parts.push(part);
        }
        let (mut bodies, mut programs) = (Bodies::default(), Vec::new());
        for core in 0..parts[0].assigned.names.len() {
            programs.push(Program::new(&parts, (core, &mut bodies))?);
        }
        let fitted = listing.map(|listing| listing.fit((&parts, &ends), &programs)).transpose()?;
        Ok(Draft {
            launches,
            listing,
            parts,
            programs,
            bodies,
            ends,
            fitted,
            deep: Deep::default(),
            buffers: Vec::new(),
            placed: None,
        })
    }

    /// A design, where tiles have too little memory with fifos that are only as deep as they must be.
    pub(super) fn in_memory(&mut self, within: (Device, u32)) -> Result<Lowered, Diagnostic> {
        self.buffers = memory::buffers(&self.parts[0], &self.bodies, &self.programs);
        let mut first = None;
        loop {
            let fault = match self.design(within) {
                Err(fault) if fault.code == codes::CAPACITY => fault,
                done => return self.alive(done?, within),
            };
            let first = first.get_or_insert(fault);
            let streams = &mut self.parts[0].flows.streams;
            let is_deeper = streams.iter().any(|of| of.depth > of.held);
            streams.iter_mut().for_each(|of| of.depth = of.held);
            if !is_deeper && (self.deep.is_given() || !self.deep.hold(streams)) {
                return Err(first.clone());
            }
        }
    }
}
