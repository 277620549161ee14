//! Axes: extents of dense ones, and the tables of ragged and sparse ones.

use super::super::codes;
use super::{Binder, count};
use wsp_core::TableId;
use wsp_diag::Diagnostic;
use wsp_ir::workload::{Axis, AxisKind};

/// What of an axis is the same for the whole launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AxisRange {
    /// `[start, end)`.
    Dense { start: i64, end: i64 },
    /// One length per outer index.
    Ragged,
    /// One row of columns per outer index.
    Sparse,
}

impl Binder<'_> {
    /// Checks every axis.
    pub(super) fn axes(&mut self) -> Vec<AxisRange> {
        let module = self.module;
        let mut ranges = Vec::with_capacity(module.axes.len());
        // One past the largest index of each dense axis; none of others, and of those at fault.
        let mut ends: Vec<Option<i64>> = Vec::with_capacity(module.axes.len());
        for axis in &module.axes {
            let (range, end) = match &axis.kind {
                AxisKind::Dense { start, end } => {
                    let (start, end) = (self.value(start), self.value(end));
                    dense(start.zip(end))
                }
                AxisKind::DenseDyn(param) => {
                    let end = self.values.params[param.index()];
                    self.not_negative(axis, &module.params[param.index()].name, end);
                    dense(Some((0, end)))
                }
                AxisKind::Ragged { outer, lengths } => {
                    self.rows_fit(axis, ends[outer.index()], *lengths, 0);
                    self.ragged(axis, *lengths);
                    (AxisRange::Ragged, None)
                }
                AxisKind::Sparse { outer, indptr, indices } => {
                    self.rows_fit(axis, ends[outer.index()], *indptr, 1);
                    self.sparse(axis, *indptr, *indices);
                    (AxisRange::Sparse, None)
                }
            };
            ranges.push(range);
            ends.push(end);
        }
        ranges
    }

    /// Reports a negative extent of a `dense_dyn` axis.
    fn not_negative(&mut self, axis: &Axis, param: &str, extent: i64) {
        if extent < 0 {
            let message = format!("axis `{}` has a negative extent", axis.name);
            self.found.push(
                Diagnostic::error(codes::NEGATIVE_LENGTH, message)
                    .at(axis.span, format!("`{param}` is {extent}"))
                    .help(format!("set it with `--set {param}=N`, 0 or more"))
                    .python(format!("give `{param}=n`, 0 or more")),
            );
        }
    }

    /// Checks the lengths of a ragged axis.
    fn ragged(&mut self, axis: &Axis, lengths: TableId) {
        let table = &self.module.tables[lengths.index()];
        let values = &self.values.tables[lengths.index()];
        if let Some(row) = values.iter().position(|len| *len < 0) {
            let negative = values.iter().filter(|len| **len < 0).count();
            let message = format!("table `{}` has a negative length", table.name);
            let diagnostic = Diagnostic::error(codes::NEGATIVE_LENGTH, message)
                .at(axis.span, format!("the lengths of axis `{}`", axis.name))
                .label(table.span, format!("element {row} is {}", values[row]))
                .note(format!("{} negative", count(negative as u64, "element")))
                .python(format!("give lengths of 0 or more: `{}=[…]`", table.name));
            self.found.push(diagnostic);
        }
    }

    /// Reports a table that has not one element per outer index, plus `extra`.
    fn rows_fit(&mut self, axis: &Axis, outer_end: Option<i64>, table: TableId, extra: i64) {
        let Some(end) = outer_end else { return };
        let len = self.values.tables[table.index()].len();
        let wanted = end.max(0).saturating_add(extra);
        if len as i64 != wanted {
            let reason = match extra {
                0 => format!("axis `{}` needs one length per outer index", axis.name),
                _ => format!("axis `{}` needs one more than it has outer indices", axis.name),
            };
            let decl = &self.module.tables[table.index()];
            self.wrong_length(decl, len, wanted, axis.span, &reason);
        }
    }

    /// Checks the rows of a sparse axis.
    fn sparse(&mut self, axis: &Axis, indptr: TableId, indices: TableId) {
        let rows = &self.values.tables[indptr.index()];
        let columns = &self.values.tables[indices.index()];
        let entries = columns.len() as i64;
        let outside = rows.iter().position(|at| !(0..=entries).contains(at));
        let falls = rows.windows(2).position(|pair| pair[0] > pair[1]);
        let decl = &self.module.tables[indptr.index()];
        let fault = match (outside, falls) {
            (Some(at), _) => Some(format!(
                "element {at} is {}, and `{}` has {}",
                rows[at],
                self.module.tables[indices.index()].name,
                count(columns.len() as u64, "entry").replace("entrys", "entries")
            )),
            (None, Some(at)) => {
                Some(format!("element {at} is {}, and element {} is {}", rows[at], at + 1, rows[at + 1]))
            }
            (None, None) => None,
        };
        if let Some(fault) = fault {
            let message = format!("table `{}` is no row pointer", decl.name);
            let diagnostic = Diagnostic::error(codes::ROW_POINTER, message)
                .at(axis.span, format!("the rows of axis `{}`", axis.name))
                .label(decl.span, fault)
                .note("row i holds the entries from element i to element i + 1, so elements never decrease")
                .python(format!("give the starts of rows, and the end of the last: `{}=[0, …]`", decl.name));
            self.found.push(diagnostic);
        }
    }
}

/// The range and the end of a dense axis; empty where its bounds are at fault.
fn dense(bounds: Option<(i64, i64)>) -> (AxisRange, Option<i64>) {
    let (start, end) = bounds.unwrap_or((0, 0));
    let end = end.max(start);
    (AxisRange::Dense { start, end }, bounds.map(|_| end))
}
