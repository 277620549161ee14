//! Pipelines one by one: whether their processes end, and which depths they need.

use super::alone::{Alone, pipeline};
use super::skeleton;
use super::{PipelineFlow, Verdict};
use crate::ParamValue;
use crate::workload::expand::ChannelCount;
use crate::workload::expand::probe::{End, Probe, probe};
use crate::workload::{Bindings, bind, runs};
use std::cell::Cell;
use wsp_core::ChannelId;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::workload::{Node, WorkloadModule};
use wsp_ordered::OrderedMap;

/// Steps of the searches for depths, of which each pipeline has its share.
const SEARCHED: u64 = 1 << 25;

/// What is known of a module before a run.
pub(super) struct Known<'k> {
    pub(super) module: &'k WorkloadModule,
    pub(super) set: &'k [(String, ParamValue)],
    /// Looks at whether to go on, of which each pipeline has its share.
    pub(super) looks: u32,
    /// Of the module without tasks.
    pub(super) bindings: &'k Bindings,
    /// The module with values for what has none.
    pub(super) counting: &'k WorkloadModule,
    /// Statements around pipelines of which it is not known how often they repeat.
    pub(super) open: &'k [Span],
}

/// A pipeline under way.
pub(super) struct Under<'u> {
    /// The module with this pipeline alone, without tasks and with them.
    pub(super) reduced: &'u WorkloadModule,
    pub(super) whole: Option<(&'u WorkloadModule, &'u Bindings)>,
    /// It in the module as it is written.
    pub(super) node: &'u Node,
    counts: Vec<ChannelCount>,
}

/// The deadlock that is reported: one that may not run is a warning, and comes behind one that does.
fn worse(
    before: Option<Box<Diagnostic>>,
    mut found: Box<Diagnostic>,
    pipeline: &PipelineFlow,
) -> Option<Box<Diagnostic>> {
    let runs = pipeline.runs.is_some_and(|runs| runs > 0);
    found.severity = if runs { Severity::Error } else { Severity::Warning };
    match before {
        Some(before) if !runs || before.is_error() => Some(before),
        _ => Some(found),
    }
}

impl Known<'_> {
    /// Follows pipelines that are decided; none where one meets a fault.
    pub(super) fn follow(&self, reduced: WorkloadModule, found: &mut [PipelineFlow]) -> Option<Verdict> {
        // What tasks cost is known where everything is.
        let whole = bind(self.module, self.set, &OrderedMap::new()).ok();
        let (left, searched) = (Cell::new(self.looks), Cell::new(SEARCHED));
        let written = Alone::new(reduced.clone());
        let (mut reduced, mut tasks) = (written, Alone::new(skeleton::without_regions(self.module)));
        let mut deadlock: Option<Box<Diagnostic>> = None;
        let mut others = found.len() as u32;
        for pipeline in found.iter_mut() {
            let own = Cell::new(left.get().div_ceil(others.max(1)));
            let search = Cell::new(searched.get().div_ceil(u64::from(others.max(1))));
            others -= 1;
            let Some(first) = pipeline.channels.first().map(|of| of.channel) else {
                pipeline.ends = pipeline.undecided.is_none().then_some(true);
                continue;
            };
            if pipeline.undecided.is_some() {
                continue;
            }
            let module = reduced.with(pipeline.workload, first);
            let budget = own.get();
            let Probe { counts, end } = probe(module, self.bindings, &own, true);
            left.set(left.get() - (budget - own.get()));
            let node = self::pipeline(self.module, pipeline.workload, first)?;
            let bound = whole.as_ref().map(|bindings| (tasks.with(pipeline.workload, first), bindings));
            let under = Under { reduced: module, whole: bound, node, counts };
            pipeline.ends = Some(matches!(end, End::Ended));
            self.count(pipeline, first, &under);
            match end {
                End::Ended => {}
                End::Deadlock(found) => deadlock = worse(deadlock, found, pipeline),
                // Of a fault the expansion tells, which comes to it in its turn.
                End::Fault => return None,
                End::Slot => return None,
                End::Long(longest) => {
                    pipeline.ends = None;
                    let Some(found) = self.unbalanced(pipeline, first, &under) else {
                        let steps = u64::from(budget) * 1024;
                        pipeline.undecided = Some(self.too_long(steps, longest.as_ref()));
                        continue;
                    };
                    pipeline.ends = Some(false);
                    deadlock = worse(deadlock, found, pipeline);
                    continue;
                }
            }
            let budget = search.get();
            self.search(pipeline, &under, &search);
            searched.set(searched.get() - (budget - search.get()));
        }
        let undecided = found.iter().find_map(|pipeline| pipeline.undecided.clone());
        Some(match (deadlock, undecided) {
            (Some(deadlock), _) => Verdict::Deadlock(deadlock),
            (None, Some(undecided)) => Verdict::Undecided(undecided),
            (None, None) => Verdict::Ends,
        })
    }

    /// What goes through the channels.
    fn count(&self, found: &mut PipelineFlow, first: ChannelId, under: &Under<'_>) {
        let runs = |module: &WorkloadModule, open: &[Span]| {
            let of = (found.workload, pipeline(module, found.workload, first)?);
            runs(module, self.bindings, of, open)
        };
        let (all, looked) = (runs(self.counting, self.open), runs(under.reduced, &[]));
        found.runs = all.filter(|_| looked.is_some());
        let mut counts = OrderedMap::new();
        for count in
            under.counts.iter().filter(|of| of.workload == found.workload && found.ends == Some(true))
        {
            counts.insert(count.channel, *count);
        }
        for channel in &mut found.channels {
            channel.depth = Some(self.bindings.channel_depth(found.workload, channel.channel));
            let rates = [&channel.sends, &channel.consumes].map(Option::as_ref);
            channel.once = rates.map(|rate| self.bindings.evaluate(under.reduced, rate?, &[]).ok());
            let count = counts.get(&channel.channel);
            // A loop that was left out repeats what goes through it.
            let times = |count: u64| match (all, looked) {
                (_, Some(0)) => Some(0),
                (Some(all), Some(looked)) => Some(count / looked * all + count % looked * all / looked),
                (None, Some(looked)) => count.is_multiple_of(looked).then_some(count / looked),
                (_, None) => Some(count),
            };
            channel.counted = count.and_then(|count| Some((times(count.sent)?, times(count.consumed)?)));
        }
    }
}
