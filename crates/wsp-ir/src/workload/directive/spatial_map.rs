//! `spatial_map((x, y))`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::Grid;
use wsp_diag::Span;

impl ScheduleBuilder<'_> {
    /// Tasks are placed on a grid of `y` rows of `x` tiles.
    pub fn spatial_map(&mut self, x: u32, y: u32) -> &mut Self {
        self.plain(Grid { x, y })
    }
}

impl DirectiveDef for Grid {
    const FORMS: &'static [Form] = &[Form::Statement("spatial_map")];

    capability_rows! {
        Grid { .. } => CapabilityRow::new(
            "spatial_map((x, y))",
            Support::Simulated,
            "a task is for the tile of `layout`, else for tile `n` modulo `x * y`, `n` its number by `dispatch` or else in elaboration order; tile `t` goes to worker `t` modulo the number of workers, and idle workers may take its tasks",
        )
        .on_aicpus(
            Support::Error,
            "AICPUs have no grid of tiles; `cpu_sim` without `--aicpus` has one, simulated",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Grid> {
        let open = parser.open("`(` and the extents of the grid", "write `spatial_map((4, 4))`")?;
        let x = parser.count32("the number of tiles of a row", MAX_THREADS)?;
        parser.expect(Tok::Comma, "`,` and the number of rows")?;
        let y = parser.count32("the number of rows", MAX_THREADS)?;
        parser.close(open, "`)` after the extents of the grid")?;
        Ok(Grid { x, y })
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Grid, F::Fault> {
        let (x, y) = fields.pair("grid")?;
        Ok(Grid { x, y })
    }
}

impl DirectiveInterface for Grid {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&format!("({}, {})", self.x, self.y));
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.x, MAX_THREADS, "tiles of a row", span);
        checker.count(self.y, MAX_THREADS, "rows of tiles", span);
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.grid = Some(*self);
    }
}
