//! Consumes that never end: of all tokens of a channel that they feed themselves, or that others feed which never end, and that nothing closes before.

use super::{error, rule};
use crate::workload::{Arm, Block, Iteration, Node, NodeKind, Workload, WorkloadModule, each_node};
use wsp_core::{ChannelId, WorkloadId};
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::OrderedMap;

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
    let mut walk = Walk {
        module,
        decides,
        all,
        closes: Vec::new(),
        takes: Vec::new(),
        seen: Vec::new(),
        found: Vec::new(),
    };
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
    /// Of the pipeline under way.
    takes: Vec<Takes>,
    /// Workloads that were looked at, and whether they run.
    seen: Vec<(WorkloadId, bool)>,
    found: Vec<Diagnostic>,
}

/// What takes tokens until its channels are closed.
struct Takes {
    span: Span,
    from: Vec<ChannelId>,
    /// The sends in it to channels that are not closed before it ends.
    feeds: Vec<(ChannelId, Span)>,
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
                        self.takes(arms, node.span);
                    }
                    if let NodeKind::Pipeline { .. } = kind {
                        let takes = std::mem::take(&mut self.takes);
                        self.fed(workload, &takes);
                    }
                }
            }
        }
    }

    fn takes(&mut self, arms: &[Arm], span: Span) {
        let mut feeds = Vec::new();
        for arm in arms {
            each_node(&arm.body, &mut |node| {
                if let NodeKind::Send { channel, .. } = &node.kind
                    && !self.closes.contains(channel)
                {
                    feeds.push((*channel, node.span));
                }
            });
        }
        self.takes.push(Takes { span, from: arms.iter().map(|arm| arm.channel).collect(), feeds });
    }

    /// Reports those that feed themselves, or each other round and round, while nothing closes what they take from.
    fn fed(&mut self, workload: &Workload, takes: &[Takes]) {
        // A channel is taken from by what waits for those that feed it.
        let mut feeding: OrderedMap<ChannelId, Vec<(usize, Span)>> = OrderedMap::new();
        for (at, of) in takes.iter().enumerate() {
            for (channel, span) in &of.feeds {
                feeding.entry(*channel).or_default().push((at, *span));
            }
        }
        let waits = |at: usize| {
            let from = takes[at].from.iter();
            from.flat_map(|channel| feeding.get(channel).into_iter().flatten().map(|of| (*channel, *of)))
        };
        let mut seen = vec![false; takes.len()];
        for start in 0..takes.len() {
            // Each with the sends that it is fed by and were not looked at, last first.
            let open = |at: usize| waits(at).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>();
            let mut path = Vec::new();
            if !std::mem::replace(&mut seen[start], true) {
                path.push((start, open(start), None));
            }
            while let Some((_, left, by)) = path.last_mut() {
                let Some((channel, (next, send))) = left.pop() else {
                    path.pop();
                    continue;
                };
                *by = Some((channel, send));
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, open(next), None));
                } else if let Some(from) = path.iter().position(|(at, ..)| *at == next) {
                    let circle =
                        path[from..].iter().filter_map(|(at, _, by)| Some((takes[*at].span, (*by)?)));
                    self.never_ends(workload, &circle.collect::<Vec<_>>());
                    break;
                }
            }
        }
    }

    /// Each of a circle, with the channel that it takes from and the send of the next that feeds it.
    fn never_ends(&mut self, workload: &Workload, circle: &[(Span, (ChannelId, Span))]) {
        let [(span, (channel, _)), ..] = circle else { return };
        let name = |channel: ChannelId| workload.channels[channel.index()].written(true);
        let first = name(*channel);
        let mut diagnostic = error(rule::CHANNEL, *span, format!("this never ends: `{first}` is not closed"));
        for (_, (channel, send)) in circle {
            let label = match circle {
                [_] => "sends to it in the same process, which alone may close it".to_owned(),
                _ => format!(
                    "sends to `{}`, which may be closed only behind what this stands in",
                    name(*channel)
                ),
            };
            diagnostic = diagnostic.label(*send, label);
        }
        if circle.len() > 1 {
            diagnostic =
                diagnostic.note("each of them waits for the next to end, and the last for the first");
        }
        let diagnostic = diagnostic
            .note("it takes tokens until its channels are closed and empty")
            .help(format!("close `{first}` where the last token is sent, or `consume` as many as there are"))
            .python(format!(
                "write `{first}.close()` where the last tile is sent, or consume as many as there are"
            ));
        if !self.found.contains(&diagnostic) {
            self.found.push(diagnostic);
        }
    }
}
