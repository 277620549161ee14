//! What the target does with each statement of a schedule, in words.

use crate::capability;
use crate::lower::codes;
use crate::{Capability, Support};
use crate::{ReadyOrder, ScheduleSummary};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{Module, OrderPolicy, Schedule, Space, SplitPolicy, TileSize};

/// Of a generator with plain loops only.
pub(super) fn of_plain_loops() -> ScheduleSummary {
    let line = "no schedule: tasks start in the order in which the generator's own loops emit them";
    ScheduleSummary { name: None, ready: ReadyOrder::Issue, lines: vec![line.to_owned()], balanced: None }
}

/// Of a loop over a space, without what its splits come to.
pub(super) fn of_schedule(
    module: &Module,
    space: &Space,
    schedule: Option<&Schedule>,
    notes: &mut Vec<Diagnostic>,
) -> Result<ScheduleSummary, Vec<Diagnostic>> {
    let statements = statements(module, space, schedule);
    let mut wrong = Vec::new();
    for statement in &statements {
        let row = statement.row;
        let found = match row.support {
            Support::Enforced | Support::Hint => continue,
            Support::NoOp => Diagnostic::new(
                codes::NO_EFFECT,
                Severity::Note,
                format!("`{}` has no effect", row.primitive),
            ),
            Support::Error => {
                Diagnostic::error(codes::NOT_SUPPORTED, format!("`{}` is not supported", row.primitive))
            }
        };
        let found = found.at(statement.span, "").note(row.meaning);
        if found.is_error() { wrong.push(found) } else { notes.push(found) }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut lines: Vec<String> = statements.iter().map(Statement::line).collect();
    if schedule.is_none() {
        lines.insert(0, "no schedule: axes nest as declared, tasks start in issue order".to_owned());
    }
    let name = schedule.map(|s| s.name.clone());
    Ok(ScheduleSummary { name, ready: ready(space, schedule), lines, balanced: None })
}

struct Statement {
    text: String,
    span: Span,
    row: &'static Capability,
}

impl Statement {
    fn line(&self) -> String {
        format!("{}: {}: {}", self.text, self.row.support.name(), self.row.meaning)
    }
}

fn statements(module: &Module, space: &Space, schedule: Option<&Schedule>) -> Vec<Statement> {
    let mut all = Vec::new();
    for axis in space.axes.iter().map(|id| &module.axes[id.index()]) {
        let Some(tile) = &axis.tile else { continue };
        let size = match &tile.size {
            TileSize::Fixed(e) => e.as_const_int().map_or("…".to_owned(), |v| v.to_string()),
            TileSize::Auto => "PTO_AUTO".to_owned(),
        };
        let pad = if tile.pad_last { ", PTO_PAD_LAST" } else { "" };
        let text = format!("PTO_TILE({}, {size}{pad})", axis.name);
        all.extend(capability::of_tile(tile).map(|row| Statement {
            text: text.clone(),
            span: tile.span,
            row,
        }));
    }
    for constraint in &space.constraints {
        all.push(Statement {
            text: "PTO_WHERE(…)".to_owned(),
            span: constraint.span,
            row: capability::of_where(),
        });
    }
    for s in schedule.into_iter().flat_map(|s| &s.affinity) {
        let row = capability::of_affinity(s.policy);
        all.push(Statement { text: row.spelled(&s.axis, ""), span: s.span, row });
    }
    for s in schedule.into_iter().flat_map(|s| &s.order) {
        let row = capability::of_order(s.policy);
        let number = match s.policy {
            OrderPolicy::Interleaved(n) | OrderPolicy::Blocked(n) => n.to_string(),
            OrderPolicy::Sequential
            | OrderPolicy::SequentialStrict
            | OrderPolicy::Parallel
            | OrderPolicy::LongestFirst => String::new(),
        };
        all.push(Statement { text: row.spelled(&s.axis, &number), span: s.span, row });
    }
    for s in schedule.into_iter().flat_map(|s| &s.split) {
        let row = capability::of_split(&s.policy);
        let number = match &s.policy {
            SplitPolicy::Whole => String::new(),
            SplitPolicy::Fixed(size) => size.as_const_int().map_or("…".to_owned(), |v| v.to_string()),
            SplitPolicy::Balanced(align) => align.to_string(),
        };
        all.push(Statement { text: row.spelled(&s.axis, &number), span: s.span, row });
    }
    for s in schedule.into_iter().flat_map(|s| &s.prefetch) {
        let row = capability::of_prefetch();
        all.push(Statement { text: row.spelled(&s.axis, &s.depth.to_string()), span: s.span, row });
    }
    all
}

/// Ready tasks may start in any order only when every axis says so.
fn ready(space: &Space, schedule: Option<&Schedule>) -> ReadyOrder {
    let parallel = |s: &Schedule| s.order.iter().filter(|o| o.policy == OrderPolicy::Parallel).count();
    match schedule {
        Some(s) if !space.axes.is_empty() && parallel(s) == space.axes.len() => ReadyOrder::Free,
        _ => ReadyOrder::Issue,
    }
}
