//! `task_graph(start = …)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::policy::Start;
use wsp_diag::Span;

impl ScheduleBuilder<'_> {
    /// When the first task may start.
    pub fn start(&mut self, start: Start) -> &mut Self {
        self.plain(start)
    }
}

impl DirectiveDef for Start {
    const FORMS: &'static [Form] = &[Form::Setting("start")];

    capability_rows! {
        Start::Immediate => CapabilityRow::new(
            "task_graph(start = immediate)",
            Support::Enforced,
            "tasks start while others are generated",
        ),
        Start::AfterOrchestration => CapabilityRow::new(
            "task_graph(start = after_orchestration)",
            Support::Enforced,
            "no task starts before all are generated, the window is full or generation waits for a computed value",
        )
        .on_aicpus(
            Support::Enforced,
            "no task starts before every AICPU has generated all of its tasks or a window is full",
        ),
        Start::Threshold(_) => CapabilityRow::new(
            "task_graph(start = threshold(n))",
            Support::Enforced,
            "no task starts before `n` are generated, generation ends or waits for a computed value, or the window is full",
        )
        .on_aicpus(
            Support::Enforced,
            "no task starts before all AICPUs together have generated `n`, generation ends or a window is full",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Start> {
        let (name, span) = parser.name("`immediate`, `after_orchestration` or `threshold(n)`")?;
        match name {
            "immediate" => return Ok(Start::Immediate),
            "after_orchestration" => return Ok(Start::AfterOrchestration),
            "threshold" => {}
            _ => {
                let known = ["immediate", "after_orchestration", "threshold"];
                return Err(parser.unknown_word(name, span, "way to start", &known));
            }
        }
        let open = parser.open("`(` after `threshold`", "write `threshold(100)`")?;
        let count = parser.count32("the number of tasks", u32::MAX)?;
        parser.close(open, "`)` after the number of tasks")?;
        Ok(Start::Threshold(count))
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Start, F::Fault> {
        const MODES: [(&str, Start); 3] = [
            ("immediate", Start::Immediate),
            ("after_orchestration", Start::AfterOrchestration),
            ("threshold", Start::Threshold(0)),
        ];
        Ok(match fields.word("mode", &MODES)? {
            Start::Threshold(_) => Start::Threshold(fields.count("n")?),
            start => start,
        })
    }
}

impl DirectiveInterface for Start {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&match self {
            Start::Immediate => "immediate".to_owned(),
            Start::AfterOrchestration => "after_orchestration".to_owned(),
            Start::Threshold(count) => format!("threshold({count})"),
        });
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        if let Start::Threshold(count) = self {
            checker.count(*count, u32::MAX, "tasks to start at", span);
        }
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.start = *self;
    }
}
