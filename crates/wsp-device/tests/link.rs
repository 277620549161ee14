//! The static library without the standard library: a C++ program links it, which shows that no panic can be reached, and
//! gets the tasks that the interpreter generates here.
// Files are what the other program takes.
#![allow(clippy::disallowed_methods)]

mod common;
mod generator;
mod program;

use program::image::{Aligned, Image};
use program::{Data, METRIC};
use std::convert::Infallible;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};
use wsp_core::SlotId;
use wsp_core::ptow::interp::{Host, Interpreter, Mode, Ordered, Progress, Task, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::{
    DispatchConfig, Launch, Op, PartitionParams, PolicyType, Program, ThresholdParams, Verified, marks_needed,
};
use zerocopy::IntoBytes;

/// Builds the library with some features, in `folder`; its file there.
fn library(folder: &Path, features: &str) -> PathBuf {
    // Every build leaves its library at the same place.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock();
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    build.args([
        "rustc",
        "--quiet",
        "--offline",
        "--lib",
        "--profile",
        "device",
        "--crate-type",
        "staticlib",
    ]);
    build.args(["--features", features, "--target-dir"]).arg(folder);
    common::run(build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"));
    let own = folder.join(format!("{features}.a"));
    std::fs::copy(folder.join("device/libwsp_device.a"), &own).expect("the library can be copied");
    own
}

/// Links a program with the library; the program, and what the linker says.
fn link(features: &str, define: &str) -> (PathBuf, Output) {
    let folder = common::folder("link");
    let library = library(&folder, features);
    let program = folder.join(define);
    let mut link = Command::new(common::compiler());
    link.args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wl,--gc-sections", "-D", define, "-I"]);
    link.arg(common::include()).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host.cpp"));
    link.arg(library).arg("-o").arg(&program);
    (program, link.output().expect("the compiler can be run"))
}

/// The program that links the library, built once.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let (program, output) = link("panic-handler", "WSP_PLAIN");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "a panic can be reached, or the program does not fit the header:\n{errors}"
        );
        program
    })
}

/// How a program is run.
#[derive(Clone, Copy)]
struct How {
    config: DispatchConfig,
    mode: Mode,
    /// Tasks and steps of a run.
    budget: (u32, u32),
}

/// What the C++ program prints.
fn linked(name: &str, bytes: &[u8], data: &Data, how: How) -> String {
    let folder = common::folder(&format!("link/{name}"));
    let write = |file: &str, content: &[u8]| {
        let path = folder.join(file);
        std::fs::write(&path, content).expect("the file can be written");
        path
    };
    let mut text = numbers(&data.values);
    writeln!(text, "{}", data.tables.len()).expect("text grows");
    data.tables.iter().for_each(|table| text.push_str(&numbers(table)));
    writeln!(text, "{}", data.extents.len()).expect("text grows");
    data.extents.iter().flatten().for_each(|extent| write!(text, "{extent} ").expect("text grows"));
    let mut command = Command::new(executable());
    command.arg(write("program.ptow", bytes)).arg(write("launch.txt", text.as_bytes()));
    command.arg(write("config", how.config.as_bytes())).arg(if how.mode == Mode::Skip { "0" } else { "1" });
    common::run(command.arg(how.budget.0.to_string()).arg(how.budget.1.to_string()))
}

/// A count and so many numbers.
fn numbers(values: &[i64]) -> String {
    values.iter().fold(format!("{}", values.len()), |text, value| format!("{text} {value}")) + "\n"
}

/// Prints as the C++ program does.
#[derive(Default)]
struct Printer {
    text: String,
    asked_at: Option<u64>,
}

impl Printer {
    fn line(&mut self, line: impl core::fmt::Display) {
        writeln!(self.text, "{line}").expect("text grows");
    }
}

fn list<T: ToString>(values: &[T]) -> String {
    format!("[{}]", values.iter().map(T::to_string).collect::<Vec<_>>().join(","))
}

impl Host for Printer {
    type Stop = Infallible;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Infallible> {
        let mut line = format!(
            "{} site {} kernel {} pool {} stream {} priority {} label {}",
            task.ordinal,
            task.site,
            task.kernel.0,
            task.pool as u8,
            task.stream.map_or(-1, i32::from),
            task.priority,
            task.label.map_or(-1, |label| i64::from(label.0)),
        );
        let lists = (list(task.params), list(task.after), list(task.vars), list(task.indices));
        line += &format!(" params{} after{} vars{} indices{}", lists.0, lists.1, lists.2, lists.3);
        for (region, mode) in task.regions.iter().zip(task.modes) {
            let (lo, hi) = (list(&region.lo), list(&region.hi));
            line += &format!(" {}:{} lo{lo} hi{hi}", *mode as u8, region.tensor.0);
        }
        self.line(line);
        Ok(())
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Infallible> {
        let name = match event {
            Ordered::Begin => "begin",
            Ordered::Step => "step",
            Ordered::End => "end",
        };
        self.line(format_args!("{name} {ordinal}"));
        Ok(())
    }

    fn slot(&mut self, _: SlotId, ordinal: u64) -> Option<i64> {
        if self.asked_at.replace(ordinal) != Some(ordinal) {
            return None;
        }
        Some(i64::from(ordinal < 34))
    }

    fn plan(&mut self, generator: u16, ordinal: u64) -> Result<Option<u64>, Infallible> {
        self.line(format_args!("plan {generator} at {ordinal}"));
        Ok(Some(2))
    }
}

/// What the interpreter does here, printed alike.
fn direct(image: &Image, data: &Data, how: How) -> String {
    let aligned = Aligned::new(&image.bytes());
    let program = Program::read(aligned.get()).expect("it can be read");
    let program = Verified::new(program, &mut vec![0; marks_needed(&program)]).expect("it keeps every rule");
    let tables: Vec<&[i64]> = data.tables.iter().map(Vec::as_slice).collect();
    let launch = Launch { values: &data.values, tables: &tables, extents: &data.extents };
    let mut workspace = vec![0; workspace_words(&program)];
    let none = Prefixes::none();
    let mut interpreter = Interpreter::new(program, launch, &how.config, none, &mut workspace, how.mode)
        .expect("the launch fits the program");
    let mut printer = Printer::default();
    let progress = loop {
        let Ok(progress) = interpreter.run(&mut printer, how.budget.0, how.budget.1);
        if !matches!(progress, Progress::Yielded | Progress::Waits(_)) {
            break progress;
        }
    };
    assert_eq!(progress, Progress::Finished);
    let stats = interpreter.stats();
    printer.line(format_args!("finished 1 tasks {} of {}", stats.tasks, stats.total_ordinals));
    printer.text
}

fn config(policy: PolicyType, aicpus: (u16, u16), params: &[u8]) -> DispatchConfig {
    let mut config = DispatchConfig::round_robin(aicpus.0, aicpus.1);
    config.policy_type = policy as u8;
    config.params[..params.len()].copy_from_slice(params);
    config
}

/// Configurations of every policy.
fn configs() -> Vec<DispatchConfig> {
    let levels = ThresholdParams {
        num_levels: 2,
        metric: METRIC,
        thresholds: [1, 0, 0, 0, 0, 0, 0, 0],
        policy_per_level: [0, 17, 0, 0, 0, 0, 0, 0],
    };
    let ranges = PartitionParams { task_range_start: 5, task_range_end: 17 };
    vec![
        config(PolicyType::RoundRobin, (1, 0), &[]),
        config(PolicyType::RoundRobin, (3, 2), &[]),
        config(PolicyType::Affinity, (2, 1), &[0]),
        config(PolicyType::Threshold, (2, 0), levels.as_bytes()),
        config(PolicyType::StaticPartition, (2, 1), ranges.as_bytes()),
    ]
}

#[test]
fn a_program_that_can_panic_does_not_link() {
    let output = link("panic-handler,panic-probe", "WSP_PANIC_PROBE").1;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("wsp_panic_reached"), "{errors}");
}

#[test]
fn a_cpp_program_gets_the_tasks_that_the_interpreter_generates() {
    let (image, data) = (program::program(), program::data());
    for (index, config) in configs().into_iter().enumerate() {
        for mode in [Mode::Skip, Mode::Naive] {
            for budget in [(u32::MAX, u32::MAX), (1, 3)] {
                let how = How { config, mode, budget };
                let expected = direct(&image, &data, how);
                assert!(expected.lines().count() > 5, "configuration {index} has too few tasks:\n{expected}");
                assert_eq!(linked("tasks", &image.bytes(), &data, how), expected, "configuration {index}");
            }
        }
    }
}

fn everything() -> How {
    How { config: configs()[0], mode: Mode::Skip, budget: (u32::MAX, u32::MAX) }
}

#[test]
fn what_is_wrong_is_reported_with_its_numbers() {
    let (image, data) = (program::program(), program::data());
    let report = |bytes: &[u8], data: &Data| {
        let printed = linked("reports", bytes, data, everything());
        printed.lines().last().unwrap_or_default().to_owned()
    };
    let mut bytes = image.bytes();
    bytes[4] = 9;
    let text = "read: status -4, kind 3, place 0, at 4, found 9, limit 1, ordinal 0";
    assert_eq!(report(&bytes, &data), text);
    let mut broken = image.clone();
    broken.word_mut(Op::Task).operand1 = 3;
    let at = broken.find(Op::Task);
    let text = format!("verify: status -5, kind 5, place 1, at {at}, found 3, limit 3, ordinal 0");
    assert_eq!(report(&broken.bytes(), &data), text);
    let short = Data { values: vec![3], ..program::data() };
    let text = "open: status -6, kind 2, place 0, at 0, found 1, limit 2, ordinal 0";
    assert_eq!(report(&image.bytes(), &short), text);
    let small = Data { extents: vec![[3, 1, 4, 1, 1, 1], [1; 6]], ..program::data() };
    let at = image.find(Op::IoInput) - 5;
    let text = report(&image.bytes(), &small);
    let begin = format!("run: status -7, kind 2, place 1, at {at}, found 2, limit 1");
    assert!(text.starts_with(&begin), "{text}, not {begin}");
}
