//! Consumes that never end: of all tokens of a channel that the same process sends to and nothing closes.

use super::{error, rule};
use crate::workload::{Arm, Block, Iteration, Node, NodeKind, Workload, WorkloadModule, each_node};
use wsp_core::{ChannelId, WorkloadId};
use wsp_diag::{Diagnostic, Span};

/// Of a statement, whether its first block, which may have a second one beside it, runs where the statement does; none where that is not known.
pub type Decides<'d> = dyn Fn(&Node) -> Option<bool> + 'd;

/// What `decides` where no value is known: ranges of numbers.
pub(super) fn by_numbers(node: &Node) -> Option<bool> {
    let NodeKind::ParallelFor { over: Iteration::Range { lo, hi, .. }, .. } = &node.kind else { return None };
    Some(lo.as_const()? < hi.as_const()?)
}

/// The consumes that never end in a module of which nothing else is wrong: those that run by what `decides`, and, where it does not decide and
/// `all` says so, those that may run.
pub fn endless(module: &WorkloadModule, decides: &Decides<'_>, all: bool) -> Vec<Diagnostic> {
    let mut walk = Walk { module, decides, all, closes: Vec::new(), seen: Vec::new(), found: Vec::new() };
    if let Some(entry) = module.entry {
        walk.workload(entry, true);
    }
    walk.found
}

struct Walk<'w> {
    module: &'w WorkloadModule,
    decides: &'w Decides<'w>,
    all: bool,
    /// Channels of the workload under way that a statement before may close.
    closes: Vec<ChannelId>,
    /// Workloads that were looked at, and whether they run.
    seen: Vec<(WorkloadId, bool)>,
    found: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn workload(&mut self, id: WorkloadId, runs: bool) {
        if self.seen.contains(&(id, runs)) || self.seen.contains(&(id, true)) {
            return;
        }
        self.seen.push((id, runs));
        let closes = std::mem::take(&mut self.closes);
        let workload = &self.module.workloads[id.index()];
        self.block(workload, &workload.body, runs);
        self.closes = closes;
    }

    fn block(&mut self, workload: &Workload, block: &Block, runs: bool) {
        for node in block {
            match &node.kind {
                NodeKind::Close { channel } => self.closes.push(*channel),
                NodeKind::Call { workload, .. } => self.workload(*workload, runs),
                kind => {
                    let decided = match kind {
                        NodeKind::Pipeline { .. }
                        | NodeKind::Combine(_)
                        | NodeKind::Sequential(_)
                        | NodeKind::Send { .. } => Some(true),
                        NodeKind::Consume { arms, all } if arms.len() == 1 && !all => Some(true),
                        _ => (self.decides)(node),
                    };
                    let is_cond = matches!(kind, NodeKind::Cond { .. });
                    for (at, body) in kind.bodies().into_iter().enumerate() {
                        let here = decided.map(|first| if is_cond { first == (at == 0) } else { first });
                        if here != Some(false) {
                            self.block(workload, body, runs && here == Some(true));
                        }
                    }
                    if let NodeKind::Consume { arms, all: true } = kind
                        && (runs || self.all)
                    {
                        self.fed(workload, arms, node.span);
                    }
                }
            }
        }
    }

    /// Reports what takes tokens until a channel is closed, and sends to it while nothing closes it.
    fn fed(&mut self, workload: &Workload, arms: &[Arm], span: Span) {
        let mut sends = Vec::new();
        for arm in arms {
            each_node(&arm.body, &mut |node| {
                if let NodeKind::Send { channel, .. } = &node.kind {
                    sends.push((*channel, node.span));
                }
            });
        }
        let open = |(channel, _): &&(ChannelId, Span)| {
            arms.iter().any(|arm| arm.channel == *channel) && !self.closes.contains(channel)
        };
        let Some((channel, send)) = sends.iter().find(open) else { return };
        let name = workload.channels[channel.index()].written(true);
        let diagnostic = error(rule::CHANNEL, span, format!("this never ends: `{name}` is not closed"))
            .label(*send, "sends to it in the same process, which alone may close it")
            .note("it takes tokens until its channels are closed and empty")
            .help(format!("close `{name}` where the last token is sent, or `consume` as many as there are"))
            .python(format!(
                "write `{name}.close()` where the last tile is sent, or consume as many as there are"
            ));
        if !self.found.contains(&diagnostic) {
            self.found.push(diagnostic);
        }
    }
}
