//! `PTO_SCHEDULE`.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::names::{quoted, with_suggestion};
use crate::ast::{self, Said, ScheduleMember};
use wsp_core::policy::{AxisPolicy, LaunchPolicy, LayoutDim};
use wsp_core::{ScheduleId, SpaceId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{AxisStatement, LaunchStatement, Layout, LayoutStatement};

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
                Said::Launch(LaunchPolicy::Grid(_)) => "two `PTO_SPATIAL_MAP` statements".to_owned(),
                Said::Layout { tensor, where_read, .. } => {
                    format!("two `{}` statements for `{}`", layout_form(*where_read), tensor.as_str())
                }
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
            Said::Layout { tensor, dims, where_read } => {
                self.lower_layout(at, tensor, dims, *where_read, span);
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

    /// A layout is of a tensor of the file, says something of each dimension, and has each axis of the grid of its schedule once.
    fn lower_layout(
        &mut self,
        at: usize,
        tensor: &ast::Ident,
        dims: &[LayoutDim],
        where_read: bool,
        span: Span,
    ) {
        let layout = Layout::new(tensor.as_str(), dims, tensor.span);
        let form = layout_form(where_read);
        let members = &self.schedules[at].members;
        if !members.iter().any(|member| matches!(member.said, Said::Launch(LaunchPolicy::Grid(_)))) {
            let message = format!("`{form}` has no effect without `PTO_SPATIAL_MAP`");
            let fault = Diagnostic::error(codes::BAD_LAYOUT, message).at(span, "there is no grid");
            self.fail(fault.help("add the grid to the schedule, such as `PTO_SPATIAL_MAP(4, 2)`"));
            return;
        }
        let Some(known) = self.module.tensors.iter().find(|known| known.name == layout.tensor) else {
            let near = self.suggest(tensor.as_str(), self.module.tensors.iter().map(|t| t.name.as_str()));
            let message = format!("there is no tensor `{}`", layout.tensor);
            let fault = Diagnostic::error(codes::BAD_LAYOUT, message).at(tensor.span, "unknown tensor");
            let known: Vec<&str> = self.module.tensors.iter().map(|t| t.name.as_str()).collect();
            let fault = match near {
                None if known.is_empty() => {
                    fault.help(format!("declare it: `PTO_SHAPE({}, …)`", layout.tensor))
                }
                None => fault.help(format!("the tensors are {}", quoted(&known))),
                near => with_suggestion(fault, near),
            };
            self.fail(fault);
            return;
        };
        if let Some((message, help)) = layout.fault(known.rank()) {
            let help = help.replace("replicate", "PTO_REPLICATE").replace("shard", "PTO_SHARD");
            let at = known.span;
            let fault = Diagnostic::error(codes::BAD_LAYOUT, message).at(span, "").help(help);
            self.fail(fault.label(at, "the tensor"));
            return;
        }
        self.module.schedules[at].layouts.push(LayoutStatement { layout, where_read, span });
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

fn layout_form(where_read: bool) -> &'static str {
    if where_read { "PTO_RELAYOUT" } else { "PTO_LAYOUT" }
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
        (Said::Launch(LaunchPolicy::Pools(_)), Said::Launch(LaunchPolicy::Pools(_)))
        | (Said::Launch(LaunchPolicy::Grid(_)), Said::Launch(LaunchPolicy::Grid(_))) => true,
        (
            Said::Layout { tensor: first, where_read: of, .. },
            Said::Layout { tensor: second, where_read: again, .. },
        ) => first.name == second.name && of == again,
        _ => false,
    }
}
