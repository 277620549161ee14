//! Perfetto's form of trace files, read back with a decoder of its own: wire types and numbers of fields are those of the published
//! `protos/perfetto/trace/trace_packet.proto` and the files that it imports.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use flate2::read::ZlibDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use wsp_core::{KernelId, TaskId, WhyLate};
use wsp_report::{Edges, Form, write_trace};
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{About, Channel, Lists, Row, TaskRecord, Timeline};

/// The value of a field.
#[derive(Clone, PartialEq, Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// A message: its fields in their order.
#[derive(Clone, Default, PartialEq, Debug)]
struct Message(Vec<(u64, Field)>);

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a number should end");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

impl Message {
    fn of(mut bytes: &[u8]) -> Message {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => {
                    let (eight, rest) = bytes.split_at(8);
                    bytes = rest;
                    Field::Number(u64::from_le_bytes(eight.try_into().unwrap()))
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(value.to_vec())
                }
                other => panic!("wire type {other} is not of this form"),
            };
            fields.push((tag >> 3, field));
        }
        Message(fields)
    }

    fn numbers(&self, field: u64) -> Vec<u64> {
        let of = |(number, value): &(u64, Field)| match value {
            Field::Number(value) if *number == field => Some(*value),
            _ => None,
        };
        self.0.iter().filter_map(of).collect()
    }

    fn number(&self, field: u64) -> Option<u64> {
        let all = self.numbers(field);
        assert!(all.len() < 2, "field {field} should stand once");
        all.first().copied()
    }

    fn bytes(&self, field: u64) -> Vec<&[u8]> {
        let of = |(number, value): &'_ (u64, Field)| match value {
            Field::Bytes(_) if *number == field => Some(()),
            _ => None,
        };
        let found = self.0.iter().filter(|one| of(one).is_some());
        found.map(|(_, value)| if let Field::Bytes(value) = value { value.as_slice() } else { &[] }).collect()
    }

    fn messages(&self, field: u64) -> Vec<Message> {
        self.bytes(field).into_iter().map(Message::of).collect()
    }

    fn message(&self, field: u64) -> Option<Message> {
        self.messages(field).into_iter().next()
    }

    fn text(&self, field: u64) -> Option<String> {
        self.bytes(field).first().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }
}

/// A slice of a trace.
#[derive(Clone, Default, PartialEq, Debug)]
struct Slice {
    track: u64,
    name: String,
    category: String,
    begin: u64,
    end: u64,
    numbers: BTreeMap<String, Vec<u64>>,
    words: BTreeMap<String, String>,
    from: Vec<u64>,
    to: Vec<u64>,
}

/// What a trace says.
#[derive(Default, Debug)]
struct Read {
    /// Names and parents of tracks that are no counters.
    tracks: BTreeMap<u64, (String, Option<u64>)>,
    counters: BTreeMap<u64, (String, Vec<(u64, u64)>)>,
    slices: Vec<Slice>,
    packets: usize,
}

/// The state of a sequence of packets.
#[derive(Default)]
struct Sequence {
    time: u64,
    unit: u64,
    track: u64,
    texts: BTreeMap<(u64, u64), String>,
    open: Vec<Slice>,
}

fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let mut sequences: BTreeMap<u64, Sequence> = BTreeMap::new();
    for outer in Message::of(bytes).messages(1) {
        let [compressed] = outer.bytes(50)[..] else { panic!("packets should be compressed") };
        let mut packets = Vec::new();
        ZlibDecoder::new(compressed).read_to_end(&mut packets).unwrap();
        for packet in Message::of(&packets).messages(1) {
            read.packets += 1;
            let sequence = sequences.entry(packet.number(10).expect("a sequence")).or_default();
            read.packet(&packet, sequence);
        }
    }
    assert!(sequences.values().all(|sequence| sequence.open.is_empty()), "every slice should end");
    read
}

impl Read {
    fn packet(&mut self, packet: &Message, sequence: &mut Sequence) {
        if let Some(track) = packet.message(60) {
            let uuid = track.number(1).expect("a track should have a number");
            let process = track.message(3).and_then(|process| process.text(6));
            let name = track.text(2).or(process).unwrap_or_default();
            let fresh = match track.message(8) {
                Some(_) => self.counters.insert(uuid, (name, Vec::new())).is_none(),
                None => self.tracks.insert(uuid, (name, track.number(5))).is_none(),
            };
            assert!(fresh, "a track should be described once");
        }
        if packet.number(13) == Some(1) {
            *sequence = Sequence::default();
        }
        if let Some(clocks) = packet.message(6) {
            let own = clocks.messages(1).into_iter().find(|clock| clock.number(1) == Some(64)).unwrap();
            assert_eq!((own.number(2), own.number(3)), (Some(0), Some(1)));
            sequence.unit = own.number(4).unwrap();
        }
        if let Some(defaults) = packet.message(59) {
            assert_eq!(defaults.number(58), Some(64));
            sequence.track = defaults.message(11).and_then(|event| event.number(11)).unwrap();
        }
        for interned in packet.messages(12) {
            for kind in [1, 2, 3, 29] {
                for text in interned.messages(kind) {
                    let (number, text) = (text.number(1).unwrap(), text.text(2).unwrap_or_default());
                    assert!(sequence.texts.insert((kind, number), text).is_none(), "a text should come once");
                }
            }
        }
        if let Some(event) = packet.message(11) {
            sequence.time += packet.number(8).expect("an event should have a time") * sequence.unit;
            self.event(&event, sequence);
        }
    }

    fn event(&mut self, event: &Message, sequence: &mut Sequence) {
        let text = |kind, number: Option<u64>| sequence.texts[&(kind, number.unwrap())].clone();
        match event.number(9) {
            Some(1) => {
                let mut slice = Slice {
                    track: sequence.track,
                    name: text(2, event.number(10)),
                    category: text(1, event.number(3)),
                    begin: sequence.time,
                    from: event.numbers(47),
                    to: event.numbers(48),
                    ..Slice::default()
                };
                for annotation in event.messages(4) {
                    let name = text(3, annotation.number(1));
                    if annotation.number(17).is_some() {
                        slice.words.insert(name, text(29, annotation.number(17)));
                        continue;
                    }
                    let one = annotation.number(3).or(annotation.number(4)).or(annotation.number(2));
                    let many = annotation.messages(12).iter().map(|item| item.number(3).unwrap()).collect();
                    let numbers = one.map_or(many, |one| vec![one]);
                    assert!(slice.numbers.insert(name, numbers).is_none());
                }
                sequence.open.push(slice);
            }
            Some(2) => {
                let mut slice = sequence.open.pop().expect("a slice should begin before it ends");
                slice.end = sequence.time;
                self.slices.push(slice);
            }
            Some(4) => {
                let counter = self.counters.get_mut(&sequence.track).expect("a counter");
                counter.1.push((sequence.time, event.number(30).unwrap()));
            }
            other => panic!("an event of type {other:?}"),
        }
    }
}

/// So many tasks on some workers, some of which follow each other at once; the causes are of all kinds.
pub(crate) fn timeline(tasks: u32, workers: u32, clock: Clock) -> Timeline {
    let mut state = 7;
    let mut draw = |below: u64| {
        state = u64::wrapping_mul(state, 0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % below
    };
    let mut free = vec![1000_u64; workers as usize];
    let mut timeline = Timeline {
        clock,
        processes: vec!["device 0".to_owned(), "device 1".to_owned()],
        rows: (0..workers)
            .map(|number| Row { process: number % 2, number, name: format!("worker {number}") })
            .collect(),
        kernels: ["norm", "gemm", "softmax"].map(str::to_owned).to_vec(),
        tasks: Vec::new(),
        before: Lists::default(),
        indices: Lists::default(),
        details: Vec::new(),
        spans: Vec::new(),
        channels: Vec::new(),
        about: About::default(),
    };
    for task in 0..tasks {
        let row = draw(workers.into()) as u32;
        let mut record = TaskRecord::new(TaskId(task), KernelId(draw(3) as u16), Some(row));
        record.started = free[row as usize] + draw(3) * draw(900);
        record.ended = record.started + draw(40_000);
        free[row as usize] = record.ended;
        record.ready = record.started - draw(1000).min(record.started);
        record.submitted = record.ready - draw(1000).min(record.ready);
        let before: BTreeSet<u32> = (0..draw(4)).map(|_| draw(task.max(1).into()) as u32).collect();
        let before: Vec<TaskId> = before.into_iter().filter(|before| *before < task).map(TaskId).collect();
        let last = before.last().copied();
        let holder = TaskId(draw(task.max(1).into()) as u32);
        let cause = match (draw(3), last) {
            (0, Some(last)) => WhyLate::Predecessor(last),
            (1, _) if task > 0 => WhyLate::Worker { busy_with: holder },
            (2, _) => WhyLate::Start,
            _ => WhyLate::Generation { resumed_by: None },
        };
        record.set_cause(cause, last);
        timeline.tasks.push(record);
        timeline.before.push(before);
        timeline.indices.push([draw(128) as u32, draw(64) as u32]);
    }
    timeline
}

fn written(timeline: &Timeline, edges: Edges) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_trace(timeline, Form::Perfetto, edges, &mut bytes).unwrap();
    bytes
}

fn check(timeline: &Timeline, edges: Edges) {
    let read = read(&written(timeline, edges));
    let unit = if timeline.clock == Clock::Cycles { 1000 } else { 1 };
    assert_eq!(read.slices.len(), timeline.tasks.len());
    let mut by_task = BTreeMap::new();
    for slice in &read.slices {
        let task = slice.numbers["task"][0];
        assert!(by_task.insert(task as u32, slice).is_none(), "task {task} should stand once");
    }
    let mut arrows: BTreeMap<u64, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for (at, record) in timeline.tasks.iter().enumerate() {
        let slice = by_task[&record.task.0];
        assert_eq!((slice.begin, slice.end), (record.started * unit, record.ended * unit));
        assert_eq!(
            (slice.name.as_str(), slice.category.as_str()),
            (&timeline.kernels[record.kernel.index()][..], "task")
        );
        let row = &timeline.rows[record.row().unwrap() as usize];
        let (name, parent) = &read.tracks[&slice.track];
        assert_eq!(*name, row.name);
        assert_eq!(read.tracks[&parent.unwrap()].0, timeline.processes[row.process as usize]);
        let one = |key: &str| slice.numbers.get(key).map(|numbers| numbers[0]);
        assert_eq!((one("submitted"), one("ready")), (Some(record.submitted), Some(record.ready)));
        assert_eq!(one("last"), record.last().map(|last| last.0.into()));
        assert_eq!(one("held_by"), record.cause().held_by().map(|by| by.0.into()));
        assert_eq!(slice.words["cause"], WhyLate::KINDS[record.cause().kind()]);
        let indices: Vec<u64> = timeline.indices.list(at).iter().map(|index| u64::from(*index)).collect();
        assert_eq!(slice.numbers.get("indices").cloned().unwrap_or_default(), indices);
        for flow in &slice.from {
            assert_eq!(arrows.entry(*flow).or_default().0.replace(record.task.0), None);
        }
        for flow in &slice.to {
            assert_eq!(arrows.entry(*flow).or_default().1.replace(record.task.0), None);
        }
    }
    let mut shown: Vec<(u32, u32)> = arrows.values().map(|(from, to)| (from.unwrap(), to.unwrap())).collect();
    shown.sort_unstable();
    let of = |(at, record): (usize, &TaskRecord)| {
        let all = timeline.before.list(at).iter().copied();
        let edges: Vec<TaskId> =
            if edges == Edges::All { all.collect() } else { record.last().into_iter().collect() };
        edges.into_iter().map(move |from| (from.0, record.task.0)).collect::<Vec<_>>()
    };
    let mut expected: Vec<(u32, u32)> = timeline.tasks.iter().enumerate().flat_map(of).collect();
    expected.sort_unstable();
    assert_eq!(shown, expected);
    check_counters(timeline, &read, unit);
}

/// The counters say at every moment how many tasks there are, counted one by one.
fn check_counters(timeline: &Timeline, read: &Read, unit: u64) {
    assert_eq!(read.counters.len(), 2 * timeline.processes.len());
    let mut named: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, values) in read.counters.values() {
        let process = *named.entry(name).and_modify(|process| *process += 1).or_insert(0);
        assert!(values.is_sorted_by(|a, b| a.0 < b.0));
        // Some of the moments: each is counted over all tasks.
        for &(at, value) in values.iter().step_by(1 + values.len() / 50) {
            let lies = |record: &&TaskRecord| {
                let (from, to) = match name.as_str() {
                    "tasks in flight" => (record.submitted, record.ended),
                    _ => (record.ready, record.started),
                };
                let of = timeline.rows[record.row().unwrap() as usize].process == process;
                of && from * unit <= at && at < to * unit
            };
            assert_eq!(timeline.tasks.iter().filter(lies).count() as u64, value, "{name} at {at}");
        }
        assert_eq!(values.last().map_or(0, |last| last.1), 0, "{name}");
    }
}

#[test]
fn a_trace_holds_every_task_edge_and_counter_once() {
    for (tasks, workers) in [(1, 1), (200, 1), (3000, 24)] {
        check(&timeline(tasks, workers, Clock::Nanoseconds), Edges::Last);
        check(&timeline(tasks, workers, Clock::Cycles), Edges::All);
    }
}

#[test]
fn each_channel_has_a_counter_of_its_slots() {
    let mut timeline = timeline(9, 2, Clock::Cycles);
    let levels = vec![(3, 1), (10, 2), (40, 0)];
    timeline.channels = vec![Channel { name: "c".to_owned(), levels, ..Channel::default() }];
    let read = read(&written(&timeline, Edges::Last));
    let found: Vec<_> = read.counters.values().filter(|(name, _)| name == "slots of c").collect();
    assert_eq!(found, [&("slots of c".to_owned(), vec![(3000, 1), (10_000, 2), (40_000, 0)])]);
}

#[test]
fn a_trace_without_tasks_is_one() {
    let mut empty = timeline(0, 0, Clock::Nanoseconds);
    empty.processes.clear();
    // A process without a name says that there is nothing, and the last packet that the file is whole.
    assert_eq!(read(&written(&empty, Edges::Last)).packets, 2);
}

#[test]
fn a_task_takes_at_most_80_bytes_of_a_file() {
    let tasks = 120_000;
    let timeline = timeline(tasks, 96, Clock::Nanoseconds);
    let bytes = written(&timeline, Edges::Last);
    let each = bytes.len() as f64 / f64::from(tasks);
    eprintln!("{each:.1} bytes of a file per task");
    assert!(each <= 80.0, "{each:.1} bytes");
    assert_eq!(read(&bytes).slices.len(), tasks as usize);
}
