//! Exported timelines: that they are JSON, and say what happened.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::collections::BTreeMap;
use std::io;
use wsp_core::{KernelId, TaskId};
use wsp_report::{Edges, Form, write_trace};
use wsp_runtime::simulate::{SimGraphBuilder, SimTaskSpec, simulate};
use wsp_runtime::timeline::{Channel, Heading, RunFacts, Timeline};
use wsp_runtime::{RunConfig, TaskTrace};

/// A JSON value; numbers keep their text.
#[derive(Clone, PartialEq, Debug)]
enum Json {
    Word(String),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

/// Reads JSON strictly: no trailing commas, no unescaped control characters.
struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn token(&mut self, token: &str) -> bool {
        self.0 = self.0.trim_start();
        self.0.strip_prefix(token).map(|rest| self.0 = rest).is_some()
    }

    fn expect(&mut self, token: &str) {
        assert!(self.token(token), "`{token}` should stand before: {}", self.0);
    }

    fn value(&mut self) -> Json {
        if self.token("{") {
            let mut fields = BTreeMap::new();
            while !self.token("}") {
                if !fields.is_empty() {
                    self.expect(",");
                }
                self.expect("\"");
                let key = self.text();
                self.expect(":");
                assert!(fields.insert(key, self.value()).is_none(), "a key should stand once");
            }
            Json::Object(fields)
        } else if self.token("[") {
            let mut items = Vec::new();
            while !self.token("]") {
                if !items.is_empty() {
                    self.expect(",");
                }
                items.push(self.value());
            }
            Json::List(items)
        } else if self.token("\"") {
            Json::Text(self.text())
        } else {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
            let end = self.0.find(|c| !is_word(c)).unwrap_or(self.0.len());
            let (word, rest) = self.0.split_at(end);
            self.0 = rest;
            let is_value = word == "true" || word == "false" || word.parse::<f64>().is_ok();
            assert!(is_value, "`{word}` should be a value");
            Json::Word(word.into())
        }
    }

    /// What follows an opening quote.
    fn text(&mut self) -> String {
        let mut text = String::new();
        let mut chars = self.0.chars();
        loop {
            match chars.next().expect("a string should end") {
                '"' => break,
                '\\' => match chars.next() {
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).collect();
                        let code = u32::from_str_radix(&code, 16).expect("four hexadecimal digits");
                        text.push(char::from_u32(code).expect("a character"));
                    }
                    Some(escaped @ ('"' | '\\')) => text.push(escaped),
                    other => panic!("`\\{other:?}` is no escape"),
                },
                c => {
                    assert!(c >= ' ', "a control character should be escaped");
                    text.push(c);
                }
            }
        }
        self.0 = chars.as_str();
        text
    }
}

impl Json {
    fn get(&self, key: &str) -> &Json {
        let Json::Object(fields) = self else { panic!("{self:?} should be an object") };
        fields.get(key).unwrap_or_else(|| panic!("{self:?} should have `{key}`"))
    }

    fn word(&self, key: &str) -> &str {
        let (Json::Word(word) | Json::Text(word)) = self.get(key) else { panic!("`{key}` should be plain") };
        word
    }
}

/// The tasks' events and the names of the rows.
fn events(bytes: Vec<u8>) -> (Vec<Json>, Vec<String>) {
    let text = String::from_utf8(bytes).expect("JSON should be UTF-8");
    let mut reader = Reader(&text);
    let trace = reader.value();
    assert_eq!(reader.0.trim(), "");
    let Json::List(events) = trace.get("traceEvents") else { panic!("events should be a list") };
    let rows = events.iter().filter(|event| event.word("name") == "thread_name");
    let rows = rows.map(|row| row.get("args").word("name").into()).collect();
    (events.iter().filter(|event| event.word("ph") == "X").cloned().collect(), rows)
}

fn trace(task: u32, worker: u32, started_ns: u64, finished_ns: u64, preds: &[u32]) -> TaskTrace {
    TaskTrace {
        task: TaskId(task),
        kernel: KernelId(0),
        worker,
        submitted_ns: 1,
        ready_ns: 2,
        started_ns,
        finished_ns,
        preds: preds.iter().copied().map(TaskId).collect(),
        fences: 0,
        released_by: None,
        released_with: None,
        opened_by: None,
        stalled: false,
    }
}

fn heading(kernel: &str) -> Heading {
    Heading { program: "a \"b\".wsp".to_owned(), workers: 1, kernels: vec![kernel.to_owned()] }
}

fn measured(kernel: &str, tasks: &[TaskTrace]) -> Timeline {
    Timeline::measured(heading(kernel), tasks, &RunFacts::default())
}

fn json(timeline: &Timeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_trace(timeline, Form::Json, Edges::Last, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_simulation_is_exported_task_by_task() {
    let mut builder = SimGraphBuilder::new();
    let spec = SimTaskSpec { cost: 1500, ..SimTaskSpec::default() };
    let first = builder.task(spec).unwrap();
    let point = builder.barrier_node().unwrap();
    let second = builder.task(SimTaskSpec { cost: 1, ..spec }).unwrap();
    builder.task(SimTaskSpec { cost: 1, ..spec }).unwrap();
    builder.depend(first, point).unwrap();
    builder.depend(point, second).unwrap();
    let graph = builder.build();
    let config = RunConfig { threads: 2, ..RunConfig::default() };
    let simulation = simulate(&graph, &config).unwrap();
    let timeline = Timeline::of_simulation(Heading { workers: 2, ..heading("k") }, &graph, &simulation);
    let (events, rows) = events(json(&timeline));
    assert_eq!(rows, ["worker 0", "worker 1"]);
    let told: Vec<[&str; 5]> = events
        .iter()
        .map(|event| {
            let args = event.get("args");
            let place = [event.word("tid"), event.word("ts"), event.word("dur")];
            [place[0], place[1], place[2], args.word("task"), args.word("waited_for")]
        })
        .collect();
    // Numbered without the barrier node: what waited for it waited for the task before it.
    assert_eq!(
        told,
        [
            ["0", "0", "1500", "0", "its generation"],
            ["0", "1500", "1", "1", "task 0 before it"],
            ["1", "0", "1", "2", "its generation"],
        ]
    );
    let words = |event: &Json| ["cause", "last"].map(|key| event.get("args").word(key).to_owned());
    assert_eq!(words(&events[1]), ["predecessor", "0"]);
    assert_eq!(events[0].get("args").word("critical"), "true");
}

#[test]
fn a_measured_run_is_exported_with_its_nanoseconds() {
    let tasks = [trace(0, 2, 1_000_000_007, 1_000_001_000, &[]), trace(1, 0, 5, 1_000_002_000, &[0, 3])];
    let mut bytes = Vec::new();
    write_trace(&measured("k", &tasks), Form::Json, Edges::All, &mut bytes).unwrap();
    let (events, rows) = events(bytes);
    assert_eq!(rows.len(), 3);
    assert_eq!([events[0].word("ts"), events[0].word("dur")], ["1000000.007", "0.993"]);
    assert_eq!([events[1].word("ts"), events[1].word("dur")], ["0.005", "1000001.995"]);
    let before = Json::List(vec![Json::Word("0".into()), Json::Word("3".into())]);
    assert_eq!(events[1].get("args").get("before"), &before);
}

#[test]
fn each_channel_has_events_of_its_slots() {
    let mut timeline = measured("k", &[trace(0, 0, 1000, 2500, &[])]);
    timeline.channels =
        vec![Channel { name: "c".to_owned(), levels: vec![(1, 1), (2500, 0)], ..Channel::default() }];
    let text = String::from_utf8(json(&timeline)).unwrap();
    let counted: Vec<&str> = text.lines().filter(|line| line.contains("\"ph\":\"C\"")).collect();
    assert_eq!(
        counted,
        [
            "{\"name\":\"slots of c\",\"ph\":\"C\",\"pid\":0,\"ts\":0.001,\"args\":{\"slots\":1}},",
            "{\"name\":\"slots of c\",\"ph\":\"C\",\"pid\":0,\"ts\":2.500,\"args\":{\"slots\":0}}",
        ]
    );
}

#[test]
fn any_name_survives() {
    for name in
        ["", "a \"b\" \\ c", "tab\tline\nnul\0bell\u{7}\u{1f}", "Kern für µ-Kacheln ✓ \u{2028}", "\\u0041"]
    {
        assert_eq!(events(json(&measured(name, &[trace(0, 0, 0, 1, &[])]))).0[0].word("name"), name);
    }
}

#[test]
fn a_run_without_tasks_is_exported() {
    assert_eq!(events(json(&measured("k", &[]))), (Vec::new(), vec!["worker 0".to_owned()]));
}

#[test]
fn what_the_writer_refuses_is_passed_on() {
    /// Takes some bytes, then no more.
    struct Full(usize);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let timeline = measured("a \"name\"", &[trace(0, 0, 0, 1, &[])]);
    for (form, _) in Form::ALL {
        let mut whole = Vec::new();
        write_trace(&timeline, form, Edges::Last, &mut whole).unwrap();
        for room in 0..whole.len() {
            let error = write_trace(&timeline, form, Edges::Last, &mut Full(room)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
