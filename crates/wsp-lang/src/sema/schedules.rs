//! `PTO_SCHEDULE`.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::names::with_suggestion;
use crate::ast::{self, Said, ScheduleMember};
use wsp_core::policy::{AxisPolicy, LaunchPolicy};
use wsp_core::{ScheduleId, SpaceId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{AxisStatement, LaunchStatement};

impl Sema<'_> {
    /// Lowers every schedule.
    pub(crate) fn lower_schedules(&mut self) {
        for at in 0..self.schedules.len() {
            let decl = self.schedules[at];
            for (number, member) in decl.members.iter().enumerate() {
                self.lower_statement(at, &decl.members[..number], member);
            }
        }
    }

    fn lower_statement(&mut self, at: usize, before: &[ScheduleMember], member: &ScheduleMember) {
        let span = member.span;
        if let Some(first) = before.iter().find(|earlier| is_again(&earlier.said, &member.said)) {
            let message = match &member.said {
                Said::Axis(_, AxisPolicy::Priority) => "two `PTO_PRIORITY` statements".to_owned(),
                Said::Axis(axis, policy) => {
                    format!("two `{}` statements for axis `{}`", policy.form(), axis.as_str())
                }
                Said::Launch(LaunchPolicy::Gate(_)) => {
                    "two `PTO_PIPELINE_DEPTH` statements of one scope".to_owned()
                }
                Said::Launch(LaunchPolicy::Pools(_)) => "two `PTO_POOLS` statements".to_owned(),
            };
            self.fail(
                Diagnostic::error(codes::DUPLICATE_POLICY, message)
                    .at(span, "again here")
                    .label(first.span, "first here")
                    .help("keep one of them"),
            );
            return;
        }
        let (axis, policy) = match &member.said {
            Said::Launch(policy) => {
                self.module.schedules[at].launch.push(LaunchStatement { policy: *policy, span });
                return;
            }
            Said::Axis(axis, policy) => (axis, policy),
        };
        self.check_some_axis(axis);
        let name = axis.name.to_string();
        let policy = match policy {
            AxisPolicy::Affinity(policy) => AxisPolicy::Affinity(*policy),
            AxisPolicy::Order(policy) => AxisPolicy::Order(*policy),
            AxisPolicy::Prefetch(depth) => AxisPolicy::Prefetch(*depth),
            AxisPolicy::Priority => AxisPolicy::Priority,
            AxisPolicy::Split(split) => {
                let size = |size: &ast::Expr| {
                    let mut b = Body::new(BodyKind::Launch("the size of a split"));
                    self.tile_elements(&mut b, size, &name)
                };
                // Failure is reported where it is found.
                let Ok(split) = split.try_map(size) else { return };
                AxisPolicy::Split(split)
            }
        };
        self.module.schedules[at].axes.push(AxisStatement { axis: name, policy, span });
    }

    /// A schedule names axes, not spaces: some space must have the axis.
    fn check_some_axis(&mut self, axis: &ast::Ident) {
        if self.module.axes.iter().any(|a| a.name == axis.as_str()) {
            return;
        }
        let near = self.suggest(axis.as_str(), self.module.axes.iter().map(|a| a.name.as_str()));
        let d = Diagnostic::error(codes::UNKNOWN_AXIS, format!("no space has an axis `{}`", axis.as_str()))
            .at(axis.span, "unknown axis");
        self.fail(with_suggestion(d, near));
    }

    /// Every axis of a schedule that is applied to a space is an axis of that space.
    pub(crate) fn check_applied(&mut self, schedule: ScheduleId, space: SpaceId, span: Span) {
        let def = &self.module.schedules[schedule.index()];
        let space = &self.module.spaces[space.index()];
        let strangers: Vec<(String, Span)> = def
            .axes
            .iter()
            .map(|statement| (statement.axis.as_str(), statement.span))
            .filter(|(name, _)| !space.axes.iter().any(|a| self.module.axes[a.index()].name == *name))
            .map(|(name, span)| (name.to_owned(), span))
            .collect();
        let (schedule, space) = (def.name.clone(), space.name.clone());
        for (axis, at) in strangers {
            let message =
                format!("schedule `{schedule}` names axis `{axis}`, which space `{space}` does not have");
            self.fail(
                Diagnostic::error(codes::SCHEDULE_MISMATCH, message)
                    .at(at, "this statement has nothing to act on")
                    .label(span, format!("applied to `{space}` here")),
            );
        }
    }
}

/// Whether a statement says what an earlier one has said: of an axis, of the launch, or, of priorities, of another axis.
fn is_again(earlier: &Said, later: &Said) -> bool {
    match (earlier, later) {
        (Said::Axis(_, AxisPolicy::Priority), Said::Axis(_, AxisPolicy::Priority)) => true,
        (Said::Axis(first, of), Said::Axis(second, again)) => {
            first.name == second.name && of.form() == again.form()
        }
        (Said::Launch(LaunchPolicy::Gate(first)), Said::Launch(LaunchPolicy::Gate(second))) => {
            first.scope == second.scope
        }
        (Said::Launch(LaunchPolicy::Pools(_)), Said::Launch(LaunchPolicy::Pools(_))) => true,
        _ => false,
    }
}
