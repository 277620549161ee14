//! What a report says of runs, beside waits and critical path: loads, kernels, edges between kernels, and what differs between two.

use std::cmp::Reverse;
use wsp_core::TaskId;
use wsp_ordered::{Arrange, OrderedSet};
use wsp_runtime::timeline::{Span, TaskRecord, Timeline, Work};

/// What a row did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    /// Its place among the rows.
    pub row: usize,
    /// Tasks that ran on it.
    pub tasks: u64,
    /// Time in them, or in what else was there on a row without tasks, in the unit of the clock.
    pub busy: u64,
}

/// What the tasks of a kernel did together. Times are in the unit of the clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelFacts {
    /// Its place among the kernels.
    pub kernel: usize,
    /// How many there were.
    pub tasks: u64,
    /// Time in them.
    pub busy: u64,
    /// The longest of them.
    pub longest: u64,
    /// What they worked, where it is known.
    pub work: Option<Work>,
}

/// Rows on which tasks ran, in their order.
pub fn loads(timeline: &Timeline) -> Vec<Load> {
    let mut loads: Vec<Load> = (0..timeline.rows.len()).map(|row| Load { row, tasks: 0, busy: 0 }).collect();
    for task in &timeline.tasks {
        if let Some(load) = task.row().and_then(|row| loads.get_mut(row as usize)) {
            load.tasks += 1;
            load.busy = load.busy.saturating_add(task.ended.saturating_sub(task.started));
        }
    }
    loads.retain(|load| load.tasks > 0);
    loads
}

/// How long each row of a list ran tasks in each of so many equal parts of the time up to the end, in the unit of the clock times the number of parts: a part
/// that is wholly busy has the end.
pub fn busy_in_parts(timeline: &Timeline, rows: &[usize], parts: usize) -> Vec<Vec<u128>> {
    let mut busy = vec![vec![0; parts]; rows.len()];
    // In 128 bits, so that no product is too large.
    let (end, count) = (u128::from(timeline.end()), parts as u128);
    for task in timeline.tasks.iter().filter(|_| end > 0 && parts > 0) {
        let at = task.row().and_then(|row| rows.iter().position(|of| *of == row as usize));
        let Some(of_row) = at.and_then(|at| busy.get_mut(at)) else { continue };
        let (from, to) = (u128::from(task.started) * count, u128::from(task.ended) * count);
        let first = (from / end) as usize;
        for (part, sum) in
            (first as u128..).zip(of_row.iter_mut().skip(first)).take_while(|(part, _)| part * end < to)
        {
            *sum += to.min((part + 1) * end) - from.max(part * end);
        }
    }
    busy
}

/// Rows without tasks on which something else took time, in their order: AICPUs, say, or streams. What is there at once counts once, and up to the end
/// of the last task.
pub fn other_loads(timeline: &Timeline) -> Vec<Load> {
    let with_tasks: OrderedSet<u32> = timeline.tasks.iter().filter_map(TaskRecord::row).collect();
    let mut spans: Vec<&Span> =
        timeline.spans.iter().filter(|span| !with_tasks.contains(&span.row)).collect();
    spans.arrange_by_key(|span| (span.row, span.begin));
    let (end, mut far) = (timeline.end(), 0);
    let mut loads: Vec<Load> = Vec::new();
    for span in spans {
        let row = span.row as usize;
        if loads.last().is_none_or(|load| load.row != row) {
            loads.push(Load { row, tasks: 0, busy: 0 });
            far = 0;
        }
        let (from, to) = (span.begin.max(far), span.end.min(end));
        if let Some(load) = loads.last_mut() {
            load.busy += to.saturating_sub(from);
        }
        far = far.max(to);
    }
    loads
}

/// Kernels that ran, that in which most time went first.
pub fn kernels(timeline: &Timeline) -> Vec<KernelFacts> {
    let of = |kernel| {
        let work = timeline.about.work.get(kernel).copied().flatten();
        KernelFacts { kernel, tasks: 0, busy: 0, longest: 0, work }
    };
    let mut kernels: Vec<KernelFacts> = (0..timeline.kernels.len()).map(of).collect();
    for task in &timeline.tasks {
        if let Some(of) = kernels.get_mut(task.kernel.index()) {
            let time = task.ended.saturating_sub(task.started);
            of.tasks += 1;
            of.busy = of.busy.saturating_add(time);
            of.longest = of.longest.max(time);
        }
    }
    kernels.retain(|of| of.tasks > 0);
    kernels.arrange_by_key(|of| (Reverse(of.busy), of.kernel));
    kernels
}

/// The tasks before a task: all that are known, or the last of them.
pub fn before(timeline: &Timeline, at: usize) -> Vec<TaskId> {
    match timeline.before.list(at) {
        [] => timeline.tasks.get(at).and_then(|task| task.last()).into_iter().collect(),
        all => all.to_vec(),
    }
}

/// Edges between tasks of two kernels: the kernel from which they go, that to which they go, and how many there are; the most first.
pub fn graph(timeline: &Timeline) -> Vec<(usize, usize, u64)> {
    let kernels = timeline.kernels.len();
    // Kernels have numbers of 16 bits; pairs that occur are few.
    let mut pairs: Vec<u32> = Vec::new();
    for (at, task) in timeline.tasks.iter().enumerate() {
        let from = before(timeline, at).into_iter().filter_map(|id| timeline.task(id));
        pairs.extend(from.map(|from| (from.kernel.index() * kernels + task.kernel.index()) as u32));
    }
    pairs.arrange();
    let counted = pairs.chunk_by(|a, b| a == b);
    let mut graph: Vec<(usize, usize, u64)> = counted
        .map(|same| (same[0] as usize / kernels, same[0] as usize % kernels, same.len() as u64))
        .collect();
    graph.arrange_by_key(|&(from, to, count)| (Reverse(count), from, to));
    graph
}

/// Tasks of two runs that are the same task, and those that are in one of them alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matched {
    /// Places of both.
    pub pairs: Vec<(u32, u32)>,
    /// Tasks of the first and of the second run that the other does not have.
    pub alone: [u64; 2],
    /// Whether their indices told which is which; else they were counted by kernel.
    pub by_indices: bool,
}

/// Matches tasks by kernel and indices; tasks of a kernel with the same indices, or without, in the order of their numbers.
pub fn matched(a: &Timeline, b: &Timeline) -> Matched {
    let mut names: Vec<&str> = a.kernels.iter().chain(&b.kernels).map(String::as_str).collect();
    names.arrange();
    names.dedup();
    let by_indices = !a.indices.is_empty() && !b.indices.is_empty();
    let sorted = |of: &Timeline| {
        let numbers: Vec<usize> =
            of.kernels.iter().map(|name| names.binary_search(&name.as_str()).unwrap_or(0)).collect();
        let number = |at: u32| numbers.get(of.tasks[at as usize].kernel.index()).copied().unwrap_or(0);
        let mut places: Vec<(usize, u32)> = (0..of.tasks.len() as u32).map(|at| (number(at), at)).collect();
        let indices = |at: u32| if by_indices { of.indices.list(at as usize) } else { &[] };
        places.arrange_by(|x, y| (x.0, indices(x.1), x.1).cmp(&(y.0, indices(y.1), y.1)));
        places
    };
    let (of_a, of_b) = (sorted(a), sorted(b));
    let (mut at_a, mut at_b) = (0, 0);
    let mut found = Matched { by_indices, ..Matched::default() };
    while let (Some(&(kernel_a, task_a)), Some(&(kernel_b, task_b))) = (of_a.get(at_a), of_b.get(at_b)) {
        let indices = |of: &'_ Timeline, at: u32| {
            if by_indices { of.indices.list(at as usize).to_vec() } else { Vec::new() }
        };
        let order = kernel_a.cmp(&kernel_b).then_with(|| indices(a, task_a).cmp(&indices(b, task_b)));
        at_a += usize::from(order.is_le());
        at_b += usize::from(order.is_ge());
        match order {
            std::cmp::Ordering::Less => found.alone[0] += 1,
            std::cmp::Ordering::Greater => found.alone[1] += 1,
            std::cmp::Ordering::Equal => found.pairs.push((task_a, task_b)),
        }
    }
    found.alone[0] += (of_a.len() - at_a) as u64;
    found.alone[1] += (of_b.len() - at_b) as u64;
    found.pairs.arrange();
    found
}
