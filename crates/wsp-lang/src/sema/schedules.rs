//! `PTO_SCHEDULE`.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::names::with_suggestion;
use crate::ast::{self, ScheduleMember};
use std::rc::Rc;
use wsp_core::{ScheduleId, SpaceId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Affinity, Order, Prefetch, Split};

impl Sema<'_> {
    /// Lowers every schedule.
    pub(crate) fn lower_schedules(&mut self) {
        for at in 0..self.schedules.len() {
            let decl = self.schedules[at];
            let mut seen: Vec<(u8, Rc<str>, Span)> = Vec::new();
            for member in &decl.members {
                self.lower_policy(at, member, &mut seen);
            }
        }
    }

    fn lower_policy(&mut self, at: usize, member: &ScheduleMember, seen: &mut Vec<(u8, Rc<str>, Span)>) {
        let (kind, form, axis, span) = match member {
            ScheduleMember::Affinity(s) => (0, "PTO_AFFINITY", &s.axis, s.span),
            ScheduleMember::Order(s) => (1, "PTO_ORDER", &s.axis, s.span),
            ScheduleMember::Prefetch(s) => (2, "PTO_PREFETCH", &s.axis, s.span),
            ScheduleMember::Split(s) => (3, "PTO_SPLIT", &s.axis, s.span),
        };
        if let Some((_, _, earlier)) = seen.iter().find(|(k, name, _)| *k == kind && *name == axis.name) {
            let message = format!("two `{form}` statements for axis `{}`", axis.as_str());
            let earlier = *earlier;
            self.fail(
                Diagnostic::error(codes::DUPLICATE_POLICY, message)
                    .at(span, "again here")
                    .label(earlier, "first here")
                    .help("keep one of them"),
            );
            return;
        }
        seen.push((kind, axis.name.clone(), span));
        self.check_some_axis(axis);
        let axis = axis.name.to_string();
        if let ScheduleMember::Split(s) = member {
            let size = |size: &ast::Expr| {
                let mut b = Body::new(BodyKind::Launch("the size of a split"));
                self.tile_elements(&mut b, size, &axis)
            };
            // Failure is reported where it is found.
            if let Ok(policy) = s.policy.try_map(size) {
                self.module.schedules[at].split.push(Split { axis, policy, span });
            }
            return;
        }
        let schedule = &mut self.module.schedules[at];
        match member {
            ScheduleMember::Split(_) => {}
            ScheduleMember::Affinity(s) => schedule.affinity.push(Affinity { axis, policy: s.policy, span }),
            ScheduleMember::Order(s) => schedule.order.push(Order { axis, policy: s.policy, span }),
            ScheduleMember::Prefetch(s) => schedule.prefetch.push(Prefetch { axis, depth: s.depth, span }),
        }
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
        let affinity = def.affinity.iter().map(|s| (s.axis.as_str(), s.span));
        let order = def.order.iter().map(|s| (s.axis.as_str(), s.span));
        let prefetch = def.prefetch.iter().map(|s| (s.axis.as_str(), s.span));
        let split = def.split.iter().map(|s| (s.axis.as_str(), s.span));
        let strangers: Vec<(String, Span)> = affinity
            .chain(order)
            .chain(prefetch)
            .chain(split)
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
