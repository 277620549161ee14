//! The executor of AICPUs: its headers are compiled, and run random task sets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../toolchain/mod.rs"]
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use toolchain::{compiler, write};
use wsp_ascend::{expander, host, runtime_headers};

/// What policies do to sixteen tasks on one core, whose priorities are 0 to 15.
const EFFECTS: &str = "\
first ready first run: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; edges were made 1 times, submissions waited 0 times
largest priority first: 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0; edges were made 1 times, submissions waited 0 times
without a batch: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; edges were made 16 times, submissions waited 0 times
a window of 4: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; edges were made 16 times, submissions waited 12 times
";

/// What tests leave out, where a variable of this name is set: the order of writers behind readers, that of regions on both sides.
const LEFT_OUT: [Part; 2] = [
    (
        "WSP_NO_READERS",
        "pto/wsp/graph/tensor_map.hpp",
        "int kind = writes ? 0 : 1;",
        "int kind = writes && !LEFT_OUT ? 0 : 1;",
    ),
    (
        "WSP_NO_REGIONS",
        "pto/wsp/backend/npu/cross_plan.hpp",
        "map_.conflicts(box, writes, self, {found, this});",
        "if (!LEFT_OUT) map_.conflicts(box, writes, self, {found, this});",
    ),
];

/// A part of a header: the variable that leaves it out, its file, its text, and the text that looks at the variable.
type Part = (&'static str, &'static str, &'static str, &'static str);

/// A folder with all headers, in which some parts can be left out, and the program.
fn folder(name: &str, parts: &[Part]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("executor").join(name);
    let headers = [runtime_headers::EXECUTOR, runtime_headers::HOST_RUN, expander::HEADERS, host::FILES];
    for (path, text) in headers.into_iter().flatten() {
        let changed = parts.iter().find(|(_, of, ..)| *of == path).map(|(variable, _, from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{path} has {from:?} once");
            let is_set = format!(
                "([] {{ static const bool is = std::getenv(\"{variable}\") != nullptr; return is; }}())"
            );
            format!("#include <cstdlib>\n{}", text.replace(from, &to.replace("LEFT_OUT", &is_set)))
        });
        write(&folder.join("include").join(path), changed.as_deref().unwrap_or(text));
    }
    for (file, text) in [
        ("executor.cpp", include_str!("executor.cpp")),
        ("kernels.cpp", include_str!("kernels.cpp")),
        ("tasks.hpp", include_str!("tasks.hpp")),
        ("maps.hpp", include_str!("maps.hpp")),
        ("faults.hpp", include_str!("faults.hpp")),
        ("results.hpp", include_str!("results.hpp")),
        ("cost.hpp", include_str!("cost.hpp")),
        ("effects.hpp", include_str!("effects.hpp")),
    ] {
        write(&folder.join(file), text);
    }
    folder
}

/// The program without sanitizers, compiled once.
fn plain() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(&folder("plain", &LEFT_OUT), "executor.cpp", &["-Og"]))
}

/// Compiles a program of a folder without a warning.
fn build(folder: &Path, file: &str, options: &[&str]) -> PathBuf {
    let mut command = Command::new(compiler());
    command.current_dir(folder).args(["-std=c++17", "-pthread", "-Iinclude", "-o", "program", file]);
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

/// 50 sets in steps and 20 on threads, on 1 and 4 AICPUs, in windows of 1, 4 and 1,024, with edges that are gathered and not.
#[test]
fn every_order_is_one_that_the_tasks_allow() {
    let program = plain();
    assert_eq!(
        said(program, &["trials", "50", "20"]),
        "0 of 840 trials went wrong; up to 2 tasks of a stream at once\n"
    );
    // The host runs some ordinals, by tokens of edges and in turns.
    let with_host = said(program, &["host", "50", "20"]);
    let tokens = "0 of 840 trials went wrong; up to 2 tasks of a stream at once\n15744 tokens\n";
    assert_eq!(with_host, tokens);
    assert_eq!(
        said(program, &["maps", "200"]),
        "0 of 200 sequences differ; producers agree; rows are checked\n"
    );
    assert_eq!(said(program, &["results", "20"]), "0 of 160 runs read a wrong number\n");
    assert_eq!(said(program, &["effects"]), EFFECTS);
    assert_eq!(said(program, &["faults"]), include_str!("faults.txt"));
}

/// Sets on threads and changed graphs; in large numbers, and with what watches addresses, where `WSP_CASES` says so.
#[test]
#[allow(clippy::disallowed_methods, reason = "cargo xtask deep sets the number of cases")]
fn sanitizers_are_silent() {
    let cases = std::env::var("WSP_CASES").ok().map(|cases| cases.parse::<u32>().expect("a number"));
    let (sets, images) = cases.map_or((5, 20_000), |cases| (cases.div_ceil(1200), cases));
    let sanitizers: &[&str] = if cases.is_some() { &["thread", "address,undefined"] } else { &["thread"] };
    for sanitizer in sanitizers {
        let options = ["-O0", &format!("-fsanitize={sanitizer}"), "-fno-sanitize-recover=all"];
        let program =
            build(&folder(&format!("sanitized_{}", &sanitizer[..3]), &[]), "executor.cpp", &options);
        let trials = sets * 12;
        assert_eq!(
            said(&program, &["trials", "0", &sets.to_string()]),
            format!("0 of {trials} trials went wrong; up to 2 tasks of a stream at once\n")
        );
        let host = said(&program, &["host", "0", &sets.to_string()]);
        assert!(host.starts_with(&format!("0 of {trials} trials went wrong")), "{host}");
        assert_eq!(said(&program, &["results", "5"]), "0 of 40 runs read a wrong number\n");
        let said = said(&program, &["images", &images.to_string()]);
        assert_eq!(said, format!("{images} changed graphs, refused or harmless\n"));
        println!("{trials} runs and {images} graphs by {sanitizer}");
    }
}

/// Kernels share tensors on threads, and the first that fails is named.
#[test]
fn kernels_run_on_cores_of_threads() {
    let options = ["-O0", "-fsanitize=thread", "-DPTO_PLATFORM=a2"];
    let text = said(&build(&folder("kernels", &[]), "kernels.cpp", &options), &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["steps: 3072 elements are right", "threads: 3072 elements are right"], "{text}");
    let fault = "kernel 1 of ordinal 17: fault [order]: instruction 2 TMULS (kernels.cpp:";
    assert!(lines[2..].iter().all(|line| line.contains(fault)) && lines.len() == 4, "{text}");
}

#[test]
fn a_wait_that_is_left_out_is_found() {
    for ((variable, ..), trials) in LEFT_OUT.into_iter().zip(["trials", "host"]) {
        let output =
            Command::new(plain()).args([trials, "5", "0"]).env(variable, "1").output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("starts before task"), "{text}");
    }
}

/// What a device compiles needs no library but the compiler's own headers.
#[test]
fn a_device_needs_no_library() {
    let folder = folder("device", &[]);
    let include = |path: &&str| format!("#include \"{path}\"\n");
    let all: String = runtime_headers::EXECUTOR.paths().iter().map(include).collect();
    write(&folder.join("device.cpp"), &all);
    let options = ["-std=c++17", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fsyntax-only", "-Wall"];
    let mut command = Command::new(compiler());
    let output =
        command.current_dir(&folder).args(options).args(["-Werror", "-Iinclude", "device.cpp"]).output();
    let output = output.expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
        let of_programs = runtime_headers::PROGRAMS.paths().contains(&path.as_str());
        let parts = ["graph/", "executor", "handshake", "host_", "cross_plan", "task_sink"];
        parts.iter().any(|part| path.contains(part)) && !of_programs
    });
    let mut given: Vec<&str> = [runtime_headers::EXECUTOR, runtime_headers::HOST_RUN]
        .into_iter()
        .flatten()
        .map(|(path, _)| path)
        .filter(|path| !runtime_headers::PROGRAMS.paths().contains(path))
        .collect();
    found.sort();
    given.sort_unstable();
    assert_eq!(found, given);
}
