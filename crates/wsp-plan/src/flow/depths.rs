//! The depths that the channels of a pipeline need: that every process ends, and that the last one ends as early as it can.

use super::follow::{Known, Under};
use super::least::{Found, Tried, least};
use super::replay::{Ends, replay};
use super::skeleton::{self, Undecided};
use super::{ChannelFlow, Enough, PipelineFlow};
use crate::workload::Bindings;
use crate::workload::expand::record::{Record, record};
use std::cell::Cell;
use wsp_diag::Span;
use wsp_ir::workload::{Node, NodeKind, WorkloadModule, each_node};
use wsp_ordered::OrderedMap;

/// Steps between two looks of a recording at whether to go on.
const LOOK: u64 = 1 << 10;
/// Steps of a search, each of which is an event of a replay, that a step of a recording takes.
const RECORDED: u64 = 6;

/// Why no depths are known.
enum Missing {
    /// The search takes too many steps.
    GivenUp,
    /// There are none.
    Never,
}

impl Known<'_> {
    /// The depths that it needs.
    pub(super) fn search(&self, found: &mut PipelineFlow, under: &Under<'_>, steps: &Cell<u64>) {
        let NodeKind::Pipeline { processes } = &under.node.kind else { return };
        let costs = skeleton::costs(self.module, processes);
        let asks_time = found.ends == Some(true) && costs.any;
        if let Some(why) = turns_decide(under.node) {
            let which = if asks_time { "`at least` and `throughput`" } else { "`at least`" };
            found.unknown.push((which, why));
            return;
        }
        let said = |why: &str| Undecided { span: Span::default(), why: why.to_owned(), is_long: false };
        // Each search has a half.
        let most = steps.get() / 2;
        let search = |of: (&WorkloadModule, &Bindings), costed: bool| {
            let own = Cell::new(most);
            let found = depths(of, costed, &own);
            steps.set(steps.get() - (most - own.get()));
            found
        };
        let least = search((under.reduced, self.bindings), false);
        found.tell("`at least`", least, most, said("no depths let every process end"), |of| &mut of.least);
        if !asks_time {
            return;
        }
        match (costs.unknown, under.whole) {
            (Some(unknown), _) => found.unknown.push(("`throughput`", unknown)),
            (None, None) => {
                found.unknown.push(("`throughput`", said("not every value that its tasks have is known")));
            }
            (None, Some(whole)) => {
                let needed = search(whole, true);
                let never = said("its tasks take no time, or only a run tells what they take");
                found.tell("`throughput`", needed, most, never, |of| &mut of.throughput);
            }
        }
    }
}

impl PipelineFlow {
    /// Takes what a search in so many steps has come to.
    fn tell(
        &mut self,
        which: &'static str,
        found: Result<(Record, Found), Missing>,
        steps: u64,
        never: Undecided,
        of: impl Fn(&mut ChannelFlow) -> &mut Option<u32>,
    ) {
        let given_up = || Undecided {
            span: Span::default(),
            why: format!("their search takes more than {steps} steps"),
            is_long: true,
        };
        let (record, (depths, from)) = match found {
            Err(Missing::Never) => return self.unknown.push((which, never)),
            Err(Missing::GivenUp) | Ok((_, Found::Unknown)) => return self.unknown.push((which, given_up())),
            Ok((record, Found::Least(depths))) => (record, (depths, None)),
            Ok((record, Found::Enough { depths, from })) => (record, (depths, Some(from))),
        };
        let mut own = OrderedMap::new();
        for (channel, depth) in record.channels.iter().zip(depths) {
            if channel.workload == self.workload {
                own.insert(channel.id, depth);
            }
        }
        let depths =
            self.channels.iter_mut().filter_map(|channel| Some((own.get(&channel.channel)?, channel)));
        match from {
            None => depths.for_each(|(depth, channel)| *of(channel) = Some(*depth)),
            Some(from) => {
                let depths: Vec<_> = depths.map(|(depth, channel)| (channel.channel, *depth)).collect();
                let sum = depths.iter().map(|(_, depth)| u64::from(*depth)).sum();
                self.enough.push((which, Enough { depths, sum, from, steps }));
            }
        }
    }
}

/// The smallest depths with which the pipeline of a module ends, or, where its tasks take what their kernels cost, ends as early as it can.
fn depths(
    (module, bindings): (&WorkloadModule, &Bindings),
    costed: bool,
    steps: &Cell<u64>,
) -> Result<(Record, Found), Missing> {
    let allowed = u32::try_from(steps.get() / RECORDED / LOOK).unwrap_or(u32::MAX);
    let looks = Cell::new(allowed);
    let record = record(module, bindings, &looks, costed);
    steps.set(steps.get() - u64::from(allowed - looks.get()) * RECORDED * LOOK);
    let record = record.ok_or(if looks.get() == 0 { Missing::GivenUp } else { Missing::Never })?;
    let most: Vec<u32> = record.channels.iter().map(|channel| channel.most).collect();
    let best = replay(&record, &most, steps).ok_or(Missing::GivenUp)?.end;
    if costed && best == Some(0) {
        return Err(Missing::Never);
    }
    let found = least(&most, steps, &mut |depths| {
        let Ends { end, waited } = replay(&record, depths, steps)?;
        Some(Tried { is_enough: if costed { end == best } else { end.is_some() }, deeper: waited })
    });
    Ok((record, found))
}

/// The first statement of a pipeline by which what goes through channels depends on turns or depths.
fn turns_decide(pipeline: &Node) -> Option<Undecided> {
    let (mut slots, mut found) = (Vec::new(), None);
    let mut note = |span: Span, why: &str| {
        found.get_or_insert(Undecided { span, why: why.to_owned(), is_long: false });
    };
    pipeline.kind.bodies().into_iter().for_each(|body| {
        each_node(body, &mut |node| match &node.kind {
            NodeKind::Send { var, .. } => slots.push(*var),
            NodeKind::Consume { arms, .. } => {
                if arms.len() > 1 {
                    note(node.span, "a `select` takes from several channels, in an order of turns");
                }
                slots.extend(arms.iter().map(|arm| arm.var));
            }
            NodeKind::Task(_) | NodeKind::Call { .. } => {}
            kind => {
                if skeleton::names_of(kind, &slots) && skeleton::transfers(kind) {
                    note(node.span, "a slot decides on what is sent or consumed");
                }
            }
        });
    });
    found
}
