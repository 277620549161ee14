//! What a trace says, as text: `wsp report --text`.

use super::lines::Lines;
use super::units::span;
use super::{Channels, waits};
use std::cmp::Reverse;
use wsp_core::words::counted;
use wsp_ordered::Arrange;
use wsp_report::facts::{self, KernelFacts};
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{About, Timeline};

/// Rows, kernels, edges and tasks of a list that are shown.
const MOST: usize = 8;
/// Parts of the time that a line of the Gantt chart has.
const PARTS: usize = 64;

/// One trace.
pub(crate) fn text(timeline: &Timeline, file: &str) -> String {
    let mut lines = Lines::default();
    let key = timeline
        .about
        .key
        .map_or_else(|| "key not known".to_owned(), |key| format!("key {}", About::shown(key)));
    lines.add("program", &on_one_line(&format!("{}, {key}", timeline.processes.join(", "))));
    if let Some(machine) = &timeline.about.machine {
        lines.add("machine", &format!("{}, at {:.4} GHz", machine.name, machine.hz as f64 / 1e9));
    }
    let rows = facts::loads(timeline);
    let end = timeline.end();
    let (tasks, time) = (counted(timeline.tasks.len(), "task"), span(timeline.clock, end));
    lines.add("time", &format!("{time}, {tasks} on {}", counted(rows.len(), "row")));
    let mut text = lines.finish(file) + &waits::text(timeline);
    let mut lines = Lines::default();
    let share = |busy: u64| if end == 0 { 0.0 } else { busy as f64 / end as f64 * 100.0 };
    let load = |of: &facts::Load| {
        let row = timeline.rows.get(of.row).map_or("?", |row| row.name.as_str());
        format!("{row} {:.1} %, {}", share(of.busy), counted(of.tasks, "task"))
    };
    list(&mut lines, "load", "row", &mut rows.iter().map(load));
    gantt(&mut lines, timeline, &rows);
    let other = |of: &facts::Load| {
        let row = timeline.rows.get(of.row).map_or("?", |row| row.name.as_str());
        format!("{row} {:.1} %", share(of.busy))
    };
    list(&mut lines, "other load", "row", &mut facts::other_loads(timeline).iter().map(other));
    let kernels = facts::kernels(timeline);
    list(&mut lines, "kernels", "kernel", &mut kernels.iter().map(|of| kernel(timeline, of)));
    let name = |at: usize| timeline.kernels.get(at).map_or("?", String::as_str);
    let edge = |(from, to, count): &(usize, usize, u64)| format!("{} to {} {count}", name(*from), name(*to));
    let what = if timeline.before.is_empty() { "last edges" } else { "edges" };
    list(&mut lines, what, "pair of kernels", &mut facts::graph(timeline).iter().map(edge));
    Channels(timeline.clock, timeline.channels.clone()).add_to(&mut lines);
    text += &lines.without_title();
    text
}

/// Adds when rows ran tasks: a line for each, in which a letter is a part of the time, the darker the more of it was busy.
fn gantt(lines: &mut Lines, timeline: &Timeline, loads: &[facts::Load]) {
    let rows: Vec<usize> = loads.iter().map(|load| load.row).collect();
    let busy = facts::busy_in_parts(timeline, &rows[..rows.len().min(MOST)], PARTS);
    let whole = u128::from(timeline.end().max(1));
    let shade = |busy: &u128| match busy * 4 / whole {
        _ if *busy == 0 => ' ',
        0 => '.',
        1 => ':',
        2 => '+',
        _ => '#',
    };
    let line = |at: usize| {
        let name = timeline.rows.get(rows[at]).map_or("?", |row| row.name.as_str());
        let shades: String = busy.get(at).map(|of| of.iter().map(shade).collect()).unwrap_or_default();
        format!("|{shades}| {name}")
    };
    list(lines, "gantt", "row", &mut (0..rows.len()).map(line));
}

/// A text on one line: what would break it is escaped.
fn on_one_line(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().collect(),
        false => String::from(c),
    };
    text.chars().map(escaped).collect()
}

/// Adds the first lines of a list, and how many there are more.
fn list(lines: &mut Lines, title: &str, what: &str, all: &mut dyn ExactSizeIterator<Item = String>) {
    let count = all.len();
    for (at, line) in all.take(MOST).enumerate() {
        lines.add(if at == 0 { title } else { "" }, &on_one_line(&line));
    }
    if count > MOST {
        // A pair of kernels is none of more than one word that takes an ending.
        let plural = what.replacen("pair", "pairs", 1);
        let more = count - MOST;
        lines.add(
            "",
            &format!(
                "and {more} {} more",
                if more == 1 || plural != what { plural } else { format!("{what}s") }
            ),
        );
    }
}

/// A kernel with its times and, where it is known, its work and how near to the roof that is.
fn kernel(timeline: &Timeline, of: &KernelFacts) -> String {
    let name = timeline.kernels.get(of.kernel).map_or("?", String::as_str);
    let [busy, mean, longest] =
        [of.busy, of.busy / of.tasks.max(1), of.longest].map(|time| span(timeline.clock, time));
    let tasks = counted(of.tasks, "task");
    let line = format!("{name} {tasks}, {busy}, mean {mean}, longest {longest}");
    let Some(work) = of.work else { return format!("{line}; operations and bytes not known") };
    let seconds = match (timeline.clock, &timeline.about.machine) {
        (Clock::Nanoseconds, _) => Some(of.busy as f64 / 1e9),
        (Clock::Cycles, Some(machine)) if machine.hz > 0 => Some(of.busy as f64 / machine.hz as f64),
        (Clock::Cycles, _) => None,
    };
    let per_byte = work.operations as f64 / (work.bytes as f64).max(1.0);
    let line = format!("{line}; {per_byte:.2} operations per byte");
    match seconds.filter(|seconds| *seconds > 0.0) {
        Some(seconds) => {
            format!("{line}, {:.2} G operations/s on a row", work.operations as f64 / seconds / 1e9)
        }
        None => line,
    }
}

/// What is another in the second of two traces.
pub(crate) fn difference([a, b]: [&Timeline; 2], names: [&str; 2]) -> String {
    let matched = facts::matched(a, b);
    let mut lines = Lines::default();
    let ends = [a, b].map(Timeline::end);
    let change = |of: [u64; 2]| {
        let [from, to] = of.map(|time| span(a.clock, time));
        match of {
            [x, y] if x == y => format!("{from} in both"),
            [0, _] => format!("{from} to {to}"),
            [x, y] => format!("{from} to {to}, {:+.1} %", (y as f64 / x as f64 - 1.0) * 100.0),
        }
    };
    lines.add("time", &change(ends));
    let how = if matched.by_indices { "by kernel and indices" } else { "by kernel and order" };
    let [only_a, only_b] = matched.alone;
    let pairs = counted(matched.pairs.len(), "task");
    lines.add("matched", &format!("{pairs} {how}; {only_a} in the first alone, {only_b} in the second"));
    let of_b = facts::kernels(b);
    let kernel = |of: &KernelFacts| {
        let name = &a.kernels[of.kernel];
        let other = of_b.iter().find(|other| b.kernels[other.kernel] == *name);
        let (tasks, busy) = other.map_or((0, 0), |other| (other.tasks, other.busy));
        format!("{name} {} to {}, {}", of.tasks, counted(tasks, "task"), change([of.busy, busy]))
    };
    let of_a = facts::kernels(a);
    let is_new =
        |of: &&KernelFacts| !of_a.iter().any(|other| a.kernels[other.kernel] == b.kernels[of.kernel]);
    let new = |of: &KernelFacts| {
        format!("{} 0 to {} tasks, {}", b.kernels[of.kernel], of.tasks, change([0, of.busy]))
    };
    let kernels = of_a.iter().map(kernel).chain(of_b.iter().filter(is_new).map(new));
    let kernels: Vec<String> = kernels.collect();
    list(&mut lines, "kernels", "kernel", &mut kernels.into_iter());
    let waits = b.waits();
    let wait = |of: &wsp_runtime::timeline::Waits| {
        let other = waits.iter().find(|other| other.cause == of.cause);
        let (tasks, waited) = other.map_or((0, 0), |other| (other.tasks, other.waited));
        format!("{} {} to {}, {}", of.cause, of.tasks, counted(tasks, "task"), change([of.waited, waited]))
    };
    let of_a = a.waits();
    let is_new = |of: &&wsp_runtime::timeline::Waits| !of_a.iter().any(|other| other.cause == of.cause);
    let new = |of: &wsp_runtime::timeline::Waits| {
        format!("{} 0 to {} tasks, {}", of.cause, of.tasks, change([0, of.waited]))
    };
    let causes: Vec<String> = of_a.iter().map(wait).chain(waits.iter().filter(is_new).map(new)).collect();
    list(&mut lines, "waits", "cause", &mut causes.into_iter());
    let length = |of: &Timeline, at: u32| {
        let task = &of.tasks[at as usize];
        task.ended.saturating_sub(task.started)
    };
    let mut changed: Vec<&(u32, u32)> =
        matched.pairs.iter().filter(|(x, y)| length(a, *x) != length(b, *y)).collect();
    changed.arrange_by_key(|(x, y)| (Reverse(length(a, *x).abs_diff(length(b, *y))), *x));
    changed.truncate(MOST);
    let task = |pair: &&(u32, u32)| {
        let record = &a.tasks[pair.0 as usize];
        let name = a.kernels.get(record.kernel.index()).map_or("?", String::as_str);
        let indices = match a.indices.list(pair.0 as usize) {
            [] => String::new(),
            indices => format!(" {indices:?}"),
        };
        format!("task {} {name}{indices}: {}", record.task.0, change([length(a, pair.0), length(b, pair.1)]))
    };
    list(&mut lines, "changed", "task", &mut changed.iter().map(task));
    lines.finish(&format!("{} to {}", names[0], names[1]))
}
