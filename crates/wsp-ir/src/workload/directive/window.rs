//! `task_graph(window = …)` and `task_window(n, mode)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::limits::MAX_TASK_WINDOW;
use wsp_core::policy::{Window, WindowMode};
use wsp_diag::Span;

impl ScheduleBuilder<'_> {
    /// Most tasks in flight, and what happens then.
    pub fn window(&mut self, capacity: u32, mode: WindowMode) -> &mut Self {
        self.plain(Window { capacity, mode })
    }
}

impl DirectiveDef for Window {
    const FORMS: &'static [Form] = &[Form::Setting("window"), Form::Statement("task_window")];

    capability_rows! {
        Window { mode: WindowMode::Stall, .. } => CapabilityRow::new(
            "task_graph(window = (n, stall))",
            Support::Enforced,
            "generation waits while `n` tasks are unfinished",
        )
        .on_aicpus(
            Support::Enforced,
            "an AICPU stops generating while `n / N` of its tasks are unfinished, and fewer than `N` are an error",
        ),
        Window { mode: WindowMode::Abort, .. } => CapabilityRow::new(
            "task_graph(window = (n, abort))",
            Support::Enforced,
            "the run fails when a task is generated while `n` are unfinished",
        )
        .on_aicpus(
            Support::Enforced,
            "the run fails when an AICPU has a task to generate while `n / N` of its own are unfinished",
        ),
        Window { mode: WindowMode::Benchmark, .. } => CapabilityRow::new(
            "task_graph(window = (n, benchmark))",
            Support::Enforced,
            "generation waits while `n` tasks are unfinished, and every wait is recorded",
        )
        .on_aicpus(
            Support::Enforced,
            "an AICPU stops generating while `n / N` of its tasks are unfinished, and waits are counted",
        ),
    }

    fn parse(parser: &mut Parser<'_>, form: Form) -> Parsed<Window> {
        if !form.is_setting() {
            return capacity_and_mode(parser);
        }
        if !parser.at(Tok::LParen) {
            return parser.count32("the number of tasks in flight", MAX_TASK_WINDOW).map(Window::stall);
        }
        let open = parser.bump();
        let window = capacity_and_mode(parser)?;
        parser.close(open, "`)` after the window")?;
        Ok(window)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Window, F::Fault> {
        Ok(Window { capacity: fields.count("capacity")?, mode: fields.word("mode", WindowMode::WORDS)? })
    }
}

impl DirectiveInterface for Window {
    fn print(&self, form: Form, printer: &mut Printer<'_>) {
        let text = format!("{}, {}", self.capacity, self.mode.word());
        printer.text(&if form.is_setting() { format!("({text})") } else { text });
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.capacity, MAX_TASK_WINDOW, "tasks of a window", span);
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.window = Some(*self);
    }
}

/// `n` or `n, mode`.
fn capacity_and_mode(parser: &mut Parser<'_>) -> Parsed<Window> {
    let capacity = parser.count32("the number of tasks in flight", MAX_TASK_WINDOW)?;
    let mode = if parser.eat(Tok::Comma) && !parser.at(Tok::RParen) {
        parser.one_of("window mode", WindowMode::WORDS)?
    } else {
        WindowMode::default()
    };
    Ok(Window { capacity, mode })
}
