//! `cargo xtask bench runtime`: the task runtime against its floor and its peers, in one run and one table.
//!
//! Every figure is a median over rounds; in a round ours and each peer are measured in turn, each as a median over
//! repetitions after one to warm up. Times are on the wall unless a line says otherwise. Threads are not bound to cores,
//! on either side.

pub(crate) mod bodies;
mod channels;
mod execute;
mod graphs;
mod inference;
pub(crate) mod llama;
pub(crate) mod measure;
mod ours;
pub(crate) mod pattern;
mod peers;
mod stream;
pub(crate) mod table;
mod task_bench;

use self::measure::{Span, median};
pub(crate) use self::ours::text;
use self::peers::{Peer, Workshop};
pub(crate) use self::table::{Row, heading, json, line};
use crate::args::RuntimeSection;
use std::path::Path;

/// How much is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Tasks of regular graphs.
    pub(crate) tasks: u32,
    /// Tasks of the random graph.
    pub(crate) random_tasks: u32,
    /// Widths of the Task Bench patterns.
    pub(crate) widths: Vec<u32>,
    /// Steps of the Task Bench patterns.
    pub(crate) steps: u32,
    /// Tasks of a stream.
    pub(crate) stream_tasks: u32,
    /// Runs of a prepared program.
    pub(crate) runs: u32,
    /// Tokens of the LLaMA layer.
    pub(crate) seq: u32,
    /// Measurements after the first, each time a program runs.
    pub(crate) repeats: u32,
    /// Times that ours and the peers are measured in turn.
    pub(crate) rounds: u32,
}

/// How large the graphs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Tiny: shows that everything runs, measures nothing.
    Quick,
    /// As the targets say, streams of 10^6 tasks.
    Usual,
    /// The same, streams of 10^8 tasks.
    Full,
}

impl Plan {
    /// What is measured at a scale.
    pub(crate) fn new(scale: Scale, repeats: u32, rounds: u32) -> Plan {
        let usual = Plan {
            tasks: 1_000_000,
            random_tasks: 200_000,
            widths: vec![4, 16],
            steps: 1000,
            stream_tasks: 1_000_000,
            runs: 1000,
            seq: 16_384,
            repeats,
            rounds,
        };
        match scale {
            Scale::Usual => usual,
            Scale::Full => Plan { stream_tasks: 100_000_000, ..usual },
            Scale::Quick => Plan {
                tasks: 1000,
                random_tasks: 1000,
                steps: 10,
                stream_tasks: 100_000,
                runs: 10,
                seq: 1024,
                ..usual
            },
        }
    }
}

/// The programs that ours is compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    peers: Vec<Peer>,
    /// What is left out, and why.
    pub(crate) missing: Vec<String>,
}

/// What a peer takes to run a graph again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rerun {
    /// Its name.
    pub(crate) peer: &'static str,
    /// Nanoseconds per task; none of one that cannot tell building and running apart, and has no graph to run again.
    pub(crate) time: Option<Span>,
    /// Of what its tasks computed.
    pub(crate) checksum: u64,
}

impl Field {
    /// Builds the programs of `sources` into `programs`, as far as their libraries are there.
    ///
    /// # Errors
    /// The folder for the programs cannot be made.
    pub(crate) fn build(
        sources: &Path,
        programs: &Path,
        taskflow: Option<&Path>,
        progress: impl FnMut(&str),
    ) -> Result<Field, String> {
        let (peers, missing) = Workshop { sources, programs, taskflow }.build(progress)?;
        Ok(Field { peers, missing })
    }

    /// No programs, and why.
    pub(crate) fn none(why: String) -> Field {
        Field { peers: Vec::new(), missing: vec![why] }
    }

    /// The names of those that can be run.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.peers.iter().map(|peer| peer.name).collect()
    }

    /// What each peer takes to run a graph again.
    ///
    /// # Errors
    /// A program failed, or ran tasks in a wrong order.
    pub(crate) fn rerun(&self, pattern: &str, size: u32, repeats: u32) -> Result<Vec<Rerun>, String> {
        let measure = |peer: &Peer| {
            let times = peer.graph(pattern, size, 1, repeats)?;
            Ok(Rerun { peer: peer.name, time: times.rerun, checksum: times.checksum })
        };
        self.peers.iter().map(measure).collect()
    }

    /// Measures one part of the table, row by row.
    ///
    /// # Errors
    /// A program failed, or ran tasks in a wrong order.
    pub(crate) fn measure(
        &self,
        section: RuntimeSection,
        plan: &Plan,
        emit: impl FnMut(Row),
    ) -> Result<(), String> {
        match section {
            RuntimeSection::Graphs => graphs::rows(plan, &self.peers, emit),
            RuntimeSection::Metg => task_bench::rows(plan, &self.peers, emit),
            RuntimeSection::Stream => stream::rows(plan, emit),
            RuntimeSection::Inference => inference::rows(plan, emit),
            RuntimeSection::Execute => execute::rows(plan, emit),
            RuntimeSection::Channels => channels::rows(plan, emit),
        }
    }
}

/// The median of figures, where none is worse than any; `None` if the median is none.
fn middle(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    Some(median(figures.map(|figure| figure.unwrap_or(f64::INFINITY)).collect())).filter(|m| m.is_finite())
}

/// The medians of spans, if there are any.
fn middle_span(spans: impl Iterator<Item = Option<Span>>) -> Option<Span> {
    let spans: Option<Vec<Span>> = spans.collect();
    spans.filter(|list| !list.is_empty()).map(|list| Span::median(&list))
}

/// Compares the checksums of a graph.
pub(crate) fn same_graph(peer: &str, pattern: &str, ours: u64, theirs: u64) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!(
        "{peer} on {pattern}: checksum {theirs:016x}, ours is {ours:016x}: its graph or its order is another"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_figure_is_worse_than_any() {
        assert_eq!(middle([Some(3.0), None, Some(1.0)].into_iter()), Some(3.0));
        assert_eq!(middle([Some(3.0), None, None].into_iter()), None);
        assert_eq!(middle(std::iter::empty()), None);
    }

    #[test]
    fn peers_must_run_our_graph() {
        assert!(same_graph("floor", "chain", 1, 1).is_ok());
        assert!(same_graph("floor", "chain", 1, 2).is_err_and(|text| text.contains("floor on chain")));
    }
}
