//! The forms of trace files, and what both write.
//!
//! Whatever is written here is read by [`read`](crate::read): another version of one is another version of the other.

mod json;
mod perfetto;
mod wire;

use json::Json;
use perfetto::Perfetto;
use std::io;
use wsp_core::{ChannelFigures, WhyLate};
use wsp_ordered::Arrange as _;
use wsp_runtime::timeline::{About, Detail, Lists, Row, Span, Timeline};

/// The version of trace files. Another one is written when what stands in them, or what it means, is another.
pub(crate) const VERSION: u32 = 1;

/// The form of a trace file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// JSON of trace events, for Perfetto and `chrome://tracing`.
    Json,
    /// Perfetto's protobuf, for Perfetto.
    Perfetto,
}

impl Form {
    /// The forms, each with the end of its files' names.
    pub const ALL: [(Form, &'static str); 2] = [(Form::Json, "json"), (Form::Perfetto, "pftrace")];

    /// The form of files whose names end so, in letters of any case.
    pub fn of_extension(extension: &str) -> Option<Form> {
        let found = Form::ALL.into_iter().find(|(_, end)| extension.eq_ignore_ascii_case(end));
        found.map(|(form, _)| form)
    }
}

/// Which edges a trace file shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Edges {
    /// Of each task the one from the task before it that was complete last.
    #[default]
    Last,
    /// All that are known.
    All,
}

/// A task or a span as it is written.
struct Slice<'a> {
    /// The row, by its place.
    row: u32,
    name: &'a str,
    category: &'static str,
    begin: u64,
    end: u64,
    details: &'a [(&'static str, Value<'a>)],
    /// Numbers of the edges from it and to it.
    flows: [&'a [u64]; 2],
}

/// A detail as it is written.
#[derive(Clone, Copy)]
enum Value<'a> {
    Number(i64),
    Flag(bool),
    Numbers(&'a [u32]),
    /// One of few texts.
    Word(&'static str),
    /// A text that only people read.
    Remark(&'a dyn std::fmt::Display),
}

impl<'a> From<&'a Detail> for Value<'a> {
    fn from(detail: &'a Detail) -> Value<'a> {
        match detail {
            Detail::Number(number) => Value::Number(*number),
            Detail::Flag(flag) => Value::Flag(*flag),
            Detail::Numbers(numbers) => Value::Numbers(numbers),
        }
    }
}

/// What writes a form: processes and rows first, then slices and counters.
trait Writer {
    /// Whether slices of one row come together, in the order of time, and edges and counters are shown; else slices come in the order of ids.
    fn is_by_row(&self) -> bool;

    fn process(&mut self, process: u32, name: &str) -> io::Result<()>;
    fn row(&mut self, place: u32, row: &Row) -> io::Result<()>;
    fn slice(&mut self, slice: &Slice<'_>) -> io::Result<()>;
    /// The moments at which a number of a process changed, ascending, with what it was from then on. Comes after all slices.
    fn counter(
        &mut self,
        process: u32,
        name: &str,
        values: &mut dyn Iterator<Item = (u64, u64)>,
    ) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
}

/// Writes a timeline in a form, with these edges. Of runs in virtual time a cycle is shown as a microsecond.
///
/// # Errors
/// Those of `out`, to which much is written in small pieces.
pub fn write_trace(timeline: &Timeline, form: Form, edges: Edges, out: &mut dyn io::Write) -> io::Result<()> {
    let labels = labels(timeline, edges);
    let written = Written(timeline);
    match form {
        Form::Json => written.write_to(&mut Json::begin(timeline.clock, labels, out)?, edges),
        Form::Perfetto => {
            let labels = [labels, vec![("end", "marked".to_owned())]].concat();
            written.write_to(&mut Perfetto::begin(timeline.clock, labels, out), edges)
        }
    }
}

/// What a file says of itself: names with values.
fn labels(timeline: &Timeline, edges: Edges) -> Vec<(&'static str, String)> {
    let About { key, workers, machine, work } = &timeline.about;
    let shown = timeline.tasks.iter().filter(|task| task.row().is_some()).count();
    let mut labels = vec![
        ("wsp_trace", VERSION.to_string()),
        ("unit", timeline.clock.word().to_owned()),
        ("tasks", shown.to_string()),
        ("launches", timeline.spans.len().to_string()),
        ("edges", if edges == Edges::All { "all" } else { "last" }.to_owned()),
    ];
    labels.extend(key.map(|key| ("program", About::shown(key))));
    labels.extend(workers.map(|workers| ("workers", workers.to_string())));
    labels.extend(
        machine.iter().map(|of| ("machine", format!("{} {} {} {}", of.hz, of.operations, of.bytes, of.name))),
    );
    for (kernel, work) in timeline.kernels.iter().zip(work) {
        labels.extend(work.map(|of| ("work", format!("{} {} {kernel}", of.operations, of.bytes))));
    }
    labels.extend(timeline.channels.iter().map(|of| {
        let ChannelFigures { depth, tokens, fullest, sender_waited, receiver_waited } = of.figures;
        let numbers = format!("{depth} {tokens} {fullest} {sender_waited} {receiver_waited}");
        let [from, to] = &of.ends;
        ("channel", format!("{numbers} {from}\t{to}\t{}", of.name))
    }));
    labels
}

/// A timeline on its way into a file.
struct Written<'a>(&'a Timeline);

impl std::ops::Deref for Written<'_> {
    type Target = Timeline;

    fn deref(&self) -> &Timeline {
        self.0
    }
}

impl Written<'_> {
    fn write_to(&self, out: &mut dyn Writer, edges: Edges) -> io::Result<()> {
        // What the file says of itself stands with its first process.
        let nameless = self.processes.is_empty().then(String::new);
        for (process, name) in (0..).zip(self.processes.iter().chain(&nameless)) {
            out.process(process, name)?;
        }
        for (place, row) in (0..).zip(&self.rows) {
            out.row(place, row)?;
        }
        let flows = if out.is_by_row() { Flows::of(self, edges) } else { Flows::default() };
        let on_path = self.critical();
        for span in &self.spans {
            self.write_span(out, span)?;
        }
        for at in self.order(out.is_by_row()) {
            self.write_task(out, at, (edges, &flows, on_path[at]))?;
        }
        if out.is_by_row() {
            self.write_counters(out)?;
        }
        for channel in &self.channels {
            out.counter(0, &format!("slots of {}", channel.name), &mut channel.levels.iter().copied())?;
        }
        out.end()
    }

    /// Whether each task is on the critical path.
    fn critical(&self) -> Vec<bool> {
        let mut critical = vec![false; self.tasks.len()];
        self.critical_path().tasks.iter().for_each(|&at| critical[at] = true);
        critical
    }

    /// Places of tasks in the order in which they are written. A barrier node is not.
    fn order(&self, by_row: bool) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..self.tasks.len()).filter(|&at| self.tasks[at].row().is_some()).collect();
        if by_row {
            order.arrange_by_key(|&at| {
                let task = &self.tasks[at];
                (task.row(), task.started, task.ended, at)
            });
        }
        order
    }

    fn write_span(&self, out: &mut dyn Writer, span: &Span) -> io::Result<()> {
        let details: Vec<_> =
            span.details.iter().map(|(name, detail)| (*name, Value::from(detail))).collect();
        out.slice(&Slice {
            row: span.row,
            name: &span.name,
            category: "launch",
            begin: span.begin,
            end: span.end,
            details: &details,
            flows: [&[], &[]],
        })
    }

    fn write_task(
        &self,
        out: &mut dyn Writer,
        at: usize,
        (edges, flows, is_critical): (Edges, &Flows, bool),
    ) -> io::Result<()> {
        let task = &self.tasks[at];
        let number = |number: u64| Value::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let (cause, last) = (task.cause(), task.last());
        let mut details = vec![("task", Value::Number(task.task.0.into()))];
        if !self.indices.list(at).is_empty() {
            details.push(("indices", Value::Numbers(self.indices.list(at))));
        }
        details.push(("submitted", number(task.submitted)));
        details.push(("ready", number(task.ready)));
        details.push(("cause", Value::Word(WhyLate::KINDS[cause.kind()])));
        details.extend(cause.held_by().map(|by| ("held_by", Value::Number(by.0.into()))));
        details.extend(last.map(|last| ("last", Value::Number(last.0.into()))));
        let before: Vec<u32> = self.before.list(at).iter().map(|task| task.0).collect();
        if !out.is_by_row() {
            details.push(("waited", number(task.started.saturating_sub(task.ready))));
            details.push(("waited_for", Value::Remark(&cause)));
            if edges == Edges::All {
                details.push(("before", Value::Numbers(&before)));
            }
        }
        if is_critical {
            details.push(("critical", Value::Flag(true)));
        }
        let own = self.details.get(at).into_iter().flatten();
        details.extend(own.map(|(name, detail)| (*name, Value::from(detail))));
        out.slice(&Slice {
            row: task.row().unwrap_or(0),
            name: self.kernels.get(task.kernel.index()).map_or("?", String::as_str),
            category: "task",
            begin: task.started,
            end: task.ended.max(task.started),
            details: &details,
            flows: [flows.from.list(at), flows.to.list(at)],
        })
    }

    /// Writes how many tasks of each process were in flight, and how many of them ready, from moment to moment.
    fn write_counters(&self, out: &mut dyn Writer) -> io::Result<()> {
        for process in 0..self.processes.len() as u32 {
            let on_process = |row: Option<u32>| {
                row.and_then(|row| self.rows.get(row as usize)).is_some_and(|row| row.process == process)
            };
            let tasks = || self.tasks.iter().filter(|task| on_process(task.row()));
            let in_flight = tasks().map(|task| (task.submitted, task.ended)).collect();
            out.counter(process, "tasks in flight", &mut levels(in_flight))?;
            let ready = tasks().map(|task| (task.ready, task.started)).collect();
            out.counter(process, "ready tasks", &mut levels(ready))?;
        }
        Ok(())
    }
}

/// How many of some spans of time lie over each moment at which that changes.
fn levels(spans: Vec<(u64, u64)>) -> impl Iterator<Item = (u64, u64)> {
    // The end of a span counts 0, its begin 1.
    let mut changes: Vec<(u64, u64)> = spans
        .into_iter()
        .filter(|(from, to)| from < to)
        .flat_map(|(from, to)| [(from, 1), (to, 0)])
        .collect();
    crate::sort(&mut changes);
    let mut level = 0_i64;
    let mut at = 0;
    std::iter::from_fn(move || {
        let &(now, _) = changes.get(at)?;
        let before = level;
        while let Some((_, change)) = changes.get(at).filter(|(moment, _)| *moment == now) {
            level += if *change == 0 { -1 } else { 1 };
            at += 1;
        }
        Some((now, level, before))
    })
    .filter(|(_, level, before)| level != before)
    .map(|(now, level, _)| (now, level.unsigned_abs()))
}

/// Numbers of edges, counted from 1, by the place of the task from which and to which each goes.
#[derive(Default)]
struct Flows {
    from: Lists<u64>,
    to: Lists<u64>,
}

impl Flows {
    fn of(timeline: &Timeline, edges: Edges) -> Flows {
        let mut flows = Flows::default();
        let mut from: Vec<(u64, u64)> = Vec::new();
        let mut count = 0;
        for (at, task) in timeline.tasks.iter().enumerate() {
            let all = if edges == Edges::All { timeline.before.list(at) } else { &[] };
            let last = task.last().filter(|last| !all.contains(last));
            let before = all.iter().copied().chain(last).filter_map(|task| timeline.place(task));
            let first = count + 1;
            from.extend(before.map(|place| {
                count += 1;
                (place as u64, count)
            }));
            flows.to.push(first..=count);
        }
        crate::sort(&mut from);
        let mut rest = from.as_slice();
        for at in 0..timeline.tasks.len() {
            let (own, others) = rest.split_at(rest.partition_point(|(place, _)| *place <= at as u64));
            flows.from.push(own.iter().map(|(_, number)| *number));
            rest = others;
        }
        flows
    }
}
