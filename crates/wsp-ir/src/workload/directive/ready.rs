//! `task_graph(ready = …)`.

use super::{Form, Reads, Says, SchedulePolicy};
use crate::workload::text::{Parsed, Parser, Printer};
use crate::{Row, Support};
use wsp_core::policy::Ready;

impl Reads for Ready {
    const FORMS: &'static [Form] = &[Form::Setting("ready")];
    const ROWS: &'static [Row] = &[
        Row::new(
            "task_graph(ready = auto)",
            Support::Enforced,
            "as `fifo` below four workers, else as `work_steal`",
        )
        .on_aicpus(
            Support::Enforced,
            "as `fifo`",
        ),
        Row::new(
            "task_graph(ready = fifo)",
            Support::Enforced,
            "of the ready tasks, the one that became ready first starts first",
        )
        .on_aicpus(
            Support::Enforced,
            "of an AICPU's ready tasks, the one that became ready first starts first, of several at once the one generated first",
        ),
        Row::new(
            "task_graph(ready = work_steal)",
            Support::Enforced,
            "a worker goes on with the tasks that it made ready, and idle workers take the oldest of others",
        )
        .on_aicpus(
            Support::Hint,
            "as `fifo`: an AICPU issues its own tasks only",
        ),
        Row::new(
            "task_graph(ready = priority)",
            Support::Enforced,
            "of the ready tasks that a worker may take, the one with the largest `priority` starts first, the oldest of equals",
        )
        .on_aicpus(
            Support::Enforced,
            "of an AICPU's ready tasks, the one with the largest `priority` starts first, the oldest of equals",
        ),
    ];

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Ready> {
        parser.one_of("ready policy", Ready::WORDS)
    }
}

impl Says for Ready {
    fn row(&self) -> &'static Row {
        // In the order of the values.
        &Self::ROWS[*self as usize]
    }

    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(self.word());
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.ready = *self;
    }
}
