//! The executor of AICPUs: its headers are compiled, and run random task sets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../toolchain/mod.rs"]
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use toolchain::{compiler, write};
use wsp_ascend::{expander, host, runtime_headers};

/// A folder with all headers, one of which may be changed, and the program.
fn folder(name: &str, change: Option<(&str, &str, &str)>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("executor").join(name);
    let headers = [runtime_headers::EXECUTOR, runtime_headers::HOST_RUN, expander::HEADERS, host::FILES];
    for &(path, text) in headers.into_iter().flatten() {
        let changed = change.filter(|(of, ..)| *of == path).map(|(_, from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{path} has {from:?} once");
            text.replace(from, to)
        });
        write(&folder.join("include").join(path), changed.as_deref().unwrap_or(text));
    }
    for (file, text) in [
        ("executor.cpp", include_str!("executor.cpp")),
        ("tasks.hpp", include_str!("tasks.hpp")),
        ("maps.hpp", include_str!("maps.hpp")),
        ("faults.hpp", include_str!("faults.hpp")),
        ("cost.hpp", include_str!("cost.hpp")),
    ] {
        write(&folder.join(file), text);
    }
    folder
}

/// Compiles the program of a folder without a warning.
fn build(folder: &Path, options: &[&str]) -> PathBuf {
    let mut command = Command::new(compiler());
    command.current_dir(folder).args([
        "-std=c++17",
        "-pthread",
        "-Iinclude",
        "-o",
        "program",
        "executor.cpp",
    ]);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]).args(options);
    let output = command.output().expect("the compiler runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "in {}:\n{errors}", folder.display());
    folder.join("program")
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("the program runs")
}

/// What a run says, which ends well.
fn said(program: &Path, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// 50 sets, on 1 and 4 AICPUs, in windows of 1, 4 and 1,024, with edges that are gathered and not, in steps and on threads.
#[test]
fn every_order_is_one_that_the_tasks_allow() {
    let program = build(&folder("plain", None), &["-O1"]);
    assert_eq!(said(&program, &["trials", "50"]), "0 of 1200 trials went wrong\n");
    assert_eq!(said(&program, &["maps", "200"]), "0 of 200 sequences differ; producers agree\n");
    assert_eq!(said(&program, &["faults"]), include_str!("faults.txt"));
}

#[test]
fn threads_share_nothing_without_order() {
    let program = build(&folder("threads", None), &["-O1", "-g", "-fsanitize=thread"]);
    assert_eq!(said(&program, &["trials", "5", "2"]), "0 of 60 trials went wrong\n");
}

#[test]
fn a_writer_that_does_not_wait_for_readers_is_found() {
    let change = ("pto/wsp/graph/tensor_map.hpp", "int kind = writes ? 0 : 1;", "int kind = 1;");
    let program = build(&folder("no_readers", Some(change)), &["-O0"]);
    let output = run(&program, &["trials", "5", "1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("starts before task"), "{text}");
}

/// The files below a folder, by their paths in it.
fn files(folder: &Path, before: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let name = format!("{before}{}", entry.file_name().display());
        match entry.path().is_dir() {
            true => files(&entry.path(), &format!("{name}/"), found),
            false => found.push(name),
        }
    }
}

#[test]
fn all_headers_of_the_executor_are_given() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("include"), "", &mut found);
    found.retain(|path| {
        // Programs have an executor of their own, and signals of their own.
        let of_programs = runtime_headers::PROGRAMS.iter().any(|(given, _)| given == path);
        ["graph/", "executor", "handshake", "host_run", "task_sink"].iter().any(|part| path.contains(part))
            && !of_programs
    });
    let mut given: Vec<&str> = [runtime_headers::EXECUTOR, runtime_headers::HOST_RUN]
        .into_iter()
        .flatten()
        .map(|(path, _)| *path)
        .collect();
    found.sort();
    given.sort_unstable();
    assert_eq!(found, given);
}
