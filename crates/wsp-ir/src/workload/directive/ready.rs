//! `task_graph(ready = …)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::{CapabilityRow, Support};
use wsp_core::policy::Ready;

impl ScheduleBuilder<'_> {
    /// Which ready task is next.
    pub fn ready(&mut self, ready: Ready) -> &mut Self {
        self.plain(ready)
    }
}

impl DirectiveDef for Ready {
    const FORMS: &'static [Form] = &[Form::Setting("ready")];

    capability_rows! {
        Ready::Auto => CapabilityRow::new(
            "task_graph(ready = auto)",
            Support::Enforced,
            "as `fifo` with one worker, else as `work_steal`",
        )
        .on_aicpus(
            Support::Enforced,
            "as `fifo`",
        ),
        Ready::Fifo => CapabilityRow::new(
            "task_graph(ready = fifo)",
            Support::Enforced,
            "of the ready tasks, the one that became ready first starts first",
        )
        .on_aicpus(
            Support::Enforced,
            "of an AICPU's ready tasks, the one that became ready first starts first, of several at once the one generated first",
        ),
        Ready::WorkSteal => CapabilityRow::new(
            "task_graph(ready = work_steal)",
            Support::Enforced,
            "a worker goes on with the tasks that it made ready, and idle workers take the oldest of others",
        )
        .on_aicpus(
            Support::Hint,
            "as `fifo`: an AICPU issues its own tasks only",
        ),
        Ready::Priority => CapabilityRow::new(
            "task_graph(ready = priority)",
            Support::Enforced,
            "of the ready tasks that a worker may take, the one with the largest `priority` starts first, of equals the one that became ready first",
        )
        .on_aicpus(
            Support::Enforced,
            "of an AICPU's ready tasks, the one with the largest `priority` starts first, of equals the one that became ready first",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Ready> {
        parser.one_of("ready policy", Ready::WORDS)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Ready, F::Fault> {
        fields.word("mode", Ready::WORDS)
    }
}

impl DirectiveInterface for Ready {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(self.word());
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.ready = *self;
    }
}
