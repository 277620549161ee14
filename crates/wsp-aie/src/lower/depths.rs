//! Fifos that are as deep as a design needs to go on.
//!
//! Upstream's lowering makes as many objects of a fifo as a core holds and one more, whatever number is declared; a list of depths, one for each end, it takes as it is. Lists
//! take memory and descriptors, so the fifos have them that are full in a circle of waits, and only as many objects as open it.

use super::{Draft, Lowered, Part, soon};
use crate::device::Device;
use crate::run::foresee;
use std::collections::BTreeSet;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

impl Draft<'_> {
    /// The design, or one whose fifos are deeper, where it hangs.
    ///
    /// # Errors
    /// Tiles have no room for fifos with which it does not hang.
    pub(super) fn alive(
        &mut self,
        mut lowered: Lowered,
        within: (Device, u32),
    ) -> Result<Lowered, Diagnostic> {
        loop {
            crate::stop::look()?;
            let mut sequences = 0..lowered.design.sequences.len();
            let hangs = sequences.find_map(|at| foresee(&lowered.design, (&[], Some(at)))?.err());
            let Some(deadlock) = hangs else { return Ok(lowered) };
            let streams = &self.parts[0].flows.streams;
            let mut grown = Vec::new();
            for at in deadlock.full() {
                if streams.get(at).is_some_and(|stream| self.deep.grow(at, stream)) {
                    grown.push(at);
                }
            }
            if grown.is_empty() {
                return Ok(lowered);
            }
            self.placed = Some(lowered.placed);
            lowered = self.design(within).map_err(|fault| self.too_deep(fault, &grown))?;
        }
    }

    /// What lacks for fifos that are deep enough.
    #[cold]
    fn too_deep(&self, fault: Diagnostic, grown: &[usize]) -> Diagnostic {
        let Part { trace, flows, .. } = &self.parts[0];
        let told = grown.iter().map(|at| {
            let stream = &flows.streams[*at];
            format!(
                "{} of `{}`",
                counted(u64::from(self.deep.room(*at, stream)), "box"),
                trace.tensors[stream.tensor].name
            )
        });
        // Both ends of a way through the host are fifos of one tensor.
        let told: Vec<String> = told.collect::<BTreeSet<_>>().into_iter().collect();
        fault
            .note(format!("with room for fewer than {} the design hangs", told.join(" and ")))
            .help(soon(!trace.processes.is_empty()))
    }
}
