//! Runs programs and compares them with the interpreter.

use super::ast::{Kind, Launch, Prog, loading};
use super::eval::{Run, Task};
use super::numbers::Stop;
use super::random::program;
use crate::randomised::cases;
use wsp_core::DType;
use wsp_cpu::{Advance, Capacity, Growth, LaunchOptions, Program};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_kernel::Engine;
use wsp_lang::Purpose;
use wsp_plan::{Array, Arrays, CompileOptions, ParamValue, lower};

const CASES: u64 = 150;
/// Programs whose tasks write more rows of `y` than these are not run.
const MOST_ROWS: usize = 1 << 20;
/// Programs of a case, of which the first without a fault is taken.
const TRIES: u64 = 20;
const BLOCKS: u32 = 5;

/// What became of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Same,
    /// Both end with a fault.
    Fault,
    /// Both end at a slot that no task has stored; a warning says so before.
    Warned,
    /// The same without a warning.
    Unstored,
    /// Refused by the front end for a constant without a value, which nothing says about the rest.
    Refused,
    NoTest,
}

fn integers(values: &[u32]) -> Array {
    let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
    array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
    array
}

/// One token per page: page tables are then simple sums.
fn arrays(prog: &Prog) -> Arrays {
    let mut arrays = Arrays::from([("vals".to_owned(), integers(&prog.vals))]);
    if !prog.paged {
        arrays.insert("lens".to_owned(), integers(&prog.lens));
        return arrays;
    }
    let mut indptr = vec![0];
    prog.lens.iter().for_each(|n| indptr.push(indptr[indptr.len() - 1] + n));
    let total = indptr[indptr.len() - 1];
    let pages = Array::zeros(DType::F32, &[total.max(1).into(), 1, 1, 1]).unwrap();
    let last: Vec<u32> = prog.lens.iter().map(|n| *n.min(&1)).collect();
    for (name, array) in [
        ("kv.k", pages.clone()),
        ("kv.v", pages),
        ("kv.indptr", integers(&indptr)),
        ("kv.indices", integers(&(0..total).collect::<Vec<_>>())),
        ("kv.last_page_len", integers(&last)),
    ] {
        arrays.insert(name.to_owned(), array);
    }
    arrays
}

fn options(prog: &Prog, seed: u64, rows: usize) -> LaunchOptions {
    let params = prog.known.iter().enumerate().filter_map(|(n, known)| match known {
        Launch::Param(_, value) => Some((format!("g{n}"), ParamValue::Int(*value))),
        Launch::Const(..) => None,
    });
    let mut set: Vec<(String, ParamValue)> = params.collect();
    set.push(("rows".to_owned(), ParamValue::Int(rows as i128)));
    let engine = if seed.is_multiple_of(8) { Engine::Native } else { Engine::Interpreter };
    let threads = if seed.is_multiple_of(5) { 3 } else { 1 };
    let window = (seed % 7 == 1).then_some(2);
    LaunchOptions { set, engine, threads, window, seed, ..LaunchOptions::default() }
}

fn report(found: &[Diagnostic]) -> String {
    render_all(found, &SourceMap::default(), false)
}

/// Number of a descriptor's row among its words.
fn row(kind: Kind, words: &[u32]) -> u32 {
    match kind {
        Kind::Look => words[0],
        Kind::Tiered(_) | Kind::Join => words[1],
    }
}

fn name(kind: Kind) -> String {
    match kind {
        Kind::Tiered(s) => format!("D{s}"),
        Kind::Look => "L".to_owned(),
        Kind::Join => "J".to_owned(),
    }
}

/// Tasks in order; those of items by row and without the place of their slots, which follow from the order of the schedule.
fn comparable(tasks: impl Iterator<Item = (String, Kind, Vec<u32>, bool)>) -> Vec<(String, Vec<u32>)> {
    let mut all: Vec<(bool, u32, String, Vec<u32>)> = tasks
        .enumerate()
        .map(|(n, (name, kind, mut words, item))| {
            let place = if item { row(kind, &words) } else { n as u32 };
            if item && kind != Kind::Look {
                words[2] = 0;
            }
            (item, place, name, words)
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, _, name, words)| (name, words)).collect()
}

fn wanted(tasks: &[Task]) -> Vec<(String, Vec<u32>)> {
    comparable(tasks.iter().map(|t| (name(t.kind), t.kind, t.words.clone(), t.item)))
}

/// The descriptors of a plan. Whatever the order of items, all stand where they stand without a schedule.
fn found<'a>(tasks: &[Task], list: impl Iterator<Item = (&'a str, &'a [u32])>) -> Vec<(String, Vec<u32>)> {
    let is_item = |n: usize| tasks.get(n).is_some_and(|task| task.item);
    comparable(list.enumerate().map(|(n, (name, words))| {
        let kind = match name.as_bytes() {
            [b'L'] => Kind::Look,
            [b'J'] => Kind::Join,
            _ => Kind::Tiered(usize::from(name.as_bytes()[1] - b'0')),
        };
        (name.to_owned(), kind, words.to_vec(), is_item(n))
    }))
}

fn planned(tasks: &[Task], plan: &wsp_cpu::Plan) -> Vec<(String, Vec<u32>)> {
    found(tasks, plan.descriptors().map(|d| (d.name, d.words)))
}

/// The program of a case: mostly one that ends without a fault.
fn pick(case: u64) -> Prog {
    let ends_well = |prog: &Prog| {
        let Ok(mut run) = Run::new(prog, BLOCKS) else { return false };
        let ends = run.generate().and_then(|()| run.outputs(rows(&run.tasks.clone())));
        matches!(ends, Ok(_) | Err(Stop::Unstored))
    };
    let all = (0..TRIES).map(|n| program(case * TRIES + n));
    let mut first = all.take(if case.is_multiple_of(10) { 1 } else { TRIES as usize });
    let kept = first.next().expect("there is a first program");
    if ends_well(&kept) {
        return kept;
    }
    first.find(ends_well).unwrap_or(kept)
}

/// Rows of `y` that tasks write.
fn rows(tasks: &[Task]) -> usize {
    tasks.iter().map(|t| row(t.kind, &t.words) as usize + 1).max().unwrap_or(1)
}

/// Whether the front end warns of slots that tasks load and none stores to.
fn warns(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|d| d.code.0 == 268 && d.message.contains("from these slots"))
}

/// Compares one program with the interpreter; the text says what differs.
fn compare(seed: u64) -> Result<Outcome, String> {
    let mut prog = pick(seed);
    let mut run = match Run::new(&prog, BLOCKS) {
        Ok(run) => run,
        Err(_) => return Ok(Outcome::NoTest),
    };
    let generated = run.generate();
    if generated == Err(Stop::NoTest) {
        return Ok(Outcome::NoTest);
    }
    let tasks = run.tasks.clone();
    let rows = rows(&tasks);
    if rows > MOST_ROWS {
        // Ids wrap: `y` would not fit into memory, or its extent not into the parameter.
        return Ok(Outcome::NoTest);
    }
    let text = prog.text();
    let mut sources = SourceMap::default();
    let mut read = |_: &std::path::Path| unreachable!("nothing is included");
    let (module, findings) =
        wsp_lang::check_with("random.pto", &text, Purpose::Program, &mut sources, &mut read);
    let Some(module) = module else {
        return match findings.iter().any(|d| d.code.0 == 122) {
            true => Ok(Outcome::Refused),
            false => Err(render_all(&findings, &sources, false)),
        };
    };
    let compile = CompileOptions { max_blocks: BLOCKS, schedule: None, ..CompileOptions::default() };
    let lowered = lower(&module, &compile).map_err(|found| render_all(&found, &sources, false))?;
    let program = Program::new(lowered);
    let (given, options) = (arrays(&prog), options(&prog, seed, rows));
    let plan = program.plan(&given, &options, Capacity::Exact);
    let mut plan = match (generated, plan) {
        (Ok(()), Ok(plan)) => plan,
        (Err(_), Err(_)) => return Ok(Outcome::Fault),
        (Ok(()), Err(found)) => return Err(format!("a fault: {}", render_all(&found, &sources, false))),
        (Err(_), Ok(_)) => return Err("no fault, though the generator has one".to_owned()),
    };
    let bytes = run.workspace_bytes();
    same("descriptors", &wanted(&tasks), &planned(&tasks, &plan))?;
    same("bytes of workspace", &bytes, &plan.workspace_bytes())?;
    let outputs = run.outputs(rows);
    if outputs == Err(Stop::NoTest) {
        return Ok(Outcome::NoTest);
    }
    if warns(&findings) && outputs.is_ok() && run.loading() == loading(&prog.body) {
        return Err(format!("a warning, though all that is loaded is stored: {}", report(&findings)));
    }
    let on_aicpus = LaunchOptions { aicpus: 1 + (seed % 4) as u16, window: None, ..options.clone() };
    for way in ["planner", "aicpus", "kept"] {
        let done = match way {
            "kept" if !seed.is_multiple_of(4) => continue,
            "kept" => program.execute_plan(&plan, &given, &options),
            "aicpus" => program.execute(&given, &on_aicpus),
            _ => program.execute(&given, &options),
        };
        match (&outputs, done) {
            (Ok(want), Ok(done)) => {
                let y = done.outputs["y"].as_slice::<f32>().unwrap();
                same(&format!("y by {way}"), &want[..], y)?;
            }
            (Err(Stop::Unstored), Err(found)) if found.iter().any(|d| d.code.0 == 616) => {
                let outcome = if warns(&findings) { Outcome::Warned } else { Outcome::Unstored };
                return Ok(outcome);
            }
            (Err(Stop::Fault), Err(_)) => return Ok(Outcome::Fault),
            (Err(stop), Err(found)) => {
                return Err(format!("another fault than {stop:?}: {}", report(&found)));
            }
            (Ok(_), Err(found)) => return Err(format!("a fault: {}", report(&found))),
            (Err(_), Ok(_)) => return Err("no fault, though a kernel has one".to_owned()),
        }
    }
    if prog.paged {
        advance(&mut prog, &mut plan)?;
    }
    Ok(Outcome::Same)
}

/// Lets requests grow, token by token: after each the plan is the one of the interpreter.
fn advance(prog: &mut Prog, plan: &mut wsp_cpu::Plan) -> Result<(), String> {
    for round in 0..12 {
        prog.lens.iter_mut().for_each(|n| *n += 1);
        let mut run = Run::new(prog, BLOCKS).map_err(|_| "launch values")?;
        let generated = run.generate();
        if generated == Err(Stop::NoTest) {
            // It may run for as long as a generator may.
            return Ok(());
        }
        match (generated, plan.advance(Growth::ByOne)) {
            (Ok(()), Ok(how)) => {
                let what = if matches!(how, Advance::Patched { .. }) { "patched" } else { "generated" };
                let found = planned(&run.tasks, plan);
                same(&format!("words {what} in round {round}"), &wanted(&run.tasks), &found)?;
            }
            (Err(_), Err(_)) => return Ok(()),
            (Ok(()), Err(found)) => return Err(format!("a fault in round {round}: {}", report(&found))),
            (Err(_), Ok(how)) => return Err(format!("no fault in round {round}: {how:?}")),
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, want: &T, found: &T) -> Result<(), String> {
    if want == found { Ok(()) } else { Err(format!("{what}: want {want:?}, found {found:?}")) }
}

#[test]
fn random_generators_do_what_their_text_says() {
    let cases = cases(CASES);
    let (mut counts, mut wrong) = ([0u64; 6], Vec::new());
    for seed in 0..cases {
        match compare(seed) {
            Ok(outcome) => counts[outcome as usize] += 1,
            Err(why) => wrong.push(format!("case {seed}: {why}\n{}", pick(seed).text())),
        }
        if wrong.len() == 3 {
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let [same, faults, warned, unstored, refused, no_test] = counts;
    println!(
        "{cases} cases: {same} the same, {faults} faults, {warned} of slots that nobody stores to and {unstored} more of those that \
         nobody has stored, {refused} refused, {no_test} without a promise"
    );
    let enough = same > cases / 2 && no_test < cases / 4 && warned > cases / 50 && unstored > 0;
    assert!(enough, "the programs test too little: {counts:?}");
}
