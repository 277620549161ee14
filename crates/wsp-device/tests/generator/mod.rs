//! `OnDeviceGenerator` of `pto/wsp/backend/npu/on_device_gen.hpp` against the compiler: a C++ program that links the library
//! puts schedules into programs that have none, and gets the bytes that lowering the workload with the schedule gives.

use crate::{common, library};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use wsp_core::ptow::{Op, PolicyType, Program, Word, X_LAST, XOp};
use wsp_diag::SourceMap;
use wsp_plan::CompileOptions;
use wsp_plan::ptow::{DispatchPlan, Lowered, dispatch_configs, lower};
use wsp_plan::workload::WorkloadPlan;
use zerocopy::IntoBytes as _;

/// Nested loops, a task beside the inner one.
const LOOPS: &str = "
    param batch = 4; param heads = 8;
    axis b = dense(batch); axis h = dense(heads);
    tensor x: f32[batch, heads]; kernel k(i, inout x);
    workload main { parallel for i in b { parallel for j in h { k(i + 2 * j, x[i, j]); } } }";

/// Ragged rows, conditions, steps, calls: bodies of every kind, expressions that keys are equal to or not.
const RAGGED: &str = "
    param rows = 5; table lens = [3, 0, 7, 2, 9];
    axis b = dense_dyn(rows); axis h = ragged(b, lens);
    tensor x: f32[5, 9]; 
    kernel k(i, inout x); kernel merge(inout x) on cube;
    workload rest(i) { for step in 0..3 { merge(x[i, ..]); } }
    workload main {
        parallel for i in b {
            parallel for j in h[i] { if j > 1 { k(i, x[i, j]); } else { k(j, x[i, j]); } }
            sequential { { merge(x[i, ..]); } { call rest(i); } }
        }
        combine { { k(0, x[0, 0]); } { parallel for i in b { merge(x[i, ..]); } } }
    }";

/// No loops at all.
const ONE: &str = "kernel k(); workload main { k(); }";

const POOLS: &str = "task_graph(pools = by_unit(1, 1));";

/// What schedules say, for workloads that have both axes.
const DIRECTIVES: &[&str] = &[
    "",
    "dispatch(round_robin);",
    "dispatch(affinity(b));",
    "dispatch(affinity(h));",
    "dispatch(affinity(b + h));",
    "dispatch(hash(b));",
    "dispatch(hash(b * 3 - h));",
    "dispatch(static_partition([0..10, 10..37]));",
    "dispatch(static_partition([0..1]));",
    "dispatch(work_steal);",
    "dispatch_threshold(b, [2], [vector, affinity(h)]);",
    "dispatch_threshold(h, [-1, 2], [cube, hash(b), round_robin]);",
    "dispatch_threshold(b + h, [1, 2, 3, 4, 5, 6, 7, 8], [any, vector, cube, any, vector, cube, hash(b), affinity(b), any]);",
    "dispatch(hash(b)); dispatch_threshold(b, [2], [vector, affinity(h + b)]);",
    "dispatch(affinity(b + h)); dispatch_threshold(h, [3], [cube, any]); streams(4); stream_by(b); priority(h);",
    "dispatch(affinity(b)); dispatch_threshold(h, [3], [cube, any]);",
    "streams(7);",
    "streams(65536); stream_by(b * 3 - h); priority(h - b);",
    "priority(b);",
];

/// A workload with a schedule.
fn lowered(workload: &str, directives: &str) -> Lowered {
    let pools = if directives.contains("threshold") { POOLS } else { "" };
    let ready = if directives.contains("priority") { "task_graph(ready = priority);" } else { "" };
    let pools = if ready.is_empty() || pools.is_empty() {
        format!("{pools}{ready}")
    } else {
        "task_graph(pools = by_unit(1, 1), ready = priority);".to_owned()
    };
    let text = format!("{workload} schedule {{ {directives} {pools} }}");
    let (module, found) = wsp_ir::workload::text::parse("main.wsp", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{directives}: {found:?}"));
    let plan = WorkloadPlan::new(module, None, &CompileOptions::default());
    let plan = plan.unwrap_or_else(|found| panic!("{directives}: {found:?}"));
    lower(&plan.module, &plan.schedule).unwrap_or_else(|found| panic!("{directives}: {found:?}"))
}

/// The words of an expression.
fn key(program: &Program<'_>, first: u32) -> String {
    if first == u32::MAX {
        return "0".to_owned();
    }
    let rest = &program.exprs[first as usize..];
    let words = &rest[..=rest.iter().position(|word| word.flags & X_LAST != 0).expect("an end")];
    let each =
        |word: &Word| format!(" {} {}", u16::from(word.opcode) | u16::from(word.flags) << 8, word.operand2);
    words.iter().fold(words.len().to_string(), |text, word| text + &each(word))
}

/// A policy of a filter.
fn policy(program: &Program<'_>, code: u16, operand: u32) -> String {
    if code == PolicyType::Key as u16 || code == PolicyType::Hash as u16 {
        format!("{code} 0 {}", key(program, operand))
    } else {
        format!("{code} {operand} 0")
    }
}

/// The schedule of a lowered workload as the program takes it: its expressions are read from the program, whose words are in
/// the order of the schedule.
fn given(lowered: &Lowered) -> String {
    let verified = lowered.program.verified();
    let program = verified.program();
    let (mut dispatch, mut ranges) = ("0 0 0".to_owned(), "0".to_owned());
    match &lowered.dispatch {
        DispatchPlan::RoundRobin => {}
        DispatchPlan::Affinity { depth } => dispatch = format!("1 {depth} 0"),
        DispatchPlan::StaticPartition(all) => {
            dispatch = "3 0 0".to_owned();
            let all: Vec<String> = all.iter().map(|(start, end)| format!("{start} {end}")).collect();
            ranges = format!("{} {}", all.len(), all.join(" "));
        }
    }
    let (mut threshold, mut stream_by, mut priority, mut streams) =
        ("0 0".to_owned(), "0".to_owned(), "0".to_owned(), 0);
    for (at, word) in program.words.iter().enumerate() {
        let ext = &program.words[at + 1..][..usize::from(word.flags).min(program.words.len() - at - 1)];
        match Op::from_code(word.opcode) {
            Some(Op::DispatchFilter) if word.operand1 == PolicyType::Threshold as u16 => {
                let bounds = usize::from(ext[0].operand1);
                threshold = format!("{} {bounds}", key(program, ext[0].operand2));
                for bound in &ext[1..=bounds] {
                    write!(threshold, " {}", bound.operand2.cast_signed()).expect("text grows");
                }
                for level in &ext[bounds + 1..] {
                    write!(threshold, " {}", policy(program, level.operand1, level.operand2))
                        .expect("text grows");
                }
            }
            Some(Op::DispatchFilter) => dispatch = policy(program, word.operand1, ext[0].operand2),
            Some(Op::StreamBy) => (streams, stream_by) = (word.operand2, key(program, ext[0].operand2)),
            Some(Op::Priority) => priority = key(program, word.operand2),
            _ => {}
        }
    }
    format!("{dispatch} {ranges} {threshold} {stream_by} {priority} {streams}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// What the C++ program prints of some cases.
fn generated(name: &str, programs: &[&[u8]], cases: &str) -> Vec<String> {
    let folder = common::folder(&format!("generator/{name}"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("generator");
    let mut link = Command::new(common::compiler());
    link.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wl,--gc-sections", "-I"]);
    link.arg(common::include()).arg("-I").arg(own.join("../wsp-ascend/include"));
    link.arg(own.join("tests/generator/generator.cpp"));
    common::run(link.arg(library(&common::folder("link"), "panic-handler")).arg("-o").arg(&program));
    let mut command = Command::new(&program);
    for (at, bytes) in programs.iter().enumerate() {
        let file = folder.join(format!("{at}.ptow"));
        std::fs::write(&file, bytes).expect("the file can be written");
        command.arg(file);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be run");
    let mut stdin = child.stdin.take().expect("a pipe");
    let (cases, writer) = (cases.to_owned(), std::thread::spawn);
    let writer = writer(move || stdin.write_all(cases.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn a_cpp_program_compiles_schedules_to_the_bytes_of_the_compiler() {
    let workloads = [LOOPS, RAGGED, ONE];
    let plain: Vec<Lowered> = workloads.iter().map(|workload| lowered(workload, "")).collect();
    let (mut cases, mut expected) = (String::new(), Vec::new());
    for (at, workload) in workloads.iter().enumerate() {
        for directives in DIRECTIVES {
            let names_axes = ["affinity", "hash", "threshold", "_by", "priority"];
            if *workload == ONE && names_axes.iter().any(|word| directives.contains(word)) {
                continue;
            }
            let under = lowered(workload, directives);
            for n in [1u16, 2, 3, 64, 1024] {
                let Ok(configs) = dispatch_configs(&under, n) else { continue };
                for id in [0, n / 2, n - 1] {
                    writeln!(cases, "{at} 0 {n} {id} {}", given(&under)).expect("text grows");
                    let what = format!("workload {at}, `{directives}`, AICPU {id} of {n}");
                    expected.push((what.clone(), hex(under.program.as_bytes())));
                    expected.push((what, hex(configs[usize::from(id)].as_bytes())));
                }
            }
        }
    }
    let programs: Vec<&[u8]> = plain.iter().map(|one| one.program.as_bytes()).collect();
    let printed = generated("same", &programs, &cases);
    assert_eq!(printed.len(), expected.len());
    for (printed, (what, expected)) in printed.iter().zip(&expected) {
        assert_eq!(printed, expected, "{what}");
    }
    let distinct: std::collections::BTreeSet<_> = printed.iter().collect();
    assert!(distinct.len() > 80, "{} programs and configurations are different", distinct.len());
}

#[test]
fn what_is_wrong_with_a_schedule_is_said_in_numbers() {
    let plain = lowered(LOOPS, "");
    let hashed = lowered(LOOPS, "dispatch(hash(b));");
    let mut cut = plain.program.as_bytes().to_vec();
    cut.truncate(30);
    let programs = [plain.program.as_bytes(), hashed.program.as_bytes(), &cut, &[]];
    let axis = u16::from(XOp::XAxis.code()) | 1 << 8;
    let keyed = format!("5 0 1 {axis} 0");
    let nothing = "0 0 0 0 0 0";
    let none = format!("0 0 0 {nothing}");
    let refused = |kind: u32| format!("status -6 kind {kind} place 0 ");
    let wrong: Vec<(&str, String, String, String)> = vec![
        (
            "too little memory",
            format!("0 64 1 0 {none}"),
            "status -3 kind 0 place 0 at 0 found 64 ".into(),
            "0100".into(),
        ),
        ("cut off", format!("2 4096 1 0 {none}"), "status -4 kind 5 ".into(), "0100".into()),
        ("no bytes", format!("3 4096 1 0 {none}"), "status -4 kind 5 ".into(), "0100".into()),
        ("scheduled", format!("1 0 1 0 {keyed} {nothing}"), refused(36) + "at 0", "0100".into()),
        ("policy", format!("0 0 1 0 6 0 0 {nothing}"), refused(30) + "at 0 found 6", refused(30)),
        (
            "pool of a dispatch",
            format!("0 0 1 0 16 0 0 {nothing}"),
            refused(30) + "at 0 found 16",
            refused(30),
        ),
        ("far policy", format!("0 0 1 0 65536 0 0 {nothing}"), refused(30) + "at 0 found 65535", refused(30)),
        ("depth", format!("0 0 1 0 1 16 0 {nothing}"), refused(31) + "at 0 found 16 limit 16", refused(31)),
        (
            "depth of a hash",
            format!("0 0 1 0 5 1 1 {axis} 0 {nothing}"),
            refused(31) + "at 0 found 1",
            refused(31),
        ),
        ("no key", format!("0 0 1 0 5 0 0 {nothing}"), refused(32) + "at 0 found 0", refused(32)),
        ("idle key", format!("0 0 1 0 0 0 1 {axis} 0 {nothing}"), refused(32) + "at 0 found 1", refused(32)),
        ("no ranges", format!("0 0 1 0 3 0 0 {nothing}"), refused(35) + "at 0 found 0", refused(35)),
        ("idle ranges", "0 0 1 0 0 0 0 1 0 4 0 0 0 0 0".into(), refused(35) + "at 0 found 1", refused(35)),
        (
            "gap",
            "0 0 2 0 3 0 0 2 0 4 5 9 0 0 0 0 0".into(),
            refused(34) + "at 1 found 5 limit 4",
            refused(34),
        ),
        (
            "backwards",
            "0 0 2 0 3 0 0 2 0 4 4 3 0 0 0 0 0".into(),
            refused(34) + "at 1 found 3 limit 4",
            refused(34),
        ),
        (
            "few AICPUs",
            "0 0 1 0 3 0 0 2 0 4 4 32 0 0 0 0 0".into(),
            "574f5450".into(),
            refused(10) + "at 0 found 1 limit 2",
        ),
        ("no AICPU", format!("0 0 0 0 {none}"), "574f5450".into(), refused(10) + "at 0 found 0 limit 1"),
        (
            "many AICPUs",
            format!("0 0 1025 0 {none}"),
            "574f5450".into(),
            refused(10) + "at 0 found 1025 limit 1024",
        ),
        (
            "less than none",
            format!("0 0 -1 0 {none}"),
            "574f5450".into(),
            refused(10) + "at 0 found 4294967295 limit 1024",
        ),
        ("id", format!("0 0 4 4 {none}"), "574f5450".into(), refused(11) + "at 0 found 4 limit 4"),
        (
            "no metric",
            "0 0 1 0 0 0 0 0 0 1 5 0 0 0 0 0 0 0 0 0".into(),
            refused(32) + "at 10 found 0",
            refused(32),
        ),
        (
            "idle metric",
            format!("0 0 1 0 0 0 0 0 1 {axis} 0 0 0 0 0"),
            refused(33) + "at 0 found 0 limit 8",
            refused(33),
        ),
        (
            "equal bounds",
            format!("0 0 1 0 0 0 0 0 1 {axis} 0 2 5 5 0 0 0 0 0 0 0 0 0 0 0 0"),
            "status -5 kind 26 place 1 at 3 found 5 limit 6".into(),
            "0100".into(),
        ),
        (
            "partition of a level",
            format!("0 0 1 0 0 0 0 0 1 {axis} 0 1 5 0 0 0 3 0 0 0 0 0"),
            refused(30) + "at 2 found 3",
            refused(30),
        ),
        (
            "stream of none",
            format!("0 0 1 0 0 0 0 0 0 0 1 {axis} 0 0 0"),
            refused(32) + "at 11 found 1",
            refused(32),
        ),
        (
            "many streams",
            "0 0 1 0 0 0 0 0 0 0 0 0 65537".into(),
            "status -5 kind 27 place 1 at 0 found 65537".into(),
            "0100".into(),
        ),
        (
            "no such axis",
            format!("0 0 1 0 5 0 1 {axis} 7 {nothing}"),
            "status -5 kind 5 place 2".into(),
            "0100".into(),
        ),
        (
            "no end",
            format!("0 0 1 0 5 0 1 {} 0 {nothing}", XOp::XAxis.code()),
            "status -5 kind ".into(),
            "0100".into(),
        ),
        (
            "a loop variable",
            format!("0 0 1 0 5 0 1 {} 0 {nothing}", u16::from(XOp::XVar.code()) | 1 << 8),
            "status -5 kind 36 place 2".into(),
            "0100".into(),
        ),
    ];
    let cases: String = wrong.iter().map(|(_, case, _, _)| format!("{case}\n")).collect();
    let printed = generated("wrong", &programs, &cases);
    assert_eq!(printed.len(), 2 * wrong.len());
    for (printed, (what, _, program, config)) in printed.chunks(2).zip(&wrong) {
        assert!(printed[0].starts_with(program.as_str()), "{what}: {printed:?}, not {program}");
        assert!(printed[1].starts_with(config.as_str()), "{what}: {printed:?}, not {config}");
    }
}
