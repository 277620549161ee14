//! Timelines as columns of numbers, as the page reads them: `page/src/data.ts` has the other side.
//!
//! The length of a head, the head as JSON, and the columns that it lists. A column is the difference of each number from the one before it, folded so
//! that small ones of either sign are small, as planes of its bytes without those that are 0 everywhere: that is what compresses well in little time.

use std::fmt::Write as _;
use wsp_core::{ChannelFigures, WhyLate};
use wsp_runtime::timeline::{About, Detail, TaskRecord, Timeline};

/// Details of tasks that are numbers.
const NUMBERS: [&str; 3] = ["launch", "node", "block"];

/// Times above which the upper half of their bits has a column of its own.
const WIDE: u64 = 1 << 32;

/// The bytes of a timeline, which is called `name`.
pub(crate) fn packed(name: &str, timeline: &Timeline) -> Vec<u8> {
    let mut columns = Columns { listed: String::new(), bytes: Vec::new() };
    columns.all(timeline);
    let head = head(name, timeline, &columns.listed);
    let mut bytes = Vec::with_capacity(4 + head.len() + columns.bytes.len());
    bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(&columns.bytes);
    bytes
}

struct Columns {
    /// Names and lengths, as JSON.
    listed: String,
    bytes: Vec<u8>,
}

impl Columns {
    fn add(&mut self, name: &str, values: &[u32]) {
        let mut before = 0_u32;
        let fold = |value: &u32| folded(value.wrapping_sub(std::mem::replace(&mut before, *value)));
        let folds: Vec<u32> = values.iter().map(fold).collect();
        let bits = u32::BITS - folds.iter().fold(0, |all, fold| all | fold).leading_zeros();
        let planes = bits.div_ceil(8);
        let comma = if self.listed.is_empty() { "" } else { "," };
        // The text grows in memory.
        let _ = write!(self.listed, "{comma}[\"{name}\",{},{planes}]", values.len());
        for plane in 0..planes {
            self.bytes.extend(folds.iter().map(|fold| (fold >> (8 * plane)) as u8));
        }
    }

    fn each(&mut self, name: &str, timeline: &Timeline, value: &dyn Fn(&TaskRecord) -> u32) {
        let values: Vec<u32> = timeline.tasks.iter().map(value).collect();
        self.add(name, &values);
    }

    fn time(&mut self, name: &str, timeline: &Timeline, value: &dyn Fn(&TaskRecord) -> u64) {
        self.each(name, timeline, &|task| value(task) as u32);
        if timeline.tasks.iter().any(|task| value(task) >= WIDE) {
            self.each(&format!("{name}.high"), timeline, &|task| (value(task) >> 32) as u32);
        }
    }

    fn all(&mut self, timeline: &Timeline) {
        let of = |at: usize| timeline.tasks[at].task.0;
        self.each("id", timeline, &|task| task.task.0);
        self.each("kernel", timeline, &|task| task.kernel.index() as u32);
        self.each("row", timeline, &|task| task.row().unwrap_or(0));
        self.each("cause", timeline, &|task| task.cause().kind() as u32);
        // No task is before itself: a difference of 0 says that there is none.
        let other = |task: &TaskRecord, other: Option<wsp_core::TaskId>| {
            other.map_or(0, |other| task.task.0.wrapping_sub(other.0))
        };
        self.each("last", timeline, &|task| other(task, task.last()));
        self.each("holder", timeline, &|task| other(task, task.cause().held_by()));
        self.time("started", timeline, &|task| task.started);
        self.time("waited", timeline, &|task| task.started.saturating_sub(task.ready));
        self.time("queued", timeline, &|task| task.ready.saturating_sub(task.submitted));
        self.time("length", timeline, &|task| task.ended.saturating_sub(task.started));
        let places = 0..timeline.tasks.len();
        let counts: Vec<u32> = places.clone().map(|at| timeline.indices.list(at).len() as u32).collect();
        let values: Vec<u32> = places.clone().flat_map(|at| timeline.indices.list(at)).copied().collect();
        self.add("index.count", &counts);
        self.add("index", &values);
        let counts: Vec<u32> = places.clone().map(|at| timeline.before.list(at).len() as u32).collect();
        let before = |at: usize| timeline.before.list(at).iter().map(move |task| of(at).wrapping_sub(task.0));
        let values: Vec<u32> = places.clone().flat_map(before).collect();
        self.add("before.count", &counts);
        self.add("before", &values);
        for name in NUMBERS {
            let number = |at: usize| {
                let mut details = timeline.details.get(at)?.iter();
                details.find_map(|(of, detail)| match detail {
                    Detail::Number(number) if *of == name => Some(*number as u32),
                    _ => None,
                })
            };
            if !timeline.details.is_empty() {
                let values: Vec<u32> = places.clone().map(|at| number(at).unwrap_or(0)).collect();
                self.add(name, &values);
            }
        }
    }
}

/// A difference, whose sign goes to the lowest bit.
fn folded(difference: u32) -> u32 {
    (difference << 1) ^ (difference.cast_signed() >> 31).cast_unsigned()
}

fn head(name: &str, timeline: &Timeline, columns: &str) -> String {
    let About { key, workers: _, machine, work } = &timeline.about;
    let list = |parts: Vec<String>| parts.join(",");
    let rows = timeline.rows.iter().map(|row| format!("[{},{}]", row.process, text(&row.name)));
    let kernels = timeline.kernels.iter().enumerate().map(|(at, name)| {
        let (operations, bytes) = match work.get(at).copied().flatten() {
            Some(work) => (work.operations.to_string(), work.bytes.to_string()),
            None => ("null".to_owned(), "null".to_owned()),
        };
        format!("{{\"name\":{},\"operations\":{operations},\"bytes\":{bytes}}}", text(name))
    });
    let machine = machine.as_ref().map_or("null".to_owned(), |of| {
        let [hz, operations, bytes] = [of.hz, of.operations, of.bytes];
        format!("{{\"name\":{},\"hz\":{hz},\"operations\":{operations},\"bytes\":{bytes}}}", text(&of.name))
    });
    let spans = timeline.spans.iter().map(|span| {
        let (row, begin, end) = (span.row, span.begin, span.end);
        format!("{{\"row\":{row},\"name\":{},\"begin\":{begin},\"end\":{end}}}", text(&span.name))
    });
    let channels = timeline.channels.iter().map(|of| {
        let ChannelFigures { depth, tokens, fullest, sender_waited, receiver_waited } = of.figures;
        let [sender, receiver] = of.ends.each_ref().map(|end| text(end));
        let waited = format!("\"senderWaited\":{sender_waited},\"receiverWaited\":{receiver_waited}");
        let ends = format!("\"name\":{},\"sender\":{sender},\"receiver\":{receiver}", text(&of.name));
        format!("{{{ends},\"depth\":{depth},\"tokens\":{tokens},\"fullest\":{fullest},{waited}}}")
    });
    let parts = [
        ("name", text(name)),
        ("key", key.map_or("null".to_owned(), |key| text(&About::shown(key)))),
        ("clock", text(timeline.clock.word())),
        ("processes", format!("[{}]", list(timeline.processes.iter().map(|name| text(name)).collect()))),
        ("rows", format!("[{}]", list(rows.collect()))),
        ("kernels", format!("[{}]", list(kernels.collect()))),
        ("machine", machine),
        ("causes", format!("[{}]", list(WhyLate::KINDS.map(text).to_vec()))),
        ("allEdges", (!timeline.before.is_empty()).to_string()),
        ("tasks", timeline.tasks.len().to_string()),
        ("spans", format!("[{}]", list(spans.collect()))),
        ("channels", format!("[{}]", list(channels.collect()))),
        ("columns", format!("[{columns}]")),
    ];
    let parts = parts.map(|(name, value)| format!("\"{name}\":{value}"));
    format!("{{{}}}", parts.join(","))
}

/// A text as JSON has it.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // The text grows in memory.
            c if c < ' ' => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
