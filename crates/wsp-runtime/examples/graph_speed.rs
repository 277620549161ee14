//! Prints what building and running graphs of empty tasks costs, in nanoseconds per task: of the core with one thread, by
//! the clock with more.
//!
//! `graph_speed [THREADS [PATTERN]]`, best on a quiet machine: `taskset -c 0` for one thread.
#![allow(clippy::print_stdout, reason = "it is a program for the terminal")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::{KernelId, TaskId};
use wsp_runtime::{Deps, Ready, RunConfig, Stopped, TaskGraph, TaskRunner, TaskSpec, clock, run};

const ROUNDS: usize = 7;

/// Time in nanoseconds that the calling thread has had a core, where the system tells; otherwise the time.
#[allow(clippy::disallowed_methods, reason = "a program for measuring")]
fn busy_ns(since: std::time::Instant) -> f64 {
    // The system brings the figure up to date when it looks at the thread.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let busy = text.split(' ').next().and_then(|word| word.parse().ok());
    busy.unwrap_or_else(|| clock::nanos_since(since) as f64)
}

/// Counts per worker.
struct Count(Vec<[AtomicU64; 16]>);

impl TaskRunner for Count {
    type Failure = ();

    #[inline]
    fn run(&self, worker: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
        let count = &self.0[worker][0];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Ok(())
    }
}

/// Adds the tasks of a pattern.
type Build = fn(&mut TaskGraph) -> Result<(), Stopped>;

fn independent(graph: &mut TaskGraph) -> Result<(), Stopped> {
    for _ in 0..1_000_000 {
        graph.submit(TaskSpec::default())?;
    }
    Ok(())
}

fn chain(graph: &mut TaskGraph) -> Result<(), Stopped> {
    let mut last = graph.submit(TaskSpec::default())?;
    for _ in 1..1_000_000 {
        last = graph.submit(TaskSpec { after: &[last], ..TaskSpec::default() })?;
    }
    Ok(())
}

fn wavefront(graph: &mut TaskGraph) -> Result<(), Stopped> {
    const SIDE: u32 = 1000;
    for row in 0..SIDE {
        for column in 0..SIDE {
            let id = row * SIDE + column;
            let (up, left) = (TaskId(id.wrapping_sub(SIDE)), TaskId(id.wrapping_sub(1)));
            let both = [up, left];
            let after = match (row > 0, column > 0) {
                (true, true) => &both[..],
                (true, false) => &both[..1],
                (false, true) => &both[1..],
                (false, false) => &[],
            };
            graph.submit(TaskSpec { after, ..TaskSpec::default() })?;
        }
    }
    Ok(())
}

/// 200 layers of 1000, each task after 1 to 5 of the layer before.
fn random_layers(graph: &mut TaskGraph) -> Result<(), Stopped> {
    static AFTER: OnceLock<Vec<Vec<TaskId>>> = OnceLock::new();
    let lists = AFTER.get_or_init(|| {
        let mut random = 12345u64;
        let mut next = |below: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((random >> 33) as u32) % below
        };
        let list = |task: u32| {
            let count = if task < 1000 { 0 } else { 1 + next(5) };
            (0..count).map(|_| TaskId((task / 1000 - 1) * 1000 + next(1000))).collect()
        };
        (0..200_000).map(list).collect()
    });
    for after in lists {
        graph.submit(TaskSpec { after, ..TaskSpec::default() })?;
    }
    Ok(())
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn measure(name: &str, build: Build, config: &RunConfig, runner: &Count) {
    let mut graph = TaskGraph::new(Deps::Explicit);
    build(&mut graph).expect("the graph fits");
    let (mut builds, mut runs, mut reruns) = (Vec::new(), Vec::new(), Vec::new());
    let begin = clock::now();
    let alone = config.threads == 1;
    let time = || if alone { busy_ns(begin) } else { clock::nanos_since(begin) as f64 };
    for _ in 0..ROUNDS {
        graph.clear();
        for samples in [&mut builds, &mut runs, &mut reruns] {
            let start = time();
            if graph.is_empty() {
                build(&mut graph).expect("the graph fits");
            } else {
                graph.run(config, runner).expect("no task fails");
            }
            samples.push((time() - start) / graph.len().max(1) as f64);
        }
    }
    let (tasks, edges) = (graph.len() as f64, graph.edge_count() as f64);
    println!(
        "{name:12} {:?} build {:6.2} (target {:5.2})  run {:6.2}  again {:6.2}  bytes/task {:5.1}",
        config.ready_policy(),
        median(builds),
        5.0 + 1.5 * edges / tasks,
        median(runs),
        median(reruns),
        graph.bytes() as f64 / tasks,
    );
}

fn stream(threads: u32, tasks: u32, ready: Ready, runner: &Count) {
    let config = RunConfig { threads, ready, ..RunConfig::default() };
    let mut samples = Vec::new();
    for _ in 0..5 {
        let start = clock::now();
        let outcome = run(&config, runner, |submitter| {
            for _ in 0..tasks {
                submitter.submit(TaskSpec::default())?;
            }
            Ok::<(), Stopped>(())
        });
        outcome.expect("no task fails");
        samples.push(clock::nanos_since(start) as f64 / f64::from(tasks));
    }
    println!("stream       {ready:?} {threads} workers: {:6.1}", median(samples));
}

fn main() {
    let mut args = std::env::args().skip(1);
    let threads: u32 = args.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let wanted = args.next();
    let counts = || (0..threads).map(|_| Default::default()).collect();
    let runner = Count(counts());
    let patterns: [(&str, Build); 4] =
        [("independent", independent), ("chain", chain), ("wavefront", wavefront), ("random", random_layers)];
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    for ready in [Ready::Fifo, Ready::WorkSteal] {
        for (name, build) in patterns.into_iter().filter(|(name, _)| is_wanted(name)) {
            let config = RunConfig { threads, ready, ..RunConfig::default() };
            measure(name, build, &config, &runner);
        }
    }
    if is_wanted("stream") {
        for ready in [Ready::Fifo, Ready::WorkSteal] {
            stream(threads, 1_000_000, ready, &runner);
        }
    }
}
