//! `wsp report`: traces of every kind of file, two of them, and what it refuses.

use crate::command::{Folder, printed, run};
use wsp_core::{KernelId, TaskId};
use wsp_report::{Edges, Form, write_trace};
use wsp_runtime::timeline::{Row, TaskRecord, Timeline};

/// A chain of tasks over two kernels, and a schedule in virtual time.
const CHAIN: &str = "
tensor x: f32[8]; tensor y: f32[8];
axis i = dense(8);
kernel push(inout v) cost 5;
kernel fill(in v, out row) cost 7;
workload main { for a in i { push(x); fill(x, y[a]); } }
schedule other { task_graph(trace = cycles); workers(2); }
";

/// Twice what is in `x`, on tiles.
const TWICE: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(Twice) { PTO_AXIS(i, 0, n) PTO_TILE(i, 64) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(Twice) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 64 }); }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 64, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
void entry(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Twice, { .x = x, .y = y }); }
";

/// A folder with files, and their paths.
struct Files(Folder);

impl Files {
    fn new() -> Files {
        Files(Folder::with(&[("chain.wsp", CHAIN), ("twice.pto", TWICE)]))
    }

    fn path(&self, name: &str) -> String {
        self.0.path(name).display().to_string()
    }

    /// The trace of a simulation.
    fn simulated(&self, name: &str, trace: &str, options: &[&str]) -> String {
        let (file, trace) = (self.path(name), self.path(trace));
        printed(&[&["sim", &file, "--model", "ascend_910b", "--trace", &trace], options].concat());
        trace
    }
}

#[track_caller]
fn refused(args: &[&str], code: &str, text: &str) {
    let (status, _, err) = run(args);
    assert!(status != 0 && err.contains(code) && err.contains(text), "{args:?}: {status} {err}");
}

#[test]
fn both_forms_of_a_trace_tell_the_same() {
    let files = Files::new();
    let texts = ["pftrace", "json"].map(|form| {
        let trace = files.simulated("chain.wsp", &format!("a.{form}"), &["--trace-edges"]);
        printed(&["report", &trace, "--text"]).replace(&trace, "")
    });
    assert_eq!(texts[0], texts[1]);
    for line in ["16 tasks", "ascend_910b", "push to fill 8", "predecessor", "operations and bytes not known"]
    {
        assert!(texts[0].contains(line), "{line}: {}", texts[0]);
    }
}

#[test]
fn rows_of_launch_and_aicpus_have_loads() {
    let files = Files::new();
    let trace = files.simulated("chain.wsp", "a.pftrace", &["--aicpus", "2"]);
    let text = printed(&["report", &trace, "--text"]);
    let (_, others) = text.split_once("other load").expect("rows of AICPUs have loads");
    let first: Vec<&str> = others.lines().take(3).map(str::trim).collect();
    assert!(first[0].starts_with("launch ") && first[1].starts_with("AICPU 0 "), "{text}");
    assert!(first.iter().all(|row| row.ends_with(" %") && !row.ends_with(" 0.0 %")), "{text}");
}

#[test]
fn kernels_of_files_have_operations_and_bytes() {
    let files = Files::new();
    let trace = files.simulated("twice.pto", "t.pftrace", &["--generate", "n=1000"]);
    let text = printed(&["report", &trace, "--text"]);
    // An operation for each element, which is loaded and stored.
    assert!(text.contains("twice 16 tasks") && text.contains("0.12 operations per byte"), "{text}");
}

#[test]
fn a_page_is_one_file_that_loads_nothing_and_replaces_nothing() {
    let files = Files::new();
    let [a, b] = ["a.pftrace", "b.json"].map(|name| files.simulated("chain.wsp", name, &[]));
    let page = files.path("page.html");
    printed(&["report", &a, "-o", &page]);
    let one = std::fs::read_to_string(&page).expect("it was written");
    assert!(one.starts_with("<!doctype html>") && one.ends_with("</html>\n"));
    assert!(
        !one.contains("http-equiv=\"refresh\"") && !one.contains("src=\"http") && !one.contains("@import")
    );
    let data = "<script type=\"application/octet-stream\">";
    assert_eq!(one.matches(data).count(), 1);
    refused(&["report", &a, &b, "-o", &page], "WSP1757", "--force");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), one);
    printed(&["report", &a, &b, "-o", &page, "--force"]);
    assert_eq!(std::fs::read_to_string(&page).unwrap().matches(data).count(), 2);
    refused(&["report", &a, "-o", &files.path("none/page.html")], "WSP0509", "no folder");
    refused(&["report", &a, "-o", &a, "--force"], "WSP0509", "would be overwritten");
    refused(&["report", &a, "-o", &files.path("page.pto")], "WSP0509", "page.html");
    refused(&["report", &a], "WSP0546", "--text");
    refused(&["report", &a, "--text", "--force"], "WSP0546", "--output");
}

#[test]
fn other_files_and_other_programs_are_refused() {
    let files = Files::new();
    let a = files.simulated("chain.wsp", "a.pftrace", &[]);
    let other = files.simulated("twice.pto", "t.json", &["--generate", "n=1000"]);
    refused(&["report", &files.path("chain.wsp"), "--text"], "WSP1750", "wsp run FILE --trace");
    refused(&["report", &files.path("none.json"), "--text"], "WSP0500", "none.json");
    let bytes = std::fs::read(&a).unwrap();
    let cut = files.path("cut.pftrace");
    std::fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    refused(&["report", &cut, "--text"], "WSP1751", "ends too early");
    refused(&["report", &a, &other, "--text"], "WSP1754", "is of program");
}

#[test]
fn a_schedule_may_differ_and_a_clock_may_not() {
    let files = Files::new();
    let a = files.simulated("chain.wsp", "a.pftrace", &[]);
    let b = files.path("b.pftrace");
    printed(&["run", &files.path("chain.wsp"), "--schedule", "other", "--no-check", "--trace", &b]);
    let text = printed(&["report", &a, &b, "--text"]);
    assert!(text.contains("16 tasks by kernel and order") && text.contains("push 8 to 8 tasks"), "{text}");
    let measured = files.path("m.json");
    let twice = files.path("twice.pto");
    printed(&["run", &twice, "--generate", "n=1000", "--trace", &measured]);
    let simulated = files.simulated("twice.pto", "t.json", &["--generate", "n=1000"]);
    refused(&["report", &simulated, &measured, "--text"], "WSP1756", "counts nanoseconds");
    let text = printed(&["report", &measured, "--text"]);
    assert!(text.contains("twice 16 tasks") && text.contains(" ms"), "{text}");
}

#[test]
fn a_difference_tells_of_causes_and_kernels_that_only_the_second_run_has() {
    let tasks = "tensor x: f32[4]; axis i = dense(4); kernel k(out v) cost 3; kernel l(out v) cost 3;
        workload main { parallel for a in i { k(x[a]); } }
        schedule free { task_graph(trace = cycles); workers(4); }
        schedule gated { task_graph(trace = cycles); workers(4); pipeline_depth(1, global); }";
    let folder = Folder::with(&[("t.wsp", tasks)]);
    let (file, a, b) = (folder.at("t.wsp"), folder.at("a.json"), folder.at("b.json"));
    for (schedule, trace) in [("free", &a), ("gated", &b)] {
        let (code, _, err) = run(&["run", &file, "--schedule", schedule, "--trace", trace]);
        assert_eq!(code, 0, "{err}");
    }
    let text = printed(&["report", &a, &b, "--text"]);
    let difference = &text[text.find(" to ").expect("it is there")..];
    assert!(difference.contains("gate 0 to 3 tasks"), "{text}");
}

#[test]
fn names_of_a_trace_do_not_reach_the_terminal_as_commands() {
    let files = Files::new();
    let (file, trace) = (files.0.at("chain.wsp"), files.0.at("t.json"));
    let (code, _, err) = run(&["run", &file, "--schedule", "other", "--trace", &trace]);
    assert_eq!(code, 0, "{err}");
    let text = files.0.read("t.json").replace("\"push\"", "\"pu\\u001b]0;x\\u0007\\u202esh\"");
    std::fs::write(files.0.path("t.json"), text).expect("it can be written");
    let shown = printed(&["report", &trace, "--text"]);
    assert!(shown.contains("pu\u{fffd}]0;x\u{fffd}\u{fffd}sh") && !shown.contains('\u{1b}'), "{shown:?}");
}

/// The report as text of a run of two workers: each task by its row, its start and its end.
fn charted(tasks: &[(u32, u64, u64)]) -> String {
    let folder = Folder::with(&[]);
    let mut timeline = Timeline {
        processes: vec!["two\nlines".to_owned()],
        kernels: vec!["k\n  load       worker 7".to_owned()],
        rows: (0..2).map(|number| Row { process: 0, number, name: format!("worker {number}") }).collect(),
        ..Timeline::default()
    };
    for (id, &(row, started, ended)) in (0..).zip(tasks) {
        let mut task = TaskRecord::new(TaskId(id), KernelId(0), Some(row));
        (task.started, task.ended) = (started, ended);
        timeline.tasks.push(task);
        timeline.before.push([]);
    }
    let mut bytes = Vec::new();
    write_trace(&timeline, Form::Json, Edges::Last, &mut bytes).expect("a vector takes all");
    std::fs::write(folder.path("t.json"), bytes).expect("it can be written");
    let (code, text, err) = run(&["report", &folder.at("t.json"), "--text"]);
    assert_eq!(code, 0, "{err}");
    text
}

#[test]
fn text_has_a_gantt_chart_and_keeps_names_on_their_lines() {
    let text = charted(&[(0, 0, 320), (1, 320, 640), (1, 5, 7)]);
    let (busy, idle) = ("#".repeat(32), " ".repeat(32));
    assert!(text.contains(&format!("gantt      |{busy}{idle}| worker 0\n")), "{text}");
    assert!(text.contains(&format!("           |.{}{busy}| worker 1\n", " ".repeat(31))), "{text}");
    assert!(text.contains("two\\nlines") && text.contains("k\\n  load"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("load       ")).count(), 3, "{text}");
}

#[test]
fn a_gantt_chart_of_fewer_cycles_than_it_has_parts_shows_what_was_busy() {
    let text = charted(&[(0, 0, 60), (1, 30, 60)]);
    assert!(text.contains(&format!("gantt      |{}| worker 0\n", "#".repeat(64))), "{text}");
    assert!(text.contains(&format!("|{}{}| worker 1\n", " ".repeat(32), "#".repeat(32))), "{text}");
}
