//! Tasks that run while others are submitted, through a window of recycled slots.

use super::Plan;
use super::bodies::Count;
use super::measure::{Moment, Span, median, resident_bytes};
use super::ours::text;
use super::table::{Row, Target};
use wsp_core::{Region, TaskId, TensorId};
use wsp_runtime::{Deps, RunConfig, Stopped, Submitter, TaskSpec, Window, run};

/// Tasks in flight.
const WINDOW: u32 = 8192;
/// Fewest tasks after which resident memory should not grow: each slot has then been used several times.
const WARM: u32 = 4 * WINDOW;
/// Cells that tasks update in turn, when dependences are inferred.
const CELLS: u32 = 64;
/// Growth of resident memory that does not count, in MiB: what the system takes a page at a time.
const FLAT_MIB: f64 = 1.0;

/// What the tasks of a stream have to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stream {
    /// Nothing.
    Independent,
    /// Task i updates cell i mod 64: its boxes say so.
    Cells,
    /// Task i updates cell i: each box is seen once.
    Once,
}

impl Stream {
    /// The cell that a task updates.
    fn cell(self, task: u32) -> Option<u32> {
        match self {
            Stream::Independent => None,
            Stream::Cells => Some(task % CELLS),
            Stream::Once => Some(task),
        }
    }
}

const STREAMS: [(Stream, &str); 3] = [
    (Stream::Independent, "stream"),
    (Stream::Cells, "stream, 64 cells"),
    (Stream::Once, "stream, boxes once"),
];

/// One stream measured.
#[derive(Clone, Copy, Debug)]
struct Times {
    task: Span,
    growth_mib: f64,
}

/// Measures streams with 1 and 2 workers, the largest of which shows that memory stays flat.
///
/// # Errors
/// A run failed, or a task did not run.
pub(super) fn rows(plan: &Plan, mut emit: impl FnMut(Row)) -> Result<(), String> {
    for (stream, name) in STREAMS {
        for workers in [1, 2] {
            let all: Vec<Times> = (0..plan.rounds)
                .map(|_| once(stream, workers, plan.stream_tasks))
                .collect::<Result<_, String>>()?;
            let tasks: Vec<Span> = all.iter().map(|times| times.task).collect();
            let Span { wall, cpu } = Span::median(&tasks);
            emit(Row { ours: wall, cpu: Some(cpu), ..Row::plain(name, workers, "ns/task") });
            emit(Row {
                ours: median(all.iter().map(|times| times.growth_mib).collect()),
                target: Some(Target::AtMost(FLAT_MIB)),
                ..Row::plain(name, workers, "memory growth MiB")
            });
        }
    }
    Ok(())
}

fn once(stream: Stream, workers: u32, tasks: u32) -> Result<Times, String> {
    let deps = if stream == Stream::Independent { Deps::Explicit } else { Deps::Overlap };
    let config = RunConfig { threads: workers, deps, window: Window::stall(WINDOW), ..RunConfig::default() };
    let count = Count::new(workers);
    let (mut early, mut late) = (0.0, 0.0);
    let warm = (tasks / 10).max(WARM).min(tasks);
    let start = Moment::now();
    let outcome = run(&config, &count, |submitter| {
        submit(submitter, stream, 0..warm)?;
        early = resident_bytes();
        submit(submitter, stream, warm..tasks)?;
        late = resident_bytes();
        Ok::<(), Stopped>(())
    });
    outcome.map_err(text)?;
    let task = start.to(Moment::now()).over(f64::from(tasks.max(1)));
    count.expect(tasks, 1)?;
    Ok(Times { task, growth_mib: (late - early).max(0.0) / f64::from(1 << 20) })
}

fn submit(
    submitter: &mut Submitter<'_, Count>,
    stream: Stream,
    tasks: std::ops::Range<u32>,
) -> Result<(), Stopped> {
    for task in tasks {
        let Some(cell) = stream.cell(task) else {
            submitter.submit(TaskSpec::default())?;
            continue;
        };
        let mut regions = [Region { tensor: TensorId(0), lo: [0; 6], hi: [1; 6] }];
        (regions[0].lo[0], regions[0].hi[0]) = (cell, cell + 1);
        let submitted: TaskId =
            submitter.submit(TaskSpec { reads: &regions, writes: &regions, ..TaskSpec::default() })?;
        debug_assert_eq!(submitted.0, task);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_of_a_stream_runs() {
        for (stream, _) in STREAMS {
            for workers in [1, 2] {
                assert!(once(stream, workers, 20_000).unwrap().task.wall > 0.0);
            }
        }
    }
}
