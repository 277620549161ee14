//! One launch of a design: its tasks, on cores, and what flows between them.

use super::assign::Assigned;
use super::flow::{self, Flows};
use super::refused;
use super::trace::Trace;
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;

/// One launch of a design.
pub(super) struct Part<'a> {
    pub(super) trace: &'a Trace,
    pub(super) assigned: Assigned,
    pub(super) flows: Flows,
}

impl Part<'_> {
    /// Makes the first launch of a design fit this one too: what flows has the same form, and fifos are as deep as either needs.
    ///
    /// # Errors
    /// What flows has another form.
    pub(super) fn joins(&self, first: &mut Part<'_>, same_ends: bool, name: &str) -> Result<(), Diagnostic> {
        if !same_ends || !self.flows_like(first) {
            let fault =
                refused(format!("with `{name}` other boxes flow between cores than in the first launch"))
                    .note("one design has the same fifos for all lengths");
            let (own, of) = (self.kept(), first.kept());
            return Err(match own.symmetric_difference(&of).next() {
                Some(tensor) => {
                    let tensor = &self.trace.tensors[*tensor].name;
                    fault
                        .note(format!("in one of the two launches tasks leave a part of a box of `{tensor}`, which comes from the host then; in the other they store all of each"))
                        .help(format!("give lengths with which tasks store all of each box of `{tensor}`, or none with which they do"))
                }
                None => fault.help("emit a design for each of them"),
            });
        }
        for (of, own) in first.flows.streams.iter_mut().zip(&self.flows.streams) {
            (of.depth, of.held) = (of.depth.max(own.depth), of.held.max(own.held));
            of.most = of.most.max(own.most);
        }
        Ok(())
    }

    /// Tensors of which tasks write boxes that come from the host first.
    fn kept(&self) -> BTreeSet<usize> {
        let touches = self.trace.tasks.iter().flat_map(|task| &task.touches);
        let written: BTreeSet<usize> =
            touches.filter(|touch| touch.write).map(|touch| touch.tensor).collect();
        let of_host = self.flows.streams.iter().filter(|stream| stream.from == flow::End::Host);
        of_host.map(|stream| stream.tensor).filter(|tensor| written.contains(tensor)).collect()
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
