//! What a generator says about its schedule, and where.

use crate::walk;
use wsp_core::{AxisId, LocalId, ScheduleId};
use wsp_diag::Span;
use wsp_ir::{ArrayRef, Block, Expr, ExprKind, ExtentSource, Stmt, StmtKind};
use wsp_ordered::OrderedMap;

/// A statement that concerns the schedule.
#[derive(Clone, Copy)]
pub(super) struct Site<T> {
    pub(super) what: T,
    pub(super) span: Span,
    /// It stands before PTO_SCHEDULED_FOR in a block around it, so it has run when the loop is reached.
    pub(super) certain: bool,
}

/// `PTO_SET_EXTENT`.
#[derive(Clone, Copy)]
pub(super) struct SetExtentStmt<'a> {
    pub(super) axis: AxisId,
    pub(super) extent: &'a ExtentSource,
    pub(super) last: Option<&'a Expr>,
}

/// Such statements of a generator, in source order.
#[derive(Default)]
pub(super) struct Statements<'a> {
    /// There is at most one.
    pub(super) scheduled_for: Option<Site<&'a Stmt>>,
    pub(super) applied: Vec<Site<ScheduleId>>,
    pub(super) extents: Vec<Site<SetExtentStmt<'a>>>,
    /// Where the tile of an axis is set.
    pub(super) tiles: Vec<Site<AxisId>>,
    /// Where the tile of an axis is asked for.
    pub(super) tile_reads: Vec<Site<AxisId>>,
    /// What names of arrays stand for.
    pub(super) arrays: OrderedMap<LocalId, ArrayRef>,
}

/// Reads a generator.
pub(super) fn statements(body: &Block) -> Statements<'_> {
    let mut found = Statements::default();
    collect(body, &path_to_loop(body).unwrap_or_default(), &mut found);
    found
}

fn collect<'a>(block: &'a Block, path: &[&Stmt], found: &mut Statements<'a>) {
    for stmt in block {
        let span = stmt.span;
        let certain = path.iter().any(|s| std::ptr::eq(*s, stmt));
        match &stmt.kind {
            StmtKind::ScheduledFor { .. } => found.scheduled_for = Some(Site { what: stmt, span, certain }),
            StmtKind::ApplySchedule(id) => found.applied.push(Site { what: *id, span, certain }),
            StmtKind::SetExtent { axis, extent, last } => {
                let what = SetExtentStmt { axis: *axis, extent, last: last.as_ref() };
                found.extents.push(Site { what, span, certain });
            }
            StmtKind::SetTile { axis, .. } => found.tiles.push(Site { what: *axis, span, certain }),
            StmtKind::LetArray { local, array } => {
                found.arrays.insert(*local, *array);
            }
            _ => {}
        }
        walk::exprs(stmt, &mut |e| {
            e.any(&mut |e| {
                if let ExprKind::AxisTile(axis) = e.kind {
                    found.tile_reads.push(Site { what: axis, span: e.span, certain });
                }
                false
            });
        });
        walk::blocks(stmt).for_each(|inner| collect(inner, path, found));
    }
}

/// The statements that stand before the first PTO_SCHEDULED_FOR in the blocks around it.
fn path_to_loop(block: &Block) -> Option<Vec<&Stmt>> {
    let mut before = Vec::new();
    for stmt in block {
        if matches!(stmt.kind, StmtKind::ScheduledFor { .. }) {
            return Some(before);
        }
        if let Some(inner) = walk::blocks(stmt).find_map(path_to_loop) {
            before.extend(inner);
            return Some(before);
        }
        before.push(stmt);
    }
    None
}
