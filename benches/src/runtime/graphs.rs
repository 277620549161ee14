//! Stored graphs, ours and the peers' in turn: build, run, re-run, bytes.

use super::measure::Span;
use super::ours::{self, GRAPHS};
use super::pattern::{Chain, Independent, Pattern, Wavefront, edges, random_layered};
use super::peers::{GraphTimes, Peer};
use super::table::{Row, Target};
use super::{Plan, middle, middle_span};

/// One line of the table: its name, what is taken from the measurements, and what is asked of it.
type Measure = (&'static str, fn(&GraphTimes) -> Option<Span>, fn(&Shape) -> Option<Target>);

/// A graph's size.
#[derive(Clone, Copy, Debug)]
struct Shape {
    regular: bool,
    edges_per_task: f64,
}

const MEASURES: [Measure; 4] = [
    ("build ns/task", |t| t.build, |s| Some(Target::AtMost(5.0 + 1.5 * s.edges_per_task))),
    ("run ns/task", |t| t.run, |s| Some(s.run())),
    ("re-run ns/task", |t| t.rerun, |s| Some(s.run())),
    ("build+run ns/task", |t| Some(t.total), |_| None),
];

impl Shape {
    fn of(pattern: &str, size: u32) -> Shape {
        fn count(pattern: &impl Pattern) -> f64 {
            edges(pattern) as f64 / f64::from(pattern.tasks().max(1))
        }
        let edges_per_task = match pattern {
            "independent" => count(&Independent(size)),
            "chain" => count(&Chain(size)),
            "wavefront" => count(&Wavefront::new(size)),
            _ => count(&random_layered(size)),
        };
        Shape { regular: pattern != "random", edges_per_task }
    }

    fn run(&self) -> Target {
        Target::AtMost(if self.regular { 8.0 } else { 30.0 })
    }
}

/// Measures every graph with 1 and 2 workers.
///
/// # Errors
/// A program failed, or another graph was built than ours.
pub(super) fn rows(plan: &Plan, peers: &[Peer], mut emit: impl FnMut(Row)) -> Result<(), String> {
    for workers in [1, 2] {
        for pattern in GRAPHS {
            let size = if pattern == "random" { plan.random_tasks } else { plan.tasks };
            let mut own = Vec::new();
            let mut theirs = vec![Vec::new(); peers.len()];
            for _ in 0..plan.rounds {
                own.push(ours::graph(pattern, size, workers, plan.repeats)?);
                for (peer, list) in peers.iter().zip(&mut theirs) {
                    let times = peer.graph(pattern, size, workers, plan.repeats)?;
                    super::same_graph(peer.name, pattern, own[0].checksum, times.checksum)?;
                    list.push(times);
                }
            }
            let shape = Shape::of(pattern, size);
            for (measure, take, target) in MEASURES {
                let of = |list: &Vec<GraphTimes>| middle_span(list.iter().map(take));
                let mine = of(&own);
                emit(Row {
                    name: pattern.to_owned(),
                    workers,
                    measure,
                    ours: mine.map_or(f64::NAN, |span| span.wall),
                    cpu: mine.map(|span| span.cpu),
                    target: target(&shape).filter(|_| workers == 1),
                    peers: theirs.iter().map(|list| of(list).map(|span| span.wall)).collect(),
                    peers_cpu: theirs.iter().map(|list| of(list).map(|span| span.cpu)).collect(),
                });
            }
            let bytes = |list: &Vec<GraphTimes>| middle(list.iter().map(|times| times.bytes));
            emit(Row {
                ours: bytes(&own).unwrap_or(f64::NAN),
                target: Some(Target::AtMost(64.0 + 8.0 * shape.edges_per_task)),
                peers: theirs.iter().map(bytes).collect(),
                ..Row::plain(pattern, workers, "bytes/task")
            });
        }
    }
    Ok(())
}
