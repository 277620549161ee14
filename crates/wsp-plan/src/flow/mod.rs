//! Pipelines before a run: how often processes send and consume, whether all of them end, and which depths of channels that takes.
//!
//! Whether a process can go on depends on how many tokens there are, and not on the tasks that are generated. So a module without its tasks
//! ([`skeleton`]) has the deadlocks of the module, and its processes are run as those of a launch are. Without a `select` over several channels a
//! pipeline is a network of Kahn (*The semantics of a simple language for parallel programming*, 1974): which tokens go through a channel does
//! not depend on turns, and deeper channels never make a deadlock.

mod least;
mod rate;
mod skeleton;

use crate::ParamValue;
use crate::workload::expand::probe::{End, Probe, probe};
use crate::workload::{Bindings, bind, codes};
use rate::rate;
pub use skeleton::Undecided;
use std::cell::Cell;
use wsp_core::{ChannelId, WorkloadId};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::workload::text::print_expr;
use wsp_ir::workload::verify::CHANNEL;
use wsp_ir::workload::{Block, IntExpr, NodeKind, Process, Workload, WorkloadModule, each_node};
use wsp_ordered::OrderedMap;

/// Looks at whether to go on, each after 1,024 transfers and iterations: of the pipelines as they are, and of the search for least depths.
const LOOKS: u32 = 1 << 11;

/// What is known of the pipelines of a module.
#[derive(Debug)]
pub struct Flow {
    /// Pipelines in the order of the text.
    pub pipelines: Vec<PipelineFlow>,
    /// Whether they come to their end.
    pub verdict: Verdict,
    /// Depths whose search was given up, as it takes too many transfers: `at least`, `throughput`.
    pub given_up: Vec<&'static str>,
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
    /// Tokens sent and consumed with the values that are known, over all runs.
    pub counted: Option<(u64, u64)>,
    /// What the two rates are, with the values that are known.
    pub once: [Option<i64>; 2],
    /// Its depth, with the values that are known.
    pub depth: Option<u32>,
    /// Its depth among those of the smallest sum with which every process ends.
    pub least: Option<u32>,
    /// Its depth among those of the smallest sum with which all processes end as early as with channels that hold all tokens, where each does one thing
    /// after the other and every kernel has a cost.
    pub throughput: Option<u32>,
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
    let entry = module.entry?;
    if !skeleton::pipelined(module)[entry.index()] {
        return None;
    }
    let skeleton = skeleton::skeleton(module, set);
    let mut found =
        Flow { pipelines: pipelines(&skeleton.module, entry), verdict: Verdict::Ends, given_up: Vec::new() };
    for pipeline in &mut found.pipelines {
        let own = skeleton.within.iter().find(|(span, _)| *span == pipeline.span);
        pipeline.undecided = own.map(|(_, undecided)| undecided.clone());
    }
    let looks = Cell::new(LOOKS);
    let bindings = match bind(&skeleton.module, set, &OrderedMap::new()) {
        Ok(bindings) => bindings,
        Err(mut faults) => {
            // Others may come of values that stand for those that are not known.
            let is_whole = skeleton.undecided.is_none() && skeleton.within.is_empty();
            faults.retain(|fault| fault.code == codes::CHANNEL_DEPTH || is_whole && fault.code == CHANNEL);
            found.verdict = Verdict::Refused(faults);
            return Some(found);
        }
    };
    if let Some(undecided) = skeleton.undecided {
        found.verdict = Verdict::Undecided(undecided);
        return Some(found);
    }
    let reduced = skeleton.decided();
    let Probe { counts, end } = probe(&reduced, &bindings, &looks);
    found.verdict = match end {
        End::Ended => match skeleton.within.into_iter().next() {
            Some((_, undecided)) => Verdict::Undecided(undecided),
            None => Verdict::Ends,
        },
        End::Deadlock { diagnostic, .. } => Verdict::Deadlock(diagnostic),
        // Of a fault the expansion tells, which comes to it in its turn.
        End::Fault => return None,
        End::Slot | End::Long => {
            let why = format!("it takes more than {} transfers", LOOKS * 1024);
            Verdict::Undecided(Undecided { span: Span::default(), why })
        }
    };
    let all_end = matches!(found.verdict, Verdict::Ends);
    let ended = all_end || found.undecided_within();
    let is_determinate = is_determinate(&reduced);
    let least = if is_determinate { least::depths(&reduced, &bindings, &looks) } else { None };
    let is_spent = |depths: &Option<_>| depths.is_none() && looks.get() == 0;
    found.given_up.extend((is_determinate && is_spent(&least)).then_some("at least"));
    // What tasks cost is known where everything is.
    let throughput = (all_end && is_determinate && !skeleton::costs_by_slot(module)).then(|| {
        let module = skeleton::without_regions(module);
        let bindings = bind(&module, set, &OrderedMap::new()).ok()?;
        least::throughput(&module, &bindings, &counts, &looks)
    });
    let timed = throughput.as_ref().filter(|depths| is_spent(depths) && skeleton::has_costs(module));
    found.given_up.extend(timed.map(|_| "throughput"));
    let throughput = throughput.flatten();
    for pipeline in found.pipelines.iter_mut().filter(|pipeline| pipeline.undecided.is_none()) {
        for channel in &mut pipeline.channels {
            let (workload, id) = (pipeline.workload, channel.channel);
            channel.depth = Some(bindings.channel_depth(workload, id));
            let rates = [&channel.sends, &channel.consumes].map(Option::as_ref);
            channel.once = rates.map(|rate| bindings.evaluate(&reduced, rate?, &[]).ok());
            channel.least = least.as_ref().map(|least| least[workload.index()][id.index()]);
            channel.throughput = throughput.as_ref().map(|depths| depths[workload.index()][id.index()]);
            let count = counts.iter().find(|count| (count.workload, count.channel) == (workload, id));
            channel.counted = count.filter(|_| ended).map(|count| (count.sent, count.consumed));
        }
    }
    Some(found)
}

impl Flow {
    /// Whether pipelines are undecided by what stands in them, and not by what stands around.
    fn undecided_within(&self) -> bool {
        let Verdict::Undecided(found) = &self.verdict else { return false };
        self.pipelines.iter().any(|pipeline| pipeline.undecided.as_ref() == Some(found))
    }

    /// What keeps a launch from its end that has these values, whatever the others are: depths that channels cannot have, and the deadlock of a
    /// pipeline. One that may not run, as a loop or a condition stands around it, is a warning.
    pub fn faults(&self, module: &WorkloadModule) -> Vec<Diagnostic> {
        match &self.verdict {
            Verdict::Refused(faults) => faults.clone(),
            Verdict::Deadlock(fault) => {
                let entry = module.entry.map(|entry| &module.workloads[entry.index()].body);
                let runs = entry.is_some_and(|body| runs_all(module, body));
                let severity = if runs { Severity::Error } else { Severity::Warning };
                vec![Diagnostic { severity, ..Diagnostic::clone(fault) }]
            }
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
                channel.name
            );
            let found = Diagnostic::warning(codes::LEFT_TOKENS, message).at(channel.span, "");
            Some(found.note("with the values of this launch").help("consume as often as is sent"))
        });
        left.collect()
    }

    /// A line for each pipeline and each channel, with the lines of the text that `line` tells.
    pub fn lines(&self, module: &WorkloadModule, line: impl Fn(Span) -> u32) -> Vec<String> {
        let mut lines = Vec::new();
        let undecided = |found: &Undecided| match found.span == Span::default() {
            true => format!(": undecided, a run tells: {}", found.why),
            false => {
                let line = line(found.span);
                format!(": undecided here, a run tells: line {line} needs a value, and {}", found.why)
            }
        };
        // What is said of all of them is said once.
        let mut first = true;
        for pipeline in &self.pipelines {
            let workload = &module.workloads[pipeline.workload.index()];
            let says = match (&pipeline.undecided, &self.verdict) {
                (Some(found), _) => undecided(found),
                (None, Verdict::Ends) => ": every process ends".to_owned(),
                (None, Verdict::Undecided(_)) if self.undecided_within() => ": every process ends".to_owned(),
                (None, Verdict::Deadlock(found)) => match &found.primary {
                    Some(label) if label.span != pipeline.span => String::new(),
                    _ => ": no process can go on where it runs".to_owned(),
                },
                (None, Verdict::Undecided(found)) if std::mem::take(&mut first) => undecided(found),
                (None, Verdict::Undecided(_) | Verdict::Refused(_)) => String::new(),
            };
            lines.push(format!("pipeline in line {} of `{}`{says}", line(pipeline.span), workload.name));
            lines.extend(pipeline.channels.iter().map(|channel| channel.line(module, workload)));
        }
        let most = LOOKS * 1024;
        let given_up =
            |of: &&str| format!("depths `{of}` are not known: their search takes more than {most} transfers");
        lines.extend(self.given_up.iter().map(given_up));
        lines
    }
}

impl ChannelFlow {
    fn line(&self, module: &WorkloadModule, workload: &Workload) -> String {
        let rate = |rate: &Option<IntExpr>, count: Option<u64>, end: usize| match (rate, count) {
            (Some(rate), Some(count)) => {
                let once = self.once[end].and_then(|once| u64::try_from(once).ok());
                match (print_expr(module, rate), rate.as_const()) {
                    (text, Some(_)) if once == Some(count) => text,
                    (text, None) if once == Some(count) => format!("{text} = {count}"),
                    (text, Some(_)) => format!("{text} at a time, {count} in all"),
                    (text, None) => format!("{text}, {count} in all"),
                }
            }
            (Some(rate), None) => print_expr(module, rate),
            (None, Some(count)) => count.to_string(),
            (None, None) => "?".to_owned(),
        };
        let channel = &workload.channels[self.channel.index()];
        let (sent, consumed) = (self.counted.map(|of| of.0), self.counted.map(|of| of.1));
        let depth = self.depth.map_or(print_expr(module, &channel.depth), |depth| depth.to_string());
        let least = self.least.map_or(String::new(), |least| format!(", at least {least}"));
        let throughput = self.throughput.map_or(String::new(), |depth| format!(", throughput from {depth}"));
        format!(
            "  {}: {} sent, {} consumed, depth {depth}{least}{throughput}",
            channel.name,
            rate(&self.sends, sent, 0),
            rate(&self.consumes, consumed, 1)
        )
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
                    let channels = channels(module, workload, processes);
                    found.push(PipelineFlow { workload, span: node.span, channels, undecided: None });
                }
            });
        }
    }
    found
}

fn channels(module: &WorkloadModule, workload: WorkloadId, processes: &[Process]) -> Vec<ChannelFlow> {
    let count = module.workloads[workload.index()].channels.len() as u32;
    let used = (0..count).map(ChannelId).filter(|channel| {
        processes
            .iter()
            .any(|process| uses(&process.body, *channel, true) || uses(&process.body, *channel, false))
    });
    let of = |channel: ChannelId, sends: bool| {
        let user = processes.iter().find(|process| uses(&process.body, channel, sends));
        let rate = user.map_or(Some(0.into()), |process| rate(module, &process.body, channel, sends));
        // Arguments of the workload have no names here.
        rate.filter(|rate| !skeleton::names_any(rate))
    };
    let flow = |channel| ChannelFlow {
        channel,
        sends: of(channel, true),
        consumes: of(channel, false),
        counted: None,
        once: [None; 2],
        depth: None,
        least: None,
        throughput: None,
    };
    used.map(flow).collect()
}

/// Whether a process sends to a channel, or consumes from it.
pub(crate) fn uses(block: &Block, channel: ChannelId, sends: bool) -> bool {
    let mut found = false;
    each_node(block, &mut |node| {
        found |= match &node.kind {
            NodeKind::Send { channel: to, .. } => sends && *to == channel,
            NodeKind::Consume { arms, .. } => !sends && arms.iter().any(|arm| arm.channel == channel),
            _ => false,
        };
    });
    found
}

/// Whether what goes through channels depends neither on turns nor on depths.
fn is_determinate(module: &WorkloadModule) -> bool {
    let mut slots = Vec::new();
    let mut one = true;
    module.workloads.iter().for_each(|workload| {
        slots.clear();
        each_node(&workload.body, &mut |node| match &node.kind {
            NodeKind::Send { var, .. } => slots.push(*var),
            NodeKind::Consume { arms, .. } => {
                one &= arms.len() == 1;
                slots.extend(arms.iter().map(|arm| arm.var));
            }
            _ => {}
        });
        one &= !skeleton::names(&workload.body, &slots);
    });
    one
}

/// Whether each pipeline of a block runs in every launch.
fn runs_all(module: &WorkloadModule, block: &Block) -> bool {
    block.iter().all(|node| match &node.kind {
        NodeKind::Combine(bodies) | NodeKind::Sequential(bodies) => {
            bodies.iter().all(|body| runs_all(module, body))
        }
        NodeKind::Call { workload, .. } => runs_all(module, &module.workloads[workload.index()].body),
        NodeKind::Pipeline { .. } => true,
        kind => kind.bodies().into_iter().all(|body| {
            let mut has = false;
            each_node(body, &mut |node| {
                has |= matches!(node.kind, NodeKind::Pipeline { .. } | NodeKind::Call { .. });
            });
            !has
        }),
    })
}

/// Of bindings with these depths whether all processes end, or which full channels keep them from it.
fn full(
    module: &WorkloadModule,
    bindings: &Bindings,
    looks: &Cell<u32>,
) -> Option<Vec<(WorkloadId, ChannelId)>> {
    match probe(module, bindings, looks).end {
        End::Ended => Some(Vec::new()),
        End::Deadlock { full, .. } if !full.is_empty() => Some(full),
        _ => None,
    }
}
