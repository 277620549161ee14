//! `task_graph(deps = …)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::{CapabilityRow, Support};
use wsp_core::policy::Deps;

/// The words of [`Deps`], and longer ones that say the same.
const SPELLINGS: &[(&str, Deps)] = &[
    ("exact", Deps::Exact),
    ("infer_tensor_map_exact", Deps::Exact),
    ("overlap", Deps::Overlap),
    ("infer_bytes_overlap", Deps::Overlap),
    ("explicit", Deps::Explicit),
    ("hybrid", Deps::Hybrid),
];

impl ScheduleBuilder<'_> {
    /// How dependences are found.
    pub fn deps(&mut self, deps: Deps) -> &mut Self {
        self.plain(deps)
    }
}

impl DirectiveDef for Deps {
    const FORMS: &'static [Form] = &[Form::Setting("deps")];

    capability_rows! {
        Deps::Exact => CapabilityRow::new(
            "task_graph(deps = exact)",
            Support::Enforced,
            "tasks wait for those that access the same region, and regions that overlap without being equal are an error",
        ),
        Deps::Overlap => CapabilityRow::new(
            "task_graph(deps = overlap)",
            Support::Enforced,
            "tasks wait for those that access a region that shares an element with theirs, when one of the two writes",
        ),
        Deps::Explicit => CapabilityRow::new(
            "task_graph(deps = explicit)",
            Support::Enforced,
            "tasks wait for those that `after` names and no others",
        ),
        Deps::Hybrid => CapabilityRow::new(
            "task_graph(deps = hybrid)",
            Support::Enforced,
            "tasks wait as with `overlap`, and for those that `after` names",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Deps> {
        parser.one_of("way to find dependences", SPELLINGS)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Deps, F::Fault> {
        fields.word("mode", Deps::WORDS)
    }
}

impl DirectiveInterface for Deps {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(self.word());
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.deps = *self;
    }
}
