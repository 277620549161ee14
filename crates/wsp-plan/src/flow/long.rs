//! Pipelines that take more steps than are followed: what their rates alone tell.

use super::alone::pipeline;
use super::follow::{Known, Under};
use super::skeleton::Undecided;
use super::{ChannelFlow, PipelineFlow, uses};
use crate::workload::deadlock::{Unbalanced, unbalanced};
use crate::workload::expand::probe::Longest;
use crate::workload::{runs, tokens};
use wsp_core::ChannelId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{
    AxisKind, IntExpr, IntExprKind, Iteration, Node, NodeKind, ParamSource, Process, Workload,
    WorkloadModule, each_node,
};

/// What a parameter is set to that makes a loop short enough.
const SHORT: i64 = 1000;

impl Known<'_> {
    /// A pipeline in which no process can go on, as a channel has fewer tokens than are consumed from it, or more than are consumed and it holds.
    pub(super) fn unbalanced(
        &self,
        found: &PipelineFlow,
        first: ChannelId,
        under: &Under<'_>,
    ) -> Option<Box<Diagnostic>> {
        let NodeKind::Pipeline { processes } = &under.node.kind else { return None };
        let node = pipeline(under.reduced, found.workload, first)?;
        let runs = runs(under.reduced, self.bindings, (found.workload, node), &[])?;
        let of = |channel: &ChannelFlow| {
            let id = channel.channel;
            let [sent, consumed] = [true, false].map(|sends| tokens(under.reduced, self.bindings, id, sends));
            let (sent, consumed) = (sent?, consumed?);
            let depth = self.bindings.channel_depth(found.workload, id);
            let most = consumed.checked_add(runs.checked_mul(u64::from(depth))?)?;
            // A `close` makes one too many consumes another fault.
            if (consumed <= sent && sent <= most) || is_closed(processes, id) {
                return None;
            }
            let [sender, receiver] =
                [true, false].map(|sends| processes.iter().find(|process| uses(&process.body, id, sends)));
            let place = |process: Option<&Process>, sends| transfer(&process?.body, id, sends);
            Some(Box::new(unbalanced(&Unbalanced {
                span: under.node.span,
                channel: &self.module.workloads[found.workload.index()].channels[id.index()],
                ends: [(sender, true), (receiver, false)]
                    .map(|(process, sends)| Some((process?.name.as_str(), place(process, sends)?))),
                counts: [sent, consumed],
                depth,
                runs,
            })))
        };
        found.channels.iter().find_map(of)
    }

    /// That following a pipeline takes more steps than these.
    pub(super) fn too_long(&self, steps: u64, longest: Option<&Longest>) -> Undecided {
        let mut why = format!("following its processes takes more than {steps} steps");
        let Some(Longest { span, var, remaining }) = longest else {
            return Undecided { span: Span::default(), why, is_long: true };
        };
        why += &format!(", after which `{var}` has {remaining} iterations left");
        let all = self.module.workloads.iter();
        let mut param = None;
        all.for_each(|workload| {
            each_node(&workload.body, &mut |node| {
                if is_over(workload, node, *span) && param.is_none() {
                    param = bounds(self.module, node).find_map(|expr| settable(self.module, expr));
                }
            });
        });
        let of = |expr: &IntExpr| self.bindings.evaluate(self.module, expr, &[]).ok();
        match param.filter(|param| of(param).is_some_and(|value| value > SHORT)) {
            Some(IntExpr { kind: IntExprKind::Param(id), .. }) => {
                let name = &self.module.params[id.index()].name;
                why += &format!("; `--set {name}={SHORT}` follows fewer");
            }
            _ => why += "; a loop of fewer is followed",
        }
        Undecided { span: *span, why, is_long: true }
    }
}

/// Whether a process closes a channel.
fn is_closed(processes: &[Process], channel: ChannelId) -> bool {
    let mut closed = false;
    processes.iter().for_each(|process| {
        each_node(&process.body, &mut |node| {
            closed |= matches!(node.kind, NodeKind::Close { channel: of } if of == channel);
        });
    });
    closed
}

/// Where a process first sends to a channel, or consumes from it.
fn transfer(block: &[Node], channel: ChannelId, sends: bool) -> Option<Span> {
    let mut found = None;
    each_node(block, &mut |node| {
        let place = match &node.kind {
            NodeKind::Send { channel: of, .. } if sends && *of == channel => Some(node.span),
            NodeKind::Consume { arms, .. } if !sends => {
                arms.iter().find(|arm| arm.channel == channel).map(|arm| arm.span)
            }
            _ => None,
        };
        found = found.or(place);
    });
    found
}

/// Whether a statement is the loop whose variable stands there.
fn is_over(workload: &Workload, node: &Node, span: Span) -> bool {
    match &node.kind {
        NodeKind::ParallelFor { var, .. } | NodeKind::ForEach { var, .. } => {
            workload.vars[var.index()].span == span
        }
        _ => false,
    }
}

/// The expressions that say how often a loop repeats.
fn bounds<'m>(module: &'m WorkloadModule, node: &'m Node) -> impl Iterator<Item = &'m IntExpr> {
    let axis = match &node.kind {
        NodeKind::ParallelFor { over: Iteration::Axis(axis), .. }
        | NodeKind::ForEach { over: Iteration::Axis(axis), .. } => Some(&module.axes[axis.index()].kind),
        _ => None,
    };
    let of_axis = match axis {
        Some(AxisKind::Dense { start, end }) => vec![end, start],
        _ => Vec::new(),
    };
    node.kind.exprs().into_iter().chain(of_axis)
}

/// The first parameter on which an expression depends that can be set.
fn settable(module: &WorkloadModule, expr: &IntExpr) -> Option<IntExpr> {
    let mut found = None;
    expr.each(&mut |kind| {
        if let (IntExprKind::Param(id), None) = (kind, &found) {
            found = match &module.params[id.index()].source {
                ParamSource::Set(_) => Some(IntExpr::new(IntExprKind::Param(*id))),
                ParamSource::Derived(value) => settable(module, value),
            };
        }
    });
    found
}
