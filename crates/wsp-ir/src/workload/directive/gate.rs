//! `pipeline_depth(n, scope)`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Form, MissingRequirement, Schedule,
    SchedulePolicy, capability_rows,
};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::policy::{Gate, GateScope};
use wsp_diag::Span;
use wsp_ordered::Arrange;

impl ScheduleBuilder<'_> {
    /// Most tasks that run at once in a scope.
    pub fn pipeline_depth(&mut self, capacity: u32, scope: GateScope) -> &mut Self {
        self.plain(Gate { scope, capacity })
    }
}

impl DirectiveDef for Gate {
    const FORMS: &'static [Form] = &[Form::Statement("pipeline_depth")];
    const KEY: &'static str = "gate";

    capability_rows! {
        Gate { scope: GateScope::Global, .. } => CapabilityRow::new(
            "pipeline_depth(n, global)",
            Support::Enforced,
            "at most `n` tasks run at once",
        ),
        Gate { scope: GateScope::PerStream, .. } => CapabilityRow::new(
            "pipeline_depth(n, per_stream)",
            Support::Enforced,
            "at most `n` tasks of one stream run at once: the next in its order starts when fewer do",
        ),
        Gate { scope: GateScope::PerPool, .. } => CapabilityRow::new(
            "pipeline_depth(n, per_pool)",
            Support::Enforced,
            "at most `n` tasks of one pool run at once",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Gate> {
        let capacity = parser.count32("the number of tasks that run at once", u32::MAX)?;
        let scope = if parser.eat(Tok::Comma) && !parser.at(Tok::RParen) {
            parser.one_of("scope", GateScope::WORDS)?
        } else {
            GateScope::default()
        };
        Ok(Gate { scope, capacity })
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Gate, F::Fault> {
        Ok(Gate { scope: fields.word("scope", GateScope::WORDS)?, capacity: fields.count("capacity")? })
    }
}

impl DirectiveInterface for Gate {
    fn title(&self) -> Option<&'static str> {
        Some(match self.scope {
            GateScope::Global => "pipeline_depth",
            GateScope::PerStream => "pipeline_depth per stream",
            GateScope::PerPool => "pipeline_depth per pool",
        })
    }

    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.capacity.to_string());
        if self.scope != GateScope::default() {
            printer.text(&format!(", {}", self.scope.word()));
        }
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.capacity, u32::MAX, "tasks that run at once", span);
    }

    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        if self.scope != GateScope::PerStream
            || schedule.has(|kind| matches!(kind, DirectiveKind::Streams(_)))
        {
            return None;
        }
        MissingRequirement::of_directive(
            "pipeline_depth per stream",
            "streams",
            "add `streams(4);`",
            "add `.streams(4)`",
        )
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.gates.push(*self);
        policy.gates.arrange();
    }
}
