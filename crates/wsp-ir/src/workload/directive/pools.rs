//! `task_graph(pools = …)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::PoolSizes;
use wsp_diag::Span;

impl ScheduleBuilder<'_> {
    /// Workers by execution unit.
    pub fn pools(&mut self, pools: PoolSizes) -> &mut Self {
        self.plain(pools)
    }
}

impl DirectiveDef for PoolSizes {
    const FORMS: &'static [Form] = &[Form::Setting("pools")];

    capability_rows! {
        PoolSizes::Shared => CapabilityRow::new(
            "task_graph(pools = shared)",
            Support::Enforced,
            "every worker takes tasks of every execution unit",
        ),
        PoolSizes::ByUnit { .. } => CapabilityRow::new(
            "task_graph(pools = by_unit(v, c))",
            Support::Enforced,
            "`v` workers take tasks of vector kernels, `c` those of cube kernels, and all take those of kernels for either",
        )
        .on_aicpus(
            Support::Enforced,
            "`v` cores take tasks of vector kernels, `c` those of cube kernels, whatever the number of threads",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<PoolSizes> {
        let (name, span) = parser.name("`shared` or `by_unit(vector, cube)`")?;
        match name {
            "shared" => return Ok(PoolSizes::Shared),
            "by_unit" => {}
            _ => {
                return Err(parser.unknown_word(name, span, "way to divide workers", &["shared", "by_unit"]));
            }
        }
        let open = parser.open("`(` after `by_unit`", "write `by_unit(3, 1)`")?;
        let vector = parser.count32("the number of workers for vector tasks", MAX_THREADS)?;
        parser.expect(Tok::Comma, "`,` and the number of workers for cube tasks")?;
        let cube = parser.count32("the number of workers for cube tasks", MAX_THREADS)?;
        parser.close(open, "`)` after the numbers of workers")?;
        Ok(PoolSizes::ByUnit { vector, cube })
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<PoolSizes, F::Fault> {
        Ok(match fields.word("mode", &[("shared", false), ("by_unit", true)])? {
            false => PoolSizes::Shared,
            true => PoolSizes::ByUnit { vector: fields.count("vector")?, cube: fields.count("cube")? },
        })
    }
}

impl DirectiveInterface for PoolSizes {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&match self {
            PoolSizes::Shared => "shared".to_owned(),
            PoolSizes::ByUnit { vector, cube } => format!("by_unit({vector}, {cube})"),
        });
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        if let PoolSizes::ByUnit { vector, cube } = self {
            checker.count(*vector, MAX_THREADS, "workers for vector tasks", span);
            checker.count(*cube, MAX_THREADS, "workers for cube tasks", span);
        }
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.pools = *self;
    }
}
