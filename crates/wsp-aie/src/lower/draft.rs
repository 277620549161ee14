//! Tasks on cores in all launches that a design is for, and what flows between them.

use super::assign::Assigned;
use super::flow::{self, Flows};
use super::host::{self, HostEnd};
use super::program::{Bodies, Program};
use super::range::{Fitted, Listing};
use super::trace::Trace;
use super::{Launch, Lowered, order, refused};
use crate::codes;
use crate::device::Device;
use wsp_diag::Diagnostic;

/// One launch of a design.
pub(super) struct Part<'a> {
    pub(super) trace: &'a Trace,
    pub(super) assigned: Assigned,
    pub(super) flows: Flows,
}

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
    /// How deep fifos between cores are to be that need it; 0 where none is known to.
    pub(super) deep: u32,
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
        Ok(Draft { launches, listing, parts, programs, bodies, ends, fitted, deep: 0 })
    }

    /// A design, where tiles have too little memory with fifos that are only as deep as they must be.
    pub(super) fn in_memory(&mut self, within: (Device, u32)) -> Result<Lowered, Diagnostic> {
        let fault = match self.design(within) {
            Err(fault) if fault.code == codes::CAPACITY => fault,
            done => return done.map(|lowered| self.alive(lowered, within)),
        };
        let streams = &mut self.parts[0].flows.streams;
        let is_deeper = streams.iter().any(|of| of.depth > of.held);
        streams.iter_mut().for_each(|of| of.depth = of.held);
        if !is_deeper {
            return Err(fault);
        }
        let lowered = self.design(within).map_err(|_| fault)?;
        Ok(self.alive(lowered, within))
    }
}

impl Part<'_> {
    /// Makes the first launch of a design fit this one too: what flows has the same form, and fifos are as deep as either needs.
    fn joins(&self, first: &mut Part<'_>, same_ends: bool, name: &str) -> Result<(), Diagnostic> {
        if !same_ends || !self.flows_like(first) {
            return Err(refused(format!(
                "with `{name}` other boxes flow between cores than in the first launch"
            ))
            .note("one design has the same fifos for all lengths")
            .help("emit a design for each of them"));
        }
        for (of, own) in first.flows.streams.iter_mut().zip(&self.flows.streams) {
            (of.depth, of.held) = (of.depth.max(own.depth), of.held.max(own.held));
            of.flying = of.flying.max(own.flying);
        }
        Ok(())
    }

    /// Whether what flows has the form that it has in another launch.
    pub(super) fn flows_like(&self, first: &Part<'_>) -> bool {
        let form = |flows: &Flows| {
            let stream = |of: &flow::Stream| (of.tensor, of.from, of.to.clone(), of.boxes[0].len.clone());
            let used = |of: &flow::Use| (of.stream, of.produces);
            let uses = flows.uses.iter().map(|of| of.iter().map(used).collect::<Vec<_>>());
            (flows.streams.iter().map(stream).collect::<Vec<_>>(), uses.collect::<Vec<_>>())
        };
        form(&self.flows) == form(&first.flows) && self.flows.locals == first.flows.locals
    }
}
