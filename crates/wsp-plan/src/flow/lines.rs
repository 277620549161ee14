//! What is known of pipelines, as lines of text.

use super::{ChannelFlow, Enough, Flow, PipelineFlow, Undecided};
use wsp_core::ChannelId;
use wsp_diag::Span;
use wsp_ir::workload::text::print_expr;
use wsp_ir::workload::{IntExpr, Workload, WorkloadModule};

impl Flow {
    /// A line for each pipeline and each channel, and for depths that are not known, with the lines of the text that `line` tells.
    pub fn lines(&self, module: &WorkloadModule, line: impl Fn(Span) -> u32) -> Vec<String> {
        let mut lines = Vec::new();
        let undecided = |found: &Undecided| match (found.span == Span::default(), found.is_long) {
            (true, _) => format!(": undecided, a run tells: {}", found.why),
            (false, is_long) => {
                let what = if is_long { ":" } else { " needs a value, and" };
                format!(": undecided here, a run tells: line {}{what} {}", line(found.span), found.why)
            }
        };
        for pipeline in &self.pipelines {
            let workload = &module.workloads[pipeline.workload.index()];
            let says = match (&pipeline.undecided, pipeline.ends) {
                (Some(found), _) => undecided(found),
                (None, Some(true)) => ": every process ends".to_owned(),
                (None, Some(false)) => ": no process can go on where it runs".to_owned(),
                (None, None) => String::new(),
            };
            lines.push(format!("pipeline in line {} of `{}`{says}", line(pipeline.span), workload.name));
            lines.extend(pipeline.channels.iter().map(|channel| channel.line(module, workload, pipeline)));
            lines.extend(pipeline.unknown.iter().map(|(depths, why)| unknown(depths, why, &line)));
            lines.extend(pipeline.enough.iter().map(|(which, found)| enough(which, found, workload)));
        }
        lines
    }
}

/// Why depths are not known.
fn unknown(depths: &str, found: &Undecided, line: &impl Fn(Span) -> u32) -> String {
    let at = match found.span == Span::default() {
        true => String::new(),
        false => format!("line {}: ", line(found.span)),
    };
    format!("  depths {depths} are not known: {at}{}", found.why)
}

/// Depths that are enough, where the smallest are not known.
fn enough(which: &str, found: &Enough, workload: &Workload) -> String {
    let Enough { depths, sum, from, steps } = found;
    let depth = |(channel, depth): &(ChannelId, u32)| {
        format!("{} = {depth}", workload.channels[channel.index()].shown())
    };
    let depths: Vec<String> = depths.iter().map(depth).collect();
    format!(
        "  depths {which} of the smallest sum are not known: their search takes more than {steps} steps; these are enough, and none of them with one less: {}; their sum is {sum}, and the smallest is at least {from}",
        depths.join(", ")
    )
}

impl ChannelFlow {
    fn line(&self, module: &WorkloadModule, workload: &Workload, pipeline: &PipelineFlow) -> String {
        let runs = pipeline.runs.unwrap_or(1);
        let rate = |rate: &Option<IntExpr>, count: Option<u64>, end: usize| {
            let Some(count) = count else {
                return rate.as_ref().map_or("?".to_owned(), |rate| print_expr(module, rate));
            };
            // A range that ends before it begins has no iterations, whatever its expression is.
            let once = self.once[end].and_then(|once| u64::try_from(once).ok());
            let exact = rate.as_ref().filter(|_| once.and_then(|once| once.checked_mul(runs)) == Some(count));
            let whole =
                rate.is_some().then_some(runs).filter(|runs| *runs > 0 && count.is_multiple_of(*runs));
            match (exact, exact.and_then(IntExpr::as_const), whole) {
                (Some(rate), Some(_), _) if runs == 1 => print_expr(module, rate),
                (Some(rate), None, _) if runs == 1 => format!("{} = {count}", print_expr(module, rate)),
                (Some(rate), ..) => format!("{} at a time, {count} in all", print_expr(module, rate)),
                (None, _, Some(runs)) if runs > 1 => format!("{} at a time, {count} in all", count / runs),
                (None, ..) => count.to_string(),
            }
        };
        let channel = &workload.channels[self.channel.index()];
        let (sent, consumed) = (self.counted.map(|of| of.0), self.counted.map(|of| of.1));
        let depth = self.depth.map_or(print_expr(module, &channel.depth), |depth| depth.to_string());
        let least = self.least.map_or(String::new(), |least| format!(", at least {least}"));
        let throughput = self.throughput.map_or(String::new(), |depth| format!(", throughput from {depth}"));
        let is_one = pipeline.runs.is_none() && self.counted.is_some();
        format!(
            "  {}: {} sent, {} consumed{}, depth {depth}{least}{throughput}",
            channel.shown(),
            rate(&self.sends, sent, 0),
            rate(&self.consumes, consumed, 1),
            if is_one { " per run of the pipeline" } else { "" }
        )
    }
}
