//! `wsp run --replay`: what runs again, and what is refused.

use crate::command::{Folder, root, run};
use crate::matrix::BLOCKS;
use wsp_core::BlockStart;
use wsp_runtime::timeline::Timeline;

fn example(name: &str) -> String {
    root().join("examples").join(name).display().to_string()
}

const TASKS: &str = "
param n = 24; axis i = dense(n);
tensor x: f32[n]; tensor y: f32[n];
kernel first(out x); kernel second(in x, out y);
workload main {
    parallel for a in i { first(x[a]); }
    parallel for a in i { second(x[a], y[a]); }
}
";

/// Two tasks release two each; which of the two workers that ran them an idle one takes a task from is drawn.
const DRAWN: &str = "
axis i = dense(6);
tensor x: f32[6]; tensor y: f32[6];
kernel row(in x, out y);
workload main {
    parallel for i in 0..2 {
        let root = row(x[i], y[i]);
        parallel for j in 0..2 { row(x[2 + 2 * i + j], y[2 + 2 * i + j]) after root; }
    }
}
schedule drawn { task_graph(ready = work_steal, deps = hybrid); }
";

fn read(folder: &Folder, name: &str) -> Timeline {
    let path = folder.path(name);
    wsp_report::read(name, &std::fs::read(path).expect("it was written")).expect("it is a trace")
}

/// Tasks with their rows, by start.
fn order(trace: &Timeline) -> Vec<(u32, Option<u32>)> {
    let mut tasks: Vec<_> = trace.tasks.iter().collect();
    tasks.sort_by_key(|task| (task.started, task.task));
    tasks.into_iter().map(|task| (task.task.0, task.row())).collect()
}

/// Whether no task started before the one before it in the order, each on its row.
fn keeps(trace: &Timeline, order: &[(u32, Option<u32>)]) -> bool {
    let started = |task: &u32| trace.tasks.iter().find(|of| of.task.0 == *task).expect("it ran");
    let starts: Vec<u64> = order.iter().map(|(task, _)| started(task).started).collect();
    starts.is_sorted() && order.iter().all(|(task, row)| started(task).row() == *row)
}

fn fails(args: &[&str], what: &[&str]) {
    let (code, out, err) = run(args);
    assert!(code != 0 && what.iter().all(|what| err.contains(what)), "{args:?}: {code}\n{out}\n{err}");
}

#[test]
fn a_traced_run_of_three_threads_runs_again_in_its_order_with_right_results() {
    let folder = Folder::with(&[("tasks.wsp", TASKS)]);
    for file in [folder.at("tasks.wsp"), example("decode_attention.pto"), example("moe/moe.wsp")] {
        for end in ["json", "pftrace"] {
            let (a, b) = (folder.at(&format!("a.{end}")), folder.at(&format!("b.{end}")));
            let (code, _, err) = run(&["run", &file, "--threads", "3", "--trace", &a]);
            assert_eq!(code, 0, "{err}");
            let (code, out, err) = run(&["run", &file, "--replay", &a, "--trace", &b]);
            assert!(code == 0 && out.contains(" ok"), "{out}{err}");
            let (first, again) = (read(&folder, &format!("a.{end}")), read(&folder, &format!("b.{end}")));
            assert!(keeps(&again, &order(&first)), "{file}: {:?} {:?}", order(&first), order(&again));
        }
    }
}

#[test]
fn a_run_on_aicpus_runs_again_on_any_number_of_threads() {
    let folder = Folder::with(&[("tasks.wsp", TASKS)]);
    for file in [folder.at("tasks.wsp"), example("decode_attention.pto"), example("moe/moe.wsp")] {
        let (a, b) = (folder.at("a.pftrace"), folder.at("b.pftrace"));
        let (code, _, err) = run(&["run", &file, "--aicpus", "3", "--threads", "2", "--trace", &a]);
        assert_eq!(code, 0, "{err}");
        for threads in ["1", "2"] {
            let again = ["run", &file, "--aicpus", "3", "--threads", threads, "--replay", &a, "--trace", &b];
            let (code, out, err) = run(&again);
            assert!(code == 0 && out.contains(" ok"), "{out}{err}");
            let (first, again) = (read(&folder, "a.pftrace"), read(&folder, "b.pftrace"));
            assert!(keeps(&again, &order(&first)), "{file}: {:?} {:?}", order(&first), order(&again));
        }
    }
}

#[test]
fn a_seed_gives_one_order_and_another_seed_another() {
    let folder = Folder::with(&[("tasks.wsp", DRAWN)]);
    let of = |seed: &str| {
        let trace = folder.at("t.pftrace");
        let file = folder.at("tasks.wsp");
        let args =
            ["run", &file, "--schedule", "drawn", "--threads", "4", "--replay", seed, "--trace", &trace];
        let (code, _, err) = run(&args);
        assert_eq!(code, 0, "{err}");
        order(&read(&folder, "t.pftrace"))
    };
    let first = of("seed=1");
    assert_eq!(of("seed=1"), first);
    assert!((2..30).any(|seed| of(&format!("seed={seed}")) != first), "no seed makes a difference");
}

#[test]
fn an_order_of_another_run_is_refused_and_says_what_to_do() {
    let folder = Folder::with(&[("tasks.wsp", TASKS), ("other.wsp", &TASKS.replace("second", "third"))]);
    let (tasks, trace) = (folder.at("tasks.wsp"), folder.at("t.pftrace"));
    let (code, _, err) = run(&["run", &tasks, "--threads", "2", "--trace", &trace]);
    assert_eq!(code, 0, "{err}");
    fails(&["run", &folder.at("other.wsp"), "--replay", &trace], &["WSP1754", "another program", "help"]);
    fails(
        &["run", &tasks, "--set", "n=20", "--replay", &trace],
        &["WSP1612", "task 20 is of another kernel"],
    );
    fails(&["run", &tasks, "--set", "n=30", "--replay", &trace], &["WSP1612", "--trace"]);
    fails(&["run", &tasks, "--threads", "5", "--replay", &trace], &["2 workers", "run it with 2 or with 1"]);
    fails(&["run", &tasks, "--aicpus", "2", "--replay", "seed=1"], &["replay", "AICPUs", "trace"]);
    fails(&["run", &tasks, "--aicpus", "3", "--replay", &trace], &["WSP1612", "other AICPUs"]);
    fails(&["run", &tasks, "--replay", &trace, "--trace", &trace], &["would be overwritten"]);
    fails(&["run", &tasks, "--replay", "seed=-1"], &["seed"]);
    fails(&["run", &tasks, "--replay", "77"], &["--replay seed=77"]);
    fails(&["run", &tasks, "--replay", &folder.at("none.pftrace")], &["none.pftrace"]);
    let bytes = std::fs::read(folder.path("t.pftrace")).expect("it was written");
    std::fs::write(folder.path("cut.pftrace"), &bytes[..bytes.len() / 2]).expect("it can be written");
    fails(&["run", &tasks, "--replay", &folder.at("cut.pftrace")], &["error[WSP17"]);
    fails(&["run", &tasks, "--replay", &tasks], &["error[WSP17"]);
    fails(&["run", &example("power_iteration.tg"), "--replay", &trace], &["WSP1754", "another program"]);
}

const PAIR: &str = "
tensor x: f32[2, 8]; tensor y: f32[2, 8];
kernel short(out p) on vector cost 3;
kernel long(inout p) on cube cost 4;
workload main { long(x[1]); short(x[0]); long(x[0]); short(y[0]); }
schedule stream { streams(1); pipeline_depth(2, per_stream); }
schedule pools { task_graph(pools = by_unit(1, 2)); }
";

#[test]
fn streams_of_several_tasks_in_flight_and_pools_are_replayed_on_as_many_threads_and_on_one() {
    let folder = Folder::with(&[("pair.wsp", PAIR)]);
    let (file, trace) = (folder.at("pair.wsp"), folder.at("t.json"));
    let ran = |args: &[&str]| {
        let (code, out, err) = run(&[&["run", &file, "--no-check"], args].concat());
        assert_eq!(code, 0, "{args:?}: {out}{err}");
    };
    ran(&["--schedule", "stream", "--threads", "2", "--replay", "seed=7"]);
    ran(&["--schedule", "pools", "--trace", &trace]);
    for threads in ["3", "1"] {
        let again = folder.at("again.json");
        ran(&["--schedule", "pools", "--replay", &trace, "--threads", threads, "--trace", &again]);
        let tasks = |of: Vec<(u32, Option<u32>)>| of.into_iter().map(|(task, _)| task).collect::<Vec<_>>();
        assert_eq!(tasks(order(&read(&folder, "again.json"))), tasks(order(&read(&folder, "t.json"))));
    }
}

#[test]
fn a_trace_of_aicpus_has_as_many_workers_as_its_machine_has_units() {
    let folder = Folder::with(&[(
        "tasks.wsp",
        &TASKS.replace("out x)", "out x) cost 5").replace("out y)", "out y) cost 7"),
    )]);
    let (file, trace) = (folder.at("tasks.wsp"), folder.at("t.pftrace"));
    let simulated = run(&["sim", &file, "--model", "ascend_910b", "--aicpus", "2", "--trace", &trace]);
    assert_eq!(simulated.0, 0, "{}", simulated.2);
    let (code, out, err) = run(&["run", &file, "--replay", &trace]);
    assert!(code == 0 && out.contains("on 72 threads"), "{out}{err}");
}

/// Two kernels that nothing orders, one of them as often as the file is told, in a graph that is launched twice.
const UNIT: &str = "
use \"blocks.pto\"
arg rounds: i64 = 4
extern X: f32[64, 8]
extern Y: f32[64, 8]
extern Z: f32[64, 8]
TG_BEGIN(G)
  CF_LOOP(rounds, i, SEQUENTIAL)
    TG_KERNEL(A, exp_entry, 4, AIV, 0)
    MC_BIND(A, 0, X)
    MC_BIND(A, 1, Y)
  CF_ENDLOOP
  TG_KERNEL(B, exp_entry, 4, AIC, 0)
  MC_BIND(B, 0, X)
  MC_BIND(B, 1, Z)
TG_END(G)
TG_LAUNCH(G, default)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

/// Blocks by their starts, each with its place in the unit and the number of its worker.
fn blocks(folder: &Folder, name: &str) -> Vec<(BlockStart, u32)> {
    let (started, blocks) = read(folder, name).starts();
    assert_eq!(started.len(), blocks.len(), "each is a block");
    let mut all: Vec<_> = started.iter().zip(blocks).collect();
    all.sort_by_key(|(task, _)| task.started);
    all.into_iter().map(|(task, block)| (block, task.worker)).collect()
}

#[test]
fn a_task_graph_runs_again_block_by_block_and_so_does_what_a_seed_gives() {
    let folder = Folder::with(&[("unit.tg", UNIT), ("blocks.pto", BLOCKS)]);
    for file in [folder.at("unit.tg"), example("power_iteration.tg"), example("two_devices.tg")] {
        let devices: &[&str] = if file.ends_with("two_devices.tg") { &["--devices", "2"] } else { &[] };
        for (first, end) in [("--threads", "json"), ("--replay", "pftrace")] {
            let value = if first == "--threads" { "3" } else { "seed=5" };
            let (a, b) = (folder.at(&format!("a.{end}")), folder.at(&format!("b.{end}")));
            let threads: &[&str] = if first == "--threads" { &[] } else { &["--threads", "3"] };
            let record = [&["run", &file, first, value, "--trace", &a], threads, devices].concat();
            let (code, _, err) = run(&record);
            assert_eq!(code, 0, "{err}");
            for threads in [&[][..], &["--threads", "1"]] {
                let again = [&["run", &file, "--replay", &a, "--trace", &b], threads, devices].concat();
                let (code, out, err) = run(&again);
                assert!(code == 0 && out.contains(" ok"), "{out}{err}");
                let [first, mut again] = ["a", "b"].map(|name| blocks(&folder, &format!("{name}.{end}")));
                if !threads.is_empty() {
                    again.iter_mut().zip(&first).for_each(|(block, first)| block.1 = first.1);
                }
                assert_eq!(again, first, "{file}");
            }
        }
    }
}

#[test]
fn an_order_of_another_run_of_a_task_graph_is_refused() {
    let folder = Folder::with(&[("unit.tg", UNIT), ("blocks.pto", BLOCKS), ("tasks.wsp", TASKS)]);
    let (unit, trace) = (folder.at("unit.tg"), folder.at("t.pftrace"));
    let (code, _, err) = run(&["run", &unit, "--threads", "2", "--trace", &trace]);
    assert_eq!(code, 0, "{err}");
    for rounds in ["rounds=3", "rounds=8"] {
        fails(
            &["run", &unit, "--set", rounds, "--replay", &trace],
            &["WSP1612", "order of starts", "--trace"],
        );
    }
    fails(&["run", &unit, "--threads", "5", "--replay", &trace], &["2 workers", "run it with 2 or with 1"]);
    fails(&["run", &example("two_devices.tg"), "--replay", &trace], &["WSP1754", "another program"]);
    fails(
        &["run", &unit, "--replay", &trace, "--checkpoints", &folder.at("kept"), "--resume"],
        &["--replay"],
    );
    let bytes = std::fs::read(folder.path("t.pftrace")).expect("it was written");
    for part in 1..8 {
        std::fs::write(folder.path("cut.pftrace"), &bytes[..bytes.len() * part / 8])
            .expect("it can be written");
        fails(&["run", &unit, "--replay", &folder.at("cut.pftrace")], &["error[WSP17"]);
    }
    let tasks = folder.at("tasks.wsp");
    fails(&["run", &tasks, "--replay", &trace], &["WSP1754"]);
}

#[test]
fn a_program_with_more_tasks_than_the_order_is_refused_as_one_of_other_arguments() {
    let folder = Folder::with(&[]);
    let (file, trace) = (example("row_softmax.pto"), folder.at("t.pftrace"));
    let (code, _, err) = run(&["run", &file, "--generate", "rows=64", "--threads", "2", "--trace", &trace]);
    assert_eq!(code, 0, "{err}");
    for rows in ["rows=4096", "rows=8"] {
        fails(&["run", &file, "--generate", rows, "--replay", &trace], &["WSP1612", "--trace"]);
    }
}
