//! Pipelines before a run: how often processes send and consume, whether all of them end, and which depths of channels that takes.
//!
//! Whether a process can go on depends on how many tokens there are, and not on the tasks that are generated. So a module without its tasks
//! ([`skeleton`]) has the deadlocks of the module, and its processes are run as those of a launch are. Without a `select` over several channels a
//! pipeline is a network of Kahn (*The semantics of a simple language for parallel programming*, 1974): which tokens go through a channel does
//! not depend on turns, and deeper channels never make a deadlock.

mod alone;
mod cover;
mod depths;
mod follow;
mod least;
mod lines;
mod long;
mod rate;
mod replay;
mod skeleton;

use crate::ParamValue;
use crate::workload::{bind, codes};
use follow::Known;
use rate::rates;
pub use skeleton::Undecided;
use wsp_core::{ChannelId, WorkloadId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::verify::CHANNEL;
use wsp_ir::workload::{IntExpr, Node, NodeKind, Process, WorkloadModule, each_node};
use wsp_ordered::OrderedMap;

/// What is known of the pipelines of a module.
#[derive(Debug)]
pub struct Flow {
    /// Pipelines in the order of the text.
    pub pipelines: Vec<PipelineFlow>,
    /// Whether they come to their end.
    pub verdict: Verdict,
}

/// A pipeline.
#[derive(Debug)]
pub struct PipelineFlow {
    /// Whose it is.
    pub workload: WorkloadId,
    /// Where it stands.
    pub span: Span,
    /// The channels that its processes use.
    pub channels: Vec<ChannelFlow>,
    /// What of it only a run tells.
    pub undecided: Option<Undecided>,
    /// Whether its processes end; none where only a run tells.
    pub ends: Option<bool>,
    /// How often it runs in a launch; none where only a run tells.
    pub runs: Option<u64>,
    /// Depths that are not known, `at least` or `throughput`, and why.
    pub unknown: Vec<(&'static str, Undecided)>,
    /// Depths whose search was given up, `at least` or `throughput`, and what was found so far.
    pub enough: Vec<(&'static str, Enough)>,
}

/// A channel of a pipeline.
#[derive(Debug)]
pub struct ChannelFlow {
    /// It among the channels of its workload.
    pub channel: ChannelId,
    /// Tokens that one run of the pipeline sends, over parameters; none where that depends on more.
    pub sends: Option<IntExpr>,
    /// Tokens that it consumes.
    pub consumes: Option<IntExpr>,
    /// Tokens sent and consumed with the values that are known: over all runs of the pipeline, or in one where it is not known how many there are.
    pub counted: Option<(u64, u64)>,
    /// What the two rates are, with the values that are known.
    pub once: [Option<i64>; 2],
    /// Its depth, with the values that are known.
    pub depth: Option<u32>,
    /// Its depth among those of the smallest sum with which every process ends.
    pub least: Option<u32>,
    /// Its depth among those of the smallest sum with which the last process ends as early as with channels that hold all tokens, where each does one
    /// thing after the other and every kernel has a cost.
    pub throughput: Option<u32>,
}

/// Depths that are enough, where those of the smallest sum are not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enough {
    /// The channels with their depths, none of which can be one less.
    pub depths: Vec<(ChannelId, u32)>,
    /// Their sum, and what the smallest one is at least.
    pub sum: u64,
    /// The smallest sum is this or more.
    pub from: u64,
    /// The steps that the search took.
    pub steps: u64,
}

/// Whether the processes of all pipelines end.
#[derive(Debug)]
pub enum Verdict {
    /// They do.
    Ends,
    /// None can go on.
    Deadlock(Box<Diagnostic>),
    /// Only a run tells, of one of them at least; the others end.
    Undecided(Undecided),
    /// A channel cannot have the depth that it is given.
    Refused(Vec<Diagnostic>),
}

/// What is known of the pipelines of a verified module with these values; none where there are no pipelines, or other values than depths are at
/// fault.
pub fn flow(module: &WorkloadModule, set: &[(String, ParamValue)]) -> Option<Flow> {
    flow_within(module, set, FOLLOWED)
}

/// Looks at whether to go on, one for each 1,024 steps (transfers, waits and iterations), for which the pipelines of a module are followed.
pub const FOLLOWED: u32 = 1 << 14;

/// As [`flow`], with at most so many looks at pipelines as they are, of which each has its share.
pub fn flow_within(module: &WorkloadModule, set: &[(String, ParamValue)], looks: u32) -> Option<Flow> {
    let entry = module.entry?;
    if !skeleton::pipelined(module)[entry.index()] {
        return None;
    }
    let mut skeleton = skeleton::skeleton(module, set);
    let mut found = Flow { pipelines: pipelines(&skeleton.module, entry), verdict: Verdict::Ends };
    for pipeline in &mut found.pipelines {
        let own = skeleton.within.iter().find(|(span, _)| *span == pipeline.span);
        pipeline.undecided = own.map(|(_, undecided)| undecided.clone());
    }
    // Of the others nothing is known, and what stands for values is none that could be at fault.
    skeleton.leave_decided();
    let bindings = match bind(&skeleton.module, set, &OrderedMap::new()) {
        Ok(bindings) => bindings,
        Err(mut faults) => {
            faults.retain(|fault| [codes::CHANNEL_DEPTH, CHANNEL].contains(&fault.code));
            found.verdict = Verdict::Refused(faults);
            return Some(found);
        }
    };
    let counting = skeleton::unreduced(module, &skeleton.module);
    let known = Known { module, set, looks, bindings: &bindings, counting: &counting, open: &skeleton.open };
    found.verdict = known.follow(skeleton.module, &mut found.pipelines)?;
    Some(found)
}

impl Flow {
    /// What keeps a launch from its end that has these values, whatever the others are: depths that channels cannot have, and the deadlock of a
    /// pipeline. One that may not run, as a loop or a condition stands around it, is a warning.
    pub fn faults(&self) -> Vec<Diagnostic> {
        match &self.verdict {
            Verdict::Refused(faults) => faults.clone(),
            Verdict::Deadlock(fault) => vec![Diagnostic::clone(fault)],
            Verdict::Ends | Verdict::Undecided(_) => Vec::new(),
        }
    }

    /// Warnings of channels in which tokens are left.
    pub fn left(&self, module: &WorkloadModule) -> Vec<Diagnostic> {
        let channels = self
            .pipelines
            .iter()
            .flat_map(|of| of.channels.iter().map(move |channel| (of.workload, channel)));
        let left = channels.filter_map(|(workload, flow)| {
            let (sent, consumed) = flow.counted.filter(|(sent, consumed)| sent != consumed)?;
            let channel = &module.workloads[workload.index()].channels[flow.channel.index()];
            let message = format!(
                "tokens are left in channel `{}`: {sent} are sent and {consumed} consumed",
                channel.shown()
            );
            let found = Diagnostic::warning(codes::LEFT_TOKENS, message).at(channel.span, "");
            Some(found.note("with the values of this launch").help("consume as often as is sent"))
        });
        left.collect()
    }
}

/// The pipelines of the workloads that run.
fn pipelines(module: &WorkloadModule, entry: WorkloadId) -> Vec<PipelineFlow> {
    let mut found = Vec::new();
    for (at, reached) in (0u32..).zip(module.reached(entry)) {
        if reached {
            each_node(&module.workloads[at as usize].body, &mut |node| {
                if let NodeKind::Pipeline { processes } = &node.kind {
                    let workload = WorkloadId(at);
                    let channels = channels(module, processes);
                    found.push(PipelineFlow {
                        workload,
                        span: node.span,
                        channels,
                        undecided: None,
                        ends: None,
                        runs: None,
                        unknown: Vec::new(),
                        enough: Vec::new(),
                    });
                }
            });
        }
    }
    found
}

fn channels(module: &WorkloadModule, processes: &[Process]) -> Vec<ChannelFlow> {
    // At each end of a channel there is one process.
    let mut used: OrderedMap<ChannelId, [Option<IntExpr>; 2]> = OrderedMap::new();
    for process in processes {
        for ((channel, sends), rate) in rates(module, &process.body) {
            let ends = used.entry(channel).or_insert_with(|| [Some(0.into()), Some(0.into())]);
            // Arguments of the workload have no names here.
            ends[usize::from(!sends)] = rate.filter(|rate| !skeleton::names_any(rate));
        }
    }
    let flow = |(channel, [sends, consumes]): (_, [_; 2])| ChannelFlow {
        channel,
        sends,
        consumes,
        counted: None,
        once: [None; 2],
        depth: None,
        least: None,
        throughput: None,
    };
    used.into_iter().map(flow).collect()
}

/// Whether a process sends to a channel or closes it, or consumes from it.
pub(crate) fn uses(block: &[Node], channel: ChannelId, sends: bool) -> bool {
    let mut found = false;
    each_node(block, &mut |node| {
        found |= match &node.kind {
            NodeKind::Send { channel: to, .. } | NodeKind::Close { channel: to } => sends && *to == channel,
            NodeKind::Consume { arms, .. } => !sends && arms.iter().any(|arm| arm.channel == channel),
            _ => false,
        };
    });
    found
}
