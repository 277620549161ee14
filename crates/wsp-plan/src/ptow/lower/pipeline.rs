//! Pipelines: their channels, processes, and what these send and take.

use super::super::codes;
use super::super::emit::{BodyId, Place};
use super::body::MAX_EXT;
use super::scope::{Binding, InlinedWorkload};
use super::{Lowering, OpenPipeline, PipelineChannel, VarKind};
use crate::flow::uses;
use wsp_core::ptow::Op;
use wsp_core::{ChannelId, VarId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Arm, Block, NodeKind, Process, each_node};

impl<'m> Lowering<'m> {
    /// Writes a pipeline. No other is under way, so its channels are numbered from 0.
    pub(super) fn pipeline(
        &mut self,
        processes: &'m [Process],
        scope: &mut InlinedWorkload<'m>,
        (body, span): (BodyId, Span),
    ) {
        if processes.len() > MAX_EXT {
            return self.report(too_many_processes(
                span,
                "a pipeline has too many processes",
                processes.len(),
            ));
        }
        scope.channels = channels_of(processes);
        self.channels = self.channels.max(scope.channels.len());
        for (number, channel) in (0..).zip(scope.channels.clone()) {
            let depth = &scope.declared(channel).depth;
            let first = self.expr(depth, scope);
            let place = self.instr(body, Op::Channel, 0, (number, first), depth.span);
            self.exprs_at.used_by(place);
        }
        let any = |of: &dyn Fn(&NodeKind) -> bool| {
            let mut found = false;
            processes
                .iter()
                .for_each(|process| each_node(&process.body, &mut |node| found |= of(&node.kind)));
            found
        };
        let channels = scope.channels.iter().map(|channel| PipelineChannel {
            declared: scope.declared(*channel).clone(),
            sends: any(&|kind| matches!(kind, NodeKind::Send { channel: to, .. } if to == channel)),
            closes: any(&|kind| matches!(kind, NodeKind::Close { channel: to } if to == channel)),
            ends: [true, false]
                .map(|sends| processes.iter().position(|process| uses(&process.body, *channel, sends))),
        });
        let channels = channels.collect();
        let word = self.instr(body, Op::Process, processes.len(), (processes.len() as u32, 0), span);
        self.pipelines.push(OpenPipeline {
            place: word,
            processes: processes.iter().map(|process| process.name.clone()).collect(),
            channels,
        });
        let places: Vec<Place> =
            processes.iter().map(|process| self.ext(body, (0, 0), process.span)).collect();
        for (place, process) in places.into_iter().zip(processes) {
            let inner = self.inner(place, &process.body, scope);
            self.bodies.is_process(inner);
        }
    }

    /// Writes what takes a token: of one channel, of the first of several, or again and again.
    pub(super) fn consume(
        &mut self,
        arms: &'m [Arm],
        all: bool,
        scope: &mut InlinedWorkload<'m>,
        (body, span): (BodyId, Span),
    ) {
        if let ([arm], false) = (arms, all) {
            let place = self.instr(body, Op::Recv, 0, (scope.channel(arm.channel), 0), span);
            return self.transfer(place, arm.var, &arm.body, scope);
        }
        if arms.len() > MAX_EXT {
            return self.report(too_many_processes(span, "a `select` has too many arms", arms.len()));
        }
        let op = if all { Op::SelectAll } else { Op::SelectCh };
        self.instr(body, op, arms.len(), (arms.len() as u32, 0), span);
        let places: Vec<Place> =
            arms.iter().map(|arm| self.ext(body, (scope.channel(arm.channel), 0), arm.span)).collect();
        for (place, arm) in places.into_iter().zip(arms) {
            self.transfer(place, arm.var, &arm.body, scope);
        }
    }

    /// Writes the body of what sends or takes a token, whose slot is a variable of it.
    pub(super) fn transfer(
        &mut self,
        place: Place,
        var: VarId,
        block: &'m Block,
        scope: &mut InlinedWorkload<'m>,
    ) {
        let depth = self.enter(scope.name(var), VarKind::Slot, scope.span(var));
        scope.bind(var, Binding::Depth(depth));
        self.inner(place, block, scope);
        self.leave();
    }
}

/// The channels that processes use, in the order of their declaration.
fn channels_of(processes: &[Process]) -> Vec<ChannelId> {
    let mut used = std::collections::BTreeSet::new();
    for process in processes {
        each_node(&process.body, &mut |node| match &node.kind {
            NodeKind::Send { channel, .. } | NodeKind::Close { channel } => {
                used.insert(*channel);
            }
            NodeKind::Consume { arms, .. } => used.extend(arms.iter().map(|arm| arm.channel)),
            _ => {}
        });
    }
    used.into_iter().collect()
}

fn too_many_processes(span: Span, what: &str, count: usize) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, format!("{what} for a program"))
        .at(span, format!("{count}; at most {MAX_EXT} are allowed"))
        .help("let one process do the work of several, or let the host generate the tasks: `--expand host`")
        .python(
            "let one process do the work of several, or let the host generate the tasks: `expand=\"host\"`",
        )
}
