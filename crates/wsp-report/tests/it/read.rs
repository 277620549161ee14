//! Traces read back: all that was written, and a diagnostic for whatever else the bytes are.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::perfetto::timeline;
use wsp_core::{ChannelFigures, KernelId, TaskId, WhyLate};
use wsp_report::{Edges, Form, MAX_TASKS, read, write_trace};
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{About, Channel, Detail, Machine, Row, Span, Timeline, Work};

/// A timeline with all that one can have.
fn whole(tasks: u32, clock: Clock) -> Timeline {
    let mut timeline = timeline(tasks, 5, clock);
    timeline.about.key = Some(0x0123_4567_89ab_cdef);
    timeline.about.work = vec![Some(Work { operations: 7, bytes: 12 }), None, Some(Work::default())];
    timeline.about.machine =
        Some(Machine { name: "a model".to_owned(), hz: 1_850_000_000, operations: 9, bytes: 10 });
    let figures =
        ChannelFigures { depth: 2, tokens: 9, fullest: 1, sender_waited: u64::MAX, receiver_waited: 7 };
    let ends = ["p 0".to_owned(), String::new()];
    timeline.channels = vec![
        Channel { name: "parts[0]".to_owned(), ends, figures, levels: vec![(1, 1), (5, 0)] },
        Channel { name: "c".to_owned(), ..Channel::default() },
    ];
    timeline.rows.push(Row { process: 1, number: 1_000_000, name: "stream 0".to_owned() });
    timeline.spans.push(Span {
        row: 5,
        name: "G \u{1} \"q\"".to_owned(),
        begin: 3,
        end: 9,
        details: vec![("submitted", Detail::Number(2)), ("failed", Detail::Flag(false))],
    });
    timeline.details = (0..tasks)
        .map(|task| {
            vec![("node", Detail::Number(i64::from(task) - 3)), ("aiv", Detail::Numbers(vec![task, 1]))]
        })
        .collect();
    timeline
}

fn bytes(timeline: &Timeline, form: Form, edges: Edges) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_trace(timeline, form, edges, &mut bytes).unwrap();
    bytes
}

/// Kernels by the names of tasks, since a file has no other order of them.
fn named(timeline: &Timeline) -> Vec<(&str, Option<Work>)> {
    let work = |kernel: KernelId| timeline.about.work.get(kernel.index()).copied().flatten();
    let of = |kernel: KernelId| (timeline.kernels[kernel.index()].as_str(), work(kernel));
    timeline.tasks.iter().map(|task| of(task.kernel)).collect()
}

#[track_caller]
fn same(read: &Timeline, written: &Timeline, edges: Edges) {
    assert_eq!((read.clock, &read.processes, &read.rows), (written.clock, &written.processes, &written.rows));
    assert_eq!(named(read), named(written));
    assert_eq!((read.about.key, &read.about.machine), (written.about.key, &written.about.machine));
    assert_eq!((&read.spans, &read.details), (&written.spans, &written.details));
    assert_eq!(read.tasks.len(), written.tasks.len());
    // Levels are for viewers.
    let figures = |of: &Timeline| {
        of.channels.iter().map(|of| (of.name.clone(), of.ends.clone(), of.figures)).collect::<Vec<_>>()
    };
    assert_eq!(figures(read), figures(written));
    for (at, (one, other)) in read.tasks.iter().zip(&written.tasks).enumerate() {
        let mut one = *one;
        one.kernel = other.kernel;
        assert_eq!(one, *other);
        assert_eq!(read.indices.list(at), written.indices.list(at));
        let before = if edges == Edges::All { written.before.list(at) } else { &[] };
        assert_eq!(read.before.list(at), before);
    }
    assert_eq!((read.waits(), read.critical_path().tasks), (written.waits(), written.critical_path().tasks));
}

#[test]
fn all_that_is_written_is_read() {
    for (form, name) in Form::ALL {
        for clock in [Clock::Nanoseconds, Clock::Cycles] {
            for edges in [Edges::Last, Edges::All] {
                for tasks in [0, 1, 3, 400] {
                    let written = whole(tasks, clock);
                    let read = read(name, &bytes(&written, form, edges)).unwrap();
                    same(&read, &written, edges);
                }
            }
        }
    }
}

#[test]
fn a_timeline_of_nothing_is_read() {
    for (form, name) in Form::ALL {
        let read = read(name, &bytes(&Timeline::default(), form, Edges::All)).unwrap();
        assert_eq!((read.tasks.len(), read.about), (0, About::default()));
    }
}

/// The code and the text of the diagnostic for bytes.
#[track_caller]
fn refused(bytes: &[u8]) -> (u16, String) {
    let Err(fault) = read("t", bytes) else { panic!("it should be refused") };
    (fault.code.0, format!("{} {:?} {:?}", fault.message, fault.notes, fault.help))
}

#[test]
fn a_file_that_ends_too_early_is_told_to_wherever_it_ends() {
    for (form, _) in Form::ALL {
        let all = bytes(&whole(60, Clock::Cycles), form, Edges::All);
        // Of JSON the last bytes are an end of the line.
        for end in (60..all.len() - 2).step_by(5) {
            let (code, text) = refused(&all[..end]);
            assert_eq!(code, 1751, "{form:?} to byte {end} of {}: {text}", all.len());
        }
    }
    // Between two groups of packets, of which the last ones are those of counters.
    let written = &whole(9000, Clock::Cycles);
    let all = bytes(written, Form::Perfetto, Edges::Last);
    let mut ends = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let length = all[at + 1..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let number = (0..length).fold(0, |sum, i| sum | usize::from(all[at + 1 + i] & 0x7f) << (7 * i));
        at += 1 + length + number;
        ends.push(at);
    }
    assert_eq!(ends.pop(), Some(all.len()));
    let told: Vec<(u16, String)> = ends.iter().map(|&end| refused(&all[..end])).collect();
    assert!(told.len() > 3 && told.iter().all(|(code, _)| *code == 1751), "{told:?}");
    let tells = |what: &str| told.iter().any(|(_, text)| text.contains(what));
    assert!(tells("of its 9000 tasks") && tells("behind its 9000 tasks"), "{told:?}");
}

#[test]
fn other_files_versions_and_too_many_tasks_are_told() {
    for other in [
        &b""[..],
        b"{",
        b"{}",
        b"[]",
        b"{\"traceEvents\": []}",
        b"\x0a\x02\x40\x00",
        b"PTO_SPACE(x)",
        &[0xff; 40],
    ] {
        assert_eq!(refused(other).0, 1750, "{other:?}");
    }
    let text = String::from_utf8(bytes(&whole(3, Clock::Cycles), Form::Json, Edges::Last)).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        refused(text.replacen(from, to, 1).as_bytes())
    };
    let (code, told) = with("\"wsp_trace\":\"1\"", "\"wsp_trace\":\"2\"");
    assert!(code == 1752 && told.contains("version 2") && told.contains("version 1"), "{told}");
    let (code, told) = with("\"tasks\":\"3\"", "\"tasks\":\"10000000\"");
    assert!(code == 1755 && told.contains("10000000") && told.contains(&MAX_TASKS.to_string()), "{told}");
    let (code, told) = with("\"tasks\":\"3\"", "\"tasks\":\"2\"");
    assert!(code == 1753 && told.contains("more tasks than there are"), "{told}");
    assert_eq!(with("\"task\":1,", "\"task\":2,").0, 1753);
    assert_eq!(with("\"dur\":", "\"dur\":-").0, 1753);
    assert_eq!(with("\"tid\":", "\"tid\":77").0, 1753);
    assert_eq!(with("\"cause\":\"", "\"cause\":\"un").0, 1753);
    assert_eq!(with("\n]}", "\n}}").0, 1753);
}

/// Cases of `WSP_CASES`, or few.
fn cases() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "a driver of `cargo xtask deep` says how many")]
    let asked = std::env::var("WSP_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(3_000)
}

#[test]
fn whatever_bytes_are_changed_there_is_a_timeline_or_a_diagnostic() {
    let mut state = 1_u64;
    let mut draw = move |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((state >> 33) as usize) % below.max(1)
    };
    let files: Vec<Vec<u8>> =
        [(Form::Json, Edges::All), (Form::Perfetto, Edges::Last), (Form::Perfetto, Edges::All)]
            .map(|(form, edges)| bytes(&whole(12, Clock::Nanoseconds), form, edges))
            .into();
    let packets: Vec<Vec<u8>> = files[1..].iter().map(|file| inflated(file)).collect();
    let cases = cases();
    let mut read_whole = 0_u64;
    for _ in 0..cases {
        // Of packets that are compressed nearly all changes are found by the checksum: they are changed before.
        let kind = draw(4);
        let mut changed = if kind < 2 { packets[kind].clone() } else { files[draw(files.len())].clone() };
        for _ in 0..1 + draw(4) {
            let at = draw(changed.len());
            match draw(4) {
                0 => changed[at] = draw(256) as u8,
                1 => drop(changed.remove(at)),
                2 => changed.insert(at, draw(256) as u8),
                _ => changed.truncate(at.max(8)),
            }
        }
        let changed = if kind < 2 { deflated(&changed) } else { changed };
        if let Ok(timeline) = read("t", &changed) {
            read_whole += 1;
            // What was read can be told and written.
            assert!(
                timeline
                    .tasks
                    .iter()
                    .all(|task| task.row().is_some_and(|row| (row as usize) < timeline.rows.len()))
            );
            assert!(timeline.tasks.iter().all(|task| task.kernel.index() < timeline.kernels.len()));
            let _ = (timeline.waits(), timeline.critical_path(), wsp_report::facts::graph(&timeline));
            if read_whole % 64 == 1 {
                wsp_report::write(&[("t", &timeline)], &mut std::io::sink()).unwrap();
            }
        }
    }
    eprintln!("{cases} cases, of which {read_whole} were read");
    assert!(read_whole > cases / 1000 && read_whole < cases, "{read_whole}");
}

/// The packets of a file of one group.
fn inflated(file: &[u8]) -> Vec<u8> {
    use std::io::Read as _;
    let at = file.windows(2).position(|two| two == [0x92, 0x03]).unwrap() + 2;
    let length = file[at..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let mut packets = Vec::new();
    flate2::read::ZlibDecoder::new(&file[at + length..]).read_to_end(&mut packets).unwrap();
    packets
}

/// A file of one group of packets.
fn deflated(packets: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(packets).unwrap();
    let data = encoder.finish().unwrap();
    let number = |mut value: usize| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let field = [&[0x92, 0x03][..], &number(data.len()), &data].concat();
    [&[0x0a][..], &number(field.len()), &field].concat()
}

#[test]
fn edges_of_tasks_that_are_not_there_are_kept_as_numbers() {
    let mut timeline = timeline(2, 1, Clock::Cycles);
    timeline.tasks[1].set_cause(WhyLate::Worker { busy_with: TaskId(77) }, Some(TaskId(78)));
    for (form, name) in Form::ALL {
        let read = read(name, &bytes(&timeline, form, Edges::Last)).unwrap();
        assert_eq!(read.tasks[1].cause(), WhyLate::Worker { busy_with: TaskId(77) });
        assert_eq!(read.tasks[1].last(), Some(TaskId(78)));
    }
}
