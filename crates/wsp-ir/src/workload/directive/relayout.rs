//! `relayout(tensor, [replicate, shard(x), …])`.

use super::layout::{needs_grid, parse_dims, read_dims};
use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, Form, MissingRequirement, Schedule, SchedulePolicy,
    capability_rows,
};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Layout, Support};
use wsp_core::policy::LayoutDim;
use wsp_diag::Span;

/// `relayout(tensor, [replicate, shard(x), …])`: how a tensor lies where it is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Relayout(pub Layout);

impl ScheduleBuilder<'_> {
    /// How a tensor lies where it is read: whole sums, in parts that may be others than those that were stored.
    pub fn relayout(&mut self, tensor: &str, dims: &[LayoutDim]) -> &mut Self {
        self.plain(Relayout(Layout::new(tensor, dims, Span::default())))
    }
}

impl DirectiveDef for Relayout {
    const FORMS: &'static [Form] = &[Form::Statement("relayout")];

    capability_rows! {
        Relayout(_) => CapabilityRow::new(
            "relayout(tensor, [shard(x), replicate, …])",
            Support::Simulated,
            "tasks load the tensor in this layout, and sums whose parts tiles have are added up: `wsp plan` says whether that is a slice, an all-gather, an all-to-all, an all-reduce or a reduce-scatter; here every worker sees all of every tensor, and nothing is moved",
        )
        .on_aicpus(
            Support::Error,
            "AICPUs have no grid of tiles; `cpu_sim` without `--aicpus` has one, simulated",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Relayout> {
        parse_dims(parser).map(Relayout)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Relayout, F::Fault> {
        read_dims(fields).map(Relayout)
    }
}

impl DirectiveInterface for Relayout {
    fn subject(&self) -> &str {
        &self.0.tensor
    }

    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.0.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.layout(&self.0, span);
    }

    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        needs_grid(schedule, "relayout")
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.relayouts.push(self.0.clone());
    }
}
