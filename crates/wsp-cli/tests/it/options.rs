//! Every option of every command, for every kind of file: it has an effect, or it is refused by its name.

mod files;

use files::{CYCLES, FAULTY, Files, GENERATOR, Kind, LIBRARY, PLAIN, PROGRAM, UNIT, WORKLOAD};
use std::collections::BTreeSet;

/// A row of a table: other options of the command line, the option, and what becomes of it for each kind of file.
///
/// `+`: what is printed or written is another than without it. `=`: it states what is so without it, or what changes no result: nothing is
/// another, and a value without a meaning is refused. `!`: with it the command fails. `-`: it is refused, and named. `.`: another row or test
/// shows it, or the file does not allow it for another reason.
type Row = (&'static str, &'static str, &'static str);

const RUN: &[Row] = &[
    // pto wsp cycles library unit plain
    ("", "--inputs in.npz", "+ + + + + +"),
    ("", "--input {in}={in}.npy", "+ + + + + +"),
    ("--inputs more.npz", "--allow-unused", "+ + + + + +"),
    ("", "--allow-unused", "- - - - - -"),
    ("--inputs none.npz", "--fill {in}", "+ + - + + +"),
    ("--inputs none.npz", "--generate", "+ + - + + +"),
    ("", "--generate rows=5", "+ - - - - -"),
    ("--outputs out.npz", "--generate dtype=f16", "+ - - + - -"),
    ("", "--seed 7", "+ + . + + +"),
    ("--inputs in.npz", "--seed 7", "- - . - - -"),
    ("", "--set {set}", "+ + + + + +"),
    ("", "--set kv_layout=HND", "- - - - - -"),
    ("", "--schedule other", "+ + + + - -"),
    ("", "--target cpu_sim", "= = = = = ="),
    ("--outputs out.npz", "--isa portable", "= - - = = ="),
    ("--outputs out.npz", "--engine interpreter", "= - - = = ="),
    ("", "--cache kept", "+ - - + - -"),
    ("", "--outputs out.npz", "+ + - + + +"),
    ("", "--threads 3", "+ + + + + +"),
    ("--inputs in.npz", "--check", "+ = - + + +"),
    ("", "--reference none.py", "! - - ! ! !"),
    ("", "--no-check", "+ + = + + +"),
    ("", "--strict", "= = - = = ="),
    ("", "--allow-unwritten {out}", "= = - = = ="),
    ("--no-check", "--allow-unwritten {out}", "- - - - - -"),
    ("", "--stats json", "+ + + + + +"),
    ("", "--aicpus 2", "+ + + + - -"),
    ("", "--expand bytecode", "- + - + - -"),
    ("", "--phases", "- - - - - -"),
    ("", "--trace trace.json", "+ + + + + +"),
    ("--trace trace.json", "--trace-edges", ". . . . . ."),
    ("", "--trace-edges", "- - - - - -"),
    ("", "--replay seed=7", ". . - . . ."),
    ("", "--devices 2", "- - - - + +"),
    ("", "--hints", "- - - - + -"),
    ("", "--cores aic=2,aiv=0", "- - - - ! !"),
    ("", "--memory 1K", "- - - - ! !"),
    ("", "--kernels idle.pto", "- - - - - -"),
    ("", "--event SIGNAL", "- - - - . -"),
    ("", "--checkpoints states", "- - - - + -"),
    ("--checkpoints states", "--resume", "- - - - + -"),
];

const PLAN: &[Row] = &[
    // pto bytes
    ("", "--target cpu_sim", "= ="),
    ("", "--inputs in.npz", "+ +"),
    ("", "--input {in}={in}.npy", "+ +"),
    ("--inputs more.npz", "--allow-unused", "+ +"),
    ("", "--allow-unused", "- -"),
    ("--inputs none.npz", "--fill {in}", "+ -"),
    ("--inputs none.npz", "--generate", "+ -"),
    ("", "--seed 7", "+ -"),
    ("", "--set {set}", "+ +"),
    ("", "--schedule other", "+ ="),
    ("", "--isa portable", "- -"),
    ("", "--engine interpreter", ". -"),
    ("", "--cache kept", "+ -"),
    ("", "--json", "+ +"),
    ("", "--bytes", "- ."),
    ("", "--aicpus 2", "+ +"),
    ("", "--limit 1", "+ -"),
    ("--json", "--limit 1", "- -"),
];

const GRAPH: &[Row] = &[
    // pto wsp library unit plain
    ("", "--deps explicit", "- + + - -"),
    ("", "--tasks tasks.csv", "+ + + + +"),
    ("", "--edges edges.csv", "+ + + + +"),
    ("", "--args args.csv", "+ + + - -"),
    ("", "--dot graph.dot", "+ + + + +"),
    ("--output graph.pending", "--emit pending", "+ + + - -"),
    ("--emit pending", "--output graph.pending", "+ + + - -"),
    ("--dot graph.dot", "--summary", "+ + + + +"),
    ("", "--json", "+ + + + +"),
    ("", "--set {set}", "+ + + - -"),
    ("", "--inputs in.npz", "+ + + - -"),
    ("", "--input {in}={in}.npy", "+ + + - -"),
    ("--inputs none.npz", "--fill {in}", "+ - + - -"),
    ("--inputs none.npz", "--generate", "+ - + - -"),
    ("", "--seed 7", "+ - + - -"),
    ("--inputs more.npz", "--allow-unused", "+ + + - -"),
    ("", "--allow-unused", "- - - - -"),
    ("", "--schedule other", "= + + - -"),
    ("", "--target cpu_sim", "= = = = ="),
    ("", "--kernels idle.pto", "- - - - -"),
    ("", "--placement places.svg", "! ! ! - -"),
];

const SIM: &[Row] = &[
    // pto wsp library unit
    ("", "--model cpu", ". . . ."),
    ("", "--set {set}", "+ + + +"),
    ("", "--inputs in.npz", "+ + + +"),
    ("", "--input {in}={in}.npy", "+ + + +"),
    ("--inputs none.npz", "--fill {in}", "+ - + +"),
    ("--inputs none.npz", "--generate", "+ - + +"),
    ("", "--seed 7", "+ . + +"),
    ("--inputs more.npz", "--allow-unused", "+ + + +"),
    ("", "--allow-unused", "- - - -"),
    ("", "--schedule other", "+ + + -"),
    ("", "--kernels idle.pto", "- - - ."),
    ("", "--aicpus 2", "+ + + -"),
    ("--aicpus 2", "--expand host", "- + + -"),
    ("", "--expand host", "- - - -"),
    ("", "--trace trace.json", "+ + + +"),
    ("--trace trace.json", "--trace-edges", ". . . ."),
    ("", "--trace-edges", "- - - -"),
    ("", "--json", "+ + + +"),
    ("", "--fit mine.toml", ". - - -"),
    ("--fit mine.toml", "--repeat 1", ". - - -"),
    ("", "--repeat 1", "- - - -"),
];

const CHECK: &[Row] = &[
    // pto wsp library unit plain
    ("", "--target a2", "! ! ! . +"),
    ("", "--target cpu_sim", "= = = . ="),
    ("--target a2", "--set {set}", ". - - - -"),
    ("", "--set {set}", "- = = - -"),
    ("", "--kernels idle.pto", "- - - - -"),
    ("", "--devices 2", "- - - = ="),
    ("", "--cache kept", "- + + - -"),
    ("", "--strict", "= = = = ="),
];

const ASM: &[Row] = &[
    // wsp generator unit plain
    ("", "--schedule other", "= - - -"),
    ("", "--output out", "+ + + +"),
    ("", "--emit module", "+ - + +"),
    ("--emit module", "--set {set}", "+ - - -"),
    ("", "--set {set}", "- - - -"),
    ("--emit module", "--input len=len.npy", "+ - - -"),
    ("", "--input len=len.npy", "- - - -"),
    ("--emit image", "--graph H", "- - + +"),
    ("--emit ptog", "--graph H", "- - - -"),
    ("--emit image", "--kernels idle.pto", "- - - -"),
    ("--emit ptog", "--kernels idle.pto", "- - - -"),
];

const DISASM: &[Row] = &[
    // wsp generator bytes
    ("", "--schedule other", "= - -"),
    ("", "--output out", "+ + +"),
];

/// Options of commands that take no file, and of `emit`, which takes one kind: each is read by the command, and none
/// depends on a kind of file.
const OTHERS: &[(&str, &str)] = &[
    ("explain", ""),
    ("doctor", "model output json"),
    (
        "emit",
        "stage target output graph kernels kernel set lengths schedule expand inputs input fill generate seed allow-unused",
    ),
    ("config", "json"),
    ("report", "output force text"),
    ("targets", "matrix model toml json"),
];

/// The options of a command, as its help lists them.
fn listed(files: &Files, command: &str) -> BTreeSet<String> {
    let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = files.run("", &words).out;
    let options = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let rest = line
            .strip_prefix("--")
            .or_else(|| line.split_once(", --").filter(|(at, _)| at.len() == 2).map(|(_, rest)| rest))?;
        Some(rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next()?.to_owned())
    });
    options.filter(|name| !["help", "version", "error-format", "color"].contains(&name.as_str())).collect()
}

/// Checks the table of a command: the columns of these kinds of files, from the column `first`.
#[track_caller]
fn hold(command: &str, first: usize, kinds: &[Kind], rows: &[Row]) {
    let files = Files::new();
    let named: BTreeSet<String> =
        rows.iter().map(|(_, option, _)| option.split(' ').next().unwrap()[2..].to_owned()).collect();
    assert_eq!(listed(&files, command), named, "{command}: options, and those of the table");
    let mut wrong = Vec::new();
    for (base, option, marks) in rows {
        let marks: Vec<&str> = marks.split(' ').collect();
        for (kind, mark) in kinds.iter().zip(&marks[first..]) {
            if let Err(fault) = files.check(command, kind, base, option, mark) {
                wrong.push(format!("{command} {} {base} {option} {mark} {fault}", kind.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Options whose effect only a fault of the file shows, for each kind in the order of [`FAULTY`].
#[test]
fn options_that_say_what_is_a_fault_decide_on_it() {
    let files = Files::new();
    let named = |name: &'static str, kind: &Kind| {
        let ending = kind.file.rsplit_once('.').unwrap().1;
        Kind { file: format!("{name}.{ending}").leak(), ..*kind }
    };
    let mut wrong = Vec::new();
    for kind in &FAULTY {
        for (command, file, base, option, mark) in [
            ("run", "warned", "", "--strict", "!"),
            ("check", "warned", "", "--strict", "!"),
            ("run", "partial", "--no-check", "--strict", "!"),
            ("run", "partial", "", "--allow-unwritten {out}", "+"),
        ] {
            if let Err(fault) = files.check(command, &named(file, kind), base, option, mark) {
                wrong.push(format!("{command} {} {file} {base} {option} {mark} {fault}", kind.name));
            }
        }
    }
    let waiting = named("waiting", &PLAIN);
    if let Err(fault) = files.check("run", &waiting, "", "--event SIGNAL", "+") {
        wrong.push(format!("run --event: {fault}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In virtual time a seed decides from whom an idle worker takes a task, where the schedule has workers take tasks from each other.
#[test]
fn a_seed_in_virtual_time_decides_who_steals_or_is_refused() {
    let files = Files::new();
    let trace = |options: &[&str]| {
        let line = ["run", "stealing.wsp", "--threads", "8", "--trace", "trace.json"];
        let ran = files.run("cycles", &[&line[..], options].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        std::fs::read(files.path("cycles/trace.json")).unwrap()
    };
    assert_eq!(trace(&[]), trace(&["--seed", "1"]));
    assert!((2..9).any(|seed| trace(&["--seed", &seed.to_string()]) != trace(&[])));
    let ran = files.run("cycles", &["run", "stealing.wsp", "--schedule", "other", "--seed", "7"]);
    assert!(ran.code == 1 && ran.err.contains("`--seed` has no meaning"), "{}", ran.err);
}

#[test]
fn no_option_of_run_is_passed_over_for_programs_and_workloads() {
    hold("run", 0, &[PROGRAM, WORKLOAD], RUN);
}

#[test]
fn no_option_of_run_is_passed_over_in_virtual_time_and_for_used_kernels() {
    hold("run", 2, &[CYCLES, LIBRARY], RUN);
}

#[test]
fn no_option_of_run_is_passed_over_for_task_graphs() {
    hold("run", 4, &[UNIT, PLAIN], RUN);
}

#[test]
fn no_option_of_plan_is_passed_over() {
    hold("plan", 0, &[PROGRAM, Kind { always: "--bytes", input: "len", ..WORKLOAD }], PLAN);
}

#[test]
fn no_option_of_graph_is_passed_over() {
    hold("graph", 0, &[PROGRAM, Kind { input: "len", ..WORKLOAD }, LIBRARY, UNIT, PLAIN], GRAPH);
}

#[test]
fn no_option_of_sim_is_passed_over() {
    let on = |kind: Kind| Kind { always: "--model ascend_910b", ..kind };
    hold("sim", 0, &[PROGRAM, Kind { input: "len", ..WORKLOAD }, LIBRARY, UNIT].map(on), SIM);
}

#[test]
fn no_option_of_check_is_passed_over() {
    hold("check", 0, &[PROGRAM, WORKLOAD, LIBRARY, UNIT, PLAIN], CHECK);
}

#[test]
fn no_option_of_asm_is_passed_over() {
    hold("asm", 0, &[WORKLOAD, GENERATOR, UNIT, PLAIN], ASM);
}

#[test]
fn no_option_of_disasm_is_passed_over() {
    let bytes = |file, kind| Kind { file, ..kind };
    hold("disasm", 0, &[WORKLOAD, bytes("main.ptow", GENERATOR), bytes("main.ptog", UNIT)], DISASM);
}

#[test]
fn every_command_and_every_option_has_its_place_in_a_table() {
    let files = Files::new();
    for (command, options) in OTHERS {
        let named: BTreeSet<String> = options.split_whitespace().map(str::to_owned).collect();
        assert_eq!(listed(&files, command), named, "{command}");
    }
    let commands = |of: &[&str]| {
        let help = files.run("", &[of, &["--help"]].concat()).out;
        let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
        let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
        names.filter(|name| name != "help").collect::<Vec<_>>()
    };
    let mut all: Vec<String> =
        ["run", "plan", "graph", "sim", "check", "asm", "disasm"].map(str::to_owned).into();
    all.extend(OTHERS.iter().map(|(command, _)| (*command).to_owned()));
    let mut found = commands(&[]);
    found.sort();
    all.sort();
    assert_eq!(found, all);
}
