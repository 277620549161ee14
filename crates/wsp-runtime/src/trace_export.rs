//! Timelines for trace viewers: measured and simulated runs as Chrome trace events, which Perfetto reads too.
//!
//! The format is one JSON object whose `traceEvents` hold an event per task, with its begin and duration in microseconds.
//! Here they have three decimals, so that nanoseconds are exact; of a simulation, a cycle is written as a nanosecond.

use crate::TaskTrace;
use crate::simulate::{SimGraph, Simulation};
use std::fmt::{self, Display, Write as _};
use std::io;
use wsp_core::{KernelId, TaskId};

/// Writes a measured run: a row per worker, and on it the tasks that it ran.
///
/// Each task carries its id and kernel, how many nanoseconds after the run's start it was submitted and ready, and which
/// tasks it waited for. `name` is what it is called.
///
/// # Errors
/// Those of `out`, to which much is written in small pieces.
pub fn write_chrome_trace<N: Display>(
    out: &mut impl io::Write,
    tasks: &[TaskTrace],
    mut name: impl FnMut(TaskId, KernelId) -> N,
) -> io::Result<()> {
    let workers = tasks.iter().map(|task| task.worker + 1).max().unwrap_or(0);
    let mut events = Events::begin(out, "measured run", "nanoseconds", workers)?;
    for task in tasks {
        events.slice(&name(task.task, task.kernel), task.worker, task.started_ns, task.finished_ns)?;
        events.ids(task.task, task.kernel, task.submitted_ns, task.ready_ns)?;
        write!(events.out, ",\"waited_for\":[")?;
        for (i, before) in task.preds.iter().enumerate() {
            write!(events.out, "{}{}", if i == 0 { "" } else { "," }, before.0)?;
        }
        write!(events.out, "]}}}}")?;
    }
    events.end()
}

/// Writes a simulated run of a graph: a row per worker, and on it the tasks that it ran.
///
/// Each task carries its id and kernel, the cycles in which it was submitted and ready, what its start waited for last, and
/// whether it lies on the run's critical path. `name` is what it is called. Barrier nodes have no row and are left out.
///
/// # Errors
/// Those of `out`, to which much is written in small pieces.
pub fn write_simulated_chrome_trace<N: Display>(
    out: &mut impl io::Write,
    graph: &SimGraph,
    simulation: &Simulation,
    mut name: impl FnMut(TaskId, KernelId) -> N,
) -> io::Result<()> {
    let mut is_critical = vec![false; simulation.tasks.len()];
    for step in simulation.critical_path() {
        is_critical[step.task.index()] = true;
    }
    let mut events = Events::begin(out, "simulated run", "cycles", simulation.workers.len() as u32)?;
    for ((task, is_critical), id) in simulation.tasks.iter().zip(is_critical).zip((0..).map(TaskId)) {
        let (Some(worker), Some(spec)) = (task.worker, graph.task(id)) else { continue };
        events.slice(&name(id, spec.kernel), worker, task.start, task.end)?;
        events.ids(id, spec.kernel, task.submitted, task.ready)?;
        write!(events.out, ",\"critical\":{is_critical},\"waited_for\":")?;
        events.string(&task.cause)?;
        write!(events.out, "}}}}")?;
    }
    events.end()
}

/// The object in the making.
pub(crate) struct Events<'o, W: io::Write> {
    pub(crate) out: &'o mut W,
    /// What parts the next event from the one before it.
    comma: &'static str,
}

impl<'o, W: io::Write> Events<'o, W> {
    /// Begins the object, and names the rows.
    fn begin(out: &'o mut W, process: &str, clock: &str, workers: u32) -> io::Result<Events<'o, W>> {
        let mut events = Events::open(out, clock)?;
        events.name("process_name", 0, 0, &process)?;
        for worker in 0..workers {
            events.name("thread_name", 0, worker, &format_args!("worker {worker}"))?;
        }
        Ok(events)
    }

    /// Begins the object.
    pub(crate) fn open(out: &'o mut W, clock: &str) -> io::Result<Events<'o, W>> {
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"clock\":\"{clock}\"}},\"traceEvents\":["
        )?;
        Ok(Events { out, comma: "" })
    }

    /// Names a process or a row.
    pub(crate) fn name(&mut self, what: &str, pid: u32, tid: u32, name: &impl Display) -> io::Result<()> {
        self.next()?;
        write!(self.out, "{{\"name\":\"{what}\",\"ph\":\"M\",\"pid\":{pid}")?;
        if what == "thread_name" {
            write!(self.out, ",\"tid\":{tid}")?;
        }
        write!(self.out, ",\"args\":{{\"name\":")?;
        self.string(name)?;
        write!(self.out, "}}}}")
    }

    /// Parts the next event from the one before it.
    fn next(&mut self) -> io::Result<()> {
        writeln!(self.out, "{}", std::mem::replace(&mut self.comma, ","))
    }

    /// Begins the event of a task, up to its arguments.
    fn slice(&mut self, name: &impl Display, worker: u32, start: u64, end: u64) -> io::Result<()> {
        self.slice_on(name, "task", (0, worker), start, end)
    }

    /// Begins an event on the row `(process, row)`, up to its arguments.
    pub(crate) fn slice_on(
        &mut self,
        name: &impl Display,
        category: &str,
        (pid, tid): (u32, u32),
        start: u64,
        end: u64,
    ) -> io::Result<()> {
        self.next()?;
        write!(self.out, "{{\"name\":")?;
        self.string(name)?;
        write!(self.out, ",\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid}")?;
        let dur = end.saturating_sub(start);
        write!(self.out, ",\"ts\":{},\"dur\":{},\"args\":{{", Micros(start), Micros(dur))
    }

    /// The first arguments of an event.
    fn ids(&mut self, task: TaskId, kernel: KernelId, submitted: u64, ready: u64) -> io::Result<()> {
        write!(
            self.out,
            "\"task\":{},\"kernel\":{},\"submitted\":{submitted},\"ready\":{ready}",
            task.0, kernel.0
        )
    }

    /// A string with what JSON asks to be escaped.
    fn string(&mut self, text: &impl Display) -> io::Result<()> {
        self.out.write_all(b"\"")?;
        let mut escaped = Escaped { out: self.out, result: Ok(()) };
        // Only the sink refuses what is written to it, and it keeps the reason.
        let written = write!(escaped, "{text}");
        escaped.result?;
        written.map_err(io::Error::other)?;
        self.out.write_all(b"\"")
    }

    pub(crate) fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}

/// Thousandths as microseconds.
pub(crate) struct Micros(pub(crate) u64);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Text on its way into a JSON string.
struct Escaped<'o, W: io::Write> {
    out: &'o mut W,
    result: io::Result<()>,
}

impl<W: io::Write> Escaped<'_, W> {
    fn write(&mut self, text: &str) -> io::Result<()> {
        let mut plain = 0;
        for (i, byte) in text.bytes().enumerate() {
            if byte >= b' ' && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.out.write_all(&text.as_bytes()[plain..i])?;
            plain = i + 1;
            match byte {
                b'"' => self.out.write_all(b"\\\"")?,
                b'\\' => self.out.write_all(b"\\\\")?,
                control => write!(self.out, "\\u{control:04x}")?,
            }
        }
        self.out.write_all(&text.as_bytes()[plain..])
    }
}

impl<W: io::Write> fmt::Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.write(text);
        if self.result.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}
