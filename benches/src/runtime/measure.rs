//! Clocks, medians and the search for the smallest useful task.
//!
//! Uses only the standard library and `nix`: the rayon peer compiles this file too.

use nix::unistd::{SysconfVar, sysconf};
use std::time::Instant;

/// Iterations of the first task that [`shortest_task`] tries.
const FIRST_ITERATIONS: u64 = 8;
/// Iterations of the longest task that [`shortest_task`] tries.
const MOST_ITERATIONS: u64 = 1 << 13;

/// A moment: of the clock on the wall, and of the time that all threads of this process have computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    wall: Instant,
    cpu_ns: f64,
}

impl Moment {
    /// The present one.
    pub(crate) fn now() -> Moment {
        let cpu = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID);
        let cpu_ns = cpu.map_or(f64::NAN, |cpu| cpu.tv_sec() as f64 * 1e9 + cpu.tv_nsec() as f64);
        Moment { wall: Instant::now(), cpu_ns }
    }

    /// What passed from here to `end`.
    pub(crate) fn to(self, end: Moment) -> Span {
        Span { wall: end.wall.duration_since(self.wall).as_nanos() as f64, cpu: end.cpu_ns - self.cpu_ns }
    }
}

/// Nanoseconds on the wall, and those that all threads of this process computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Span {
    /// On the wall.
    pub(crate) wall: f64,
    /// Computed.
    pub(crate) cpu: f64,
}

impl Span {
    /// One part of `parts`.
    pub(crate) fn over(self, parts: f64) -> Span {
        Span { wall: self.wall / parts, cpu: self.cpu / parts }
    }

    /// The medians of both.
    pub(crate) fn median(spans: &[Span]) -> Span {
        let of = |figure: fn(&Span) -> f64| median(spans.iter().map(figure).collect());
        Span { wall: of(|span| span.wall), cpu: of(|span| span.cpu) }
    }
}

/// Bytes of this process that are in memory; 0 where the system does not say.
pub(crate) fn resident_bytes() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<f64>().ok())
        .unwrap_or(0.0);
    let size = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    pages * size.map_or(0.0, |bytes| bytes as f64)
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A chain of `iterations` multiplications and additions that begins with `x`.
pub(crate) fn busy(mut x: f64, iterations: u64) -> f64 {
    for _ in 0..iterations {
        x = x * 0.999_999 + 0.000_001;
    }
    x
}

/// One measurement with tasks of one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Useful {
    /// Nanoseconds of a task, in a plain loop of one thread.
    pub(crate) task_ns: f64,
    /// The part of all workers' time that goes into tasks, when the graph is built and run.
    pub(crate) part: f64,
}

impl Useful {
    /// From the times of a plain loop over `tasks` tasks, and of the graph.
    pub(crate) fn new(loops: Vec<f64>, graphs: Vec<f64>, tasks: u32, workers: u32) -> Useful {
        let alone = median(loops);
        let task_ns = alone / f64::from(tasks.max(1));
        Useful { task_ns, part: alone / (median(graphs) * f64::from(workers)) }
    }
}

/// Nanoseconds of the shortest task of which at least half of the workers' time is useful, to about one part in 32 of its
/// iterations; `None` if none of up to [`MOST_ITERATIONS`] is long enough.
///
/// # Errors
/// Those of `measure`.
pub(crate) fn shortest_task<E>(mut measure: impl FnMut(u64) -> Result<Useful, E>) -> Result<Option<f64>, E> {
    let (mut below, mut above) = (0, FIRST_ITERATIONS);
    let mut found = loop {
        let useful = measure(above)?;
        if useful.part >= 0.5 {
            break useful.task_ns;
        }
        if above >= MOST_ITERATIONS {
            return Ok(None);
        }
        below = above;
        above *= 2;
    };
    while above - below > (above / 32).max(1) {
        let middle = below + (above - below) / 2;
        let useful = measure(middle)?;
        if useful.part >= 0.5 {
            (above, found) = (middle, useful.task_ns);
        } else {
            below = middle;
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn the_search_ends_at_the_threshold() {
        for threshold in [1, 7, 8, 9, 31, 1000, 8000] {
            let find = |n: u64| {
                let part = if n >= threshold { 0.6 } else { 0.4 };
                Ok::<Useful, ()>(Useful { task_ns: n as f64, part })
            };
            let found = shortest_task(find).unwrap().unwrap() as u64;
            assert!(found >= threshold && found <= threshold + threshold / 31 + 1, "{threshold}: {found}");
        }
        let never = |_| Ok::<Useful, ()>(Useful { task_ns: 1.0, part: 0.1 });
        assert_eq!(shortest_task(never), Ok(None));
        assert_eq!(shortest_task(|_| Err("broken")), Err("broken"));
    }

    #[test]
    fn half_of_two_workers_is_one_thread() {
        let useful = Useful::new(vec![100.0], vec![100.0], 10, 2);
        assert_eq!((useful.task_ns, useful.part), (10.0, 0.5));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
        let spans = [(1.0, 9.0), (2.0, 7.0), (3.0, 8.0)].map(|(wall, cpu)| Span { wall, cpu });
        assert_eq!(Span::median(&spans), Span { wall: 2.0, cpu: 8.0 });
    }

    #[test]
    fn a_process_is_in_memory_and_computes() {
        let start = Moment::now();
        assert!(black_box(busy(2.0, 1000)) > 0.0 && resident_bytes() > 0.0);
        let span = start.to(Moment::now());
        assert!(span.wall >= 0.0 && span.cpu >= 0.0);
    }
}
