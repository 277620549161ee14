//! `spatial_map((x, y))`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_diag::Span;

/// `spatial_map((x, y))`: tasks are placed on a grid of tiles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SpatialMap {
    /// Tiles of a row.
    pub x: u32,
    /// Rows.
    pub y: u32,
}

impl ScheduleBuilder<'_> {
    /// Tasks are placed on a grid of `y` rows of `x` tiles.
    pub fn spatial_map(&mut self, x: u32, y: u32) -> &mut Self {
        self.plain(SpatialMap { x, y })
    }
}

impl DirectiveDef for SpatialMap {
    const FORMS: &'static [Form] = &[Form::Statement("spatial_map")];

    capability_rows! {
        SpatialMap { .. } => CapabilityRow::new(
            "spatial_map((x, y))",
            Support::Error,
            "`cpu_sim` has no tile array; `dispatch(affinity(key))` places tasks",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<SpatialMap> {
        let open = parser.open("`(` and the extents of the grid", "write `spatial_map((4, 4))`")?;
        let x = parser.count32("the number of tiles of a row", u32::MAX)?;
        parser.expect(Tok::Comma, "`,` and the number of rows")?;
        let y = parser.count32("the number of rows", u32::MAX)?;
        parser.close(open, "`)` after the extents of the grid")?;
        Ok(SpatialMap { x, y })
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<SpatialMap, F::Fault> {
        let (x, y) = fields.pair("grid")?;
        Ok(SpatialMap { x, y })
    }
}

impl DirectiveInterface for SpatialMap {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&format!("({}, {})", self.x, self.y));
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.x, u32::MAX, "tiles of a row", span);
        checker.count(self.y, u32::MAX, "rows of tiles", span);
    }

    /// No target has a grid; it is refused.
    fn apply(&self, _: &mut SchedulePolicy) {}

    fn instead(&self) -> Option<[String; 2]> {
        Some(["dispatch(affinity(key));", ".dispatch(DispatchPolicy.affinity(key))"].map(str::to_owned))
    }
}
