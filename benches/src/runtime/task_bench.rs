//! Task Bench: the smallest task with which half of two workers' time is work, submission included.

use super::pattern::{TASK_BENCH, task_bench};
use super::peers::{Metg, Peer};
use super::table::{Row, Target};
use super::{Plan, middle, ours};

/// Workers that run the patterns.
const WORKERS: u32 = 2;
/// Repetitions of one length of task, as a multiple of what the plan says: these graphs are small.
const REPEATS: u32 = 3;
/// What is asked of the smallest task, in microseconds.
const TARGET_US: f64 = 0.3;

/// Measures every pattern in every width.
///
/// # Errors
/// A program failed, or another graph was built than ours.
pub(super) fn rows(plan: &Plan, peers: &[Peer], mut emit: impl FnMut(Row)) -> Result<(), String> {
    let repeats = plan.repeats * REPEATS;
    for &width in &plan.widths {
        for name in TASK_BENCH {
            let pattern = task_bench(name, width, plan.steps);
            let mut own = Vec::new();
            let mut theirs = vec![Vec::new(); peers.len()];
            for _ in 0..plan.rounds {
                own.push(ours::metg(&pattern, WORKERS, repeats)?);
                for (peer, list) in peers.iter().zip(&mut theirs) {
                    let found = peer.metg(name, width, plan.steps, WORKERS, repeats)?;
                    super::same_graph(peer.name, name, own[0].checksum, found.checksum)?;
                    list.push(found);
                }
            }
            let of = |list: &Vec<Metg>| middle(list.iter().map(|found| found.ns.map(|ns| ns / 1000.0)));
            emit(Row {
                ours: of(&own).unwrap_or(f64::NAN),
                target: Some(Target::AtMost(TARGET_US)),
                peers: theirs.iter().map(of).collect(),
                ..Row::plain(&format!("{name} {width}"), WORKERS, "METG(50%) us")
            });
        }
    }
    Ok(())
}
