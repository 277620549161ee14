//! What the target does with each statement of a schedule, in words.

use crate::ScheduleSummary;
use crate::capability;
use crate::lower::codes;
use crate::{Capability, Support};
use wsp_core::policy::Ready;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::workload::{DirectiveKind, SchedulePolicy};
use wsp_ir::{AxisPolicy, LaunchPolicy, LayoutStatement, Module, OrderPolicy, Schedule, Space, TileSize};

/// Of a generator with plain loops only.
pub(super) fn of_plain_loops() -> ScheduleSummary {
    let line = "no schedule: tasks start in the order in which the generator's own loops emit them";
    let policy = SchedulePolicy { ready: Ready::Fifo, ..SchedulePolicy::default() };
    ScheduleSummary { name: None, policy, lines: vec![line.to_owned()], balanced: None }
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
            Support::Enforced | Support::Hint | Support::Simulated => continue,
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
    Ok(ScheduleSummary { name, policy: policy(space, schedule), lines, balanced: None })
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
    for s in schedule.into_iter().flat_map(|s| &s.axes) {
        let (row, number) = capability::of_axis(&s.policy);
        all.push(Statement { text: row.spelled(&s.axis, &number), span: s.span, row });
    }
    for s in schedule.into_iter().flat_map(|s| &s.launch) {
        let (row, numbers) = capability::of_launch(s.policy);
        all.push(Statement { text: row.spelled("", &numbers), span: s.span, row });
    }
    for s in schedule.into_iter().flat_map(|s| &s.layouts) {
        let row = capability::of_layout(s.where_read);
        let form = if s.where_read { "PTO_RELAYOUT" } else { "PTO_LAYOUT" };
        all.push(Statement { text: format!("{form}({})", s.layout.in_spaces()), span: s.span, row });
    }
    all
}

/// What is said of the launch. Ready tasks may start in any order only when every axis says so.
fn policy(space: &Space, schedule: Option<&Schedule>) -> SchedulePolicy {
    let mut policy = SchedulePolicy { ready: Ready::Fifo, ..SchedulePolicy::default() };
    let Some(schedule) = schedule else { return policy };
    let parallel = schedule.orders().filter(|(_, order)| *order == OrderPolicy::Parallel).count();
    if schedule.axes.iter().any(|s| s.policy == AxisPolicy::Priority) {
        policy.ready = Ready::Priority;
    } else if !space.axes.is_empty() && parallel == space.axes.len() {
        policy.ready = Ready::WorkSteal;
    }
    for statement in &schedule.launch {
        match statement.policy {
            LaunchPolicy::Gate(gate) => DirectiveKind::from(gate).apply(&mut policy),
            LaunchPolicy::Pools(pools) => DirectiveKind::from(pools).apply(&mut policy),
            LaunchPolicy::Grid(grid) => DirectiveKind::from(grid).apply(&mut policy),
        }
    }
    for LayoutStatement { layout, where_read, .. } in &schedule.layouts {
        if *where_read { policy.relayouts.push(layout.clone()) } else { policy.layouts.push(layout.clone()) }
    }
    policy
}
