//! The runtime's stored graph on the same graphs as the peers, measured in the same way.

use super::bodies::{Busy, Count, Order};
use super::measure::{Moment, Span, Useful, shortest_task};
use super::pattern::{
    Chain, Independent, Listed, MAX_PREDECESSORS, Pattern, Wavefront, random_layered, sequential,
};
use super::peers::{GraphTimes, Metg};
use std::fmt::Debug;
use wsp_core::TaskId;
use wsp_runtime::{Deps, RunConfig, TaskGraph, TaskRunner, TaskSpec};

/// Names of the graphs, as the peers know them.
pub(super) const GRAPHS: [&str; 4] = ["independent", "chain", "wavefront", "random"];

/// Measures one of [`GRAPHS`].
///
/// # Errors
/// A run failed, or a task ran too early or not at all.
pub(super) fn graph(pattern: &str, size: u32, workers: u32, repeats: u32) -> Result<GraphTimes, String> {
    match pattern {
        "independent" => measure(&Independent(size), workers, repeats),
        "chain" => measure(&Chain(size), workers, repeats),
        "wavefront" => measure(&Wavefront::new(size), workers, repeats),
        _ => measure(&random_layered(size), workers, repeats),
    }
}

/// A failure of ours as text.
pub(crate) fn text(fault: impl Debug) -> String {
    format!("{fault:?}")
}

/// Adds the tasks of a pattern to an empty graph, with their edges given.
#[inline(always)]
fn build(graph: &mut TaskGraph, pattern: &impl Pattern) -> Result<(), String> {
    let mut after = [TaskId(0); MAX_PREDECESSORS];
    for task in 0..pattern.tasks() {
        let mut count = 0;
        pattern.predecessors(task, |p| {
            after[count] = TaskId(p);
            count += 1;
        });
        graph.submit(TaskSpec { after: &after[..count], ..TaskSpec::default() }).map_err(text)?;
    }
    Ok(())
}

fn config(workers: u32) -> RunConfig {
    RunConfig { threads: workers, deps: Deps::Explicit, ..RunConfig::default() }
}

fn run<R: TaskRunner<Failure: Debug>>(
    graph: &mut TaskGraph,
    config: &RunConfig,
    runner: &R,
) -> Result<(), String> {
    graph.run(config, runner).map(|_| ()).map_err(text)
}

fn measure(pattern: &impl Pattern, workers: u32, repeats: u32) -> Result<GraphTimes, String> {
    let (config, count) = (config(workers), Count::new(workers));
    let n = f64::from(pattern.tasks().max(1));
    let mut graph = TaskGraph::new(Deps::Explicit);
    let mut samples: [Vec<Span>; 4] = Default::default();
    for repeat in 0..=repeats {
        graph.clear();
        let start = Moment::now();
        build(&mut graph, pattern)?;
        let built = Moment::now();
        run(&mut graph, &config, &count)?;
        let ran = Moment::now();
        run(&mut graph, &config, &count)?;
        let again = Moment::now();
        count.expect(pattern.tasks(), 2)?;
        if repeat > 0 {
            let spans = [start.to(built), built.to(ran), ran.to(again), start.to(ran)];
            samples.iter_mut().zip(spans).for_each(|(list, span)| list.push(span.over(n)));
        }
    }
    let bytes = graph.bytes() as f64 / n;
    let [build, run, rerun, total] = samples.map(|spans| Span::median(&spans));
    let (build, run, rerun, bytes) = (Some(build), Some(run), Some(rerun), Some(bytes));
    Ok(GraphTimes { build, run, rerun, total, bytes, checksum: checked(pattern, &config)? })
}

/// Runs a graph twice with tasks that see the order.
fn checked(pattern: &impl Pattern, config: &RunConfig) -> Result<u64, String> {
    let (expected, order) = (sequential(pattern), Order::new(pattern));
    let mut graph = TaskGraph::new(Deps::Explicit);
    build(&mut graph, pattern)?;
    run(&mut graph, config, &order)?;
    order.expect(&expected)?;
    run(&mut graph, config, &order)?;
    order.expect(&expected)
}

/// Finds the shortest task of which half of the workers' time is useful; every graph is cleared, built and run.
///
/// # Errors
/// As [`graph`].
pub(super) fn metg(pattern: &Listed, workers: u32, repeats: u32) -> Result<Metg, String> {
    let (config, tasks, busy) = (config(workers), pattern.tasks(), Busy::new(workers));
    let mut graph = TaskGraph::new(Deps::Explicit);
    let ns = shortest_task(|iterations| {
        busy.set_iterations(iterations);
        let (mut loops, mut graphs) = (Vec::new(), Vec::new());
        for _ in 0..repeats {
            let first = Moment::now();
            (0..tasks).for_each(|task| busy.execute(0, task));
            let start = Moment::now();
            graph.clear();
            build(&mut graph, pattern)?;
            run(&mut graph, &config, &busy)?;
            graphs.push(start.to(Moment::now()).wall);
            loops.push(first.to(start).wall);
            busy.expect(tasks, 2)?;
        }
        Ok::<Useful, String>(Useful::new(loops, graphs, tasks, workers))
    })?;
    Ok(Metg { ns, checksum: checked(pattern, &config)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::pattern::{TASK_BENCH, checksum, task_bench};

    #[test]
    fn every_graph_runs_in_order() {
        for pattern in GRAPHS {
            for workers in [1, 2] {
                let times = graph(pattern, 300, workers, 1).unwrap();
                assert!(times.total.wall > 0.0 && times.bytes.unwrap() > 0.0, "{pattern}");
            }
        }
    }

    #[test]
    fn every_task_bench_pattern_runs_in_order() {
        for name in TASK_BENCH {
            let pattern = task_bench(name, 4, 10);
            let found = metg(&pattern, 2, 1).unwrap();
            assert!(found.ns.is_none_or(|ns| ns > 0.0));
            assert_eq!(found.checksum, checksum(sequential(&pattern).into_iter()), "{name}");
        }
    }
}
