//! Every evaluator of integer expressions that is left, against values computed in 128 bits: the same value, or the same fault.
//!
//! `.tg`: its evaluator, and emitted C++. `.wsp`: expansion on the host, the interpreter of PTOW, and emitted C++. `.pto`: expressions of a
//! launch, and those of a generator in slot code and compiled for this machine. Python's tracer is compared with the same values in
//! `python/tests/test_integers.py`, which reads them from `testdata/integers.txt`.

mod native;
#[path = "../support/mod.rs"]
mod support;
mod tree;
#[path = "../../../wsp-plan/tests/it/workload_support/mod.rs"]
mod workload_support;

use expect_test::expect_file;
use native::Generator;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::toolchain::{compiler, write};
use support::{Code, Event, Harness, Run, Seen, interpreted};
use tree::{Fault, Language, Rng, Rounding, Tree, at_the_edges, edges, operators, tree, words};
use workload_support::{bound, module, schedule};
use wsp_ascend::graph::{HEADERS, emit_graph};
use wsp_core::ParamId;
use wsp_core::ptow::interp::Mode;
use wsp_core::tg::{Env, EvalFault, ExprOp, Platform, eval};
use wsp_diag::SourceMap;
use wsp_ir::workload::WorkloadModule;
use wsp_ir::{ExprKind, Module};
use wsp_kernel::{Trap, Value, eval_launch_expr};
use wsp_plan::ptow::{LaunchData, Lowered, dispatch_configs, lower};
use wsp_plan::workload::{Bindings, ExpandError, TaskRecord, TaskSink, expand};
use wsp_tg::elaborate;
use wsp_tg::plan::ElaborateOptions;

/// Expressions of a program.
const EACH: usize = 24;

type Outcome = Result<i64, Fault>;

/// How many evaluations of each evaluator.
#[expect(clippy::disallowed_methods, reason = "the number of cases is an environment variable")]
fn cases(few: usize) -> usize {
    std::env::var("WSP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}

/// Arguments of a launch.
struct Given([i64; 3]);

impl Env for Given {
    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        Ok(self.0[arg as usize])
    }
}

fn tg_value(ops: &[ExprOp], vars: [i64; 3]) -> Outcome {
    eval(ops, &Given(vars)).map_err(|fault| match fault {
        EvalFault::Overflow => Fault::Overflow,
        EvalFault::DivisionByZero => Fault::DivisionByZero,
        other => panic!("{other}"),
    })
}

fn pto_value(tree: &Tree, vars: [i64; 3]) -> Outcome {
    let params = vars.map(|var| Some(Value::I64(var)));
    let expr = tree.number(&|var| ExprKind::Param(ParamId(var)));
    match eval_launch_expr(&Module::default(), &expr, &params) {
        Ok(Value::I64(value)) => Ok(value),
        Ok(other) => panic!("{other:?}"),
        Err(trap) => Err(of_trap(&trap)),
    }
}

/// Why code of `.pto` stopped.
fn of_trap(trap: &Trap) -> Fault {
    let is = |what: &str| trap.message.starts_with(what);
    match () {
        () if is("division by zero") => Fault::DivisionByZero,
        () if is("shift out of range") => Fault::ShiftRange,
        () if is("arithmetic overflow") => Fault::Overflow,
        () => panic!("{}", trap.message),
    }
}

/// The value of the first task, or none after a fault.
struct First(Option<i64>);

impl TaskSink for First {
    type Error = std::convert::Infallible;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Self::Error> {
        self.0 = self.0.or(task.scalars.first().copied());
        Ok(())
    }

    fn slot(&mut self, _: wsp_core::SlotId) -> Result<i64, Self::Error> {
        Ok(0)
    }
}

/// A workload whose parameter `sel` chooses the expression that a task is given.
struct Workload {
    module: WorkloadModule,
    lowered: Lowered,
}

impl Workload {
    fn new(trees: &[Tree]) -> Workload {
        let mut text = String::from("param sel; param a; param b; param c;\nkernel k(v);\nworkload main {\n");
        for (at, tree) in trees.iter().enumerate() {
            let _ = writeln!(text, "    if sel == {at} {{ k({}); }}", tree.text());
        }
        text.push_str("}\n");
        let module = module(&text);
        let lowered = lower(&module, &schedule(&module)).unwrap_or_else(|found| panic!("{found:?}\n{text}"));
        Workload { module, lowered }
    }

    fn bindings(&self, at: usize, [a, b, c]: [i64; 3]) -> Bindings {
        bound(&self.module, &[("sel", at as i64), ("a", a), ("b", b), ("c", c)])
    }

    fn on_host(&self, bindings: &Bindings) -> Outcome {
        let mut first = First(None);
        match expand(&self.module, bindings, &schedule(&self.module), &mut first) {
            Ok(_) => Ok(first.0.expect("a task")),
            Err(ExpandError::Fault(fault)) => {
                let text = format!("{fault:?}");
                let is_division = text.contains("division") || text.contains("divided");
                Err(if is_division { Fault::DivisionByZero } else { Fault::Overflow })
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// What a run of a program came to.
fn of_run(seen: &Seen) -> Outcome {
    match (seen.status, seen.fault.0, seen.events.first()) {
        (0, _, Some(Event::Task(_, line))) => {
            let value = line.split(" p ").nth(1).and_then(|rest| rest.split(' ').next());
            Ok(value.and_then(|value| value.parse().ok()).expect("the value of a task"))
        }
        (1, 1, _) => Err(Fault::Overflow),
        (1, 2, _) => Err(Fault::DivisionByZero),
        _ => panic!("{seen:?}"),
    }
}

/// A unit with a condition for each expression, and its function of conditions in C++.
struct Unit {
    conditions: Vec<Vec<ExprOp>>,
    function: String,
}

impl Unit {
    fn new(trees: &[Tree]) -> Unit {
        let mut text = String::from("arg a: i64\narg b: i64\narg c: i64\nTG_BEGIN(G)\n");
        for (at, tree) in trees.iter().enumerate() {
            let _ = writeln!(text, "CF_IF({})\nTG_KERNEL(K{at}, k, 1, AIV, 0)\nCF_ENDIF", tree.text());
        }
        text.push_str("TG_END(G)\n");
        let (unit, found) = wsp_isa::tg::text::parse("unit.tg", &text, &mut SourceMap::default());
        let unit = unit.unwrap_or_else(|| panic!("{found:?}\n{text}"));
        let found = wsp_ir::tg::verify(&unit);
        assert!(!found.iter().any(wsp_diag::Diagnostic::is_error), "{found:?}\n{text}");
        let options = ElaborateOptions { flows: true, ..ElaborateOptions::default() };
        let plan = elaborate(&unit, &wsp_ir::tg::Signatures::new(), &options);
        let plan = plan.unwrap_or_else(|found| panic!("{found:?}\n{text}"));
        let graph = &plan.graphs[0];
        let ops = |value| graph.expr(value).iter().copied().take_while(|op| *op != ExprOp::End).collect();
        let conditions: Vec<Vec<ExprOp>> = graph.conditions.iter().map(|c| ops(c.value)).collect();
        assert_eq!(conditions.len(), trees.len(), "{text}");
        let emitted = emit_graph(&unit, &plan, 0, Platform::A5).expect("C++").translation_unit;
        let from = emitted.find("static int64_t condition(").expect("a function of conditions");
        let end = emitted[from..].find("\n}").expect("its end") + 2;
        Unit { conditions, function: emitted[from..from + end].to_owned() }
    }
}

/// Emitted conditions of units, compiled.
struct Conditions(PathBuf);

impl Conditions {
    fn build(units: &[Unit]) -> Conditions {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("integers");
        for (path, text) in HEADERS {
            write(&folder.join("include").join(path), text);
        }
        let mut table = String::from(
            "#include \"pto/wsp/backend/npu/task_graph.hpp\"\nusing namespace pto::wsp::backend::npu;\n",
        );
        for (at, unit) in units.iter().enumerate() {
            let _ = writeln!(table, "namespace unit_{at} {{\n{}\n}}", unit.function);
        }
        let names: Vec<String> = (0..units.len()).map(|at| format!("unit_{at}::condition")).collect();
        let _ = writeln!(
            table,
            "int64_t (*const conditions[])(Device &, Scalars &, uint32_t) = {{{}}};",
            names.join(", ")
        );
        write(&folder.join("conditions.hpp"), &table);
        write(&folder.join("main.cpp"), include_str!("task_graph.cpp"));
        let mut command = Command::new(compiler());
        command.current_dir(&folder).args(["-Og", "-std=c++17", "-Iinclude", "-I"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wsp-device/include"));
        let output = command.args(["-o", "conditions", "main.cpp"]).output().expect("the compiler runs");
        let errors: String = String::from_utf8_lossy(&output.stderr).chars().take(4000).collect();
        assert!(output.status.success(), "in {}:\n{errors}", folder.display());
        Conditions(folder.join("conditions"))
    }

    /// The values of lines `unit condition a b c`; none for a fault.
    fn run(&self, lines: String) -> Vec<Option<i64>> {
        let mut child = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the conditions run");
        let mut stdin = child.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let output = child.wait_with_output().expect("the conditions end");
        writer.join().expect("the writer ends").expect("the conditions read");
        String::from_utf8(output.stdout).expect("text").lines().map(|line| line.parse().ok()).collect()
    }
}

/// Programs of one language: expressions, and values of their variables for each.
struct Programs {
    each: Vec<Vec<Tree>>,
    vars: Vec<Vec<Vec<[i64; 3]>>>,
}

impl Programs {
    fn new(language: Language, count: usize, values: usize, rng: &mut Rng) -> Programs {
        let random = (0..count).map(|_| (0..EACH).map(|_| tree(rng, language)).collect());
        let mut each: Vec<Vec<Tree>> = random.collect();
        let any = |rng: &mut Rng| (0..values).map(|_| [rng.value(), rng.value(), rng.value()]).collect();
        let mut vars: Vec<Vec<_>> =
            each.iter().map(|trees| trees.iter().map(|_| any(rng)).collect()).collect();
        for at_edges in [edges(language), operators(language)] {
            vars.push(vec![at_the_edges(); at_edges.len()]);
            each.push(at_edges);
        }
        Programs { each, vars }
    }

    /// Each expression of a program with the values of its variables.
    fn of(&self, program: usize) -> impl Iterator<Item = (usize, &Tree, &[[i64; 3]])> {
        let all = self.each[program].iter().zip(&self.vars[program]).enumerate();
        all.map(|(place, (tree, vars))| (place, tree, vars.as_slice()))
    }

    fn count(&self) -> usize {
        self.vars.iter().flatten().map(Vec::len).sum()
    }
}

#[test]
fn every_evaluator_gives_the_same_value_or_the_same_fault() {
    let cases = cases(1_200);
    let values = if cases > 10_000 { 400 } else { 50 };
    let count = cases.div_ceil(values * EACH).max(1);
    let mut rng = Rng(18);
    let all =
        [Language::Tg, Language::Wsp, Language::Pto].map(|of| Programs::new(of, count, values, &mut rng));
    let faults = task_graphs(&all[0]) + workloads(&all[1]) + kernels(&all[2]);
    let all: usize = all.iter().map(Programs::count).sum();
    println!("{all} expressions evaluated, {faults} faults");
    assert!(faults > all / 20 && faults < all * 3 / 4, "{faults} of {all} are faults");
}

#[test]
fn values_at_the_edges_are_those_of_the_documents() {
    let of = |tree: usize, vars| edges(Language::Wsp)[tree].value(vars);
    let least = i64::MIN;
    assert_eq!([of(0, [least, -1, 0]), of(1, [least, -1, 0])], [Err(Fault::Overflow), Ok(0)]);
    assert_eq!([0, 1, 7].map(|tree| of(tree, [7, 0, 0])), [Err(Fault::DivisionByZero); 3]);
    assert_eq!([of(2, [least, 0, 0]), of(7, [least, -1, 0])], [Err(Fault::Overflow); 2]);
    // The left side decides, so that nothing is divided by 0.
    assert_eq!([3, 4, 5].map(|tree| of(tree, [7, 0, 0])), [Ok(0), Ok(1), Ok(0)]);
    assert_eq!([6, 8, 9].map(|tree| of(tree, [7, 0, -1])), [Ok(1), Ok(-1), Ok(-1)]);
    assert_eq!(edges(Language::Wsp)[0].rounded([-7, 2, 0], Rounding::Down), Ok(-4));
    assert_eq!(edges(Language::Wsp)[1].rounded([-7, 2, 0], Rounding::Down), Ok(1));
}

#[test]
fn python_is_compared_with_the_same_values() {
    let mut rng = Rng(5);
    let any = std::iter::repeat_with(|| tree(&mut rng, Language::Wsp)).filter(|tree| !tree.divides_by_zero());
    let trees: Vec<Tree> = edges(Language::Wsp).into_iter().chain(any.take(54)).collect();
    let mut text = String::from(
        "# Integer expressions of Python, each with values of `a`, `b` and `c` and its own: a number, or why there is none.\n\
         # `crates/wsp-ascend/tests/integers` writes this with `UPDATE_EXPECT=1`, and compares it else.\n",
    );
    let mut rng = Rng(6);
    for (at, tree) in trees.iter().enumerate() {
        let edge = at_the_edges();
        let vars: Vec<[i64; 3]> = match at < edges(Language::Wsp).len() {
            true => edge,
            false => (0..12).map(|_| [rng.value(), rng.value(), rng.value()]).collect(),
        };
        let _ = writeln!(text, "= {}", tree.python());
        for [a, b, c] in vars {
            let value = match tree.rounded([a, b, c], Rounding::Down) {
                Ok(value) => value.to_string(),
                Err(Fault::Overflow) => "overflow".to_owned(),
                Err(Fault::DivisionByZero) => "division".to_owned(),
                Err(Fault::ShiftRange) => unreachable!("workloads have no shifts"),
            };
            let _ = writeln!(text, "{a} {b} {c} {value}");
        }
    }
    expect_file!["../../../../testdata/integers.txt"].assert_eq(&text);
}

/// Compares the evaluator of `.tg` and emitted C++; how many faults there were.
fn task_graphs(programs: &Programs) -> usize {
    let units: Vec<Unit> = programs.each.iter().map(|trees| Unit::new(trees)).collect();
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for (at, unit) in units.iter().enumerate() {
        for (place, tree, given) in programs.of(at) {
            for &vars in given {
                let value = tree.value(vars);
                assert_eq!(tg_value(&unit.conditions[place], vars), value, "{} {vars:?}", tree.text());
                words(&mut lines, &[at as i64, place as i64, vars[0], vars[1], vars[2]]);
                expected.push((tree, vars, value));
            }
        }
    }
    let found = Conditions::build(&units).run(lines);
    assert_eq!(found.len(), expected.len());
    for (found, (tree, vars, value)) in found.iter().zip(&expected) {
        assert_eq!(*found, value.ok(), "C++ of {} {vars:?}", tree.text());
    }
    expected.iter().filter(|(_, _, value)| value.is_err()).count()
}

/// Compares expansion on the host, the interpreter of PTOW and emitted expanders; how many faults there were.
fn workloads(programs: &Programs) -> usize {
    let workloads: Vec<Workload> = programs.each.iter().map(|trees| Workload::new(trees)).collect();
    let codes: Vec<Code> = workloads.iter().map(|w| Code::new(w.lowered.program.as_bytes())).collect();
    let verified: Vec<_> = codes.iter().map(Code::verified).collect();
    let harness = Harness::build("integers", &verified);
    let mut faults = 0;
    for (program, workload) in workloads.iter().enumerate() {
        let config = dispatch_configs(&workload.lowered, 1).expect("a configuration")[0];
        for (place, tree, given) in programs.of(program) {
            let bindings: Vec<Bindings> = given.iter().map(|vars| workload.bindings(place, *vars)).collect();
            let data: Vec<LaunchData<'_>> =
                bindings.iter().map(|b| LaunchData::new(&workload.lowered, &workload.module, b)).collect();
            let launches: Vec<_> = data.iter().map(LaunchData::as_launch).collect();
            let runs: Vec<Run<'_>> =
                launches.iter().map(|launch| Run { program, launch: *launch, config }).collect();
            let emitted = harness.run(&runs);
            for (at, vars) in given.iter().enumerate() {
                let (value, text) = (tree.value(*vars), tree.text());
                assert_eq!(workload.on_host(&bindings[at]), value, "on the host: {text} {vars:?}");
                let seen = interpreted(verified[program], launches[at], &config, Mode::Skip, 10_000);
                assert_eq!(of_run(&seen.expect("an end")), value, "interpreted: {text} {vars:?}");
                assert_eq!(of_run(&emitted[at]), value, "C++: {text} {vars:?}");
                faults += usize::from(value.is_err());
            }
        }
    }
    faults
}

/// Compares the evaluators of `.pto`; how many faults there were.
fn kernels(programs: &Programs) -> usize {
    let mut faults = 0;
    for (_, tree, given) in (0..programs.each.len()).flat_map(|program| programs.of(program)) {
        let mut generators = Generator::of_each_engine(tree);
        for &vars in given {
            let (value, text) = (tree.value(vars), tree.text());
            assert_eq!(pto_value(tree, vars), value, "of a launch: {text} {vars:?}");
            for generator in &mut generators {
                let found = generator.run(vars).map_err(|trap| of_trap(&trap));
                assert_eq!(found, value, "{:?}: {text} {vars:?}", generator.engine());
            }
            faults += usize::from(value.is_err());
        }
    }
    faults
}
